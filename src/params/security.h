// The security bound on log2(P Q) and on the key of sparse-secret encapsulation.
#pragma once

namespace latticino {

// Largest log2 of the key modulus for 128 bits classical security, uniform ternary secret,
// sigma = 3.19 (Security Guidelines for Implementing Homomorphic Encryption, eprint 2024/463,
// Table 5.2). 0 outside N = 2^10 .. 2^17.
double max_log_pq_128(int log_n);

// Largest log2(q0 p) of the ephemeral key of weight 32 (Bossuat, Troncoso-Pastoriza, Hubaux, eprint
// 2022/024): 121 at N >= 2^16, 84 at 2^15; 0 below, where such a key is not supported.
double max_log_encapsulation_128(int log_n);

}  // namespace latticino
