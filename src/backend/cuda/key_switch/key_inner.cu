// KeyInner: packs groups into launches of the kernel in key_switch/key_inner.cuh.
#include "backend/cuda/key_switch/key_inner.h"

#include <algorithm>

#include "backend/cuda/kernels.h"
#include "backend/cuda/key_switch/key_inner.cuh"
#include "backend/cuda/key_switch/key_inner_batch.cuh"
#include "backend/cuda/launch/dispatch.h"

namespace latticino::cuda {
namespace {

using Args = KeyInnerArgs;

// The most digits of one launch; backend/splitting.h divides larger groups.
constexpr int kDigits = 32;

// The kernel for any number of digits.
template <int LOG_COLS>
using AnyDigits = InnerShape<LOG_COLS, 0, 8, 2>;

// The primes of a group in runs, auxiliary primes first: their results are transformed back, which
// takes longest, so their blocks should start early.
struct Runs {
  struct Run {
    int prime, count;
  };
  std::vector<Run> run;

  explicit Runs(const KeyInner::Group& group) {
    RunBounds bounds;
    for (const auto& [own, converted] : group.digits) bounds.add(own), bounds.add(converted);
    for (const auto* factor : {&group.product.a, &group.product.b}) {
      for (const PolyView& v : *factor) bounds.add(v);
    }
    for (const KeyInner::Target& target : group.targets) {
      for (const auto& key : target.key) bounds.add(key[0]), bounds.add(key[1]);
      for (const auto* ends : {&target.eval, &target.half, &target.add}) {
        for (const PolyView& v : *ends) bounds.add(v);
      }
    }
    const auto& [own, converted] = group.digits.front();
    const Basis all = own.basis().with(converted.basis());
    const std::vector<int>& at = bounds.sorted();
    for (std::size_t k = 0; k + 1 < at.size(); ++k) {
      if (all.contains(at[k])) run.push_back({at[k], at[k + 1] - at[k]});
    }
    std::reverse(run.begin(), run.end());
  }
};

// Addresses of a product's factors.
int factors(const KeyInner::Group& group) { return group.product.empty() ? 0 : 4; }

// The digit of a product to whose own limbs the prime belongs, or -1.
int own_digit(const KeyInner::Group& group, int prime) {
  if (group.product.empty()) return -1;
  for (std::size_t d = 0; d < group.digits.size(); ++d) {
    if (!LimbBase(group.digits[d].own, prime).empty()) return static_cast<int>(d);
  }
  return -1;
}

// Targets of a group that do not fit are divided. Then each part transforms the digits again.
class KeyInnerBatch {
 public:
  KeyInnerBatch(Launcher& launcher, const KeyInner& op, const Ring& ring)
      : launcher_(launcher), ring_(ring) {
    args_.ring = ring_view(launcher, ring);
    args_.rows = row_view(launcher, ring);
    args_.log_rows = half_log_rows(ring.log_n());
    if (static_cast<int>(op.add_factor.size()) > Args::kPrimes) {
      throw UnsupportedError("cuda.key_inner", std::to_string(op.add_factor.size()) + " primes",
                             "a ring of at most " + std::to_string(Args::kPrimes),
                             "use fewer primes");
    }
    std::copy(op.add_factor.begin(), op.add_factor.end(), args_.add_factor);
  }

  void add(const KeyInner::Group& group) {
    const int digits = static_cast<int>(group.digits.size());
    if (digits > kDigits) {
      throw UnsupportedError("cuda.key_inner", std::to_string(digits) + " digits",
                             "at most " + std::to_string(kDigits), "use fewer digits");
    }
    const Runs runs(group);
    const int all = static_cast<int>(runs.run.size());
    const int most =
        std::min(Args::kRuns, Args::kBases / (factors(group) + digits + target_bases(digits)));
    for (int first = 0; first < all; first += most) {
      const int count = std::min(most, all - first);
      add(group, {runs.run.data() + first, runs.run.data() + first + count});
    }
  }

  void flush() {
    if (groups_ == 0) return;
    int primes = 0, digits = 0;
    bool equal = true, product = false;
    for (int r = 0; r < runs_; ++r) product = product || args_.run[r].own >= 0;
    for (int i = 0; i < groups_; ++i) {
      const Args::Group& g = args_.group[i];
      primes = std::max<int>(primes, g.primes);
      digits = std::max<int>(digits, g.digits);
      equal = equal && g.digits == args_.group[0].digits;
    }
    const int log_cols = ring_.log_n() - args_.log_rows;
    if (log_cols == 8 && equal && digits <= 4) {
      product ? launch_products(primes, digits) : launch_staged(primes, digits);
    } else {
      dispatch<5, 9>(log_cols,
                     [&](auto log) { launch<AnyDigits<decltype(log)::value>>(primes, digits); });
    }
    groups_ = runs_ = targets_ = bases_ = 0;
    args_.own_exchange = false;
  }

