#include "math/decimal.h"
#include "math/text.h"

#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdlib>

namespace latticino {
namespace {

constexpr int kMaxDigits = 17;  // so many digits tell any two doubles apart

std::string scientific(const Decimal& x) {
  std::string out = x.digits.substr(0, 1);
  if (x.digits.size() > 1) out.append(".").append(x.digits.substr(1));
  const int size = std::abs(x.exponent);
  return out + (x.exponent < 0 ? "e-" : "e+") + (size < 10 ? "0" : "") + std::to_string(size);
}

std::string fixed(const Decimal& x, double value) {
  const int count = static_cast<int>(x.digits.size());
  if (x.exponent < 0) {
    return "0." + std::string(static_cast<std::size_t>(-x.exponent - 1), '0') + x.digits;
  }
  if (x.exponent + 1 < count) {
    const auto whole = static_cast<std::size_t>(x.exponent) + 1;
    return x.digits.substr(0, whole) + "." + x.digits.substr(whole);
  }
  return formatted("%.0f", std::abs(value));  // an integer, written with all of its digits
}

// Adds one to the last digit; false where all digits are nines.
bool next_up(char* text) {
  char* c = text;
  while (*c != 'e') ++c;
  while (c != text) {
    --c;
    if (*c == '.') continue;
    if (*c != '9') {
      ++*c;
      return true;
    }
    *c = '0';
  }
  return false;
}

bool is_number(std::string_view text) {
  if (!text.empty() && text.front() == '-') text.remove_prefix(1);
  if (text == "inf" || text == "infinity" || text == "nan") return true;
  return !text.empty() && text.find_first_not_of("0123456789.eE+-") == std::string_view::npos &&
         text.front() != '+' && text.front() != '-';
}

}  // namespace

Decimal decimal(double x) {
  Decimal out;
  out.negative = std::signbit(x);
  std::string text;
  for (int digits = 1; digits <= kMaxDigits; ++digits) {
    text = formatted("%.*e", digits - 1, std::abs(x));
    if (std::strtod(text.c_str(), nullptr) == std::abs(x)) break;
    // Above a power of two doubles lie twice as far apart as below it: the number of so many digits
    // above x may read back where the nearest one, below x, does not.
    if (digits < kMaxDigits && next_up(text.data()) &&
        std::strtod(text.c_str(), nullptr) == std::abs(x)) {
      break;
    }
  }
  const std::size_t e = text.find('e');
  for (const char c : text.substr(0, e)) {
    if (c >= '0' && c <= '9') out.digits += c;
  }
  out.exponent = static_cast<int>(std::strtol(text.c_str() + e + 1, nullptr, 10));
  return out;
}

namespace portable {

std::string shortest_text(double x) {
  const std::string sign = std::signbit(x) ? "-" : "";
  if (std::isnan(x)) return sign + "nan";
  if (std::isinf(x)) return sign + "inf";
  const Decimal digits = decimal(x);
  const std::string plain = fixed(digits, x), powers = scientific(digits);
  return sign + (plain.size() <= powers.size() ? plain : powers);
}

bool read_double(std::string_view text, double& x) {
  if (!is_number(text)) return false;
  const std::string copy(text);
  char* end = nullptr;
  errno = 0;
  const double value = std::strtod(copy.c_str(), &end);
  if (end != copy.c_str() + copy.size()) return false;
  if (errno == ERANGE && (value == 0 || std::isinf(value))) return false;
  x = value;
  return true;
}

}  // namespace portable

#if defined(__cpp_lib_to_chars)

std::string shortest_text(double x) {
  char buffer[32];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, x);
  return {buffer, end.ptr};
}

bool read_double(std::string_view text, double& x) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return false;
  x = value;
  return true;
}

#else

std::string shortest_text(double x) { return portable::shortest_text(x); }
bool read_double(std::string_view text, double& x) { return portable::read_double(text, x); }

#endif

}  // namespace latticino
