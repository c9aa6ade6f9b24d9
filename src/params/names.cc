#include "params/names.h"

#include <algorithm>

#include "math/errors.h"

namespace latticino::params {

void check_name(const char* operation, const std::string& name, ParamsLiteral::Security security) {
  using Security = ParamsLiteral::Security;
  if (name.empty() || name.size() > 100) {
    throw ParameterError(operation, "a name of " + std::to_string(name.size()) + " bytes",
                         "1 to 100 bytes", "name the set, with a version");
  }
  const bool plain = std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_';
  });
  if (!plain) {
    throw ParameterError(operation, "the name '" + name + "'", "only a-z, 0-9, '-', '.' and '_'",
                         "rename the set");
  }
  const auto require_word = [&](const char* word, const std::string& set) {
    if (name.find(word) != std::string::npos) return;
    throw ParameterError(operation, set + " named " + name,
                         std::string("a name that contains '") + word + "'",
                         "rename the set or ask for 128 bits");
  };
  if (security == Security::Legacy) require_word("legacy", "a set of legacy security");
  if (security == Security::Insecure) require_word("insecure", "an insecure set");
}

void check_plain_name(const char* operation, const std::string& name,
                      ParamsLiteral::Security security) {
  using Security = ParamsLiteral::Security;
  const auto refuse_word = [&](const char* word, Security meant) {
    if (security == meant || name.find(word) == std::string::npos) return;
    throw ParameterError(operation, std::string("a set that is not ") + word + " named " + name,
                         std::string("a name without '") + word + "'", "rename the set");
  };
  refuse_word("legacy", Security::Legacy);
  refuse_word("insecure", Security::Insecure);
}

void refuse_preset_name(const char* operation, const std::string& name) {
  throw ParameterError(operation, "other parameters under the name of the preset " + name,
                       "the preset's own parameters", "give the set a name of its own");
}

}  // namespace latticino::params
