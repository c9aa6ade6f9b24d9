// Which errors a batch of ciphertexts holds. Variances of errors add up only if no error occurs
// twice. In x + x, in (x + y) + (x + z) and in sums of one ciphertext from two files, an error does
// occur twice.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "poly/lwe_view.h"

namespace latticino::tfhe {

// Every ciphertext has an identity: a fresh one the hash of its mask's beginning, a bootstrapped
// one a hash of the identities that its argument is a sum of. Bootstrapping is deterministic, so
// tables on one argument may give one error, and count as if they did. 64 bits: two that are equal
// by chance count as dependent, which is safe.
//
// What this does not see: a bootstrapped ciphertext beside its own copy out of a file, and equal
// results of two replays of a recorded program whose other arguments differ.
class Origins {
 public:
  Origins() = default;  // of no error: clear
  // `count` ciphertexts that are different from all others.
  static Origins unique(std::size_t count);
  // The identities of ciphertexts with these words (view.data is not read): ciphertexts with equal
  // masks are one.
  static Origins of_masks(const LweView& view, const std::uint32_t* words);
  static Origins concatenated(std::span<const Origins* const> parts,
                              std::span<const std::uint32_t> counts);

  bool empty() const { return ids_.empty(); }
  // Replaces these origins by those of a sum.
  void join(const Origins& other);
  Origins taken(std::span<const std::uint32_t> indices) const;
  // The origins after a bootstrapping of each of `count` sums.
  Origins bootstrapped(std::size_t count) const;
  // The origins in another run of a program. `salt` is the sum of the identities of its arguments.
  Origins salted(std::uint64_t salt) const;
  std::uint64_t sum() const;

  // Whether x and y may have an error in common at any place; one of size 1 goes with all places.
  friend bool overlap(const Origins& x, const Origins& y);

 private:
  using Ids = std::vector<std::uint64_t>;  // of every place, or of all places; 0: none
  using SharedIds = std::shared_ptr<const Ids>;
  void collapse();
  std::vector<SharedIds> ids_;
  bool any_ = false;  // of so many that they are not listed: overlaps with all
};

bool overlap(const Origins& x, const Origins& y);

}  // namespace latticino::tfhe
