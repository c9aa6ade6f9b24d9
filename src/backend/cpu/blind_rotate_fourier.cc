// BlindRotate in FP64, and the key that it reads. Accumulators are integers in [0, Q) here; a
// transformed polynomial is its N/2 real parts, then its imaginary ones.
#include <cstring>

#include "backend/cpu/fourier_kernels.h"
#include "backend/cpu/rotate_batch.h"

namespace latticino::cpu {
namespace {

// Integers in [0, Q) and their residues modulo one or two primes.
struct Residues {
  Residues(const Ring& ring, const Basis& basis) : primes(basis.size()) {
    modulus = 1;
    for (int p = 0; p < primes; ++p) {
      m[p] = make_modulus(ring.prime(basis.prime(p)));
      modulus *= m[p].q;
    }
    if (primes == 2) inverse = make_shoup(inverse_mod(m[0].q % m[1].q, m[1]), m[1]);
  }
  std::int64_t centred(const std::uint32_t* const* limb, std::size_t i) const {
    return primes == 1 ? centre(limb[0][i], m[0].q)
                       : centred_pair(limb[0][i], limb[1][i], m[0].q, m[1].q, inverse);
  }
  std::int64_t canonical(std::int64_t x) const {  // of (-Q, Q)
    return x < 0 ? x + static_cast<std::int64_t>(modulus) : x;
  }

  int primes;
  Modulus m[2];
  ShoupFactor inverse;
  std::uint64_t modulus;
};

struct Rotation {
  Rotation(Executor& executor, const BlindRotate& op)
      : op(op),
        kernels(*executor.kernels().fourier),
        roots(executor.table(*op.key.first.ring).fourier_roots.data()),
        residues(*op.key.first.ring, op.key.first.basis()),
        log_n(op.key.first.ring->log_n()),
        n(std::size_t{1} << log_n),
        parts(op.glwe_dimension + 1),
        shape{log_n,     op.glwe_dimension, op.group,        op.ternary,
              op.gadget, residues.primes,   residues.modulus},
        rounding(shape) {}

  std::size_t accumulator_words() const { return 2 * parts * n; }  // 64-bit integers
  std::size_t worker_words() const { return 2 * (parts + std::size_t{2}) * n; }

  const BlindRotate& op;
  const FourierKernels& kernels;
  const fourier::Complex* roots;
  const Residues residues;
  const int log_n;
  const std::size_t n;
  const int parts;
  const fourier::Rotation shape;
  const fourier::Rounding rounding;
};

class Worker {
 public:
  Worker(const Rotation& r, std::uint32_t* scratch)
      : r_(r),
        sums_(reinterpret_cast<double*>(scratch)),
        digit_(sums_ + r.parts * r.n),
        difference_(reinterpret_cast<std::int64_t*>(digit_ + r.n)) {}

  void start(std::uint32_t* accumulator, const BlindRotate::Item& item, std::uint32_t exponent) {
    std::int64_t* acc = integers(accumulator);
    std::memset(acc, 0, r_.accumulator_words() * sizeof(std::uint32_t));
    const Basis basis = r_.op.key.first.basis();
    const std::uint32_t* limb[2] = {item.table.limb(basis.prime(0)),
                                    item.table.limb(basis.prime(r_.residues.primes - 1))};
    for (std::size_t i = 0; i < r_.n; ++i) {
      const std::size_t from = i + exponent;
      const std::int64_t x = r_.residues.centred(limb, from % r_.n);
      acc[i] = r_.residues.canonical((from & r_.n) == 0 ? x : -x);
    }
  }

  void step(std::uint32_t* accumulator, const std::uint32_t* exponents, std::uint32_t step) {
    if (exponents[step] == 0) return;  // (X^0 - 1) acc = 0
    std::int64_t* acc = integers(accumulator);
    std::memset(sums_, 0, r_.parts * r_.n * sizeof *sums_);
    for (int c = 0; c < r_.parts; ++c) {
      round_difference(acc + c * r_.n, exponents[step]);
      for (int level = 0; level < r_.op.gadget.levels; ++level) {
        const int row = c * r_.op.gadget.levels + level;
        add_products(level, r_.op.fourier + r_.op.key_index(step, 0, row, 0) * r_.n);
      }
    }
    for (int c = 0; c < r_.parts; ++c) {
      double* sum = sums_ + c * r_.n;
      r_.kernels.inverse(sum, sum + r_.n / 2, r_.log_n, r_.roots);
      add(acc + c * r_.n, sum);
    }
  }

