// Which errors a batch of ciphertexts has. The variance of a sum is the sum of the variances only
// if no error occurs twice. In x + x, in (x + y) + (x + z) and in sums of one ciphertext from two
// files, an error does occur twice.
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
// One case is not recognised: a bootstrapped ciphertext and a copy of it from a file.
class Origins {
 public:
  Origins() = default;  // no errors: for clear values
  // `count` ciphertexts that differ from all others.
  static Origins unique(std::size_t count);
  // The identities of ciphertexts with these words (view.data is not read): ciphertexts with equal
  // masks are one.
  static Origins of_masks(const LweView& view, const std::uint32_t* words);
  static Origins concatenated(std::span<const Origins* const> parts,
                              std::span<const std::uint32_t> counts);
  // Joins the origins of parts that list every place, such as those that of_masks returns.
  static Origins concatenated(std::span<const Origins> parts);

  bool empty() const { return ids_.empty(); }
  // Replaces these origins by those of a sum.
  void join(const Origins& other);
  Origins taken(std::span<const std::uint32_t> indices) const;
  // The origins after a bootstrapping of each of `count` sums.
  Origins bootstrapped(std::size_t count) const;

  // For OriginsTrace: the listed identities, and the identity of a bootstrapping of such a sum.
  std::size_t places() const;
  void append(std::size_t place, std::vector<std::uint64_t>& out) const;
  static std::uint64_t bootstrapped(std::span<const std::uint64_t> sum);
  static Origins of_layers(std::vector<std::vector<std::uint64_t>> layers, bool any);

  // Whether x and y may have an error in common at any place. If one has size 1, it is compared
  // with all places.
  friend bool overlap(const Origins& x, const Origins& y);

 private:
  friend class OriginsTrace;
  // Identities for every place, or one for all places; 0: none.
  using Ids = std::vector<std::uint64_t>;
  using SharedIds = std::shared_ptr<const Ids>;
  void collapse();
  std::vector<SharedIds> ids_;
  // So many errors that they are not listed; such a batch overlaps with all others.
  bool any_ = false;
};

bool overlap(const Origins& x, const Origins& y);

}  // namespace latticino::tfhe
