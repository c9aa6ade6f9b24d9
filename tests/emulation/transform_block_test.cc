// Transforms of a limb in one block (backend/cuda/ntt/block.cuh) on emulated blocks against the
// CPU: every degree, both directions, in place and not, polynomials at addresses of their own and
// in an array, one for each block and several.
#include <gtest/gtest.h>

#include <vector>

#include "backend/cuda/ntt/block.cuh"
#include "emulation/device_tables.h"
#include "emulation/machine.h"
#include "support/ring_support.h"

namespace latticino {
namespace {

using test::Words;

constexpr int kPrimes = 3;  // primes of the ring: two large ones and a small one

template <class B, bool FORWARD>
class Transforms {
  static constexpr std::size_t kN = std::size_t{1} << B::kLogN;
  static constexpr Domain kFrom = FORWARD ? Domain::Coeff : Domain::Eval;
  static constexpr Domain kTo = FORWARD ? Domain::Eval : Domain::Coeff;

 public:
  explicit Transforms(std::uint32_t polys) : polys_(polys) {
    for (std::uint32_t i = 0; i < polys; ++i) {
      Words words = test::random_words(ring_, basis_, random_);
      for (int l = 0; l < basis_.size(); ++l) {
        const std::uint32_t largest = ring_.prime(basis_.prime(l)) - 1;
        if (i == 0) std::fill_n(words.begin() + l * kN, kN, largest);
        for (int k = 0; k < 64; ++k) words[l * kN + random_() % kN] = k % 2 == 0 ? largest : 0;
      }
      in_.push_back(words);
      want_.push_back(on_cpu(words));
    }
  }

  void expect_equal(unsigned blocks, bool array, bool in_place) const {
    SCOPED_TRACE(std::string(array ? "array" : "items") + (in_place ? " in place" : "") + ", " +
                 std::to_string(polys_) + " polynomials, " + std::to_string(blocks) + " blocks");
    // Limbs of a polynomial, and polynomials that are no array, stand in another order.
    const auto limb_at = [&](std::uint32_t i, int l) {
      return array ? i * 2 + l : (polys_ - 1 - i) * 2 + (1 - l);
    };
    Words in(polys_ * 2 * kN), out(polys_ * 2 * kN, 0xabababab);
    for (std::uint32_t i = 0; i < polys_; ++i) {
      for (int l = 0; l < 2; ++l) {
        for (std::size_t k = 0; k < kN; ++k) {
          in[limb_at(i, l) * kN + position(kFrom, k)] = in_[i][l * kN + k];
        }
      }
    }
    Words& result = in_place ? in : out;
    cuda::TransformArgs a = arguments();
    a.count = polys_;
    a.stride = array ? 2 * kN : 0;
    for (std::uint32_t i = 0; i < (array ? 1 : polys_); ++i) {
      a.item[i] = {static_cast<std::int16_t>(2 * i), 2, 2};
      for (std::int16_t l = 0; l < 2; ++l) {
        const auto view = [&](Words& words, Domain d) {
          const std::uint16_t p = basis_.prime(l);
          const Basis one{{p, static_cast<std::uint16_t>(p + 1)}};
          return cuda::LimbBase(
              PolyView::contiguous(words.data() + limb_at(i, l) * kN, ring_, one, d), p);
        };
        a.run[2 * i + l] = {
            l, static_cast<std::int16_t>(basis_.prime(l)), view(in, kFrom), view(result, kTo), {}};
      }
    }
    for (unsigned place = 0; place < 2; ++place) {
      emulation::run_cluster(static_cast<int>(blocks), B::kThreads,
                             cuda::block_bytes(B::kLogN) / sizeof(std::uint32_t), 5 + place, [&] {
                               blockIdx.y = place;
                               cuda::transform_limbs<B, FORWARD>(a);
                             });
    }
    for (std::uint32_t i = 0; i < polys_; ++i) {
      for (int l = 0; l < 2; ++l) {
        for (std::size_t k = 0; k < kN; ++k) {
          ASSERT_EQ(result[limb_at(i, l) * kN + position(kTo, k)], want_[i][l * kN + k])
              << "polynomial " << i << ", limb " << l << ", entry " << k;
        }
      }
    }
  }

 private:
  static std::size_t position(Domain d, std::size_t k) {
    return cuda::position(d, static_cast<std::uint32_t>(k), B::kLogN);
  }
  static Words primes() {
    Words q = test::ntt_primes(B::kLogN, kPrimes - 1);
    q.push_back(test::ntt_primes(B::kLogN, 1, 1u << 25)[0]);
    return q;
  }
  cuda::TransformArgs arguments() const {
    cuda::TransformArgs a{};
    a.ring = tables_.view, a.rows = tables_.rows;
    a.log_rows = B::kLogRows, a.log_cols = B::kLogCols;
    return a;
  }
  Words on_cpu(const Words& words) {
    const Poly x = test::upload(queue_, ring_, basis_, kFrom, words);
    const Poly y = queue_.allocate(ring_, basis_, kTo);
    queue_.submit(Transform{{{x.view, y.view}}});
    return test::download(queue_, y.view);
  }

