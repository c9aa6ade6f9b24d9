// Arrays: properties, sums, products and polynomials.
#include "latticino/array.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <optional>
#include <ostream>

#include "math/errors.h"
#include "session/ckks/bootstrap.h"
#include "session/ckks/polynomial.h"
#include "session/ckks/state.h"
#include "session/claims/slot_noise.h"

namespace latticino {
namespace session {
namespace {

bool power_of_two(std::size_t x) { return std::has_single_bit(x); }

// Whether an array of shape `inner` broadcasts over `outer` by plain repetition.
bool repeats_over(const Shape& inner, const Shape& outer) {
  return inner.size() <= outer.size() &&
         std::equal(inner.begin(), inner.end(),
                    outer.end() - static_cast<std::ptrdiff_t>(inner.size())) &&
         power_of_two(size_of(inner));
}

Array repeated(const ArrayState& x, const ArrayState& larger) {
  const ckks::Ciphertext part = with_slots(x.parts()[0], larger.slots());
  // In more slots, decoding reads more coefficients, and so more of the error.
  const double growth = std::sqrt(static_cast<double>(larger.slots()) / x.slots());
  Known known = x.known().repeated(larger.size(), growth);
  const UnusedSlots rest = UnusedSlots::of(UnusedSlots::Kind::Filler, known.reach());
  return result_of(x, {Parts(larger.parts().size(), part), std::move(known), rest}, larger.shape);
}

std::vector<Complex> negated(const std::vector<Complex>& x) {
  std::vector<Complex> out(x);
  for (Complex& z : out) z = -z;
  return out;
}

Values like(const Values& x, std::vector<Complex> numbers) {
  if (!x.is_real()) return {std::move(numbers), x.shape()};
  std::vector<double> real;
  real.reserve(numbers.size());
  for (const Complex& z : numbers) real.push_back(z.real());
  return {std::move(real), x.shape()};
}

// Puts a number from the domain of the polynomial into the slots without values. Where these hold
// different numbers, zeros replace them first, which takes a level.
Array filled(const Array& a, const ckks::Polynomial& p) {
  const std::optional<Complex> held = state(a).rest().number;
  const Array from = held ? a : cleaned(a);
  const double inside = number_within(state(from).known().reach(), {p.lower, p.upper});
  return with_rest(from, inside - held.value_or(0), inside);
}

Array times(const Array& a, const Array& b) {
  const Aligned both = aligned(a, b, "multiply");
  const bool same = both.x.state() == both.y.state();
  const Array first = moderate(ready(both.x, 1));
  const Array second = same ? first : moderate(ready(both.y, 1));
  const ArrayState& x = state(first);
  return result_of(x, x.open().times(x.evaluator(), state(second).open(), same));
}

}  // namespace

Array result_of(const ArrayState& x, Contents made, Shape shape) {
  ArrayState out{x.context, std::move(made), std::move(shape)};
  Contents& held = out.contents;
  if (!out.padded()) held.rest = UnusedSlots::zero();
  std::vector<Misfit> misfits;
  held.known = fitting(std::move(held.known), held.parts[0], held.rest.bound, &misfits);
  for (const Misfit& m : misfits) x.host().report("compute", m.had, m.needs, m.remedy);
  return Array(std::make_shared<const ArrayState>(std::move(out)));
}

Array ready(const Array& x, int levels) {
  const ArrayState& s = state(x);
  return s.host().refreshes(s.open(), levels) ? refreshed_for(x, levels) : x;
}

Array with_rest(const Array& a, Complex added, Complex after) {
  const ArrayState& x = state(a);
  if (!x.padded() || added == Complex(0)) return a;
  const std::size_t slots = static_cast<std::size_t>(x.slots());
  const std::size_t used = x.size() - (x.parts().size() - 1) * slots;
  std::vector<Complex> row(slots);
  std::fill(row.begin() + static_cast<std::ptrdiff_t>(used), row.end(), added);
  const ckks::Ciphertext& last = x.parts().back();
  std::vector<std::optional<ckks::Plaintext>> encoded(x.parts().size());
  encoded.back() = x.host().encode(row, last.level, last.scale);
  return result_of(x, x.open().with_rest(x.evaluator(), encoded, after));
}

Array moderate(const Array& a) {
  const std::optional<Complex> number = state(a).open().excess();
  return number ? with_rest(a, -*number, 0) : a;
}

Aligned aligned(const Array& a, const Array& b, const char* operation) {
  const ArrayState &x = state(a), &y = state(b);
  if (x.context != y.context) {
    throw ContextError(operation, "ciphertexts of two contexts or sessions", "one of them",
                       "encrypt both in the same one, or adopt one");
  }
  if (x.shape == y.shape) return {a, b};
  if (repeats_over(y.shape, x.shape) && y.size() == static_cast<std::size_t>(y.slots())) {
    return {a, repeated(y, x)};
  }
  if (repeats_over(x.shape, y.shape) && x.size() == static_cast<std::size_t>(x.slots())) {
    return {repeated(x, y), b};
  }
  throw ShapeError(operation, "shapes " + text_of(x.shape) + " and " + text_of(y.shape),
                   "equal shapes, or a power-of-two array repeated over leading dimensions",
                   "reshape or pad the data before encrypting");
}

Array canonical(const Array& x) {
  const ArrayState& s = state(x);
  return s.open().canonical() ? x : x.to_level(std::max(s.level() - 1, 0));
}

}  // namespace session

using session::ArrayState;
using session::result_of;
using session::state;

Context Array::context() const { return Context(state_->context); }
const Shape& Array::shape() const { return state_->shape; }
std::size_t Array::size() const { return state_->size(); }
int Array::level() const { return state_->level(); }
double Array::scale() const { return state_->scale(); }
int Array::slots() const { return state_->slots(); }
std::size_t Array::ciphertexts() const { return state_->parts().size(); }
std::string Array::key_id() const { return state_->key(); }
Range Array::range() const { return session::range_of(state_->known().range()); }
Bits Array::bits() const { return session::bits_of(state_->known(), size(), state_->full()); }

std::uint64_t Array::bytes() const {
  std::uint64_t sum = 0;
  for (const ckks::Ciphertext& part : state_->parts()) sum += session::bytes_of(part);
  return sum;
}

Array Array::declare(const Range& range) const {
  session::Contents same = state_->open();
  same.known = same.known.declared(session::range_of(range));
  return result_of(*state_, std::move(same));
}

Array Array::reshape(const Shape& shape) const {
  if (size_of(shape) != size()) {
    throw ShapeError("reshape", "shape " + session::text_of(state_->shape),
                     "as many values as in shape " + session::text_of(shape), "correct the shape");
  }
  return result_of(*state_, state_->open(), shape);
}

Array Array::operator-() const { return times_integer(*this, -1); }

Array Array::conj() const {
  return result_of(*state_, state_->open().conjugated(state_->evaluator()));
}

Array Array::to_level(int level) const {
  const ArrayState& x = *state_;
  if (level < 0 || level > x.level()) {
    const Params& params = x.params();
    const bool higher = level > 0 && params.bootstrap() && level <= params.level_after_bootstrap();
    throw LevelError("to_level", "level " + std::to_string(level),
                     "one from 0 to the operand's, " + std::to_string(x.level()),
                     higher ? "call bootstrap() to reach a higher level" : "name such a level");
  }
  return result_of(x, x.open().to_level(x.evaluator(), level));
}

Array Array::pow(int n) const {
  if (n < 1) {
    throw UnsupportedError("power", "exponent " + std::to_string(n), "an integer from 1",
                           "use polynomial() for other functions");
  }
  std::map<int, Array> known{{1, *this}};
  const std::function<Array(int)> of = [&](int k) -> Array {
    if (const auto at = known.find(k); at != known.end()) return at->second;
    return known.emplace(k, of(k - k / 2) * of(k / 2)).first->second;
  };
  return of(n);
}

Array Array::polynomial(const std::vector<double>& coefficients,
                        const PolynomialBasis& basis) const {
  return polynomial(std::vector<Complex>(coefficients.begin(), coefficients.end()), basis);
}

Array Array::polynomial(const std::vector<Complex>& coefficients,
                        const PolynomialBasis& basis) const {
  if (coefficients.empty()) {
    throw ShapeError("polynomial", "no coefficients", "at least one", "check the polynomial");
  }
  session::require_finite(coefficients, "polynomial");
  if (!std::isfinite(basis.lower) || !std::isfinite(basis.upper) || basis.lower >= basis.upper) {
    throw ValueError("polynomial",
                     "an interval from " + session::short_number(basis.lower) + " to " +
                         session::short_number(basis.upper),
                     "two finite ends, the smaller one first", "correct the interval");
  }
  const ckks::Polynomial p{
      basis.chebyshev ? ckks::PolynomialBasis::Chebyshev : ckks::PolynomialBasis::Monomial,
      coefficients, basis.lower, basis.upper};
  if (p.degree() < 1) return times_integer(*this, 0) + coefficients[0];
  const bool fills = state_->padded() && session::leaves(state_->open(), p);
  Array from = fills ? session::filled(*this, p) : *this;
  from = session::ready(from, p.levels() + (session::state(from).open().canonical() ? 0 : 1));
  const std::string more_levels = state_->host().more_levels();
  session::require_levels("polynomial", from.level(), p, more_levels);
  from = session::canonical(from);
  const int level =
      session::evaluation_level("polynomial", session::state(from).open(), p, more_levels);
  if (level < from.level()) from = from.to_level(level);
  const ArrayState& x = session::state(from);
  const Array made = result_of(x, session::evaluated(x.evaluator(), x.open(), p));
  const std::optional<Complex> left = session::state(made).rest().number;
  return fills && left ? session::with_rest(made, -*left, 0) : made;
}

Array operator+(const Array& a, const Array& b) {
  const auto [x, y] = session::aligned(a, b, "add");
  return result_of(state(x), state(x).open().plus(state(x).evaluator(), state(y).open()));
}

Array operator-(const Array& a, const Array& b) {
  const auto [x, y] = session::aligned(a, b, "subtract");
  return result_of(state(x), state(x).open().minus(state(x).evaluator(), state(y).open()));
}

Array operator*(const Array& x, const Array& y) { return session::times(x, y); }

Array operator+(const Array& a, Complex c) {
  const ArrayState& x = state(a);
  session::require_finite({&c, 1}, "add");
  return result_of(x, x.open().plus_number(x.evaluator(), c));
}

Array operator+(const Array& a, const Values& values) {
  const ArrayState& x = state(a);
  if (values.shape().empty()) return a + values.numbers()[0];
  const std::vector<Complex> plain = session::broadcast(values, x.shape, "add");
  const auto rows = session::rows_of(plain, x.slots());
  session::Encoded encoded;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const ckks::Ciphertext& part = x.parts()[i];
    encoded.push_back(x.host().encode(rows[i], part.level, part.scale));
  }
  return result_of(x, x.open().plus_plain(x.evaluator(), encoded, plain));
}

