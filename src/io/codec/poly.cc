#include "io/codec/poly.h"

#include <bit>
#include <cstring>
#include <string>
#include <vector>

namespace latticino::io {

static_assert(std::endian::native == std::endian::little, "payloads are copied as they lie");

std::span<std::uint8_t> as_bytes(std::vector<std::uint32_t>& words) {
  return {reinterpret_cast<std::uint8_t*>(words.data()), words.size() * sizeof(std::uint32_t)};
}

void check_residues(std::span<const std::uint32_t> words, std::uint32_t q) {
  std::uint32_t largest = 0;
  for (const std::uint32_t x : words) largest = std::max(largest, x);
  if (largest >= q) {
    refuse("the residue " + std::to_string(largest), "residues below " + std::to_string(q));
  }
}

std::uint64_t payload_bytes(const Ring& ring, const Basis& basis) {
  return static_cast<std::uint64_t>(basis.size()) * ring.n() * sizeof(std::uint32_t);
}

void write_poly(Writer& writer, Queue& queue, const PolyView& x) {
  if (writer.skipped()) return;
  std::vector<std::uint32_t> words(static_cast<std::size_t>(x.limbs()) * x.ring->n());
  queue.download(words.data(), x);
  writer.payload(as_bytes(words));
}

void read_poly(Reader& reader, Queue& queue, const PolyView& out) {
  const std::size_t n = out.ring->n();
  const Basis basis = out.basis();
  std::vector<std::uint32_t> words(basis.size() * n);
  reader.payload(as_bytes(words));
  for (int i = 0; i < basis.size(); ++i) {
    check_residues(std::span(words).subspan(i * n, n), out.ring->prime(basis.prime(i)));
  }
  queue.upload(out, words.data());
}

Poly read_poly(Reader& reader, Queue& queue, const Ring& ring, const Basis& basis) {
  Poly poly = queue.allocate(ring, basis, Domain::Eval);
  read_poly(reader, queue, poly.view);
  return poly;
}

Poly expand_poly(Queue& queue, const Ring& ring, const Basis& basis,
                 const std::array<std::uint8_t, 32>& seed, std::uint64_t stream) {
  Poly poly = queue.allocate(ring, basis, Domain::Eval);
  queue.submit(ExpandUniform{{{.seed = seed, .stream = stream, .out = poly.view}}});
  return poly;
}

}  // namespace latticino::io
