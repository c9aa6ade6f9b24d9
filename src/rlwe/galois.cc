#include "rlwe/galois.h"

#include <string>

#include "math/errors.h"

namespace latticino::rlwe {
namespace {

// x^e mod 2N.
std::uint32_t power(std::uint32_t x, std::uint32_t e, int log_n) {
  const std::uint32_t mask = (2u << log_n) - 1;  // overflow is harmless, because 2N divides 2^32
  std::uint32_t y = 1;
  for (; e != 0; e >>= 1) {
    if (e & 1) y = y * x & mask;
    x = x * x & mask;
  }
  return y;
}

}  // namespace

std::uint32_t rotation_element(int r, int log_n) {
  const std::uint32_t slots = 1u << (log_n - 1);  // the order of 5 modulo 2N
  return power(5, static_cast<std::uint32_t>(r) & (slots - 1), log_n);
}

int rotation_steps(std::uint32_t g, int log_n) {
  // The powers of 5 are the residues that are 1 modulo 4.
  if (g % 4 != 1 || g >= 2u << log_n) return -1;
  const std::uint32_t mask = (2u << log_n) - 1;
  int steps = 0;
  for (std::uint32_t x = 1; x != g; x = x * 5 & mask) ++steps;
  return steps;
}

std::uint32_t conjugation_element(int log_n) { return (2u << log_n) - 1; }

std::uint32_t inverse_element(std::uint32_t g, int log_n) {
  if (g % 2 == 0 || g >= 2u << log_n) {
    throw ParameterError("rlwe.galois", "element " + std::to_string(g), "an odd number below 2N",
                         "use rotation_element or conjugation_element");
  }
  return power(g, (1u << log_n) - 1, log_n);  // the odd residues form a group of order N
}

}  // namespace latticino::rlwe
