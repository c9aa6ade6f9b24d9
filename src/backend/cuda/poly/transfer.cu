#include "backend/cuda/poly/transfer.h"

#include "backend/cuda/device/elementwise.cuh"
#include "poly/ring.h"

namespace latticino::cuda {
namespace {

// Limbs in logical order, one after another, to and from the limbs of a view.
template <bool TO_VIEW>
__global__ void __launch_bounds__(kThreads)
    reorder(const __grid_constant__ View view, std::uint32_t* logical, Domain domain, int log_n) {
  allow_next();
  const std::uint32_t g = blockIdx.x * kThreads + threadIdx.x;
  if (g >= (1u << log_n) / kGroup) return;
  std::uint32_t* limb = view.limb(view.prime(blockIdx.y), log_n);
  std::uint32_t* plain = logical + (static_cast<std::size_t>(blockIdx.y) << log_n);
  const std::uint32_t at = position(domain, g * kGroup, log_n) / kGroup;
  wait_for_previous();
  if constexpr (TO_VIEW) {
    store_group(limb, at, load_group(plain, g));
  } else {
    store_group(plain, g, load_group(limb, at));
  }
}

Shape shape_of(const PolyView& v) { return limb_grid(v.ring->n(), 1, v.limbs(), 1); }

std::size_t limb_bytes(const PolyView& v) { return sizeof(std::uint32_t) * v.ring->n(); }

// Calls copy(device address, byte offset on the host, bytes) for each run of limbs.
template <class Copy>
void each_segment(const PolyView& v, Copy copy) {
  std::size_t at = 0;
  for (int s = 0; s < v.segments; ++s) {
    const std::size_t bytes = v.segment[s].count * limb_bytes(v);
    copy(v.limb(v.segment[s].prime), at, bytes);
    at += bytes;
  }
}

}  // namespace

void upload(Launcher& launcher, Staging& staging, const PolyView& to, const std::uint32_t* host) {
  const auto* bytes_of = reinterpret_cast<const std::uint8_t*>(host);
  if (natural_order(to.domain)) {
    each_segment(to, [&](std::uint32_t* device, std::size_t at, std::size_t bytes) {
      staging.copy_in(device, bytes_of + at, bytes, launcher.stream());
    });
    return;
  }
  const std::size_t bytes = to.limbs() * limb_bytes(to);
  const Scratch logical = launcher.scratch(bytes);
  staging.copy_in(logical.as<std::uint32_t>(), host, bytes, launcher.stream());
  launcher.launch(reorder<true>, shape_of(to), View(to), logical.as<std::uint32_t>(), to.domain,
                  to.ring->log_n());
}

void download(Launcher& launcher, Staging& staging, std::uint32_t* host, const PolyView& from) {
  auto* bytes_of = reinterpret_cast<std::uint8_t*>(host);
  if (natural_order(from.domain)) {
    each_segment(from, [&](const std::uint32_t* device, std::size_t at, std::size_t bytes) {
      staging.copy_out(bytes_of + at, device, bytes, launcher.stream());
    });
    return;
  }
  const std::size_t bytes = from.limbs() * limb_bytes(from);
  const Scratch logical = launcher.scratch(bytes);
  launcher.launch(reorder<false>, shape_of(from), View(from), logical.as<std::uint32_t>(),
                  from.domain, from.ring->log_n());
  staging.copy_out(host, logical.as<std::uint32_t>(), bytes, launcher.stream());
}

}  // namespace latticino::cuda
