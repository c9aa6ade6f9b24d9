// BlindRotate in FP64, and the key that it reads. Accumulators over one prime are those of the
// exact arithmetic; over two they are doubles, component by component.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "backend/cpu/fourier_kernels.h"
#include "backend/cpu/rotate_batch.h"

namespace latticino::cpu {
namespace {

struct FourierRotation : Rotation {
  FourierRotation(Executor& executor, const BlindRotate& op)
      : Rotation(executor, op),
        fourier(*kernels.fourier),
        rounding({op.key.first.ring->log_n(), op.glwe_dimension, op.group, op.ternary, op.gadget,
                  digit.primes, modulus}) {}

  bool in_doubles() const { return digit.primes == 2; }
  static double* doubles(std::uint32_t* words) { return reinterpret_cast<double*>(words); }

  std::size_t accumulator_words() const {
    return in_doubles() ? 2 * n * parts : Rotation::accumulator_words();
  }
  int polynomials() const { return op.rows() * parts; }  // polynomials of one key
  // With several keys per step: doubles for their combination and for the selectors.
  std::size_t combined_words() const {
    return op.group == 1 ? 0
                         : 2 * n * (static_cast<std::size_t>(polynomials()) + op.keys_per_step());
  }
  // Doubles for the sums and for all digits, then the rounded sums.
  std::size_t worker_words() const {
    return combined_words() + 2 * n * (static_cast<std::size_t>(parts) + op.rows()) + n;
  }

  void start(std::uint32_t* accumulator, const BlindRotate::Item& item, std::uint32_t exponent,
             std::uint32_t* scratch) const {
    if (!in_doubles()) return Rotation::start(accumulator, item, exponent, scratch);
    const Basis basis = op.key.first.basis();
    const std::uint32_t* x0 = item.table.limb(basis.prime(0));
    const std::uint32_t* x1 = item.table.limb(basis.prime(1));
    double* acc = doubles(accumulator);
    for (std::size_t i = 0; i < n; ++i) {
      const std::size_t turned = i + exponent, from = turned % n;
      const std::int64_t x =
          centred_pair(x0[from], x1[from], digit.q[0], digit.q[1], digit.inverse);
      acc[i] = static_cast<double>((turned & n) == 0 ? x : -x);
    }
    std::fill(acc + n, acc + n * parts, 0.0);
  }

  void finish(std::uint32_t* accumulator, const PolyArray& out, std::uint32_t first) const {
    if (!in_doubles()) return Rotation::finish(accumulator, out, first);
    const Basis basis = op.key.first.basis();
    const double* acc = doubles(accumulator);
    for (int c = 0; c < parts; ++c, acc += n) {
      for (int p = 0; p < 2; ++p) {
        std::uint32_t* limb = out[first + c].limb(basis.prime(p));
        for (std::size_t i = 0; i < n; ++i) {
          limb[i] = reduce_s64(std::llrint(acc[i]), prime[p]->modulus);
        }
      }
    }
  }

  const FourierKernels& fourier;
  const fourier::Rounding rounding;
};

class Worker {
 public:
  Worker(const FourierRotation& r, std::uint32_t* scratch)
      : r_(r),
        combined_(reinterpret_cast<double*>(scratch)),
        sums_(reinterpret_cast<double*>(scratch + r.combined_words())),
        digits_(sums_ + r.parts * r.n),
        residues_(reinterpret_cast<std::uint32_t*>(digits_ + r.op.rows() * r.n)) {}

  void step(std::uint32_t* acc, const std::uint32_t* exponents, std::uint32_t step) {
    const bool several = r_.op.group > 1;
    // (X^0 - 1) acc = 0. In doubles, the sum of zeros may still subtract Q.
    const auto* first = exponents + std::size_t{step} * r_.op.group;
    const bool none = std::all_of(first, first + r_.op.group, [](auto e) { return e == 0; });
    if (none && !r_.in_doubles()) return;
    expect(step + 1);
    const int levels = r_.op.gadget.levels;
    for (int c = 0; c < r_.parts; ++c) {
      decompose(acc, c, several ? 2 * static_cast<std::uint32_t>(r_.n) : *first);
      for (int row = c * levels; row < (c + 1) * levels; ++row) {
        r_.fourier.forward(digit(row), digit(row) + r_.n / 2, r_.table.fourier_table, ahead_);
      }
    }
    const double* key = r_.op.fourier + r_.op.key_index(step, 0, 0, 0) * r_.n;
    if (several) key = combine(key, exponents, step);
    r_.fourier.products(sums_, digits_, key, r_.op.rows(), r_.parts, r_.n);
    for (int c = 0; c < r_.parts; ++c) {
      double* sum = sums_ + c * r_.n;
      r_.fourier.inverse(sum, sum + r_.n / 2, r_.table.fourier_table, ahead_);
      add(acc, c, sum);
    }
  }

 private:
  double* digit(int row) { return digits_ + row * r_.n; }

