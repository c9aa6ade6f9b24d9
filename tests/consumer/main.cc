// CKKS: encrypts two vectors, multiplies them, decrypts. TFHE: the program of docs/tfhe.md. The
// exit code says whether the results are right.
#include <cmath>
#include <iostream>

#include "latticino.h"

using latticino::ckks::Complex;

namespace {

bool tfhe_is_right() {
  namespace tfhe = latticino::tfhe;
  auto queue = std::make_shared<latticino::Queue>(latticino::make_cpu_backend());
  auto params = latticino::tfhe_preset("test-tfhe-2-2-tiny-insecure");
  auto context = tfhe::Context::create(params, queue);
  latticino::rlwe::Random random;
  auto secret = tfhe::SecretKey::generate(params, random);  // client
  auto keys = tfhe::make_server_keys(*context, secret, random);
  std::vector<std::uint64_t> values = {17, 65, 70};
  auto ages = tfhe::encrypt_integers(context, secret, values, 8, random);

  auto evaluator = std::make_shared<const tfhe::Evaluator>(context, keys);  // server
  tfhe::Integers integers(evaluator);
  auto limit = integers.clear(std::vector<std::uint64_t>{65}, 8);
  auto old = integers.compare(tfhe::Comparison::GreaterEqual, ages, limit);
  auto fare = integers.select(old, integers.sub(ages, limit), ages);
  auto twice = evaluator->apply(old, tfhe::make_table(context, [](auto m) { return 2 * m % 16; }));

  auto clear = tfhe::decrypt_integers(secret, fare);  // client: {17, 0, 5}
  return clear == std::vector<std::uint64_t>{17, 0, 5} &&
         tfhe::decrypt(secret, twice) == std::vector<std::uint32_t>{0, 2, 2};
}

}  // namespace

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
  return error < 1e-4 && tfhe_is_right() ? 0 : 1;
}
