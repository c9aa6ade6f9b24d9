// What a recording of CKKS arrays relies on in its arguments, and what it knows about its results.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "session/ckks/contents.h"

namespace latticino::session {

class RecordedArgument {
 public:
  // For an example argument. `taken` is the array to record with. Other arguments may hold other
  // numbers in slots without values, so no number counts as known there. All its errors have one
  // source, so the results show how much of their error comes from this argument.
  RecordedArgument(const Contents& example, Contents* taken);

  // ScaleError if the claims of the recording do not hold for this argument. `remedy`: how to clear
  // slots without values.
  void require(const Contents& x, const std::string& remedy) const;

 private:
  friend Known known_of_result(const Known& recorded, std::span<const RecordedArgument> examples,
                               std::span<const Contents* const> arguments);
  Range range_;
  double reach_of_rest_, error_;
  std::uint64_t source_ = 0;
};

// What is known about a result. The part of its error that comes from an argument is proportional
// to the error of that argument.
Known known_of_result(const Known& recorded, std::span<const RecordedArgument> examples,
                      std::span<const Contents* const> arguments);

}  // namespace latticino::session
