// Encoding and decoding: every backend gives the same doubles and the same integers.
#include <algorithm>
#include <cmath>
#include <complex>

#include "conformance/exact.h"
#include "conformance/side.h"

namespace latticino::conformance {
namespace {

using exact::Verdict;
using Operations = std::vector<Operation>;

constexpr double kFactor = 1099511627776.0;  // 2^40

// Slot counts from one to all, one tile and several.
std::vector<int> slot_counts(const Ring& ring, std::size_t most) {
  std::vector<int> counts;
  for (int slots = 1; slots <= ring.n() / 2; slots *= 2) counts.push_back(slots);
  while (counts.size() > most) counts.erase(counts.begin() + 1);
  return counts;
}

Embed::Item embed_item(Side& side, int slots, double factor, const PolyView& out) {
  return {&side.slot_transform(), side.slots(slots), slots, factor, 0, out};
}

Case embeddings(const Basis& basis) {
  Case c{"Embed", "every slot count", {}, {}};
  c.build = [basis](Side& side) -> Operations {
    Embed op;
    for (const int slots : slot_counts(side.ring(), 12)) {
      op.items.push_back(embed_item(side, slots, kFactor, side.output(basis, Domain::Coeff)));
    }
    op.items.push_back(
        embed_item(side, 1 << (side.ring().log_n() - 1), 0.7, side.output(basis, Domain::Coeff)));
    return {op};
  };
  c.exact = [basis](const Observed& seen) {
    Verdict verdict;
    for (std::size_t o = 0; o < seen.outputs.size(); ++o) {
      const std::vector<double>& z = (*seen.slots)[o];
      const double factor = o + 1 == seen.outputs.size() ? 0.7 : kFactor;
      for (const std::size_t i : exact::samples(seen.n)) {
        const long double x = exact::coefficient(z, seen.n, i, factor);
        const auto least = std::llrint(x - 0.05L), most = std::llrint(x + 0.05L);
        for (int k = 0; k < basis.size(); ++k) {
          const int p = basis.prime(k);
          const std::uint32_t q = seen.ring->prime(p), got = seen.outputs[o].limb(p)[i];
          const bool near = got == exact::residue(least, q) || got == exact::residue(most, q);
          verdict.expect("coefficient", p, i, got, near ? got : exact::residue(least, q));
        }
      }
    }
    return verdict.text();
  };
  return c;
}

// Doubles of a Project lie in the words of a polynomial in Coeff, whose order is the logical one.
double* doubles(const PolyView& view) {
  return reinterpret_cast<double*>(view.limb(view.segment[0].prime));
}

// Coefficients of a size that few primes tell apart: those of encoded slots.
Case round_trip(const Basis& basis) {
  Case c{"Project", "encoded slots", {}, {}};
  const bool wide = basis.size() >= 2;  // a limb holds N/4 slots
  c.build = [=](Side& side) -> Operations {
    Embed embed;
    Project project;
    for (const int slots : slot_counts(side.ring(), 9)) {
      if (!wide && 2 * slots == side.ring().n()) continue;
      const PolyView coefficients = side.output(basis, Domain::Coeff);
      const double factor = wide ? kFactor : 512;
      embed.items.push_back(embed_item(side, slots, factor, coefficients));
      project.items.push_back({&side.slot_transform(), coefficients, factor, slots,
                               doubles(side.output(basis, Domain::Coeff))});
    }
    return {embed, project};
  };
  c.exact = [=](const Observed& seen) {
    Verdict verdict;
    double bits = 0;
    for (int k = 0; k < basis.size(); ++k) bits += std::log2(seen.ring->prime(basis.prime(k)));
    if (bits < 45) return verdict.text();  // the coefficients do not fit
    for (std::size_t o = 1; o < seen.outputs.size(); o += 2) {
      const std::vector<double>& z = (*seen.slots)[o / 2];
      const auto* got = reinterpret_cast<const double*>(seen.outputs[o].limb(basis.prime(0)));
      for (std::size_t i = 0; i < z.size(); ++i) {
        const double bound = static_cast<double>(z.size()) / (wide ? kFactor : 512);
        verdict.expect("a slot that did not come back", std::abs(got[i] - z[i]) <= bound);
      }
    }
    return verdict.text();
  };
  return c;
}

// The first primes of a basis, few enough for quotients in the range of doubles.
Basis first_primes(const Basis& basis) {
  Basis out;
  for (int k = 0; k < std::min(basis.size(), 24); ++k) {
    const auto p = static_cast<std::uint16_t>(basis.prime(k));
    out = out.with(Basis{{p, static_cast<std::uint16_t>(p + 1)}});
  }
  return out;
}

// x / divisor for the centred x with these residues, rounded once.
double exact_quotient(const std::vector<std::uint32_t>& residues,
                      const std::vector<std::uint32_t>& primes, double divisor) {
  const BigUint x = exact::reconstruct(residues, primes);
  BigUint other = product(primes);
  other -= x;
  if (x.is_zero()) return 0;
  const BigUint d(static_cast<std::uint64_t>(divisor));
  return x > other ? -BigUint::ratio(other, d) : BigUint::ratio(x, d);
}

// Residues of any kind: integers up to half the modulus.
Case wide_integers(const Basis& all) {
  constexpr double kDivisor = 3e9;
  const Basis basis = first_primes(all);
  Case c{"Project", "integers of any size", {}, {}};
  c.build = [=](Side& side) -> Operations {
    Project op;
    for (const int slots : {1, 4, 64}) {
      op.items.push_back({&side.slot_transform(), side.input(basis, Domain::Coeff), kDivisor, slots,
                          doubles(side.output(basis, Domain::Coeff))});
    }
    return {op};
  };
  // One slot: the coefficients themselves.
  c.exact = [=](const Observed& seen) {
    Verdict verdict;
    const std::vector<std::uint32_t> primes = exact::primes(*seen.ring, basis);
    const auto* got = reinterpret_cast<const double*>(seen.outputs[0].limb(basis.prime(0)));
    for (std::size_t part = 0; part < 2; ++part) {
      std::vector<std::uint32_t> column;
      column.reserve(basis.size());
      for (int k = 0; k < basis.size(); ++k) {
        column.push_back(seen.inputs[0].limb(basis.prime(k))[part * seen.n / 2]);
      }
      const double want = exact_quotient(column, primes, kDivisor);
      verdict.expect("a coefficient far from its quotient",
                     std::abs(got[part] - want) <= 3e-16 * std::abs(want));
    }
    return verdict.text();
  };
  return c;
}

}  // namespace

std::vector<Case> slot_cases(const Basis& basis) {
  return {embeddings(basis), round_trip(basis), wide_integers(basis)};
}

}  // namespace latticino::conformance
