#include "backend/cpu/rotate_batch.h"

namespace latticino::cpu {
namespace {

constexpr int kMaxRows = kMaxLevels * kMaxParts;

struct ExactRotation : Rotation {
  ExactRotation(Executor& executor, const BlindRotate& op)
      : Rotation(executor, op), key(op.key.first.limb(op.key.first.basis().prime(0))) {
    for (int p = 0; p < digit.primes; ++p) {
      // The sums of products carry a factor 2^-64.
      const Modulus& m = prime[p]->modulus;
      const std::uint32_t r = reduce_u64(std::uint64_t{1} << 32, m);
      scale[p] = make_shoup(mul_mod(mul_mod(r, r, m), prime[p]->one_over_n.w, m), m);
    }
  }

  std::size_t digit_words() const { return std::size_t(op.rows()) * digit.primes * n; }
  std::size_t worker_words() const { return digit_words() + (parts + std::size_t{1}) * n; }
  // The limb of a key polynomial modulo prime p.
  const std::uint32_t* key_limb(std::uint32_t index, int p) const {
    return key + (std::size_t(index) * digit.primes + p) * n;
  }

  ShoupFactor scale[2];
  const std::uint32_t* key;
};

class Worker {
 public:
  Worker(const ExactRotation& r, std::uint32_t* scratch)
      : r_(r), digits_(scratch), sums_(scratch + r.digit_words()), turned_(sums_ + r.parts * r.n) {}

  void step(std::uint32_t* acc, const std::uint32_t* exponents, std::uint32_t step) {
    const std::uint32_t turn = 2 * static_cast<std::uint32_t>(r_.n);
    const bool plain = r_.op.keys_per_step() == 1;
    if (plain && exponents[step] == 0) return;  // (X^0 - 1) acc = 0
    decompose(acc, plain ? exponents[step] : turn);
    for (int p = 0; p < r_.digit.primes && plain; ++p) {
      product(step, 0, p);
      add(acc, p);
    }
    if (plain) return;
    for (int j = 0; j < r_.op.keys_per_step(); ++j) held_[j] = r_.exponent(exponents, step, j);
    selected(acc, step);
  }

 private:
  std::uint32_t* sum(int c) { return sums_ + c * r_.n; }
  std::uint32_t* digit(int row, int p) { return digits_ + (row * r_.digit.primes + p) * r_.n; }

  // Computes the digits of all components, in Eval.
  void decompose(std::uint32_t* acc, std::uint32_t rotation) {
    const int primes = r_.digit.primes, levels = r_.op.gadget.levels;
    for (int c = 0; c < r_.parts; ++c) {
      std::uint32_t* out[2 * kMaxLevels];
      const std::uint32_t* x[2] = {r_.accumulator(acc, c, 0), r_.accumulator(acc, c, primes - 1)};
      for (int i = 0; i < levels * primes; ++i) {
        out[i] = digit(c * levels + i / primes, i % primes);
      }
      r_.kernels.lwe->rotated_digits(out, x, rotation, r_.digit);
    }
    for (int row = 0; row < r_.op.rows(); ++row) {
      for (int p = 0; p < primes; ++p) {
        const PrimeTable& t = *r_.prime[p];
        r_.kernels.forward_columns(digit(row, p), t.cols(), digit(row, p), t.cols(), t.cols(), t);
        r_.kernels.forward_rows(digit(row, p), digit(row, p), 0, t.rows(), t);
      }
    }
  }

  // Computes the components of K [*] acc modulo prime p, in Coeff, one after another at sums_.
  void product(std::uint32_t step, int key, int p) {
    const std::uint32_t *digits[kMaxRows], *keys[kMaxRows * kMaxParts];
    std::uint32_t* out[kMaxParts];
    for (int row = 0; row < r_.op.rows(); ++row) {
      digits[row] = digit(row, p);
      for (int c = 0; c < r_.parts; ++c) {
        keys[row * r_.parts + c] = r_.key_limb(r_.op.key_index(step, key, row, c), p);
      }
    }
    for (int c = 0; c < r_.parts; ++c) out[c] = sum(c);
    const PrimeTable& t = *r_.prime[p];
    r_.kernels.lwe->row_products(out, r_.parts, digits, keys, r_.op.rows(), r_.n, t.modulus);
    for (int c = 0; c < r_.parts; ++c) {
      r_.kernels.inverse_rows(sum(c), sum(c), 0, t.rows(), {1, 0}, t);
      r_.kernels.inverse_columns(sum(c), t.cols(), sum(c), t.cols(), t.cols(), r_.scale[p], t);
    }
  }

  void add(std::uint32_t* acc, int p) {
    for (int c = 0; c < r_.parts; ++c) {
      r_.kernels.lwe->add_mirrored(r_.accumulator(acc, c, p), sum(c), r_.n, r_.digit.q[p]);
    }
  }

  // acc += sum_j (X^-e_j - 1) (K_j [*] acc), where held_ has the e_j.
  void selected(std::uint32_t* acc, std::uint32_t step) {
    for (int p = 0; p < r_.digit.primes; ++p) {
      for (int j = 0; j < r_.op.keys_per_step(); ++j) {
        if (held_[j] == 0) continue;
        product(step, j, p);
        for (int c = 0; c < r_.parts; ++c) turn_difference(sum(c), held_[j], r_.digit.q[p]);
        add(acc, p);
      }
    }
  }

  // x = X^-rotation x - x.
  void turn_difference(std::uint32_t* x, std::uint32_t rotation, std::uint32_t q) {
    rotate(turned_, x, r_.n, rotation, q);
    for (std::size_t i = 0; i < r_.n; ++i) x[i] = sub_mod(turned_[i], x[i], q);
  }

  const ExactRotation& r_;
  std::uint32_t *digits_, *sums_, *turned_;
  std::uint32_t held_[15] = {};
};

}  // namespace

void run(Executor& executor, const BlindRotate& op) {
  if (op.arithmetic == BlindRotateArithmetic::Fft64) return run_fourier(executor, op);
  if (!op.items.empty()) rotate_batch<Worker>(executor, op, ExactRotation(executor, op));
}

}  // namespace latticino::cpu
