// Records whose CUDA kernels work row by row (Transform, ModDownFinish) against the CPU reference,
// word for word: every transform length, odd shapes of bases, batches and automorphisms.
#include "cuda_twins.h"

namespace latticino {
namespace {

class CudaRows : public CudaTwins {};

constexpr Domain kDomains[] = {Domain::Coeff, Domain::Half, Domain::Eval};

TEST_P(CudaRows, TransformsBetweenAllDomains) {
  const Basis basis = range(0, 3).with(range(5, 7)).with(range(12, 14));
  for (const Domain from : kDomains) {
    for (const Domain to : kDomains) {
      for (const bool in_place : {false, true}) {
        Twin a = random(basis, from), b = largest(range(4, 8), from);
        Twin out_a = poisoned(basis, to), out_b = poisoned(range(4, 8), to);
        submit([&](int s) {
          const PolyView va = a.poly[s].view, vb = b.poly[s].view;
          Transform t;
          t.items.push_back({va, in_place ? va.in(to) : out_a.poly[s].view});
          t.items.push_back({vb, in_place ? vb.in(to) : out_b.poly[s].view});
          return t;
        });
        if (in_place) {
          for (Twin* t : {&a, &b}) {
            for (Poly& p : t->poly) p.view = p.view.in(to);
          }
        }
        const std::string what =
            std::string(name(from)) + " to " + name(to) + (in_place ? " in place" : "");
        expect_equal(in_place ? a : out_a, what);
        expect_equal(in_place ? b : out_b, what);
      }
    }
  }
}

TEST_P(CudaRows, TransformsProducts) {
  const Basis basis = range(0, 3).with(range(5, 7)).with(range(12, 14));
  const Twin a = random(basis, Domain::Eval), b = largest(basis, Domain::Eval);
  const Twin product = poisoned(basis, Domain::Half), square = poisoned(basis, Domain::Half);
  const Twin plain = poisoned(basis, Domain::Half);
  submit([&](int s) {
    const PolyView x = a.poly[s].view, y = b.poly[s].view;
    return Transform{
        {{x, product.poly[s].view, y}, {x, plain.poly[s].view}, {y, square.poly[s].view, y}}};
  });
  expect_equal(product, "product");
  expect_equal(plain, "beside products");
  expect_equal(square, "square");
}

TEST_P(CudaRows, SubtractsAndScales) {
  const Basis basis = range(0, 3).with(range(5, 12)), part = range(1, 3).with(range(5, 10));
  std::vector<Twin> x, y, add, out;
  std::vector<std::uint32_t> galois;
  for (int i = 0; i < 6; ++i) {
    const Domain domain = i % 2 == 0 ? Domain::Half : Domain::Eval;
    x.push_back(i == 0 ? largest(basis, Domain::Eval) : random(i < 3 ? basis : part, Domain::Eval));
    y.push_back(i == 0 ? largest(basis, domain) : random(basis, domain));
    add.push_back(i == 0 ? largest(basis, Domain::Eval) : random(part, Domain::Eval));
    galois.push_back(i >= 2 ? random_galois() : 1);
    out.push_back(poisoned(basis, Domain::Eval));
  }
  Words factor = random_residues(basis);
  factor[1] = 0;
  submit([&](int s) {
    ModDownFinish op;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const PolyView& target = i == 1 ? x[i].poly[s].view : out[i].poly[s].view;  // in place
      op.items.push_back({x[i].poly[s].view, y[i].poly[s].view,
                          i % 3 == 1 ? PolyView{} : add[i].poly[s].view, target, galois[i]});
    }
    op.factor = factor;
    return op;
  });
  for (std::size_t i = 0; i < out.size(); ++i) {
    expect_equal(i == 1 ? x[i] : out[i], "item " + std::to_string(i));
  }
  // Each number of items by itself, because launches of one or two items read x differently.
  for (std::size_t i = 0; i < out.size(); ++i) {
    const Twin alone = poisoned(basis, Domain::Eval);
    submit([&](int s) {
      return ModDownFinish{
          {{x[i].poly[s].view, y[i].poly[s].view, i % 3 == 1 ? PolyView{} : add[i].poly[s].view,
            alone.poly[s].view, galois[i]}},
          factor};
    });
    expect_equal(alone, "item " + std::to_string(i) + " alone");
  }
}

// Tests a few more items than a launch takes, with and without `times`, over one run of primes and
// over several.
TEST_P(CudaRows, SubtractsAndScalesBatches) {
  constexpr int kItems = 35;
  const Basis basis = range(0, 2).with(range(5, 6)).with(range(12, 14)), part = range(1, 2);
  const Words factor = random_residues(basis);
  for (const int keys : {0, 1, 2, 3}) {
    std::vector<Twin> times, x, y, add, out;
    std::vector<std::uint32_t> galois;
    for (int k = 0; k < keys; ++k) {
      times.push_back(k == 0 ? largest(basis, Domain::Eval) : random(basis, Domain::Eval));
    }
    for (int i = 0; i < kItems; ++i) {
      const bool whole = keys == 1 || i % 4 != 3;
      x.push_back(i < 2 ? largest(basis, Domain::Eval)
                        : random(whole ? basis : part, Domain::Eval));
      y.push_back(i == 0 ? largest(basis, Domain::Half) : random(basis, Domain::Half));
      add.push_back(i == 0 ? largest(basis, Domain::Eval)
                           : random(keys == 1 || i % 2 == 0 ? basis : part, Domain::Eval));
      galois.push_back(i % 3 == 0 ? 1 : random_galois());
      out.push_back(poisoned(basis, Domain::Eval));
    }
    submit([&](int s) {
      const auto view = [&](const Twin& t) { return t.poly[s].view; };
      ModDownFinish op{{}, factor};
      for (int i = 0; i < kItems; ++i) {
        const bool has_x = i % 9 != 8, multiplied = has_x && keys > 0 && i % 5 != 4;
        op.items.push_back({has_x ? view(x[i]) : PolyView{}, view(y[i]),
                            i % 3 == 1 ? PolyView{} : view(add[i]), view(out[i]), galois[i],
                            multiplied ? view(times[i % keys]) : PolyView{}});
      }
      return op;
    });
    for (int i = 0; i < kItems; ++i) {
      expect_equal(out[i], std::to_string(keys) + " keys, item " + std::to_string(i));
    }
  }
}

// Polynomials that begin and end at different primes: nine runs, of which a launch takes 28 items,
// not the 32 that it would take of eight.
TEST_P(CudaRows, SubtractsAndScalesBatchesOfManyRuns) {
  constexpr int kItems = 35, kFirst = 4, kRuns = 9, kBegins = 5;
  const Basis basis = range(kFirst, kFirst + kRuns);
  const Words factor = random_residues(basis);
  const Twin y = random(basis, Domain::Half);
  std::vector<Twin> x, add, out;
  for (int i = 0; i < kBegins; ++i) {
    x.push_back(random(range(kFirst + i, kFirst + kRuns), Domain::Eval));
  }
  for (int i = 1; i <= kRuns; ++i) {
    add.push_back(random(range(kFirst, kFirst + i), Domain::Eval));
  }
  std::vector<std::uint32_t> galois;
  for (int i = 0; i < kItems; ++i) {
    galois.push_back(i % 3 == 0 ? 1 : random_galois());
    out.push_back(poisoned(basis, Domain::Eval));
  }
  submit([&](int s) {
    ModDownFinish op{{}, factor};
    for (int i = 0; i < kItems; ++i) {
      op.items.push_back({x[i % kBegins].poly[s].view, y.poly[s].view, add[i % kRuns].poly[s].view,
                          out[i].poly[s].view, galois[i]});
    }
    return op;
  });
  for (int i = 0; i < kItems; ++i) expect_equal(out[i], "item " + std::to_string(i));
}

INSTANTIATE_TEST_SUITE_P(Degrees, CudaRows, ::testing::Range(10, 18),
                         [](const auto& p) { return "N" + std::to_string(p.param); });

}  // namespace
}  // namespace latticino
