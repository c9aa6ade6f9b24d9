#include "crypto/sha256.h"

#include <algorithm>
#include <cstring>

#include "crypto/secure_memory.h"
#include "crypto/sha256_kernels.h"

namespace latticino::crypto {

Sha256::~Sha256() {
  secure_clear(block_.data(), block_.size());
  secure_clear(state_.data(), sizeof state_);
}

void Sha256::compress(const std::uint8_t* block) {
  static const Sha256Kernel& kernel =
      *std::find_if(sha256_kernels().begin(), sha256_kernels().end(),
                    [](const Sha256Kernel& k) { return k.supported(); });
  kernel.compress(state_, block);
}

void Sha256::update(std::span<const std::uint8_t> bytes) {
  length_ += bytes.size();
  while (!bytes.empty()) {
    const std::size_t n = std::min(bytes.size(), block_.size() - filled_);
    std::memcpy(block_.data() + filled_, bytes.data(), n);
    filled_ += n;
    bytes = bytes.subspan(n);
    if (filled_ == block_.size()) {
      compress(block_.data());
      filled_ = 0;
    }
  }
}

Sha256Digest Sha256::finish() {
  const std::uint64_t bits = length_ * 8;
  block_[filled_++] = 0x80;
  if (filled_ > 56) {
    std::fill(block_.begin() + filled_, block_.end(), 0);
    compress(block_.data());
    filled_ = 0;
  }
  std::fill(block_.begin() + filled_, block_.end(), 0);
  for (int i = 0; i < 8; ++i) block_[56 + i] = static_cast<std::uint8_t>(bits >> (56 - 8 * i));
  compress(block_.data());
  Sha256Digest digest;
  for (int i = 0; i < 32; ++i) {
    digest[i] = static_cast<std::uint8_t>(state_[i / 4] >> (24 - 8 * (i % 4)));
  }
  return digest;
}

Sha256Digest sha256(std::span<const std::uint8_t> bytes) {
  Sha256 hash;
  hash.update(bytes);
  return hash.finish();
}

std::string sha256_hex(std::string_view text) {
  const auto* data = reinterpret_cast<const std::uint8_t*>(text.data());
  std::string hex;
  for (const std::uint8_t byte : sha256({data, text.size()})) {
    hex += "0123456789abcdef"[byte >> 4];
    hex += "0123456789abcdef"[byte & 15];
  }
  return hex;
}

}  // namespace latticino::crypto
