// Translates public options of bootstrapping into a form of bootstrapping.
#pragma once

#include "session/ckks/state.h"

namespace latticino::session {

// ParameterError without bootstrapping, LevelError for a level that is not; `merged`: of two arrays
// of real values.
ckks::bootstrap::Choice chosen_form(Host& host, int level, int slots,
                                    const BootstrapOptions& options, bool merged);

// For an operation that takes so many levels. An arcsine takes some: where they are lacking, a
// shorter one or none is chosen, and where they are lacking still, a second bootstrapping follows
// if it leads higher: SlotToCoeff first, which needs the levels that the first one left.
Array refreshed_for(const Array& x, int levels);

}  // namespace latticino::session
