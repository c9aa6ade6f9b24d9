// Arrays of the public headers: values, levels, claims and errors of every operation.
#include <climits>
#include <sstream>

#include "unit/session/public_world.h"

namespace latticino {
namespace {

constexpr const char* kLeveled = "test-n10-leveled-insecure";
constexpr const char* kBoot = "test-n10-boot-insecure";

template <class F>
std::vector<Complex> each(const std::vector<double>& x, F f) {
  std::vector<Complex> out;
  for (std::size_t i = 0; i < x.size(); ++i) out.push_back(f(i));
  return out;
}

// One ciphertext that is full, one that is not, several.
class Arrays : public testing::TestWithParam<std::size_t> {
 protected:
  PublicWorld& world = PublicWorld::of(kLeveled);
  std::vector<double> a = numbers(GetParam(), 1), b = numbers(GetParam(), 2);
  template <class Program, class F>
  void check(Program program, F want, double most = 1e-5) {
    std::vector<Values> x{a, b};
    if constexpr (std::is_invocable_v<Program, const Array&>) x.pop_back();
    EXPECT_LT(run_planned(world, program, x, each(a, want)), most);
  }
};

TEST_P(Arrays, AddSubtractAndMultiply) {
  using X = const Array&;
  check([](X x, X y) { return x + y; }, [&](auto i) { return a[i] + b[i]; });
  check([](X x, X y) { return x - y; }, [&](auto i) { return a[i] - b[i]; });
  check([](X x, X y) { return x * y; }, [&](auto i) { return a[i] * b[i]; });
  check([](X x) { return x * x; }, [&](auto i) { return a[i] * a[i]; });
  check([](X x) { return -x; }, [&](auto i) { return -a[i]; });
  check([](X x, X y) { return (x * y) * x + y; },
        [&](auto i) { return a[i] * b[i] * a[i] + b[i]; });
}

TEST_P(Arrays, TakeNumbersAndPlainValues) {
  using X = const Array&;
  check([](X x) { return 2 * x + 1; }, [&](auto i) { return 2 * a[i] + 1; });
  check([](X x) { return 1.5f - x * 0.25; }, [&](auto i) { return 1.5 - a[i] * 0.25; });
  check([](X x) { return x * Complex(0, 1) - Complex(0.5, 2); },
        [&](auto i) { return a[i] * Complex(0, 1) - Complex(0.5, 2); });
  check([&](X x) { return x * b + b; }, [&](auto i) { return a[i] * b[i] + b[i]; });
  check([&](X x) { return b - x; }, [&](auto i) { return b[i] - a[i]; });
  check([&](X x) { return x / 4; }, [&](auto i) { return a[i] / 4; });
  check([](X x) { return x.pow(5); }, [&](auto i) { return std::pow(a[i], 5); });
}

TEST_P(Arrays, RotateConjugateAndSum) {
  using X = const Array&;
  const std::size_t n = a.size();
  for (const std::int64_t k : {1, -1, 3, static_cast<int>(n) + 2}) {
    check([k](X x) { return x.rotate(k); },
          [&](std::size_t i) {
            return a[(i + n + static_cast<std::size_t>(k + static_cast<std::int64_t>(n))) % n];
          });
  }
  check([](X x) { return (x * Complex(1, 1)).conj(); },
        [&](auto i) { return a[i] * Complex(1, -1); });
  double sum = 0, dot = 0;
  for (std::size_t i = 0; i < n; ++i) {
    sum += a[i];
    dot += a[i] * b[i];
  }
  EXPECT_LT(run_planned(world, [](X x) { return x.sum(); }, {a}, {sum}), 1e-4);
  // Content of slots without values must not matter.
  EXPECT_LT(run_planned(world, [](X x) { return (x + 1).sum(); }, {a}, {sum + double(n)}), 1e-3);
  EXPECT_LT(run_planned(world, [](X x, X y) { return matmul(x, y); }, {a, b}, {dot}), 1e-4);
}

TEST_P(Arrays, EvaluatePolynomials) {
  const auto p = [](double x) { return 0.25 + x * (0.5 + x * (-1 + x * 0.75)); };
  check(
      [](const Array& x) {
        return x.polynomial(std::vector<double>{0.25, 0.5, -1, 0.75});
      },
      [&](auto i) { return p(a[i]); });
  // T_2(y) = 2 y^2 - 1 with y = x / 2.
  check(
      [](const Array& x) {
        return x.polynomial(std::vector<double>{0, 0, 1}, {true, -2, 2});
      },
      [&](auto i) { return a[i] * a[i] / 2 - 1; });
  check([](const Array& x) { return x.polynomial(std::vector<double>{0.5}); },
        [&](auto) { return 0.5; });
}

// Powers of the content of slots without values may be much larger than those of the values.
TEST_P(Arrays, ComputeWithWhatLiesBehindTheValues) {
  const std::vector<double> c{0.1, 0.2, -0.3, 0.4, 0.5, -0.6, 0.7};
  std::vector<double> moved;
  for (const double v : a) moved.push_back(v + 7);
  EncryptOptions far;
  far.range = Range{.low = 6, .high = 8};
  const auto same = [&](auto program, auto f) {
    run_planned(world, program, {moved}, each(a, f), far);
  };
  const auto p = [&](double v) {
    double sum = 0;
    for (std::size_t k = c.size(); k-- > 0;) sum = sum * v + c[k];
    return sum;
  };
  same(
      [&](const Array& x) {
        const Array y = x.polynomial(c, {false, 6, 8});
        return y * y;
      },
      [&](auto i) { return p(a[i]) * p(a[i]); });
  const auto moved_behind = [&](const Array& x) {
    const auto all = [&](double v) { return Values(std::vector<double>(a.size(), v)); };
    return (x - all(7)) + 3000 - all(3000);
  };
  same([&](const Array& x) { return moved_behind(x).pow(4); },
       [&](auto i) { return std::pow(a[i], 4); });
  same([&](const Array& x) { return moved_behind(x).polynomial(c); },
       [&](auto i) { return p(a[i]); });
  // Numbers there are known, or cleared by a mask, so that sums are those of the values.
  double sum = 0;
  for (const double v : a) sum += p(v);
  EXPECT_LT(run_planned(
                world,
                [&](const Array& x) {
                  return x.polynomial(c, {false, 6, 8}).sum();
                },
                {moved}, {sum}, far),
            1e-3);
}

INSTANTIATE_TEST_SUITE_P(Sizes, Arrays, testing::Values(512, 300, 8, 5, 1, 1200));

TEST(Array, MultipliesByMatrices) {
  PublicWorld& world = PublicWorld::of(kLeveled);
  for (const auto& [n, m] :
       {std::pair<std::size_t, std::size_t>{8, 8}, {12, 5}, {5, 12}, {700, 3}}) {
    const std::vector<double> x = numbers(n), w = numbers(n * m, 7);
    std::vector<Complex> right(m), left(m);
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < m; ++j) {
        right[j] += x[i] * w[i * m + j];
        left[j] += w[j * n + i] * x[i];
      }
    }
    const Values matrix(w, {n, m}), transposed(w, {m, n});
    run_planned(
        world, [&](const Array& v) { return matmul(v, matrix); }, {x}, right);
    run_planned(
        world, [&](const Array& v) { return matmul(transposed, v); }, {x}, left);
  }
  const Array x = world.client.encrypt(numbers(4));
  EXPECT_THROW(matmul(x, Values(numbers(15), {5, 3})), ShapeError);
  EXPECT_THROW(matmul(x, Values(numbers(12), {3, 4})), ShapeError);
}

