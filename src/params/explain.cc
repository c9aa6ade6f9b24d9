// Params::explain(): a text that says what a parameter set offers.
#include <cmath>
#include <string>

#include "math/text.h"
#include "params/bounds/security.h"
#include "params/params.h"
#include "params/security.h"

namespace latticino {
namespace {

std::string level_line(const Params& p, int l) {
  const LevelShape s = p.literal().levels[l];
  const char* use = "";
  if (p.bootstrap()) {
    const int stc = p.level_after_bootstrap() + p.bootstrap()->stc_levels;
    const int evalmod = stc + p.bootstrap()->evalmod_levels;
    use = l > evalmod                     ? "  CoeffToSlot"
          : l > stc                       ? "  EvalMod"
          : l > p.level_after_bootstrap() ? "  SlotToCoeff"
                                          : "";
  }
  const double step = l == 0 ? p.log_q(0) : std::log2(p.rescale_factor(l));
  std::string line = formatted("  %3d  %3d+%-2d", l, s.mains, s.terminals);
  if (!p.literal().outer.empty())
    line = formatted("  %3d  %3d+%d+%-2d", l, s.mains, s.terminals, s.outer);
  if (p.free_terminals()) line = formatted("  %3d  %-18s", l, s.str().c_str());
  line += formatted(" %9.2f %8.3f", p.log_q(l), step);
  line += l <= p.default_level()
              ? formatted(" %9.4f %9.1f", std::log2(p.scale(l)), std::log2(p.message_bound(l)))
              : std::string(20, ' ');
  return line + use + "\n";
}

std::string prime_line(const char* name, const std::vector<std::uint32_t>& primes) {
  std::string line = name;
  for (const std::uint32_t q : primes) line.append(" ").append(std::to_string(q));
  return line + "\n";
}

std::string security_line(const Params& p) {
  std::string line =
      formatted("security: log2(P Q) = %.1f, table %.0f at N = 2^%d (128 bits, ternary)",
                p.log_pq(), max_log_pq_128(p.log_n()), p.log_n());
  switch (p.literal().security) {
    case ParamsLiteral::Security::Bits128:
      line += formatted(": at least %d bits", security_bits(p));
      if (const int quantum = security_bits(p, true); quantum != 0) {
        line += formatted(", %d against quantum computers", quantum);
      }
      return line + "\n";
    case ParamsLiteral::Security::Legacy:
      return line + ": LEGACY set, not held to the table\n";
    case ParamsLiteral::Security::Insecure:
      break;
  }
  return line + ": INSECURE, for tests\n";
}

// Keys for the highest level of each band.
std::string band_lines(const Params& p) {
  std::string out;
  for (const SwitchBand& b : p.literal().bands) {
    const Params::KeyLayout& keys = p.key_layout(b.highest);
    int primes = keys.aux.size();
    for (const Basis& digit : keys.digits) primes += digit.size();
    const double bytes = 8.0 * p.n() * primes * static_cast<double>(keys.digits.size());
    const std::string levels = b.lowest == b.highest ? formatted(" %d", b.lowest)
                                                     : formatted("s %d to %d", b.lowest, b.highest);
    out += formatted("keys of level%s: %d auxiliary primes, %zu digits, %.1f MiB\n", levels.c_str(),
                     keys.aux.size(), keys.digits.size(), bytes / (1 << 20));
  }
  return out;
}

std::string bootstrap_lines(const Params& p) {
  const BootstrapLiteral& b = *p.bootstrap();
  const BootstrapPrecision bits = p.bootstrap_precision();
  double log_key = 0;
  const Basis basis = p.encapsulation_basis();
  for (int i = 0; i < basis.size(); ++i) log_key += std::log2(p.ring_primes()[basis.prime(i)]);
  std::string out = formatted(
      "bootstrapping in the usual order: CoeffToSlot %d, EvalMod %d, SlotToCoeff %d levels; %d "
      "levels left\n",
      b.cts_levels, b.evalmod_levels, b.stc_levels, p.level_after_bootstrap());
  out += formatted("  EvalMod: degree %d, %d double angles, |I| <= %d%s\n", b.evalmod_degree,
                   b.double_angles, b.range_k, b.arcsine ? ", arcsine" : "");
  out +=
      formatted("  encapsulation secret: weight %d, key of %.1f bits\n", b.sparse_weight, log_key);
  out += formatted("  failure probability (full slots): 2^%.1f\n", p.bootstrap_log_failure());
  out += "  values must lie in the unit box: real and imaginary parts from -1 to 1\n";
  out += formatted(
      "  then coefficients of the encoded polynomial are at most 1.42 times the scale; one as\n"
      "  large as the scale is raised to q0 / 2^%d\n",
      b.log_message_ratio);
  out += "  predicted precision of that order in bits, mean (largest error of 20 runs):";
  const auto add = [&](const char* message, const PrecisionBits& x) {
    out += formatted(" %s %.1f (%.1f)", message, x.mean, x.max);
  };
  add("random", bits.random);
  add("spike", bits.spike);
  add("constant 1", bits.constant);
  add("alternating signs", bits.alternating);
  out += "\n";
  return out;
}

}  // namespace

std::size_t Params::switching_key_bytes() const {
  return std::size_t{2} * dnum() * (q_count() + alpha()) * n() * sizeof(std::uint32_t);
}

std::string Params::explain() const {
  std::string out = name() + "\n";
  const bool outer = !literal_.outer.empty();
  out += formatted("N = 2^%d, up to %d slots; %zu mains + %zu terminals", log_n(), max_slots(),
                   literal_.mains.size(), literal_.terminals.size());
  if (outer) out += formatted(" + %zu outer terminals", literal_.outer.size());
  out += formatted(", alpha = %d, dnum = %d\n", alpha(), dnum());
  out += formatted("log2 Q = %.1f, log2 P = %.1f\n", log_q_max(), log_p());
  out += security_line(*this);
  out += literal_.hamming_weight == 0
             ? std::string("secret: uniform ternary\n")
             : formatted("secret: ternary, Hamming weight %d\n", literal_.hamming_weight);
  out +=
      formatted("depth: fresh ciphertexts at level %d; scales within %.4f bit of their targets\n",
                default_level_, scale_drift());
  out += formatted("one switching key: %.1f MiB (%.1f MiB in files, with its seed)\n",
                   static_cast<double>(switching_key_bytes()) / (1 << 20),
                   static_cast<double>(switching_key_bytes()) / (2 << 20));
  out += band_lines(*this);
  if (literal_.bootstrap) out += bootstrap_lines(*this);
  if (free_terminals()) {
    out += outer ? "level  main+ter:which+outer:which" : "level  main+ter:which";
  } else {
    out += outer ? "level  main+ter+outer" : "level  main+ter";
  }
  out += "  log2 Q  log2 step  log2 scale  log2 bound (largest message coefficient)\n";
  for (int l = top_level(); l >= 0; --l) out += level_line(*this, l);
  out += prime_line("terminals:", literal_.terminals) + prime_line("mains:", literal_.mains) +
         (outer ? prime_line("outer terminals:", literal_.outer) : "") +
         prime_line("auxiliaries:", literal_.aux);
  return out + "hash: " + hash_ + "\n";
}

}  // namespace latticino
