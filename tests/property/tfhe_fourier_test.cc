// Blind rotation in FP64 against the exact one: equal words over one prime, whatever the operands;
// over two primes errors of the size that params/tfhe/noise.h predicts.
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <random>
#include <thread>

#include "math/errors.h"
#include "math/fourier_selector.h"
#include "support/fourier_support.h"
#include "support/ring_support.h"
#include "support/tfhe_support.h"

namespace latticino {
namespace {

using test::Words;

TEST(FourierRoots, AreSquareRootsOfEachOther) {
  for (const int log_n : {10, 12}) {
    const std::vector<fourier::Complex> w = fourier::roots(log_n);
    ASSERT_EQ(w.size(), std::size_t{1} << (log_n - 2));
    EXPECT_DOUBLE_EQ(w[0].re, std::sqrt(0.5));
    EXPECT_EQ(w[0].re, w[0].im);
    for (std::size_t entry = 1; entry < w.size(); ++entry) {
      // Entry 2^(s-1) + m squared is the root of block m of the stage before.
      fourier::Complex before = w[entry / 2];
      if (entry > 1 && entry % 2 != 0) before = fourier::times_i(before);
      const fourier::Complex x = w[entry];
      ASSERT_NEAR(x.re * x.re - x.im * x.im, before.re, 1e-15) << entry;
      ASSERT_NEAR(2 * x.re * x.im, before.im, 1e-15) << entry;
    }
  }
}

TEST(FourierSelectors, AreThePowersOfXAtTheNumbersOfATransform) {
  constexpr int kLogN = 10;
  constexpr std::size_t kN = 1u << kLogN, kHalf = kN / 2;
  const std::vector<fourier::Complex> powers = fourier::unit_powers(kLogN);
  ASSERT_EQ(powers.size(), 2 * kN);
  for (std::size_t i = 0; i < 2 * kN; ++i) {  // times i, exactly
    const fourier::Complex x = powers[(i + kHalf) % (2 * kN)];
    ASSERT_EQ(x.re, -powers[i].im) << i;
    ASSERT_EQ(x.im, powers[i].re) << i;
  }
  for (const std::uint32_t e : {0u, 1u, 5u, 511u, 512u, 1024u, 1500u, 2047u}) {
    std::vector<std::int64_t> turned(kN);  // N/2 X^-e
    const std::size_t from = (2 * kN - e) % (2 * kN);
    turned[from % kN] = (from < kN ? 1 : -1) * std::int64_t{kHalf};
    const std::vector<fourier::Complex> z = test::transform(turned, kLogN);
    for (std::uint32_t i = 0; i < kHalf; ++i) {
      const std::uint32_t root = fourier::root_exponent(i, kLogN);
      const fourier::Complex x = fourier::selector(powers[fourier::power_index(root, e, kLogN)]);
      ASSERT_NEAR(x.re, z[i].re - 1, 1e-14) << e << " " << i;
      ASSERT_NEAR(x.im, z[i].im, 1e-14) << e << " " << i;
    }
  }
}

// Over one prime, sums of random keys and, up to 2^53, of chosen ones.
TEST(FourierRounding, KeepsIntegersUpToTheLargestSums) {
  std::mt19937_64 random(3);
  for (const std::uint32_t largest : {1u << 27, 1u << 30, (1u << 31) - 1}) {
    const fourier::Rotation one{10, 1, 1, false, {10, 2}, 1, test::ntt_primes(10, 1, largest)[0]};
    const fourier::Rounding narrow(one);
    const auto q = static_cast<std::int64_t>(one.modulus);
    const auto expect = [&](std::int64_t x, double off) {
      const std::int64_t got = narrow.one_prime(static_cast<double>(x) + off);
      ASSERT_LE(std::llabs(got), (q + 1) / 2) << x;
      ASSERT_EQ((got - x) % q, 0) << x;
    };
    for (int trial = 0; trial < 20000; ++trial) {
      const auto x = static_cast<std::int64_t>(random()) >> (10 + trial % 40);
      expect(x, (trial % 3 - 1) * (std::llabs(x) < std::int64_t{1} << 48 ? 0.46875 : 0.25));
      // Values about halfway between multiples of Q, for which the error of 1/Q decides.
      const std::int64_t most = (std::int64_t{1} << (53 - trial % 3)) / q - 2 - trial;
      expect(most * q + q / 2 + trial % 5 - 2, 0);
    }
  }
}

// Doubles modulo the product of two primes, up to the last places of a double of its size: of 54
// bits, and of 60, which a double does not hold.
TEST(FourierRounding, AddsModuloTwoPrimes) {
  __extension__ typedef __int128 Big;
  std::mt19937_64 random(4);
  for (const std::uint32_t largest : {1u << 27, 1u << 30}) {
    const Words primes = test::ntt_primes(11, 2, largest);
    const std::uint64_t product = std::uint64_t{primes[0]} * primes[1];
    const fourier::Rotation shape{11, 1, 1, false, {20, 1}, 2, product};
    const fourier::Rounding wide(shape);
    const auto q = static_cast<std::int64_t>(product);
    const int bits = bit_length(product);
    // Two units of the last place of a double.
    const std::int64_t last = std::int64_t{2} << (bits - 54);
    const auto centred = [&](Big x) {
      const auto y = static_cast<std::int64_t>(x % q);
      return y > q / 2 ? y - q : y < -(q / 2) ? y + q : y;
    };
    const auto accumulator = [&] {
      return static_cast<double>(centred(static_cast<std::int64_t>(random() >> 1)));
    };
    for (int trial = 0; trial < 20000; ++trial) {
      const auto mantissa = static_cast<std::int64_t>(random()) >> 11;
      const double x = std::ldexp(static_cast<double>(mantissa), trial % 34), acc = accumulator();
      const double got = wide.sum(acc, x);
      ASSERT_LE(std::fabs(got), 0.51 * static_cast<double>(q));
      const Big sum = (static_cast<Big>(mantissa) << trial % 34) + static_cast<std::int64_t>(acc);
      ASSERT_LE(std::llabs(centred(sum - static_cast<std::int64_t>(got))), last) << x << " " << acc;

      const double turned = accumulator();
      const double kept = fourier::minus(wide.difference(turned, acc), fourier::Rounding::kShift);
      ASSERT_LE(std::fabs(kept), std::ldexp(1, 19));
      const Big left = static_cast<Big>(turned) - static_cast<std::int64_t>(acc) -
                       (static_cast<Big>(kept) << (bits - 20));
      ASSERT_LE(std::llabs(centred(left)), (std::int64_t{1} << (bits - 21)) + last) << turned;
    }
  }
}

// One rotation of given words in both arithmetics.
struct Both {
  Ring ring;
  int k, steps;
  Queue queue{make_cpu_backend({true, 1})};
  BlindRotate op;
  Poly key, table;
  Buffer exponents, out, coefficients, fourier;

