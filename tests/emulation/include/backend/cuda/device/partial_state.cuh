#pragma once

#include <cuda_runtime.h>

namespace latticino::cuda {

void publish(std::uint32_t* word);
void wait_until_published(const std::uint32_t* word);

}  // namespace latticino::cuda
