// Noise of TFHE operations and the probability that a decoding fails. Torus units: variances of
// error / q. Closed forms for independent, uniform rounding errors, binary keys unless said; the
// tests compare them with published failure probabilities and with measurements.
#pragma once

#include "math/gadget.h"

namespace latticino {

// The values of a set that the formulas use. Deviations are relative to the modulus that they
// belong to.
struct TfheNoiseModel {
  int lwe_dimension = 0, glwe_dimension = 0, degree = 0;  // n, k, N
  double lwe_sigma = 0, glwe_sigma = 0;
  Gadget bootstrap, key_switch;
  // log2 of the gadget's rounding step, relative to the modulus. This is -levels log_base if the
  // modulus is a power of two, and up to one more if it is a prime slightly above one.
  double bootstrap_step = 0, key_switch_step = 0;
  double log_lwe_modulus = 0, log_ring_modulus = 0;
  double secret_mean = 0.5, secret_square = 0.5;  // E[s], E[s^2] of an LWE key coefficient
  int group = 1;                                  // mask elements per step of a blind rotation
  bool ternary = false;
  bool centred = true;  // whether the modulus switch corrects the mean of its rounding
};

// One blind rotation: the error of the key, for every digit, and the rounding of the digits times
// the key. In a step of several keys each one is multiplied by (X^e - 1), so its variance counts
// twice.
double bootstrap_variance(const TfheNoiseModel& m);
// What an FP64 transform of a 64-bit torus adds to it (tfhe-rs, noise formulas).
double fft64_variance(const TfheNoiseModel& m);
// What blind rotations by the transforms of math/fourier.h add to it: nothing over one prime, where
// sums are exact. Roundings are taken as independent of each other.
double fourier_variance(const TfheNoiseModel& m);
// The key switch from k N coefficients to n.
double key_switch_variance(const TfheNoiseModel& m);
// The modulus switch to 2N, with 2^log_many neighbouring positions kept free.
double mod_switch_variance(const TfheNoiseModel& m, int log_many = 0);
// The division by the second prime of the ring.
double drop_variance(const TfheNoiseModel& m);

// log2 Pr[|error| > distance].
double log_failure(double variance, double distance);

}  // namespace latticino
