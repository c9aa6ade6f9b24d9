// A TFHE set on the CPU with keys from a fixed seed.
#pragma once

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "session/keys/tfhe_key_holder.h"
#include "support/rlwe_support.h"
#include "tfhe/evaluator.h"

namespace latticino::test {

struct TfheWorld : session::TfheKeyHolder {
  explicit TfheWorld(std::shared_ptr<const TfheParams> p, bool simd = true, std::uint8_t seed = 1,
                     const tfhe::ArithmeticRule& arithmetic = BlindRotateArithmetic::Exact)
      : TfheKeyHolder(
            tfhe::Context::create(std::move(p),
                                  std::make_unique<Queue>(make_cpu_backend({simd, 1})), arithmetic),
            fixed_random(seed)),
        params(context->shared_params()),
        keys(server_keys()),
        evaluator(context, keys) {}
  explicit TfheWorld(const std::string& name, bool simd = true, std::uint8_t seed = 1)
      : TfheWorld(tfhe_preset(name), simd, seed) {}

  tfhe::Ciphertext encrypt(const std::vector<std::uint32_t>& m, tfhe::Encoding encoding) {
    return TfheKeyHolder::encrypt(m, encoding);
  }
  std::vector<std::uint32_t> decrypt(const tfhe::Ciphertext& x) const {
    return tfhe::decrypt(secret, x);
  }

  std::shared_ptr<const TfheParams> params;
  std::shared_ptr<const tfhe::ServerKeys> keys;
  tfhe::Evaluator evaluator;
};

// The numbers 0, 1 .. count - 1, repeated `times` times.
inline std::vector<std::uint32_t> every_message(std::uint32_t count, int times = 1) {
  std::vector<std::uint32_t> out;
  for (int r = 0; r < times; ++r) {
    for (std::uint32_t m = 0; m < count; ++m) out.push_back(m);
  }
  return out;
}

inline constexpr tfhe::Gate kGates[] = {
    tfhe::Gate::And,  tfhe::Gate::Nand,   tfhe::Gate::Or,     tfhe::Gate::Nor,   tfhe::Gate::Xor,
    tfhe::Gate::Xnor, tfhe::Gate::AndNot, tfhe::Gate::NotAnd, tfhe::Gate::OrNot, tfhe::Gate::NotOr};

inline std::uint32_t truth(tfhe::Gate gate, bool x, bool y) {
  switch (gate) {
    case tfhe::Gate::And:
      return x && y;
    case tfhe::Gate::Nand:
      return !(x && y);
    case tfhe::Gate::Or:
      return x || y;
    case tfhe::Gate::Nor:
      return !(x || y);
    case tfhe::Gate::Xor:
      return x != y;
    case tfhe::Gate::Xnor:
      return x == y;
    case tfhe::Gate::AndNot:
      return x && !y;
    case tfhe::Gate::NotAnd:
      return !x && y;
    case tfhe::Gate::OrNot:
      return x || !y;
    case tfhe::Gate::NotOr:
      return !x || y;
  }
  return 2;
}

}  // namespace latticino::test
