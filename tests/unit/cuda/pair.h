// Runs one operation on the CPU reference and on a CUDA device and compares every output.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <random>
#include <vector>

#include "backend/backend.h"
#include "math/primes.h"
#include "poly/ring.h"

namespace latticino {

inline std::vector<std::uint32_t> ntt_primes(int log_n, int bits, int count) {
  return ntt_primes_below(log_n, 1u << bits, count);
}

// Mixed sizes: nearly 31 bits, nearly 30, and small ones.
inline std::vector<std::uint32_t> mixed_primes(int log_n, int large, int middle, int small) {
  std::vector<std::uint32_t> all = ntt_primes(log_n, 31, large);
  for (const std::uint32_t q : ntt_primes(log_n, 30, middle)) all.push_back(q);
  for (const std::uint32_t q : ntt_primes(log_n, log_n + 8, small)) all.push_back(q);
  return all;
}

enum class Fill { Random, Extreme };  // Extreme: 0, 1, q/2, q/2 + 1 and q - 1 only

class CudaPair : public ::testing::Test {
 protected:
  // The same polynomial on both sides.
  struct Twin {
    PolyView view[2];
  };

  void SetUp() override {
    if (cuda_device_count() == 0) GTEST_SKIP() << "no CUDA device answers";
    backend_[0] = make_cpu_backend();
    backend_[1] = make_cuda_backend();
  }

  void use_ring(int log_n, const std::vector<std::uint32_t>& primes) {
    for (auto& ring : ring_) ring = std::make_unique<Ring>(log_n, primes);
  }
  const Ring& ring() const { return *ring_[0]; }
  Backend& cuda() { return *backend_[1]; }

  // In a buffer with room before it, so that limb offsets differ from prime indices.
  Twin poly(const Basis& basis, Domain domain, Fill fill = Fill::Random) {
    constexpr int kFirst = 3;
    Twin t;
    std::vector<std::uint32_t> values;
    for (int l = 0; l < basis.size(); ++l) {
      const std::uint32_t q = ring().prime(basis.prime(l));
      const std::uint32_t edges[] = {0, 1, q / 2, q / 2 + 1, q - 1};
      for (int i = 0; i < ring().n(); ++i) {
        const auto r = static_cast<std::uint32_t>(random_());
        values.push_back(fill == Fill::Random ? r % q : edges[r % 5]);
      }
    }
    for (int side = 0; side < 2; ++side) {
      const std::size_t bytes = (values.size() + std::size_t{kFirst} * ring().n()) * 4;
      void* p = backend_[side]->allocate(bytes);
      owned_[side].emplace_back(p, bytes);
      t.view[side] =
          PolyView::contiguous(static_cast<std::uint32_t*>(p), *ring_[side], basis, domain, kFirst);
      backend_[side]->upload(t.view[side], values.data());
    }
    return t;
  }

  std::uint32_t residue(int prime, Fill fill = Fill::Random) {
    const std::uint32_t q = ring().prime(prime);
    return fill == Fill::Extreme ? q - 1 : static_cast<std::uint32_t>(random_()) % q;
  }
  std::vector<std::uint32_t> residues(const Basis& basis, Fill fill = Fill::Random) {
    std::vector<std::uint32_t> v;
    for (int l = 0; l < basis.size(); ++l) v.push_back(residue(basis.prime(l), fill));
    return v;
  }

  std::vector<std::uint32_t> read(int side, const PolyView& v) {
    std::vector<std::uint32_t> host(static_cast<std::size_t>(v.limbs()) * v.ring->n());
    backend_[side]->download(host.data(), v);
    return host;
  }

  // build(side) gives the operation on that side's views; it is checked, run and compared.
  void expect_equal(const std::function<Operation(int)>& build, const std::vector<Twin>& outputs) {
    for (int side = 0; side < 2; ++side) {
      const Operation op = build(side);
      check(op);
      backend_[side]->run(op);
    }
    compare(outputs);
  }
  void compare(const std::vector<Twin>& outputs) {
    for (std::size_t o = 0; o < outputs.size(); ++o) {
      const auto a = read(0, outputs[o].view[0]), b = read(1, outputs[o].view[1]);
      for (std::size_t i = 0; i < a.size(); ++i) {
        ASSERT_EQ(a[i], b[i]) << "output " << o << " limb " << i / ring().n() << " entry "
                              << i % ring().n();
      }
    }
  }

  void TearDown() override {
    for (int side = 0; side < 2; ++side) {
      for (const auto& [p, bytes] : owned_[side]) backend_[side]->release(p, bytes);
    }
  }

  std::unique_ptr<Ring> ring_[2];  // one per backend: rings hold the backend's tables
  std::unique_ptr<Backend> backend_[2];
  std::vector<std::pair<void*, std::size_t>> owned_[2];
  std::mt19937_64 random_{20240229};
};

}  // namespace latticino
