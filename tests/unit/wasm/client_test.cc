// The browser's client, built for this machine: the library reads its files, and it reads the
// library's files.
#include "wasm/client.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "ckks/encoding/client.h"
#include "io/bundle_file.h"
#include "io/files.h"
#include "io/tfhe_files.h"
#include "math/errors.h"
#include "rlwe/galois.h"
#include "support/io_support.h"

namespace latticino::wasm {
namespace {

using test::saved;

constexpr char kCkks[] = "test-n10-leveled-insecure";
constexpr char kTfhe[] = "test-tfhe-2-2-tiny-insecure";

std::vector<std::uint8_t> bytes_of(const std::string& text) { return {text.begin(), text.end()}; }

std::unique_ptr<Client> ckks_client() {
  return Client::make(bytes_of(preset(kCkks)->canonical_text()));
}
std::unique_ptr<Client> tfhe_client() {
  return Client::make(bytes_of(tfhe_preset(kTfhe)->canonical_text()));
}

test::Bytes encrypted(Client& client, const std::vector<double>& x, Numbers more = {}) {
  more.values = x;
  if (more.shape.empty()) more.shape = {more.complex ? x.size() / 2 : x.size()};
  return saved([&](io::Sink& s) { client.encrypt(s, more); });
}

test::Bytes encrypted(Client& client, const std::vector<std::uint64_t>& x, const char* type) {
  return saved([&](io::Sink& s) { client.encrypt(s, Integers{x, {x.size()}, type}); });
}

test::Bytes keys_of(Client& client, std::vector<RequestedKey> wishes, bool with_public = false) {
  return saved([&](io::Sink& s) {
    client.save_server_keys(s, std::move(wishes), with_public, [](int, int) {});
  });
}

void expect_close(const Values& got, const std::vector<double>& x) {
  ASSERT_EQ(got.numbers.size(), x.size());
  for (std::size_t i = 0; i < x.size(); ++i) EXPECT_NEAR(got.numbers[i], x[i], 1e-3);
}

TEST(WasmClient, NumbersComeBack) {
  const auto client = ckks_client();
  const std::vector<double> x{0.5, -0.25, 1, 0, -1, 0.125};
  Values got = client->decrypt(encrypted(*client, x, {.values = {}, .shape = {2, 3}}));
  EXPECT_EQ(got.type, "real");
  EXPECT_EQ(got.shape, (Shape{2, 3}));
  expect_close(got, x);
  got = client->decrypt(encrypted(*client, x, {.values = {}, .complex = true}));
  EXPECT_EQ(got.type, "complex");
  EXPECT_EQ(got.shape, (Shape{3}));
  expect_close(got, x);
  std::vector<double> many(1200);  // three ciphertexts of 512 slots
  for (std::size_t i = 0; i < many.size(); ++i) many[i] = std::sin(static_cast<double>(i));
  expect_close(client->decrypt(encrypted(*client, many, {.values = {}, .level = 0})), many);
}

TEST(WasmClient, IntegersComeBack) {
  const auto client = tfhe_client();
  for (const char* type : {"bool", "u2", "u8", "u64", "m4"}) {
    const Values got = client->decrypt(encrypted(*client, {0, 1, 1}, type));
    EXPECT_EQ(got.type, type);
    EXPECT_EQ(got.integers, (crypto::ClearingVector<std::uint64_t>{0, 1, 1})) << type;
  }
  const auto most = client->decrypt(encrypted(*client, {~std::uint64_t{0}, 7}, "u64"));
  EXPECT_EQ(most.integers[0], ~std::uint64_t{0});
}

TEST(WasmClient, NotesAreThoseOfPython) {
  EXPECT_EQ(tfhe_note({2, 3}, "u8"), R"({"shape": [2, 3], "dtype": "u8"})");
  EXPECT_EQ(ckks_note({}, 1.23456789e-7, session::Range::declared({0, 10}, {0, 0}, 0, false)),
            R"({"shape": [], "clean": true, "error": 1.23457e-07, "range": {"claim": "declared", )"
            R"("random": false, "numbers": [0.0, 10.0, 0.0, 0.0, 10.0, 10.0]}})");
  const std::pair<double, const char*> numbers[] = {{1, "1.0"},
                                                    {-0.0, "-0.0"},
                                                    {0.1, "0.1"},
                                                    {1e-4, "0.0001"},
                                                    {1e-5, "1e-05"},
                                                    {1e16, "1e+16"},
                                                    {1e15, "1000000000000000.0"},
                                                    {1.5e300, "1.5e+300"},
                                                    {-12.25, "-12.25"}};
  for (const auto& [x, text] : numbers) EXPECT_EQ(number_text(x), text);
}

TEST(WasmClient, ReadsLayoutsOfOtherOrder) {
  // The transpose of a 2 by 2 array, and a description that stands for no array.
  const CkksNote note = read_ckks_note(
      R"({"version":2,"array":{"shape":[2,2],"clean":false,"error":0.1,"range":{"claim":"assumed",)"
      R"("random":false,"numbers":[-1,1,0,0,1,0.5]},"layout":{"rest":"unknown","bound":1.0,)"
      R"("runs":[[0,2,2],[1,2,2]]}}})",
      4, 1);
  EXPECT_EQ(note.places, (std::vector<std::size_t>{0, 2, 1, 3}));
  EXPECT_TRUE(note.real);
  const auto stating = [](const std::string& claim) {
    return R"({"shape": [4], "clean": true, "error": 0, "range": {"claim": ")" + claim +
           R"(", "random": false, "numbers": [-1, 1, 0, 0, 1, 1]}})";
  };
  for (const char* claim : {"assumed", "declared", "calibrated"}) {
    EXPECT_TRUE(read_ckks_note(stating(claim), 4, 1).real) << claim;
  }
  EXPECT_THROW(read_ckks_note(stating("measured"), 4, 1), FileError);
  const auto with = [](const std::string& runs) {
    return R"({"version":2,"array":{"shape":[2,2],"clean":false,"error":0.1,"layout":{"runs":)" +
           runs + "}}}";
  };
  for (const char* runs :
       {"[[0,1,3]]", "[[0,1,5]]", "[[0,2,4]]", "[[3,-2,4]]", "[[4,0,4]]", "[[0,1,0],[0,1,4]]",
        "[[0,4503599627370496,2],[0,1,2]]", "[[0,1,9007199254740991]]"}) {
    EXPECT_THROW(read_ckks_note(with(runs), 4, 1), FileError) << runs;
  }
  EXPECT_EQ(read_ckks_note(with("[[3,-1,4]]"), 4, 1).places[0], 3u);
  // A short note of an array that would take gigabytes.
  EXPECT_THROW(
      read_ckks_note(R"({"version":2,"array":{"shape":[2147483648],"clean":false,"error":0,)"
                     R"("layout":{"runs":[[0,0,2147483648]]}}})",
                     4, 1),
      FileError);
  EXPECT_THROW(read_ckks_note(R"({"shape":[5],"clean":true,"error":0})", 4, 1), FileError);
  EXPECT_THROW(read_ckks_note(R"({"shape":[4],"clean":true,"error":-1})", 4, 1), FileError);
}

