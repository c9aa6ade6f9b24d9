// Constants the CPU backend derives from a Ring or a BaseConversion, kept with it.
#pragma once

#include <memory>
#include <vector>

#include "backend/cpu/fourier_kernels.h"
#include "backend/cpu/kernels.h"
#include "ops/conversion.h"

namespace latticino::cpu {

struct RingTable : BackendTable {
  RingTable(const Ring& ring, const CpuKernels& kernels);

  const CpuKernels* kernels;
  std::vector<PrimeTable> primes;
  std::vector<std::uint16_t> row_reversal, col_reversal;  // bit reversals of log2(rows), log2(cols)
  FourierTable fourier_table;  // only for degrees that blind rotations use

 private:
  void fill_roots(const Ring& ring, int prime);
  std::vector<std::vector<std::uint32_t>> words_;  // roots and quotients, four arrays a prime
  std::vector<std::shared_ptr<BackendTable>> extra_;
  std::vector<fourier::Complex> fourier_roots_, fourier_powers_;
  std::vector<double> fourier_tail_;
  std::vector<std::uint32_t> fourier_exponents_;
};

struct ConversionTable : BackendTable {
  explicit ConversionTable(const BaseConversion& conversion, const RingTable& ring);

  std::vector<std::int32_t> matrix;      // centred matrix * 2^64 mod p, targets x sources
  std::vector<ShoupFactor> factor;       // for inputs in Coeff
  std::vector<ShoupFactor> half_factor;  // the same divided by rows, for inputs in Half
  std::vector<Modulus> moduli;           // the target primes
};

// Throws ContextError when another backend's tables are there already.
const RingTable& ring_table(const Ring& ring, const CpuKernels& kernels);
const ConversionTable& conversion_table(const BaseConversion& conversion, const RingTable& ring);

}  // namespace latticino::cpu
