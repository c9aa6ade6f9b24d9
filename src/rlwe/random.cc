#include "rlwe/random.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <string>

#include "crypto/gaussian.h"
#include "crypto/random_stream.h"
#include "crypto/secure_memory.h"
#include "math/errors.h"
#include "math/interrupt.h"

namespace latticino::rlwe {

using crypto::Wide;

namespace {

// Domain labels of the streams.
enum Label : std::uint32_t { kBytes, kPublicSeeds, kTernary, kGaussian, kBinary, kLabels };

std::uint64_t load_le64(const std::uint8_t* p) {
  std::uint64_t x = 0;
  for (int i = 7; i >= 0; --i) x = x << 8 | p[i];
  return x;
}

// Swaps so that a <= b, without a branch.
inline void order(std::uint64_t& a, std::uint64_t& b) {
  const std::uint64_t mask = 0 - static_cast<std::uint64_t>(b < a);
  const std::uint64_t difference = (a ^ b) & mask;
  a ^= difference;
  b ^= difference;
}

// Batcher's merge exchange (Knuth, TAOCP 3, 5.2.2 M): the comparisons depend on n alone.
void sort_constant_time(std::vector<std::uint64_t>& x) {
  const std::size_t n = x.size();
  std::size_t top = 1;
  while (2 * top < n) top *= 2;
  for (std::size_t p = top; p > 0 && n > 1; p /= 2) {
    std::size_t q = top, r = 0, d = p;
    for (;;) {
      for (std::size_t i = 0; i + d < n; ++i) {
        if ((i & p) == r) order(x[i], x[i + d]);
      }
      if (q == p) break;
      d = q - p;
      q /= 2;
      r = p;
    }
  }
}

}  // namespace

// This state is in locked pages of its own.
struct Random::State {
  crypto::RandomStream stream[kLabels];
  std::uint64_t forks = 0;
  bool fixed = false;  // true if the caller gave the seed

  static State* create() { return new (crypto::allocate_locked(sizeof(State))) State; }

  void seed(std::span<const std::uint8_t, 32> master) {
    for (std::uint32_t label = 0; label < kLabels; ++label) {
      stream[label] = crypto::RandomStream(master, label);
    }
  }

  void seed_from_system() {
    Seed master;
    crypto::system_entropy(master);
    seed(master);
    crypto::secure_clear(master.data(), master.size());
    forks = crypto::fork_generation();
  }

  void fill(Label label, std::span<std::uint8_t> out) {
    if (!fixed && forks != crypto::fork_generation()) seed_from_system();
    stream[label].fill(out);
    if (label != kBytes && label != kPublicSeeds) crypto::mark_secret(out.data(), out.size());
  }

  void base_gaussian(const std::vector<Wide>& table, std::span<std::int64_t> out) {
    // Numbers between two checks for an interrupt. It is no less than a ring's degree, because the
    // size of a request decides which bytes of the stream it gets.
    constexpr std::size_t kPiece = std::size_t{1} << 17;
    std::vector<std::uint8_t> bytes(16 * std::min(out.size(), kPiece));
    const crypto::ClearOnExit clear(bytes);
    while (!out.empty()) {
      check_interrupt();
      const std::size_t count = std::min(out.size(), kPiece);
      const std::span<std::uint8_t> words = std::span(bytes).first(16 * count);
      fill(kGaussian, words);
      crypto::gaussian_from_words(table, words, out.first(count));
      out = out.subspan(count);
    }
  }

