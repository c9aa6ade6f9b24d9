// Parameter sets of other libraries, for comparison and tests.
#pragma once

#include <vector>

#include "params/params.h"

namespace latticino::params {

// Three are the 32-bit parameter files published with the Cheddar library
// (github.com/scale-snu/cheddar-fhe, parameters/bootparam_{30,35,40}.json; MIT licence). Please
// cite Kim, Choi, Ahn, "Cheddar: A Swift Fully Homomorphic Encryption Library for CUDA GPUs" (arXiv
// 2407.13055; ASPLOS 2026) when you use them. log2(P Q) is 1767.7, 1771.1 and 1745.4: the first two
// exceed the 128-bit table; the third keeps within it, but one canonical scale is 0.101 bit off.
//
// Two have primes of our choice in the sizes of a table of a paper: Theodosian's Table IV, whose
// secret is sparser than the 128-bit rule allows, and Chameleon's Table 5, whose P Q of 2366 bits
// is beyond the table.
std::vector<ParamsLiteral> legacy_literals();

}  // namespace latticino::params
