// What is known of an encrypted array: where its values lie, and how large its error is expected to
// be. If there are sample data, every operation is also done on them in the clear: once exactly,
// and several times with noise of the sizes that the rules of Estimate give. The claim is then what
// the samples show.
//
// A sample may cancel by chance. For example a - b is small if a and b are nearly equal in the
// sample, and may be large in the real data. So every operation is also done on other data, which
// are made from the sample (see sample.h). If their results are much larger than the sample's, the
// claim takes the range from them. If their errors are much larger, it takes the errors from them.
//
// A sample may also be a shadow: the actual values of an array that is followed for debugging. Then
// it decides no claim.
#pragma once

#include <complex>
#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "session/claims/alike.h"
#include "session/claims/computation.h"
#include "session/claims/estimate.h"
#include "session/claims/sample.h"

namespace latticino::session {

// A function of one row of a sample.
using RowMap = std::function<Numbers(NumbersView)>;
using RealMap = std::function<std::vector<double>(std::span<const double>)>;

// The reason why values do not fit, in words for an error message.
struct Misfit {
  std::string had, needs, remedy;
};

class Known;

// The effect of a bootstrapping on the values of an array.
struct Refreshing {
  double noise = 0;       // noise of a slot, as root mean square
  Uneven uneven;          // how it differs between slots
  double sine_ratio = 0;  // at this ratio, a sine without arcsine loses as much as EvalMod does
  double message_ratio = 0;
  int log_message_ratio = 0;  // that of the parameter set
  int arcsine = 0;            // degree of the arcsine; 0: the largest one
  bool slots_first = false;   // SlotToCoeff comes first: then errors depend on slots
  int slots = 0;
  double rest = 0;  // a bound on what slots without values hold
  // Other real values, equally many, which are the imaginary parts during the bootstrapping.
  const Known* partner = nullptr;
};

class Known {
 public:
  using Complex = std::complex<double>;
  struct Errors {
    double mean = 0, worst = 0;
  };

  Known() = default;
  explicit Known(Estimate estimate) : estimate_(std::move(estimate)) {}
  // What is known of an encryption. If the sample has more values than the limit, only its range is
  // kept. `real`: they stand for real values.
  static Known fresh(const Range& range, double error);
  static Known fresh(NumbersView sample, bool real, double error);
  // What is known of an encryption whose values are known, exact and with noise.
  static Known with_shadow(const Range& range, double error, NumbersView values);
  // The same, with these values as its shadow from now on.
  Known following(NumbersView values) const;

  const Estimate& estimate() const { return estimate_; }
  // The range of the sample, if there is a sample.
  const Range& range() const { return seen_ ? *seen_ : estimate_.range; }
  const SamplePtr& sample() const { return sample_; }
  bool shadow() const { return shadow_; }
  // Root mean square of a slot's complex error, as claimed.
  double error() const;
  // The same error as the sample shows it, if there is a sample. Claims may be pessimistic and add
  // up when results are used again; the errors that a shadow shows do not.
  double error_seen() const;
  double rms_seen() const;          // of the values: measured on the sample if there is one
  Claim claim() const;              // what the claim is based on
  std::string within() const;       // the same in words, for people
  std::string origin_text() const;  // the same, and whether other data may have larger values
  // Where values of other data may lie. This is the range, or a wider one if values cancel in the
  // sample.
  const Range& widest() const { return estimate_.range; }
  double reach() const { return widest().bound; }  // largest magnitude of the values
  // Expected mean error, and expected largest error of `size` values. `full`: all slots of the
  // ciphertexts are in use. For real values only the error of the real part matters.
  Errors errors(double size, bool full) const;
  // -log2 of these errors; infinite if the result is exact.
  Errors bits(double size, bool full) const;
  // The largest coefficient of the message that a bootstrapping gets: measured on a sample, or
  // bounded by the range.
  double largest_coefficient(int slots) const;
  // Checks that the values fit a modulus of 2^log_q at a scale, and that what lies in slots without
  // values, up to `rest` in size, does too. Returns what does not fit.
  std::vector<Misfit> misfits(int level, double log_q, double scale, double rest) const;