  // The key of a step is fetched during the transforms of the step before, once for all ciphertexts
  // that use it together.
  void expect(std::uint32_t step) {
    if (step == expected_) return;
    expected_ = step;
    const std::uint32_t first = r_.op.key_index(step, 0, 0, 0);
    const std::uint32_t polys = r_.op.key_index(1, 0, 0, 0);
    const auto at = [&](std::uint32_t poly) {
      return reinterpret_cast<const char*>(r_.op.fourier + std::size_t{poly} * r_.n);
    };
    if (first + polys > r_.op.key.count) return;
    const std::size_t transforms = static_cast<std::size_t>(r_.op.rows()) + r_.parts;
    ahead_ = {at(first), at(first + polys), polys * r_.n * sizeof(double) / transforms + 1};
  }

  // sum_j (X^-E_j - 1) K_j.
  const double* combine(const double* keys, const std::uint32_t* exponents, std::uint32_t step) {
    double* x = combined_ + r_.polynomials() * r_.n;
    for (int j = 0; j < r_.op.keys_per_step(); ++j) {
      r_.fourier.selectors(x + j * r_.n, r_.table.fourier_table, r_.exponent(exponents, step, j));
    }
    r_.fourier.combine(combined_, x, keys, r_.op.keys_per_step(), r_.polynomials(), r_.n);
    return combined_;
  }

  // Digits of (X^-e - 1) times a component; if e is 2N, digits of the component itself.
  void decompose(std::uint32_t* acc, int c, std::uint32_t e) {
    const int levels = r_.op.gadget.levels;
    double* out[kMaxLevels];
    for (int level = 0; level < levels; ++level) out[level] = digit(c * levels + level);
    if (r_.in_doubles()) {
      return r_.fourier.real_digits(out, r_.doubles(acc) + c * r_.n, r_.n, e, r_.op.gadget,
                                    r_.rounding);
    }
    const std::uint32_t* x[1] = {r_.accumulator(acc, c, 0)};
    r_.kernels.lwe->rotated_real_digits(out, x, e, r_.digit);
  }

  void add(std::uint32_t* acc, int c, const double* sum) {
    if (r_.in_doubles()) {
      return r_.fourier.add_sums(r_.doubles(acc) + c * r_.n, sum, r_.n, r_.rounding);
    }
    r_.fourier.round_one(residues_, sum, r_.n, r_.rounding);
    r_.kernels.lwe->add_mirrored(r_.accumulator(acc, c, 0), residues_, r_.n, r_.digit.q[0]);
  }

  const FourierRotation& r_;
  double *combined_, *sums_, *digits_;
  std::uint32_t* residues_;
  Prefetch ahead_;
  std::uint32_t expected_ = 0;
};

}  // namespace

void run_fourier(Executor& executor, const BlindRotate& op) {
  if (!op.items.empty()) rotate_batch<Worker>(executor, op, FourierRotation(executor, op));
}

void run(Executor& executor, const FourierKey& op) {
  for (const FourierKey::Item& item : op.items) {
    const Ring& ring = *item.in.first.ring;
    const Basis basis = item.in.first.basis();
    const std::uint32_t q0 = ring.prime(basis.prime(0));
    const Modulus m1 = make_modulus(ring.prime(basis.prime(basis.size() - 1)));
    const ShoupFactor inverse =
        basis.size() == 2 ? make_shoup(inverse_mod(q0 % m1.q, m1), m1) : ShoupFactor{};
    const FourierTable& table = executor.table(ring).fourier_table;
    const std::size_t n = ring.n();
    const double one_over_half = 2.0 / static_cast<double>(n);
    const FourierKeyOrder order{op.rows(), op.glwe_dimension + 1};
    executor.reserve_scratch(2 * n);
    executor.parallel(item.in.count, n, [&](std::size_t i, std::uint32_t* scratch) {
      const PolyView poly = item.in[static_cast<std::uint32_t>(i)];
      const std::uint32_t* x0 = poly.limb(basis.prime(0));
      const std::uint32_t* x1 = poly.limb(basis.prime(basis.size() - 1));
      double* x = reinterpret_cast<double*>(scratch);
      for (std::size_t j = 0; j < n; ++j) {
        const std::int64_t whole =
            basis.size() == 1 ? centre(x0[j], q0) : centred_pair(x0[j], x1[j], q0, m1.q, inverse);
        x[j] = static_cast<double>(whole) * one_over_half;
      }
      Prefetch none;
      executor.kernels().fourier->forward(x, x + n / 2, table, none);
      const int of_key = static_cast<int>(i) % op.polynomials_of_key();
      const int row = of_key / order.parts, part = of_key % order.parts;
      double* out = item.out + (i - static_cast<std::size_t>(of_key)) * n;
      for (std::size_t j = 0; j < n / 2; ++j) {
        double* to = out + order.at(row, part, j);
        to[0] = x[j];
        to[FourierKeyOrder::kInterleaved] = x[j + n / 2];
      }
    });
  }
}

}  // namespace latticino::cpu
