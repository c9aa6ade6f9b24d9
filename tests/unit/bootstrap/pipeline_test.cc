// Bootstrapping stage by stage, seen with the secret key, and as a whole in all its forms.
#include <gtest/gtest.h>

#include "ckks/bootstrap/scale_plan.h"
#include "math/errors.h"
#include "support/bootstrap_world.h"

namespace latticino::ckks {
namespace {

using Message = BootstrapOptions::Message;
const char* const kSmall = "test-n10-boot-insecure";
const char* const kBands = "test-n10-bands-insecure";

TEST(BootstrapStages, ModRaiseAddsSmallMultiplesOfQ0) {
  const BootstrapWorld& b = BootstrapWorld::of(kSmall, 0);
  const World::Values z = b.world().values(b.slots(), 3);
  const Ciphertext x = b.world().encrypt(z, 0);
  const Ciphertext raised = b.plan().mod_raise(b.evaluator(), x);
  EXPECT_EQ(raised.level, b.world().params().top_level());
  const std::vector<double> m = b.world().coefficients(x);
  const std::vector<double> c = raised_coefficients(b, raised);
  double largest = 0, power = 0;
  for (std::size_t k = 0; k < c.size(); ++k) {
    const double overflow = c[k] - m[k] * b.plan().message_ratio();
    EXPECT_NEAR(overflow, std::nearbyint(overflow), 1e-9);
    largest = std::max(largest, std::abs(overflow));
    power += overflow * overflow / static_cast<double>(c.size());
  }
  EXPECT_LE(largest, b.world().params().bootstrap()->range_k);
  EXPECT_NEAR(power, 33.0 / 12, 0.5);  // h' + 1 uniforms on [-1/2, 1/2]
}

TEST(BootstrapStages, TraceLeavesTheSubring) {
  const BootstrapWorld& b = BootstrapWorld::of(kSmall, 16);
  const int half = b.world().params().max_slots(), gap = half / 16;
  const Ciphertext x = b.world().encrypt(b.world().values(16, 4), 0);
  const std::vector<double> m = b.world().coefficients(x);
  const std::vector<double> c = raised_coefficients(b, b.plan().mod_raise(b.evaluator(), x));
  for (int k = 0; k < 2 * half; ++k) {
    const double overflow = c[k] / gap - m[k] * b.plan().message_ratio();
    if (k % gap == 0) {
      EXPECT_NEAR(overflow, std::nearbyint(overflow), 1e-9);
      EXPECT_LE(std::abs(overflow), b.world().params().bootstrap()->range_k);
    } else {
      EXPECT_NEAR(c[k], 0, 1e-7);
    }
  }
}

void check_middle_stages(const BootstrapWorld& b) {
  const Params& params = b.world().params();
  const int k = params.bootstrap()->range_k;
  const Ciphertext x = b.world().encrypt(b.world().values(b.slots(), 5), 0);
  const Ciphertext raised = b.plan().mod_raise(b.evaluator(), x);
  const double trace = static_cast<double>(params.max_slots()) / b.slots();
  const std::vector<double> c = expected_order(raised_coefficients(b, raised), b.slots());
  const std::vector<Ciphertext> split = b.plan().coeff_to_slot(b.evaluator(), raised);
  EXPECT_EQ(split[0].level, params.top_level() - params.bootstrap()->cts_levels);
  const World::Values y = side_by_side(b, split);
  ASSERT_EQ(y.size(), c.size());
  for (std::size_t i = 0; i < c.size(); ++i) EXPECT_NEAR(y[i].real(), c[i] / trace / k, 1e-10);

  const std::vector<Ciphertext> reduced = b.plan().eval_mod(b.evaluator(), split);
  EXPECT_EQ(reduced[0].level, params.default_level());
  const World::Values v = side_by_side(b, reduced);
  const double two_pi = 2 * std::acos(-1.0);
  for (std::size_t i = 0; i < c.size(); ++i) {
    EXPECT_NEAR(v[i].real(), std::sin(two_pi * c[i] / trace) / two_pi, 0x1p-30);
    EXPECT_NEAR(v[i].imag(), 0, 0x1p-30);
  }
  const Ciphertext result = b.plan().slot_to_coeff(b.evaluator(), reduced);
  EXPECT_EQ(result.level, params.level_after_bootstrap());
  EXPECT_EQ(result.scale, params.scale(result.level));
}

TEST(BootstrapStages, FullSlots) { check_middle_stages(BootstrapWorld::of(kSmall, 0)); }
TEST(BootstrapStages, SparseSlots) { check_middle_stages(BootstrapWorld::of(kSmall, 16)); }

// Random messages: mean and largest error as predicted, within a bit.
void check_precision(const BootstrapWorld& b, int runs) {
  const bool first = b.plan().options().slot_to_coeff_first;
  EXPECT_EQ(b.plan().output_level() - b.plan().input_level(),
            b.world().params().level_after_bootstrap());
  EXPECT_EQ(b.plan().input_level() > 0, first);
  MeasuredErrors errors;
  for (int run = 0; run < runs; ++run) {
    const World::Values z = b.world().values(b.slots(), 10 + run);
    errors.add(z, b.refreshed(z));
  }
  const Bootstrapper::Precision predicted = b.plan().predicted_precision();
  EXPECT_NEAR(errors.mean_bits(), predicted.mean_bits, 1) << b.slots();
  EXPECT_GT(errors.max_bits(), predicted.max_bits - 1) << b.slots();
}

TEST(Bootstrap, ReachesThePredictedPrecision) {
  check_precision(BootstrapWorld::of(kSmall, 0), 3);
  check_precision(BootstrapWorld::of("test-n10-d35-boot-insecure", 0), 1);
  check_precision(BootstrapWorld::of("test-n12-boot-insecure", 0), 1);
  check_precision(BootstrapWorld::of(kBands, 0), 1);
}

TEST(Bootstrap, AnyPowerOfTwoSlots) {
  for (int slots : {1, 2, 16, 256}) check_precision(BootstrapWorld::of(kSmall, slots), 3);
}

TEST(Bootstrap, StructuredMessagesLoseWhatTheSineTakes) {
  const BootstrapWorld& b = BootstrapWorld::of(kSmall, 0);
  World::Values constant(b.slots(), 1.0), spike(b.slots(), 0.0), alternating(b.slots(), 1.0);
  spike[5] = 1;
  for (int j = 1; j < b.slots(); j += 2) alternating[j] = -1;
  for (const World::Values& z : {constant, spike, alternating}) {
    MeasuredErrors errors;
    errors.add(z, b.refreshed(z));
    const Bootstrapper::Precision predicted = b.plan().predicted_precision(z);
    EXPECT_NEAR(errors.mean_bits(), predicted.mean_bits, 1);
    EXPECT_GT(errors.max_bits(), predicted.max_bits - 1);
  }
  EXPECT_LT(b.plan().predicted_precision(constant).mean_bits, 8);  // 6.58 * 2^-10
}

// With |I| <= 2 the eight EvalMod levels hold degree 30 without double angles and the arcsine.
TEST(Bootstrap, ArcsineKeepsStructuredMessages) {
  ParamsLiteral literal = preset(kSmall)->literal();
  literal.name = "arcsine-insecure";
  literal.bootstrap->sparse_weight = 3;
  literal.bootstrap->range_k = 2;
  literal.bootstrap->double_angles = 0;
  literal.bootstrap->arcsine = true;
  World world(Params::check(literal));
  const BootstrapWorld b(world, {16, Message::Complex, false});
  const World::Values constant(16, 1.0), z = world.values(16, 26);
  EXPECT_GT(bits_of(constant, b.refreshed(constant)), 20);
  EXPECT_GT(bits_of(z, b.refreshed(z)), 20);
  EXPECT_GT(b.plan().predicted_precision(constant).max_bits, 20);
}

TEST(Bootstrap, ChainsWithoutDrift) {
  const BootstrapWorld& b = BootstrapWorld::of(kSmall, 0);
  // Small slots: the sine error, which adds up, stays below the noise.
  World::Values z = b.world().values(b.slots(), 20);
  for (Complex& x : z) x *= 0.01;
  Ciphertext x = b.world().encrypt(z, 0);
  MeasuredErrors first, last;
  for (int i = 0; i < 16; ++i) {
    x = b.bootstrap(x);
    if (i == 0) first.add(z, b.world().decrypt(x));
  }
  last.add(z, b.world().decrypt(x));
  // 16 independent errors add up to four times the deviation: two bits. A drift would take four.
  EXPECT_GT(last.mean_bits(), first.mean_bits() - 2.7);
}

TEST(Bootstrap, TakesAnyLevelAndFewerSlots) {
  const BootstrapWorld& b = BootstrapWorld::of(kSmall, 16);
  const World::Values z = b.world().values(4, 21);
  for (int level : {1, 2, 3}) {
    const Ciphertext y = b.bootstrap(b.world().encrypt(z, level));
    EXPECT_EQ(y.slots, 4);
    EXPECT_EQ(y.level, b.world().params().level_after_bootstrap());
    EXPECT_GT(bits_of(z, b.world().decrypt(y)), 8);
  }
}

TEST(Bootstrap, AsksForExactlyTheKeysItUses) {
  for (const char* set : {kSmall, kBands}) {
    const BootstrapWorld& b = BootstrapWorld::of(set, 16);
    b.refreshed(b.world().values(16, 22));
    EXPECT_EQ(b.used(), b.requested());
  }
}

TEST(Bootstrap, RealMessagesLoseTheirImaginaryPart) {
  const BootstrapWorld b(World::of(kSmall), {0, Message::Real, false});
  World::Values z = b.world().real_values(b.slots(), 23), noisy = z;
  for (Complex& x : noisy) x += Complex(0, 0x1p-8);
  const World::Values y = b.refreshed(noisy);
  MeasuredErrors errors;
  errors.add(z, y);
  EXPECT_NEAR(errors.mean_bits(), b.plan().predicted_precision().mean_bits, 1);
  for (const Complex& x : y) EXPECT_LT(std::abs(x.imag()), 0x1p-24);
}

TEST(Bootstrap, TwoRealsShareOne) {
  for (int slots : {0, 32}) {
    const BootstrapWorld b(World::of(kSmall), {slots, Message::MergedReals, false});
    const World::Values u = b.world().real_values(b.slots(), 24);
    const World::Values v = b.world().real_values(b.slots(), 25);
    const auto [re, im] =
        b.plan().bootstrap_pair(b.evaluator(), b.world().encrypt(u, 0), b.world().encrypt(v, 1));
    const double expected = b.plan().predicted_precision().max_bits - 1;
    EXPECT_GT(bits_of(u, b.world().decrypt(re)), expected);
    EXPECT_GT(bits_of(v, b.world().decrypt(im)), expected);
    EXPECT_EQ(re.level, b.world().params().level_after_bootstrap());
    EXPECT_THROW(b.bootstrap(re), UnsupportedError);
  }
}

TEST(Bootstrap, MinimalKeysAreFewer) {
  const BootstrapWorld b(World::of(kSmall), {64, Message::Complex, true});
  EXPECT_LT(b.requested().size(), BootstrapWorld::of(kSmall, 64).requested().size());
  check_precision(b, 1);
}

// Compares the memory that a dry run predicts with that of the device: at once and as a program.
void check_peak(const BootstrapOptions& options, std::size_t count = 1, const char* set = kSmall) {
  World world(set);
  const std::vector<Ciphertext> x(count,
                                  world.encrypt(world.values(world.params().max_slots()), 0));
  rlwe::KeyRequest request;
  double planned = 0;
  world.dry_run(
      [&](const Evaluator& e, const World::Batch& b) -> World::Batch {
        const Bootstrapper dry(e.context(), options);
        const std::vector<Ciphertext> y = dry.bootstrap(e, b);
        const auto keys = dynamic_cast<const rlwe::KeyRecorder&>(e.keys()).bytes();
        planned = static_cast<double>(keys + e.context()->queue().report().peak_bytes);
        return y;
      },
      x, &request);
  const Evaluator evaluator(world.context(), world.make_keys(request));
  const Bootstrapper plan(world.context(), options);
  Queue& queue = world.context()->queue();
  queue.reset_peak();
  { const std::vector<Ciphertext> y = plan.bootstrap(evaluator, x); }
  EXPECT_NEAR(planned / static_cast<double>(queue.device_memory().peak), 1, 0.05);
  std::vector<Ciphertext> y;
  queue.record([&] { y = plan.bootstrap(evaluator, x); }).run();
  EXPECT_NEAR(planned / static_cast<double>(queue.device_memory().peak), 1, 0.05);
}

TEST(Bootstrap, DryRunsKnowThePeak) {
  check_peak({});
  check_peak({.minimal_keys = true});
  check_peak({}, 5);
  check_peak({}, 1, kBands);
}

TEST(Bootstrap, SameBitsAgainAndFromPoisonedMemory) {
  const BootstrapWorld& b = BootstrapWorld::of(kSmall, 0);
  Queue& queue = b.world().context()->queue();
  const Ciphertext x = b.world().encrypt(b.world().values(b.slots(), 40), 0);
  const auto bits = [&](const Ciphertext& y) {
    return std::pair(b.world().download(y.parts[0]), b.world().download(y.parts[1]));
  };
  const auto want = bits(b.bootstrap(x));
  queue.poison(true);
  EXPECT_EQ(bits(b.bootstrap(x)), want);
  Ciphertext y;
  Program program = queue.record([&] { y = b.bootstrap(x); });
  queue.poison(false);
  for (int run = 0; run < 3; ++run) {
    program.run();
    EXPECT_EQ(bits(y), want);
  }
}

using Bits = std::vector<std::vector<std::uint32_t>>;

Bits bits_of_parts(const World& world, std::span<const Ciphertext> x) {
  Bits out;
  for (const Ciphertext& c : x) {
    for (const Poly& part : c.parts) out.push_back(world.download(part));
  }
  return out;
}

// Ciphertexts of several levels and slot counts, more than one batch can hold.
TEST(Bootstrap, SeveralHaveTheWordsOfOneByOne) {
  const int slots = 64;
  for (const BootstrapOptions& options : std::initializer_list<BootstrapOptions>{
           {},
           {.slots = slots},
           {.message = Message::Real},
           {.slots = slots, .minimal_keys = true},
           {.slot_to_coeff_first = true},
           {.slots = slots, .slot_to_coeff_first = true, .over_mod_raise = true},
           {.message = Message::Real, .slot_to_coeff_first = true, .over_mod_raise = true},
           {.slot_to_coeff_first = true, .arcsine = 3}}) {
    const BootstrapWorld b(World::of(kSmall), options);
    std::vector<Ciphertext> x, one_by_one;
    for (std::size_t i = 0; i < Bootstrapper::kMaxBatch + 2; ++i) {
      const int some = i % 3 == 1 ? b.slots() / 2 : b.slots(), level = b.plan().input_level();
      x.push_back(b.world().encrypt(b.world().real_values(some, 50 + static_cast<int>(i)),
                                    level + static_cast<int>(i % 4 == 3)));
      one_by_one.push_back(b.bootstrap(x.back()));
    }
    const std::vector<Ciphertext> y = b.plan().bootstrap(b.evaluator(), x);
    ASSERT_EQ(y.size(), x.size());
    EXPECT_EQ(bits_of_parts(b.world(), y), bits_of_parts(b.world(), one_by_one));
    for (std::size_t i = 0; i < x.size(); ++i) {
      EXPECT_EQ(y[i].slots, x[i].slots);
      EXPECT_EQ(y[i].scale, one_by_one[i].scale);
      EXPECT_EQ(y[i].level, b.plan().output_level());
    }
    EXPECT_TRUE(b.plan().bootstrap(b.evaluator(), std::span<const Ciphertext>()).empty());
  }
}

TEST(Bootstrap, SeveralPairsHaveTheWordsOfOneByOne) {
  for (const bool first : {false, true}) {
    const BootstrapWorld b(
        World::of(kSmall),
        {.slots = 32, .message = Message::MergedReals, .slot_to_coeff_first = first});
    const int level = b.plan().input_level();
    std::vector<Ciphertext> re, im, want_re, want_im;
    for (std::size_t i = 0; i < Bootstrapper::kMaxBatch + 1; ++i) {
      const auto value = [&](int seed) {
        return b.world().encrypt(b.world().real_values(i % 2 == 0 ? 32 : 16, seed), level);
      };
      re.push_back(value(60 + static_cast<int>(i)));
      im.push_back(value(80 + static_cast<int>(i)));
      auto [r, s] = b.plan().bootstrap_pair(b.evaluator(), re.back(), im.back());
      want_re.push_back(std::move(r));
      want_im.push_back(std::move(s));
    }
    const auto [got_re, got_im] = b.plan().bootstrap_pairs(b.evaluator(), re, im);
    EXPECT_EQ(bits_of_parts(b.world(), got_re), bits_of_parts(b.world(), want_re));
    EXPECT_EQ(bits_of_parts(b.world(), got_im), bits_of_parts(b.world(), want_im));
    EXPECT_EQ(got_im[1].slots, 16);
    im.pop_back();
    EXPECT_THROW(b.plan().bootstrap_pairs(b.evaluator(), re, im), ShapeError);
  }
}

TEST(Bootstrap, SlotToCoeffFirst) {
  for (int slots : {0, 16}) {
    const BootstrapWorld b(World::of(kSmall), {.slots = slots, .slot_to_coeff_first = true});
    check_precision(b, 2);
    // 12 keys and 8 runs each: 23.1 to 24.3 bits; a model without the secret's size in a slot
    // says 24.6.
    if (slots == 0) EXPECT_NEAR(b.plan().predicted_precision().max_bits, 23.9, 0.3);
    // The sine meets the slots themselves, so one large coefficient is as good as any message.
    const World::Values constant(b.slots(), 1.0);
    const double expected = b.plan().predicted_precision(constant).max_bits;
    EXPECT_GT(bits_of(constant, b.refreshed(constant)), expected - 1);
    EXPECT_GT(expected, 12);
    const Ciphertext low = b.world().encrypt(constant, b.plan().input_level() - 1);
    EXPECT_THROW(b.bootstrap(low), LevelError);
  }
  EXPECT_LT(BootstrapWorld(World::of(kSmall), {.slot_to_coeff_first = true}).key_bytes(),
            BootstrapWorld::of(kSmall, 0).key_bytes());
}

TEST(Bootstrap, SlotToCoeffFirstForReals) {
  const BootstrapWorld b(World::of(kSmall),
                         {.message = Message::Real, .slot_to_coeff_first = true});
  const World::Values z = b.world().real_values(b.slots(), 27);
  MeasuredErrors errors;
  errors.add(z, b.refreshed(z));
  EXPECT_NEAR(errors.mean_bits(), b.plan().predicted_precision().mean_bits, 1);

  const BootstrapWorld pair(
      World::of(kSmall),
      {.slots = 32, .message = Message::MergedReals, .slot_to_coeff_first = true});
  const World::Values u = pair.world().real_values(32, 24), v = pair.world().real_values(32, 25);
  const int level = pair.plan().input_level();
  const auto [re, im] = pair.plan().bootstrap_pair(pair.evaluator(), pair.world().encrypt(u, level),
                                                   pair.world().encrypt(v, level + 1));
  const double expected = pair.plan().predicted_precision().max_bits - 1;
  EXPECT_GT(bits_of(u, pair.world().decrypt(re)), expected);
  EXPECT_GT(bits_of(v, pair.world().decrypt(im)), expected);
}

TEST(Bootstrap, OverModRaise) {
  for (int slots : {0, 16}) {
    const BootstrapWorld b(World::of(kSmall), {.slots = slots, .over_mod_raise = true});
    check_precision(b, 2);
    b.refreshed(b.world().values(b.slots(), 22));
    EXPECT_EQ(b.used(), b.requested());
  }
  check_precision({World::of(kSmall), {.slot_to_coeff_first = true, .over_mod_raise = true}}, 1);
  check_precision({World::of(kBands), {.slot_to_coeff_first = true, .over_mod_raise = true}}, 1);
}

// The purpose of OverModRaise: one CoeffToSlot level less in the chain.
TEST(Bootstrap, OverModRaiseSavesALevel) {
  ParamsLiteral literal = preset(kSmall)->literal();
  literal.name = "over-raised-insecure";
  // The second of the four (mains, mains, terminals, terminals).
  literal.mains.resize(literal.mains.size() - 2);
  literal.levels.erase(literal.levels.end() - 3);
  for (auto level = literal.levels.end() - 2; level != literal.levels.end(); ++level) {
    level->mains -= 2;
  }
  --literal.bootstrap->cts_levels;
  World world(Params::check(literal));
  check_precision({world, {.over_mod_raise = true}}, 1);
}

TEST(Bootstrap, RejectsWrongUse) {
  World& world = World::of(kSmall);
  const BootstrapWorld& b = BootstrapWorld::of(kSmall, 16);
  const Ciphertext wide = world.encrypt(world.values(32), 0);
  const Ciphertext x = world.encrypt(world.values(16), 0);
  EXPECT_THROW(b.bootstrap(wide), ShapeError);
  EXPECT_THROW(b.plan().bootstrap_pair(b.evaluator(), x, x), UnsupportedError);
  EXPECT_THROW(Bootstrapper(world.context(), {24, Message::Complex, false}), ShapeError);
  EXPECT_THROW(Bootstrapper(world.context(), {1024, Message::Complex, false}), ShapeError);
  EXPECT_THROW(b.plan().predicted_precision(world.values(8)), ShapeError);
  World& leveled = World::of("test-n10-leveled-insecure");
  EXPECT_THROW(Bootstrapper(leveled.context()), ParameterError);
  EXPECT_THROW(b.bootstrap(leveled.encrypt(leveled.values(16), 0)), ContextError);
  const Evaluator keyless(world.context(), nullptr);
  EXPECT_THROW(b.plan().bootstrap(keyless, x), KeyError);
  EXPECT_GT(bits_of(world.values(16), world.decrypt(x)), 20);  // operands are still usable
}

TEST(BootstrapScales, LevelsMustHoldTheSine) {
  ParamsLiteral literal = preset(kSmall)->literal();
  literal.bootstrap->evalmod_degree = 40;  // one level more
  try {
    const auto params = Params::check(literal);
    const auto sine = bootstrap::sine_polynomial(*params->bootstrap());
    EXPECT_THROW(bootstrap::plan_scales(*params, sine, {9}), ParameterError);
  } catch (const ParameterError&) {
    SUCCEED();  // the check of the literal refuses this already
  }
}

}  // namespace
}  // namespace latticino::ckks
