// A small bootstrapping with fixed keys: every residue of the result, on the plain reference and on
// the vectorised kernels. A change of any constant, order of randomness or rounding shows here.
#include <gtest/gtest.h>

#include "ckks/bootstrap/bootstrap.h"
#include "session/keys/ckks_key_holder.h"
#include "session/keys/dry_run.h"

namespace latticino::ckks {
namespace {

// FNV-1a over the residues of both parts, limb after limb in the logical order of Eval.
std::uint64_t fingerprint(const Ciphertext& x) {
  std::uint64_t h = 14695981039346656037u;
  for (const Poly& part : x.parts) {
    std::vector<std::uint32_t> words(static_cast<std::size_t>(part.view.limbs()) *
                                     x.context->ring().n());
    x.context->queue().download(words.data(), part.view);
    for (std::uint32_t w : words) {
      for (int b = 0; b < 4; ++b) h = (h ^ (w >> (8 * b) & 0xff)) * 1099511628211u;
    }
  }
  return h;
}

rlwe::KeyRequest requested(const std::shared_ptr<const Params>& params,
                           const BootstrapOptions& options) {
  const session::DryRun dry(Context::create_dry(params));
  const Ciphertext x = session::shape_only(dry.context(), 0, params->scale(0), options.slots);
  Bootstrapper(dry.context(), options).bootstrap(dry.evaluator(), x);
  return dry.request();
}

std::uint64_t bootstrapped(bool simd, const char* set = "test-n10-boot-insecure") {
  const auto params = preset(set);
  const BootstrapOptions options{16, BootstrapOptions::Message::Complex, false};
  session::CkksKeyHolder own(
      Context::create(params, std::make_unique<Queue>(make_cpu_backend({simd, 1}))),
      rlwe::Random::insecure_from_seed({7}));
  const auto& context = own.context;
  const auto keys = own.keys(requested(params, options));
  std::vector<Complex> z;
  for (int j = 0; j < 16; ++j) z.emplace_back(j / 16.0, 0.5 - j / 32.0);
  const Ciphertext x = own.encrypt(z, 0, params->scale(0));
  return fingerprint(Bootstrapper(context, options).bootstrap(Evaluator(context, keys), x));
}

TEST(BootstrappingKnownAnswers, SmallSet) {
  EXPECT_EQ(bootstrapped(false), 18318472278750422549u);
  EXPECT_EQ(bootstrapped(true), 18318472278750422549u);
}

TEST(BootstrappingKnownAnswers, SetWithBands) {
  EXPECT_EQ(bootstrapped(false, "test-n10-bands-insecure"), 353564373416952250u);
  EXPECT_EQ(bootstrapped(true, "test-n10-bands-insecure"), 353564373416952250u);
}

TEST(BootstrappingKnownAnswers, BitPackerSet) {
  EXPECT_EQ(bootstrapped(false, "test-n10-d35-w30-boot-insecure"), 2162588828916640501u);
  EXPECT_EQ(bootstrapped(true, "test-n10-d35-w30-boot-insecure"), 2162588828916640501u);
}

TEST(BootstrappingKnownAnswers, BitPackerSetWithTwoListsOfTerminals) {
  EXPECT_EQ(bootstrapped(false, "test-n10-d34-w28-boot-insecure"), 7172962961891318699u);
  EXPECT_EQ(bootstrapped(true, "test-n10-d34-w28-boot-insecure"), 7172962961891318699u);
}

TEST(BootstrappingKnownAnswers, BitPackerSetWithFreeTerminals) {
  EXPECT_EQ(bootstrapped(false, "test-n10-d35-w28-free-boot-insecure"), 599857210302155471u);
  EXPECT_EQ(bootstrapped(true, "test-n10-d35-w28-free-boot-insecure"), 599857210302155471u);
}

TEST(BootstrappingKnownAnswers, SetOfPairsOfPrimes) {
  EXPECT_EQ(bootstrapped(false, "test-n10-dr-boot-insecure"), 11171413999951338534u);
  EXPECT_EQ(bootstrapped(true, "test-n10-dr-boot-insecure"), 11171413999951338534u);
}

TEST(BootstrappingKnownAnswers, SetWithAnArcsine) {
  EXPECT_EQ(bootstrapped(false, "test-n10-d48-w30-precise-insecure"), 4151840147049139144u);
  EXPECT_EQ(bootstrapped(true, "test-n10-d48-w30-precise-insecure"), 4151840147049139144u);
}

}  // namespace
}  // namespace latticino::ckks
