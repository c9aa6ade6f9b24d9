// Copies that arrive as late as possible: when their group is waited for. The old content of their
// target is lost at once.
#pragma once

#include <cuda_runtime.h>

namespace latticino::cuda {

void copy_async(uint4* shared, const uint4* from);
void copy_async(uint2* shared, const uint2* from);
void end_group();
void wait_for_copies_but(int left);
inline void wait_for_copies() {
  end_group();
  wait_for_copies_but(0);
}
template <int LEFT>
void wait_for_groups() {
  wait_for_copies_but(LEFT);
}

}  // namespace latticino::cuda
