// Random programs on a small set with as much noise as its bound allows: sums, scalar products,
// tables and choices of operands that share errors. The set states 2^-24 for a bootstrapping, so in
// some 10^4 of them no value may be wrong; if some noise were not counted, many would be wrong.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "io/tfhe_files.h"
#include "math/errors.h"
#include "params/tfhe/params.h"
#include "support/tfhe_support.h"
#include "tfhe/integers.h"

namespace latticino::tfhe {
namespace {

using test::TfheWorld;

// The noisiest GLWE key with which the set still has the stated failure probability.
std::shared_ptr<const TfheParams> noisy(const char* like, double log_failure) {
  TfheLiteral x = tfhe_preset(like)->literal();
  x.name = "test-noisy-insecure";
  x.log_failure = log_failure;
  double low = std::log2(x.glwe_sigma), high = 56;
  for (int i = 0; i < 40; ++i) {
    const double middle = (low + high) / 2;
    x.glwe_sigma = std::exp2(middle);
    bool holds = true;
    try {
      TfheParams::check(x);
    } catch (const ParameterError&) {
      holds = false;
    }
    (holds ? low : high) = middle;
  }
  x.glwe_sigma = std::exp2(low);
  return TfheParams::check(x);
}

struct Value {
  Integer x;  // or one full message
  std::vector<std::uint64_t> clear;
  std::uint64_t modulus;
  bool full;
};

class Machine {
 public:
  Machine(TfheWorld& w, unsigned seed)
      : w_(w), e_(std::make_shared<const Evaluator>(w.context, w.keys)), draw_(seed) {}

  std::uint32_t below(std::uint32_t n) { return static_cast<std::uint32_t>(draw_() % n); }
  const Value& any(const std::vector<Value>& x) {
    return x[below(static_cast<std::uint32_t>(x.size()))];
  }

  Value fresh(bool full) {
    Value v{{}, {}, 16, full};
    std::vector<std::uint32_t> m;
    for (int i = 0; i < 4; ++i)
      v.clear.push_back(below(16)), m.push_back(static_cast<std::uint32_t>(v.clear.back()));
    v.x = full ? Integer{{w_.encrypt(m, Encoding::Full)}}
               : encrypt_integers(w_.context, w_.secret, v.clear, 4, w_.random);
    return v;
  }
  template <class F>
  Value with(Integer x, const Value& a, const Value& b, const F& f) {
    Value out{std::move(x), {}, a.modulus, a.full};
    for (std::size_t i = 0; i < a.clear.size(); ++i) {
      out.clear.push_back(f(a.clear[i], b.clear[i]) % a.modulus);
    }
    return out;
  }

  // One step on full messages.
  Value full_step(const std::vector<Value>& x) {
    const Value &a = any(x), &b = any(x);
    const Ciphertext &u = a.x.blocks[0], &v = b.x.blocks[0];
    const auto k = static_cast<std::int32_t>(below(15)) - 7;
    switch (below(6)) {
      case 5: {  // the same error 32 times, which 16 independent ones would not reach
        const std::uint32_t same[] = {0, 1, 2, 3};
        Ciphertext sum = u;
        for (int i = 0; i < 5; ++i) sum = e_.add_full(sum, take(concatenate({{sum}}), same));
        return with({{e_.add_full(sum, u)}}, a, b, [](auto p, auto) { return 33 * p; });
      }
      case 0:
        return with({{e_.add_full(u, v)}}, a, b, [](auto p, auto q) { return p + q; });
      case 1:
        return with({{e_.sub_full(u, v)}}, a, b, [](auto p, auto q) { return p + 16 - q; });
      case 2:
        return with({{e_.multiply_full(u, k)}}, a, b, [k](auto p, auto) { return p * (16 + k); });
      case 3: {
        const Integers::Function f{1, [](std::uint64_t m) { return (3 * m + 5) % 16; },
                                   Encoding::Full};
        return with(e_.lookup_full(u, {&f, 1})[0], a, b, [](auto p, auto) { return 3 * p + 5; });
      }
      default: {  // moves values: other batches with the same errors
        const std::uint32_t places[] = {1, 1, 0, 3};
        Value out{{{take(u, places)}}, {}, 16, true};
        for (const std::uint32_t i : places) out.clear.push_back(a.clear[i]);
        return out;
      }
    }
  }
  Value step(const std::vector<Value>& x) {
    const Value &a = any(x), &b = any(x);
    switch (below(7)) {
      case 0:
        return with(e_.add(a.x, b.x), a, b, [](auto p, auto q) { return p + q; });
      case 1:
        return with(e_.sub(a.x, b.x), a, b, [](auto p, auto q) { return p + 16 - q; });
      case 2:
        return with(e_.multiply(a.x, b.x), a, b, [](auto p, auto q) { return p * q; });
      case 3: {
        const Integer terms[] = {a.x, b.x, a.x, b.x, b.x};
        return with(e_.sum(terms), a, b, [](auto p, auto q) { return 2 * p + 3 * q; });
      }
      case 4:
        return with(e_.select(e_.compare(Comparison::Less, a.x, b.x), a.x, b.x), a, b,
                    [](auto p, auto q) { return std::min(p, q); });
      case 5:
        return with(e_.shift_left(a.x, b.x), a, b,
                    [](auto p, auto q) { return q < 4 ? p << q : 0; });
      default:
        return with(reloaded(a.x), a, b, [](auto p, auto) { return p; });
    }
  }
  Integer reloaded(const Integer& x) {
    io::MemorySink sink;
    io::save_ciphertexts(sink, x.blocks);
    io::MemorySource source(sink.bytes());
    return {io::load_tfhe_ciphertexts(source, w_.context).batches};
  }
  int wrong(const Value& v) {
    std::vector<std::uint64_t> got;
    if (v.full) {
      const std::vector<std::uint32_t> m = w_.decrypt(v.x.blocks[0]);
      got.assign(m.begin(), m.end());
    } else {
      got = decrypt_integers(w_.secret, v.x);
    }
    int count = 0;
    for (std::size_t i = 0; i < got.size(); ++i) count += got[i] != v.clear[i];
    return count;
  }

 private:
  TfheWorld& w_;
  Integers e_;
  std::mt19937 draw_;
};

void expect_no_wrong_value(bool full, unsigned programs, int steps) {
  TfheWorld w(noisy("test-tfhe-2-2-tiny-insecure", -24));
  int values = 0, wrong = 0, refused = 0;
  for (unsigned seed = 1; seed <= programs; ++seed) {
    Machine m(w, seed);
    std::vector<Value> x = {m.fresh(full), m.fresh(full)};
    for (int i = 0; i < steps; ++i) {
      try {
        x.push_back(full ? m.full_step(x) : m.step(x));
      } catch (const LevelError&) {
        ++refused;
        continue;
      }
      const int bad = m.wrong(x.back());
      values += 4;
      wrong += bad;
      if (bad > 0) x.pop_back();  // the error counts once
    }
  }
  EXPECT_EQ(wrong, 0) << "of " << values << " values";
  EXPECT_EQ(refused, 0) << "operands are bootstrapped where that helps";
}

TEST(TfheNoisePrograms, FullMessages) { expect_no_wrong_value(true, 40, 24); }
TEST(TfheNoisePrograms, Blocks) { expect_no_wrong_value(false, 10, 16); }

}  // namespace
}  // namespace latticino::tfhe
