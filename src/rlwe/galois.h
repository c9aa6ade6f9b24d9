#pragma once

#include <cstdint>

namespace latticino::rlwe {

// Galois element of a rotation of slots to the LEFT by r (slot i of the result is slot i + r of
// the input), any integer r modulo N/2: 5^r mod 2N. Decoding puts slot j at zeta^(5^j),
// zeta = exp(i pi / N).
std::uint32_t rotation_element(int r, int log_n);
// The steps to the left, 0 to N/2 - 1, of a rotation's element; -1 for other elements.
int rotation_steps(std::uint32_t g, int log_n);
std::uint32_t conjugation_element(int log_n);  // the element of the conjugation, 2N - 1
std::uint32_t inverse_element(std::uint32_t g, int log_n);

}  // namespace latticino::rlwe
