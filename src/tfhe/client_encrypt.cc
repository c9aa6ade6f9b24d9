#include <algorithm>
#include <cmath>

#include "crypto/expand.h"
#include "crypto/secure_memory.h"
#include "math/errors.h"
#include "math/interrupt.h"
#include "tfhe/client.h"
#include "tfhe/secret_lwe.h"

namespace latticino::tfhe {
namespace {

constexpr std::uint32_t kRows = 4096;  // the most ciphertexts in host memory at once

// Branches depend on the decrypted value.
void declassify(const std::vector<std::uint32_t>& phases) {
  crypto::declassify(phases.data(), phases.size() * sizeof(std::uint32_t));
}

}  // namespace

std::uint32_t inner_product(const std::uint32_t* a, std::span<const std::int8_t> s,
                            const Modulus& m) {
  std::int64_t sum = 0;  // fewer than 2^13 terms of 31 bits
  for (std::size_t i = 0; i < s.size(); ++i) sum += static_cast<std::int64_t>(s[i]) * a[i];
  return reduce_s64(sum, m);
}

void encrypt_rows(std::uint32_t* words, std::size_t stride, std::span<const std::uint32_t> messages,
                  std::span<const std::int8_t> s, double sigma, const rlwe::Seed& seed,
                  const Modulus& m, rlwe::Random& random, std::size_t first) {
  std::vector<std::int64_t> error = random.gaussian(static_cast<int>(messages.size()), sigma);
  const crypto::ClearOnExit clear(error);
  for (std::size_t r = 0; r < messages.size(); ++r, words += stride) {
    check_interrupt();
    crypto::expand_limb(seed, first + r, 0, m.q, {words, s.size()});
    const std::uint32_t noisy = add_mod(messages[r], reduce_s64(error[r], m), m.q);
    words[s.size()] = sub_mod(noisy, inner_product(words, s, m), m.q);
    crypto::declassify(words, (s.size() + 1) * sizeof(std::uint32_t));  // a ciphertext is public
  }
}

void require_params(const char* operation, const TfheParams& a, const TfheParams& b) {
  if (a.hash() != b.hash()) {
    throw ContextError(operation, "a key of the set " + a.name(), "one of the set " + b.name(),
                       "use the key that was made for these parameters");
  }
}

Ciphertext encrypt(const std::shared_ptr<const Context>& context, const SecretKey& secret,
                   std::span<const std::uint32_t> messages, Encoding encoding,
                   rlwe::Random& random) {
  const TfheParams& params = context->params();
  require_params("tfhe.encrypt", secret.params(), params);
  if (messages.empty()) {
    throw ShapeError("tfhe.encrypt", "no messages", "at least one", "pass some");
  }
  std::vector<std::uint32_t> residues;
  // Reserved, because a growing vector would leave copies of secrets behind.
  residues.reserve(messages.size());
  for (const std::uint32_t m : messages) residues.push_back(encode(params, encoding, m));
  const crypto::ClearOnExit clear(residues);
  Ciphertext out;
  out.context = context;
  out.key = secret.id();
  out.encoding = encoding;
  out.largest = message_count(params, encoding) - 1;
  auto [buffer, view] = context->allocate(static_cast<std::uint32_t>(params.big_dimension()),
                                          static_cast<std::uint32_t>(messages.size()));
  out.buffer = std::move(buffer);
  out.view = view;
  out.seed = random.seed();
  const Modulus m = make_modulus(view.modulus);
  std::vector<std::uint32_t> words;
  std::vector<Origins> origins;
  for (std::uint32_t at = 0; at < view.count; at += kRows) {
    const LweView part = view.part(at, std::min(kRows, view.count - at));
    words.resize(part.stride * part.count);
    encrypt_rows(words.data(), part.stride, std::span(residues).subspan(at, part.count),
                 secret.glwe(), params.fresh_sigma(), *out.seed, m, random, at);
    context->queue().copy_in(part.data, words.data(), words.size() * sizeof(std::uint32_t));
    origins.push_back(Origins::of_masks(part, words.data()));
  }
  out.origins = Origins::concatenated(origins);
  return out;
}

std::vector<std::uint32_t> phases(const Context& context, const SecretKey& secret,
                                  const LweView& x) {
  require_params("tfhe.decrypt", secret.params(), context.params());
  const std::span<const std::int8_t> s =
      x.dimension == secret.lwe().size() ? secret.lwe() : secret.glwe();
  if (x.dimension != s.size()) {
    throw ShapeError("tfhe.decrypt", "dimension " + std::to_string(x.dimension),
                     std::to_string(secret.glwe().size()), "pass a ciphertext of this set");
  }
  const Modulus m = make_modulus(x.modulus);
  std::vector<std::uint32_t> out(x.count), words;
  try {
    for (std::uint32_t at = 0; at < x.count; at += kRows) {
      const LweView part = x.part(at, std::min(kRows, x.count - at));
      words.resize(part.words());
      context.queue().copy_out(words.data(), part.data, words.size() * sizeof(std::uint32_t));
      for (std::size_t i = 0; i < part.count; ++i) {
        check_interrupt();
        const std::uint32_t* a = words.data() + i * part.stride;
        out[at + i] = add_mod(a[part.dimension], inner_product(a, s, m), m.q);
      }
    }
  } catch (...) {
    crypto::secure_clear(out.data(), out.size() * sizeof(std::uint32_t));
    throw;
  }
  return out;
}

std::vector<std::uint32_t> decrypt(const SecretKey& secret, const Ciphertext& x) {
  if (x.key != secret.id()) {
    throw KeyError("tfhe.decrypt", "a ciphertext under key " + x.key.str(),
                   "key " + secret.id().str(), "use the secret key that encrypted it");
  }
  require_decodable("tfhe.decrypt", *x.context, x.encoding, x.norm2);
  std::vector<std::uint32_t> out = phases(*x.context, secret, x.view);
  declassify(out);
  for (std::uint32_t& v : out) v = decode(secret.params(), x.encoding, v);
  return out;
}

std::vector<double> errors(const SecretKey& secret, const Ciphertext& x) {
  const TfheParams& params = secret.params();
  std::vector<double> out;
  std::vector<std::uint32_t> all = phases(*x.context, secret, x.view);
  const crypto::ClearOnExit clear(all);
  declassify(all);
  for (const std::uint32_t phase : all) {
    const std::uint32_t exact = encode(params, x.encoding, decode(params, x.encoding, phase));
    out.push_back(
        static_cast<double>(centre(sub_mod(phase, exact, x.view.modulus), x.view.modulus)) /
        x.view.modulus);
  }
  return out;
}

std::vector<double> switch_errors(const SecretKey& secret, const ServerKeys& keys,
                                  const Ciphertext& x) {
  const Context& context = *x.context;
  const TfheParams& params = secret.params();
  const auto small = static_cast<std::uint32_t>(params.lwe_dimension());
  const std::uint32_t turn = 2 * static_cast<std::uint32_t>(params.n());
  const Context::Lwe exponents = exponents_of(context, keys, x.view);
  std::vector<std::uint32_t> words(exponents.view.words());
  context.queue().copy_out(words.data(), exponents.view.data, words.size() * sizeof(std::uint32_t));
  std::vector<std::uint32_t> before = phases(context, secret, x.view);
  const crypto::ClearOnExit clear(before);
  std::vector<double> out;
  for (std::uint32_t i = 0; i < x.size(); ++i) {
    const std::uint32_t* e = words.data() + std::size_t{i} * exponents.view.stride;
    std::uint32_t phase = e[small];
    for (std::uint32_t k = 0; k < small; ++k) {
      phase += e[k] * static_cast<std::uint32_t>(secret.lwe()[k]);
    }
    const double added =
        static_cast<double>(phase % turn) / turn - static_cast<double>(before[i]) / x.view.modulus;
    out.push_back(added - std::round(added));
  }
  return out;
}

}  // namespace latticino::tfhe
