#include <gtest/gtest.h>

#include <limits>

#include "crypto/gaussian.h"
#include "math/errors.h"
#include "support/ring_support.h"

namespace latticino {
namespace {

using test::range;

class Check : public testing::Test {
 protected:
  // Views of one piece of memory, `at` limbs from its start.
  PolyView view(const Basis& basis, Domain domain, std::uint32_t at) {
    return PolyView::contiguous(memory_.data(), ring_, basis, domain, at);
  }
  PolyView eval(int primes, std::uint32_t at) { return view(range(0, primes), Domain::Eval, at); }

  Ring ring_{10, test::ntt_primes(10, 6)};
  Ring other_{10, test::ntt_primes(10, 6)};
  std::vector<std::uint32_t> memory_ = std::vector<std::uint32_t>(64 << 10);
};

TEST_F(Check, ViewsMustExistAndBelongTogether) {
  PolyView a = eval(2, 0), b = eval(2, 2);
  EXPECT_NO_THROW(check(Transform{{{a, b}}}));
  b.ring = &other_;
  EXPECT_THROW(check(Transform{{{a, b}}}), ShapeError);
  b = eval(2, 2);
  b.data = nullptr;
  EXPECT_THROW(check(Transform{{{a, b}}}), ShapeError) << "dry beside real";
  a.data = nullptr;
  EXPECT_NO_THROW(check(Transform{{{a, b}}})) << "dry";
  b.segment[0].count = 9;
  EXPECT_THROW(check(Transform{{{a, b}}}), ShapeError) << "past the ring's primes";
  EXPECT_THROW(check(Transform{{{a, PolyView{}}}}), ShapeError);
  EXPECT_NO_THROW(check(Transform{}));
}

TEST_F(Check, TransformAliasing) {
  EXPECT_NO_THROW(check(Transform{{{eval(3, 0), eval(3, 0).in(Domain::Half)}}}));
  EXPECT_THROW(check(Transform{{{eval(3, 0), eval(3, 1).in(Domain::Half)}}}), ShapeError);
  EXPECT_THROW(check(Transform{{{eval(3, 0), eval(2, 3)}}}), ShapeError);
  const PolyView a = eval(2, 0), b = eval(2, 2), c = eval(2, 4);
  EXPECT_THROW(check(Transform{{{a, c}, {b, c}}}), ShapeError) << "one output twice";
  EXPECT_THROW(check(Transform{{{a, b}, {b, c}}}), ShapeError) << "an output read by a neighbour";
  EXPECT_NO_THROW(check(Transform{{{a, b}, {a, c}}}));
}

TEST_F(Check, ConvertMatchesItsTable) {
  const BaseConversion table(ring_, range(0, 2), range(2, 5));
  const BaseConversion foreign(other_, range(0, 2), range(2, 5));
  const PolyView in = view(range(0, 2), Domain::Half, 0), out = view(range(2, 5), Domain::Half, 2);
  EXPECT_NO_THROW(check(Convert{{{&table, in, out}}}));
  EXPECT_THROW(check(Convert{{{nullptr, in, out}}}), ShapeError);
  EXPECT_THROW(check(Convert{{{&foreign, in, out}}}), ShapeError);
  EXPECT_THROW(check(Convert{{{&table, in, out.in(Domain::Coeff)}}}), ShapeError);
  EXPECT_THROW(check(Convert{{{&table, in.in(Domain::Eval), out.in(Domain::Eval)}}}), ShapeError);
  EXPECT_THROW(check(Convert{{{&table, in, out.select(range(2, 4))}}}), ShapeError);
}

TEST_F(Check, ProductsAreTransformedFromEvalToHalf) {
  const PolyView a = eval(2, 0), b = eval(3, 2), half = eval(2, 5).in(Domain::Half);
  EXPECT_NO_THROW(check(Transform{{{a, half, b}}}));
  EXPECT_NO_THROW(check(Transform{{{a, half, a}}})) << "a square";
  EXPECT_THROW(check(Transform{{{a, half.in(Domain::Coeff), b}}}), ShapeError);
  EXPECT_THROW(check(Transform{{{a.in(Domain::Half), half, b}}}), ShapeError);
  EXPECT_THROW(check(Transform{{{a, half, b.in(Domain::Half)}}}), ShapeError);
  EXPECT_THROW(check(Transform{{{a, half, eval(1, 2)}}}), ShapeError);
  EXPECT_THROW(check(Transform{{{a, a.in(Domain::Half), b}}}), ShapeError) << "in place";
  EXPECT_THROW(check(Transform{{{a, half, eval(2, 5)}}}), ShapeError) << "over times";
}

TEST_F(Check, KeyInnerShapes) {
  const PolyView own = view(range(0, 2), Domain::Eval, 0);
  const PolyView converted = view(range(2, 5), Domain::Half, 2);
  KeyInner::Target target;
  target.key = {{eval(6, 10), eval(6, 16)}};
  target.eval = {view(range(0, 3), Domain::Eval, 22), view(range(0, 3), Domain::Eval, 25)};
  target.half = {view(range(3, 5), Domain::Half, 28), view(range(3, 5), Domain::Half, 30)};
  KeyInner op{{{{{own, converted}}, {target}}}, {}};
  EXPECT_NO_THROW(check(op));
  const auto broken = [&](auto change) {
    KeyInner copy = op;
    change(copy, copy.groups[0].targets[0]);
    EXPECT_THROW(check(copy), ShapeError);
  };
  broken([](KeyInner&, auto& t) { t.galois = 5; });
  broken([](KeyInner&, auto& t) { t.galois = 2; });
  broken([](KeyInner&, auto& t) { t.key.clear(); });
  broken([](KeyInner&, auto& t) { t.half[0].segments = 0; });
  broken([](KeyInner&, auto& t) { t.half[0].domain = Domain::Eval; });
  broken([&](KeyInner&, auto& t) { t.eval[0] = view(range(0, 4), Domain::Eval, 40); });
  broken([&](KeyInner&, auto& t) { t.key[0][0] = eval(4, 40); });
  broken([&](KeyInner&, auto& t) { t.add[0] = view(range(0, 2), Domain::Eval, 40); });
  broken([&](KeyInner& k, auto&) { k.groups[0].digits[0].own = eval(3, 40); });
  broken([](KeyInner& k, auto&) { k.groups[0].digits.clear(); });
  broken([](KeyInner& k, auto& t) { k.groups[0].digits.push_back({t.key[0][0], {}}); });
  KeyInner product = op;
  product.groups[0].product = {{eval(2, 40), eval(2, 42)}, {eval(3, 44), eval(3, 47)}};
  product.groups[0].digits[0].own = eval(2, 42);
  EXPECT_THROW(check(product), ShapeError) << "without add_factor";
  product.add_factor.assign(6, 1);
  EXPECT_NO_THROW(check(product));
  const auto broken_product = [&](auto change) {
    KeyInner copy = product;
    change(copy.groups[0], copy.groups[0].product);
    EXPECT_THROW(check(copy), ShapeError);
  };
  broken_product([&](auto&, auto& p) { p.b[1] = eval(1, 50); });
  broken_product([&](auto&, auto& p) { p.b[0] = PolyView{}; });
  broken_product([&](auto&, auto& p) { p.a[0].domain = Domain::Half; });
  broken_product([&](auto&, auto& p) { p.b[0] = eval(2, 22); });
  broken_product([&](auto& g, auto&) { g.targets[0].add[1] = eval(2, 50); });
  broken_product([&](auto& g, auto&) { g.targets.clear(); });
  KeyInner adding = op;
  adding.groups[0].targets[0].add[0] = view(range(0, 2), Domain::Eval, 40);
  adding.add_factor.assign(6, 1);
  EXPECT_NO_THROW(check(adding));
  adding.add_factor[2] = ring_.prime(2);
  EXPECT_THROW(check(adding), ParameterError);
}

TEST_F(Check, ModDownFinishAliasing) {
  const PolyView x = eval(2, 0), y = eval(3, 2).in(Domain::Half), out = eval(3, 5);
  const std::vector<std::uint32_t> f = {1, 2, 3};
  EXPECT_NO_THROW(check(ModDownFinish{{{x, y, {}, out, 1}}, f}));
  EXPECT_NO_THROW(check(ModDownFinish{{{{}, y, x, out, 5}}, f}));
  EXPECT_NO_THROW(check(ModDownFinish{{{eval(2, 5), y, {}, out, 1}}, f})) << "out over x";
  EXPECT_THROW(check(ModDownFinish{{{eval(2, 5), y, {}, out, 5}}, f}), ShapeError);
  EXPECT_THROW(check(ModDownFinish{{{x, out.in(Domain::Half), {}, out, 1}}, f}), ShapeError);
  EXPECT_THROW(check(ModDownFinish{{{x, y.select(range(0, 2)), {}, out, 1}}, f}), ShapeError);
  EXPECT_THROW(check(ModDownFinish{{{eval(4, 10), y, {}, out, 1}}, f}), ShapeError);
  EXPECT_THROW(check(ModDownFinish{{{x, y, {}, out, 1}}, {1, 2}}), ShapeError);
  EXPECT_NO_THROW(check(ModDownFinish{{{x, y, {}, out, 5, eval(6, 9)}}, f}));
  EXPECT_THROW(check(ModDownFinish{{{{}, y, {}, out, 1, x}}, f}), ShapeError) << "times without x";
  EXPECT_THROW(check(ModDownFinish{{{x, y, {}, out, 1, eval(1, 9)}}, f}), ShapeError) << "too few";
  EXPECT_THROW(check(ModDownFinish{{{x, y, {}, out, 1, y}}, f}), ShapeError) << "Half";
  EXPECT_THROW(check(ModDownFinish{{{x, y, {}, out, 1, out}}, f}), ShapeError) << "out over times";
  EXPECT_THROW(check(ModDownFinish{{{x, y, {}, out, 1}}, {1, 2, ~0u}}), ParameterError);
}

TEST_F(Check, LinearConstants) {
  const PolyView x = eval(2, 0), out = eval(2, 2);
  const std::vector<std::uint32_t> c = {3, 4};
  EXPECT_NO_THROW(check(Linear{{{{{x, -2, {}, {}}}, x, {}, {}}}})) << "in place";
  EXPECT_NO_THROW(check(Linear{{{{{x, 1, c, c}}, out, c, c}}}));
  EXPECT_THROW(check(Linear{{{{{x, 1, {}, c}}, out, {}, {}}}}), ShapeError);
  EXPECT_THROW(check(Linear{{{{{x, 1, {3}, {}}}, out, {}, {}}}}), ShapeError);
  EXPECT_THROW(check(Linear{{{{{x, 1, {3, ~0u}, {}}}, out, {}, {}}}}), ParameterError);
  const PolyView xc = x.in(Domain::Coeff), oc = out.in(Domain::Coeff);
  EXPECT_NO_THROW(check(Linear{{{{{xc, 1, c, {}}}, oc, {}, {}}}}));
  EXPECT_THROW(check(Linear{{{{{xc, 1, c, c}}, oc, {}, {}}}}), ShapeError);
  EXPECT_THROW(check(Linear{{{{{xc, 1, c, {}}}, oc, c, {}}}}), ShapeError);
  EXPECT_THROW(check(Linear{{{{{xc, 1, c, {}}}, out, {}, {}}}}), ShapeError);
  EXPECT_THROW(check(Linear{{{{{eval(1, 0), 1, {}, {}}}, out, {}, {}}}}), ShapeError);
}

TEST_F(Check, LinearResiduesInMemory) {
  const PolyView x = eval(2, 0), out = eval(2, 2);
  const std::uint32_t *words = eval(1, 4).limb(0), *written = out.limb(1);
  const std::vector<std::uint32_t> c = {3, 4};
  EXPECT_NO_THROW(check(Linear{{{{{x, 1, {}, {}, words}}, out, {}, {}, words}}}));
  EXPECT_THROW(check(Linear{{{{{x, 1, c, {}, words}}, out, {}, {}}}}), ShapeError);
  EXPECT_THROW(check(Linear{{{{{x, 1, {}, {}}}, out, c, {}, words}}}), ShapeError);
  EXPECT_THROW(check(Linear{{{{{x, 1, {}, {}, written}}, out, {}, {}}}}), ShapeError) << "overlap";
  const PolyView xc = x.in(Domain::Coeff), oc = out.in(Domain::Coeff);
  EXPECT_THROW(check(Linear{{{{{xc, 1, {}, {}, words}}, oc, {}, {}}}}), ShapeError);
}

TEST_F(Check, ProductsAndTheirAliasing) {
  const PolyView a = eval(2, 0), b = eval(2, 2), f = eval(2, 4);
  const std::array<PolyView, 3> outs = {eval(2, 6), eval(2, 8), eval(2, 10)};
  EXPECT_NO_THROW(check(Tensor{{{{{{a, b}, {a, b}}}, outs}}}));
  EXPECT_THROW(check(Tensor{{{{}, outs}}}), ShapeError);
  const std::vector<std::uint32_t> c = {3, 4};
  const std::vector<Tensor::Pair> square = {{{a, b}, {a, b}}};
  EXPECT_NO_THROW(check(Tensor{{{square, outs, 2, {{{a, f}, c, c}}, c, c}}}));
  EXPECT_THROW(check(Tensor{{{square, outs, 3}}}), ShapeError);
  EXPECT_THROW(check(Tensor{{{square, outs, 1, {{{a, f}, {}, {}}}}}}), ShapeError);
  EXPECT_THROW(check(Tensor{{{square, outs, 1, {{{a, f}, {3}, {}}}}}}), ShapeError);
  EXPECT_THROW(check(Tensor{{{square, outs, 1, {{{a, eval(1, 4)}, c, {}}}}}}), ShapeError);
  EXPECT_THROW(check(Tensor{{{square, outs, 1, {{{a, outs[0]}, c, {}}}}}}), ShapeError);
  EXPECT_THROW(check(Tensor{{{square, outs, 1, {}, {}, c}}}), ShapeError);
  EXPECT_THROW(check(Tensor{{{{{{a, b}, {a, b}}}, {a, outs[1], outs[2]}}}}), ShapeError);

  const std::array<PolyView, 3> in = {a, b, {}};
  EXPECT_NO_THROW(check(Dot{2, {in}, {{{{0, f}}, outs, false}}}));
  EXPECT_NO_THROW(check(Dot{2, {in}, {{{{0, f}}, in, false}}})) << "out over its own input";
  EXPECT_THROW(check(Dot{2, {in}, {{{{0, f}}, {b, a, {}}, false}}}), ShapeError) << "parts swapped";
  EXPECT_THROW(check(Dot{2, {in}, {{{{0, f}}, in, false}, {{{0, f}}, outs, false}}}), ShapeError)
      << "another output reads the input";
  EXPECT_THROW(check(Dot{2, {in}, {{{{1, f}}, outs, false}}}), ShapeError);
  EXPECT_THROW(check(Dot{4, {in}, {}}), ShapeError);
  EXPECT_NO_THROW(check(Dot{2, {in}, {{{{0, eval(1, 4)}}, outs, false}}})) << "zero elsewhere";
  const std::array<PolyView, 3> narrow = {eval(1, 0), eval(1, 2), {}};
  EXPECT_NO_THROW(check(Dot{2, {narrow}, {{{{0, eval(1, 4)}}, outs, false}}}));
  EXPECT_THROW(check(Dot{2, {narrow}, {{{{0, f}}, outs, false}}}), ShapeError);
}

TEST_F(Check, FactorsOfASubring) {
  const Ring large(12, test::ntt_primes(12, 3)), small(10, large.primes());
  const Ring half(11, large.primes()), others(10, test::ntt_primes(10, 3));
  std::vector<std::uint32_t> memory(4u << 12);
  const auto view = [&](const Ring& ring, int first) {
    return PolyView::contiguous(memory.data(), ring, {{0, 1}}, Domain::Eval,
                                static_cast<std::uint32_t>(first));
  };
  const auto dot = [&](const PolyView& factor) {
    return Dot{1, {{view(large, 0), {}, {}}}, {{{{0, factor}}, {view(large, 1), {}, {}}, false}}};
  };
  EXPECT_NO_THROW(check(dot(view(small, 8))));
  EXPECT_EQ(bytes_moved(dot(view(small, 8))), (2u << 14) + (1u << 12));
  EXPECT_THROW(check(dot(view(small, 7))), ShapeError) << "inside the output";
  EXPECT_THROW(check(dot(view(half, 4))), ShapeError) << "two entries repeat";
  EXPECT_THROW(check(dot(view(others, 8))), ShapeError) << "other primes";
}

TEST_F(Check, RemainingRecords) {
  const PolyView a = eval(2, 0), b = eval(2, 2);
  EXPECT_NO_THROW(check(Automorphism{{{{{a, 5}}, b}}}));
  EXPECT_THROW(check(Automorphism{{{{{a, 5}}, a}}}), ShapeError);
  EXPECT_THROW(check(Automorphism{{{{{a, 2048 + 5}}, b}}}), ShapeError);
  EXPECT_THROW(check(Automorphism{{{{{a.in(Domain::Half), 5}}, b.in(Domain::Half)}}}), ShapeError);
  const PolyView coeff = view(range(0, 4), Domain::Coeff, 10);
  EXPECT_NO_THROW(check(ModRaise{{{a.in(Domain::Coeff), coeff}}}));
  EXPECT_THROW(check(ModRaise{{{eval(3, 0).in(Domain::Coeff), coeff}}}), ShapeError);
  EXPECT_THROW(check(ModRaise{{{a, coeff}}}), ShapeError);
  const auto* integers = reinterpret_cast<const std::int64_t*>(memory_.data() + (20 << 10));
  EXPECT_NO_THROW(check(FromIntegers{{{integers, coeff}}}));
  EXPECT_THROW(check(FromIntegers{{{integers, view(range(0, 2), Domain::Coeff, 19)}}}), ShapeError);
  EXPECT_THROW(check(FromIntegers{{{nullptr, coeff}}}), ShapeError);
  EXPECT_NO_THROW(check(Copy{{{a, b}}}));
  EXPECT_NO_THROW(check(Copy{{{{}, b}}}));
  EXPECT_THROW(check(Copy{{{a, b.in(Domain::Half)}}}), ShapeError);
  EXPECT_THROW(check(ExpandUniform{{{{}, 0, a}, {{}, 1, a}}}), ShapeError);
}

TEST_F(Check, ErrorsHaveATableASeedAndAnIndexOfTheirOwn) {
  const crypto::GaussianTable table(3.19), widest(4), wide(4.5);
  const PolyView a = view(range(0, 2), Domain::Coeff, 0), b = view(range(0, 2), Domain::Coeff, 2);
  const auto* seed = reinterpret_cast<const std::uint8_t*>(memory_.data() + (20 << 10));
  const SampleGaussian good{&table, {{seed, 0, a}, {seed, 1, b}}};
  const auto sample = [&](auto change) {
    SampleGaussian op = good;
    change(op);
    return op;
  };
  EXPECT_NO_THROW(check(good));
  EXPECT_NO_THROW(check(sample([&](auto& op) { op.table = &widest; })));
  EXPECT_NO_THROW(check(sample([&](auto& op) {
    op.items[1].index = 0;
    op.items[1].seed = seed + 32;
  })));
  EXPECT_THROW(check(sample([](auto& op) { op.table = nullptr; })), ShapeError);
  EXPECT_THROW(check(sample([&](auto& op) { op.table = &wide; })), ShapeError);
  EXPECT_THROW(check(sample([](auto& op) { op.items[1].index = 0; })), ShapeError);
  EXPECT_THROW(check(sample([](auto& op) { op.items[0].seed = nullptr; })), ShapeError);
  EXPECT_THROW(check(sample([&](auto& op) { op.items[0].seed = seed + 4; })), ShapeError);
  EXPECT_THROW(check(sample([&](auto& op) { op.items[1].out = a; })), ShapeError);
  EXPECT_THROW(check(sample([&](auto& op) { op.items[0].out = a.in(Domain::Eval); })), ShapeError);
  EXPECT_THROW(check(sample([&](auto& op) {
                 op.items[0].seed = reinterpret_cast<const std::uint8_t*>(a.data);
               })),
               ShapeError)
      << "written over";
}

TEST_F(Check, SlotsHaveATransformACountAndMemoryOfTheirOwn) {
  const SlotTransform table(10), other(11);
  const PolyView coeff = view(range(0, 3), Domain::Coeff, 0);
  auto* slots = reinterpret_cast<double*>(memory_.data() + (20 << 10));
  auto* inside = reinterpret_cast<double*>(memory_.data() + (2 << 10));
  const Embed::Item good{&table, slots, 512, 2.0, 0, coeff};
  const auto embed = [&](auto change) {
    Embed::Item item = good;
    change(item);
    check(Embed{{item}});
  };
  EXPECT_NO_THROW(check(Embed{{good}}));
  EXPECT_THROW(embed([&](auto& x) { x.table = nullptr; }), ShapeError);
  EXPECT_THROW(embed([&](auto& x) { x.table = &other; }), ShapeError);
  for (const int count : {0, -2, 3, 1024}) {
    EXPECT_THROW(embed([&](auto& x) { x.slots = count; }), ShapeError) << count;
  }
  for (const double factor : {0.0, -1.0, std::numeric_limits<double>::infinity(),
                              std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_THROW(embed([&](auto& x) { x.factor = factor; }), ShapeError) << factor;
  }
  EXPECT_THROW(embed([&](auto& x) { x.bound = -1; }), ShapeError);
  EXPECT_THROW(embed([&](auto& x) { x.in = inside; }), ShapeError) << "values under the result";
  EXPECT_THROW(embed([&](auto& x) { x.in = slots + 1; }), ShapeError) << "alignment";
  EXPECT_THROW(embed([&](auto& x) { x.in = nullptr; }), ShapeError);
  EXPECT_THROW(embed([&](auto& x) { x.out.domain = Domain::Half; }), ShapeError);
  EXPECT_NO_THROW(check(Project{{{&table, coeff, 2.0, 512, slots}}}));
  EXPECT_THROW(check(Project{{{&table, coeff, 2.0, 512, inside}}}), ShapeError);
  EXPECT_THROW(check(Project{{{&table, coeff, 0.0, 512, slots}}}), ShapeError);
  EXPECT_THROW(
      check(Project{{{&table, coeff, 2.0, 512, slots}, {&table, coeff, 2.0, 4, slots + 2}}}),
      ShapeError)
      << "two results in one place";
}

TEST_F(Check, MessagesNameTheRecordAndTheView) {
  try {
    check(Transform{{{eval(3, 0), eval(2, 3)}}});
    FAIL();
  } catch (const ShapeError& e) {
    EXPECT_EQ(e.operation(), "Transform");
    EXPECT_NE(std::string(e.what()).find("out of item 0 over [0,2)"), std::string::npos)
        << e.what();
  }
}

TEST_F(Check, BytesMoved) {
  const std::uint64_t limb = 4 << 10;
  EXPECT_EQ(bytes_moved(Transform{{{eval(3, 0), eval(3, 3)}}}), 6 * limb);
  EXPECT_EQ(bytes_moved(Transform{{{eval(3, 0), eval(3, 3).in(Domain::Half), eval(3, 6)}}}),
            9 * limb);
  // Two own limbs and one converted: the factors (two for a square), and keys and sums of three.
  KeyInner::Target target{{{eval(3, 0), eval(3, 3)}}, {eval(3, 6), eval(3, 9)}, {}, {}, 1};
  KeyInner inner{{{{{eval(2, 14), view(range(2, 3), Domain::Half, 20)}},
                   {target},
                   {{eval(2, 12), eval(2, 14)}, {eval(2, 16), eval(2, 18)}}}},
                 std::vector<std::uint32_t>(6, 1)};
  EXPECT_EQ(bytes_moved(inner), (8 + 1 + 12) * limb);
  inner.groups[0].product.b = inner.groups[0].product.a;
  EXPECT_EQ(bytes_moved(inner), (4 + 1 + 12) * limb);
  const std::array<PolyView, 3> in = {eval(4, 0), eval(4, 4), {}};
  const std::array<PolyView, 3> out = {eval(2, 8), eval(2, 10), {}};
  EXPECT_EQ(bytes_moved(Dot{2, {in}, {{{{0, eval(3, 12)}, {0, eval(3, 15)}}, out, true}}}),
            limb * (4 + 4 + 8));
  EXPECT_STREQ(name(Operation(Dot{})), "Dot");
}

}  // namespace
}  // namespace latticino
