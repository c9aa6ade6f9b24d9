// The security that the tables of bounds/security.h give a set.
#pragma once

#include "params/params.h"

namespace latticino {

// The most bits of security (256, 192 or 128) for which a table admits the keys. 0: none, or a set
// to which the tables are not applied. With bootstrapping at most 128, classical: the tables for
// the sparse key of encapsulation go no further.
int security_bits(const Params& params, bool quantum = false);

}  // namespace latticino
