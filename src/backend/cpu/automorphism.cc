#include "backend/cpu/executor.h"

namespace latticino::cpu {
namespace {

struct Unit {
  const Automorphism::Item* item;
  int prime;
};

void eval_limb(const CpuKernels& k, const RingTable& table, const Unit& u) {
  const PrimeTable& p = table.primes[u.prime];
  const int rows = p.rows(), cols = p.cols();
  std::uint32_t* out = find_limb(u.item->out, u.prime);
  for (int r = 0; r < rows; ++r) {
    bool accumulate = false;
    for (const Automorphism::Term& term : u.item->terms) {
      const RowSource source = row_source(table, r, term.galois);
      const std::uint32_t* x = find_limb(term.x, u.prime) + std::size_t(source.row) * cols;
      k.gather_row(out + std::size_t(r) * cols, x, cols, table.col_reversal.data(), source.offset,
                   term.galois, accumulate, p.modulus);
      accumulate = true;
    }
  }
}

// X^i -> X^(galois i mod 2N), X^N = -1: output entry j comes from i = j / galois modulo 2N.
void coeff_limb(const RingTable& table, const Unit& u) {
  const PrimeTable& p = table.primes[u.prime];
  const std::uint32_t n = 1u << p.log_n, q = p.modulus.q;
  std::uint32_t* out = find_limb(u.item->out, u.prime);
  bool accumulate = false;
  for (const Automorphism::Term& term : u.item->terms) {
    const std::uint32_t* x = find_limb(term.x, u.prime);
    const std::uint32_t back = inverse_galois(term.galois);
    for (std::uint32_t j = 0; j < n; ++j) {
      const std::uint32_t i = (back * j) & (2 * n - 1);
      const std::uint32_t value = i < n ? x[i] : neg_mod(x[i - n], q);
      out[j] = accumulate ? add_mod(out[j], value, q) : value;
    }
    accumulate = true;
  }
}

}  // namespace

void run(Executor& executor, const Automorphism& op) {
  if (op.items.empty()) return;
  const Ring& ring = *op.items[0].out.ring;
  const RingTable& table = executor.table(ring);
  std::vector<Unit> units;
  for (const Automorphism::Item& item : op.items) {
    const Basis basis = item.out.basis();
    for (int i = 0; i < basis.size(); ++i) units.push_back({&item, basis.prime(i)});
  }
  executor.parallel(units.size(), ring.n(), [&](std::size_t i, std::uint32_t*) {
    if (units[i].item->out.domain == Domain::Eval) {
      eval_limb(executor.kernels(), table, units[i]);
    } else {
      coeff_limb(table, units[i]);
    }
  });
}

}  // namespace latticino::cpu
