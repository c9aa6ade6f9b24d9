#include "ckks/linear/block_transform.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <numeric>
#include <set>
#include <string>

#include "ckks/encoding/encoder.h"
#include "ckks/evaluator/checks.h"
#include "ckks/linear/hoisting.h"
#include "ckks/linear/linear_transform.h"
#include "math/errors.h"

namespace latticino::ckks {
namespace {

constexpr const char* kBlockTransform = "ckks.LinearTransform";

using Block = BlockTransform::Block;

// Rotations as giant + baby. With a unit u, which is odd, the rotation r = u k has the baby u (k
// mod n): for rotations 127, 254, 381 .. and u = 127 that finds the same steps as for 1, 2, 3 ..
struct Steps {
  int slots = 1;              // rotations are numbers modulo this
  int unit = 1, inverse = 1;  // of each other, modulo `slots`
  int size = 1;               // number n of baby steps
  std::vector<int> babies, giants;

  int product(int a, int b) const {
    return static_cast<int>(static_cast<std::int64_t>(a) * b % slots);
  }
  int baby_of(int rotation) const { return product(product(rotation, inverse) % size, unit); }
  int giant_of(int rotation) const { return (rotation - baby_of(rotation) + slots) % slots; }
};

template <class T>
std::vector<T> distinct(std::vector<T> v) {
  std::sort(v.begin(), v.end());
  v.erase(std::unique(v.begin(), v.end()), v.end());
  return v;
}

Steps split(const std::vector<Block>& blocks, Steps out) {
  std::vector<int> babies, giants;
  for (const Block& block : blocks) {
    for (const int r : block.rotations) {
      const int baby = out.baby_of(r);
      babies.push_back(baby);
      giants.push_back((r - baby + out.slots) % out.slots);
    }
  }
  out.babies = distinct(std::move(babies));
  out.giants = distinct(std::move(giants));
  return out;
}

// Pairs (source, baby) and (target, giant) that rotate.
std::pair<int, int> turns(const std::vector<Block>& blocks, const Steps& steps) {
  std::vector<std::int64_t> babies, giants;
  const std::int64_t slots = steps.slots;
  for (const Block& block : blocks) {
    for (const int r : block.rotations) {
      const int baby = steps.baby_of(r), giant = (r - baby + steps.slots) % steps.slots;
      if (baby != 0) babies.push_back(block.source * slots + baby);
      if (giant != 0) giants.push_back(block.target * slots + giant);
    }
  }
  return {static_cast<int>(distinct(std::move(babies)).size()),
          static_cast<int>(distinct(std::move(giants)).size())};
}

// Candidates for the unit: 1, and the odd parts of the most frequent distances between neighbouring
// rotations.
std::vector<int> units(const std::set<int>& rotations, int slots) {
  constexpr std::size_t kTried = 3, kPairs = 1 << 18;
  const std::vector<int> all(rotations.begin(), rotations.end());
  const std::size_t near = std::max<std::size_t>(8, kPairs / all.size());
  std::vector<int> count(slots);  // counts by unit
  for (std::size_t i = 0; i < all.size(); ++i) {
    for (std::size_t j = i + 1; j < std::min(all.size(), i + near); ++j) {
      for (const int step : {all[j] - all[i], slots - (all[j] - all[i])}) {
        ++count[step >> std::countr_zero(unsigned(step))];
      }
    }
  }
  std::vector<std::pair<int, int>> found;  // (-count, unit), to sort by decreasing count
  for (int unit = 1; unit < slots; unit += 2) {
    if (count[unit] > 0) found.push_back({-count[unit], unit});
  }
  std::sort(found.begin(), found.end());
  std::vector<int> out = {1};
  for (std::size_t k = 0; k < std::min(kTried, found.size()); ++k) {
    if (found[k].second != 1) out.push_back(found[k].second);
  }
  return out;
}

// The inverse of an odd number modulo a power of two: each step doubles the correct bits.
int inverse_of(int unit, int slots) {
  std::uint32_t x = 1;
  for (int bits = 1; bits < 32; bits *= 2) x *= 2 - static_cast<std::uint32_t>(unit) * x;
  return static_cast<int>(x & static_cast<std::uint32_t>(slots - 1));
}

// A giant counts as three babies, as in split_rotations(). Among equal costs, the split with the
// fewest keys is taken.
Steps cheapest(const std::vector<Block>& blocks, int slots) {
  int stride = slots;
  std::set<int> rotations;
  for (const Block& block : blocks) {
    for (const int r : block.rotations) {
      stride = std::gcd(stride, r);
      rotations.insert(r);
    }
  }
  const auto price = [&](const Steps& s) {
    const auto [babies, giants] = turns(blocks, s);
    return std::pair(babies + 3 * giants, s.babies.size() + s.giants.size());
  };
  Steps best = split(blocks, {slots, 1, 1, stride, {}, {}});
  for (const int unit : units(rotations, slots)) {
    for (int n = stride; n <= slots; n *= 2) {
      Steps candidate = split(blocks, {slots, unit, inverse_of(unit, slots), n, {}, {}});
      if (price(candidate) < price(best)) best = std::move(candidate);
    }
  }
  return best;
}

int position(const std::vector<int>& v, int x) {
  return static_cast<int>(std::lower_bound(v.begin(), v.end(), x) - v.begin());
}

[[noreturn]] void refuse(const std::string& had, const std::string& needs) {
  throw ShapeError(kBlockTransform, had, needs, "check the blocks of the map");
}

void check(std::vector<Block>& blocks, int sources, int targets, int slots) {
  std::set<std::pair<int, int>> seen;
  std::vector<bool> reached(std::max(targets, 0));
  for (Block& block : blocks) {
    if (block.target < 0 || block.target >= targets || block.source < 0 ||
        block.source >= sources || block.rotations.empty() ||
        !seen.insert({block.target, block.source}).second) {
      refuse("a block from " + std::to_string(block.source) + " to " + std::to_string(block.target),
             "each block once, with diagonals, among " + std::to_string(sources) + " sources and " +
                 std::to_string(targets) + " targets");
    }
    reached[block.target] = true;
    std::set<int> rotations;
    for (int& r : block.rotations) {
      r = ((r % slots) + slots) % slots;
      if (!rotations.insert(r).second) refuse("rotation " + std::to_string(r) + " twice", "once");
    }
  }
  if (blocks.empty() || !std::all_of(reached.begin(), reached.end(), [](bool b) { return b; })) {
    refuse("a target without blocks", "one block at least for each");
  }
}

}  // namespace

struct BlockTransform::Plan {
  std::shared_ptr<const Context> context;
  std::vector<Block> blocks;
  int slots = 0;
  TermForm form;
  Steps steps;
  HoistedSum sum;
  std::size_t diagonals = 0, encoded = 0;
};

BlockTransform::BlockTransform(const std::shared_ptr<const Context>& context,
                               std::vector<Block> blocks, int sources, int targets, int slots,
                               int level, bool compact)
    : plan_(std::make_unique<Plan>()) {
  const Params& params = context->params();
  require_level(kBlockTransform, level, 1);
  require_level(kBlockTransform, params.top_level(), level);
  if (slots < 1 || slots > params.max_slots() || !std::has_single_bit(unsigned(slots))) {
    throw ShapeError(kBlockTransform, std::to_string(slots) + " slots",
                     "a power of two up to " + std::to_string(params.max_slots()), "pad the map");
  }
  check(blocks, sources, targets, slots);
  Plan& plan = *plan_;
  plan.context = context;
  plan.slots = slots;
  plan.form.level = level;
  plan.form.compact = compact;
  plan.form.scale = weight_scale(params, level);
  plan.steps = cheapest(blocks, slots);
  plan.sum.sources = sources;
  plan.sum.targets = targets;
  plan.sum.babies = plan.steps.babies;
  plan.sum.giants = plan.steps.giants;
  plan.sum.rows.resize(targets * plan.sum.giants.size());
  plan.form.rotates = plan.sum.rotates();
  for (const Block& block : blocks) plan.diagonals += block.rotations.size();
  plan.blocks = std::move(blocks);
}

BlockTransform::~BlockTransform() = default;
BlockTransform::BlockTransform(BlockTransform&&) noexcept = default;
BlockTransform& BlockTransform::operator=(BlockTransform&&) noexcept = default;

void BlockTransform::encode(int block, int first, std::span<const Complex> values) {
  const auto slots = static_cast<std::size_t>(plan_->slots);
  if (values.size() % slots != 0) {
    refuse(std::to_string(values.size()) + " numbers for block " + std::to_string(block),
           std::to_string(slots) + " for each of its diagonals");
  }
  place(block, first, values.size() / slots, values);
}

void BlockTransform::encode_unknown(int block, int first, int count) {
  if (count < 0) refuse(std::to_string(count) + " diagonals", "a count of 0 or more");
  place(block, first, static_cast<std::size_t>(count), {});
}

// Encodes diagonals. If `values` is empty, their values are unknown.
void BlockTransform::place(int block, int first, std::size_t count,
                           std::span<const Complex> values) {
  Plan& plan = *plan_;
  const auto slots = static_cast<std::size_t>(plan.slots);
  const bool known = block >= 0 && block < static_cast<int>(plan.blocks.size());
  const std::size_t all = known ? plan.blocks[block].rotations.size() : 0;
  if (!known || first < 0 || first + count > all) {
    refuse(std::to_string(count) + " diagonals from " + std::to_string(first) + " for block " +
               std::to_string(block),
           "those of the block, " + std::to_string(all));
  }
  const Block& to = plan.blocks[block];
  for (const bool rotated_input : {false, true}) {
    std::vector<std::vector<Complex>> turned;  // the giant rotation comes after the product
    std::vector<int> rotations;
    for (std::size_t k = 0; k < count; ++k) {
      const int r = to.rotations[first + k];
      if ((plan.steps.baby_of(r) != 0) != rotated_input) continue;
      rotations.push_back(r);
      if (values.empty()) continue;
      const std::span<const Complex> row = values.subspan(k * slots, slots);
      const auto turn = static_cast<std::ptrdiff_t>((slots - plan.steps.giant_of(r)) % slots);
      std::rotate_copy(row.begin(), row.begin() + turn, row.end(),
                       turned.emplace_back(slots).begin());
    }
    if (rotations.empty()) continue;
    const std::vector<Values> batch(turned.begin(), turned.end());
    const Factors given{batch, values.empty() ? static_cast<int>(rotations.size()) : 0, plan.slots};
    std::vector<CompactFactor> encoded =
        encode_terms(plan.context, given, plan.form, rotated_input);
    for (std::size_t k = 0; k < rotations.size(); ++k) {
      const int giant = position(plan.sum.giants, plan.steps.giant_of(rotations[k]));
      const int baby = position(plan.sum.babies, plan.steps.baby_of(rotations[k]));
      plan.sum.rows[to.target * plan.sum.giants.size() + giant].push_back(
          HoistedSum::term(baby, std::move(encoded[k]), to.source));
    }
    plan.encoded += rotations.size();
  }
}

std::vector<Ciphertext> BlockTransform::apply(const Evaluator& evaluator,
                                              std::span<const Ciphertext> x) const {
  const Plan& plan = *plan_;
  if (plan.encoded != plan.diagonals) {
    refuse(std::to_string(plan.encoded) + " encoded diagonals",
           "all " + std::to_string(plan.diagonals));
  }
  if (x.empty()) return {};
  if (x.size() % plan.sum.sources != 0) {
    refuse(std::to_string(x.size()) + " ciphertexts",
           "a multiple of the " + std::to_string(plan.sum.sources) + " sources");
  }
  const std::vector<Ciphertext> in =
      transform_inputs(kBlockTransform, evaluator, x, plan.slots, plan.sum.any_factor());
  for (std::size_t i = 0; i < in.size(); ++i) {
    const Ciphertext& first = in[i - i % plan.sum.sources];
    require_compatible(kBlockTransform, in[i], first);
    require_same_scale(kBlockTransform, in[i].scale, first.scale);
  }
  const auto applied = [&](const HoistedSum& sum) {
    return sum.rotates() ? hoisted_sum(evaluator, sum, in) : plain_sum(evaluator, sum, in);
  };
  return plan.form.compact ? applied(plan.sum.expanded()) : applied(plan.sum);
}

std::vector<int> BlockTransform::rotations() const {
  std::vector<int> out;
  for (const auto* steps : {&plan_->sum.babies, &plan_->sum.giants}) {
    std::copy_if(steps->begin(), steps->end(), std::back_inserter(out),
                 [](int r) { return r != 0; });
  }
  return out;
}

int BlockTransform::babies() const { return turns(plan_->blocks, plan_->steps).first; }
int BlockTransform::giants() const { return turns(plan_->blocks, plan_->steps).second; }
std::size_t BlockTransform::diagonals() const { return plan_->diagonals; }

std::size_t BlockTransform::bytes() const { return plan_->sum.bytes(); }

std::size_t BlockTransform::working_bytes() const {
  const Plan& plan = *plan_;
  const Params& params = plan.context->params();
  const std::size_t pair = std::size_t{8} * params.n() * params.extended(plan.form.level).size();
  const auto [babies, giants] = turns(plan.blocks, plan.steps);
  return pair * (babies + 2 * giants + 2 * plan.sum.targets);
}

}  // namespace latticino::ckks
