// Words to other blocks arrive at any time and in any order, each with its count.
#pragma once

#include <cuda_runtime.h>

namespace latticino::cuda {

std::uint32_t* dynamic_shared();
template <class T>
T held(T x) {
  return x;
}
std::uint32_t cluster_rank();
void sync_cluster();

struct Arrivals {
  std::uint64_t* word;
  void prepare() const;
  void begin(std::uint32_t bytes) const;
  void expect(std::uint32_t bytes) const;
  void wait(std::uint32_t parity) const;
};

void push(std::uint32_t* to, const Arrivals& arrivals, std::uint32_t rank, uint4 v);

}  // namespace latticino::cuda
