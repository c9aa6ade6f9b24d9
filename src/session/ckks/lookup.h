// Values of arrays through tables of TFHE: what takes part, and what is known of the results. Both
// front doors look up with these.
#pragma once

#include <optional>
#include <vector>

#include "session/ckks/contents.h"
#include "switch/switcher.h"

namespace latticino::session {

// A function as a table has it.
struct Lookup {
  RealMap f;
  Range range;  // of its results
  // Arguments lie away from the jumps of a function that is constant elsewhere: then the error of
  // the argument does not count.
  bool constant = false;
};

// Why values are no arguments of a table of that bound, if their range is known and exceeds it. A
// value at the bound has noise: six deviations of it are allowed for.
std::optional<Misfit> beyond(const Known& known, double bound);

// The values through a table, row by row in their slots. Where a flag of `where` is false, values
// stay. Null: all are looked up.
Contents looked_up(const ckks::Evaluator& e, const switching::Switcher& switcher,
                   const switching::Table& table, const Contents& x, const Lookup& how,
                   const std::vector<bool>* where);

// Of a value chosen among some within `bound`: it is one of them, whatever sums of ranges say.
Contents chosen_within(Contents x, double bound);

}  // namespace latticino::session
