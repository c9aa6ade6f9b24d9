// Functions that use a record's list of fields, except the checks of check_test.cc.
#include "ops/fields.h"

#include <gtest/gtest.h>

#include <vector>

#include "ops/operations.h"
#include "ops/views.h"
#include "support/ring_support.h"

namespace latticino {
namespace {

class Fields : public testing::Test {
 protected:
  PolyView view(int primes, Domain domain, std::uint32_t at) {
    return PolyView::contiguous(memory_.data(), ring_, test::range(0, primes), domain, at);
  }
  PolyView eval(int primes, std::uint32_t at) { return view(primes, Domain::Eval, at); }
  static std::vector<const void*> addresses(const Operation& op) {
    std::vector<const void*> out;
    for_each_address(op, [&](const void* address) { out.push_back(address); });
    return out;
  }

  Ring ring_{10, test::ntt_primes(10, 6)};
  const std::uint64_t limb_ = sizeof(std::uint32_t) * ring_.n();
  std::vector<std::uint32_t> memory_ = std::vector<std::uint32_t>(64 << 10);
};

TEST_F(Fields, EveryViewIsReadOrWritten) {
  const PolyView x = eval(2, 0), y = eval(2, 2), out = eval(2, 4);
  std::vector<std::pair<const void*, bool>> seen;
  const Operation op =
      // Without x and add.
      ModDownFinish{{{.y = y.in(Domain::Half), .out = out, .times = x}}, {1, 2}};
  for_each_view(op, [&](const PolyView& v, bool written) { seen.push_back({v.limb(0), written}); });
  const std::vector<std::pair<const void*, bool>> expected = {
      {y.limb(0), false}, {x.limb(0), false}, {out.limb(0), true}};
  EXPECT_EQ(seen, expected);
  EXPECT_EQ(bytes_moved(op), 6 * limb_);
}

TEST_F(Fields, OnlyLimbsThatAreUsedCount) {
  // Two limbs of a wider x; a square reads its factors once.
  EXPECT_EQ(bytes_moved(Linear{{{.terms = {{.x = eval(5, 0)}}, .out = eval(2, 5)}}}), 4 * limb_);
  const Tensor::Item product{
      .pairs = {{.a = {eval(2, 0), eval(2, 2)}, .b = {eval(2, 4), eval(2, 6)}}},
      .out = {eval(2, 8), eval(2, 10), eval(2, 12)}};
  Tensor::Item square = product;
  square.pairs[0].b = square.pairs[0].a;
  EXPECT_EQ(bytes_moved(Tensor{{product}}), (8 + 6) * limb_);
  EXPECT_EQ(bytes_moved(Tensor{{square}}), (4 + 6) * limb_);
  // A factor of three primes in a sum over two, and a sum that adds to its output.
  const Dot dot{.parts = 1,
                .inputs = {{eval(2, 0)}},
                .outputs = {{.terms = {{.input = 0, .factor = eval(3, 2)}},
                             .out = {eval(2, 5)},
                             .accumulate = true}}};
  EXPECT_EQ(bytes_moved(dot), (2 + 2 + 4) * limb_);
  // The key's two limbs that the digit has, of six; once as a product, whose other factors are read
  // beside a1, and once as a square.
  KeyInner op;
  KeyInner::Group& group = op.groups.emplace_back();
  group.digits = {{.own = eval(2, 0)}};
  group.targets = {{.key = {{eval(6, 10), eval(6, 16)}}, .eval = {eval(2, 22), eval(2, 24)}}};
  EXPECT_EQ(bytes_moved(op), (2 + 4 + 4) * limb_);
  group.product = {.a = {eval(2, 2), eval(2, 0)}, .b = {eval(2, 4), eval(2, 6)}};
  EXPECT_EQ(bytes_moved(op), (8 + 4 + 4) * limb_);
  group.product.b = group.product.a;
  EXPECT_EQ(bytes_moved(op), (4 + 4 + 4) * limb_);
}

TEST_F(Fields, MemoryThatIsNoPolynomialIsKept) {
  alignas(16) static std::int64_t integers[1024];
  const PolyView out = view(2, Domain::Coeff, 0);
  const Operation op = FromIntegers{{{.in = integers, .out = out}}};
  EXPECT_EQ(addresses(op), std::vector<const void*>{integers});
  EXPECT_EQ(bytes_moved(op), 2 * limb_ + sizeof integers);
  const LweView x{memory_.data(), 97, 7, 3, 8}, y{memory_.data() + 64, 97, 7, 3, 8};
  const Operation sum = LweLinear{{{.terms = {{.x = x}}, .out = y}}};
  EXPECT_EQ(addresses(sum), (std::vector<const void*>{x.data, y.data}));
  EXPECT_EQ(bytes_moved(sum), 2 * 3 * 8 * sizeof(std::uint32_t));
}

// An input may overlap the only output that reads it, if that output uses whole factors.
TEST_F(Fields, SoleReadersOfASum) {
  Dot dot{.parts = 1,
          .inputs = {{eval(2, 0)}, {eval(2, 2)}, {eval(2, 4)}},
          .outputs = {{.terms = {{0, eval(2, 6)}, {1, eval(2, 6)}}, .out = {eval(2, 0)}},
                      {.terms = {{1, eval(2, 6)}, {7, eval(2, 6)}}, .out = {eval(2, 8)}}}};
  const std::vector<int> readers = dot.sole_readers();
  EXPECT_EQ(readers[0], 0);
  EXPECT_LT(readers[1], 0);
  EXPECT_LT(readers[2], 0);
}

}  // namespace
}  // namespace latticino
