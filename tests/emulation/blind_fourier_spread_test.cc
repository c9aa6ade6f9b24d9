// Blind rotations in FP64 spread over a cluster (backend/cuda/blind_fourier_spread.cuh), emulated,
// against the CPU: equal words, in every shape that has a kernel.
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <vector>

#include "backend/cuda/blind_fourier_spread.cuh"
#include "emulation/machine.h"
#include "math/fourier.h"
#include "support/ring_support.h"

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
class FourierSpreadRotation {
 public:
  static constexpr int kPrimes = S::kPrimes;

  explicit FourierSpreadRotation(std::uint32_t steps)
      : primes_(test::ntt_primes(S::kLogN, kPrimes, kPrimes == 1 ? 1u << 31 : 1u << 27)),
        ring_(S::kLogN, primes_),
        exponents_(steps + 1) {
    std::uint64_t q = 1;
    for (const std::uint32_t p : primes_) q *= p;
    op_.arithmetic = BlindRotateArithmetic::Fft64;
    op_.gadget = {kPrimes == 2 ? 23 : S::kLevels == 3 ? 7 : 9, S::kLevels};
    shape_ = {S::kLogN, 1, 1, false, op_.gadget, kPrimes, q};
    while (!fourier::refusal(shape_).empty()) --shape_.gadget.log_base;
    op_.gadget = shape_.gadget;
    for (auto& e : exponents_) e = static_cast<std::uint32_t>(random_() % (2 * S::kN));
    if (steps > 1) exponents_[1] = 2 * S::kN - 1;
  }

  void expect_equal(unsigned seed) {
    const Words want = on_cpu(), got = on_device(seed);
    ASSERT_EQ(want.size(), got.size());
    for (std::size_t i = 0; i < want.size(); ++i) ASSERT_EQ(got[i], want[i]) << "word " << i;
  }

 private:
  std::uint32_t steps() const { return static_cast<std::uint32_t>(exponents_.size()) - 1; }
  PolyArray array(std::uint32_t count, std::vector<Words>* words) {
    buffers_.push_back(queue_.allocate(sizeof(std::uint32_t) * S::kN * kPrimes * count));
    const PolyArray polys{
        PolyView::contiguous(buffers_.back()->words(), ring_, basis_, Domain::Coeff), count};
    for (std::uint32_t i = 0; words != nullptr && i < count; ++i) {
      words->push_back(test::random_words(ring_, basis_, random_));
      queue_.upload(polys[i], words->back().data());
    }
    return polys;
  }

  Words on_cpu() {
    const std::uint32_t count = op_.key_index(steps(), 0, 0, 0);
    const PolyArray key = array(count, &key_);
    op_.key = key;
    op_.key.first.domain = Domain::Eval;
    buffers_.push_back(queue_.allocate(sizeof(double) * S::kN * count));
    auto* numbers = reinterpret_cast<double*>(buffers_.back()->words());
    queue_.submit(FourierKey{1, {{key, numbers}}});
    op_.fourier = numbers;
    const PolyArray table = array(1, &table_), out = array(2, nullptr);
    buffers_.push_back(queue_.allocate(sizeof(std::uint32_t) * exponents_.size()));
    std::uint32_t* words = buffers_.back()->words();
    queue_.copy_in(words, exponents_.data(), sizeof(std::uint32_t) * exponents_.size());
    op_.items = {{{words, 2u * S::kN, steps(), 1, exponents_.size()}, table.first, out}};
    queue_.submit(op_);
    Words result;
    for (std::uint32_t i = 0; i < 2; ++i) {
      const Words poly = test::download(queue_, out[i]);
      result.insert(result.end(), poly.begin(), poly.end());
    }
    return result;
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
    if (kPrimes == 2) {
      const Modulus m = make_modulus(primes_[1]);
      a.inverse = make_shoup(inverse_mod(primes_[0] % m.q, m), m);
    }
    std::vector<double2> key(key_.size() * S::kM), roots;
    for (std::size_t i = 0; i < key_.size(); ++i) {
      const auto z = transform(centred(key_[i], a.inverse), S::kLogN);
      using K = typename S::Key;
      for (std::size_t j = 0; j < z.size(); ++j) {
        key[i * S::kM + j % K::kV * K::kThreads + j / K::kV] = {z[j].re, z[j].im};
      }
    }
    for (const Complex& w : fourier::roots(S::kLogN)) roots.push_back({w.re, w.im});
    a.gadget = op_.gadget;
    a.modulus = shape_.modulus;
    a.bits = bit_length(a.modulus);
    a.parts = 2, a.group = 1, a.keys = 1;
    for (int p = 0; p < kPrimes; ++p) {
      a.prime[p] = p;
      args.moduli[p] = make_modulus(primes_[p]);
    }
    a.dimension = a.steps = steps();
    a.total = 1, a.items = 1;
    Words out(2 * kPrimes * S::kN);
    a.item[0] = {exponents_.data(), table_[0].data(), out.data(), exponents_.size(), 0};
    args.key = key.data();
    args.roots = roots.data();
    args.rounding = fourier::Rounding(shape_);
    emulation::run_cluster(S::kBlocks, S::kThreads, (S::bytes(a.steps) + 3) / 4, seed,
                           [&] { cuda::blind_fourier_spread<S>(args); });
    return out;
  }

  Words primes_;
  Ring ring_;
  Queue queue_{make_cpu_backend({true, 1})};
  const Basis basis_ = test::range(0, kPrimes);
  std::mt19937_64 random_{3};
  BlindRotate op_;
  fourier::Rotation shape_;
  Words exponents_;
  std::vector<Words> key_, table_;
  std::vector<Buffer> buffers_;
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
