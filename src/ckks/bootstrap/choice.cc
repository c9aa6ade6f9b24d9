#include "ckks/bootstrap/choice.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>
#include <tuple>

#include "ckks/bootstrap/over_raise.h"
#include "ckks/bootstrap/precision.h"
#include "ckks/encoding/encoder.h"
#include "ckks/evaluator/checks.h"
#include "math/errors.h"
#include "math/interrupt.h"
#include "math/text.h"

namespace latticino::ckks::bootstrap {
namespace {

constexpr const char* kChoice = "ckks.bootstrap";
// An arcsine takes levels. If levels matter, or if SlotToCoeff first is not possible, the choice is
// the form that takes the fewest levels and still reaches kEnoughBits bits. Bits above kMaxBits do
// not matter.
constexpr double kEnoughBits = 18, kMaxBits = 22;
// At a scale of 2^kLevelsCountAt a level must gain kBitsPerLevel bits, and SlotToCoeff first may
// have kBitsForSpeed bits less. At other scales precision alone decides.
constexpr double kLevelsCountAt = 40, kBitsPerLevel = 1, kBitsForSpeed = 0.5;
constexpr int kMaxRatio = 20;
const double kCubic = std::numbers::pi * std::numbers::pi * 2 / 3;  // x - sin(2 pi x) / (2 pi)

struct Candidate {
  BootstrapOptions options;
  Form form;
  double bits = 0;
  int spent = 0;  // levels of an arcsine that the set itself does not have
};

// Mean square of the error of EvalMod's function if it acts on random slots, whose parts are
// uniform in [-1, 1] (SlotToCoeff first).
double sine_error_on_random_slots(const SinePolynomial& sine, double ratio) {
  constexpr int kPoints = 64;
  double sum = 0;
  for (int i = 0; i < kPoints; ++i) {
    const double u = (i + 0.5) / kPoints, error = reduced_exactly(sine, u * ratio) / ratio - u;
    sum += error * error;
  }
  return 2 * sum / kPoints;
}

// Mean square in a slot of the error of EvalMod's function, for random slots in the unit box.
double sine_error_on_random(const Params& params, const Candidate& c) {
  const double ratio = c.form.plan.message_ratio, lost = kCubic * ratio * ratio;
  if (!c.form.sine.arcsine.empty()) {
    // An arcsine corrects random slots noticeably. Random coefficients are too small for that.
    return c.options.slot_to_coeff_first ? sine_error_on_random_slots(c.form.sine, ratio) : 0;
  }
  if (c.options.slot_to_coeff_first) return 2 * lost * lost / 7;  // the mean of u^6 is 1/7
  // Coefficients are normal of variance 1 / (3 slots), and 2 slots of their cubes add up.
  const double slots = c.options.slots == 0 ? params.max_slots() : c.options.slots;
  const double variance = 1 / (3 * slots);
  return lost * lost * 15 * variance * variance * variance * 2 * slots;
}

// Mean square of the error on the sample: of its slots, or of its coefficients, whose squares add
// up in every slot.
double sine_error_on_sample(const Candidate& c, const std::vector<Complex>& values) {
  const double ratio = c.form.plan.message_ratio;
  double sum = 0;
  const auto add = [&](double m) {
    const double error = reduced_exactly(c.form.sine, m * ratio) / ratio - m;
    sum += error * error;
  };
  for (const Complex& z : values) {
    add(z.real());
    add(z.imag());
  }
  return c.options.slot_to_coeff_first ? sum / static_cast<double>(values.size()) : sum;
}

class Chooser {
 public:
  Chooser(const Params& params, const FormRequest& request)
      : params_(params), request_(request), coefficients_(request.known.sample) {
    if (!coefficients_.empty()) Encoder(params.log_n()).inverse(coefficients_);
    const int first_level = params.bootstrap()->stc_levels;
    if (request.slot_to_coeff_first.value_or(false) && request.level < first_level) {
      throw LevelError(kChoice, "level " + std::to_string(request.level) + " and SlotToCoeff first",
                       "level " + std::to_string(first_level) + " or more",
                       "refresh earlier, or leave the option out");
    }
    if (request.slot_to_coeff_first.value_or(request.level >= first_level)) add_slots_first();
    if (!request.slot_to_coeff_first.value_or(false)) add_usual();
  }

  // The best form of each order, or nullptr if the order is not possible.
  const Candidate* best_first() const {
    const auto at = std::ranges::find_if(candidates_, is_first);
    return at == candidates_.end() ? nullptr : &*at;
  }

  const Candidate* best_usual() const {
    return levels_count_ || best_first() == nullptr ? frugal_usual() : precise_usual();
  }

  const Candidate& best() const {
    const Candidate *usual = best_usual(), *first = best_first();
    if (usual == nullptr && first == nullptr) throw *refused_;
    if (usual == nullptr || first == nullptr) return usual == nullptr ? *first : *usual;
    return worth(*first) >= worth(*usual) ? *first : *usual;
  }

