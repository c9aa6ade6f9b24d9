// The seed expander of the wire format (crypto/expand.h): one ChaCha20 block per thread, four
// coefficients per block.
#include <algorithm>

#include "backend/cuda/device/chacha.cuh"
#include "backend/cuda/device/elementwise.cuh"
#include "backend/cuda/device/tables.h"
#include "backend/cuda/kernels.h"

namespace latticino::cuda {
namespace {

constexpr int kItems = 40;

struct ExpandArgs {
  RingArgs ring;
  struct {
    View out;
    std::uint32_t seed[8];
    std::uint32_t stream[2];
    Domain domain;
    std::uint16_t limbs;
  } item[kItems];
};
static_assert(sizeof(ExpandArgs) <= 4096);

__global__ void __launch_bounds__(kThreads) expand(const __grid_constant__ ExpandArgs a) {
  allow_next();
  const auto& item = a.item[blockIdx.z];
  const std::uint32_t g = blockIdx.x * kThreads + threadIdx.x;
  if (blockIdx.y >= item.limbs || g >= a.ring.groups()) return;
  const int prime = item.out.prime(blockIdx.y), log_n = a.ring.log_n;
  const Modulus m = load_modulus(a.ring.modulus + prime);

  std::uint32_t start[16] = {0x61707865, 0x3320646e, 0x79622d32, 0x6b206574};
#pragma unroll
  for (int i = 0; i < 8; ++i) start[4 + i] = item.seed[i];
  start[12] = g;
  start[13] = item.stream[0];
  start[14] = item.stream[1];
  start[15] = static_cast<std::uint32_t>(prime);
  std::uint32_t x[16];
  chacha20_block(start, x);

  // Word k of a coefficient weighs R^k: multiply by R^(k+1) and reduce.
  const std::uint32_t r3 = mul_mod(m.r2, m.r2, m), r4 = mul_mod(m.r2, r3, m);
  Group y;
#pragma unroll
  for (int j = 0; j < kGroup; ++j) {
    const std::uint32_t low =
        add_mod(mul_mod(m.r, x[4 * j], m), mul_mod(m.r2, x[4 * j + 1], m), m.q);
    const std::uint32_t high =
        add_mod(mul_mod(r3, x[4 * j + 2], m), mul_mod(r4, x[4 * j + 3], m), m.q);
    y.w[j] = add_mod(low, high, m.q);
  }
  const std::uint32_t at = position(item.domain, g * kGroup, log_n) / kGroup;
  wait_for_previous();  // only the store has to wait, because the words depend on no earlier kernel
  store_group(item.out.limb(prime, log_n), at, y);
}

// Little-endian, as ChaCha20 reads its key.
std::uint32_t word(const std::array<std::uint8_t, 32>& seed, int i) {
  std::uint32_t w = 0;
  for (int b = 3; b >= 0; --b) w = w << 8 | seed[4 * i + b];
  return w;
}

}  // namespace

void run(Launcher& launcher, const ExpandUniform& op) {
  for (std::size_t first = 0; first < op.items.size(); first += kItems) {
    const int items = static_cast<int>(std::min<std::size_t>(kItems, op.items.size() - first));
    const Ring& ring = *op.items[first].out.ring;
    ExpandArgs args{};
    args.ring = {ring_view(launcher, ring).modulus, ring.log_n()};
    int limbs = 0;
    for (int i = 0; i < items; ++i) {
      const ExpandUniform::Item& item = op.items[first + i];
      auto& to = args.item[i];
      to.out = View(item.out);
      to.domain = item.out.domain;
      to.limbs = static_cast<std::uint16_t>(item.out.limbs());
      for (int k = 0; k < 8; ++k) to.seed[k] = word(item.seed, k);
      to.stream[0] = static_cast<std::uint32_t>(item.stream);
      to.stream[1] = static_cast<std::uint32_t>(item.stream >> 32);
      limbs = std::max(limbs, item.out.limbs());
    }
    launcher.launch(expand, limb_grid(ring.n(), 1, limbs, items), args);
  }
}

}  // namespace latticino::cuda
