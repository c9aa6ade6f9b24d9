// Two branches of one recording: kernels that run at once in one graph. Only for measurements
// (bench/pipelining.cc). Nothing in the library forks, because almost all independent work is in
// one record already (docs/lab/ablation.md).
#pragma once

#include "backend/backend.h"
#include "math/errors.h"

namespace latticino {

class Branches {
 public:
  // Where both want room on the device, blocks of the second branch go first.
  enum class Branch { First, Second };

  // For a recording: the records that follow are of the first branch, and wait for all before.
  // UnsupportedError without a recording, or inside of a fork.
  virtual void fork() = 0;
  // Whose the records are that follow. A branch may write nothing that the other one touches.
  virtual void choose(Branch branch) = 0;
  // The records that follow wait for both branches. A recording has to join before it ends.
  virtual void join() = 0;

  // UnsupportedError if the backend has no branches.
  static Branches& of(Backend& backend, const char* operation) {
    auto* branches = dynamic_cast<Branches*>(&backend);
    if (branches == nullptr) {
      throw UnsupportedError(operation, "two branches of a recording on " + backend.info().backend,
                             "a CUDA backend that leaves no feature out",
                             "use --device cuda, or leave out what needs branches");
    }
    return *branches;
  }

 protected:
  ~Branches() = default;
};

}  // namespace latticino
