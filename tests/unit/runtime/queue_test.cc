#include "runtime/queue.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <future>
#include <random>
#include <thread>

#include "math/errors.h"
#include "support/ring_support.h"

namespace latticino {
namespace {

using test::range;
using test::Words;

class QueueTest : public testing::Test {
 protected:
  Poly random_poly(Queue& queue) {
    return test::upload(queue, ring_, basis_, Domain::Eval,
                        test::random_words(ring_, basis_, random_));
  }
  Poly zero_poly(Queue& queue) {
    return test::upload(queue, ring_, basis_, Domain::Eval, Words(basis_.size() * ring_.n(), 0));
  }
  Linear scaled(const Poly& x, int factor, const Poly& out) {
    return Linear{{{{{x.view, factor, {}, {}}}, out.view, {}, {}}}};
  }
  Words times(const Words& x, std::uint32_t factor) {
    Words y(x.size());
    for (std::size_t i = 0; i < x.size(); ++i) {
      y[i] = std::uint64_t{x[i]} * factor % ring_.prime(static_cast<int>(i / ring_.n()));
    }
    return y;
  }

  Ring ring_{10, test::ntt_primes(10, 3)};
  Basis basis_ = range(0, 3);
  std::mt19937_64 random_{11};
  Queue queue_{make_cpu_backend({false, 2})};
};

TEST_F(QueueTest, CountsLiveAndPeakBytes) {
  const std::uint64_t bytes = 4ull * 3 * ring_.n();
  EXPECT_EQ(queue_.live_bytes(), 0u);
  {
    const Poly a = random_poly(queue_), b = random_poly(queue_);
    EXPECT_EQ(queue_.live_bytes(), 2 * bytes);
  }
  EXPECT_EQ(queue_.live_bytes(), 0u);
  EXPECT_EQ(queue_.peak_bytes(), 2 * bytes);
  queue_.reset_peak();
  EXPECT_EQ(queue_.peak_bytes(), 0u);
}

TEST_F(QueueTest, BlocksOutliveTheirQueue) {
  Poly p;
  {
    Queue gone(make_cpu_backend({false, 1}));
    p = zero_poly(gone);
  }
  std::fill_n(p.buffer->words(), ring_.n(), 5u);
  EXPECT_EQ(p.view.limb(0)[ring_.n() - 1], 5u);
}

TEST_F(QueueTest, ClearsSecretsBeforeTheirMemoryIsUsedAgain) {
  for (const bool secret : {false, true}) {
    Buffer a = queue_.allocate(1 << 12, secret);
    std::fill_n(a->words(), 1 << 10, 77u);
    const void* where = a->data();
    a.reset();
    const Buffer b = queue_.allocate(1 << 12);
    ASSERT_EQ(b->data(), where) << "the pool keeps blocks";
    EXPECT_EQ(b->words()[3], secret ? 0u : 77u);
  }
}

TEST_F(QueueTest, MemoryThatDoesNotExistIsATypedError) {
  const Poly before = random_poly(queue_);
  EXPECT_THROW(queue_.allocate(std::size_t{1} << 60), OutOfMemoryError);
  EXPECT_THROW(queue_.allocate(ring_, range(2, 4), Domain::Eval), ShapeError);
  EXPECT_EQ(queue_.live_bytes(), before.buffer->bytes());
}

// Kept memory is allocated within the first run, after its largest moment; in all other runs it
// exists already.
TEST_F(QueueTest, DryRunCountsKeptMemoryFromTheStart) {
  const std::unique_ptr<Queue> dry = Queue::dry();
  { const Poly large = dry->allocate(ring_, basis_, Domain::Eval); }
  const Poly kept = dry->allocate_kept(ring_, basis_.intersect(range(0, 1)), Domain::Eval);
  EXPECT_EQ(dry->report().peak_bytes,
            sizeof(std::uint32_t) * ring_.n() * (basis_.size() + kept.view.limbs()));
  EXPECT_EQ(dry->live_bytes(), kept.buffer->bytes());
}

// A scope does the same for several blocks, and a recording has none of them in its arena.
TEST_F(QueueTest, DryRunCountsKeysThatAreMadeLateFromTheStart) {
  const std::unique_ptr<Queue> dry = Queue::dry();
  dry->note_allocations();
  { const Buffer large = dry->allocate(1 << 20); }
  const std::uint64_t arena = dry->arena_bytes();
  std::vector<Buffer> keys;
  {
    const Queue::Keeping keeping(*dry);
    for (int i = 0; i < 3; ++i) keys.push_back(dry->allocate(1 << 10));
  }
  EXPECT_EQ(dry->peak_bytes(), (std::uint64_t{1} << 20) + (3 << 10));
  EXPECT_EQ(dry->arena_bytes(), arena);
  { const Buffer small = dry->allocate(1 << 10); }
  EXPECT_EQ(dry->peak_bytes(), (std::uint64_t{1} << 20) + (3 << 10));
}

TEST_F(QueueTest, DryRunCountsWithoutData) {
  const std::unique_ptr<Queue> dry = Queue::dry();
  const std::uint64_t bytes = 4ull * 3 * ring_.n();
  const Poly in = dry->allocate(ring_, basis_, Domain::Eval);
  dry->reset_peak();
  const Poly out = dry->allocate(ring_, basis_, Domain::Eval);
  dry->submit(scaled(in, 3, out));
  dry->submit(Transform{{{out.view, out.view.in(Domain::Half)}}});
  EXPECT_EQ(in.view.data, nullptr);
  const DryReport report = dry->report();
  EXPECT_EQ(report.operations, 2u);
  EXPECT_EQ(report.bytes_moved, 4 * bytes);
  EXPECT_EQ(report.peak_bytes, bytes);
  EXPECT_EQ(report.operations_by_name.at("Linear"), 1u);
  EXPECT_EQ(report.bytes_by_name.at("Transform"), 2 * bytes);
  EXPECT_THROW(dry->submit(Transform{{{out.view, out.view.select(range(0, 2))}}}), ShapeError);
  EXPECT_THROW(dry->upload(in.view, nullptr), UnsupportedError);
  EXPECT_THROW(dry->record([] {}), UnsupportedError);
  EXPECT_THROW(queue_.submit(scaled(in, 3, out)), ContextError);
}

TEST_F(QueueTest, ReplaysOnFixedMemory) {
  Poly in = random_poly(queue_);
  const Words x = test::download(queue_, in.view);
  Poly out;
  Program program = queue_.record([&] {
    const Poly t = queue_.allocate(ring_, basis_, Domain::Eval);
    queue_.submit(scaled(in, 3, t));
    out = queue_.allocate(ring_, basis_, Domain::Eval);
    queue_.submit(scaled(t, 5, out));
  });
  queue_.upload(out.view, Words(x.size(), 0).data());
  program.run();
  EXPECT_EQ(test::download(queue_, out.view), times(x, 15));
  const Words y = test::random_words(ring_, basis_, random_);
  queue_.upload(in.view, y.data());
  in = {};  // the program keeps the memory that it reads
  const Poly other = zero_poly(queue_);
  program.run();
  EXPECT_EQ(test::download(queue_, out.view), times(y, 15));
  EXPECT_EQ(test::download(queue_, other.view), Words(x.size(), 0));
}

TEST_F(QueueTest, ArenaReusesWhatTheBodyFrees) {
  const Poly in = random_poly(queue_);
  Poly out;
  const auto body = [&] {
    Poly t = in;
    for (int i = 0; i < 10; ++i) {
      const Poly next = queue_.allocate(ring_, basis_, Domain::Eval);
      queue_.submit(scaled(t, 2, next));
      t = next;
    }
    out = t;
  };
  Program program = queue_.record(body);
  EXPECT_LE(program.arena_bytes(), 3 * in.buffer->bytes());
  const std::uint64_t live = queue_.live_bytes();
  EXPECT_EQ(live, in.buffer->bytes() + program.arena_bytes());
  program.run();
  EXPECT_EQ(test::download(queue_, out.view), times(test::download(queue_, in.view), 1024));
  { const Program gone = std::move(program); }
  EXPECT_EQ(queue_.live_bytes(), live) << "a result still lies in the arena";
  out = {};
  EXPECT_EQ(queue_.live_bytes(), in.buffer->bytes());
}

// Blocks of three sizes that are released in another order than they were allocated, with holes
// that do not fit.
TEST_F(QueueTest, ADryRunKnowsTheArena) {
  const auto body = [](Queue& queue) {
    std::mt19937_64 random(3);
    std::vector<Buffer> held;
    for (int i = 0; i < 400; ++i) {
      if (held.size() > 12 || (held.size() > 3 && random() % 2 == 0)) {
        held.erase(held.begin() + static_cast<std::ptrdiff_t>(random() % held.size()));
      } else {
        held.push_back(queue.allocate(1000 + random() % 3 * 37'000 + random() % 5));
      }
    }
    return held;
  };
  std::vector<Buffer> results;
  Program program = queue_.record([&] { results = body(queue_); });
  const auto dry = Queue::dry();
  const Buffer before = dry->allocate(12345);
  dry->note_allocations();
  const std::vector<Buffer> noted = body(*dry);
  EXPECT_EQ(dry->arena_bytes(), program.arena_bytes());
  EXPECT_GE(dry->arena_bytes(), dry->peak_bytes() - before->bytes());
  {
    const Queue::Preparing preparing(*dry);
    const Buffer constant = dry->allocate(1 << 20);
    EXPECT_EQ(dry->arena_bytes(), program.arena_bytes());
  }
  dry->note_allocations();
  EXPECT_EQ(dry->arena_bytes(), 0u);
}

TEST_F(QueueTest, ADryRunTellsPreparationApart) {
  const auto dry = Queue::dry();
  const Poly in = dry->allocate(ring_, basis_, Domain::Eval);
  const Poly out = dry->allocate(ring_, basis_, Domain::Eval);
  dry->submit(scaled(in, 2, out));
  {
    const Queue::Preparing outer(*dry);
    { const Queue::Preparing inner(*dry); }
    dry->submit(Copy{{{in.view, out.view}}});
  }
  dry->submit(scaled(in, 2, out));
  EXPECT_EQ(dry->report().operations, 3u);
  const DryReport preparation = dry->preparation();
  EXPECT_EQ(preparation.operations, 1u);
  EXPECT_EQ(preparation.operations_by_name.at("Copy"), 1u);
  EXPECT_EQ(preparation.bytes_by_name.at("Copy"), preparation.bytes_moved);
  EXPECT_EQ(dry->report().bytes_by_name.at("Copy"), preparation.bytes_moved);
}

TEST_F(QueueTest, ReplayClearsSecrets) {
  const Poly in = random_poly(queue_);
  Poly out;
  const std::uint32_t* inner = nullptr;
  Program program = queue_.record([&] {
    out = queue_.allocate(ring_, basis_, Domain::Eval);
    const Poly secret = queue_.allocate(ring_, basis_, Domain::Eval, true);
    inner = secret.view.data;
    queue_.submit(scaled(in, 1, secret));
    queue_.submit(scaled(secret, 7, out));
  });
  program.run();
  EXPECT_EQ(test::download(queue_, out.view), times(test::download(queue_, in.view), 7));
  EXPECT_TRUE(std::all_of(inner, inner + 3 * ring_.n(), [](auto w) { return w == 0; }));
}

TEST_F(QueueTest, PoisonedBlocksAreFilledAtEachRun) {
  Queue queue(make_cpu_backend());
  const Poly out = zero_poly(queue);
  const Words poison(basis_.size() * ring_.n(), 0xA5A5A5A5u);
  queue.poison(true);
  Program program = queue.record([&] {
    const Poly fresh = queue.allocate(ring_, basis_, Domain::Eval);
    queue.submit(Copy{{{fresh.view, out.view}}});
  });
  queue.poison(false);
  for (int run = 0; run < 2; ++run) {
    queue.submit(Copy{{{{}, out.view}}});
    program.run();
    EXPECT_EQ(test::download(queue, out.view), poison);
  }
}

// Two blocks full of ones, of which one is released: its memory has zeros when it is used again.
void expect_cleared(std::unique_ptr<Backend> backend) {
  Queue queue(std::move(backend));
  const std::vector<std::uint8_t> ones(1 << 16, 0xFF);
  const Buffer used = queue.allocate(ones.size());
  queue.copy_in(used->data(), ones.data(), ones.size());
  const void* released = nullptr;
  {
    const Buffer gone = queue.allocate(ones.size());
    queue.copy_in(gone->data(), ones.data(), ones.size());
    released = gone->data();
  }
  queue.clear_unused();
  const Buffer again = queue.allocate(ones.size());
  ASSERT_EQ(again->data(), released) << "the test needs the same block";
  std::vector<std::uint8_t> read(ones.size());
  queue.copy_out(read.data(), again->data(), read.size());
  EXPECT_EQ(read, std::vector<std::uint8_t>(ones.size(), 0));
  queue.copy_out(read.data(), used->data(), read.size());
  EXPECT_EQ(read, ones);
}

TEST(ClearUnused, OnACpu) { expect_cleared(make_cpu_backend({false, 1})); }

TEST(ClearUnused, OnAGpu) {
  if (cuda_device_count() == 0) GTEST_SKIP() << "no CUDA device";
  expect_cleared(make_cuda_backend());
}

TEST_F(QueueTest, RefusesToClearWhileRecording) {
  queue_.record([&] {
    if (queue_.recording()) {
      EXPECT_THROW(queue_.clear_unused(), UnsupportedError);
    }
  });
}

TEST_F(QueueTest, TellsWhatTheDeviceGave) {
  Queue queue(make_cpu_backend());
  const Buffer kept = queue.allocate(1 << 20);
  queue.reset_peak();
  { const Buffer more = queue.allocate(3 << 20); }
  EXPECT_EQ(queue.device_memory().peak, std::size_t{4} << 20);
  queue.backend()->trim();
  EXPECT_EQ(queue.device_memory().held, std::size_t{1} << 20);
}

TEST_F(QueueTest, RecordingRefusesTransfersAndStaysUsable) {
  const Poly in = random_poly(queue_), out = random_poly(queue_);
  Words host(3 * ring_.n());
  int calls = 0;
  const auto transfer_when_recording = [&] {
    ++calls;
    queue_.submit(scaled(in, 2, out));
    if (queue_.recording()) queue_.download(host.data(), out.view);
  };
  EXPECT_THROW(queue_.record(transfer_when_recording), UnsupportedError);
  EXPECT_EQ(calls, 2);
  EXPECT_THROW(queue_.record([&] { queue_.record([] {}); }), UnsupportedError);
  EXPECT_FALSE(queue_.recording());
  queue_.submit(scaled(in, 4, out));
  EXPECT_EQ(test::download(queue_, out.view), times(test::download(queue_, in.view), 4));
}

TEST_F(QueueTest, SharedByThreads) {
  std::vector<Poly> results(8);
  const Poly in = random_poly(queue_);
  const auto work = [&](int first) {
    for (int i = first; i < 8; i += 2) {
      const Poly t = queue_.allocate(ring_, basis_, Domain::Eval);
      results[i] = queue_.allocate(ring_, basis_, Domain::Eval);
      for (int k = 0; k < 20; ++k) {
        queue_.submit(scaled(in, i + 1, t));
        queue_.submit(scaled(t, 3, results[i]));
      }
    }
  };
  std::thread a(work, 0), b(work, 1);
  Poly recorded;
  Program program = queue_.record([&] {
    recorded = queue_.allocate(ring_, basis_, Domain::Eval);
    queue_.submit(scaled(in, 9, recorded));
  });
  a.join();
  b.join();
  program.run();
  const Words x = test::download(queue_, in.view);
  for (int i = 0; i < 8; ++i) {
    EXPECT_EQ(test::download(queue_, results[i].view), times(x, 3 * (i + 1)));
  }
  EXPECT_EQ(test::download(queue_, recorded.view), times(x, 9));
}

// Python drops ciphertexts under its own lock, which a recorded Python function waits for: a
// destructor that waited for the recording would be a deadlock.
TEST_F(QueueTest, DestructorsDoNotWaitForARecording) {
  const Poly in = random_poly(queue_);
  const std::uint64_t before = queue_.live_bytes();
  Poly dropped = random_poly(queue_);
  std::promise<void> done;
  std::thread other;
  bool waited = false;
  {
    const Program program = queue_.record([&] {
      const Poly out = queue_.allocate(ring_, basis_, Domain::Eval);
      queue_.submit(scaled(in, 2, out));
      if (other.joinable()) return;
      other = std::thread([&] {
        dropped = {};
        done.set_value();
      });
      waited = done.get_future().wait_for(std::chrono::seconds(20)) != std::future_status::ready;
    });
    other.join();
  }
  EXPECT_FALSE(waited);
  EXPECT_EQ(queue_.live_bytes(), before);
}

TEST_F(QueueTest, LockHoldsOtherThreadsOff) {
  std::atomic<bool> submitted = false;
  std::thread other;
  {
    const auto lock = queue_.lock();
    other = std::thread([&] {
      zero_poly(queue_);
      submitted = true;
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    EXPECT_FALSE(submitted);
    zero_poly(queue_);  // the same thread continues
  }
  other.join();
  EXPECT_TRUE(submitted);
}

}  // namespace
}  // namespace latticino
