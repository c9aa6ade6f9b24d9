// How a batch of ciphertexts goes through a blind rotation, in exact arithmetic and in FP64.
#pragma once

#include <algorithm>
#include <vector>

#include "backend/cpu/executor.h"

namespace latticino::cpu {

// Runs in FP64 (blind_rotate_fourier.cc).
void run_fourier(Executor& executor, const BlindRotate& op);

// The data that all ciphertexts of a record share. Accumulators are mirrored residues
// (lwe_kernels.h), component by component, modulo one prime after the other.
struct Rotation {
  Rotation(Executor& executor, const BlindRotate& op);

  std::size_t mirrored_words() const { return 2 * n + kMirrorTail; }
  std::size_t accumulator_words() const { return parts * digit.primes * mirrored_words(); }
  std::uint32_t* accumulator(std::uint32_t* at, int component, int p) const {
    return at + mirrored_words() * (component * digit.primes + p);
  }
  // Start of the accumulator: the test polynomial times X^-exponent, with n words of scratch. End:
  // writes the result.
  void start(std::uint32_t* acc, const BlindRotate::Item& item, std::uint32_t exponent,
             std::uint32_t* scratch) const;
  void finish(std::uint32_t* acc, const PolyArray& out, std::uint32_t first) const;
  // The exponent E of key j of a step, below 2N.
  std::uint32_t exponent(const std::uint32_t* exponents, std::uint32_t step, int j) const;

  const BlindRotate& op;
  const CpuKernels& kernels;
  const RingTable& table;
  const std::size_t n;
  const int parts;
  DigitTable digit;
  std::uint64_t modulus = 1;  // the product of the primes
  const PrimeTable* prime[2] = {};
};

// y = X^-rotation x on canonical residues, rotation < 2n.
void rotate(std::uint32_t* y, const std::uint32_t* x, std::size_t n, std::uint32_t rotation,
            std::uint32_t q);

// Runs the rotations. `rotation` has the members of a Rotation, and worker_words() says how many
// words of scratch a thread needs. Worker(rotation, scratch), with so many words and at least n,
// does the steps of one accumulator at a time.
template <class Worker, class OwnRotation>
void rotate_batch(Executor& executor, const BlindRotate& op, const OwnRotation& rotation) {
  struct Unit {
    std::uint32_t item, index;
  };
  std::vector<Unit> units;
  for (std::size_t i = 0; i < op.items.size(); ++i) {
    for (std::uint32_t k = 0; k < op.items[i].exponents.count; ++k) {
      units.push_back({static_cast<std::uint32_t>(i), k});
    }
  }
  // The ciphertexts of one thread go through a step together, so the thread reads the key rows of
  // the step once.
  constexpr std::size_t kShare = 4;
  const std::size_t share = std::clamp<std::size_t>(
      units.size() / static_cast<std::size_t>(executor.threads()), 1, kShare);
  const std::size_t groups = (units.size() + share - 1) / share;
  executor.reserve_scratch(share * rotation.accumulator_words() + rotation.worker_words());
  const std::size_t work = std::size_t(op.key.count) * rotation.n;
  executor.parallel(groups, share * work, [&](std::size_t g, std::uint32_t* scratch) {
    const std::size_t first = g * share, last = std::min(first + share, units.size());
    std::uint32_t* own = scratch + share * rotation.accumulator_words();
    Worker worker(rotation, own);
    const auto acc = [&](std::size_t u) {
      return scratch + (u - first) * rotation.accumulator_words();
    };
    const auto exponents = [&](std::size_t u) {
      return op.items[units[u].item].exponents.ciphertext(units[u].index);
    };
    std::uint32_t steps = 0;
    for (std::size_t u = first; u < last; ++u) {
      const BlindRotate::Item& item = op.items[units[u].item];
      steps = item.exponents.dimension / static_cast<std::uint32_t>(op.group);
      rotation.start(acc(u), item, exponents(u)[item.exponents.dimension], own);
    }
    for (std::uint32_t step = 0; step < steps; ++step) {
      for (std::size_t u = first; u < last; ++u) worker.step(acc(u), exponents(u), step);
    }
    for (std::size_t u = first; u < last; ++u) {
      rotation.finish(acc(u), op.items[units[u].item].out,
                      units[u].index * static_cast<std::uint32_t>(rotation.parts));
    }
  });
}

}  // namespace latticino::cpu
