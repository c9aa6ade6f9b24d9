// The transforms of Chameleon's paper (bench/forms). Tests of the maps check which entries a thread
// combines, and which blocks wait for each other. The other tests run whole transforms on emulated
// grids, in every form and with every kind of synchronisation, and compare them with the CPU's.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "backend/cuda/device/cluster.cuh"
#include "emulation/device_tables.h"
#include "emulation/machine.h"
#include "forms/steps.cuh"
#include "support/ring_support.h"

namespace latticino {
namespace {

using namespace bench::forms;
using test::Words;

std::set<std::uint32_t> all_below(std::uint32_t n) {
  std::set<std::uint32_t> s;
  for (std::uint32_t i = 0; i < n; ++i) s.insert(s.end(), i);
  return s;
}

// Radix-2, from the definition: stage s combines i and i + N/2^(s+1) with psi[2^s + block].
TEST(TransformFormsMaps, GroupsJoinWhatTheStagesJoin) {
  constexpr int kLogN = 6;
  for (int fused = 1; fused <= 3; ++fused) {
    for (int stage = 0; stage + fused <= kLogN; ++stage) {
      std::set<std::uint32_t> seen;
      for (std::uint32_t t = 0; t < 64u >> fused; ++t) {
        const Group g = group_of({kLogN, 1}, stage, fused, t);
        for (std::uint32_t k = 0; k < 1u << fused; ++k) {
          EXPECT_TRUE(seen.insert(g.entry(k)).second);
          for (int d = 0; d < fused; ++d) {
            const std::uint32_t half = 1u << (fused - d - 1);
            const std::uint32_t stride = 64u >> (stage + d + 1), block = k / (2 * half);
            if ((k & half) == 0) {
              EXPECT_EQ(g.entry(k + half), g.entry(k) + stride);
            }
            EXPECT_EQ((g.node << d) + block, (1u << (stage + d)) + g.entry(k) / (2 * stride));
          }
        }
      }
      EXPECT_EQ(seen, all_below(64));
    }
  }
}

TEST(TransformFormsMaps, PartsOfAGroupWriteEachEntryOnce) {
  constexpr int kLogN = 6;
  for (int fused = 1; fused <= 3; ++fused) {
    for (int stage = 0; stage + fused <= kLogN; ++stage) {
      std::set<std::uint32_t> written;
      for (std::uint32_t t = 0; t < 32; ++t) {
        const Share s = share_of({kLogN, 1}, stage, fused, t);
        EXPECT_TRUE(written.insert(s.group.entry(2 * s.part)).second);
        EXPECT_TRUE(written.insert(s.group.entry(2 * s.part + 1)).second);
        // Thread t ends with butterfly t of the last stage, as in the radix-2 transform.
        EXPECT_EQ(s.group.entry(2 * s.part), group_of({kLogN, 1}, stage + fused - 1, 1, t).first);
      }
      EXPECT_EQ(written, all_below(64));
    }
  }
}

// Fig. 9 (b): of eight entries in two blocks, the first block has 0, 2, 4, 6 where two stages
// follow without the other block.
TEST(TransformFormsMaps, ShuffledBlocksNeedNoOther) {
  for (std::uint32_t i = 0; i < 4; ++i) EXPECT_EQ(shuffled(3, 2, 2, 0, i), 2 * i);
  for (int log_n : {8, 9}) {
    for (int log_points = 1; log_points < log_n; ++log_points) {
      for (int log_chunk = log_points; log_chunk <= log_n; ++log_chunk) {
        std::set<std::uint32_t> seen;
        for (std::uint32_t b = 0; b < 1u << (log_n - log_chunk); ++b) {
          std::set<std::uint32_t> own;
          for (std::uint32_t i = 0; i < 1u << log_chunk; ++i) {
            own.insert(shuffled(log_n, log_points, log_chunk, b, i));
          }
          for (const std::uint32_t e : own) {
            for (int s = 0; s < log_points; ++s) EXPECT_TRUE(own.count(e ^ 1u << (log_n - s - 1)));
          }
          seen.insert(own.begin(), own.end());
        }
        EXPECT_EQ(seen, all_below(1u << log_n));
      }
    }
  }
}

// In a radix-2 transform by blocks of 16 butterflies, a block waits for one other one until all
// entries of its butterflies come from itself.
TEST(TransformFormsMaps, NeighboursOfRadixTwo) {
  const Plan plan = global_plan(8, 1, false);
  const Neighbours n = neighbours_of(plan, 8, 16);
  EXPECT_LE(n.width, 2u);
  for (int i = 1; i < plan.count; ++i) {
    for (std::uint32_t b = 0; b < 8; ++b) {
      const auto* list = n.block.data() + ((i - 1) * 8 + b) * n.width;
      const bool alone = std::all_of(list, list + n.width,
                                     [b](int other) { return b == static_cast<unsigned>(other); });
      EXPECT_EQ(alone, i > 3) << i;
    }
  }
}

TEST(TransformFormsMaps, StepsOfAPlan) {
  const Plan odd = global_plan(13, 2, false);
  EXPECT_EQ(odd.count, 7);
  EXPECT_EQ(odd.step[6].stages, 1);
  // Fig. 14 at 2^12: three fused stages first make 64 chunks.
  const Plan p = switching_plan(12, 2, false, 3, true);
  EXPECT_EQ(p.count, 2);
  EXPECT_EQ(p.active(p.step[0]), 64u);
  EXPECT_EQ(p.active(p.step[1]), 64u);
  EXPECT_EQ(p.step[1].stages, 6);
  // 256 chunks of 16 entries: a block of the first phase needs 256 entries for its stages.
  const Plan many = switching_plan(12, 2, true, 4, true);
  EXPECT_EQ(many.active(many.step[0]), 16u);
  EXPECT_EQ(many.active(many.step[1]), 256u);
  EXPECT_EQ(switching_plan(12, 2, true, 2, false).count, 3);
  EXPECT_EQ(switching_plan(12, 2, true, 0, true).count, 1);
}

class Transforms {
 public:
  explicit Transforms(int log_n)
      : ring_(log_n, test::ntt_primes(log_n, 1)),
        tables_(ring_),
        in_(test::random_words(ring_, basis_, random_)) {
    Queue queue(make_cpu_backend({true, 1}));
    const Poly x = test::upload(queue, ring_, basis_, Domain::Coeff, in_);
    const Poly y = queue.allocate(ring_, basis_, Domain::Eval);
    queue.submit(Transform{{{x.view, y.view}}});
    want_ = test::download(queue, y.view);
  }

