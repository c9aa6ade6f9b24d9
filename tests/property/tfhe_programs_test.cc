// Random programs of gates, and of sums and tables of small integers, against the same steps in the
// clear.
#include <gtest/gtest.h>

#include <map>
#include <random>

#include "support/tfhe_support.h"

namespace latticino::tfhe {
namespace {

using test::kGates;
using test::TfheWorld;
using Messages = std::vector<std::uint32_t>;

struct Case {
  const char* set;
  BlindRotateArithmetic arithmetic;
  friend std::ostream& operator<<(std::ostream& out, const Case& c) {
    return out << c.set << ", " << name(c.arithmetic);
  }
};
constexpr auto kExact = BlindRotateArithmetic::Exact, kFft64 = BlindRotateArithmetic::Fft64;

// Ciphertexts and what they hold; a batch of one goes with every element.
struct Value {
  Ciphertext x;
  Messages clear;
};

class Program {
 public:
  Program(const Case& c, unsigned seed)
      : w(tfhe_preset(c.set), true, static_cast<std::uint8_t>(seed), c.arithmetic),
        e(w.evaluator),
        draw_(seed) {}

  std::uint32_t below(std::uint32_t count) { return static_cast<std::uint32_t>(draw_() % count); }
  Messages messages(std::uint32_t size, std::uint32_t count) {
    Messages out(size);
    for (std::uint32_t& m : out) m = below(count);
    return out;
  }
  Value fresh(std::uint32_t size, std::uint32_t count, Encoding encoding) {
    Value v{{}, messages(size, count)};
    v.x = w.encrypt(v.clear, encoding);
    v.x.largest = count - 1;
    return v;
  }
  template <class F>
  static Messages each(const Value& a, const Value& b, const F& f) {
    Messages out(std::max(a.clear.size(), b.clear.size()));
    for (std::size_t i = 0; i < out.size(); ++i) {
      out[i] = f(a.clear[a.clear.size() == 1 ? 0 : i], b.clear[b.clear.size() == 1 ? 0 : i]);
    }
    return out;
  }
  template <class F>
  static Messages each(const Value& a, const F& f) {
    return each(a, a, [&](std::uint32_t v, std::uint32_t) { return f(v); });
  }
  // Checks the result, which then replaces an element of the pool.
  void keep(std::vector<Value>& pool, const char* step, Ciphertext x, Messages clear) {
    ++steps[step];
    ASSERT_EQ(w.decrypt(x), clear) << step << " " << x.str();
    if (x.encoding == Encoding::Padded) {
      ASSERT_LE(*std::max_element(clear.begin(), clear.end()), x.largest) << step;
    }
    pool[below(static_cast<std::uint32_t>(pool.size()))] = {std::move(x), std::move(clear)};
  }

  TfheWorld w;
  const Evaluator& e;
  std::map<std::string, int> steps;

 private:
  std::mt19937 draw_;
};

class GatePrograms : public testing::TestWithParam<Case>, public Program {
 public:
  GatePrograms() : Program(GetParam(), 5) {}
  void gate(const Value& a, const Value& b) {
    const Gate g = kGates[below(std::size(kGates))];
    keep(pool, "gate", e.gate(g, a.x, b.x),
         each(a, b, [&](auto u, auto v) { return test::truth(g, u, v); }));
  }
  // Two gates in one rotation, of which the second result is kept.
  void gates(const Value& a, const Value& b, const Value& c) {
    const Gate g[] = {kGates[below(std::size(kGates))], kGates[below(std::size(kGates))]};
    const Ciphertext left[] = {a.x, b.x}, right[] = {b.x, c.x};
    const std::vector<Ciphertext> both = e.gates(g, left, right);
    ASSERT_EQ(w.decrypt(both[0]),
              each(a, b, [&](auto u, auto v) { return test::truth(g[0], u, v); }));
    keep(pool, "gates", both[1],
         each(b, c, [&](auto u, auto v) { return test::truth(g[1], u, v); }));
  }
  void mux(const Value& s, const Value& a, const Value& b) {
    const Value yes{{}, each(s, a, [](auto c, auto v) { return c & v; })};
    const Value no{{}, each(s, b, [](auto c, auto v) { return (1 - c) & v; })};
    keep(pool, "mux", e.mux(s.x, a.x, b.x), each(yes, no, [](auto u, auto v) { return u | v; }));
  }
  void places(const Value& a) {
    const Messages p = messages(kBatch, a.x.size());
    Messages clear;
    for (const std::uint32_t i : p) clear.push_back(a.clear[i]);
    keep(pool, "take", take(a.x, p), std::move(clear));
  }