  // The same claims without samples, but with what the samples have shown.
  Known detached(double size, bool full) const;
  // For values that may exceed what the parameters hold. Their errors are as large as the values.
  Known lost() const;
  // All errors as one source, whose name is written to `source`, or 0 if there is no error.
  Known renamed(std::uint64_t* source) const;
  // Multiplies the errors of these sources by that factor.
  Known with_sources(std::span<const std::pair<std::uint64_t, double>> grown) const;
  // The same with other claims, which the caller knows better than the rules do.
  Known with_estimate(Estimate estimate) const { return with(std::move(estimate), sample_); }
  // The same claims, marked as those of a sample that is no longer there.
  Known of_a_sample() const;
  // The same with another range, which the caller states.
  Known declared(const Range& range) const;
  // With the range cut to a domain. A caller that names a domain states that all values are in it.
  Known within_domain(Interval domain) const;
  // For values whose imaginary parts are only errors.
  Known as_real() const;

  // The following functions move values to other places. This one takes the `count` values from
  // flat place `first` on. Zeros follow, up to `slots` values.
  Known part(std::size_t first, std::size_t count, std::size_t slots) const;
  // The values with these flat indices, in an array of that shape. No ciphertext is touched.
  Known taken(std::span<const std::size_t> shape, std::span<const std::int64_t> index) const;
  // Repeated up to `size` values. Decoding then reads more coefficients: errors grow by `growth`.
  Known repeated(std::size_t size, double growth) const;
  // Values moved to other slots by rotations and masks. `name` stands for these slots.
  Known placed(std::uint64_t name, double added, double rounded) const;
  // The same, and then rotations make copies of values. Values with equal `sources` are copies of
  // one value. `added` and `rounded` are errors that all copies have in common; `added_to_each` and
  // `rounded_in_each` are independent in each copy.
  Known copied(std::uint64_t name, std::span<const std::int64_t> sources, double added,
               double rounded, double added_to_each, double rounded_in_each) const;
  // Several arrays as one: value i of the result is value index[i] of the concatenation of the
  // arrays, which have these `sizes`.
  static Known joined(std::span<const Known> several, std::span<const std::size_t> sizes,
                      std::span<const std::int64_t> index);

