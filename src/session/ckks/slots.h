// Operations that move values between slots, for arrays whose values are stored row by row. A
// vector of n values is in slots 0..n-1 of a ciphertext with the next power of two of slots. A
// longer vector is in several ciphertexts of N/2 slots, in order. Arrays of more dimensions are
// stored row by row. A ciphertext with fewer slots than N/2 repeats periodically.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "session/ckks/constants.h"
#include "session/ckks/contents.h"

namespace latticino::session {

// A rotation of a source ciphertext by `steps`, and the slots of the result that it fills: runs of
// (first slot, count).
struct MaskedRotation {
  std::size_t source;
  int steps;
  std::vector<std::pair<std::size_t, std::size_t>> runs;
  bool whole = false;  // all slots are filled: no mask is needed

  std::vector<ckks::Complex> mask(std::size_t slots) const;
};
using RotationGroups = std::vector<std::vector<MaskedRotation>>;

// The rotations that make a cyclic shift of `size` values by k to the left, for each ciphertext of
// the result. Value i of the result is value (i + k) mod size of the source.
RotationGroups rotation_groups(std::size_t size, std::size_t slots, std::size_t k);
// Whether such a shift needs masks, which take a level.
bool needs_masks(const RotationGroups& groups);

// Shifts the `size` values of x by k, with the rotations in `groups`.
Contents rotated(const ckks::Evaluator& e, const Contents& x, std::size_t size, std::size_t k,
                 const RotationGroups& groups, Constants& constants);

// Writes the sum of each row of `columns` values, times `factor`, to all places of that row. It
// takes one level.
Contents spread(const ckks::Evaluator& e, const Contents& x, std::size_t size, std::size_t columns,
                ckks::Complex factor, Constants& constants);

// ShapeError unless the length of rows is a power of two, up to the number of slots.
void require_rows(std::size_t columns, int slots, const std::string& operation);

}  // namespace latticino::session
