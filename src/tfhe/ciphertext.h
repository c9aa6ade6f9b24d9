#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "rlwe/keys.h"
#include "tfhe/context.h"

namespace latticino::tfhe {

// How a message lies on the torus Z_q, with p = message_bits + carry_bits of the set:
//   Boolean  true at q/8, false at -q/8
//   Padded   m < 2^p at m q / 2^(p+1): one free bit above, as a table asks for
//   Full     m < 2^p at m q / 2^p: sums wrap modulo 2^p
enum class Encoding : std::uint8_t { Boolean, Padded, Full };
const char* name(Encoding encoding);

// A batch of LWE ciphertexts at rest, of dimension k N. Immutable once made: operations return new
// ones, copies share memory.
struct Ciphertext {
  std::shared_ptr<const Context> context;
  Buffer buffer;
  LweView view;
  rlwe::KeyId key;
  Encoding encoding = Encoding::Boolean;
  // Squared 2-norm of the sum of bootstrapped (or fresh) ciphertexts that this is; 0: clear.
  double norm2 = 1;
  // Largest message of any ciphertext of the batch (Padded).
  std::uint32_t largest = 0;

  std::uint32_t size() const { return view.count; }
  std::string str() const;
};

// Residue of a message, and the message whose residue is nearest to a phase.
std::uint32_t encode(const TfheParams& params, Encoding encoding, std::uint32_t message);
std::uint32_t decode(const TfheParams& params, Encoding encoding, std::uint32_t phase);
// Messages of an encoding: 2, or 2^p.
std::uint32_t message_count(const TfheParams& params, Encoding encoding);

}  // namespace latticino::tfhe