TEST(WasmClient, SealedSecretsOpenWithTheirPassphrase) {
  for (const bool tfhe : {false, true}) {
    const auto client = tfhe ? tfhe_client() : ckks_client();
    const auto text =
        bytes_of(tfhe ? tfhe_preset(kTfhe)->canonical_text() : preset(kCkks)->canonical_text());
    const auto word = bytes_of("correct horse"), other = bytes_of("correct house");
    const test::Bytes file = saved([&](io::Sink& s) { client->save_secret(s, word); });
    const auto again = Client::load(text, file, word);
    EXPECT_EQ(again->key_id(), client->key_id());
    if (tfhe) {
      EXPECT_EQ(again->decrypt(encrypted(*client, {200}, "u8")).integers[0], 200u);
    } else {
      expect_close(again->decrypt(encrypted(*client, {0.75})), {0.75});
    }
    EXPECT_THROW(Client::load(text, file, other), KeyError);
    EXPECT_THROW(Client::load(text, file, {}), KeyError);
    EXPECT_THROW(saved([&](io::Sink& s) { client->save_secret(s, {}); }), ValueError);
  }
}

TEST(WasmClient, KeysLoadInTheLibrary) {
  const auto client = ckks_client();
  const rlwe::KeyLabel product{rlwe::KeyKind::Relinearize, 1};
  const rlwe::KeyLabel turn{rlwe::KeyKind::Galois, rlwe::rotation_element(1, 10)};
  const test::Bytes file = keys_of(*client, {{turn, 1}, {product, 2}, {turn, 2}}, true);
  const auto context =
      ckks::Context::create(preset(kCkks), std::make_unique<Queue>(make_cpu_backend({false, 1})));
  io::MemorySource source(file);
  io::BundleReader reader(source, io::Scheme::Ckks);
  ASSERT_EQ(reader.names(), (std::vector<std::string>{"keys", "public"}));
  std::shared_ptr<rlwe::EvaluationKeys> keys;
  reader.next(
      [&](io::Source& s) { keys = io::load_keys(s, context->constants(), context->queue()); });
  reader.next(
      [&](io::Source& s) { io::load_public_key(s, context->constants(), context->queue()); });
  reader.finish();
  EXPECT_TRUE(keys->has(turn, 2));
  EXPECT_TRUE(keys->has(product, 2));
  EXPECT_EQ(keys->id().str(), client->key_id());

  const auto small = tfhe_client();
  const test::Bytes tfhe_file = keys_of(*small, {}, true);
  const auto tfhe_context = tfhe::Context::create(
      tfhe_preset(kTfhe), std::make_shared<Queue>(make_cpu_backend({false, 1})));
  io::MemorySource tfhe_source(tfhe_file);
  io::BundleReader tfhe_reader(tfhe_source, io::Scheme::Tfhe);
  tfhe_reader.next([&](io::Source& s) {
    EXPECT_NE(io::load_server_keys(s, *tfhe_context)->public_key, nullptr);
  });
  tfhe_reader.finish();
}

