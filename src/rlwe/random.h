// Randomness: ChaCha20 keystream (RFC 8439) seeded by the operating system; nothing else.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace latticino::rlwe {

using Seed = std::array<std::uint8_t, 32>;

// A stream of secret randomness. Not thread-safe: use one per thread. It detects forks and reseeds:
// the child finds the state wiped, even if the seed was given by hand. Secrets, errors and public
// seeds come from separate streams, which are derived from the master seed by domain labels. So
// what is published says nothing about what is secret.
class Random {
 public:
  Random();  // seeds with 256 bits from the operating system
  static Random insecure_from_seed(const Seed& seed);  // reproducible, for tests only
  ~Random();
  Random(Random&&) noexcept;

  void fill(std::span<std::uint8_t> out);
  std::uint64_t next64();
  Seed seed();  // a fresh seed that may be published
  // A fresh seed for errors that a backend samples. It is as secret as the errors, and the caller
  // clears it.
  void error_seed(std::span<std::uint8_t, 32> out);

  // Samplers, constant time in the sampled values.
  std::vector<std::int8_t> binary(int n);   // uniform in {0, 1}
  std::vector<std::int8_t> ternary(int n);  // uniform in {-1, 0, 1}
  std::vector<std::int8_t> ternary_weight(int n, int weight);
  // Discrete Gaussian, 0.5 <= sigma <= 2^57, every probability exact to 2^-128 (crypto/gaussian.h).
  std::vector<std::int64_t> gaussian(int n, double sigma);

 private:
  struct State;
  struct Destroy {
    void operator()(State* s) const;
  };
  explicit Random(State* s);
  std::unique_ptr<State, Destroy> state_;
};

}  // namespace latticino::rlwe
