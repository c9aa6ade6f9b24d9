// Residues of polynomials in payloads.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "io/container.h"
#include "runtime/queue.h"

namespace latticino::io {

std::uint64_t payload_bytes(const Ring& ring, const Basis& basis);  // bytes of one polynomial

std::span<std::uint8_t> as_bytes(std::vector<std::uint32_t>& words);
// Throws FileError for a word that is not below q.
void check_residues(std::span<const std::uint32_t> words, std::uint32_t q);

void write_poly(Writer& writer, Queue& queue, const PolyView& x);
// Reads into existing memory. Throws FileError for a residue that is not below its prime.
void read_poly(Reader& reader, Queue& queue, const PolyView& out);
// Reads a polynomial in Eval over `basis`. Throws FileError for a residue that is not below its
// prime.
Poly read_poly(Reader& reader, Queue& queue, const Ring& ring, const Basis& basis);
// The expansion of (seed, stream), in Eval.
Poly expand_poly(Queue& queue, const Ring& ring, const Basis& basis,
                 const std::array<std::uint8_t, 32>& seed, std::uint64_t stream);

}  // namespace latticino::io