  Both(int log_n, const Words& primes, Gadget gadget, int k, int group, int steps,
       const Words& key_words, const Words& table_words, const Words& e)
      : ring(log_n, primes), k(k), steps(steps) {
    op.gadget = gadget;
    op.glwe_dimension = k;
    op.group = group;
    const Basis basis = test::range(0, ring.prime_count());
    const std::uint32_t count = op.key_index(static_cast<std::uint32_t>(steps), 0, 0, 0);
    const std::size_t words = static_cast<std::size_t>(ring.n()) * ring.prime_count();
    const auto memory = [&](std::size_t polys) {
      return queue.allocate(polys * words * sizeof(std::uint32_t));
    };
    key.buffer = memory(count);
    op.key = {PolyView::contiguous(key.buffer->words(), ring, basis, Domain::Eval), count};
    for (std::uint32_t i = 0; i < count; ++i) {
      queue.upload(op.key[i], key_words.data() + i * words);
    }
    table = test::upload(queue, ring, basis, Domain::Coeff, table_words);
    exponents = queue.allocate(e.size() * sizeof(std::uint32_t));
    queue.copy_in(exponents->data(), e.data(), e.size() * sizeof(std::uint32_t));
    out = memory(static_cast<std::size_t>(k) + 1);
    coefficients = memory(count);
    fourier = queue.allocate(count * ring.n() * sizeof(double));
    const PolyArray coeff{PolyView::contiguous(coefficients->words(), ring, basis, Domain::Coeff),
                          count};
    Transform transform;
    for (std::uint32_t i = 0; i < count; ++i) transform.items.push_back({op.key[i], coeff[i]});
    queue.submit(transform);
    FourierKey convert;
    convert.glwe_dimension = k;
    convert.levels = gadget.levels;
    convert.items = {{coeff, static_cast<double*>(fourier->data())}};
    queue.submit(convert);
    op.fourier = static_cast<const double*>(fourier->data());
    op.items = {
        {{exponents->words(), 2u << log_n, static_cast<std::uint32_t>(steps * group), 1, e.size()},
         table.view,
         {PolyView::contiguous(out->words(), ring, basis, Domain::Coeff),
          static_cast<std::uint32_t>(k) + 1}}};
  }
  Words run(BlindRotateArithmetic arithmetic) {
    op.arithmetic = arithmetic;
    queue.submit(op);
    Words words(out->bytes() / sizeof(std::uint32_t));
    queue.copy_out(words.data(), out->data(), out->bytes());
    return words;
  }
};

struct ExactSet {
  int log_n, k;
  Gadget gadget;
  int group = 1;

