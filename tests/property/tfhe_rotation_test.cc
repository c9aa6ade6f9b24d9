// Digits, and blind rotation with keys without noise and masks, so that the result is known
// exactly.
#include <gtest/gtest.h>

#include <random>

#include "math/gadget.h"
#include "support/ring_support.h"

namespace latticino {
namespace {

using test::Words;

TEST(GadgetDigits, ReconstructWithinHalfAStep) {
  std::mt19937_64 random(5);
  for (const int bits : {14, 27, 31, 54, 62}) {
    const std::int64_t bound = (std::int64_t{1} << (bits - 1)) - 1;
    for (const Gadget g : {Gadget{3, 4}, Gadget{7, 2}, Gadget{1, 14}, Gadget{13, 1}}) {
      const int shift = gadget_shift(g, bits);
      const std::int64_t half = std::int64_t{1} << (g.log_base - 1);
      for (int trial = 0; trial < 2000; ++trial) {
        const std::int64_t x = trial == 0   ? bound
                               : trial == 1 ? -bound
                                            : static_cast<std::int64_t>(random()) % (bound + 1);
        std::int64_t y = gadget_round(x, shift), sum = 0;
        for (int i = g.levels - 1; i >= 0; --i) {
          const std::int64_t d = i > 0 ? gadget_take(y, g.log_base) : y;
          ASSERT_GE(d, -half);
          ASSERT_LE(d, i > 0 ? half - 1 : half);
          sum += d * (std::int64_t{1} << gadget_exponent(g, bits, i));
        }
        ASSERT_LE(std::abs(sum - x), shift == 0 ? 0 : std::int64_t{1} << (shift - 1));
      }
    }
  }
}

TEST(GadgetDigits, PairsOfResiduesAreCentredIntegers) {
  const Words q = test::ntt_primes(11, 2);
  const Modulus m1 = make_modulus(q[1]);
  const ShoupFactor inverse = make_shoup(inverse_mod(q[0] % q[1], m1), m1);
  const auto product = static_cast<std::int64_t>(std::uint64_t{q[0]} * q[1]);
  std::mt19937_64 random(6);
  for (int trial = 0; trial < 5000; ++trial) {
    const std::int64_t x = trial == 0 ? product / 2
                           : trial == 1
                               ? -(product / 2)
                               : static_cast<std::int64_t>(random() % product) - product / 2;
    const std::uint32_t x0 = reduce_s64(x, make_modulus(q[0])), x1 = reduce_s64(x, m1);
    ASSERT_EQ(centred_pair(x0, x1, q[0], q[1], inverse), x);
  }
}

// Blind rotation under such keys.
class OpenRotation : public testing::TestWithParam<bool> {
 protected:
  // Rows without masks or errors: selector 2^exponent in component c. With digits down to the last
  // bit no rounding is left.
  Poly key(const BlindRotate& op, const std::vector<int>& selectors) {
    const std::uint32_t count = op.key_index(static_cast<std::uint32_t>(selectors.size()), 0, 0, 0);
    Poly memory;
    memory.buffer = queue_.allocate(sizeof(std::uint32_t) * ring_.n() * count);
    memory.view =
        PolyView::contiguous(memory.buffer->words(), ring_, test::range(0, 1), Domain::Eval);
    const PolyArray polys{memory.view, count};
    Copy clear;
    Linear set;
    for (std::uint32_t i = 0; i < count; ++i) clear.items.push_back({{}, polys[i]});
    for (std::size_t s = 0; s < selectors.size(); ++s) {
      for (int row = 0; row < op.rows() && selectors[s] != 0; ++row) {
        const int c = row / op.gadget.levels;
        const std::uint32_t power = 1u << gadget_exponent(op.gadget, kBits, row % op.gadget.levels);
        const PolyView out = polys[op.key_index(static_cast<std::uint32_t>(s), 0, row, c)];
        set.items.push_back({{}, out, {power}, {}});
      }
    }
    queue_.submit(clear);
    queue_.submit(set);
    return memory;
  }

