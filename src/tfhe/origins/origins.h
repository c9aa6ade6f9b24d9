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

class OriginsTrace;

// Every ciphertext has an identity: a fresh one the hash of its mask's beginning, a bootstrapped
// one a hash of the identities that its argument is a sum of. Bootstrapping is deterministic, so
// tables on one argument may give one error, and count as if they did. 64 bits: two that are equal
// by chance count as dependent, which is safe. In a recording the operations are noted beside it
// (tfhe/origins/origins_trace.h), so that a replay has the identities of its own arguments.
//
// What this does not see: a bootstrapped ciphertext beside its own copy out of a file.
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
  // Of parts that list every place, as those by of_masks do.
  static Origins concatenated(std::span<const Origins> parts);

  bool empty() const { return ids_.empty(); }
  // Replaces these origins by those of a sum.
  void join(const Origins& other);
  Origins taken(std::span<const std::uint32_t> indices) const;
  // The origins after a bootstrapping of each of `count` sums.
  Origins bootstrapped(std::size_t count) const;

  // For OriginsTrace: what is listed, and the identity of a bootstrapping of such a sum.
  std::size_t places() const;
  void append(std::size_t place, std::vector<std::uint64_t>& out) const;
  static std::uint64_t bootstrapped(std::span<const std::uint64_t> sum);
  static Origins of_layers(std::vector<std::vector<std::uint64_t>> layers, bool any);

  // Whether x and y may have an error in common at any place; one of size 1 goes with all places.
  friend bool overlap(const Origins& x, const Origins& y);

 private:
  friend class OriginsTrace;
  using Ids = std::vector<std::uint64_t>;  // of every place, or of all places; 0: none
  using SharedIds = std::shared_ptr<const Ids>;
  void collapse();
  std::vector<SharedIds> ids_;
  bool any_ = false;  // of so many that they are not listed: overlaps with all
};

bool overlap(const Origins& x, const Origins& y);

}  // namespace latticino::tfhe
