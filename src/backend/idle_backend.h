// A backend that computes nothing, for measurements of what the host does: scheme code, checks and
// Python run as they do on a GPU, and their results are never computed.
#pragma once

#include <cstdint>
#include <memory>

#include "backend/backend.h"

namespace latticino {

// What an idle backend was told to do.
struct IdleCounts {
  std::uint64_t records = 0, allocations = 0, allocated_bytes = 0;
  std::uint64_t copies_in = 0, copies_out = 0, waits = 0, replays = 0;
};

// Its blocks are addresses that nobody may read; what is copied out is zero. Records of a recording
// are not counted. `counts` may be null.
std::unique_ptr<Backend> make_idle_backend(std::shared_ptr<IdleCounts> counts);

}  // namespace latticino