  // The form by precision alone, or by what else matters at this scale.
  double worth(const Candidate& c) const {
    const double bits = std::min(c.bits, kMaxBits);
    if (!levels_count_) return bits;
    return bits - kBitsPerLevel * c.spent + (is_first(c) ? kBitsForSpeed : 0);
  }
  bool levels_count() const { return levels_count_; }

 private:
  void add_slots_first() {
    BootstrapOptions o = common();
    o.slot_to_coeff_first = true;
    o.over_mod_raise = request_.over_mod_raise.value_or(can_over_raise(params_));
    o.arcsine = request_.arcsine.value_or(0);
    o.log_message_ratio = request_.log_message_ratio.value_or(0);
    add(o);
  }

  // Random-like data keep the levels. If there are few slots, their coefficients are not small, and
  // a larger ratio helps.
  void add_usual() {
    BootstrapOptions o = common();
    o.over_mod_raise = request_.over_mod_raise.value_or(false);
    const bool random_like = request_.known.random_like && request_.known.sample.empty();
    std::vector<int> degrees{0}, ratios{0};
    if (request_.arcsine) {
      degrees = {*request_.arcsine};
    } else if (!random_like && !params_.bootstrap()->arcsine) {
      degrees = {0, 3, 7};  // degree 5 takes as many levels as 7
    }
    if (request_.log_message_ratio) {
      ratios = {*request_.log_message_ratio};
    } else {
      const int own = params_.bootstrap()->log_message_ratio;
      for (int r = random_like ? own + 1 : 2; r <= kMaxRatio; ++r) ratios.push_back(r);
    }
    for (const int degree : degrees) {
      for (const int ratio : ratios) {
        check_interrupt();
        o.arcsine = degree;
        o.log_message_ratio = ratio;
        add(o);
      }
    }
  }

  // Among the forms that suffice, takes those with the fewest levels, and of these the most precise
  // one. If none suffices, takes the most precise one.
  const Candidate* frugal_usual() const {
    const Candidate *enough = nullptr, *best = nullptr;
    const auto left = [this](const Candidate& c) {
      return c.bits - (levels_count_ ? kBitsPerLevel * c.spent : 0);
    };
    for (const Candidate& c : candidates_) {
      if (is_first(c)) continue;
      if (best == nullptr || left(c) > left(*best)) best = &c;
      if (c.bits < kEnoughBits) continue;
      if (enough == nullptr || c.spent < enough->spent ||
          (c.spent == enough->spent && c.bits > enough->bits)) {
        enough = &c;
      }
    }
    return enough != nullptr ? enough : best;
  }

  const Candidate* precise_usual() const {
    const auto rank = [](const Candidate& c) {
      return std::tuple(std::min(c.bits, kMaxBits), -c.spent, c.bits);
    };
    const Candidate* best = nullptr;
    for (const Candidate& c : candidates_) {
      if (!is_first(c) && (best == nullptr || rank(c) > rank(*best))) best = &c;
    }
    return best;
  }

  static bool is_first(const Candidate& c) { return c.options.slot_to_coeff_first; }

  // The closed form of the mean bits is enough to compare forms.
  double mean_bits(const Candidate& c) const {
    const MessageProperties& known = request_.known;
    const double normal = std::numbers::pi / 4, noise = c.form.noise.total();
    if (!known.sample.empty()) {
      const double of_sine = sine_error_on_sample(c, is_first(c) ? known.sample : coefficients_);
      return -0.5 * std::log2(noise * normal + of_sine);
    }
    const double random = (noise + sine_error_on_random(params_, c)) * normal;
    if (known.random_like) return -0.5 * std::log2(random);
    // All slots are equal: then one coefficient has that size, or every slot does.
    const double ratio = c.form.plan.message_ratio;
    const double bias = reduced_exactly(c.form.sine, known.largest * ratio) / ratio - known.largest;
    return -0.5 * std::log2(std::max(random, noise * normal + bias * bias));
  }

  BootstrapOptions common() const {
    BootstrapOptions o;
    o.slots = request_.slots;
    o.message = request_.message;
    o.minimal_keys = request_.minimal_keys;
    return o;
  }

  // A form that the set does not have is no candidate. If there is no candidate left, the caller
  // gets the error.
  void add(const BootstrapOptions& options) {
    try {
      Candidate c{options, form_of(params_, options)};
      const int most =
          options.slot_to_coeff_first ? params_.default_level() : params_.level_after_bootstrap();
      c.spent = most - c.form.plan.end_level;
      c.bits = mean_bits(c);
      candidates_.push_back(std::move(c));
    } catch (const ParameterError& error) {
      if (!refused_) refused_.emplace(error);
    }
  }

