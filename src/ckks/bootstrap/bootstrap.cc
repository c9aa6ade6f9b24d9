#include "ckks/bootstrap/bootstrap.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>
#include <span>
#include <string>

#include "ckks/bootstrap/dft_factors.h"
#include "ckks/bootstrap/eval_mod.h"
#include "ckks/bootstrap/over_raise.h"
#include "ckks/bootstrap/precision.h"
#include "ckks/bootstrap/scale_plan.h"
#include "ckks/bootstrap/sine.h"
#include "ckks/bootstrap/slots_to_coefficients.h"
#include "ckks/evaluator/batches.h"
#include "ckks/evaluator/checks.h"
#include "ckks/evaluator/product_sum.h"
#include "ckks/linear/linear_transform.h"
#include "math/errors.h"
#include "runtime/observe.h"

namespace latticino::ckks {
namespace {

constexpr const char* kName = "ckks.bootstrap";

const Params& bootstrappable(const Params& params) {
  if (!params.bootstrap()) {
    throw ParameterError(kName, "parameters '" + params.name() + "' without bootstrapping levels",
                         "a bootstrapping set", "choose a preset with boot in its name");
  }
  return params;
}

int plan_slots(const Params& params, int slots) {
  if (slots == 0) return params.max_slots();
  if (slots < 1 || slots > params.max_slots() || !std::has_single_bit(unsigned(slots))) {
    throw ShapeError(kName, std::to_string(slots) + " slots",
                     "a power of two up to " + std::to_string(params.max_slots()),
                     "round the slot count up");
  }
  return slots;
}

const BootstrapOptions& checked(const BootstrapOptions& options, const Params& params) {
  if (options.over_mod_raise && !bootstrap::can_over_raise(params)) {
    throw ParameterError(kName,
                         "OverModRaise with P of " + std::to_string(params.log_p()) + " bits",
                         "at least " + std::to_string(bootstrap::over_raise_log_p(params)),
                         "leave the option out for this set");
  }
  return options;
}

}  // namespace

struct Bootstrapper::Plan {
  Plan(std::shared_ptr<const Context> c, const BootstrapOptions& o)
      : context(std::move(c)),
        params(bootstrappable(context->params())),
        options(checked(o, params)),
        slots(plan_slots(params, o.slots)),
        shape(bootstrap::plan_shape(o, slots)),
        apart(shape.apart(params)),
        sine(bootstrap::sine_polynomial(*params.bootstrap(), o.arcsine, o.log_message_ratio)),
        scales(bootstrap::plan_scales(params, sine, shape)),
        noise(bootstrap::plan_noise(params, sine, scales, shape)),
        reduction(params, sine, scales.sine_level, scales.before_arcsine) {
    const int log_slots = shape.log_slots;
    const FftTables tables(log_slots);
    const auto halves = apart ? bootstrap::Halves::Apart : bootstrap::Halves::Together;
    const std::vector<bootstrap::DftFactor> factors =
        cts_factors(tables, log_slots, scales.cts_constants, halves);
    if (shape.over_raised) over.emplace(context, factors.front());
    cts = bootstrap::encode_factors(context, std::span(factors).subspan(over ? 1 : 0),
                                    scales.cts_level, options.minimal_keys, true);
    if (!shape.slots_first) {
      stc = bootstrap::encode_factors(context,
                                      stc_factors(tables, log_slots, scales.stc_constants, halves),
                                      scales.stc_level, options.minimal_keys, scales.last_merged);
    } else if (!options.half) {
      first.emplace(context, slots, scales.message_ratio, options.minimal_keys);
    }
  }

