// Words to other blocks arrive at any time and in any order, each with its count.
#pragma once

#include <cuda_runtime.h>

namespace latticino::cuda {

std::uint32_t* dynamic_shared();
std::uint32_t cluster_rank();
void meet_cluster();

struct Arrivals {
  std::uint64_t* word;
  void begin(std::uint32_t bytes) const;
  void expect(std::uint32_t bytes) const;
  void wait(std::uint32_t parity) const;
};

void push(std::uint32_t* to, const Arrivals& arrivals, std::uint32_t rank, uint4 v);

constexpr std::uint64_t kNothing = ~std::uint64_t{0};
void hand(double2* to, std::uint32_t rank, double2 v);
void hand_nothing(double2* to);
void wait_for(const double2* from);
template <int COUNT>
void receive(double2 (&v)[COUNT], double2* from, int stride) {
  for (int i = 0; i < COUNT; ++i) {
    wait_for(from + i * stride);
    v[i] = from[i * stride];
    hand_nothing(from + i * stride);
  }
}

}  // namespace latticino::cuda
