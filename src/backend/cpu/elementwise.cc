#include <algorithm>
#include <cstring>

#include "backend/cpu/executor.h"

namespace latticino::cpu {
namespace {

// One unit of work is one limb of one output; items follow one another.
struct LimbUnit {
  std::size_t item;
  int position, prime;  // position in out.basis()
};

template <class Items, class Out>
std::vector<LimbUnit> limb_units(const Items& items, const Out& out) {
  std::vector<LimbUnit> units;
  for (std::size_t i = 0; i < items.size(); ++i) {
    const Basis basis = out(items[i]).basis();
    for (int k = 0; k < basis.size(); ++k) units.push_back({i, k, basis.prime(k)});
  }
  return units;
}

std::uint32_t residue(std::int32_t small, const Modulus& m) { return reduce_s64(small, m); }

}  // namespace

void run(Executor& executor, const ModDownFinish& op) {
  if (op.items.empty()) return;
  const Ring& ring = *op.items[0].out.ring;
  const RingTable& table = executor.table(ring);
  const CpuKernels& k = executor.kernels();
  const auto units = limb_units(
      op.items, [](const auto& item) -> auto& { return item.out; });
  const int rows = table.primes[0].rows(), cols = table.primes[0].cols();
  const int step = rows_per_block(table.primes[0]);
  const std::size_t count = std::size_t(step) * cols;
  const bool products = std::any_of(op.items.begin(), op.items.end(),
                                    [](const auto& item) { return item.times.segments > 0; });
  executor.reserve_scratch(products ? 2 * count : count);
  executor.parallel(units.size(), ring.n(), [&](std::size_t i, std::uint32_t* scratch) {
    const LimbUnit& u = units[i];
    const ModDownFinish::Item& item = op.items[u.item];
    const std::uint32_t* times = find_limb(item.times, u.prime);
    const PrimeTable& p = table.primes[u.prime];
    const std::uint32_t *x = find_limb(item.x, u.prime), *y = find_limb(item.y, u.prime);
    const std::uint32_t* add = find_limb(item.add, u.prime);
    std::uint32_t* out = find_limb(item.out, u.prime);
    const std::uint32_t* limb[3] = {y};
    ShoupFactor c[3] = {make_shoup(p.modulus.q - 1, p.modulus)};
    int terms = 1;
    if (x != nullptr) {
      limb[terms] = x;
      c[terms++] = make_shoup(op.factor[u.position], p.modulus);
    }
    if (add != nullptr) {
      limb[terms] = add;
      c[terms++] = make_shoup(1, p.modulus);
    }
    for (int r = 0; r < rows; r += step) {
      const std::size_t at = std::size_t(r) * cols;
      const std::uint32_t* in[3];
      for (int t = 0; t < terms; ++t) in[t] = limb[t] + at;
      if (times != nullptr && x != nullptr) {
        const std::uint32_t* by = times + at;
        k.multiply_accumulate(scratch + count, &in[1], &by, 1, nullptr, {}, count, p.modulus);
        in[1] = scratch + count;
      }
      if (item.y.domain == Domain::Half) {
        k.forward_rows(scratch, in[0], r, step, p);
        in[0] = scratch;
      }
      std::uint32_t* to = item.galois == 1 ? out + at : scratch;
      k.linear(to, in, c, terms, 0, count, p.modulus);
      if (item.galois != 1) scatter_rows(k, table, p, out, scratch, r, step, item.galois);
    }
  });
}

void run(Executor& executor, const Linear& op) {
  if (op.items.empty()) return;
  const Ring& ring = *op.items[0].out.ring;
  const RingTable& table = executor.table(ring);
  const auto units = limb_units(
      op.items, [](const auto& item) -> auto& { return item.out; });
  const std::size_t half = ring.n() / 2;
  executor.parallel(2 * units.size(), half, [&](std::size_t i, std::uint32_t*) {
    const LimbUnit& u = units[i / 2];
    const bool upper = i % 2 == 1;
    const Linear::Item& item = op.items[u.item];
    const Modulus& m = table.primes[u.prime].modulus;
    const auto pick = [&](const auto& lower_half, const auto& upper_half,
                          const std::uint32_t* stored, std::uint32_t otherwise) {
      if (stored != nullptr) return stored[(upper ? item.stored_stride() : 0) + u.position];
      if (lower_half.empty()) return otherwise;
      return upper && !upper_half.empty() ? upper_half[u.position] : lower_half[u.position];
    };
    std::vector<const std::uint32_t*> x;
    std::vector<ShoupFactor> c;
    for (const Linear::Term& term : item.terms) {
      x.push_back(find_limb(term.x, u.prime) + (upper ? half : 0));
      c.push_back(
          make_shoup(pick(term.residues, term.upper, term.stored, residue(term.small, m)), m));
    }
    const std::uint32_t constant =
        pick(item.constant, item.constant_upper, item.constant_stored, 0);
    executor.kernels().linear(find_limb(item.out, u.prime) + (upper ? half : 0), x.data(), c.data(),
                              static_cast<int>(x.size()), constant, half, m);
  });
}

namespace {

// What a Tensor adds to its products, for one part and one block at a time; nothing if it adds
// nothing.
class TensorAddends {
 public:
  TensorAddends(const Tensor::Item& item, int prime, int position, const Modulus& m)
      : item_(item), prime_(prime), position_(position), m_(m) {
    for (const bool upper : {false, true}) {
      factors_[upper].push_back(make_shoup(static_cast<std::uint32_t>(item.factor), m));
      for (const Tensor::Term& t : item.terms) {
        factors_[upper].push_back(make_shoup(pick(t.residues, t.upper, upper), m));
      }
    }
  }

