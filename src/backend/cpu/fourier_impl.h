// The loops of FourierKernels, compiled once for each instruction set (LATTICINO_FOURIER_TARGET,
// the namespace): compilers vectorise those that have enough neighbours. No contraction, so the
// same doubles from all.
#include "backend/cpu/fourier_kernels.h"

namespace latticino::cpu::LATTICINO_FOURIER_TARGET {

// f(first number of a block, number of pairs, w) for all blocks of stage s.
template <class F>
inline void for_each_block(int s, int log_n, const fourier::Complex* roots, const F& f) {
  const std::size_t blocks = std::size_t{1} << s, half = std::size_t{1} << (log_n - 2 - s);
  for (std::size_t k = 0; k < blocks; ++k) {
    const fourier::Complex w = roots[(blocks + k) / 2];
    f(2 * half * k, half, k % 2 == 0 ? w : fourier::times_i(w));
  }
}

template <class Butterfly>
inline void stage(double* re, double* im, int s, int log_n, const fourier::Complex* roots,
                  const Butterfly& turn) {
  for_each_block(s, log_n, roots, [&](std::size_t first, std::size_t half, fourier::Complex w) {
    double* __restrict x_re = re + first;
    double* __restrict y_re = re + first + half;
    double* __restrict x_im = im + first;
    double* __restrict y_im = im + first + half;
    for (std::size_t j = 0; j < half; ++j) {
      fourier::Complex x = {x_re[j], x_im[j]}, y = {y_re[j], y_im[j]};
      turn(x, y, w);
      x_re[j] = x.re, x_im[j] = x.im;
      y_re[j] = y.re, y_im[j] = y.im;
    }
  });
}

inline void forward(double* re, double* im, int log_n, const fourier::Complex* roots) {
  for (int s = 0; s < log_n - 1; ++s) {
    stage(re, im, s, log_n, roots, [](auto& x, auto& y, auto w) { fourier::butterfly(x, y, w); });
  }
}

inline void inverse(double* re, double* im, int log_n, const fourier::Complex* roots) {
  for (int s = log_n - 2; s >= 0; --s) {
    stage(re, im, s, log_n, roots,
          [](auto& x, auto& y, auto w) { fourier::inverse_butterfly(x, y, w); });
  }
}

inline void multiply_add(double* __restrict sum_re, double* __restrict sum_im,
                         const double* __restrict x_re, const double* __restrict x_im,
                         const double* __restrict k_re, const double* __restrict k_im,
                         std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    fourier::Complex sum = {sum_re[i], sum_im[i]};
    fourier::multiply_add(sum, {x_re[i], x_im[i]}, {k_re[i], k_im[i]});
    sum_re[i] = sum.re, sum_im[i] = sum.im;
  }
}

inline const FourierKernels& fourier_kernels() {
  static constexpr FourierKernels kernels{forward, inverse, multiply_add};
  return kernels;
}

}  // namespace latticino::cpu::LATTICINO_FOURIER_TARGET
