// Checks that every CKKS function makes of its operands before it allocates anything. Each throws
// the typed error that names the operation, what it had, what it needs and what to change.
#pragma once

#include "ckks/ciphertext.h"

namespace latticino::ckks {

// Scales are equal when they differ by at most this factor (double rounding of exact rationals).
constexpr double kScaleTolerance = 1e-12;
bool same_scale(double a, double b);
// `scale`, or the canonical scale of `level` when they are equal.
double snap_scale(const Params& params, int level, double scale);

void require_context(const char* operation, const Context& context, const Ciphertext& x);
void require_context(const char* operation, const Context& context, const Plaintext& x);
// Both have the same secret key and the same number of slots.
void require_compatible(const char* operation, const Ciphertext& x, const Ciphertext& y);
void require_slots(const char* operation, int had, int needs);
void require_parts(const char* operation, const Ciphertext& x, int parts);
void require_level(const char* operation, int had, int needs);
void require_same_level(const char* operation, int had, int needs);
void require_same_scale(const char* operation, double had, double needs);
// A ciphertext of this scale must fit the level's modulus.
void require_capacity(const char* operation, const Params& params, int level, double scale);

}  // namespace latticino::ckks
