// Blind rotations with random keys on the CPU, with which kernels on an emulated cluster are
// compared.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <vector>

#include "backend/cuda/rotate/products.cuh"
#include "support/ring_support.h"

namespace latticino::emulation {

// S: the shape of a kernel, with its ring and number of primes.
template <class S>
class RotationOnCpu {
 public:
  static constexpr int kPrimes = S::kPrimes;
  using Words = test::Words;

 protected:
  RotationOnCpu(std::uint32_t prime_bound, std::uint32_t dimension, std::uint32_t count = 1)
      : count_(count),
        dimension_(dimension),
        primes_(test::ntt_primes(S::kLogN, kPrimes, prime_bound)),
        ring_(S::kLogN, primes_),
        exponents_(std::size_t{count} * (dimension + 1)) {
    for (auto& e : exponents_) e = static_cast<std::uint32_t>(random_() % (2 * S::kN));
  }

  std::uint64_t modulus() const {
    std::uint64_t q = 1;
    for (const std::uint32_t p : primes_) q *= p;
    return q;
  }
  std::uint32_t dimension() const { return dimension_; }
  std::uint32_t parts() const { return static_cast<std::uint32_t>(op_.glwe_dimension) + 1; }

  std::uint32_t* buffer(std::size_t bytes) {
    buffers_.push_back(queue_.allocate(bytes));
    return buffers_.back()->words();
  }
  // Random words, also stored in `words`. If that is null, memory for results.
  PolyArray array(std::uint32_t count, Domain domain, std::vector<Words>* words) {
    std::uint32_t* data = buffer(sizeof(std::uint32_t) * S::kN * kPrimes * count);
    const PolyArray polys{PolyView::contiguous(data, ring_, basis_, domain), count};
    for (std::uint32_t i = 0; words != nullptr && i < count; ++i) {
      words->push_back(test::random_words(ring_, basis_, random_));
      queue_.upload(polys[i], words->back().data());
    }
    return polys;
  }
  // Keys, as many as the rotation has.
  PolyArray keys(Domain domain) {
    const auto steps = dimension() / static_cast<std::uint32_t>(op_.group);
    return array(op_.key_index(steps, 0, 0, 0), domain, &key_);
  }

  // The rotations that op_ describes, its keys included.
  Words on_cpu() {
    const PolyArray table = array(1, Domain::Coeff, &table_);
    const PolyArray out = array(count_ * parts(), Domain::Coeff, nullptr);
    std::uint32_t* words = buffer(sizeof(std::uint32_t) * exponents_.size());
    queue_.copy_in(words, exponents_.data(), sizeof(std::uint32_t) * exponents_.size());
    op_.items = {{{words, 2u * S::kN, dimension(), count_, dimension() + 1}, table.first, out}};
    queue_.submit(op_);
    Words result;
    for (std::uint32_t i = 0; i < out.count; ++i) {
      const Words poly = test::download(queue_, out[i]);
      result.insert(result.end(), poly.begin(), poly.end());
    }
    return result;
  }
  // The arguments of both kernels: the ciphertexts, and the inverse of a first prime modulo a
  // second one.
  void describe(cuda::RotateArgs& a, std::uint32_t* out) const {
    a.gadget = op_.gadget;
    a.bits = bit_length(modulus());
    a.parts = static_cast<int>(parts());
    a.group = op_.group;
    for (int p = 0; p < kPrimes; ++p) a.prime[p] = p;
    if constexpr (kPrimes == 2) {
      const Modulus m = make_modulus(primes_[1]);
      a.inverse = make_shoup(inverse_mod(primes_[0] % m.q, m), m);
    }
    a.dimension = dimension();
    a.steps = dimension() / static_cast<std::uint32_t>(op_.group);
    a.total = count_, a.items = 1;
    a.item[0] = {exponents_.data(), table_[0].data(), out, std::size_t{dimension()} + 1, 0};
  }
  static void expect_equal_words(const Words& want, const Words& got) {
    ASSERT_EQ(want.size(), got.size());
    for (std::size_t i = 0; i < want.size(); ++i) ASSERT_EQ(got[i], want[i]) << "word " << i;
  }

  const std::uint32_t count_, dimension_;
  std::mt19937_64 random_{3};
  Words primes_;
  Ring ring_;
  Queue queue_{make_cpu_backend({true, 1})};
  const Basis basis_ = test::range(0, kPrimes);
  BlindRotate op_;
  Words exponents_;
  std::vector<Words> key_, table_;
  std::vector<Buffer> buffers_;
};

}  // namespace latticino::emulation
