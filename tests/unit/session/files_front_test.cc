// Files through the public headers.
#include "latticino/files.h"

#include <filesystem>
#include <fstream>

#include "session/note.h"
#include "support/temporary_folder.h"
#include "unit/session/public_world.h"

namespace latticino {
namespace {

constexpr const char* kLeveled = "test-n10-leveled-insecure";

class FilesFront : public testing::Test {
 protected:
  std::string at(const std::string& name) const { return folder / name; }
  const test::TemporaryFolder folder;
};

TEST_F(FilesFront, CarriesAProgramToAnotherProcess) {
  PublicWorld owner(kLeveled), server(kLeveled);
  const auto square = [](const Array& x) { return x * x; };
  ServerKeyOptions options;
  options.public_key = true;
  save_server_keys(at("keys"),
                   owner.client.server_keys(plan(owner.context, square, Input({8})), options));
  EncryptOptions stated;
  stated.range = Range{-1, 1};
  save_array(at("x"), owner.client.encrypt(numbers(8), stated).reshape({2, 4}));

  const ServerKeys keys = load_server_keys(at("keys"), server.context);
  EXPECT_EQ(keys.id(), owner.client.key_id());
  server.context.use(keys);
  const Array x = load_array(at("x"), server.context);
  EXPECT_EQ(x.shape(), (Shape{2, 4}));
  EXPECT_EQ(x.range().claim, Claim::Declared);
  const Array y = array_from_bytes(to_bytes(square(x)), owner.context);
  const std::vector<double> values = owner.client.decrypt_real(y);
  for (std::size_t i = 0; i < 8; ++i) EXPECT_NEAR(values[i], std::pow(numbers(8)[i], 2), 1e-5);
  EXPECT_NO_THROW(server.context.encrypt({0.5}));
}

// A sample stays in the process, but a file states that the claim rests on one.
TEST_F(FilesFront, SaysThatAClaimIsCalibrated) {
  PublicWorld w(kLeveled);
  EncryptOptions like, stated;
  like.like = numbers(8, 9);
  stated.range = Range{-1, 1};
  const Array x = w.client.encrypt(numbers(8), like), y = w.client.encrypt(numbers(8), stated);
  save_array(at("x"), x);
  const std::vector<std::uint8_t> bytes = to_bytes(x);
  EXPECT_EQ(bytes[8], 5) << "earlier readers would take the range for a declared one";
  EXPECT_EQ(to_bytes(y)[8], 3);
  for (const Array& z : {load_array(at("x"), w.context), array_from_bytes(bytes, w.context)}) {
    EXPECT_EQ(z.range().claim, Claim::Calibrated);
    EXPECT_EQ(z.bits().claim, Claim::Calibrated);
    EXPECT_EQ(z.range().high, x.range().high);
    const Array again = array_from_bytes(to_bytes(z), w.context);
    for (const Array& rests : {x, z, again, z + z, z + y, y - z, z * 2.0, x + y}) {
      EXPECT_EQ(rests.range().claim, Claim::Calibrated);
      EXPECT_THROW(w.client.decrypt_for_sharing(rests, std::nullopt, 1), UnsupportedError);
    }
  }
  EXPECT_NO_THROW(
      w.client.decrypt_for_sharing(array_from_bytes(to_bytes(y), w.context), std::nullopt, 1));
}

TEST_F(FilesFront, SealsSecretKeys) {
  PublicWorld w(kLeveled);
  const Array x = w.client.encrypt({0.5});
  // This is not scrypt, because the caller chooses how the key is derived.
  const DeriveKey derive = [](const ScryptCosts& costs) {
    return std::vector<std::uint8_t>(64, costs.salt[0]);
  };
  save_secret_key(at("open"), w.client);
  save_secret_key(at("sealed"), w.client, derive);
  EXPECT_NEAR(load_client(at("open"), w.context).decrypt_real(x)[0], 0.5, 1e-6);
  EXPECT_NEAR(load_client(at("sealed"), w.context, derive).decrypt_real(x)[0], 0.5, 1e-6);
  EXPECT_THROW(load_client(at("sealed"), w.context), KeyError);
  EXPECT_THROW(load_client(at("open"), w.context, derive), KeyError);
  const DeriveKey other = [](const ScryptCosts& costs) {
    return std::vector<std::uint8_t>(64, static_cast<std::uint8_t>(costs.salt[0] + 1));
  };
  EXPECT_THROW(load_client(at("sealed"), w.context, other), KeyError);
  const DeriveKey narrow = [](const ScryptCosts&) { return std::vector<std::uint8_t>(16); };
  EXPECT_THROW(save_secret_key(at("narrow"), w.client, narrow), ValueError);
  std::filesystem::permissions(at("open"), std::filesystem::perms::group_read,
                               std::filesystem::perm_options::add);
  EXPECT_THROW(load_client(at("open"), w.context), FileError);
}

TEST_F(FilesFront, AsksASigner) {
  PublicWorld w(kLeveled);
  const Array x = w.client.encrypt({0.5});
  const FileSigner sign = [](std::span<const std::uint8_t> message) {
    FileSignature out;
    out.bytes[0] = message.back();
    return out;
  };
  const FileVerifier verify = [](std::span<const std::uint8_t> message,
                                 const std::optional<FileSignature>& s) {
    if (!s || s->bytes[0] != message.back())
      throw FileError("verify", "no such signature", "one", "sign it");
  };
  const auto bytes = to_bytes(x, sign);
  EXPECT_NO_THROW(array_from_bytes(bytes, w.context, verify));
  EXPECT_NO_THROW(array_from_bytes(bytes, w.context));
  EXPECT_THROW(array_from_bytes(to_bytes(x), w.context, verify), FileError);
}

TEST_F(FilesFront, RefusesDamagedAndForeignFiles) {
  PublicWorld w(kLeveled), other("test-n10-boot-insecure");
  auto bytes = to_bytes(w.client.encrypt(numbers(8)));
  EXPECT_THROW(array_from_bytes(bytes, other.context), ContextError);
  for (const std::size_t at :
       {std::size_t{0}, std::size_t{40}, std::size_t{150}, bytes.size() - 1}) {
    bytes[at] ^= 1;
    EXPECT_THROW(array_from_bytes(bytes, w.context), Error) << at;
    bytes[at] ^= 1;
  }
  bytes.resize(bytes.size() / 2);
  EXPECT_THROW(array_from_bytes(bytes, w.context), FileError);
  EXPECT_THROW(load_array(at("none"), w.context), FileError);
  const ParameterSet own = ParameterSet::preset(kLeveled);
  save_parameters(at("params"), own);
  EXPECT_EQ(load_parameters(at("params")).hash(), own.hash());
  EXPECT_THROW(load_array(at("params"), w.context), FileError);
}

TEST_F(FilesFront, CarriesTfhe) {
  TfheContextOptions options;
  options.device = "cpu";
  options.on_warning = [](const Warning&) {};
  const TfheContext one("test-tfhe-2-2-tiny-insecure", options),
      two("test-tfhe-2-2-tiny-insecure", options);
  const TfheClient client(one);
  save_server_keys(at("keys"), client.server_keys());
  two.use(load_server_keys(at("keys"), two));
  save_array(at("x"), client.encrypt({1, 2, 3}, kU8));
  const TfheArray y = load_array(at("x"), two) + 250;
  save_secret_key(at("secret"), client);
  EXPECT_EQ(load_client(at("secret"), one).decrypt(array_from_bytes(to_bytes(y), one)),
            (std::vector<std::uint64_t>{251, 252, 253}));
}

TEST(Note, ReadsWhatWritersMakeAndNothingElse) {
  using session::Note;
  const Note n = Note::read(
      R"( {"shape": [2, 3], "clean": true, "error": -1.5e-3, "x": {"a": "b\u0041"}, "y": null} )");
  EXPECT_EQ(n.shape("shape"), (std::vector<std::size_t>{2, 3}));
  EXPECT_TRUE(n.flag("clean"));
  EXPECT_EQ(n.number("error"), -1.5e-3);
  EXPECT_EQ(n.part("x")->text("a"), "bA");
  EXPECT_FALSE(n.part("z").has_value());
  EXPECT_THROW(n.part("y"), FileError);
  EXPECT_THROW(n.number("clean"), FileError);
  EXPECT_THROW(n.numbers("shape", 3), FileError);
  for (const char* bad : {"", "1", "[]", "{", "{\"a\": }", "{\"a\": 1,}", "{\"a\": 01}",
                          "{\"a\": 1} 2", "{\"a\": 1, \"a\": 2}", "{\"a\": NaN}", "{\"a\": \"\n\"}",
                          "{a: 1}", "{\"a\": .5}", "{\"a\": \"\\x\"}", "{\"a\": 1 \"b\": 2}"}) {
    EXPECT_THROW(Note::read(bad), FileError) << bad;
  }
  for (const char* shape : {"[0]", "[-1]", "[1.0]", "[1e3]", "[9007199254740993]",
                            "[4294967296, 4294967296]", "[true]"}) {
    EXPECT_THROW(Note::read(std::string("{\"s\": ") + shape + "}").shape("s"), FileError) << shape;
  }
  EXPECT_EQ(Note::read(R"({"r": [[0, 1, 4], [9, -2, 3]]})").runs("r"),
            (std::vector<std::array<std::int64_t, 3>>{{0, 1, 4}, {9, -2, 3}}));
  for (const char* runs : {"[]", "[1, 2, 3]", "[[1, 2]]", "[[1, 2, 3, 4]]", "[[1, 2, 3], 4]",
                           "[[1, 2, 3.5]]", "[[1, 2, 9007199254740994]]", "[[1, 2, true]]"}) {
    EXPECT_THROW(Note::read(std::string("{\"r\": ") + runs + "}").runs("r"), FileError) << runs;
  }
  EXPECT_EQ(Note::read("{\"s\": []}").shape("s").size(), 0u);
  EXPECT_THROW(Note::read(std::string(100000, '[')), FileError);
  EXPECT_THROW(Note::read("{\"a\": " + std::string(100000, '[')), FileError);
  EXPECT_THROW(Note::read("{\"a\": 1e999}").number("a"), FileError);
}

}  // namespace
}  // namespace latticino
