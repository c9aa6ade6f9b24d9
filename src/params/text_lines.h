// Reads canonical texts of parameter sets strictly: a "key value..." line per field, in a fixed
// order. It also has what texts about sets share. Internal to src/params.
#pragma once

#include <charconv>
#include <istream>
#include <string>
#include <type_traits>
#include <vector>

#include "math/decimal.h"
#include "params/params.h"

namespace latticino::params {

// The FileError for a text that is not canonical.
[[noreturn]] void refuse_text(const std::string& had);

std::string text(double x);  // a number for people, with six digits
const char* security_name(ParamsLiteral::Security security);
ParamsLiteral::Security read_security(const std::string& word);

// The words of the next line, which must start with `key`; and its only word, if there must be
// exactly one.
std::vector<std::string> read_line(std::istream& in, const std::string& key);
std::string read_word(std::istream& in, const std::string& key);

template <class T>
T read_number(const std::string& word) {
  T x{};
  bool good = false;
  if constexpr (std::is_floating_point_v<T>) {
    good = read_double(word, x);
  } else {
    const char* last = word.data() + word.size();
    const auto [end, error] = std::from_chars(word.data(), last, x);
    good = error == std::errc() && end == last;
  }
  if (!good) refuse_text("the word '" + word.substr(0, 40) + "'");
  return x;
}

template <class T>
std::vector<T> read_numbers(std::istream& in, const std::string& key) {
  std::vector<T> out;
  for (const std::string& word : read_line(in, key)) out.push_back(read_number<T>(word));
  return out;
}

// Exactly `count` numbers.
template <class T>
std::vector<T> read_numbers(std::istream& in, const std::string& key, std::size_t count) {
  std::vector<T> out = read_numbers<T>(in, key);
  if (out.size() != count) {
    refuse_text(std::to_string(out.size()) + " words in line '" + key + "'");
  }
  return out;
}

}  // namespace latticino::params
