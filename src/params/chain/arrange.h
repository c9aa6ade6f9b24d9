// Where the terminals of a packed chain stand in the ring: before the mains, or behind them, and in
// which order. Primes that levels have together should be neighbours, because a basis takes few
// runs of primes, and a GPU converts from three runs in one pass.
#pragma once

#include "params/chain/bitpacker.h"
#include "params/params.h"

namespace latticino {

// The primes and level shapes of a set, with alpha; other fields are as by default. The lists of a
// chain whose levels have the first terminals of lists stay as they are. Free terminals are
// arranged by a search that gives the same answer on every machine. A set needs a main: in a chain
// without mains, the first terminal becomes one.
ParamsLiteral arranged(const PackedChain& chain);

}  // namespace latticino
