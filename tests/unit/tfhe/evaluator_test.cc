// Gates, sums and tables: every input of every function.
#include "tfhe/evaluator.h"

#include <gtest/gtest.h>

#include "math/errors.h"
#include "support/tfhe_support.h"

namespace latticino::tfhe {
namespace {

using test::every_message;
using test::kGates;
using test::TfheWorld;
using Messages = std::vector<std::uint32_t>;

class TfheGates : public testing::TestWithParam<const char*> {};

TEST_P(TfheGates, TruthTables) {
  TfheWorld w(GetParam());
  const Messages x = {0, 0, 1, 1}, y = {0, 1, 0, 1};
  const Ciphertext cx = w.encrypt(x, Encoding::Boolean), cy = w.encrypt(y, Encoding::Boolean);
  EXPECT_EQ(w.decrypt(cx), x);
  for (const Gate gate : kGates) {
    const Messages got = w.decrypt(w.evaluator.gate(gate, cx, cy));
    for (int i = 0; i < 4; ++i)
      EXPECT_EQ(got[i], test::truth(gate, x[i], y[i])) << int(gate) << " " << i;
  }
  EXPECT_EQ(w.decrypt(w.evaluator.logical_not(cx)), (Messages{1, 1, 0, 0}));
  const Ciphertext s = w.encrypt({0, 1}, Encoding::Boolean);
  for (std::uint32_t bit : {0u, 1u}) {
    const Ciphertext selector = w.encrypt({bit}, Encoding::Boolean);
    EXPECT_EQ(w.decrypt(w.evaluator.mux(selector, cx, cy)), bit ? x : y) << "and one for all";
  }
}

// A ciphertext with itself: errors are not counted twice, and the default set's bound holds.
TEST_P(TfheGates, OneCiphertextTwice) {
  TfheWorld w(GetParam());
  const Messages x = {0, 1};
  const Ciphertext cx = w.encrypt(x, Encoding::Boolean);
  for (const Gate gate : kGates) {
    const Messages got = w.decrypt(w.evaluator.gate(gate, cx, cx));
    for (int i = 0; i < 2; ++i)
      EXPECT_EQ(got[i], test::truth(gate, x[i], x[i])) << int(gate) << " " << i;
  }
}

TEST_P(TfheGates, PlacesOfABatch) {
  TfheWorld w(GetParam());
  const Messages x = {0, 1, 1, 0, 1, 0, 0};
  const Ciphertext cx = w.encrypt(x, Encoding::Boolean);
  const std::vector<std::vector<std::uint32_t>> places = {
      {2}, {1, 2, 3}, {0, 2, 4, 6}, {6, 5, 4}, {3, 3, 3}, {0, 0, 5, 6, 1, 3, 5, 2}, {4, 4}};
  for (const auto& p : places) {
    Messages want;
    for (const std::uint32_t i : p) want.push_back(x[i]);
    const Ciphertext part = take(cx, p);
    EXPECT_EQ(w.decrypt(part), want);
    const Ciphertext both[] = {part, w.evaluator.clear(Messages{0, 0, 1, 1, 0}, Encoding::Boolean),
                               cx};
    Messages all = want;
    all.insert(all.end(), {0, 0, 1, 1, 0});
    all.insert(all.end(), x.begin(), x.end());
    EXPECT_EQ(w.decrypt(concatenate(both)), all);
    EXPECT_EQ(concatenate(both).norm2, 1);
    // Views with gaps are operands like any other.
    EXPECT_EQ(w.decrypt(w.evaluator.gate(Gate::Xor, part, part)), Messages(p.size(), 0));
  }
  EXPECT_EQ(take(cx, places[2]).buffer, cx.buffer) << "evenly spaced: no copy";
  EXPECT_THROW(take(cx, std::vector<std::uint32_t>{7}), ShapeError);
  EXPECT_THROW(take(cx, {}), ShapeError);
  EXPECT_THROW(concatenate({}), ShapeError);
}

TEST_P(TfheGates, ResultsFeedOnEachOther) {
  TfheWorld w(GetParam());
  // A full adder, twice.
  const Messages x = every_message(8);
  std::array<Ciphertext, 3> bit;
  for (int b = 0; b < 3; ++b) {
    Messages m;
    for (const std::uint32_t v : x) m.push_back(v >> b & 1);
    bit[b] = w.encrypt(m, Encoding::Boolean);
  }
  const Evaluator& e = w.evaluator;
  for (int round = 0; round < 2; ++round) {
    const Gate gates[] = {Gate::Xor, Gate::And};
    const Ciphertext left[] = {bit[0], bit[0]}, right[] = {bit[1], bit[1]};
    const std::vector<Ciphertext> half = e.gates(gates, left, right);
    const Ciphertext sum = e.gate(Gate::Xor, half[0], bit[2]);
    const Ciphertext carry = e.mux(half[0], bit[2], bit[0]);
    const Messages s = w.decrypt(sum), c = w.decrypt(carry), a = w.decrypt(half[1]);
    Messages in[3];
    for (int b = 0; b < 3; ++b) in[b] = w.decrypt(bit[b]);
    for (std::size_t i = 0; i < x.size(); ++i) {
      EXPECT_EQ(s[i] + 2 * c[i], in[0][i] + in[1][i] + in[2][i]) << i;
      EXPECT_EQ(a[i], in[0][i] & in[1][i]);
    }
    bit[2] = carry;
  }
}

INSTANTIATE_TEST_SUITE_P(Keys, TfheGates,
                         testing::Values("test-tfhe-gates-insecure", "test-tfhe-gates-v2-insecure",
                                         "test-tfhe-ternary-insecure",
                                         "test-tfhe-group3-insecure"));

struct Integers : testing::Test {
  TfheWorld w{"test-tfhe-2-2-insecure"};
  const Evaluator& e = w.evaluator;
};

TEST_F(Integers, TablesOfEveryMessage) {
  const Messages m = every_message(16, 4);
  const Ciphertext x = w.encrypt(m, Encoding::Padded);
  EXPECT_EQ(w.decrypt(x), m);
  const auto f = [](std::uint32_t v) { return (v * v * 7 + 3) % 16; };
  const Ciphertext y = e.apply(x, make_table(w.context, f));
  Messages want;
  for (const std::uint32_t v : m) want.push_back(f(v));
  EXPECT_EQ(w.decrypt(y), want);
  EXPECT_EQ(y.largest, 15u);
  EXPECT_EQ(w.decrypt(e.apply(y, make_table(w.context, [](auto v) { return v; }))), want);
}

// 2^t functions of the messages below 2^(4 - f), of all of them, for every t and f that the small
// set has room for.
TEST_F(Integers, SeveralTablesOverOneRotation) {
  for (int f = 0; f <= 3; ++f) {
    const Messages m = every_message(16u >> f, 2);
    Ciphertext x = w.encrypt(m, Encoding::Padded);
    x.largest = (16u >> f) - 1;
    for (int t = 0; t <= std::min(3, f + 2); ++t) {
      SCOPED_TRACE(std::to_string(1 << t) + " functions of " + std::to_string(16 >> f));
      std::vector<Messages> values(std::size_t{1} << t, every_message(16u >> f));
      for (std::size_t k = 0; k < values.size(); ++k) {
        for (std::uint32_t& v : values[k]) v = (v * v * 7 + static_cast<std::uint32_t>(k) * 3) % 16;
      }
      for (const Encoding out : {Encoding::Padded, Encoding::Full}) {
        const auto got = e.apply_many(x, make_table(w.context, values, out));
        ASSERT_EQ(got.size(), values.size());
        for (std::size_t k = 0; k < values.size(); ++k) {
          const Messages result = w.decrypt(got[k]);
          for (std::size_t i = 0; i < m.size(); ++i) EXPECT_EQ(result[i], values[k][m[i]]) << k;
        }
      }
    }
  }
}

TEST_F(Integers, LargestOfSeveralTables) {
  const Messages m = every_message(16);
  const std::vector<Messages> values = {m, Messages(m.rbegin(), m.rend()), Messages(16, 5),
                                        every_message(2, 8)};
  const Table table = make_table(w.context, values, Encoding::Padded);
  const std::vector<Ciphertext> got = e.apply_many(w.encrypt(m, Encoding::Padded), table);
  ASSERT_EQ(got.size(), 4u);
  for (int t = 0; t < 4; ++t) {
    EXPECT_EQ(w.decrypt(got[t]), values[t]) << t;
    EXPECT_EQ(got[t].largest, t == 2 ? 5u : t == 3 ? 1u : 15u);
  }
}

TEST_F(Integers, TablesSideBySide) {
  const Messages m = every_message(16), few = {3, 9};
  const Table twice = make_table(w.context, [](auto v) { return 2 * v % 16; });
  const Table high = make_table(w.context, [](auto v) { return v >> 2; });
  const Ciphertext x[] = {w.encrypt(m, Encoding::Padded), w.encrypt(few, Encoding::Padded)};
  const Table* tables[] = {&twice, &high};
  const std::vector<Ciphertext> got = e.apply_each(x, tables);
  for (std::uint32_t i = 0; i < 16; ++i) EXPECT_EQ(w.decrypt(got[0])[i], 2 * i % 16);
  EXPECT_EQ(w.decrypt(got[1]), (Messages{0, 2}));

  Ciphertext small = w.encrypt({0, 1, 2, 3}, Encoding::Padded);
  small.largest = 3;
  const std::vector<Messages> of_four = {{0, 1, 2, 3}, {3, 2, 1, 0}}, of_all = {m, Messages(16, 7)};
  const Table one = make_table(w.context, of_four, Encoding::Padded),
              two = make_table(w.context, of_all, Encoding::Padded);
  const Ciphertext both[] = {small, x[1]};
  const Table* several[] = {&one, &two};
  const std::vector<Ciphertext> pairs = e.apply_each(both, several);
  ASSERT_EQ(pairs.size(), 4u);
  for (int k = 0; k < 2; ++k) EXPECT_EQ(w.decrypt(pairs[k]), of_four[k]);
  EXPECT_EQ(w.decrypt(pairs[2]), few);
  EXPECT_EQ(w.decrypt(pairs[3]), (Messages{7, 7}));
  const Table* unlike[] = {&one, &twice};
  EXPECT_THROW(e.apply_each(both, unlike), ShapeError);
}

TEST_F(Integers, FullMessagesWrapAndLookUp) {
  const Messages m = every_message(16);
  const Ciphertext x = w.encrypt(m, Encoding::Full);
  const Ciphertext y = e.multiply_clear(e.sub(e.add_clear(x, 13), e.add(x, x)), 3);
  const auto f = [](std::uint32_t v) { return (v * 5 + 1) % 16; };
  const Ciphertext z = e.apply_full(y, make_table(w.context, f, Encoding::Padded));
  const Ciphertext full = e.apply_full(y, make_table(w.context, f, Encoding::Full));
  for (std::uint32_t i = 0; i < 16; ++i) {
    const std::uint32_t want = 3 * (i + 13 + 2 * 16 - 2 * i) % 16;
    EXPECT_EQ(w.decrypt(y)[i], want);
    EXPECT_EQ(w.decrypt(z)[i], f(want));
    EXPECT_EQ(w.decrypt(full)[i], f(want));
  }
}

TEST_F(Integers, TablesOfFullMessagesShareABootstrapping) {
  const Messages m = every_message(16);
  const Ciphertext x = w.encrypt(m, Encoding::Full);
  const Table negative = make_table(
                  w.context, [](auto v) { return (16 - v) % 16; }, Encoding::Full),
              high = make_table(w.context, [](auto v) { return v / 4; });
  const Table* tables[] = {&negative, &high};
  const std::vector<Ciphertext> got = e.apply_full(x, tables);
  ASSERT_EQ(got.size(), 2u);
  EXPECT_EQ(got[1].encoding, Encoding::Padded);
  EXPECT_EQ(got[1].largest, 3u);
  EXPECT_EQ(w.decrypt(e.add(x, got[0])), Messages(16, 0));
  for (std::uint32_t i = 0; i < 16; ++i) EXPECT_EQ(w.decrypt(got[1])[i], i / 4);
  EXPECT_THROW(e.apply_full(x, std::span<const Table* const>{}), ShapeError);
}

// The phase is doubled. Sums that wrap have the largest message as their bound, and can be saved.
TEST_F(Integers, PaddedMessagesBecomeFull) {
  const Messages m = every_message(16);
  Ciphertext x = e.to_full(w.encrypt(m, Encoding::Padded));
  EXPECT_EQ(x.norm2, 4);
  EXPECT_EQ(w.decrypt(x), m);
  x = e.add_clear(e.add(x, x), 15);
  EXPECT_EQ(e.multiply_clear(x, -7).largest, 15u);
  EXPECT_EQ(x.largest, 15u);
  const Messages got = w.decrypt(e.apply_full(x, make_table(w.context, [](auto v) { return v; })));
  for (std::uint32_t i = 0; i < 16; ++i) EXPECT_EQ(got[i], (2 * i + 15) % 16);
  EXPECT_THROW(e.to_full(x), ParameterError);
}

TEST_F(Integers, ClearCiphertexts) {
  const Ciphertext five = e.clear(Messages{5}, Encoding::Padded);
  const Ciphertext x = w.encrypt({1, 10}, Encoding::Padded);
  EXPECT_EQ(w.decrypt(five), Messages{5});
  EXPECT_EQ(five.norm2, 0);
  Ciphertext small = x;
  small.largest = 10;
  EXPECT_EQ(w.decrypt(e.add(small, five)), (Messages{6, 15}));
}

TEST_F(Integers, WrongUse) {
  const Ciphertext x = w.encrypt({1, 2, 3}, Encoding::Padded),
                   y = w.encrypt({1, 2}, Encoding::Padded);
  const Ciphertext full = w.encrypt({1}, Encoding::Full);
  const Table id = make_table(w.context, [](auto v) { return v; });
  EXPECT_THROW(w.encrypt({16}, Encoding::Padded), ValueError);
  EXPECT_THROW(w.encrypt({}, Encoding::Padded), ShapeError);
  EXPECT_THROW(w.encrypt({1}, Encoding::Boolean), ParameterError);
  EXPECT_THROW(e.add(x, x), LevelError) << "could exceed 15";
  EXPECT_THROW(e.add(full, y), ParameterError);
  EXPECT_THROW(e.sub(x, y), ParameterError);
  EXPECT_THROW(e.gate(Gate::And, x, x), ParameterError);
  EXPECT_THROW(e.apply(full, id), ParameterError);
  EXPECT_THROW(e.apply_full(x, id), ParameterError);
  EXPECT_THROW(e.multiply_clear(x, -1), ValueError);
  EXPECT_THROW(e.add(e.apply(x, make_table(w.context, [](auto) { return 1u; })),
                     e.apply(y, make_table(w.context, [](auto) { return 1u; }))),
               ShapeError);
  EXPECT_THROW(make_table(w.context, [](auto v) { return v + 1; }), ValueError);
  const std::vector<Messages> three(3, every_message(16)), short_one(1, Messages(15, 0));
  EXPECT_THROW(make_table(w.context, three, Encoding::Padded), ShapeError);
  EXPECT_THROW(make_table(w.context, short_one, Encoding::Padded), ShapeError);
  const std::vector<Messages> unlike = {every_message(8), every_message(4)},
                              long_one(1, Messages(32, 0)), many(128, every_message(16)),
                              of_eight(1, every_message(8));
  EXPECT_THROW(make_table(w.context, unlike, Encoding::Padded), ShapeError);
  EXPECT_THROW(make_table(w.context, long_one, Encoding::Padded), ShapeError);
  EXPECT_THROW(make_table(w.context, many, Encoding::Padded), ShapeError);
  const Table eight = make_table(w.context, of_eight, Encoding::Padded);
  EXPECT_THROW(e.apply(x, eight), LevelError) << "x may be up to 15";
  EXPECT_THROW(e.apply_full(full, eight), ShapeError);
  EXPECT_THROW(Evaluator(w.context, nullptr).apply(x, id), KeyError);
  Ciphertext noisy = x;
  noisy.norm2 = 1e12;
  EXPECT_THROW(e.apply(noisy, id), LevelError);
  EXPECT_THROW(w.decrypt(noisy), LevelError);

  TfheWorld other("test-tfhe-2-2-insecure", true, 2);
  EXPECT_THROW(other.decrypt(x), KeyError);
  EXPECT_THROW(other.evaluator.apply(x, id), ContextError);
  EXPECT_THROW(e.apply(x, make_table(other.context, [](auto v) { return v; })), ContextError);
  TfheWorld gates("test-tfhe-gates-insecure");
  EXPECT_THROW(Evaluator(w.context, gates.keys), ContextError);
  EXPECT_THROW(encrypt(w.context, gates.secret, Messages{1}, Encoding::Padded, w.random),
               ContextError);
  EXPECT_THROW(make_server_keys(*w.context, gates.secret, w.random), ContextError);
}

TEST(TfheSecret, RestoreChecks) {
  TfheWorld w("test-tfhe-gates-insecure");
  const std::vector<std::int8_t> lwe(w.secret.lwe().begin(), w.secret.lwe().end());
  const std::vector<std::int8_t> glwe(w.secret.glwe().begin(), w.secret.glwe().end());
  const SecretKey again = SecretKey::restore(w.params, w.secret.id(), lwe, glwe);
  EXPECT_EQ(tfhe::decrypt(again, w.encrypt({1, 0}, Encoding::Boolean)), (Messages{1, 0}));
  std::vector<std::int8_t> bad = lwe;
  bad[3] = -1;
  EXPECT_THROW(SecretKey::restore(w.params, w.secret.id(), bad, glwe), KeyError);
  bad.pop_back();
  EXPECT_THROW(SecretKey::restore(w.params, w.secret.id(), bad, glwe), KeyError);
  EXPECT_THROW(SecretKey::restore(w.params, w.secret.id(), glwe, lwe), KeyError);
}

TEST(TfheRecording, ReplaysAndDryRuns) {
  TfheWorld w("test-tfhe-gates-insecure");
  const Ciphertext x = w.encrypt({0, 0, 1, 1}, Encoding::Boolean),
                   y = w.encrypt({0, 1, 0, 1}, Encoding::Boolean);
  Ciphertext out;
  Program program = w.context->queue().record([&] { out = w.evaluator.gate(Gate::Nand, x, y); });
  program.run();
  EXPECT_EQ(w.decrypt(out), (Messages{1, 1, 1, 0}));

  const auto dry = Context::create_dry(w.params);
  const Evaluator e(dry, allocate_server_keys(*dry, {}));
  e.gate(Gate::And, e.clear(Messages(100, 1), Encoding::Boolean),
         e.clear(Messages(1, 1), Encoding::Boolean));
  const DryReport report = dry->queue().report();
  EXPECT_EQ(report.operations_by_name.at("BlindRotate"), 1u);
  EXPECT_GT(report.bytes_by_name.at("BlindRotate"), w.params->bootstrap_key_bytes());
}

TEST(TfheRecording, UsedKeysHaveTheFormThatTheFirstRotationMakes) {
  for (const auto arithmetic : {BlindRotateArithmetic::Exact, BlindRotateArithmetic::Fft64}) {
    const bool fft64 = arithmetic == BlindRotateArithmetic::Fft64;
    const auto context = Context::create_dry(tfhe_preset("tfhe-2-2-v1"), arithmetic);
    const auto fresh = allocate_server_keys(*context, {}),
               used = allocate_used_server_keys(*context);
    EXPECT_EQ(used->bytes(), fresh->bytes());
    EXPECT_EQ(used->fourier != nullptr, fft64);
    if (fft64) EXPECT_EQ(used->bytes() + used->fourier->bytes(), used->device_bytes(*context));
    const auto makes_it = [&](const ServerKeys& keys) {
      blind_rotation(*context, keys);
      return context->queue().report().operations_by_name.contains("FourierKey");
    };
    EXPECT_FALSE(makes_it(*used));
    EXPECT_EQ(makes_it(*fresh), fft64);
  }
}

}  // namespace
}  // namespace latticino::tfhe
