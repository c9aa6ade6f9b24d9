// Splitting a set of rotations into baby steps and giant steps: d = giant + baby.
#pragma once

#include <vector>

namespace latticino::ckks {

struct BabyGiant {
  int stride = 1;  // all rotations are multiples of this
  int steps = 1;   // giants are multiples of stride * steps, babies smaller
  // Babies that occur: increasing multiples of stride below stride * steps.
  std::vector<int> babies;
  std::vector<int> giants;  // giants that occur, increasing
  int baby_of(int rotation) const { return rotation % (stride * steps); }
  int giant_of(int rotation) const { return rotation - baby_of(rotation); }
};

// How the rotations of the steps are computed. This decides their cost, which is counted in key
// products.
enum class StepCost {
  // A baby shares its ModUp and costs one key product. A giant has its own ModUp and ModDown, which
  // cost as much as 3.4 to 3.6 babies on a GPU at 21 to 47 limbs. It is counted as 3, since keys
  // take memory.
  Hoisted,
  Iterated,  // one rotation after the other, up to the largest
};

// `rotations` in [0, slots), not empty. `steps` 0: the power of two that costs least; among equal
// costs, the one with fewest keys.
BabyGiant split_rotations(const std::vector<int>& rotations, int slots, int steps, StepCost cost);

}  // namespace latticino::ckks
