// Encoding and decoding: the special FFT between slots and coefficients. A group has as many items
// as there are threads, and each thread transforms one item, so memory stays small. Residues and
// reconstruction are spread over blocks of coefficients.
#include <algorithm>
#include <bit>
#include <cmath>
#include <string>
#include <utility>

#include "backend/cpu/executor.h"
#include "crypto/secure_memory.h"
#include "math/centred_crt.h"
#include "math/errors.h"

namespace latticino::cpu {
namespace {

// Numbers of each item of a group, in the executor's workspace. They are cleared at the end.
template <class T>
class Group {
 public:
  Group(Executor& executor, std::size_t items, std::size_t each)
      : data_(static_cast<T*>(executor.workspace(items * each * sizeof(T)))),
        bytes_(items * each * sizeof(T)),
        each_(each) {}
  ~Group() { crypto::secure_clear(data_, bytes_); }
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;
  T* item(std::size_t i) const { return data_ + i * each_; }

 private:
  T* data_;
  std::size_t bytes_, each_;
};

// Calls work(first, count) for one group of items after the other, each of as many items as there
// are threads.
template <class Items, class Work>
void in_groups(const Executor& executor, const Items& items, const Work& work) {
  const auto most = static_cast<std::size_t>(executor.threads());
  for (std::size_t first = 0; first < items.size(); first += most) {
    work(first, std::min(most, items.size() - first));
  }
}

std::int64_t rounded(double x, double limit) {
  if (std::abs(x) < limit) return std::llrint(x);
  throw ScaleError("Embed",
                   std::isnan(x) ? std::string("values that are not finite")
                                 : "a coefficient of 2^" + std::to_string(std::log2(std::abs(x))),
                   "less than 2^" + std::to_string(std::log2(limit)),
                   "scale the values down or encode at a smaller scale or a higher level");
}

// The coefficients of one item, N of them; `parts` holds 2 slots numbers.
void embed(const Embed::Item& item, slots::Stage stage, double* parts, std::int64_t* out) {
  const std::size_t n = item.slots, half = item.table->max_slots(), gap = half / n;
  double *re = parts, *im = parts + n;
  for (std::size_t i = 0; i < n; ++i) {
    re[i] = item.in[2 * i];
    im[i] = item.in[2 * i + 1];
  }
  slots::inverse(item.table->tables(), re, im, n, stage);
  const double limit = slots::coefficient_limit(item.bound);
  const double one_over_n = 1.0 / static_cast<double>(n);  // a power of two
  if (gap > 1) std::fill_n(out, 2 * half, 0);
  for (std::size_t k = 0, i = 0; k < n; ++k, i = slots::next_reversed(i, n)) {
    out[k * gap] = rounded(re[i] * one_over_n * item.factor, limit);
    out[half + k * gap] = rounded(im[i] * one_over_n * item.factor, limit);
  }
}

// The reconstruction for each basis among the items.
class Crts {
 public:
  explicit Crts(const Project& op) {
    for (const Project::Item& item : op.items) {
      const Basis basis = item.in.basis();
      if (find(basis) != nullptr) continue;
      std::vector<std::uint32_t> primes;
      primes.reserve(basis.size());
      for (int i = 0; i < basis.size(); ++i) primes.push_back(item.in.ring->prime(basis.prime(i)));
      made_.emplace_back(basis, CentredCrt(primes));
    }
  }
  const CentredCrt* find(const Basis& basis) const {
    for (const auto& [b, crt] : made_) {
      if (b == basis) return &crt;
    }
    return nullptr;
  }

