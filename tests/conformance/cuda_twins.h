// A CPU and a CUDA backend with rings of their own, and the same polynomials on both: rings of any
// degree with primes at both ends of the range.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "math/modulus.h"
#include "support/ring_support.h"

namespace latticino {

using test::range;
using test::Words;

inline constexpr std::uint32_t kPoison = 0xabababab;

// One side of the comparison: a backend with a ring and queue of its own.
struct Side {
  std::unique_ptr<Queue> queue;
  std::unique_ptr<Ring> ring;
  std::vector<std::unique_ptr<BaseConversion>> tables;
};

// The same polynomial on both sides.
struct Twin {
  std::array<Poly, 2> poly;
  Basis basis;
  Domain domain = Domain::Eval;
};

class CudaTwins : public ::testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    if (cuda_device_count() == 0) GTEST_SKIP() << "no CUDA device";
    open(GetParam(), 14);
  }

  // Primes from the top of the range, then around 2^30, 2^25 and a small one: mixed in one ring.
  void open(int log_n, int count, std::shared_ptr<Tuning> tuning = nullptr) {
    Words primes = test::ntt_primes(log_n, count / 2);
    for (const std::uint32_t q : test::ntt_primes(log_n, count - count / 2 - 2, 1u << 30)) {
      primes.push_back(q);
    }
    for (const std::uint32_t q : test::ntt_primes(log_n, 2, 1u << 25)) primes.push_back(q);
    side_[0] = {
        std::make_unique<Queue>(make_cpu_backend()), std::make_unique<Ring>(log_n, primes), {}};
    side_[1] = {std::make_unique<Queue>(make_cuda_backend({.tuning = std::move(tuning)})),
                std::make_unique<Ring>(log_n, primes),
                {}};
  }

  const Ring& ring() const { return *side_[0].ring; }

  Twin twin(const Basis& basis, Domain domain, const Words& words) {
    Twin t{{}, basis, domain};
    for (int s = 0; s < 2; ++s) {
      t.poly[s] = test::upload(*side_[s].queue, *side_[s].ring, basis, domain, words);
    }
    return t;
  }
  Twin random(const Basis& basis, Domain domain) {
    Words words = test::random_words(ring(), basis, random_);
    // Extremes somewhere in every limb.
    for (int i = 0; i < basis.size(); ++i) {
      std::uint32_t* limb = words.data() + static_cast<std::size_t>(i) * ring().n();
      for (int k = 0; k < 64; ++k) {
        limb[random_() % ring().n()] = k % 2 == 0 ? ring().prime(basis.prime(i)) - 1 : 0;
      }
    }
    return twin(basis, domain, words);
  }
  Twin largest(const Basis& basis, Domain domain) {
    Words words;
    for (int i = 0; i < basis.size(); ++i) {
      words.insert(words.end(), ring().n(), ring().prime(basis.prime(i)) - 1);
    }
    return twin(basis, domain, words);
  }
  Twin poisoned(const Basis& basis, Domain domain) {
    return twin(basis, domain, Words(static_cast<std::size_t>(basis.size()) * ring().n(), kPoison));
  }

  std::array<const BaseConversion*, 2> conversion(const Basis& from, const Basis& to) {
    std::array<const BaseConversion*, 2> both{};
    for (int s = 0; s < 2; ++s) {
      side_[s].tables.push_back(std::make_unique<BaseConversion>(*side_[s].ring, from, to));
      both[s] = side_[s].tables.back().get();
    }
    return both;
  }

  // make(s) builds the record of side s.
  template <class Make>
  void submit(const Make& make) {
    for (int s = 0; s < 2; ++s) side_[s].queue->submit(make(s));
  }

  void expect_equal(const Twin& t, const std::string& what) {
    const Words want = test::download(*side_[0].queue, t.poly[0].view);
    const Words have = test::download(*side_[1].queue, t.poly[1].view);
    std::size_t wrong = 0, first = 0;
    for (std::size_t i = 0; i < want.size(); ++i) {
      if (want[i] != have[i] && wrong++ == 0) first = i;
    }
    EXPECT_EQ(wrong, 0u) << what << " over " << t.basis.str() << ": " << wrong << " of "
                         << want.size() << " words differ, the first at limb " << first / ring().n()
                         << " entry " << first % ring().n() << ": want " << want[first] << ", have "
                         << have[first];
  }

  std::uint32_t random_galois() { return (2 * (random_() % ring().n())) | 1u; }
  Words random_residues(const Basis& basis) {
    Words w;
    for (int i = 0; i < basis.size(); ++i) {
      w.push_back(static_cast<std::uint32_t>(random_() % ring().prime(basis.prime(i))));
    }
    return w;
  }

  Side side_[2];
  std::mt19937_64 random_{2024};
};

}  // namespace latticino
