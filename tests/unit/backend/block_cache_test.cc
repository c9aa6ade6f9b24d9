#include "backend/block_cache.h"

#include <gtest/gtest.h>

#include <map>

namespace latticino {
namespace {

void* at(std::uintptr_t address) { return reinterpret_cast<void*>(address); }

TEST(BlockCache, GivesABlockOfTheSameSizeBack) {
  BlockCache cache;
  EXPECT_EQ(cache.take(1000), nullptr);
  cache.give(at(1), 1000);
  cache.give(at(2), 1024);  // both take 1024 bytes
  cache.give(at(3), 1025);
  EXPECT_EQ(cache.bytes(), 1024u + 1024 + 1280);
  EXPECT_EQ(cache.take(900), at(2));  // the last one that was released
  EXPECT_EQ(cache.take(900), at(1));
  EXPECT_EQ(cache.take(900), nullptr);
  EXPECT_EQ(cache.take(1280), at(3));
  EXPECT_EQ(cache.bytes(), 0u);
}

TEST(BlockCache, DropsSizesThatWereNotUsedForTheLongestTime) {
  BlockCache cache;
  cache.give(at(1), 256);
  cache.give(at(2), 512);
  cache.give(at(3), 512);
  cache.give(at(4), 1024);
  EXPECT_EQ(cache.take(256), at(1));
  cache.give(at(1), 256);  // used after the others
  std::map<void*, std::size_t> dropped;
  const auto drop = [&](void* p, std::size_t size) { dropped[p] = size; };
  cache.shrink(cache.bytes(), drop);
  EXPECT_TRUE(dropped.empty());
  cache.shrink(256 + 1024, drop);
  EXPECT_EQ(dropped, (std::map<void*, std::size_t>{{at(2), 512}, {at(3), 512}}));
  cache.shrink(1024, drop);
  EXPECT_EQ(dropped.at(at(4)), 1024u);
  EXPECT_EQ(cache.bytes(), 256u);
  cache.shrink(0, drop);
  EXPECT_EQ(dropped.size(), 4u);
  EXPECT_EQ(cache.take(256), nullptr);
  EXPECT_EQ(cache.bytes(), 0u);
}

TEST(BlockCache, EmptySizesAreNoReasonToStop) {
  BlockCache cache;
  cache.give(at(1), 256);
  EXPECT_EQ(cache.take(256), at(1));  // its size is still known, without blocks
  cache.give(at(2), 512);
  int dropped = 0;
  cache.shrink(0, [&](void*, std::size_t) { ++dropped; });
  EXPECT_EQ(dropped, 1);
}

TEST(LiveBytes, KeepsWhatWasOnceNeededAndAnEighth) {
  LiveBytes live;
  live.add(800);
  EXPECT_EQ(live.may_keep(), 100u);
  live.remove(600);
  EXPECT_EQ(live.live(), 200u);
  EXPECT_EQ(live.may_keep(), 700u);
  EXPECT_EQ(live.peak(), 800u);
  live.reset_peak();
  live.add(100);
  EXPECT_EQ(live.peak(), 300u);
  EXPECT_EQ(live.may_keep(), 600u);
}

}  // namespace
}  // namespace latticino
