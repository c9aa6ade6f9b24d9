// Embed and Project against the encoder on the host: equal integers and equal doubles, at once and
// replayed, on every backend that answers, at every degree and slot count.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <random>

#include "ckks/encoding/client.h"
#include "ckks/encoding/encoder.h"
#include "math/centred_crt.h"
#include "math/errors.h"
#include "support/ring_support.h"

namespace latticino {
namespace {

using ckks::Complex;
using Slots = std::vector<Complex>;

enum class Kind { Random, Tiny, Huge, SignedZero, Alternating, NearHalf };
constexpr Kind kKinds[] = {Kind::Random,     Kind::Tiny,        Kind::Huge,
                           Kind::SignedZero, Kind::Alternating, Kind::NearHalf};

Slots make(Kind kind, int slots, const ckks::Encoder& encoder, double scale) {
  std::mt19937_64 random(static_cast<unsigned>(slots) * 7 + static_cast<unsigned>(kind));
  std::uniform_real_distribution<double> u(-1, 1);
  Slots z(static_cast<std::size_t>(slots));
  for (std::size_t j = 0; j < z.size(); ++j) {
    const double sign = j % 2 == 0 ? 1 : -1;
    switch (kind) {
      case Kind::Random:
        z[j] = {u(random), u(random)};
        break;
      case Kind::Tiny:
        z[j] = {u(random) * 0x1p-1060, u(random) * 0x1p-300};
        break;
      case Kind::Huge:
        z[j] = {u(random) * 0x1p60 / scale, sign * 0x1p59 / scale};
        break;
      case Kind::SignedZero:
        z[j] = {sign * 0.0, j % 3 == 0 ? -0.0 : 0.0};
        break;
      case Kind::Alternating:
        z[j] = {sign, -sign};
        break;
      case Kind::NearHalf:
        // Coefficients about half-way between integers: sums decide, if any rounding differs.
        z[j] = {std::floor(u(random) * 512) + 0.5, std::floor(u(random) * 512) + 0.5};
        break;
    }
  }
  if (kind == Kind::NearHalf) {
    for (Complex& x : z) x /= scale;
    encoder.forward(z);
  }
  return z;
}

struct Device {
  Device(std::unique_ptr<Backend> backend, int log_n, const test::Words& primes)
      : queue(std::move(backend)), ring(log_n, primes), transform(log_n) {}
  Queue queue;
  Ring ring;
  SlotTransform transform;
};

std::vector<std::unique_ptr<Device>> devices(int log_n, const test::Words& primes) {
  std::vector<std::unique_ptr<Device>> out;
  out.push_back(std::make_unique<Device>(make_cpu_backend({false, 1}), log_n, primes));
  out.push_back(std::make_unique<Device>(make_cpu_backend({true, 2}), log_n, primes));
  if (cuda_device_count() > 0) {
    out.push_back(std::make_unique<Device>(make_cuda_backend(), log_n, primes));
  }
  return out;
}

// Runs an operation at once, then replayed over poisoned outputs.
void for_each_mode(Queue& queue, const Operation& op, const std::function<void()>& poison,
                   const std::function<void(const char*)>& compare) {
  poison();
  queue.submit(op);
  compare("at once");
  Program program = queue.record([&] { queue.submit(op); });
  for (int i = 0; i < 2; ++i) {
    poison();
    program.run();
    compare("replayed");
  }
}

Buffer upload(Queue& queue, const Slots& z) {
  Buffer buffer = queue.allocate(z.size() * sizeof(Complex));
  queue.copy_in(buffer->data(), z.data(), buffer->bytes());
  return buffer;
}

class SlotRecords : public ::testing::TestWithParam<int> {
 protected:
  int log_n = GetParam();
  test::Words primes = test::ntt_primes(log_n, 5);
  Basis basis = test::range(0, 5);
  ckks::Encoder encoder{log_n};

