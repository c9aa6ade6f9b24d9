// Pointwise kernels and base conversion over `Vec`; see ntt_impl.h. Nothing here may call an inline
// function of another header: it would be emitted with this file's instructions for the whole
// program.
#pragma once

#include "backend/cpu/simd/fourier_impl.h"
#include "backend/cpu/simd/lwe_impl.h"

namespace latticino::cpu::LATTICINO_SIMD_TARGET {

inline void centre_words(std::int32_t* y, const std::uint32_t* x, std::size_t count,
                         const Modulus& m) {
  const Vec q = Vec::set(m.q), bound = Vec::set((m.q - 1) / 2);
  for (std::size_t k = 0; k < count; k += Vec::kLanes) {
    sub_where_greater(Vec::load(x + k), bound, q).store(reinterpret_cast<std::uint32_t*>(y) + k);
  }
}

// kOutputs targets at once share the loads of y.
template <int kOutputs>
inline void convert_some(std::uint32_t* const* out, const std::int32_t* const* y, int sources,
                         std::size_t count, const std::int32_t* table, const Modulus* moduli) {
  for (std::size_t k = 0; k < count; k += Vec::kLanes) {
    Wide x[kOutputs];
    for (int i = 0; i < kOutputs; ++i) x[i] = Wide::zero();
    for (int j = 0; j < sources; ++j) {
      const auto* from = reinterpret_cast<const std::uint32_t*>(y[j]) + k;
      const Vec v = Vec::load(from), v_odd = Vec::load_odd(from);
      for (int i = 0; i < kOutputs; ++i) {
        x[i].add_broadcast(v, v_odd, Vec::set(static_cast<std::uint32_t>(table[i * sources + j])));
      }
    }
    for (int i = 0; i < kOutputs; ++i) {
      const Vec m = Vec::set(static_cast<std::uint32_t>(moduli[i].q_inverse));
      montgomery_twice(x[i], Vec::set(moduli[i].q), m).store(out[i] + k);
    }
  }
}

inline void convert(std::uint32_t* const* out, const std::int32_t* const* y, int outputs,
                    int sources, std::size_t count, const std::int32_t* table,
                    const Modulus* moduli) {
  constexpr int kGroup = 4;
  int i = 0;
  for (; i + kGroup <= outputs; i += kGroup) {
    convert_some<kGroup>(out + i, y, sources, count, table + static_cast<long>(i) * sources,
                         moduli + i);
  }
  for (; i < outputs; ++i) {
    convert_some<1>(out + i, y, sources, count, table + static_cast<long>(i) * sources, moduli + i);
  }
}

inline void multiply_accumulate(std::uint32_t* out, const std::uint32_t* const* a,
                                const std::uint32_t* const* b, int terms, const std::uint32_t* add,
                                ShoupFactor factor, std::size_t count, const Modulus& mod) {
  // Centred operands: products below q^2/4 < 2^60, so eight of them fit 63 bits.
  constexpr int kTerms = 8;
  const Prime p(mod.q);
  const Vec m = Vec::set(static_cast<std::uint32_t>(mod.q_inverse));
  const Vec bound = Vec::set((mod.q - 1) / 2);
  const Factor plain = two_to_64(mod.q), f(factor);
  for (std::size_t k = 0; k < count; k += Vec::kLanes) {
    Vec sum = Vec::set(0);
    if (add != nullptr) sum = p.below_q(shoup(Vec::load(add + k), f.w, f.quotient, p.q));
    for (int first = 0; first < terms; first += kTerms) {
      const int last = first + kTerms < terms ? first + kTerms : terms;
      Wide x = Wide::zero();
      for (int j = first; j < last; ++j) {
        x.add_product(sub_where_greater(Vec::load(a[j] + k), bound, p.q),
                      sub_where_greater(Vec::load(b[j] + k), bound, p.q));
      }
      const Vec r = montgomery_twice(x, p.q, m);
      sum = p.below_q(sum + p.below_q(shoup(r, plain.w, plain.quotient, p.q)));
    }
    sum.store(out + k);
  }
}

inline void linear(std::uint32_t* out, const std::uint32_t* const* x, const ShoupFactor* c,
                   int terms, std::uint32_t constant, std::size_t count, const Modulus& mod) {
  const Prime p(mod.q);
  for (std::size_t k = 0; k < count; k += Vec::kLanes) {
    Vec sum = Vec::set(constant);
    for (int j = 0; j < terms; ++j) {
      const Vec v = Vec::load(x[j] + k);
      if (c[j].w == 1) {
        sum = p.below_q(sum + v);
      } else if (c[j].w == mod.q - 1) {
        sum = p.below_q(sum + (p.q - v));
      } else if (c[j].w != 0) {
        sum = p.below_q(sum + p.below_q(shoup(v, Vec::set(c[j].w), Vec::set(c[j].quotient), p.q)));
      }
    }
    sum.store(out + k);
  }
}

// Entries of a row whose indices differ in their low bits come from entries that do: with L lanes,
// exponents of entries i < L of a vector differ from that of the first one by galois bitrev(i)
// cols / L, so their indices do in bitrev(top + galois bitrev(i) mod L) alone, `top` being the
// first one's top bits. order[galois mod L / 2][top][i] is that.
struct LaneOrders {
  static constexpr int kLanes = Vec::kLanes;
  std::uint8_t order[kLanes / 2][kLanes][kLanes];

