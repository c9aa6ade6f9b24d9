#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>
#include <string>

#include "ckks/encoding/encoder.h"
#include "math/errors.h"

namespace latticino::ckks {
namespace {

// The most vectors of one record, which limits the host memory that is staged for them.
constexpr std::size_t kMaxVectors = 64;

double coefficient_bound(const Context& context, int level) {
  const Params& params = context.params();
  if (level < 0 || level > params.top_level()) {
    throw LevelError("ckks.encode", "level " + std::to_string(level),
                     "0 to " + std::to_string(params.top_level()), "choose a level of the set");
  }
  return std::exp2(params.log_q(level) - 1);
}

// No coefficient exceeds the mean of |re| + |im| times the scale. If this is clearly below the
// bound (rounding adds less than 2^-30 of it), nothing else is checked. If it is not, or is not
// finite, the encoder on the host decides, and throws what is wrong.
void require_fit(const Context& context, Values values, double scale, double bound) {
  std::array<double, 16> sums{};  // separate sums, which can be added in parallel
  const auto* parts = reinterpret_cast<const double*>(values.data());
  const std::size_t size = 2 * values.size(), whole = size - size % sums.size();
  for (std::size_t i = 0; i < whole; i += sums.size()) {
    for (std::size_t k = 0; k < sums.size(); ++k) sums[k] += std::abs(parts[i + k]);
  }
  for (std::size_t i = whole; i < size; ++i) sums[0] += std::abs(parts[i]);
  const double sum = std::accumulate(sums.begin(), sums.end(), 0.0);
  const double most = sum / static_cast<double>(values.size()) * scale * (1 + 0x1p-20);
  const bool fits = scale > 0 && std::has_single_bit(values.size()) &&
                    values.size() <= static_cast<std::size_t>(context.params().max_slots()) &&
                    most < slots::coefficient_limit(bound);
  if (!fits) context.encoder().embed(values, scale, bound);
}

enum class Use { Once, Kept };  // blocks are kept: see Queue::allocate_kept

Poly allocate(Queue& queue, const Ring& ring, const Basis& basis, Use use) {
  return use == Use::Kept ? queue.allocate_kept(ring, basis, Domain::Coeff)
                          : queue.allocate(ring, basis, Domain::Coeff);
}

std::vector<Plaintext> embedded(const std::shared_ptr<const Context>& context, const double* values,
                                int count, int slots, int level, double scale, bool extended,
                                Use use) {
  const double bound = coefficient_bound(*context, level);
  const Params& params = context->params();
  const Basis basis = extended ? params.extended(level) : params.basis(level);
  Queue& queue = context->queue();
  std::vector<Plaintext> out;
  Embed embed;
  Transform transform;
  for (int i = 0; i < count; ++i) {
    Plaintext p{context, allocate(queue, context->ring(), basis, use), level, scale, slots,
                extended};
    const double* in =
        values == nullptr ? nullptr : values + 2 * static_cast<std::size_t>(slots) * i;
    embed.items.push_back({.table = &context->encoder().transform(),
                           .in = in,
                           .slots = slots,
                           .factor = scale,
                           .bound = bound,
                           .out = p.poly.view});
    const PolyView eval = p.poly.view.in(Domain::Eval);
    transform.items.push_back({.in = p.poly.view, .out = eval});
    p.poly.view = eval;
    out.push_back(std::move(p));
  }
  queue.submit(std::move(embed));
  queue.submit(std::move(transform));
  return out;
}

std::vector<Plaintext> uploaded(const std::shared_ptr<const Context>& context,
                                std::span<const Values> batch, int level, double scale,
                                bool extended, Use use) {
  const double bound = coefficient_bound(*context, level);
  for (const Values values : batch) {
    if (values.size() != batch[0].size()) {
      throw ShapeError("ckks.encode",
                       "vectors of " + std::to_string(values.size()) + " and " +
                           std::to_string(batch[0].size()) + " slots",
                       "one size", "pad them, or encode them one by one");
    }
  }
  Queue& queue = context->queue();
  const Queue::Preparing preparing(queue);
  std::vector<Plaintext> out;
  for (std::size_t first = 0; first < batch.size(); first += kMaxVectors) {
    const std::size_t count = std::min(kMaxVectors, batch.size() - first);
    const std::size_t bytes = batch[0].size_bytes();
    const Buffer staged = queue.allocate(count * bytes);
    for (std::size_t i = 0; i < count; ++i) {
      require_fit(*context, batch[first + i], scale, bound);
      if (queue.is_dry()) continue;
      queue.copy_in(static_cast<char*>(staged->data()) + i * bytes, batch[first + i].data(), bytes);
    }
    for (Plaintext& p :
         embedded(context, static_cast<const double*>(staged->data()), static_cast<int>(count),
                  static_cast<int>(batch[0].size()), level, scale, extended, use)) {
      out.push_back(std::move(p));
    }
  }
  return out;
}

}  // namespace

std::vector<Plaintext> encode_resident(const std::shared_ptr<const Context>& context,
                                       const double* values, int count, int slots, int level,
                                       double scale, bool extended) {
  return embedded(context, values, count, slots, level, scale, extended, Use::Once);
}

std::vector<Plaintext> encode_all(const std::shared_ptr<const Context>& context,
                                  std::span<const Values> batch, int level, double scale,
                                  bool extended) {
  return uploaded(context, batch, level, scale, extended, Use::Once);
}

Plaintext encode(const std::shared_ptr<const Context>& context, Values values, int level,
                 double scale, bool extended) {
  return std::move(encode_all(context, {&values, 1}, level, scale, extended).front());
}

namespace {

// The slots of the smallest subring that a Ring can have.
constexpr std::size_t kMinPeriod = 512;

std::size_t period_of(Values values) {
  std::size_t period = values.size();
  const auto repeats = [&](std::size_t p) {
    return std::equal(values.begin() + static_cast<std::ptrdiff_t>(p), values.end(),
                      values.begin());
  };
  while (period > kMinPeriod && repeats(period / 2)) period /= 2;
  return period;
}

// The degree 2^log_n of the ring that holds values of this period; none: the whole ring.
std::optional<int> subring_of(const Context& context, std::size_t period) {
  const int log_n = std::bit_width(std::max(period, kMinPeriod));
  if (context.ring().log_n() - log_n < 2) return std::nullopt;
  return log_n;
}

const Ring& ring_of(const Context& context, int log_n) {
  return log_n == context.ring().log_n() ? context.ring() : context.subring(log_n);
}

// The integers of a factor on the device; none in a dry run.
CompactFactor placed(const std::shared_ptr<const Context>& context,
                     std::span<const std::int64_t> integers, int slots, int log_n, int level,
                     double scale, bool extended) {
  Queue& queue = context->queue();
  CompactFactor out{{context, {}, level, scale, slots, extended}, {}, log_n};
  const std::size_t bytes = sizeof(std::int64_t) << log_n;
  out.integers = queue.allocate(bytes);
  if (!queue.is_dry()) queue.copy_in(out.integers->data(), integers.data(), bytes);
  return out;
}

// The coefficients of X^0, X^(N/2^log_n) .. of values that repeat after `period`.
std::vector<std::int64_t> integers_of(const Context& context, Values values, std::size_t period,
                                      int log_n, int level, double scale) {
  const int log_gap = context.ring().log_n() - log_n;
  std::vector<std::int64_t> all =
      context.encoder().embed(values.first(period), scale, coefficient_bound(context, level));
  if (log_gap == 0) return all;
  std::vector<std::int64_t> out(std::size_t{1} << log_n);
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = all[i << log_gap];
  return out;
}

std::vector<Plaintext> expand(std::span<const CompactFactor* const> factors, Use use) {
  std::vector<Plaintext> out;
  if (factors.empty()) return out;
  Queue& queue = factors[0]->form.context->queue();
  struct Work {
    FromIntegers integers;
    Transform transform;
    Linear scaled;
  };
  std::map<int, Work> work;  // grouped by degree, because a record has one ring
  for (const CompactFactor* f : factors) {
    const Context& context = *f->form.context;
    const Params& params = context.params();
    const Basis basis =
        f->form.extended ? params.extended(f->form.level) : params.basis(f->form.level);
    Plaintext& p = out.emplace_back(f->form);
    p.poly = allocate(queue, ring_of(context, f->log_n), basis, use);
    const PolyView eval = p.poly.view.in(Domain::Eval);
    auto& [integers, transform, scaled] = work[f->log_n];
    integers.items.push_back(
        {.in = static_cast<const std::int64_t*>(f->integers->data()), .out = p.poly.view});
    transform.items.push_back({.in = p.poly.view, .out = eval});
    p.poly.view = eval;
    if (f->times_p) scaled.items.push_back(times_p(p));
  }
  for (auto& [log_n, records] : work) {
    queue.submit(std::move(records.integers));
    queue.submit(std::move(records.transform));
    if (!records.scaled.items.empty()) queue.submit(std::move(records.scaled));
  }
  return out;
}

void require_dry(const Queue& queue) {
  if (!queue.is_dry()) {
    throw ContextError("ckks.encode", "factors without values", "their values",
                       "encode them; only dry runs do without");
  }
}

// Throws what encoding values of this form would throw, whatever the values are.
void require_form(const Context& context, int slots, int level, double scale) {
  std::vector<Complex> one(static_cast<std::size_t>(slots));
  one[0] = 1;
  require_fit(context, one, scale, coefficient_bound(context, level));
}

std::vector<Plaintext> encode_unknown(const std::shared_ptr<const Context>& context, int count,
                                      int slots, int level, double scale, bool extended) {
  Queue& queue = context->queue();
  require_dry(queue);
  require_form(*context, slots, level, scale);
  std::vector<Plaintext> out;
  const std::optional<int> log_n = subring_of(*context, static_cast<std::size_t>(slots));
  while (static_cast<int>(out.size()) < count) {
    if (log_n) {
      const CompactFactor one = placed(context, {}, slots, *log_n, level, scale, extended);
      const CompactFactor* const made = &one;
      out.push_back(std::move(expand({&made, 1}, Use::Kept).front()));
      continue;
    }
    const int some = std::min(static_cast<int>(kMaxVectors), count - static_cast<int>(out.size()));
    const Buffer staged = queue.allocate(some * sizeof(Complex) * static_cast<std::size_t>(slots));
    for (Plaintext& p :
         embedded(context, nullptr, some, slots, level, scale, extended, Use::Kept)) {
      out.push_back(std::move(p));
    }
  }
  return out;
}

}  // namespace

Linear::Item times_p(const Plaintext& x) {
  const Context& context = *x.context;
  const Basis q = context.params().basis(x.level);
  std::vector<std::uint32_t> p_mod;
  p_mod.reserve(q.size());
  const std::vector<std::uint32_t>& factor = context.constants().p_mod(x.level);
  for (int i = 0; i < q.size(); ++i) p_mod.push_back(factor[q.prime(i)]);
  return {.terms = {{.x = x.poly.view, .residues = std::move(p_mod)}}, .out = x.poly.view};
}

std::vector<Plaintext> encode_factors(const std::shared_ptr<const Context>& context,
                                      const Factors& given, int level, double scale,
                                      bool extended) {
  const Queue::Preparing preparing(context->queue());
  if (given.unknown > 0) {
    return encode_unknown(context, given.unknown, given.slots, level, scale, extended);
  }
  const std::span<const Values> batch = given.batch;
  std::vector<Plaintext> out(batch.size());
  std::vector<Values> whole;
  std::vector<std::size_t> place;
  for (std::size_t i = 0; i < batch.size(); ++i) {
    const std::size_t period = period_of(batch[i]);
    if (const std::optional<int> log_n = subring_of(*context, period)) {
      const CompactFactor one =
          placed(context, integers_of(*context, batch[i], period, *log_n, level, scale),
                 static_cast<int>(batch[i].size()), *log_n, level, scale, extended);
      const CompactFactor* const made = &one;
      out[i] = std::move(expand({&made, 1}, Use::Kept).front());
    } else {
      whole.push_back(batch[i]);
      place.push_back(i);
    }
  }
  if (whole.empty()) return out;
  std::vector<Plaintext> encoded = uploaded(context, whole, level, scale, extended, Use::Kept);
  for (std::size_t k = 0; k < place.size(); ++k) out[place[k]] = std::move(encoded[k]);
  return out;
}

std::vector<CompactFactor> compact_factors(const std::shared_ptr<const Context>& context,
                                           const Factors& given, int level, double scale,
                                           bool extended) {
  const Queue::Preparing preparing(context->queue());
  const int whole = context->ring().log_n();
  std::vector<CompactFactor> out;
  if (given.unknown > 0) {
    require_dry(context->queue());
    require_form(*context, given.slots, level, scale);
    const int log_n = subring_of(*context, static_cast<std::size_t>(given.slots)).value_or(whole);
    for (int i = 0; i < given.unknown; ++i) {
      out.push_back(placed(context, {}, given.slots, log_n, level, scale, extended));
    }
    return out;
  }
  for (const Values values : given.batch) {
    require_fit(*context, values, scale, coefficient_bound(*context, level));
    const std::size_t period = period_of(values);
    const std::optional<int> subring = subring_of(*context, period);
    const int log_n = subring.value_or(whole);
    out.push_back(
        placed(context,
               integers_of(*context, values, subring ? period : values.size(), log_n, level, scale),
               static_cast<int>(values.size()), log_n, level, scale, extended));
  }
  return out;
}

std::vector<Plaintext> expand(std::span<const CompactFactor* const> factors) {
  return expand(factors, Use::Once);
}

std::vector<std::vector<Complex>> project_all(const Context& context,
                                              std::span<const Coefficients> batch, bool secret) {
  Queue& queue = context.queue();
  Project project;
  std::vector<Buffer> slots;
  for (const Coefficients& c : batch) {
    if (!(c.scale > 0) || !std::isfinite(c.scale)) {
      throw ScaleError("ckks.decode", "scale " + std::to_string(c.scale), "a positive finite scale",
                       "pass the scale of the ciphertext");
    }
    slots.push_back(queue.allocate(sizeof(Complex) * c.slots, secret));
    project.items.push_back({.table = &context.encoder().transform(),
                             .in = c.view,
                             .divisor = c.scale,
                             .slots = c.slots,
                             .out = static_cast<double*>(slots.back()->data())});
  }
  queue.submit(std::move(project));
  std::vector<std::vector<Complex>> out;
  for (std::size_t i = 0; i < batch.size(); ++i) {
    out.emplace_back(batch[i].slots);
    queue.copy_out(out.back().data(), slots[i]->data(), sizeof(Complex) * out.back().size());
  }
  return out;
}

namespace {

// Enough leading primes of `basis` to tell integers below 2^62 in size apart, or all of them.
Basis leading_primes(const Ring& ring, const Basis& basis) {
  double bits = 0;
  Basis out;
  for (int i = 0; i < basis.size() && bits < 64; ++i) {
    const auto p = static_cast<std::uint16_t>(basis.prime(i));
    out = out.with(Basis{{p, static_cast<std::uint16_t>(p + 1)}});
    bits += std::log2(ring.prime(p));
  }
  return out;
}

}  // namespace

std::vector<Complex> decode(const Plaintext& plaintext) {
  const Context& context = *plaintext.context;
  const Basis basis = leading_primes(context.ring(), plaintext.poly.view.basis());
  const Poly coefficients = context.queue().allocate(context.ring(), basis, Domain::Coeff);
  context.queue().submit(
      Transform{{{.in = plaintext.poly.view.select(basis), .out = coefficients.view}}});
  const Coefficients one{coefficients.view, plaintext.scale, plaintext.slots};
  return std::move(project_all(context, {&one, 1}, false).front());
}

}  // namespace latticino::ckks
