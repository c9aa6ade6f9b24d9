// Blind rotations in FP64 of a kernel on an emulated device against the CPU: equal words.
#pragma once

#include <algorithm>
#include <vector>

#include "backend/cuda/rotate/fft/words.cuh"
#include "emulation/rotation_on_cpu.h"
#include "math/fourier_selector.h"
#include "support/fourier_support.h"

namespace latticino::emulation {

// Rotations in FP64 with random keys. S: as for RotationOnCpu, with its digits and the shape of
// its keys.
template <class S>
class FourierRotation : RotationOnCpu<S> {
  using Base = RotationOnCpu<S>;
  using Words = test::Words;
  using Base::kPrimes, Base::primes_, Base::exponents_, Base::op_, Base::key_, Base::queue_,
      Base::count_;

 public:
  explicit FourierRotation(std::uint32_t steps, int group = 1, std::uint32_t count = 1)
      : Base(kPrimes == 1 ? 1u << 31 : 1u << 27, steps * static_cast<std::uint32_t>(group), count) {
    op_.group = group;
    op_.glwe_dimension = S::kParts - 1;
    op_.arithmetic = BlindRotateArithmetic::Fft64;
    op_.gadget = {kPrimes == 2 ? 23 : S::kLevels == 3 ? 7 : 9, S::kLevels};
    shape_ = {S::kLogN, op_.glwe_dimension, group, false, op_.gadget, kPrimes, this->modulus()};
    while (!fourier::refusal(shape_).empty()) --shape_.gadget.log_base;
    op_.gadget = shape_.gadget;
    if (steps > 1) exponents_[1] = 2 * S::kN - 1;
  }

  // `run(arguments)` runs the rotations on an emulated device, in one block each unless it says
  // otherwise.
  template <class Run>
  void expect_equal(const Run& run) {
    make_keys();
    const Words want = this->on_cpu();
    Base::expect_equal_words(want, on_device(run));
  }

 private:
  void make_keys() {
    const PolyArray key = this->keys(Domain::Coeff);
    op_.key = key;
    op_.key.first.domain = Domain::Eval;
    auto* numbers = reinterpret_cast<double*>(this->buffer(sizeof(double) * S::kN * key.count));
    queue_.submit(FourierKey{op_.glwe_dimension, op_.gadget.levels, {{key, numbers}}});
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

  template <class Run>
  Words on_device(const Run& run) const {
    cuda::FourierRotateArgs args{};
    cuda::RotateArgs& a = args.rotate;
    std::vector<cuda::Modulus> modulus;
    for (const std::uint32_t p : primes_) modulus.push_back({p, 0, 0, 0});
    a.ring.modulus = modulus.data();
    a.ring.log_n = S::kLogN;
    Words out(std::size_t{count_} * S::kParts * kPrimes * S::kN);
    this->describe(a, out.data());
    std::vector<double2> key(key_.size() * S::kM), roots;
    for (std::size_t i = 0; i < key_.size(); ++i) {
      const auto z = test::transform(centred(key_[i], a.inverse), S::kLogN);
      using K = typename S::Key;
      for (std::size_t j = 0; j < z.size(); ++j) {
        key[i * S::kM + j % K::kV * K::kThreads + j / K::kV] = {z[j].re, z[j].im};
      }
    }
    for (const fourier::Complex& w : fourier::roots(S::kLogN)) roots.push_back({w.re, w.im});
    for (const fourier::Complex& w : fourier::unit_powers(S::kLogN)) roots.push_back({w.re, w.im});
    std::copy_n(fourier::roots(S::kLogN).begin(), std::size(args.first), args.first);
    a.modulus = shape_.modulus;
    a.keys = op_.keys_per_step(), a.per_block = 1, args.parts = {count_, count_, a.steps};
    for (int p = 0; p < kPrimes; ++p) args.moduli[p] = make_modulus(primes_[p]);
    args.key = key.data();
    args.roots = roots.data();
    args.rounding = fourier::Rounding(shape_);
    run(args);
    return out;
  }

  fourier::Rotation shape_;
};

}  // namespace latticino::emulation
