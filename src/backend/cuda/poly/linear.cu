// Linear combinations with constant coefficients, and copies. Limited by memory bandwidth: every x
// is read once, and every output is written once.
#include <utility>

#include "backend/cuda/device/elementwise.cuh"
#include "backend/cuda/device/tables.h"
#include "backend/cuda/kernels.h"

namespace latticino::cuda {
namespace {

// Limits of one launch: under 4 KB of parameters.
constexpr int kItems = 12, kTerms = 24, kWords = 512;
constexpr int kLimbs = 64;  // limbs per item of a launch
constexpr int kAhead = 4;   // terms that are loaded before the first is used

struct TermArgs {
  View x;
  std::int32_t small;
  std::int16_t residues, upper;  // position of the first word of each vector, or -1
  const std::uint32_t* stored;   // or null, if coefficients are parameters
};

struct ItemArgs {
  View out;
  std::int16_t first_term, terms, first_limb, limbs;
  std::int16_t constant, constant_upper;
  std::int16_t stored_limbs;             // distance from a stored residue to that of the upper half
  const std::uint32_t* constant_stored;  // or null, if constants are parameters
};

struct LinearArgs {
  RingArgs ring;
  ItemArgs item[kItems];
  TermArgs term[kTerms];
  std::uint32_t word[kWords];
};
static_assert(sizeof(LinearArgs) <= 4096);

// The address of the residue of an item's limb; w: its position in the launch's vectors.
__device__ __forceinline__ int stored_place(const ItemArgs& item, int w, bool upper) {
  return (upper ? item.stored_limbs : 0) + item.first_limb + w;
}

// The coefficient of a term times R; w: the limb's position in the vectors.
__device__ __forceinline__ std::uint32_t coefficient(const LinearArgs& a, const ItemArgs& item,
                                                     const TermArgs& t, int w, bool upper,
                                                     const Modulus& m) {
  if (t.stored != nullptr) return mul_mod(t.stored[stored_place(item, w, upper)], m.r2, m);
  const int first = upper && t.upper >= 0 ? t.upper : t.residues;
  const auto r2 = static_cast<std::int32_t>(m.r2);
  return first >= 0 ? mul_mod(a.word[first + w], m.r2, m)
                    : canonical(mul_signed(t.small, r2, m), m);
}

// Each thread has PER groups, all in one half of the limb. Sums stay below q 2^32: see fold_sum.
template <int PER>
__global__ void __launch_bounds__(kThreads) linear(const __grid_constant__ LinearArgs a) {
  allow_next();
  const ItemArgs& item = a.item[blockIdx.z];
  const int w = blockIdx.y;
  const std::uint32_t g = blockIdx.x * (kThreads * PER) + threadIdx.x, groups = a.ring.groups();
  if (w >= item.limbs || g >= groups) return;
  const int prime = item.out.prime(item.first_limb + w);
  const Modulus m = load_modulus(a.ring.modulus + prime);
  const bool upper = g >= groups / 2;

  std::uint64_t acc[PER][kGroup];
  const int constant = upper && item.constant_upper >= 0 ? item.constant_upper : item.constant;
  const std::uint64_t start =
      constant >= 0 ? static_cast<std::uint64_t>(a.word[constant + w]) * m.r : 0;
#pragma unroll
  for (int v = 0; v < PER; ++v) {
#pragma unroll
    for (int j = 0; j < kGroup; ++j) acc[v][j] = start;
  }
  wait_for_previous();
  if (item.constant_stored != nullptr) {
    const std::uint32_t word = item.constant_stored[stored_place(item, w, upper)];
#pragma unroll
    for (int v = 0; v < PER; ++v) {
#pragma unroll
      for (int j = 0; j < kGroup; ++j) acc[v][j] = static_cast<std::uint64_t>(word) * m.r;
    }
  }
  for (int t = 0; t < item.terms; t += kAhead) {
    Group x[kAhead][PER];
    std::uint32_t c[kAhead];
#pragma unroll
    for (int k = 0; k < kAhead; ++k) {
      if (t + k >= item.terms) break;
      const TermArgs& term = a.term[item.first_term + t + k];
      const std::uint32_t* limb = term.x.limb(prime, a.ring.log_n);
#pragma unroll
      for (int v = 0; v < PER; ++v) x[k][v] = load_group(limb, g + v * kThreads);
      c[k] = coefficient(a, item, term, w, upper, m);
    }
#pragma unroll
    for (int k = 0; k < kAhead; ++k) {
      if (t + k >= item.terms) break;
#pragma unroll
      for (int v = 0; v < PER; ++v) {
#pragma unroll
        for (int j = 0; j < kGroup; ++j) {
          acc[v][j] = fold_sum(acc[v][j] + static_cast<std::uint64_t>(x[k][v].w[j]) * c[k], m.q);
        }
      }
    }
  }
  std::uint32_t* out = item.out.limb(prime, a.ring.log_n);
#pragma unroll
  for (int v = 0; v < PER; ++v) {
    Group y;
#pragma unroll
    for (int j = 0; j < kGroup; ++j) y.w[j] = canonical(redc(acc[v][j], m), m);
    store_group(out, g + v * kThreads, y);
  }
}

// Packs items into launches; an item with more terms or constants than one launch holds continues
// in the next, which adds to the output.
class LinearBatch {
 public:
  LinearBatch(Launcher& launcher, const Ring& ring) : launcher_(launcher), n_(ring.n()) {
    args_.ring = {ring_view(launcher, ring).modulus, ring.log_n()};
  }

