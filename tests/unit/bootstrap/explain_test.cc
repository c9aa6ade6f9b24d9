// The description of the default forms agrees with the forms that are chosen.
#include "ckks/bootstrap/explain.h"

#include <gtest/gtest.h>

#include "ckks/bootstrap/choice.h"
#include "params/params.h"

namespace latticino::ckks::bootstrap {
namespace {

TEST(BootstrapExplain, StatesTheChoiceAtEveryLevel) {
  for (const char* name : {"test-n10-boot-insecure", "test-n10-d35-boot-insecure"}) {
    const auto params = preset(name);
    const std::string text = explain(*params);
    EXPECT_EQ(text.find(params->explain()), 0u);
    for (const int level : {0, 2, 3, params->default_level()}) {
      for (const bool random_like : {false, true}) {
        FormRequest request;
        request.level = level;
        request.known.random_like = random_like;
        EXPECT_NE(text.find(choose_form(*params, request).reason), std::string::npos) << level;
      }
    }
  }
}

TEST(BootstrapExplain, NothingWithoutBootstrapping) {
  const auto params = preset("test-n10-leveled-insecure");
  EXPECT_EQ(explain(*params), params->explain());
}

}  // namespace
}  // namespace latticino::ckks::bootstrap
