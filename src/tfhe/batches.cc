// The ciphertexts of batches in other orders. This needs no arithmetic and no keys.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "math/errors.h"
#include "tfhe/ciphertext.h"

namespace latticino::tfhe {
namespace {

// If the distance from each place to the next, from `at` on, is always the same (it may be 0),
// these places are one view.
struct Run {
  std::size_t count;
  std::uint32_t step;
};
Run run(std::span<const std::uint32_t> places, std::size_t at) {
  if (at + 1 == places.size() || places[at + 1] < places[at]) return {1, 1};
  const std::uint32_t step = places[at + 1] - places[at];
  std::size_t end = at + 2;
  while (end < places.size() && places[end] - places[end - 1] == step) ++end;
  return {end - at, step};
}

LweView view(const LweView& x, std::uint32_t first, const Run& r) {
  LweView out = x.part(first, r.step == 0 ? 1 : static_cast<std::uint32_t>(r.count));
  out.stride = x.stride * std::max(r.step, 1u);
  return out;
}

// A ciphertext with the same properties and memory of its own.
Ciphertext like(const Ciphertext& x, std::uint32_t count) {
  Ciphertext out = x;
  out.seed.reset();
  out.stated_norm2.reset();
  auto [buffer, words] = x.context->allocate(x.view.dimension, count);
  out.buffer = std::move(buffer);
  out.view = words;
  return out;
}

}  // namespace

Ciphertext take(const Ciphertext& x, std::span<const std::uint32_t> indices) {
  if (indices.empty()) throw ShapeError("tfhe.take", "no places", "at least one", "name some");
  const std::uint32_t last = *std::max_element(indices.begin(), indices.end());
  if (last >= x.size()) {
    throw ShapeError("tfhe.take", "place " + std::to_string(last),
                     "places below " + std::to_string(x.size()), "check the index");
  }
  const Run whole = run(indices, 0);
  if (whole.count == indices.size() && (whole.step > 0 || whole.count == 1)) {
    Ciphertext out = x;
    out.view = view(x.view, indices[0], whole);
    if (!same(out, x)) out.origins = x.origins.taken(indices);
    if (out.size() != x.size()) out.seed.reset();
    return out;
  }
  Ciphertext out = like(x, static_cast<std::uint32_t>(indices.size()));
  out.origins = x.origins.taken(indices);
  LweLinear copy;
  for (std::size_t at = 0; at < indices.size();) {
    const Run r = run(indices, at);
    copy.items.push_back(
        {{{view(x.view, indices[at], r), 1}},
         out.view.part(static_cast<std::uint32_t>(at), static_cast<std::uint32_t>(r.count)),
         0});
    at += r.count;
  }
  x.context->queue().submit(std::move(copy));
  return out;
}

Ciphertext concatenate(std::span<const Ciphertext> x) {
  constexpr const char* kOperation = "tfhe.concatenate";
  if (x.empty()) throw ShapeError(kOperation, "no batches", "at least one", "pass some");
  std::uint32_t count = 0;
  for (const Ciphertext& part : x) {
    if (part.context != x[0].context) {
      throw ContextError(kOperation, "batches of two contexts", "one context",
                         "encrypt both in the same one");
    }
    if (part.key != x[0].key) {
      throw KeyError(kOperation, "batches under two keys", "one key", "use one secret key");
    }
    if (part.encoding != x[0].encoding) {
      throw ParameterError(kOperation,
                           std::string(name(part.encoding)) + " and " + name(x[0].encoding),
                           "one encoding", "encrypt them alike");
    }
    count += part.size();
  }
  Ciphertext out = like(x[0], count);
  std::vector<const Origins*> origins;
  std::vector<std::uint32_t> counts;
  for (const Ciphertext& part : x) {
    origins.push_back(&part.origins);
    counts.push_back(part.size());
  }
  out.origins = Origins::concatenated(origins, counts);
  LweLinear copy;
  std::uint32_t at = 0;
  for (const Ciphertext& part : x) {
    copy.items.push_back({.terms = {{.x = part.view}}, .out = out.view.part(at, part.size())});
    out.norm2 = std::max(out.norm2, part.norm2);
    out.largest = std::max(out.largest, part.largest);
    out.outside |= part.outside;
    at += part.size();
  }
  x[0].context->queue().submit(std::move(copy));
  return out;
}

}  // namespace latticino::tfhe
