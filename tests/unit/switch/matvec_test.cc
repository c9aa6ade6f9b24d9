// The way back to CKKS by a product with the encrypted secret.
#include <gtest/gtest.h>

#include <algorithm>

#include "math/errors.h"
#include "support/switch_world.h"
#include "switch/route.h"

namespace latticino::switching {
namespace {

const char* const kSmall = "test-switch-n10-insecure";  // N' = N: fewer slots than N'
const char* const kGaps = "test-switch-n12-insecure";   // N' = N / 4

SwitchOptions by_matvec(SwitchWorld& w, const MatvecShape& shape, double bound) {
  w.need(shape);
  SwitchOptions options{shape.rows, bound};
  options.route = Route::Matvec;
  return options;
}

// A world for each shape, so that Switcher uses that shape.
void check_round_trip(const char* name, const MatvecShape& shape, double bound, const char* what,
                      const std::function<double(double)>& f) {
  SwitchWorld w(name);
  const SwitchPlan plan(w, by_matvec(w, shape, bound));
  ASSERT_NE(plan.plan().matvec(), nullptr);
  EXPECT_EQ(plan.plan().matvec()->plan().shape, shape);
  const Table table = make_table(w.context(), f, bound);
  const SwitchWorld::Values x = SwitchWorld::spread(shape.rows, bound);
  SwitchWorld::Values want;
  for (const double v : x) want.push_back(f(v));
  const ckks::Ciphertext y = plan.plan().apply(plan.evaluator(), plan.encrypt(x), table);
  EXPECT_EQ(y.level, Packer(w.context(), shape.rows, {}).output_level());
  EXPECT_EQ(y.level, plan.plan().output_level());
  EXPECT_EQ(y.scale, w.params().ckks().scale(y.level));
  EXPECT_EQ(y.slots, shape.rows);
  const TableReport& report = plan.plan().report(table);
  const Errors e = errors_of(w.decrypt(y), want);
  if (shape.rows >= 64) {
    EXPECT_NEAR(e.mean / report.mean, 1, 4 / std::sqrt(shape.rows)) << what << shape.rows;
  }
  EXPECT_LT(e.largest, report.largest) << what << shape.rows;
}

double random_table(double x) { return std::sin(1e4 * x) + 0.25 * std::cos(7e3 * x); }

// Fewer rows than columns in as many slots as columns, more, fewer; as many; more.
TEST(SwitchMatvec, ShapesOfAnySlots) {
  const auto identity = [](double x) { return x; };
  check_round_trip(kSmall, {1, 512}, 1, "identity", identity);
  check_round_trip(kSmall, {64, 512}, 1, "identity", identity);
  check_round_trip(kGaps, {64, 1024}, 8, "identity", identity);
  check_round_trip(kGaps, {64, 2048}, 1, "identity", identity);
}

TEST(SwitchMatvec, FatMatrices) {
  const auto identity = [](double x) { return x; };
  check_round_trip(kSmall, {512, 512}, 1, "identity", identity);
  check_round_trip(kGaps, {2048, 2048}, 1, "identity", identity);
}

TEST(SwitchMatvec, Functions) {
  check_round_trip(kSmall, {256, 512}, 4, "relu", [](double x) { return std::max(x, 0.0); });
  check_round_trip(kSmall, {128, 512}, 1, "constant", [](double) { return -3.0; });
}

// Every entry of a table without a pattern. Arguments are in the middle of the table's steps.
TEST(SwitchMatvec, ARandomTable) {
  SwitchWorld w(kSmall);
  const SwitchPlan plan(w, by_matvec(w, {256, 512}, 1));
  std::map<int, double> values;
  const auto step = [&](double x) { return static_cast<int>(std::floor(8 * x)); };
  for (int k = -9; k <= 8; ++k) values[k] = random_table(k);
  const Table table = make_table(
      w.context(), [&](double x) { return values[step(x)]; }, 1);
  SwitchWorld::Values x, want;
  for (int j = 0; j < 256; ++j) {
    x.push_back((j * 37 % 16 - 8 + 0.5) / 8);
    want.push_back(values[step(x.back())]);
  }
  EXPECT_LT(errors_of(plan.apply(x, table), want).largest, 6 * table.matvec_report.packed);
}

TEST(SwitchMatvec, OtherSlotsStayAsTheyAre) {
  SwitchWorld w(kGaps);
  const SwitchPlan plan(w, by_matvec(w, {128, 2048}, 1));
  const Table table = make_table(
      w.context(), [](double v) { return v * v; }, 1);
  const SwitchWorld::Values x = SwitchWorld::spread(128, 1);
  const std::vector<int> which = {127, 0, 3, 65, 10};
  const SwitchWorld::Values y =
      w.decrypt(plan.plan().apply(plan.evaluator(), plan.encrypt(x), table, which));
  for (int j = 0; j < 128; ++j) {
    const bool changed = std::find(which.begin(), which.end(), j) != which.end();
    EXPECT_NEAR(y[j], changed ? x[j] * x[j] : x[j], changed ? table.matvec_report.largest : 0x1p-12)
        << j;
  }
}

// The product consists of records only: replayed, and with the plain kernels, it gives the same
// words.
TEST(SwitchMatvec, GivesTheSameWordsOnEveryBackend) {
  std::vector<std::vector<std::uint32_t>> words;
  for (const bool plain : {true, false}) {
    SwitchWorld w(kGaps, plain ? make_cpu_backend({false, 1}) : ckks::test_backend());
    const SwitchPlan plan(w, by_matvec(w, {64, 1024}, 1));
    const Table table = make_table(
        w.context(), [](double v) { return v * v - 0.5; }, 1);
    const ckks::Ciphertext x = plan.encrypt(SwitchWorld::spread(64, 1));
    ckks::Ciphertext y = plan.plan().apply(plan.evaluator(), x, table);
    for (const Poly& part : y.parts) words.push_back(w.ckks().download(part));
    Program program =
        w.context()->queue().record([&] { y = plan.plan().apply(plan.evaluator(), x, table); });
    program.run();
    EXPECT_EQ(w.ckks().download(y.parts[0]), words[words.size() - 2]);
    EXPECT_EQ(w.ckks().download(y.parts[1]), words.back());
  }
  for (int i = 0; i < 2; ++i) EXPECT_EQ(words[i], words[i + 2]);
}

TEST(SwitchMatvec, AutomaticFollowsTheKeys) {
  SwitchWorld w(kGaps);
  EXPECT_EQ(Switcher(w.context(), w.keys(), {64, 1}).route(), Route::Ring);
  w.need({64, 2048});
  EXPECT_EQ(Switcher(w.context(), w.keys(), {64, 1}).route(), Route::Matvec);
  EXPECT_EQ(Switcher(w.context(), w.keys(), {32, 1}).route(), Route::Ring);
  SwitchOptions ring{64, 1};
  ring.route = Route::Ring;
  EXPECT_EQ(Switcher(w.context(), w.keys(), ring).route(), Route::Ring);
}

TEST(SwitchMatvec, WrongUseSaysWhatIsWrong) {
  SwitchWorld& w = SwitchWorld::of(kSmall);
  SwitchOptions options{32, 1};
  options.route = Route::Matvec;
  try {
    Switcher(w.context(), w.keys(), options);
    FAIL() << "nothing was thrown";
  } catch (const KeyError& e) {
    EXPECT_NE(std::string(e.what()).find("no key for route Matvec"), std::string::npos) << e.what();
  }
  for (const MatvecShape& shape : {MatvecShape{3, 8}, {8, 12}, {8, 4}, {8, 1024}, {0, 8}}) {
    EXPECT_THROW(plan_matvec(w.params(), shape), ShapeError) << shape.rows << " " << shape.slots;
  }
  EXPECT_THROW(plan_matvec(*switch_preset(kGaps), {1, 2048}), ShapeError);
  const MatvecPacker packer(w.context(), {16, 512});
  const SwitchPlan plan(w, {16, 1});
  const Samples samples =
      plan.plan().extract(plan.evaluator(), plan.encrypt(SwitchWorld::Values(16, 0.25)));
  const std::vector<std::int32_t> rows(16, 0);
  EXPECT_THROW(packer.product(plan.evaluator(), {}, samples.lwe.view, rows, samples.ckks_key),
               ShapeError);
  options.slots = 512;
  EXPECT_THROW(choose_route(w.context()->shared_params(), options, cpu_rates("avx512"), 1, 1000),
               ValueError);
}

// Costs are those of dry runs of both routes. Routes with too large keys are left out.
TEST(SwitchRoute, TheCheaperOneIsChosen) {
  const auto params = switch_preset(kGaps);
  const SwitchOptions options{64, 1};
  const RouteChoice all = choose_route(params, options, cuda_rates(), 1);
  ASSERT_EQ(all.costs.size(), 3u);  // ring; 1024 and 2048 slots
  EXPECT_EQ(all.costs[0].route, Route::Ring);
  EXPECT_EQ(all.costs[1].products, 64);
  EXPECT_EQ(all.costs[2].products, 32);
  for (const RouteCost& cost : all.costs) {
    EXPECT_GT(cost.seconds, 0);
    EXPECT_GE(1.05 * cost.seconds, all.best.seconds);
    EXPECT_GT(cost.key_bytes, 0u);
  }
  const RouteChoice poor = choose_route(params, options, cuda_rates(), 1, 1);
  EXPECT_EQ(poor.costs.size(), 1u);
  EXPECT_EQ(poor.best.route, Route::Ring);
}

// Without the levels of a wide sine there is no choice.
TEST(SwitchRoute, SetsWithFewLevelsHaveNoProduct) {
  ParamsLiteral literal = preset("test-n10-boot-insecure")->literal();
  literal.name = "one-coeff-to-slot-level-insecure";
  literal.levels.erase(literal.levels.end() - 4, literal.levels.end() - 1);
  literal.bootstrap->cts_levels = 1;
  SwitchLiteral tables = switch_preset(kSmall)->literal();
  tables.name = "one-coeff-to-slot-level-insecure";
  const auto params = SwitchParams::check(Params::check(std::move(literal)), std::move(tables));
  EXPECT_TRUE(matvec_shapes(*params, 64).empty());
  EXPECT_THROW(plan_matvec(*params, {64, 512}), ParameterError);
}

}  // namespace
}  // namespace latticino::switching
