#include <algorithm>
#include <cstring>

#include "backend/cpu/executor.h"

namespace latticino::cpu {
namespace {

// One unit of work: one ciphertext of one item.
struct Unit {
  std::uint32_t item, index;
};

template <class Items>
std::vector<Unit> ciphertexts(const Items& items) {
  std::vector<Unit> units;
  for (std::size_t i = 0; i < items.size(); ++i) {
    for (std::uint32_t k = 0; k < items[i].out.count; ++k) {
      units.push_back({static_cast<std::uint32_t>(i), k});
    }
  }
  return units;
}

// floor((2 M x + q + shift) / 2q) for x < q < 2^31, M <= 2^18 and |shift| < 2^43, and the remainder
// x M - q times it. Multiples of 2q are added to keep the numerator positive.
struct Switched {
  std::uint32_t exponent;  // the result modulo M
  std::int64_t rest;
};
Switched switched(std::uint32_t x, std::uint32_t m, std::int64_t shift, const Modulus& q) {
  const std::uint64_t turns = std::uint64_t{1} << 24;
  const std::uint64_t numerator = 2 * static_cast<std::uint64_t>(m) * x + q.q + 2 * turns * q.q +
                                  static_cast<std::uint64_t>(shift);
  // Numerator / q, exact or one too small.
  std::uint64_t quotient = mulhi_u64(numerator, q.barrett);
  if (numerator - quotient * q.q >= q.q) ++quotient;
  const std::int64_t rounded =
      static_cast<std::int64_t>(quotient / 2) - static_cast<std::int64_t>(turns);
  return {static_cast<std::uint32_t>(rounded) & (m - 1),
          static_cast<std::int64_t>(m) * x - rounded * static_cast<std::int64_t>(q.q)};
}

// Digits of the mask of one ciphertext, digit j of a_i at i * levels + j.
void mask_digits(std::int32_t* out, const std::uint32_t* a, std::uint32_t dimension, Gadget gadget,
                 std::uint32_t q) {
  const int bits = bit_length(q);
  for (std::uint32_t i = 0; i < dimension; ++i, out += gadget.levels) {
    std::int64_t y = gadget_round(centre(a[i], q), gadget_shift(gadget, bits));
    for (int j = gadget.levels - 1; j > 0; --j) out[j] = gadget_take(y, gadget.log_base);
    out[0] = static_cast<std::int32_t>(y);
  }
}

}  // namespace

void run(Executor& executor, const LweLinear& op) {
  const std::vector<Unit> units = ciphertexts(op.items);
  if (units.empty()) return;
  executor.parallel(units.size(), op.items[0].out.dimension, [&](std::size_t u, std::uint32_t*) {
    const LweLinear::Item& item = op.items[units[u].item];
    std::uint32_t* out = item.out.ciphertext(units[u].index);
    const Modulus m = make_modulus(item.out.modulus);
    for (std::uint32_t i = 0; i <= item.out.dimension; ++i) {
      std::uint32_t sum = i == item.out.dimension ? item.constant : 0;
      for (const LweLinear::Term& term : item.terms) {
        const std::uint32_t x = term.x.ciphertext(term.x.count == 1 ? 0 : units[u].index)[i];
        sum = add_mod(sum, reduce_s64(static_cast<std::int64_t>(term.factor) * x, m), m.q);
      }
      out[i] = sum;
    }
  });
}

void run(Executor& executor, const LweKeySwitch& op) {
  const std::vector<Unit> units = ciphertexts(op.items);
  if (units.empty()) return;
  const LweKernels& k = *executor.kernels().lwe;
  const Modulus m = make_modulus(op.key.modulus);
  const std::size_t words = op.key.dimension + std::size_t{1};
  // Up to kShare ciphertexts go through the rows of the key together, while these are in cache.
  // Sums are reduced after each `block` rows: so many terms below 2^(30 + log_base) stay within 62
  // bits.
  constexpr std::size_t kShare = 8;
  const std::size_t block = std::size_t{1} << std::min(10, 32 - op.gadget.log_base);
  const std::size_t share = std::clamp<std::size_t>(
      units.size() / static_cast<std::size_t>(executor.threads()), 1, kShare);
  const std::size_t groups = (units.size() + share - 1) / share;
  const std::size_t rows = op.key.count;
  executor.reserve_scratch(share * (2 * words + rows) + 16);
  executor.parallel(groups, share * rows * words, [&](std::size_t g, std::uint32_t* scratch) {
    const std::size_t first = g * share, last = std::min(first + share, units.size());
    auto* sums = reinterpret_cast<std::int64_t*>(scratch);
    auto* digits = reinterpret_cast<std::int32_t*>(sums + share * words);
    std::memset(sums, 0, share * words * sizeof *sums);
    for (std::size_t u = first; u < last; ++u) {
      const LweKeySwitch::Item& item = op.items[units[u].item];
      const std::uint32_t* in = item.in.ciphertext(units[u].index);
      std::uint32_t* out = item.out.ciphertext(units[u].index);
      mask_digits(digits + (u - first) * rows, in, item.in.dimension, op.gadget, m.q);
      std::memset(out, 0, op.key.dimension * sizeof *out);
      out[op.key.dimension] = in[item.in.dimension];
    }
    constexpr std::size_t kRowBatch = 8;
    const std::uint32_t* row[kRowBatch];
    for (std::size_t r = 0; r < rows; r += kRowBatch) {
      const std::size_t count = std::min(kRowBatch, rows - r);
      for (std::size_t i = 0; i < count; ++i) row[i] = op.key.ciphertext(r + i);
      const auto at = [&](std::size_t i) {
        return reinterpret_cast<const char*>(op.key.ciphertext(std::min(i, rows)));
      };
      // The first ciphertext fetches all of the next rows, so the others have nothing to fetch.
      Prefetch ahead{at(r + kRowBatch), at(r + 2 * kRowBatch),
                     kRowBatch * op.key.stride * sizeof(std::uint32_t)};
      const bool full = (r + kRowBatch) % std::max(block, kRowBatch) == 0 || r + count == rows;
      for (std::size_t u = first; u < last; ++u) {
        std::int64_t* sum = sums + (u - first) * words;
        k.multiply_add_rows(sum, row, digits + (u - first) * rows + r, static_cast<int>(count),
                            words, ahead);
        if (full) {
          k.reduce_sums(op.items[units[u].item].out.ciphertext(units[u].index), sum, words, m);
        }
      }
    }
  });
}

void run(Executor& executor, const ModSwitch& op) {
  const std::vector<Unit> units = ciphertexts(op.items);
  if (units.empty()) return;
  executor.parallel(units.size(), 4 * op.items[0].in.dimension, [&](std::size_t u, std::uint32_t*) {
    const ModSwitch::Item& item = op.items[units[u].item];
    const std::uint32_t* in = item.in.ciphertext(units[u].index);
    std::uint32_t* out = item.out.ciphertext(units[u].index);
    const Modulus q = make_modulus(item.in.modulus);
    const std::uint32_t m = item.out.modulus >> op.log_many;
    std::int64_t rest = 0;
    for (std::uint32_t i = 0; i < item.in.dimension; ++i) {
      const Switched s = switched(in[i], m, 0, q);
      rest += s.rest;
      out[i] = s.exponent << op.log_many;
    }
    const Switched b = switched(in[item.in.dimension], m, op.centred ? rest : 0, q);
    out[item.in.dimension] = b.exponent << op.log_many;
  });
}

void run(Executor& executor, const SampleExtract& op) {
  const std::vector<Unit> units = ciphertexts(op.items);
  if (units.empty()) return;
  const Ring& ring = *op.items[0].in.first.ring;
  const std::uint32_t n = static_cast<std::uint32_t>(ring.n());
  executor.parallel(units.size(), op.items[0].out.dimension, [&](std::size_t u, std::uint32_t*) {
    const SampleExtract::Item& item = op.items[units[u].item];
    const std::size_t wanted = item.coefficients.size();
    const std::uint32_t glwe = static_cast<std::uint32_t>(units[u].index / wanted);
    const std::uint32_t j = item.coefficients[units[u].index % wanted];
    const Basis basis = item.in.first.basis();
    const Modulus m = make_modulus(ring.prime(basis.prime(0)));
    const std::uint32_t q1 = basis.size() == 2 ? ring.prime(basis.prime(1)) : 0;
    const ShoupFactor inverse = q1 == 0 ? ShoupFactor{} : make_shoup(inverse_mod(q1 % m.q, m), m);
    const auto value = [&](const PolyView& poly, std::uint32_t i) {
      const std::uint32_t x = poly.limb(basis.prime(0))[i];
      if (q1 == 0) return x;
      const std::uint32_t c = reduce_s64(centre(poly.limb(basis.prime(1))[i], q1), m);
      return mul_shoup(sub_mod(x, c, m.q), inverse, m.q);
    };
    std::uint32_t* out = item.out.ciphertext(units[u].index);
    const std::uint32_t parts = static_cast<std::uint32_t>(op.glwe_dimension) + 1;
    out[item.out.dimension] = value(item.in[glwe * parts], j);
    for (std::uint32_t c = 1; c < parts; ++c) {
      const PolyView a = item.in[glwe * parts + c];
      for (std::uint32_t i = 0; i < n; i += op.step) {
        *out++ = i <= j ? value(a, j - i) : neg_mod(value(a, n + j - i), m.q);
      }
    }
  });
}

namespace {

// 2 b + the sum of the centred mask, reduced modulo 2q to (-q, q], divided by 2q.
double centred_body(const std::uint32_t* words, std::uint32_t dimension, std::uint32_t q) {
  std::int64_t sum = 2 * static_cast<std::int64_t>(words[dimension]);
  for (std::uint32_t i = 0; i < dimension; ++i) sum += centre(words[i], q);
  const std::int64_t twice = 2 * static_cast<std::int64_t>(q);
  std::int64_t x = sum % twice;
  if (x > static_cast<std::int64_t>(q)) x -= twice;
  if (x <= -static_cast<std::int64_t>(q)) x += twice;
  return static_cast<double>(x) / static_cast<double>(twice);
}

}  // namespace

// The units of work: one for the rows of all bodies together, then one for each diagonal.
void run(Executor& executor, const LweSlots& op) {
  std::vector<Unit> units;
  for (std::size_t i = 0; i < op.items.size(); ++i) {
    const std::size_t count = op.bodies ? op.items[i].rows.size() : op.items[i].count;
    for (std::uint32_t k = 0; k < count; ++k) units.push_back({static_cast<std::uint32_t>(i), k});
  }
  if (units.empty()) return;
  const std::size_t work = op.bodies ? op.items[0].in.dimension : op.items[0].slots;
  executor.parallel(units.size(), work, [&](std::size_t u, std::uint32_t*) {
    const LweSlots::Item& item = op.items[units[u].item];
    const std::uint32_t q = item.in.modulus, n = item.in.dimension, k = units[u].index;
    const auto rows = static_cast<std::uint32_t>(item.rows.size());
    if (op.bodies) {
      const std::int32_t row = item.rows[k];
      item.out[2 * k] = row < 0 ? 0.0 : centred_body(item.in.ciphertext(row), n, q);
      item.out[2 * k + 1] = 0;
      return;
    }
    const std::uint64_t columns = std::uint64_t{n} * rows / item.slots;
    double* out = item.out + 2 * std::size_t{k} * item.slots;
    for (std::uint32_t i = 0; i < item.slots; ++i) {
      const std::int32_t row = item.rows[i % rows];
      const std::uint64_t j = (i % rows + columns * (i / rows) + item.first + k) % n;
      out[2 * i] = row < 0 ? 0.0
                           : static_cast<double>(centre(item.in.ciphertext(row)[j], q)) /
                                 static_cast<double>(q);
      out[2 * i + 1] = 0;
    }
  });
}

}  // namespace latticino::cpu
