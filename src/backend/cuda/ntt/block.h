// Transforms between Coeff and Eval, one block per limb (ntt/block.cuh).
#pragma once

#include <vector>

#include "backend/cuda/ntt/batch.h"

namespace latticino::cuda {

// In the forms kOneBlock and kKeptBlock (ntt/forms.h). Limbs may be transformed in place.
void launch_blocks(TransformBatch& batch, const std::vector<TransformPair>& pairs, bool forward,
                   int form);

// For an array of `first.count` polynomials, one after the other, from Coeff to Eval or back
// (ntt/transform.cu). The first function chooses the form, and the second transforms the array in
// that form.
int array_form(Launcher& launcher, const TransformPair& first);
void transform_array(Launcher& launcher, const TransformPair& first, int form);

}  // namespace latticino::cuda