  static constexpr int reversed(int x) {
    int y = 0;
    for (int bit = 1; bit < kLanes; bit *= 2) y = 2 * y + (x & bit ? 1 : 0);
    return y;
  }
  constexpr LaneOrders() : order{} {
    for (int galois = 1; galois < kLanes; galois += 2) {
      for (int top = 0; top < kLanes; ++top) {
        for (int i = 0; i < kLanes; ++i) {
          order[galois / 2][top][i] =
              static_cast<std::uint8_t>(reversed((top + galois * reversed(i)) % kLanes));
        }
      }
    }
  }
};
inline constexpr LaneOrders kLaneOrders;

inline void gather_row(std::uint32_t* out, const std::uint32_t* in, int cols,
                       const std::uint16_t* bit_reversal, std::uint32_t offset,
                       std::uint32_t galois, bool accumulate, const Modulus& mod) {
  const Prime p(mod.q);
  const auto mask = static_cast<std::uint32_t>(cols - 1), below = mask / Vec::kLanes;
  const int top = __builtin_popcount(below);
  const auto& orders = kLaneOrders.order[galois % Vec::kLanes / 2];
  for (int c = 0; c < cols; c += Vec::kLanes) {
    const std::uint32_t exponent = (offset + galois * bit_reversal[c]) & mask;
    const std::uint32_t first = bit_reversal[exponent & below];
    Vec v = permuted(Vec::load(in + first), Vec::load8(orders[exponent >> top]));
    if (accumulate) v = p.below_q(v + Vec::load(out + c));
    v.store(out + c);
  }
}

inline void reduce(std::uint32_t* out, const std::int64_t* in, std::size_t count,
                   const Modulus& mod) {
  // x = (high + 2^31) 2^32 + low - 2^63 with both halves unsigned.
  const std::uint32_t q = mod.q;
  const std::uint64_t r = (std::uint64_t{1} << 32) % q;
  const Factor high_factor = scaled_factor(static_cast<std::uint32_t>(r), 1, q);
  const Factor one = scaled_factor(1, 1, q);
  const Prime p(q);
  const Vec flip = Vec::set(0x80000000u);
  const Vec offset = Vec::set(static_cast<std::uint32_t>(q - (std::uint64_t{1} << 63) % q));
  for (std::size_t k = 0; k < count; k += Vec::kLanes) {
    Vec low, high;
    Vec::load_split(in + k, low, high);
    const Vec h = p.below_q(shoup(high + flip, high_factor.w, high_factor.quotient, p.q));
    const Vec l = p.below_q(shoup(low, one.w, one.quotient, p.q));
    p.below_q(p.below_q(h + l) + offset).store(out + k);
  }
}

// Stages of the special FFT as plain loops for the compiler to vectorise: the products and sums of
// ops/slot_transform.h one by one (contraction is off), so the same doubles.
inline void forward_slots(double* re, double* im, std::size_t n, std::size_t half,
                          const double* __restrict w_re, const double* __restrict w_im) {
  for (std::size_t first = 0; first < n; first += 2 * half) {
    double* __restrict x_re = re + first, * __restrict y_re = x_re + half;
    double* __restrict x_im = im + first, * __restrict y_im = x_im + half;
    for (std::size_t j = 0; j < half; ++j) {
      const double v_re = y_re[j] * w_re[j] - y_im[j] * w_im[j];
      const double v_im = y_re[j] * w_im[j] + y_im[j] * w_re[j];
      y_re[j] = x_re[j] - v_re;
      y_im[j] = x_im[j] - v_im;
      x_re[j] = x_re[j] + v_re;
      x_im[j] = x_im[j] + v_im;
    }
  }
}

inline void inverse_slots(double* re, double* im, std::size_t n, std::size_t half,
                          const double* __restrict w_re, const double* __restrict w_im) {
  for (std::size_t first = 0; first < n; first += 2 * half) {
    double* __restrict x_re = re + first, * __restrict y_re = x_re + half;
    double* __restrict x_im = im + first, * __restrict y_im = x_im + half;
    for (std::size_t j = 0; j < half; ++j) {
      const double d_re = x_re[j] - y_re[j], d_im = x_im[j] - y_im[j];
      x_re[j] = x_re[j] + y_re[j];
      x_im[j] = x_im[j] + y_im[j];
      y_re[j] = d_re * w_re[j] + d_im * w_im[j];
      y_im[j] = d_im * w_re[j] - d_re * w_im[j];
    }
  }
}

inline const CpuKernels& kernels(const char* name,
                                 std::shared_ptr<BackendTable> (*prepare)(const PrimeTable&)) {
  static const CpuKernels table{name,
                                prepare,
                                forward_columns,
                                inverse_columns,
                                forward_rows,
                                inverse_rows,
                                centre_words,
                                convert,
                                multiply_accumulate,
                                linear,
                                gather_row,
                                reduce,
                                forward_slots,
                                inverse_slots,
                                &lwe_kernels(),
                                &fourier_kernels()};
  return table;
}

}  // namespace latticino::cpu::LATTICINO_SIMD_TARGET
