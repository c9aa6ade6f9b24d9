// Doubles as decimal text. Notes of files and hashes of parameters depend on it, so its characters
// are those of std::to_chars everywhere.
#pragma once

#include <string>
#include <string_view>

namespace latticino {

// Decimal digits of a finite number: d.ddd 10^exponent, as few as read back to the same double.
struct Decimal {
  bool negative = false;
  std::string digits;  // without trailing zeros; "0" for zero
  int exponent = 0;
};
Decimal decimal(double x);

// The shortest text that reads back to x, as std::to_chars writes it without a format.
std::string shortest_text(double x);
// Whether all of `text` is one number, which is then in x. Like std::from_chars it takes no blank
// in front and no plus, and is false for numbers beyond doubles.
bool read_double(std::string_view text, double& x);

// The same two functions for standard libraries whose <charconv> lacks doubles. They need the
// locale "C", which is the only one there.
namespace portable {
std::string shortest_text(double x);
bool read_double(std::string_view text, double& x);
}  // namespace portable

}  // namespace latticino
