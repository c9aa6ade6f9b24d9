// Named sets of double rescaling whose primes are listed. Internal to src/params.
#pragma once

#include <vector>

#include "params/params.h"

namespace latticino::params {

std::vector<ParamsLiteral> pair_literals();

}  // namespace latticino::params
