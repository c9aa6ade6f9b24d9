// What TfheParams::check and hash ask of other files. Internal to src/params.
#pragma once

#include <string>

#include "params/tfhe/params.h"

namespace latticino::params {

// A preset's name is that preset's alone.
void check_preset_name(const TfheParams& p);

std::string to_text(const TfheLiteral& literal);

}  // namespace latticino::params