  test::Words residues(const std::vector<std::int64_t>& x) const {
    test::Words out;
    for (const std::uint32_t q : primes) {
      const Modulus m = make_modulus(q);
      for (const std::int64_t c : x) out.push_back(reduce_s64(c, m));
    }
    return out;
  }
  std::vector<Kind> kinds() const {
    return log_n <= 12 ? std::vector<Kind>(std::begin(kKinds), std::end(kKinds))
                       : std::vector<Kind>{Kind::Random, Kind::NearHalf};
  }
};

TEST_P(SlotRecords, EmbedGivesTheEncodersIntegers) {
  const double scale = 3.0 * 0x1p38;
  const Slots one{Complex(0.25, -3)};
  const test::Words expected_one = residues(encoder.embed(one, scale));
  for (const auto& device : devices(log_n, primes)) {
    Queue& queue = device->queue;
    for (const Kind kind : kinds()) {
      // A record with two items, of two counts: of every fourth power of two at the largest
      // degrees.
      for (int log_slots = log_n - 1; log_slots >= 0; log_slots -= log_n > 14 ? 4 : 1) {
        const int slots = 1 << log_slots;
        const Slots z = make(kind, slots, encoder, scale);
        const Buffer in = upload(queue, z), second = upload(queue, one);
        const Poly out = queue.allocate(device->ring, basis, Domain::Coeff);
        const Poly other = queue.allocate(device->ring, basis, Domain::Coeff);
        const auto item = [&](const Buffer& b, int count, const Poly& to) {
          return Embed::Item{
              &device->transform, static_cast<const double*>(b->data()), count, scale, 0, to.view};
        };
        const test::Words expected = residues(encoder.embed(z, scale));
        const test::Words poison(expected.size(), ~0u);
        test::Words words(expected.size());
        for_each_mode(
            queue, Embed{{item(in, slots, out), item(second, 1, other)}},
            [&] {
              queue.upload(out.view, poison.data());
              queue.upload(other.view, poison.data());
            },
            [&](const char* mode) {
              queue.download(words.data(), out.view);
              ASSERT_EQ(words, expected) << queue.device().name << " " << mode << " kind "
                                         << static_cast<int>(kind) << " slots " << slots;
              queue.download(words.data(), other.view);
              ASSERT_EQ(words, expected_one);
            });
      }
    }
  }
}

TEST_P(SlotRecords, ProjectGivesTheEncodersSlots) {
  // Integers that fit 64 bits, for which few primes suffice, and integers of any size.
  for (const bool wide : {false, true}) {
    std::mt19937_64 random(5);
    std::vector<std::int64_t> small(std::size_t{1} << log_n);
    for (std::int64_t& x : small) x = static_cast<std::int64_t>(random()) >> (random() % 60 + 2);
    test::Words words = residues(small);
    const int most = wide ? std::min(64, 1 << (log_n - 1)) : 1 << (log_n - 1);
    for (std::size_t i = 0; wide && i < words.size(); ++i) {
      words[i] = static_cast<std::uint32_t>(random() % primes[i >> log_n]);
    }
    const double divisor = 3.7e11;
    std::vector<double> coefficients;
    const CentredCrt crt(primes);
    for (std::size_t k = 0; k < small.size(); ++k) {
      test::Words column;
      for (std::size_t l = 0; l < primes.size(); ++l) column.push_back(words[(l << log_n) + k]);
      coefficients.push_back(crt.divided(column, divisor));
    }
    for (const auto& device : devices(log_n, primes)) {
      Queue& queue = device->queue;
      const Poly in = test::upload(queue, device->ring, basis, Domain::Coeff, words);
      for (int slots = 1; slots <= most; slots *= 2) {
        const Slots expected = encoder.project(coefficients, slots);
        const Slots poison(expected.size(), Complex(-7, 7));
        const Buffer out = queue.allocate(expected.size() * sizeof(Complex), true);
        auto* to = static_cast<double*>(out->data());
        for_each_mode(
            queue, Project{{{&device->transform, in.view, divisor, slots, to}}},
            [&] { queue.copy_in(out->data(), poison.data(), out->bytes()); },
            [&](const char* mode) {
              Slots got(expected.size());
              queue.copy_out(got.data(), out->data(), out->bytes());
              ASSERT_EQ(got, expected) << queue.device().name << " " << mode << " slots " << slots;
            });
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Degrees, SlotRecords, ::testing::Range(10, 18));

// A value that does not fit is reported: by a CPU at once, by a GPU at the next call that waits.
TEST(SlotFaults, AreNeverSilent) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();
  const test::Words primes = test::ntt_primes(12, 2);
  for (const auto& device : devices(12, primes)) {
    Queue& queue = device->queue;
    const Poly out = queue.allocate(device->ring, test::range(0, 2), Domain::Coeff);
    const auto encode = [&](const Buffer& in, double bound) {
      const int slots = static_cast<int>(in->bytes() / sizeof(Complex));
      queue.submit(Embed{{{&device->transform, static_cast<const double*>(in->data()), slots,
                           0x1p40, bound, out.view}}});
    };
    for (const int slots : {1, 64, 2048}) {
      for (const Complex bad : {Complex(nan, 0), Complex(0, infinity), Complex(1e300, 1e300),
                                Complex(0x1p22 * slots, 0), Complex(0, -0x1p22 * slots)}) {
        Slots z(static_cast<std::size_t>(slots));
        z.back() = bad;
        const Buffer in = upload(queue, z);
        EXPECT_THROW((encode(in, 0), queue.synchronize()), ScaleError) << bad;
        EXPECT_NO_THROW(queue.synchronize());  // it is reported once
        test::Words words(out.buffer->bytes() / sizeof(std::uint32_t));
        EXPECT_THROW((encode(in, 0), queue.download(words.data(), out.view)), ScaleError);
        EXPECT_THROW((encode(in, 0), queue.copy_out(words.data(), out.buffer->data(), 4)),
                     ScaleError);
      }
      const Buffer in = upload(queue, Slots(static_cast<std::size_t>(slots), 1.0));
      EXPECT_THROW((encode(in, 0x1p40), queue.synchronize()), ScaleError);
      EXPECT_NO_THROW((encode(in, 0x1p40 + 1), queue.synchronize()));
    }
    // In a replay: values that fit during the recording, and do not fit later.
    const Buffer in = upload(queue, Slots(2048, 1.0));
    Program program = queue.record([&] { encode(in, 0); });
    EXPECT_NO_THROW((program.run(), queue.synchronize()));
    const Slots bad(2048, Complex(0, nan));
    queue.copy_in(in->data(), bad.data(), in->bytes());
    EXPECT_THROW((program.run(), queue.synchronize()), ScaleError);
  }
}

class SlotBatches : public ::testing::Test {
 protected:
  // The CPU, and CUDA if a device answers.
  std::vector<std::shared_ptr<const ckks::Context>> contexts() const {
    std::vector<std::shared_ptr<const ckks::Context>> out;
    const auto params = preset("test-n10-leveled-insecure");
    out.push_back(ckks::Context::create(params, std::make_unique<Queue>(make_cpu_backend())));
    if (cuda_device_count() > 0) {
      out.push_back(ckks::Context::create(params, std::make_unique<Queue>(make_cuda_backend())));
    }
    return out;
  }
  std::vector<Slots> batch(const ckks::Context& context, int count, int slots) const {
    std::vector<Slots> out;
    for (int i = 0; i < count; ++i) {
      out.push_back(make(Kind::Random, slots, context.encoder(), 1));
      out.back()[0] = {0.001 * i, 1};
    }
    return out;
  }
};

TEST_F(SlotBatches, EncodeLikeOneByOneAndComeBack) {
  for (const auto& context : contexts()) {
    const Params& params = context->params();
    const int level = params.default_level();
    const double scale = params.scale(level);
    const std::vector<Slots> values = batch(*context, 70, 256);
    const std::vector<ckks::Values> views(values.begin(), values.end());
    const auto encoded = ckks::encode_all(context, views, level, scale, true);
    ASSERT_EQ(encoded.size(), values.size());
    Queue& queue = context->queue();
    for (const std::size_t i : {0, 1, 63, 64, 69}) {
      const ckks::Plaintext one = ckks::encode(context, values[i], level, scale, true);
      test::Words a(one.poly.buffer->bytes() / 4), b(a.size());
      queue.download(a.data(), one.poly.view);
      queue.download(b.data(), encoded[i].poly.view);
      EXPECT_EQ(a, b);
      const Slots back = ckks::decode(encoded[i]);
      for (std::size_t j = 0; j < back.size(); ++j) {
        EXPECT_LT(std::abs(back[j] - values[i][j]), ckks::encoding_error_bound(256, scale, 1.5));
      }
    }
    const Buffer resident = upload(queue, values[3]);
    const auto again = ckks::encode_resident(context, static_cast<const double*>(resident->data()),
                                             2, 128, level, scale);
    EXPECT_EQ(ckks::decode(again[1]).size(), 128u);
    EXPECT_LT(std::abs(ckks::decode(again[1])[5] - values[3][133]), 1e-6);
  }
}

TEST_F(SlotBatches, WhatTheQuickCheckDoubtsIsDecidedExactly) {
  for (const auto& context : contexts()) {
    const int level = 0;
    const double bound = std::exp2(context->params().log_q(level) - 1);
    // |re| + |im| is an upper bound: 1.4 times the bound by this sum, and 0.99 of it in fact.
    const Slots fits(1, Complex(std::sqrt(0.5), std::sqrt(0.5)));
    const double largest = 0.99 * std::sqrt(2.0) * bound;
    EXPECT_NO_THROW(context->encoder().embed(fits, largest, bound));
    EXPECT_NO_THROW(ckks::encode(context, fits, level, largest));
    EXPECT_THROW(ckks::encode(context, Slots(256, Complex(1)), level, 1.01 * bound), ScaleError);
    const double nan = std::numeric_limits<double>::quiet_NaN();
    EXPECT_THROW(ckks::encode(context, Slots(256, Complex(nan)), level, 1e6), ValueError);
    EXPECT_THROW(ckks::encode(context, Slots(3, Complex(1)), level, 1e6), ShapeError);
    const Slots a(4), b(8);
    const ckks::Values mixed[] = {a, b};
    EXPECT_THROW(ckks::encode_all(context, mixed, level, 1e6), ShapeError);
  }
}

TEST_F(SlotBatches, EncryptedTogetherDecryptTogether) {
  for (const auto& context : contexts()) {
    const Params& params = context->params();
    rlwe::Random random = rlwe::Random::insecure_from_seed({9});
    const rlwe::SecretKey secret = rlwe::SecretKey::generate(context->shared_params(), random);
    const std::vector<Slots> values = batch(*context, 35, 128);
    std::vector<ckks::Plaintext> plain;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const int level = i < 20 ? params.default_level() : 1;
      plain.push_back(ckks::encode(context, values[i], level, params.scale(level)));
    }
    const std::vector<ckks::Ciphertext> x = ckks::encrypt(secret, plain, random);
    const std::vector<Slots> back = ckks::decrypt(secret, x);
    ASSERT_EQ(back.size(), values.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
      for (std::size_t j = 0; j < 128; ++j) EXPECT_LT(std::abs(back[i][j] - values[i][j]), 1e-3);
      // The same doubles as coefficients on the host give.
      const std::vector<PolyView> parts{x[i].parts[0].view, x[i].parts[1].view};
      EXPECT_EQ(back[i],
                context->encoder().project(rlwe::decrypt(context->constants(), context->queue(),
                                                         secret, parts, x[i].level, x[i].scale),
                                           128));
    }
    rlwe::Flooding flooding;
    flooding.noise_bound = 100;
    flooding.queries = 1;
    flooding.statistical_bits = 4;
    const ckks::SharedSlots shared = ckks::decrypt_for_sharing(secret, x[0], flooding, random);
    EXPECT_GT(shared.sigma, 0);
    for (std::size_t j = 0; j < 128; ++j) EXPECT_LT(std::abs(shared.values[j] - values[0][j]), 0.1);
  }
}

}  // namespace
}  // namespace latticino
