// A context with one saved object of every kind.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "ckks/context.h"
#include "io/files.h"
#include "support/rlwe_support.h"

namespace latticino::test {

using Bytes = std::vector<std::uint8_t>;

inline Bytes saved(const std::function<void(io::Sink&)>& body) {
  io::MemorySink sink;
  body(sink);
  return {sink.bytes().begin(), sink.bytes().end()};
}

struct FileWorld {
  explicit FileWorld(std::shared_ptr<const Params> p, std::uint8_t seed = 1)
      : params(std::move(p)),
        context(
            ckks::Context::create(params, std::make_unique<Queue>(make_cpu_backend({false, 1})))),
        random(fixed_random(seed)),
        secret(rlwe::SecretKey::generate(params, random)) {}

  const rlwe::Constants& constants() const { return context->constants(); }
  Queue& queue() const { return context->queue(); }

  std::vector<std::int64_t> message() {
    std::vector<std::int64_t> m(params->n());
    for (auto& x : m) x = static_cast<std::int64_t>(random.next64()) >> 34;
    return m;
  }

  ckks::Ciphertext encrypt(const std::vector<std::int64_t>& m, int level) {
    const Poly poly = rlwe::secret_poly(queue(), context->ring(), params->basis(level), m);
    rlwe::FreshPair pair =
        rlwe::encrypt_symmetric(constants(), queue(), secret, poly.view, level, random);
    return {context,  {pair.parts[0], pair.parts[1]}, level, 1.0, params->max_slots(), secret.id(),
            pair.seed};
  }

  std::vector<double> decrypt(const ckks::Ciphertext& x) const {
    std::vector<PolyView> parts;
    for (const Poly& p : x.parts) parts.push_back(p.view);
    return rlwe::decrypt(constants(), queue(), secret, parts, x.level, x.scale);
  }

  std::shared_ptr<rlwe::EvaluationKeys> keys(const rlwe::KeyRequest& request) {
    return rlwe::KeyGenerator(constants(), queue(), secret, random).make(request);
  }

  std::shared_ptr<const Params> params;
  std::shared_ptr<const ckks::Context> context;
  rlwe::Random random;
  rlwe::SecretKey secret;
};

}  // namespace latticino::test
