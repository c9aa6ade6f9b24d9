#pragma once

#include <array>
#include <complex>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "ckks/context.h"
#include "rlwe/keys.h"

namespace latticino::ckks {

// A CKKS ciphertext: 2 parts (b, a), or 3 before relinearisation; Eval, contiguous limbs over
// basis(level). Ciphertexts are immutable: operations return new ones, and copies share memory.
struct Ciphertext {
  std::shared_ptr<const Context> context;
  std::vector<Poly> parts;
  int level = 0;
  double scale = 0;
  int slots = 0;  // power of two <= N/2; fewer slots repeat periodically
  rlwe::KeyId key;
  // For a fresh symmetric encryption: a = ExpandUniform{seed, stream 0}. Files store it in place of
  // a as long as that still holds (they check).
  std::optional<std::array<std::uint8_t, 32>> seed = std::nullopt;

  int limbs() const;
  std::string str() const;  // level, scale, slots and number of parts, as text
};

// An encoded vector, Eval, over basis(level), or extended(level) if `extended`.
struct Plaintext {
  std::shared_ptr<const Context> context;
  Poly poly;
  int level = 0;
  double scale = 0;
  int slots = 0;
  bool extended = false;
};

using Complex = std::complex<double>;

}  // namespace latticino::ckks
