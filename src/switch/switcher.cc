#include "switch/switcher.h"

#include <algorithm>
#include <string>
#include <utility>

#include "ckks/encoding/encoder.h"
#include "ckks/evaluator/checks.h"
#include "math/errors.h"

namespace latticino::switching {
namespace {

SwitchOptions with_defaults(SwitchOptions options, const SwitchParams& params) {
  if (options.slots == 0) options.slots = params.ckks().max_slots();
  return options;
}

ckks::BootstrapOptions half_options(const SwitchOptions& options) {
  ckks::BootstrapOptions half;
  half.minimal_keys = options.minimal_keys;
  half.over_mod_raise = options.over_mod_raise;
  return half;
}

// The shape of the product for which there is a key, if the route may be Matvec.
std::optional<MatvecShape> shape_of(const SwitchKeys& keys, const SwitchOptions& options) {
  if (options.route == Route::Ring) return {};
  const auto found = keys.matvec.lower_bound({options.slots, 0});
  if (found != keys.matvec.end() && found->first.rows == options.slots) return found->first;
  if (options.route == Route::Automatic) return {};
  std::string has;
  for (const auto& [shape, key] : keys.matvec) {
    has += (has.empty() ? "" : ", ") + std::to_string(shape.rows);
  }
  throw KeyError(
      "switching.matvec",
      has.empty() ? "no key for route Matvec" : "keys for route Matvec of " + has + " slots",
      "one for " + std::to_string(options.slots) + " slots",
      "name the shape when making the switching keys, or take route Ring");
}

}  // namespace

Switcher::Switcher(std::shared_ptr<const Context> context, std::shared_ptr<const SwitchKeys> keys,
                   const SwitchOptions& options)
    : context_(std::move(context)),
      keys_(std::move(keys)),
      options_(with_defaults(options, context_->params())),
      extractor_(context_, options_.slots, options_.bound, options_.minimal_keys) {
  if (const std::optional<MatvecShape> shape = shape_of(*keys_, options_)) {
    matvec_.emplace(context_, *shape);
  } else {
    packer_.emplace(context_, options_.slots, half_options(options_));
  }
}

int Switcher::output_level() const {
  return matvec_ ? matvec_->output_level() : packer_->output_level();
}

Samples Switcher::extract(const ckks::Evaluator& evaluator, const ckks::Ciphertext& x,
                          std::span<const int> which) const {
  Samples out = extractor_.extract(evaluator, *keys_, x, which);
  if (options_.shadow) options_.shadow(x, out.index);
  return out;
}

tfhe::Context::Polys Switcher::rotated(const LweView& lwe, const Table& table) const {
  const tfhe::Context& tfhe = *context_->tfhe();
  tfhe::Context::Polys out = tfhe.allocate_polys(2 * lwe.count, Domain::Coeff);
  const tfhe::Rotation rotation{lwe.count, table.polynomial.view, out.view};
  tfhe::rotate(tfhe, *keys_->tfhe, lwe, {&rotation, 1}, 0);
  return out;
}

ckks::Ciphertext Switcher::back(const ckks::Evaluator& evaluator, const Samples& samples,
                                const Table& table, const Rotations& rotations) const {
  constexpr const char* kSwitcher = "switching.look_up";
  if (samples.context != context_ || table.context != context_) {
    throw ContextError(kSwitcher, "samples or a table of another context", "one context",
                       "make them with this context");
  }
  if (samples.bound != table.bound) {
    throw ValueError(kSwitcher, "a table for arguments up to " + std::to_string(table.bound),
                     "the samples' bound " + std::to_string(samples.bound),
                     "make the table with that bound");
  }
  ckks::require_slots(kSwitcher, samples.slots, options_.slots);
  return matvec_ ? multiplied(evaluator, samples, table, rotations)
                 : packed(evaluator, samples, table, rotations);
}

// Works on one pack after the other, so only the rotations of one pack take memory.
ckks::Ciphertext Switcher::packed(const ckks::Evaluator& evaluator, const Samples& samples,
                                  const Table& table, const Rotations& rotations) const {
  const SlotOrder& order = packer_->order();
  std::vector<std::optional<RingPacker::Pair>> packs(static_cast<std::size_t>(order.packs));
  for (std::size_t first = 0; first < samples.index.size();) {
    const int pack = order.pack(samples.index[first]);
    std::vector<int> leaves;
    while (first + leaves.size() < samples.index.size() &&
           order.pack(samples.index[first + leaves.size()]) == pack) {
      leaves.push_back(order.leaf(samples.index[first + leaves.size()]));
    }
    packs[static_cast<std::size_t>(pack)] = packer_->ring().pack(
        *keys_->packing,
        rotations(static_cast<std::uint32_t>(first), static_cast<std::uint32_t>(leaves.size())),
        leaves);
    first += leaves.size();
  }
  return packer_->to_slots(evaluator, *keys_, packs, table.largest, samples.ckks_key);
}

// The ciphertexts stay under s', as the tables leave them: a key switch to fewer coefficients would
// cost most of the precision (docs/switching.md). At most as many are rotated at once as a pack has
// leaves.
ckks::Ciphertext Switcher::multiplied(const ckks::Evaluator& evaluator, const Samples& samples,
                                      const Table& table, const Rotations& rotations) const {
  const auto count = static_cast<std::uint32_t>(samples.index.size()),
             n = static_cast<std::uint32_t>(context_->params().n());
  const tfhe::Context::Lwe values = context_->tfhe()->allocate(n, count);
  for (std::uint32_t first = 0; first < count; first += n / 2) {
    const std::uint32_t size = std::min(n / 2, count - first);
    const tfhe::Context::Polys tables = rotations(first, size);
    context_->queue().submit(SampleExtract{
        .items = {{.in = tables.view, .coefficients = {0}, .out = values.view.part(first, size)}}});
  }
  std::vector<std::int32_t> rows(static_cast<std::size_t>(options_.slots), -1);
  for (std::uint32_t i = 0; i < count; ++i) {
    rows[static_cast<std::size_t>(samples.index[i])] = static_cast<std::int32_t>(i);
  }
  return matvec_->to_slots(evaluator, keys_->matvec.at(matvec_->plan().shape), values.view, rows,
                           table.largest, samples.ckks_key);
}

ckks::Ciphertext Switcher::look_up(const ckks::Evaluator& evaluator, const Samples& samples,
                                   const Table& table) const {
  return back(evaluator, samples, table, [&](std::uint32_t first, std::uint32_t count) {
    return rotated(samples.lwe.view.part(first, count), table);
  });
}

ckks::Ciphertext Switcher::repack(const ckks::Evaluator& evaluator, const Samples& samples,
                                  const tfhe::Context::Polys& rotated, const Table& table) const {
  if (rotated.view.count != 2 * samples.index.size()) {
    throw ShapeError("switching.repack", std::to_string(rotated.view.count) + " polynomials",
                     "two for each of " + std::to_string(samples.index.size()) + " samples",
                     "pass what the tables gave");
  }
  return back(evaluator, samples, table, [&](std::uint32_t first, std::uint32_t count) {
    return tfhe::Context::Polys{rotated.buffer, rotated.view.part(2 * first, 2 * count)};
  });
}

ckks::Plaintext Switcher::mask(int level, std::span<const int> which) const {
  constexpr std::size_t kMax = 64;
  const std::lock_guard lock(masks_mutex_);
  const std::pair<int, std::vector<int>> key{level, {which.begin(), which.end()}};
  if (const auto found = masks_.find(key); found != masks_.end()) return found->second;
  std::vector<ckks::Complex> keep(static_cast<std::size_t>(options_.slots), 1.0);
  for (const int slot : which) keep[static_cast<std::size_t>(slot)] = 0;
  const Params& params = context_->params().ckks();
  const double scale = params.rescale_factor(level) * params.scale(level - 1) / params.scale(level);
  if (masks_.size() >= kMax) masks_.clear();
  return masks_.emplace(key, ckks::encode(context_->ckks(), keep, level, scale)).first->second;
}

// Adds the slots of x outside of `which` (x times zeros and ones) to the changed slots.
ckks::Ciphertext Switcher::merged(const ckks::Evaluator& evaluator, const ckks::Ciphertext& x,
                                  const ckks::Ciphertext& changed,
                                  std::span<const int> which) const {
  const int level = std::min(x.level, changed.level + 1);
  return evaluator.add(evaluator.multiply(evaluator.to_level(x, level), mask(level, which)),
                       changed);
}

ckks::Ciphertext Switcher::apply(const ckks::Evaluator& evaluator, const ckks::Ciphertext& x,
                                 const Table& table, std::span<const int> which) const {
  ckks::Ciphertext y = look_up(evaluator, extract(evaluator, x, which), table);
  const bool all = which.empty() || which.size() == static_cast<std::size_t>(options_.slots);
  return all ? y : merged(evaluator, x, y, which);
}

}  // namespace latticino::switching
