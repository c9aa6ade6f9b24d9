// Rules for the names of parameter sets, for all schemes.
#pragma once

#include <string>

#include "params/params.h"

namespace latticino::params {

// ParameterError unless the name is 1 to 100 bytes of a-z, 0-9, '-', '.' and '_', and says
// "insecure" or "legacy" where the set is.
void check_name(const char* operation, const std::string& name, ParamsLiteral::Security security);
// ParameterError if the name says so although the set is secure. Called after the checks of
// security, whose errors say more.
void check_plain_name(const char* operation, const std::string& name,
                      ParamsLiteral::Security security);

// The ParameterError for parameters that use the name of a preset, but are not its parameters.
[[noreturn]] void refuse_preset_name(const char* operation, const std::string& name);

}  // namespace latticino::params