  void finish(const std::uint32_t* accumulator, const PolyArray& out, std::uint32_t first) {
    const auto* acc = reinterpret_cast<const std::int64_t*>(accumulator);
    const Basis basis = r_.op.key.first.basis();
    for (int c = 0; c < r_.parts; ++c) {
      for (int p = 0; p < r_.residues.primes; ++p) {
        std::uint32_t* limb = out[first + c].limb(basis.prime(p));
        for (std::size_t i = 0; i < r_.n; ++i) {
          limb[i] = reduce_u64(static_cast<std::uint64_t>(acc[c * r_.n + i]), r_.residues.m[p]);
        }
      }
    }
  }

 private:
  static std::int64_t* integers(std::uint32_t* words) {
    return reinterpret_cast<std::int64_t*>(words);
  }

  // difference_ = (X^-e - 1) x, centred, rounded for the gadget, with its offset.
  void round_difference(const std::int64_t* x, std::uint32_t e) {
    const auto q = static_cast<std::int64_t>(r_.residues.modulus);
    const int shift = gadget_shift(r_.op.gadget, bit_length(r_.residues.modulus));
    const auto offset = gadget_offset<std::int64_t>(r_.op.gadget);
    for (std::size_t i = 0; i < r_.n; ++i) {
      const std::size_t from = i + e;
      const std::int64_t turned = (from & r_.n) == 0 ? x[from % r_.n] : -x[from % r_.n];
      std::int64_t d = r_.residues.canonical(turned - x[i] + (turned < 0 ? q : 0));
      if (d > q / 2) d -= q;
      difference_[i] = gadget_round(d, shift) + offset;
    }
  }

  // sums_ += digit `level` of difference_ times the key row, all components.
  void add_products(int level, const double* row) {
    const std::size_t half = r_.n / 2;
    for (std::size_t i = 0; i < r_.n; ++i) {
      digit_[i] = gadget_digit(difference_[i], r_.op.gadget, level);
    }
    r_.kernels.forward(digit_, digit_ + half, r_.log_n, r_.roots);
    for (int c = 0; c < r_.parts; ++c) {
      double* sum = sums_ + c * r_.n;
      const double* key = row + c * r_.n;
      r_.kernels.multiply_add(sum, sum + half, digit_, digit_ + half, key, key + half, half);
    }
  }

  void add(std::int64_t* acc, const double* sum) {
    const auto q = static_cast<std::int64_t>(r_.residues.modulus);
    for (std::size_t i = 0; i < r_.n; ++i) {
      const std::int64_t x =
          r_.residues.primes == 1 ? r_.rounding.one_prime(sum[i]) : r_.rounding.two_primes(sum[i]);
      const std::int64_t y = acc[i] + r_.residues.canonical(x);
      acc[i] = y >= q ? y - q : y;
    }
  }

  const Rotation& r_;
  double *sums_, *digit_;
  std::int64_t* difference_;
};

}  // namespace

void run_fourier(Executor& executor, const BlindRotate& op) {
  if (!op.items.empty()) rotate_batch<Worker>(executor, op, Rotation(executor, op));
}

void run(Executor& executor, const FourierKey& op) {
  for (const FourierKey::Item& item : op.items) {
    const Ring& ring = *item.in.first.ring;
    const Basis basis = item.in.first.basis();
    const Residues residues(ring, basis);
    const fourier::Complex* roots = executor.table(ring).fourier_roots.data();
    const std::size_t n = ring.n();
    const double one_over_half = 2.0 / static_cast<double>(n);
    executor.parallel(item.in.count, n, [&](std::size_t i, std::uint32_t*) {
      const PolyView poly = item.in[static_cast<std::uint32_t>(i)];
      const std::uint32_t* limb[2] = {poly.limb(basis.prime(0)),
                                      poly.limb(basis.prime(residues.primes - 1))};
      double* out = item.out + i * n;
      for (std::size_t j = 0; j < n; ++j) {
        out[j] = static_cast<double>(residues.centred(limb, j)) * one_over_half;
      }
      executor.kernels().fourier->forward(out, out + n / 2, ring.log_n(), roots);
    });
  }
}

}  // namespace latticino::cpu