 private:
  // Groups by one key that a block holds: as many as it has warps.
  static constexpr int kBatchGroups = 8;
  // Blocks of 256 threads, or of a PART of them. At least two warps share a team's vectors then.
  template <int DIGITS, int PART, bool PRODUCT>
  using Staged = InnerShape<8, DIGITS, DIGITS == 3 ? 4 : std::max(DIGITS, PART),
                            (DIGITS > 2 ? 2 : 4) / PART, PRODUCT>;
  struct Part {
    const Runs::Run *begin, *end;
    int size() const { return static_cast<int>(end - begin); }
  };

  template <class S>
  void launch(int primes, int digits, int shared_percent = 0) {
    const int lanes = S::kDigits == 0 ? std::min(digits, S::kLanes) : S::kLanes;
    Shape shape{dim3(groups_, (1u << args_.log_rows) / S::kRows, primes),
                dim3(32 * S::kTeams * lanes), S::shared_bytes(digits, args_.own_exchange), true};
    shape.shared_percent = shared_percent;
    launcher_.launch(key_inner<S>, shape, args_);
  }

  template <class S>
  void launch_batch(int primes) {
    args_.groups = groups_;
    const Shape shape{dim3((1u << args_.log_rows) / S::kRows, primes), dim3(S::kThreadsOfBlock),
                      S::kSharedBytes, true};
    launcher_.launch(key_inner_batch<S>, shape, args_);
  }

  // Groups of one target each over the same primes, with the same key.
  bool one_key() const {
    const auto like_first = [&](const Args::Group& g) {
      const Args::Group& f = args_.group[0];
      if (g.targets != 1 || g.digits != f.digits || g.runs != f.runs) return false;
      for (int r = 0; r < f.runs; ++r) {
        const Args::Run &x = args_.run[f.first_run + r], &y = args_.run[g.first_run + r];
        if (x.prime != y.prime || x.begin != y.begin || x.half != y.half || x.own != y.own)
          return false;
        const LimbBase* out = args_.base + y.first_base + 3 * f.digits;
        if (out[0].marked() != (x.half != 0) || out[1].marked() != (x.half != 0)) return false;
        const LimbBase* key = args_.base + x.first_base + f.digits;
        if (!std::equal(key, key + 2 * f.digits, args_.base + y.first_base + g.digits)) {
          return false;
        }
      }
      return true;
    };
    return groups_ > 1 && std::all_of(args_.group, args_.group + groups_, like_first);
  }

  // Whether N = 2^16 and all groups have the same number of digits, up to four. Then a team has one
  // warp per digit, or warps that share one key. Without a table, this rule takes what was fastest
  // at most limbs with so many digits.
  void launch_staged(int primes, int digits) {
    const TuningKey key{TunedKernel::KeyInner, ring_.log_n(), {digits, primes, targets_, groups_}};
    const bool shared = digits == 1 && one_key();
    const int plain = digits == 4 ? 0 : 1;
    const int own = shared && groups_ >= kBatchGroups ? 2 : plain;
    const int chosen = launcher_.tuning().pick(key, own, shared ? 0b111 : 0b11);
    if (chosen == 2) return launch_batch<InnerBatchShape<8>>(primes);
    dispatch<1, 4>(digits, [&](auto count) {
      constexpr int kCount = decltype(count)::value;
      if (chosen == 0) return launch<Staged<kCount, 1, false>>(primes, digits);
      launch<Staged<kCount, 2, false>>(primes, digits);
    });
  }

  // The same for products. Their factors are read twice: by the warp that multiplies a digit, and
  // by the threads that add the other terms. Small blocks that leave memory to the first-level
  // cache were fastest at 47 to 7 limbs. At 7 limbs, an even share of a small grid needs more
  // blocks per multiprocessor than fit into the rest of the memory. A share that fits is slower
  // (35.5 us instead of 34.7 on an H200).
  void launch_products(int primes, int digits) {
    constexpr int kPercent = 72;  // 164 KB of the 228 KB that an H200 has
    dispatch<1, 4>(digits, [&](auto count) {
      launch<Staged<decltype(count)::value, 2, true>>(primes, digits, kPercent);
    });
  }

