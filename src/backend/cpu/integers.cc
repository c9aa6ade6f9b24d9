#include <algorithm>

#include "backend/cpu/executor.h"
#include "crypto/expand.h"

namespace latticino::cpu {
namespace {

// The centred representatives of entries [at, at + count) of a polynomial over one or two primes.
class CentredLift {
 public:
  CentredLift(const RingTable& table, const PolyView& in) {
    const Basis basis = in.basis();
    low_ = table.primes[basis.prime(0)].modulus;
    low_limb_ = in.limb(basis.prime(0));
    if (basis.size() == 2) {
      high_ = table.primes[basis.prime(1)].modulus;
      high_limb_ = in.limb(basis.prime(1));
      inverse_ = make_shoup(inverse_mod(low_.q % high_.q, high_), high_);
    }
  }

  void run(std::int64_t* out, std::size_t at, std::size_t count) const {
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint32_t a = low_limb_[at + i];
      if (high_limb_ == nullptr) {
        out[i] = centre(a, low_.q);
        continue;
      }
      // Garner: a + q0 ((b - a) / q0 mod q1) < 2^62.
      const std::uint32_t difference = sub_mod(high_limb_[at + i], reduce_u64(a, high_), high_.q);
      const std::int64_t lifted =
          a + std::int64_t{low_.q} * mul_shoup(difference, inverse_, high_.q);
      const std::int64_t modulus = std::int64_t{low_.q} * high_.q;
      out[i] = lifted > modulus / 2 ? lifted - modulus : lifted;
    }
  }

 private:
  Modulus low_, high_;
  const std::uint32_t *low_limb_ = nullptr, *high_limb_ = nullptr;
  ShoupFactor inverse_;
};

}  // namespace

void run(Executor& executor, const ModRaise& op) {
  if (op.items.empty()) return;
  const Ring& ring = *op.items[0].out.ring;
  const RingTable& table = executor.table(ring);
  const std::size_t n = ring.n(), step = std::min(kBlockEntries, n), blocks = n / step;
  executor.reserve_scratch(2 * step);
  executor.parallel(op.items.size() * blocks, step * op.items[0].out.limbs(),
                    [&](std::size_t i, std::uint32_t* scratch) {
                      const ModRaise::Item& item = op.items[i / blocks];
                      const std::size_t at = i % blocks * step;
                      auto* integers = reinterpret_cast<std::int64_t*>(scratch);
                      CentredLift(table, item.in).run(integers, at, step);
                      const Basis basis = item.out.basis();
                      for (int k = 0; k < basis.size(); ++k) {
                        executor.kernels().reduce(item.out.limb(basis.prime(k)) + at, integers,
                                                  step, table.primes[basis.prime(k)].modulus);
                      }
                    });
}

void run(Executor& executor, const FromIntegers& op) {
  if (op.items.empty()) return;
  const Ring& ring = *op.items[0].out.ring;
  const RingTable& table = executor.table(ring);
  const std::size_t n = ring.n(), step = std::min(kBlockEntries, n), blocks = n / step;
  executor.parallel(op.items.size() * blocks, step * op.items[0].out.limbs(),
                    [&](std::size_t i, std::uint32_t*) {
                      const FromIntegers::Item& item = op.items[i / blocks];
                      const std::size_t at = i % blocks * step;
                      const Basis basis = item.out.basis();
                      for (int k = 0; k < basis.size(); ++k) {
                        executor.kernels().reduce(item.out.limb(basis.prime(k)) + at, item.in + at,
                                                  step, table.primes[basis.prime(k)].modulus);
                      }
                    });
}

void run(Executor& executor, const ExpandUniform& op) {
  struct Unit {
    const ExpandUniform::Item* item;
    int prime;
  };
  std::vector<Unit> units;
  for (const ExpandUniform::Item& item : op.items) {
    const Basis basis = item.out.basis();
    for (int k = 0; k < basis.size(); ++k) units.push_back({&item, basis.prime(k)});
  }
  if (units.empty()) return;
  const Ring& ring = *op.items[0].out.ring;
  executor.parallel(units.size(), ring.n(), [&](std::size_t i, std::uint32_t*) {
    const Unit& u = units[i];
    crypto::expand_limb(u.item->seed, u.item->stream, static_cast<std::uint32_t>(u.prime),
                        ring.prime(u.prime),
                        {u.item->out.limb(u.prime), static_cast<std::size_t>(ring.n())});
  });
}

}  // namespace latticino::cpu
