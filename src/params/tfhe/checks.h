// Checks and names that other files of src/params need. Internal to src/params.
#pragma once

#include <string>

#include "params/tfhe/params.h"

namespace latticino::params {

// The name of a preset may only be used for its parameters.
void check_preset_name(const TfheParams& p);

std::string to_text(const TfheLiteral& literal);

}  // namespace latticino::params
