#include "ckks/evaluator/checks.h"

#include <cmath>
#include <string>

#include "math/errors.h"
#include "math/text.h"

namespace latticino::ckks {
namespace {

std::string power(double log) { return formatted("2^%.6f", log); }
std::string bits(double scale) { return power(std::log2(scale)); }

void require_one_context(const char* operation, bool same) {
  if (same) return;
  throw ContextError(operation, "operands of another context", "operands of one context",
                     "use the context that made the operands");
}

}  // namespace

bool same_scale(double a, double b) { return std::abs(a - b) <= kScaleTolerance * std::abs(b); }

double snap_scale(const Params& params, int level, double scale) {
  return same_scale(scale, params.scale(level)) ? params.scale(level) : scale;
}

void require_context(const char* operation, const Context& context, const Ciphertext& x) {
  require_one_context(operation, x.context.get() == &context);
}

void require_context(const char* operation, const Context& context, const Plaintext& x) {
  require_one_context(operation, x.context.get() == &context);
}

void require_compatible(const char* operation, const Ciphertext& x, const Ciphertext& y) {
  if (x.key != y.key) {
    throw KeyError(operation, "ciphertexts under keys " + x.key.str() + " and " + y.key.str(),
                   "one secret key", "encrypt both under the same key");
  }
  require_slots(operation, y.slots, x.slots);
}

void require_slots(const char* operation, int had, int needs) {
  if (had == needs) return;
  throw ShapeError(operation, std::to_string(had) + " slots", std::to_string(needs) + " slots",
                   "encode both operands with the same number of slots");
}

void require_parts(const char* operation, const Ciphertext& x, int parts) {
  const int had = static_cast<int>(x.parts.size());
  if (had == parts) return;
  throw ShapeError(operation, "a ciphertext of " + std::to_string(had) + " parts",
                   std::to_string(parts) + " parts",
                   had > parts ? "relinearize it first" : "pass the result of tensor()");
}

void require_level(const char* operation, int had, int needs) {
  if (had >= needs) return;
  throw LevelError(
      operation, "level " + std::to_string(had), "level " + std::to_string(needs),
      "multiply fewer times in sequence, take parameters with more levels, or bootstrap() "
      "if they have it and it reaches that level");
}

void require_same_level(const char* operation, int had, int needs) {
  if (had == needs) return;
  throw LevelError(operation,
                   "a batch with levels " + std::to_string(needs) + " and " + std::to_string(had),
                   "one level", "bring all of them to the lowest with to_level()");
}

void require_same_scale(const char* operation, double had, double needs) {
  if (same_scale(had, needs)) return;
  throw ScaleError(
      operation, "scale " + bits(had), "scale " + bits(needs),
      "encrypt without a scale of your own, or bring both one level down with to_level()");
}

void require_capacity(const char* operation, const Params& params, int level, double scale) {
  if (std::log2(scale) < params.log_q(level)) return;
  throw ScaleError(operation, "scale " + bits(scale) + " at level " + std::to_string(level),
                   "less than the modulus " + power(params.log_q(level)),
                   "rescale first, or work at a higher level");
}

}  // namespace latticino::ckks
