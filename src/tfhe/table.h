#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "tfhe/ciphertext.h"

namespace latticino::tfhe {

// Test polynomial of one or more (a power of two) functions of a padded message, on the device. A
// table of messages below 2^(p - log_factor) is for phases times 2^log_factor. This spreads the
// phases over the whole torus, so their distance to a wrong decision becomes 2^log_factor times as
// large, and 2^log_factor functions in one table make it smaller by the same factor (PBSmanyLUT:
// Chillotti, Ligier, Orfila, Tap, eprint 2021/729).
struct Table {
  std::shared_ptr<const Context> context;
  Poly polynomial;
  int log_many = 0, log_factor = 0;
  Encoding out = Encoding::Padded;
  std::vector<std::uint32_t> largest;  // the largest result of each function
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

// The constant polynomial c: a blind rotation gives c if the phase is in the upper half of the
// torus, [0, q/2), and -c if it is in the lower half.
Poly constant_polynomial(const Context& context, std::uint32_t c);

}  // namespace latticino::tfhe
