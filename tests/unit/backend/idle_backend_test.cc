#include "backend/idle_backend.h"

#include <gtest/gtest.h>

#include <memory>

#include "runtime/queue.h"
#include "support/ring_support.h"

namespace latticino {
namespace {

TEST(IdleBackend, CountsWhatItIsTold) {
  const auto counts = std::make_shared<IdleCounts>();
  Queue queue(make_idle_backend(counts));
  const Ring ring(10, test::ntt_primes(10, 2));
  const Poly x = queue.allocate(ring, {{0, 2}}, Domain::Eval);
  const Poly y = queue.allocate(ring, {{0, 2}}, Domain::Eval);
  EXPECT_NE(x.view.data, y.view.data);
  EXPECT_EQ(counts->allocations, 2u);
  EXPECT_EQ(counts->allocated_bytes, 2u * 2 * 4 << 10);
  queue.submit(Copy{{{x.view, y.view}}});
  EXPECT_EQ(counts->records, 1u);
  Program program = queue.record([&] { queue.submit(Copy{{{x.view, y.view}}}); });
  EXPECT_EQ(counts->records, 2u);  // the first run before the recording
  program.run();
  program.run();
  EXPECT_EQ(counts->records, 2u);
  EXPECT_EQ(counts->replays, 2u);
  std::uint32_t words[4] = {1, 2, 3, 4};
  queue.copy_in(x.buffer->data(), words, sizeof words);
  queue.copy_out(words, x.buffer->data(), sizeof words);
  EXPECT_EQ(words[3], 0u);
  EXPECT_EQ(counts->copies_in, 1u);
  EXPECT_EQ(counts->copies_out, 1u);
}

}  // namespace
}  // namespace latticino
