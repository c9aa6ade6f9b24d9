// From a request to a parameter set. It tries drafts in the order of their work, each with the
// digits that security and the bounds of base conversion allow. Then it tries packed chains.
#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <optional>
#include <set>

#include "math/errors.h"
#include "params/bounds/security.h"
#include "params/chain/arrange.h"
#include "params/own/plans.h"

namespace latticino::own {
namespace {

constexpr int kMaxBuilt = 30;          // chains that are built in one attempt
constexpr int kMaxBuiltPerCount = 12;  // the same if many counts of levels are tried
constexpr int kMaxFailedPerCount = 2;  // drafts of one family that are tried in that case
constexpr int kMaxFailed = 6;
constexpr int kMaxDigits = 3;   // choices of digits that are built for one draft
constexpr int kMaxAlpha = 40;   // the most auxiliary primes
constexpr int kLeastWord = 28;  // the smallest word that pack_primes takes
// Bits by which the largest primes may be smaller than a word.
constexpr double kPrimeShortfall = 0.02;
constexpr double kEstimateTolerance = 1;  // bits by which an estimate of log2(P Q) may be too large
constexpr std::size_t kMaxPackedDigits = 6;  // packings that are tried for one count of digits
constexpr double kNoBound = 1e9;
constexpr int kAnyDigits = 1000;
constexpr double kMaxTried = 140;  // the most levels

// The most digits if the request asks for as many levels as fit: more digits gain few levels and
// make keys larger. If N is small, P is one prime or two. If it is large, the sums of base
// conversion limit alpha.
int most_digits(std::int64_t n) { return n == 1 << 15 || n == 1 << 16 ? 4 : 8; }

int log2_of(std::int64_t n) { return std::countr_zero(static_cast<std::uint64_t>(n)); }

std::vector<int> words_of(const ParamsRequest& x) {
  if (x.word == 0) return {30, 31};
  if (x.word < kLeastWord) return {};
  return {static_cast<int>(x.word)};
}

double bound_of(const ParamsRequest& x) {
  if (x.security == 0) return kNoBound;
  return max_log_pq(log2_of(x.n), static_cast<int>(x.security), x.quantum,
                    static_cast<int>(x.hamming_weight));
}

class Solver {
 public:
  Solver(const ParamsRequest& x, Schedule schedule, int most_digits, int most_built)
      : x_(x),
        s_(std::move(schedule)),
        bound_(bound_of(x)),
        words_(words_of(x)),
        most_digits_(most_digits),
        most_built_(most_built) {}

  Outcome solve(int packs) {
    const std::vector<Draft> drafts = drafts_of(s_);
    std::shared_ptr<const Params> out;
    std::map<int, int> failed;
    const int most_failed = most_built_ == kMaxBuiltPerCount ? kMaxFailedPerCount : kMaxFailed;
    for (const Draft& draft : drafts) {
      if (failed[draft.family] == most_failed) continue;
      const int before = built_;
      if (out = from_draft(draft); out || built_ >= most_built_) break;
      if (built_ > before) ++failed[draft.family];
    }
    // Levels of different sizes are better packed than given primes of their own.
    const bool may_help = s_.uniform() ? !out && !too_wide_ : true;
    if (packs > 0 && may_help) {
      if (auto other = packed(packs); other && (!out || limbs_of(*other) < limbs_of(*out))) {
        out = std::move(other);
      }
    }
    if (packs > 0 && may_help && !out) out = packed_freely(packs);
    if (packs > 0 && may_help && !out) out = packed_smaller(packs);
    if (out) return Outcome{std::move(out), {}};
    Outcome none{nullptr, refusal()};
    if (refused_ && refused_->level() > 0 &&
        refused_->level() < static_cast<int>(s_.scales.size())) {
      none.level = refused_->level();
      none.nearest = refused_->nearest();
    }
    return none;
  }

 private:
  std::string asked() const {
    std::string out = std::to_string(s_.scales.size() - 1) + " levels";
    out += s_.uniform() ? " of 2**" + number(s_.scales[0]) : " of a list";
    if (s_.bootstrapping) out += ", " + std::to_string(kStcLevels) + " of them SlotToCoeff's,";
    if (x_.word != 0) out += " in primes below 2**" + std::to_string(x_.word);
    return out + " at N=" + std::to_string(x_.n);
  }

  static int limbs_of(const Params& p) {
    int sum = 0;
    for (int l = 0; l <= p.top_level(); ++l) sum += p.limbs(l);
    return sum;
  }