  // Run twice, because words between blocks continue counting.
  template <class Form>
  void expect_equal(const Plan& plan, std::uint32_t blocks, std::uint32_t threads, Sync sync) {
    SCOPED_TRACE(std::string(kSyncNames[static_cast<int>(sync)]) + ", fused " +
                 std::to_string(Form::kFused) + (Form::kDecomposed ? ", decomposed" : "") +
                 ", blocks " + std::to_string(blocks));
    Words words(sync_words(blocks));
    const Neighbours neighbours = neighbours_of(plan, blocks, threads);
    for (unsigned seed : {1u, 2u}) {
      ASSERT_TRUE(right<Form>(plan, blocks, threads, sync, words, neighbours, seed));
    }
  }

  template <class Form>
  bool right(const Plan& plan, std::uint32_t blocks, std::uint32_t threads, Sync sync, Words& words,
             const Neighbours& neighbours, unsigned seed) {
    Words out(in_.size()), replica(in_.size());
    Args a{plan,
           0,
           plan.count,
           tables_.view.psi,
           in_.data(),
           out.data(),
           replica.data(),
           tables_.modulus[0],
           {sync, words.data(), neighbours.block.data(), neighbours.width}};
    const int steps = sync == Sync::Launches ? 1 : plan.count;
    for (a.first = 0; a.first < plan.count; a.first += steps) {
      a.last = a.first + steps;
      emulation::run_cluster(static_cast<int>(blocks), static_cast<int>(threads),
                             shared_words<Form>(plan), seed,
                             [&] { run_steps<Form>(a, cuda::dynamic_shared()); });
    }
    return out == want_;
  }

  template <class Form>
  void expect_every_way(const std::vector<Sync>& kinds) {
    const int log_n = ring_.log_n();
    for (const Sync sync : kinds) {
      const Plan global = global_plan(log_n, Form::kFused, Form::kDecomposed);
      const std::uint32_t all = global.threads(log_n, Form::kFused);
      expect_equal<Form>(global, all / 32, 32, sync);
      for (int first = 0; Form::kFused * first < log_n; ++first) {
        for (const bool shuffles : {false, true}) {
          const Plan plan = switching_plan(log_n, Form::kFused, Form::kDecomposed, first, shuffles);
          const std::uint32_t blocks = 1u << plan.log_chunks;
          if (all < blocks) continue;
          expect_equal<Form>(plan, blocks, all / blocks, sync);
        }
      }
    }
  }

 private:
  Basis basis_ = test::range(0, 1);
  std::mt19937_64 random_{11};
  Ring ring_;
  emulation::DeviceTables tables_;
  Words in_, want_;
};

const std::vector<Sync> kEverySync = {Sync::Launches, Sync::Simple, Sync::Tree,
                                      Sync::LockFree, Sync::Grid,   Sync::Local};

TEST(TransformForms, EqualTheCpuInEveryFormAndSynchronisation) {
  Transforms transforms(10);
  transforms.expect_every_way<Aggregated<1>>(kEverySync);
  transforms.expect_every_way<Aggregated<2>>(kEverySync);
  transforms.expect_every_way<Aggregated<3>>(kEverySync);
  transforms.expect_every_way<Decomposed<2>>(kEverySync);
  transforms.expect_every_way<Decomposed<3>>(kEverySync);
}

TEST(TransformForms, EqualTheCpuAtAnOddDegree) {
  Transforms transforms(11);
  transforms.expect_every_way<Aggregated<2>>({Sync::Local});
  transforms.expect_every_way<Aggregated<3>>({Sync::Local});
  transforms.expect_every_way<Decomposed<2>>({Sync::Local});
  transforms.expect_every_way<Decomposed<3>>({Sync::Local});
}

// The emulation notices a block that does not wait for all of its neighbours.
TEST(TransformForms, AMissingNeighbourIsSeen) {
  Transforms transforms(10);
  for (const bool shuffles : {false, true}) {
    const Plan plan = shuffles ? switching_plan(10, 2, false, 2, true) : global_plan(10, 2, false);
    Neighbours none = neighbours_of(plan, 16, 16);
    EXPECT_GT(none.width, 0u);
    none.width = 0;
    Words words(sync_words(16));
    bool wrong = false;
    for (unsigned seed = 1; seed <= 20; ++seed) {
      wrong =
          wrong || !transforms.right<Aggregated<2>>(plan, 16, 16, Sync::Local, words, none, seed);
    }
    EXPECT_TRUE(wrong);
  }
}

}  // namespace
}  // namespace latticino
