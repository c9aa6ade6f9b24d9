// Tensor products in Eval, with a linear combination added before anything is written. Sums of raw
// products are reduced once, at the end (poly/products.cuh).
#include <algorithm>
#include <utility>

#include "backend/cuda/device/tables.h"
#include "backend/cuda/kernels.h"
#include "backend/cuda/poly/products.cuh"

namespace latticino::cuda {
namespace {

// Limits of one launch: 4 KB of parameters.
constexpr int kTensorItems = 6, kPairs = 10, kTerms = 8, kWords = 352;
constexpr int kLimbs = 64;  // limbs per item of a launch

struct TensorArgs {
  RingArgs ring;
  struct Item {
    View out[3];
    std::int16_t first_pair, pairs, first_term, terms, first_limb, limbs;
    std::int16_t constant, constant_upper;  // position of the first word of each vector, or -1
    bool twice;                             // whether the products count twice
    bool accumulate;  // adds to the result of an earlier launch of the same item
  } item[kTensorItems];
  struct Pair {
    View a[2], b[2];
  } pair[kPairs];
  struct Term {
    View x[2];
    std::int16_t residues, upper;
  } term[kTerms];
  std::uint32_t word[kWords];
};
static_assert(sizeof(TensorArgs) <= 4096);

// The word of limb w of a vector that may have another one for the upper half.
__device__ __forceinline__ std::uint32_t constant_word(const TensorArgs& a, int first,
                                                       int first_upper, int w, bool upper) {
  return a.word[(upper && first_upper >= 0 ? first_upper : first) + w];
}

struct TensorSums {
  std::uint64_t d0[kGroup] = {}, d1[kGroup] = {}, d2[kGroup] = {};

  __device__ __forceinline__ void add_pair(const std::uint32_t* const (&in)[4], std::uint32_t g,
                                           std::uint32_t q) {
    const Group a0 = load_group(in[0], g), a1 = load_group(in[1], g);
    const Group b0 = load_group(in[2], g), b1 = load_group(in[3], g);
    multiply_add(d0, a0, b0, q);
    multiply_add(d1, a0, b1, q);
    multiply_add(d1, a1, b0, q);
    multiply_add(d2, a1, b1, q);
  }
  // Sums below q 2^32 may be doubled before the fold.
  __device__ __forceinline__ void twice(std::uint32_t q) {
#pragma unroll
    for (int j = 0; j < kGroup; ++j) {
      d0[j] = fold_sum(2 * d0[j], q);
      d1[j] = fold_sum(2 * d1[j], q);
      d2[j] = fold_sum(2 * d2[j], q);
    }
  }
  __device__ __forceinline__ void add_term(const Group& x0, const Group& x1, std::uint32_t c,
                                           std::uint32_t q) {
    const Group factor = {{c, c, c, c}};
    multiply_add(d0, x0, factor, q);
    multiply_add(d1, x1, factor, q);
  }
};

__global__ void __launch_bounds__(kThreads, 4) tensor(const __grid_constant__ TensorArgs a) {
  allow_next();
  const TensorArgs::Item& item = a.item[blockIdx.z];
  const std::uint32_t g = blockIdx.x * kThreads + threadIdx.x;
  const int w = blockIdx.y;
  if (w >= item.limbs || g >= a.ring.groups()) return;
  const int prime = item.out[0].prime(item.first_limb + w), log_n = a.ring.log_n;
  const bool upper = g >= a.ring.groups() / 2;
  const Modulus m = load_modulus(a.ring.modulus + prime);
  const std::uint32_t* in[4];
  const auto locate = [&](int k) {
    const TensorArgs::Pair& pair = a.pair[item.first_pair + k];
#pragma unroll
    for (int i = 0; i < 4; ++i) in[i] = (i < 2 ? pair.a[i] : pair.b[i - 2]).limb(prime, log_n);
  };
  if (item.pairs > 0) locate(0);
  wait_for_previous();

  TensorSums sums;
#pragma unroll 2
  for (int k = 0; k < item.pairs; ++k) {
    sums.add_pair(in, g, m.q);
    if (k + 1 < item.pairs) locate(k + 1);
  }
  if (item.twice) sums.twice(m.q);
#pragma unroll 2
  for (int t = 0; t < item.terms; ++t) {
    const TensorArgs::Term& term = a.term[item.first_term + t];
    const Group x0 = load_group(term.x[0].limb(prime, log_n), g);
    const Group x1 = load_group(term.x[1].limb(prime, log_n), g);
    sums.add_term(x0, x1, constant_word(a, term.residues, term.upper, w, upper), m.q);
  }
  if (item.constant >= 0) {
    const std::uint32_t c = constant_word(a, item.constant, item.constant_upper, w, upper);
#pragma unroll
    for (int j = 0; j < kGroup; ++j) sums.d0[j] = fold_sum(sums.d0[j] + c, m.q);
  }
  finish_products(sums.d0, item.out[0].limb(prime, log_n), g, item.accumulate, m);
  finish_products(sums.d1, item.out[1].limb(prime, log_n), g, item.accumulate, m);
  finish_products(sums.d2, item.out[2].limb(prime, log_n), g, item.accumulate, m);
}

// Packs items into launches; an item with more pairs, terms or words than one launch holds
// continues in the next, which adds to the output.
class TensorBatch {
 public:
  TensorBatch(Launcher& launcher, const Ring& ring) : launcher_(launcher), n_(ring.n()) {
    args_.ring = {ring_view(launcher, ring).modulus, ring.log_n()};
  }

