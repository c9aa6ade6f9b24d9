// Files of secret keys: seals, permissions, which files they replace, and that nothing is left
// behind.
#include "io/secret_stream.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "io/files.h"
#include "io/tfhe_files.h"
#include "math/errors.h"
#include "support/temporary_folder.h"
#include "support/tfhe_support.h"

namespace latticino::io {
namespace {

namespace fs = std::filesystem;

class SecretFiles : public testing::Test {
 protected:
  SecretFiles() { umask(022); }

  std::string path(const char* name = "key") const { return (folder_ / name).string(); }
  std::vector<std::string> listing() const {
    std::vector<std::string> out;
    for (const auto& entry : fs::directory_iterator(folder_))
      out.push_back(entry.path().filename());
    std::sort(out.begin(), out.end());
    return out;
  }
  static void two_bytes(Sink& sink) { sink.write(std::vector<std::uint8_t>{1, 2}); }

  const test::TemporaryFolder own_;
  const fs::path& folder_ = own_.path();
};

const std::vector<std::string> kOnlyKey{"key"};

TEST_F(SecretFiles, AreTheirOwnersAndReplaceRegularFiles) {
  for (int i = 0; i < 2; ++i) {
    write_secret_file(path(), two_bytes);
    struct stat info {};
    ASSERT_EQ(stat(path().c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 07777, 0600u);
    EXPECT_EQ(info.st_size, 2);
    EXPECT_EQ(listing(), kOnlyKey);
  }
}

// A crash while the secret is written leaves nothing behind, because the file has no name yet.
TEST_F(SecretFiles, HaveNoNameBeforeTheyAreWhole) {
  write_secret_file(path(), [&](Sink& sink) {
    two_bytes(sink);
    EXPECT_EQ(listing(), std::vector<std::string>{});
  });
  const auto broken = [](Sink& sink) {
    two_bytes(sink);
    throw ValueError("test", "a fault", "none", "none");
  };
  EXPECT_THROW(write_secret_file(path("other"), broken), ValueError);
  EXPECT_EQ(listing(), kOnlyKey);
}

TEST_F(SecretFiles, NeverReplaceWhatIsNoRegularFile) {
  ASSERT_EQ(mkfifo(path("fifo").c_str(), 0600), 0);
  fs::create_directory(path("folder"));
  std::ofstream(path("target")) << "kept";
  fs::create_symlink(path("target"), path("link"));
  fs::create_symlink(path("nowhere"), path("dangling"));
  const std::vector<std::string> before = listing();
  for (const char* name : {"fifo", "folder", "link", "dangling"}) {
    EXPECT_THROW(write_secret_file(path(name), two_bytes), FileError) << name;
  }
  EXPECT_THROW(write_secret_file("/dev/null", two_bytes), FileError);
  EXPECT_EQ(listing(), before);
  std::string text;
  std::ifstream(path("target")) >> text;
  EXPECT_EQ(text, "kept");
}

TEST_F(SecretFiles, OpenPermissionsAreRefused) {
  write_secret_file(path(), two_bytes);
  for (const mode_t mode : {0640, 0604, 0620, 0602, 0644}) {
    ASSERT_EQ(chmod(path().c_str(), mode), 0);
    try {
      SecretFileSource source(path());
      ADD_FAILURE() << std::oct << mode;
    } catch (const FileError& error) {
      EXPECT_NE(std::string(error.what()).find("chmod 600"), std::string::npos) << error.what();
    }
  }
  for (const mode_t mode : {0600, 0400}) {
    ASSERT_EQ(chmod(path().c_str(), mode), 0);
    EXPECT_EQ(SecretFileSource(path()).remaining(), 2u);
  }
}

struct Sealed {
  explicit Sealed(const test::TfheWorld& w) : world(w) {
    for (std::size_t i = 0; i < key.size(); ++i) key[i] = static_cast<std::uint8_t>(7 * i);
    kdf.salt.fill(9);
    const SecretSeal seal{kdf, crypto::SealKey(key.data(), key.size())};
    MemorySink sink;
    save_secret_key(sink, w.secret, &seal);
    bytes.assign(sink.bytes().begin(), sink.bytes().end());
  }
  tfhe::SecretKey load(std::span<const std::uint8_t> with) const {
    MemorySource source(bytes);
    return load_tfhe_secret_key(source, world.params, with);
  }

  const test::TfheWorld& world;
  std::vector<std::uint8_t> key = std::vector<std::uint8_t>(crypto::kSealKeyBytes), bytes;
  Scrypt kdf{10, 8, 1, {}};
};

TEST(SealedSecretKeys, OpenWithTheirKeyOnly) {
  const test::TfheWorld w("test-tfhe-2-2-tiny-insecure");
  Sealed file(w);
  const tfhe::SecretKey same = file.load(file.key);
  EXPECT_EQ(same.id(), w.secret.id());
  EXPECT_TRUE(std::ranges::equal(same.lwe(), w.secret.lwe()));
  EXPECT_TRUE(std::ranges::equal(same.glwe(), w.secret.glwe()));
  MemorySource source(file.bytes);
  const auto kdf = secret_key_seal(source, Scheme::Tfhe);
  ASSERT_TRUE(kdf);
  EXPECT_EQ(kdf->log_n, 10u);
  EXPECT_EQ(kdf->salt, file.kdf.salt);
  std::vector<std::uint8_t> other = file.key;
  other[0] ^= 1;  // in the cipher's half of the key: the check of the seal is still right
  EXPECT_ANY_THROW(file.load(other));
  other[0] ^= 1;
  other[40] ^= 1;  // in the half for the check
  EXPECT_THROW(file.load(other), KeyError);
  EXPECT_THROW(file.load({}), KeyError);
  EXPECT_THROW(file.load(std::span(file.key).first(32)), KeyError);
  // No 16 bytes of the key are in the file.
  const auto glwe = w.secret.glwe();
  const std::vector<std::uint8_t> pattern(glwe.begin(), glwe.begin() + 16);
  EXPECT_EQ(std::search(file.bytes.begin(), file.bytes.end(), pattern.begin(), pattern.end()),
            file.bytes.end());
}

TEST(SealedSecretKeys, OfAFileWithoutASealAKeyIsRefused) {
  const test::TfheWorld w("test-tfhe-2-2-tiny-insecure");
  MemorySink sink;
  save_secret_key(sink, w.secret);
  MemorySource source(sink.bytes()), again(sink.bytes());
  EXPECT_THROW(load_tfhe_secret_key(source, w.params, std::vector<std::uint8_t>(64)), KeyError);
  EXPECT_FALSE(secret_key_seal(again, Scheme::Tfhe));
}

// The container's checks find accidental changes; the seal finds deliberate ones.
TEST(SealedSecretKeys, ForgeriesAreRefused) {
  const test::TfheWorld w("test-tfhe-2-2-tiny-insecure");
  const Sealed whole(w);
  const auto repaired = [&](std::size_t at, std::uint8_t flip) {
    Sealed file(w);
    std::vector<std::uint8_t>& b = file.bytes;
    b[at] ^= flip;
    const auto put = [&](std::size_t where, std::size_t count) {
      const auto digest = crypto::sha256(std::span(b).first(where));
      std::copy_n(digest.begin(), count, b.begin() + static_cast<std::ptrdiff_t>(where));
    };
    put(kHeaderBytes - 8, 8);
    put(kHeaderBytes + 48, 32);
    put(b.size() - 32, 32);
    return file;
  };
  EXPECT_EQ(repaired(200, 0).bytes, whole.bytes);
  for (const std::size_t at : {std::size_t{60}, std::size_t{kHeaderBytes + 20}, std::size_t{300},
                               whole.bytes.size() - 40}) {  // key id, salt, coefficients, check
    EXPECT_THROW(repaired(at, 1).load(whole.key), KeyError) << at;
  }
  // Costs that would take more memory than there is.
  EXPECT_THROW(repaired(kHeaderBytes + 4, 10 ^ 30).load(whole.key), FileError);
}

}  // namespace
}  // namespace latticino::io
