#include "poly/ring.h"

#include <string>
#include <unordered_set>

#include "math/errors.h"
#include "math/modulus.h"
#include "math/primes.h"

namespace latticino {
namespace {

constexpr int kMinLogN = 10, kMaxLogN = 17;

[[noreturn]] void fail(const std::string& had, const std::string& needs) {
  throw ParameterError("Ring", had, needs, "choose other primes or another degree");
}

std::uint32_t find_psi(std::uint32_t q, int log_n) {
  const Modulus m = make_modulus(q);
  const std::uint32_t exponent = (q - 1) >> (log_n + 1);
  for (std::uint32_t x = 2;; ++x) {
    const std::uint32_t psi = pow_mod(x, exponent, m);
    if (pow_mod(psi, std::uint64_t{1} << log_n, m) == q - 1) return psi;
  }
}

}  // namespace

Ring::Ring(int log_n, std::vector<std::uint32_t> primes)
    : log_n_(log_n), primes_(std::move(primes)) {
  if (log_n < kMinLogN || log_n > kMaxLogN) {
    fail("log2(N) = " + std::to_string(log_n), "a degree N = 2^10 .. 2^17");
  }
  if (primes_.empty() || primes_.size() > 0xFFFF) {
    fail(std::to_string(primes_.size()) + " primes", "1 to 65535 primes");
  }
  std::unordered_set<std::uint32_t> seen;
  for (const std::uint32_t q : primes_) {
    const std::string text = "q = " + std::to_string(q);
    if (q >= (1u << 31) || !is_prime(q)) fail(text, "primes below 2^31");
    if ((q - 1) % (2u << log_n) != 0) fail(text, "q = 1 modulo 2N");
    if (!seen.insert(q).second) fail(text + " twice", "distinct primes");
    psi_.push_back(find_psi(q, log_n));
  }
}

}  // namespace latticino
