#pragma once

#include <cstdint>

namespace latticino {

// State of a residue polynomial a(X) in Z_q[X]/(X^N+1). Data are always canonical residues in [0,
// q): Montgomery factors never leave a kernel, as only constants contain them.
//
// Write index i = cols * r + c with rows = 2^floor(log2(N)/2), cols = N / rows. The forward
// transform is the negacyclic Cooley-Tukey network (Longa-Naehrig 2016, Alg. 1): stage s has 2^s
// blocks of butterflies (u, v) -> (u + w v, u - w v) of stride N/2^(s+1); block k uses
// w = psi^bitrev(2^s + k, log2 N), psi a primitive 2N-th root of unity.
//   Coeff  coefficients of X^0 .. X^(N-1), natural order.
//   Half   the first log2(rows) stages done (strides N/2 .. cols): `rows`-point column transforms.
//   Eval   all stages done: entry i is a(psi^(2*bitrev(i)+1)).
// The inverse maps are exact inverses: Half and Eval contain no factor 1/N. The split is fixed by N
// alone. The physical order of Half and Eval entries belongs to the backend; upload and download
// convert to and from the logical order defined here.
enum class Domain : std::uint8_t { Coeff, Half, Eval };

constexpr int half_log_rows(int log_n) { return log_n / 2; }

constexpr const char* name(Domain d) {
  return d == Domain::Coeff ? "Coeff" : d == Domain::Half ? "Half" : "Eval";
}

}  // namespace latticino
