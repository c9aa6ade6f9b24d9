#include "params/bounds/conversion.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "math/modulus.h"

namespace latticino {
namespace {

double row_load(const std::vector<std::uint32_t>& sources, std::uint32_t p, bool divided) {
  const Modulus m = make_modulus(p);
  const std::size_t n = sources.size();
  std::vector<std::uint32_t> after(n + 1, 1 % p);  // products of sources j, j+1, ...
  for (std::size_t j = n; j-- > 0;) after[j] = mul_mod(after[j + 1], sources[j] % p, m);
  std::uint32_t before = pow_mod(2, 64, m);
  if (divided) before = mul_mod(before, inverse_mod(after[0], m), m);
  double load = 0;  // a sum of positive terms: relative error below n 2^-53
  for (std::size_t j = 0; j < n; ++j) {
    const std::int32_t entry = centre(mul_mod(before, after[j + 1], m), p);
    const std::uint32_t largest = (sources[j] - 1) / 2;
    load += std::abs(static_cast<double>(entry)) * largest;
    before = mul_mod(before, sources[j] % p, m);
  }
  return std::ldexp(load, -63);
}

}  // namespace

double conversion_load(const std::vector<std::uint32_t>& sources,
                       const std::vector<std::uint32_t>& targets, bool divided) {
  double load = 0;
  for (const std::uint32_t p : targets) load = std::max(load, row_load(sources, p, divided));
  return load;
}

}  // namespace latticino