  const Params& params_;
  const FormRequest& request_;
  const bool levels_count_ = std::abs(std::log2(params_.scale(0)) - kLevelsCountAt) < 0.5;
  std::vector<Complex> coefficients_;  // of the sample, if there is one
  std::vector<Candidate> candidates_;
  std::optional<ParameterError> refused_;
};

std::string form_text(const Params& params, const Candidate& c) {
  std::string out = c.options.slot_to_coeff_first ? "SlotToCoeff first" : "the usual order";
  if (c.options.over_mod_raise) out += " with OverModRaise";
  if (c.options.arcsine > 1) {
    out += ", arcsine of degree " + std::to_string(c.options.arcsine);
  }
  const std::string ratio =
      formatted(", message ratio 2^%.1f", std::log2(c.form.plan.message_ratio));
  const bool own = c.options.slot_to_coeff_first || c.options.log_message_ratio == 0;
  return own && c.form.plan.message_ratio <= params.bootstrap_message_ratio() ? out : out + ratio;
}

std::string bits_text(const Bootstrapper::Precision& bits) {
  return formatted("about %.1f bits (worst slot %.1f)", bits.mean_bits, bits.max_bits);
}

// The reason for this form. `other`: the best form of the other order, if that order was possible.
std::string why(const Params& params, const FormRequest& request, const Chooser& chooser,
                const Candidate& best, const Candidate* other) {
  const int first_level = params.bootstrap()->stc_levels;
  const bool asked = request.slot_to_coeff_first || request.over_mod_raise || request.arcsine ||
                     request.log_message_ratio;
  const bool first = best.options.slot_to_coeff_first;
  const std::string levels = std::to_string(first_level) + " levels";
  if (first && asked) return "as asked";
  if (first && (other == nullptr || chooser.levels_count())) {
    return "the level leaves SlotToCoeff's " + levels;
  }
  std::string out = asked                         ? "as far as asked"
                    : request.level < first_level ? "the level is below SlotToCoeff's " + levels
                                                  : "it is predicted to be more precise";
  if (first && !(chooser.worth(best) > chooser.worth(*other))) {
    out = "it is predicted to be precise enough, and leaves more levels";
  }
  if (!request.known.sample.empty()) return out + ", for messages like the sample";
  return out + (request.known.random_like ? ", for random-like data"
                                          : ", for data not declared random-like");
}

Bootstrapper::Precision predicted_for(const Params& params, const BootstrapOptions& options,
                                      const MessageProperties& known) {
  if (!known.sample.empty()) return predict_precision(params, options, known.sample);
  const Bootstrapper::Precision random = predict_precision(params, options);
  if (known.random_like) return random;
  const int slots = options.slots == 0 ? params.max_slots() : options.slots;
  const Bootstrapper::Precision constant = predict_precision(
      params, options, std::vector<Complex>(static_cast<std::size_t>(slots), known.largest));
  return {std::min(random.mean_bits, constant.mean_bits),
          std::min(random.max_bits, constant.max_bits)};
}

void check_request(const Params& params, const FormRequest& request) {
  const int slots = request.slots == 0 ? params.max_slots() : request.slots;
  if (slots < 1 || slots > params.max_slots() || !std::has_single_bit(unsigned(slots))) {
    throw ShapeError(kChoice, std::to_string(slots) + " slots",
                     "a power of two up to " + std::to_string(params.max_slots()),
                     "round the slot count up");
  }
  if (!request.known.sample.empty()) {
    require_slots(kChoice, static_cast<int>(request.known.sample.size()), slots);
  }
  if (!(request.known.largest > 0 && request.known.largest <= 1)) {
    throw ValueError(kChoice, "values of size " + std::to_string(request.known.largest),
                     "a bound above 0 and at most 1", "scale the data into the unit box");
  }
}

}  // namespace

Choice choose_form(const Params& params, const FormRequest& request) {
  params.level_after_bootstrap();  // throws for parameters without bootstrapping
  check_request(params, request);
  const Chooser chooser(params, request);
  const Candidate& best = chooser.best();
  const Candidate* const other =
      best.options.slot_to_coeff_first ? chooser.best_usual() : chooser.best_first();
  Choice choice;
  choice.options = best.options;
  choice.input_level = best.options.slot_to_coeff_first ? params.bootstrap()->stc_levels : 0;
  choice.output_level = best.form.plan.end_level;
  choice.predicted = predicted_for(params, best.options, request.known);
  choice.reason = form_text(params, best) + ": " + why(params, request, chooser, best, other) +
                  "; " + std::to_string(choice.output_level) + " levels after it, " +
                  bits_text(choice.predicted);
  if (other != nullptr) {
    choice.reason += "; instead of " + form_text(params, *other) + ": " +
                     std::to_string(other->form.plan.end_level) + " levels, " +
                     bits_text(predicted_for(params, other->options, request.known));
  }
  return choice;
}

}  // namespace latticino::ckks::bootstrap
