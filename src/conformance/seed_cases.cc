// Cases of the records that expand seeds.
#include <array>
#include <cstring>

#include "conformance/exact.h"
#include "conformance/side.h"
#include "crypto/expand.h"
#include "crypto/gaussian.h"
#include "params/params.h"

namespace latticino::conformance {
namespace {

using exact::Verdict;
using Operations = std::vector<Operation>;

Case expansion(const Basis& basis) {
  Case c{"ExpandUniform", "two streams", {}, {}};
  c.build = [basis](Side& side) -> Operations {
    ExpandUniform::Item item;
    for (std::size_t i = 0; i < item.seed.size(); ++i) {
      item.seed[i] = static_cast<std::uint8_t>(mix(i));
    }
    item.stream = 3;
    item.out = side.output(basis, Domain::Eval);
    ExpandUniform::Item other = item;
    other.stream = ~std::uint64_t{0} - 1;
    other.out = side.output(basis, Domain::Coeff);
    return {ExpandUniform{{item, other}}};
  };
  return c;
}

// The first 32 bytes of a case's integers are its seed.
std::uint32_t error_residue(const std::vector<std::int64_t>& seed, std::uint64_t index,
                            const crypto::GaussianTable& table, std::size_t i, std::uint32_t q) {
  std::array<std::uint8_t, 32> key;
  std::memcpy(key.data(), seed.data(), key.size());
  const auto block = crypto::chacha20_block(
      key, static_cast<std::uint32_t>(i / 4),
      {static_cast<std::uint32_t>(index), static_cast<std::uint32_t>(index >> 32), ~0u});
  crypto::Wide word = 0;
  for (int k = 3; k >= 0; --k) word = word << 32 | block[i % 4 * 4 + k];
  return exact::residue(crypto::gaussian_from_word(table.entries(), word), q);
}

Case errors(const Basis& basis) {
  static const crypto::GaussianTable kTable(kErrorSigma);
  constexpr std::uint64_t kIndices[] = {0, 3, 0xfedcba9876543210};
  Case c{"SampleGaussian", "two seeds", {}, {}};
  c.build = [=](Side& side) -> Operations {
    const auto *a = reinterpret_cast<const std::uint8_t*>(side.integers()),
               *b = reinterpret_cast<const std::uint8_t*>(side.integers());
    SampleGaussian op{&kTable, {}};
    for (const std::uint64_t index : kIndices) {
      op.items.push_back({a, index, side.output(basis, Domain::Coeff)});
    }
    op.items.push_back({b, kIndices[0], side.output(basis, Domain::Coeff)});
    return {op};
  };
  c.exact = [=](const Observed& seen) {
    Verdict verdict;
    for (int k = 0; k < basis.size(); ++k) {
      const int p = basis.prime(k);
      for (const std::size_t i : exact::positions(seen.n)) {
        for (std::size_t item = 0; item < 4; ++item) {
          verdict.expect("error", p, i, seen.outputs[item].limb(p)[i],
                         error_residue((*seen.integers)[item / 3], kIndices[item % 3], kTable, i,
                                       seen.ring->prime(p)));
        }
      }
    }
    return verdict.text();
  };
  return c;
}

}  // namespace

std::vector<Case> seed_cases(const Basis& basis) { return {expansion(basis), errors(basis)}; }

}  // namespace latticino::conformance
