// Observes a queue: its records, its key switches, and the time of stages. A queue that is not
// observed costs one more load per record.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "ops/operations.h"

namespace latticino {

class Backend;
class Queue;

struct WorkCounts {
  std::uint64_t records = 0;
  std::uint64_t bytes_moved = 0;      // bytes that are moved at least (ops/operations.h)
  std::uint64_t key_switches = 0;     // key switches of CKKS: one for each polynomial under one key
  std::uint64_t blind_rotations = 0;  // blind rotations of TFHE: one for each ciphertext
  WorkCounts& operator+=(const WorkCounts& other);
};

// What one record is counted as.
WorkCounts work_of(const Operation& op);

struct StageTime {
  std::uint64_t count = 0;
  double seconds = 0;
};

struct Observed {
  WorkCounts work;
  std::map<std::string, StageTime> stages;
};

// Starts counting from zero, or ends it. One observer per queue. Replays of programs count what
// was recorded.
void observe(Queue& queue, bool on);
// The counts so far; zeros for a queue that nobody observes.
Observed observed(Queue& queue);

// For queues and programs: whether any queue is observed, and what one of them did.
bool any_observed();
void note_work(const Backend* backend, const WorkCounts& work);

// Gives a part of an operation a name, for as long as this object lives. If the queue is observed,
// the device has finished at the beginning and at the end, the time between them is counted under
// the name, and profilers of GPUs show it (an NVTX range). Otherwise it does nothing.
class Stage {
 public:
  Stage(Queue& queue, const char* name);
  ~Stage();
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;

 private:
  Queue* queue_ = nullptr;  // null if the queue is not observed
  const char* name_;
  double start_ = 0;
  int exceptions_ = 0;
};

}  // namespace latticino