  // x + c y, computed level by level of the convolution.
  void convolved(const std::vector<Wide>& table, std::span<const std::int64_t> factors,
                 std::span<std::int64_t> out) {
    if (factors.empty()) return base_gaussian(table, out);
    const auto below = factors.first(factors.size() - 1);
    std::vector<std::int64_t> y(out.size());
    const crypto::ClearOnExit clear(y);
    convolved(table, below, out);
    convolved(table, below, y);
    for (std::size_t i = 0; i < y.size(); ++i) out[i] += factors.back() * y[i];
  }
};

void Random::Destroy::operator()(State* s) const {
  s->~State();
  crypto::free_locked(s, sizeof(State));
}

Random::Random(State* s) : state_(s) {}
Random::~Random() = default;
Random::Random(Random&&) noexcept = default;

Random::Random() : state_(State::create()) { state_->seed_from_system(); }

Random Random::insecure_from_seed(const Seed& seed) {
  Random random(State::create());
  random.state_->fixed = true;
  random.state_->seed(seed);
  return random;
}

void Random::fill(std::span<std::uint8_t> out) { state_->fill(kBytes, out); }

std::uint64_t Random::next64() {
  std::uint8_t bytes[8];
  state_->fill(kBytes, bytes);
  return load_le64(bytes);
}

Seed Random::seed() {
  Seed seed;
  state_->fill(kPublicSeeds, seed);
  return seed;
}

void Random::error_seed(std::span<std::uint8_t, 32> out) { state_->fill(kGaussian, out); }

std::vector<std::int8_t> Random::binary(int n) {
  std::vector<std::uint8_t> bytes(n);
  const crypto::ClearOnExit clear(bytes);
  state_->fill(kBinary, bytes);
  std::vector<std::int8_t> out(n);
  for (int i = 0; i < n; ++i) out[i] = static_cast<std::int8_t>(bytes[i] & 1);
  return out;
}

std::vector<std::int8_t> Random::ternary(int n) {
  std::vector<std::uint8_t> bytes(static_cast<std::size_t>(n) * 16);
  const crypto::ClearOnExit clear(bytes);
  state_->fill(kTernary, bytes);
  std::vector<std::int8_t> out(n);
  for (int i = 0; i < n; ++i) {
    const std::uint8_t* p = bytes.data() + 16 * static_cast<std::size_t>(i);
    // floor(3 u / 2^128) - 1 of a uniform 128-bit u: bias below 2^-126.
    const Wide low = static_cast<Wide>(load_le64(p)) * 3;
    const Wide high = static_cast<Wide>(load_le64(p + 8)) * 3 + (low >> 64);
    out[i] = static_cast<std::int8_t>(static_cast<int>(high >> 64) - 1);
  }
  return out;
}

std::vector<std::int8_t> Random::ternary_weight(int n, int weight) {
  if (weight < 0 || weight > n) {
    throw ParameterError("rlwe.ternary_weight", "weight " + std::to_string(weight),
                         "0 <= weight <= " + std::to_string(n), "change the Hamming weight");
  }
  std::vector<std::uint8_t> bytes(static_cast<std::size_t>(n) * 8);
  std::vector<std::uint64_t> words(n);
  const crypto::ClearOnExit clear_bytes(bytes);
  const crypto::ClearOnExit clear_words(words);
  for (bool distinct = false; !distinct;) {
    state_->fill(kTernary, bytes);
    // A random key of 62 bits, above a sign bit and a 1 for each of the first `weight` entries.
    // Sorting by distinct uniform keys is a uniform permutation. If two keys are equal, all of them
    // are drawn again.
    for (int i = 0; i < n; ++i) {
      const std::uint64_t random = load_le64(bytes.data() + 8 * static_cast<std::size_t>(i));
      words[i] = (random & ~std::uint64_t{1}) | (i < weight ? 1 : 0);
    }
    sort_constant_time(words);
    std::uint64_t equal = 0;
    for (int i = 1; i < n; ++i) {
      const std::uint64_t difference = (words[i] ^ words[i - 1]) >> 2;
      equal |= ~(difference | (0 - difference)) >> 63;  // 1 if both keys are equal
    }
    // Whether keys were drawn again says nothing about the keys that are kept.
    crypto::declassify(&equal, sizeof equal);
    distinct = equal == 0;
  }
  std::vector<std::int8_t> out(n);
  for (int i = 0; i < n; ++i) {
    const int one = static_cast<int>(words[i] & 1), sign = static_cast<int>(words[i] >> 1 & 1);
    out[i] = static_cast<std::int8_t>(one - 2 * (one & sign));
  }
  return out;
}

std::vector<std::int64_t> Random::gaussian(int n, double sigma) {
  const crypto::Convolution plan = crypto::plan_convolution(sigma);
  std::vector<std::int64_t> out(n);
  try {
    state_->convolved(crypto::gaussian_table(plan.base_sigma), plan.factors, out);
  } catch (...) {  // an interrupt
    crypto::secure_clear(out.data(), out.size() * sizeof(std::int64_t));
    throw;
  }
  return out;
}

}  // namespace latticino::rlwe
