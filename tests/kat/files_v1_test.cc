// Files that version 1 of the format wrote must always load, and while version 1 is current, saving
// what they hold must give the same bytes. `LATTICINO_WRITE_FILES=folder` writes a new corpus (for
// a new version of the format: never over an old one).
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "io/tfhe_files.h"
#include "math/modulus.h"
#include "support/io_support.h"
#include "support/tfhe_support.h"

namespace latticino::io {
namespace {

using test::Bytes;
using test::FileWorld;
using test::saved;

constexpr char kFolder[] = LATTICINO_TEST_DATA "/files_v1/";

std::vector<std::int64_t> known_message(int n) {
  std::vector<std::int64_t> m(n);
  for (int i = 0; i < n; ++i) m[i] = (std::int64_t{7919} * i * i % 2001 - 1000) << 20;
  return m;
}

Bytes read_all(const std::string& name) {
  FileSource source(kFolder + name);
  Bytes bytes(source.remaining());
  source.read(bytes);
  return bytes;
}

TEST(FilesV1, Write) {
  const char* folder = std::getenv("LATTICINO_WRITE_FILES");
  if (folder == nullptr) GTEST_SKIP() << "LATTICINO_WRITE_FILES is not set";
  FileWorld w(preset("test-n10-leveled-insecure"));
  std::filesystem::create_directories(folder);
  const auto write = [&](const char* name, const std::function<void(Sink&)>& body) {
    write_file(std::string(folder) + "/" + name, body);
  };
  const auto keys = w.keys({{{rlwe::KeyKind::Relinearize, 1}, 0}});
  std::vector<ckks::Ciphertext> x{w.encrypt(known_message(w.params->n()), 0),
                                  w.encrypt(known_message(w.params->n()), 0)};
  x[1].seed.reset();
  write("params", [&](Sink& s) { save_params(s, *w.params); });
  write("keys", [&](Sink& s) { save_keys(s, w.constants(), w.queue(), *keys); });
  write("public_key", [&](Sink& s) {
    save_public_key(s, w.constants(), w.queue(),
                    rlwe::make_public_key(w.constants(), w.queue(), w.secret, w.random));
  });
  write("ciphertexts", [&](Sink& s) { save_ciphertexts(s, x, "known message"); });
  write("secret_key", [&](Sink& s) { save_secret_key(s, w.secret); });
}

class FilesV1Test : public ::testing::Test {
 protected:
  FilesV1Test() : w(load<std::shared_ptr<const Params>>("params", load_params)) {
    w.secret = load<rlwe::SecretKey>(
        "secret_key", [&](Source& source) { return load_secret_key(source, w.params); });
  }
  template <class T>
  static T load(const char* name, const std::function<T(Source&)>& body) {
    FileSource source(std::string(kFolder) + name);
    return body(source);
  }
  void expect_known(const std::array<Poly, 2>& parts, int level, double bound) {
    const PolyView views[2] = {parts[0].view, parts[1].view};
    const auto got = rlwe::decrypt(w.constants(), w.queue(), w.secret, views, level, 1.0);
    EXPECT_LT(test::deviation(test::difference(got, known_message(w.params->n()))), bound);
  }
  FileWorld w;
};

TEST_F(FilesV1Test, ParamsAndSecret) {
  EXPECT_EQ(w.params->name(), "test-n10-leveled-insecure");
  EXPECT_EQ(saved([&](Sink& s) { save_params(s, *w.params); }), read_all("params"));
  EXPECT_EQ(saved([&](Sink& s) { save_secret_key(s, w.secret); }), read_all("secret_key"));
}

TEST_F(FilesV1Test, Ciphertexts) {
  const auto loaded = load<Ciphertexts>(
      "ciphertexts", [&](Source& source) { return load_ciphertexts(source, w.context); });
  EXPECT_EQ(loaded.note, "known message");
  ASSERT_EQ(loaded.ciphertexts.size(), 2u);
  for (const ckks::Ciphertext& x : loaded.ciphertexts) {
    EXPECT_EQ(x.key, w.secret.id());
    expect_known({x.parts[0], x.parts[1]}, x.level, 2 * rlwe::kErrorSigma);
  }
  EXPECT_EQ(saved([&](Sink& s) { save_ciphertexts(s, loaded.ciphertexts, loaded.note); }),
            read_all("ciphertexts"));
}

TEST_F(FilesV1Test, PublicKey) {
  const auto key = load<rlwe::PublicKey>("public_key", [&](Source& source) {
    return load_public_key(source, w.constants(), w.queue());
  });
  const Poly m = rlwe::secret_poly(w.queue(), w.context->ring(), w.params->basis(0),
                                   known_message(w.params->n()));
  const auto pair = rlwe::encrypt_public(w.constants(), w.queue(), key, m.view, 0, w.random);
  expect_known(pair.parts, 0, 100 * rlwe::kErrorSigma);
  EXPECT_EQ(saved([&](Sink& s) { save_public_key(s, w.constants(), w.queue(), key); }),
            read_all("public_key"));
}

TEST_F(FilesV1Test, Keys) {
  const auto keys = load<std::shared_ptr<rlwe::EvaluationKeys>>(
      "keys", [&](Source& source) { return load_keys(source, w.constants(), w.queue()); });
  EXPECT_EQ(keys->id(), w.secret.id());
  // Every digit encrypts a multiple of P: nearly zero modulo the aux primes.
  const auto& key = keys->get(rlwe::KeyLabel{}, 0);
  const Basis aux = w.params->aux_basis();
  const int n = w.params->n();
  const Poly s = rlwe::secret_poly(w.queue(), w.context->ring(), aux, w.secret.coefficients());
  ASSERT_EQ(key.digit_index, w.constants().key_digits(0));
  for (const auto& [b, a] : key.digits) {
    const Poly e = rlwe::secret_product(w.queue(), a.view, s.view, aux);
    rlwe::combine(w.queue(), e.view, {{e.view}, {b.view.select(aux)}});
    const PolyView coefficients = e.view.in(Domain::Coeff);
    w.queue().submit(Transform{{{e.view, coefficients}}});
    std::vector<std::uint32_t> words(static_cast<std::size_t>(aux.size()) * n);
    w.queue().download(words.data(), coefficients);
    for (int i = 0; i < aux.size() * n; ++i) {
      const std::uint32_t q = w.context->ring().prime(aux.prime(i / n));
      ASSERT_LT(std::abs(latticino::centre(words[i], q)), 9 * rlwe::kErrorSigma);
    }
  }
  EXPECT_EQ(saved([&](Sink& sink) { save_keys(sink, w.constants(), w.queue(), *keys); }),
            read_all("keys"));
}

// The same for TFHE.
constexpr char kTfheSet[] = "test-tfhe-2-2-tiny-insecure";

TEST(TfheFilesV1, Write) {
  const char* folder = std::getenv("LATTICINO_WRITE_FILES");
  if (folder == nullptr) GTEST_SKIP() << "LATTICINO_WRITE_FILES is not set";
  test::TfheWorld w(kTfheSet);
  std::filesystem::create_directories(folder);
  const auto write = [&](const char* name, const std::function<void(Sink&)>& body) {
    write_file(std::string(folder) + "/" + name, body);
  };
  std::vector<tfhe::Ciphertext> x{w.encrypt(test::every_message(16), tfhe::Encoding::Padded),
                                  w.encrypt({5, 10}, tfhe::Encoding::Full)};
  x[1].seed.reset();
  write("tfhe_params", [&](Sink& s) { save_params(s, *w.params); });
  write("tfhe_keys", [&](Sink& s) { save_keys(s, *w.context, *w.keys); });
  write("tfhe_ciphertexts", [&](Sink& s) { save_ciphertexts(s, x, "known messages"); });
  write("tfhe_secret_key", [&](Sink& s) { save_secret_key(s, w.secret); });
}

TEST(TfheFilesV1, Load) {
  const auto source = [](const char* name) { return FileSource(std::string(kFolder) + name); };
  FileSource params_file = source("tfhe_params"), secret_file = source("tfhe_secret_key"),
             keys_file = source("tfhe_keys"), ciphertexts_file = source("tfhe_ciphertexts");
  const auto params = load_tfhe_params(params_file);
  EXPECT_EQ(params->name(), kTfheSet);
  const tfhe::SecretKey secret = load_tfhe_secret_key(secret_file, params);
  const auto context =
      tfhe::Context::create(params, std::make_unique<Queue>(make_cpu_backend({false, 1})));
  const auto keys = load_server_keys(keys_file, *context);
  EXPECT_EQ(keys->id, secret.id());
  const TfheCiphertexts x = load_tfhe_ciphertexts(ciphertexts_file, context);
  EXPECT_EQ(x.note, "known messages");
  ASSERT_EQ(x.batches.size(), 2u);
  EXPECT_EQ(tfhe::decrypt(secret, x.batches[0]), test::every_message(16));
  EXPECT_EQ(tfhe::decrypt(secret, x.batches[1]), (std::vector<std::uint32_t>{5, 10}));
  const tfhe::Evaluator e(context, keys);
  const auto y = e.apply(x.batches[0], make_table(context, [](auto m) { return 15 - m; }));
  for (std::uint32_t m = 0; m < 16; ++m) EXPECT_EQ(tfhe::decrypt(secret, y)[m], 15 - m);

  EXPECT_EQ(saved([&](Sink& s) { save_params(s, *params); }), read_all("tfhe_params"));
  EXPECT_EQ(saved([&](Sink& s) { save_secret_key(s, secret); }), read_all("tfhe_secret_key"));
  EXPECT_EQ(saved([&](Sink& s) { save_keys(s, *context, *keys); }), read_all("tfhe_keys"));
  EXPECT_EQ(saved([&](Sink& s) { save_ciphertexts(s, x.batches, x.note); }),
            read_all("tfhe_ciphertexts"));
}

}  // namespace
}  // namespace latticino::io
