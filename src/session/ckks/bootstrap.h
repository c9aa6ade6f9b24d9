// How public options of bootstrapping become a form of the core.
#pragma once

#include "session/ckks/state.h"

namespace latticino::session {

// ParameterError without bootstrapping, LevelError for a level that is not; `merged`: of two arrays
// of real values.
ckks::bootstrap::Choice chosen_form(Host& host, int level, int slots,
                                    const BootstrapOptions& options, bool merged);

}  // namespace latticino::session
