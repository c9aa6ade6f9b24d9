// What programs write with the public headers, for compilers that report every warning as an error.
// tests/python/house/test_install.py compiles it and does not run it.
#include <latticino/latticino.h>

#include <array>
#include <cstdint>
#include <tuple>
#include <vector>

namespace lt = latticino;

// Options and other structures by name. What is left out has a default, so no compiler misses it.
void structures() {
  const lt::ContextOptions context{.threads = 1};
  const lt::TfheContextOptions tfhe{.arithmetic = "exact"};
  const lt::EncryptOptions encrypt{.level = 3};
  const lt::BootstrapOptions bootstrap{.minimal_keys = true};
  const lt::LookupOptions lookup{.bound = 2};
  const lt::ServerKeyOptions keys{.public_key = true};
  const lt::ParameterRequest request{.n = 1 << 13, .levels = 2};
  const lt::ParameterLiteral literal{.log_n = 13};
  const lt::BootstrapLevels levels{.cts_levels = 3};
  const lt::LevelPrimes primes{.mains = 1};
  const lt::PolynomialBasis basis{.chebyshev = true};
  const lt::Range range{.low = -1};
  const lt::Bits bits{.mean = 20};
  const lt::TfheInput input{.size = 3};
  const lt::ScryptCosts costs{.log_n = 14};
  const lt::Warning warning{.kind = lt::Warning::Kind::Range};
  const lt::SharedValues shared{.sigma = 1};
  const lt::TfhePlan plan{.rounds = 1};
  const lt::TableReport report{.mean = 1};
  const lt::PlannedKey key{.level = 1};
  const lt::BundleUse use{.bytes = 1};
  const lt::BootstrapForm form{.arcsine = 3};
  const auto used = [](const auto&...) {};
  used(context, tfhe, encrypt, bootstrap, lookup, keys, request, literal, levels, primes, basis,
       range, bits, input, costs, warning, shared, plan, report, key, use, form);
}

// Comparisons of encrypted values give encrypted values, which C++20 takes for no answer of ==
// unless an operator fits exactly.
lt::TfheArray integers(const lt::TfheArray& a, const lt::TfheArray& b) {
  const std::vector<std::uint64_t> list{1, 2, 3};
  const std::array each{a == b, a != b, a == 2, a != 2u,  2 == a,   2L != a,
                        a < b,  3 < a,  5 - a,  1 << a,   list - a, a == list,
                        a + 2L, a * 3u, a & 1,  true ^ a, a >> 1u,  std::uint8_t{3} + a};
  return lt::where(each[0], lt::minimum(a, 7u), std::size_t{4});
}

lt::Array numbers(const lt::Array& x) {
  const lt::Values matrix({1, 2, 3, 4}, {2, 2});
  return (x * 2 + 1u - 0.5f) / 3L * true * 'c' + lt::matmul(x, matrix) * lt::Complex(0, 1);
}

void recordings(const lt::Array& x) {
  const auto tuple = lt::record([](const lt::Array& a) { return std::tuple(a, a + 1, a * 2); }, x);
  const auto array = lt::record(
      [](const lt::Array& a) {
        return std::array<lt::Array, 2>{a, -a};
      },
      x);
  const auto [first, second, third] = tuple(x);
  const bool same = first.context() == array(second)[0].context();
  if (!same) recordings(third);
}
