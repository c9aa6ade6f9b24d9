#include "ckks/evaluator/evaluator.h"

#include <thread>

#include "ckks/evaluator/scalar.h"
#include "math/errors.h"
#include "rlwe/galois.h"
#include "support/ckks_world.h"
#include "support/preset_names.h"

namespace latticino::ckks {
namespace {

// Fresh noise is 3.19 sqrt(N) / Delta = 2^-33 in a slot of the test sets (N = 2^10, Delta = 2^40);
// a rescale adds about 2^-30. Four bits are left for the maximum over slots and for sums.
constexpr double kBits = 26;

class CkksEvaluator : public ::testing::TestWithParam<const char*> {
 protected:
  World& world() { return World::of(GetParam()); }
  int top() { return world().params().default_level(); }
  int slots() { return world().params().max_slots(); }
  double bits() { return kBits - 40 + std::min(40.0, world().log_scale()); }
};

TEST_P(CkksEvaluator, AddsSubtractsNegates) {
  const auto u = world().values(slots(), 1), v = world().values(slots(), 2);
  const Evaluator e(world().context(), nullptr);
  for (int level = 0; level <= top(); ++level) {
    const Ciphertext x = world().encrypt(u, level), y = world().encrypt(v, level);
    World::Values sum(u), difference(u);
    for (int i = 0; i < slots(); ++i) sum[i] += v[i], difference[i] -= v[i];
    EXPECT_GT(bits_of(world().decrypt(e.add(x, y)), sum), bits()) << level;
    EXPECT_GT(bits_of(world().decrypt(e.sub(x, y)), difference), bits()) << level;
    EXPECT_GT(bits_of(world().decrypt(e.negate(x)), mapped(u, std::negate<>())), bits());
    const Plaintext p = encode(world().context(), v, level, x.scale);
    EXPECT_GT(bits_of(world().decrypt(e.add(x, p)), sum), bits()) << level;
    EXPECT_GT(bits_of(world().decrypt(e.sub(x, p)), difference), bits()) << level;
    EXPECT_EQ(e.add(x, y).scale, world().params().scale(level));
  }
}

TEST_P(CkksEvaluator, AddsHigherOperandsAndPlaintexts) {
  const auto u = world().values(slots(), 1), v = world().values(slots(), 2);
  World::Values sum(u);
  for (int i = 0; i < slots(); ++i) sum[i] += v[i];
  const Evaluator e(world().context(), nullptr);
  const Ciphertext x = world().encrypt(u, top());
  for (int level = 0; level < top(); ++level) {
    const Ciphertext y = world().encrypt(v, level);
    for (const Ciphertext& z : {e.add(x, y), e.add(y, x)}) {
      EXPECT_EQ(z.level, level);
      EXPECT_EQ(z.scale, world().params().scale(level));
      EXPECT_GT(bits_of(world().decrypt(z), sum), bits()) << level;
    }
    const Plaintext p = encode(world().context(), v, level, world().params().scale(level));
    EXPECT_GT(bits_of(world().decrypt(e.add(x, p)), sum), bits()) << level;
  }
}

TEST_P(CkksEvaluator, ScalarsAndUnits) {
  const auto u = world().values(slots());
  const Evaluator e(world().context(), nullptr);
  const Ciphertext x = world().encrypt(u, top());
  for (const Complex c : {Complex(0.75), Complex(0, -1.25), Complex(-0.3, 0.7), Complex(0)}) {
    EXPECT_GT(
        bits_of(world().decrypt(e.add_scalar(x, c)), mapped(u, [&](Complex z) { return z + c; })),
        bits());
    const Ciphertext y = e.multiply_scalar(x, c);
    EXPECT_GT(bits_of(world().decrypt(y), mapped(u, [&](Complex z) { return z * c; })), bits());
    EXPECT_EQ(y.scale, world().params().scale(top() - 1));
  }
  for (int power = -1; power < 5; ++power) {
    const Complex unit = std::pow(Complex(0, 1), power);
    EXPECT_GT(bits_of(world().decrypt(e.multiply_i(x, power)),
                      mapped(u, [&](Complex z) { return z * unit; })),
              bits());
  }
  for (const std::int64_t c : {std::int64_t{3}, std::int64_t{-7}, std::int64_t{0}}) {
    EXPECT_GT(bits_of(world().decrypt(e.multiply_integer(x, c)),
                      mapped(u, [&](Complex z) { return z * double(c); })),
              bits() - 3);
  }
  // A 64-bit integer that a double cannot represent.
  const std::int64_t large = (std::int64_t{1} << 54) + 1;
  Ciphertext y = e.sub(e.multiply_integer(x, large), e.multiply_integer(x, large - 1));
  EXPECT_GT(bits_of(world().decrypt(y), u), bits());
}

TEST_P(CkksEvaluator, ProductsAtEveryLevel) {
  const auto u = world().values(slots(), 1), v = world().values(slots(), 2);
  World::Values product(u);
  for (int i = 0; i < slots(); ++i) product[i] *= v[i];
  const auto squares = mapped(u, [](Complex z) { return z * z; });
  for (int level = 1; level <= top(); ++level) {
    const World::Batch in{world().encrypt(u, level), world().encrypt(v, level)};
    const World::Batch out = world().run(
        [](const Evaluator& e, const World::Batch& x) {
          const Ciphertext unmerged = e.rescale(e.relinearize(e.tensor(x[0], x[1])));
          return World::Batch{e.multiply(x[0], x[1]), e.square(x[0]), unmerged,
                              e.relinearize_rescale(e.tensor(x[0], x[1])),
                              e.relinearize_rescale(e.tensor(x[0], x[0]))};
        },
        in);
    for (int i = 0; i < 2; ++i) {  // the same integers where the three parts are written
      for (int h = 0; h < 2; ++h) {
        EXPECT_EQ(world().download(out[i].parts[h]), world().download(out[3 + i].parts[h]));
      }
    }
    const World::Values merged = world().decrypt(out[0]);
    EXPECT_GT(bits_of(merged, product), bits()) << level;
    EXPECT_GT(bits_of(world().decrypt(out[1]), squares), bits()) << level;
    EXPECT_GT(bits_of(world().decrypt(out[2]), merged), bits()) << level;
    EXPECT_EQ(out[0].level, level - 1);
    EXPECT_EQ(out[0].scale, world().params().scale(level - 1));
    const Evaluator e(world().context(), nullptr);
    const Plaintext p = encode(world().context(), v, level, world().params().scale(level));
    EXPECT_GT(bits_of(world().decrypt(e.multiply(in[0], p)), product), bits()) << level;
    EXPECT_EQ(e.multiply(in[0], p).scale, world().params().scale(level - 1));
  }
}

TEST_P(CkksEvaluator, ProductsAlignLevels) {
  const auto u = world().values(slots(), 1), v = world().values(slots(), 2);
  World::Values product(u);
  for (int i = 0; i < slots(); ++i) product[i] *= v[i];
  for (int level = 1; level < top(); ++level) {
    const World::Batch out =
        world().run([](const Evaluator& e,
                       const World::Batch& x) { return World::Batch{e.multiply(x[0], x[1])}; },
                    {world().encrypt(u, top()), world().encrypt(v, level)});
    EXPECT_EQ(out[0].level, level - 1);
    EXPECT_EQ(out[0].scale, world().params().scale(level - 1));
    EXPECT_GT(bits_of(world().decrypt(out[0]), product), bits()) << level;
  }
}

TEST_P(CkksEvaluator, DecryptsThreeParts) {
  const auto u = world().values(slots());
  const Evaluator e(world().context(), nullptr);
  const Ciphertext x = world().encrypt(u, top());
  const Ciphertext three = e.tensor(x, x);
  ASSERT_EQ(three.parts.size(), 3u);
  const auto squares = mapped(u, [](Complex z) { return z * z; });
  EXPECT_GT(bits_of(world().decrypt(three), squares), bits());
  // Two parts and three parts add up: u^2 + c.
  const Ciphertext shifted = e.add_scalar(e.add(three, three), -1.0);
  EXPECT_GT(
      bits_of(world().decrypt(shifted), mapped(u, [](Complex z) { return 2.0 * z * z - 1.0; })),
      bits() - 1);
}

TEST_P(CkksEvaluator, RotatesAndConjugates) {
  const auto u = world().values(slots());
  std::vector<int> steps{0, 3, -5, slots() - 1, slots() + 2};
  for (int r = 1; r < slots(); r *= 4) steps.push_back(r);
  for (int level = 0; level <= world().params().top_level(); ++level) {
    if (level > top() && level < world().params().top_level()) continue;
    const World::Batch out = world().run(
        [&](const Evaluator& e, const World::Batch& x) {
          World::Batch y = e.rotate_hoisted(x[0], steps);
          y.push_back(e.conjugate(x[0]));
          for (const int r : steps) y.push_back(e.rotate(x[0], r));
          return y;
        },
        {world().encrypt(u, level, world().params().scale(top()))});
    for (std::size_t i = 0; i < steps.size(); ++i) {
      EXPECT_GT(bits_of(world().decrypt(out[i]), rotated(u, steps[i])), bits())
          << steps[i] << " at " << level;
      for (int h = 0; h < 2; ++h) {  // sharing the ModUp changes no bit
        EXPECT_EQ(world().download(out[i].parts[h]),
                  world().download(out[steps.size() + 1 + i].parts[h]));
      }
    }
    EXPECT_GT(bits_of(world().decrypt(out[steps.size()]),
                      mapped(u, [](Complex z) { return std::conj(z); })),
              bits());
  }
}

TEST_P(CkksEvaluator, SumsInside) {
  const auto u = world().values(slots());
  const Ciphertext sum =
      world().run([&](const Evaluator& e, const Ciphertext& x) { return e.inner_sum(x, 2, 8); },
                  world().encrypt(u, top()));
  World::Values expected(slots());
  for (int j = 0; j < 8; ++j) {
    const auto r = rotated(u, 2 * j);
    for (int i = 0; i < slots(); ++i) expected[i] += r[i];
  }
  EXPECT_GT(bits_of(world().decrypt(sum), expected), bits() - 3);
}

// For as many terms as one step, a step and a doubling, and more; and for rotations that repeat.
TEST_P(CkksEvaluator, SumsByFoursAreThoseOfDoublings) {
  const World::Batch x = {world().encrypt(world().values(slots()), top()),
                          world().encrypt(world().values(slots(), 2), top())};
  for (const auto& [step, count] :
       {std::pair(1, 1), {1, 2}, {3, 4}, {-1, 8}, {1, 16}, {slots() / 4, 8}}) {
    SCOPED_TRACE(count);
    const auto sums = [&, step = step, count = count](const Evaluator& e, const World::Batch& b) {
      World::Batch out = e.inner_sum_by_fours(b, step, count);
      for (const Ciphertext& c : b) {
        out.push_back(e.inner_sum_by_fours(std::span(&c, 1), step, count)[0]);
        out.push_back(e.inner_sum(c, step, count));
      }
      return out;
    };
    const World::Batch out = world().run(sums, x);
    for (std::size_t i = 0; i < x.size(); ++i) {
      for (int h = 0; h < 2; ++h) {
        EXPECT_EQ(world().download(out[i].parts[h]), world().download(out[2 + 2 * i].parts[h]));
      }
      EXPECT_GT(bits_of(world().decrypt(out[i]), world().decrypt(out[3 + 2 * i])), bits() - 4);
      EXPECT_EQ(out[i].level, top());
      EXPECT_EQ(out[i].scale, x[i].scale);
    }
  }
}

TEST_P(CkksEvaluator, FewSlots) {
  const auto u = world().values(8);
  for (const int r : {1, 5, -3, 11}) {
    const Ciphertext y = world().run(
        [&](const Evaluator& e, const Ciphertext& x) { return e.multiply(e.rotate(x, r), x); },
        world().encrypt(u, top()));
    World::Values expected = rotated(u, r);
    for (int i = 0; i < 8; ++i) expected[i] *= u[i];
    EXPECT_GT(bits_of(world().decrypt(y), expected), bits());
  }
}

TEST_P(CkksEvaluator, OperandsStayAsTheyWere) {
  const auto u = world().values(slots());
  const Ciphertext x = world().encrypt(u, top());
  const auto before = world().download(x.parts[0]), after_a = world().download(x.parts[1]);
  Ciphertext y = x;
  const World::Batch out = world().run(
      [](const Evaluator& e, const World::Batch& b) {
        Ciphertext z = b[0];
        z = e.add(z, z);
        z = e.multiply(z, z);
        z = e.rotate(z, 1);
        z = e.sub(z, z);
        return World::Batch{z};
      },
      {x});
  EXPECT_GT(bits_of(world().decrypt(out[0]), World::Values(slots())), 1000);  // exactly zero
  EXPECT_EQ(world().download(x.parts[0]), before);
  EXPECT_EQ(world().download(x.parts[1]), after_a);
}

TEST_P(CkksEvaluator, ReplaysGiveTheSameBits) {
  const Ciphertext x = world().encrypt(world().values(slots()), top());
  rlwe::KeyRequest needed;
  const World::Program program = [](const Evaluator& e, const World::Batch& b) {
    return World::Batch{e.rotate(e.multiply(b[0], b[0]), 5)};
  };
  world().dry_run(program, {x}, &needed);
  const Evaluator e(world().context(), world().make_keys(needed));
  const auto expected = world().download(program(e, {x})[0].parts[1]);
  World::Batch out;
  latticino::Program replay = world().context()->queue().record([&] { out = program(e, {x}); });
  world().context()->queue().submit(Copy{{{{}, out[0].parts[1].view}}});
  for (int i = 0; i < 2; ++i) {
    replay.run();
    EXPECT_EQ(world().download(out[0].parts[1]), expected);
  }
}

TEST_P(CkksEvaluator, ThreadsShareAContext) {
  const Ciphertext x = world().encrypt(world().values(slots()), top());
  const rlwe::KeyLabel relinearize = rlwe::KeyLabel{}.at(world().params(), top());
  const Evaluator e(world().context(), world().make_keys({{relinearize, top()}}));
  const auto expected = world().download(e.square(x).parts[0]);
  std::vector<std::vector<std::uint32_t>> got(4);
  std::vector<std::thread> threads;
  for (auto& result : got) {
    threads.emplace_back([&] { result = world().download(e.square(x).parts[0]); });
  }
  for (std::thread& t : threads) t.join();
  for (const auto& result : got) EXPECT_EQ(result, expected);
}

INSTANTIATE_TEST_SUITE_P(Presets, CkksEvaluator,
                         ::testing::Values("test-n10-leveled-insecure", "test-n10-sr-insecure",
                                           "test-n10-dr-insecure", "test-n10-bitpacker-insecure",
                                           "test-n10-boot-insecure", "test-n10-bands-insecure",
                                           "test-n10-d34-w28-boot-insecure",
                                           "test-n10-d36-w28-free-insecure",
                                           "test-n10-d35-w28-free-boot-insecure"),
                         test::preset_name);

}  // namespace
}  // namespace latticino::ckks