  const std::uint32_t polys_;
  const Ring ring_{B::kLogN, primes()};
  const Basis basis_ = test::range(0, 1).with(test::range(2, 3));
  Queue queue_{make_cpu_backend({true, 1})};
  const emulation::DeviceTables tables_{ring_};
  std::mt19937_64 random_{7};
  std::vector<Words> in_, want_;
};

template <int LOG_N, bool KEPT, bool FORWARD>
void expect_transforms() {
  SCOPED_TRACE("N = 2^" + std::to_string(LOG_N) + (KEPT ? ", kept" : "") +
               (FORWARD ? ", forward" : ", inverse"));
  const unsigned polys = KEPT ? 5 : 2, blocks = 2;
  const Transforms<cuda::BlockShape<LOG_N, KEPT>, FORWARD> transforms(polys);
  transforms.expect_equal(blocks, false, false);
  transforms.expect_equal(blocks, true, true);
}
template <int LOG_N, bool KEPT>
void expect_both_directions() {
  expect_transforms<LOG_N, KEPT, true>();
  expect_transforms<LOG_N, KEPT, false>();
}

// Lanes of a warp and the words of `vector` (1 or 4) that each accesses at once: how many more
// accesses the busiest bank gets than so many words need.
template <class Address>
int conflicts(int vector, const Address& address) {
  const int lanes = 32 / vector;  // lanes that a multiprocessor serves together
  int worst = 0;
  for (int first = 0; first < 32; first += lanes) {
    int asked[32] = {};
    for (int lane = first; lane < first + lanes; ++lane) {
      for (int w = 0; w < vector; ++w) ++asked[(address(lane) + w) % 32];
    }
    worst = std::max(worst, *std::max_element(asked, asked + 32) - 1);
  }
  return worst;
}

template <int LOG_N>
void expect_no_conflicts() {
  SCOPED_TRACE("N = 2^" + std::to_string(LOG_N));
  using B = cuda::BlockShape<LOG_N, false>;
  Words limb(cuda::block_bytes(LOG_N) / sizeof(std::uint32_t));
  std::vector<bool> used(limb.size());
  const auto place = [&](const auto& word) {
    return reinterpret_cast<const std::uint32_t*>(&word) - limb.data();
  };
  for (int first = 0; first < B::kColumnShares; first += 32) {
    for (int j = 0; j < B::Column::kValues; ++j) {
      const auto wide = [&](int lane) {
        return place(cuda::BlockColumn<B>::wide(first + lane, limb.data()).wide_word(j));
      };
      ASSERT_EQ(conflicts(1, wide), 0) << "columns, wide";
      ASSERT_EQ(
          conflicts(1,
                    [&](int lane) {
                      return place(
                          cuda::BlockColumn<B>::narrow(first + lane, limb.data()).narrow_word(j));
                    }),
          0)
          << "columns, narrow";
      for (int lane = 0; lane < 32; ++lane) {
        ASSERT_FALSE(used.at(wide(lane)));
        used[wide(lane)] = true;
      }
    }
  }
  for (int first = 0; first < B::kRowShares; first += 32) {
    const auto row = [&](int lane) { return cuda::BlockRow<B>(first + lane, limb.data()); };
    for (int j = 0; j < B::Row::kValues; ++j) {
      ASSERT_EQ(conflicts(1, [&](int lane) { return place(row(lane).wide_word(j)); }), 0) << "rows";
    }
    for (int v = 0; v < B::kVectors; ++v) {
      ASSERT_EQ(conflicts(4, [&](int lane) { return place(row(lane).narrow_vector(v)); }), 0)
          << "vectors of rows";
    }
  }
}

TEST(TransformBlock, NoTwoLanesMeetInABank) {
  expect_no_conflicts<10>();
  expect_no_conflicts<11>();
  expect_no_conflicts<12>();
  expect_no_conflicts<13>();
  expect_no_conflicts<14>();
  expect_no_conflicts<15>();
}

TEST(TransformBlock, OfOnePolynomial) {
  expect_both_directions<10, false>();
  expect_both_directions<11, false>();
  expect_both_directions<12, false>();
  expect_both_directions<13, false>();
  expect_both_directions<14, false>();
  expect_both_directions<15, false>();
}

TEST(TransformBlock, KeepsTwiddlesForSeveral) {
  expect_both_directions<10, true>();
  expect_both_directions<11, true>();
  expect_both_directions<12, true>();
  expect_both_directions<13, true>();
}

}  // namespace
}  // namespace latticino
