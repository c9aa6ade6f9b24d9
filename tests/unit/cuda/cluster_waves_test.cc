// Times of waves of clusters (backend/cuda/rotate/cluster_waves.h).
#include "backend/cuda/rotate/cluster_waves.h"

#include <gtest/gtest.h>

namespace latticino::cuda {
namespace {

TEST(ClusterWaves, TakeTheSameTimeWhereBlocksAreAlone) {
  const Clusters clusters{15, 15};
  const WaveTimes times{{2.0}};
  EXPECT_DOUBLE_EQ(times.all(clusters, 1), 2.0);
  EXPECT_DOUBLE_EQ(times.all(clusters, 15), 2.0);
  EXPECT_DOUBLE_EQ(times.all(clusters, 16), 4.0);
  EXPECT_DOUBLE_EQ(times.all(clusters, 132), 18.0);
}

TEST(ClusterWaves, GrowWithTheBlocksOnAMultiprocessor) {
  const Clusters clusters{7, 21};
  const WaveTimes times{{1.0, 1.25, 1.5}};
  EXPECT_DOUBLE_EQ(times.all(clusters, 7), 1.0);
  EXPECT_DOUBLE_EQ(times.all(clusters, 8), 1.25);
  EXPECT_DOUBLE_EQ(times.all(clusters, 14), 1.25);
  EXPECT_DOUBLE_EQ(times.all(clusters, 21), 1.5);
  EXPECT_DOUBLE_EQ(times.all(clusters, 32), 2.75);  // 21, then 11
  EXPECT_DOUBLE_EQ(times.all(clusters, 45), 4.0);   // twice 21, then 3
}

TEST(ClusterWaves, AreNoLargerThanTheDeviceAndTheTimesAllow) {
  const WaveTimes times{{1.0, 1.25}};
  EXPECT_DOUBLE_EQ(times.all({15, 31}, 31), 2.25);  // 30, then 1
  EXPECT_DOUBLE_EQ(times.all({15, 45}, 45), 2.25);
  EXPECT_DOUBLE_EQ(times.all({15, 15}, 30), 2.0);
  EXPECT_DOUBLE_EQ(times.all({15, 20}, 20), 1.25);
}

TEST(ClusterWaves, AreNeverChosenWhereNoTimeWasSeen) {
  EXPECT_GT(WaveTimes{}.all({15, 15}, 1), 1e300);
}

}  // namespace
}  // namespace latticino::cuda
