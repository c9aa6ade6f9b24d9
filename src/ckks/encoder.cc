#include "ckks/encoder.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <string>
#include <utility>

#include "ckks/fft_tables.h"
#include "math/errors.h"

namespace latticino::ckks {

struct Encoder::Tables {
  explicit Tables(int log_n) : n(1 << log_n), fft(log_n - 1) {}
  int n;
  FftTables fft;
};

namespace {

constexpr double kCoefficientLimit = 4611686018427387904.0;  // 2^62

// Real and imaginary parts apart: interleaved complex products invite some compilers to fuse
// multiply-adds even where contraction is off, which would change stored bits.
struct Parts {
  explicit Parts(std::span<const Complex> x) : re(x.size()), im(x.size()) {
    for (std::size_t i = 0; i < x.size(); ++i) {
      re[i] = x[i].real();
      im[i] = x[i].imag();
    }
  }
  void store(std::span<Complex> x) const {
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = {re[i], im[i]};
  }
  std::vector<double> re, im;
};

// (x, y) -> (x + w y, x - w y) for `half` neighbours.
void forward_butterflies(double* x_re, double* x_im, double* y_re, double* y_im, const double* w_re,
                         const double* w_im, std::size_t half) {
  for (std::size_t j = 0; j < half; ++j) {
    const double v_re = y_re[j] * w_re[j] - y_im[j] * w_im[j];
    const double v_im = y_re[j] * w_im[j] + y_im[j] * w_re[j];
    y_re[j] = x_re[j] - v_re;
    y_im[j] = x_im[j] - v_im;
    x_re[j] = x_re[j] + v_re;
    x_im[j] = x_im[j] + v_im;
  }
}

// (x, y) -> (x + y, (x - y) conj(w)).
void inverse_butterflies(double* x_re, double* x_im, double* y_re, double* y_im, const double* w_re,
                         const double* w_im, std::size_t half) {
  for (std::size_t j = 0; j < half; ++j) {
    const double d_re = x_re[j] - y_re[j], d_im = x_im[j] - y_im[j];
    x_re[j] = x_re[j] + y_re[j];
    x_im[j] = x_im[j] + y_im[j];
    y_re[j] = d_re * w_re[j] + d_im * w_im[j];
    y_im[j] = d_im * w_re[j] - d_re * w_im[j];
  }
}

void bit_reverse(std::span<Complex> x) {
  const std::size_t n = x.size();
  for (std::size_t i = 1, j = 0; i < n; ++i) {
    std::size_t bit = n >> 1;
    for (; (j & bit) != 0; bit >>= 1) j ^= bit;
    j ^= bit;
    if (i < j) std::swap(x[i], x[j]);
  }
}

void check_slots(const char* operation, std::size_t slots, int n) {
  if (slots == 0 || !std::has_single_bit(slots) || slots > static_cast<std::size_t>(n) / 2) {
    throw ShapeError(operation, std::to_string(slots) + " slots",
                     "a power of two up to " + std::to_string(n / 2),
                     "pad the vector or split it over several ciphertexts");
  }
}

void check_scale(double scale) {
  if (!std::isfinite(scale) || scale <= 0) {
    throw ScaleError("ckks.encode", "scale " + std::to_string(scale), "a positive finite scale",
                     "leave the scale out to take the level's own");
  }
}

std::int64_t round_coefficient(double x, double limit) {
  if (!(std::abs(x) < limit)) {
    throw ScaleError("ckks.encode", "a coefficient of 2^" + std::to_string(std::log2(std::abs(x))),
                     "less than 2^" + std::to_string(std::log2(limit)),
                     "scale the values down or encode at a smaller scale or a higher level");
  }
  return std::llrint(x);
}

}  // namespace

Encoder::Encoder(int log_n) : tables_(std::make_unique<Tables>(log_n)) {}
Encoder::Encoder(const rlwe::Constants& constants) : Encoder(constants.params().log_n()) {}
Encoder::~Encoder() = default;

void Encoder::forward(std::span<Complex> values) const {
  const std::size_t n = values.size();
  check_slots("ckks.Encoder.forward", n, tables_->n);
  Parts p(values);
  for (std::size_t len = 2; len <= n; len *= 2) {
    const std::size_t half = len / 2;
    const double* w_re = tables_->fft.re(static_cast<int>(len));
    const double* w_im = tables_->fft.im(static_cast<int>(len));
    for (std::size_t i = 0; i < n; i += len) {
      forward_butterflies(&p.re[i], &p.im[i], &p.re[i + half], &p.im[i + half], w_re, w_im, half);
    }
  }
  p.store(values);
}

void Encoder::inverse(std::span<Complex> values) const {
  const std::size_t n = values.size();
  check_slots("ckks.Encoder.inverse", n, tables_->n);
  Parts p(values);
  for (std::size_t len = n; len >= 2; len /= 2) {
    const std::size_t half = len / 2;
    const double* w_re = tables_->fft.re(static_cast<int>(len));
    const double* w_im = tables_->fft.im(static_cast<int>(len));
    for (std::size_t i = 0; i < n; i += len) {
      inverse_butterflies(&p.re[i], &p.im[i], &p.re[i + half], &p.im[i + half], w_re, w_im, half);
    }
  }
  const double factor = 1.0 / static_cast<double>(n);  // a power of two: exact
  for (std::size_t i = 0; i < n; ++i) {
    p.re[i] *= factor;
    p.im[i] *= factor;
  }
  p.store(values);
}

std::vector<std::int64_t> Encoder::embed(std::span<const Complex> values, double scale,
                                         double bound) const {
  check_slots("ckks.encode", values.size(), tables_->n);
  check_scale(scale);
  std::vector<Complex> w(values.begin(), values.end());
  for (std::size_t j = 0; j < w.size(); ++j) {
    if (!std::isfinite(w[j].real()) || !std::isfinite(w[j].imag())) {
      throw ValueError("ckks.encode", "NaN or infinity in slot " + std::to_string(j),
                       "finite values", "clean the input");
    }
  }
  inverse(w);
  bit_reverse(w);
  const double limit = bound > 0 ? std::min(bound, kCoefficientLimit) : kCoefficientLimit;
  const std::size_t half = static_cast<std::size_t>(tables_->n) / 2, gap = half / w.size();
  std::vector<std::int64_t> out(2 * half, 0);
  for (std::size_t k = 0; k < w.size(); ++k) {
    out[k * gap] = round_coefficient(w[k].real() * scale, limit);
    out[half + k * gap] = round_coefficient(w[k].imag() * scale, limit);
  }
  return out;
}

double encoding_error_bound(int slots, double scale, double largest) {
  const double n = slots, unit = std::exp2(-53);
  return n / (std::sqrt(2.0) * scale) + std::sqrt(n) * largest * unit * (14 * std::log2(n) + 4);
}

std::vector<Complex> Encoder::project(std::span<const double> coefficients, int slots) const {
  check_slots("ckks.decode", static_cast<std::size_t>(slots), tables_->n);
  if (coefficients.size() != static_cast<std::size_t>(tables_->n)) {
    throw ShapeError("ckks.decode", std::to_string(coefficients.size()) + " coefficients",
                     std::to_string(tables_->n), "pass the whole polynomial");
  }
  const std::size_t half = static_cast<std::size_t>(tables_->n) / 2;
  const std::size_t gap = half / static_cast<std::size_t>(slots);
  std::vector<Complex> w(static_cast<std::size_t>(slots));
  for (std::size_t k = 0; k < w.size(); ++k) {
    w[k] = {coefficients[k * gap], coefficients[half + k * gap]};
  }
  bit_reverse(w);
  forward(w);
  return w;
}

}  // namespace latticino::ckks
