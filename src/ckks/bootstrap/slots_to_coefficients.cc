#include "ckks/bootstrap/slots_to_coefficients.h"

#include <bit>

#include "ckks/bootstrap/scale_plan.h"
#include "ckks/evaluator/checks.h"

namespace latticino::ckks::bootstrap {

std::vector<LinearTransform> encode_factors(const std::shared_ptr<const Context>& context,
                                            std::span<const DftFactor> factors, int level,
                                            bool minimal_keys, bool last_merged) {
  std::vector<LinearTransform> out;
  for (const DftFactor& f : factors) {
    LinearTransform::Options options;
    options.level = level;
    options.plaintext_scale = context->params().rescale_factor(level);
    options.hoisted = !minimal_keys;
    options.merged = last_merged || &f != &factors.back();
    out.emplace_back(context, f.diagonals, f.slots, options);
    --level;
  }
  return out;
}

SlotsToCoefficients::SlotsToCoefficients(const std::shared_ptr<const Context>& context, int slots,
                                         double ratio, bool minimal_keys)
    : slots_(slots), scale_(ratio * context->params().base_modulus()) {
  const Params& params = context->params();
  const int log_slots = std::countr_zero(unsigned(slots));
  const std::vector<double> constants = slots_first_constants(params, log_slots, ratio);
  const std::vector<DftFactor> factors =
      stc_factors(FftTables(log_slots), log_slots, constants, Halves::Together);
  factors_ =
      encode_factors(context, factors, static_cast<int>(constants.size()), minimal_keys, true);
}

Ciphertext SlotsToCoefficients::apply(const Evaluator& evaluator, const Ciphertext& x) const {
  return std::move(apply(evaluator, std::span(&x, 1)).front());
}

std::vector<Ciphertext> SlotsToCoefficients::apply(const Evaluator& evaluator,
                                                   std::span<const Ciphertext> x) const {
  std::vector<Ciphertext> y = evaluator.to_level(x, input_level());
  for (Ciphertext& c : y) c.slots = slots_;
  for (const LinearTransform& factor : factors_) y = factor.apply(evaluator, y);
  for (Ciphertext& c : y) c.scale = scale_;
  return y;
}

std::size_t SlotsToCoefficients::bytes() const {
  std::size_t total = 0;
  for (const LinearTransform& f : factors_) total += f.bytes();
  return total;
}

}  // namespace latticino::ckks::bootstrap