 protected:
  static constexpr std::uint32_t kBatch = 4;
  std::vector<Value> pool;
};

TEST_P(GatePrograms, AsInTheClear) {
  for (const std::uint32_t size : {kBatch, kBatch, kBatch, 1u}) {
    pool.push_back(fresh(size, 2, Encoding::Boolean));
  }
  for (int step = 0; step < 60 && !HasFatalFailure(); ++step) {
    const Value a = pool[below(4)], b = pool[below(4)], c = pool[below(4)];
    switch (below(6)) {
      case 0:
        mux(a, b, c);
        break;
      case 1:
        gates(a, b, c);
        break;
      case 2:
        keep(pool, "not", e.logical_not(a.x), each(a, [](auto v) { return 1 - v; }));
        break;
      case 3:
        places(a);
        break;
      default:
        gate(a, b);
    }
  }
  EXPECT_EQ(steps.size(), 5u);
}

INSTANTIATE_TEST_SUITE_P(Sets, GatePrograms,
                         testing::Values(Case{"test-tfhe-gates-insecure", kExact},
                                         Case{"test-tfhe-gates-insecure", kFft64},
                                         Case{"test-tfhe-gates-v2-insecure", kExact},
                                         Case{"test-tfhe-gates-v2-insecure", kFft64},
                                         Case{"test-tfhe-ternary-insecure", kExact},
                                         Case{"test-tfhe-group3-insecure", kExact},
                                         Case{"test-tfhe-group3-insecure", kFft64}));

class BlockPrograms : public testing::TestWithParam<Case>, public Program {
 public:
  BlockPrograms() : Program(GetParam(), 6) {}

