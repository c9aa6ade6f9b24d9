// scrypt (RFC 7914): the key that a passphrase makes, at the price of much memory for each guess.
// Python takes it from OpenSSL; programs that have no such library take it from here.
#pragma once

#include <cstdint>
#include <span>

namespace latticino::crypto {

// N = 2^log_n (1 to 24), r and p at least 1 with r p below 2^30. Takes 128 r (2^log_n + p + 2)
// bytes, all cleared at the end; throws std::bad_alloc if they are not there, ValueError for other
// costs. Addresses depend on the passphrase: scrypt is made so.
void scrypt(std::span<const std::uint8_t> passphrase, std::span<const std::uint8_t> salt, int log_n,
            std::uint32_t r, std::uint32_t p, std::span<std::uint8_t> out);

}  // namespace latticino::crypto
