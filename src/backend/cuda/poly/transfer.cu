#include "backend/cuda/poly/transfer.h"

#include <algorithm>

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

// Calls copy(view, limbs before it) for parts of a view that a kernel takes.
template <class Copy>
void each_part(const PolyView& v, Copy copy) {
  int before = 0;
  for (int s = 0; s < v.segments; s += kViewSegments) {
    PolyView part = v;
    part.segments = static_cast<std::uint8_t>(std::min(kViewSegments, v.segments - s));
    std::copy_n(v.segment + s, part.segments, part.segment);
    copy(part, before);
    before += part.limbs();
  }
}

template <bool TO_VIEW>
void launch_reorder(Launcher& launcher, const PolyView& v, std::uint32_t* logical) {
  each_part(v, [&](const PolyView& part, int before) {
    launcher.launch(reorder<TO_VIEW>, shape_of(part), View(part),
                    logical + static_cast<std::size_t>(before) * v.ring->n(), v.domain,
                    v.ring->log_n());
  });
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
  launch_reorder<true>(launcher, to, logical.as<std::uint32_t>());
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
  launch_reorder<false>(launcher, from, logical.as<std::uint32_t>());
  staging.copy_out(host, logical.as<std::uint32_t>(), bytes, launcher.stream());
}

}  // namespace latticino::cuda
