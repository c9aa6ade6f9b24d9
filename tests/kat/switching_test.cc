// Known answers of switching: extracted ciphertexts and results of a round trip by either way back,
// from a fixed seed, on the plain reference and on the vectorised kernels; hashes of the named
// sets.
#include <gtest/gtest.h>

#include "crypto/sha256.h"
#include "unit/switch_world.h"

namespace latticino::switching {
namespace {

using Words = std::vector<std::uint32_t>;

// The first 16 digits of SHA-256, of words in little-endian bytes.
std::string digest(const Words& words) {
  std::string bytes;
  for (const std::uint32_t w : words) {
    for (int i = 0; i < 4; ++i) bytes += static_cast<char>(w >> (8 * i));
  }
  return crypto::sha256_hex(bytes).substr(0, 16);
}

// Ciphertexts without the words between them.
std::string digest(const Context& context, const LweView& x) {
  Words words(x.words()), packed;
  context.queue().copy_out(words.data(), x.data, words.size() * sizeof(std::uint32_t));
  for (std::size_t i = 0; i < x.count; ++i) {
    const auto at = words.begin() + static_cast<long>(i * x.stride);
    packed.insert(packed.end(), at, at + x.dimension + 1);
  }
  return digest(packed);
}

// Limb after limb in the logical order of Eval.
std::string digest(const ckks::Ciphertext& x) {
  Words all;
  for (const Poly& part : x.parts) {
    Words words(static_cast<std::size_t>(part.view.limbs()) * x.context->ring().n());
    x.context->queue().download(words.data(), part.view);
    all.insert(all.end(), words.begin(), words.end());
  }
  return digest(all);
}

struct Known {
  const char* set;
  Route route;
  const char *extracted, *result;
};

class SwitchingKnownAnswers : public testing::TestWithParam<bool> {};

TEST_P(SwitchingKnownAnswers, ExtractedAndBack) {
  const Known known[] = {
      {"test-switch-n12-insecure", Route::Ring, "7624aae0fa3b8c41", "156e045a0d5bec0f"},
      {"test-switch-n12-insecure", Route::Matvec, "6ef1c37ca9832fac", "3fd1a30f98927420"},
      {"test-switch-n12-fp64-insecure", Route::Ring, "7624aae0fa3b8c41", "018a46f65dfc58e0"},
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
