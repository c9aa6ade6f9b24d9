// Tensor products in Eval. Sums of raw products are reduced once, at the end (products.cuh).
#include <utility>

#include "backend/cuda/kernels.h"
#include "backend/cuda/products.cuh"
#include "backend/cuda/tables.h"

namespace latticino::cuda {
namespace {

constexpr int kTensorItems = 10, kPairs = 20;

struct TensorArgs {
  RingArgs ring;
  struct Item {
    View out[3];
    std::int16_t first_pair, pairs, limbs;
    bool accumulate;  // continues an item of an earlier launch
  } item[kTensorItems];
  struct Pair {
    View a[2], b[2];
  } pair[kPairs];
};
static_assert(sizeof(TensorArgs) <= 4096);

__global__ void __launch_bounds__(kThreads, 4) tensor(const __grid_constant__ TensorArgs a) {
  allow_next();
  const TensorArgs::Item& item = a.item[blockIdx.z];
  const std::uint32_t g = blockIdx.x * kThreads + threadIdx.x;
  if (blockIdx.y >= item.limbs || g >= a.ring.groups()) return;
  const int prime = item.out[0].prime(blockIdx.y), log_n = a.ring.log_n;
  const Modulus m = load_modulus(a.ring.modulus + prime);
  std::uint32_t* out[3];
#pragma unroll
  for (int i = 0; i < 3; ++i) out[i] = item.out[i].limb(prime, log_n);
  const std::uint32_t* in[4];
  const auto locate = [&](int k) {
    const TensorArgs::Pair& pair = a.pair[item.first_pair + k];
#pragma unroll
    for (int i = 0; i < 4; ++i) in[i] = (i < 2 ? pair.a[i] : pair.b[i - 2]).limb(prime, log_n);
  };
  if (item.pairs > 0) locate(0);
  wait_for_previous();

  std::uint64_t d0[kGroup] = {}, d1[kGroup] = {}, d2[kGroup] = {};
#pragma unroll 2
  for (int k = 0; k < item.pairs; ++k) {
    const Group a0 = load_group(in[0], g), a1 = load_group(in[1], g);
    const Group b0 = load_group(in[2], g), b1 = load_group(in[3], g);
    if (k + 1 < item.pairs) locate(k + 1);
    multiply_add(d0, a0, b0, m.q);
    multiply_add(d1, a0, b1, m.q);
    multiply_add(d1, a1, b0, m.q);
    multiply_add(d2, a1, b1, m.q);
  }
  finish_products(d0, out[0], g, item.accumulate, m);
  finish_products(d1, out[1], g, item.accumulate, m);
  finish_products(d2, out[2], g, item.accumulate, m);
}

class TensorBatch {
 public:
  TensorBatch(Launcher& launcher, const Ring& ring) : launcher_(launcher), n_(ring.n()) {
    args_.ring = {ring_view(launcher, ring).modulus, ring.log_n()};
  }

  void add(const Tensor::Item& item) {
    if (items_ == kTensorItems) flush();
    TensorArgs::Item* part = open(item, false);
    for (const Tensor::Pair& p : item.pairs) {
      if (pairs_ == kPairs) {
        flush();
        part = open(item, true);
      }
      args_.pair[pairs_++] = {{View(p.a[0]), View(p.a[1])}, {View(p.b[0]), View(p.b[1])}};
      ++part->pairs;
    }
  }

  void flush() {
    if (items_ == 0) return;
    int limbs = 0;
    for (int i = 0; i < items_; ++i) limbs = std::max<int>(limbs, args_.item[i].limbs);
    launcher_.launch(tensor, limb_grid(n_, 1, limbs, items_), args_);
    items_ = pairs_ = 0;
  }

 private:
  TensorArgs::Item* open(const Tensor::Item& item, bool accumulate) {
    TensorArgs::Item* part = &args_.item[items_++];
    *part = {{View(item.out[0]), View(item.out[1]), View(item.out[2])},
             static_cast<std::int16_t>(pairs_),
             0,
             static_cast<std::int16_t>(item.out[0].limbs()),
             accumulate};
    return part;
  }

  Launcher& launcher_;
  int n_;
  TensorArgs args_{};
  int items_ = 0, pairs_ = 0;
};

}  // namespace

void run(Launcher& launcher, const Tensor& op) {
  if (op.items.empty()) return;
  TensorBatch batch(launcher, *op.items.front().out[0].ring);
  for (const Tensor::Item& item : op.items) batch.add(item);
  batch.flush();
}

}  // namespace latticino::cuda
