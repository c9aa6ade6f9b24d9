// Known answers of switching: extracted ciphertexts and results of a round trip by either way back,
// from a fixed seed, on the plain reference and on the vectorised kernels; hashes of the named
// sets.
#include <gtest/gtest.h>

#include "support/digest_support.h"
#include "support/ring_support.h"
#include "support/switch_world.h"

namespace latticino::switching {
namespace {

std::string digest(const Context& context, const LweView& x) {
  return test::short_digest(test::download(context.queue(), x));
}

// Limb after limb in the logical order of Eval.
std::string digest(const ckks::Ciphertext& x) {
  test::Words all;
  for (const Poly& part : x.parts) {
    const test::Words words = test::download(x.context->queue(), part.view);
    all.insert(all.end(), words.begin(), words.end());
  }
  return test::short_digest(all);
}

struct Known {
  const char* set;
  Route route;
  const char *extracted, *result;
};

class SwitchingKnownAnswers : public testing::TestWithParam<bool> {};

TEST_P(SwitchingKnownAnswers, ExtractedAndBack) {
  const Known known[] = {
      {"test-switch-n12-insecure", Route::Ring, "48f738b71892671b", "14aa5730e05b5421"},
      {"test-switch-n12-insecure", Route::Matvec, "b46e45baa6bea70e", "e35542a51caf37bb"},
      {"test-switch-n12-fp64-insecure", Route::Ring, "48f738b71892671b", "01cfbe52998f0a13"},
  };
  for (const Known& k : known) {
    SCOPED_TRACE(std::string(k.set) + (k.route == Route::Ring ? ", ring" : ", matvec"));
    SwitchWorld w(k.set, make_cpu_backend({GetParam(), 1}));
    if (k.route == Route::Matvec) w.need({16, 1024});
    const SwitchOptions options{.slots = 16, .bound = 1, .route = k.route};
    const SwitchPlan plan(w, options);
    ASSERT_EQ(plan.plan().route(), k.route);
    const ckks::Ciphertext x = plan.encrypt(SwitchWorld::spread(16, 1));
    const Samples samples = plan.plan().extract(plan.evaluator(), x);
    EXPECT_EQ(digest(*w.context(), samples.lwe.view), k.extracted);
    const Table table = make_table(
        w.context(), [](double v) { return v * v - 0.5; }, 1);
    EXPECT_EQ(digest(plan.plan().look_up(plan.evaluator(), samples, table)), k.result);
  }
}

INSTANTIATE_TEST_SUITE_P(Kernels, SwitchingKnownAnswers, testing::Bool());

TEST(SwitchingKnownHashes, OfNamedSets) {
  const std::pair<const char*, const char*> known[] = {
      {"switch-n16-d40-v1", "57a522d41fd5765a"},
      {"switch-n16-d35-v1", "e5ff350bc9b83d42"},
      {"switch-n16-d40-precise-v1", "684f13029ef1dbf2"},
      {"switch-n16-d40-fp64-v1", "37f92b8949deb697"},
      {"switch-n16-d35-fp64-v1", "7e1803c0c92f8681"},
  };
  for (const auto& [name, hash] : known) {
    EXPECT_EQ(switch_preset(name)->hash().substr(0, 16), hash) << name;
  }
}

}  // namespace
}  // namespace latticino::switching
