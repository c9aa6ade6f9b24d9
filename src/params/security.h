// What the tables of bounds/security.h say of a set.
#pragma once

#include "params/params.h"

namespace latticino {

// Most bits (256, 192 or 128) of which a table admits the keys; 0: none, or a set that is not held
// to the tables. With bootstrapping at most 128, classical: the tables for the sparse key of
// encapsulation go no further.
int security_bits(const Params& params, bool quantum = false);

}  // namespace latticino
