#include "math/fourier.h"

#include <cmath>
#include <sstream>

#include "math/fft_tables.h"
#include "math/fourier_selector.h"

namespace latticino::fourier {

// The w of block 0 is exp(i pi / 4), that of block 2m of a stage the square root of that of block m
// of the stage before: entry e has the angle 2 pi a(e) / 2^(s + 3) with a(0) = 1 and, for entry
// 2^(s-1) + m, a that of block m of stage s - 1, which is a of its even neighbour plus 2^s if m is
// odd.
std::vector<Complex> roots(int log_n) {
  const int stages = log_n - 1;
  const std::vector<Root> all = unit_roots(log_n + 1);
  std::vector<Complex> out(std::size_t{1} << (stages - 1));
  std::vector<std::size_t> angle(out.size());
  const auto set = [&](std::size_t entry, int stage, std::size_t a) {
    angle[entry] = a;
    const Root& root = all[a << (stages - 1 - stage)];
    out[entry] = {root.re, root.im};
  };
  set(0, 0, 1);
  for (int s = 1; s < stages; ++s) {
    for (std::size_t m = 0; m < std::size_t{1} << (s - 1); ++m) {
      const std::size_t before = ((std::size_t{1} << (s - 1)) + m) / 2;
      set((std::size_t{1} << (s - 1)) + m, s, angle[before] + (m % 2 << s));
    }
  }
  return out;
}

std::vector<Complex> unit_powers(int log_n) {
  std::vector<Complex> out;
  for (const Root& root : unit_roots(log_n + 1)) out.push_back({root.re, root.im});
  return out;
}

// The combination of the 2^group - 1 keys of a step is larger than one of them by the root of twice
// their number if they are random, which their masks and errors ensure. Chosen keys could reach the
// square of that: over one prime 2^(50 + (group + 1) / 2), 2^52.5 in groups of four, where sums
// have no places below the point. Rounding::one_prime() takes what is below 2^53: the multiple of Q
// that is nearest to x (1/Q, rounded) goes off without a rounding, and at most Q/2 + |x| 2^-53
// stays, of which an integer is (Q + 1) / 2 or less.
double Rotation::log_sum() const {
  const double several = group == 1 ? 0 : 0.5 * (group + 1);
  return std::log2(rows()) + log_n + (gadget.log_base - 1) +
         std::log2(static_cast<double>(modulus)) - 1 + several;
}

Refusal refusal(const Rotation& r) {
  const auto text = [](double x) {
    std::ostringstream out;
    out.precision(4);
    out << x;
    return out.str();
  };
  if (r.ternary) return {"a ternary key", "a binary key"};
  if (!has_degree(r.log_n)) return {"N = 2^" + text(r.log_n), "N = 2^10 to 2^12"};
  if (r.glwe_dimension > 2) return {"k = " + text(r.glwe_dimension), "k = 1 or 2"};
  const double most = r.primes == 1 ? kMaxExactLogSum : kMaxRoundedLogSum;
  if (r.log_sum() > most) {
    return {"sums of products up to 2^" + text(r.log_sum()), "sums up to 2^" + text(most)};
  }
  if (r.primes == 2 && r.gadget.levels * r.gadget.log_base > kMaxRoundedDigitBits) {
    return {"digits of " + text(r.gadget.levels * r.gadget.log_base) + " bits together",
            "at most " + text(kMaxRoundedDigitBits) + " over two primes"};
  }
  return {};
}

Rounding::Rounding(const Rotation& r)
    : modulus(static_cast<double>(r.modulus)),
      inverse(1 / modulus),
      low(static_cast<double>(static_cast<std::int64_t>(r.modulus) -
                              static_cast<std::int64_t>(modulus))),
      scale(std::ldexp(1, -gadget_shift(r.gadget, bit_length(r.modulus)))) {}

}  // namespace latticino::fourier
