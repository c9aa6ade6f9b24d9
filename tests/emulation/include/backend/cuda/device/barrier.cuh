#pragma once

namespace latticino::cuda {

void sync_threads(int barrier, int threads);

}  // namespace latticino::cuda
