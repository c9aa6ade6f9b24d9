#include <cstring>

#include "backend/cpu/executor.h"

namespace latticino::cpu {
namespace {

void transform_limb(const CpuKernels& k, const PrimeTable& p, std::uint32_t* out, Domain to,
                    const std::uint32_t* in, Domain from) {
  const int rows = p.rows(), cols = p.cols();
  constexpr ShoupFactor kNone{1, 0};
  if (from == to) {
    if (out != in) std::memcpy(out, in, sizeof(std::uint32_t) << p.log_n);
  } else if (from < to) {
    if (from == Domain::Coeff) k.forward_columns(out, cols, in, cols, cols, p);
    if (to == Domain::Eval) k.forward_rows(out, from == Domain::Coeff ? out : in, 0, rows, p);
  } else if (to == Domain::Half) {
    k.inverse_rows(out, in, 0, rows, p.one_over_cols, p);
  } else if (from == Domain::Half) {
    k.inverse_columns(out, cols, in, cols, cols, p.one_over_rows, p);
  } else {
    k.inverse_rows(out, in, 0, rows, kNone, p);
    k.inverse_columns(out, cols, out, cols, cols, p.one_over_n, p);
  }
}

}  // namespace

void run(Executor& executor, const Transform& op) {
  struct Unit {
    std::uint32_t* out;
    const std::uint32_t *in, *times;
    int prime;
    Domain from, to;
  };
  if (op.items.empty()) return;
  std::vector<Unit> units;
  for (const Transform::Item& item : op.items) {
    const Basis basis = item.in.basis();
    for (int i = 0; i < basis.size(); ++i) {
      const int p = basis.prime(i);
      units.push_back({item.out.limb(p), item.in.limb(p), find_limb(item.times, p), p,
                       item.in.domain, item.out.domain});
    }
  }
  const Ring& ring = *op.items[0].in.ring;
  const RingTable& table = executor.table(ring);
  executor.parallel(units.size(), ring.n(), [&](std::size_t i, std::uint32_t*) {
    const Unit& u = units[i];
    const PrimeTable& prime = table.primes[u.prime];
    const std::uint32_t* in = u.in;
    if (u.times != nullptr) {
      executor.kernels().multiply_accumulate(u.out, &in, &u.times, 1, nullptr, {}, ring.n(),
                                             prime.modulus);
      in = u.out;
    }
    transform_limb(executor.kernels(), prime, u.out, u.to, in, u.from);
  });
}

}  // namespace latticino::cpu
