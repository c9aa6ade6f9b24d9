#include "backend/cpu/tables.h"

#include "math/errors.h"
#include "math/fourier_selector.h"
#include "poly/domain.h"

namespace latticino::cpu {
namespace {

std::vector<std::uint16_t> bit_reversal(int bits) {
  std::vector<std::uint16_t> table(std::size_t{1} << bits, 0);
  for (std::size_t i = 1; i < table.size(); ++i) {
    table[i] = static_cast<std::uint16_t>((table[i / 2] | ((i & 1) << bits)) >> 1);
  }
  return table;
}

[[noreturn]] void foreign(const char* what) {
  throw ContextError(what, "tables of another backend", "one backend for each Ring",
                     "create a context for each device");
}

}  // namespace

RingTable::RingTable(const Ring& ring, const CpuKernels& k) : kernels(&k) {
  const int log_rows = half_log_rows(ring.log_n());
  row_reversal = bit_reversal(log_rows);
  col_reversal = bit_reversal(ring.log_n() - log_rows);
  if (fourier::has_degree(ring.log_n())) {
    fourier_roots_ = fourier::roots(ring.log_n());
    fourier_tail_ = fourier_tail(fourier_roots_, k.fourier->log_lanes);
    fourier_powers_ = fourier::unit_powers(ring.log_n());
    fourier_exponents_ = fourier_exponents(ring.log_n(), k.fourier->log_lanes);
    fourier_table = {ring.log_n(), fourier_roots_.data(), fourier_tail_.data(),
                     fourier_powers_.data(), fourier_exponents_.data()};
  }
  primes.resize(ring.prime_count());
  words_.resize(4 * primes.size());
  for (int i = 0; i < ring.prime_count(); ++i) {
    PrimeTable& p = primes[i];
    p.modulus = make_modulus(ring.prime(i));
    p.log_n = ring.log_n();
    p.log_rows = log_rows;
    const auto one_over = [&](int x) {
      return make_shoup(inverse_mod(static_cast<std::uint32_t>(x), p.modulus), p.modulus);
    };
    p.one_over_rows = one_over(p.rows());
    p.one_over_cols = one_over(p.cols());
    p.one_over_n = one_over(ring.n());
    fill_roots(ring, i);
    extra_.push_back(k.prepare(p));
    p.extra = extra_.back().get();
  }
}

void RingTable::fill_roots(const Ring& ring, int prime) {
  PrimeTable& p = primes[prime];
  const std::size_t n = static_cast<std::size_t>(ring.n());
  const std::size_t cols = static_cast<std::size_t>(p.cols());
  std::vector<std::uint32_t>* words = &words_[4 * prime];
  for (int i = 0; i < 4; ++i) words[i].resize(n);
  // Exponent e runs in natural order; entry bitrev(e) = (reversed low bits, reversed high bits).
  const std::uint32_t psi = ring.psi(prime), back = inverse_mod(psi, p.modulus);
  const ShoupFactor step[2] = {make_shoup(psi, p.modulus), make_shoup(back, p.modulus)};
  std::uint32_t power[2] = {1, 1};
  for (std::size_t e = 0; e < n; ++e) {
    const std::size_t low = e % row_reversal.size(), high = e / row_reversal.size();
    const std::size_t at = row_reversal[low] * cols + col_reversal[high];
    for (int side = 0; side < 2; ++side) {
      const ShoupFactor f = make_shoup(power[side], p.modulus);
      words[2 * side][at] = f.w;
      words[2 * side + 1][at] = f.quotient;
      power[side] = mul_shoup(power[side], step[side], p.modulus.q);
    }
  }
  p.root = words[0].data();
  p.root_quotient = words[1].data();
  p.inverse = words[2].data();
  p.inverse_quotient = words[3].data();
}

ConversionTable::ConversionTable(const BaseConversion& conversion, const RingTable& ring) {
  const Basis &from = conversion.from(), &to = conversion.to();
  for (int j = 0; j < from.size(); ++j) {
    const PrimeTable& p = ring.primes[from.prime(j)];
    factor.push_back(make_shoup(conversion.factor(j), p.modulus));
    half_factor.push_back(
        make_shoup(mul_shoup(conversion.factor(j), p.one_over_rows, p.modulus.q), p.modulus));
  }
  for (int i = 0; i < to.size(); ++i) {
    const Modulus& m = ring.primes[to.prime(i)].modulus;
    const std::uint32_t r = reduce_u64(std::uint64_t{1} << 32, m);
    const ShoupFactor r2 = make_shoup(mul_mod(r, r, m), m);
    moduli.push_back(m);
    for (int j = 0; j < from.size(); ++j) {
      matrix.push_back(centre(mul_shoup(conversion.matrix(i, j), r2, m.q), m.q));
    }
  }
}

const RingTable& ring_table(const Ring& ring, const CpuKernels& kernels) {
  std::call_once(ring.backend_once(),
                 [&] { ring.backend_table() = std::make_shared<RingTable>(ring, kernels); });
  const auto* table = dynamic_cast<const RingTable*>(ring.backend_table().get());
  if (table == nullptr || table->kernels != &kernels) foreign("Ring");
  return *table;
}

const ConversionTable& conversion_table(const BaseConversion& conversion, const RingTable& ring) {
  std::call_once(conversion.backend_once(), [&] {
    conversion.backend_table() = std::make_shared<ConversionTable>(conversion, ring);
  });
  const auto* table = dynamic_cast<const ConversionTable*>(conversion.backend_table().get());
  if (table == nullptr) foreign("BaseConversion");
  return *table;
}

}  // namespace latticino::cpu
