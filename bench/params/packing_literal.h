// Packed chains as parameter sets.
#pragma once

#include <string>

#include "params/chain/bitpacker.h"

namespace latticino::bench {

// Why Params::check does not take the chain of this plan; empty if it does. If sums of conversions
// have no room for so many auxiliary primes, the plan is packed again with fewer. Security is not
// checked, because a schedule may have any length.
std::string refused_as_set(const PackingPlan& plan, const PackedChain& chain);

}  // namespace latticino::bench
