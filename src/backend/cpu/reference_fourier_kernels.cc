#define LATTICINO_FOURIER_TARGET plain
#include "backend/cpu/fourier_rounding.h"

namespace latticino::cpu {
namespace {

using fourier::Complex;

// f(x, y, w) for all pairs of stage s.
template <class Butterfly>
void stage(double* re, double* im, int s, const FourierTable& table, const Butterfly& turn) {
  const std::size_t blocks = std::size_t{1} << s, half = std::size_t{1} << (table.log_n - 2 - s);
  for (std::size_t k = 0; k < blocks; ++k) {
    Complex w = table.roots[(blocks + k) / 2];
    if (k % 2 != 0) w = fourier::times_i(w);
    for (std::size_t i = 2 * half * k; i < half * (2 * k + 1); ++i) {
      Complex x = {re[i], im[i]}, y = {re[i + half], im[i + half]};
      turn(x, y, w);
      re[i] = x.re, im[i] = x.im;
      re[i + half] = y.re, im[i + half] = y.im;
    }
  }
}

void forward(double* re, double* im, const FourierTable& table, Prefetch&) {
  for (int s = 0; s < table.log_n - 1; ++s) {
    stage(re, im, s, table, [](Complex& x, Complex& y, Complex w) { butterfly(x, y, w); });
  }
}

void inverse(double* re, double* im, const FourierTable& table, Prefetch&) {
  for (int s = table.log_n - 2; s >= 0; --s) {
    stage(re, im, s, table, [](Complex& x, Complex& y, Complex w) { inverse_butterfly(x, y, w); });
  }
}

void products(double* sums, const double* x, const double* key, int rows, int parts,
              std::size_t n) {
  const std::size_t half = n / 2;
  const FourierKeyOrder order{rows, parts};
  for (int c = 0; c < parts; ++c) {
    for (std::size_t i = 0; i < half; ++i) {
      Complex sum = {0, 0};
      for (int r = 0; r < rows; ++r) {
        const double *v = x + r * n + i, *k = key + order.at(r, c, i);
        fourier::multiply_add(sum, {v[0], v[half]}, {k[0], k[FourierKeyOrder::kInterleaved]});
      }
      sums[c * n + i] = sum.re, sums[c * n + i + half] = sum.im;
    }
  }
}

}  // namespace

const FourierKernels& reference_fourier_kernels() {
  static constexpr FourierKernels kernels{0,
                                          forward,
                                          inverse,
                                          products,
                                          plain::selectors,
                                          plain::combine,
                                          plain::round_one,
                                          plain::real_digits,
                                          plain::add_sums};
  return kernels;
}

std::vector<std::uint32_t> fourier_exponents(int log_n, int log_lanes) {
  const std::uint32_t lanes = 1u << log_lanes;
  std::vector<std::uint32_t> out(std::size_t{1} << (log_n - 1));
  for (std::uint32_t i = 0; i < out.size(); ++i) {
    const std::uint32_t row = i / lanes % lanes, column = i % lanes;
    out[i] = fourier::root_exponent(i - row * lanes - column + column * lanes + row, log_n);
  }
  return out;
}

std::vector<double> fourier_tail(const std::vector<Complex>& roots, int log_lanes) {
  const std::size_t lanes = std::size_t{1} << log_lanes, blocks = roots.size() * 2 >> log_lanes;
  std::vector<double> out;
  out.reserve(2 * roots.size());
  for (std::size_t first = 0; first < blocks && log_lanes > 0; first += lanes) {
    for (int t = 0; t < log_lanes; ++t) {
      for (std::size_t b = 0; b < std::size_t{1} << t; b += 2) {
        std::vector<Complex> w;
        for (std::size_t lane = 0; lane < lanes; ++lane) {
          // The block in stage log2(blocks) + t.
          const std::size_t block = ((first + lane) << t) + b;
          w.push_back(roots[((blocks << t) + block) / 2]);
          if (block % 2 != 0) w.back() = fourier::times_i(w.back());
        }
        for (const Complex& v : w) out.push_back(v.re);
        for (const Complex& v : w) out.push_back(v.im);
      }
    }
  }
  return out;
}

}  // namespace latticino::cpu
