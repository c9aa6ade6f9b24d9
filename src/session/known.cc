#include "session/known.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>

#include "ops/slot_transform.h"
#include "session/slot_noise.h"

namespace latticino::session {
namespace {

using Complex = std::complex<double>;
using Values = std::vector<Complex>;

constexpr std::size_t kReplicas = 4;
constexpr std::size_t kMostSamples = std::size_t{1} << 22;  // values with their replicas: 64 MiB
constexpr double kFew = 256;  // values, below which errors are averaged as root mean squares
// A margin on expected largest errors: of 5,600 results of the fuzz the furthest exceeded its own
// by 1.35 bits, and a claim may be too small by 1 bit at most.
const double kMoreThanExpected = std::exp2(0.5);
constexpr double kMostByChance = 4;  // times what samples of a few values show, the error may be
// Means of the modulus of a complex Gaussian and of its real part, in units of its root mean
// square.
const double kMean = std::sqrt(std::numbers::pi) / 2;
const double kRealMean = 1 / std::sqrt(std::numbers::pi);
constexpr double kDouble = 0x1p-52;  // relative: what encoding and decoding in doubles lose

// Statistics, not secrets: a fixed seed is enough. One generator per thread (splitmix64).
double uniform() {
  thread_local std::uint64_t state = 20240229;
  std::uint64_t x = state += 0x9E3779B97F4A7C15u;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return (static_cast<double>((x ^ (x >> 31)) >> 11) + 0.5) * 0x1p-53;
}

// A complex normal number of mean square 2 (Box and Muller).
Complex normal() {
  return std::polar(std::sqrt(-2 * std::log(uniform())), 2 * std::numbers::pi * uniform());
}

void add_noise(Sample& sample, double rms) {
  if (!(rms > 0)) return;
  for (std::size_t r = 1; r < sample.rows.size(); ++r) {
    for (Complex& z : sample.rows[r]) z += normal() * (rms * std::numbers::sqrt2 / 2);
  }
}

Complex evaluated(const Series& p, Complex x) {
  const Complex y = (2.0 * x - p.lower - p.upper) / (p.upper - p.lower);
  Complex b1 = 0, b2 = 0;
  if (!p.chebyshev) {
    for (std::size_t k = p.coefficients.size(); k-- > 0;) b1 = b1 * y + p.coefficients[k];
    return b1;
  }
  for (std::size_t k = p.coefficients.size(); k-- > 1;) {  // Clenshaw
    const Complex next = 2.0 * y * b1 - b2 + p.coefficients[k];
    b2 = b1;
    b1 = next;
  }
  return y * b1 - b2 + p.coefficients[0];
}

Values transformed(std::span<const Complex> in, bool to_coefficients) {
  const std::size_t n = in.size();
  std::vector<double> re(n), im(n);
  for (std::size_t i = 0; i < n; ++i) {
    re[i] = in[i].real();
    im[i] = in[i].imag();
  }
  const FftTables tables(std::max<int>(static_cast<int>(std::bit_width(n)) - 1, 1));
  if (to_coefficients) {
    slots::inverse(tables, re.data(), im.data(), n);
  } else {
    slots::forward(tables, re.data(), im.data(), n);
  }
  Values out(n);
  const double factor = to_coefficients ? 1.0 / static_cast<double>(n) : 1;
  for (std::size_t i = 0; i < n; ++i) out[i] = {re[i] * factor, im[i] * factor};
  return out;
}

// A function of rows of `slots` values, of values with zeros behind.
template <class F>
Values by_rows(std::span<const Complex> values, std::size_t slots, F f) {
  Values out;
  for (std::size_t at = 0; at < values.size(); at += slots) {
    Values row(values.begin() + static_cast<std::ptrdiff_t>(at),
               values.begin() + static_cast<std::ptrdiff_t>(std::min(values.size(), at + slots)));
    row.resize(slots);
    row = f(row);
    out.insert(out.end(), row.begin(), row.end());
  }
  out.resize(values.size());
  return out;
}

// What encoding at `scale` adds: the rounding of coefficients.
Values rounding(std::span<const Complex> plain, int slots, double scale) {
  return by_rows(plain, static_cast<std::size_t>(slots), [&](const Values& row) {
    Values c = to_coefficients(row);
    for (Complex& z : c) {
      const double re = z.real() * scale, im = z.imag() * scale;
      z = Complex(std::nearbyint(re) - re, std::nearbyint(im) - im) / scale;
    }
    return to_slots(c);
  });
}

// Root mean square of the sums of each value and the c - 1 behind it, cyclically in a ciphertext;
// at least that of values without a mean, whose sums may be small by chance.
double rms_of_windows(const Values& values, int slots, std::size_t c) {
  double squares = 0, own = 0, count = 0;
  by_rows(values, static_cast<std::size_t>(slots), [&](const Values& row) {
    Complex sum = 0;
    for (std::size_t i = 0; i < c; ++i) sum += row[i];
    for (std::size_t i = 0; i < row.size(); ++i) {
      squares += std::norm(sum);
      own += std::norm(row[i]);
      ++count;
      sum += row[(i + c) % row.size()] - row[i];
    }
    return row;
  });
  return std::sqrt(std::max(squares, static_cast<double>(c) * own) / count);
}

// How much of the error of one product reaches a polynomial in powers of y: its own, and those of
// y^2, y^4 .., times the derivative of the result by them.
double inner_gain(const Series& p, Complex y) {
  double squares = 1;
  for (std::size_t g = 2; g < p.coefficients.size(); g *= 2) {
    Complex sum = 0;
    for (std::size_t k = p.coefficients.size(); k-- > g;) {
      sum = sum * y + p.coefficients[k] * (static_cast<double>(k) / static_cast<double>(g));
    }
    squares += std::norm(sum);
  }
  return std::sqrt(squares);
}

}  // namespace

Values to_coefficients(std::span<const Complex> slots) { return transformed(slots, true); }
Values to_slots(std::span<const Complex> coefficients) { return transformed(coefficients, false); }

Known::Known(Estimate estimate, Rows sample)
    : estimate_(std::move(estimate)), sample_(std::move(sample)) {
  if (sample_ != nullptr) estimate_.range = Range::of(sample_->rows[0]);
}

Known Known::fresh(const Range& range, double error) {
  return Known(Estimate{range, Error::fresh(error, true, false)});
}

Known Known::fresh(Plain sample, double error) {
  const Range range = Range::of(sample);
  if (sample.size() * (kReplicas + 1) > kMostSamples) return fresh(range, error);
  Sample rows;
  rows.rows.assign(kReplicas + 1, Values(sample.begin(), sample.end()));
  add_noise(rows, error);
  return {Estimate{range, Error::fresh(error, true, false)},
          std::make_shared<const Sample>(std::move(rows))};
}

double Known::error() const {
  if (sample_ == nullptr) {
    if (!measured_) return estimate_.error.rms();
    return measured_->mean / (range().is_real() ? kRealMean : kMean);
  }
  double squares = 0, count = 0;
  for (std::size_t r = 1; r < sample_->rows.size(); ++r) {
    for (std::size_t i = 0; i < sample_->rows[r].size(); ++i) {
      squares += std::norm(sample_->rows[r][i] - sample_->rows[0][i]);
      ++count;
    }
  }
  return std::sqrt(squares / count);
}

Claim Known::claim() const {
  return measured_ || sample_ != nullptr ? Claim::Calibrated : range().claim;
}

std::string Known::within() const {
  switch (claim()) {
    case Claim::Assumed:
      return "values assumed in the unit box";
    case Claim::Calibrated:
      return "calibrated on sample data";
    default:
      return "values declared " + range().str();
  }
}

Known::Errors Known::errors(double size, bool full) const {
  if (measured_) return *measured_;
  const bool real = range().is_real();
  const double per_rms = real ? kRealMean : kMean, rms = estimate_.error.rms();
  Errors out{rms * per_rms, kMoreThanExpected * estimate_.error.worst(size, full)};
  if (sample_ != nullptr) {
    double sum = 0, count = 0, worst = 0;
    for (std::size_t r = 1; r < sample_->rows.size(); ++r) {
      double largest = 0;
      for (std::size_t i = 0; i < sample_->rows[r].size(); ++i) {
        const Complex off = sample_->rows[r][i] - sample_->rows[0][i];
        const double size_of_it = real ? std::abs(off.real()) : std::abs(off);
        largest = std::max(largest, size_of_it);
        sum += size_of_it;
        ++count;
      }
      worst += largest;
    }
    out = {sum / count, worst / kReplicas};
    if (size < kFew) {
      // Halfway between what samples show, which may be small by chance, and the estimate, which
      // may be too large where errors cancel.
      const double shown = error(), most = std::min(rms, kMostByChance * shown);
      const double more = shown > 0 ? std::sqrt((shown * shown + most * most) / 2) / shown : 1;
      out = {shown * more * per_rms, out.worst * more};
    }
    const double normal = estimate_.error.worst(size, false);
    if (full && normal > 0) out.worst *= estimate_.error.worst(size, true) / normal;
  }
  return {std::max(out.mean, kDouble * range().rms),
          std::max(out.worst, 4 * kDouble * range().bound)};
}

Known::Errors Known::bits(double size, bool full) const {
  const auto bits = [](double error) { return error > 0 ? -std::log2(error) : HUGE_VAL; };
  const Errors e = errors(size, full);
  return {bits(e.mean), bits(e.worst)};
}

Known Known::lost() const { return Known(session::plus_error(estimate_, range().reach(), false)); }

double Known::largest_coefficient(int slots) const {
  const Range& r = range();
  if (sample_ != nullptr) {
    double largest = 0;
    by_rows(sample_->rows[0], static_cast<std::size_t>(slots), [&](const Values& row) {
      for (const Complex& c : to_coefficients(row)) {
        largest = std::max({largest, std::abs(c.real()), std::abs(c.imag())});
      }
      return row;
    });
    return largest;
  }
  if (r.random_like || r.claim == Claim::Assumed) {
    return std::min(r.rms, r.rms * std::sqrt((std::log(2.0 * slots) + 1) / slots));
  }
  return std::min(r.rms, std::hypot(r.re.size(), r.im.size()));
}

Known Known::detached(double size, bool full) const {
  if (sample_ == nullptr) return *this;
  Known out(estimate_);
  out.measured_ = errors(size, full);
  return out;
}

Known Known::renamed(std::uint64_t* source) const {
  Known out = *this;
  out.estimate_.error = estimate_.error.renamed(source);
  return out;
}

Known Known::with_sources(std::span<const std::pair<std::uint64_t, double>> grown) const {
  Known out(estimate_);
  for (const auto& [source, factor] : grown) {
    out.estimate_.error = out.estimate_.error.with_source(source, factor);
  }
  if (grown.empty()) out.measured_ = measured_;
  return out;
}

Known Known::declared(const Range& range) const { return Known(Estimate{range, estimate_.error}); }

Known Known::part(std::size_t first, std::size_t count, std::size_t slots) const {
  if (sample_ == nullptr) return *this;
  return {estimate_, each(
                         [&](const Values& row) {
                           const auto begin = row.begin() + static_cast<std::ptrdiff_t>(first);
                           Values out(begin, begin + static_cast<std::ptrdiff_t>(count));
                           out.resize(slots);
                           return out;
                         },
                         0)};
}

Known::Rows Known::each(const std::function<Values(const Values&)>& f, double added) const {
  if (sample_ == nullptr) return nullptr;
  auto out = std::make_shared<Sample>();
  for (const Values& row : sample_->rows) out->rows.push_back(f(row));
  add_noise(*out, added);
  return out;
}

Known::Rows Known::both(const Known& other, const std::function<Complex(Complex, Complex)>& f,
                        double added) const {
  if (sample_ == nullptr || other.sample_ == nullptr) return nullptr;
  auto out = std::make_shared<Sample>(*sample_);
  const std::size_t rows = std::min(out->rows.size(), other.sample_->rows.size());
  out->rows.resize(rows);
  for (std::size_t r = 0; r < rows; ++r) {
    for (std::size_t i = 0; i < out->rows[r].size(); ++i) {
      out->rows[r][i] = f(out->rows[r][i], other.sample_->rows[r][i]);
    }
  }
  add_noise(*out, added);
  return out;
}

Known Known::plus(const Known& other) const {
  return {estimate_ + other.estimate_, both(other, std::plus<Complex>(), 0)};
}

Known Known::minus(const Known& other) const {
  return {estimate_ + -other.estimate_, both(other, std::minus<Complex>(), 0)};
}

Known Known::times(const Known& other, bool same, double added) const {
  return {product(estimate_, other.estimate_, same, added),
          both(
              other, [](Complex a, Complex b) { return a * b; }, added)};
}

Known Known::plus_plain(Plain plain, int slots, double scale) const {
  const Estimate sum =
      session::plus_plain(estimate_, Range::of(plain), encoded_error(slots, scale));
  if (sample_ == nullptr) return Known(sum);
  auto out = std::make_shared<Sample>(*sample_);
  const Values off = rounding(plain, slots, scale);
  for (std::size_t r = 0; r < out->rows.size(); ++r) {
    for (std::size_t i = 0; i < plain.size(); ++i) out->rows[r][i] += plain[i] + (r ? off[i] : 0);
  }
  return {sum, std::move(out)};
}

Known Known::plus_number(Complex c, double scale) const {
  const Estimate sum = session::plus_plain(estimate_, Range::of(c), encoded_error(1, scale));
  if (sample_ == nullptr) return Known(sum);
  return {sum, each(
                   [&](const Values& row) {
                     Values out = row;
                     for (Complex& z : out) z += c;
                     return out;
                   },
                   encoded_error(1, scale))};
}

Known Known::times_plain(Plain plain, int slots, double scale, double added) const {
  const Estimate product =
      session::times_plain(estimate_, Range::of(plain), encoded_error(slots, scale), added);
  if (sample_ == nullptr) return Known(product);
  auto out = std::make_shared<Sample>(*sample_);
  const Values off = rounding(plain, slots, scale);
  for (std::size_t r = 0; r < out->rows.size(); ++r) {
    for (std::size_t i = 0; i < plain.size(); ++i) out->rows[r][i] *= plain[i] + (r ? off[i] : 0);
  }
  add_noise(*out, added);
  return {product, std::move(out)};
}

Known Known::times_number(Complex c, double added, std::optional<Complex> actual) const {
  Estimate product = session::times_number(estimate_, c, added);
  const Complex used = actual.value_or(c);
  if (used != c) product = session::plus_error(product, std::abs(used - c) * range().rms, false);
  bool first = true;
  return {product, each(
                       [&](const Values& row) {
                         Values out = row;
                         for (Complex& z : out) z *= first ? c : used;
                         first = false;
                         return out;
                       },
                       added)};
}

Known Known::lowered(double added, double factor) const {
  std::optional<Complex> actual;
  if (factor >= 1) actual = std::nearbyint(factor) / factor;
  return times_number(1.0, added, actual);
}

Known Known::conjugated(double added) const {
  return {conjugate(estimate_, added), each(
                                           [](const Values& row) {
                                             Values out = row;
                                             for (Complex& z : out) z = std::conj(z);
                                             return out;
                                           },
                                           added)};
}

Known Known::rotated(std::int64_t steps, bool masked, double added, double rounded) const {
  const double all = std::hypot(added, rounded);
  return {moved(estimate_, static_cast<std::uint64_t>(steps), masked, all),
          each(
              [&](const Values& row) {
                Values out = row;
                std::rotate(out.begin(), out.begin() + steps, out.end());
                return out;
              },
              all)};
}

Known Known::summed(std::size_t kept, double count, double added) const {
  return {session::summed(estimate_, count, added), each(
                                                        [&](const Values& row) {
                                                          Values out(kept);
                                                          for (std::size_t i = 0; i < row.size();
                                                               ++i) {
                                                            out[i % kept] += row[i];
                                                          }
                                                          return out;
                                                        },
                                                        added)};
}

Known Known::spread(Complex factor, std::size_t count, double added, double rounding,
                    int slots) const {
  const Estimate sums = session::summed(estimate_, static_cast<double>(count), 0);
  const double rounded = std::hypot(added, rounding * sums.range.rms);
  const Estimate result =
      session::plus_error(session::times_number(sums, factor, 0), rounded, false);
  if (sample_ == nullptr) return Known(result);
  const double in_sample =
      std::hypot(added, rounding * rms_of_windows(sample_->rows[0], slots, count));
  auto out = std::make_shared<Sample>(*sample_);
  for (std::size_t r = 0; r < out->rows.size(); ++r) {
    Values& row = out->rows[r];
    for (std::size_t at = 0; at < row.size(); at += count) {
      Complex sum = 0;
      for (std::size_t i = 0; i < count; ++i) sum += row[at + i];
      const Complex noise = r == 0 ? 0 : normal() * (in_sample * std::numbers::sqrt2 / 2);
      std::fill_n(row.begin() + static_cast<std::ptrdiff_t>(at), count, factor * sum + noise);
    }
  }
  return {result, std::move(out)};
}

Known Known::mapped(Plain matrix, std::size_t rows, std::size_t columns, bool real,
                    double added) const {
  std::vector<double> l1(columns), squares(columns);
  for (std::size_t i = 0; i < rows * columns; ++i) {
    l1[i % columns] += std::abs(matrix[i]);
    squares[i % columns] += std::norm(matrix[i]);
  }
  const double largest = std::ranges::max(l1), l2 = std::sqrt(std::ranges::max(squares));
  return {session::mapped(estimate_, largest, l2, real, added),
          each(
              [&](const Values& row) {
                Values out(columns);
                for (std::size_t i = 0; i < rows; ++i) {
                  for (std::size_t j = 0; j < columns; ++j)
                    out[j] += row[i] * matrix[i * columns + j];
                }
                return out;
              },
              added)};
}

Known Known::polynomial(const Series& p, double added, double mapping) const {
  Estimate result = session::polynomial(estimate_, p, added, mapping);
  if (sample_ == nullptr) return Known(std::move(result));
  auto out = std::make_shared<Sample>(*sample_);
  const double own =
      p.chebyshev ? session::polynomial({range(), {}}, p, added, 0).error.rms() : added;
  add_noise(*out, mapping * (p.upper - p.lower) / 2);  // an error of y
  for (std::size_t r = 0; r < out->rows.size(); ++r) {
    for (Complex& z : out->rows[r]) {
      // Of powers errors inside depend on the value; of a series they are alike for all.
      const Complex y = (2.0 * z - p.lower - p.upper) / (p.upper - p.lower);
      const double gain = p.chebyshev ? 1 : inner_gain(p, y);
      z = evaluated(p, z);
      if (r > 0) z += normal() * (own * gain * std::numbers::sqrt2 / 2);
    }
  }
  return {std::move(result), std::move(out)};
}

Known Known::plus_error(double added) const {
  return {session::plus_error(estimate_, added),
          each([](const Values& row) { return row; }, added)};
}

Known Known::repeated(std::size_t size, double growth) const {
  const double more = error() * std::sqrt(std::max(growth * growth - 1, 0.0));
  Estimate grown{range(), estimate_.error.times(growth, growth)};
  return {std::move(grown), each(
                                [&](const Values& row) {
                                  Values out(size);
                                  for (std::size_t i = 0; i < size; ++i)
                                    out[i] = row[i % row.size()];
                                  return out;
                                },
                                more)};
}

Known Known::refreshed(double noise, double ratio, bool of_slots, int slots) const {
  const Estimate result = session::refreshed(estimate_, noise, ratio, of_slots, slots);
  if (sample_ == nullptr) return Known(result);
  const double gain = std::pow(2 * std::numbers::pi * ratio, 2) / 6;
  const auto lost = [&](Values m) {
    for (Complex& z : m) z = -gain * Complex(std::pow(z.real(), 3), std::pow(z.imag(), 3));
    return m;
  };
  auto out = std::make_shared<Sample>(*sample_);
  for (std::size_t r = 1; ratio != 0 && r < out->rows.size(); ++r) {
    Values& row = out->rows[r];
    const Values off = by_rows(row, static_cast<std::size_t>(slots), [&](const Values& m) {
      return of_slots ? lost(m) : to_slots(lost(to_coefficients(m)));
    });
    for (std::size_t i = 0; i < row.size(); ++i) row[i] += off[i];
  }
  add_noise(*out, noise);
  return {result, std::move(out)};
}

Known Known::looked_up(const std::function<double(double)>& f, const Range& of_values, double error,
                       std::pair<double, double> deviations, const std::vector<bool>* where) const {
  Range weak = of_values;
  weak.claim = std::min(range().claim, of_values.claim);
  Estimate result{weak, Error::fresh(error)};
  if (where != nullptr) result = result + estimate_;  // some values stay: both bounds hold together
  if (sample_ == nullptr) return Known(std::move(result));
  auto out = std::make_shared<Sample>(*sample_);
  for (std::size_t r = 0; r < out->rows.size(); ++r) {
    for (std::size_t i = 0; i < out->rows[r].size(); ++i) {
      if (where != nullptr && !(*where)[i]) continue;
      const Complex noise = r == 0 ? 0 : normal();
      Complex& z = out->rows[r][i];
      z = f(z.real() + deviations.first * noise.real()) + deviations.second * noise.imag();
    }
  }
  return {std::move(result), std::move(out)};
}

}  // namespace latticino::session