  std::size_t polynomials() const {  // of the keys of a step
    return static_cast<std::size_t>((1 << group) - 1) * (k + 1) * (k + 1) * gadget.levels;
  }
};

class FourierIsExact : public testing::TestWithParam<ExactSet> {};

// Random words, and words that put a whole sum into a few places: constant, alternating, at the
// edges of the modulus, single spikes. The gadgets are those of the sets with one prime, and with
// several keys per step those whose sums are as large as any that are taken.
TEST_P(FourierIsExact, OverOnePrime) {
  const auto [log_n, k, gadget, group] = GetParam();
  constexpr int kSteps = 2;
  const Words primes = test::ntt_primes(log_n, 1, 1u << 30);
  const std::uint32_t q = primes[0], n = 1u << log_n;
  const std::size_t polys = kSteps * GetParam().polynomials();
  for (int pattern = 0; pattern < 5; ++pattern) {
    std::mt19937_64 random(pattern);
    const auto words = [&](std::size_t count) {
      Words x(count);
      for (std::size_t i = 0; i < count; ++i) {
        const auto r = static_cast<std::uint32_t>(random() % q);
        x[i] = pattern == 0   ? r
               : pattern == 1 ? q / 2
               : pattern == 2 ? (i % 2 == 0 ? q / 2 : q / 2 + 1)
               : pattern == 3 ? q / 2 + r % 2
                              : (i % n == 7 ? q / 2 : 0);
      }
      return x;
    };
    Words exponents;  // exponents of the steps, then that of the start
    for (int i = 0; i < kSteps * group; ++i) {
      exponents.push_back(i % 3 == 0   ? n + 1 + i
                          : i % 3 == 1 ? 2 * n - 3
                                       : static_cast<std::uint32_t>(random() % (2 * n)));
    }
    exponents.push_back(pattern == 0 ? 5u : 0u);
    Both both(log_n, primes, gadget, k, group, kSteps, words(polys * n), words(n), exponents);
    EXPECT_EQ(both.run(BlindRotateArithmetic::Fft64), both.run(BlindRotateArithmetic::Exact))
        << pattern;
  }
}

INSTANTIATE_TEST_SUITE_P(Sets, FourierIsExact,
                         testing::Values(ExactSet{10, 2, {9, 2}}, ExactSet{10, 1, {10, 2}},
                                         ExactSet{10, 1, {7, 3}}, ExactSet{11, 1, {7, 3}},
                                         ExactSet{12, 1, {6, 3}}, ExactSet{10, 1, {7, 3}, 3},
                                         ExactSet{10, 1, {8, 2}, 2}, ExactSet{10, 2, {6, 2}, 4},
                                         ExactSet{11, 1, {6, 3}, 2}, ExactSet{12, 1, {5, 3}, 3},
                                         ExactSet{12, 2, {5, 2}, 2}));

TEST(FourierRoundingError, IsThatOfTheFormula) {
  for (const ExactSet& set :
       {ExactSet{11, 1, {23, 1}}, ExactSet{10, 2, {12, 3}}, ExactSet{12, 1, {18, 2}},
        ExactSet{11, 1, {23, 1}, 3}, ExactSet{10, 2, {12, 3}, 2}, ExactSet{12, 1, {18, 2}, 4}}) {
    const auto [log_n, k, gadget, group] = set;
    const Words primes = test::ntt_primes(log_n, 2, 1u << 27);
    const std::uint64_t q = std::uint64_t{primes[0]} * primes[1];
    const std::uint32_t n = 1u << log_n;
    std::mt19937_64 random(log_n);
    const auto words = [&](std::size_t polys) {
      Words x(polys * 2 * n);
      for (std::size_t i = 0; i < x.size(); ++i) {
        x[i] = static_cast<std::uint32_t>(random() % primes[i / n % 2]);
      }
      return x;
    };
    // Digits of the table alone: the mask's are 0 in a first step.
    Words exponents(group + 1, 0);
    for (int i = 0; i < group; ++i) exponents[i] = n - 5 - 77 * i;
    Both both(log_n, primes, gadget, k, group, 1, words(set.polynomials()), words(1), exponents);
    const Words exact = both.run(BlindRotateArithmetic::Exact);
    const Words fft = both.run(BlindRotateArithmetic::Fft64);
    const Modulus m1 = make_modulus(primes[1]);
    const ShoupFactor inverse = make_shoup(inverse_mod(primes[0] % m1.q, m1), m1);
    double sum = 0, count = 0;
    for (std::size_t i = 0; i < exact.size(); ++i) {
      if (i / n % 2 != 0) continue;
      const double error = static_cast<double>(centred_pair(sub_mod(fft[i], exact[i], primes[0]),
                                                            sub_mod(fft[i + n], exact[i + n], m1.q),
                                                            primes[0], m1.q, inverse));
      sum += error * error / (static_cast<double>(q) * static_cast<double>(q));
      ++count;
    }
    TfheNoiseModel model;
    model.lwe_dimension = model.group = group;
    model.glwe_dimension = k;
    model.degree = static_cast<int>(n);
    model.bootstrap = gadget;
    model.log_lwe_modulus = 27;
    model.log_ring_modulus = 54;
    // The variance of one coefficient, from the rows of one component.
    const double predicted = fourier_variance(model) / (1 + k * n / 2.0) / (k + 1);
    EXPECT_LT(sum / count, 4 * predicted) << log_n << ": " << std::log2(sum / count / predicted);
    EXPECT_GT(sum / count, predicted / 4) << log_n << ": " << std::log2(sum / count / predicted);
  }
}

}  // namespace

namespace tfhe {
namespace {

using test::TfheWorld;

TEST(TfheFourier, GatesAreTheSameWords) {
  const auto params = tfhe_preset("test-tfhe-gates-insecure");
  std::vector<std::uint32_t> words[2];
  for (const auto arithmetic : {BlindRotateArithmetic::Exact, BlindRotateArithmetic::Fft64}) {
    TfheWorld w(params, true, 1, arithmetic);
    const Ciphertext x = w.encrypt({0, 0, 1, 1}, Encoding::Boolean);
    const Ciphertext y = w.encrypt({0, 1, 0, 1}, Encoding::Boolean);
    const Ciphertext z = w.evaluator.gate(Gate::Nand, x, y);
    EXPECT_EQ(w.decrypt(z), (std::vector<std::uint32_t>{1, 1, 1, 0}));
    words[static_cast<int>(arithmetic)] = test::download(w.context->queue(), z.view);
  }
  EXPECT_EQ(words[0], words[1]);
}

// The key's second form is made under the queue's lock, which a recording holds. Before, a thread
// that began to make the form waited for the recording for ever, and the recording for the form.
TEST(TfheFourier, TheKeyIsMadeBesideARecording) {
  TfheWorld w(tfhe_preset("test-tfhe-gates-insecure"), true, 1, BlindRotateArithmetic::Fft64);
  const Ciphertext x = w.encrypt({0, 1}, Encoding::Boolean);
  const double *recorded = nullptr, *beside = nullptr;
  Ciphertext z;
  std::thread other;
  Program program = w.context->queue().record([&] {
    if (!other.joinable()) {
      other = std::thread([&] { beside = blind_rotation(*w.context, *w.keys).fourier; });
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    recorded = blind_rotation(*w.context, *w.keys).fourier;
    z = w.evaluator.gate(Gate::Nand, x, x);
  });
  other.join();
  EXPECT_EQ(recorded, beside);
  program.run();
  EXPECT_EQ(w.decrypt(z), (std::vector<std::uint32_t>{1, 0}));
}

TEST(TfheFourier, TablesDecryptWithTheNoiseOfTheFormulas) {
  TfheWorld w(tfhe_preset("test-tfhe-2-2-insecure"), true, 1, BlindRotateArithmetic::Fft64);
  const std::vector<std::uint32_t> m = test::every_message(16, 6);
  const Table square = make_table(w.context, [](auto v) { return v * v % 16; });
  const Ciphertext y = w.evaluator.apply(w.encrypt(m, Encoding::Padded), square);
  const std::vector<std::uint32_t> got = w.decrypt(y);
  for (std::size_t i = 0; i < m.size(); ++i) ASSERT_EQ(got[i], m[i] * m[i] % 16);
  const TfheNoiseModel& model = w.params->noise();
  const double predicted =
      bootstrap_variance(model) + drop_variance(model) + fourier_variance(model);
  const double measured = test::deviation(errors(w.secret, y));
  EXPECT_LT(measured * measured, 4 * predicted);
  EXPECT_GT(measured * measured, predicted / 4);
}

// If decides() returns true, the operation must not be refused: both include the error of FP64.
TEST(TfheFourier, SumsDecideInTheContextsArithmetic) {
  const auto params = tfhe_preset("tfhe-2-2-v1");
  const auto context = Context::create_dry(params, BlindRotateArithmetic::Fft64);
  const auto keys = allocate_server_keys(*context, {});
  const Evaluator evaluator(context, keys);
  const Table square = make_table(context, [](auto v) { return v * v % 16; });
  Ciphertext x = evaluator.clear(std::vector<std::uint32_t>{1}, Encoding::Padded);
  // A norm between the largest norms of both arithmetics.
  const auto fails = [&](double norm, bool fourier) {
    return log_failure(params->decision_variance(norm, 0, fourier), std::exp2(-6)) >
           params->literal().log_failure;
  };
  double norm = 5;
  while (!fails(norm, true)) norm += 1e-3;
  ASSERT_FALSE(fails(norm, false));
  x.norm2 = norm * norm;
  EXPECT_FALSE(evaluator.decides(x.norm2));
  EXPECT_THROW(evaluator.apply(x, square), LevelError);
  EXPECT_TRUE(evaluator.decides(25));
  x.norm2 = 25;
  EXPECT_NO_THROW(evaluator.apply(x, square));
}

TEST(TfheFourier, EveryNamedSetTakesItOrSaysWhyNot) {
  for (const std::string& name : tfhe_preset_names()) {
    const auto params = tfhe_preset(name);
    // The exact set of three key bits per step fails too often with FP64's error.
    const bool taken = !params->literal().ternary && name != "tfhe-2-2-group3-v1";
    EXPECT_EQ(params->fourier_refusal().empty(), taken)
        << name << ": " << params->fourier_refusal().had;
    if (params->literal().primes.size() == 1) {
      EXPECT_EQ(params->log_failure(true), params->log_failure(false)) << name;
    }
  }
  for (const char* name : {"test-tfhe-ternary-insecure", "tfhe-2-2-group3-v1"}) {
    EXPECT_THROW(Context::create_dry(tfhe_preset(name), BlindRotateArithmetic::Fft64),
                 ParameterError);
  }
  TfheLiteral deep = tfhe_preset("test-tfhe-2-2-insecure")->literal();
  deep.log_n = 13;
  deep.primes = test::ntt_primes(13, 2, 1u << 27);
  EXPECT_THROW(Context::create_dry(TfheParams::check(deep), BlindRotateArithmetic::Fft64),
               ParameterError);
  fourier::Rotation fine{11, 1, 1, false, {17, 3}, 2, (std::uint64_t{1} << 54) - 1};
  EXPECT_EQ(fourier::refusal(fine).had, "digits of 51 bits together");
  fine.gadget = {25, 2};
  EXPECT_TRUE(fourier::refusal(fine).empty());
  fourier::Rotation one{10, 1, 1, false, {10, 2}, 1, 1u << 30};
  EXPECT_TRUE(fourier::refusal(one).empty());
  one.group = 2;
  EXPECT_EQ(fourier::refusal(one).had, "sums of products up to 2^51.5");
  one.gadget = {8, 2};
  EXPECT_TRUE(fourier::refusal(one).empty());
}

}  // namespace
}  // namespace tfhe
}  // namespace latticino
