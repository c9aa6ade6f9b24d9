// Files of switching keys.
#include <gtest/gtest.h>

#include <algorithm>

#include "io/switch_files.h"
#include "math/errors.h"
#include "support/io_support.h"
#include "support/switch_world.h"

namespace latticino::switching {
namespace {

using test::Bytes;
using test::saved;

const char* const kSmall = "test-switch-n10-insecure";

Bytes file_of(const SwitchWorld& w) {
  return saved([&](io::Sink& sink) { io::save_keys(sink, *w.context(), *w.keys()); });
}

TEST(SwitchFiles, KeysRoundTripInEveryPart) {
  SwitchWorld& w = SwitchWorld::of(kSmall);
  const Bytes bytes = file_of(w);
  EXPECT_LT(bytes.size(), 0.55 * static_cast<double>(w.keys()->bytes()));  // seeds for masks
  io::MemorySource source(bytes);
  const auto loaded = io::load_switch_keys(source, *w.context());
  EXPECT_EQ(loaded->ckks_id, w.keys()->ckks_id);
  EXPECT_EQ(loaded->tfhe->id, w.keys()->tfhe->id);
  EXPECT_EQ(loaded->bytes(), w.keys()->bytes());
  EXPECT_EQ(saved([&](io::Sink& sink) { io::save_keys(sink, *w.context(), *loaded); }), bytes);
  // Masks too: the words are the same after a round trip.
  const SwitchPlan plan(w, {32, 1});
  const Switcher other(w.context(), loaded, {32, 1});
  const Table table = make_table(
      w.context(), [](double v) { return v * v; }, 1);
  const ckks::Ciphertext x = plan.encrypt(SwitchWorld::spread(32, 1));
  const ckks::Ciphertext y = plan.plan().apply(plan.evaluator(), x, table);
  const ckks::Ciphertext z = other.apply(plan.evaluator(), x, table);
  for (int h = 0; h < 2; ++h) {
    EXPECT_EQ(w.ckks().download(y.parts[h]), w.ckks().download(z.parts[h]));
  }
}

// Keys of products make the file one of version 2; without them it is one of version 1.
TEST(SwitchFiles, KeysOfProductsAreSavedToo) {
  SwitchWorld w(kSmall);
  const Bytes without = file_of(w);
  w.need({32, 512});
  w.need({1, 512});
  const Bytes bytes = file_of(w);
  EXPECT_EQ(without[8], 1);
  EXPECT_EQ(bytes[8], 2);
  io::MemorySource source(bytes);
  const auto loaded = io::load_switch_keys(source, *w.context());
  EXPECT_EQ(loaded->bytes(), w.keys()->bytes());
  EXPECT_EQ(saved([&](io::Sink& sink) { io::save_keys(sink, *w.context(), *loaded); }), bytes);
  for (const auto& [shape, key] : w.keys()->matvec) {
    const MatvecKey& other = loaded->matvec.at(shape);
    ASSERT_EQ(other.diagonals.size(), key.diagonals.size());
    for (std::size_t d = 0; d < key.diagonals.size(); ++d) {
      for (int h = 0; h < 2; ++h) {
        EXPECT_EQ(w.ckks().download(other.diagonals[d].parts[h]),
                  w.ckks().download(key.diagonals[d].parts[h]));
      }
    }
  }
}

// The checksums are correct. A shape that no set has is refused, and not read as a similar one.
TEST(SwitchFiles, ShapesBeyondThirtyOneBitsAreRefused) {
  SwitchWorld w(kSmall);
  w.need({1, 512});
  const Bytes bytes = file_of(w);
  // After the id come four seeds, those of packing, and the count of shapes.
  const std::size_t rows =
      io::kHeaderBytes + 16 + 32 * (4 + packing_elements(w.params()).size()) + 4;
  ASSERT_EQ(bytes[rows], 1);
  for (const std::size_t at : {rows, rows + 4}) {
    Bytes altered = bytes;
    altered[at + 3] ^= 0x80;
    test::repair(altered);
    io::MemorySource source(altered);
    EXPECT_THROW(io::load_switch_keys(source, *w.context()), FileError) << at;
  }
}

TEST(SwitchFiles, BothKeysHaveAnId) {
  const Bytes bytes = file_of(SwitchWorld::of(kSmall));
  for (const std::size_t at : {std::size_t{56}, io::kHeaderBytes}) {
    Bytes altered = bytes;
    std::fill_n(altered.begin() + static_cast<std::ptrdiff_t>(at), 16, std::uint8_t{0});
    test::repair(altered);
    io::MemorySource source(altered);
    EXPECT_THROW(io::load_switch_keys(source, *SwitchWorld::of(kSmall).context()), FileError) << at;
  }
}

TEST(SwitchFiles, OtherParametersAndSchemesAreRefused) {
  SwitchWorld& w = SwitchWorld::of(kSmall);
  const Bytes bytes = file_of(w);
  SwitchWorld& other = SwitchWorld::of("test-switch-n12-insecure");
  io::MemorySource source(bytes);
  EXPECT_THROW(io::load_switch_keys(source, *other.context()), ContextError);
  io::MemorySource as_ckks(bytes);
  EXPECT_THROW(io::load_keys(as_ckks, w.ckks().context()->constants(), w.context()->queue()),
               FileError);
  EXPECT_THROW(saved([&](io::Sink& sink) { io::save_keys(sink, *other.context(), *w.keys()); }),
               ContextError);
}

TEST(SwitchFiles, DamageIsFound) {
  SwitchWorld& w = SwitchWorld::of(kSmall);
  const Bytes bytes = file_of(w);
  // In the header, the seeds, each kind of payload and the trailer.
  for (const double part : {0.0, 1e-5, 4e-5, 0.001, 0.01, 0.3, 0.6, 0.99, 1.0}) {
    Bytes altered = bytes;
    altered[static_cast<std::size_t>(part * static_cast<double>(bytes.size() - 1))] ^= 0x80;
    io::MemorySource source(altered);
    EXPECT_THROW(io::load_switch_keys(source, *w.context()), FileError) << part;
  }
  for (const std::size_t length : {std::size_t{0}, std::size_t{95}, bytes.size() - 1}) {
    const Bytes cut(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(length));
    io::MemorySource source(cut);
    EXPECT_THROW(io::load_switch_keys(source, *w.context()), FileError) << length;
  }
}

}  // namespace
}  // namespace latticino::switching
