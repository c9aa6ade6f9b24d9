#include "ckks/linear/linear_transform.h"

#include <algorithm>
#include <bit>
#include <string>

#include "ckks/encoding/encoder.h"
#include "ckks/evaluator/checks.h"
#include "ckks/linear/baby_giant.h"
#include "ckks/linear/hoisting.h"
#include "math/errors.h"
#include "rlwe/galois.h"

namespace latticino::ckks {
namespace {

constexpr const char* kLinearTransform = "ckks.LinearTransform";

int wrapped(int r, int slots) { return ((r % slots) + slots) % slots; }

std::vector<Complex> rotated(const std::vector<Complex>& v, int r) {
  const int n = static_cast<int>(v.size());
  std::vector<Complex> out(v.size());
  std::rotate_copy(v.begin(), v.begin() + wrapped(r, n), v.end(), out.begin());
  return out;
}

// Diagonals with indices in [0, slots) of the transform followed by a rotation by r:
// y_(i+r) = sum_d diag_d[i+r] x_(i+r+d). Zero diagonals are left out.
Diagonals normalised(const Diagonals& diagonals, int slots, int r) {
  Diagonals out;
  for (const auto& [index, values] : diagonals) {
    if (static_cast<int>(values.size()) != slots) {
      throw ShapeError(
          kLinearTransform,
          "diagonal " + std::to_string(index) + " of " + std::to_string(values.size()) + " entries",
          std::to_string(slots) + " entries", "pad it to the number of slots");
    }
    if (std::all_of(values.begin(), values.end(), [](Complex z) { return z == Complex(0); })) {
      continue;
    }
    const std::vector<Complex> shifted = rotated(values, r);
    std::vector<Complex>& sum = out[wrapped(index + r, slots)];
    sum.resize(slots);
    for (int i = 0; i < slots; ++i) sum[i] += shifted[i];
  }
  if (out.empty()) out[0].resize(slots);  // this is the zero matrix
  return out;
}

// Encodes the diagonals: those that multiply the input itself in one batch, those of its rotations
// in another. A diagonal without values is one that a dry run does not know.
template <class Encode>
void fill_rows(HoistedSum& sum, const BabyGiant& steps, const Diagonals& given, int slots,
               const Encode& encode) {
  const auto position = [](const std::vector<int>& v, int x) {
    return static_cast<int>(std::lower_bound(v.begin(), v.end(), x) - v.begin());
  };
  for (const bool rotated_input : {false, true}) {
    std::vector<std::vector<Complex>> turned;  // the giant rotation comes after the product
    std::vector<int> indices;
    for (const auto& [index, values] : given) {
      if ((steps.baby_of(index) != 0) != rotated_input) continue;
      if (!values.empty()) turned.push_back(rotated(values, -steps.giant_of(index)));
      indices.push_back(index);
    }
    if (indices.empty()) continue;
    const std::vector<Values> batch(turned.begin(), turned.end());
    const int unknown = turned.empty() ? static_cast<int>(indices.size()) : 0;
    std::vector<CompactFactor> encoded = encode({batch, unknown, slots}, rotated_input);
    for (std::size_t k = 0; k < indices.size(); ++k) {
      sum.rows[position(sum.giants, steps.giant_of(indices[k]))].push_back(
          HoistedSum::term(position(sum.babies, steps.baby_of(indices[k])), std::move(encoded[k])));
    }
  }
}

}  // namespace

Diagonals for_rotated_input(const Diagonals& diagonals, int r, int slots) {
  Diagonals out;
  for (const auto& [index, values] : diagonals) out[wrapped(index - r, slots)] = values;
  return out;
}

namespace {

void require_form(const Params& params, int slots, const LinearTransform::Options& options) {
  require_level(kLinearTransform, options.level, 1);
  require_level(kLinearTransform, params.top_level(), options.level);
  if (slots < 1 || slots > params.max_slots() || !std::has_single_bit(unsigned(slots))) {
    throw ShapeError(kLinearTransform, std::to_string(slots) + " slots",
                     "a power of two up to " + std::to_string(params.max_slots()),
                     "pad the matrix");
  }
  if (options.compact && !options.hoisted) {
    throw UnsupportedError(kLinearTransform, "diagonals kept as integers, and minimal keys",
                           "one of them", "keep the diagonals encoded");
  }
  if (options.baby_steps != 0 && !std::has_single_bit(unsigned(std::abs(options.baby_steps)))) {
    throw UnsupportedError(kLinearTransform, std::to_string(options.baby_steps) + " baby steps",
                           "a power of two, or 0", "leave the choice to the library");
  }
}

}  // namespace

struct LinearTransform::Plan {
  Options options;
  int slots = 0;
  bool rotates = false;  // any key at all
  BabyGiant steps;
  HoistedSum sum;  // indexed by position in `steps`: babies, giants and encoded diagonals
};

double weight_scale(const Params& params, int level) {
  const double keep = params.rescale_factor(level);
  return level > params.default_level() ? keep
                                        : keep * (params.scale(level - 1) / params.scale(level));
}

LinearTransform::LinearTransform(const std::shared_ptr<const Context>& context,
                                 const Diagonals& diagonals, int slots, const Options& options)
    : plan_(std::make_unique<Plan>()) {
  require_form(context->params(), slots, options);
  fill(context, normalised(diagonals, slots, options.pre_rotation), slots, options);
}

LinearTransform::LinearTransform(const std::shared_ptr<const Context>& context,
                                 std::span<const int> rotations, int slots, const Options& options)
    : plan_(std::make_unique<Plan>()) {
  require_form(context->params(), slots, options);
  Diagonals unknown;
  for (const int r : rotations) unknown[wrapped(r + options.pre_rotation, slots)] = {};
  if (unknown.empty()) unknown[0] = {};
  fill(context, unknown, slots, options);
}

void LinearTransform::fill(const std::shared_ptr<const Context>& context, const Diagonals& given,
                           int slots, const Options& options) {
  const Params& params = context->params();
  std::vector<int> rotations;
  for (const auto& [index, values] : given) rotations.push_back(index);
  Plan& plan = *plan_;
  plan.options = options;
  plan.slots = slots;
  plan.steps = split_rotations(rotations, slots, options.baby_steps,
                               options.hoisted ? StepCost::Hoisted : StepCost::Iterated);
  plan.rotates = rotations.size() > 1 || rotations[0] != 0;
  if (options.plaintext_scale == 0) {
    plan.options.plaintext_scale = weight_scale(params, options.level);
  }
  plan.sum.merged = options.merged;
  plan.sum.babies = plan.steps.babies;
  plan.sum.giants = plan.steps.giants;
  plan.sum.rows.resize(plan.sum.giants.size());
  fill_rows(plan.sum, plan.steps, given, slots, [&](const Factors& factors, bool rotated) {
    const TermForm form{options.level, plan.options.plaintext_scale,
                        plan.rotates && options.hoisted, options.compact};
    return encode_terms(context, factors, form, rotated);
  });
}

LinearTransform::~LinearTransform() = default;
LinearTransform::LinearTransform(LinearTransform&&) noexcept = default;
LinearTransform& LinearTransform::operator=(LinearTransform&&) noexcept = default;

int LinearTransform::level() const { return plan_->options.level; }
double LinearTransform::plaintext_scale() const { return plan_->options.plaintext_scale; }

namespace {

std::vector<Ciphertext> applied(const Evaluator& evaluator, const HoistedSum& sum,
                                const std::vector<Ciphertext>& in) {
  if (sum.rotates()) return hoisted_sum(evaluator, sum, in);
  std::vector<Ciphertext> products;
  products.reserve(in.size());
  for (const Ciphertext& c : in) {
    products.push_back(evaluator.multiply_no_rescale(c, sum.rows[0][0].factor));
  }
  return evaluator.rescale(products);
}

}  // namespace

Ciphertext LinearTransform::apply(const Evaluator& evaluator, const Ciphertext& x) const {
  return std::move(apply(evaluator, std::span(&x, 1)).front());
}

std::vector<Ciphertext> LinearTransform::apply(const Evaluator& evaluator,
                                               std::span<const Ciphertext> x) const {
  const Plan& plan = *plan_;
  const std::vector<Ciphertext> in =
      transform_inputs(kLinearTransform, evaluator, x, plan.slots, plan.sum.any_factor());
  if (plan.options.compact) return applied(evaluator, plan.sum.expanded(), in);
  if (!plan.rotates || plan.options.hoisted) return applied(evaluator, plan.sum, in);
  std::vector<Ciphertext> out;
  out.reserve(in.size());
  for (const Ciphertext& c : in) {
    out.push_back(iterated_sum(evaluator, plan.sum, plan.steps.stride,
                               plan.steps.stride * plan.steps.steps, c));
  }
  return out;
}

std::vector<int> LinearTransform::rotations() const {
  const Plan& plan = *plan_;
  std::vector<int> out;
  if (!plan.options.hoisted) {
    if (plan.steps.babies.back() > 0) out.push_back(plan.steps.stride);
    if (plan.steps.giants.back() > 0) out.push_back(plan.steps.stride * plan.steps.steps);
    return out;
  }
  for (const int r : plan.steps.babies) {
    if (r != 0) out.push_back(r);
  }
  for (const int r : plan.steps.giants) {
    if (r != 0) out.push_back(r);
  }
  return out;
}

std::size_t LinearTransform::bytes() const { return plan_->sum.bytes(); }

}  // namespace latticino::ckks