  // What an error message says the request had and needed.
  static std::string had_and_needs(const std::string& what) {
    const std::size_t begin = what.find("had "), end = what.rfind("; ");
    if (begin == std::string::npos || end == std::string::npos || end < begin) return what;
    return what.substr(begin + 4, end - begin - 4);
  }
  static std::string had_and_needs(const PackingRefusal& why) {
    std::string out = had_and_needs(std::string(why.what()));
    for (std::size_t i = 0; i < why.nearest().size(); ++i) {
      out += (i == 0 ? ", the nearest that do are 2^" : " and 2^") + number(why.nearest()[i]);
    }
    return out;
  }

  Refusal refusal() const {
    if (too_wide_) {
      return {asked() + (x_.dnum == 0 ? "" : " with dnum=" + std::to_string(x_.dnum)) +
                  ", whose keys take " + number(std::ceil(least_pq_)) + " bits at least",
              "at most " + number(bound_) + " bits of log2(P Q) for " +
                  std::to_string(x_.security) + " bits of security" +
                  (x_.quantum ? " against quantum computers" : "")};
    }
    if (no_digits_) {
      return {asked() + " with dnum=" + std::to_string(x_.dnum),
              "a count of digits that its " + std::to_string(no_digits_) + " primes divide into"};
    }
    if (refused_) {
      return {asked(),
              "scales that the primes 1 mod 2N make up (" + had_and_needs(*refused_) + ")"};
    }
    const std::string needs = "enough primes 1 mod 2N of the sizes that such levels divide into";
    return {asked(),
            why_.empty() ? needs : needs + " (the last chain tried: " + had_and_needs(why_) + ")"};
  }

  std::shared_ptr<const Params> from_draft(const Draft& draft) {
    std::vector<Digits> digits = digits_of(draft.primes, static_cast<int>(x_.dnum));
    if (digits.empty()) {
      no_digits_ = draft.primes;
      return nullptr;
    }
    int tried = 0;
    for (const Digits& d : digits) {
      // The sum of alpha products of two primes' halves, one of them a quarter on average.
      const double main = draft.log_q / draft.primes;
      if (d.dnum > most_digits_ ||
          d.alpha > std::min<double>(kMaxAlpha, std::exp2(66 - s_.word - main))) {
        continue;
      }
      const double log_pq = draft.log_q + d.alpha * (s_.word - kPrimeShortfall);
      if (!in_bound(log_pq, kEstimateTolerance)) continue;
      if (tried++ == kMaxDigits || built_ >= most_built_) return nullptr;
      if (auto params = built(draft.chain, d.alpha)) return params;
    }
    return nullptr;
  }

  std::shared_ptr<const Params> built(ChainPlan plan, int alpha) {
    ++built_;
    const auto prime_bound = std::uint32_t{1} << static_cast<int>(s_.word);
    plan.alpha = alpha;
    plan.aux_bound = plan.main_bound = prime_bound;
    try {
      PrimeChain chain = pick_primes(plan);
      ParamsLiteral literal;
      literal.terminals = std::move(chain.terminals);
      literal.mains = std::move(chain.mains);
      literal.aux = std::move(chain.aux);
      literal.levels = std::move(chain.levels);
      literal.alpha = alpha;
      std::vector<double> raised;
      raised.reserve(plan.raised.size());
      for (const RaisedLevel& r : plan.raised) raised.push_back(r.bits);
      // Scales are within 0.1 bit of their targets if possible. Otherwise each level has a target
      // of its own, and is within half a bit of it.
      for (const bool targets : {false, true}) {
        if (auto params = unless_refused(literal, raised, targets)) return params;
      }
    } catch (const ParameterError& e) {
      why_ = e.what();
    }
    return nullptr;
  }

  std::shared_ptr<const Params> unless_refused(const ParamsLiteral& literal,
                                               const std::vector<double>& raised, bool targets) {
    try {
      return checked(literal, raised, targets);
    } catch (const ParameterError& e) {
      why_ = e.what();
      return nullptr;
    }
  }

