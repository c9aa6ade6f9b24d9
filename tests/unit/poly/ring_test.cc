#include "poly/ring.h"

#include <gtest/gtest.h>

#include "math/errors.h"
#include "support/ring_support.h"

namespace latticino {
namespace {

TEST(Ring, TakesTheLeastRoot) {
  const Ring ring(11, test::ntt_primes(11, 3));
  for (int i = 0; i < ring.prime_count(); ++i) {
    const Modulus m = make_modulus(ring.prime(i));
    EXPECT_EQ(pow_mod(ring.psi(i), ring.n(), m), m.q - 1);
    for (std::uint32_t x = 2;; ++x) {
      const std::uint32_t root = pow_mod(x, (m.q - 1) / (2 * ring.n()), m);
      if (pow_mod(root, ring.n(), m) != m.q - 1) continue;
      EXPECT_EQ(root, ring.psi(i));
      break;
    }
  }
}

TEST(Ring, RefusesWhatIsNotAnNttPrime) {
  const std::uint32_t q = test::ntt_primes(11, 1)[0];
  EXPECT_THROW(Ring(11, {}), ParameterError);
  EXPECT_THROW(Ring(9, {q}), ParameterError);
  EXPECT_THROW(Ring(18, {q}), ParameterError);
  EXPECT_THROW(Ring(11, {q, q}), ParameterError);
  EXPECT_THROW(Ring(11, {12289 * 2 + 1}), ParameterError);      // 24579, even quotient of 3
  EXPECT_THROW(Ring(11, {2147483647}), ParameterError);         // prime, not 1 modulo 2N
  EXPECT_THROW(Ring(11, {4096u * 4096u + 1}), ParameterError);  // 1 modulo 2N, composite
  EXPECT_THROW(Ring(11, {2150653953u}), ParameterError);        // above 2^31
}

}  // namespace
}  // namespace latticino
