// Plain values: shapes, checks, broadcasting.
#include <algorithm>
#include <bit>
#include <cmath>

#include "math/errors.h"
#include "math/text.h"
#include "session/ckks/state.h"

namespace latticino {
namespace {

template <class T>
std::vector<Complex> complexes(std::span<const T> x) {
  return {x.begin(), x.end()};
}

void require_size(std::size_t size, const Shape& shape) {
  if (size_of(shape) == size) return;
  throw ShapeError("Values", std::to_string(size) + " numbers for shape " + session::text_of(shape),
                   std::to_string(size_of(shape)), "correct the shape");
}

}  // namespace

std::size_t size_of(const Shape& shape) {
  std::size_t size = 1;
  for (const std::size_t n : shape) {
    if (__builtin_mul_overflow(size, n, &size)) {
      throw ShapeError("shape", "a product of lengths beyond 64 bits", "a smaller array",
                       "correct the shape");
    }
  }
  return size;
}

Values::Values(double x) : numbers_{x} {}
Values::Values(Complex x) : numbers_{x}, real_(false) {}
Values::Values(std::initializer_list<double> x) : numbers_(x.begin(), x.end()), shape_{x.size()} {}
Values::Values(std::vector<double> x) : Values(std::span<const double>(x)) {}
Values::Values(std::vector<Complex> x)
    : numbers_(std::move(x)), shape_{numbers_.size()}, real_(false) {}
Values::Values(std::span<const double> x) : numbers_(complexes(x)), shape_{x.size()} {}
Values::Values(std::span<const Complex> x)
    : numbers_(complexes(x)), shape_{x.size()}, real_(false) {}
Values::Values(std::initializer_list<double> x, Shape shape)
    : Values(std::vector<double>(x), std::move(shape)) {}
Values::Values(std::vector<double> x, Shape shape) : Values(std::move(x)) {
  require_size(size(), shape);
  shape_ = std::move(shape);
}
Values::Values(std::vector<Complex> x, Shape shape) : Values(std::move(x)) {
  require_size(size(), shape);
  shape_ = std::move(shape);
}

namespace session {

std::string text_of(const Shape& shape) {
  std::string out = "(";
  for (std::size_t i = 0; i < shape.size(); ++i) {
    out += (i ? ", " : "") + std::to_string(shape[i]);
  }
  return out + (shape.size() == 1 ? ",)" : ")");
}

std::string short_number(double x) { return formatted("%.4g", x); }

void require_finite(Complexes values, const char* operation) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    const Complex z = values[i];
    if (std::isfinite(z.real()) && std::isfinite(z.imag())) continue;
    const bool nan = std::isnan(z.real()) || std::isnan(z.imag());
    throw ValueError(operation, (nan ? "NaN at index " : "infinity at index ") + std::to_string(i),
                     "finite numbers", "clean the data first");
  }
}

int slots_for(std::size_t size, int most, const char* operation) {
  if (size < 1) {
    throw ShapeError(operation, "an empty array", "at least one value", "check the data");
  }
  return static_cast<int>(
      std::min<std::size_t>(static_cast<std::size_t>(most), std::bit_ceil(size)));
}

std::vector<std::vector<Complex>> rows_of(Complexes values, int slots) {
  std::vector<std::vector<Complex>> rows;
  const auto width = static_cast<std::size_t>(slots);
  for (std::size_t at = 0; at < values.size(); at += width) {
    const Complexes piece = values.subspan(at, std::min(width, values.size() - at));
    rows.emplace_back(piece.begin(), piece.end());
    rows.back().resize(width);
  }
  return rows;
}

std::vector<Complex> broadcast(const Values& values, const Shape& shape, const char* operation) {
  const Shape& own = values.shape();
  const std::size_t lead = shape.size() - std::min(shape.size(), own.size());
  bool fits = own.size() <= shape.size() && values.size() > 0;
  for (std::size_t d = 0; fits && d < own.size(); ++d) {
    fits = own[d] == shape[lead + d] || own[d] == 1;
  }
  if (!fits) {
    throw ShapeError(operation, "an array of shape " + text_of(own),
                     "one that broadcasts to " + text_of(shape), "reshape it");
  }
  std::vector<Complex> out(size_of(shape));
  for (std::size_t i = 0; i < out.size(); ++i) {
    std::size_t rest = i, at = 0, stride = 1;
    for (std::size_t d = shape.size(); d-- > lead;) {
      const std::size_t place = rest % shape[d];
      rest /= shape[d];
      const std::size_t length = own[d - lead];
      at += length == 1 ? 0 : place * stride;
      stride *= length;
    }
    out[i] = values.numbers()[at];
  }
  require_finite(out, operation);
  return out;
}

Range range_of(const latticino::Range& r) {
  if (r.claim == Claim::Calibrated || !(r.rms >= 0)) {
    throw ValueError("range", r.rms >= 0 ? "a range of sample data" : "a root mean square below 0",
                     "what is known of the values", "state it, or pass the data as `like`");
  }
  if (r.claim == Claim::Assumed) return Range::assumed(r.imag_low == 0 && r.imag_high == 0);
  return Range::declared({r.low, r.high}, {r.imag_low, r.imag_high}, r.rms, r.random);
}

latticino::Range range_of(const Range& r) {
  return {r.re.low,
          r.re.high,
          r.im.low,
          r.im.high,
          r.rms,
          r.random_like,
          static_cast<latticino::Claim>(r.basis())};
}

Bits bits_of(const Known& known, std::size_t size, bool full) {
  const Known::Errors bits = known.bits(static_cast<double>(size), full);
  return {bits.mean, bits.worst, static_cast<latticino::Claim>(known.claim())};
}

}  // namespace session
}  // namespace latticino
