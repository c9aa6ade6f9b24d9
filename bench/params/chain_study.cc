// What word sizes cost: bootstrapping chains at N = 2^16 with mains of any size or all below 2^30,
// and auxiliaries below 2^31 or 2^30. Prints the table of docs/lab/primes.md.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <vector>

#include "math/errors.h"
#include "params/bounds/security.h"
#include "params/chain/prime_chain.h"
#include "params/params.h"

namespace latticino {
namespace {

constexpr int kLogN = 16;

struct Variant {
  const char* label;
  std::vector<double> main_bits;  // sizes of a full word to try; every scale shrinks with it
  std::uint32_t main_bound, aux_bound;
  int alpha;
};

struct System {
  int scale_bits;
  LevelShape base;
  double base_main_bits;
};

// CoeffToSlot levels that add the missing terminals: pairs at the top levels, a single one with a
// main, and pairs of mains below.
void add_cts(ChainPlan& plan, LevelShape top, int terminals, double shrink) {
  const int missing = terminals - top.terminals;
  const int pulling = (missing + 1) / 2;
  for (int i = 0; i < 4; ++i) {
    double bits = 60;
    if (i < 4 - pulling) {
      top.mains += 2;
    } else if (i == 4 - pulling && missing % 2 == 1) {
      top.mains += 1, top.terminals += 1, bits = 55;
    } else {
      top.terminals += 2, bits = 50;
    }
    plan.raised.push_back({top, terminals == 0 ? 58 : bits * shrink});
  }
}

std::shared_ptr<const Params> build(const System& s, const Variant& v, double main_bits,
                                    int levels) {
  const double shrink = main_bits / 30;
  ChainPlan plan;
  plan.log_n = kLogN;
  plan.shapes = rescaling_cycle(s.base, s.scale_bits, levels);
  plan.steps.assign(levels, s.scale_bits * shrink);
  plan.base_main_bits = s.base_main_bits * shrink;
  plan.terminal_bits = 25 * shrink;
  plan.alpha = v.alpha;
  plan.aux_bound = v.aux_bound;
  plan.main_bound = v.main_bound;
  LevelShape top = plan.shapes.back();
  int terminals = 0;
  for (const LevelShape& shape : plan.shapes) terminals = std::max<int>(terminals, shape.terminals);
  for (int i = 0; i < 8; ++i) {
    top.mains += 2;
    plan.raised.push_back({top, 58});
  }
  add_cts(plan, top, terminals, shrink);
  PrimeChain chain = pick_primes(plan);
  ParamsLiteral x;
  // The caller applies the table, because it also wants to see sets that miss it.
  x.name = "study-insecure";
  x.security = ParamsLiteral::Security::Insecure;
  x.log_n = kLogN;
  x.terminals = std::move(chain.terminals);
  x.mains = std::move(chain.mains);
  x.aux = std::move(chain.aux);
  x.levels = std::move(chain.levels);
  x.alpha = v.alpha;
  x.log_scale = s.scale_bits * shrink;
  x.bootstrap = BootstrapLiteral{};
  return Params::check(std::move(x));
}

std::shared_ptr<const Params> deepest(const System& s, const Variant& v, double main_bits) {
  std::shared_ptr<const Params> best;
  for (int levels = 4; levels <= 24; ++levels) {
    try {
      const auto p = build(s, v, main_bits, levels);
      if (p->log_pq() <= max_log_pq_128(kLogN)) best = p;
    } catch (const ParameterError&) {
      continue;  // there is no such chain: digits exceed P, or no primes are left below the bound
    }
  }
  return best;
}

void study(const System& s, const Variant& v) {
  std::shared_ptr<const Params> best;
  for (const double bits : v.main_bits) {
    const auto p = deepest(s, v, bits);
    if (p != nullptr && (best == nullptr || p->top_level() > best->top_level())) best = p;
  }
  if (best == nullptr) {
    std::printf("| 2^%d | %s | none |||||||||\n", s.scale_bits, v.label);
    return;
  }
  std::printf("| 2^%.2f | %s | %d | %zu+%zu | %d | %d | %.1f | %.1f | %.1f | %.4f |\n",
              best->literal().log_scale, v.label, best->level_after_bootstrap(),
              best->literal().mains.size(), best->literal().terminals.size(), best->alpha(),
              best->dnum(), best->log_q_max(), best->log_pq(),
              max_log_pq_128(kLogN) - best->log_pq(), best->scale_drift());
}

int run() {
  constexpr std::uint32_t k30 = std::uint32_t{1} << 30, k31 = std::uint32_t{1} << 31;
  const std::vector<System> systems = {
      {30, {2, 0}, 39.75}, {35, {0, 2}, 0}, {40, {0, 2}, 0}, {45, {2, 0}, 53}, {50, {2, 0}, 58}};
  const std::vector<double> below = {29.95, 29.93, 29.9, 29.85, 29.8, 29.7, 29.6};
  const std::vector<Variant> variants = {
      {"mains near 2^30, aux < 2^31", {30}, k31, k31, 12},
      {"mains near 2^30, aux < 2^30", {30}, k31, k30, 12},
      {"mains near 2^30, aux < 2^30", {30}, k31, k30, 13},
      {"mains < 2^30, aux < 2^31", below, k30, k31, 12},
      {"mains < 2^30, aux < 2^30", below, k30, k30, 12},
  };
  std::printf(
      "| scale | words | levels left | mains+terminals | alpha | dnum | log2 Q | log2 PQ | "
      "unused bits | drift |\n|---|---|---|---|---|---|---|---|---|---|\n");
  for (const System& s : systems) {
    for (const Variant& v : variants) study(s, v);
  }
  return 0;
}

}  // namespace
}  // namespace latticino

int main() { return latticino::run(); }
