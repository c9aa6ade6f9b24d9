// Encrypts two vectors, multiplies them, decrypts; the exit code says whether the result is right.
#include <cmath>
#include <iostream>

#include "latticino.h"

using latticino::ckks::Complex;

int main() {
  namespace ckks = latticino::ckks;
  namespace rlwe = latticino::rlwe;
  constexpr int kSlots = 8;
  const auto params = latticino::preset("test-n10-leveled-insecure");
  const auto context = ckks::Context::create(
      params, std::make_unique<latticino::Queue>(latticino::make_cpu_backend()));
  rlwe::Random random;
  const rlwe::SecretKey secret = rlwe::SecretKey::generate(params, random);
  const auto keys = rlwe::KeyGenerator(context->constants(), context->queue(), secret, random)
                        .make(rlwe::KeyRequest{{rlwe::KeyLabel{}, params->top_level()}});

  std::vector<Complex> a, b;
  for (int i = 0; i < kSlots; ++i) {
    a.emplace_back(i / 8.0, -0.25);
    b.emplace_back(0.5, i / 16.0);
  }
  const int level = params->top_level();
  const auto encrypt = [&](const std::vector<Complex>& values) {
    const ckks::Plaintext m = ckks::encode(context, values, level, params->scale(level));
    const rlwe::FreshPair pair = rlwe::encrypt_symmetric(context->constants(), context->queue(),
                                                         secret, m.poly.view, level, random);
    return ckks::Ciphertext{context,    {pair.parts[0], pair.parts[1]}, level, m.scale, kSlots,
                            secret.id()};
  };
  const ckks::Ciphertext product = ckks::Evaluator(context, keys).multiply(encrypt(a), encrypt(b));
  const latticino::PolyView parts[] = {product.parts[0].view, product.parts[1].view};
  const std::vector<Complex> got =
      context->encoder().project(rlwe::decrypt(context->constants(), context->queue(), secret,
                                               parts, product.level, product.scale),
                                 kSlots);
  double error = 0;
  for (int i = 0; i < kSlots; ++i) error = std::max(error, std::abs(got[i] - a[i] * b[i]));
  std::cout << "largest error " << error << std::endl;
  return error < 1e-4 ? 0 : 1;
}
