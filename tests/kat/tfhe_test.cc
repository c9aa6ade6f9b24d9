// Known answers of TFHE: keys, ciphertexts and results from a fixed seed, as SHA-256 of their
// words. A change of any of them is a change of stored bytes.
#include <gtest/gtest.h>

#include "support/digest_support.h"
#include "support/ring_support.h"
#include "support/tfhe_support.h"

namespace latticino::tfhe {
namespace {

std::string digest(const Context& context, const LweView& x) {
  return test::short_digest(test::download(context.queue(), x));
}

std::string digest(const Context& context, const PolyArray& x) {
  test::Words words;
  for (std::uint32_t i = 0; i < x.count; ++i) {
    const test::Words poly = test::download(context.queue(), x[i]);
    words.insert(words.end(), poly.begin(), poly.end());
  }
  return test::short_digest(words);
}

struct Known {
  const char* set;
  const char *bootstrap, *key_switch, *fresh, *result;
};

class TfheKnownAnswers : public testing::TestWithParam<bool> {};

TEST_P(TfheKnownAnswers, KeysCiphertextsAndResults) {
  const Known known[] = {
      {"test-tfhe-gates-insecure", "f9fcc904370b85aa", "a87660720675bb51", "05b68a449b71364a",
       "c7b7b02b5a127f56"},
      {"test-tfhe-gates-v2-insecure", "1f5390d86eb94f2f", "90af6049f269edb8", "b6fc7612598cdea9",
       "306f5ba72fdf3558"},
      {"test-tfhe-ternary-insecure", "c1b06f2baa0506fe", "32e1406107590250", "42271d6a67e0378e",
       "dce66706cf766760"},
      {"test-tfhe-group3-insecure", "8ec7609a89f18f29", "25100265bb399f89", "20a27b6e7e866f00",
       "b14bc795ae201987"},
      {"test-tfhe-2-2-insecure", "1f5390d86eb94f2f", "177a3659712523e9", "4684d3271dbad67a",
       "55c82ebd6023203b"},
  };
  for (const Known& k : known) {
    SCOPED_TRACE(k.set);
    test::TfheWorld w(k.set, GetParam());
    EXPECT_EQ(digest(*w.context, w.keys->bootstrap.view), k.bootstrap);
    EXPECT_EQ(digest(*w.context, w.keys->key_switch.view), k.key_switch);
    const bool booleans = w.params->booleans();
    const Ciphertext x = w.encrypt({0, 1}, booleans ? Encoding::Boolean : Encoding::Padded);
    EXPECT_EQ(digest(*w.context, x.view), k.fresh);
    const Ciphertext y =
        booleans ? w.evaluator.gate(Gate::Xor, x, w.encrypt({1, 1}, Encoding::Boolean))
                 : w.evaluator.apply(x, make_table(w.context, [](auto v) { return 15 - v; }));
    EXPECT_EQ(digest(*w.context, y.view), k.result);
  }
}

INSTANTIATE_TEST_SUITE_P(Kernels, TfheKnownAnswers, testing::Bool());

TEST(TfheKnownHashes, OfDefaultSets) {
  const std::pair<const char*, const char*> known[] = {
      {"tfhe-gates-v1", "adc82fb89bbb3182"},
      {"tfhe-gates-p64-v1", "9207e21381854468"},
      {"tfhe-gates-v2", "572c15796bd89fe0"},
      {"tfhe-gates-p64-v2", "3839891115a8be1c"},
      {"tfhe-2-2-v1", "a5a6d3f36b1f27f0"},
      {"tfhe-2-2-p64-v1", "f8e01984de848498"},
      {"tfhe-2-2-v2", "6ce2ecf9186780b3"},
      {"tfhe-2-2-group3-v1", "b869efde0dcf591b"},
      {"tfhe-2-2-group3-fft64-v1", "c78fc0d381f85955"},
  };
  for (const auto& [name, hash] : known) EXPECT_EQ(tfhe_preset(name)->hash().substr(0, 16), hash);
}

}  // namespace
}  // namespace latticino::tfhe
