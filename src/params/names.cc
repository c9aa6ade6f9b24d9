#include "params/names.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "math/errors.h"
#include "params/switch/params.h"
#include "params/tfhe/params.h"

namespace latticino::params {
namespace {

using Security = ParamsLiteral::Security;

void refuse(const char* operation, const std::optional<NameFault>& fault) {
  if (fault) throw ParameterError(operation, fault->had, fault->needs, fault->remedy);
}

}  // namespace

std::optional<NameFault> name_fault(const std::string& name, Security security) {
  if (name.empty() || name.size() > 100) {
    return {{"a name of " + std::to_string(name.size()) + " bytes", "1 to 100 bytes",
             "name the set, with a version"}};
  }
  const bool plain = std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_';
  });
  if (!plain) {
    return {{"the name '" + name + "'", "only a-z, 0-9, '-', '.' and '_'", "rename the set"}};
  }
  const auto lacks = [&](const std::string& word, const std::string& set) -> NameFault {
    return {set + " named " + name, "a name that contains '" + word + "'",
            "rename the set or ask for 128 bits"};
  };
  const auto has = [&](const char* word) { return name.find(word) != std::string::npos; };
  if (security == Security::Legacy && !has("legacy")) {
    return lacks("legacy", "a set of legacy security");
  }
  if (security == Security::Insecure && !has("insecure")) {
    return lacks("insecure", "an insecure set");
  }
  return std::nullopt;
}

std::optional<NameFault> plain_name_fault(const std::string& name, Security security) {
  for (const auto& [word, meant] :
       {std::pair{"legacy", Security::Legacy}, std::pair{"insecure", Security::Insecure}}) {
    if (security == meant || name.find(word) == std::string::npos) continue;
    return {{std::string("a set that is not ") + word + " named " + name,
             std::string("a name without '") + word + "'", "rename the set"}};
  }
  return std::nullopt;
}

void check_name(const char* operation, const std::string& name, Security security) {
  refuse(operation, name_fault(name, security));
}

void check_plain_name(const char* operation, const std::string& name, Security security) {
  refuse(operation, plain_name_fault(name, security));
}

void check_name_of_other_schemes(const char* operation, const std::string& name, Scheme scheme) {
  static const auto& presets = *new std::array<std::vector<std::string>, 3>{
      preset_names(), tfhe_preset_names(), switch_preset_names()};
  for (std::size_t i = 0; i < presets.size(); ++i) {
    if (i == static_cast<std::size_t>(scheme)) continue;
    if (std::find(presets[i].begin(), presets[i].end(), name) != presets[i].end()) {
      refuse_preset_name(operation, name);
    }
  }
}

void refuse_preset_name(const char* operation, const std::string& name) {
  throw ParameterError(operation, "other parameters under the name of the preset " + name,
                       "the preset's own parameters", "give the set a name of its own");
}

}  // namespace latticino::params
