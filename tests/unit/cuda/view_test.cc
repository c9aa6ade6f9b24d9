// Views as kernels see them (backend/cuda/device/view.h), against polynomial views.
#include "backend/cuda/device/view.h"

#include <gtest/gtest.h>

#include "math/errors.h"
#include "support/ring_support.h"

namespace latticino {
namespace {

template <class View>
void expect_same(const View& view, const PolyView& v) {
  EXPECT_EQ(view.limbs(), v.limbs());
  EXPECT_EQ(view.empty(), v.segments == 0);
  for (int l = 0; l < v.limbs(); ++l) EXPECT_EQ(view.prime(l), v.basis().prime(l));
  for (int p = 0; p < v.ring->prime_count(); ++p) {
    std::uint32_t* want = v.basis().contains(p) ? v.limb(p) : nullptr;
    EXPECT_EQ(view.limb(p, v.ring->log_n()), want) << p;
  }
}

TEST(DeviceView, TakesAsManySegmentsAsItSays) {
  const Ring ring(10, test::ntt_primes(10, 12));
  std::vector<std::uint32_t> memory(std::size_t{12} << 10);
  const Basis many{{0, 1}, {2, 4}, {5, 6}, {7, 9}, {10, 12}};
  const PolyView five = PolyView::contiguous(memory.data(), ring, many, Domain::Eval);
  const PolyView three = five.select({{2, 4}, {5, 6}, {10, 12}});
  expect_same(cuda::View(three), three);
  expect_same(cuda::WideView(three), three);
  expect_same(cuda::WideView(five), five);
  EXPECT_THROW(cuda::View{five}, ShapeError);
  EXPECT_THROW(cuda::View{five.select({{0, 1}, {2, 4}, {5, 6}, {7, 9}})}, ShapeError);
}

}  // namespace
}  // namespace latticino
