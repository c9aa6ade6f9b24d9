#include "io/signature.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "io/codec.h"
#include "math/errors.h"

namespace latticino::io {
namespace {

constexpr std::array<std::uint8_t, 8> kMagic = {0x93, 'L', 'A', 'T', 'S', 'I', 'G', '\n'};
constexpr std::uint32_t kVersion = 1, kEd25519 = 1;
constexpr std::string_view kPrefix = "latticino file signature, version 1\n";

}  // namespace

std::vector<std::uint8_t> signed_message(const crypto::Sha256Digest& trailer) {
  std::vector<std::uint8_t> out(kPrefix.begin(), kPrefix.end());
  out.insert(out.end(), trailer.begin(), trailer.end());
  return out;
}

std::vector<std::uint8_t> encode(const Signature& signature) {
  Encoder e;
  e.raw(kMagic);
  e.u32(kVersion);
  e.u32(kEd25519);
  e.raw(signature.public_key);
  e.raw(signature.bytes);
  return e.bytes();
}

Signature decode_signature(std::span<const std::uint8_t> block) {
  Decoder d(block);
  std::array<std::uint8_t, 8> magic;
  d.raw(magic);
  if (magic != kMagic) refuse("bytes after the file's end", "none, or a signature");
  const std::uint32_t version = d.u32(), algorithm = d.u32();
  if (version != kVersion || algorithm != kEd25519) {
    throw FileError("io.read",
                    "a signature of version " + std::to_string(version) + ", algorithm " +
                        std::to_string(algorithm),
                    "version 1 with Ed25519", "update the library");
  }
  Signature out;
  d.raw(out.public_key);
  d.raw(out.bytes);
  d.finish();
  return out;
}

}  // namespace latticino::io
