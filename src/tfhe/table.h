#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "tfhe/ciphertext.h"

namespace latticino::tfhe {

// Test polynomial of one or more (a power of two) functions of a padded message, on the device.
struct Table {
  std::shared_ptr<const Context> context;
  Poly polynomial;
  int log_many = 0;
  Encoding out = Encoding::Padded;
  std::vector<std::uint32_t> largest;  // result of each function
  std::uint32_t count() const { return 1u << log_many; }
};

// values[t][m] is what function t gives for the message m; all 2^p messages are listed.
Table make_table(const std::shared_ptr<const Context>& context,
                 std::span<const std::vector<std::uint32_t>> values, Encoding out);
Table make_table(const std::shared_ptr<const Context>& context,
                 const std::function<std::uint32_t(std::uint32_t)>& f,
                 Encoding out = Encoding::Padded);

// The constant polynomial c: a blind rotation gives c where the phase is in the upper half of the
// torus [0, q/2), -c in the lower.
Poly constant_polynomial(const Context& context, std::uint32_t c);

}  // namespace latticino::tfhe