  std::shared_ptr<const Params> checked(ParamsLiteral literal, const std::vector<double>& raised,
                                        bool targets) {
    const int user = static_cast<int>(s_.scales.size()) - 1;
    literal.name = name_of(x_, s_.bootstrapping ? user - kStcLevels : user);
    literal.log_n = s_.log_n;
    literal.log_scale = s_.scales[0];
    if (!s_.uniform() || targets) {
      literal.level_log_scale = s_.scales;
      literal.level_log_scale.insert(literal.level_log_scale.end(), raised.begin(), raised.end());
    }
    literal.hamming_weight = static_cast<int>(x_.hamming_weight);
    if (x_.security == 0) literal.security = ParamsLiteral::Security::Insecure;
    if (s_.bootstrapping) {
      literal.bootstrap = BootstrapLiteral{};
      literal.bootstrap->cts_levels =
          static_cast<int>(raised.size()) - literal.bootstrap->evalmod_levels;
      double base = 0;
      const LevelShape& lowest = literal.levels[0];
      for (int i = 0; i < lowest.mains; ++i) base += std::log2(literal.mains[i]);
      for (int i = 0; i < static_cast<int>(literal.terminals.size()); ++i) {
        if (lowest.has_terminal(i)) base += std::log2(literal.terminals[i]);
      }
      for (int i = 0; i < static_cast<int>(literal.outer.size()); ++i) {
        if (lowest.has_outer(i)) base += std::log2(literal.outer[i]);
      }
      literal.bootstrap->log_message_ratio = log_message_ratio(s_.scales[0], base);
    }
    std::shared_ptr<const Params> params = Params::check(std::move(literal));
    return in_bound(params->log_pq(), 0) ? params : nullptr;
  }

  bool in_bound(double log_pq, double about) {
    if (log_pq <= bound_ + about) return true;
    if (!too_wide_ || log_pq < least_pq_) least_pq_ = log_pq;
    too_wide_ = true;
    return false;
  }

  PackingPlan plan_of(int word, PackingPlan::Terminals terminals) const {
    PackingPlan plan;
    plan.log_n = s_.log_n;
    plan.word_bits = word;
    plan.level_log_scale = s_.scales;
    plan.terminals = terminals;
    plan.advises = terminals == PackingPlan::Terminals::Free;  // only its refusals are reported
    if (s_.bootstrapping) {
      plan.raised.assign(BootstrapLiteral{}.evalmod_levels,
                         {std::min(evalmod_bits(s_), 2.0 * word - 0.7)});
      plan.raised.insert(plan.raised.end(), BootstrapLiteral{}.cts_levels, {52, 0.5, true});
    }
    return plan;
  }

  // Primes of the next smaller word are below the word as well. Where sums of base conversion have
  // no room for as many words of 31 bits as a digit has, they have room for those of 30.
  std::shared_ptr<const Params> packed_smaller(int packs) const {
    if (x_.word <= kLeastWord) return nullptr;
    Solver smaller(*this);
    smaller.words_ = {static_cast<int>(x_.word) - 1};
    auto out = smaller.packed(packs);
    return out ? out : smaller.packed_freely(packs);
  }

  // BitPacker chains whose levels take the first terminals of one list or of two, by word size.
  std::shared_ptr<const Params> packed(int packs) {
    for (const int word : words_) {
      PackingPlan plan = plan_of(word, PackingPlan::Terminals::Lists);
      for (const double more : {0.0, 4.0}) {
        if (packs-- == 0) return nullptr;
        plan.base_bits = s_.base_bits() + more;
        if (auto params = packed(plan)) return params;
      }
    }
    return nullptr;
  }

  // The same for chains whose levels may take any terminals. It is tried if lists gave no chain. If
  // the base is refused, it tries once more with a base that the refusal names.
  std::shared_ptr<const Params> packed_freely(int packs) {
    for (const int word : words_) {
      PackingPlan plan = plan_of(word, PackingPlan::Terminals::Free);
      plan.base_bits = s_.base_bits();
      for (int again = 0; again < 2; ++again) {
        if (packs-- == 0) return nullptr;
        refused_.reset();
        if (auto params = packed(plan)) return params;
        if (!refused_ || refused_->level() != 0) break;
        const auto& nearest = refused_->nearest();
        const auto larger = std::find_if(nearest.begin(), nearest.end(),
                                         [&](double bits) { return bits > plan.base_bits; });
        if (larger == nearest.end()) break;
        plan.base_bits = *larger;
      }
    }
    return nullptr;
  }

  static int primes_of(const PackedChain& chain) {
    return static_cast<int>(chain.mains.size() + chain.terminals.size());
  }

