// The inner loops of the TFHE records. The rules are those of kernels.h: one plain implementation
// and several vectorised ones give equal integers.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backend/cpu/prefetch.h"
#include "math/gadget.h"

namespace latticino::cpu {

// Constants of the digits of one ring.
struct DigitTable {
  int n = 0, primes = 1;  // number of primes: 1 or 2
  std::uint32_t q[2] = {};
  ShoupFactor inverse;  // the inverse of q[0] modulo q[1]
  Gadget gadget;
  int bits = 0;  // bits of the product of the primes
};

// Words behind a mirrored polynomial, so that vectors may be read from any position below 2N.
constexpr std::size_t kMirrorTail = 16;
constexpr int kMaxParts = 5;    // the most components of a GLWE ciphertext
constexpr int kMaxLevels = 62;  // the most digits of a residue, as moduli are below 2^62

struct LweKernels {
  // Digits of X^-rotation x - x, or of x itself where rotation is 2N. x[p] is mirrored: the
  // polynomial modulo q[p], its negative, and the first kMirrorTail words again. Digit i modulo
  // q[p] goes to out[i * primes + p], canonical.
  void (*rotated_digits)(std::uint32_t* const* out, const std::uint32_t* const* x,
                         std::uint32_t rotation, const DigitTable& table);
  // The same digits without reduction, out[i], for the FP64 arithmetic over one prime.
  void (*rotated_real_digits)(double* const* out, const std::uint32_t* const* x,
                              std::uint32_t rotation, const DigitTable& table);

  // x += y on a mirrored polynomial.
  void (*add_mirrored)(std::uint32_t* x, const std::uint32_t* y, std::size_t n, std::uint32_t q);

  // out[c] = 2^-64 sum_r digits[r] keys[r * outputs + c] modulo a prime, canonical; any number of
  // rows, up to kMaxParts outputs.
  void (*row_products)(std::uint32_t* const* out, int outputs, const std::uint32_t* const* digits,
                       const std::uint32_t* const* keys, int rows, std::size_t count,
                       const Modulus& m);

  // sums += sum_r factors[r] rows[r] for `words` words. The implementation chooses the order of
  // sums (words 64-bit numbers), and prefetches the next rows. reduce_sums does out = (out + sums)
  // mod q and clears sums.
  void (*multiply_add_rows)(std::int64_t* sums, const std::uint32_t* const* rows,
                            const std::int32_t* factors, int count, std::size_t words,
                            Prefetch& ahead);
  void (*reduce_sums)(std::uint32_t* out, std::int64_t* sums, std::size_t words, const Modulus& m);
};

const LweKernels& reference_lwe_kernels();

}  // namespace latticino::cpu