  std::shared_ptr<const Context> context;
  const Params& params;
  BootstrapOptions options;
  int slots;
  bootstrap::PlanShape shape;
  bool apart;  // both halves are in one ciphertext of twice the slots
  bootstrap::SinePolynomial sine;
  bootstrap::ScalePlan scales;
  BootstrapNoise noise;
  bootstrap::EvalMod reduction;
  std::optional<bootstrap::OverRaisedFactor> over;
  std::vector<LinearTransform> cts, stc;
  std::optional<bootstrap::SlotsToCoefficients> first;
};

Bootstrapper::Bootstrapper(std::shared_ptr<const Context> context, const BootstrapOptions& options)
    : plan_(std::make_unique<Plan>(std::move(context), options)) {}
Bootstrapper::~Bootstrapper() = default;
Bootstrapper::Bootstrapper(Bootstrapper&&) noexcept = default;

const BootstrapOptions& Bootstrapper::options() const { return plan_->options; }
double Bootstrapper::message_ratio() const { return plan_->scales.message_ratio; }
const BootstrapNoise& Bootstrapper::noise() const { return plan_->noise; }
double Bootstrapper::sine_ratio() const {
  const double ratio = message_ratio();
  if (plan_->sine.arcsine.empty()) return ratio;
  const double taken = std::abs(bootstrap::reduced_exactly(plan_->sine, ratio) / ratio - 1);
  return std::sqrt(6 * taken) / (2 * std::acos(-1.0));
}
int Bootstrapper::input_level() const {
  return plan_->shape.slots_first ? plan_->scales.stc_level : 0;
}
int Bootstrapper::output_level() const { return plan_->scales.end_level; }

Bootstrapper::Precision Bootstrapper::predicted_precision(std::span<const Complex> message) const {
  if (!message.empty()) require_slots(kName, static_cast<int>(message.size()), plan_->slots);
  return bootstrap::predict_precision(plan_->params, plan_->options, message);
}

std::size_t Bootstrapper::bytes() const {
  std::size_t total =
      (plan_->over ? plan_->over->bytes() : 0) + (plan_->first ? plan_->first->bytes() : 0);
  for (const auto* factors : {&plan_->cts, &plan_->stc}) {
    for (const LinearTransform& f : *factors) total += f.bytes();
  }
  return total;
}

// Lifts exactly to the top modulus and switches back. `like` is at the top level.
std::vector<Bootstrapper::Pair> Bootstrapper::raised_parts(const Evaluator& evaluator,
                                                           std::span<const Pair> low,
                                                           const Ciphertext& like) const {
  const Params& params = plan_->params;
  Queue& queue = plan_->context->queue();
  const Ring& ring = plan_->context->ring();
  // The switch back to the dense secret needs the a-part modulo P as well. Raising it there makes
  // the ModUp of that switch unnecessary. OverModRaise multiplies both parts modulo Q P, so it
  // needs both of them there.
  const Basis all = params.extended(like.level), q = params.basis(like.level);
  Transform down, up;
  ModRaise raise;
  std::vector<Pair> raised;
  for (const Pair& x : low) {
    const Poly b = queue.allocate(ring, plan_->over ? all : q, Domain::Coeff);
    const Poly a = queue.allocate(ring, all, Domain::Coeff);
    const PolyView low_b = x[0].view.in(Domain::Coeff), low_a = x[1].view.in(Domain::Coeff);
    down.items.insert(down.items.end(),
                      {{.in = x[0].view, .out = low_b}, {.in = x[1].view, .out = low_a}});
    raise.items.insert(raise.items.end(),
                       {{.in = low_b, .out = b.view}, {.in = low_a, .out = a.view}});
    up.items.push_back({.in = b.view, .out = b.view.in(Domain::Eval)});
    if (plan_->over) {
      up.items.push_back({.in = a.view, .out = a.view.in(Domain::Eval)});
    } else {
      const PolyView a_q = a.view.select(q), a_p = a.view.select(params.aux_basis());
      up.items.push_back({.in = a_q, .out = a_q.in(Domain::Eval)});
      up.items.push_back({.in = a_p, .out = a_p.in(Domain::Half)});
    }
    raised.push_back({b, a});
  }
  queue.submit(std::move(down));
  queue.submit(std::move(raise));
  queue.submit(std::move(up));
  if (plan_->over) {
    std::vector<std::array<PolyView, 2>> views;
    views.reserve(raised.size());
    for (const auto& [b, a] : raised) {
      views.push_back({b.view.in(Domain::Eval), a.view.in(Domain::Eval)});
    }
    return plan_->over->apply(evaluator, like, views);
  }
  std::vector<rlwe::RaisedPair> views;
  views.reserve(raised.size());
  for (const auto& [b, a] : raised) {
    views.push_back({b.view.in(Domain::Eval), a.view.select(q).in(Domain::Eval),
                     a.view.select(params.aux_basis()).in(Domain::Half)});
  }
  const rlwe::SwitchKey& to_dense = evaluator.key(kName, like, {rlwe::KeyKind::SparseToDense, 1});
  return rlwe::switch_from_sparse(queue, plan_->context->constants(), views, to_dense, like.level);
}

// Scale-up, switch to the sparse secret, exact lift to the top modulus, switch back, and for sparse
// slots the trace into the subring of the message.
std::vector<Ciphertext> Bootstrapper::raised(const Evaluator& evaluator,
                                             std::span<const Ciphertext> x) const {
  const Plan& plan = *plan_;
  const Stage stage(plan.context->queue(), "bootstrap.mod_raise");
  std::vector<Ciphertext> scaled(x.begin(), x.end());
  if (!plan.shape.slots_first) {  // SlotToCoeff has already brought it to level 0
    scaled = evaluator.multiply_integer(evaluator.to_level(x, 0), plan.scales.scale_up);
  }
  const rlwe::SwitchKey& to_sparse =
      evaluator.key(kName, scaled[0], {rlwe::KeyKind::DenseToSparse, 1});
  std::vector<std::array<PolyView, 2>> views;
  views.reserve(scaled.size());
  for (const Ciphertext& c : scaled) views.push_back({c.parts[0].view, c.parts[1].view});
  return raised_sparse(
      evaluator,
      rlwe::switch_to_sparse(plan.context->queue(), plan.context->constants(), views, to_sparse),
      x[0].key);
}

Ciphertext Bootstrapper::mod_raise(const Evaluator& evaluator, const Ciphertext& x) const {
  return std::move(raised(evaluator, std::span(&x, 1)).front());
}

// Raises pairs modulo q0 under the sparse secret.
std::vector<Ciphertext> Bootstrapper::raised_sparse(const Evaluator& evaluator,
                                                    std::span<const Pair> low,
                                                    const rlwe::KeyId& key) const {
  const Plan& plan = *plan_;
  const Params& params = plan.params;
  Ciphertext like{plan.context, {}, plan.scales.cts_level, plan.scales.raised_scale, 0, key};
  std::vector<Ciphertext> out;
  for (Pair& parts : raised_parts(evaluator, low, like)) {
    Ciphertext& raised = out.emplace_back(like);
    raised.parts = {std::move(parts[0]), std::move(parts[1])};
    raised.slots = params.max_slots();  // the integers I fill the whole ring
  }
  out = evaluator.inner_sum(out, plan.slots, params.max_slots() / plan.slots);
  for (Ciphertext& raised : out) raised.slots = plan.slots;
  return out;
}

namespace {

// z + conj(z), and if `both` is set also i (conj(z) - z): twice the real and the imaginary parts of
// the slots.
Batch halves(const Evaluator& evaluator, const Batch& z, bool both) {
  const Batch conjugate = evaluator.conjugate(z);
  const auto sum = [&](Complex c, Complex d) {
    return linear_sum({{&z, c}, {&conjugate, d}}, 0, z[0].level, z[0].scale);
  };
  Batch out = sum(1, 1);
  if (!both) return out;
  for (Ciphertext& im : sum({0, -1}, {0, 1})) out.push_back(std::move(im));
  return out;
}

}  // namespace

// Applies the factors of the inverse transform. Then it makes z + conj(z) and, if the other half
// counts and is not in the same ciphertext, i (conj(z) - z).
std::vector<Ciphertext> Bootstrapper::split(const Evaluator& evaluator,
                                            std::vector<Ciphertext> z) const {
  const Plan& plan = *plan_;
  const Stage stage(plan.context->queue(), "bootstrap.coeff_to_slot");
  for (const LinearTransform& factor : plan.cts) {
    if (plan.apart && &factor == &plan.cts.back()) {
      for (Ciphertext& c : z) c.slots = 2 * plan.slots;
    }
    z = factor.apply(evaluator, z);
  }
  const bool real = plan.options.half || (plan.shape.slots_first &&
                                          plan.options.message == BootstrapOptions::Message::Real);
  return halves(evaluator, z, !plan.apart && !real);
}

std::vector<Ciphertext> Bootstrapper::coeff_to_slot(const Evaluator& evaluator,
                                                    const Ciphertext& x) const {
  return split(evaluator, {x});
}

std::vector<Ciphertext> Bootstrapper::eval_mod(const Evaluator& evaluator,
                                               std::vector<Ciphertext> x) const {
  const Stage stage(plan_->context->queue(), "bootstrap.eval_mod");
  return plan_->reduction.apply(evaluator, std::move(x), plan_->scales.sine_scale);
}

// `count`: the number of results. The inputs are as many real halves or joined pairs, or both
// halves of each.
std::vector<Ciphertext> Bootstrapper::back(const Evaluator& evaluator, Span x,
                                           std::size_t count) const {
  const Plan& plan = *plan_;
  const Stage stage(plan.context->queue(), "bootstrap.slot_to_coeff");
  Batch z(x.begin(), x.begin() + static_cast<std::ptrdiff_t>(count));
  if (x.size() > count) z = evaluator.add(z, evaluator.multiply_i(x.subspan(count), 1));
  if (!plan.shape.slots_first) {
    for (const LinearTransform& factor : plan.stc) z = factor.apply(evaluator, z);
    if (plan.apart) z = evaluator.add(z, evaluator.rotate(z, plan.slots));
  }
  for (Ciphertext& c : z) {
    c.slots = plan.slots;
    // The constants of the plan were chosen so that this is the scale, apart from rounding.
    c.scale = plan.params.scale(plan.scales.end_level);
  }
  return z;
}

Ciphertext Bootstrapper::slot_to_coeff(const Evaluator& evaluator,
                                       const std::vector<Ciphertext>& x) const {
  return std::move(back(evaluator, x, 1).front());
}

Ciphertext Bootstrapper::bootstrap_half(const Evaluator& evaluator, const std::array<Poly, 2>& low,
                                        const rlwe::KeyId& key, double ratio) const {
  const Plan& plan = *plan_;
  if (!plan.options.half) {
    throw UnsupportedError("ckks.bootstrap", "a plan for whole bootstrappings",
                           "a plan for half of it", "set the option half");
  }
  std::vector<Ciphertext> z = split(evaluator, raised_sparse(evaluator, std::span(&low, 1), key));
  z = plan.reduction.apply(evaluator, std::move(z),
                           bootstrap::sine_scale_for(plan.params, plan.scales, ratio));
  return std::move(back(evaluator, z, 1).front());
}

void Bootstrapper::require(const Evaluator& evaluator, const Ciphertext& x) const {
  const Plan& plan = *plan_;
  require_context(kName, *plan.context, x);
  require_context(kName, *evaluator.context(), x);
  require_parts(kName, x, 2);
  require_level(kName, x.level, input_level());
  if (x.slots > plan.slots) {
    throw ShapeError(kName, std::to_string(x.slots) + " slots",
                     "at most " + std::to_string(plan.slots),
                     "make a Bootstrapper for this slot count");
  }
  // If keys of bootstrapping are missing, the error names bootstrapping, and not the first product
  // inside it.
  Ciphertext lowest = x;
  lowest.level = 0;
  evaluator.key(kName, lowest, {rlwe::KeyKind::DenseToSparse, 1});
}

// Everything up to EvalMod. `join`: both halves become one ciphertext where this is possible.
std::vector<Ciphertext> Bootstrapper::refreshed_halves(const Evaluator& evaluator, Span x,
                                                       bool join) const {
  const Plan& plan = *plan_;
  if (plan.options.half) {
    throw UnsupportedError(kName, "a plan for half bootstrappings", "a plan for whole ones",
                           "leave the option half out");
  }
  for (const Ciphertext& c : x) require(evaluator, c);
  std::vector<Ciphertext> z(x.begin(), x.end());
  if (plan.first) {
    const Stage stage(plan.context->queue(), "bootstrap.slot_to_coeff");
    z = plan.first->apply(evaluator, z);
  }
  z = split(evaluator, raised(evaluator, z));
  if (!join || z.size() == x.size()) return eval_mod(evaluator, std::move(z));
  const Stage stage(plan.context->queue(), "bootstrap.eval_mod");
  return plan.reduction.joined(evaluator, std::move(z), plan.scales.sine_scale);
}

std::vector<Ciphertext> Bootstrapper::refresh(const Evaluator& evaluator, Span x) const {
  std::vector<Ciphertext> y = back(evaluator, refreshed_halves(evaluator, x, true), x.size());
  for (std::size_t i = 0; i < x.size(); ++i) y[i].slots = x[i].slots;
  return y;
}

std::vector<Ciphertext> Bootstrapper::bootstrap_batch(const Evaluator& evaluator, Span x) const {
  std::vector<Ciphertext> y = refresh(evaluator, x);
  // With SlotToCoeff first, there is no other half to remove.
  const bool real = options().message == BootstrapOptions::Message::Real;
  if (!real || plan_->shape.slots_first) return y;
  return evaluator.add(y, evaluator.conjugate(y));
}

Ciphertext Bootstrapper::bootstrap(const Evaluator& evaluator, const Ciphertext& x) const {
  return std::move(bootstrap(evaluator, Span(&x, 1)).front());
}

std::vector<Ciphertext> Bootstrapper::bootstrap(const Evaluator& evaluator, Span x) const {
  if (options().message == BootstrapOptions::Message::MergedReals) {
    throw UnsupportedError(kName, "one ciphertext and a plan for merged reals", "two ciphertexts",
                           "call bootstrap_pair, or plan for complex messages");
  }
  std::vector<Ciphertext> out;
  for (std::size_t first = 0; first < x.size(); first += kMaxBatch) {
    const Span part = x.subspan(first, std::min(kMaxBatch, x.size() - first));
    for (Ciphertext& y : bootstrap_batch(evaluator, part)) out.push_back(std::move(y));
  }
  return out;
}

// First all first results, then all second ones.
std::vector<Ciphertext> Bootstrapper::bootstrap_pair_batch(const Evaluator& evaluator, Span re,
                                                           Span im) const {
  const int level = input_level();
  const Batch merged = evaluator.add(evaluator.to_level(re, level),
                                     evaluator.multiply_i(evaluator.to_level(im, level), 1));
  if (!plan_->shape.slots_first) return halves(evaluator, refresh(evaluator, merged), true);
  Batch out = refreshed_halves(evaluator, merged, false);
  out = back(evaluator, out, out.size());
  for (std::size_t i = 0; i < out.size(); ++i) out[i].slots = re[i % re.size()].slots;
  return out;
}

std::pair<Ciphertext, Ciphertext> Bootstrapper::bootstrap_pair(const Evaluator& evaluator,
                                                               const Ciphertext& re,
                                                               const Ciphertext& im) const {
  auto [first, second] = bootstrap_pairs(evaluator, Span(&re, 1), Span(&im, 1));
  return {std::move(first[0]), std::move(second[0])};
}

std::pair<std::vector<Ciphertext>, std::vector<Ciphertext>> Bootstrapper::bootstrap_pairs(
    const Evaluator& evaluator, Span re, Span im) const {
  constexpr const char* kPair = "ckks.bootstrap_pair";
  if (options().message != BootstrapOptions::Message::MergedReals) {
    throw UnsupportedError(kPair, "a plan for single ciphertexts", "a plan for merged reals",
                           "set message to MergedReals");
  }
  require_same_count(kPair, im.size(), re.size());
  for (std::size_t i = 0; i < re.size(); ++i) {
    require_context(kPair, *plan_->context, re[i]);
    require_compatible(kPair, re[i], im[i]);
  }
  std::vector<Ciphertext> first, second;
  for (std::size_t at = 0; at < re.size(); at += kMaxBatch) {
    const std::size_t count = std::min(kMaxBatch, re.size() - at);
    std::vector<Ciphertext> both =
        bootstrap_pair_batch(evaluator, re.subspan(at, count), im.subspan(at, count));
    for (std::size_t i = 0; i < both.size(); ++i) {
      (i < count ? first : second).push_back(std::move(both[i]));
    }
  }
  return {std::move(first), std::move(second)};
}

}  // namespace latticino::ckks
