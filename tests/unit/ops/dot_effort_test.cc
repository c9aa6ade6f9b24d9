// The bytes that Dot moves on a GPU in addition to those that it names, computed by hand for small
// shapes.
#include "ops/dot_effort.h"

#include <gtest/gtest.h>

#include "poly/ring.h"
#include "runtime/queue.h"
#include "support/ring_support.h"

namespace latticino {
namespace {

class DotEffortTest : public testing::Test {
 protected:
  // Each output is the sum of `inputs` products, of whole factors or of factors in X^(2^2).
  Dot dot(int inputs, int outputs, const Ring& of_factors, int parts = 2) {
    Dot op;
    op.parts = parts;
    for (int i = 0; i < inputs; ++i) op.inputs.push_back({view(ring_), view(ring_), view(ring_)});
    for (int o = 0; o < outputs; ++o) {
      Dot::Output& output = op.outputs.emplace_back();
      output.out = {view(ring_), view(ring_), view(ring_)};
      for (int i = 0; i < inputs; ++i) output.terms.push_back({i, view(of_factors)});
    }
    return op;
  }
  PolyView view(const Ring& ring) {
    held_.push_back(queue_->allocate(ring, basis_, Domain::Eval));
    return held_.back().view;
  }
  void expect(const Dot& op, int tiles, int launches, int limbs_again) {
    const Effort e = effort(op);
    EXPECT_EQ(e.items, static_cast<std::uint64_t>(tiles));
    EXPECT_EQ(e.path, launches - 1);
    EXPECT_EQ(e.work, 4.0 * ring_.n() * basis_.size() * limbs_again);
  }

  Ring ring_{12, test::ntt_primes(12, 3)}, small_{10, test::ntt_primes(12, 3)};
  Basis basis_ = test::range(0, 3);
  std::unique_ptr<Queue> queue_ = Queue::dry();
  std::vector<Poly> held_;
};

TEST_F(DotEffortTest, OneTileReadsNothingAgain) {
  expect(dot(8, 4, ring_), 1, 1, 0);
  expect(dot(8, 1, ring_), 1, 1, 0);
  expect(dot(42, 2, small_), 1, 1, 0);
  expect(Dot{}, 0, 1, 0);
}

TEST_F(DotEffortTest, EachTileReadsItsInputs) {
  expect(dot(8, 8, ring_), 2, 1, 8 * 2);
  expect(dot(8, 9, small_), 3, 1, 2 * 8 * 2);
  expect(dot(8, 4, ring_, 3), 2, 1, 8 * 3);  // two outputs per tile
  // Seven tiles of 4 rows: six per launch.
  expect(dot(4, 28, ring_), 7, 2, 6 * 4 * 2);
}

TEST_F(DotEffortTest, LongSumsGoOnInFurtherLaunches) {
  // 43 rows: the outputs are written, then read and written again.
  expect(dot(43, 4, ring_), 1, 2, 2 * 4 * 2);
  expect(dot(85, 2, ring_), 1, 3, 2 * 2 * 2 * 2);
  // 30 rows and 30 rows: the second tile begins in the first launch.
  expect(dot(30, 8, small_), 2, 2, 30 * 2 + 2 * 4 * 2);
}

TEST_F(DotEffortTest, FactorsOfTwoDegreesAreApart) {
  Dot op = dot(6, 4, ring_);
  for (Dot::Output& output : op.outputs) {
    for (int i = 0; i < 3; ++i) output.terms[i].factor = view(small_);
  }
  expect(op, 1, 2, 2 * 4 * 2);
}

TEST_F(DotEffortTest, WholeTransformsHaveTwoPasses) {
  const PolyView x = view(ring_);
  EXPECT_EQ(effort(Transform{{{x.in(Domain::Coeff), x}}}).work, 2.0 * 4 * ring_.n() * 3);
  EXPECT_EQ(effort(Transform{{{x.in(Domain::Half), x}}}).work, 0);
  EXPECT_EQ(effort(Transform{{{x, x.in(Domain::Half)}}}).items, 0u);
}

}  // namespace
}  // namespace latticino
