// The security bounds: log2(P Q) of CKKS, the key of sparse-secret encapsulation, LWE noise of
// TFHE.
#pragma once

namespace latticino {

// Largest log2 of the key modulus for `bits` (128, 192 or 256) of security, classical or against a
// quantum computer, sigma = 3.19; 0 where no table covers it.
// Uniform ternary secrets, and weights of N/2 and more (0: uniform): Security Guidelines for
// Implementing Homomorphic Encryption, eprint 2024/463, Table 5.2 (classical). Quantum: the output
// of the guidelines' program (output_max_logQ_tables.txt), or the table of OpenFHE 1.x where that
// is a bit smaller. Neither has 192 or 256 bits at N = 2^10. No table covers smaller weights.
double max_log_pq(int log_n, int bits, bool quantum, int hamming_weight);

// The bound for 128 bits of classical security and a uniform ternary secret.
double max_log_pq_128(int log_n);

// Largest log2(q0 p) of the ephemeral key of weight 32 (Bossuat, Troncoso-Pastoriza, Hubaux, eprint
// 2022/024): 121 at N >= 2^16, 84 at 2^15; 0 below, where such a key is not supported.
double max_log_encapsulation_128(int log_n);

// Smallest log2(sigma / q) for an LWE secret of `dimension` uniform binary (or ternary)
// coefficients, k N of a GLWE secret: 2.657 - 0.02489 dimension, the curve that tfhe-rs publishes
// for 132 bits. It holds for dimensions from 450 on. Below it is 0, and nothing is accepted.
double min_log_lwe_noise_128(int dimension);

// Least deviation for 128 bits modulo 2^log_q, units of 1: that curve, but never below 3.19.
double least_sigma_128(int dimension, double log_q);

// Classical security of such a key: 3.3115 dimension / (log2(q / sigma) + 2.635), fitted to runs of
// the lattice-estimator of June 2026 (MATZOV; dual hybrid, the least of its figures) at dimensions
// 500 to 2048 and within 1.5 bits of all of them: n = 500, 2^-15.32: 93.7; 630, 2^-15: 118.3; 866,
// 2^-18.9: 132.5; 1024, 2^-25: 122.2; 1024, 2^-27.05: 113.9; 2048, 2^-48.32: 133.1. For information
// (legacy sets); what is accepted as 128 bits is the curve above.
double estimated_lwe_bits(int dimension, double log_noise);

}  // namespace latticino
