// Rules for the names of parameter sets, for all schemes.
#pragma once

#include <optional>
#include <string>

#include "params/params.h"

namespace latticino::params {

// What a name breaks, in the words of an error.
struct NameFault {
  std::string had, needs, remedy;
};
// Set unless the name is 1 to 100 bytes of a-z, 0-9, '-', '.' and '_', and says "insecure" or
// "legacy" where the set is.
std::optional<NameFault> name_fault(const std::string& name, ParamsLiteral::Security security);
// Set if the name says so although the set is secure.
std::optional<NameFault> plain_name_fault(const std::string& name,
                                          ParamsLiteral::Security security);

// ParameterError if there is such a fault. The second one is called after the checks of security,
// whose errors say more.
void check_name(const char* operation, const std::string& name, ParamsLiteral::Security security);
void check_plain_name(const char* operation, const std::string& name,
                      ParamsLiteral::Security security);

enum class Scheme { Ckks, Tfhe, Switching };

// ParameterError if a preset of another scheme has the name of a set of this scheme.
void check_name_of_other_schemes(const char* operation, const std::string& name, Scheme scheme);

// The ParameterError for parameters that use the name of a preset, but are not its parameters.
[[noreturn]] void refuse_preset_name(const char* operation, const std::string& name);

}  // namespace latticino::params
