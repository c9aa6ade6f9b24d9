// Device constants of a BaseConversion, built at its first immediate use and held by it.
#pragma once

#include "backend/cuda/device/layout.h"
#include "backend/cuda/device/tables.h"
#include "ops/conversion.h"

namespace latticino::cuda {

// For one source prime q_j. The inverse column transform ends with `scale` = factor_j / rows and
// `last` = scale psi^-(N/2). From Coeff, only the factor is used.
struct alignas(16) ConversionSource {
  Shoup scale, last, factor, unused;
};

// For one target prime p_i. The matrix units take y_j + (q_j - 1)/2 >= 0. `offset` is a residue
// that corrects the result by sum_j (q_j - 1)/2 matrix[i][j].
struct alignas(16) ConversionTarget {
  std::uint32_t q;
  std::uint32_t inv;         // q^-1 mod 2^32
  std::uint32_t reciprocal;  // floor(2^48 / q), where q > 2^16
  std::uint32_t offset;
};

// The same for conversions of at most kFewSources: the matrix itself, times 2^32.
constexpr int kFewSources = 4;
struct alignas(16) FewTarget {
  std::uint32_t matrix[kFewSources];
  std::uint32_t offset, unused[3];
};

struct ConversionView {
  const ConversionSource* source = nullptr;
  const ConversionTarget* target = nullptr;
  // For target i and source j four words: word k holds in byte b the byte k of
  // matrix[i][j] 2^(8b) mod p_i, so that
  //   sum_k 2^(8k) sum_j sum_b byte_b(u_j) byte_b(word_k) = sum_j u_j matrix[i][j] mod p_i.
  // In the order of the matrix units' fragments, zeros where a source is missing: vectors
  // [(i pairs + p) 8 + 2 l + h], p < pairs = ceil(sources / 8), lane l < 4, hold words 2h, 2h + 1
  // of source 8p + l, then those of source 8p + 4 + l.
  const uint4* planes = nullptr;
  const FewTarget* few = nullptr;  // null if there are more sources than kFewSources
  // [i * sources + j]: matrix[i][j] 2^64 mod p_i, centred (double Montgomery).
  const std::int32_t* matrix = nullptr;
  std::uint16_t sources = 0, targets = 0;
  LATTICINO_HOST_DEVICE int pairs() const { return (sources + 7) / 8; }
};

class ConversionTables : public OwnedTable {
 public:
  ConversionTables(Launcher& launcher, const BaseConversion& conversion);
  const ConversionView& view() const { return view_; }
  // Whether the matrix units' path is exact: every target prime is at least kMinPrime.
  bool fits_matrix_units() const { return fits_; }

  static constexpr std::uint32_t kMinPrime = 1u << 18;

 private:
  ConversionView view_;
  bool fits_ = true;
  DeviceBlock block_;
};

}  // namespace latticino::cuda
