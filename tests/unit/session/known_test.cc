// What is known of arrays follows every operation: exact rows are the operation's results, noise
// has the stated sizes, claims are what samples show, and shadows claim nothing.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numbers>
#include <numeric>
#include <random>
#include <thread>

#include "session/claims/known.h"

namespace latticino::session {
namespace {

using Complex = std::complex<double>;

constexpr double kError = 1e-6;

Numbers random_values(std::size_t count, unsigned seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> uniform(-1, 1);
  Numbers out(count);
  for (Complex& z : out) z = {uniform(random), uniform(random)};
  return out;
}

Known sampled(const Numbers& values) { return Known::fresh(values, false, kError); }

NumbersView exact(const Known& x) { return std::as_const(*x.sample()).row(0); }

void expect_exact(const Known& x, const Numbers& want) {
  ASSERT_EQ(x.sample()->size, want.size());
  for (std::size_t i = 0; i < want.size(); ++i) {
    EXPECT_LE(std::abs(exact(x)[i] - want[i]), 1e-12) << i;
  }
}

// Root mean square of the difference between a row with noise and its exact row.
double error_of_row(const Known& x, std::size_t r) {
  const Sample& sample = *x.sample();
  double squares = 0;
  for (std::size_t i = 0; i < sample.size; ++i) {
    squares += std::norm(sample.row(r)[i] - sample.row(sample.exact_of(r))[i]);
  }
  return std::sqrt(squares / static_cast<double>(sample.size));
}

// The error that the sample shows, for a rule that states the error for white errors.
void expect_error(const Known& x, double want) { EXPECT_NEAR(x.error() / want, 1, 0.1); }

TEST(SessionKnown, ArraysOfOneAnotherJoinAndPartAgain) {
  const Numbers a = random_values(600, 1), b = random_values(400, 2);
  std::vector<std::int64_t> index(1000);
  std::iota(index.begin(), index.end(), 0);
  std::ranges::reverse(index);
  const std::vector<Known> both{sampled(a), sampled(b)};
  const Known joined = Known::joined(both, std::vector<std::size_t>{600, 400}, index);
  Numbers want(a);
  want.insert(want.end(), b.begin(), b.end());
  std::ranges::reverse(want);
  expect_exact(joined, want);
  expect_error(joined, kError);
  EXPECT_NEAR(joined.estimate().error.rms() / kError, 1, 1e-9);
  const std::vector<std::int64_t> some{3, 1, 3, 0};
  expect_exact(joined.taken(std::vector<std::size_t>{2, 2}, some),
               {want[3], want[1], want[3], want[0]});
  const Known part = joined.part(512, 488, 512);
  ASSERT_EQ(part.sample()->size, 512u);
  EXPECT_EQ(exact(part)[0], want[512]);
  EXPECT_EQ(exact(part)[500], Complex(0));
  // Two orders of the same values are independent of each other, the same order is not.
  const Known once = both[0].taken(std::vector<std::size_t>{4}, some);
  const Known again = both[0].taken(std::vector<std::size_t>{4}, some);
  EXPECT_NEAR(once.plus(again).estimate().error.rms() / kError, 2, 1e-9);
}

TEST(SessionKnown, SumsOverAnyAxes) {
  const Numbers x = random_values(2 * 3 * 4, 3);
  const std::vector<std::size_t> shape{2, 3, 4};
  for (const std::vector<std::size_t>& axes :
       std::vector<std::vector<std::size_t>>{{0}, {1}, {2}, {0, 2}, {0, 1, 2}}) {
    const auto along = [&](std::size_t a) { return std::ranges::find(axes, a) != axes.end(); };
    Numbers want;
    for (std::size_t i = 0; i < (along(0) ? 1 : 2); ++i) {
      for (std::size_t j = 0; j < (along(1) ? 1 : 3); ++j) {
        for (std::size_t k = 0; k < (along(2) ? 1 : 4); ++k) {
          Complex sum = 0;
          for (std::size_t l = 0; l < x.size(); ++l) {
            const std::size_t at[] = {l / 12, l / 4 % 3, l % 4};
            const bool here =
                (along(0) || at[0] == i) && (along(1) || at[1] == j) && (along(2) || at[2] == k);
            if (here) sum += x[l];
          }
          want.push_back(2.0 * sum);
        }
      }
    }
    const auto count = static_cast<double>(x.size()) / static_cast<double>(want.size());
    expect_exact(sampled(x).reduced(shape, axes, count, 2, 0, 0, {}), want);
  }
  const Known square = sampled(random_values(4096, 4));
  expect_error(square.reduced(std::vector<std::size_t>{64, 64}, std::vector<std::size_t>{1}, 64, 1,
                              0, 0, {}),
               8 * kError);
  expect_error(square.summed(1024, 4, 0, false), 2 * kError);
  const Known spread = square.spread(0.5, 64, 0, 0, 4096);
  EXPECT_EQ(exact(spread)[0], exact(spread)[63]);
  EXPECT_NE(exact(spread)[63], exact(spread)[64]);
}

// Four weights multiply sums of 16 values each. Sums of positive values are 16 times as large as
// the values. Sums of values about zero are 4 times as large, and the sample shows up to 1.4 times
// that.
TEST(SessionKnown, RoundedWeightsMultiplySumsOfManyValues) {
  const double rounded = 1e-9;
  const std::vector<double> windows{0, 0, 0, 0, 4};
  const auto error = [&](const Known& x) {
    return x
        .reduced(std::vector<std::size_t>{16, 256}, std::vector<std::size_t>{0}, 16, 1, 0, rounded,
                 windows)
        .errors(256, false)
        .mean;
  };
  const auto of = [](const Numbers& values) { return Known::fresh(values, false, 0); };
  const double mean = std::sqrt(std::numbers::pi) / 2;
  Numbers positive = random_values(4096, 7);
  for (Complex& z : positive) z += 9.0;
  // 1,024 errors and more: a deviation of 2 %.
  EXPECT_NEAR(error(of(positive)) / (2 * rounded * 16 * 9 * mean), 1, 0.25);
  const double about = 2 * rounded * 4 * std::sqrt(2.0 / 3) * mean;
  EXPECT_NEAR(error(of(random_values(4096, 8))) / about, 1.4, 0.4);
  const auto of_few = [&](const Known& x) {  // the weights are equal, so their errors add up
    return x
        .reduced(std::vector<std::size_t>{16, 256}, std::vector<std::size_t>{1}, 256, 1, 0, rounded,
                 windows)
        .errors(256, false)
        .mean;
  };
  EXPECT_NEAR(of_few(of(positive)) / (4 * rounded * 16 * 9 * mean), 1, 0.4);
  const Known declared = Known::fresh(Range::declared({8, 10}, {}), 0);
  EXPECT_GT(error(declared), 2 * rounded * 16 * 8 / std::sqrt(std::numbers::pi));
}

// The samples of a sum of three values are 16 normal numbers, of 32 parts: their root mean square
// deviates by an eighth.
TEST(SessionKnown, SumsOfAFewValuesAddUpTheErrorsOfAllSlots) {
  const Numbers few = random_values(3, 6), ones(3, 1.0);
  for (const Known& x : {sampled(few), Known::fresh(Range::declared({-1, 1}, {}), kError)}) {
    const auto error = [](const Known& sum) {
      return sum.errors(1, false).mean / (std::sqrt(std::numbers::pi) / 2) / kError;
    };
    const double all = error(x.summed(1, 3, 0, false, 61));
    EXPECT_GT(all, 8 * 0.4);
    EXPECT_LT(all, 8 * 1.6);
    const double masked = error(x.times_plain(ones, 64, 0x1p60, 0).summed(1, 3, 0, false, 61));
    EXPECT_LT(masked, std::sqrt(3) * 1.6);
    EXPECT_GT(error(x.times_plain(ones, 64, 0x1p60, kError).summed(1, 3, 0, false, 61)), 8 * 0.4);
  }
}

// 16 copies each of 16 values, of which three quarters of the error's square are common.
TEST(SessionKnown, CopiesHaveErrorsInCommonAndOfTheirOwn) {
  std::vector<std::int64_t> sources(256);
  for (std::size_t i = 0; i < sources.size(); ++i) sources[i] = static_cast<std::int64_t>(i % 16);
  const double common = kError * std::sqrt(0.75), own = kError / 2;
  const auto copied = [&](const Known& x) { return x.copied(1, sources, common, 0, own, 0); };
  const Known sampled = copied(Known::fresh(Numbers(256, 1.0), false, 0));
  EXPECT_NEAR(sampled.error_seen() / kError, 1, 0.15);  // 64 normal numbers, and 1,024
  const Known sums = sampled.reduced(std::vector<std::size_t>{16, 16}, std::vector<std::size_t>{0},
                                     16, 1, 0, 0, {});
  const double sum = std::sqrt(16 * 16 * 0.75 + 16 * 0.25);
  EXPECT_NEAR(sums.error_seen() / kError / sum, 1, 0.3);
  const Known declared = copied(Known::fresh(Range::declared({-1, 1}, {}), 0));
  EXPECT_NEAR(declared.error() / kError, 1, 1e-9);
  EXPECT_NEAR(declared.summed(1, 256, 0, false).error() / kError / (4 * sum), 1, 1e-9);
}

// The claim of a single number lies between what the sample shows and what the rules say. The rules
// were 28 times as large here.
TEST(SessionKnown, SumsOfARepeatedSumAreClaimedNearTheirSample) {
  constexpr int kRuns = 16;
  double over = 0;
  for (int run = 0; run < kRuns; ++run) {
    const Known sum = sampled(random_values(512, 9 + run)).summed(1, 512, kError, true);
    const Known again = sum.repeated(512, std::sqrt(512.0)).summed(1, 512, 0, true);
    const double claimed = again.errors(1, false).mean / (std::sqrt(std::numbers::pi) / 2);
    over += claimed / again.error_seen() / kRuns;
    EXPECT_LT(again.estimate().error.rms(), 512 * std::sqrt(512.0) * kError * 1.5);
  }
  // The sample shows the root mean square of four normal numbers; other data show twelve more.
  EXPECT_LT(over, 1.8);
}

TEST(SessionKnown, PlainValuesAreRoundedWhereTheyLie) {
  const int slots = 64;
  const double scale = 0x1p10;
  const Numbers plain = random_values(40, 5);
  std::vector<std::int64_t> places(40);
  for (std::size_t i = 0; i < 40; ++i) places[i] = static_cast<std::int64_t>(127 - 3 * i);
  const Places where{places, 2};
  const Numbers there = rounding(plain, slots, scale, &where), here = rounding(plain, slots, scale);
  Numbers all(128);
  for (std::size_t i = 0; i < 40; ++i) all[static_cast<std::size_t>(places[i])] = plain[i];
  const Numbers rounded = rounding(all, slots, scale);
  double squares = 0;
  for (std::size_t i = 0; i < 40; ++i) {
    EXPECT_EQ(there[i], rounded[static_cast<std::size_t>(places[i])]);
    squares += std::norm(there[i] - here[i]);
  }
  EXPECT_GT(squares, 0);
  const Known x = sampled(Numbers(40, 1.0));
  const Known y = x.times_plain(plain, slots, scale, 0, &where),
              z = x.plus_plain(plain, slots, scale, &where);
  for (std::size_t i = 0; i < 40; ++i) {
    const Complex off_y = std::as_const(*y.sample()).row(1)[i] - plain[i] - there[i];
    const Complex off_z = std::as_const(*z.sample()).row(1)[i] - 1.0 - plain[i] - there[i];
    EXPECT_LE(std::max(std::abs(off_y), std::abs(off_z)), 10 * kError);
  }
}

TEST(SessionKnown, ShadowsClaimNothing) {
  const Range box = Range::declared({-2, 2}, {});
  const Numbers values(512, 0.5);
  const Known declared = Known::fresh(box, kError);
  const Known shadow = Known::with_shadow(box, kError, values);
  const Known a = declared.times(declared, true, 1e-7), b = shadow.times(shadow, true, 1e-7);
  EXPECT_EQ(a.errors(512, true).mean, b.errors(512, true).mean);
  EXPECT_EQ(a.errors(512, true).worst, b.errors(512, true).worst);
  EXPECT_TRUE(b.shadow() && b.claim() == Claim::Declared && b.range().bound == 4);
  EXPECT_LT(b.error_seen(), b.error() / 2);  // values of 0.5, and not of 2
  EXPECT_EQ(exact(b)[7], Complex(0.25));
  EXPECT_TRUE(b.plus(Known::fresh(box, 0)).sample() == nullptr);
  EXPECT_FALSE(b.detached(512, true).shadow());
  EXPECT_TRUE(b.lost().shadow());
  // The possible content of other slots is claimed, but it is no error of the values themselves.
  const Refreshing how{
      .noise = kError, .sine_ratio = 0.01, .message_ratio = 0.01, .slots = 512, .rest = 1};
  std::vector<Misfit> misfits;
  const Known refreshed = shadow.bootstrapped(how, &misfits);
  EXPECT_TRUE(misfits.empty());
  EXPECT_LT(refreshed.error_seen(), 1e-4);
  EXPECT_GT(refreshed.error(), 1e-4);
}

TEST(SessionKnown, TheLargestErrorOfAFewLargeValuesHasAMargin) {
  Numbers sparse(512), dense = random_values(512, 6);
  sparse[77] = 1;
  for (Complex& z : dense) z /= std::abs(z);
  const double error = 2 * kError;  // of a square at a value of size 1
  const auto worst = [](const Numbers& x) {
    return sampled(x).times(sampled(x), true, 1e-9).errors(512, false).worst;
  };
  // For one value, replicas show about its root mean square; for many, the largest is known.
  EXPECT_NEAR(worst(dense) / (error * std::sqrt(std::log(512) + 1)), 1 / std::sqrt(2.0), 0.15);
  const double rms = error / std::sqrt(2.0);  // of two encryptions
  EXPECT_GT(worst(sparse), 1.3 * rms);
  EXPECT_LT(worst(sparse), 4 * error);
  // The estimate has the largest value meet the largest weight, which other data may do. Claims are
  // then five times what four replicas show, which is 0.97 root mean squares on average.
  Numbers weights(512, 1.0);
  weights[77] = 0.02;
  constexpr int kRepeated = 64;
  double mean = 0;
  for (int i = 0; i < kRepeated; ++i) {
    const Known square = sampled(sparse).times(sampled(sparse), true, 1e-9);
    const Known small = square.times_plain(weights, 512, 0x1p60, 0);
    mean += small.errors(512, false).worst / (0.02 * rms) / kRepeated;
  }
  EXPECT_NEAR(mean, 4.85, 0.9);
}

TEST(SessionKnown, WhatDoesNotFitIsTold) {
  const Known x = Known::fresh(Range::declared({-100, 100}, {}), kError);
  EXPECT_TRUE(x.misfits(3, 40, 0x1p30, 0).empty());
  const auto misfits = x.misfits(0, 30, 0x1p28, 50);
  ASSERT_EQ(misfits.size(), 2u);
  EXPECT_NE(misfits[0].had.find("slots without values"), std::string::npos);
  EXPECT_NE(misfits[1].had.find("values that may reach 100"), std::string::npos);
  EXPECT_EQ(x.misfits(0, 30, 0x1p28, 0).size(), 1u);
  EXPECT_GE(x.lost().error(), 100);
}

// Values 1 and -1 in turn, whose sums cancel; their deviation is 1.
Known in_turn(std::size_t count) {
  Numbers x(count);
  for (std::size_t i = 0; i < count; ++i) x[i] = i % 2 == 0 ? 1 : -1;
  return Known::fresh(x, true, kError);
}

Known constant(double value) { return Known::fresh(Numbers(512, value), true, kError); }

// The root mean square over 64 encryptions: the 12 other data of each show a deviation only
// roughly. That of 768 normal numbers deviates by 2.6 %, so a third is twelve deviations.
constexpr int kRepeated = 64;
template <class F>
double typical(F f) {
  double squares = 0;
  for (int i = 0; i < kRepeated; ++i) {
    const double x = f();
    squares += x * x / kRepeated;
  }
  return std::sqrt(squares);
}

TEST(SessionKnown, OtherDataHaveTheValuesOfTheSampleAndLargeOnesInTheSamePlaces) {
  Numbers values = random_values(512, 7);
  for (const std::size_t i : {3u, 99u, 260u}) values[i] *= 100.0;
  const Known x = sampled(values);
  const Sample& sample = *x.sample();
  ASSERT_EQ(sample.others, 12u);
  for (std::size_t k = 0; k < sample.others; ++k) {
    const NumbersView other = sample.row(sample.other(k));
    std::size_t same = 0;
    for (std::size_t i = 0; i < other.size(); ++i) {
      EXPECT_TRUE(std::ranges::find(values, other[i]) != values.end());
      EXPECT_EQ(std::abs(other[i]) > 10, std::abs(values[i]) > 10) << i;
      EXPECT_LT(std::abs(other[i]), 2.1 * std::abs(values[i]) + 2);
      same += other[i] == values[i];
    }
    EXPECT_LT(same, 128u);
  }
  EXPECT_EQ(x.reach(), x.range().bound);
  // Two encryptions of one sample stand for two arrays of its kind, each always for the same one.
  const Known y = sampled(values);
  EXPECT_GT(x.minus(y).reach(), 1);
  EXPECT_LT(x.minus(x).reach(), 1e-100);  // but the data are still complex
  // Constant data stay constant, and so do few values, nearly.
  const Known c = constant(0.5), few = Known::fresh(Numbers(8, 0.5), true, kError);
  EXPECT_EQ(c.minus(constant(0.5)).reach(), 0);
  EXPECT_LT(few.sample()->row(few.sample()->other(0))[3].real(), 0.5);
  EXPECT_GE(few.sample()->row(few.sample()->other(0))[3].real(), 0.45);
}

TEST(SessionKnown, LargeSamplesHaveFewerOtherDataAndTheLargestNone) {
  const auto others = [](const Known& x) { return x.sample()->others; };
  const Known large = in_turn(1 << 13), largest = in_turn(1 << 19);
  EXPECT_EQ(others(in_turn(1 << 12)), 12u);
  EXPECT_EQ(others(large), 4u);
  EXPECT_EQ(others(largest), 0u);
  std::vector<std::int64_t> index(1 << 13);
  std::iota(index.begin(), index.end(), 0);
  const std::vector<Known> several{in_turn(512), large};
  const std::vector<std::size_t> sizes{512, 1 << 13}, shape{1 << 19}, one{1};
  const Known joined = Known::joined(several, sizes, index);
  EXPECT_EQ(others(joined), 4u);
  EXPECT_EQ(others(joined.plus(in_turn(1 << 13))), 4u);
  EXPECT_GT(joined.summed(1, 1 << 13, 0, false).reach(), 10);
  index.assign(1 << 19, 0);
  EXPECT_EQ(others(large.taken(shape, index)), 0u);
  EXPECT_EQ(largest.summed(1, 1 << 19, 0, false).reach(), 0);
  EXPECT_GT(error_of_row(large, large.sample()->other(3) + 1), 0.9 * kError);
}

TEST(SessionKnown, SumsThatCancelInTheSampleReachBeyondIt) {
  const double root = std::sqrt(512);  // deviation of a sum
  const std::vector<std::size_t> shape{512}, axes{0};
  const auto all = [](NumbersView in) {
    return Numbers{std::accumulate(in.begin(), in.end(), Complex(0))};
  };
  const auto reach = [&](auto sum) { return typical([&] { return sum(in_turn(512)).reach(); }); };
  const auto expect_near = [](double have, double want) { EXPECT_NEAR(have / want, 1, 1.0 / 3); };
  expect_near(reach([&](const Known& x) { return x.summed(1, 512, 0, false); }), 6 * root);
  expect_near(reach([&](const Known& x) {
                return x.reduced(shape, axes, 512, {0, 3}, 0, 0, {});
              }),
              3 * 6 * root);
  expect_near(reach([&](const Known& x) { return x.mapped(all, 512, root, true, 0, 0); }),
              6 * root);
  // For 512 equal values, the largest of four data sets is known, and their deviation.
  expect_near(reach([&](const Known& x) { return x.spread(-0.5, 512, 0, 0, 512); }),
              0.5 * root * 4.36);
  const Known x = in_turn(512);
  EXPECT_EQ(x.plus(x.rotated(1, false, 0, 0, {})).reach(), 2);
  EXPECT_EQ(x.plus(x.rotated(1, false, 0, 0, {})).range().bound, 0);
  EXPECT_EQ(x.plus(x.rotated(2, false, 0, 0, {})).reach(), 2);
  EXPECT_EQ(constant(0.5).summed(1, 512, 0, false).reach(), 256);
  Known tree = x;
  for (const std::int64_t steps : {1, 2, 4, 8, 16, 32, 64, 128, 256}) {
    tree = tree.plus(tree.rotated(steps, false, 0, 0, {}));
  }
  EXPECT_GT(tree.reach(), 1);
  EXPECT_LE(tree.reach(), 512);
  EXPECT_LE(tree.range().bound, 1e-9);
}

TEST(SessionKnown, WhatCancelsInTheSampleIsAFactorOfErrorsAllTheSame) {
  // (x - y)^2 and (sum of x)^2, of which the sample has 0 and so no error.
  const double of_difference = typical([] {
    const Known d = in_turn(512).minus(in_turn(512));
    return d.times(d, true, 0).errors(512, false).mean;
  });
  // Half of the values differ by 2, and errors of real parts count.
  EXPECT_NEAR(of_difference / (2 * 1 * std::sqrt(2) * kError / std::sqrt(std::numbers::pi)), 1,
              0.2);
  const double of_sum = typical([] {
    const Known sum = in_turn(512).summed(1, 512, 0, false);
    return sum.times(sum, true, 0).errors(1, false).mean;
  });
  const double want = 2 * std::sqrt(512) * std::sqrt(512) * kError / std::sqrt(std::numbers::pi);
  EXPECT_GT(of_sum / want, 0.5);
  EXPECT_LT(of_sum / want, 4);
}

TEST(SessionKnown, MasksAreRoundedInOtherDataToo) {
  const double mean = typical([] {
    const Known sum = in_turn(512).spread(1, 512, 0, 0, 512);  // 0 in the sample
    const auto thousandth = [](NumbersView row) {
      Numbers out(row.begin(), row.end());
      for (Complex& z : out) z *= 1e-3;
      return out;
    };
    return sum.rotated(1, true, 0, 0, thousandth).errors(512, false).mean;
  });
  EXPECT_GT(mean / (1e-3 * std::sqrt(512)), 0.5);
  EXPECT_LT(mean / (1e-3 * std::sqrt(512)), 4);
}

// A number of a declared range leaves nothing of the sample but its range. The largest error is
// still that of the largest value.
TEST(SessionKnown, ErrorsOfFactorsAreLargestWhereFewValuesAre) {
  Numbers values(512);
  for (std::size_t i = 0; i < values.size(); i += 64) values[i] = 100;
  const Known x = Known::fresh(values, false, 0);
  const Range number = Range::declared({-1, 1}, {});
  constexpr double kOff = 1e-6;
  const double least = 100 * kOff, rms = least / 8;
  for (const Known& y :
       {x.times_scalar(number, kOff, 0), x.times_scalar(number, 0, 0).lowered(0, 1e6 + 0.5)}) {
    EXPECT_GT(y.errors(512, false).worst, 0.5 * least);
    EXPECT_LT(y.error(), 2 * rms);
  }
  const Known moved = x.times_scalar(number, 0, 0).rotated(1, true, 0, rms, {});
  EXPECT_GT(moved.errors(512, false).worst, least);
}

TEST(SessionKnown, ErrorsOfAllSlotsAddUpInSums) {
  const double size = 1e-3, exact = 512 * size;
  const Numbers ones(256, 1);
  for (const Known& x : {Known::fresh(ones, false, 0), Known::fresh(Range::unit_disc(), 0)}) {
    const Known moved = x.with_common_error(x, -size);
    EXPECT_NEAR(moved.error_seen(), size, 1e-9);
    EXPECT_EQ(moved.estimate().error.common_rest(), size);
    // There are as many slots without values as with values, and they hold the same error.
    EXPECT_NEAR(moved.summed(1, 256, 0, false, 256).error_seen(), exact, 1e-9);
    EXPECT_NEAR(moved.plus(moved).error_seen(), 2 * size, 1e-9);
    EXPECT_EQ(x.with_common_error(x, 0).error_seen(), 0);
  }
}

TEST(SessionKnown, WhatLiesBeyondASampleDoesNotGrowInALoop) {
  // Steps of a training: w <- w - the mean of a (a w - b), whose steps of the sample cancel. Bounds
  // by interval arithmetic grow with each step, by a factor of two at least.
  const auto real = [](Numbers values) {
    for (Complex& z : values) z = z.real();
    return Known::fresh(values, true, kError);
  };
  const Known a = real(random_values(512, 11)), b = real(random_values(512, 12));
  Known w = Known::fresh(Numbers(512, 0.0), true, kError);
  for (int i = 0; i < 40; ++i) {
    const Known off = a.times(w, false, 1e-9).minus(b);
    w = w.minus(a.times(off, false, 1e-9).spread(1.0 / 512, 512, 0, 0, 512));
  }
  EXPECT_LT(w.reach(), 1);
  EXPECT_LT(w.errors(512, false).mean, 10 * kError);
}

TEST(SessionKnown, WhoeverNamesADomainSaysWhereOtherDataLie) {
  const auto same = [](NumbersView in) { return Numbers(in.begin(), in.end()); };
  for (int draw = 0; draw < 32; ++draw) {  // sums of other data, some of which may be 0
    const Known drawn = in_turn(512).spread(1, 512, 0, 0, 512);
    EXPECT_GT(drawn.reach(), 1);
    EXPECT_LE(drawn.within_domain({-1, 1}).reach(), 1 + 1e-9);
    EXPECT_EQ(drawn.within_domain({-1e6, 1e6}).reach(), drawn.reach());
    const Known cut = drawn.within_domain({-0.5, 0.5});
    EXPECT_LE(cut.through(same, 1, 0, {-0.5, 0.5}).reach(), 0.5 + 1e-9);
  }
  const Known sum = in_turn(512).spread(1, 512, 0, 0, 512);
  EXPECT_EQ(sum.declared(Range::declared({-9, 9}, {})).reach(), 9);
  // No range is declared, so the bounds of these hold for every sum.
  EXPECT_EQ(Known::fresh(Range::declared({-1, 1}, {}), kError).summed(1, 512, 0, false).reach(),
            512);
  EXPECT_EQ(sum.detached(512, true).reach(), sum.reach());
  EXPECT_EQ(sum.detached(512, true).times_number(2, 0).reach(), 2 * sum.reach());
}

TEST(SessionKnown, WhatLiesBeyondASampleIsToldWhereItDoesNotFit) {
  const Known sum = in_turn(512).summed(1, 512, 0, false);
  const double fits = std::log2(sum.reach()) + 1;
  EXPECT_TRUE(sum.misfits(3, fits + 30.1, 0x1p30, 0).empty());
  const auto misfits = sum.misfits(3, fits + 29.9, 0x1p30, 0);
  ASSERT_EQ(misfits.size(), 1u);
  EXPECT_NE(misfits[0].had.find("may add up in other data"), std::string::npos);
  EXPECT_GE(sum.lost().error(), sum.reach());
  std::vector<Misfit> refused;
  const Refreshing how{.noise = kError, .sine_ratio = 0.01, .message_ratio = 0.01, .slots = 512};
  in_turn(512).bootstrapped(how, &refused);
  EXPECT_TRUE(refused.empty());
  in_turn(512).spread(1, 512, 0, 0, 512).bootstrapped(how, &refused);
  EXPECT_EQ(refused.size(), 1u);
}

// Errors of equal weights are one error, which multiplies the sum of the values.
TEST(SessionKnown, EqualWeightsAreRoundedAlike) {
  const auto total = [](NumbersView v) {
    return Numbers{std::accumulate(v.begin(), v.end(), Complex(0))};
  };
  Numbers weights(1024 * 1024);  // equal rows, so all diagonals are equal
  for (std::size_t i = 0; i < weights.size(); ++i) weights[i] = static_cast<double>(i % 1024 + 1);
  const Alike all = Alike::of_matrix(weights, 1024, 1024, 1024);
  const auto mapped = [&](const Known& x) {
    return x.mapped(total, 1024, 32, false, 0, 1e-3, all);
  };
  const Known flat = Known::fresh(Range::declared({-1, 1}, {-1, 1}), 0);
  EXPECT_NEAR(mapped(flat).error(), 32e-3 * std::numbers::sqrt2, 1e-9);
  double constant = 0, random = 0;
  for (int run = 0; run < 32; ++run) {  // of 16 normal numbers each
    constant += mapped(Known::fresh(Numbers(1024, 1), false, 0)).errors(1, false).mean / 32;
    random += mapped(Known::fresh(random_values(1024, run), false, 0)).errors(1, false).mean / 32;
  }
  EXPECT_NEAR(constant / (32e-3 * std::sqrt(std::numbers::pi) / 2), 1, 0.3);
  EXPECT_LT(random, constant / 8);
}

// Alternating values whose coefficients are 1 / sqrt(2), and others that add as much.
TEST(SessionKnown, CoefficientsOfValuesThatAreRefreshedAsOneAddUp) {
  Numbers ones(512, 1.0), turned(512, 1.0);
  for (std::size_t i = 1; i < 512; i += 2) ones[i] = turned[i] = -1;
  const auto real = [](const Numbers& x) { return Known::fresh(x, true, kError); };
  const Known x = real(ones), y = real(turned);
  Refreshing how{
      .noise = kError, .sine_ratio = 0.01, .message_ratio = 0.01, .arcsine = 1, .slots = 512};
  std::vector<Misfit> misfits;
  const Known alone = x.bootstrapped(how, &misfits);
  how.partner = &y;
  const Known merged = x.bootstrapped(how, &misfits);
  EXPECT_TRUE(misfits.empty());
  // Noisy rows lose the real part of what the sine takes of x + i y.
  Numbers both(ones);
  for (std::size_t i = 0; i < 512; ++i) both[i] += Complex(0, 1) * turned[i];
  const double gain = std::pow(2 * std::numbers::pi * how.sine_ratio, 2) / 6;
  const Numbers lost = sine_error(both, 512, gain, false);
  double off = 0;
  for (std::size_t i = 0; i < 512; ++i) {
    off = std::max(off, std::abs(merged.sample()->row(1)[i] - ones[i] - lost[i].real()));
  }
  EXPECT_LT(off, 10 * kError);
  EXPECT_GT(merged.error_seen(), 1.5 * alone.error_seen());
  // Each takes the errors of the other; where slots are refreshed by themselves, no more than that.
  how.slots_first = true;
  how.sine_ratio = 0;
  const Known noisy = real(turned).plus_error(1e-3);
  how.partner = &noisy;
  EXPECT_NEAR(x.bootstrapped(how, &misfits).error() / 1e-3, 1, 0.15);
}

TEST(SessionKnown, PartnersAreTheOtherOfTwoCiphertexts) {
  Numbers values(20);
  for (std::size_t i = 0; i < 20; ++i) values[i] = static_cast<double>(i + 1);
  const Known partners = Known::fresh(values, true, 0).partners(8);
  for (std::size_t i = 0; i < 20; ++i) {
    const double want = i < 8    ? static_cast<double>(i + 9)
                        : i < 16 ? -static_cast<double>(i - 7)
                                 : 0;  // the third ciphertext has no partner
    EXPECT_EQ(exact(partners)[i], Complex(want)) << i;
  }
}

TEST(SessionKnown, SamplesOfComplexValuesThatAreRealStayComplex) {
  const Numbers real(64, 0.5);
  EXPECT_TRUE(Known::fresh(real, true, kError).range().is_real());
  const Known complex = Known::fresh(real, false, kError);
  EXPECT_FALSE(complex.range().is_real());
  EXPECT_FALSE(complex.times(complex, true, 0).range().is_real());
  EXPECT_TRUE(complex.as_real().range().is_real());
}

// The same operation on the same operands gives the same ciphertext, and so the same error.
TEST(SessionKnown, ComputingAgainAddsTheSameError) {
  using Operation = std::function<Known(const Known&, double)>;  // of an array and a parameter
  const Numbers plain = random_values(512, 5);
  const std::vector<std::size_t> shape{512}, rows{2, 256}, axes{0};
  std::vector<std::int64_t> backwards(512), twice(512);
  std::iota(backwards.rbegin(), backwards.rend(), 0);
  for (std::size_t i = 0; i < 512; ++i) twice[i] = static_cast<std::int64_t>(i / 2);
  const Known partner = Known::fresh(random_values(512, 6), false, 1e-12);
  const std::vector<Operation> operations = {
      [&](const Known& x, double p) {
        return x.rotated(static_cast<int>(p), false, kError, 0, {});
      },
      [&](const Known& x, double p) { return x.times(x, true, p * kError); },
      [&](const Known& x, double p) { return x.times_plain(plain, 512, 0x1p40, p * kError); },
      [&](const Known& x, double p) {
        const Numbers other(512, p);
        return x.times_plain(other, 512, 0x1p40, kError);
      },
      [&](const Known& x, double p) { return x.times_number(p, kError); },
      [&](const Known& x, double p) { return x.times_number(1, kError, p); },
      [&](const Known& x, double p) { return x.lowered(p * kError, 0.5); },
      [&](const Known& x, double p) { return x.conjugated(p * kError); },
      [&](const Known& x, double p) { return x.repeated(512, 1).conjugated(p * kError); },
      [&](const Known& x, double p) { return x.summed(256, 2, p * kError, false); },
      [&](const Known& x, double p) { return x.reduced(rows, axes, 2, p, kError, 0, {}); },
      [&](const Known& x, double p) { return x.spread(p, 4, kError, 0, 512); },
      [&](const Known& x, double p) { return x.placed(static_cast<unsigned>(p), kError, 0); },
      [&](const Known& x, double p) {
        return x.copied(static_cast<unsigned>(p), twice, kError, 0, 0, 0);
      },
      [&](const Known& x, double p) {
        const std::vector<Complex> coefficients{0, p, 1};
        return x.polynomial({coefficients}, Evaluation({coefficients}, kError));
      },
      [&](const Known& x, double p) {
        return x.refreshed(kError, 0, false, 512, nullptr, {p, 1});
      },
      [&](const Known& x, double p) { return x.refreshed(p * kError, 0, false, 512, &partner); },
      [&](const Known& x, double p) {
        return x.taken(shape, backwards).rotated(static_cast<int>(p), false, kError, 0, {});
      },
      [&](const Known& x, double p) {
        return x.part(static_cast<unsigned>(p), 256, 512).rotated(1, false, kError, 0, {});
      },
      [&](const Known& x, double p) {
        return x.plus_number(p, 0x1p60).rotated(1, false, kError, 0, {});
      },
      [&](const Known& x, double p) {
        return x.plus(partner.times_number(p, 0)).rotated(1, false, kError, 0, {});
      },
      [&](const Known& x, double p) {
        return x.minus(partner.times_number(p, 0)).rotated(1, false, kError, 0, {});
      },
      [&](const Known& x, double p) {
        return x.partners(256).rotated(1, false, p * kError, 0, {});
      },
      // Restated claims are those of the same ciphertext.
      [&](const Known& x, double p) {
        return x.declared(Range::declared({-p, p}, {-p, p})).rotated(1, false, kError * p, 0, {});
      },
      [&](const Known& x, double p) { return x.as_real().rotated(1, false, kError * p, 0, {}); },
  };
  Numbers real = random_values(512, 4);
  for (Complex& z : real) z = z.real();
  const Known exact_sample = Known::fresh(real, true, 1e-12);
  const Known bounds = Known::fresh(Range::unit_disc(), 1e-12);
  for (std::size_t i = 0; i < operations.size(); ++i) {
    SCOPED_TRACE(i);
    for (const Known& x : {exact_sample, bounds}) {
      const Known once = operations[i](x, 1);
      const Known again = operations[i](x, 1), other = operations[i](x, 2);
      EXPECT_NEAR(once.plus(again).error() / once.error(), 2, 1e-3);
      const double independent = std::hypot(once.error(), other.error());
      EXPECT_NEAR(once.plus(other).error() / independent, 1, 0.2);
    }
  }
  // Both factors of this square have the same error.
  const Known sum = bounds.summed(1, 512, kError, false);
  const Known product = bounds.summed(1, 512, kError, false).times(sum, false, 0);
  EXPECT_NEAR(product.error() / sum.error() / sum.range().rms, 2, 0.01);
  // Numbers that a caller adds are not known to be the same.
  const Known added = bounds.plus_error(kError).plus(bounds.plus_error(kError));
  EXPECT_NEAR(added.error() / kError, std::numbers::sqrt2, 1e-3);
  const RowMap same = [](NumbersView v) { return Numbers(v.begin(), v.end()); };
  const auto mapped = [&](const Known& x) { return x.mapped(same, 1, 1, false, kError, 0); };
  EXPECT_NEAR(mapped(bounds).plus(mapped(bounds)).error() / kError, std::numbers::sqrt2, 1e-3);
}

TEST(SessionKnown, ThreadsAddIndependentNoise) {
  const Numbers zeros(4096);
  Known here = sampled(zeros), there;
  std::thread([&] { there = sampled(zeros); }).join();
  expect_error(here.minus(there), kError * std::sqrt(2.0));
}

}  // namespace
}  // namespace latticino::session
