// Divisions, ModUp and key switching on integers whose exact results are known.
#include "rlwe/key_switch.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "math/errors.h"
#include "rlwe/galois.h"
#include "support/preset_names.h"
#include "support/ring_support.h"
#include "support/rlwe_support.h"

namespace latticino::rlwe {
namespace {

using test::deviation;
using test::difference;
using test::RlweWorld;

class KeySwitch : public ::testing::TestWithParam<const char*> {
 protected:
  KeySwitch() : w(GetParam()) {}

  // Bits of a message that fit at `level`.
  int bits(int level) const { return static_cast<int>(std::min(58.0, w.params->log_q(level) - 4)); }
  // Centred coefficients of a polynomial over basis(level).
  std::vector<double> integers(const Poly& x, int level) {
    const Poly zero = w.queue.allocate(w.ring(), w.params->basis(level), Domain::Eval);
    w.queue.submit(Copy{{{{}, zero.view}}});
    return w.decrypt({x, zero}, level);
  }
  // Largest |x - m / factor|.
  static double error(const std::vector<double>& x, const std::vector<std::int64_t>& m,
                      double factor) {
    double worst = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      worst = std::max(worst, std::abs(x[i] - static_cast<double>(m[i]) / factor));
    }
    return worst;
  }

  RlweWorld w;
};

// A fast conversion from k primes is wrong by at most k / 2 after the division.
TEST_P(KeySwitch, RescaleDividesAtEveryLevel) {
  for (int level = 1; level <= w.params->top_level(); ++level) {
    const auto m = w.random_message(bits(level)), n = w.random_message(bits(level) / 2);
    const Poly x = w.message(m, level), y = w.message(n, level);
    const std::vector<Poly> out = rescale(w.queue, w.constants, {x.view, y.view}, level);
    const double factor = w.params->rescale_factor(level);
    const double bound = w.params->leaving(level).size() / 2.0 + 1e-3;
    ASSERT_EQ(out[0].view.basis(), w.params->basis(level - 1));
    EXPECT_LE(error(integers(out[0], level - 1), m, factor), bound) << level;
    EXPECT_LE(error(integers(out[1], level - 1), n, factor), bound) << level;
  }
}

// P_level m over extended(level) comes down to m exactly; with r added, |r| < P_level / 2, nearly
// so; and the merged division agrees with the two in turn within the rounding of both. Limbs on Q
// hold P / P_level times that.
TEST_P(KeySwitch, ModDownDividesAtEveryLevel) {
  for (int level = 0; level <= w.params->top_level(); ++level) {
    const Basis q = w.params->basis(level), p = w.params->aux_basis(level);
    const auto m = w.random_message(bits(level) - 8);
    const auto r = w.random_message(std::min(50, 30 * p.size() - 2));
    ExtendedPair pair = allocate_extended(w.queue, w.constants, level);
    const Poly high = w.message(m, level);
    const Poly low = secret_poly(w.queue, w.ring(), w.params->extended(level), r);
    const auto unused = w.constants.product_on(w.params->key_layout(level).aux.without(p), q);
    std::vector<std::uint32_t> all, factor;
    for (int i = 0; i < q.size(); ++i) {
      all.push_back(w.constants.p_mod(level)[q.prime(i)]);
      factor.push_back(unused[q.prime(i)]);
    }
    w.queue.submit(Linear{{{{{high.view, 1, all, {}}}, pair.part[0].view.select(q), {}, {}},
                           {{{high.view, 1, all, {}}, {low.view, 1, factor, {}}},
                            pair.part[1].view.select(q),
                            {},
                            {}}}});
    w.queue.submit(Copy{
        {{{}, pair.part[0].view.select(p)}, {low.view.select(p), pair.part[1].view.select(p)}}});
    const std::array<Poly, 2> down = mod_down(w.queue, w.constants, pair, false);
    EXPECT_EQ(error(integers(down[0], level), m, 1), 0) << level;
    EXPECT_LE(error(integers(down[1], level), m, 1), p.size() / 2.0 + 1e-3) << level;
    if (level == 0) continue;
    const std::array<Poly, 2> merged = mod_down(w.queue, w.constants, pair, true);
    const double k = w.params->leaving(level).size(), s = w.params->rescale_factor(level);
    for (int h = 0; h < 2; ++h) {
      ASSERT_EQ(merged[h].view.basis(), w.params->basis(level - 1));
      EXPECT_LE(error(integers(merged[h], level - 1), m, s), (k + p.size()) / 2 + 1e-3) << level;
    }
  }
}

// ModUp keeps its input where it is. The converted limbs are congruent to it, times (P /
// P_level)^-1, modulo every group of digits.
TEST_P(KeySwitch, ModUpKeepsEveryDigit) {
  for (int level = 0; level <= w.params->top_level(); ++level) {
    const auto m = w.random_message(20);  // below every digit's modulus: the lift is m itself
    Poly x = w.message(m, level);
    const Basis unused = w.params->key_layout(level).aux.without(w.params->aux_basis(level));
    const Basis q = w.params->basis(level);
    const auto product = w.constants.product_on(unused, q);
    std::vector<std::uint32_t> factor;
    for (int i = 0; i < q.size(); ++i) factor.push_back(product[q.prime(i)]);
    w.queue.submit(Linear{{{{{x.view, 1, factor, {}}}, x.view, {}, {}}}});
    const ModUpResult raised = mod_up(w.queue, w.constants, x.view, level);
    const auto digits = raised.digits();
    ASSERT_EQ(digits.size(), w.params->digit_groups(level).size());
    for (const KeyInner::Digit& digit : digits) {
      EXPECT_EQ(digit.own.basis().with(digit.converted.basis()), w.params->extended(level));
      const Poly coefficients = w.queue.allocate(w.ring(), digit.converted.basis(), Domain::Coeff);
      w.queue.submit(Transform{{{digit.converted, coefficients.view}}});
      std::vector<std::uint32_t> got(static_cast<std::size_t>(coefficients.view.limbs()) *
                                     w.params->n());
      w.queue.download(got.data(), coefficients.view);
      // m + u D with |u| <= k / 2: the same u in every limb.
      const Basis own = digit.own.basis(), to = digit.converted.basis();
      int wrong = 0;
      for (int i = 0; i < w.params->n(); ++i) {
        bool found = false;
        for (int u = -own.size(); u <= own.size() && !found; ++u) {
          found = true;
          for (int t = 0; t < to.size() && found; ++t) {
            const std::int64_t q = w.ring().prime(to.prime(t));
            std::int64_t d = 1;
            for (int j = 0; j < own.size(); ++j) d = d * w.ring().prime(own.prime(j)) % q;
            const std::int64_t expected = ((m[i] + u * d) % q + q) % q;
            found = got[static_cast<std::size_t>(t) * w.params->n() + i] == expected;
          }
        }
        wrong += !found;
      }
      EXPECT_EQ(wrong, 0) << level;
    }
  }
}

// Switching with a rotation key of any higher level of the band: the message is rotated, and the
// noise stays small. Keys of other bands are refused.
TEST_P(KeySwitch, KeysOfHigherLevelsServeLowerOnes) {
  const std::uint32_t g = rotation_element(3, w.params->log_n());
  KeyGenerator generator(w.constants, w.queue, w.secret, w.random);
  const KeyLabel turn{KeyKind::Galois, g};
  std::map<int, SwitchKey> top;  // by band
  for (int level = 0; level <= w.params->top_level(); ++level) {
    top[w.params->band(level)] = generator.make(turn.at(*w.params, level), level);
  }
  for (int level = 0; level <= w.params->top_level(); ++level) {
    const auto m = w.random_message(30);
    const FreshPair x = encrypt_symmetric(w.constants, w.queue, w.secret, w.message(m, level).view,
                                          level, w.random);
    const SwitchKey own = generator.make(turn.at(*w.params, level), level);
    for (const auto& [band, key] : top) {
      if (band == w.params->band(level)) continue;
      const ModUpResult raised = mod_up(w.queue, w.constants, x.parts[1].view, level);
      EXPECT_THROW(key_inner(w.queue, w.constants, raised, {{&key}}), KeyError) << level;
    }
    const SwitchKey& highest = top[w.params->band(level)];
    for (const SwitchKey* key : {&highest, &own}) {
      const ModUpResult raised = mod_up(w.queue, w.constants, x.parts[1].view, level);
      const auto sums =
          key_inner(w.queue, w.constants, raised, {{key, {x.parts[0].view, {}}, 1, true, false}});
      const std::array<Poly, 2> out = mod_down(w.queue, w.constants, sums[0], false, {}, g);
      std::vector<double> expected(m.size());
      for (std::size_t i = 0; i < m.size(); ++i) {
        const std::size_t k = i * g % (2 * m.size());
        expected[k % m.size()] = (k < m.size() ? 1.0 : -1.0) * static_cast<double>(m[i]);
      }
      const double noise = deviation(difference(w.decrypt(out, level), expected));
      EXPECT_LT(noise, 200) << level;
      EXPECT_GT(noise, 1) << level;
    }
  }
}

TEST_P(KeySwitch, RefusesWhatDoesNotFit) {
  EXPECT_THROW(w.constants.rescale(0), LevelError);
  EXPECT_THROW(w.constants.divide_by_p_and_rescale(0), LevelError);
  KeyGenerator generator(w.constants, w.queue, w.secret, w.random);
  const int top = w.params->top_level();
  const Poly x = w.message(w.random_message(20), top);
  const ModUpResult raised = mod_up(w.queue, w.constants, x.view, top);
  SwitchKey key = generator.make({KeyKind::Relinearize, 1}, top);
  const auto sums = key_inner(w.queue, w.constants, raised, {{&key, {}, 1, true, false}});
  EXPECT_THROW(mod_down(w.queue, w.constants, sums[0], true), ShapeError);
  key.digit_index.pop_back();
  EXPECT_THROW(key_inner(w.queue, w.constants, raised, {{&key, {}, 1, true, false}}), KeyError);
}

INSTANTIATE_TEST_SUITE_P(Presets, KeySwitch,
                         ::testing::Values("test-n10-leveled-insecure", "test-n10-sr-insecure",
                                           "test-n10-dr-insecure", "test-n10-bitpacker-insecure",
                                           "test-n10-boot-insecure", "test-n10-bands-insecure",
                                           "test-n10-d34-w28-boot-insecure",
                                           "test-n10-d36-w28-free-insecure",
                                           "test-n10-d35-w28-free-boot-insecure"),
                         test::preset_name);

// If a sum could not be made, nothing of it is kept: the next call makes it completely.
TEST(MergedDigits, KeepNothingOfASumThatFailed) {
  RlweWorld w("test-n10-leveled-insecure");
  constexpr int kLevel = 3;
  const std::vector<int> group = w.params->digit_groups(kLevel).front();
  ASSERT_EQ(group, (std::vector<int>{0, 2}));
  KeyGenerator generator(w.constants, w.queue, w.secret, w.random);
  SwitchKey key = generator.make({KeyKind::Relinearize, 1}, kLevel);
  const auto sum = [&] {
    return key.merged->get(w.queue, w.constants, key, group[0], group[1], kLevel);
  };
  PolyView& mask = key.digits.back()[1].view;
  const PolyView whole = mask;
  mask = whole.select(w.params->basis(0));
  EXPECT_EQ(key.merged->bytes(), 0u);
  EXPECT_THROW(sum(), ShapeError);
  EXPECT_EQ(key.merged->bytes(), 0u);
  mask = whole;
  const auto got = sum(), first = key.digit(group[0]), last = key.digit(group[1]);
  EXPECT_EQ(key.merged->bytes(), sizeof(std::uint32_t) * 2 * w.params->n() * got[0].limbs());
  for (int h = 0; h < 2; ++h) {
    const Basis basis = got[h].basis();
    EXPECT_TRUE(basis.contains(w.params->extended(kLevel)));
    const auto x = test::download(w.queue, first[h].select(basis));
    const auto y = test::download(w.queue, last[h].select(basis));
    const auto z = test::download(w.queue, got[h]);
    for (std::size_t i = 0; i < z.size(); ++i) {
      const std::uint32_t q = w.ring().prime(basis.prime(static_cast<int>(i / w.params->n())));
      ASSERT_EQ(z[i], (std::uint64_t{x[i]} + y[i]) % q) << h << " " << i;
    }
  }
}

// Dense -> sparse at level 0, exact lift, sparse -> dense at the top: the message is the same
// modulo q0.
TEST(Encapsulation, GoesToTheSparseSecretAndBack) {
  RlweWorld w("test-n10-boot-insecure");
  const int top = w.params->top_level();
  KeyGenerator generator(w.constants, w.queue, w.secret, w.random);
  const SwitchKey down = generator.make({KeyKind::DenseToSparse, 1}, 0);
  const SwitchKey up = generator.make({KeyKind::SparseToDense, 1}, top);
  const auto m = w.random_message(40);
  const FreshPair x =
      encrypt_symmetric(w.constants, w.queue, w.secret, w.message(m, 0).view, 0, w.random);
  const std::array<PolyView, 2> fresh = {x.parts[0].view, x.parts[1].view};
  const std::array<Poly, 2> low =
      switch_to_sparse(w.queue, w.constants, std::span(&fresh, 1), down)[0];

  const Basis all = w.params->extended(top);
  std::array<Poly, 2> raised;
  for (int h = 0; h < 2; ++h) {
    const Poly c = w.queue.allocate(w.ring(), w.params->basis(0), Domain::Coeff);
    w.queue.submit(Transform{{{low[h].view, c.view}}});
    raised[h] = w.queue.allocate(w.ring(), all, Domain::Coeff);
    w.queue.submit(ModRaise{{{c.view, raised[h].view}}});
    w.queue.submit(Transform{{{raised[h].view, raised[h].view.in(Domain::Eval)}}});
    raised[h].view = raised[h].view.in(Domain::Eval);
  }
  const Basis q = w.params->basis(top), p = w.params->aux_basis();
  const RaisedPair pair{raised[0].view.select(q), raised[1].view.select(q),
                        raised[1].view.select(p)};
  const std::array<Poly, 2> back =
      switch_from_sparse(w.queue, w.constants, std::span(&pair, 1), up, top)[0];
  // b + a s = m + e + q0 I with |I| <= K.
  const std::vector<double> got = w.decrypt(back, top);
  double q0 = 1, worst = 0, largest = 0;
  for (int i = 0; i < w.params->basis(0).size(); ++i) {
    q0 *= w.ring().prime(w.params->basis(0).prime(i));
  }
  for (std::size_t i = 0; i < m.size(); ++i) {
    const double multiple = std::nearbyint((got[i] - static_cast<double>(m[i])) / q0);
    largest = std::max(largest, std::abs(multiple));
    worst = std::max(worst, std::abs(got[i] - static_cast<double>(m[i]) - multiple * q0));
  }
  EXPECT_LT(worst, 1000);
  EXPECT_LE(largest, w.params->bootstrap()->range_k);
  EXPECT_GT(largest, 0);
}

}  // namespace
}  // namespace latticino::rlwe
