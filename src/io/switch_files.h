// Files of switching between CKKS and TFHE: the same container, rules and errors as io/files.h.
#pragma once

#include <memory>

#include "io/stream.h"
#include "switch/keys.h"

namespace latticino::io {

// All keys of a set, with those of route Matvec that it has: bodies, and one seed for each mask.
// The CKKS keys that belong to them have files of their own (save_keys of io/files.h).
void save_keys(Sink& sink, const switching::Context& context, const switching::SwitchKeys& keys);
std::shared_ptr<switching::SwitchKeys> load_switch_keys(Source& source,
                                                        const switching::Context& context);

}  // namespace latticino::io
