// Inputs of the fuzz targets: one byte that says how the file is made, then its bytes. Payloads,
// which are most of a file, need not be there: they are filled with zeros, which are residues of
// every prime.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "io/signature.h"
#include "support/io_support.h"

namespace latticino::fuzz {

using test::Bytes;

enum Mode : std::uint8_t {
  kFilled = 1,  // fills in zeros up to the header's length of payload, and correct checks
  kSigned = 2,  // adds a signature at the end
};

inline constexpr std::size_t kPayloadLengthAt = 80;
inline constexpr std::size_t kFrame = io::kHeaderBytes + 2 * io::kDigestBytes;
// Limit of a payload; the keys of switching are the largest.
inline constexpr std::uint64_t kMaxFilled = 512 << 10;

inline void put64(std::span<std::uint8_t> b, std::size_t at, std::uint64_t x) {
  for (int i = 0; i < 8; ++i) b[at + i] = static_cast<std::uint8_t>(x >> (8 * i));
}

// The file that an input stands for.
inline Bytes file_of(std::span<const std::uint8_t> input) {
  if (input.empty()) return {};
  const std::uint8_t mode = input[0];
  Bytes file(input.begin() + 1, input.end());
  if ((mode & kFilled) != 0 && file.size() >= io::kHeaderBytes) {
    const std::uint64_t metadata = test::get64(file, test::kMetadataLengthAt),
                        payload = test::get64(file, kPayloadLengthAt);
    if (metadata <= file.size() && payload <= kMaxFilled) {
      file.resize(kFrame + metadata + payload);
    }
    test::repair(file);
  }
  if ((mode & kSigned) != 0) {
    const Bytes block = io::encode(io::Signature{});
    file.insert(file.end(), block.begin(), block.end());
  }
  return file;
}

// The input for a file, without its payload where that is long.
inline Bytes input_of(const Bytes& file) {
  Bytes out{0};
  out.insert(out.end(), file.begin(), file.end());
  if (file.size() > 1024) {
    out[0] = kFilled;
    out.resize(1 + io::kHeaderBytes + test::get64(file, test::kMetadataLengthAt));
  }
  return out;
}

}  // namespace latticino::fuzz
