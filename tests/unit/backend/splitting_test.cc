// Records over views of four and five segments in parts: the same words as in one.
#include "backend/splitting.h"

#include <gtest/gtest.h>

#include <functional>
#include <random>
#include <set>

#include "conformance/conformance.h"
#include "crypto/gaussian.h"
#include "math/errors.h"
#include "ops/slot_transform.h"
#include "support/ring_support.h"
#include "support/split_backend.h"

namespace latticino {
namespace {

constexpr int kLogN = 10, kPrimes = 20;
using Ranges = std::vector<PrimeRange>;

Basis random_basis(std::mt19937_64& random, int begin, int end, int least_runs) {
  for (;;) {
    Ranges runs;
    bool in = false;
    for (int p = begin; p < end; ++p) {
      if (random() % 3 == 0) in = !in;
      if (!in) continue;
      const auto at = static_cast<std::uint16_t>(p);
      if (runs.empty() || runs.back().end != at) runs.push_back({at, at});
      runs.back().end = static_cast<std::uint16_t>(p + 1);
    }
    const int count = static_cast<int>(runs.size());
    if (count >= least_runs && count <= Basis::kMaxRuns) return Basis(runs);
  }
}

// A ring, a queue, and random polynomials. Two with one seed make the same ones.
struct Place {
  Place(std::unique_ptr<Backend> backend, unsigned seed)
      : random(seed), queue(std::move(backend)) {}

  // In a buffer that may have more primes.
  PolyView view(const Basis& basis, Domain domain) {
    Basis wider = basis;
    for (int i = 0; i < 4; ++i) {
      const auto p = static_cast<std::uint16_t>(random() % kPrimes);
      const Basis one{{p, static_cast<std::uint16_t>(p + 1)}};
      if (basis.contains(p) || wider.contains(p)) continue;
      try {
        wider = wider.with(one);
      } catch (const ShapeError&) {  // one run more than a basis can have
      }
    }
    kept.push_back(
        test::upload(queue, ring, wider, domain, test::random_words(ring, wider, random)));
    return kept.back().view.select(basis);
  }
  std::vector<std::uint32_t> residues(const Basis& basis) {
    std::vector<std::uint32_t> out;
    for (int i = 0; i < basis.size(); ++i) {
      out.push_back(static_cast<std::uint32_t>(random() % ring.prime(basis.prime(i))));
    }
    return out;
  }
  Basis some(const Basis& of) {  // a random part of it that is not empty
    for (;;) {
      const Basis other = random_basis(random, 0, kPrimes, 1).intersect(of);
      if (other.size() > 0) return other;
    }
  }
  template <class T>
  const T* memory(const std::vector<T>& words) {
    blocks.push_back(queue.allocate(words.size() * sizeof(T)));
    queue.copy_in(blocks.back()->data(), words.data(), words.size() * sizeof(T));
    return static_cast<const T*>(blocks.back()->data());
  }
  std::vector<test::Words> words() {
    std::vector<test::Words> out;
    for (const Poly& p : kept) out.push_back(test::download(queue, p.view));
    return out;
  }

