#include "crypto/scrypt.h"

#include <algorithm>
#include <array>
#include <bit>
#include <string>
#include <vector>

#include "crypto/sealed.h"
#include "crypto/secure_memory.h"
#include "math/errors.h"

namespace latticino::crypto {
namespace {

using Words = ClearingVector<std::uint32_t>;
constexpr std::size_t kBlock = 16;  // number of words of a Salsa20 block

// PBKDF2-HMAC-SHA-256 with one iteration (RFC 8018).
void pbkdf2(std::span<const std::uint8_t> passphrase, std::span<const std::uint8_t> salt,
            std::span<std::uint8_t> out) {
  for (std::uint32_t i = 1; !out.empty(); ++i) {
    const std::array<std::uint8_t, 4> index = {
        static_cast<std::uint8_t>(i >> 24), static_cast<std::uint8_t>(i >> 16),
        static_cast<std::uint8_t>(i >> 8), static_cast<std::uint8_t>(i)};
    Sha256Digest digest = hmac_sha256(passphrase, salt, index);
    const std::size_t bytes = std::min(out.size(), digest.size());
    std::copy_n(digest.begin(), bytes, out.begin());
    secure_clear(digest.data(), digest.size());
    out = out.subspan(bytes);
  }
}

void quarter(std::uint32_t* x, int a, int b, int c, int d) {
  x[b] ^= std::rotl(x[a] + x[d], 7);
  x[c] ^= std::rotl(x[b] + x[a], 9);
  x[d] ^= std::rotl(x[c] + x[b], 13);
  x[a] ^= std::rotl(x[d] + x[c], 18);
}

// x = Salsa20/8(x ^ in)
void salsa(std::uint32_t* x, const std::uint32_t* in) {
  std::array<std::uint32_t, kBlock> z;
  for (std::size_t i = 0; i < kBlock; ++i) z[i] = x[i] ^= in[i];
  for (int round = 0; round < 8; round += 2) {
    quarter(z.data(), 0, 4, 8, 12);
    quarter(z.data(), 5, 9, 13, 1);
    quarter(z.data(), 10, 14, 2, 6);
    quarter(z.data(), 15, 3, 7, 11);
    quarter(z.data(), 0, 1, 2, 3);
    quarter(z.data(), 5, 6, 7, 4);
    quarter(z.data(), 10, 11, 8, 9);
    quarter(z.data(), 15, 12, 13, 14);
  }
  for (std::size_t i = 0; i < kBlock; ++i) x[i] += z[i];
  secure_clear(z.data(), sizeof z);
}

// Section 4: blocks of even index go to the first half of `out`, the others to the second.
void block_mix(const Words& in, Words& out) {
  const std::size_t count = in.size() / kBlock;
  std::array<std::uint32_t, kBlock> x;
  std::copy_n(in.end() - kBlock, kBlock, x.begin());
  for (std::size_t i = 0; i < count; ++i) {
    salsa(x.data(), in.data() + i * kBlock);
    const std::size_t to = i / 2 + (i % 2) * (count / 2);
    std::copy(x.begin(), x.end(), out.data() + to * kBlock);
  }
  secure_clear(x.data(), sizeof x);
}

// Section 5, in place on 128 r bytes.
void ro_mix(std::span<std::uint8_t> bytes, std::size_t n, Words& table) {
  const std::size_t words = bytes.size() / 4;
  Words x(words), y(words);
  for (std::size_t i = 0; i < words; ++i) {
    x[i] = static_cast<std::uint32_t>(bytes[4 * i]) |
           static_cast<std::uint32_t>(bytes[4 * i + 1]) << 8 |
           static_cast<std::uint32_t>(bytes[4 * i + 2]) << 16 |
           static_cast<std::uint32_t>(bytes[4 * i + 3]) << 24;
  }
  for (std::size_t i = 0; i < n; ++i) {
    std::copy(x.begin(), x.end(), table.data() + i * words);
    block_mix(x, y);
    x.swap(y);
  }
  for (std::size_t i = 0; i < n; ++i) {
    const std::size_t at = x[words - kBlock] & (n - 1);
    for (std::size_t k = 0; k < words; ++k) x[k] ^= table[at * words + k];
    block_mix(x, y);
    x.swap(y);
  }
  for (std::size_t i = 0; i < words; ++i) {
    for (int k = 0; k < 4; ++k) bytes[4 * i + k] = static_cast<std::uint8_t>(x[i] >> 8 * k);
  }
}

}  // namespace

void scrypt(std::span<const std::uint8_t> passphrase, std::span<const std::uint8_t> salt, int log_n,
            std::uint32_t r, std::uint32_t p, std::span<std::uint8_t> out) {
  if (log_n < 1 || log_n > 24 || r < 1 || p < 1 || std::uint64_t{r} * p >= 1u << 30) {
    throw ValueError(
        "scrypt",
        "costs 2^" + std::to_string(log_n) + ", " + std::to_string(r) + ", " + std::to_string(p),
        "2^1 to 2^24, and r and p from 1 with r p below 2^30", "choose such costs");
  }
  const std::size_t n = std::size_t{1} << log_n, part = std::size_t{128} * r;
  if (part / 4 > Words().max_size() >> log_n) throw std::bad_alloc();
  ClearingVector<std::uint8_t> blocks(part * p);
  pbkdf2(passphrase, salt, blocks);
  {
    Words table(n * (part / 4));
    for (std::uint32_t i = 0; i < p; ++i) {
      ro_mix(std::span(blocks).subspan(i * part, part), n, table);
    }
  }
  pbkdf2(passphrase, blocks, out);
}

}  // namespace latticino::crypto
