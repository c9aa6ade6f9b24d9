#include "session/keys/ckks_key_holder.h"

#include <algorithm>

#include "ckks/encoding/client.h"
#include "ckks/encoding/encoder.h"

namespace latticino::session {

std::vector<ckks::Ciphertext> CkksKeyHolder::encrypt(std::span<const ckks::Plaintext> batch) {
  return ckks::encrypt(secret, batch, random);
}

ckks::Ciphertext CkksKeyHolder::encrypt(const std::vector<ckks::Complex>& slots, int level,
                                        double scale) {
  const ckks::Plaintext x = ckks::encode(context, slots, level, scale);
  return std::move(encrypt({&x, 1}).front());
}

std::vector<ckks::Complex> CkksKeyHolder::decrypt(const ckks::Ciphertext& x) const {
  return std::move(ckks::decrypt(secret, {&x, 1}).front());
}

std::vector<double> CkksKeyHolder::coefficients(const ckks::Ciphertext& x) const {
  std::vector<PolyView> parts;
  parts.reserve(x.parts.size());
  for (const Poly& part : x.parts) parts.push_back(part.view);
  return rlwe::decrypt(context->constants(), context->queue(), secret, parts, x.level, x.scale);
}

rlwe::KeyGenerator CkksKeyHolder::generator() {
  return {context->constants(), context->queue(), secret, random};
}

std::shared_ptr<rlwe::EvaluationKeys> CkksKeyHolder::keys(const rlwe::KeyRequest& request) {
  return generator().make(request);
}

rlwe::PublicKey CkksKeyHolder::public_key() {
  return rlwe::make_public_key(context->constants(), context->queue(), secret, random);
}

std::vector<ckks::Ciphertext> encrypt_rows(
    const std::shared_ptr<const ckks::Context>& context,
    std::span<const std::vector<ckks::Complex>> rows, int level, double scale,
    const std::function<std::vector<ckks::Ciphertext>(std::span<const ckks::Plaintext>)>& encrypt) {
  constexpr std::size_t kMaxBatch = 16;
  std::vector<ckks::Ciphertext> out;
  for (std::size_t first = 0; first < rows.size(); first += kMaxBatch) {
    const auto some = rows.subspan(first, std::min(kMaxBatch, rows.size() - first));
    const std::vector<ckks::Values> batch(some.begin(), some.end());
    for (ckks::Ciphertext& x : encrypt(ckks::encode_all(context, batch, level, scale))) {
      out.push_back(std::move(x));
    }
  }
  return out;
}

}  // namespace latticino::session
