#include "ckks/bootstrap/explain.h"

#include <vector>

#include "ckks/bootstrap/choice.h"
#include "ckks/bootstrap/precision.h"
#include "math/text.h"

namespace latticino::ckks::bootstrap {
namespace {

std::string bits_text(const char* message, const Bootstrapper::Precision& bits) {
  return formatted("%s %.1f bits (worst slot %.1f)", message, bits.mean_bits, bits.max_bits);
}

Choice choice_at(const Params& params, int level, bool random_like) {
  FormRequest request;
  request.level = level;
  request.known.random_like = random_like;
  return choose_form(params, request);
}

// The chosen form for real values. There are two ways; a plan takes the faster one, by the rates of
// its device.
std::string real_line(const Params& params, int level, const BootstrapOptions& chosen) {
  const auto predicted = [&](BootstrapOptions::Message message) {
    FormRequest request;
    request.level = level;
    request.message = message;
    request.slot_to_coeff_first = chosen.slot_to_coeff_first;
    request.over_mod_raise = chosen.over_mod_raise;
    request.arcsine = chosen.arcsine;
    request.log_message_ratio = chosen.log_message_ratio;
    return choose_form(params, request).predicted;
  };
  using Message = BootstrapOptions::Message;
  return "    real values, as a plan finds faster: " +
         bits_text("by themselves", predicted(Message::Real)) + ", " +
         bits_text("two ciphertexts as one", predicted(Message::MergedReals)) + "\n";
}

std::string lines(const Params& params, const std::string& when, int level, bool random_like) {
  const Choice choice = choice_at(params, level, random_like);
  std::string out = "  " + when + ": " + choice.reason + "\n";
  if (random_like) return out;  // Predictions are for random messages.
  const std::vector<Complex> constant(static_cast<std::size_t>(params.max_slots()), 1.0);
  return out + "    " + bits_text("random messages", predict_precision(params, choice.options)) +
         ", " + bits_text("a constant of 1", predict_precision(params, choice.options, constant)) +
         "\n" + real_line(params, level, choice.options);
}

}  // namespace

std::string explain_choices(const Params& params) {
  if (!params.bootstrap()) return {};
  // The lowest level from which SlotToCoeff can come first.
  const int first = params.bootstrap()->stc_levels;
  const std::string low = first == 1 ? "level 0" : "levels 0 to " + std::to_string(first - 1);
  const std::string high = "level " + std::to_string(first) + " and more";
  const std::string random = ", declared random-like";
  return "bootstrapping by default, of all slots:\n" + lines(params, high, first, false) +
         lines(params, high + random, first, true) + lines(params, low, 0, false) +
         lines(params, low + random, 0, true);
}

std::string explain(const Params& params) { return params.explain() + explain_choices(params); }

}  // namespace latticino::ckks::bootstrap
