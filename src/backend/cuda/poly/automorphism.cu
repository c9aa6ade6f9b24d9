// Sums of automorphisms.
//
// Eval: entry i is a(psi^(2u + 1)), u = bitrev(i), so X -> X^g reads entry bitrev(v) with
// 2v + 1 = g (2u + 1), that is v = g u + (g - 1)/2 mod N: affine in u. The low bits of v depend on
// the low bits of u alone, so an aligned block of 2^k entries comes from one aligned block: rows
// stay rows, a warp reads whole lines, and four entries come from one 16-byte access, rotated.
// Coeff: coefficient j comes from the only i < 2N with g i = j mod 2N, negated where i >= N.
#include "backend/cuda/device/elementwise.cuh"
#include "backend/cuda/device/tables.h"
#include "backend/cuda/kernels.h"
#include "math/modulus.h"

namespace latticino::cuda {
namespace {

constexpr int kItems = 24, kTerms = 64;

struct AutomorphismArgs {
  RingArgs ring;
  struct Item {
    View out;
    std::int16_t first_term, terms, limbs;
    bool accumulate;  // continues an item of an earlier launch
  } item[kItems];
  struct Term {
    View x;
    std::uint32_t galois;  // Eval: g; Coeff: g^-1 mod 2N
  } term[kTerms];
};
static_assert(sizeof(AutomorphismArgs) <= 4096);

// Four entries of the image in Eval: where they come from, and their order there.
struct EvalGroup {
  std::uint32_t u;  // bitrev of the first entry's index; the others add N/2, N/4, 3N/4
  int log_n;

  static __device__ __forceinline__ EvalGroup at(std::uint32_t g, const AutomorphismArgs& a,
                                                 std::uint32_t) {
    const int log_n = a.ring.log_n;
    return {__brev(logical_index(Domain::Eval, g * kGroup, log_n)) >> (32 - log_n), log_n};
  }

  __device__ __forceinline__ std::uint32_t image(std::uint32_t galois) const {
    return (galois * u + galois / 2) & ((1u << log_n) - 1);
  }

  __device__ __forceinline__ Group load(const std::uint32_t* limb, std::uint32_t galois) const {
    const std::uint32_t source = __brev(image(galois) << (32 - log_n));
    const std::uint32_t group = source & ~std::uint32_t{kGroup - 1};
    return load_group(limb, position(Domain::Eval, group, log_n) / kGroup);
  }

  // By the two top bits of v: source entries are in bit-reversed order, and the image goes up or
  // down by one.
  __device__ __forceinline__ Group arrange(const Group& s, std::uint32_t galois) const {
    std::uint32_t w[kGroup] = {s.w[0], s.w[2], s.w[1], s.w[3]};
    const std::uint32_t top = image(galois) >> (log_n - 2);
    if (top & 2) {
      swap(w[0], w[2]);
      swap(w[1], w[3]);
    }
    if (top & 1) {
      const std::uint32_t first = w[0];
      w[0] = w[1], w[1] = w[2], w[2] = w[3], w[3] = first;
    }
    if (galois & 2) swap(w[1], w[3]);
    return {{w[0], w[2], w[1], w[3]}};
  }

  static __device__ __forceinline__ void swap(std::uint32_t& a, std::uint32_t& b) {
    const std::uint32_t t = a;
    a = b;
    b = t;
  }
};

struct CoeffGroup {
  std::uint32_t first, q;
  int log_n;

  static __device__ __forceinline__ CoeffGroup at(std::uint32_t g, const AutomorphismArgs& a,
                                                  std::uint32_t q) {
    return {g * kGroup, q, a.ring.log_n};
  }

  __device__ __forceinline__ Group load(const std::uint32_t* limb, std::uint32_t inverse) const {
    Group x;
#pragma unroll
    for (int j = 0; j < kGroup; ++j) x.w[j] = limb[(first + j) * inverse & ((1u << log_n) - 1)];
    return x;
  }