  std::shared_ptr<const Params> packed(PackingPlan& plan) {
    try {
      plan.alpha = 1;
      const PackedChain first = pack_primes(plan);
      const std::vector<Digits> digits = digits_of(primes_of(first), static_cast<int>(x_.dnum));
      if (digits.empty()) no_digits_ = primes_of(first);
      double log_q = 0;
      for (const auto* list : {&first.mains, &first.terminals}) {
        for (const std::uint32_t q : *list) log_q += std::log2(q);
      }
      int tried = 0;
      for (const Digits& d : digits) {
        if (d.alpha > kMaxAlpha || d.dnum > most_digits_) continue;
        if (!in_bound(log_q + d.alpha * (plan.word_bits - kPrimeShortfall), kEstimateTolerance))
          continue;
        if (tried++ == kMaxDigits) break;
        plan.alpha = d.alpha;
        if (auto params = divided(plan)) return params;
      }
    } catch (const PackingRefusal& e) {
      why_ = e.what();
      if (plan.terminals == PackingPlan::Terminals::Free) refused_ = e;
    } catch (const ParameterError& e) {
      why_ = e.what();
    }
    return nullptr;
  }

  // With as many digits as are asked for. The auxiliary primes are the largest: beside more of them
  // a chain has other primes, and may have more of them or fewer.
  std::shared_ptr<const Params> divided(PackingPlan& plan) {
    std::set<int> tried;
    int primes = 0;
    while (tried.size() < kMaxPackedDigits) {
      tried.insert(plan.alpha);
      const PackedChain chain = pack_primes(plan);
      primes = primes_of(chain);
      const auto fits = [&](int alpha) { return (primes + alpha - 1) / alpha == x_.dnum; };
      if (x_.dnum == 0 || fits(plan.alpha)) return from_packed(chain, plan);
      plan.alpha = 1;
      while (plan.alpha <= kMaxAlpha && (!fits(plan.alpha) || tried.count(plan.alpha) != 0)) {
        ++plan.alpha;
      }
      if (plan.alpha > kMaxAlpha) break;
    }
    no_digits_ = primes;
    return nullptr;
  }

  std::shared_ptr<const Params> from_packed(const PackedChain& chain, const PackingPlan& plan) {
    ParamsLiteral literal = arranged(chain);
    std::vector<double> raised;
    raised.reserve(plan.raised.size());
    for (const PackedStep& step : plan.raised) raised.push_back(step.bits);
    return unless_refused(literal, raised, true);
  }

  const ParamsRequest& x_;
  Schedule s_;
  double bound_;
  std::vector<int> words_;  // words that chains are packed into
  int most_digits_, most_built_, built_ = 0, no_digits_ = 0;
  bool too_wide_ = false;
  double least_pq_ = 0;
  std::string why_;
  std::optional<PackingRefusal> refused_;  // for free terminals
};

Schedule schedule_of(const ParamsRequest& x, std::int64_t levels) {
  Schedule s;
  s.log_n = log2_of(x.n);
  s.word = x.word == 0 ? 31 : static_cast<double>(x.word);
  s.bootstrapping = x.bootstrapping;
  if (x.level_log_scale) {
    s.scales = *x.level_log_scale;
  } else {
    s.scales.assign(levels + 1 + (x.bootstrapping ? kStcLevels : 0), x.log_scale);
  }
  return s;
}

}  // namespace

bool may_fit(const ParamsRequest& x) {
  if (x.level_log_scale) {
    // The least base, and one auxiliary prime; sizes are met to within a bit.
    const Schedule s = schedule_of(x, 0);
    double bits = s.base_bits() + s.word - 3;  // or a word size smaller
    for (std::size_t l = 1; l < s.scales.size(); ++l) bits += 2 * s.scales[l] - s.scales[l - 1];
    return bits <= bound_of(x);
  }
  // A level's primes come within half a bit of its scale.
  const auto levels = static_cast<double>(x.levels + (x.bootstrapping ? kStcLevels : 0));
  return x.levels == 0 || levels * (x.log_scale - 1) <= bound_of(x);
}

Outcome solve(const ParamsRequest& x, int packs) {
  if (x.level_log_scale || x.levels != 0) {
    return Solver(x, schedule_of(x, x.levels), kAnyDigits, kMaxBuilt).solve(packs);
  }
  const int digits = x.dnum != 0 ? kAnyDigits : most_digits(x.n);
  Outcome out;
  const int most = static_cast<int>(std::min(kMaxTried, bound_of(x) / x.log_scale));
  for (int levels = std::max(1, most); levels >= 1; --levels) {
    out = Solver(x, schedule_of(x, levels), digits, kMaxBuiltPerCount).solve(0);
    if (out.params) return out;
  }
  return packs > 0 ? Solver(x, schedule_of(x, 1), kAnyDigits, kMaxBuilt).solve(packs) : out;
}

}  // namespace latticino::own
