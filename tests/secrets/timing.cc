#include "secrets/timing.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "crypto/gaussian.h"
#include "math/modulus.h"
#include "rlwe/client.h"
#include "tfhe/client.h"
#include "tfhe/secret_lwe.h"

namespace latticino::secrets {
namespace {

constexpr double kLeak = 10;         // |t| from which dudect reports a leak as certain
constexpr std::size_t kBatch = 500;  // measurements between two checks of the clock
std::mt19937_64 choice(12345);       // random choice of classes and inputs, which are not secret

double now_ns() {
  const auto t = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<double>(std::chrono::duration_cast<std::chrono::nanoseconds>(t).count());
}

// Welch's statistic of a stream of two classes.
class Welch {
 public:
  void add(int c, double x) {
    n_[c] += 1;
    const double delta = x - mean_[c];
    mean_[c] += delta / n_[c];
    square_[c] += delta * (x - mean_[c]);
  }
  double t() const {
    if (n_[0] < 100 || n_[1] < 100) return 0;
    const double v0 = square_[0] / (n_[0] - 1), v1 = square_[1] / (n_[1] - 1);
    const double deviation = std::sqrt(v0 / n_[0] + v1 / n_[1]);
    return deviation > 0 ? (mean_[0] - mean_[1]) / deviation : 0;
  }

 private:
  std::array<double, 2> n_{}, mean_{}, square_{};
};

// `prepare(c)` makes an input of class c (0: fixed, 1: random), `run()` is what is timed.
struct Case {
  std::string name;
  std::function<void(int)> prepare;
  std::function<void()> run;
};

struct Result {
  double t = 0;
  std::size_t count = 0;
};

// The largest |t| over thresholds above which a measurement is left out: interrupts add noise to
// the slowest ones, and a leak may show in the fastest only.
Result measure(const Case& test, double seconds) {
  constexpr std::array<double, 5> kQuantiles = {1.0, 0.99, 0.95, 0.8, 0.5};
  std::array<Welch, kQuantiles.size()> welch;
  std::array<double, kQuantiles.size()> limits{};
  std::vector<std::pair<int, double>> batch(kBatch);
  Result out;
  const double end = now_ns() + seconds * 1e9;
  for (bool first = true; first || now_ns() < end; first = false) {
    for (auto& [c, time] : batch) {
      c = static_cast<int>(choice() & 1);
      test.prepare(c);
      const double start = now_ns();
      test.run();
      time = now_ns() - start;
    }
    if (first) {  // warms up, and sets the thresholds
      std::vector<double> times;
      for (const auto& [c, time] : batch) times.push_back(time);
      std::sort(times.begin(), times.end());
      for (std::size_t i = 0; i < limits.size(); ++i) {
        limits[i] = times[static_cast<std::size_t>(kQuantiles[i] * (kBatch - 1))];
      }
      limits[0] = HUGE_VAL;
      continue;
    }
    for (const auto& [c, time] : batch) {
      for (std::size_t i = 0; i < limits.size(); ++i) {
        if (time <= limits[i]) welch[i].add(c, time);
      }
    }
    out.count += kBatch;
  }
  for (const Welch& w : welch) out.t = std::max(out.t, std::abs(w.t()));
  return out;
}

rlwe::Random seeded(std::uint64_t x) {
  rlwe::Seed seed{};
  for (int i = 0; i < 8; ++i)
    seed[static_cast<std::size_t>(i)] = static_cast<std::uint8_t>(x >> 8 * i);
  return rlwe::Random::insecure_from_seed(seed);
}

volatile std::uint64_t sink = 0;  // keeps the results alive

// A leak that the test must find: a comparison that ends at the first difference.
Case early_exit() {
  static std::array<std::uint8_t, 4096> x, zero{};
  return {"self-test (leaks)",
          [](int c) {
            x.fill(0);
            if (c == 1) x[choice() % 16] = 1;
          },
          [] {
            std::size_t i = 0;
            while (i < x.size() && x[i] == zero[i]) ++i;
            sink = sink + i;
          }};
}

Case reduction() {
  static std::array<std::int64_t, 1024> x;
  static const Modulus m = make_modulus(1073479681);
  return {"reduce_s64",
          [](int c) {
            for (std::int64_t& v : x) {
              const auto r = static_cast<std::int64_t>(choice()) >> 20;
              v = c == 0 ? 3 : r;
            }
          },
          [] {
            std::uint64_t sum = 0;
            for (const std::int64_t v : x) sum += reduce_s64(v, m);
            sink = sink + sum;
          }};
}

Case sampling(const crypto::GaussianScan& scan) {
  static std::array<std::uint8_t, 16 * 256> words;
  static std::array<std::int64_t, 256> out;
  static const std::vector<crypto::Wide> table = crypto::gaussian_table(3.19);
  return {std::string("gaussian sampling, ") + scan.name,
          [](int c) {
            for (std::uint8_t& b : words) {
              const auto r = static_cast<std::uint8_t>(choice());
              b = c == 0 ? 7 : r;
            }
          },
          [&scan] {
            scan.run(table, words, out);
            sink = sink + static_cast<std::uint64_t>(out[0]);
          }};
}

// Keys of class 0 are all zeros.
struct LweWorld {
  std::shared_ptr<const TfheParams> params = tfhe_preset("test-tfhe-2-2-tiny-insecure");
  Modulus modulus = make_modulus(params->lwe_modulus());
  std::vector<std::int8_t> key;
  std::vector<std::uint32_t> words, messages = std::vector<std::uint32_t>(8, 12345);
  rlwe::Random random = seeded(5);

