// Translates the public options of bootstrapping into the form of a bootstrapping.
#pragma once

#include "session/ckks/state.h"

namespace latticino::session {

// The form for these options. ParameterError without bootstrapping, LevelError for a level that the
// set does not have. `merged`: two arrays of real values are bootstrapped as one.
ckks::bootstrap::Choice chosen_form(Host& host, int level, int slots,
                                    const BootstrapOptions& options, bool merged);

// Returns x with at least `levels` levels, if bootstrapping reaches so many. If the form that would
// be chosen leaves too few levels, its arcsine becomes shorter or is left out. If that is not
// enough, a second bootstrapping follows, with SlotToCoeff first, if it reaches a higher level.
Array refreshed_for(const Array& x, int levels);

}  // namespace latticino::session
