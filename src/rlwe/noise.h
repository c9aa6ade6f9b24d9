// Noise, measured with the secret key and predicted. It is the difference between what a ciphertext
// decrypts to and what it should decrypt to, per coefficient, before division by the scale. All
// formulas give the variance of one coefficient; sigma is kErrorSigma, and ||s||^2 is the squared
// norm of the secret: h for a fixed weight, 2N/3 for uniform ternary.
#pragma once

#include <span>

#include "rlwe/client.h"

namespace latticino::rlwe {

struct Noise {
  double deviation = 0;  // root of the mean square over the coefficients
  double largest = 0;    // in magnitude
};
// `expected`: the plaintext over at least basis(level), in Eval.
Noise measure_noise(const Constants& constants, Queue& queue, const SecretKey& secret,
                    std::span<const PolyView> parts, int level, const PolyView& expected);

double secret_norm(const Params& params);  // ||s||^2

// sigma^2.
double fresh_symmetric_variance();

// b v + e0 + s (a v + e1) - m = e v + e0 + e1 s: sigma^2 (1 + 2N/3 + ||s||^2).
double fresh_public_variance(const Params& params);

// Rescale from `level`: x U / D leaves the remainder of a fast conversion from k = |leaving(level)|
// primes. The conversion is a sum of k centred, uniform terms, each of variance 1/12 after the
// division, in both parts: k (1 + ||s||^2) / 12. The input's own noise is multiplied by U / D.
double rescale_variance(const Params& params, int level);

// Key switching at `level`: sum_j d_j e_j / P with d_j, one group of the digits, a fast conversion
// from k_j primes of product D_j, that is k_j uniform terms of variance D_j^2 / 12 each, and e_j
// the sum of g_j errors, one per digit of the group; then ModDown by alpha primes of P = P_level:
//   (N sigma^2 / 12) sum_j g_j k_j (D_j / P)^2 + alpha (1 + ||s||^2) / 12.
double key_switch_variance(const Params& params, int level);

// Key switching merged with the rescale of `level` (one division by P D): the first term times
// (U / D)^2, and (alpha + k) (1 + ||s||^2) / 12.
double key_switch_rescale_variance(const Params& params, int level);

// Encapsulation at level 0 (base primes k0 of product q0, as many aux primes of product P'):
//   (N sigma^2 / 12) k0 (q0 / P')^2 + k' (1 + h_sparse) / 12,
// and the way back after ModRaise to `level`, whose digit is exact (|a| < q0 / 2):
//   (N sigma^2 / 12) (q0 / P)^2 + alpha (1 + ||s||^2) / 12.
double to_sparse_variance(const Params& params);
double from_sparse_variance(const Params& params);

}  // namespace latticino::rlwe
