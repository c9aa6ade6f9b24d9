#include "backend/cpu/rotate_batch.h"

#include <cstring>

namespace latticino::cpu {

Rotation::Rotation(Executor& executor, const BlindRotate& op)
    : op(op),
      kernels(executor.kernels()),
      table(executor.table(*op.key.first.ring)),
      n(static_cast<std::size_t>(op.key.first.ring->n())),
      parts(op.glwe_dimension + 1) {
  const Basis basis = op.key.first.basis();
  digit.n = static_cast<int>(n);
  digit.primes = basis.size();
  digit.gadget = op.gadget;
  for (int p = 0; p < basis.size(); ++p) {
    prime[p] = &table.primes[basis.prime(p)];
    digit.q[p] = prime[p]->modulus.q;
    modulus *= digit.q[p];
  }
  digit.bits = bit_length(modulus);
  if (digit.primes == 2) {
    const Modulus& m = prime[1]->modulus;
    digit.inverse = make_shoup(inverse_mod(digit.q[0] % m.q, m), m);
  }
}

void Rotation::start(std::uint32_t* acc, const BlindRotate::Item& item, std::uint32_t exponent,
                     std::uint32_t* scratch) const {
  const Basis basis = op.key.first.basis();
  std::memset(acc, 0, accumulator_words() * sizeof *acc);
  for (int p = 0; p < digit.primes; ++p) {
    rotate(scratch, item.table.limb(basis.prime(p)), n, exponent, digit.q[p]);
    kernels.lwe->add_mirrored(accumulator(acc, 0, p), scratch, n, digit.q[p]);
  }
}

void Rotation::finish(std::uint32_t* acc, const PolyArray& out, std::uint32_t first) const {
  const Basis basis = op.key.first.basis();
  for (int c = 0; c < parts; ++c) {
    for (int p = 0; p < digit.primes; ++p) {
      std::memcpy(out[first + c].limb(basis.prime(p)), accumulator(acc, c, p), n * sizeof *acc);
    }
  }
}

std::uint32_t Rotation::exponent(const std::uint32_t* exponents, std::uint32_t step, int j) const {
  const auto wrap = 2 * static_cast<std::uint32_t>(n) - 1;
  if (op.ternary) return (j == 0 ? exponents[step] : 0u - exponents[step]) & wrap;
  std::uint32_t e = 0;
  for (int i = 0; i < op.group; ++i) {
    if ((j + 1) >> i & 1) e += exponents[std::size_t{step} * op.group + i];
  }
  return e & wrap;
}

void rotate(std::uint32_t* y, const std::uint32_t* x, std::size_t n, std::uint32_t rotation,
            std::uint32_t q) {
  for (std::size_t i = 0; i < n; ++i) {
    const std::size_t from = (i + rotation) & (2 * n - 1);
    y[i] = from < n ? x[from] : neg_mod(x[from - n], q);
  }
}

}  // namespace latticino::cpu
