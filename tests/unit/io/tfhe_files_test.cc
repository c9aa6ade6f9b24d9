// Files of TFHE: round trips in every part, and what is refused.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <cmath>

#include "io/files.h"
#include "io/tfhe_files.h"
#include "math/errors.h"
#include "support/io_support.h"
#include "support/ring_support.h"
#include "support/temporary_folder.h"
#include "support/tfhe_support.h"

namespace latticino::io {
namespace {

using test::Bytes;
using test::saved;
using test::TfheWorld;
using tfhe::Ciphertext;
using tfhe::Encoding;
using Words = std::vector<std::uint32_t>;

class TfheFiles : public testing::TestWithParam<const char*> {
 protected:
  TfheFiles()
      : w(GetParam()), encoding(w.params->booleans() ? Encoding::Boolean : Encoding::Padded) {}
  Words words(const LweView& x) const { return test::download(w.context->queue(), x); }
  TfheCiphertexts reloaded(std::span<const Ciphertext> x, const std::string& note = {}) {
    const Bytes bytes = saved([&](Sink& s) { save_ciphertexts(s, x, note); });
    MemorySource source(bytes);
    return load_tfhe_ciphertexts(source, w.context);
  }
  TfheWorld w;
  Encoding encoding;
};

TEST_P(TfheFiles, ParamsRoundTrip) {
  const Bytes bytes = saved([&](Sink& s) { save_params(s, *w.params); });
  MemorySource source(bytes);
  EXPECT_EQ(load_tfhe_params(source)->hash(), w.params->hash());
}

TEST_P(TfheFiles, ServerKeysRoundTripAsBodiesAndSeeds) {
  const Bytes bytes = saved([&](Sink& s) { save_keys(s, *w.context, *w.keys); });
  EXPECT_LT(bytes.size(), w.keys->bytes() / 2 + 1024);
  MemorySource source(bytes);
  const auto keys = load_server_keys(source, *w.context);
  EXPECT_EQ(keys->id, w.keys->id);
  EXPECT_EQ(words(keys->key_switch.view), words(w.keys->key_switch.view));
  for (std::uint32_t i = 0; i < keys->bootstrap.view.count; ++i) {
    const auto now = test::download(w.context->queue(), keys->bootstrap.view[i]);
    ASSERT_EQ(now, test::download(w.context->queue(), w.keys->bootstrap.view[i])) << i;
  }
}

TEST_P(TfheFiles, CiphertextsRoundTrip) {
  const Ciphertext fresh = w.encrypt(Words(1500, 1), encoding);  // more than one part of a transfer
  Ciphertext moved = w.encrypt({1, 0, 1, 0}, encoding);
  moved.seed = fresh.seed;  // a seed that did not make its masks
  const Ciphertext gaps = take(fresh, Words{0, 2, 4});
  const Ciphertext all[] = {fresh, moved, gaps, w.evaluator.clear(Words{1, 0}, encoding)};
  const TfheCiphertexts got = reloaded(all, "shape (7,)");
  EXPECT_EQ(got.note, "shape (7,)");
  ASSERT_EQ(got.batches.size(), 4u);
  for (int i = 0; i < 4; ++i) {
    const Ciphertext &x = all[i], &y = got.batches[i];
    EXPECT_EQ(words(y.view), words(x.view)) << i;
    EXPECT_EQ(y.key, x.key);
    EXPECT_EQ(y.encoding, x.encoding);
    // Ciphertexts without a seed that proves them fresh count as the noisiest, whatever their
    // sender states.
    EXPECT_EQ(y.norm2, i == 0 ? 1 : largest_norm2(*w.context, encoding)) << i;
    EXPECT_TRUE(i == 3 || overlap(y.origins, x.origins)) << "the same ciphertext as before";
    EXPECT_EQ(y.largest, x.largest);
    EXPECT_EQ(y.seed.has_value(), i == 0) << "only where it makes the masks";
  }
  EXPECT_EQ(w.decrypt(got.batches[2]), Words({1, 1, 1}));
  const Bytes small = saved([&](Sink& s) { save_ciphertexts(s, {all, 1}); });
  EXPECT_LT(small.size(), 1500 * 4 + 1024u) << "a word each";
}

TEST_P(TfheFiles, SecretKeyRoundTripOnDisk) {
  const test::TemporaryFolder folder;
  const std::string path = folder / "secret";
  save_secret_key(path, w.secret);
  struct stat info {};
  ASSERT_EQ(stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
  FileSource source(path);
  const tfhe::SecretKey key = load_tfhe_secret_key(source, w.params);
  EXPECT_EQ(key.id(), w.secret.id());
  EXPECT_TRUE(std::ranges::equal(key.lwe(), w.secret.lwe()));
  EXPECT_TRUE(std::ranges::equal(key.glwe(), w.secret.glwe()));
}

INSTANTIATE_TEST_SUITE_P(Keys, TfheFiles,
                         testing::Values("test-tfhe-gates-insecure", "test-tfhe-gates-v2-insecure",
                                         "test-tfhe-ternary-insecure", "test-tfhe-group3-insecure",
                                         "test-tfhe-2-2-insecure"));

TEST(TfheFilesRefuse, OtherParametersKindsAndKeys) {
  TfheWorld w("test-tfhe-2-2-tiny-insecure"), gates("test-tfhe-ternary-insecure");
  const Ciphertext x = w.encrypt({1}, Encoding::Padded), y = gates.encrypt({1}, Encoding::Boolean);
  const Bytes bytes = saved([&](Sink& s) { save_ciphertexts(s, std::span(&x, 1)); });
  MemorySource a(bytes), b(bytes), c(bytes), d(bytes);
  EXPECT_THROW(load_tfhe_ciphertexts(a, gates.context), ContextError);
  EXPECT_THROW(load_server_keys(b, *w.context), FileError);
  EXPECT_EQ(inspect(c).scheme, Scheme::Tfhe);
  test::FileWorld ckks(preset("test-n10-leveled-insecure"));
  EXPECT_THROW(load_ciphertexts(d, ckks.context), FileError);
  const std::vector<Ciphertext> mixed{x, y};
  EXPECT_THROW(saved([&](Sink& s) { save_ciphertexts(s, mixed); }), ContextError);
  EXPECT_THROW(saved([&](Sink& s) { save_ciphertexts(s, std::span<const Ciphertext>()); }),
               ValueError);
  EXPECT_THROW(saved([&](Sink& s) { save_keys(s, *w.context, *gates.keys); }), ContextError);
  const Bytes keys = saved([&](Sink& s) { save_keys(s, *w.context, *w.keys); });
  MemorySource e(keys);
  EXPECT_THROW(load_tfhe_secret_key(e, w.params), FileError);
}

TEST(TfheParamsText, ReadsBackEverySetAndRefusesOtherText) {
  for (const std::string& name : tfhe_preset_names()) {
    const auto params = tfhe_preset(name);
    const TfheLiteral literal = parse_tfhe_params(params->canonical_text());
    EXPECT_EQ(TfheParams::check(literal)->hash(), params->hash()) << name;
  }
  const std::string text = tfhe_preset("tfhe-gates-v1")->canonical_text();
  const auto changed = [&](const std::string& from, const std::string& to) {
    std::string out = text;
    return out.replace(out.find(from), from.size(), to);
  };
  for (const std::string& bad :
       {std::string(), text + "\n", text.substr(0, text.size() - 1), changed("724", "0724"),
        changed("724", "7e2"), changed("group 1", "group"), changed("bits128", "bits129"),
        changed("ternary 0", "ternary 2"), changed("params 1", "params 2"),
        changed("key_switch 4 3", "key_switch 4 3 2"), std::string(5000, 'x')}) {
    EXPECT_THROW(parse_tfhe_params(bad), FileError) << bad;
  }
  // Names state what a set is, and the name of a preset may only be used for the preset.
  const auto refused = [](TfheLiteral x, const char* name, ParamsLiteral::Security security) {
    x.name = name;
    x.security = security;
    EXPECT_THROW(TfheParams::check(x), ParameterError) << name;
  };
  using Security = ParamsLiteral::Security;
  TfheLiteral weak = parse_tfhe_params(text);
  weak.lwe_dimension = 7;
  refused(weak, "tfhe-gates-v1", Security::Insecure);
  refused(weak, "mine", Security::Insecure);
  refused(weak, "mine", Security::Legacy);
  refused(parse_tfhe_params(text), "mine-insecure", Security::Bits128);
  refused(parse_tfhe_params(text), "mine legacy", Security::Bits128);
  TfheLiteral other = parse_tfhe_params(text);
  other.lwe_sigma += 1;
  refused(other, "tfhe-gates-v1", Security::Bits128);
  other.name = "mine";
  EXPECT_EQ(TfheParams::check(other)->name(), "mine");
  TfheLiteral literal = parse_tfhe_params(text);
  literal.log_failure = std::nan("");
  EXPECT_THROW(TfheParams::check(literal), ParameterError);
}

}  // namespace
}  // namespace latticino::io
