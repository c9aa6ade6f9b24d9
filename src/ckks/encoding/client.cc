#include "ckks/encoding/client.h"

#include <algorithm>

#include "ckks/encoding/encoder.h"
#include "math/errors.h"

namespace latticino::ckks {
namespace {

// The most ciphertexts in one batch of records, which limits memory.
constexpr std::size_t kMaxBatch = 16;

// The end of the run of ciphertexts from batch[first] on that have one level. A run has at most
// kMaxBatch ciphertexts.
template <class Batch>
std::size_t run_end(const Batch& batch, std::size_t first) {
  std::size_t end = first;
  while (end < batch.size() && end - first < kMaxBatch && batch[end].level == batch[first].level) {
    if (batch[end].context != batch[first].context) {
      throw ContextError("ckks.client", "objects of several contexts in a batch", "one context",
                         "encrypt and decrypt the objects of each context separately");
    }
    ++end;
  }
  return end;
}

std::vector<PolyView> views(const Ciphertext& x) {
  std::vector<PolyView> parts;
  parts.reserve(x.parts.size());
  for (const Poly& part : x.parts) parts.push_back(part.view);
  return parts;
}

}  // namespace

std::vector<Ciphertext> encrypt(const rlwe::SecretKey& secret, std::span<const Plaintext> batch,
                                rlwe::Random& random) {
  std::vector<Ciphertext> out;
  for (std::size_t first = 0, end = 0; first < batch.size(); first = end) {
    end = run_end(batch, first);
    const Context& context = *batch[first].context;
    std::vector<PolyView> messages;
    for (std::size_t i = first; i < end; ++i) messages.push_back(batch[i].poly.view);
    std::vector<rlwe::FreshPair> pairs = rlwe::encrypt_symmetric(
        context.constants(), context.queue(), secret, messages, batch[first].level, random);
    for (std::size_t i = first; i < end; ++i) {
      const Plaintext& x = batch[i];
      rlwe::FreshPair& pair = pairs[i - first];
      out.push_back({x.context,
                     {std::move(pair.parts[0]), std::move(pair.parts[1])},
                     x.level,
                     x.scale,
                     x.slots,
                     secret.id(),
                     pair.seed});
    }
  }
  return out;
}

std::vector<std::vector<Complex>> decrypt(const rlwe::SecretKey& secret,
                                          std::span<const Ciphertext> batch) {
  std::vector<std::vector<Complex>> out;
  for (std::size_t first = 0, end = 0; first < batch.size(); first = end) {
    end = run_end(batch, first);
    const Context& context = *batch[first].context;
    std::vector<std::vector<PolyView>> parts;
    for (std::size_t i = first; i < end; ++i) parts.push_back(views(batch[i]));
    const std::vector<Poly> phases =
        rlwe::phases(context.constants(), context.queue(), secret, parts, batch[first].level);
    std::vector<Coefficients> coefficients;
    for (std::size_t i = first; i < end; ++i) {
      coefficients.push_back({phases[i - first].view, batch[i].scale, batch[i].slots});
    }
    for (std::vector<Complex>& values : project_all(context, coefficients, true)) {
      out.push_back(std::move(values));
    }
  }
  return out;
}

SharedSlots decrypt_for_sharing(const rlwe::SecretKey& secret, const Ciphertext& x,
                                const rlwe::Flooding& flooding, rlwe::Random& random) {
  const Context& context = *x.context;
  const rlwe::FloodedPhase flooded = rlwe::flooded_phase(
      context.constants(), context.queue(), secret, views(x), x.level, flooding, random);
  const Coefficients one{flooded.phase.view, x.scale, x.slots};
  return {std::move(project_all(context, {&one, 1}, true).front()), flooded.sigma,
          flooded.bits_lost};
}

}  // namespace latticino::ckks
