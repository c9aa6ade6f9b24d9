#pragma once

namespace latticino::cuda {

void meet_threads(int barrier, int threads);

}  // namespace latticino::cuda