  void add(const CpuKernels& k, int part, std::size_t at, std::size_t count, bool upper) {
    const std::size_t terms = part < 2 ? item_.terms.size() : 0;
    const bool constant = part == 0 && !item_.constant.empty();
    if (item_.factor == 1 && terms == 0 && !constant) return;
    std::uint32_t* out = find_limb(item_.out[part], prime_) + at;
    x_.assign(1, out);
    for (std::size_t t = 0; t < terms; ++t) {
      x_.push_back(find_limb(item_.terms[t].x[part], prime_) + at);
    }
    k.linear(out, x_.data(), factors_[upper].data(), static_cast<int>(terms) + 1,
             constant ? pick(item_.constant, item_.constant_upper, upper) : 0, count, m_);
  }

 private:
  std::uint32_t pick(const std::vector<std::uint32_t>& lower_half,
                     const std::vector<std::uint32_t>& upper_half, bool upper) const {
    return upper && !upper_half.empty() ? upper_half[position_] : lower_half[position_];
  }

  const Tensor::Item& item_;
  int prime_, position_;
  const Modulus& m_;
  // [0] for the lower half of the limb, [1] for the upper half
  std::vector<ShoupFactor> factors_[2];
  std::vector<const std::uint32_t*> x_;
};

}  // namespace

void run(Executor& executor, const Tensor& op) {
  if (op.items.empty()) return;
  const Ring& ring = *op.items[0].out[0].ring;
  const RingTable& table = executor.table(ring);
  const CpuKernels& k = executor.kernels();
  const auto units = limb_units(
      op.items, [](const auto& item) -> auto& { return item.out[0]; });
  const std::size_t n = ring.n(), step = std::min(kBlockEntries, n / 2);
  executor.parallel(units.size(), 5 * n, [&](std::size_t i, std::uint32_t*) {
    const LimbUnit& u = units[i];
    const Tensor::Item& item = op.items[u.item];
    const Modulus& m = table.primes[u.prime].modulus;
    const std::size_t pairs = item.pairs.size();
    std::vector<const std::uint32_t*> a(2 * pairs), b(2 * pairs);
    const auto product = [&](int part, std::size_t at, std::initializer_list<int> a_parts) {
      std::size_t terms = 0;
      for (const Tensor::Pair& pair : item.pairs) {
        for (const int side : a_parts) {
          a[terms] = find_limb(pair.a[side], u.prime) + at;
          b[terms++] = find_limb(pair.b[part - side], u.prime) + at;
        }
      }
      k.multiply_accumulate(find_limb(item.out[part], u.prime) + at, a.data(), b.data(),
                            static_cast<int>(terms), nullptr, {}, step, m);
    };
    TensorAddends rest(item, u.prime, u.position, m);
    for (std::size_t at = 0; at < n; at += step) {
      product(0, at, {0});
      product(1, at, {0, 1});
      product(2, at, {1});
      for (int part = 0; part < 3; ++part) rest.add(k, part, at, step, at >= n / 2);
    }
  });
}

namespace {

// Entries [at, at + count) of a factor modulo this prime. A factor that repeats is written out to
// `scratch`, and `scratch` then advances behind it.
const std::uint32_t* factor_entries(const PolyView& factor, int prime, int log_n, std::size_t at,
                                    std::size_t count, std::uint32_t*& scratch) {
  const std::uint32_t* limb = find_limb(factor, prime);
  const int repeat = log_n - factor.ring->log_n();
  if (limb == nullptr || repeat == 0) return limb == nullptr ? nullptr : limb + at;
  std::uint32_t* out = scratch;
  const std::size_t run = std::size_t{1} << repeat;
  for (std::size_t i = 0; i < count; i += run) {
    std::fill_n(out + i, std::min(run, count - i), limb[(at + i) >> repeat]);
  }
  scratch += count;
  return out;
}

// The largest number of repeating factors of one output.
std::size_t repeating_factors(const Dot& op, const Ring& ring) {
  std::size_t most = 0;
  for (const Dot::Output& output : op.outputs) {
    const auto repeats = [&](const Dot::Term& t) { return t.factor.ring != &ring; };
    const auto count = std::count_if(output.terms.begin(), output.terms.end(), repeats);
    most = std::max(most, static_cast<std::size_t>(count));
  }
  return most;
}

}  // namespace

void run(Executor& executor, const Dot& op) {
  if (op.outputs.empty()) return;
  const Ring& ring = *op.outputs[0].out[0].ring;
  const RingTable& table = executor.table(ring);
  const CpuKernels& k = executor.kernels();
  const std::size_t n = ring.n(), step = std::min(kBlockEntries, n), blocks = n / step;
  // The outputs of one block are computed together, so shared inputs are read from memory once.
  std::vector<int> primes;
  for (int p = 0; p < ring.prime_count(); ++p) {
    const auto has = [&](const Dot::Output& o) { return find_limb(o.out[0], p) != nullptr; };
    if (std::any_of(op.outputs.begin(), op.outputs.end(), has)) primes.push_back(p);
  }
  executor.reserve_scratch(std::max(step, repeating_factors(op, ring) * step));
  const auto work = [&](std::size_t unit, std::uint32_t* scratch) {
    const int prime = primes[unit / blocks];
    const std::size_t at = unit % blocks * step;
    const Modulus& m = table.primes[prime].modulus;
    std::vector<const std::uint32_t*> a, b;
    std::vector<const Dot::Term*> terms;  // the terms that have this prime
    for (const Dot::Output& output : op.outputs) {
      if (find_limb(output.out[0], prime) == nullptr) continue;
      b.clear(), terms.clear();
      std::uint32_t* room = scratch;
      for (const Dot::Term& term : output.terms) {
        const auto* f = factor_entries(term.factor, prime, ring.log_n(), at, step, room);
        if (f == nullptr) continue;
        b.push_back(f), terms.push_back(&term);
      }
      for (int part = 0; part < op.parts; ++part) {
        std::uint32_t* out = find_limb(output.out[part], prime) + at;
        a.clear();
        for (const Dot::Term* term : terms) {
          a.push_back(find_limb(op.inputs[term->input][part], prime) + at);
        }
        k.multiply_accumulate(out, a.data(), b.data(), static_cast<int>(a.size()),
                              output.accumulate ? out : nullptr, make_shoup(1, m), step, m);
      }
    }
  };
  executor.parallel(primes.size() * blocks, step * op.parts * op.outputs.size(), work);
}

void run(Executor& executor, const Copy& op) {
  if (op.items.empty()) return;
  const Ring& ring = *op.items[0].out.ring;
  const std::size_t n = ring.n();
  const auto units = limb_units(
      op.items, [](const auto& item) -> auto& { return item.out; });
  executor.parallel(units.size(), n, [&](std::size_t i, std::uint32_t*) {
    const LimbUnit& u = units[i];
    const std::uint32_t* x = find_limb(op.items[u.item].x, u.prime);
    std::uint32_t* out = find_limb(op.items[u.item].out, u.prime);
    if (x == nullptr) {
      std::fill_n(out, n, 0);
    } else {
      std::memcpy(out, x, n * sizeof(std::uint32_t));
    }
  });
}

}  // namespace latticino::cpu
