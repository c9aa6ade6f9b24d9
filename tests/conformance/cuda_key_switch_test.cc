// The records of key switching on CUDA against the CPU reference, word for word: every transform
// length, primes at both ends of the range, odd shapes of bases, batches and automorphisms.
#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <random>
#include <string>
#include <tuple>
#include <utility>

#include "math/modulus.h"
#include "support/ring_support.h"

namespace latticino {
namespace {

using test::range;
using test::Words;

constexpr std::uint32_t kPoison = 0xabababab;

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

class CudaKeySwitch : public ::testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    if (cuda_device_count() == 0) GTEST_SKIP() << "no CUDA device";
    open(GetParam(), 14);
  }

  // Primes from the top of the range, then around 2^30, 2^25 and a small one: mixed in one ring.
  void open(int log_n, int count) {
    Words primes = test::ntt_primes(log_n, count / 2);
    for (const std::uint32_t q : test::ntt_primes(log_n, count - count / 2 - 2, 1u << 30)) {
      primes.push_back(q);
    }
    for (const std::uint32_t q : test::ntt_primes(log_n, 2, 1u << 25)) primes.push_back(q);
    side_[0] = {
        std::make_unique<Queue>(make_cpu_backend()), std::make_unique<Ring>(log_n, primes), {}};
    side_[1] = {
        std::make_unique<Queue>(make_cuda_backend()), std::make_unique<Ring>(log_n, primes), {}};
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

constexpr Domain kDomains[] = {Domain::Coeff, Domain::Half, Domain::Eval};

TEST_P(CudaKeySwitch, TransformsBetweenAllDomains) {
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

TEST_P(CudaKeySwitch, TransformsProducts) {
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

TEST_P(CudaKeySwitch, ConvertsBatches) {
  struct Shape {
    Basis from, to;
  };
  const Shape shapes[] = {{range(0, 4), range(4, 14)},
                          {range(3, 4), range(0, 3).with(range(4, 7))},
                          {range(2, 11), range(0, 2).with(range(11, 14))},
                          {range(0, 13), range(13, 14)},
                          {range(12, 14), range(0, 12)}};
  for (const Domain domain : {Domain::Half, Domain::Coeff}) {
    std::vector<Twin> in, out;
    std::vector<std::array<const BaseConversion*, 2>> tables;
    for (const Shape& shape : shapes) {
      for (const bool extreme : {false, true}) {
        in.push_back(extreme ? largest(shape.from, domain) : random(shape.from, domain));
        out.push_back(poisoned(shape.to, domain));
        tables.push_back(conversion(shape.from, shape.to));
      }
    }
    submit([&](int s) {
      Convert c;
      for (std::size_t i = 0; i < in.size(); ++i) {
        c.items.push_back({tables[i][s], in[i].poly[s].view, out[i].poly[s].view});
      }
      return c;
    });
    for (const Twin& t : out) expect_equal(t, std::string("conversion in ") + name(domain));
    // Each alone, so that the choice of the tile sees every shape.
    for (std::size_t i = 0; i < in.size(); ++i) {
      const Twin alone = poisoned(out[i].basis, domain);
      submit([&](int s) {
        return Convert{{{tables[i][s], in[i].poly[s].view, alone.poly[s].view}}};
      });
      expect_equal(alone, std::string("single conversion in ") + name(domain));
    }
  }
}

struct InnerTarget {
  std::vector<std::array<Twin, 2>> key;
  std::array<Twin, 2> eval, half, add;
  std::array<bool, 2> has_half{}, has_add{};
  std::uint32_t galois = 1;
};

// Digits over primes 0 .. 10 (the first may miss limbs) and P = 10 .. 14, keys over all primes.
TEST_P(CudaKeySwitch, InnerProducts) {
  const Basis all = range(0, 14), q_primes = range(0, 10), p_primes = range(10, 14);
  for (const int digits : {1, 2, 3, 5}) {
    std::vector<Twin> own, converted;
    const int width = (10 + digits - 1) / digits;
    for (int d = 0; d < digits; ++d) {
      const Basis mine = range(d * width, std::min(10, (d + 1) * width));
      own.push_back(d == 0 ? largest(mine, Domain::Eval) : random(mine, Domain::Eval));
      const Domain domain = d == 1 ? Domain::Eval : Domain::Half;
      converted.push_back(d == 0 ? largest(all.without(mine), domain)
                                 : random(all.without(mine), domain));
    }
    std::vector<InnerTarget> targets(5);
    for (std::size_t t = 0; t < targets.size(); ++t) {
      InnerTarget& target = targets[t];
      target.galois = t >= 3 ? random_galois() : 1;
      for (int d = 0; d < digits; ++d) {
        target.key.push_back({t == 1 ? largest(all, Domain::Eval) : random(all, Domain::Eval),
                              random(all, Domain::Eval)});
      }
      for (int h = 0; h < 2; ++h) {
        target.has_half[h] = t == 1 || (t == 2 && h == 1);
        target.has_add[h] = t == 1 || (t == 4 && h == 0);
        target.eval[h] = poisoned(target.has_half[h] ? q_primes : all, Domain::Eval);
        if (target.has_half[h]) target.half[h] = poisoned(p_primes, Domain::Half);
        if (target.has_add[h]) target.add[h] = random(q_primes, Domain::Eval);
      }
    }
    const Words add_factor = random_residues(all);
    submit([&](int s) {
      KeyInner::Group group;
      for (int d = 0; d < digits; ++d) {
        group.digits.push_back({own[d].poly[s].view, converted[d].poly[s].view});
      }
      for (const InnerTarget& target : targets) {
        KeyInner::Target& t = group.targets.emplace_back();
        for (const auto& key : target.key)
          t.key.push_back({key[0].poly[s].view, key[1].poly[s].view});
        for (int h = 0; h < 2; ++h) {
          t.eval[h] = target.eval[h].poly[s].view;
          if (target.has_half[h]) t.half[h] = target.half[h].poly[s].view;
          if (target.has_add[h]) t.add[h] = target.add[h].poly[s].view;
        }
        t.galois = target.galois;
      }
      return KeyInner{{group}, add_factor};
    });
    for (const InnerTarget& target : targets) {
      for (int h = 0; h < 2; ++h) {
        const std::string what = std::to_string(digits) + " digits, galois " +
                                 std::to_string(target.galois) + ", h " + std::to_string(h);
        expect_equal(target.eval[h], what);
        if (target.has_half[h]) expect_equal(target.half[h], what + ", half");
      }
    }
  }
}

// Groups of a product, of the largest residues' square, and of no product, by one key: results in
// Half, permuted, and both.
TEST_P(CudaKeySwitch, InnerProductsOfProducts) {
  const Basis all = range(0, 14), q_primes = range(0, 10), p_primes = range(10, 14);
  for (const int digits : {1, 2, 3, 4, 5}) {
    const auto eval = [&] { return random(q_primes, Domain::Eval); };
    const std::array<Twin, 4> factor = {eval(), eval(), largest(q_primes, Domain::Eval),
                                        largest(q_primes, Domain::Eval)};
    std::vector<Twin> converted;
    std::vector<std::array<Twin, 2>> key;
    const int width = (10 + digits - 1) / digits;
    const auto primes = [&](int d) { return range(d * width, std::min(10, (d + 1) * width)); };
    const int count = (10 + width - 1) / width;
    for (int d = 0; d < count; ++d) {
      converted.push_back(random(all.without(primes(d)), d == 1 ? Domain::Eval : Domain::Half));
      key.push_back({largest(all, Domain::Eval), random(all, Domain::Eval)});
    }
    std::vector<Twin> out;
    for (int i = 0; i < 4; ++i) {
      for (int h = 0; h < 2; ++h)
        out.push_back(poisoned(i % 2 == 0 ? q_primes : all, Domain::Eval));
      for (int h = 0; h < 2 && i % 2 == 0; ++h) out.push_back(poisoned(p_primes, Domain::Half));
    }
    const Words add_factor = random_residues(all);
    const std::uint32_t galois = random_galois();
    submit([&](int s) {
      const auto view = [&](const Twin& t) { return t.poly[s].view; };
      KeyInner op{{}, add_factor};
      std::size_t next = 0;
      for (const std::array<int, 4>& of : {std::array{0, 1, 2, 3}, std::array{2, 3, 2, 3}}) {
        KeyInner::Group& group = op.groups.emplace_back();
        group.product = {{view(factor[of[0]]), view(factor[of[1]])},
                         {view(factor[of[2]]), view(factor[of[3]])}};
      }
      op.groups.emplace_back();
      for (std::size_t g = 0; g < 3; ++g) {
        KeyInner::Group& group = op.groups[g];
        const PolyView own = group.product.empty() ? view(factor[0]) : group.product.a[1];
        for (int d = 0; d < count; ++d) {
          group.digits.push_back({own.select(primes(d)), view(converted[d])});
        }
        for (std::size_t t = g % 2; t < (g == 0 ? 1 : 2); ++t) {
          KeyInner::Target& target = group.targets.emplace_back();
          for (const auto& pair : key) target.key.push_back({view(pair[0]), view(pair[1])});
          for (PolyView& v : target.eval) v = view(out[next++]);
          if (t == 1) target.galois = galois;
          if (t == 0) {
            for (PolyView& v : target.half) v = view(out[next++]);
          }
        }
      }
      return op;
    });
    for (std::size_t i = 0; i < out.size(); ++i) {
      expect_equal(out[i], std::to_string(count) + " digits, output " + std::to_string(i));
    }
  }
}

TEST_P(CudaKeySwitch, SubtractsAndScales) {
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
    SubtractScale op;
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
  // Each alone: launches of one or two read x differently.
  for (std::size_t i = 0; i < out.size(); ++i) {
    const Twin alone = poisoned(basis, Domain::Eval);
    submit([&](int s) {
      return SubtractScale{
          {{x[i].poly[s].view, y[i].poly[s].view, i % 3 == 1 ? PolyView{} : add[i].poly[s].view,
            alone.poly[s].view, galois[i]}},
          factor};
    });
    expect_equal(alone, "item " + std::to_string(i) + " alone");
  }
}

INSTANTIATE_TEST_SUITE_P(Degrees, CudaKeySwitch, ::testing::Range(10, 18),
                         [](const auto& p) { return "N" + std::to_string(p.param); });

}  // namespace
}  // namespace latticino
