// CoeffToSlot and SlotToCoeff as products of sparse matrices: groups of radix-2 stages of the
// special FFT, each a sum of few diagonals (Chen-Chillotti-Song 2019; Han-Hhan-Cheon 2019).
//
// Bit reversal is skipped: coefficients appear in slots as w_rev(k) = m_k + i m_(k+n), which the
// slot-wise EvalMod does not mind. Pre-rotations are removed (ARK, Kim et al. 2022): each factor's
// output is rotated so that the next one's diagonals have indices 0, h, 2h, .. only.
#pragma once

#include <span>
#include <vector>

#include "ckks/linear/linear_transform.h"
#include "math/fft_tables.h"

namespace latticino::ckks::bootstrap {

// How the real and imaginary halves of n complex coefficients are stored in slots between the two
// transforms.
enum class Halves {
  Together,  // n slots: re + i im (full slots; two real ciphertexts are made by conjugation)
  Apart,     // 2n slots: after z + conj(z), 2 re in the first n and 2 im in the second
};

struct DftFactor {
  Diagonals diagonals;
  int slots = 0;   // slots of the matrix: n, or 2n if the halves are apart
  int stages = 0;  // radix-2 stages in the factor; 0: it is a constant
  int stride = 0;  // every diagonal index is a multiple of it (modulo slots)
};

// Numbers of stages of `factors` groups. Larger groups are at the end where diagonals wrap around:
// in the first factor of CoeffToSlot and the last one of SlotToCoeff. Groups may be empty.
std::vector<int> cts_stages(int log_slots, int factors);
std::vector<int> stc_stages(int log_slots, int factors);

// Factors in order of application, factor j multiplied by constants[j]. Together their product is
// the inverse special FFT (cts, 1/n included) or the forward one (stc). With Halves::Apart the
// last CoeffToSlot factor yields [W x | -i W x] on 2n slots, and SlotToCoeff works on 2n slots: the
// result plus its rotation by n is the product.
std::vector<DftFactor> cts_factors(const FftTables& tables, int log_slots,
                                   std::span<const double> constants, Halves halves);
std::vector<DftFactor> stc_factors(const FftTables& tables, int log_slots,
                                   std::span<const double> constants, Halves halves);

}  // namespace latticino::ckks::bootstrap
