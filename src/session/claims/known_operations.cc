// The effect of operations on what is known: the rules of Estimate, and the same steps on sample
// data.
#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>
#include <stdexcept>
#include <unordered_map>
#include <vector>

#include "math/text.h"
#include "session/claims/known.h"
#include "session/claims/slot_noise.h"

namespace latticino::session {
namespace {

using Complex = std::complex<double>;
using Rows = std::shared_ptr<Sample>;

// The noise that is added to noisy rows, as root mean square: `added`, and `rounded` times the
// values of the row.
struct Noise {
  Noise(double added, double rounded = 0) : added(added), rounded(rounded) {}  // NOLINT: a number
  double of_row(const Sample& sample, std::size_t r) const {
    return rounded == 0 ? added
                        : std::hypot(added, rounded * rms_of(sample.row(sample.exact_of(r))));
  }
  double added, rounded;
};

// The factor by which rounded real weights count more if the values are real: then all of their
// error is real.
double of_rounding(const Range& range) { return range.is_real() ? std::numbers::sqrt2 : 1; }

// The error of values whose factor is off by `off`: it is largest where they are.
Error of_factor(double off, const Range& values) {
  return Error::fresh(off, false).times(values.rms, values.bound);
}

// A sample of `size` values, made from another one: f(values, results, number of the row), then
// noise.
template <class F>
Rows each(const SamplePtr& sample, std::size_t size, const Noise& noise, F f) {
  if (sample == nullptr) return nullptr;
  auto out = std::make_shared<Sample>(sample->replicas, sample->others, size);
  for (std::size_t r = 0; r < sample->rows; ++r) {
    f(sample->row(r), out->row(r), r);
    if (!sample->noisy(r)) continue;
    const double rms = noise.of_row(*sample, r);
    if (rms > 0) add_noise(out->row(r), rms);
  }
  return out;
}

// The same for functions of single values: f(value, number of the value, whether the row is noisy).
template <class F>
Rows each_value(const SamplePtr& sample, const Noise& noise, F f) {
  return each(sample, sample == nullptr ? 0 : sample->size, noise,
              [&](NumbersView in, std::span<Complex> out, std::size_t r) {
                const bool noisy = sample->noisy(r);
                for (std::size_t i = 0; i < in.size(); ++i) out[i] = f(in[i], i, noisy);
              });
}

template <class F>
Rows both(const SamplePtr& x, const SamplePtr& y, double added, F f) {
  if (x == nullptr || y == nullptr) return nullptr;
  if (x->size != y->size) throw std::invalid_argument("samples of two sizes");
  auto out = std::make_shared<Sample>(Sample::with_common_rows(*x, *y));
  for (std::size_t r = 0; r < out->rows; ++r) {
    // The row of a shadow. It has one replica and no other data, so these are the first rows of
    // every sample.
    const NumbersView a = x->row(r), b = y->row(r);
    std::ranges::transform(a, b, out->row(r).begin(), f);
  }
  add_noise(*out, added);
  return out;
}

// The largest number of times that an index names one place.
double most_repeats(std::span<const std::int64_t> index) {
  if (index.empty()) return 1;
  std::vector<std::uint32_t> seen(static_cast<std::size_t>(*std::ranges::max_element(index)) + 1);
  std::uint32_t most = 1;
  for (const std::int64_t i : index) most = std::max(most, ++seen[static_cast<std::size_t>(i)]);
  return most;
}

// The error that rounded weights cause, in units of the rounding error of one weight. `windows[k]`
// weights multiply sums of 2^k values. If there are few results, their weights are nearly equal.
// Then the rounding errors are equal too, and add up linearly.
template <class F>
double error_of_weights(std::span<const double> windows, std::size_t results, F size_of_sum) {
  constexpr std::size_t kFew = 256;
  double sum = 0, squares = 0, of = 1;
  for (const double weights : windows) {
    const double size = size_of_sum(of);
    sum += weights * size;
    squares += weights * size * size;
    of *= 2;
  }
  return results < kFew ? sum : std::sqrt(squares);
}

// With few values, no slot or only one would have the larger noise. So all have the same noise.
void add_uneven_noise(std::span<Complex> row, double rms, const Uneven& uneven) {
  constexpr double kMinShown = 16;
  if (uneven.part * static_cast<double>(row.size()) < kMinShown) return add_noise(row, rms);
  Random& random = Random::of_this_thread();
  const double half = rms * std::numbers::sqrt2 / 2, elsewhere = uneven.elsewhere();
  const auto size = [&] {
    return half * ((random.uniform() + 1) / 2 < uneven.part ? uneven.factor : elsewhere);
  };
  for (Complex& z : row) {  // each half is refreshed by itself
    const Complex noise = random.normal();
    z += Complex(noise.real() * size(), noise.imag() * size());
  }
}

Rows copy(const SamplePtr& sample, const Noise& noise) {
  return each_value(sample, noise, [](Complex z, std::size_t, bool) { return z; });
}

// Sums and products are the same in both orders.
std::pair<std::uint64_t, std::uint64_t> in_order(std::uint64_t a, std::uint64_t b) {
  return std::minmax(a, b);
}

}  // namespace

Known Known::with(Estimate estimate, SamplePtr sample, std::optional<double> white) const {
  return {std::move(estimate), std::move(sample), shadow_, white};
}

Known Known::with(Estimate estimate, const Known& other, SamplePtr sample,
                  std::optional<double> white) const {
  return {std::move(estimate), std::move(sample), shadow_ || other.shadow_, white};
}

double Known::claimed(double added, double rounded) const {
  return std::hypot(added, rounded * widest().rms);
}

std::optional<double> Known::white_noise_after(double factor, double added) const {
  if (!white_noise_) return std::nullopt;
  return std::hypot(*white_noise_ * factor, added);
}

std::optional<double> Known::white_noise_of_sum(const Known& other) const {
  if ((!white_noise_ && !other.white_noise_) || sample_ == nullptr || other.sample_ == nullptr) {
    return std::nullopt;
  }
  const auto white = [](const Known& x) {
    return x.white_noise_ ? *x.white_noise_ : x.error_seen();
  };
  return std::hypot(white(*this), white(other));
}

Known Known::part(std::size_t first, std::size_t count, std::size_t slots) const {
  const Computation scope(Step::Part, name_, first, count, slots);
  if (sample_ == nullptr) return with(estimate_, nullptr);
  return with(estimate_, each(sample_, slots, 0, [&](NumbersView in, std::span<Complex> out, auto) {
                std::ranges::copy(in.subspan(first, count), out.begin());
              }));
}

Known Known::taken(std::span<const std::size_t> shape, std::span<const std::int64_t> index) const {
  // Equal places in arrays of equal shape have equal names.
  const std::uint64_t places = Computation::name_of(shape, index);
  const Computation scope(Step::Taken, name_, places);
  Known out(session::moved(estimate_, places, false, 0));
  out.estimate_.error = out.estimate_.error.shared(most_repeats(index));
  out.measured_ = measured_;
  if (too_large(index.size())) {
    out.measured_ = errors(static_cast<double>(index.size()), false);
  } else if (sample_ != nullptr) {
    const SamplePtr from = index.size() > kMaxWithOthers ? without_others(sample_) : sample_;
    out = Known(std::move(out.estimate_),
                each(from, index.size(), 0,
                     [&](NumbersView in, std::span<Complex> to, auto) {
                       for (std::size_t i = 0; i < to.size(); ++i) {
                         to[i] = in[static_cast<std::size_t>(index[i])];
                       }
                     }),
                shadow_);
    out.measured_ = measured_;
  }
  return out;
}

Known Known::repeated(std::size_t size, double growth) const {
  const Computation scope(Step::Repeated, name_, size, growth);
  Estimate grown{widest(), estimate_.error.repeated(growth)};
  if (sample_ == nullptr) return with(std::move(grown), nullptr);
  const double more =
      white_noise_.value_or(error_seen()) * std::sqrt(std::max(growth * growth - 1, 0.0));
  return with(std::move(grown),
              each(sample_, size, more, [](NumbersView in, std::span<Complex> out, auto) {
                for (std::size_t i = 0; i < out.size(); ++i) out[i] = in[i % in.size()];
              }));
}

Known Known::placed(std::uint64_t name, double added, double rounded) const {
  const Computation scope(Step::Placed, name_, name, added, rounded);
  rounded *= of_rounding(range());
  const Estimate masked{estimate_.range, estimate_.error.at_values()};
  return with(session::moved(masked, name, false, claimed(added, rounded)),
              copy(sample_, {added, rounded}));
}

Known Known::copied(std::uint64_t name, std::span<const std::int64_t> sources, double added,
                    double rounded, double added_to_each, double rounded_in_each) const {
  const Computation scope(Step::Copied, name_, name, sources, added, rounded, added_to_each,
                          rounded_in_each);
  rounded *= of_rounding(range());
  rounded_in_each *= of_rounding(range());
  const Estimate masked{estimate_.range, estimate_.error.at_values()};
  Estimate estimate = session::moved(masked, name, false, claimed(added_to_each, rounded_in_each));
  estimate.error =
      estimate.error + Error::of_copies(claimed(added, rounded), most_repeats(sources));
  if (sample_ == nullptr) return with(std::move(estimate), nullptr);
  const Noise common{added, rounded};
  Random& random = Random::of_this_thread();
  return with(std::move(estimate),
              each(sample_, sample_->size, Noise(added_to_each, rounded_in_each),
                   [&](NumbersView in, std::span<Complex> out, std::size_t r) {
                     std::unordered_map<std::int64_t, Complex> noise;
                     const double size = common.of_row(*sample_, r) * std::numbers::sqrt2 / 2;
                     for (std::size_t i = 0; i < out.size(); ++i) {
                       out[i] = in[i];
                       if (!sample_->noisy(r)) continue;
                       const auto [at, fresh] = noise.try_emplace(sources[i]);
                       if (fresh) at->second = random.normal() * size;
                       out[i] += at->second;
                     }
                   }));
}

Known Known::joined(std::span<const Known> several, std::span<const std::size_t> sizes,
                    std::span<const std::int64_t> index) {
  std::vector<std::uint64_t> names;
  for (const Known& x : several) names.push_back(x.name_);
  const Computation scope(Step::Joined, names, sizes, index);
  double all = 0;
  for (const std::size_t size : sizes) all += static_cast<double>(size);
  std::vector<Range> ranges;
  Estimate estimate;
  std::size_t replicas = SIZE_MAX, others = SIZE_MAX;
  bool sampled = true, shadow = false;
  for (std::size_t i = 0; i < several.size(); ++i) {
    const Known& x = several[i];
    const Range share{
        Claim::Declared, {-1, 1}, {}, 1, std::sqrt(static_cast<double>(sizes[i]) / all), false};
    Estimate part = session::times_plain(x.estimate_, share, 0, 0);
    estimate = i == 0 ? std::move(part) : estimate + part;
    ranges.push_back(x.widest());
    sampled = sampled && x.sample_ != nullptr;
    shadow = shadow || x.shadow_;
    if (!sampled) continue;
    replicas = std::min(replicas, x.sample_->replicas);
    others = std::min(others, x.sample_->others);
  }
  estimate.range = hull(ranges, sizes);
  if (!sampled || several[0].too_large(index.size())) return Known(std::move(estimate));
  if (index.size() > kMaxWithOthers) others = 0;
  auto sample = std::make_shared<Sample>(replicas, others, index.size());
  for (std::size_t r = 0; r < sample->rows; ++r) {
    Numbers values;
    for (const Known& x : several) {
      const NumbersView own = std::as_const(*x.sample_).row(r);
      values.insert(values.end(), own.begin(), own.end());
    }
    for (std::size_t i = 0; i < index.size(); ++i) {
      sample->row(r)[i] = values[static_cast<std::size_t>(index[i])];
    }
  }
  return {std::move(estimate), std::move(sample), shadow};
}

Known Known::plus(const Known& other) const {
  const auto [first, second] = in_order(name_, other.name_);
  const Computation scope(Step::Plus, first, second);
  return with(estimate_ + other.estimate_, other,
              both(sample_, other.sample_, 0, std::plus<Complex>()), white_noise_of_sum(other));
}

Known Known::minus(const Known& other) const {
  const Computation scope(Step::Minus, name_, other.name_);
  return with(estimate_ + -other.estimate_, other,
              both(sample_, other.sample_, 0, std::minus<Complex>()), white_noise_of_sum(other));
}

Known Known::times(const Known& other, bool same, double added) const {
  const auto [first, second] = in_order(name_, other.name_);
  const Computation scope(Step::Times, first, second, added);
  return with(product(estimate_, other.estimate_, same, added), other,
              both(sample_, other.sample_, added, [](Complex a, Complex b) { return a * b; }));
}

Known Known::plus_plain(NumbersView plain, int slots, double scale, const Places* where) const {
  const Computation scope(Step::PlusPlain, name_, plain, scale);
  Estimate sum = session::plus_plain(estimate_, Range::of(plain), encoded_error(slots, scale));
  if (sample_ == nullptr) return with(std::move(sum), nullptr);
  const Numbers off = rounding(plain, slots, scale, where);
  return with(std::move(sum), each_value(sample_, 0, [&](Complex z, std::size_t i, bool noisy) {
                return z + plain[i] + (noisy ? off[i] : 0);
              }));
}

Known Known::plus_number(Complex c, double scale) const {
  const Computation scope(Step::PlusNumber, name_, c, scale);
  Estimate sum = session::plus_plain(estimate_, Range::of(c), encoded_error(1, scale));
  const Complex off = rounding({&c, 1}, 1, scale)[0];
  return with(std::move(sum), each_value(sample_, 0, [&](Complex z, std::size_t, bool noisy) {
                return z + c + (noisy ? off : 0);
              }));
}

Known Known::times_plain(NumbersView plain, int slots, double scale, double added,
                         const Places* where) const {
  const Computation scope(Step::TimesPlain, name_, plain, scale, added);
  const Estimate at_values{estimate_.range, estimate_.error.at_values()};
  Estimate product =
      session::times_plain(at_values, Range::of(plain), encoded_error(slots, scale), added);
  if (sample_ == nullptr) return with(std::move(product), nullptr);
  const Numbers off = rounding(plain, slots, scale, where);
  return with(std::move(product),
              each_value(sample_, added, [&](Complex z, std::size_t i, bool noisy) {
                return noisy ? z * (plain[i] + off[i]) : z * plain[i];
              }));
}

Known Known::times_number(Complex c, double added, std::optional<Complex> actual) const {
  const Computation scope(Step::TimesNumber, name_, c, added, actual);
  Estimate product = session::times_number(estimate_, c, added);
  const Complex used = actual.value_or(c);
  if (used != c) {
    product.error = product.error + of_factor(std::abs(used - c) * of_rounding(range()), widest());
  }
  return with(
      std::move(product),
      each_value(sample_, added,
                 [&](Complex z, std::size_t, bool noisy) { return noisy ? z * used : z * c; }),
      white_noise_after(std::abs(c), added));
}

Known Known::plus_scalar(const Range& c, double rounding) const {
  const double off = rounding * of_rounding(range());
  return with(session::plus_error(session::plus_plain(estimate_, c, 0), off, false), nullptr);
}

Known Known::times_scalar(const Range& c, double rounding, double added) const {
  Estimate product = session::times_plain(estimate_, c, 0, added);
  product.error = product.error + of_factor(rounding * of_rounding(range()), widest());
  return with(std::move(product), nullptr);
}

Known Known::lowered(double added, double factor) const {
  std::optional<Complex> actual;
  if (factor >= 1) actual = std::nearbyint(factor) / factor;
  return times_number(1.0, added, actual);
}

Known Known::conjugated(double added) const {
  const Computation scope(Step::Conjugated, name_, added);
  return with(conjugate(estimate_, added),
              each_value(sample_, added, [](Complex z, std::size_t, bool) { return std::conj(z); }),
              white_noise_after(1, added));
}

Known Known::rotated(std::int64_t steps, bool masked, double added, double rounded,
                     const RowMap& off) const {
  const Computation scope(Step::Rotated, name_, steps, masked, added, rounded);
  Estimate result = moved(estimate_, static_cast<std::uint64_t>(steps), masked, added);
  const Error of_masks = Error::fresh(rounded * of_rounding(range()));
  result.error = result.error + of_masks.times(widest().rms, widest().bound);
  return with(std::move(result),
              each(sample_, sample_ == nullptr ? 0 : sample_->size, added,
                   [&](NumbersView in, std::span<Complex> out, std::size_t r) {
                     std::ranges::rotate_copy(in, in.begin() + steps, out.begin());
                     if (!off || !sample_->noisy(r)) return;
                     const Numbers errors = off(sample_->row(sample_->exact_of(r)));
                     for (std::size_t i = 0; i < out.size(); ++i) out[i] += errors[i];
                   }));
}

Known Known::summed(std::size_t kept, double count, double added, bool full, double unused) const {
  const Computation scope(Step::Summed, name_, kept, count, added, unused);
  const double beside = estimate_.error.rest() * std::sqrt(unused);
  const double common = estimate_.error.common_rest() * unused;
  const auto sums = [](NumbersView in, std::span<Complex> out) {
    for (std::size_t i = 0; i < in.size(); ++i) out[i % out.size()] += in[i];
  };
  return with(session::summed(estimate_, count, added, unused),
              each(sample_, kept, std::hypot(added, beside),
                   [&](NumbersView in, std::span<Complex> out, std::size_t r) {
                     sums(in, out);
                     if (common == 0 || !sample_->noisy(r)) return;
                     // It has the sign of the errors of the values, which have the same source.
                     Numbers exact(out.size());
                     sums(sample_->row(sample_->exact_of(r)), exact);
                     for (std::size_t i = 0; i < out.size(); ++i) {
                       const Complex error = out[i] - exact[i];
                       if (error != 0.0) out[i] += error * (common / std::abs(error));
                     }
                   }),
              full ? std::optional(added) : std::nullopt);
}

Known Known::reduced(std::span<const std::size_t> shape, std::span<const std::size_t> axes,
                     double count, Complex factor, double added, double rounded,
                     std::span<const double> windows) const {
  const Computation scope(Step::Reduced, name_, shape, axes, factor, added, rounded);
  rounded *= of_rounding(range());
  double values = 1;
  for (const std::size_t n : shape) values *= static_cast<double>(n);
  const auto results = static_cast<std::size_t>(values / count);
  const double claimed_sums =
      error_of_weights(windows, results, [&](double of) { return session::sum(widest(), of).rms; });
  Estimate sums = session::times_number(session::summed(estimate_, count, 0), factor,
                                        std::hypot(added, rounded * claimed_sums));
  if (sample_ == nullptr) return with(std::move(sums), nullptr);
  // How far the place of a sum moves with each index, and the place of the sum that each value
  // belongs to.
  std::vector<std::size_t> strides(shape.size()), at(shape.size()), target;
  std::size_t size = 1;
  for (std::size_t a = shape.size(); a-- > 0;) {
    const bool along = std::ranges::find(axes, a) != axes.end();
    strides[a] = along ? 0 : size;
    size *= along ? 1 : shape[a];
  }
  for (std::size_t i = 0, place = 0; i < sample_->size; ++i) {
    target.push_back(place);
    for (std::size_t a = shape.size(); a-- > 0;) {
      place += strides[a];
      if (++at[a] < shape[a]) break;
      place -= strides[a] * shape[a];
      at[a] = 0;
    }
  }
  const auto add_up = [&](NumbersView in, std::span<Complex> out) {
    for (std::size_t i = 0; i < in.size(); ++i) out[target[i]] += in[i];
  };
  return with(std::move(sums),
              each(sample_, size, 0, [&](NumbersView in, std::span<Complex> out, std::size_t r) {
                add_up(in, out);
                for (Complex& z : out) z *= factor;
                if (!sample_->noisy(r)) return;
                const NumbersView exact = sample_->row(sample_->exact_of(r));
                Numbers whole(size);
                add_up(exact, whole);
                // Sums of `of` values, if the values of each whole sum lie about its mean.
                const double mean = rms_of(whole) / count, rms = rms_of(exact);
                const double around = std::max(rms * rms - mean * mean, 0.0);
                const double own = error_of_weights(windows, results, [&](double of) {
                  return std::sqrt(of * of * mean * mean + of * around);
                });
                add_noise(out, std::hypot(added, rounded * own));
              }));
}

Known Known::spread(Complex factor, std::size_t count, double added, double rounding,
                    int slots) const {
  const Computation scope(Step::Spread, name_, factor, count, added, rounding);
  rounding *= of_rounding(range());
  const Estimate sums = session::summed(estimate_, static_cast<double>(count), 0);
  const double rounded = std::hypot(added, rounding * sums.range.rms);
  Estimate result = session::plus_error(session::times_number(sums, factor, 0), rounded, false);
  if (sample_ == nullptr) return with(std::move(result), nullptr);
  Random& random = Random::of_this_thread();
  return with(
      std::move(result),
      each(sample_, sample_->size, 0, [&](NumbersView in, std::span<Complex> out, std::size_t r) {
        const double own =
            sample_->noisy(r)
                ? std::hypot(added, rounding * rms_of_windows(sample_->row(sample_->exact_of(r)),
                                                              slots, count))
                : 0;
        for (std::size_t at = 0; at < in.size(); at += count) {
          Complex sum = 0;
          for (const Complex& z : in.subspan(at, count)) sum += z;
          sum *= factor;
          if (own > 0) sum += random.normal() * (own * std::numbers::sqrt2 / 2);
          std::ranges::fill(out.subspan(at, count), sum);
        }
      }));
}

Known Known::mapped(const RowMap& f, double l1, double l2, bool real, double added, double rounded,
                    const Alike& alike, double correlation) const {
  if (real) rounded *= of_rounding(range());
  const bool bounds = sample_ == nullptr || shadow_;
  double growth = bounds ? alike.largest_growth() : alike.growth(sample_->row(0));
  // Diagonals that repeat have the same rounding errors in several results.
  const double copies = alike.most_repetitions();
  const double of_weights = claimed(0, rounded * growth);
  Estimate result = session::mapped(
      estimate_, l1, l2, real, copies > 1 ? added : std::hypot(added, of_weights), correlation);
  if (copies > 1) result.error = result.error + Error::of_copies(of_weights, copies, of_weights);
  if (sample_ == nullptr) return with(std::move(result), nullptr);
  Numbers values;
  for (std::size_t r = 0; r < sample_->rows; ++r) {
    const Numbers row = f(sample_->row(r));
    values.insert(values.end(), row.begin(), row.end());
  }
  auto out =
      std::make_shared<Sample>(sample_->replicas, sample_->others, values.size() / sample_->rows);
  out->values = std::move(values);
  if (bounds) growth = alike.growth(sample_->row(0));
  for (std::size_t r = 1; r < out->rows; ++r) {
    if (!out->noisy(r)) {
      growth = alike.growth(sample_->row(r));
      continue;
    }
    add_noise(out->row(r), Noise(added, rounded * growth).of_row(*sample_, r));
  }
  return with(std::move(result), std::move(out));
}

Known Known::polynomial(const Series& p, const Evaluation& how) const {
  const Computation scope(Step::Polynomial, name_, p.coefficients, p.chebyshev, p.lower, p.upper,
                          how.name());
  Estimate result = session::polynomial(estimate_, p, how);
  const double of_y = how.mapping() * std::numbers::sqrt2 / 2;
  Random& random = Random::of_this_thread();
  return with(std::move(result), each_value(sample_, 0, [&](Complex z, std::size_t, bool noisy) {
                const Complex y = session::mapped(p, z);
                if (!noisy) return evaluated(p, y);
                const Evaluation::Point at = how.at(y);
                return evaluated(p, of_y > 0 ? y + random.normal() * of_y : y) + at.off +
                       random.normal() * (at.noise * std::numbers::sqrt2 / 2);
              }));
}

Known Known::through(const RowMap& f, double slope, double added, Interval ends) const {
  Estimate result = session::times_number(estimate_, slope, added);
  result.range =
      Range{Claim::Declared, ends, {}, ends.size(), ends.size(), false}.with_basis_of(range());
  return with(std::move(result), each(sample_, sample_ == nullptr ? 0 : sample_->size, added,
                                      [&](NumbersView in, std::span<Complex> out, auto) {
                                        std::ranges::copy(f(in), out.begin());
                                      }))
      .limited(ends);
}

Known Known::meant(NumbersView values, double error, bool bounded) const {
  Rows sample = copy(sample_, 0);
  // The distance between both kinds of values counts as an error. It is not white, because all
  // values lie in the coefficients that the slots decode from.
  std::optional<double> white;
  if (sample != nullptr) {
    std::ranges::copy(values, sample->row(0).begin());
    white = white_noise_.value_or(error_seen());
  }
  Estimate estimate = estimate_;
  estimate.error = estimate.error + (bounded ? Error::bounded(error) : Error::fresh(error, false));
  return with(std::move(estimate), std::move(sample), white);
}

Known Known::plus_error(double added, std::optional<double> seen) const {
  const double real = seen.value_or(added);
  return with(session::plus_error(estimate_, added), copy(sample_, real),
              white_noise_after(1, real));
}

Known Known::with_common_error(const Known& source, NumbersView sizes, double rest) const {
  const double size = rms_of(sizes), mean = source.widest().rms * of_rounding(range());
  if (size == 0 && rest == 0) return *this;
  const Computation scope(Step::CommonError, name_, source.name_, sizes, rest);
  Estimate estimate = estimate_;
  estimate.error = estimate.error + Error::common(size * mean, rest * mean);
  if (sample_ == nullptr || source.sample_ == nullptr) return with(std::move(estimate), nullptr);
  const Sample& from = *source.sample_;
  const auto mean_of = [&](std::size_t r) {
    const NumbersView row = from.row(from.exact_of(r));
    return std::accumulate(row.begin(), row.end(), Complex(0)) / static_cast<double>(row.size());
  };
  return with(
      std::move(estimate),
      each(sample_, sample_->size, 0, [&](NumbersView in, std::span<Complex> out, std::size_t r) {
        const Complex factor = sample_->noisy(r) ? mean_of(r) : 0;
        for (std::size_t i = 0; i < in.size(); ++i) {
          out[i] = in[i] + factor * sizes[sizes.size() > 1 ? i : 0];
        }
      }));
}

Known Known::bootstrapped(const Refreshing& how, std::vector<Misfit>* misfits) const {
  constexpr int kLargestArcsine = 7;
  const auto text = [](double x) { return formatted("%.3g", x); };
  const bool alone = how.slots_first || how.partner == nullptr;
  const double of_values = how.slots_first ? this->reach()
                           : alone         ? largest_coefficient(how.slots)
                                   : with_imaginary(*how.partner).largest_coefficient(how.slots);
  const double reach = std::max(of_values, how.rest);
  // Coefficients are at most those of the corners of the unit box.
  const double limit =
      how.slots_first ? std::exp2(-how.log_message_ratio) / how.message_ratio : std::numbers::sqrt2;
  Known known = *this;
  if (reach > 1.001 * limit) {
    misfits->push_back(
        {"values whose coefficients may reach " + text(reach) + " (" + origin_text() + ")",
         "at most " + text(limit),
         "scale the values down before, state a smaller range with declare(), or encrypt with "
         "sample "
         "data (like=)"});
    known = lost();
  }
  double sine = how.sine_ratio;
  if (!how.slots_first && reach > 1) {
    // An arcsine of degree d leaves an error that grows with the power d + 1 of the coefficient,
    // and not with its square.
    const int degree = how.arcsine > 0 ? how.arcsine : kLargestArcsine;
    sine *= std::pow(std::min(reach, limit), (degree - 1) / 2.0);
  }
  known = known.refreshed(how.noise, sine, how.slots_first, how.slots, how.partner, how.uneven);
  if (how.rest == 0 || how.slots_first) return known;
  const Interval largest{-how.rest, how.rest};
  const Estimate others =
      session::refreshed({Range::declared(largest, largest), {}}, 0, sine, false, how.slots);
  // What the slots without values hold is bounded and not known. A shadow shows what the values
  // themselves lose.
  const double loss = others.error.rms();
  return known.plus_error(loss, shadow_ ? 0 : loss);
}

Known Known::refreshed(double noise, double ratio, bool of_slots, int slots, const Known* partner,
                       const Uneven& uneven) const {
  const Computation scope(Step::Refreshed, name_, partner == nullptr ? 0 : partner->name_, noise,
                          ratio, of_slots, slots, uneven.part, uneven.factor);
  const double gain = std::pow(2 * std::numbers::pi * ratio, 2) / 6;
  const bool mixed = partner != nullptr && !of_slots;  // slots are added up in coefficients
  Estimate estimate =
      session::refreshed(estimate_, noise, mixed ? 0 : ratio, of_slots, slots, uneven);
  SamplePtr meant = sample_;
  if (mixed) {
    const Known whole = with_imaginary(*partner);
    // The real part of a complex error whose two parts are of the same kind. Its mean follows from
    // its root mean square.
    const double loss =
        session::refreshed({whole.estimate_.range, {}}, 0, ratio, false, slots).error.rms() *
        std::numbers::pi / 2 / std::numbers::sqrt2;
    estimate.error = estimate.error + Error::of_values(loss, 0, slots);
    meant = whole.sample_;
  }
  SamplePtr rows = sample_;
  if (mixed && sample_ != nullptr && meant != nullptr) {
    auto common = std::make_shared<Sample>(Sample::with_common_rows(*sample_, *meant));
    for (std::size_t r = 0; r < common->rows; ++r) {
      std::ranges::copy(std::as_const(*sample_).row(r), common->row(r).begin());
    }
    rows = common;
  }
  // For noisy rows: the real part of what the sine changes in everything that is refreshed.
  const auto out_of = [&](NumbersView in, std::span<Complex> out, std::size_t r) {
    std::ranges::copy(in, out.begin());
    if (!rows->noisy(r)) return;  // exact rows hold the intended values
    add_uneven_noise(out, noise, uneven);
    if (meant == nullptr || ratio == 0) return;
    const Numbers lost = sine_error(meant->row(r), slots, gain, of_slots);
    for (std::size_t i = 0; i < out.size(); ++i) out[i] += mixed ? lost[i].real() : lost[i];
  };
  Known out =
      with(std::move(estimate), each(rows, rows == nullptr ? 0 : rows->size, 0, out_of), noise);
  return partner == nullptr ? out : out.plus_error(partner->error(), partner->error_seen());
}

Known Known::with_imaginary(const Known& partner) const {
  const Range &x = estimate_.range, &y = partner.estimate_.range;
  Range whole = Range::stated(std::min(x.claim, y.claim), x.re, y.re, std::hypot(x.bound, y.bound),
                              std::hypot(x.rms, y.rms), x.random_like && y.random_like);
  whole.of_a_sample = x.of_a_sample || y.of_a_sample;
  Known out(Estimate{whole, estimate_.error});
  out.sample_ = both(sample_, partner.sample_, 0,
                     [](Complex a, Complex b) { return Complex(a.real(), b.real()); });
  out.shadow_ = shadow_ || partner.shadow_;
  return out;
}

Known Known::partners(int slots) const {
  const Computation scope(Step::Partners, name_, slots);
  Known out = *this;
  out.name_ = Computation::name_of_result();
  if (sample_ == nullptr) return out;
  const auto width = static_cast<std::size_t>(slots);
  auto swapped = std::make_shared<Sample>(*sample_);
  for (std::size_t r = 0; r < swapped->rows; ++r) {
    const NumbersView from = std::as_const(*sample_).row(r);
    const std::span<Complex> to = swapped->row(r);
    for (std::size_t i = 0; i < to.size(); ++i) {
      const std::size_t block = i / width, at = (block ^ 1) * width + i % width;
      to[i] = at < from.size() ? from[at] * (block % 2 == 0 ? 1.0 : -1.0) : 0;
    }
  }
  out.sample_ = std::move(swapped);
  return out;
}

Known Known::looked_up(const RealMap& f, const Range& of_values, double error,
                       std::pair<double, double> deviations, const std::vector<bool>* where) const {
  Range weak = of_values;
  weak.of_a_sample = range().of_a_sample;
  if (range().claim != Claim::Calibrated) {
    weak.claim = range().claim;
    weak.random_like = false;
  }
  Estimate result{weak, Error::fresh(error, true, false)};
  // Some values stay as they are, so both bounds must hold.
  if (where != nullptr) result = result + estimate_;
  Random& random = Random::of_this_thread();
  return with(std::move(result),
              each(sample_, sample_ == nullptr ? 0 : sample_->size, 0,
                   [&](NumbersView in, std::span<Complex> out, std::size_t r) {
                     std::vector<double> arguments, beside;
                     for (const Complex& z : in) {
                       const Complex noise = sample_->noisy(r) ? random.normal() : 0;
                       arguments.push_back(z.real() + deviations.first * noise.real());
                       beside.push_back(deviations.second * noise.imag());
                     }
                     const std::vector<double> results = f(arguments);
                     for (std::size_t i = 0; i < in.size(); ++i) {
                       const bool looked = where == nullptr || (*where)[i];
                       out[i] = looked ? results[i] + beside[i] : in[i];
                     }
                   }));
}

}  // namespace latticino::session
