// The one kind of file that version 2 of the format is written for must always load: switching keys
// with keys of products (io/container.h). `LATTICINO_WRITE_FILES_V2=folder` writes a new corpus:
// never over an old one.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "io/switch_files.h"
#include "support/io_support.h"
#include "support/switch_world.h"

namespace latticino::switching {
namespace {

using test::Bytes;
using test::saved;

constexpr char kFolder[] = LATTICINO_TEST_DATA "/files_v2/";
constexpr int kSlots = 1;

// With fewer dimensions than named sets have, for a small file.
std::shared_ptr<const SwitchParams> small_set() {
  return SwitchParams::check(
      preset("test-n10-boot-insecure"),
      {"own-insecure", 10, 4, {30, 1}, {4, 5}, 3.19, -80, ParamsLiteral::Security::Insecure});
}

SwitchOptions matvec() { return {.slots = kSlots, .route = Route::Matvec}; }

Bytes read_all(const char* name) {
  io::FileSource source(std::string(kFolder) + name);
  Bytes bytes(source.remaining());
  source.read(bytes);
  return bytes;
}

TEST(FilesV2, Write) {
  const char* folder = std::getenv("LATTICINO_WRITE_FILES_V2");
  if (folder == nullptr) GTEST_SKIP() << "LATTICINO_WRITE_FILES_V2 is not set";
  const auto params = small_set();
  ckks::World w(params->shared_ckks());
  const auto context = Context::create(params, w.context());
  const tfhe::SecretKey inner = generate_secret(*params, w.random());
  const auto keys = make_switch_keys(*context, w.secret(), inner, w.random(),
                                     std::vector{matvec_shapes(*params, kSlots).front()});
  const int level = Switcher(context, keys, matvec()).input_level();
  const std::vector<ckks::Ciphertext> x{w.encrypt({1.0 / 3}, level)};
  std::filesystem::create_directories(folder);
  const auto write = [&](const char* name, const std::function<void(io::Sink&)>& body) {
    io::write_file(std::string(folder) + "/" + name, body);
  };
  write("secret_key", [&](io::Sink& s) { io::save_secret_key(s, w.secret()); });
  write("ciphertexts", [&](io::Sink& s) { io::save_ciphertexts(s, x, "a third"); });
  write("switch_keys", [&](io::Sink& s) { io::save_keys(s, *context, *keys); });
}

TEST(FilesV2, Load) {
  const auto params = small_set();
  test::FileWorld w(params->shared_ckks());
  io::FileSource secret(std::string(kFolder) + "secret_key");
  w.secret = io::load_secret_key(secret, w.params);
  const auto context = Context::create(params, w.context);
  io::FileSource ciphertexts(std::string(kFolder) + "ciphertexts");
  const ckks::Ciphertext x = io::load_ciphertexts(ciphertexts, w.context).ciphertexts.at(0);
  const auto value = [&](const ckks::Ciphertext& y) { return w.decrypt(y)[0].real(); };
  EXPECT_NEAR(value(x), 1.0 / 3, 0x1p-15);

  const Bytes bytes = read_all("switch_keys");
  EXPECT_EQ(bytes[8], 2);
  io::MemorySource source(bytes);
  const auto keys = io::load_switch_keys(source, *context);
  EXPECT_EQ(keys->ckks_id, w.secret.id());
  EXPECT_EQ(saved([&](io::Sink& s) { io::save_keys(s, *context, *keys); }), bytes);

  // The keys work: a stored value goes through a table, and comes back by a product.
  const auto square = [](double v) { return v * v; };
  const auto dry = Context::create(params, ckks::Context::create_dry(w.params));
  const session::DryRun run(dry->ckks());
  const MatvecShape shape = keys->matvec.begin()->first;
  const Switcher planned(dry, allocate_switch_keys(*dry, std::vector{shape}), matvec());
  planned.apply(run.evaluator(), session::shape_of(dry->ckks(), x), make_table(dry, square, 1));
  const ckks::Evaluator evaluator(w.context, w.keys(run.request()));
  const Switcher switcher(context, keys, matvec());
  ASSERT_EQ(switcher.route(), Route::Matvec);
  EXPECT_NEAR(value(switcher.apply(evaluator, x, make_table(context, square, 1))), 1.0 / 9, 0x1p-4);
}

}  // namespace
}  // namespace latticino::switching
