// Rows of transforms (backend/cuda/ntt/row_blocks.cuh) on emulated blocks against the CPU: every
// degree, for one polynomial, with all twiddles loaded, and for several with their twiddles kept.
#include <gtest/gtest.h>

#include <vector>

#include "backend/cuda/device/cluster.cuh"
#include "backend/cuda/ntt/row_blocks.cuh"
#include "emulation/device_tables.h"
#include "emulation/machine.h"
#include "support/ring_support.h"

namespace latticino {
namespace {

using cuda::Rows;
using test::Words;

enum class Twiddles { Made, Loaded, Kept };

// Only the first blocks of a limb, at most two, because all rows would be too many threads.
template <int LOG_N, Rows KIND>
class RowTransforms {
  using S = cuda::RowShape<LOG_N - cuda::log_rows_of(LOG_N)>;
  static constexpr std::size_t kN = std::size_t{1} << LOG_N;
  static constexpr int kLogRows = cuda::log_rows_of(LOG_N), kLogCols = LOG_N - kLogRows;
  static constexpr int kBlocks = std::min(2, (1 << kLogRows) / S::kRows);
  static constexpr bool kForward = KIND == Rows::Forward;
  static constexpr Domain kFrom = kForward ? Domain::Half : Domain::Eval;
  static constexpr Domain kTo = kForward ? Domain::Eval : Domain::Half;
  static constexpr std::uint32_t kPolys = 5;

 public:
  // `blocks`: number of blocks in the direction of the polynomials.
  void expect_equal(unsigned blocks, Twiddles twiddles) {
    const bool kept = twiddles == Twiddles::Kept;
    SCOPED_TRACE("N = 2^" + std::to_string(LOG_N) + (kept ? ", kept" : "") +
                 (twiddles == Twiddles::Loaded ? ", loaded" : ""));
    cuda::TransformArgs a{};
    a.ring = tables_.view, a.rows = tables_.rows;
    a.log_rows = kLogRows, a.log_cols = kLogCols;
    a.count = kPolys;
    std::vector<Words> in(kPolys), out(kPolys), want;
    for (std::uint32_t i = 0; i < kPolys; ++i) {
      const Words words = test::random_words(ring_, basis_, random_);
      want.push_back(on_cpu(words));
      in[i].resize(kN), out[i].resize(kN);
      for (std::size_t k = 0; k < kN; ++k) in[i][position(kFrom, k)] = words[k];
      a.item[i] = {static_cast<std::int16_t>(i), 1, 1};
      a.run[i] = {0, 1, base(in[i], kFrom), base(out[i], kTo), {}};
    }
    for (unsigned z = 0; z < blocks; ++z) {
      emulation::run_cluster(kBlocks, S::kBlockThreads, S::kSharedWords, 3 + z, [&] {
        blockIdx.z = z, gridDim.z = blocks;
        if (kept) {
          cuda::kept_rows_of_block<S, KIND>(a, cuda::dynamic_shared());
        } else if (twiddles == Twiddles::Loaded) {
          cuda::rows_of_block<S, KIND, true>(a, cuda::dynamic_shared(), nullptr);
        } else {
          cuda::rows_of_block<S, KIND>(a, cuda::dynamic_shared(), nullptr);
        }
      });
    }
    for (std::uint32_t i = 0; i < kPolys; ++i) {
      for (std::uint32_t place = 0; place < static_cast<unsigned>(kBlocks * S::kRows); ++place) {
        const std::size_t row = std::size_t{cuda::row_at(place, kLogRows)} << kLogCols;
        for (std::size_t k = row; k < row + S::kLength; ++k) {
          ASSERT_EQ(out[i][position(kTo, k)], want[i][k]) << "polynomial " << i << ", entry " << k;
        }
      }
    }
  }

 private:
  static std::size_t position(Domain d, std::size_t k) {
    return cuda::position(d, static_cast<std::uint32_t>(k), LOG_N);
  }
  cuda::LimbBase base(Words& words, Domain d) const {
    return {PolyView::contiguous(words.data(), ring_, basis_, d), 1};
  }
  Words on_cpu(const Words& words) {
    const Poly x = test::upload(queue_, ring_, basis_, kFrom, words);
    const Poly y = queue_.allocate(ring_, basis_, kTo);
    queue_.submit(Transform{{{x.view, y.view}}});
    return test::download(queue_, y.view);
  }

  const Ring ring_{LOG_N, test::ntt_primes(LOG_N, 2)};
  const Basis basis_ = test::range(1, 2);
  Queue queue_{make_cpu_backend({true, 1})};
  const emulation::DeviceTables tables_{ring_};
  std::mt19937_64 random_{7};
};

template <int LOG_N>
void expect_rows() {
  RowTransforms<LOG_N, Rows::Forward> forward;
  RowTransforms<LOG_N, Rows::Inverse> inverse;
  const auto both = [&](unsigned blocks, Twiddles twiddles) {
    forward.expect_equal(blocks, twiddles);
    inverse.expect_equal(blocks, twiddles);
  };
  both(5, Twiddles::Made);
  both(5, Twiddles::Loaded);
  both(2, Twiddles::Kept);
}

TEST(TransformRows, OfEveryDegree) {
  expect_rows<10>();
  expect_rows<11>();
  expect_rows<12>();
  expect_rows<13>();
  expect_rows<14>();
  expect_rows<15>();
  expect_rows<16>();
  expect_rows<17>();
}

}  // namespace
}  // namespace latticino
