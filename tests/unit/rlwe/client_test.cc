#include "rlwe/client.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "crypto/expand.h"
#include "math/errors.h"
#include "math/modulus.h"
#include "rlwe/galois.h"
#include "rlwe/key_switch.h"
#include "support/ring_support.h"
#include "support/rlwe_support.h"

namespace latticino::rlwe {
namespace {

using test::deviation;
using test::difference;
using test::RlweWorld;

constexpr char kLeveled[] = "test-n10-leveled-insecure";
constexpr char kBoot[] = "test-n10-boot-insecure", kBands[] = "test-n10-bands-insecure";

TEST(Client, SymmetricRoundTripAtEveryLevel) {
  RlweWorld w(kLeveled);
  for (int level = 0; level <= w.params->top_level(); ++level) {
    const auto m = w.random_message(40);
    const FreshPair pair = encrypt_symmetric(w.constants, w.queue, w.secret,
                                             w.message(m, level).view, level, w.random);
    const double noise = deviation(difference(w.decrypt(pair.parts, level), m));
    EXPECT_GT(noise, kErrorSigma / 2) << level;
    EXPECT_LT(noise, kErrorSigma * 2) << level;
  }
}

TEST(Client, PublicRoundTripAtEveryLevel) {
  RlweWorld w(kLeveled);
  const PublicKey key = make_public_key(w.constants, w.queue, w.secret, w.random);
  for (int level = 0; level <= w.params->top_level(); ++level) {
    const auto m = w.random_message(40);
    const FreshPair pair =
        encrypt_public(w.constants, w.queue, key, w.message(m, level).view, level, w.random);
    const double noise = deviation(difference(w.decrypt(pair.parts, level), m));
    const double expected = kErrorSigma * std::sqrt(1 + 4.0 * w.params->n() / 3);
    EXPECT_GT(noise, expected / 2) << level;
    EXPECT_LT(noise, expected * 2) << level;
  }
}

// A replay would use the same randomness twice, and the difference of the two results would reveal
// the difference of the messages.
TEST(Client, EncryptionCannotBeRecorded) {
  RlweWorld w(kLeveled);
  const Poly m = w.message(w.random_message(20), 1);
  const PublicKey key = make_public_key(w.constants, w.queue, w.secret, w.random);
  KeyGenerator generator(w.constants, w.queue, w.secret, w.random);
  generator.make({KeyKind::Galois, 5}, 1);  // from here on the secret is on the device
  const std::function<void()> bodies[] = {
      [&] { encrypt_symmetric(w.constants, w.queue, w.secret, m.view, 1, w.random); },
      [&] { encrypt_public(w.constants, w.queue, key, m.view, 1, w.random); },
      [&] { make_public_key(w.constants, w.queue, w.secret, w.random); },
      [&] {
        generator.make({KeyKind::Galois, 5}, 1);
      }};
  for (const auto& body : bodies) {
    try {
      w.queue.record(body);
      ADD_FAILURE() << "recorded";
    } catch (const UnsupportedError& e) {
      EXPECT_NE(std::string(e.what()).find("randomness again"), std::string::npos) << e.what();
    }
  }
  EXPECT_NO_THROW(w.queue.synchronize());
}

TEST(Client, ThreePartsDecryptWithTheSquare) {
  RlweWorld w(kLeveled);
  const int level = 2;
  const auto x = w.random_message(12), y = w.random_message(12);
  const FreshPair a =
      encrypt_symmetric(w.constants, w.queue, w.secret, w.message(x, level).view, level, w.random);
  const FreshPair b =
      encrypt_symmetric(w.constants, w.queue, w.secret, w.message(y, level).view, level, w.random);
  std::array<Poly, 3> out;
  for (Poly& p : out) p = w.queue.allocate(w.ring(), w.params->basis(level), Domain::Eval);
  w.queue.submit(
      Tensor{{{{{{a.parts[0].view, a.parts[1].view}, {b.parts[0].view, b.parts[1].view}}},
               {out[0].view, out[1].view, out[2].view}}}});
  const PolyView parts[3] = {out[0].view, out[1].view, out[2].view};
  const auto got = decrypt(w.constants, w.queue, w.secret, parts, level, 1);
  std::vector<double> expected(w.params->n());
  for (int i = 0; i < w.params->n(); ++i) {
    for (int j = 0; j < w.params->n(); ++j) {
      const int k = i + j, n = w.params->n();
      expected[k % n] +=
          (k < n ? 1.0 : -1.0) * static_cast<double>(x[i]) * static_cast<double>(y[j]);
    }
  }
  // x e_y + y e_x: 2^12 sqrt(2 N / 3) sigma.
  EXPECT_LT(deviation(difference(got, expected)), 4096 * 64 * kErrorSigma);
  EXPECT_GT(deviation(expected), 1e8);
}

TEST(Client, WrongKeyGivesNoise) {
  RlweWorld w(kLeveled), other(kLeveled, 2);
  EXPECT_NE(w.secret.id(), other.secret.id());
  const auto m = w.random_message(30);
  const FreshPair pair =
      encrypt_symmetric(w.constants, w.queue, w.secret, w.message(m, 3).view, 3, w.random);
  const PolyView parts[2] = {pair.parts[0].view, pair.parts[1].view};
  const auto got = decrypt(w.constants, w.queue, other.secret, parts, 3, 1);
  EXPECT_GT(std::log2(deviation(difference(got, m))), w.params->log_q(3) - 3);
}

TEST(Client, TheSeedMakesA) {
  RlweWorld w(kLeveled);
  const FreshPair pair = encrypt_symmetric(w.constants, w.queue, w.secret,
                                           w.message(w.random_message(20), 1).view, 1, w.random);
  ASSERT_TRUE(pair.seeded);
  const test::Words a = test::download(w.queue, pair.parts[1].view);
  const Basis basis = w.params->basis(1);
  test::Words limb(w.params->n());
  for (int i = 0; i < basis.size(); ++i) {
    const int p = basis.prime(i);
    crypto::expand_limb(pair.seed, 0, static_cast<std::uint32_t>(p), w.ring().prime(p), limb);
    EXPECT_TRUE(std::equal(limb.begin(), limb.end(), a.begin() + i * w.params->n()));
  }
}

// b + a under - P target [prime in digit] is one small integer polynomial, the same in every limb.
void expect_key_relation(RlweWorld& w, const SwitchKey& key, std::span<const std::int8_t> under,
                         std::uint32_t under_galois,
                         const std::function<std::uint32_t(int, int)>& target_factor,
                         const PolyView& target) {
  const int n = w.params->n();
  for (std::size_t d = 0; d < key.digits.size(); ++d) {
    const PolyView b = key.digits[d][0].view, a = key.digits[d][1].view;
    const Basis basis = b.basis();
    const Poly s = secret_poly(w.queue, w.ring(), basis, under);
    const Poly image = w.queue.allocate(w.ring(), basis, Domain::Eval);
    w.queue.submit(Automorphism{{{{{s.view, under_galois}}, image.view}}});
    const Poly product = secret_product(w.queue, a, image.view, basis);
    const Poly error = w.queue.allocate(w.ring(), basis, Domain::Coeff);
    std::vector<std::uint32_t> factor;
    for (int i = 0; i < basis.size(); ++i) {
      const int p = basis.prime(i);
      factor.push_back(neg_mod(target_factor(key.digit_index[d], p), w.ring().prime(p)));
    }
    w.queue.submit(
        Linear{{{{{b, 1, {}, {}}, {product.view, 1, {}, {}}, {target.select(basis), 1, factor, {}}},
                 product.view,
                 {},
                 {}}}});
    w.queue.submit(Transform{{{product.view, error.view}}});
    const test::Words words = test::download(w.queue, error.view);
    std::vector<double> first;
    for (int i = 0; i < basis.size(); ++i) {
      const std::uint32_t q = w.ring().prime(basis.prime(i));
      std::vector<double> e;
      for (int k = 0; k < n; ++k) e.push_back(centre(words[i * n + k], q));
      if (i == 0) first = e;
      ASSERT_EQ(e, first) << key.label.str() << " digit " << d << " limb " << i;
    }
    EXPECT_NEAR(deviation(first), kErrorSigma, 0.4) << key.label.str();
  }
}

class KeyRelations : public ::testing::TestWithParam<std::tuple<const char*, KeyLabel>> {};

TEST_P(KeyRelations, HoldInEveryLimb) {
  const auto& [set, kind] = GetParam();
  KeyLabel label = kind;
  RlweWorld w(set);
  const int log_n = w.params->log_n();
  KeyGenerator generator(w.constants, w.queue, w.secret, w.random);
  const Basis all{{0, static_cast<std::uint16_t>(w.ring().prime_count())}};
  const bool to_sparse = label.kind == KeyKind::DenseToSparse;
  const bool from_sparse = label.kind == KeyKind::SparseToDense;
  const auto s = w.secret.coefficients(), sparse = w.secret.sparse_coefficients();
  Poly target = secret_poly(w.queue, w.ring(), all, from_sparse ? sparse : s);
  if (label.kind == KeyKind::Relinearize) {
    target = secret_product(w.queue, target.view, target.view, all);
  }
  const std::uint32_t under =
      label.kind == KeyKind::Galois ? inverse_element(label.galois, log_n) : 1;
  for (int level : {0, 3, 6, 15, w.params->top_level()}) {
    label = kind.at(*w.params, level);
    const bool whole = to_sparse || from_sparse;
    if (whole && label.band != 0)
      continue;  // bootstrapping has these keys for level 0 and the top level only
    const auto& factor = to_sparse ? w.constants.encapsulation_p_mod() : w.constants.p_mod(level);
    const auto expected = [&](int digit, int p) -> std::uint32_t {
      const std::vector<Basis>& digits = w.params->key_layout(level).digits;
      return whole || digits[digit].contains(p) ? factor[p] : 0;
    };
    const SwitchKey key = generator.make(label, level);
    EXPECT_EQ(key.level, level);
    EXPECT_EQ(key.digits.size(), key.digit_index.size());
    const KeyShape shape = key_shape(w.constants, label, level);
    EXPECT_EQ(key.bytes(), shape.bytes(w.params->n()));
    EXPECT_EQ(key.digits[0][0].view.basis(), shape.basis);
    expect_key_relation(w, key, to_sparse ? sparse : s, under, expected, target.view);
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, KeyRelations,
                         ::testing::Combine(::testing::Values(kBoot, kBands),
                                            ::testing::Values(KeyLabel{KeyKind::Relinearize, 1},
                                                              KeyLabel{KeyKind::Galois, 5},
                                                              KeyLabel{KeyKind::Galois, 2047},
                                                              KeyLabel{KeyKind::DenseToSparse, 1},
                                                              KeyLabel{KeyKind::SparseToDense,
                                                                       1})));

// Each band has keys of its own, cut to the highest level of use within it.
TEST(Keys, OfBandsAreOtherKeys) {
  RlweWorld w(kBands);
  const KeyLabel relin{};
  const auto at = [&](int level) { return relin.at(*w.params, level); };
  EXPECT_EQ(at(0).str(), "relinearize");
  EXPECT_EQ(at(6).str(), "relinearize[2]");
  EXPECT_EQ((KeyLabel{KeyKind::Galois, 5, 2}.str()), "galois(5)[2]");
  EXPECT_EQ((KeyLabel{KeyKind::Galois, 5, 2}.describe(10)), "rotation by 1, band 2");
  const KeyRecorder recorder(w.constants);
  for (const int level : {0, 3, 5, 6, 4, 9, 19}) recorder.get(at(level), level);
  const KeyRequest request{{at(0), 19}, {at(5), 6}, {at(9), 9}};
  EXPECT_EQ(recorder.request(), request);
  KeyGenerator generator(w.constants, w.queue, w.secret, w.random);
  const auto keys = generator.make(request);
  EXPECT_EQ(recorder.bytes(), keys->bytes());
  // 4 terminals and 8 mains at most up to level 6, 8 auxiliary primes, two digits.
  EXPECT_EQ(keys->get(at(6), 6).digits.size(), 2u);
  EXPECT_EQ(keys->get(at(6), 6).digits[0][0].view.limbs(), 4 + 8 + 8);
  EXPECT_THROW(keys->get(at(6), 7), KeyError);
  EXPECT_THROW(keys->get(at(1), 1), KeyError);
  EXPECT_THROW(generator.make(relin, 6), KeyError);
  EXPECT_THROW(generator.make(at(6), 8), KeyError);
  EXPECT_THROW(KeyRecorder(w.constants).get(at(6), 3), KeyError);
}

TEST(Keys, BundleKeepsTheHighestLevel) {
  RlweWorld w(kLeveled);
  KeyGenerator generator(w.constants, w.queue, w.secret, w.random);
  const KeyLabel relin{}, turn{KeyKind::Galois, 5};
  const auto keys = generator.make(KeyRequest{{relin, 2}, {turn, 1}});
  EXPECT_EQ(keys->id(), w.secret.id());
  EXPECT_EQ(keys->params_hash(), w.params->hash());
  EXPECT_EQ(keys->labels().size(), 2u);
  EXPECT_TRUE(keys->has(relin, 2) && keys->has(relin, 0) && !keys->has(relin, 3));
  EXPECT_THROW(keys->get(relin, 3), KeyError);
  EXPECT_THROW(keys->get({KeyKind::Galois, 25}, 0), KeyError);
  keys->insert(generator.make(relin, 1));
  EXPECT_EQ(keys->get(relin, 1).level, 2);
  keys->insert(generator.make(relin, 4));
  EXPECT_EQ(keys->get(relin, 1).level, 4);
  EXPECT_EQ(keys->bytes(), keys->get(relin, 0).bytes() + keys->get(turn, 0).bytes());
}

TEST(Keys, RecorderNotesTheHighestLevel) {
  RlweWorld w(kBoot);
  const KeyRecorder recorder(w.constants);
  const KeyLabel relin{}, up{KeyKind::SparseToDense, 1};
  const SwitchKey& low = recorder.get(relin, 1);
  const SwitchKey& high = recorder.get(relin, 5);
  recorder.get(relin, 3);
  recorder.get(up, 2);
  EXPECT_EQ(low.level, 1);
  EXPECT_EQ(high.digits[0][0].view.data, nullptr);
  EXPECT_EQ(recorder.request(), (KeyRequest{{relin, 5}, {up, 2}}));
  KeyGenerator generator(w.constants, w.queue, w.secret, w.random);
  EXPECT_EQ(recorder.bytes(), generator.make(recorder.request())->bytes());
  EXPECT_THROW(recorder.get(relin, 99), KeyError);
  EXPECT_THROW(recorder.get({KeyKind::Galois, 4}, 1), KeyError);
}

TEST(Keys, OtherParametersAreRefused) {
  RlweWorld w(kLeveled), boot(kBoot);
  EXPECT_THROW(KeyGenerator(w.constants, w.queue, boot.secret, w.random), ContextError);
  EXPECT_THROW(make_public_key(w.constants, w.queue, boot.secret, w.random), ContextError);
  const Poly m = w.message(w.random_message(10), 1);
  EXPECT_THROW(encrypt_symmetric(w.constants, w.queue, boot.secret, m.view, 1, w.random),
               ContextError);
  EXPECT_THROW(encrypt_symmetric(w.constants, w.queue, w.secret, m.view, 99, w.random), LevelError);
  EXPECT_THROW(
      encrypt_symmetric(w.constants, w.queue, w.secret, m.view, w.params->top_level(), w.random),
      ShapeError);
  EXPECT_THROW(w.secret.sparse_coefficients(), KeyError);
  EXPECT_THROW(SecretKey::restore(w.params, w.secret.id(), w.secret.coefficients().first(10), {}),
               KeyError);
}

TEST(Flooding, HidesTheNoiseAndSaysWhatItCosts) {
  RlweWorld w(kLeveled);
  const auto m = w.random_message(40);
  const int level = 3;
  const FreshPair pair =
      encrypt_symmetric(w.constants, w.queue, w.secret, w.message(m, level).view, level, w.random);
  const PolyView parts[2] = {pair.parts[0].view, pair.parts[1].view};
  const Flooding flooding{20.0 * 32, 1024, 30};  // 20 per coefficient, N = 2^10
  const SharedDecryption shared =
      decrypt_for_sharing(w.constants, w.queue, w.secret, parts, level, 1.0, flooding, w.random);
  EXPECT_NEAR(shared.bits_lost, 15 + 0.5 * std::log2(12.0 * 1024) + 5, 1e-9);
  EXPECT_NEAR(shared.bits_lost, std::log2(shared.sigma / 20), 1e-9);
  EXPECT_NEAR(deviation(difference(shared.coefficients, m)) / shared.sigma, 1.0, 0.1);
  EXPECT_THROW((Flooding{0, 1, 30}.sigma()), ValueError);
  EXPECT_THROW((Flooding{1, 0, 30}.sigma()), ValueError);
  EXPECT_THROW(decrypt_for_sharing(w.constants, w.queue, w.secret, parts, 0, 1.0,
                                   {std::ldexp(1.0, 40), 1, 30}, w.random),
               Error);
}

TEST(Galois, ElementsFormTheGroup) {
  for (int log_n : {10, 16}) {
    const std::uint32_t mask = (2u << log_n) - 1;
    EXPECT_EQ(rotation_element(0, log_n), 1u);
    EXPECT_EQ(rotation_element(1, log_n), 5u);
    EXPECT_EQ(rotation_element(1 << (log_n - 1), log_n), 1u);
    for (int r : {1, 7, 100, 511}) {
      const std::uint32_t g = rotation_element(r, log_n);
      EXPECT_EQ(g * inverse_element(g, log_n) & mask, 1u);
      EXPECT_EQ(inverse_element(g, log_n), rotation_element(-r, log_n));
    }
    EXPECT_EQ(conjugation_element(log_n), mask);
    EXPECT_THROW(inverse_element(4, log_n), ParameterError);
  }
}

TEST(Client, PublicKeysOfAnotherContextAreRefusedByName) {
  RlweWorld a(kLeveled), b(kLeveled);
  const PublicKey key = make_public_key(a.constants, a.queue, a.secret, a.random);
  const Poly m = b.message(b.random_message(20), 1);
  try {
    encrypt_public(b.constants, b.queue, key, m.view, 1, b.random);
    FAIL() << "accepted";
  } catch (const ContextError& e) {
    EXPECT_NE(std::string(e.what()).find("load_public_key"), std::string::npos) << e.what();
  }
}

}  // namespace
}  // namespace latticino::rlwe
