// Two branches of one recording, whose kernels run at the same time in one graph. Only for
// measurements (bench/pipelining.cc). Nothing in the library forks, because almost all independent
// work is in one record already (docs/lab/ablation.md).
#pragma once

#include "backend/backend.h"
#include "math/errors.h"

namespace latticino {

class Branches {
 public:
  // If the device has no room for blocks of both branches, it runs blocks of the second branch
  // first.
  enum class Branch { First, Second };

  // Starts two branches in a recording: the records that follow belong to the first branch, and run
  // after all records before the fork. UnsupportedError outside a recording, or inside another
  // fork.
  virtual void fork() = 0;
  // Selects the branch of the records that follow. A branch must not write anything that the other
  // branch reads or writes.
  virtual void choose(Branch branch) = 0;
  // Ends the branches: the records that follow run after both. A recording must join before it
  // ends.
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