  LweWorld() : key(static_cast<std::size_t>(params->big_dimension())) {
    words.resize((key.size() + 1) * messages.size());
  }
  void prepare(int c) {
    for (std::int8_t& s : key) {
      const auto r = static_cast<std::int8_t>(choice() & 1);
      s = c == 0 ? std::int8_t{0} : r;
    }
  }
};

Case lwe_encryption() {
  static LweWorld w;
  return {"TFHE encryption", [](int c) { w.prepare(c); },
          [] {
            tfhe::encrypt_rows(w.words.data(), w.key.size() + 1, w.messages, w.key,
                               w.params->fresh_sigma(), rlwe::Seed{}, w.modulus, w.random);
            sink = sink + w.words.back();
          }};
}

Case lwe_decryption() {
  static LweWorld w;
  for (std::uint32_t& x : w.words) x = static_cast<std::uint32_t>(choice()) % w.modulus.q;
  return {"TFHE decryption, up to the phase", [](int c) { w.prepare(c); },
          [] { sink = sink + tfhe::inner_product(w.words.data(), w.key, w.modulus); }};
}

// Key 0 is one fixed key, the others are many: that of class 1 is chosen at random.
struct RingWorld {
  std::shared_ptr<const Params> params = preset("test-n10-leveled-insecure");
  rlwe::Constants constants{params};
  Queue queue{make_cpu_backend({true, 1})};
  std::vector<rlwe::SecretKey> keys;
  const rlwe::SecretKey* key = nullptr;
  Poly message;
  rlwe::FreshPair pair;
  rlwe::Random random = seeded(6);

  RingWorld() {
    for (std::uint64_t i = 0; i < 64; ++i) {
      rlwe::Random of_key = seeded(100 + i);
      keys.push_back(rlwe::SecretKey::generate(params, of_key));
    }
    message = queue.allocate(constants.ring(), params->basis(1), Domain::Eval);
    queue.submit(Copy{{{{}, message.view}}});
    pair = rlwe::encrypt_symmetric(constants, queue, keys[0], message.view, 1, random);
  }
  void prepare(int c) {
    const std::size_t r = choice() % keys.size();
    key = &keys[c == 0 ? 0 : r];
    // Loads it into the cache, where the fixed key already is, because how long ago a key was used
    // is no secret.
    for (const std::int8_t s : key->coefficients()) sink = sink + static_cast<std::uint64_t>(s);
  }
};

Case ring_encryption() {
  static RingWorld w;
  return {"CKKS encryption", [](int c) { w.prepare(c); },
          [] {
            const rlwe::FreshPair pair =
                rlwe::encrypt_symmetric(w.constants, w.queue, *w.key, w.message.view, 1, w.random);
            sink = sink + *pair.parts[0].view.data;
          }};
}

Case ring_decryption() {
  static RingWorld w;
  return {
      "CKKS decryption, up to the residues", [](int c) { w.prepare(c); },
      [] {
        const std::vector<PolyView> parts{w.pair.parts[0].view, w.pair.parts[1].view};
        const std::vector<Poly> phase = rlwe::phases(w.constants, w.queue, *w.key, {&parts, 1}, 1);
        sink = sink + *phase[0].view.data;
      }};
}

}  // namespace

bool run_timing(double seconds) {
  std::vector<Case> cases;
  cases.push_back(reduction());
  for (const crypto::GaussianScan& scan : crypto::gaussian_scans()) {
    if (scan.supported()) cases.push_back(sampling(scan));
  }
  cases.push_back(lwe_encryption());
  cases.push_back(lwe_decryption());
  cases.push_back(ring_encryption());
  cases.push_back(ring_decryption());
  const Result known = measure(early_exit(), std::min(seconds, 1.0));
  std::printf("%-40s |t| %7.1f of %zu\n", "self-test (leaks)", known.t, known.count);
  bool passed = known.t >= kLeak;
  for (const Case& test : cases) {
    const Result r = measure(test, seconds);
    const bool leaks = r.t >= kLeak;
    std::printf("%-40s |t| %7.1f of %zu%s\n", test.name.c_str(), r.t, r.count,
                leaks ? "  LEAKS" : "");
    std::fflush(stdout);
    passed = passed && !leaks;
  }
  return passed;
}

}  // namespace latticino::secrets