  __device__ __forceinline__ Group arrange(Group x, std::uint32_t inverse) const {
#pragma unroll
    for (int j = 0; j < kGroup; ++j) {
      if ((first + j) * inverse >> log_n & 1) x.w[j] = neg_mod(x.w[j], q);
    }
    return x;
  }
};

constexpr int kAhead = 4;  // terms that are loaded before the first is used

// Each thread has PER groups.
template <class Source, int PER>
__global__ void __launch_bounds__(kThreads)
    automorphism(const __grid_constant__ AutomorphismArgs a) {
  allow_next();
  const AutomorphismArgs::Item& item = a.item[blockIdx.z];
  const std::uint32_t g = blockIdx.x * (kThreads * PER) + threadIdx.x;
  if (blockIdx.y >= item.limbs || g >= a.ring.groups()) return;
  const int prime = item.out.prime(blockIdx.y), log_n = a.ring.log_n;
  const std::uint32_t q = a.ring.modulus[prime].q;
  std::uint32_t* out = item.out.limb(prime, log_n);
  Source source[PER];
#pragma unroll
  for (int v = 0; v < PER; ++v) source[v] = Source::at(g + v * kThreads, a, q);
  wait_for_previous();

  Group sum[PER] = {};
#pragma unroll
  for (int v = 0; v < PER; ++v) {
    if (item.accumulate) sum[v] = load_group(out, g + v * kThreads);
  }
  for (int t = 0; t < item.terms; t += kAhead) {
    Group x[kAhead][PER];
#pragma unroll
    for (int k = 0; k < kAhead; ++k) {
      if (t + k >= item.terms) break;
      const AutomorphismArgs::Term& term = a.term[item.first_term + t + k];
      const std::uint32_t* limb = term.x.limb(prime, log_n);
#pragma unroll
      for (int v = 0; v < PER; ++v) x[k][v] = source[v].load(limb, term.galois);
    }
#pragma unroll
    for (int k = 0; k < kAhead; ++k) {
      if (t + k >= item.terms) break;
      const std::uint32_t galois = a.term[item.first_term + t + k].galois;
#pragma unroll
      for (int v = 0; v < PER; ++v) {
        const Group y = source[v].arrange(x[k][v], galois);
#pragma unroll
        for (int j = 0; j < kGroup; ++j) sum[v].w[j] = add_mod(sum[v].w[j], y.w[j], q);
      }
    }
  }
#pragma unroll
  for (int v = 0; v < PER; ++v) store_group(out, g + v * kThreads, sum[v]);
}

class AutomorphismBatch {
 public:
  AutomorphismBatch(Launcher& launcher, const Ring& ring, Domain domain)
      : launcher_(launcher), n_(ring.n()), domain_(domain) {
    args_.ring = {ring_view(launcher, ring).modulus, ring.log_n()};
  }

  void add(const Automorphism::Item& item) {
    if (items_ == kItems) flush();
    AutomorphismArgs::Item* part = open(item, false);
    for (const Automorphism::Term& t : item.terms) {
      if (terms_ == kTerms) {
        flush();
        part = open(item, true);
      }
      const std::uint32_t galois = domain_ == Domain::Eval ? t.galois : inverse(t.galois);
      args_.term[terms_++] = {View(t.x), galois};
      ++part->terms;
    }
  }

  void flush() {
    if (items_ == 0) return;
    int limbs = 0;
    for (int i = 0; i < items_; ++i) limbs = std::max<int>(limbs, args_.item[i].limbs);
    const bool wide = n_ >= 2 * kGroup * kThreads;
    const auto eval = wide ? automorphism<EvalGroup, 2> : automorphism<EvalGroup, 1>;
    const auto coeff = wide ? automorphism<CoeffGroup, 2> : automorphism<CoeffGroup, 1>;
    launcher_.launch(domain_ == Domain::Eval ? eval : coeff,
                     limb_grid(n_, wide ? 2 : 1, limbs, items_), args_);
    items_ = terms_ = 0;
  }

 private:
  AutomorphismArgs::Item* open(const Automorphism::Item& item, bool accumulate) {
    AutomorphismArgs::Item* part = &args_.item[items_++];
    *part = {View(item.out), static_cast<std::int16_t>(terms_), 0,
             static_cast<std::int16_t>(item.out.limbs()), accumulate};
    return part;
  }

  // Modulo 2^32, hence modulo 2N; the inverse of an odd word, as for Montgomery.
  static std::uint32_t inverse(std::uint32_t galois) {
    return static_cast<std::uint32_t>(make_modulus(galois).q_inverse);
  }

  Launcher& launcher_;
  int n_;
  Domain domain_;
  AutomorphismArgs args_{};
  int items_ = 0, terms_ = 0;
};

}  // namespace

void run(Launcher& launcher, const Automorphism& op) {
  if (op.items.empty()) return;
  const Ring& ring = *op.items.front().out.ring;
  for (const Domain domain : {Domain::Eval, Domain::Coeff}) {
    AutomorphismBatch batch(launcher, ring, domain);
    for (const Automorphism::Item& item : op.items) {
      if (item.out.domain == domain) batch.add(item);
    }
    batch.flush();
  }
}

}  // namespace latticino::cuda
