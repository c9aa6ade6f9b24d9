#pragma once

#include <cuda_runtime.h>

namespace latticino::cuda {

void pass_on(std::uint32_t* word);
void take_over(const std::uint32_t* word);

}  // namespace latticino::cuda