  void add(const KeyInner::Group& group, const Part& runs) {
    const int digits = static_cast<int>(group.digits.size()), needed = target_bases(digits);
    for (std::size_t t = 0; t < group.targets.size();) {
      const auto room = [&] {
        const bool full = groups_ == Args::kGroups || runs_ + runs.size() > Args::kRuns;
        const int bases = (Args::kBases - bases_) / runs.size() - digits - factors(group);
        return full ? 0 : std::min(Args::kTargets - targets_, bases / needed);
      };
      if (room() < 1) flush();
      const int count = std::min(room(), static_cast<int>(group.targets.size() - t));
      add(group, runs, static_cast<int>(t), count);
      t += count;
    }
  }

  void add(const KeyInner::Group& group, const Part& runs, int first, int count) {
    Args::Group& part = args_.group[groups_++];
    part = {static_cast<std::int16_t>(runs_),
            static_cast<std::int16_t>(runs.size()),
            static_cast<std::int16_t>(targets_),
            static_cast<std::int16_t>(count),
            static_cast<std::int16_t>(group.digits.size()),
            0};
    for (const Runs::Run* run = runs.begin; run != runs.end; ++run) {
      bool half = false;
      for (int t = first; t < first + count; ++t) {
        const auto has = [&](const PolyView& v) { return !LimbBase(v, run->prime).empty(); };
        half = half || has(group.targets[t].half[0]) || has(group.targets[t].half[1]);
      }
      const int of_product = own_digit(group, run->prime);
      if (of_product >= 0) {
        for (const auto* factor : {&group.product.a, &group.product.b}) {
          for (const PolyView& v : *factor) args_.base[bases_++] = LimbBase(v, run->prime);
        }
      }
      args_.run[runs_++] = {part.primes, static_cast<std::int16_t>(run->prime),
                            static_cast<std::int16_t>(bases_), static_cast<std::int16_t>(half),
                            static_cast<std::int16_t>(of_product)};
      part.primes = static_cast<std::int16_t>(part.primes + run->count);
      for (const auto& [own, converted] : group.digits) {
        const LimbBase from(own, run->prime);
        const bool half = converted.domain == Domain::Half;
        args_.base[bases_++] = from.empty() ? LimbBase(converted, run->prime, half) : from;
      }
      for (int t = first; t < first + count; ++t) add(group.targets[t], run->prime);
    }
    for (int t = first; t < first + count; ++t) {
      const KeyInner::Target& target = group.targets[t];
      args_.galois_inverse[targets_++] = inverse_galois(target.galois);
      const bool half = target.half[0].segments + target.half[1].segments > 0;
      args_.own_exchange = args_.own_exchange || (half && t + 1 < first + count);
    }
  }

  void add(const KeyInner::Target& target, int prime) {
    for (const auto& key : target.key) {
      for (const PolyView& half : key) args_.base[bases_++] = LimbBase(half, prime);
    }
    for (int h = 0; h < 2; ++h) {
      const LimbBase eval(target.eval[h], prime);
      args_.base[bases_++] = eval.empty() ? LimbBase(target.half[h], prime, true) : eval;
    }
    for (const PolyView& v : target.add) args_.base[bases_++] = LimbBase(v, prime);
  }

  Launcher& launcher_;
  const Ring& ring_;
  KeyInnerArgs args_{};
  int groups_ = 0, runs_ = 0, targets_ = 0, bases_ = 0;
};

const Ring& ring_of(const KeyInner& op) {
  const KeyInner::Digit& first = op.groups.front().digits.front();
  return *(first.own.segments != 0 ? first.own : first.converted).ring;
}

}  // namespace

int most_digits(const Launcher& launcher, const KeyInner& op) {
  const int log_n = ring_of(op).log_n();
  const auto half = [](const KeyInner::Target& target) {
    return target.half[0].segments + target.half[1].segments > 0;
  };
  // Groups whose results may need words of their own for exchanges. KeyInnerBatch gives them to
  // these groups or to fewer.
  const auto exchanges = [&](const KeyInner::Group& group) {
    return group.targets.size() > 1 &&
           std::any_of(group.targets.begin(), group.targets.end() - 1, half);
  };
  const bool own_exchange = std::any_of(op.groups.begin(), op.groups.end(), exchanges);
  int digits = kDigits;
  dispatch<5, 9>(log_n - half_log_rows(log_n), [&](auto log) {
    using S = AnyDigits<decltype(log)::value>;
    const std::size_t most = launcher.properties().shared_per_block;
    while (digits > 1 && S::shared_bytes(digits, own_exchange) > most) --digits;
  });
  return digits;
}

void run(Launcher& launcher, const KeyInner& op) {
  if (op.groups.empty()) return;
  const Ring& ring = ring_of(op);
  KeyInnerBatch batch(launcher, op, ring);
  for (const KeyInner::Group& group : op.groups) batch.add(group);
  batch.flush();
}

}  // namespace latticino::cuda
