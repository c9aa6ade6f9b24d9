// Blind rotations in FP64 spread over a cluster (backend/cuda/blind_fourier_spread.cuh), emulated,
// against the CPU: equal words, in every shape that has a kernel.
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <vector>

#include "backend/cuda/blind_fourier_spread.cuh"
#include "emulation/machine.h"
#include "emulation/rotation_on_cpu.h"
#include "math/fourier.h"

namespace latticino {
namespace {

using fourier::Complex;
using test::Words;

// By the definition (math/fourier.h), divided by N/2.
std::vector<Complex> transform(const std::vector<std::int64_t>& x, int log_n) {
  const std::size_t m = x.size() / 2;
  const auto roots = fourier::roots(log_n);
  std::vector<Complex> z(m);
  for (std::size_t j = 0; j < m; ++j) {
    const double scale = 1.0 / static_cast<double>(m);
    z[j] = {static_cast<double>(x[j]) * scale, static_cast<double>(x[j + m]) * scale};
  }
  for (int s = 0; s < log_n - 1; ++s) {
    const std::size_t h = m >> (s + 1);
    for (std::size_t k = 0; k < std::size_t{1} << s; ++k) {
      Complex w = roots[((std::size_t{1} << s) + k) / 2];
      if (k % 2 != 0) w = fourier::times_i(w);
      for (std::size_t j = 2 * h * k; j < 2 * h * k + h; ++j) fourier::butterfly(z[j], z[j + h], w);
    }
  }
  return z;
}

// One rotation with random keys, on both.
template <class S>
class FourierSpreadRotation : emulation::RotationOnCpu<S> {
  using Base = emulation::RotationOnCpu<S>;
  using Base::kPrimes, Base::primes_, Base::exponents_, Base::op_, Base::key_, Base::queue_;

 public:
  explicit FourierSpreadRotation(std::uint32_t steps)
      : Base(kPrimes == 1 ? 1u << 31 : 1u << 27, steps) {
    op_.arithmetic = BlindRotateArithmetic::Fft64;
    op_.gadget = {kPrimes == 2 ? 23 : S::kLevels == 3 ? 7 : 9, S::kLevels};
    shape_ = {S::kLogN, 1, 1, false, op_.gadget, kPrimes, this->modulus()};
    while (!fourier::refusal(shape_).empty()) --shape_.gadget.log_base;
    op_.gadget = shape_.gadget;
    if (steps > 1) exponents_[1] = 2 * S::kN - 1;
  }

  void expect_equal(unsigned seed) {
    make_keys();
    const Words want = this->on_cpu();
    Base::expect_equal_words(want, on_device(seed));
  }

 private:
  void make_keys() {
    const PolyArray key = this->keys(Domain::Coeff);
    op_.key = key;
    op_.key.first.domain = Domain::Eval;
    auto* numbers = reinterpret_cast<double*>(this->buffer(sizeof(double) * S::kN * key.count));
    queue_.submit(FourierKey{1, op_.gadget.levels, {{key, numbers}}});
    op_.fourier = numbers;
  }

  std::vector<std::int64_t> centred(const Words& words, ShoupFactor inverse) const {
    std::vector<std::int64_t> x(S::kN);
    for (std::size_t j = 0; j < S::kN; ++j) {
      x[j] = kPrimes == 1
                 ? centre(words[j], primes_[0])
                 : centred_pair(words[j], words[S::kN + j], primes_[0], primes_.back(), inverse);
    }
    return x;
  }

  Words on_device(unsigned seed) const {
    cuda::FourierRotateArgs args{};
    cuda::RotateArgs& a = args.rotate;
    std::vector<cuda::Modulus> modulus;
    for (const std::uint32_t p : primes_) modulus.push_back({p, 0, 0, 0});
    a.ring.modulus = modulus.data();
    a.ring.log_n = S::kLogN;
    Words out(2 * kPrimes * S::kN);
    this->describe(a, out.data());
    std::vector<double2> key(key_.size() * S::kM), roots;
    for (std::size_t i = 0; i < key_.size(); ++i) {
      const auto z = transform(centred(key_[i], a.inverse), S::kLogN);
      using K = typename S::Key;
      for (std::size_t j = 0; j < z.size(); ++j) {
        key[i * S::kM + j % K::kV * K::kThreads + j / K::kV] = {z[j].re, z[j].im};
      }
    }
    for (const Complex& w : fourier::roots(S::kLogN)) roots.push_back({w.re, w.im});
    a.modulus = shape_.modulus;
    a.keys = 1;
    for (int p = 0; p < kPrimes; ++p) args.moduli[p] = make_modulus(primes_[p]);
    args.key = key.data();
    args.roots = roots.data();
    args.rounding = fourier::Rounding(shape_);
    emulation::run_cluster(S::kBlocks, S::kThreads, (S::bytes(a.steps) + 3) / 4, seed,
                           [&] { cuda::blind_fourier_spread<S>(args); });
    return out;
  }

  fourier::Rotation shape_;
};

template <int LOG_N, int LOG_BLOCKS, int PRIMES, int LEVELS>
void expect_rotation() {
  using S = cuda::FourierSpreadShape<LOG_N, LOG_BLOCKS, PRIMES, LEVELS>;
  for (const std::uint32_t steps : {1u, 2u, 5u}) {
    SCOPED_TRACE(std::to_string(steps) + " steps");
    FourierSpreadRotation<S>(steps).expect_equal(steps);
  }
}

TEST(EmulatedFourierSpread, OfThreeDigitsOnEightBlocks) { expect_rotation<10, 3, 1, 3>(); }
TEST(EmulatedFourierSpread, OfThreeDigitsOnSixteenBlocks) { expect_rotation<10, 4, 1, 3>(); }
TEST(EmulatedFourierSpread, OfTwoPrimesOnEightBlocks) { expect_rotation<11, 3, 2, 1>(); }
TEST(EmulatedFourierSpread, OfTwoPrimesOnSixteenBlocks) { expect_rotation<11, 4, 2, 1>(); }

}  // namespace
}  // namespace latticino
