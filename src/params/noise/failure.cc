// Failure probability of bootstrapping: after ModRaise a coefficient is m + q0 I, where I is
// distributed as the rounded sum of h + 1 uniforms on [-1/2, 1/2] (paper: Bossuat, Troncoso-
// Pastoriza, Hubaux, eprint 2022/024, eq. 1; Irwin-Hall).
#include <algorithm>
#include <cmath>

#include "math/big_uint.h"
#include "params/params.h"

namespace latticino {
namespace {

// log2 Pr[S > k], S the sum of n uniforms on [-1/2, 1/2], exactly:
//   n! 2^n Pr = sum_{i >= 0, n - 2k - 2i > 0} (-1)^i C(n, i) (n - 2k - 2i)^n.
double log_tail(int n, int k) {
  if (n - 2 * k <= 0) return -HUGE_VAL;
  BigUint positive, negative, binomial(1);
  for (int i = 0; n - 2 * k - 2 * i > 0; ++i) {
    BigUint term = binomial;
    for (int e = 0; e < n; ++e) term *= static_cast<std::uint32_t>(n - 2 * k - 2 * i);
    (i % 2 == 0 ? positive : negative) += term;
    binomial *= static_cast<std::uint32_t>(n - i);
    binomial = binomial.divided_by(static_cast<std::uint32_t>(i + 1));
  }
  positive -= negative;
  double log_factorial = 0;
  for (int i = 2; i <= n; ++i) log_factorial += std::log2(i);
  return positive.log2() - n - log_factorial;
}

}  // namespace

double Params::bootstrap_log_failure() const {
  level_after_bootstrap();  // throws for parameters without bootstrapping
  const BootstrapLiteral& b = *literal_.bootstrap;
  // Both tails of N coefficients, by the union bound.
  return std::min(0.0, log_n() + 1 + log_tail(b.sparse_weight + 1, b.range_k));
}

}  // namespace latticino
