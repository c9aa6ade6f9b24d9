// Final answers: ciphertexts at level 0 without the bits that decrypting does not need.
#include <gtest/gtest.h>

#include <cmath>

#include "io/files.h"
#include "io/final_ciphertext.h"
#include "math/errors.h"
#include "support/io_support.h"

namespace latticino::io {
namespace {

using ckks::Ciphertext;
using test::Bytes;
using test::FileWorld;
using test::saved;

FileWorld& world() {
  static FileWorld w(preset("test-n10-boot-insecure"));
  return w;
}

std::vector<double> decrypted(const Bytes& bytes) {
  MemorySource source(bytes);
  const Ciphertexts loaded = load_ciphertexts(source, world().context);
  EXPECT_TRUE(loaded.final);
  EXPECT_EQ(loaded.note, "note");
  EXPECT_EQ(loaded.ciphertexts.size(), 1u);
  return world().coefficients(loaded.ciphertexts[0]);
}

// The largest difference at multiples of `gap`.
double largest(const std::vector<double>& a, const std::vector<double>& b, std::size_t gap = 1) {
  double out = 0;
  for (std::size_t i = 0; i < a.size(); i += gap) out = std::max(out, std::abs(a[i] - b[i]));
  return out;
}

TEST(FinalAnswer, NothingIsLostWithoutShifts) {
  const Ciphertext x = world().encrypt(world().message(), 0);
  const Bytes bytes = saved([&](Sink& s) { save_final(s, {&x, 1}, "note", {}); });
  EXPECT_EQ(decrypted(bytes), world().coefficients(x));
  EXPECT_LT(bytes.size(), 0.8 * saved([&](Sink& s) {
                                  Ciphertext whole = x;
                                  whole.seed.reset();
                                  save_ciphertexts(s, {&whole, 1}, "note");
                                }).size())
      << "50 bits of 64";
}

TEST(FinalAnswer, ShiftsAddTheErrorOfTheirRounding) {
  const Ciphertext x = world().encrypt(world().message(), 0);
  const auto n = static_cast<double>(world().params->n());
  for (const FinalForm form : {FinalForm{1, 20, 0}, FinalForm{1, 0, 16}, FinalForm{64, 22, 18}}) {
    const Bytes bytes = saved([&](Sink& s) { save_final(s, {&x, 1}, "note", form); });
    const double b = std::exp2(form.shift_b), a = std::exp2(form.shift_a);
    const double sigma =
        std::sqrt((b * b + a * a * 2 * n / 3) / 12) / static_cast<double>(form.factor);
    const double had = largest(decrypted(bytes), world().coefficients(x));
    EXPECT_LT(had, 6 * sigma);
    EXPECT_GT(had, sigma);
  }
}

TEST(FinalAnswer, FewSlotsHaveFewCoefficientsOfTheFirstPart) {
  Ciphertext x = world().encrypt(world().message(), 0);
  const std::size_t full = saved([&](Sink& s) { save_final(s, {&x, 1}, "note", {}); }).size();
  x.slots = 4;
  const Bytes bytes = saved([&](Sink& s) { save_final(s, {&x, 1}, "note", {}); });
  EXPECT_LT(bytes.size(), 0.53 * static_cast<double>(full));
  EXPECT_EQ(largest(decrypted(bytes), world().coefficients(x), world().params->n() / 8), 0);
}

TEST(FinalAnswer, WhatIsNoAnswerIsRefused) {
  const Ciphertext high = world().encrypt(world().message(), 1);
  const Ciphertext x = world().encrypt(world().message(), 0);
  MemorySink sink;
  EXPECT_THROW(save_final(sink, {&high, 1}, "", {}), LevelError);
  EXPECT_THROW(save_final(sink, {&x, 1}, "", {0, 0, 0}), ValueError);
  EXPECT_THROW(save_final(sink, {&x, 1}, "", {1, 43, 0}), ValueError);
  EXPECT_THROW(save_final(sink, {&x, 1}, "", {1, 0, -1}), ValueError);
}

TEST(FinalAnswer, HostileFieldsAreRefused) {
  const Ciphertext x = world().encrypt(world().message(), 0);
  const Bytes bytes = saved([&](Sink& s) { save_final(s, {&x, 1}, "", {1, 10, 9}); });
  const std::size_t entry = kHeaderBytes + 4 + 4;  // after an empty note and the count
  // Invalid slots, scale and shifts.
  for (const auto& [at, value] : std::vector<std::pair<std::size_t, std::uint8_t>>{
           {entry, 3}, {entry + 3, 0xff}, {entry + 11, 0xff}, {entry + 12, 63}, {entry + 13, 0}}) {
    Bytes b = bytes;
    ASSERT_NE(b[at], value);
    b[at] = value;
    test::repair(b);
    MemorySource source(b);
    EXPECT_THROW(load_ciphertexts(source, world().context), FileError) << at - entry;
  }
  Bytes above = bytes;  // the last coefficient, above q0
  for (std::size_t i = 1; i <= 5; ++i) above[bytes.size() - kDigestBytes - i] = 0xff;
  test::repair(above);
  MemorySource source(above);
  EXPECT_THROW(load_ciphertexts(source, world().context), FileError);
}

}  // namespace
}  // namespace latticino::io
