// A small parameter set on the CPU reference with a secret key from a fixed seed.
#pragma once

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "params/params.h"
#include "rlwe/client.h"
#include "rlwe/secret_poly.h"
#include "runtime/queue.h"

namespace latticino::test {

inline rlwe::Random fixed_random(std::uint8_t x) {
  rlwe::Seed seed{};
  seed[0] = x;
  return rlwe::Random::insecure_from_seed(seed);
}

struct RlweWorld {
  explicit RlweWorld(const std::string& name, std::uint8_t seed = 1)
      : params(preset(name)),
        constants(params),
        queue(make_cpu_backend({false, 1})),
        random(fixed_random(seed)),
        secret(rlwe::SecretKey::generate(params, random)) {}

  const Ring& ring() const { return constants.ring(); }

  // Coefficients as an Eval polynomial over basis(level).
  Poly message(const std::vector<std::int64_t>& coefficients, int level) {
    return rlwe::secret_poly(queue, ring(), params->basis(level), coefficients);
  }

  // Coefficients in [-2^bits, 2^bits).
  std::vector<std::int64_t> random_message(int bits) {
    std::vector<std::int64_t> m(params->n());
    for (auto& x : m) x = static_cast<std::int64_t>(random.next64()) >> (63 - bits);
    return m;
  }

  std::vector<double> decrypt(const std::array<Poly, 2>& parts, int level, double scale = 1) {
    const PolyView views[2] = {parts[0].view, parts[1].view};
    return rlwe::decrypt(constants, queue, secret, views, level, scale);
  }

  std::shared_ptr<const Params> params;
  rlwe::Constants constants;
  Queue queue;
  rlwe::Random random;
  rlwe::SecretKey secret;
};

inline double deviation(const std::vector<double>& x) {
  double sum = 0;
  for (const double v : x) sum += v * v;
  return std::sqrt(sum / static_cast<double>(x.size()));
}

template <class A, class B>
std::vector<double> difference(const A& a, const B& b) {
  std::vector<double> out;
  for (std::size_t i = 0; i < a.size(); ++i) {
    out.push_back(static_cast<double>(a[i]) - static_cast<double>(b[i]));
  }
  return out;
}

}  // namespace latticino::test
