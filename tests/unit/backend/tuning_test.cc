// The table of kernel variants: its text, its answers, and that no answer changes a bit.
#include "backend/tuning.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdio>
#include <filesystem>
#include <fstream>

#include "backend/rotation_times.h"
#include "conformance/conformance.h"
#include "math/errors.h"
#include "support/ring_support.h"
#include "support/temporary_folder.h"

namespace latticino {
namespace {

TuningKey tile(int sources, int targets, int items) {
  return {TunedKernel::ConvertTile, 16, {sources, targets, items}};
}

TEST(Tuning, PicksFromTheTableWhatCanRun) {
  Tuning t =
      Tuning::parse("latticino tuning 1\narch 90\nconvert_tile 16  12 47 4 0 = 3 # fast\n", "x");
  EXPECT_EQ(t.arch(), 90);
  EXPECT_EQ(t.pick(tile(12, 47, 4), 1, 0b1010), 3);
  EXPECT_EQ(t.pick(tile(12, 47, 4), 1, 0b0110), 1);  // variant 3 cannot run here
  EXPECT_EQ(t.pick(tile(12, 46, 4), 1, 0b1010), 1);  // the table has no entry
  EXPECT_EQ(t.pick({TunedKernel::ConvertTile, 15, {12, 47, 4}}, 1, 0b1010), 1);
  EXPECT_EQ(t.pick({TunedKernel::KeyInner, 16, {12, 47, 4}}, 1, 0b1010), 1);
}

// Tables name tiles by teams 16 to 19 (backend/cuda/convert/tile_choice.h).
TEST(Tuning, PicksHighVariantsAndFallsBackFromThem) {
  const std::string head = "latticino tuning 1\narch 90\n";
  for (const int variant : {12, 15, 16, 19, Tuning::kVariants - 1}) {
    Tuning t =
        Tuning::parse(head + "convert_tile 16  7 7 2 0 = " + std::to_string(variant) + "\n", "x");
    EXPECT_EQ(t.pick(tile(7, 7, 2), 1, ~0u), variant);
    EXPECT_EQ(t.pick(tile(7, 7, 2), 1, ~(1u << variant)), 1);
  }
  Tuning forced(90);
  forced.force(3);
  EXPECT_EQ(forced.pick(tile(7, 7, 2), 1, 0x30003), 17);
}

TEST(Tuning, TimesOfRotationsComeBack) {
  const std::string head = "latticino tuning 1\narch 90\n";
  const std::string lines = "rotation 10  2 1 49 132 = 3120 5210\nrotation 10  2 1 49 1 = 0 845\n";
  const auto times = parse_rotation_times(head + "transform 10  0 1 1 0 = 1\n" + lines, "x");
  ASSERT_EQ(times.size(), 2u);
  EXPECT_EQ(times[0].exact_us, 3120);
  EXPECT_EQ(times[0].fourier_us, 5210);
  EXPECT_TRUE(times[0].same_shape(times[1]));
  EXPECT_EQ(times[0].text() + "\n" + times[1].text() + "\n", lines);
  EXPECT_EQ(Tuning::parse(head + lines, "x").size(), 0u);
  EXPECT_FALSE(shipped_rotation_times(90).empty());
  EXPECT_TRUE(shipped_rotation_times(1).empty());
  for (const char* bad :
       {"rotation 10  2 1 49 = 1 2", "rotation 10  2 1 49 1 = 1", "rotation 10  2 1 49 1 = 0 0",
        "rotation 10  2 1 49 0 = 1 2", "rotation 10  2 1 49 1 = 1 -2",
        "rotation 10  2 1 49 1 = 1 2 3", "rotation 10  2 1 49 1 = 1 2000000000",
        "rotation 10  2 1 49 1 = 1 2\nrotation 10  2 1 49 1 = 1 3"}) {
    EXPECT_THROW(Tuning::parse(head + bad + "\n", "x"), FileError) << bad;
    EXPECT_THROW(parse_rotation_times(head + bad + "\n", "x"), FileError) << bad;
  }
}

TEST(Tuning, KeysAreOneToOne) {
  const TuningKey key{TunedKernel::KeyInner, 17, {4095, 1, 0, 77}};
  EXPECT_EQ(TuningKey::unpacked(key.packed()), key);
  TuningKey large = key;
  large.shape[0] = 70000;  // large counts are limited, not wrapped
  EXPECT_EQ(large.packed(), key.packed());
}

TEST(Tuning, TextsComeBack) {
  Tuning t(90);
  t.set(tile(12, 47, 2), 4);
  t.set({TunedKernel::KeyInner, 16, {4, 59, 1, 1}}, 0);
  const std::string text = t.text("NVIDIA H200\nsecond line");
  EXPECT_NE(text.find("\n# second line\n"), std::string::npos);
  Tuning back = Tuning::parse(text, "x");
  EXPECT_EQ(back.size(), 2u);
  EXPECT_EQ(back.text(""), t.text(""));
  EXPECT_EQ(back.pick(tile(12, 47, 2), 0, ~0u), 4);
}

// Batches of 4095 ciphertexts and more are one shape.
TEST(Tuning, BlindRotationsComeBack) {
  const auto rotation = [](int batch) {
    return TuningKey{TunedKernel::BlindRotate, 11, {2, 2, 17, batch}};
  };
  Tuning t(90);
  t.set(rotation(1056), 6);
  t.set(rotation(5000), 2);
  const std::string text = t.text("");
  EXPECT_NE(text.find("\nblind_rotate 11  2 2 17 1056 = 6\n"), std::string::npos) << text;
  Tuning back = Tuning::parse(text, "x");
  EXPECT_EQ(back.text(""), text);
  EXPECT_EQ(back.pick(rotation(1056), 0, ~0u), 6);
  EXPECT_EQ(back.pick(rotation(1057), 0, ~0u), 0);
  EXPECT_EQ(back.pick(rotation(4096), 0, ~0u), 2);
}

TEST(Tuning, ForcedAndWatched) {
  Tuning t(90);
  t.watch(true);
  EXPECT_EQ(t.pick(tile(1, 2, 3), 5, 0b101001), 5);
  t.pick(tile(1, 2, 3), 5, 0b101001);
  ASSERT_EQ(t.seen().size(), 1u);
  EXPECT_EQ(t.seen()[0].key, tile(1, 2, 3));
  EXPECT_EQ(t.seen()[0].own, 5);
  EXPECT_EQ(t.seen()[0].can_run, 0b101001u);
  t.watch(false);
  const int want[] = {0, 3, 5, 0, 3};
  for (int n = 0; n < 5; ++n) {
    t.force(n);
    EXPECT_EQ(t.pick(tile(1, 2, 3), 5, 0b101001), want[n]);
  }
  t.force(-1);
  t.set(tile(1, 2, 3), 3);
  EXPECT_EQ(t.pick(tile(1, 2, 3), 5, 0b101001), 3);
}

TEST(Tuning, OneKernelForced) {
  Tuning t(90);
  const TuningKey transform{TunedKernel::Transform, 12, {0, 2, 7}};
  t.set(transform, 1);
  t.force(TunedKernel::Transform, 3);
  EXPECT_EQ(t.pick(transform, 0, 0b1011), 3);
  EXPECT_EQ(t.pick(transform, 0, 0b0011), 1) << "the table's where it cannot run";
  EXPECT_EQ(t.pick(tile(1, 2, 3), 5, 0b101001), 5) << "no other kernel";
  t.force(0);
  EXPECT_EQ(t.pick(transform, 0, 0b1011), 3);
  EXPECT_EQ(t.pick(tile(1, 2, 3), 5, 0b101001), 0);
  t.force(-1);
  EXPECT_EQ(t.pick(transform, 0, 0b1011), 3);
  t.force(TunedKernel::Transform, -1);
  EXPECT_EQ(t.pick(transform, 0, 0b1011), 1);
}

TEST(Tuning, BadFilesAreTypedErrorsThatNameTheLine) {
  const std::string head = "latticino tuning 1\narch 90\n";
  const char* entries[] = {"convert_tile 16 12 47 4 0 3",    "convert_tile 16 12 47 4 = 3",
                           "other_kernel 16 12 47 4 0 = 3",  "convert_tile 16 12 47 4 0 = 32",
                           "convert_tile 16 12 47 4 0 = -1", "convert_tile 16 12 4096 4 0 = 1",
                           "convert_tile 99 12 47 4 0 = 1",  "convert_tile 16 12 47 4 0 = 1 2",
                           "convert_tile 16 a 47 4 0 = 1",   "="};
  for (const char* entry : entries) {
    try {
      Tuning::parse(head + "\n" + entry + "\n", "table.txt");
      ADD_FAILURE() << entry;
    } catch (const FileError& e) {
      EXPECT_NE(std::string(e.what()).find("table.txt line 4"), std::string::npos) << e.what();
    }
  }
  const std::string entry = "convert_tile 16 12 47 4 0 = 3\n";
  EXPECT_THROW(Tuning::parse(head + entry + entry, "x"), FileError);
  EXPECT_THROW(Tuning::parse("", "x"), FileError);
  EXPECT_THROW(Tuning::parse("latticino tuning 2\narch 90\n", "x"), FileError);
  EXPECT_THROW(Tuning::parse("latticino tuning 1\n", "x"), FileError);
  EXPECT_THROW(Tuning::parse("latticino tuning 1\narch x\n", "x"), FileError);
  EXPECT_THROW(Tuning::load("no/such/table.txt"), FileError);
}

TEST(Tuning, ShippedTablesAreGood) {
  ASSERT_FALSE(shipped_tunings().empty());
  for (const ShippedTuning& table : shipped_tunings()) {
    const Tuning t = Tuning::parse(table.text, table.name);
    EXPECT_EQ("sm_" + std::to_string(t.arch()), table.name);
  }
  EXPECT_EQ(Tuning::shipped(90).arch(), 90);
  EXPECT_EQ(Tuning::shipped(70).size(), 0u);
}

TEST(Tuning, ATableOfAnotherArchitectureIsRefused) {
  if (cuda_device_count() == 0) GTEST_SKIP() << "no CUDA device";
  EXPECT_THROW(make_cuda_backend({.tuning = std::make_shared<Tuning>(10)}), FileError);
  const test::TemporaryFolder folder;
  const std::string path = folder / "tuning.txt";
  std::ofstream(path) << "latticino tuning 1\narch 10\n";
  EXPECT_THROW(make_cuda_backend({.tuning_file = path}), FileError);
}

// Every variant of every kernel against the CPU.
class EveryVariant : public testing::TestWithParam<int> {
 protected:
  static std::unique_ptr<Backend> oracle() { return make_cpu_backend({true, 0}); }
  static std::unique_ptr<Backend> device() {
    auto tuning = std::make_shared<Tuning>();
    tuning->force(GetParam());
    return make_cuda_backend({.tuning = tuning});
  }
};

TEST_P(EveryVariant, ComputesTheSame) {
  if (cuda_device_count() == 0) GTEST_SKIP() << "no CUDA device";
  conformance::Options options;
  options.levels = 3;
  options.exact = false;
  for (const char* set : {"n16-d40-boot-v1", "test-n12-boot-insecure"}) {
    const auto report = conformance::run(preset(set), oracle, device, options);
    EXPECT_TRUE(report.passed()) << report.str();
  }
}

// Primes with room for lazy words, which some variants of blind rotations need.
TEST_P(EveryVariant, RotatesTheSame) {
  if (cuda_device_count() == 0) GTEST_SKIP() << "no CUDA device";
  constexpr int kRotations = 6;  // number of forms of a blind rotation that one shape can have
  if (GetParam() >= kRotations) GTEST_SKIP() << "no such variant of a blind rotation";
  conformance::Options options;
  options.exact = false;
  options.replays = 3;
  for (int log_n = 10; log_n <= 13; ++log_n) {
    for (const int bits : {27, 30}) {
      const auto primes = test::ntt_primes(log_n, 2, 1u << bits);
      const auto report = conformance::run(log_n, primes, oracle, device, options);
      EXPECT_TRUE(report.passed()) << report.str();
    }
  }
}
// A shape has at most sixteen variants: four of the five kinds of tiles, each with its targets
// split over one to four blocks.
INSTANTIATE_TEST_SUITE_P(Tuning, EveryVariant, testing::Range(0, 16));

TEST(Tuning, LoadsRegularFilesOnly) {
  const test::TemporaryFolder own;
  const std::filesystem::path& folder = own.path();
  const std::string pipe = (folder / "pipe").string(), table = (folder / "table").string();
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  for (const std::string& path : {pipe, folder.string(), (folder / "none").string(),
                                  std::string("/dev/zero"), std::string()}) {
    EXPECT_THROW(Tuning::load(path), FileError) << path;
  }
  std::ofstream(table) << "latticino tuning 1\narch 90\nconvert_tile 16  12 47 4 0 = 3\n";
  EXPECT_EQ(Tuning::load(table).size(), 1u);
  std::filesystem::resize_file(table, std::uintmax_t{1} << 40);
  EXPECT_THROW(Tuning::load(table), FileError);
}

}  // namespace
}  // namespace latticino