 private:
  std::vector<std::pair<Basis, CentredCrt>> made_;
};

// A run of coefficients of one part (0 real, 1 imaginary).
struct Run {
  std::size_t part, first, count;
};
constexpr std::size_t kRun = 512;
// Words of scratch per run, and as many residues of each prime.
constexpr std::size_t kRunWords = 4 * kRun;

// The integers below half the product of the first one or two primes with these residues.
void guess(const RingTable& table, const Project::Item& item, std::size_t base, std::size_t gap,
           std::size_t count, std::int64_t* out) {
  const Basis basis = item.in.basis();
  const std::uint32_t* low_limb = item.in.limb(basis.prime(0));
  const Modulus& low = table.primes[basis.prime(0)].modulus;
  if (basis.size() == 1) {
    for (std::size_t i = 0; i < count; ++i) out[i] = centre(low_limb[base + i * gap], low.q);
    return;
  }
  const std::uint32_t* high_limb = item.in.limb(basis.prime(1));
  const Modulus& high = table.primes[basis.prime(1)].modulus;
  const ShoupFactor inverse = make_shoup(inverse_mod(low.q % high.q, high), high);
  for (std::size_t i = 0; i < count; ++i) {
    // Balanced digits: |x| < 2^30 + 2^31 2^30.
    const std::int32_t a = centre(low_limb[base + i * gap], low.q);
    const std::uint32_t difference =
        sub_mod(high_limb[base + i * gap], reduce_s64(a, high), high.q);
    out[i] = a + std::int64_t{low.q} * centre(mul_shoup(difference, inverse, high.q), high.q);
  }
}

// Puts the coefficients of a run at their places in `parts`. The integer from two primes is
// compared with all other residues by vectors. Only integers that fail are reconstructed in full,
// with the same quotients (math/centred_crt.h).
void reconstruct(Executor& executor, const RingTable& table, const Project::Item& item,
                 const CentredCrt& crt, const Run& run, double* parts, std::uint32_t* scratch) {
  const std::size_t n = item.slots, half = item.table->max_slots(), gap = half / n;
  const std::size_t base = run.part * half + run.first * gap;
  const Basis basis = item.in.basis();
  auto* integers = reinterpret_cast<std::int64_t*>(scratch);
  std::uint32_t *residues = scratch + 2 * kRun, *differs = scratch + 3 * kRun;
  std::uint32_t* column = scratch + kRunWords;
  const std::size_t padded = (run.count + 15) / 16 * 16;  // the step of the kernels
  std::fill_n(integers, padded, 0);
  std::fill_n(differs, padded, 0);
  guess(table, item, base, gap, run.count, integers);
  for (int l = 2; l < basis.size(); ++l) {
    const std::uint32_t* limb = item.in.limb(basis.prime(l)) + base;
    executor.kernels().reduce(residues, integers, padded, table.primes[basis.prime(l)].modulus);
    if (gap == 1) {
      for (std::size_t i = 0; i < run.count; ++i) differs[i] |= residues[i] ^ limb[i];
    } else {
      for (std::size_t i = 0; i < run.count; ++i) differs[i] |= residues[i] ^ limb[i * gap];
    }
  }
  // Far from both ends of the range of doubles, the quotient is rounded once. The full
  // reconstruction does the same.
  const bool direct = item.divisor > 0x1p-900 && item.divisor < 0x1p900;
  const int bits = std::countr_zero(n);
  const std::size_t limbs = basis.size();
  for (std::size_t i = 0; i < run.count; ++i) {
    double& out = parts[run.part * n + slots::bit_reversed(run.first + i, bits)];
    if (direct && differs[i] == 0) {
      out = static_cast<double>(integers[i]) / item.divisor;
      continue;
    }
    for (std::size_t l = 0; l < limbs; ++l) {
      column[l] = item.in.limb(basis.prime(static_cast<int>(l)))[base + i * gap];
    }
    out = crt.divided({column, limbs}, item.divisor);
  }
}

void transform_out(const Project::Item& item, slots::Stage stage, double* parts) {
  const std::size_t n = item.slots;
  slots::forward(item.table->tables(), parts, parts + n, n, stage);
  for (std::size_t i = 0; i < n; ++i) {
    item.out[2 * i] = parts[i];
    item.out[2 * i + 1] = parts[n + i];
  }
}

}  // namespace

void run(Executor& executor, const Embed& op) {
  if (op.items.empty()) return;
  const Ring& ring = *op.items[0].out.ring;
  const RingTable& table = executor.table(ring);
  const std::size_t n = ring.n(), step = std::min(kBlockEntries, n), blocks = n / step;
  in_groups(executor, op.items, [&](std::size_t first, std::size_t count) {
    // An item's coefficients (N words), then the parts of its slots (at most N doubles).
    const Group<std::int64_t> group(executor, count, 2 * n);
    executor.parallel(count, n, [&](std::size_t i, std::uint32_t*) {
      embed(op.items[first + i], executor.kernels().inverse_slots,
            reinterpret_cast<double*>(group.item(i) + n), group.item(i));
    });
    const std::size_t limbs = op.items[first].out.limbs();
    executor.parallel(count * blocks, step * limbs, [&](std::size_t i, std::uint32_t*) {
      const PolyView& out = op.items[first + i / blocks].out;
      const std::size_t at = i % blocks * step;
      const Basis basis = out.basis();
      for (int k = 0; k < basis.size(); ++k) {
        executor.kernels().reduce(out.limb(basis.prime(k)) + at, group.item(i / blocks) + at, step,
                                  table.primes[basis.prime(k)].modulus);
      }
    });
  });
}

void run(Executor& executor, const Project& op) {
  if (op.items.empty()) return;
  const RingTable& table = executor.table(*op.items[0].in.ring);
  const Crts crts(op);
  std::size_t most = 0, primes = 0;
  for (const Project::Item& item : op.items) {
    most = std::max<std::size_t>(most, item.slots);
    primes = std::max<std::size_t>(primes, item.in.limbs());
  }
  executor.reserve_scratch(kRunWords + primes);
  const std::size_t step = std::min(kRun, most), runs = most / step;
  in_groups(executor, op.items, [&](std::size_t first, std::size_t count) {
    const Group<double> group(executor, count, 2 * most);
    const std::size_t limbs = op.items[first].in.limbs();
    executor.parallel(count * 2 * runs, step * limbs, [&](std::size_t i, std::uint32_t* scratch) {
      const Project::Item& item = op.items[first + i / (2 * runs)];
      const auto slots = static_cast<std::size_t>(item.slots);
      const std::size_t at = i % runs * step;
      if (at >= slots) return;
      reconstruct(executor, table, item, *crts.find(item.in.basis()),
                  {i / runs % 2, at, std::min(step, slots - at)}, group.item(i / (2 * runs)),
                  scratch);
    });
    executor.parallel(count, most, [&](std::size_t i, std::uint32_t*) {
      transform_out(op.items[first + i], executor.kernels().forward_slots, group.item(i));
    });
  });
}

}  // namespace latticino::cpu
