#include "crypto/sealed.h"

#include <algorithm>
#include <vector>

#include "crypto/expand.h"
#include "crypto/secure_memory.h"

namespace latticino::crypto {
namespace {

void encrypt(std::span<const std::uint8_t, 32> key, std::span<std::uint8_t> data) {
  LockedVector<std::uint8_t> keystream(data.size());
  chacha20_keystream(key, 0, {0, 0, 0}, keystream);
  for (std::size_t i = 0; i < data.size(); ++i) data[i] ^= keystream[i];
}

}  // namespace

Sha256Digest hmac_sha256(std::span<const std::uint8_t> key, std::span<const std::uint8_t> first,
                         std::span<const std::uint8_t> second) {
  std::array<std::uint8_t, 64> block{};
  if (key.size() > block.size()) {
    const Sha256Digest digest = sha256(key);
    std::copy(digest.begin(), digest.end(), block.begin());
  } else {
    std::copy(key.begin(), key.end(), block.begin());
  }
  for (std::uint8_t& b : block) b ^= 0x36;
  Sha256 inner;
  inner.update(block);
  inner.update(first);
  inner.update(second);
  for (std::uint8_t& b : block) b ^= 0x36 ^ 0x5c;
  Sha256 outer;
  outer.update(block);
  outer.update(inner.finish());
  secure_clear(block.data(), block.size());
  return outer.finish();
}

Sha256Digest seal(SealKey key, std::span<const std::uint8_t> context,
                  std::span<std::uint8_t> data) {
  encrypt(key.first<32>(), data);
  return hmac_sha256(key.last<32>(), context, data);
}

bool open_sealed(SealKey key, std::span<const std::uint8_t> context, std::span<std::uint8_t> data,
                 const Sha256Digest& check) {
  const Sha256Digest own = hmac_sha256(key.last<32>(), context, data);
  std::uint8_t difference = 0;
  for (std::size_t i = 0; i < own.size(); ++i) difference |= own[i] ^ check[i];
  if (difference != 0) return false;
  encrypt(key.first<32>(), data);
  return true;
}

}  // namespace latticino::crypto
