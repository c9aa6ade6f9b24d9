// Ranges contain all possible values, and errors of one source add up linearly.
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <random>
#include <vector>

#include "math/errors.h"
#include "session/claims/estimate.h"

namespace latticino::session {
namespace {

using Complex = std::complex<double>;

class Values {
 public:
  explicit Values(unsigned seed) : random_(seed) {}
  double uniform(double low, double high) {
    return low + (high - low) * std::generate_canonical<double, 53>(random_);
  }
  Range range(bool real) {
    const double a = uniform(-4, 4), b = uniform(-4, 4), c = uniform(-4, 4), d = uniform(-4, 4);
    return Range::declared({std::min(a, b), std::max(a, b)},
                           real ? Interval{} : Interval{std::min(c, d), std::max(c, d)});
  }
  std::vector<Complex> within(const Range& r, int count) {
    std::vector<Complex> out;
    for (int i = 0; i < count; ++i) {
      out.emplace_back(uniform(r.re.low, r.re.high), uniform(r.im.low, r.im.high));
    }
    return out;
  }

 private:
  std::minstd_rand random_;
};

void expect_within(const Range& range, const std::vector<Complex>& values) {
  const Range had = Range::of(values);
  EXPECT_TRUE(range.contains(had)) << range.str() << " and " << had.str();
  EXPECT_LE(had.rms, range.rms * (1 + 1e-9));
}

TEST(SessionRange, HoldsResultsOfOperations) {
  Values values(7);
  for (int round = 0; round < 300; ++round) {
    const Range x = values.range(round % 2 == 0), y = values.range(round % 3 == 0);
    const std::vector<Complex> a = values.within(x, 64), b = values.within(y, 64);
    std::vector<Complex> sum, product, square_of, negative, conjugates;
    for (std::size_t i = 0; i < a.size(); ++i) {
      sum.push_back(a[i] + b[i]);
      product.push_back(a[i] * b[i]);
      square_of.push_back(a[i] * a[i]);
      negative.push_back(-a[i]);
      conjugates.push_back(std::conj(a[i]));
    }
    expect_within(x + y, sum);
    expect_within(x * y, product);
    expect_within(square(x), square_of);
    expect_within(-x, negative);
    expect_within(conjugate(x), conjugates);
    Complex total = 0;
    for (const Complex& z : a) total += z;
    expect_within(session::sum(x, 64), {total});
  }
}

TEST(SessionRange, HoldsPolynomials) {
  Values values(8);
  for (int round = 0; round < 100; ++round) {
    const Range x = values.range(round % 2 == 0);
    std::vector<Complex> c;
    for (int k = 0; k < 6; ++k) c.emplace_back(values.uniform(-1, 1), 0);
    const Series p{c, round % 3 == 0, -5, 5};
    std::vector<Complex> y;
    for (const Complex& z : values.within(x, 200)) {
      const Complex t = z / 5.0;
      Complex result = 0, before = 1, now = t;  // T_k, or powers
      for (std::size_t k = 0; k < c.size(); ++k) {
        const Complex basis = k == 0 ? Complex(1) : now;
        result += c[k] * basis;
        if (k == 0) continue;
        const Complex next = p.chebyshev ? 2.0 * t * now - before : now * t;
        before = now;
        now = next;
      }
      y.push_back(result);
    }
    expect_within(range_of_polynomial(x, p), y);
  }
}

TEST(SessionRange, TheWeakerClaimDecides) {
  const Range assumed = Range::assumed(true), declared = Range::declared({-1, 1}, {});
  EXPECT_EQ((assumed + declared).claim, Claim::Assumed);
  EXPECT_EQ((Range::of(Complex(2)) * declared).claim, Claim::Declared);
  EXPECT_EQ((Range::of(Complex(2)) * declared).basis(), Claim::Declared);
  // If a sample is not available, rules know no more than the bounds.
  const Range apart = declared.with_basis_of(Range::of_sample(std::vector<Complex>{1}, true));
  const std::vector<std::size_t> sizes{1, 1};
  const std::vector<Range> both{declared, apart};
  for (const Range& x : {apart, -apart, conjugate(apart), apart + declared, declared * apart,
                         square(apart), sum(apart, 3), mapped(apart, 2, true), with_zero(apart),
                         hull(both, sizes), Range::of(Complex(2)) * apart}) {
    EXPECT_TRUE(x.basis() == Claim::Calibrated && x.only_bounds()) << x.described();
  }
  EXPECT_EQ((assumed + apart).basis(), Claim::Assumed);
  EXPECT_TRUE(apart.serves(declared) && declared.serves(apart));
  EXPECT_LT(assumed.bound, 1.01);
  EXPECT_THROW(Range::declared({1, -1}, {}), ValueError);
  EXPECT_THROW(Range::declared({0, INFINITY}, {}), ValueError);
  EXPECT_THROW(Range::declared({0, 1}, {}, 2.0), ValueError);
}

TEST(SessionError, PartsOfOneSourceAddUpLinearly) {
  const Error x = Error::fresh(1), y = Error::fresh(1);
  EXPECT_NEAR((x + x).rms(), 2, 1e-12);
  EXPECT_NEAR((x + y).rms(), std::sqrt(2), 1e-12);
  EXPECT_NEAR(((x + y) + (x + y)).rms(), std::sqrt(8), 1e-12);
  Error chain = x;
  for (int i = 0; i < 511; ++i) chain = chain + x;
  EXPECT_NEAR(chain.rms(), 512, 1e-9);
  EXPECT_NEAR((x + x.moved(3)).rms(), std::sqrt(2), 1e-12);
  EXPECT_NEAR((x.moved(3) + x.moved(3)).rms(), 2, 1e-12);
  EXPECT_NEAR(x.summed(64, 8, false).rms(), 8, 1e-12);
  EXPECT_NEAR(x.summed(64, 8, false).moved(5).summed(64, 8, false).rms(), 512, 1e-9);  // not white
  EXPECT_TRUE(x.times(0, 0).exact());
}

// A quarter of 4,096 errors is 1.9 times as large as their root mean square.
TEST(SessionError, ExpectsTheLargestOfSlotsWithLargerErrors) {
  const Uneven where{0.25, 1.9};
  EXPECT_NEAR(0.25 * 1.9 * 1.9 + 0.75 * std::pow(where.elsewhere(), 2), 1, 1e-12);
  const Error even = Error::fresh(1), uneven = Error::uneven(1, true, where, 4096);
  EXPECT_EQ(uneven.rms(), 1);
  std::minstd_rand random(12);
  std::normal_distribution<double> normal(0, std::sqrt(0.5));
  const auto draw = [&] { return std::abs(Complex(normal(random), normal(random))); };
  double largest = 0;
  constexpr int kRuns = 100;
  for (int run = 0; run < kRuns; ++run) {
    double most = 0;
    for (int i = 0; i < 4096; ++i) {
      most = std::max(most, draw() * draw() * (i % 4 == 0 ? where.factor : where.elsewhere()));
    }
    largest += most / kRuns;
  }
  // The mean of 100 runs deviates by 2 %.
  EXPECT_NEAR(uneven.worst(4096, true) / largest, 1, 0.15);
  EXPECT_LT(even.worst(4096, true) / largest, 0.7);
  EXPECT_EQ(Error::uneven(1, true, where, 2).largest(), 1);
  EXPECT_EQ(Uneven{}.elsewhere(), 1);
}

TEST(SessionError, SumsAddUpTheErrorsOfSlotsWithoutValues) {
  const double root = std::sqrt(3.0);
  const Error x = Error::fresh(1);
  EXPECT_NEAR(x.summed(3, root, 61).rms(), 8, 1e-12);
  EXPECT_NEAR(x.summed(3, root, 61).largest(), 8, 1e-12);
  EXPECT_NEAR((x + x).times(0.5, 0.5).moved(3).summed(3, root, 61).rms(), 8, 1e-12);
  // A product with zeros leaves no error in them, except its own.
  EXPECT_NEAR(x.at_values().summed(3, root, 61).rms(), root, 1e-12);
  const Error rescaled = x.at_values() + Error::fresh(0.5);
  EXPECT_NEAR(rescaled.rest(), 0.5, 1e-12);
  EXPECT_NEAR(rescaled.summed(3, root, 61).rms(), std::sqrt(3 + 64 * 0.25), 1e-12);
  // An error that follows the values is not there.
  EXPECT_NEAR(Error::fresh(1, false).summed(3, root, 61).rms(), 3, 1e-12);
}

// The error of a sum in one slot, which is repeated in 256: the sum of all of them has 256 times
// that error. What decoding reads beside it is independent between slots. It had counted as equal
// in all.
TEST(SessionError, WhatDecodingReadsMoreOfRepeatedValuesIsNotAlikeInAllSlots) {
  const Error one = Error::fresh(1).summed(1, 1, false);
  const Error all = one.repeated(16);
  EXPECT_NEAR(all.rms(), 16, 1e-12);
  EXPECT_NEAR(all.largest(), 16, 1e-12);
  EXPECT_NEAR(all.summed(256, 16, false).rms(), std::hypot(256, 16 * std::sqrt(255)), 1e-9);
  EXPECT_NEAR((all + one.repeated(16)).rms(), 32, 1e-12);  // the same error again
  EXPECT_EQ(one.repeated(1).rms(), 1);
  // Errors of 4 slots that are repeated in 256: their sum has 64 times the error of a sum of 4.
  EXPECT_NEAR(Error::fresh(1).repeated(8).summed(256, 16, false).rms(), 64 * 2, 1e-12);
  // A number that slots without values have in common is one coefficient.
  EXPECT_EQ(Error::common(1, 2).repeated(16).common_rest(), 2);
}

// A sum of 256 values that are 16 copies each of 16 values adds up 16 independent errors, each 16
// times. Earlier they counted as one error, 256 times.
TEST(SessionError, CopiesOfSeveralValuesHaveErrorsOfTheirOwn) {
  const Error copies = Error::fresh(1).shared(16);
  EXPECT_NEAR(copies.summed(256, 16, false).rms(), 64, 1e-12);
  EXPECT_NEAR(Error::of_copies(1, 16).summed(256, 16, false).rms(), 64, 1e-12);
  EXPECT_NEAR(copies.shared(4).summed(256, 16, false).rms(), 128, 1e-12);
  EXPECT_NEAR(copies.shared(256).summed(256, 16, false).rms(), 256, 1e-12);  // all of them
  EXPECT_NEAR(Error::fresh(1).shared(1).moved(3).summed(256, 16, false).rms(), 16, 1e-12);
  // A value and its copy have the same error, also in an array that was moved.
  EXPECT_NEAR((copies + copies.moved(3)).rms(), 2, 1e-12);
}

TEST(SessionError, ManyPartsAreNeverTooSmall) {
  Error all;
  double squares = 0;
  for (int i = 1; i <= 200; ++i) {
    all = all + Error::fresh(1.0 / i);
    squares += 1.0 / i / i;
  }
  EXPECT_LE(all.parts().size(), 25u);
  EXPECT_GE(all.rms(), std::sqrt(squares) * (1 - 1e-12));
  EXPECT_LT(all.rms(), 4 * std::sqrt(squares));
}

// The largest of `count` errors, as the mean over many draws, compared with the claim.
TEST(SessionError, ExpectsTheLargestOfAllSlots) {
  std::minstd_rand random(11);
  std::normal_distribution<double> normal(0, std::sqrt(0.5));
  const auto draw = [&] { return std::abs(Complex(normal(random), normal(random))); };
  for (const int count : {1, 16, 512, 4096}) {
    double one = 0, product = 0;
    constexpr int kRuns = 200;
    for (int run = 0; run < kRuns; ++run) {
      double largest = 0, largest_product = 0;
      for (int i = 0; i < count; ++i) {
        largest = std::max(largest, draw());
        largest_product = std::max(largest_product, draw() * draw());
      }
      one += largest / kRuns;
      product += largest_product / kRuns;
    }
    const Error encrypted = Error::fresh(1, true, false), divided = Error::fresh(1);
    const double tolerance = count == 1 ? 0.3 : 0.15;  // a single one is claimed as if it were two
    EXPECT_NEAR(encrypted.worst(count, true) / one, 1, tolerance) << count;
    EXPECT_NEAR(divided.worst(count, true) / product, 1, tolerance) << count;
    EXPECT_EQ(divided.worst(count, false), encrypted.worst(count, true));
    // Sums over many slots are normal again.
    EXPECT_EQ(divided.summed(1, 1).worst(count, true), encrypted.worst(count, true));
  }
}

TEST(SessionEstimate, WhatTheSineTakesOfAConstantIsItsMean) {
  const double gain = 2 * std::numbers::pi * std::numbers::pi / 3 * 0.01 * 0.01;
  for (const bool of_slots : {false, true}) {
    const Estimate x{Range::declared({0.5, 0.5}, {}), {}};
    const Estimate y = refreshed(x, 0, 0.01, of_slots, 512);
    // The claim is that of the mean of real errors.
    EXPECT_NEAR(y.error.rms() / std::sqrt(std::numbers::pi) / (gain * 0.125), 1, 1e-9) << of_slots;
  }
}

// One value of a hundred is not 0. The rounding of plain values is multiplied by that value.
TEST(SessionEstimate, RoundingErrorsOfPlainValuesAreLargestWhereValuesAre) {
  std::vector<Complex> values(1000);
  for (std::size_t i = 0; i < values.size(); i += 100) values[i] = 50;
  const Estimate x{Range::of(values), {}};
  constexpr double kRounding = 1e-6;
  const double of_real = kRounding * std::numbers::sqrt2;
  const Estimate y = times_plain(x, Range::declared({0, 1}, {}), kRounding, 0);
  EXPECT_NEAR(y.error.rms(), 5 * of_real, 1e-12);
  EXPECT_NEAR(y.error.largest(), 50 * of_real, 1e-12);
  EXPECT_NEAR(times_plain(x, Range::declared({0, 1}, {}), kRounding, 1).error.largest(), 1, 1e-6);
}

TEST(SessionEstimate, SlopesOfNarrowRanges) {
  const std::vector<Complex> c{0.1, 0.7, 0.3};
  for (const double width : {0.0, 1e-16, 1e-12, 1e-9, 1e-3}) {
    const Estimate x{Range::declared({0.37, 0.37 + width}, {}), Error::fresh(1e-6)};
    const Estimate y = polynomial(x, {c}, Evaluation({c}));
    EXPECT_NEAR(y.error.rms(), 1e-6 * (0.7 + 0.6 * 0.37), 1e-9) << width;
  }
}

TEST(SessionError, SourcesCanBeReplaced) {
  std::uint64_t source = 0;
  const Error x = (Error::fresh(3) + Error::fresh(4)).renamed(&source);
  EXPECT_NEAR(x.rms(), 5, 1e-12);
  const Error result = x.moved(1).times(2, 2) + Error::fresh(10);
  EXPECT_NEAR(result.with_source(source, 3).rms(), std::hypot(30, 10), 1e-9);
}

// A bound holds for every slot, however many there are. Normal errors add to it.
TEST(SessionError, BoundsLimitTheLargestError) {
  const Error bounded = Error::bounded(0.5), noise = Error::fresh(0.01);
  EXPECT_DOUBLE_EQ(bounded.rms(), 0.5);
  EXPECT_DOUBLE_EQ(bounded.worst(1 << 14, false), 0.5);
  EXPECT_DOUBLE_EQ((bounded + noise).worst(1 << 14, false), 0.5 + noise.worst(1 << 14, false));
  EXPECT_DOUBLE_EQ((bounded + bounded).worst(1 << 14, false), 1);
  EXPECT_DOUBLE_EQ((bounded + Error::bounded(0.25)).worst(1 << 14, false), 0.75);
  EXPECT_DOUBLE_EQ(bounded.times(0.5, 2).worst(1 << 14, false), 1);
  EXPECT_EQ(bounded.times(0, 0).worst(1 << 14, false), 0);
  // What a sum or a repetition makes of it is counted as before.
  const Error unknown = Error::fresh(0.5, false, false);
  EXPECT_DOUBLE_EQ(bounded.summed(2, 2).worst(1 << 14, false),
                   unknown.summed(2, 2).worst(1 << 14, false));
  EXPECT_DOUBLE_EQ(bounded.repeated(2).worst(1 << 14, false),
                   unknown.repeated(2).worst(1 << 14, false));
}

}  // namespace
}  // namespace latticino::session
