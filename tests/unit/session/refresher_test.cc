#include "session/ckks/refresher.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "session/ckks/host.h"

namespace latticino::session {
namespace {

// An array of two ciphertexts of real values, of a context of its own.
struct World {
  explicit World(const std::shared_ptr<const Params>& params)
      : context(ckks::Context::create_dry(params)), refresher(context, {"avx2", 2}) {}

  RefreshMethod method(int level, int slots) {
    const ckks::Ciphertext part = shape_only(context, level, context->params().scale(level), slots);
    const Range unit = Range::declared({-1, 1}, {0, 0});
    const Contents x{{part, part}, Known::fresh(unit, 1e-9), UnusedSlots::zero()};
    const Contents* const only[] = {&x};
    return refresher.method(x, Refresher::of(only, {}), std::nullopt);
  }

  std::shared_ptr<const ckks::Context> context;
  Refresher refresher;
};

// Contexts of equal parameters share comparisons of forms, whichever thread made them.
TEST(Refresher, ThreadsWithContextsOfTheirOwnAgree) {
  const auto params = preset("test-n10-boot-insecure");
  std::vector<std::vector<std::string>> notes(4);
  std::vector<std::thread> threads;
  for (std::vector<std::string>& found : notes) {
    threads.emplace_back([&] {
      World world(params);
      for (const int level : {0, 3}) {
        for (const int slots : {64, 512}) found.push_back(world.method(level, slots).note);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  ASSERT_EQ(notes[0].size(), 4u);
  for (const std::string& note : notes[0]) EXPECT_NE(note.find("predicted"), std::string::npos);
  for (const auto& found : notes) EXPECT_EQ(found, notes[0]);
}

}  // namespace
}  // namespace latticino::session
