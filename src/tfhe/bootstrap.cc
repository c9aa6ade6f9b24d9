// Bootstrapping of batches: sums, key switch, modulus switch, blind rotation, extraction.
#include <algorithm>
#include <numeric>
#include <string>

#include "math/errors.h"
#include "tfhe/evaluator.h"
#include "tfhe/origins/origins_trace.h"

namespace latticino::tfhe {

const ServerKeys& Evaluator::keys(const char* operation, const Ciphertext& x) const {
  if (keys_ == nullptr) {
    throw KeyError(operation, "a context without evaluation keys", "those of key " + x.key.str(),
                   "call use(keys) with what the client's server_keys() gives");
  }
  if (keys_->id != x.key) {
    throw KeyError(operation, "a ciphertext under key " + x.key.str(), "key " + keys_->id.str(),
                   "use the server keys of the ciphertext's secret");
  }
  return *keys_;
}

std::uint32_t Evaluator::batch(const char* operation, const Sum& sum) const {
  std::uint32_t count = 1;
  for (const Term& term : sum.terms) {
    const std::uint32_t size = term.x->size();
    if (size != 1 && count != 1 && size != count) {
      throw ShapeError(operation,
                       "batches of " + std::to_string(count) + " and " + std::to_string(size),
                       "equal sizes, or one element", "pass batches that go together");
    }
    count = std::max(count, size);
  }
  return count;
}

Ciphertext Evaluator::result(const Ciphertext& like, Encoding encoding, std::uint32_t count) const {
  Ciphertext out;
  out.context = context_;
  out.key = like.key;
  out.encoding = encoding;
  auto [buffer, view] =
      context_->allocate(static_cast<std::uint32_t>(context_->params().big_dimension()), count);
  out.buffer = std::move(buffer);
  out.view = view;
  return out;
}

std::vector<Ciphertext> Evaluator::bootstrap(const char* operation, std::span<const Lookup> lookups,
                                             int log_many) const {
  const TfheParams& params = context_->params();
  const ServerKeys& server = keys(operation, *lookups[0].sum.terms[0].x);
  std::vector<std::uint32_t> counts;
  std::vector<Ciphertext> added(
      lookups.size());  // a fresh encryption of zero is added if the context asks for one
  for (std::size_t i = 0; i < lookups.size(); ++i) {
    const Lookup& lookup = lookups[i];
    keys(operation, *lookup.sum.terms[0].x);
    const bool outside = std::any_of(lookup.sum.terms.begin(), lookup.sum.terms.end(),
                                     [](const Term& term) { return term.x->outside; });
    counts.push_back(batch(operation, lookup.sum));
    double norm2 = lookup.norm2;
    if (outside && context_->rerandomizes()) {
      added[i] = zeros(*lookup.sum.terms[0].x, counts.back());
      norm2 += added[i].norm2;
    }
    const double log_p = log_failure(norm2, lookup.distance, log_many);
    if (log_p > params.literal().log_failure) {
      throw LevelError(operation,
                       "a sum of squared norm " + std::to_string(norm2) + " that fails with 2^" +
                           std::to_string(log_p),
                       "at most 2^" + std::to_string(params.literal().log_failure),
                       "multiply by smaller numbers, or add fewer values at once");
    }
    if (context_->is_dry()) context_->add_failure(log_p, counts.back());
  }
  const std::uint32_t total = std::accumulate(counts.begin(), counts.end(), 0u);
  const auto big = static_cast<std::uint32_t>(params.big_dimension());
  const auto parts = static_cast<std::uint32_t>(params.glwe_dimension()) + 1;
  const Context::Lwe sums = context_->allocate(big, total);
  const Context::Polys rotated = context_->allocate_polys(total * parts, Domain::Coeff);

  LweLinear linear;
  std::vector<Rotation> rotations;
  SampleExtract extract;
  extract.glwe_dimension = params.glwe_dimension();
  std::vector<std::uint32_t> coefficients(std::size_t{1} << log_many);
  std::iota(coefficients.begin(), coefficients.end(), 0);
  std::vector<Ciphertext> results;
  std::uint32_t at = 0;
  for (std::size_t i = 0; i < lookups.size(); at += counts[i++]) {
    const Lookup& lookup = lookups[i];
    LweLinear::Item item{
        .terms = {}, .out = sums.view.part(at, counts[i]), .constant = lookup.sum.constant};
    for (const Term& term : lookup.sum.terms)
      item.terms.push_back({.x = term.x->view, .factor = term.factor});
    if (added[i].buffer != nullptr) item.terms.push_back({.x = added[i].view, .factor = 1});
    linear.items.push_back(std::move(item));
    const Origins before = origins(lookup.sum.terms), from = before.bootstrapped(counts[i]);
    if (OriginsTrace* trace = OriginsTrace::current()) trace->add_bootstrapping(before, from);
    const PolyArray out = rotated.view.part(at * parts, counts[i] * parts);
    rotations.push_back({counts[i], lookup.table, out});
    for (const std::uint32_t c : coefficients) {
      results.push_back(result(*lookup.sum.terms[0].x, lookup.out, counts[i]));
      results.back().largest = lookup.largest[c];
      results.back().origins = from;
      extract.items.push_back({.in = out, .coefficients = {c}, .out = results.back().view});
    }
  }
  Queue& queue = context_->queue();
  queue.submit(std::move(linear));
  rotate(*context_, server, sums.view, rotations, log_many);
  queue.submit(std::move(extract));
  return results;
}

}  // namespace latticino::tfhe
