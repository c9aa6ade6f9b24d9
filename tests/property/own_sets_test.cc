// Sets from random lists of scales work at every level. Some have free terminals.
#include <algorithm>
#include <cmath>
#include <random>

#include "params/own/request.h"
#include "support/ckks_world.h"

namespace latticino::ckks {
namespace {

ParamsRequest random_list(std::mt19937_64& random) {
  const auto real = [&](double low, double high) {
    return low + (high - low) * static_cast<double>(random() % 1000001) / 1e6;
  };
  ParamsRequest r;
  r.n = 1 << 12;
  r.word = 28 + static_cast<int>(random() % 2);
  r.security = 0;
  r.level_log_scale.emplace();
  double scale = real(33, 42);
  const std::size_t levels = 5 + random() % 6;
  for (std::size_t l = 0; l <= levels; ++l) {
    r.level_log_scale->push_back(std::clamp(scale, 32.0, 46.0));
    scale += real(-2, 2);
  }
  return r;
}

// Bits of the worst slot by the closed forms of key switching (Params::key_switch_variance): an
// error of four deviations at the least scale, and as much again for what a product adds.
double least_bits(const Params& params, int level) {
  double variance = 0, scale = params.scale(0);
  for (int l = 0; l <= level; ++l) {
    variance = std::max(variance, params.key_switch_variance(l, false));
    if (l > 0) variance = std::max(variance, params.key_switch_variance(l, true));
    scale = std::min(scale, params.scale(l));
  }
  return std::log2(scale / std::sqrt(params.n() * (variance + kErrorSigma * kErrorSigma))) - 3;
}

// Products, rotations and sums at a level, and squares from there to the bottom.
void expect_computed(World& world, int level) {
  const int slots = world.params().max_slots();
  const auto unit = [](Complex z) { return z / std::max(1.0, std::abs(z)); };
  const World::Values u = mapped(world.values(slots, 1), unit),
                      v = mapped(world.values(slots, 2), unit);
  World::Values product(slots), sum(slots);
  for (int i = 0; i < slots; ++i) product[i] = u[i] * v[i], sum[i] = u[i] + v[i];
  std::vector<World::Values> want = {rotated(u, 3), sum};
  if (level > 0) want.push_back(product);
  World::Values power = u;
  for (int l = level; l > 0; --l) {
    power = mapped(power, [](Complex z) { return z * z; });
    want.push_back(power);
  }
  const World::Batch out = world.run(
      [&](const Evaluator& e, const World::Batch& x) {
        World::Batch all = {e.rotate(x[0], 3), e.add(x[0], x[1])};
        if (level > 0) all.push_back(e.multiply(x[0], x[1]));
        Ciphertext y = x[0];
        for (int l = level; l > 0; --l) all.push_back(y = e.square(y));
        return all;
      },
      {world.encrypt(u, level), world.encrypt(v, level)});
  ASSERT_EQ(out.size(), want.size());
  for (std::size_t i = 0; i < out.size(); ++i) {
    // Each square doubles the error before it.
    const double squares = std::max(0.0, static_cast<double>(i) - 3);
    const double bits = least_bits(world.params(), level) - squares;
    EXPECT_GT(bits_of(world.decrypt(out[i]), want[i]), bits) << "level " << level << ", " << i;
    EXPECT_EQ(out[i].scale, world.params().scale(out[i].level));
  }
}

TEST(OwnSets, OfRandomListsComputeAtEveryLevel) {
  std::mt19937_64 random(5);
  int free = 0, other = 0;
  for (int i = 0; i < 200 && (free < 4 || other < 1); ++i) {
    const auto params = make_params(random_list(random));
    int& count = params->free_terminals() ? free : other;
    if (++count > (params->free_terminals() ? 4 : 1)) continue;
    SCOPED_TRACE(params->explain());
    World world(params);
    for (int level = 0; level <= params->top_level(); ++level) expect_computed(world, level);
  }
  EXPECT_GE(free, 4);
}

}  // namespace
}  // namespace latticino::ckks
