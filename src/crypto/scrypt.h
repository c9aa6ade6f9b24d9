// scrypt (RFC 7914): makes a key from a passphrase, so that each guess costs much memory. Python
// takes it from OpenSSL; programs without such a library take it from here.
#pragma once

#include <cstdint>
#include <span>

namespace latticino::crypto {

// N = 2^log_n (1 to 24), r and p at least 1 with r p below 2^30. It takes 128 r (2^log_n + p + 2)
// bytes, which are cleared at the end. Throws std::bad_alloc if there is too little memory,
// ValueError for other costs. Addresses depend on the passphrase, as scrypt requires.
void scrypt(std::span<const std::uint8_t> passphrase, std::span<const std::uint8_t> salt, int log_n,
            std::uint32_t r, std::uint32_t p, std::span<std::uint8_t> out);

}  // namespace latticino::crypto