Array operator-(const Array& x, const Values& y) {
  return x + session::like(y, session::negated(y.numbers()));
}

Array operator-(const Values& x, const Array& y) { return -y + x; }

Array times_integer(const Array& a, std::int64_t factor) {
  if (factor <= -session::kMaxInteger || factor >= session::kMaxInteger) {
    return a * Complex(static_cast<double>(factor));
  }
  const ArrayState& x = state(a);
  return result_of(x, x.open().times_integer(x.evaluator(), factor));
}

Array operator*(const Array& a, Complex c) {
  session::require_finite({&c, 1}, "multiply");
  const Array from = session::ready(a, session::levels_of(c));
  const ArrayState& x = state(from);
  return result_of(x, x.open().times_number(x.evaluator(), c));
}

Array operator*(const Array& a, const Values& values) {
  if (values.shape().empty()) return a * values.numbers()[0];
  const Array from = session::ready(a, 1);
  const ArrayState& x = state(from);
  const std::vector<Complex> plain = session::broadcast(values, x.shape, "multiply");
  const auto rows = session::rows_of(plain, x.slots());
  session::Encoded factors;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const ckks::Ciphertext& part = x.parts()[i];
    factors.push_back(x.host().encode(rows[i], part.level, x.factor_scale(part)));
  }
  return result_of(x, x.open().times_plain(x.evaluator(), factors, plain));
}

