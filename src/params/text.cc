// Canonical text of a literal: a "key value..." line per field, in a fixed order, doubles in the
// shortest form that reads back to the same value. Hashed and stored in files.
#include <algorithm>
#include <sstream>
#include <string>

#include "math/decimal.h"
#include "params/checks.h"
#include "params/text_lines.h"

namespace latticino::params {
namespace {

std::string number(double x) { return shortest_text(x); }
std::string number(std::uint32_t x) { return std::to_string(x); }

template <class T>
std::string line(const char* key, const std::vector<T>& values) {
  std::string out = key;
  for (const T& v : values) out.append(" ").append(number(v));
  return out + "\n";
}

// A count, or a count and the numbers of chosen terminals: "2", "2:0.3".
void read_terminals(const std::string& word, std::uint16_t& count, std::uint16_t& chosen) {
  const std::size_t colon = word.find(':');
  count = read_number<std::uint16_t>(word.substr(0, colon));
  if (colon == std::string::npos) return;
  for (std::size_t begin = colon, end = colon; end < word.size(); begin = end) {
    end = std::min(word.find('.', begin + 1), word.size());
    const auto number = read_number<std::uint16_t>(word.substr(begin + 1, end - begin - 1));
    if (number > 15) refuse_text("the terminal number " + std::to_string(number));
    chosen = static_cast<std::uint16_t>(chosen | 1u << number);
  }
}

std::vector<LevelShape> read_levels(std::istream& in) {
  std::vector<LevelShape> out;
  for (const std::string& word : read_line(in, "levels")) {
    const std::size_t plus = word.find('+');
    if (plus == std::string::npos) refuse_text("the level '" + word.substr(0, 40) + "'");
    const std::size_t second = std::min(word.find('+', plus + 1), word.size());
    LevelShape& s = out.emplace_back();
    s.mains = read_number<std::uint16_t>(word.substr(0, plus));
    read_terminals(word.substr(plus + 1, second - plus - 1), s.terminals, s.chosen);
    if (second < word.size()) read_terminals(word.substr(second + 1), s.outer, s.chosen_outer);
  }
  return out;
}

// "17-18:2": lowest and highest level, extra primes.
std::vector<SwitchBand> read_bands(std::istream& in) {
  std::vector<SwitchBand> out;
  for (const std::string& word : read_line(in, "bands")) {
    const std::size_t dash = word.find('-'), colon = word.find(':');
    if (dash == std::string::npos || colon == std::string::npos || colon < dash) {
      refuse_text("the band '" + word.substr(0, 40) + "'");
    }
    out.push_back({read_number<std::uint16_t>(word.substr(0, dash)),
                   read_number<std::uint16_t>(word.substr(dash + 1, colon - dash - 1)),
                   read_number<std::uint16_t>(word.substr(colon + 1))});
  }
  return out;
}

BootstrapLiteral read_bootstrap(std::istream& in) {
  const std::vector<int> v = read_numbers<int>(in, "bootstrap", 9);
  return {v[0], v[1], v[2], v[3], v[4], v[5], v[6], v[7], v[8] != 0};
}

}  // namespace

std::string to_text(const ParamsLiteral& x) {
  std::string out = "latticino-params 1\nname " + x.name + "\n";
  out += "security " + std::string(security_name(x.security)) + "\n";
  out += "log_n " + std::to_string(x.log_n) + "\n";
  out += line("terminals", x.terminals) + line("mains", x.mains) + line("aux", x.aux);
  if (!x.outer.empty()) out += line("outer", x.outer);
  out += "levels";
  for (const LevelShape& s : x.levels) out.append(" ").append(s.str());
  out += "\nalpha " + std::to_string(x.alpha) + "\n";
  if (!x.bands.empty()) {
    out += "bands";
    for (const SwitchBand& b : x.bands) out.append(" ").append(b.str());
    out += "\n";
  }
  out += "log_scale " + number(x.log_scale) + "\n";
  out += line("level_log_scale", x.level_log_scale);
  out += "default_level " + std::to_string(x.default_level) + "\n";
  out += "hamming_weight " + std::to_string(x.hamming_weight) + "\n";
  if (x.bootstrap) {
    const BootstrapLiteral& b = *x.bootstrap;
    out += "bootstrap";
    for (const int v :
         {b.cts_levels, b.evalmod_levels, b.stc_levels, b.log_message_ratio, b.range_k,
          b.evalmod_degree, b.double_angles, b.sparse_weight, b.arcsine ? 1 : 0}) {
      out.append(" ").append(std::to_string(v));
    }
    out += "\n";
  }
  return out;
}

}  // namespace latticino::params

namespace latticino {

ParamsLiteral parse_params(const std::string& text) {
  using namespace params;
  constexpr std::size_t kLongest = 1 << 16;
  if (text.size() > kLongest) refuse_text(std::to_string(text.size()) + " bytes");
  std::istringstream in(text);
  ParamsLiteral x;
  if (read_word(in, "latticino-params") != "1") refuse_text("another version");
  x.name = read_word(in, "name");
  x.security = read_security(read_word(in, "security"));
  x.log_n = read_number<int>(read_word(in, "log_n"));
  x.terminals = read_numbers<std::uint32_t>(in, "terminals");
  x.mains = read_numbers<std::uint32_t>(in, "mains");
  x.aux = read_numbers<std::uint32_t>(in, "aux");
  if (in.peek() == 'o') x.outer = read_numbers<std::uint32_t>(in, "outer");
  x.levels = read_levels(in);
  x.alpha = read_number<int>(read_word(in, "alpha"));
  if (in.peek() == 'b') x.bands = read_bands(in);
  x.log_scale = read_number<double>(read_word(in, "log_scale"));
  x.level_log_scale = read_numbers<double>(in, "level_log_scale");
  x.default_level = read_number<int>(read_word(in, "default_level"));
  x.hamming_weight = read_number<int>(read_word(in, "hamming_weight"));
  if (in.peek() != std::istringstream::traits_type::eof()) x.bootstrap = read_bootstrap(in);
  if (to_text(x) != text) refuse_text("text that is not in canonical form");
  return x;
}

}  // namespace latticino
