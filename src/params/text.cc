// Canonical text of a literal: one "key value..." line a field, in a fixed order, doubles in the
// shortest form that reads back to the same value. Hashed and stored in files.
#include <charconv>
#include <string>

#include "params/checks.h"

namespace latticino::params {
namespace {

constexpr const char* kSecurity[] = {"bits128", "legacy", "insecure"};

std::string number(double x) {
  char buffer[32];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, x);
  return {buffer, end.ptr};
}
std::string number(std::uint32_t x) { return std::to_string(x); }

template <class T>
std::string line(const char* key, const std::vector<T>& values) {
  std::string out = key;
  for (const T& v : values) out += " " + number(v);
  return out + "\n";
}

}  // namespace

std::string to_text(const ParamsLiteral& x) {
  std::string out = "latticino-params 1\nname " + x.name + "\n";
  out += "security " + std::string(kSecurity[static_cast<int>(x.security)]) + "\n";
  out += "log_n " + std::to_string(x.log_n) + "\n";
  out += line("terminals", x.terminals) + line("mains", x.mains) + line("aux", x.aux);
  out += "levels";
  for (const LevelShape& s : x.levels) {
    out += " " + std::to_string(s.mains) + "+" + std::to_string(s.terminals);
  }
  out += "\nalpha " + std::to_string(x.alpha) + "\n";
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
      out += " " + std::to_string(v);
    }
    out += "\n";
  }
  return out;
}

}  // namespace latticino::params
