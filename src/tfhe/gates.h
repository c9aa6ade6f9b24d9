// The gates, which are functions of two bits. One table determines both their bootstrapping and
// their truth tables.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>

namespace latticino::tfhe {

enum class Gate : std::uint8_t { And, Nand, Or, Nor, Xor, Xnor, AndNot, NotAnd, OrNot, NotOr };
// AndNot: x and not y; NotAnd: not x and y; OrNot: x or not y; NotOr: not x or y.

// With bits as +1/8 (true) and -1/8 (false) of the torus, x * bit_x + y * bit_y + eighths / 8 lies
// in (0, 1/2) where the gate is true, and in (-1/2, 0) where it is false.
struct GateSum {
  Gate gate;
  int x, y, eighths;
};
inline constexpr std::array<GateSum, 10> kGateSums = {{{Gate::And, 1, 1, -1},
                                                       {Gate::Nand, -1, -1, 1},
                                                       {Gate::Or, 1, 1, 1},
                                                       {Gate::Nor, -1, -1, -1},
                                                       {Gate::Xor, 2, 2, 2},
                                                       {Gate::Xnor, -2, -2, -2},
                                                       {Gate::AndNot, 1, -1, -1},
                                                       {Gate::NotAnd, -1, 1, -1},
                                                       {Gate::OrNot, 1, -1, 1},
                                                       {Gate::NotOr, -1, 1, 1}}};

// Throws UnsupportedError if the number is that of no gate.
const GateSum& gate_sum(Gate gate);
bool truth(Gate gate, bool x, bool y);
// The values of a gate at (0, 0), (0, 1), (1, 0), (1, 1).
std::array<bool, 4> truth_table(Gate gate);
// The gate with these values, in that order; none if the table depends on fewer arguments.
std::optional<Gate> gate_with(std::span<const std::uint64_t> table);

}  // namespace latticino::tfhe
