#include "switch/matvec.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>
#include <string>
#include <utility>

#include "ckks/encoding/encoder.h"
#include "math/errors.h"
#include "rlwe/noise.h"

namespace latticino::switching {
namespace {

constexpr const char* kMatvec = "switching.matvec";
constexpr int kMinLogRing = 10;  // log2 of the smallest degree of a Ring
// Bytes of plaintexts that are made at once.
constexpr std::size_t kStagedBytes = std::size_t{256} << 20;

// Degree of the ring that plaintexts of so many slots are made in: N, or at most a quarter of it
// (record Dot).
int log_plaintext_ring(const Params& ckks, int slots) {
  const int log_n = std::max(kMinLogRing, std::countr_zero(unsigned(slots)) + 1);
  return log_n + 2 <= ckks.log_n() ? log_n : ckks.log_n();
}

// The level of route Ring: after EvalMod in a bootstrapping with SlotToCoeff first.
int output_level(const Params& ckks) {
  return ckks.level_after_bootstrap() + ckks.bootstrap()->stc_levels;
}

std::optional<ckks::bootstrap::SinePolynomial> sine_of(const SwitchParams& params, int rows) {
  const Params& ckks = params.ckks();
  return ckks::bootstrap::sine_for_range(params.overflow_range(rows), ckks.bootstrap()->arcsine,
                                         ckks.top_level() - 1 - output_level(ckks));
}

}  // namespace

MatvecPlan plan_matvec(const SwitchParams& params, const MatvecShape& shape) {
  const Params& ckks = params.ckks();
  MatvecPlan plan;
  plan.shape = shape;
  plan.diagonals = shape.diagonals(params);
  plan.output_level = output_level(ckks);
  const auto sine = sine_of(params, shape.rows);
  if (!sine) {
    throw ParameterError(kMatvec,
                         std::to_string(ckks.top_level() - plan.output_level) +
                             " levels above those of the result in " + ckks.name(),
                         "one for the product and those of a sine up to " +
                             std::to_string(params.overflow_range(shape.rows)),
                         "take route Ring, or a set with more CoeffToSlot levels");
  }
  plan.sine = *sine;
  plan.level = plan.output_level + plan.sine.depth() + 1;
  plan.scale = ckks::bootstrap::eval_mod_input_scale(ckks, plan.level - 1);
  return plan;
}

std::vector<MatvecShape> matvec_shapes(const SwitchParams& params, int rows) {
  const int most = params.ckks().max_slots();
  std::vector<MatvecShape> out;
  if (!sine_of(params, rows)) return out;
  for (int slots = std::min(std::max(params.n(), rows), most); slots <= most; slots *= 2) {
    if (std::int64_t{slots} <= std::int64_t{params.n()} * rows) out.push_back({rows, slots});
  }
  return out;
}

MatvecPacker::MatvecPacker(std::shared_ptr<const Context> context, const MatvecShape& shape)
    : context_(std::move(context)),
      plan_(plan_matvec(context_->params(), shape)),
      reduction_(context_->params().ckks(), plan_.sine, plan_.output_level),
      transform_(std::make_unique<const SlotTransform>(
          log_plaintext_ring(context_->params().ckks(), shape.slots))) {}

const Ring& MatvecPacker::plaintext_ring() const {
  const ckks::Context& ckks = *context_->ckks();
  return transform_->log_n() == ckks.ring().log_n() ? ckks.ring()
                                                    : ckks.subring(transform_->log_n());
}

// The diagonals of the matrix of masks divided by K, encoded at the scale that rescaling divides
// by.
std::vector<Poly> MatvecPacker::encoded(const LweView& lwe, std::span<const std::int32_t> rows,
                                        std::uint32_t first, std::uint32_t count) const {
  const Params& ckks = context_->params().ckks();
  Queue& queue = context_->queue();
  const auto slots = static_cast<std::uint32_t>(plan_.shape.slots);
  const Buffer values = queue.allocate(2 * sizeof(double) * std::size_t{slots} * count);
  auto* numbers = static_cast<double*>(values->data());
  LweSlots words;
  words.items.push_back({.in = lwe,
                         .rows = {rows.begin(), rows.end()},
                         .out = numbers,
                         .slots = slots,
                         .first = first,
                         .count = count});
  queue.submit(std::move(words));
  const double factor = ckks.rescale_factor(plan_.level) / plan_.sine.range_k;
  Embed embed;
  Transform transform;
  std::vector<Poly> out;
  for (std::uint32_t d = 0; d < count; ++d) {
    Poly poly = queue.allocate(plaintext_ring(), ckks.basis(plan_.level), Domain::Coeff);
    const double* in = numbers == nullptr ? nullptr : numbers + 2 * std::size_t{slots} * d;
    embed.items.push_back({.table = transform_.get(),
                           .in = in,
                           .slots = static_cast<int>(slots),
                           .factor = factor,
                           .bound = 0,
                           .out = poly.view});
    transform.items.push_back({.in = poly.view, .out = poly.view.in(Domain::Eval)});
    poly.view = poly.view.in(Domain::Eval);
    out.push_back(std::move(poly));
  }
  queue.submit(std::move(embed));
  queue.submit(std::move(transform));
  return out;
}

std::array<Poly, 2> MatvecPacker::summed(const MatvecKey& keys, const LweView& lwe,
                                         std::span<const std::int32_t> rows) const {
  const Params& ckks = context_->params().ckks();
  Queue& queue = context_->queue();
  const Basis basis = ckks.basis(plan_.level);
  std::array<Poly, 2> out;
  for (Poly& part : out) part = queue.allocate(context_->ckks()->ring(), basis, Domain::Eval);
  const std::size_t bytes = sizeof(std::uint32_t) * plaintext_ring().n() * basis.size();
  const auto together = static_cast<std::uint32_t>(
      std::clamp<std::size_t>(kStagedBytes / bytes, 1, static_cast<std::size_t>(plan_.diagonals)));
  const auto all = static_cast<std::uint32_t>(plan_.diagonals);
  for (std::uint32_t first = 0; first < all; first += together) {
    const std::uint32_t count = std::min(together, all - first);
    const std::vector<Poly> plaintexts = encoded(lwe, rows, first, count);
    Dot dot;
    Dot::Output sum;
    for (std::uint32_t d = 0; d < count; ++d) {
      const auto& pair = keys.diagonals[first + d].parts;
      sum.terms.push_back({.input = static_cast<int>(d), .factor = plaintexts[d].view});
      dot.inputs.push_back({pair[0].view, pair[1].view, {}});
    }
    sum.out = {out[0].view, out[1].view, {}};
    sum.accumulate = first > 0;
    dot.outputs.push_back(std::move(sum));
    queue.submit(std::move(dot));
  }
  return out;
}

ckks::Plaintext MatvecPacker::bodies(const LweView& lwe, std::span<const std::int32_t> rows) const {
  Queue& queue = context_->queue();
  const Buffer values = queue.allocate(2 * sizeof(double) * rows.size());
  auto* numbers = static_cast<double*>(values->data());
  LweSlots words;
  words.bodies = true;
  words.items.push_back({.in = lwe, .rows = {rows.begin(), rows.end()}, .out = numbers});
  queue.submit(std::move(words));
  ckks::Plaintext out = ckks::encode_resident(context_->ckks(), numbers, 1, plan_.shape.rows,
                                              plan_.level - 1, plan_.scale / plan_.sine.range_k)[0];
  out.scale = plan_.scale;
  return out;
}

ckks::Ciphertext MatvecPacker::product(const ckks::Evaluator& evaluator, const MatvecKey& keys,
                                       const LweView& lwe, std::span<const std::int32_t> rows,
                                       const rlwe::KeyId& key) const {
  const MatvecShape& shape = plan_.shape;
  if (keys.diagonals.size() != static_cast<std::size_t>(plan_.diagonals) ||
      rows.size() != static_cast<std::size_t>(shape.rows)) {
    throw ShapeError(kMatvec,
                     std::to_string(rows.size()) + " rows and a key of " +
                         std::to_string(keys.diagonals.size()) + " ciphertexts",
                     std::to_string(shape.rows) + " rows and " + std::to_string(plan_.diagonals) +
                         " ciphertexts",
                     "pass the key of this shape");
  }
  std::array<Poly, 2> parts = summed(keys, lwe, rows);
  const double factor = context_->params().ckks().rescale_factor(plan_.level);
  ckks::Ciphertext x{context_->ckks(), {std::move(parts[0]), std::move(parts[1])},
                     plan_.level,      plan_.scale * factor,
                     shape.slots,      key};
  x = evaluator.rescale(x);
  x = evaluator.inner_sum(x, shape.rows, shape.slots / shape.rows);
  x.slots = shape.rows;
  x.scale = plan_.scale;
  return evaluator.add(x, bodies(lwe, rows));
}

ckks::Ciphertext MatvecPacker::to_slots(const ckks::Evaluator& evaluator, const MatvecKey& keys,
                                        const LweView& lwe, std::span<const std::int32_t> rows,
                                        double largest, const rlwe::KeyId& key) const {
  const double scale = context_->params().ckks().scale(plan_.output_level);
  const double ratio = context_->params().amplitude() / largest;
  ckks::Ciphertext y =
      reduction_.apply(evaluator, {product(evaluator, keys, lwe, rows, key)}, scale / ratio)[0];
  y.scale = scale;
  return y;
}

// Slots are read from 2 rows of the N coefficients. So the error of a slot is a mean over repeated
// slots, summed over the blocks.
double MatvecPacker::product_variance() const {
  const SwitchParams& params = context_->params();
  const Params& ckks = params.ckks();
  const double slots = plan_.shape.slots, blocks = slots / plan_.shape.rows;
  const double k = plan_.sine.range_k, rescaled = ckks.rescale_factor(plan_.level);
  const double key = rlwe::fresh_symmetric_variance() * slots / 12 / (plan_.scale * plan_.scale);
  const double rounding = k * k * slots / 48 / (rescaled * rescaled);
  const double divided = blocks * ckks.division_variance(ckks.leaving(plan_.level).size()) +
                         (blocks - 1) * ckks.key_switch_variance(plan_.level, false);
  return params.n() * (key + rounding) + k * k * slots * divided / (plan_.scale * plan_.scale);
}

}  // namespace latticino::switching