  // Operations. An operation that is done again on the same operands adds the same error. This does
  // not hold for scalars that are not known, linear maps, and functions that a caller passes: their
  // errors count as new ones. `added`: the error that the operation adds, as root mean square of a
  // slot. `rounded`: the error that rounded weights add to values of size 1.
  Known plus(const Known& other) const;
  Known minus(const Known& other) const;
  Known times(const Known& other, bool same, double added) const;
  // `plain` of the array's size; encoded at `scale` in ciphertexts of `slots` slots.
  Known plus_plain(NumbersView plain, int slots, double scale, const Places* where = nullptr) const;
  Known times_plain(NumbersView plain, int slots, double scale, double added,
                    const Places* where = nullptr) const;
  Known plus_number(Complex c, double scale) const;
  // `actual`: the number that c was rounded to.
  Known times_number(Complex c, double added, std::optional<Complex> actual = std::nullopt) const;
  // The sum or product with any number of a range, the same for all slots. `rounding`: how far the
  // number that is added or multiplied may be from the exact one. The result has no samples,
  // because those for one number say nothing about others.
  Known plus_scalar(const Range& c, double rounding) const;
  Known times_scalar(const Range& c, double rounding, double added) const;
  // Brought to a lower level: multiplied by the integer nearest to `factor`, divided by `factor`,
  // and rescaled.
  Known lowered(double added, double factor) const;
  Known conjugated(double added) const;
  // `rounded`: the claimed error of masks, for values of size 1 without structure. `off`: the error
  // of masks on a row of a sample, if there are masks.
  Known rotated(std::int64_t steps, bool masked, double added, double rounded,
                const RowMap& off = nullptr) const;
  // Sums over the first axis, of `count` values each, which leave `kept` sums. `full`: all slots of
  // the ciphertext were in use. Then the sums do not decode from all coefficients; only the added
  // error lies in the others. `unused`: how many slots without values each sum also includes.
  Known summed(std::size_t kept, double count, double added, bool full, double unused = 0) const;
  // Sums of an array of this shape over these axes, of `count` values each, times a number.
  // `rounded`: the rounding error of one weight. `windows[k]` weights multiply sums of 2^k
  // neighbouring values.
  Known reduced(std::span<const std::size_t> shape, std::span<const std::size_t> axes, double count,
                Complex factor, double added, double rounded,
                std::span<const double> windows) const;
  // Sums of rows of `count` values, repeated in all places of the row. `added`: the error, which is
  // the same in all places of a row. `rounding`: that of the mask, which multiplies sums of `count`
  // neighbouring slots.
  Known spread(Complex factor, std::size_t count, double added, double rounding, int slots) const;
  // A linear map. Its arguments bound, for the weights of any one result, the sum of magnitudes and
  // the root of the sum of squares. `rounded`: the error of rounded weights, for values of size 1,
  // if these errors are independent; `alike`: which of them are not. `correlation`: that of the
  // results (correlation.h).
  Known mapped(const RowMap& f, double l1, double l2, bool real, double added, double rounded,
               const Alike& alike = {}, double correlation = 1) const;
  Known polynomial(const Series& p, const Evaluation& how) const;
  // A real function with values within `ends`, whose slope is at most `slope` where the values lie.
  Known through(const RowMap& f, double slope, double added, Interval ends) const;
  // The array as an approximation of other values, which differ from its own by up to `error`.
  // `values`: those other values for the sample, if there is one. `bounded`: it is proved that no
  // value differs by more.
  Known meant(NumbersView values, double error, bool bounded = false) const;
  // `seen`: the error that is added to a sample, if it differs from the claimed one.
  Known plus_error(double added, std::optional<double> seen = std::nullopt) const;
  // With an error that is a multiple of the mean of the values of `source`: `sizes` has the factor
  // of each value, or one for all of them, and `rest` that of slots without values (see
  // common_error.h).
  Known with_common_error(const Known& source, NumbersView sizes, double rest) const;
  Known with_common_error(const Known& source, Complex size) const {
    return with_common_error(source, {&size, 1}, std::abs(size));
  }
  // After a bootstrapping. If values do not fit, nothing is claimed, and `misfits` says why.
  Known bootstrapped(const Refreshing& how, std::vector<Misfit>* misfits) const;
  // The errors alone of a bootstrapping. `ratio`: with this ratio the sine alone loses as much of a
  // coefficient of size 1 as EvalMod loses. `partner` and `uneven` as above.
  Known refreshed(double noise, double ratio, bool of_slots, int slots,
                  const Known* partner = nullptr, const Uneven& uneven = {}) const;
  // Ciphertexts of `slots` slots are refreshed in pairs, x and y as x + i y. The results are the
  // real parts of that and of -i times it. This is what lies in the imaginary parts: y beside x,
  // and -x beside y.
  Known partners(int slots) const;
  // After a table of a function with values in `range`. `deviations`: the deviation of the noise of
  // an argument, and that of the noise of a result. Values whose flag in `where` is false stay as
  // they are.
  Known looked_up(const RealMap& f, const Range& range, double error,
                  std::pair<double, double> deviations, const std::vector<bool>* where) const;

 private:
  using Rows = std::shared_ptr<Sample>;
  // Up to so many values, other data are computed as well: 32 MiB.
  static constexpr std::size_t kMaxWithOthers = std::size_t{1} << 18;
  Known(Estimate estimate, SamplePtr sample, bool shadow,
        std::optional<double> white = std::nullopt);
  // The result of an operation on this array; the second form: on this array and another one.
  Known with(Estimate estimate, SamplePtr sample, std::optional<double> white = std::nullopt) const;
  Known with(Estimate estimate, const Known& other, SamplePtr sample,
             std::optional<double> white = std::nullopt) const;
  std::optional<double> white_noise_after(double factor, double added) const;
  // The error that an operation with rounding adds to the claim.
  double claimed(double added, double rounded) const;
  std::optional<double> white_noise_of_sum(const Known& other) const;
  // Root mean square error of a few values, for which samples do not show enough.
  double error_of_few() const;
  bool too_large(std::size_t size) const;
  SamplePtr others_within(Interval domain) const;
  // The same for other data that are known to lie in an interval. Without it, the range of other
  // data is extrapolated from a few sets of them, and may be too wide.
  Known limited(Interval ends) &&;
  // These real values plus i times other ones.
  Known with_imaginary(const Known& partner) const;
  Errors errors_of_sample(double size, bool full) const;

  // Arrays with equal names are the same ciphertexts.
  std::uint64_t name_ = Computation::name_of_result();
  Estimate estimate_;
  SamplePtr sample_;
  std::optional<Errors> measured_;
  std::optional<Range> seen_;  // that of the sample, if the estimate is wider
  bool shadow_ = false;
  // The part of a sample's error that lies in all coefficients. The rest lies only in those that
  // the slots decode from. None: all of it is the first part.
  std::optional<double> white_noise_;
};

}  // namespace latticino::session
