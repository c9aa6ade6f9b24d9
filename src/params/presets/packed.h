// The named BitPacker sets. Internal to src/params.
#pragma once

#include <vector>

#include "params/params.h"

namespace latticino::params {

std::vector<ParamsLiteral> packed_literals();

}  // namespace latticino::params
