// Properties of the evaluator over whole parameter chains and random programs.
#include <algorithm>
#include <random>

#include "ckks/polynomial/polynomial.h"
#include "support/ckks_world.h"
#include "support/preset_names.h"

namespace latticino::ckks {
namespace {

class CkksPrograms : public ::testing::TestWithParam<const char*> {
 protected:
  World& world() { return World::of(GetParam()); }
  int top() { return world().params().default_level(); }
  // Bits that results must keep: 26 at Delta = 2^40, where fresh slots have about 30.
  double bits() { return std::min(40.0, world().log_scale()) - 14; }
};

// Every ordered pair of levels: canonical and free target scales.
TEST_P(CkksPrograms, AnyLevelToAnyLower) {
  const Evaluator e(world().context(), nullptr);
  const Params& params = world().params();
  const auto u = world().values(params.max_slots());
  for (int from = 0; from <= top(); ++from) {
    const Ciphertext x = world().encrypt(u, from);
    for (int to = 0; to <= from; ++to) {
      const Ciphertext y = e.to_level(x, to);
      EXPECT_EQ(y.level, to);
      EXPECT_EQ(y.scale, params.scale(to));
      EXPECT_EQ(y.parts[0].view.basis(), params.basis(to));
      EXPECT_GT(bits_of(world().decrypt(y), u), bits()) << from << " to " << to;
      if (to == from) continue;
      const double scale = params.scale(to) * 1.37;
      const Ciphertext z = e.to_level_scale(x, to, scale);
      EXPECT_EQ(z.scale, scale);
      EXPECT_GT(bits_of(world().decrypt(z), u), bits()) << from << " to " << to;
    }
  }
}

// Squaring down the whole chain: the scale is the canonical one at every level, exactly.
TEST_P(CkksPrograms, SquaresDownTheChain) {
  auto u = world().values(world().params().max_slots());
  u = mapped(u, [](Complex z) { return z / std::max(1.0, std::abs(z)); });
  const World::Batch chain = world().run(
      [](const Evaluator& e, const World::Batch& x) {
        World::Batch out = x;
        while (out.back().level > 0) out.push_back(e.square(out.back()));
        return out;
      },
      {world().encrypt(u, top())});
  for (const Ciphertext& c : chain) {
    EXPECT_EQ(c.scale, world().params().scale(c.level));
    EXPECT_GT(bits_of(world().decrypt(c), u), bits() - (top() - c.level));
    u = mapped(u, [](Complex z) { return z * z; });
  }
}

// Compares random programs with the same steps in the clear. Values stay within the unit disc, so
// that errors at most add up.
TEST_P(CkksPrograms, RandomPrograms) {
  const int slots = world().params().max_slots();
  for (unsigned seed = 1; seed <= 6; ++seed) {
    World::Values clear[2];
    const World::Program program = [&](const Evaluator& e, const World::Batch& in) {
      std::mt19937 draw(seed);
      World::Batch x = in;
      for (int i = 0; i < 2; ++i)
        clear[i] = mapped(world().values(slots, seed + i), [](Complex z) { return 0.7 * z; });
      for (int step = 0; step < 12; ++step) {
        const int i = static_cast<int>(draw() % 2), j = static_cast<int>(draw() % 2);
        const int r = static_cast<int>(draw() % unsigned(slots));
        const World::Values a = clear[i], b = clear[j];
        switch (draw() % 6) {
          case 0:
            if (std::min(x[i].level, x[j].level) == 0) break;
            x[i] = e.multiply(x[i], x[j]);
            for (int k = 0; k < slots; ++k) clear[i][k] = a[k] * b[k];
            break;
          case 1:
            if (std::min(x[i].level, x[j].level) == 0) break;
            x[i] = e.multiply_scalar(e.add(x[i], e.rotate(x[j], r)), 0.5);
            for (int k = 0; k < slots; ++k) clear[i][k] = 0.5 * (a[k] + b[(k + r) % slots]);
            break;
          case 2:
            x[i] = e.rotate(x[i], -r);
            clear[i] = rotated(a, -r);
            break;
          case 3:
            x[i] = e.conjugate(x[i]);
            clear[i] = mapped(a, [](Complex z) { return std::conj(z); });
            break;
          case 4:
            x[i] = e.multiply_i(x[i], r);
            clear[i] = mapped(a, [&](Complex z) { return z * std::pow(Complex(0, 1), r % 4); });
            break;
          default:
            x[i] = e.to_level(x[i], std::max(0, x[i].level - 1));
        }
      }
      return x;
    };
    const World::Values u = mapped(world().values(slots, seed), [](Complex z) { return 0.7 * z; });
    const World::Values v =
        mapped(world().values(slots, seed + 1), [](Complex z) { return 0.7 * z; });
    const World::Batch out =
        world().run(program, {world().encrypt(u, top()), world().encrypt(v, top())});
    for (int i = 0; i < 2; ++i) {
      EXPECT_EQ(out[i].scale, world().params().scale(out[i].level));
      EXPECT_GT(bits_of(world().decrypt(out[i]), clear[i]), bits() - 2) << seed;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Presets, CkksPrograms,
                         ::testing::Values("test-n10-leveled-insecure", "test-n10-sr-insecure",
                                           "test-n10-dr-insecure", "test-n10-bitpacker-insecure",
                                           "test-n10-boot-insecure", "test-n10-d35-boot-insecure",
                                           "test-n10-d34-w28-boot-insecure",
                                           "test-n10-d36-w28-free-insecure",
                                           "test-n10-d35-w28-free-boot-insecure"),
                         test::preset_name);

}  // namespace
}  // namespace latticino::ckks