  void add(const Linear::Item& item) {
    const int limbs = item.out.limbs();
    // Terms that alias the output go first: a continuation has overwritten them.
    std::vector<const Linear::Term*> terms;
    const int p0 = item.out.segment[0].prime;
    for (const bool aliased : {true, false}) {
      for (const Linear::Term& t : item.terms) {
        if ((t.x.limb(p0) == item.out.limb(p0)) == aliased) terms.push_back(&t);
      }
    }
    for (int first = 0; first < limbs; first += kLimbs) {
      add_limbs(item, terms, first, std::min(kLimbs, limbs - first));
    }
  }

  void flush() {
    if (items_ == 0) return;
    int limbs = 0;
    for (int i = 0; i < items_; ++i) limbs = std::max<int>(limbs, args_.item[i].limbs);
    const bool wide = n_ >= 4 * kGroup * kThreads;
    launcher_.launch(wide ? linear<2> : linear<1>, limb_grid(n_, wide ? 2 : 1, limbs, items_),
                     args_);
    items_ = terms_ = words_ = 0;
  }

 private:
  void add_limbs(const Linear::Item& item, const std::vector<const Linear::Term*>& terms, int first,
                 int limbs) {
    if (items_ == kItems || words_ + 2 * limbs > kWords) flush();
    ItemArgs* part = open(item, first, limbs);
    part->constant = words(item.constant, first, limbs);
    part->constant_upper = words(item.constant_upper, first, limbs);
    part->constant_stored = item.constant_stored;
    for (const Linear::Term* t : terms) {
      if (terms_ == kTerms || words_ + 2 * limbs > kWords) {
        flush();
        part = open(item, first, limbs);
        push(part, {View(item.out), 1, -1, -1, nullptr});
      }
      push(part, {View(t->x), t->small, words(t->residues, first, limbs),
                  words(t->upper, first, limbs), t->stored});
    }
  }

  ItemArgs* open(const Linear::Item& item, int first, int limbs) {
    ItemArgs* part = &args_.item[items_++];
    *part = {View(item.out),
             static_cast<std::int16_t>(terms_),
             0,
             static_cast<std::int16_t>(first),
             static_cast<std::int16_t>(limbs),
             -1,
             -1,
             static_cast<std::int16_t>(item.stored_stride()),
             nullptr};
    return part;
  }

  void push(ItemArgs* part, const TermArgs& term) {
    args_.term[terms_++] = term;
    ++part->terms;
  }

  // The two polynomials of a ciphertext share their constants: a vector that equals one of the last
  // two stored ones (lower and upper half) is not stored again.
  std::int16_t words(const std::vector<std::uint32_t>& v, int first, int limbs) {
    if (v.empty()) return -1;
    for (int back = 1; back <= 2 && back * limbs <= words_; ++back) {
      const std::uint32_t* old = args_.word + words_ - back * limbs;
      if (std::equal(old, old + limbs, v.begin() + first)) return old - args_.word;
    }
    std::copy_n(v.begin() + first, limbs, args_.word + words_);
    words_ += limbs;
    return static_cast<std::int16_t>(words_ - limbs);
  }

  Launcher& launcher_;
  int n_;
  LinearArgs args_{};
  int items_ = 0, terms_ = 0, words_ = 0;
};

constexpr int kCopies = 48;

struct CopyArgs {
  int log_n;
  struct {
    View x, out;
    unsigned limbs;
  } item[kCopies];
};
static_assert(sizeof(CopyArgs) <= 4096);

constexpr int kCopyGroups = 4;  // groups per thread

// A copy, or zeros where x is empty.
__global__ void __launch_bounds__(kThreads) copy(const __grid_constant__ CopyArgs a) {
  allow_next();
  const auto& item = a.item[blockIdx.z];
  const std::uint32_t first = blockIdx.x * (kThreads * kCopyGroups) + threadIdx.x;
  const std::uint32_t groups = (1u << a.log_n) / kGroup;
  if (blockIdx.y >= item.limbs) return;
  const int prime = item.out.prime(blockIdx.y);
  const std::uint32_t* x = item.x.limb(prime, a.log_n);  // null if x is empty
  std::uint32_t* out = item.out.limb(prime, a.log_n);
  wait_for_previous();
  Group y[kCopyGroups] = {};
#pragma unroll
  for (int v = 0; v < kCopyGroups; ++v) {
    const std::uint32_t g = first + v * kThreads;
    if (x != nullptr && g < groups) y[v] = load_group(x, g);
  }
#pragma unroll
  for (int v = 0; v < kCopyGroups; ++v) {
    const std::uint32_t g = first + v * kThreads;
    if (g < groups) store_group(out, g, y[v]);
  }
}

}  // namespace

void run(Launcher& launcher, const Linear& op) {
  if (op.items.empty()) return;
  LinearBatch batch(launcher, *op.items.front().out.ring);
  for (const Linear::Item& item : op.items) batch.add(item);
  batch.flush();
}

void run(Launcher& launcher, const Copy& op) {
  for (std::size_t first = 0; first < op.items.size(); first += kCopies) {
    const int items = static_cast<int>(std::min<std::size_t>(kCopies, op.items.size() - first));
    const Ring& ring = *op.items[first].out.ring;
    CopyArgs args{};
    args.log_n = ring.log_n();
    int limbs = 0;
    for (int i = 0; i < items; ++i) {
      const Copy::Item& item = op.items[first + i];
      args.item[i] = {View(item.x), View(item.out), static_cast<unsigned>(item.out.limbs())};
      limbs = std::max(limbs, item.out.limbs());
    }
    launcher.launch(copy, limb_grid(ring.n(), kCopyGroups, limbs, items), args);
  }
}

}  // namespace latticino::cuda
