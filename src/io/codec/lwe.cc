#include "io/codec/lwe.h"

#include <algorithm>
#include <span>
#include <vector>

#include "crypto/expand.h"
#include "io/codec/poly.h"

namespace latticino::io {
namespace {

using Words = std::vector<std::uint32_t>;

constexpr std::uint32_t kMaxBatch = 1024;  // the most ciphertexts in host memory at once

void expand_mask(const std::array<std::uint8_t, 32>& seed, std::uint64_t stream, std::uint32_t q,
                 std::span<std::uint32_t> mask) {
  crypto::expand_limb(seed, stream, 0, q, mask);
}

// Calls body(first ciphertext, its batch) for parts of x one after another.
template <class Body>
void in_parts(const LweView& x, const Body& body) {
  for (std::uint32_t i = 0; i < x.count; i += kMaxBatch) {
    body(i, x.part(i, std::min(kMaxBatch, x.count - i)));
  }
}

Words download(Queue& queue, const LweView& x) {
  Words words(x.words());
  queue.copy_out(words.data(), x.data, words.size() * sizeof(std::uint32_t));
  return words;
}

}  // namespace

std::uint64_t payload_bytes(const LweView& x, bool seeded) {
  return std::uint64_t{x.count} * (seeded ? 1 : x.dimension + std::uint64_t{1}) *
         sizeof(std::uint32_t);
}

bool masks_come_from(Queue& queue, const LweView& x, const std::array<std::uint8_t, 32>& seed) {
  bool same = true;
  Words mask(x.dimension);
  in_parts(x, [&](std::uint32_t first, const LweView& part) {
    const Words words = same ? download(queue, part) : Words();
    for (std::uint32_t i = 0; same && i < part.count; ++i) {
      expand_mask(seed, first + i, x.modulus, mask);
      same = std::equal(mask.begin(), mask.end(), words.begin() + static_cast<long>(i * x.stride));
    }
  });
  return same;
}

void write_lwe(Writer& writer, Queue& queue, const LweView& x, bool seeded) {
  if (writer.skipped()) return;
  in_parts(x, [&](std::uint32_t, const LweView& part) {
    const Words words = download(queue, part);
    Words packed;
    for (std::uint32_t i = 0; i < part.count; ++i) {
      const auto at = words.begin() + static_cast<long>(i * x.stride);
      packed.insert(packed.end(), at + (seeded ? x.dimension : 0), at + x.dimension + 1);
    }
    writer.payload(as_bytes(packed));
  });
}

void read_lwe(Reader& reader, Queue& queue, const LweView& out, const MaskSeed& seed) {
  in_parts(out, [&](std::uint32_t first, const LweView& part) {
    Words packed(payload_bytes(part, seed.has_value()) / sizeof(std::uint32_t));
    reader.payload(as_bytes(packed));
    check_residues(packed, out.modulus);
    const std::size_t stored = packed.size() / part.count;
    Words words(part.words());
    for (std::uint32_t i = 0; i < part.count; ++i) {
      const std::span<std::uint32_t> to = std::span(words).subspan(i * out.stride);
      if (seed) expand_mask(*seed, first + i, out.modulus, to.first(out.dimension));
      std::copy_n(packed.begin() + static_cast<long>(i * stored), stored,
                  to.begin() + static_cast<long>(out.dimension + 1 - stored));
    }
    queue.copy_in(part.data, words.data(), words.size() * sizeof(std::uint32_t));
  });
}

}  // namespace latticino::io
