#include <algorithm>
#include <cstring>

#include "backend/cpu/fourier_kernels.h"
#include "backend/cpu/kernels.h"
#include "backend/cpu/lwe_kernels.h"

namespace latticino::cpu {
namespace {

using u32 = std::uint32_t;

ShoupFactor forward_factor(const PrimeTable& p, std::size_t i) {
  return {p.root[i], p.root_quotient[i]};
}
ShoupFactor inverse_factor(const PrimeTable& p, std::size_t i) {
  return {p.inverse[i], p.inverse_quotient[i]};
}

// Cooley-Tukey butterflies of two runs: canonical in, canonical out.
void forward_run(u32* x, u32* y, int count, ShoupFactor w, u32 q) {
  for (int i = 0; i < count; ++i) {
    const u32 u = x[i], v = mul_shoup(y[i], w, q);
    x[i] = add_mod(u, v, q);
    y[i] = sub_mod(u, v, q);
  }
}

// Gentleman-Sande butterflies: the inverse of forward_run, apart from a factor 2.
void inverse_run(u32* x, u32* y, int count, ShoupFactor w, u32 q) {
  for (int i = 0; i < count; ++i) {
    const u32 u = x[i], v = y[i];
    x[i] = add_mod(u, v, q);
    y[i] = mul_shoup(u + (q - v), w, q);  // below 2q < 2^32
  }
}

void scale_run(u32* x, int count, ShoupFactor f, u32 q) {
  if (f.w == 1) return;
  for (int i = 0; i < count; ++i) x[i] = mul_shoup(x[i], f, q);
}

void copy_columns(u32* out, std::size_t out_stride, const u32* in, std::size_t in_stride, int rows,
                  int width) {
  if (out == in) return;
  for (int r = 0; r < rows; ++r) {
    std::memcpy(out + r * out_stride, in + r * in_stride, sizeof(u32) * width);
  }
}

// One stage: `half` rows between the two entries of a butterfly.
template <class Run>
void column_stage(u32* data, std::size_t stride, int rows, int half, const Run& run) {
  for (int block = 0; block < rows / (2 * half); ++block) {
    for (int r = 0; r < half; ++r) {
      u32* x = data + (2 * half * block + r) * stride;
      run(x, x + half * stride, block);
    }
  }
}

void forward_columns(u32* out, std::size_t out_stride, const u32* in, std::size_t in_stride,
                     int width, const PrimeTable& p) {
  copy_columns(out, out_stride, in, in_stride, p.rows(), width);
  for (int s = 0; s < p.log_rows; ++s) {
    column_stage(out, out_stride, p.rows(), p.rows() >> (s + 1), [&](u32* x, u32* y, int block) {
      forward_run(x, y, width, forward_factor(p, (1 << s) + block), p.modulus.q);
    });
  }
}

void inverse_columns(u32* out, std::size_t out_stride, const u32* in, std::size_t in_stride,
                     int width, ShoupFactor scale, const PrimeTable& p) {
  copy_columns(out, out_stride, in, in_stride, p.rows(), width);
  for (int s = p.log_rows - 1; s >= 0; --s) {
    column_stage(out, out_stride, p.rows(), p.rows() >> (s + 1), [&](u32* x, u32* y, int block) {
      inverse_run(x, y, width, inverse_factor(p, (1 << s) + block), p.modulus.q);
    });
  }
  for (int r = 0; r < p.rows(); ++r) scale_run(out + r * out_stride, width, scale, p.modulus.q);
}

void forward_rows(u32* out, const u32* in, int first_row, int count, const PrimeTable& p) {
  const int cols = p.cols(), log_cols = p.log_n - p.log_rows;
  if (out != in) std::memcpy(out, in, sizeof(u32) * count * cols);
  for (int r = 0; r < count; ++r, out += cols) {
    for (int t = 0; t < log_cols; ++t) {
      const std::size_t first = static_cast<std::size_t>(p.rows() + first_row + r) << t;
      const int half = cols >> (t + 1);
      for (int b = 0; b < 1 << t; ++b) {
        u32* x = out + 2 * half * b;
        forward_run(x, x + half, half, forward_factor(p, first + b), p.modulus.q);
      }
    }
  }
}

void inverse_rows(u32* out, const u32* in, int first_row, int count, ShoupFactor scale,
                  const PrimeTable& p) {
  const int cols = p.cols(), log_cols = p.log_n - p.log_rows;
  if (out != in) std::memcpy(out, in, sizeof(u32) * count * cols);
  for (int r = 0; r < count; ++r, out += cols) {
    for (int t = log_cols - 1; t >= 0; --t) {
      const std::size_t first = static_cast<std::size_t>(p.rows() + first_row + r) << t;
      const int half = cols >> (t + 1);
      for (int b = 0; b < 1 << t; ++b) {
        u32* x = out + 2 * half * b;
        inverse_run(x, x + half, half, inverse_factor(p, first + b), p.modulus.q);
      }
    }
    scale_run(out, cols, scale, p.modulus.q);
  }
}

void centre_all(std::int32_t* y, const u32* x, std::size_t count, const Modulus& m) {
  for (std::size_t i = 0; i < count; ++i) y[i] = centre(x[i], m.q);
}

// Number of entries whose 64-bit sums stay in the first-level cache.
constexpr std::size_t kBlock = 256;

void convert(u32* const* out, const std::int32_t* const* y, int outputs, int sources,
             std::size_t count, const std::int32_t* table, const Modulus* moduli) {
  std::int64_t sum[kBlock];
  for (std::size_t at = 0; at < count; at += kBlock) {
    const std::size_t n = std::min(kBlock, count - at);
    for (int i = 0; i < outputs; ++i) {
      std::fill_n(sum, n, 0);
      for (int j = 0; j < sources; ++j) {
        const std::int64_t factor = table[i * sources + j];
        for (std::size_t k = 0; k < n; ++k) sum[k] += factor * y[j][at + k];
      }
      for (std::size_t k = 0; k < n; ++k) out[i][at + k] = montgomery_twice(sum[k], moduli[i]);
    }
  }
}

void multiply_accumulate(u32* out, const u32* const* a, const u32* const* b, int terms,
                         const u32* add, ShoupFactor factor, std::size_t count, const Modulus& m) {
  // A reduced sum (< 2^31) and three products (< 2^62 each) fit 64 bits.
  constexpr int kLazy = 3;
  std::uint64_t sum[kBlock];
  for (std::size_t at = 0; at < count; at += kBlock) {
    const std::size_t n = std::min(kBlock, count - at);
    std::fill_n(sum, n, 0);
    if (add != nullptr) {
      for (std::size_t k = 0; k < n; ++k) sum[k] = mul_shoup(add[at + k], factor, m.q);
    }
    for (int t = 0; t < terms; ++t) {
      for (std::size_t k = 0; k < n; ++k) {
        sum[k] += static_cast<std::uint64_t>(a[t][at + k]) * b[t][at + k];
      }
      if (t % kLazy == kLazy - 1 && t + 1 < terms) {
        for (std::size_t k = 0; k < n; ++k) sum[k] = reduce_u64(sum[k], m);
      }
    }
    for (std::size_t k = 0; k < n; ++k) out[at + k] = reduce_u64(sum[k], m);
  }
}

void linear(u32* out, const u32* const* x, const ShoupFactor* c, int terms, u32 constant,
            std::size_t count, const Modulus& m) {
  u32 sum[kBlock];
  for (std::size_t at = 0; at < count; at += kBlock) {
    const std::size_t n = std::min(kBlock, count - at);
    std::fill_n(sum, n, constant);
    for (int t = 0; t < terms; ++t) {
      const u32* in = x[t] + at;
      if (c[t].w == 1) {
        for (std::size_t k = 0; k < n; ++k) sum[k] = add_mod(sum[k], in[k], m.q);
      } else if (c[t].w == m.q - 1) {
        for (std::size_t k = 0; k < n; ++k) sum[k] = sub_mod(sum[k], in[k], m.q);
      } else {
        for (std::size_t k = 0; k < n; ++k) {
          sum[k] = add_mod(sum[k], mul_shoup(in[k], c[t], m.q), m.q);
        }
      }
    }
    std::memcpy(out + at, sum, sizeof(u32) * n);
  }
}

void gather_row(u32* out, const u32* in, int cols, const std::uint16_t* bit_reversal, u32 offset,
                u32 galois, bool accumulate, const Modulus& m) {
  for (int c = 0; c < cols; ++c) {
    const u32 index = (offset + galois * bit_reversal[c]) & static_cast<u32>(cols - 1);
    const u32 x = in[bit_reversal[index]];
    out[c] = accumulate ? add_mod(out[c], x, m.q) : x;
  }
}

void reduce(u32* out, const std::int64_t* in, std::size_t count, const Modulus& m) {
  for (std::size_t i = 0; i < count; ++i) out[i] = reduce_s64(in[i], m);
}

std::shared_ptr<BackendTable> prepare(const PrimeTable&) { return nullptr; }

}  // namespace

const CpuKernels& reference_kernels() {
  static const CpuKernels kernels{"reference",
                                  prepare,
                                  forward_columns,
                                  inverse_columns,
                                  forward_rows,
                                  inverse_rows,
                                  centre_all,
                                  convert,
                                  multiply_accumulate,
                                  linear,
                                  gather_row,
                                  reduce,
                                  slots::forward_stage,
                                  slots::inverse_stage,
                                  &reference_lwe_kernels(),
                                  &reference_fourier_kernels()};
  return kernels;
}

}  // namespace latticino::cpu