Array operator/(const Array& x, const Values& y) {
  session::require_finite(y.numbers(), "divide");
  std::vector<Complex> inverse;
  for (const Complex& z : y.numbers()) {
    if (z == Complex(0)) {
      throw ValueError("divide", "the divisor 0", "other numbers", "check the data");
    }
    inverse.push_back(y.is_real() ? Complex(1 / z.real()) : 1.0 / z);
    if (!std::isfinite(inverse.back().real()) || !std::isfinite(inverse.back().imag())) {
      throw ValueError("divide", "a divisor whose inverse exceeds the double range",
                       "larger numbers", "scale the data");
    }
  }
  return x * session::like(y, std::move(inverse));
}

Array dot(std::span<const Array> xs, std::span<const Array> ys) {
  if (xs.empty() || xs.size() != ys.size()) {
    throw ShapeError("dot",
                     std::to_string(xs.size()) + " and " + std::to_string(ys.size()) + " arrays",
                     "as many on both sides, at least one", "pair them");
  }
  std::vector<Array> x, y;
  for (std::size_t i = 0; i < xs.size(); ++i) {
    const auto both = session::aligned(xs[i], ys[i], "dot");
    const bool same = both.x.state() == both.y.state();
    x.push_back(session::moderate(session::ready(both.x, 1)));
    y.push_back(same ? x.back() : session::moderate(session::ready(both.y, 1)));
    if (state(x[i]).context != state(x[0]).context) {
      throw ContextError("dot", "ciphertexts of two contexts", "one context",
                         "encrypt all in the same one");
    }
    if (x[i].shape() != x[0].shape()) {
      throw ShapeError("dot",
                       "products of shapes " + session::text_of(x[0].shape()) + " and " +
                           session::text_of(x[i].shape()),
                       "one shape", "reshape or pad the data");
    }
  }
  int level = x[0].level();
  for (const Array& each : x) level = std::min(level, each.level());
  for (const Array& each : y) level = std::min(level, each.level());
  const ArrayState& first = state(x[0]);
  if (level < 1) throw LevelError("dot", "level 0", "level 1 or more", first.host().more_levels());
  std::vector<session::Factors> pairs;
  for (std::size_t i = 0; i < x.size(); ++i) {
    pairs.emplace_back(&state(x[i]).open(), &state(y[i]).open());
  }
  return result_of(first, session::dot(first.evaluator(), pairs));
}

std::ostream& operator<<(std::ostream& out, const Array& x) {
  const ArrayState& s = state(x);
  out << "Array(shape=" << session::text_of(s.shape);
  if (s.contents.parts.size() > 1) out << " in " << s.contents.parts.size() << " ciphertexts";
  out << ", level=" << s.level() << ", scale=2^" << session::short_number(std::log2(s.scale()))
      << ", slots=" << s.slots() << ", ";
  const Bits bits = x.bits();
  if (std::isfinite(bits.mean)) {
    out << (bits.claim == Claim::Declared ? "at least " : "about ")
        << session::short_number(bits.mean) << " bits, worst value "
        << session::short_number(bits.worst);
  } else {
    out << (bits.mean > 0 ? "exact" : "no bits");
  }
  return out << "; " << s.known().within() << ")";
}

}  // namespace latticino
