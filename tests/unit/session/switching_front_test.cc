// Tables on arrays, through the public headers.
#include "latticino/switching.h"

#include <set>

#include "unit/session/public_world.h"

namespace latticino {
namespace {

TEST(SwitchingFront, AppliesTablesAndCompares) {
  PublicWorld world("test-n10-boot-insecure");
  if (switching_sets(world.context).empty()) GTEST_SKIP() << "no set of switching";
  const std::vector<double> a = numbers(16, 1), b = numbers(16, 2);
  const auto program = [](const Array& x, const Array& y) {
    return std::vector<Array>{apply_lut(x, [](double v) { return v * v - 0.25; }), maximum(x, y)};
  };
  const Array x = world.client.encrypt(a), y = world.client.encrypt(b);
  const Plan planned = plan(world.context, program, x, y);
  EXPECT_GE(planned.lookups(), 32u);
  const ServerKeys keys = world.client.server_keys(planned);
  EXPECT_EQ(keys.switching().size(), 1u);
  EXPECT_TRUE(planned.missing(keys).empty());
  EXPECT_THROW(program(x, y), KeyError);
  world.context.use(keys);
  const std::vector<Array> results = program(x, y);
  const std::vector<double> squares = world.client.decrypt_real(results[0]);
  const std::vector<double> larger = world.client.decrypt_real(results[1]);
  for (std::size_t i = 0; i < a.size(); ++i) {
    EXPECT_NEAR(squares[i], a[i] * a[i] - 0.25, 0.1);
    if (std::abs(a[i] - b[i]) <= 0.1) continue;
    EXPECT_NEAR(larger[i], std::max(a[i], b[i]), 0.1);
  }
  const TableReport report = table_report(
      world.context, [](double v) { return v; }, {}, 16);
  EXPECT_GT(report.mean, 0);
  EXPECT_LT(report.mean, 0.1);
}

// A sample went through a table that had one value for all arguments, and -1 had no place in it.
TEST(SwitchingFront, SamplesGoThroughTheTableThatValuesGoThrough) {
  PublicWorld world("test-n10-boot-insecure");
  std::vector<double> a = numbers(256);
  for (double& v : a) v /= 2;
  a[0] = -1;
  const auto program = [](const Array& x) { return apply_lut(x, [](double v) { return v; }); };
  EncryptOptions options;
  options.like = a;
  const Array x = world.client.encrypt(a, options);
  world.context.use(world.client.server_keys(plan(world.context, program, x)));
  const Array y = program(x);
  const std::vector<double> found = world.client.decrypt_real(y);
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += std::abs(found[i] - a[i]);
  EXPECT_EQ(y.bits().claim, Claim::Calibrated);
  EXPECT_NEAR(y.bits().mean, -std::log2(sum / static_cast<double>(a.size())), 0.5);
  EXPECT_NEAR(y.range().low, -1, 0.01);
  EXPECT_NEAR(y.range().high, 0.5, 0.01);
}

// Tables of comparisons were named by six decimals of their bound, so small bounds shared one
// table.
TEST(SwitchingFront, TablesOfSmallBoundsAreNotMixedUp) {
  PublicWorld world("test-n10-boot-insecure");
  const std::vector<double> a = {-2.4e-6, -1.4e-6, 1.4e-6, 2.4e-6};
  LookupOptions narrow, wide;
  narrow.bound = 0.6e-6;
  wide.bound = 1.4e-6;
  const auto program = [&](const Array& x) {
    return std::vector<Array>{compare(x * 0.25, 0.0, narrow), compare(x, 0.0, wide)};
  };
  EncryptOptions options;
  options.range = Range{-2.4e-6, 2.4e-6};
  const Array x = world.client.encrypt(a, options);
  world.context.use(world.client.server_keys(plan(world.context, program, x)));
  for (const Array& y : program(x)) {
    const std::vector<double> have = world.client.decrypt_real(y);
    for (std::size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(have[i], a[i] > 0, 0.1) << i;
  }
}

// A function that changes gave its later values to the table that was named by its first ones.
TEST(SwitchingFront, TablesHaveTheValuesThatNameThem) {
  PublicWorld world("test-n10-boot-insecure");
  const std::vector<double> a = numbers(16);
  const auto identity = [](double v) { return v; };
  const auto program = [&](const Array& x) { return apply_lut(x, identity); };
  const Array x = world.client.encrypt(a);
  world.context.use(world.client.server_keys(plan(world.context, program, x)));
  std::set<double> seen;
  const Array first =
      apply_lut(x, [&](double v) { return std::abs(v) == 1 || seen.insert(v).second ? v : -v; });
  for (const Array& y : {first, program(x)}) {
    const std::vector<double> have = world.client.decrypt_real(y);
    for (std::size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(have[i], a[i], 0.1) << i;
  }
}

TEST(SwitchingFront, FindsTheLargestValue) {
  PublicWorld world("test-n10-boot-insecure", true);
  const std::vector<double> a = {0.1, -0.4, 0.9, 0.3, -0.8};  // does not fill its slots
  const auto program = [](const Array& x) {
    const Largest found = largest(x);
    return std::pair(found.value, found.place);
  };
  const Array x = world.client.encrypt(a);
  world.context.use(world.client.server_keys(plan(world.context, program, x)));
  const auto [value, place] = program(x);
  EXPECT_EQ(value.shape(), Shape{});
  EXPECT_NEAR(world.client.decrypt_real(value)[0], 0.9, 0.1);
  EXPECT_NEAR(world.client.decrypt_real(place)[0], 2, 0.3);
}

TEST(SwitchingFront, ChosenValuesStayWithinTheBound) {
  PublicWorld world("test-n10-boot-insecure", true);
  EncryptOptions options;
  options.range = Range{-1, 1};
  const Array x = world.client.encrypt(numbers(8), options);
  // A sum of ranges would exceed the bound from the second round on, which a plan refuses.
  const auto program = [](const Array& y) {
    const Largest found = largest(y);
    return std::pair(found.value, found.place);
  };
  EXPECT_EQ(plan(world.context, program, x).lookups(), 3u * 8);
}

// At levels 0 to 2 an arcsine would leave fewer levels than a table takes.
TEST(SwitchingFront, RefreshesFirstWhereLevelsAreLacking) {
  PublicWorld world("test-n10-boot-insecure", true);
  const std::vector<double> a = numbers(16);
  const auto program = [](const Array& x) { return apply_lut(x, [](double v) { return v * v; }); };
  for (const int level : {0, 2}) {
    EncryptOptions options;
    options.level = level;
    const Array x = world.client.encrypt(a, options);
    const Plan planned = plan(world.context, program, x);
    EXPECT_EQ(planned.bootstraps(), 1u);
    world.context.use(world.client.server_keys(planned));
    const std::vector<double> have = world.client.decrypt_real(program(x));
    for (std::size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(have[i], a[i] * a[i], 0.1);
  }
}

TEST(SwitchingFront, WhatLiesBehindTheValuesIsClearedAsTheErrorSays) {
  PublicWorld world("test-n10-boot-insecure", true);
  const std::vector<double> a = {-0.5, -0.25, -0.75, -0.125, -0.625};
  const auto remedied = [](const Array& x) {
    return largest((x - 0.25) * Values(std::vector<double>(5, 1.0))).value;
  };
  const Array x = world.client.encrypt(a);
  try {
    largest(x - 0.25);
    ADD_FAILURE() << "other numbers lie behind the values";
  } catch (const ShapeError& e) {
    EXPECT_NE(std::string(e.what()).find("multiply by ones"), std::string::npos) << e.what();
  }
  world.context.use(world.client.server_keys(plan(world.context, remedied, x)));
  EXPECT_NEAR(world.client.decrypt_real(remedied(x))[0], -0.375, 0.1);
}

TEST(SwitchingFront, RefusesWhatDoesNotFit) {
  PublicWorld& leveled = PublicWorld::of("test-n10-leveled-insecure");
  const Array x = leveled.client.encrypt(numbers(4));
  const auto f = [](double v) { return v; };
  EXPECT_THROW(apply_lut(x, f), ParameterError);
  LookupOptions options;
  options.bound = 0;
  EXPECT_THROW(apply_lut(x, f, options), ValueError);
}

// Before, tables of C++ took what those of Python refuse: complex values lost their imaginary
// parts, and messages asked for clean data where the function or the bound was wrong.
TEST(SwitchingFront, RefusesWhatPythonRefuses) {
  PublicWorld& world = PublicWorld::of("test-n10-boot-insecure");
  if (switching_sets(world.context).empty()) GTEST_SKIP() << "no set of switching";
  const auto f = [](double v) { return v; };
  const Array x = world.client.encrypt(numbers(4));
  const std::vector<Complex> complex = {{0.5, 0.5}, {-0.25, 0.125}};
  const Array z = world.client.encrypt(complex, {.range = Range{-1, 1, -1, 1}});
  EXPECT_THROW(apply_lut(z, f), UnsupportedError);
  EXPECT_THROW(compare(z, 0.0), UnsupportedError);
  EXPECT_THROW(largest(z), UnsupportedError);
  for (const double bound : {-1.0, 0.0, 1e-20, 1e20, std::nan("")}) {
    EXPECT_THROW(apply_lut(x, f, {.bound = bound}), ValueError) << bound;
    EXPECT_THROW(compare(x, 0.5, {.bound = bound}), ValueError) << bound;
    EXPECT_THROW(table_report(world.context, f, {.bound = bound}), ValueError) << bound;
  }
  EXPECT_THROW(apply_lut(x, {}), ValueError);
  EXPECT_THROW(table_report(world.context, {}), ValueError);
  const auto refused = [&](const std::function<double(double)>& g, const std::string& remedy) {
    try {
      apply_lut(x, g);
      ADD_FAILURE() << remedy;
    } catch (const ValueError& e) {
      EXPECT_NE(std::string(e.what()).find(remedy), std::string::npos) << e.what();
    }
  };
  refused([](double) { return std::nan(""); }, "define f there");
  refused([](double v) { return v * 1e30; }, "divide f by a number");
}

// Before, a number beyond the bound gave wrong results without a warning, and a precision was
// claimed of them. So it was for declared values beyond it.
TEST(SwitchingFront, ClaimsNothingOfValuesBeyondTheBound) {
  PublicWorld world("test-n10-boot-insecure");
  if (switching_sets(world.context).empty()) GTEST_SKIP() << "no set of switching";
  const Array x = world.client.encrypt(numbers(4));
  const Array wide = world.client.encrypt(numbers(4), {.range = Range{-8, 8}});
  const auto above = [](double y) { return [y](const Array& a) { return compare(a, y); }; };
  const auto table = [](const Array& a) { return apply_lut(a, [](double v) { return v; }); };
  EXPECT_THROW(plan(world.context, above(3), Input({4})), ScaleError);
  EXPECT_THROW(plan(world.context, above(-100), Input({4})), ScaleError);
  world.context.use(
      world.client.server_keys(plan(world.context, above(0.5), x) | plan(world.context, table, x)));
  world.warnings.clear();
  EXPECT_GT(compare(x, 1.0).bits().worst, 5);
  EXPECT_GT(table(x).bits().worst, 2);
  EXPECT_TRUE(world.warnings.empty());
  for (const Array& y : {compare(x, 3.0), compare(wide, 0.5), table(wide)}) {
    EXPECT_LE(y.bits().worst, 0) << y;
  }
  ASSERT_EQ(world.warnings.size(), 3u);
  EXPECT_EQ(world.warnings[0].kind, Warning::Kind::Range);
}

}  // namespace
}  // namespace latticino
