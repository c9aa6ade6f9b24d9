// The error of an encrypted array's slots, as a sum of parts that are independent of each other.
// Each part comes from one source (an encryption, a rescaling, a key switch ..). Parts of one
// source are correlated and add up linearly, parts of different sources in squares.
#pragma once

#include <cstdint>
#include <vector>

namespace latticino::session {

struct ErrorPart {
  std::uint64_t id = 0;      // parts of one id are multiples of the same error
  std::uint64_t source = 0;  // the id that the part began with
  double rms = 0;            // root mean square over the slots
  double largest = 0;        // the same where what multiplied it was largest
  bool white = true;         // uncorrelated between slots
  // A random polynomial times the secret, as divisions leave it. Where all slots are in use, a slot
  // of it is a product of two complex normal numbers, which exceeds its mean further than one.
  bool by_secret = true;
};

class Error {
 public:
  Error() = default;
  // A source of its own. Errors of 0 have no part.
  static Error fresh(double rms, bool white = true, bool by_secret = true);
  // The same that follows the values, and is `worst` where one of `slots` is largest: of sparse
  // values that is more than normal errors of this root mean square reach.
  static Error of_values(double rms, double worst, double slots);

  bool exact() const { return parts_.empty(); }
  double rms() const;      // of a slot's complex error
  double largest() const;  // the same at the slot with the largest factors
  // Expected largest error of `slots` slots; `full`: of a ciphertext whose slots are all in use.
  double worst(double slots, bool full) const;
  const std::vector<ErrorPart>& parts() const { return parts_; }

  Error operator+(const Error& other) const;
  // Times data of this root mean square and this bound, which are independent of the errors' sizes.
  Error times(double rms, double bound) const;
  // The same of data that may be largest where the errors are.
  Error times_aligned(double rms, double bound) const;
  // Values moved to other slots: what is white is independent of what it was, but not of another
  // array moved alike.
  Error moved(std::uint64_t by) const;
  // For values of which several are copies of one: their errors are equal, so errors of sums grow
  // with the number of copies.
  Error shared() const;
  // For weighted sums: white parts grow by `l2`, others by `l1`. Sums over all slots are not white.
  Error summed(double l1, double l2, bool white) const;
  // All of it as one source. `source` receives its name; nothing changes if the error is 0.
  Error renamed(std::uint64_t* source) const;
  // Parts that began with `source` times `factor`.
  Error with_source(std::uint64_t source, double factor) const;

 private:
  void add(const ErrorPart& part);
  void bound_parts();
  std::vector<ErrorPart> parts_;  // by id
};

}  // namespace latticino::session
