// Twiddles of the vectorised row tail, and the tables of kernels by instruction set.
#pragma once

#include "backend/cpu/kernels.h"
#include "backend/cpu/lwe_kernels.h"

namespace latticino::cpu {

// The stages of strides below the vector length L, for blocks of L^2 words. For each stride L/2,
// L/4, .. 1 and each of its butterfly blocks there are L twiddles, one for each group of L words.
// These are raw pointers, because the translation units of the kernels must not emit library code.
struct TailTables : BackendTable {
  const std::uint32_t *root = nullptr, *root_quotient = nullptr;
  const std::uint32_t *inverse = nullptr, *inverse_quotient = nullptr;
};

std::shared_ptr<BackendTable> make_tail_tables(const PrimeTable& prime, int lanes);
std::shared_ptr<BackendTable> make_tail_tables_8(const PrimeTable& prime);
std::shared_ptr<BackendTable> make_tail_tables_16(const PrimeTable& prime);

const CpuKernels* avx512_kernels();  // null where not compiled in or not supported by the CPU
const CpuKernels* avx2_kernels();

}  // namespace latticino::cpu
