// CKKS -> tables -> CKKS stage by stage, seen with the secret keys, and as a whole.
#include <gtest/gtest.h>

#include <algorithm>

#include "math/errors.h"
#include "support/switch_world.h"

namespace latticino::switching {
namespace {

const char* const kSmall = "test-switch-n10-insecure";
const char* const kGaps = "test-switch-n12-insecure";
const char* const kFp64 = "test-switch-n12-fp64-insecure";  // the same ring

// Phases of samples, as values.
std::vector<double> decoded(const SwitchWorld& w, const Samples& samples) {
  std::vector<double> out;
  const double q = samples.lwe.view.modulus;
  for (const std::uint32_t phase :
       tfhe::phases(*w.context()->tfhe(), w.secret(), samples.lwe.view)) {
    const double part = centre(phase, samples.lwe.view.modulus) / q;
    out.push_back(part * 4 * samples.bound / w.params().fill());
  }
  return out;
}

TEST(SwitchStages, SamplesHoldTheSlots) {
  for (const char* name : {kSmall, kGaps}) {
    SwitchWorld& w = SwitchWorld::of(name);
    for (const int slots : {4, 512}) {
      const SwitchPlan plan(w, {slots, 2.5});
      const SwitchWorld::Values x = SwitchWorld::spread(slots, 2.5);
      const Samples samples = plan.plan().extract(plan.evaluator(), plan.encrypt(x));
      const std::vector<double> y = decoded(w, samples);
      ASSERT_EQ(y.size(), x.size());
      for (std::size_t i = 0; i < y.size(); ++i) {
        EXPECT_NEAR(y[i], x[static_cast<std::size_t>(samples.index[i])], 2.5 * 0x1p-16) << name;
      }
    }
  }
}

// Errors as the table's report predicts them.
void check_round_trip(const char* name, int slots, double bound, const char* what,
                      const std::function<double(double)>& f) {
  SwitchWorld& w = SwitchWorld::of(name);
  const SwitchPlan plan(w, {slots, bound});
  const Table table = make_table(w.context(), f, bound);
  const SwitchWorld::Values x = SwitchWorld::spread(slots, bound);
  SwitchWorld::Values want;
  for (const double v : x) want.push_back(f(v));
  const ckks::Ciphertext y = plan.plan().apply(plan.evaluator(), plan.encrypt(x), table);
  EXPECT_EQ(y.level, plan.plan().output_level());
  EXPECT_EQ(y.scale, w.params().ckks().scale(y.level));
  EXPECT_EQ(y.slots, slots);
  const Errors e = errors_of(w.decrypt(y), want);
  // The mean of that many errors varies by about one over the root of their number.
  if (slots >= 64) {
    EXPECT_NEAR(e.mean / table.report.mean, 1, 4 / std::sqrt(slots)) << what << slots;
  }
  EXPECT_LT(e.largest, table.report.largest) << what << slots;
}

TEST(SwitchRoundTrip, IdentityOfAnySlots) {
  const auto identity = [](double x) { return x; };
  for (const int slots : {1, 64, 512}) check_round_trip(kSmall, slots, 1, "identity", identity);
  for (const int slots : {2, 256, 2048}) check_round_trip(kGaps, slots, 8, "identity", identity);
  check_round_trip(kFp64, 512, 8, "identity", identity);
}

TEST(SwitchRoundTrip, Functions) {
  check_round_trip(kSmall, 256, 8, "sigmoid", [](double x) { return 1 / (1 + std::exp(-x)); });
  check_round_trip(kSmall, 256, 4, "relu", [](double x) { return std::max(x, 0.0); });
  check_round_trip(kSmall, 256, 100, "square", [](double x) { return x * x; });
  check_round_trip(kSmall, 256, 0.01, "abs", [](double x) { return std::abs(x); });
  check_round_trip(kSmall, 256, 2, "root", [](double x) { return std::sqrt(std::abs(x)); });
}

// Without a slope only blind rotation, packing and EvalMod add errors.
TEST(SwitchRoundTrip, AConstantHasTheErrorOfPacking) {
  for (const char* name : {kSmall, kFp64}) {
    check_round_trip(name, 512, 1, "constant", [](double) { return -3.0; });
  }
}

// Over the whole torus, so up to twice the bound, with the noise of the bound.
TEST(SwitchRoundTrip, SignIsExactAwayFromZero) {
  for (const char* name : {kSmall, kGaps}) {
    SwitchWorld& w = SwitchWorld::of(name);
    const SwitchPlan plan(w, {512, 0.5});
    const Table table = make_sign_table(w.context(), 0.5, 3);
    const SwitchWorld::Values x = SwitchWorld::spread(512, 1);
    const SwitchWorld::Values y = plan.apply(x, table);
    int wrong = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double error = std::abs(y[i] - (x[i] < 0 ? -3 : 3));
      wrong += error > 1;
      if (std::abs(x[i]) > 5 * table.report.argument) EXPECT_LT(error, 6 * table.report.packed);
    }
    // Errors are as frequent as noise that moves a value past 0.
    const double expected = 512 * table.report.mean / 6;
    EXPECT_NEAR(wrong, expected, 4 * std::sqrt(expected) + 1);
  }
}

// Values at the ends of the range do not wrap around.
TEST(SwitchRoundTrip, BoundsAreInside) {
  SwitchWorld& w = SwitchWorld::of(kSmall);
  const SwitchPlan plan(w, {256, 3});
  const Table table = make_table(
      w.context(), [](double x) { return x; }, 3);
  SwitchWorld::Values x(256, 3.0);
  for (std::size_t i = 0; i < x.size(); i += 2) x[i] = -3;
  EXPECT_LT(errors_of(plan.apply(x, table), x).largest, table.report.largest);
}

TEST(SwitchRoundTrip, OtherSlotsStayAsTheyAre) {
  for (const char* name : {kSmall, kGaps}) {
    SwitchWorld& w = SwitchWorld::of(name);
    const int slots = w.params().ckks().max_slots();
    const SwitchPlan plan(w, {slots, 1});
    const Table table = make_table(
        w.context(), [](double v) { return v * v; }, 1);
    const SwitchWorld::Values x = SwitchWorld::spread(slots, 1);
    const std::vector<int> which = {slots - 1, 0, 3, slots / 2 + 1, 10};
    const int level = plan.plan().input_level() + 2;
    const SwitchWorld::Values y =
        w.decrypt(plan.plan().apply(plan.evaluator(), w.encrypt(x, level), table, which));
    const double error = table.report.largest;
    for (int j = 0; j < slots; ++j) {
      const bool changed = std::find(which.begin(), which.end(), j) != which.end();
      EXPECT_NEAR(y[j], changed ? x[j] * x[j] : x[j], changed ? error : 0x1p-12) << j;
    }
  }
}

TEST(SwitchRoundTrip, MinimalKeysAndOverModRaise) {
  SwitchWorld& w = SwitchWorld::of(kSmall);
  const Table table = make_table(
      w.context(), [](double v) { return -v; }, 1);
  const SwitchWorld::Values x = SwitchWorld::spread(32, 1);
  SwitchWorld::Values want;
  for (const double v : x) want.push_back(-v);
  for (const bool minimal : {false, true}) {
    const SwitchPlan plan(w, {32, 1, minimal, !minimal});
    EXPECT_LT(errors_of(plan.apply(x, table), want).largest, table.report.largest);
  }
}

// In several packs, one of them not full.
TEST(SwitchRoundTrip, RepackingIsTheRestOfALookUp) {
  SwitchWorld& w = SwitchWorld::of(kGaps);
  const SwitchPlan plan(w, {2048, 1});
  const Switcher& s = plan.plan();
  const Table table = make_table(
      w.context(), [](double v) { return v * v; }, 1);
  const std::vector<int> which = {0, 1, 2, 1500, 2047};
  const Samples samples =
      s.extract(plan.evaluator(), plan.encrypt(SwitchWorld::spread(2048, 1)), which);
  const ckks::Ciphertext y = s.look_up(plan.evaluator(), samples, table);
  tfhe::Context::Polys rotated = s.rotated(samples.lwe.view, table);
  const ckks::Ciphertext z = s.repack(plan.evaluator(), samples, rotated, table);
  for (int h = 0; h < 2; ++h) {
    EXPECT_EQ(w.ckks().download(y.parts[h]), w.ckks().download(z.parts[h]));
  }
  rotated.view = rotated.view.part(0, 8);
  EXPECT_THROW(s.repack(plan.evaluator(), samples, rotated, table), ShapeError);
}

// A slot beyond its bound is wrong without notice, and an error with the shadow check.
TEST(SwitchRoundTrip, TheShadowCheckFindsSlotsBeyondTheBound) {
  SwitchWorld& w = SwitchWorld::of(kSmall);
  const Table table = make_table(
      w.context(), [](double v) { return v * v; }, 1);
  SwitchWorld::Values x(16, 0.5);
  x[3] = 1.1;
  x[7] = 4;  // once around the table, which is inside again
  const SwitchPlan blind(w, {16, 1});
  const SwitchWorld::Values y = blind.apply(x, table);
  EXPECT_NEAR(y[0], 0.25, table.report.largest);
  EXPECT_GT(std::abs(y[3] - 1.21), 1);  // the other sign
  EXPECT_GT(std::abs(y[7] - 16), 1);
  SwitchOptions options{16, 1};
  options.shadow = shadow_check(w.ckks().secret(), 1);
  const Switcher seeing(w.context(), w.keys(), options);
  const std::vector<int> good = {0, 1, 2}, bad = {0, 7};
  EXPECT_NO_THROW(seeing.extract(blind.evaluator(), blind.encrypt(x), good));
  EXPECT_THROW(seeing.extract(blind.evaluator(), blind.encrypt(x), bad), ValueError);
  try {
    seeing.extract(blind.evaluator(), blind.encrypt(x));
    FAIL() << "nothing was thrown";
  } catch (const ValueError& e) {
    EXPECT_NE(std::string(e.what()).find("a value in slot 3 above the bound"), std::string::npos)
        << e.what();
  }
}

// Plain kernels and those of the device under test, from the same seeds: the same words.
class SwitchWords : public testing::TestWithParam<const char*> {};
TEST_P(SwitchWords, AreTheSameOnEveryBackend) {
  const std::vector<int> which = {0, 5, 6};
  std::vector<std::vector<std::uint32_t>> words;
  for (const bool plain : {true, false}) {
    SwitchWorld w(GetParam(), plain ? make_cpu_backend({false, 1}) : ckks::test_backend());
    const SwitchPlan plan(w, {128, 1});
    const Table table = make_table(
        w.context(), [](double v) { return v * v - 0.5; }, 1);
    const ckks::Ciphertext x = plan.encrypt(SwitchWorld::spread(128, 1));
    ckks::Ciphertext y = plan.plan().apply(plan.evaluator(), x, table, which);
    for (const Poly& part : y.parts) words.push_back(w.ckks().download(part));
    // After one run nothing waits for the host any more, so it can be recorded.
    Program program = w.context()->queue().record(
        [&] { y = plan.plan().apply(plan.evaluator(), x, table, which); });
    program.run();
    EXPECT_EQ(w.ckks().download(y.parts[0]), words[words.size() - 2]);
    EXPECT_EQ(w.ckks().download(y.parts[1]), words.back());
    y = plan.plan().apply(plan.evaluator(), x, table);
    for (const Poly& part : y.parts) words.push_back(w.ckks().download(part));
  }
  for (int i = 0; i < 4; ++i) EXPECT_EQ(words[i], words[i + 4]);
}
INSTANTIATE_TEST_SUITE_P(Sets, SwitchWords, testing::Values(kGaps, kFp64));

TEST(SwitchRoundTrip, WrongUseSaysWhatIsWrong) {
  SwitchWorld& w = SwitchWorld::of(kSmall);
  const SwitchPlan plan(w, {16, 1});
  const auto identity = [](double v) { return v; };
  const Table table = make_table(w.context(), identity, 1);
  const SwitchWorld::Values x(16, 0.25);
  const ckks::Evaluator& e = plan.evaluator();
  const Switcher& s = plan.plan();
  EXPECT_THROW(s.apply(e, w.encrypt(x, s.input_level() - 1), table), LevelError);
  EXPECT_THROW(s.apply(e, w.encrypt({0.5, 0.5}, s.input_level()), table), ShapeError);
  const std::vector<int> beyond = {16}, twice = {3, 3};
  EXPECT_THROW(s.apply(e, plan.encrypt(x), table, beyond), ShapeError);
  EXPECT_THROW(s.apply(e, plan.encrypt(x), table, twice), ShapeError);
  EXPECT_THROW(s.apply(e, plan.encrypt(x), make_table(w.context(), identity, 2)), ValueError);
  EXPECT_THROW(make_table(
                   w.context(), [](double v) { return 1 / v; }, 1),
               ValueError);
  EXPECT_THROW(make_table(w.context(), identity, 0), ValueError);
  EXPECT_THROW(make_sign_table(w.context(), 1, -1), ValueError);
  EXPECT_THROW(Switcher(w.context(), w.keys(), {3, 1}), ShapeError);
  EXPECT_THROW(Switcher(w.context(), w.keys(), {16, -1}), ValueError);
  EXPECT_THROW(Context::create(switch_preset(kGaps), w.ckks().context()), ContextError);
  ckks::Ciphertext foreign = plan.encrypt(x);
  foreign.key.bytes[0] ^= 1;
  EXPECT_THROW(s.apply(e, foreign, table), KeyError);
}

}  // namespace
}  // namespace latticino::switching
