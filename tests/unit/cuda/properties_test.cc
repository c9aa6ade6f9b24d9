// What is left of a device that shall choose kernels as a smaller or older one.
#include "backend/cuda/launch/properties.h"

#include <gtest/gtest.h>

namespace latticino {
namespace {

cuda::Properties h200() {
  return {.name = "NVIDIA H200",
          .arch = 90,
          .sms = 132,
          .shared_of_device = 227 << 10,
          .shared_per_block = 227 << 10,
          .shared_per_sm = 228 << 10,
          .total_bytes = std::size_t{141} << 30};
}

TEST(GivenLess, ChangesTheLimitAndTheArchitectureAlone) {
  const cuda::Properties ada = cuda::given_less(h200(), 99 << 10, 89);
  EXPECT_EQ(ada.arch, 89);
  EXPECT_EQ(ada.shared_per_block, std::size_t{99 << 10});
  // The limit of a kernel counts for the whole process, and so stays the device's.
  EXPECT_EQ(ada.shared_of_device, h200().shared_of_device);
  EXPECT_EQ(ada.shared_per_sm, h200().shared_per_sm);
  EXPECT_EQ(ada.sms, 132);
  EXPECT_EQ(ada.total_bytes, h200().total_bytes);
}

TEST(GivenLess, NothingWithoutOptions) {
  const cuda::Properties same = cuda::given_less(h200(), 0, 0);
  EXPECT_EQ(same.arch, 90);
  EXPECT_EQ(same.shared_per_block, h200().shared_per_block);
}

TEST(GivenLess, RefusesWhatTheDeviceDoesNotHave) {
  for (const int arch : {-1, 1, 75, 79, 91, 120}) {
    EXPECT_THROW(cuda::given_less(h200(), 0, arch), UnsupportedError) << arch;
  }
  for (const std::size_t limit : {std::size_t{1}, std::size_t{48 << 10} - 1,
                                  std::size_t{227 << 10} + 1, std::size_t{1} << 30}) {
    EXPECT_THROW(cuda::given_less(h200(), limit, 0), UnsupportedError) << limit;
  }
  for (const int arch : {80, 86, 89, 90}) EXPECT_EQ(cuda::given_less(h200(), 0, arch).arch, arch);
}

}  // namespace
}  // namespace latticino
