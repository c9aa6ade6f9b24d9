// A backend that computes nothing, for measurements of the host's part. Scheme code, checks and
// Python run as they do with a GPU, but no result is computed.
#pragma once

#include <cstdint>
#include <memory>

#include "backend/backend.h"

namespace latticino {

// Counts of what an idle backend was asked to do.
struct IdleCounts {
  std::uint64_t records = 0, allocations = 0, allocated_bytes = 0;
  std::uint64_t copies_in = 0, copies_out = 0, waits = 0, replays = 0;
};

// Blocks are addresses that must not be read. Copies to the host are zero. Records inside a
// recording are not counted. `counts` may be null.
std::unique_ptr<Backend> make_idle_backend(std::shared_ptr<IdleCounts> counts);

}  // namespace latticino
