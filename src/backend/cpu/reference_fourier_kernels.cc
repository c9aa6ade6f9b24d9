#define LATTICINO_FOURIER_TARGET plain
#include "backend/cpu/fourier_impl.h"

namespace latticino::cpu {

const FourierKernels& reference_fourier_kernels() { return plain::fourier_kernels(); }

}  // namespace latticino::cpu
