// Blind rotations by steps (backend/cuda/rotate/steps.cuh) on emulated blocks against the CPU, with
// digits and sums either in the transforms' blocks, or entry by entry in kernels of their own.
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <vector>

#include "backend/cuda/rotate/steps.cuh"
#include "emulation/device_tables.h"
#include "emulation/machine.h"
#include "emulation/rotation_on_cpu.h"
#include "support/ring_support.h"

namespace latticino {
namespace {

using test::Words;

template <int LOG_N, int PRIMES>
struct StepShape {
  static constexpr int kLogN = LOG_N, kPrimes = PRIMES, kN = 1 << LOG_N;
};

struct Secret {
  int k = 1, levels = 2, group = 1;
  bool ternary = false;
  std::uint32_t steps = 3, count = 2;
};

template <class S>
class StepRotation : emulation::RotationOnCpu<S> {
  using Base = emulation::RotationOnCpu<S>;
  using Base::kPrimes, Base::op_, Base::key_, Base::ring_, Base::count_;
  using B = cuda::BlockShape<S::kLogN, false>;

 public:
  StepRotation(const Secret& secret, std::uint32_t bound)
      : Base(bound, secret.steps * secret.group, secret.count) {
    op_.glwe_dimension = secret.k;
    op_.group = secret.group;
    op_.ternary = secret.ternary;
    op_.gadget = {std::min(9, (bit_length(this->modulus()) - 3) / secret.levels), secret.levels};
  }

  void expect_equal() {
    op_.key = this->keys(Domain::Eval);
    const Words want = this->on_cpu();
    Base::expect_equal_words(want, on_device(true));
    Base::expect_equal_words(want, on_device(false));
  }

 private:
  // Runs the threads of a kernel without barriers.
  template <class Kernel>
  void each_thread(unsigned blocks, unsigned polys, const Kernel& kernel) const {
    blockDim = {cuda::kStepThreads, 1, 1}, gridDim = {blocks, polys, count_};
    for (blockIdx.z = 0; blockIdx.z < count_; ++blockIdx.z) {
      for (blockIdx.y = 0; blockIdx.y < polys; ++blockIdx.y) {
        for (blockIdx.x = 0; blockIdx.x < blocks; ++blockIdx.x) {
          for (threadIdx.x = 0; threadIdx.x < blockDim.x; ++threadIdx.x) kernel();
        }
      }
    }
  }
  // Runs the blocks of a transform, each by itself.
  template <class Kernel>
  void each_limb(unsigned polys, const Kernel& kernel) const {
    const std::size_t words = cuda::block_bytes(S::kLogN) / sizeof(std::uint32_t);
    for (unsigned poly = 0; poly < polys * count_; ++poly) {
      for (unsigned p = 0; p < kPrimes; ++p) {
        emulation::run_cluster(1, B::kThreads, words, poly + p, [&] {
          blockIdx = {poly, p, 0}, gridDim = {polys * count_, kPrimes, 1};
          kernel();
        });
      }
    }
  }
  // Polynomials that follow one another, in place.
  void transform(std::uint32_t* data, unsigned polys, const emulation::DeviceTables& tables,
                 bool forward) const {
    each_limb(polys, [&] {
      const cuda::BlockConstants<B> constants(tables.view, tables.rows, forward, blockIdx.y);
      std::uint32_t* limb = data + std::size_t{blockIdx.x * kPrimes + blockIdx.y} * S::kN;
      const auto get = [&](std::uint32_t i) { return limb[i]; };
      const auto put = [&](std::uint32_t i, std::uint32_t x) { limb[i] = x; };
      if (forward) {
        cuda::block_forward<B>(constants, get, limb, cuda::dynamic_shared());
      } else {
        cuda::block_inverse<B>(constants, limb, put, cuda::dynamic_shared());
      }
    });
  }

  Words on_device(bool fused) const {
    const emulation::DeviceTables tables(ring_);
    const unsigned parts = this->parts();
    Words key(key_.size() * kPrimes * S::kN), out(count_ * parts * kPrimes * S::kN);
    for (std::size_t i = 0; i < key_.size() * kPrimes; ++i) {
      for (std::uint32_t j = 0; j < S::kN; ++j) {
        key[i * S::kN + cuda::position(Domain::Eval, j, S::kLogN)] =
            key_[i / kPrimes][i % kPrimes * S::kN + j];
      }
    }
    cuda::StepArgs a{};
    a.rotate.ring = tables.view, a.rows = tables.rows;
    a.rotate.key = key.data();
    a.rotate.keys = op_.keys_per_step();
    a.rotate.ternary = op_.ternary;
    this->describe(a.rotate, out.data());
    const auto rows = static_cast<unsigned>(a.rotate.rows());
    Words digits(count_ * rows * kPrimes * S::kN), product(out.size());
    a.digits = digits.data(), a.product = product.data();
    const unsigned blocks = S::kN / cuda::kStepThreads, polys = parts * kPrimes;
    each_thread(blocks, polys, [&] { cuda::begin_rotation(a, kPrimes); });
    for (a.step = 0; a.step < a.rotate.steps; ++a.step) {
      if (fused) {
        each_limb(rows, [&] { cuda::transform_digits<B, kPrimes>(a); });
      } else {
        each_thread(blocks, parts, [&] { cuda::digits_of_step<kPrimes>(a); });
        transform(a.digits, rows, tables, true);
      }
      each_thread((blocks + 3) / 4, polys, [&] { cuda::products_of_step(a, kPrimes); });
      if (fused) {
        each_limb(parts, [&] { cuda::transform_and_add<B>(a); });
      } else {
        transform(a.product, parts, tables, false);
        each_thread(blocks, polys, [&] { cuda::add_to_accumulators(a, kPrimes); });
      }
    }
    return out;
  }
};

template <int LOG_N, int PRIMES>
void expect_rotation(const Secret& secret, std::uint32_t bound) {
  SCOPED_TRACE("N = 2^" + std::to_string(LOG_N) + ", " + std::to_string(PRIMES) + " primes, k " +
               std::to_string(secret.k) + ", levels " + std::to_string(secret.levels));
  StepRotation<StepShape<LOG_N, PRIMES>>(secret, bound).expect_equal();
}

constexpr std::uint32_t k31 = 1u << 31, k27 = 1u << 27;

TEST(BlindSteps, OverOnePrime) {
  expect_rotation<10, 1>({2, 2, 1, false, 3, 2}, k31);
  expect_rotation<11, 1>({1, 3, 1, true, 2, 3}, k31);
  expect_rotation<12, 1>({1, 2, 2, false, 1, 1}, k27);
  expect_rotation<13, 1>({1, 2, 1, false, 2, 1}, k31);
}

TEST(BlindSteps, OverTwoPrimes) {
  expect_rotation<10, 2>({1, 3, 1, false, 2, 2}, k27);
  expect_rotation<11, 2>({1, 1, 3, false, 2, 2}, k27);
  expect_rotation<12, 2>({1, 2, 1, false, 2, 1}, k31);
  expect_rotation<13, 2>({1, 1, 1, false, 2, 1}, k31);
}

}  // namespace
}  // namespace latticino
