// The kernels by record: each translation unit packs one family's arguments and launches it.
#pragma once

#include "backend/cuda/launch/launch.h"
#include "ops/operations.h"

namespace latticino::cuda {

#define LATTICINO_RUN(Record) void run(Launcher& launcher, const Record& op);
LATTICINO_RECORDS(LATTICINO_RUN)
#undef LATTICINO_RUN

}  // namespace latticino::cuda
