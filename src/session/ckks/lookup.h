// Values of arrays through tables of TFHE: what takes part, and what is known of the results. The
// arrays of C++ and of Python both use these functions.
#pragma once

#include <optional>
#include <vector>

#include "session/ckks/contents.h"
#include "switch/switcher.h"

namespace latticino::session {

// What a caller knows of a table's results.
struct Lookup {
  Range range;
  // The function is constant between jumps, and the arguments are not near a jump. Then the error
  // of an argument does not count.
  bool constant = false;
};

// The reason why values are outside of the table's bound, if their range is known and exceeds it.
// Noise may carry a value over the bound, so six deviations of it are allowed for.
std::optional<Misfit> beyond(const Known& known, double bound);

// Looks up the values in a table, row by row in their slots. `where`: one flag for each value;
// values with false stay as they are. If it is null, all values are looked up.
Contents looked_up(const ckks::Evaluator& e, const switching::Switcher& switcher,
                   const switching::Table& table, const Contents& x, const Lookup& how,
                   const std::vector<bool>* where);

// The contents after one of several values within `bound` was chosen. Their range is that bound,
// and not the range that would follow from the sums.
Contents chosen_within(Contents x, double bound);

}  // namespace latticino::session
