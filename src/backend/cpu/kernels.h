// The inner loops of the CPU backend: a table of functions with one plain implementation
// (reference_kernels.cc) and vectorised ones chosen at run time (simd/). All words are canonical
// residues in memory, polynomials lie in the logical order of poly/domain.h, and every
// implementation computes exactly the same integers. Kernels are pure: they may be called from any
// thread and may read and write only what is named here. Pointers need no alignment beyond their
// type's; `count`, `width` and row lengths are multiples of 16 unless said.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "math/modulus.h"
#include "ops/slot_transform.h"
#include "poly/ring.h"

namespace latticino::cpu {

// Constants of one prime.
struct PrimeTable {
  Modulus modulus;
  int log_n = 0, log_rows = 0;
  int rows() const { return 1 << log_rows; }
  int cols() const { return 1 << (log_n - log_rows); }
  // N entries each: psi^bitrev(i) and psi^-bitrev(i), with their Shoup quotients. Block k of stage
  // s uses entry 2^s + k, so stage t of row r starts at (rows + r) << t.
  const std::uint32_t* root = nullptr;
  const std::uint32_t* root_quotient = nullptr;
  const std::uint32_t* inverse = nullptr;
  const std::uint32_t* inverse_quotient = nullptr;
  ShoupFactor one_over_rows, one_over_cols, one_over_n;
  const BackendTable* extra = nullptr;  // what CpuKernels::prepare returned
};

struct LweKernels;
struct FourierKernels;

struct CpuKernels {
  const char* name;  // "reference", "avx2", ...

  // Builds tables of the implementation itself (twiddles in another order), which are kept with the
  // ring; null if it needs none.
  std::shared_ptr<BackendTable> (*prepare)(const PrimeTable& prime);

  // Column stages of `width` neighbouring columns: entry (r, c) at data[r * stride + c], r < rows.
  // out == in with equal strides, or no overlap. Forward: Coeff -> Half.
  void (*forward_columns)(std::uint32_t* out, std::size_t out_stride, const std::uint32_t* in,
                          std::size_t in_stride, int width, const PrimeTable& prime);
  // Half -> Coeff without the factor 1/rows, then times `scale` (canonical results). Callers put
  // 1/rows into `scale`, together with other factors. scale.w == 1 means no multiplication.
  void (*inverse_columns)(std::uint32_t* out, std::size_t out_stride, const std::uint32_t* in,
                          std::size_t in_stride, int width, ShoupFactor scale,
                          const PrimeTable& prime);

  // Row stages of rows first_row .. first_row + count - 1; in and out point at the first of them. A
  // row has cols words. out == in or no overlap. Forward: Half -> Eval. Inverse: without 1/cols,
  // times `scale`.
  void (*forward_rows)(std::uint32_t* out, const std::uint32_t* in, int first_row, int count,
                       const PrimeTable& prime);
  void (*inverse_rows)(std::uint32_t* out, const std::uint32_t* in, int first_row, int count,
                       ShoupFactor scale, const PrimeTable& prime);

  // y = centred(x), |y| <= (q-1)/2. y may be x's memory.
  void (*centre)(std::int32_t* y, const std::uint32_t* x, std::size_t count, const Modulus& m);

  // Base conversion: out[i] = 2^-64 sum_j table[i * sources + j] y[j] mod moduli[i], canonical,
  // entry by entry. The sums fit a signed 64-bit word (BaseConversion asserts it).
  void (*convert)(std::uint32_t* const* out, const std::int32_t* const* y, int outputs, int sources,
                  std::size_t count, const std::int32_t* table, const Modulus* moduli);

  // out = sum_k a[k] b[k] + factor * add, terms >= 0; add may be null. out may be any a[k], b[k] or
  // add.
  void (*multiply_accumulate)(std::uint32_t* out, const std::uint32_t* const* a,
                              const std::uint32_t* const* b, int terms, const std::uint32_t* add,
                              ShoupFactor factor, std::size_t count, const Modulus& m);

  // out = constant + sum_k c[k] x[k], terms >= 0. out may be any x[k]. Factors of 0, 1 and -1 have
  // cases of their own, which are faster.
  void (*linear)(std::uint32_t* out, const std::uint32_t* const* x, const ShoupFactor* c, int terms,
                 std::uint32_t constant, std::size_t count, const Modulus& m);

  // One row of an automorphism in Eval: out[c] (+)= in[b((offset + galois b(c)) mod cols)], b the
  // bit reversal of log2(cols) bits as a table. No overlap; accumulate adds modulo q.
  void (*gather_row)(std::uint32_t* out, const std::uint32_t* in, int cols,
                     const std::uint16_t* bit_reversal, std::uint32_t offset, std::uint32_t galois,
                     bool accumulate, const Modulus& m);

  // out = in mod q for signed 64-bit integers.
  void (*reduce)(std::uint32_t* out, const std::int64_t* in, std::size_t count, const Modulus& m);

  // One stage of the special FFT and of its inverse (ops/slot_transform.h): n any power of two.
  slots::Stage forward_slots, inverse_slots;

  const LweKernels* lwe;          // the kernels of lwe_kernels.h
  const FourierKernels* fourier;  // the kernels of fourier_kernels.h
};

const CpuKernels& reference_kernels();

// The fastest vectorised table this processor can run; null where there is none.
const CpuKernels* simd_kernels();

}  // namespace latticino::cpu
