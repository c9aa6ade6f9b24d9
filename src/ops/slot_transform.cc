#include "ops/slot_transform.h"

namespace latticino::slots {

void forward_stage(double* re, double* im, std::size_t n, std::size_t half, const double* w_re,
                   const double* w_im) {
  for (std::size_t first = 0; first < n; first += 2 * half) {
    double *x_re = re + first, *x_im = im + first, *y_re = x_re + half, *y_im = x_im + half;
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

void inverse_stage(double* re, double* im, std::size_t n, std::size_t half, const double* w_re,
                   const double* w_im) {
  for (std::size_t first = 0; first < n; first += 2 * half) {
    double *x_re = re + first, *x_im = im + first, *y_re = x_re + half, *y_im = x_im + half;
    for (std::size_t j = 0; j < half; ++j) {
      const double d_re = x_re[j] - y_re[j], d_im = x_im[j] - y_im[j];
      x_re[j] = x_re[j] + y_re[j];
      x_im[j] = x_im[j] + y_im[j];
      y_re[j] = d_re * w_re[j] + d_im * w_im[j];
      y_im[j] = d_im * w_re[j] - d_re * w_im[j];
    }
  }
}

void forward(const FftTables& tables, double* re, double* im, std::size_t n, Stage stage) {
  for (std::size_t len = 2; len <= n; len *= 2) {
    const int l = static_cast<int>(len);
    stage(re, im, n, len / 2, tables.re(l), tables.im(l));
  }
}

void inverse(const FftTables& tables, double* re, double* im, std::size_t n, Stage stage) {
  for (std::size_t len = n; len >= 2; len /= 2) {
    const int l = static_cast<int>(len);
    stage(re, im, n, len / 2, tables.re(l), tables.im(l));
  }
}

}  // namespace latticino::slots