TEST(Array, SumsRowsOfTwoDimensions) {
  PublicWorld& world = PublicWorld::of(kLeveled);
  const std::vector<double> a = numbers(8 * 16);
  std::vector<Complex> rows(16), spread;
  for (std::size_t i = 0; i < a.size(); ++i) rows[i % 16] += a[i];
  for (std::size_t i = 0; i < 8; ++i) {
    double sum = 0;
    for (std::size_t j = 0; j < 16; ++j) sum += a[i * 16 + j];
    spread.insert(spread.end(), 16, sum / 16);
  }
  const Values x(a, {8, 16});
  run_planned(
      world, [](const Array& v) { return v.sum_rows(); }, {x}, rows);
  run_planned(
      world, [](const Array& v) { return v.spread_sum(1 / 16.0); }, {x}, spread);
  // A vector of 16 repeats over the rows.
  std::vector<Complex> scaled;
  const std::vector<double> b = numbers(16, 5);
  for (std::size_t i = 0; i < a.size(); ++i) scaled.push_back(a[i] * b[i % 16]);
  run_planned(
      world, [](const Array& v, const Array& w) { return v * w; }, {x, b}, scaled);
}

TEST(Array, AddsProductsWithOneKeySwitch) {
  PublicWorld& world = PublicWorld::of(kLeveled);
  const std::vector<double> a = numbers(20, 1), b = numbers(20, 2);
  const auto program = [](const Array& x, const Array& y) {
    const Array left[] = {x, y}, right[] = {y, y};
    return dot(left, right);
  };
  run_planned(world, program, {a, b}, each(a, [&](auto i) { return a[i] * b[i] + b[i] * b[i]; }));
}

