#include "ckks/encoding/encoder.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <string>
#include <utility>

#include "math/errors.h"

namespace latticino::ckks {
namespace {

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

void bit_reverse(std::span<Complex> x) {
  const std::size_t n = x.size();
  for (std::size_t i = 0, j = 0; i < n; ++i, j = slots::next_reversed(j, n)) {
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
    throw ScaleError("ckks.encode", "a coefficient beyond the bound",
                     "less than 2^" + std::to_string(std::log2(limit)),
                     "scale the values down or encode at a smaller scale or a higher level");
  }
  return std::llrint(x);
}

}  // namespace

Encoder::Encoder(int log_n) : transform_(std::make_unique<SlotTransform>(log_n)) {}
Encoder::Encoder(const rlwe::Constants& constants) : Encoder(constants.params().log_n()) {}
Encoder::~Encoder() = default;

void Encoder::forward(std::span<Complex> values) const {
  check_slots("ckks.Encoder.forward", values.size(), n());
  Parts p(values);
  slots::forward(transform_->tables(), p.re.data(), p.im.data(), values.size());
  p.store(values);
}

void Encoder::inverse(std::span<Complex> values) const {
  const std::size_t size = values.size();
  check_slots("ckks.Encoder.inverse", size, n());
  Parts p(values);
  slots::inverse(transform_->tables(), p.re.data(), p.im.data(), size);
  const double factor = 1.0 / static_cast<double>(size);  // a power of two: exact
  for (std::size_t i = 0; i < size; ++i) {
    p.re[i] *= factor;
    p.im[i] *= factor;
  }
  p.store(values);
}

void Encoder::check(std::span<const Complex> values, double scale) const {
  check_slots("ckks.encode", values.size(), n());
  check_scale(scale);
  for (std::size_t j = 0; j < values.size(); ++j) {
    if (!std::isfinite(values[j].real()) || !std::isfinite(values[j].imag())) {
      throw ValueError("ckks.encode", "NaN or infinity in slot " + std::to_string(j),
                       "finite values", "clean the input");
    }
  }
}

std::vector<std::int64_t> Encoder::embed(std::span<const Complex> values, double scale,
                                         double bound) const {
  check(values, scale);
  std::vector<Complex> w(values.begin(), values.end());
  inverse(w);
  bit_reverse(w);
  const double limit = slots::coefficient_limit(bound);
  const std::size_t half = static_cast<std::size_t>(n()) / 2, gap = half / w.size();
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
  check_slots("ckks.decode", static_cast<std::size_t>(slots), n());
  if (coefficients.size() != static_cast<std::size_t>(n())) {
    throw ShapeError("ckks.decode", std::to_string(coefficients.size()) + " coefficients",
                     std::to_string(n()), "pass the whole polynomial");
  }
  const std::size_t half = static_cast<std::size_t>(n()) / 2;
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