TEST(WasmClient, RefusesWhatItDoesNotDo) {
  const auto ckks = ckks_client(), tfhe = tfhe_client(), other = ckks_client();
  EXPECT_THROW(encrypted(*ckks, {1}, "u8"), UnsupportedError);
  EXPECT_THROW(encrypted(*tfhe, std::vector<double>{1}), UnsupportedError);
  EXPECT_THROW(encrypted(*ckks, std::vector<double>{1.5}), ValueError);
  EXPECT_THROW(encrypted(*ckks, std::vector<double>{NAN}), ValueError);
  EXPECT_THROW(encrypted(*ckks, std::vector<double>{}), ShapeError);
  EXPECT_THROW(encrypted(*ckks, {1, 1, 1}, {.values = {}, .shape = {2}}), ShapeError);
  EXPECT_THROW(encrypted(*ckks, {1, 1, 1}, {.values = {}, .complex = true}), ShapeError);
  EXPECT_THROW(encrypted(*ckks, {1}, {.values = {}, .level = 50}), LevelError);
  EXPECT_THROW(encrypted(*tfhe, {256}, "u8"), ValueError);
  EXPECT_THROW(encrypted(*tfhe, {2}, "bool"), ValueError);
  for (const char* type : {"u3", "u66", "m3", "", "real"}) {
    EXPECT_THROW(encrypted(*tfhe, {1}, type), ParameterError) << type;
  }
  EXPECT_THROW(other->decrypt(encrypted(*ckks, {1.0})), KeyError);
  EXPECT_THROW(tfhe->decrypt(encrypted(*ckks, {1.0})), FileError);
  EXPECT_THROW(keys_of(*tfhe, {{{rlwe::KeyKind::Relinearize, 1}, 1}}), UnsupportedError);
  EXPECT_THROW(keys_of(*ckks, {{{rlwe::KeyKind::DenseToSparse, 1}, 1}}), UnsupportedError);
  EXPECT_THROW(keys_of(*ckks, {{{rlwe::KeyKind::Galois, 4}, 1}}), KeyError);
  EXPECT_THROW(keys_of(*ckks, {{{rlwe::KeyKind::Relinearize, 1}, 99}}), KeyError);
  EXPECT_THROW(Client::make(bytes_of("latticino-params 2\n")), FileError);
  EXPECT_THROW(Client::make(bytes_of("something else")), FileError);
  test::Bytes file = encrypted(*ckks, {1.0});
  file[file.size() / 2] ^= 1;
  EXPECT_THROW(ckks->decrypt(file), FileError);
}

}  // namespace
}  // namespace latticino::wasm