TEST(Array, Bootstraps) {
  PublicWorld& world = PublicWorld::of(kBoot);
  const std::vector<double> a = numbers(512, 1), b = numbers(512, 2);
  const auto identity = each(a, [&](auto i) { return a[i]; });
  const auto refreshed = [](const Array& x) { return x.to_level(1).bootstrap(); };
  EXPECT_LT(run_planned(world, refreshed, {a}, identity), 0.02);
  const std::uint64_t before = world.context.bootstraps();
  const auto together = [](const Array& x, const Array& y) {
    const auto [u, v] = x.to_level(1).bootstrap_with(y.to_level(1));
    return u - v;
  };
  EXPECT_LT(run_planned(world, together, {a, b}, each(a, [&](auto i) { return a[i] - b[i]; })),
            0.02);
  EXPECT_EQ(world.context.bootstraps(), before + 1);
  EXPECT_THROW(PublicWorld::of(kLeveled).client.encrypt(a).bootstrap(), ParameterError);
}

// Before, neither compiled.
TEST(Array, TakesNumbersInBracesWithAShapeAndNumbersOfAnyType) {
  PublicWorld& world = PublicWorld::of(kLeveled);
  const Values v({1, 2.5, 3, 4}, {2, 2});
  EXPECT_EQ(v.shape(), (Shape{2, 2}));
  EXPECT_TRUE(v.is_real());
  EXPECT_THROW(Values({1, 2}, {3}), ShapeError);
  const Array x = world.client.encrypt({0.5, 0.25});
  EXPECT_NEAR(world.client.decrypt_real(x * true)[0], 0.5, 1e-6);
  EXPECT_NEAR(world.client.decrypt_real('\2' * x)[1], 0.5, 1e-6);
  EXPECT_EQ((x * true).level(), x.level());
}

// Before, imaginary parts became errors of the other array, of which nothing was said.
TEST(Array, BootstrapsTwoArraysOfRealValuesOnlyAsOne) {
  PublicWorld& world = PublicWorld::of(kBoot);
  const auto together = [](const Array& x, const Array& y) { return x.bootstrap_with(y); };
  const Input assumed({8}), stated({8}, -1, Range{-1, 1}), box({8}, -1, Range{-1, 1, -1, 1});
  EXPECT_THROW(plan(world.context, together, stated, box), UnsupportedError);
  EXPECT_THROW(plan(world.context, together, box, stated), UnsupportedError);
  const Plan planned = plan(world.context, together, stated, assumed);  // which may be real
  world.context.use(world.client.server_keys(planned));
  const Array x = world.client.encrypt(numbers(8));
  const Array z = world.client.encrypt(std::vector<Complex>(8, {0.5, 0.5}));
  EXPECT_NO_THROW(x.bootstrap_with(x));
  EXPECT_THROW(x.bootstrap_with(z), UnsupportedError);
  EXPECT_THROW(z.bootstrap_with(x), UnsupportedError);
  const auto declared = [](const Array& x, const Array& y) {
    return x.declare({-1, 1}).bootstrap_with(y.declare({-1, 1}));
  };
  EXPECT_EQ(plan(world.context, declared, assumed, box).bootstraps(), 1u);
}

// Before, negative numbers were taken for options that were not given, if a form had been chosen
// without them.
TEST(Array, RefusesOptionsOfBootstrappingThatDoNotExist) {
  PublicWorld& world = PublicWorld::of(kBoot);
  EXPECT_NO_THROW(world.context.bootstrap_form(0, {}));
  for (const int wrong : {-1, -3, 8, INT_MIN, INT_MAX}) {
    EXPECT_THROW(world.context.bootstrap_form(0, {.arcsine = wrong}), ValueError) << wrong;
  }
  for (const int wrong : {-1, 65, INT_MIN, INT_MAX}) {
    EXPECT_THROW(world.context.bootstrap_form(0, {.log_message_ratio = wrong}), ValueError);
    const auto program = [&](const Array& x) { return x.bootstrap({.log_message_ratio = wrong}); };
    EXPECT_THROW(plan(world.context, program, Input({8})), ValueError) << wrong;
  }
}

