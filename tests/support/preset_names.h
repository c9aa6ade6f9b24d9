// Turns names of parameter sets into names of tests.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace latticino::test {

inline std::string preset_name(const testing::TestParamInfo<const char*>& info) {
  std::string name = info.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

}  // namespace latticino::test
