#include "math/text.h"

#include <gtest/gtest.h>

namespace latticino {
namespace {

TEST(Text, PrintsAsPrintfDoes) {
  EXPECT_EQ(formatted("level %d, 2^%.2f", 3, 40.125), "level 3, 2^40.12");
  EXPECT_EQ(formatted("%s", ""), "");
  EXPECT_EQ(formatted("100 %%"), "100 %");
}

TEST(Text, HasNoLimitOfLength) {
  const std::string word(5000, 'x');
  EXPECT_EQ(formatted("%s %s", word.c_str(), word.c_str()), word + " " + word);
  EXPECT_EQ(formatted("%.0f", 1e300).size(), 301u);
}

}  // namespace
}  // namespace latticino