TEST(Array, SeveralCiphertextsOfRealValuesAreRefreshedTwoAsOne) {
  PublicWorld& world = PublicWorld::of(kBoot);
  const std::vector<double> a = numbers(3 * 512, 1);
  const auto count = [&](const BootstrapOptions& options, std::uint64_t expected) {
    const auto program = [&](const Array& x) { return x.to_level(1).bootstrap(options); };
    const Input real({3 * 512}, -1, Range{-1, 1});
    EXPECT_EQ(plan(world.context, program, real).bootstraps(), expected);
    EXPECT_LT(run_planned(world, program, {a}, each(a, [&](auto i) { return a[i]; })), 0.02);
  };
  count({}, 2);
  count({.real = false}, 3);
  count({.real = true}, 3);
  count({.merged = true}, 2);
  const auto alone = [](const Array& x) { return x.to_level(1).bootstrap({.merged = true}); };
  EXPECT_THROW(plan(world.context, alone, Input({512}, -1, Range{-1, 1})), UnsupportedError);
  EXPECT_THROW(plan(world.context, alone, Input({1024})), UnsupportedError);  // may be complex
}

TEST(Array, BootstrapsOnItsOwnWhereAsked) {
  PublicWorld world(kBoot, true);
  const std::vector<double> a = numbers(512);
  const auto program = [](const Array& x) {
    Array y = x.to_level(1);
    for (int i = 0; i < 3; ++i) y = y * x;
    return y;
  };
  const Plan planned = plan(world.context, program, Input({512}));
  EXPECT_GE(planned.bootstraps(), 1u);
  EXPECT_LT(run_planned(world, program, {a}, each(a, [&](auto i) { return std::pow(a[i], 4); })),
            0.05);
}

TEST(Array, ClaimsRestOnWhatIsStated) {
  PublicWorld& world = PublicWorld::of(kLeveled);
  const std::vector<double> a = numbers(256);
  const Array assumed = world.client.encrypt(a);
  EXPECT_EQ(assumed.bits().claim, Claim::Assumed);
  EXPECT_EQ(assumed.range().low, -1);
  EncryptOptions options;
  options.range = Range{-2, 2};
  EXPECT_EQ(world.client.encrypt(a, options).bits().claim, Claim::Declared);
  EXPECT_EQ((world.client.encrypt(a, options) + assumed).range().high, 3);
  options.range = Range{0, 0.5};
  EXPECT_THROW(world.client.encrypt(a, options), ValueError);
  options.like = numbers(256, 9);
  EXPECT_THROW(world.client.encrypt(a, options), UnsupportedError);
  options.range.reset();
  const Array calibrated = world.client.encrypt(a, options);
  EXPECT_EQ(calibrated.bits().claim, Claim::Calibrated);
  world.warnings.clear();
  world.client.encrypt({3.0, 4.0});
  ASSERT_EQ(world.warnings.size(), 1u);
  EXPECT_EQ(world.warnings[0].kind, Warning::Kind::Range);
}

// Before, such values went beyond the modulus without a warning.
TEST(Array, ValuesMuchLargerThanTheirSampleAreToldOf) {
  PublicWorld& world = PublicWorld::of(kLeveled);
  world.warnings.clear();
  EncryptOptions options;
  options.like = numbers(256);
  std::vector<double> values = numbers(256);
  for (double& v : values) v *= 2;
  world.client.encrypt(values, options);
  EXPECT_TRUE(world.warnings.empty());
  for (double& v : values) v *= 4;
  world.client.encrypt(values, options);
  ASSERT_EQ(world.warnings.size(), 1);
  EXPECT_EQ(world.warnings[0].kind, Warning::Kind::Range);
  world.warnings.clear();
}

// Errors beyond the range of doubles were printed as "exact".
TEST(Array, NothingIsClaimedOfErrorsThatNoDoubleHolds) {
  PublicWorld& world = PublicWorld::of(kLeveled);
  Array x = world.client.encrypt(numbers(256));
  for (int i = 0; i < 3; ++i) x = x * 0x1p100;
  for (int i = 0; i < 250; ++i) x = x + x;  // an error of 2^550, whose square is infinite
  for (const Array& y : {x, x - x}) {
    EXPECT_EQ(y.bits().mean, -HUGE_VAL);
    EXPECT_EQ(y.bits().worst, -HUGE_VAL);
    std::ostringstream text;
    text << y;
    EXPECT_NE(text.str().find("no bits"), std::string::npos) << text.str();
  }
}

