// Measured deviations against the formulas of rlwe/noise.h: within a factor 2 at every level.
#include "rlwe/noise.h"

#include <gtest/gtest.h>

#include "math/errors.h"
#include "rlwe/key_switch.h"
#include "support/ring_support.h"
#include "support/rlwe_support.h"

namespace latticino::rlwe {
namespace {

using test::RlweWorld;

void expect_near(double measured, double variance, const std::string& what) {
  EXPECT_GT(measured, std::sqrt(variance) / 2) << what;
  EXPECT_LT(measured, std::sqrt(variance) * 2) << what;
}

class NoiseTest : public ::testing::TestWithParam<const char*> {
 protected:
  NoiseTest() : w(GetParam()) {}

  Noise measure(const std::array<Poly, 2>& parts, int level, const PolyView& expected) {
    const PolyView views[2] = {parts[0].view, parts[1].view};
    return measure_noise(w.constants, w.queue, w.secret, views, level, expected);
  }
  Poly zero(int level) { return w.message(std::vector<std::int64_t>(w.params->n()), level); }

  // A uniform polynomial d over basis(level), and d s^2.
  Poly uniform(int level) {
    const Poly d = w.queue.allocate(w.ring(), w.params->basis(level), Domain::Eval);
    w.queue.submit(ExpandUniform{{{w.random.seed(), 0, d.view}}});
    return d;
  }
  Poly times_square(const PolyView& d) {
    const Basis basis = d.basis();
    const Poly s = secret_poly(w.queue, w.ring(), basis, w.secret.coefficients());
    return secret_product(w.queue, secret_product(w.queue, d, s.view, basis).view, s.view, basis);
  }
  // d switched from s^2 to s.
  ExtendedPair switched(const PolyView& d, int level, bool drop) {
    KeyGenerator generator(w.constants, w.queue, w.secret, w.random);
    const SwitchKey key = generator.make(KeyLabel{}.at(*w.params, level), level);
    const ModUpResult raised = mod_up(w.queue, w.constants, d, level);
    InnerTarget target;
    target.key = &key;
    target.drop_level = drop;
    return key_inner(w.queue, w.constants, raised, {target}).front();
  }

  RlweWorld w;
};

TEST_P(NoiseTest, FreshEncryption) {
  const PublicKey key = make_public_key(w.constants, w.queue, w.secret, w.random);
  for (int level = 0; level <= w.params->top_level(); ++level) {
    const Poly m = w.message(w.random_message(30), level);
    const auto own = encrypt_symmetric(w.constants, w.queue, w.secret, m.view, level, w.random);
    const auto open = encrypt_public(w.constants, w.queue, key, m.view, level, w.random);
    const std::string at = "level " + std::to_string(level);
    expect_near(measure(own.parts, level, m.view).deviation, fresh_symmetric_variance(), at);
    expect_near(measure(open.parts, level, m.view).deviation, fresh_public_variance(*w.params), at);
  }
}

TEST_P(NoiseTest, KeySwitching) {
  for (int level = 0; level <= w.params->top_level(); ++level) {
    const Poly d = uniform(level);
    const auto out = mod_down(w.queue, w.constants, switched(d.view, level, false), false);
    const Noise noise = measure(out, level, times_square(d.view).view);
    expect_near(noise.deviation, key_switch_variance(*w.params, level),
                "level " + std::to_string(level));
    EXPECT_LT(noise.largest, 7 * noise.deviation);
  }
}

TEST_P(NoiseTest, Rescale) {
  for (int level = 1; level <= w.params->top_level(); ++level) {
    const auto in =
        encrypt_symmetric(w.constants, w.queue, w.secret, zero(level).view, level, w.random);
    auto out = rescale(w.queue, w.constants, {in.parts[0].view, in.parts[1].view}, level);
    const double factor = w.params->rescale_factor(level);
    const double variance =
        rescale_variance(*w.params, level) + fresh_symmetric_variance() / (factor * factor);
    expect_near(measure({out[0], out[1]}, level - 1, zero(level - 1).view).deviation, variance,
                "level " + std::to_string(level));
  }
}

// The expected d s^2 U / D is itself rounded, as a plaintext: k / 12 more, far below the rest.
TEST_P(NoiseTest, MergedKeySwitchAndRescale) {
  for (int level = 1; level <= w.params->top_level(); ++level) {
    const Poly d = uniform(level);
    const auto out = mod_down(w.queue, w.constants, switched(d.view, level, true), true);
    const auto expected = rescale(w.queue, w.constants, {times_square(d.view).view}, level).front();
    expect_near(measure(out, level - 1, expected.view).deviation,
                key_switch_rescale_variance(*w.params, level), "level " + std::to_string(level));
  }
}

INSTANTIATE_TEST_SUITE_P(Sets, NoiseTest,
                         ::testing::Values("test-n10-leveled-insecure", "test-n10-boot-insecure",
                                           "test-n10-sr-insecure", "test-n10-dr-insecure",
                                           "test-n10-bands-insecure"));

TEST(EncapsulationNoise, ThereAndBack) {
  RlweWorld w("test-n10-boot-insecure");
  KeyGenerator generator(w.constants, w.queue, w.secret, w.random);
  const Basis base = w.params->basis(0);
  const Poly m = w.message(w.random_message(20), 0);
  const auto in = encrypt_symmetric(w.constants, w.queue, w.secret, m.view, 0, w.random);
  const SwitchKey key = generator.make({KeyKind::DenseToSparse, 1}, 0);
  const std::array<PolyView, 2> views = {in.parts[0].view, in.parts[1].view};
  const auto out = switch_to_sparse(w.queue, w.constants, std::span(&views, 1), key)[0];
  // Decrypted under the sparse secret by hand: b + a s_sparse - m, then as parts (that, 0).
  const Poly s = secret_poly(w.queue, w.ring(), base, w.secret.sparse_coefficients());
  const Poly product = secret_product(w.queue, out[1].view, s.view, base);
  combine(w.queue, product.view, {{product.view}, {out[0].view}});
  const PolyView part[1] = {product.view};
  const Noise noise = measure_noise(w.constants, w.queue, w.secret, part, 0, m.view);
  expect_near(noise.deviation, to_sparse_variance(*w.params) + fresh_symmetric_variance(),
              "to sparse");
  EXPECT_THROW(from_sparse_variance(*preset("test-n10-sr-insecure")), ParameterError);
}

}  // namespace
}  // namespace latticino::rlwe