  void add(const Tensor::Item& item) {
    const int limbs = item.out[0].limbs();
    for (int first = 0; first < limbs; first += kLimbs) {
      add_limbs(item, first, std::min(kLimbs, limbs - first));
    }
  }

  void flush() {
    if (items_ == 0) return;
    int limbs = 0;
    for (int i = 0; i < items_; ++i) limbs = std::max<int>(limbs, args_.item[i].limbs);
    launcher_.launch(tensor, limb_grid(n_, 1, limbs, items_), args_);
    items_ = pairs_ = terms_ = words_ = 0;
  }

 private:
  void add_limbs(const Tensor::Item& item, int first, int limbs) {
    if (items_ == kTensorItems || words_ + 2 * limbs > kWords) flush();
    TensorArgs::Item* part = open(item, first, limbs, false);
    part->constant = words(item.constant, first, limbs);
    part->constant_upper = words(item.constant_upper, first, limbs);
    for (const Tensor::Pair& p : item.pairs) {
      if (pairs_ == kPairs) {
        flush();
        part = open(item, first, limbs, true);
      }
      args_.pair[pairs_++] = {{View(p.a[0]), View(p.a[1])}, {View(p.b[0]), View(p.b[1])}};
      ++part->pairs;
    }
    for (const Tensor::Term& t : item.terms) {
      if (terms_ == kTerms || words_ + 2 * limbs > kWords) {
        flush();
        part = open(item, first, limbs, true);
      }
      args_.term[terms_++] = {{View(t.x[0]), View(t.x[1])},
                              words(t.residues, first, limbs),
                              words(t.upper, first, limbs)};
      ++part->terms;
    }
  }

  TensorArgs::Item* open(const Tensor::Item& item, int first, int limbs, bool accumulate) {
    TensorArgs::Item* part = &args_.item[items_++];
    *part = {{View(item.out[0]), View(item.out[1]), View(item.out[2])},
             static_cast<std::int16_t>(pairs_),
             0,
             static_cast<std::int16_t>(terms_),
             0,
             static_cast<std::int16_t>(first),
             static_cast<std::int16_t>(limbs),
             -1,
             -1,
             item.factor == 2,
             accumulate};
    return part;
  }

  // Items of a batch share their constants: a vector that is there already is not stored again.
  std::int16_t words(const std::vector<std::uint32_t>& v, int first, int limbs) {
    if (v.empty()) return -1;
    for (int back = 1; back * limbs <= words_; ++back) {
      const std::uint32_t* old = args_.word + words_ - back * limbs;
      if (std::equal(old, old + limbs, v.begin() + first)) {
        return static_cast<std::int16_t>(old - args_.word);
      }
    }
    std::copy_n(v.begin() + first, limbs, args_.word + words_);
    words_ += limbs;
    return static_cast<std::int16_t>(words_ - limbs);
  }

  Launcher& launcher_;
  int n_;
  TensorArgs args_{};
  int items_ = 0, pairs_ = 0, terms_ = 0, words_ = 0;
};

}  // namespace

void run(Launcher& launcher, const Tensor& op) {
  if (op.items.empty()) return;
  TensorBatch batch(launcher, *op.items.front().out[0].ring);
  for (const Tensor::Item& item : op.items) batch.add(item);
  batch.flush();
}

}  // namespace latticino::cuda