  static constexpr int kBits = 30;
  Ring ring_{10, test::ntt_primes(10, 1, 1u << kBits)};
  Queue queue_{make_cpu_backend({GetParam(), 1})};
};

TEST_P(OpenRotation, GivesTheTableAtThePhase) {
  constexpr int kSteps = 6;
  const std::uint32_t n = 1024, q = ring_.prime(0);
  std::mt19937_64 random(7);
  BlindRotate op;
  op.gadget = {10, 3};
  const std::vector<int> secret = {1, 0, 1, 1, 0, 1};
  const Poly open = key(op, secret);
  op.key = {open.view, op.key_index(kSteps, 0, 0, 0)};
  const Words table = test::random_words(ring_, test::range(0, 1), random);
  const Poly tv = test::upload(queue_, ring_, test::range(0, 1), Domain::Coeff, table);
  constexpr std::uint32_t kCount = 9;
  const Buffer lwe = queue_.allocate(sizeof(std::uint32_t) * kCount * (kSteps + 1));
  Words exponents(kCount * (kSteps + 1));
  for (auto& e : exponents) e = static_cast<std::uint32_t>(random() % (2 * n));
  // Both ends of the range.
  for (std::uint32_t i = 0; i < 2 * kSteps; ++i) exponents[i] = i % 2 == 0 ? 0 : n;
  queue_.copy_in(lwe->data(), exponents.data(), exponents.size() * sizeof(std::uint32_t));
  const Buffer out = queue_.allocate(sizeof(std::uint32_t) * n * 2 * kCount);
  const PolyArray result{
      PolyView::contiguous(out->words(), ring_, test::range(0, 1), Domain::Coeff), 2 * kCount};
  op.items = {{{lwe->words(), 2 * n, kSteps, kCount, kSteps + 1}, tv.view, result}};
  queue_.submit(op);
  for (std::uint32_t i = 0; i < kCount; ++i) {
    std::uint32_t phase = exponents[i * (kSteps + 1) + kSteps];
    for (int s = 0; s < kSteps; ++s) {
      if (secret[s] != 0) phase += exponents[i * (kSteps + 1) + s];
    }
    const Words body = test::download(queue_, result[2 * i]);
    EXPECT_EQ(test::download(queue_, result[2 * i + 1]), Words(n, 0));
    for (std::uint32_t j = 0; j < n; ++j) {
      const std::uint32_t at = (phase + j) % (2 * n);
      ASSERT_EQ(body[j], at < n ? table[at] : neg_mod(table[at - n], q)) << i << " " << j;
    }
  }
}

// A single step is a CMux: x where the bit is 0, X^-e x where it is 1.
TEST_P(OpenRotation, CMuxOnBothBits) {
  for (const int bit : {0, 1}) {
    BlindRotate op;
    op.gadget = {15, 2};
    op.glwe_dimension = 2;
    const Poly open = key(op, {bit});
    op.key = {open.view, op.key_index(1, 0, 0, 0)};
    std::mt19937_64 random(8);
    const Words table = test::random_words(ring_, test::range(0, 1), random);
    const Poly tv = test::upload(queue_, ring_, test::range(0, 1), Domain::Coeff, table);
    const Words e = {700, 0};
    const Buffer lwe = queue_.allocate(sizeof(std::uint32_t) * 2);
    queue_.copy_in(lwe->data(), e.data(), 8);
    const Buffer out = queue_.allocate(sizeof(std::uint32_t) * 3 * 1024);
    const PolyArray result{
        PolyView::contiguous(out->words(), ring_, test::range(0, 1), Domain::Coeff), 3};
    op.items = {{{lwe->words(), 2048, 1, 1, 2}, tv.view, result}};
    queue_.submit(op);
    const Words got = test::download(queue_, result[0]);
    for (std::uint32_t j = 0; j < 1024; ++j) {
      const std::uint32_t at = j + (bit == 1 ? 700 : 0);
      ASSERT_EQ(got[j], at < 1024 ? table[at] : neg_mod(table[at - 1024], ring_.prime(0)));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Kernels, OpenRotation, testing::Bool());

}  // namespace
}  // namespace latticino
