// Rescaling, adjusting and aligning: levels with rational rescaling, canonical scales (paper:
// BitPacker, Sec. 3; Kim, Papadimitriou, Polyakov 2022).
#include <algorithm>
#include <cmath>
#include <string>

#include "ckks/evaluator/batches.h"
#include "ckks/evaluator/checks.h"
#include "ckks/evaluator/evaluator.h"
#include "ckks/evaluator/lowering.h"
#include "ckks/evaluator/scalar.h"
#include "math/errors.h"

namespace latticino::ckks {
namespace {

// The largest relative error that rounding an adjusting constant may cause at `scale`: what the
// next rescaling adds to a slot of size 1, but at most 2^-20.
double adjust_tolerance(const Params& params, int level, double scale) {
  const int primes = params.leaving(level).size();
  return std::min(0x1p-20, std::sqrt(params.n() * params.division_variance(primes)) / scale);
}

// Whether an integer brings values precisely enough from one scale at `level` to another at the
// level below.
bool adjusts(const Params& params, int level, double from, double to) {
  const double exact = to * params.rescale_factor(level) / from;
  return std::abs(std::nearbyint(exact) - exact) <= adjust_tolerance(params, level, to) * exact;
}

}  // namespace

Ciphertext Evaluator::rescale(const Ciphertext& x) const {
  return std::move(rescale(std::span(&x, 1)).front());
}

std::vector<Ciphertext> Evaluator::rescale(std::span<const Ciphertext> x) const {
  std::vector<Ciphertext> out;
  if (x.empty()) return out;
  std::vector<PolyView> views;
  for (const Ciphertext& c : x) {
    require("ckks.rescale", c);
    require_level("ckks.rescale", c.level, 1);
    require_same_level("ckks.rescale", c.level, x[0].level);
    for (const Poly& part : c.parts) views.push_back(part.view);
  }
  const int level = x[0].level;
  const Params& params = context_->params();
  std::vector<Poly> polys = rlwe::rescale(context_->queue(), context_->constants(), views, level);
  auto next = polys.begin();
  for (const Ciphertext& c : x) {
    std::vector<Poly> parts(next, next + static_cast<std::ptrdiff_t>(c.parts.size()));
    next += static_cast<std::ptrdiff_t>(c.parts.size());
    const double scale = c.scale / params.rescale_factor(level);
    out.push_back(with_parts(c, std::move(parts), level - 1, snap_scale(params, level - 1, scale)));
  }
  return out;
}

Ciphertext Evaluator::drop_to(const Ciphertext& x, int level) const {
  require("ckks.drop_to", x);
  require_level("ckks.drop_to", x.level, level);
  require_level("ckks.drop_to", level, 0);
  const Basis basis = context_->params().basis(level);
  if (!x.parts[0].view.basis().contains(basis)) {
    throw LevelError("ckks.drop_to", "primes " + x.parts[0].view.basis().str(),
                     "a superset of " + basis.str() + " (level " + std::to_string(level) + ")",
                     "use to_level(), which rescales where primes enter");
  }
  require_capacity("ckks.drop_to", context_->params(), level, x.scale);
  Ciphertext out = x;
  out.level = level;
  for (Poly& part : out.parts) part.view = part.view.select(basis);
  return out;
}

// One level down to `scale`: multiplies by the integer that makes up for the rescale factor, then
// rescales. With canonical scales the integer is round(S_level).
std::vector<Ciphertext> Evaluator::adjusted(Span x, double scale) const {
  const Params& params = context_->params();
  const double factor = params.rescale_factor(x[0].level);
  const double integer = std::nearbyint(scale * factor / x[0].scale);
  const double tolerance = adjust_tolerance(params, x[0].level, scale);
  if (!adjusts(params, x[0].level, x[0].scale, scale)) {
    throw ScaleError(
        "ckks.to_level_scale", "scale 2^" + std::to_string(std::log2(x[0].scale)),
        "at most 2^" + std::to_string(std::log2(2 * tolerance * scale * factor)) + " to reach 2^" +
            std::to_string(std::log2(scale)) + " one level down",
        "encrypt without a scale of your own, or at one nearer to the canonical scale");
  }
  Ciphertexts out = rescale(times("ckks.to_level_scale", x, integer, 1.0));
  for (Ciphertext& c : out) c.scale = scale;
  return out;
}

Ciphertext Evaluator::to_level(const Ciphertext& x, int level) const {
  return std::move(to_level(std::span(&x, 1), level).front());
}

std::vector<Ciphertext> Evaluator::to_level(Span x, int level) const {
  for (const Ciphertext& c : x) {
    require("ckks.to_level", c);
    require_level("ckks.to_level", level, 0);
    require_level("ckks.to_level", c.level, level);
  }
  return in_batches("ckks.to_level", x, [&](Span part) {
    return lowered(part, level, context_->params().scale(level));
  });
}

Ciphertext Evaluator::to_level_scale(const Ciphertext& x, int level, double scale) const {
  return std::move(lowered(std::span(&x, 1), level, scale).front());
}

std::vector<Adjustment> lowering(const Params& params, int level, double scale, int target,
                                 double target_scale) {
  std::vector<Adjustment> out;
  if (same_scale(scale, target_scale) && params.basis(level).contains(params.basis(target))) {
    return out;
  }
  while (level > target) {
    int from = target + 1;
    while (!params.basis(level).contains(params.basis(from))) ++from;
    const auto wanted = [&](int to) { return to == target ? target_scale : params.scale(to); };
    for (int above = from; above <= level; ++above) {
      if (!adjusts(params, above, scale, wanted(above - 1))) continue;
      from = above;
      break;
    }
    const double below = wanted(from - 1);
    out.push_back({from, below * params.rescale_factor(from) / scale, below});
    level = from - 1;
    scale = below;
  }
  return out;
}

// Drops limbs as long as the lower prime sets are subsets. If a prime must enter, it adjusts once.
// If the scale is too large for that level, it is brought down at a higher level first.
std::vector<Ciphertext> Evaluator::lowered(Span x, int level, double scale) const {
  const Params& params = context_->params();
  for (const Ciphertext& c : x) {
    require("ckks.to_level_scale", c);
    require_level("ckks.to_level_scale", level, 0);
    require_level("ckks.to_level_scale", c.level, level);
  }
  Ciphertexts out(x.begin(), x.end());
  const auto drop = [&](int to) {
    for (Ciphertext& c : out) c = drop_to(c, to);
  };
  const std::vector<Adjustment> steps = lowering(params, x[0].level, x[0].scale, level, scale);
  if (steps.empty()) {
    if (x[0].level == level) require_same_scale("ckks.to_level_scale", x[0].scale, scale);
    if (x[0].level > level) drop(level);
    for (Ciphertext& c : out) c.scale = scale;
    return out;
  }
  for (const Adjustment& step : steps) {
    drop(step.from);
    out = adjusted(out, step.scale);
  }
  return out;
}

// Brings x to a level whose primes y has: returns x itself, or x at y's level and at `scale`.
std::vector<Ciphertext> Evaluator::aligned(const char* operation, Span x,
                                           std::span<const Plaintext> y, double scale) const {
  for (std::size_t i = 0; i < x.size(); ++i) {
    require(operation, x[i]);
    require_context(operation, *context_, y[i]);
    require_slots(operation, y[i].slots, x[i].slots);
  }
  if (y[0].level < x[0].level) return lowered(x, y[0].level, scale);
  const Basis needs = context_->params().basis(x[0].level);
  for (const Plaintext& each : y) {
    if (each.poly.view.basis().contains(needs)) continue;
    throw LevelError(operation, "a plaintext with primes " + each.poly.view.basis().str(),
                     "primes " + needs.str(), "encode it at level " + std::to_string(x[0].level));
  }
  return {x.begin(), x.end()};
}

}  // namespace latticino::ckks
