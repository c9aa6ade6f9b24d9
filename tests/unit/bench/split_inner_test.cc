// Rotations with a divided inner product (bench/split_inner.h): the same words as in one record.
#include "split_inner.h"

#include <gtest/gtest.h>

#include <random>

#include "backend/branches.h"
#include "ops/conversion.h"
#include "support/ring_support.h"

namespace latticino {
namespace {

using bench::inner_on;
using bench::split_rotation;
using test::range;
using test::Words;

constexpr int kLogN = 10, kQ = 5, kP = 3;

class SplitInner : public testing::Test {
 protected:
  PolyView random(const Basis& basis, Domain domain) {
    kept_.push_back(
        test::upload(queue_, ring_, basis, domain, test::random_words(ring_, basis, random_)));
    return kept_.back().view;
  }

  // Digits of three and two primes, for two keys. The views of the keys and of a have primes that
  // the digits lack.
  KeyInner two_digits(bool product) {
    KeyInner::Group group;
    const PolyView a = random(all_, Domain::Eval);
    for (const Basis& digit : {range(0, 3), range(3, kQ)}) {
      const Basis others = q_.with(p_).without(digit);
      group.digits.push_back({a.select(digit), random(others, Domain::Half)});
    }
    for (int t = 0; t < (product ? 1 : 2); ++t) {
      KeyInner::Target& target = group.targets.emplace_back();
      for (int d = 0; d < 2; ++d) {
        target.key.push_back({random(all_, Domain::Eval), random(all_, Domain::Eval)});
      }
      target.eval = {random(q_, Domain::Eval), random(q_, Domain::Eval)};
      target.half = {random(p_, Domain::Half), random(p_, Domain::Half)};
      if (!product) target.add = {random(q_, Domain::Eval), {}};
    }
    if (product) {
      group.product = {{random(q_, Domain::Eval), a},
                       {random(q_, Domain::Eval), random(q_, Domain::Eval)}};
    }
    return {{group}, residues(all_)};
  }

  Words residues(const Basis& basis) {
    Words c;
    for (int i = 0; i < basis.size(); ++i) c.push_back(ring_.prime(basis.prime(i)) / 3 + i);
    return c;
  }

  void expect_divides(const KeyInner& op) {
    queue_.submit(Operation(op));
    const Words want = outputs(op);
    for (const KeyInner::Target& target : op.groups[0].targets) {
      for (const auto* ends : {&target.eval, &target.half}) {
        for (const PolyView& v : *ends) {
          queue_.upload(v, test::random_words(ring_, v.basis(), random_).data());
        }
      }
    }
    EXPECT_NE(outputs(op), want);
    queue_.submit(Operation(inner_on(op, p_)));
    EXPECT_NE(outputs(op), want) << "the part on P wrote everything";
    queue_.submit(Operation(inner_on(op, q_)));
    EXPECT_EQ(outputs(op), want);
  }

  Words outputs(const KeyInner& op) {
    Words words;
    for (const KeyInner::Target& target : op.groups[0].targets) {
      for (const auto* ends : {&target.eval, &target.half}) {
        for (const PolyView& v : *ends) {
          const Words more = test::download(queue_, v);
          words.insert(words.end(), more.begin(), more.end());
        }
      }
    }
    return words;
  }

  // What follows an inner product: sums on P converted, subtracted and rotated.
  std::vector<Operation> rotation(const KeyInner& inner, const std::array<PolyView, 2>& x,
                                  const std::array<PolyView, 2>& times) {
    Convert down;
    ModDownFinish last;
    for (int h = 0; h < 2; ++h) {
      const PolyView y = random(q_, Domain::Half);
      down.items.push_back({&down_, inner.groups[0].targets[0].half[h], y});
      last.items.push_back({x[h], y, {}, random(q_, Domain::Eval), 5, times[h]});
    }
    last.items[0].add = random(q_, Domain::Eval);
    last.factor = residues(q_);
    return {inner, down, last};
  }

