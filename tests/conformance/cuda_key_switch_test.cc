// Convert and KeyInner on CUDA against the CPU reference, word for word: every transform
// length, primes at both ends of the range, odd shapes of bases, batches and automorphisms.
#include <algorithm>
#include <array>

#include "cuda_twins.h"

namespace latticino {
namespace {

class CudaKeySwitch : public CudaTwins {};

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
    // Each conversion by itself, so that the choice of the tile sees every shape.
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

INSTANTIATE_TEST_SUITE_P(Degrees, CudaKeySwitch, ::testing::Range(10, 18),
                         [](const auto& p) { return "N" + std::to_string(p.param); });

}  // namespace
}  // namespace latticino