  // Sums that fit, and that a table still accepts.
  bool fits(double norm2, std::uint32_t largest) const { return largest < 16 && e.decides(norm2); }
  void sum(const Value& a, const Value& b) {
    if (same(a.x, b.x) || !fits(a.x.norm2 + b.x.norm2, a.x.largest + b.x.largest)) return;
    keep(padded, "add", e.add(a.x, b.x), each(a, b, std::plus<>()));
  }
  void pack(const Value& a, const Value& b) {
    const std::uint32_t factor = b.x.largest + 1;
    const double norm2 = factor * factor * a.x.norm2 + b.x.norm2;
    if (same(a.x, b.x) || !fits(norm2, a.x.largest * factor + b.x.largest)) return;
    keep(padded, "pack", e.pack(a.x, b.x, static_cast<int>(factor)),
         each(a, b, [&](auto u, auto v) { return u * factor + v; }));
  }
  void multiply(const Value& a) {
    const std::uint32_t factor = below(4);
    if (!fits(factor * factor * a.x.norm2, factor * a.x.largest)) return;
    keep(padded, "multiply", e.multiply_clear(a.x, static_cast<int>(factor)),
         each(a, [&](auto v) { return factor * v; }));
  }
  void complement(const Value& a) {
    const std::uint32_t m = std::bit_ceil(a.x.largest + 1) - 1;
    keep(padded, "complement", e.complement(a.x, m), each(a, [&](auto v) { return m - v; }));
  }
  // One of 2^t random functions of as many messages as leave room for them.
  void several(const Value& a) {
    const int room = std::countl_zero(a.x.largest) - 28;  // the free bits of 4
    const int t = static_cast<int>(below(static_cast<std::uint32_t>(room + 1)));
    const auto entries =
        16u >> (t + static_cast<int>(below(static_cast<std::uint32_t>(room - t + 1))));
    std::vector<Messages> values(std::size_t{1} << t);
    for (Messages& f : values) f = messages(entries, 2u << below(4));
    const auto got = e.apply_many(a.x, make_table(w.context, values, Encoding::Padded));
    ASSERT_EQ(got.size(), values.size());
    const std::uint32_t k = below(1u << t);
    keep(padded, t > 0 ? "apply_many" : "apply", got[k],
         each(a, [&](auto v) { return values[k][v]; }));
  }
  void side_by_side(const Value& a, const Value& b) {
    const std::vector<Messages> f = {messages(16, 16)}, g = {messages(16, 4)};
    const Table first = make_table(w.context, f, Encoding::Padded),
                second = make_table(w.context, g, Encoding::Padded);
    const Ciphertext x[] = {a.x, b.x};
    const Table* tables[] = {&first, &second};
    const std::vector<Ciphertext> got = e.apply_each(x, tables);
    ASSERT_EQ(w.decrypt(got[0]), each(a, [&](auto v) { return f[0][v]; }));
    keep(padded, "apply_each", got[1], each(b, [&](auto v) { return g[0][v]; }));
  }
  void full_sums(const Value& a, const Value& b) {
    const auto m = below(16);
    const int factor = static_cast<int>(below(7)) - 3;
    if (same(a.x, b.x) || !e.decides((factor * factor * a.x.norm2 + b.x.norm2) / 4 + 1)) return;
    const Ciphertext x = e.sub(e.add_clear(e.multiply_clear(a.x, factor), m), b.x);
    keep(full, "full", x, each(a, b, [&](auto u, auto v) {
           return (static_cast<std::uint32_t>(factor) * u + m - v) % 16;
         }));
  }
  void full_tables(const Value& a) {
    const std::vector<Messages> f = {messages(16, 16)}, g = {messages(16, 2u << below(4))};
    const Table to_full = make_table(w.context, f, Encoding::Full),
                to_padded = make_table(w.context, g, Encoding::Padded);
    const Table* tables[] = {&to_full, &to_padded};
    const std::vector<Ciphertext> got = e.apply_full(a.x, tables);
    keep(padded, "apply_full", got[1], each(a, [&](auto v) { return g[0][v]; }));
    keep(full, "apply_full", got[0], each(a, [&](auto v) { return f[0][v]; }));
  }
  void step() {
    const Value a = padded[below(5)], b = padded[below(5)], c = full[below(3)], d = full[below(3)];
    switch (below(10)) {
      case 0:
        return sum(a, b);
      case 1:
        return pack(a, b);
      case 2:
        return multiply(a);
      case 3:
        return complement(a);
      case 4:
        return side_by_side(a, b);
      case 5:
        return full_sums(c, d);
      case 6:
        return full_tables(c);
      case 7:
        if (e.decides(a.x.norm2 + 1)) keep(full, "to_full", e.to_full(a.x), a.clear);
        return;
      default:
        return several(a);
    }
  }

 protected:
  std::vector<Value> padded, full;
};

TEST_P(BlockPrograms, AsInTheClear) {
  for (const std::uint32_t size : {5u, 5u, 5u, 5u, 1u}) {
    padded.push_back(fresh(size, 4, Encoding::Padded));
    if (full.size() < 3) full.push_back(fresh(size, 16, Encoding::Full));
  }
  for (int k = 0; k < 200 && !HasFatalFailure(); ++k) step();
  for (const char* name : {"add", "pack", "multiply", "complement", "apply", "apply_many",
                           "apply_each", "full", "apply_full", "to_full"}) {
    EXPECT_GT(steps[name], 0) << name;
  }
}

INSTANTIATE_TEST_SUITE_P(Sets, BlockPrograms,
                         testing::Values(Case{"test-tfhe-2-2-insecure", kExact},
                                         Case{"test-tfhe-2-2-insecure", kFft64},
                                         Case{"test-tfhe-2-2-tiny-insecure", kExact}));

}  // namespace
}  // namespace latticino::tfhe