// Claims of calibrated arrays are those that samples show. Those for other data of the same kind
// hold.
TEST(Array, CalibratedClaimsHoldForEveryOperation) {
  PublicWorld& world = PublicWorld::of(kLeveled);
  EncryptOptions options;
  options.like = Values(numbers(300, 77));
  const std::vector<double> a = numbers(300, 1), b = numbers(300, 2);
  const auto want = [&](auto f) { return each(a, f); };
  using X = const Array&;
  const std::vector<Values> two{a, b}, one{a};
  run_planned(
      world, [](X x, X y) { return x * y + x; }, two,
      want([&](auto i) { return a[i] * b[i] + a[i]; }), options);
  run_planned(
      world, [&](X x) { return x * b + b; }, one, want([&](auto i) { return a[i] * b[i] + b[i]; }),
      options);
  run_planned(
      world, [](X x) { return x.rotate(3).conj() * 0.3; }, one,
      want([&](auto i) { return a[(i + 3) % 300] * 0.3; }), options);
  run_planned(
      world,
      [](X x) {
        return x.polynomial(std::vector<double>{0, 1, 0.5, 0.25});
      },
      one, want([&](auto i) { return a[i] + a[i] * a[i] / 2 + a[i] * a[i] * a[i] / 4; }), options);
  double sum = 0;
  for (const double v : a) sum += v;
  run_planned(
      world, [](X x) { return x.sum(); }, one, {sum}, options);
}

TEST(Array, RefusesWhatDoesNotFit) {
  PublicWorld& world = PublicWorld::of(kLeveled);
  const Array x = world.client.encrypt(numbers(6)), y = world.client.encrypt(numbers(5));
  EXPECT_THROW(x + y, ShapeError);
  EXPECT_THROW(x * numbers(5), ShapeError);
  EXPECT_THROW(x.reshape({4}), ShapeError);
  EXPECT_THROW(x * NAN, ValueError);
  EXPECT_THROW(x / 0, ValueError);
  EXPECT_THROW(x.pow(0), UnsupportedError);
  EXPECT_THROW(x.to_level(x.level() + 1), LevelError);
  EXPECT_THROW(world.client.encrypt(std::vector<double>{}), ShapeError);
  EXPECT_THROW(world.client.encrypt({INFINITY}), ValueError);
  EncryptOptions options;
  options.level = 99;
  EXPECT_THROW(world.client.encrypt({1.0}, options), LevelError);
  EXPECT_THROW(x.to_level(0) * 0.5, LevelError);
  PublicWorld other(kLeveled);
  EXPECT_THROW(x + other.client.encrypt(numbers(6)), ContextError);
  EXPECT_THROW(other.client.decrypt(x), ContextError);
  const Client second(world.context);
  EXPECT_THROW(second.decrypt(x), KeyError);
  EXPECT_THROW(plan(
                   other.context, [](const Array& a) { return a; }, x),
               ContextError);
  try {
    world.context.use(other.client.server_keys(plan(
        other.context, [](const Array& a) { return a; }, Input({4}))));
    FAIL();
  } catch (const ContextError& e) {
    EXPECT_EQ(e.operation(), "use");
    EXPECT_NE(std::string(e.what()).find("; needs "), std::string::npos);
  }
}

TEST(Array, KeysOfAPlanAreEnoughAndNoFewer) {
  PublicWorld world(kLeveled);
  const Array x = world.client.encrypt(numbers(512));
  EXPECT_NO_THROW(x + x + numbers(512));  // without keys
  EXPECT_THROW(x * x, KeyError);
  world.context.use(world.client.server_keys(plan(
      world.context, [](const Array& a) { return a * a; }, x)));
  EXPECT_NO_THROW(x * x);
  EXPECT_THROW(x.rotate(1), KeyError);
  const Plan both = plan(
                        world.context, [](const Array& a) { return a.rotate(1); }, x) |
                    plan(
                        world.context, [](const Array& a) { return a.rotate(2); }, x);
  EXPECT_EQ(both.keys().size(), 2u);
  world.context.use(world.client.server_keys(both));
  EXPECT_NO_THROW(x.rotate(1) + x.rotate(2));
}

