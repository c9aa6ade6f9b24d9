#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "rlwe/keys.h"
#include "tfhe/context.h"
#include "tfhe/origins/origins.h"

namespace latticino::tfhe {

// How a message lies on the torus Z_q, with p = message_bits + carry_bits of the set:
//   Boolean  true at q/8, false at -q/8
//   Padded   m < 2^p at m q / 2^(p+1): one free bit above, as a table asks for
//   Full     m < 2^p at m q / 2^p: sums wrap modulo 2^p
enum class Encoding : std::uint8_t { Boolean, Padded, Full };
const char* name(Encoding encoding);
// The encoding of values of so many bits. 0: single bits, in the encoding of the set; below 0: full
// messages.
Encoding encoding_of(const TfheParams& params, int bits);

// A batch of LWE ciphertexts at rest, of dimension k N. Immutable once made: operations return new
// ones, copies share memory.
struct Ciphertext {
  std::shared_ptr<const Context> context;
  Buffer buffer;
  LweView view;
  rlwe::KeyId key;
  Encoding encoding = Encoding::Boolean;
  // A bound of the variance of its error, relative to that of a bootstrapped ciphertext; that of a
  // fresh one is smaller. 0: the ciphertext is clear. For a sum it is the squared 2-norm; if terms
  // may share errors, their norms add up.
  double norm2 = 1;
  Origins origins = {};
  // Whether it comes from a file, or is a sum with such a ciphertext: then its sender chose the
  // mask (tfhe/public_key.h).
  bool outside = false;
  // The norm2 that its file states. If the same ciphertext is saved again, the file states it
  // again.
  std::optional<double> stated_norm2 = std::nullopt;
  // Largest message of any ciphertext of the batch (Padded).
  std::uint32_t largest = 0;
  // In a fresh encryption, the mask of ciphertext i is the beginning of the expansion (seed,
  // stream i). Files store it in place of the masks as long as that still holds (they check).
  std::optional<std::array<std::uint8_t, 32>> seed = std::nullopt;

  std::uint32_t size() const { return view.count; }
  std::string str() const;
};

// Whether both are one ciphertext. Then their errors are the same, and do not add up like
// independent ones.
bool same(const Ciphertext& x, const Ciphertext& y);

// A term of a sum: factor times x.
struct Weighted {
  const Ciphertext* x;
  double factor;
};
// The norm2 of a sum of such terms.
double squared_norm(std::span<const Weighted> terms);
// log2 of the probability that an error of this norm2 makes a decryption wrong.
double decoding_log_failure(const Context& context, Encoding encoding, double norm2);
// LevelError if that probability is above what the set states.
void require_decodable(const char* operation, const Context& context, Encoding encoding,
                       double norm2);
// The largest norm2 with which the next operation on a ciphertext of that encoding fails as rarely
// as the set states: a table (its largest norm), or a gate on two such booleans.
double largest_norm2(const Context& context, Encoding encoding);

// The residue of a message, and the message whose residue is nearest to a phase.
std::uint32_t encode(const TfheParams& params, Encoding encoding, std::uint32_t message);
std::uint32_t decode(const TfheParams& params, Encoding encoding, std::uint32_t phase);
// The number of messages of an encoding: 2, or 2^p.
std::uint32_t message_count(const TfheParams& params, Encoding encoding);

// The ciphertexts of x with these indices, in their order. Evenly spaced places give a view of x's
// memory, others a copy. ShapeError for no places, and for places that x does not have.
Ciphertext take(const Ciphertext& x, std::span<const std::uint32_t> indices);
// Batches joined one after the other, as a copy. They must have one context, key and encoding.
Ciphertext concatenate(std::span<const Ciphertext> x);

}  // namespace latticino::tfhe
