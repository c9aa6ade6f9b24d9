#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "tfhe/ciphertext.h"

namespace latticino::tfhe {

// Test polynomial of one or more (a power of two) functions of a padded message, on the device. One
// of messages below 2^(p - log_factor) is for phases times 2^log_factor: that spreads them over the
// whole torus, and their distance to a wrong decision grows by what 2^log_factor functions side by
// side take of it (PBSmanyLUT: Chillotti, Ligier, Orfila, Tap, eprint 2021/729).
struct Table {
  std::shared_ptr<const Context> context;
  Poly polynomial;
  int log_many = 0, log_factor = 0;
  Encoding out = Encoding::Padded;
  std::vector<std::uint32_t> largest;  // result of each function
  std::uint32_t count() const { return 1u << log_many; }
};

// values[t][m] is what function t gives for the message m; as many messages are listed, a power of
// two up to 2^p, as may be looked up. 2^f functions of 2^(p - f) messages fail as rarely as one of
// 2^p.
Table make_table(const std::shared_ptr<const Context>& context,
                 std::span<const std::vector<std::uint32_t>> values, Encoding out);
Table make_table(const std::shared_ptr<const Context>& context,
                 const std::function<std::uint32_t(std::uint32_t)>& f,
                 Encoding out = Encoding::Padded);

// The constant polynomial c: a blind rotation gives c where the phase is in the upper half of the
// torus [0, q/2), -c in the lower.
Poly constant_polynomial(const Context& context, std::uint32_t c);

}  // namespace latticino::tfhe
