// A TFHE set on the CPU with keys from a fixed seed.
#pragma once

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "support/rlwe_support.h"
#include "tfhe/client.h"
#include "tfhe/evaluator.h"

namespace latticino::test {

struct TfheWorld {
  explicit TfheWorld(std::shared_ptr<const TfheParams> p, bool simd = true, std::uint8_t seed = 1,
                     BlindRotateArithmetic arithmetic = BlindRotateArithmetic::Exact)
      : params(std::move(p)),
        context(tfhe::Context::create(params, std::make_unique<Queue>(make_cpu_backend({simd, 1})),
                                      arithmetic)),
        random(fixed_random(seed)),
        secret(tfhe::SecretKey::generate(params, random)),
        keys(tfhe::make_server_keys(*context, secret, random)),
        evaluator(context, keys) {}
  explicit TfheWorld(const std::string& name, bool simd = true, std::uint8_t seed = 1)
      : TfheWorld(tfhe_preset(name), simd, seed) {}

  tfhe::Ciphertext encrypt(const std::vector<std::uint32_t>& m, tfhe::Encoding encoding) {
    return tfhe::encrypt(context, secret, m, encoding, random);
  }
  std::vector<std::uint32_t> decrypt(const tfhe::Ciphertext& x) const {
    return tfhe::decrypt(secret, x);
  }

  std::shared_ptr<const TfheParams> params;
  std::shared_ptr<const tfhe::Context> context;
  rlwe::Random random;
  tfhe::SecretKey secret;
  std::shared_ptr<const tfhe::ServerKeys> keys;
  tfhe::Evaluator evaluator;
};

// 0, 1 .. count - 1, the whole `times` times.
inline std::vector<std::uint32_t> every_message(std::uint32_t count, int times = 1) {
  std::vector<std::uint32_t> out;
  for (int r = 0; r < times; ++r) {
    for (std::uint32_t m = 0; m < count; ++m) out.push_back(m);
  }
  return out;
}

}  // namespace latticino::test
