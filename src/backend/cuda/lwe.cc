// The TFHE records have no kernels here yet: each says so.
#include "backend/cuda/kernels.h"
#include "math/errors.h"

namespace latticino::cuda {
namespace {

[[noreturn]] void unsupported(const char* operation) {
  throw UnsupportedError(operation, "the CUDA backend", "a backend with TFHE kernels",
                         "use the CPU backend");
}

}  // namespace

void run(Launcher&, const LweLinear&) { unsupported("LweLinear"); }
void run(Launcher&, const LweKeySwitch&) { unsupported("LweKeySwitch"); }
void run(Launcher&, const ModSwitch&) { unsupported("ModSwitch"); }
void run(Launcher&, const SampleExtract&) { unsupported("SampleExtract"); }
void run(Launcher&, const BlindRotate&) { unsupported("BlindRotate"); }

}  // namespace latticino::cuda
