// Programmatic dependent launch (Shape::overlap): a kernel starts while the one before it drains,
// reads its parameters and constant tables, and waits before it touches data. Both calls do
// nothing in a kernel launched without the attribute.
//   allow_next()         first, or where a block has little left to do: the next kernel may start
//                        once every block of this one got there.
//   wait_for_previous()  before the first access to data that another kernel writes or reads. Data
//                        must not be read through __ldg: the compiler may move such a load up.
#pragma once

namespace latticino::cuda {

__device__ __forceinline__ void allow_next() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;");
#endif
}

__device__ __forceinline__ void wait_for_previous() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

}  // namespace latticino::cuda
