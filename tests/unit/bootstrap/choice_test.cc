// Larger message ratios, the arcsine at the end of EvalMod, and the form that is chosen.
#include "ckks/bootstrap/choice.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "math/errors.h"
#include "support/bootstrap_world.h"

namespace latticino::ckks {
namespace {

using bootstrap::Choice;
using bootstrap::choose_form;
using bootstrap::FormRequest;
using Message = BootstrapOptions::Message;
const char* const kSmall = "test-n10-boot-insecure";

// Constant, positive, alternating, one slot, a hundredth of the slots, random.
std::vector<World::Values> messages(World& world, int slots, bool real) {
  World::Values random = real ? world.real_values(slots, 50) : world.values(slots, 50);
  World::Values positive = random, alternating(slots, 1.0), one(slots, 0.0), some(slots, 0.0);
  for (Complex& z : positive) z = 0.45 * (1.0 + z.real());
  for (int j = 1; j < slots; j += 2) alternating[j] = -1;
  one[5 % slots] = 1;
  for (int j = 0; j < slots; j += 100) some[j] = random[j];
  return {World::Values(slots, 1.0), positive, alternating, one, some, random};
}

// Every kind of message is within a bit of its prediction, and not below `least` bits.
void check_messages(const BootstrapOptions& options, int output_level, double least,
                    const char* preset = kSmall) {
  const BootstrapWorld b(World::of(preset), options);
  EXPECT_EQ(b.plan().output_level(), output_level);
  for (const World::Values& z : messages(b.world(), b.slots(), options.message == Message::Real)) {
    MeasuredErrors errors;
    errors.add(z, b.refreshed(z));
    const Bootstrapper::Precision predicted = b.plan().predicted_precision(z);
    EXPECT_NEAR(errors.mean_bits(), predicted.mean_bits, 1);
    EXPECT_GT(errors.max_bits(), predicted.max_bits - 1);
    EXPECT_GT(errors.mean_bits(), least);
  }
  EXPECT_EQ(b.used(), b.requested());
}

TEST(BootstrapForms, ArcsineKeepsEveryMessage) {
  check_messages({.log_message_ratio = 8, .arcsine = 3}, 2, 25);
  check_messages({.message = Message::Real, .log_message_ratio = 8, .arcsine = 3}, 2, 25);
  check_messages({.slots = 16, .log_message_ratio = 9, .arcsine = 3}, 2, 25);
  check_messages({.slots = 64, .log_message_ratio = 6, .arcsine = 5}, 1, 23);
  check_messages({.slots = 64, .log_message_ratio = 6, .arcsine = 7}, 1, 25);
  check_messages({.log_message_ratio = 9, .arcsine = 3}, 1, 22, "test-n10-d35-boot-insecure");
}

TEST(BootstrapForms, OptionsGoTogether) {
  check_messages({.slots = 64,
                  .minimal_keys = true,
                  .over_mod_raise = true,
                  .log_message_ratio = 8,
                  .arcsine = 3},
                 2, 25);
  check_messages({.slots = 64,
                  .slot_to_coeff_first = true,
                  .over_mod_raise = true,
                  .log_message_ratio = 10,
                  .arcsine = 3},
                 5, 20);
}

TEST(BootstrapForms, TheSetsArcsineInEitherOrder) {
  const char* const name = "test-n10-d48-w30-precise-insecure";
  check_messages({.slots = 16}, 3, 8, name);
  check_messages({.slots = 16, .slot_to_coeff_first = true}, 6, 8, name);
  // The arcsine of degree 7 is not precise in slots at the set's large ratio, 2^-3.
  for (const char* set : {name, "n16-d48-w30-precise-v1"}) {
    for (const int level : {0, 3, 6}) {
      FormRequest request{.level = level, .known = {.random_like = true}};
      const Choice chosen = choose_form(*preset(set), request);
      EXPECT_FALSE(chosen.options.slot_to_coeff_first) << set;
      EXPECT_GT(chosen.predicted.mean_bits, 24) << set;
    }
  }
}

TEST(BootstrapForms, RatiosAloneTradeNoiseForTheSine) {
  const BootstrapWorld b(World::of(kSmall), {.log_message_ratio = 10});
  const World::Values constant(b.slots(), 1.0);
  MeasuredErrors errors;
  errors.add(constant, b.refreshed(constant));
  EXPECT_NEAR(errors.mean_bits(), 17.3, 0.5);  // 6.58 * 2^-20
  EXPECT_NEAR(b.plan().message_ratio(), 0x1p-10, 0x1p-17);
  EXPECT_EQ(b.plan().output_level(), b.world().params().level_after_bootstrap());
}

// A constant is bootstrapped ten times. Its error grows with the root of that number, or in
// proportion to it if it is a bias.
TEST(BootstrapForms, ChainsOfAConstant) {
  for (const int level : {0, 3}) {
    FormRequest request;
    request.level = level;
    const BootstrapWorld b(World::of(kSmall),
                           choose_form(World::of(kSmall).params(), request).options);
    const World::Values constant(b.slots(), 1.0);
    Ciphertext x = b.world().encrypt(constant, level);
    for (int i = 0; i < 10; ++i) {
      x = b.bootstrap(b.evaluator().to_level(x, b.plan().input_level()));
    }
    EXPECT_GT(bits_of(constant, b.world().decrypt(x)), 15);
  }
}

TEST(BootstrapForms, RefusesWhatTheSetCannotMeet) {
  const auto context = World::of(kSmall).context();
  EXPECT_THROW(Bootstrapper(context, {.arcsine = 4}), ParameterError);
  EXPECT_THROW(Bootstrapper(context, {.arcsine = 9}), ParameterError);
  EXPECT_THROW(Bootstrapper(context, {.arcsine = -1}), ParameterError);
  EXPECT_THROW(Bootstrapper(context, {.log_message_ratio = 12}), ParameterError);
  EXPECT_THROW(Bootstrapper(context, {.log_message_ratio = -3}), ParameterError);
  // Three levels after bootstrapping, of which the arcsine would take all.
  EXPECT_THROW(Bootstrapper(World::of("test-n10-d35-boot-insecure").context(), {.arcsine = 7}),
               ParameterError);
}

Choice chosen(const std::string& name, int level, bool random_like = false, int slots = 0) {
  FormRequest request;
  request.level = level;
  request.slots = slots;
  request.known.random_like = random_like;
  return choose_form(*preset(name), request);
}

TEST(BootstrapChoice, DefaultSet) {
  const std::string name = "n16-d40-boot-v1";
  for (const int level : {3, 5, 16}) {
    const Choice first = chosen(name, level);
    EXPECT_TRUE(first.options.slot_to_coeff_first && first.options.over_mod_raise);
    EXPECT_EQ(first.output_level, 16);
    EXPECT_GT(first.predicted.mean_bits, 22);
    EXPECT_NE(first.reason.find("; instead of the usual order, arcsine of degree 3"),
              std::string::npos);
  }
  for (const int level : {0, 2}) {
    const Choice low = chosen(name, level), random = chosen(name, level, true);
    EXPECT_FALSE(low.options.slot_to_coeff_first || random.options.slot_to_coeff_first);
    EXPECT_GE(low.output_level, 10);
    EXPECT_GT(low.predicted.mean_bits, 20);
    EXPECT_EQ(random.output_level, 13);
    EXPECT_LE(random.options.arcsine, 1);
    EXPECT_EQ(random.options.log_message_ratio, 0);  // the same as before
    EXPECT_NE(low.reason.find("not declared random-like"), std::string::npos);
  }
  EXPECT_TRUE(chosen(name, 3, false, 16).options.slot_to_coeff_first);
  EXPECT_EQ(chosen(name, 0, true, 16).output_level, 13);
}

// Bits above 22 do not matter. Predictions are measured on random values, so they vary a little.
TEST(BootstrapChoice, NoFormIsMorePreciseAtOtherScales) {
  for (const char* name :
       {"n16-d30-boot-v1", "n16-d35-boot-v1", "n16-d35-w30-boot-v1", "n16-d45-boot-v1"}) {
    const auto params = preset(name);
    for (const bool random_like : {false, true}) {
      const Choice best = chosen(name, 3, random_like);
      EXPECT_GE(best.output_level - best.input_level, params->level_after_bootstrap() - 3) << name;
      FormRequest request{.level = 3, .known = {.random_like = random_like}};
      request.slot_to_coeff_first = true;
      std::vector<Choice> forms{choose_form(*params, request)};
      request.slot_to_coeff_first = false;
      for (const int degree : {1, 3, 7}) {
        request.arcsine = degree;
        forms.push_back(choose_form(*params, request));
      }
      for (const Choice& form : forms) {
        EXPECT_GT(best.predicted.mean_bits, std::min(22.0, form.predicted.mean_bits) - 0.1)
            << name << ": " << best.reason << "; " << form.reason;
      }
    }
  }
}

TEST(BootstrapChoice, OtherScalesByPredictedPrecision) {
  const Choice other = chosen("n16-d35-boot-v1", 3);
  EXPECT_FALSE(other.options.slot_to_coeff_first);
  EXPECT_EQ(other.options.arcsine, 3);
  EXPECT_EQ(other.output_level, 13);
  EXPECT_NE(
      other.reason.find("more precise, for data not declared random-like; 13 levels after it, "
                        "about 20.2 bits (worst slot 17.4); instead of SlotToCoeff first with "
                        "OverModRaise: 18 levels, about 19.3 bits (worst slot 15"),
      std::string::npos)
      << other.reason;
  EXPECT_EQ(chosen("n16-d30-boot-v1", 0).output_level, 16);
  EXPECT_FALSE(chosen("n16-d35-boot-v1", 3, true).options.slot_to_coeff_first);
  EXPECT_EQ(chosen("n16-d35-boot-v1", 3, true).output_level, 15);
  for (const char* name : {"n16-d35-boot-v1", "n16-d45-boot-v1", "n16-d50-boot-v1"}) {
    const Choice low = chosen(name, 0);
    EXPECT_GT(low.predicted.mean_bits, 18) << name;
    EXPECT_GE(low.output_level, preset(name)->level_after_bootstrap() - 3) << name;
  }
}

TEST(BootstrapChoice, TheCallersWordIsKept) {
  FormRequest request;
  request.level = 5;
  request.slot_to_coeff_first = false;
  EXPECT_FALSE(choose_form(*preset(kSmall), request).options.slot_to_coeff_first);
  request.arcsine = 1;
  request.log_message_ratio = 0;
  const Choice usual = choose_form(*preset(kSmall), request);
  EXPECT_EQ(usual.output_level, preset(kSmall)->level_after_bootstrap());
  EXPECT_EQ(usual.options.log_message_ratio, 0);
  request.slot_to_coeff_first = true;
  request.over_mod_raise = false;
  EXPECT_FALSE(choose_form(*preset(kSmall), request).options.over_mod_raise);
  request.level = 2;
  EXPECT_THROW(choose_form(*preset(kSmall), request), LevelError);
  request.slot_to_coeff_first = false;
  request.log_message_ratio = 30;
  EXPECT_THROW(choose_form(*preset(kSmall), request), ParameterError);
  request = {};
  request.slots = 24;
  EXPECT_THROW(choose_form(*preset(kSmall), request), ShapeError);
  request = {};
  request.known.largest = 2;
  EXPECT_THROW(choose_form(*preset(kSmall), request), ValueError);
  EXPECT_THROW(choose_form(*preset("test-n10-leveled-insecure"), {}), ParameterError);
}

TEST(BootstrapChoice, SamplesAndBoundsDecide) {
  const auto params = preset(kSmall);
  FormRequest request;
  request.known.sample = World::Values(512, 1e-3);  // so small that the sine causes no error
  const Choice small = choose_form(*params, request);
  EXPECT_EQ(small.output_level, params->level_after_bootstrap());
  EXPECT_GT(small.predicted.mean_bits, 18);
  request.known.sample = World::Values(512, 1.0);
  EXPECT_LT(choose_form(*params, request).output_level, params->level_after_bootstrap());
  request.known.sample.resize(8);
  EXPECT_THROW(choose_form(*params, request), ShapeError);
  request.known.sample.clear();
  request.known.largest = 1e-3;
  EXPECT_EQ(choose_form(*params, request).output_level, params->level_after_bootstrap());
}

}  // namespace
}  // namespace latticino::ckks