  std::mt19937_64 random;
  Ring ring{kLogN, test::ntt_primes(kLogN, kPrimes, 1u << 30)};
  const SlotTransform transform{kLogN};
  Queue queue;
  std::vector<Poly> kept;
  std::vector<Buffer> blocks;
  std::vector<std::unique_ptr<BaseConversion>> tables;
};

using Make = std::function<Operation(Place&)>;

// Runs a record in one and in parts, for many seeds; every buffer must end with the same words.
void expect_equal(const Make& make) {
  const auto counts = std::make_shared<test::SplitBackend::Counts>();
  for (unsigned seed = 1; seed <= 12; ++seed) {
    Place whole(make_cpu_backend({true, 1}), seed);
    Place parts(std::make_unique<test::SplitBackend>(counts), seed);
    for (Place* place : {&whole, &parts}) place->queue.submit(make(*place));
    EXPECT_EQ(whole.words(), parts.words()) << seed;
  }
  EXPECT_EQ(counts->records, 12);
  EXPECT_EQ(counts->divided, 12);
}

Basis wide(Place& p) { return random_basis(p.random, 0, kPrimes, 4); }

void expect_converted(Domain domain, const std::function<std::pair<Basis, Basis>(Place&)>& bases) {
  expect_equal([&](Place& p) {
    Convert op;
    for (int i = 0; i < 2; ++i) {
      const auto [from, to] = bases(p);
      p.tables.push_back(
          std::make_unique<BaseConversion>(p.ring, from, to, p.residues(from), p.residues(to)));
      op.items.push_back(
          {.table = p.tables.back().get(), .in = p.view(from, domain), .out = p.view(to, domain)});
    }
    return op;
  });
}

TEST(Splitting, ConvertsToAndFromManyRuns) {
  for (const Domain domain : {Domain::Half, Domain::Coeff}) {
    expect_converted(domain, [](Place& p) {
      return std::pair(random_basis(p.random, 0, 5, 1), random_basis(p.random, 5, kPrimes, 4));
    });
    expect_converted(domain, [](Place& p) {
      return std::pair(random_basis(p.random, 0, 14, 4), random_basis(p.random, 14, kPrimes, 1));
    });
    expect_converted(domain, [](Place&) {  // both, interleaved
      return std::pair(Basis{{0, 1}, {3, 4}, {6, 8}, {11, 12}, {15, 16}},
                       Basis{{1, 3}, {4, 6}, {8, 11}, {12, 15}, {16, 20}});
    });
  }
}

TEST(Splitting, AddsTermsWithConstants) {
  for (const bool in_place : {false, true}) {
    expect_equal([&](Place& p) {
      Linear op;
      for (int i = 0; i < 2; ++i) {
        const Basis basis = wide(p);
        Linear::Item& item = op.items.emplace_back();
        item.out = p.view(basis, Domain::Eval);
        for (int t = 0; t < 4; ++t) {
          Linear::Term term{.x = in_place && t == 1 ? item.out : p.view(basis, Domain::Eval)};
          if (t == 0) term.small = -7;
          if (t > 1) term.residues = p.residues(basis);
          if (t == 3) term.upper = p.residues(basis);
          item.terms.push_back(term);
        }
        item.constant = p.residues(basis);
        if (i == 1) item.constant_upper = p.residues(basis);
      }
      return op;
    });
  }
}

TEST(Splitting, ReadsStoredConstants) {
  expect_equal([](Place& p) {
    const Basis basis = wide(p);
    const auto stored = [&] {
      std::vector<std::uint32_t> words = p.residues(basis), upper = p.residues(basis);
      words.insert(words.end(), upper.begin(), upper.end());
      return p.memory(words);
    };
    Linear::Item item;
    item.out = p.view(basis, Domain::Eval);
    item.terms = {{.x = p.view(basis, Domain::Eval), .stored = stored()},
                  {.x = p.view(basis, Domain::Eval), .small = 3}};
    item.constant_stored = stored();
    return Linear{{item}};
  });
}

TEST(Splitting, MultipliesTensors) {
  expect_equal([](Place& p) {
    const Basis basis = wide(p);
    const auto pair = [&] {
      return std::array<PolyView, 2>{p.view(basis, Domain::Eval), p.view(basis, Domain::Eval)};
    };
    Tensor::Item item;
    item.pairs = {{pair(), pair()}, {pair(), pair()}};
    const std::array<PolyView, 2> square = pair();
    item.pairs.push_back({square, square});
    for (PolyView& out : item.out) out = p.view(basis, Domain::Eval);
    item.factor = 2;
    item.terms = {{pair(), p.residues(basis), p.residues(basis)}};
    item.constant = p.residues(basis);
    return Tensor{{item}};
  });
}

TEST(Splitting, AddsProductsWithSharedInputs) {
  expect_equal([](Place& p) {
    Dot op;
    op.parts = 2;
    const Basis basis = wide(p), other = p.some(basis);
    for (int i = 0; i < 3; ++i) {
      op.inputs.push_back({p.view(basis, Domain::Eval), p.view(basis, Domain::Eval), {}});
    }
    for (int o = 0; o < 4; ++o) {
      const Basis of = o == 3 ? other : basis;
      Dot::Output& output = op.outputs.emplace_back();
      output.out = {p.view(of, Domain::Eval), p.view(of, Domain::Eval), {}};
      output.accumulate = o == 1;
      for (int i = 0; i < 3; ++i) {
        output.terms.push_back({i, p.view(i == 2 ? p.some(of) : of, Domain::Eval)});
      }
    }
    // An output that is its own input.
    Dot::Output& own = op.outputs.emplace_back();
    own.out = {p.view(basis, Domain::Eval), p.view(basis, Domain::Eval), {}};
    op.inputs.push_back(own.out);
    own.terms = {{3, p.view(basis, Domain::Eval)}, {0, p.view(basis, Domain::Eval)}};
    return op;
  });
}

TEST(Splitting, MovesCoefficients) {
  for (const Domain domain : {Domain::Eval, Domain::Coeff}) {
    expect_equal([&](Place& p) {
      const Basis basis = wide(p);
      Automorphism::Item item;
      for (const std::uint32_t galois : {1u, 5u, 2047u}) {
        item.terms.push_back({p.view(basis, domain), galois});
      }
      item.out = p.view(basis, domain);
      return Automorphism{{item}};
    });
  }
}

TEST(Splitting, LiftsIntegers) {
  expect_equal([](Place& p) {
    const Basis basis = wide(p);
    const Basis in = random_basis(p.random, 0, 4, 1).intersect({{0, 2}});
    return ModRaise{{{p.view(in.size() > 0 ? in : Basis{{0, 1}}, Domain::Coeff),
                      p.view(basis, Domain::Coeff)}}};
  });
  expect_equal([](Place& p) {
    std::vector<std::int64_t> words(p.ring.n());
    for (std::int64_t& x : words) x = static_cast<std::int64_t>(p.random());
    return FromIntegers{{{p.memory(words), p.view(wide(p), Domain::Coeff)}}};
  });
  expect_equal([](Place& p) {
    std::vector<double> slots(64);
    for (double& x : slots) x = 1e-9 * static_cast<double>(p.random() % 1000000000);
    return Embed{{{.table = &p.transform,
                   .in = p.memory(slots),
                   .slots = 32,
                   .factor = 0x1p40,
                   .out = p.view(wide(p), Domain::Coeff)}}};
  });
}

TEST(Splitting, DrawsTheSameRandomness) {
  expect_equal([](Place& p) {
    ExpandUniform op;
    for (int i = 0; i < 2; ++i) {
      op.items.push_back({.stream = p.random(), .out = p.view(wide(p), Domain::Eval)});
      op.items.back().seed[3] = static_cast<std::uint8_t>(p.random());
    }
    return op;
  });
  const crypto::GaussianTable table(3.19);
  expect_equal([&](Place& p) {
    std::vector<std::uint8_t> seed(32);
    for (std::uint8_t& b : seed) b = static_cast<std::uint8_t>(p.random());
    const std::uint8_t* at = p.memory(seed);
    SampleGaussian op{.table = &table, .items = {}};
    for (std::uint64_t i = 0; i < 2; ++i) {
      op.items.push_back({.seed = at, .index = i, .out = p.view(wide(p), Domain::Coeff)});
    }
    return op;
  });
}

TEST(Splitting, CopiesAndClears) {
  expect_equal([](Place& p) {
    const Basis basis = wide(p);
    return Copy{{{p.view(basis, Domain::Half), p.view(basis, Domain::Half)},
                 {{}, p.view(wide(p), Domain::Eval)}}};
  });
}

// Items that stay in their domain, and phases in place, beside items that no kernel copies.
TEST(Splitting, TransformsWhatIsCopied) {
  constexpr Domain kDomains[] = {Domain::Coeff, Domain::Half, Domain::Eval};
  for (const Domain from : kDomains) {
    for (const Domain to : kDomains) {
      const bool one_phase = from != to && (from == Domain::Half || to == Domain::Half);
      for (const bool in_place : {false, true}) {
        if (from != to && !(in_place && one_phase)) continue;
        expect_equal([&](Place& p) {
          const Basis basis = wide(p), other = wide(p), narrow{{3, 7}};
          const PolyView x = p.view(basis, from), y = p.view(narrow, from);
          return Transform{{{x, in_place ? x.in(to) : p.view(basis, to)},
                            {p.view(other, Domain::Coeff), p.view(other, Domain::Eval)},
                            {p.view(other, Domain::Half), p.view(other, Domain::Eval)},
                            {.in = p.view(other, Domain::Eval),
                             .out = p.view(other, Domain::Half),
                             .times = p.view(other, Domain::Eval)},
                            {y, in_place ? y.in(to) : p.view(narrow, to)}}};
        });
      }
    }
  }
}

// The cases that ./latticino conformance runs on a GPU.
TEST(Splitting, PassesConformanceOnFreeTerminals) {
  const auto oracle = [] { return make_cpu_backend({true, 1}); };
  for (const char* set :
       {"test-n10-d36-w28-free-insecure", "test-n10-d35-w28-free-boot-insecure"}) {
    const auto counts = std::make_shared<test::SplitBackend::Counts>();
    const auto parts = [&] { return std::make_unique<test::SplitBackend>(counts); };
    conformance::Options options;
    options.exact = false;
    options.adversarial = false;
    options.replays = 0;
    const conformance::Report report = conformance::run(preset(set), oracle, parts, options);
    EXPECT_TRUE(report.passed()) << report.str();
    EXPECT_GT(counts->divided, 20);
  }
}

// Primes [first, last) of a basis by position.
Basis slice(const Basis& of, int first, int last) {
  Basis out;
  for (int i = first; i < last; ++i) {
    const auto p = static_cast<std::uint16_t>(of.prime(i));
    out = out.with(Basis{{p, static_cast<std::uint16_t>(p + 1)}});
  }
  return out;
}

// Digits of any sizes, some with no primes of their own; targets with and without addends, results
// in Half and automorphisms; or a product, with `square` of one ciphertext.
KeyInner::Group random_group(Place& p, int digits, bool product, bool square) {
  const Basis all{{0, 3}, {4, 9}, {11, 14}, {16, 18}}, aux{{16, 18}}, q = all.without(aux);
  const auto pair = [&](const Basis& basis, Domain domain) -> std::array<PolyView, 2> {
    return {p.view(basis, domain), p.view(basis, domain)};
  };
  KeyInner::Group group;
  if (product) {
    group.product.a = pair(q, Domain::Eval);
    group.product.b = square ? group.product.a : pair(q, Domain::Eval);
  }
  std::set<int> cuts = {0, q.size()};
  while (static_cast<int>(cuts.size()) <= digits) cuts.insert(static_cast<int>(p.random() % 11));
  for (auto cut = cuts.begin(); std::next(cut) != cuts.end(); ++cut) {
    const Basis own = slice(q, *cut, *std::next(cut));
    const Domain domain = p.random() % 2 == 0 ? Domain::Half : Domain::Eval;
    KeyInner::Digit& digit = group.digits.emplace_back();
    const bool has_own = p.random() % 4 != 0;
    if (has_own) digit.own = product ? group.product.a[1].select(own) : p.view(own, Domain::Eval);
    digit.converted = p.view(has_own ? all.without(own) : all, domain);
  }
  for (int t = product ? 1 : 1 + static_cast<int>(p.random() % 6); t > 0; --t) {
    const Basis halves[] = {{}, aux, {{4, 9}}};
    const Basis half = halves[p.random() % 3];
    KeyInner::Target& target = group.targets.emplace_back();
    for (int d = 0; d < digits; ++d) target.key.push_back(pair(all, Domain::Eval));
    target.eval = pair(all.without(half), Domain::Eval);
    if (half.size() > 0) target.half = pair(half, Domain::Half);
    if (half.size() == 0) target.galois = static_cast<std::uint32_t>(p.random() % 2048) | 1;
    for (int h = 0; h < 2 && !product; ++h) {
      if (p.random() % 2 == 0) target.add[h] = p.view(p.some(all), Domain::Eval);
    }
  }
  return group;
}

TEST(Splitting, SumsDigits) {
  for (const bool product : {false, true}) {
    expect_equal([&](Place& p) {
      KeyInner op;
      for (const int digits : {3 + static_cast<int>(p.random() % 5), 2, 4}) {
        op.groups.push_back(random_group(p, digits, product, digits == 4));
      }
      op.add_factor = p.residues({{0, kPrimes}});
      return op;
    });
  }
}

// A table's parts are made once, and belong to it.
TEST(Splitting, KeepsPartsOfTables) {
  const Ring ring(kLogN, test::ntt_primes(kLogN, 8));
  const BaseConversion table(ring, test::range(0, 3), test::range(3, 8));
  EXPECT_EQ(&table.part(table.from(), table.to()), &table);
  const BaseConversion& part = table.part(test::range(1, 3), {{3, 4}, {6, 8}});
  EXPECT_EQ(&part, &table.part(test::range(1, 3), {{3, 4}, {6, 8}}));
  for (int j = 0; j < 2; ++j) {
    EXPECT_EQ(part.factor(j), table.factor(j + 1));
    EXPECT_EQ(part.matrix(0, j), table.matrix(0, j + 1));
    EXPECT_EQ(part.matrix(1, j), table.matrix(3, j + 1));
  }
  EXPECT_THROW(table.part(test::range(0, 4), test::range(4, 8)), ShapeError);
  EXPECT_THROW(table.part({}, test::range(3, 8)), ShapeError);
}

}  // namespace
}  // namespace latticino
