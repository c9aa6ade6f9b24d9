#include "params/text_lines.h"

#include <locale>
#include <sstream>

#include "math/errors.h"

namespace latticino::params {
namespace {

constexpr const char* kSecurity[] = {"bits128", "legacy", "insecure"};

}  // namespace

void refuse_text(const std::string& had) {
  throw FileError("params.parse", had, "the canonical text of a parameter set",
                  "obtain the file again");
}

std::string text(double x) {
  std::ostringstream out;
  out.imbue(std::locale::classic());
  out.precision(6);
  out << x;
  return out.str();
}

const char* security_name(ParamsLiteral::Security security) {
  return kSecurity[static_cast<int>(security)];
}

ParamsLiteral::Security read_security(const std::string& word) {
  for (int i = 0; i < 3; ++i) {
    if (word == kSecurity[i]) return static_cast<ParamsLiteral::Security>(i);
  }
  refuse_text("security '" + word.substr(0, 40) + "'");
}

std::vector<std::string> read_line(std::istream& in, const std::string& key) {
  std::string text, word;
  if (!std::getline(in, text)) refuse_text("no line '" + key + "'");
  std::istringstream words(text);
  words >> word;
  if (word != key) refuse_text("the line '" + word.substr(0, 40) + "' in place of '" + key + "'");
  std::vector<std::string> out;
  while (words >> word) out.push_back(word);
  return out;
}

std::string read_word(std::istream& in, const std::string& key) {
  const std::vector<std::string> words = read_line(in, key);
  if (words.size() != 1) {
    refuse_text(std::to_string(words.size()) + " words in line '" + key + "'");
  }
  return words[0];
}

}  // namespace latticino::params