  void expect_splits(const std::vector<Operation>& ops) {
    const auto run = [&](const std::vector<Operation>& all) {
      for (const Operation& op : all) queue_.submit(Operation(op));
      Words words;
      for (const auto& item : std::get<ModDownFinish>(ops.back()).items) {
        const Words more = test::download(queue_, item.out);
        words.insert(words.end(), more.begin(), more.end());
        queue_.upload(item.out, test::random_words(ring_, q_, random_).data());
      }
      return words;
    };
    const Words want = run(ops);
    const auto split = split_rotation(ops, {random(q_, Domain::Eval), random(q_, Domain::Eval)});
    EXPECT_EQ(run(split.in_turn()), want);
    const KeyInner::Target &aux = split.auxiliary.groups[0].targets[0],
                           &main = split.main.groups[0].targets[0];
    for (int h = 0; h < 2; ++h) {
      EXPECT_EQ(aux.eval[h].segments + main.half[h].segments, 0);
      EXPECT_EQ(aux.half[h].basis(), p_);
      EXPECT_EQ(main.eval[h].basis(), q_);
    }
  }

  std::mt19937_64 random_{7};
  Queue queue_{make_cpu_backend({true, 1})};
  Ring ring_{kLogN, test::ntt_primes(kLogN, kQ + kP + 1, 1u << 30)};
  Basis q_ = range(0, kQ), p_ = range(kQ + 1, kQ + 1 + kP), all_ = range(0, kQ + 1 + kP);
  BaseConversion down_{ring_, p_, q_};
  std::vector<Poly> kept_;
};

TEST_F(SplitInner, PartsWriteTheSameWords) { expect_divides(two_digits(false)); }

TEST_F(SplitInner, PartsOfAProductWriteTheSameWords) { expect_divides(two_digits(true)); }

TEST_F(SplitInner, ARotationOfTwoDigits) {
  KeyInner inner = two_digits(false);
  inner.groups[0].targets.pop_back();
  const KeyInner::Target& target = inner.groups[0].targets[0];
  expect_splits(rotation(inner, target.eval, {}));
}

// All primes of Q are the digit's own.
TEST_F(SplitInner, ARotationOfOneDigit) {
  KeyInner inner = two_digits(false);
  KeyInner::Group& group = inner.groups[0];
  group.digits = {{random(q_, Domain::Eval), random(p_, Domain::Half)}};
  group.targets.pop_back();
  group.targets[0].key.pop_back();
  expect_splits(rotation(inner, group.targets[0].eval, {}));
}

TEST_F(SplitInner, ARotationThatMultipliesInTheLastStep) {
  const PolyView x = random(q_, Domain::Eval);
  const std::array<PolyView, 2> key = {random(all_, Domain::Eval), random(all_, Domain::Eval)};
  KeyInner::Target target;
  target.key = {key};
  target.half = {random(p_, Domain::Half), random(p_, Domain::Half)};
  const KeyInner inner{{{{{{}, random(p_, Domain::Half)}}, {target}}}, {}};
  expect_splits(rotation(inner, {x, x}, {key[0].select(q_), key[1].select(q_)}));
}

TEST_F(SplitInner, RefusesOtherRecords) {
  const KeyInner inner = two_digits(false);  // for two keys
  const auto ops = rotation(inner, inner.groups[0].targets[0].eval, {});
  EXPECT_THROW(split_rotation(ops, {}), UnsupportedError);
  EXPECT_THROW(split_rotation({ops[0], ops[1]}, {}), UnsupportedError);
}

TEST(Branches, ACpuHasNone) {
  const auto cpu = make_cpu_backend();
  try {
    Branches::of(*cpu, "bench pipelining");
    FAIL() << "a CPU gave branches";
  } catch (const UnsupportedError& error) {
    const std::string said = error.what();
    for (const char* part : {"bench pipelining", "cpu", "CUDA", "--device"}) {
      EXPECT_NE(said.find(part), std::string::npos) << said;
    }
  }
}

}  // namespace
}  // namespace latticino
