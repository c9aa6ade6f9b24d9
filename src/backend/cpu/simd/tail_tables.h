// Twiddles of the vectorised row tail, and the tables of kernels by instruction set.
#pragma once

#include "backend/cpu/kernels.h"
#include "backend/cpu/lwe_kernels.h"

namespace latticino::cpu {

// The stages of strides below the vector length L, for blocks of L^2 words: for stride L/2, L/4, ..
// 1 and each butterfly block of that stride, L twiddles, one for each group of L words. Raw
// pointers: the kernels' translation units must not emit library code of their own.
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
