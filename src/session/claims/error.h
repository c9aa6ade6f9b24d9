// The error of an encrypted array's slots, as a sum of parts that are independent of each other.
// Each part comes from one source (an encryption, a rescaling, a key switch ..). Parts of one
// source are correlated and add up linearly, parts of different sources in squares.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

namespace latticino::session {

struct ErrorPart {
  std::uint64_t id = 0;      // parts with the same id are multiples of the same error
  std::uint64_t source = 0;  // the id that the part had at first
  double rms = 0;            // root mean square over the slots
  double largest = 0;        // the same in the slots with the largest factors
  // At most so many values have one error, as copies of one value do: 1 if errors are independent
  // between slots (white), infinite if they may be the same in all.
  double alike = 1;
  // A random polynomial times the secret, as divisions leave it. If all slots are in use, its value
  // in a slot is a product of two complex normal numbers. The largest of such products is further
  // above the mean than that of single normal numbers.
  bool by_secret = true;
  double rest = 0;         // root mean square in the slots without values
  double common_rest = 0;  // part of it that is the same in all of these slots
  // A proved bound of the error in every slot with a value; infinite if there is none, as for
  // noise.
  double bound = HUGE_VAL;

  bool white() const { return alike == 1; }
};

// Errors that are larger in some slots. For example part = 1/8 and factor = 2: in an eighth of the
// slots, errors are twice as large as their root mean square over all slots.
struct Uneven {
  double part = 0, factor = 1;
  // The same factor for all other slots.
  double elsewhere() const;
};

class Error {
 public:
  Error() = default;
  // The error of a new source, or of the computation in scope. An error of 0 has no part. A white
  // error is in all slots. Other errors are only where values are, and not in the slots without
  // values.
  static Error fresh(double rms, bool white = true, bool by_secret = true);
  // The same for an error that lies in `slots` slots and is larger in some of them.
  static Error uneven(double rms, bool by_secret, const Uneven& where, double slots);
  // The same for an error that is larger where values are larger; `worst` is the error at the
  // largest of `slots` values. If values are sparse, this is more than the largest of so many
  // normal errors.
  static Error of_values(double rms, double worst, double slots);

  // The same for an error that up to `copies` values have in common, and `rest` in slots without
  // values.
  static Error of_copies(double rms, double copies, double rest = 0);
  // The same for an error that is about equal in all slots with values, and has the size `rest` in
  // all slots without values.
  static Error common(double size, double rest);

  // The same for an error of values that is nowhere larger than `bound`.
  static Error bounded(double bound);

  bool exact() const { return parts_.empty(); }
  double rms() const;      // of a slot's complex error
  double largest() const;  // the same in the slot with the largest factors
  double rest() const;     // in a slot without a value
  double common_rest() const;
  // Expected largest error of `slots` slots. `full`: all slots of the ciphertext are in use. Bounds
  // that are less than what normal errors would reach add up with one another and with the rest.
  double worst(double slots, bool full) const;
  const std::vector<ErrorPart>& parts() const { return parts_; }

  Error operator+(const Error& other) const;
  // Multiplied by data of this root mean square and this bound, if the size of the data is
  // independent of the size of the errors.
  Error times(double rms, double bound) const;
  // Multiplied by data that may be largest where the errors are.
  Error times_aligned(double rms, double bound) const;
  // Values moved to other slots. The white part becomes independent of what it was before, but
  // another array that is moved in the same way has the same part.
  Error moved(std::uint64_t by) const;
  // For values of which up to `copies` are copies of one value. Their errors are equal, so errors
  // of sums grow with the number of copies.
  Error shared(double copies) const;
  // For values that are repeated in more slots. Decoding then reads more coefficients, so errors
  // grow by `growth`. An error that is equal in all slots stays so: the further coefficients add
  // another one, which is not.
  Error repeated(double growth) const;
  // For products with zeros in the slots without values, which have no error then.
  Error at_values() const;
  // For weighted sums: white parts grow by `l2`, those of c copies by up to sqrt(c) times that, and
  // none by more than `l1`. Sums over all slots are not white.
  // `unused`: how many slots without values each sum adds up as well. They hold zeros with errors.
  Error summed(double l1, double l2, double unused = 0) const;
  // The same for several sums, which have operands in common (correlation.h).
  Error mapped(double l1, double l2, double correlation) const;
  // All errors as one source, whose name is written to `source`. Nothing changes if the error is 0.
  Error renamed(std::uint64_t* source) const;
  // The parts that came from `source` become `factor` times as large.
  Error with_source(std::uint64_t source, double factor) const;

 private:
  void add(const ErrorPart& part);
  void bound_parts();
  // In the order in which they were added. Ids are hashes, and sums in their order would differ by
  // rounding between two runs of a program.
  std::vector<ErrorPart> parts_;
};

}  // namespace latticino::session
