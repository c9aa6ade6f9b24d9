// Translates public options of bootstrapping into a form of bootstrapping.
#pragma once

#include "session/ckks/state.h"

namespace latticino::session {

// The form for these options. ParameterError without bootstrapping, LevelError for a level that the
// set does not have. `merged`: two arrays of real values as one.
ckks::bootstrap::Choice chosen_form(Host& host, int level, int slots,
                                    const BootstrapOptions& options, bool merged);

// x with at least `levels` levels, if bootstrapping leads there. If the form that would be chosen
// leaves too few levels, its arcsine becomes shorter or is left out. If that is not enough, a
// second bootstrapping follows, with SlotToCoeff first, where this leads higher.
Array refreshed_for(const Array& x, int levels);

}  // namespace latticino::session