TEST(Array, BelongsToASessionOfOneClient) {
  PublicWorld world(kLeveled);
  const Client second(world.context);
  const auto square = [](const Array& a) { return a * a; };
  const Plan planned = plan(world.context, square, Input({8}));
  ServerKeyOptions with_public;
  with_public.public_key = true;
  const Context one = world.context.bind(world.client.server_keys(planned, with_public));
  const Context two = world.context.bind(second.server_keys(planned));
  const std::vector<double> a = numbers(8);
  const Array x = one.adopt(world.client.encrypt(a)), y = two.adopt(second.encrypt(a));
  const auto want = each(a, [&](auto i) { return a[i] * a[i]; });
  EXPECT_LT(largest_error(world.client.decrypt(x * x), want), 1e-5);
  EXPECT_LT(largest_error(second.decrypt(y * y), want), 1e-5);
  EXPECT_THROW(x * y, ContextError);
  EXPECT_THROW(one.adopt(second.encrypt(a)), KeyError);
  EXPECT_THROW(two.encrypt(a), KeyError);
  const Array z = one.encrypt(a);
  EXPECT_LT(largest_error(world.client.decrypt(z * x), want), 1e-4);
  EXPECT_EQ(world.context.resident().size(), 2u);
  EXPECT_THROW(one.bind(world.client.server_keys(planned)), UnsupportedError);
}

TEST(Array, SharesDecryptionsWithNoise) {
  PublicWorld& world = PublicWorld::of(kLeveled);
  EncryptOptions options;
  EXPECT_THROW(world.client.decrypt_for_sharing(world.client.encrypt({0.5}), std::nullopt, 4),
               UnsupportedError);
  options.range = Range{-1, 1};
  const SharedValues shared = world.client.decrypt_for_sharing(
      world.client.encrypt({0.5, -0.5}, options), std::nullopt, 4, 10);
  EXPECT_GT(shared.sigma, 0);
  EXPECT_LT(largest_error(shared.values, {0.5, -0.5}), 1e-3);
  // A bound that is passed as the message shows it is accepted.
  for (const double size : {0.5, 0.51, 0.77}) {
    options.range = Range{-size, size};
    const Array x = world.client.encrypt({size});
    try {
      world.client.decrypt_for_sharing(x, 1e-9, 4);
      ADD_FAILURE() << "a bound of 1e-9 was accepted";
    } catch (const ValueError& why) {
      const std::string text = why.what(), before = "at least ";
      EXPECT_EQ(text.find("leave it out"), std::string::npos)
          << "nothing is declared of the values";
      world.client.decrypt_for_sharing(x, std::stod(text.substr(text.find(before) + before.size())),
                                       4);
    }
  }
  try {
    world.client.decrypt_for_sharing(world.client.encrypt({0.5}, options), 1e-9, 4);
    ADD_FAILURE() << "a bound of 1e-9 was accepted";
  } catch (const ValueError& why) {
    EXPECT_NE(std::string(why.what()).find("leave it out"), std::string::npos);
  }
}

TEST(Context, RefusesWhatIsNot) {
  EXPECT_THROW(Context("n16-d41"), ParameterError);
  ContextOptions options;
  options.on_warning = [](const Warning&) {};
  options.device = "tpu";
  EXPECT_THROW(Context(kLeveled, options), DeviceError);
  options.device = "cpu:1";
  EXPECT_THROW(Context(kLeveled, options), DeviceError);
  options.device = "cpu";
  options.threads = -1;
  EXPECT_THROW(Context(kLeveled, options), ValueError);
  options.threads = 1;
  options.tuning = "x";
  EXPECT_THROW(Context(kLeveled, options), UnsupportedError);
}

TEST(Context, WarnsOfInsecureParameters) {
  PublicWorld world(kLeveled);
  ASSERT_EQ(world.warnings.size(), 1u);
  EXPECT_EQ(world.warnings[0].kind, Warning::Kind::Security);
}

TEST(ParameterSet, ChecksOwnLiterals) {
  const ParameterSet known = ParameterSet::preset(kLeveled);
  ParameterLiteral literal = known.literal();
  EXPECT_EQ(ParameterSet::check(literal).hash(), known.hash());
  literal.name = "own-insecure";
  EXPECT_NE(ParameterSet::check(literal).hash(), known.hash());
  literal.insecure = false;
  EXPECT_THROW(ParameterSet::check(literal), ParameterError);
  EXPECT_THROW(known.scale(-1), LevelError);
  EXPECT_EQ(known.slots(), 512);
  EXPECT_FALSE(ParameterSet::presets().empty());
}

TEST(Version, IsTheHeaders) { EXPECT_STREQ(version(), LATTICINO_VERSION); }

}  // namespace
}  // namespace latticino
