// Functions by tables: every value of an array is looked up in TFHE and comes back.
#include "latticino/switching.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <variant>

#include "crypto/sha256.h"
#include "math/errors.h"
#include "session/ckks/lookup.h"
#include "session/ckks/state.h"

namespace latticino {
namespace session {

std::string ContextState::switch_set(const std::string& name, const std::string& key) const {
  std::vector<std::string> sets = host_->switch_sets();
  // Keys of a twin do not matter here: they are only those that its program asked for so far.
  if (const StoredKeysPtr keys = host_->dry() ? nullptr : keys_.find(key)) {
    std::stable_partition(sets.begin(), sets.end(), [&](const std::string& set) {
      return std::ranges::find(keys->switching(), set) != keys->switching().end();
    });
  }
  if (!sets.empty() && (name.empty() || std::ranges::find(sets, name) != sets.end())) {
    return name.empty() ? sets[0] : name;
  }
  if (sets.empty()) {
    throw ParameterError("switching", params().name() + ", to which no set of switching belongs",
                         "parameters that one belongs to",
                         "choose other parameters (docs/switching.md)");
  }
  std::string known;
  for (const std::string& set : sets) known += (known.empty() ? "" : " or ") + set;
  throw ParameterError("switching", "the set \"" + name + "\" with " + params().name(), known,
                       "name one of these");
}

std::shared_ptr<const switching::Switcher> ContextState::switcher(const std::string& name,
                                                                  int slots, double bound,
                                                                  bool minimal_keys,
                                                                  switching::Route route,
                                                                  const std::string& key) const {
  if (host_->dry()) return host_->dry_switcher(name, slots, bound, minimal_keys, route);
  const StoredKeysPtr keys = keys_.at(key);
  if (std::ranges::find(keys->switching(), name) == keys->switching().end()) {
    throw KeyError("switching", "no switching keys", "those of the set " + name,
                   "plan a program that switches, and make the keys of that plan");
  }
  const auto bundle = keys->bundle();
  return part_of(bundle, bundle->switcher(name, slots, bound, minimal_keys, route).get());
}

namespace {

// log2 of the bounds that the constants of every set can express, and of the largest value of a
// table.
constexpr int kSmallest = -40, kLargest = 64;

void require_bound(const char* operation, double bound) {
  if (!(std::isfinite(bound) && bound > 0)) {
    throw ValueError(operation, "bound=" + short_number(bound), "a finite number above 0",
                     "correct it");
  }
  if (bound >= std::ldexp(1.0, kSmallest) && bound <= std::ldexp(1.0, kLargest)) return;
  throw ValueError(operation, "bound=" + short_number(bound),
                   "a bound from 2^-40 to 2^64, which tables can have",
                   "multiply the values by a number that brings them near 1, and take the bound of "
                   "the products");
}

void require_function(const char* operation, const std::function<double(double)>& f) {
  if (f) return;
  throw ValueError(operation, "an empty function", "a function of a number",
                   "pass one, a lambda for instance");
}

// Tables use real parts only. Values that are merely assumed to be complex may be real.
void require_real(const char* operation, const ArrayState& x) {
  const Range& range = x.known().range();
  if (range.is_real() || range.claim == Claim::Assumed) return;
  throw UnsupportedError(operation, "complex values (" + x.known().within() + ")",
                         "real ones for a function of real numbers",
                         "take the real parts, (x + x.conj()) / 2, and declare() their range; "
                         "polynomial() takes complex values");
}

// Whether values are within the bound, as far as their range is known. If they are not: ScaleError
// in a plan, a warning otherwise.
bool fits(const char* operation, const ArrayState& x, bool all, double bound) {
  const auto m = all ? beyond(x.known(), bound) : std::nullopt;
  if (m) x.host().report(operation, m->had, m->needs, m->remedy);
  return !m;
}

// The same for a number to compare with. Values of which nothing is stated are taken to be within
// the bound.
bool fits(const Array& x, double y, double bound) {
  if (std::abs(y) <= bound * (1 + 1e-9) || state(x).known().range().claim != Claim::Assumed) {
    return true;
  }
  state(x).host().report("compare", "the number " + short_number(std::abs(y)) + " to compare with",
                         "numbers within the bound " + short_number(bound),
                         "raise the bound, or declare the range of the values");
  return false;
}

// The result of a table. Nothing is claimed for values that may have been beyond its bound, because
// the function may be larger there than any value of the table.
Array claimed(const Array& y, bool fitted) {
  if (fitted) return y;
  Contents made = state(y).open();
  made.known = made.known.lost().plus_error(1.0);
  return result_of(state(y), std::move(made));
}

Array through(const Array& from, const switching::Table& table, const Lookup& how,
              const LookupOptions& options, const std::string& set) {
  const ContextState& context = *state(from).context;
  if (!options.where.empty() && options.where.size() != from.size()) {
    throw ShapeError("apply_lut", std::to_string(options.where.size()) + " flags",
                     std::to_string(from.size()) + ", one for each value", "pass as many");
  }
  const auto switcher = context.switcher(set, from.slots(), table.bound, options.minimal_keys,
                                         switching::route_of(options.route), from.key_id());
  const Array ready_x = ready(from, switcher->input_level());
  const ArrayState& x = state(ready_x);
  const std::vector<bool>* where = options.where.empty() ? nullptr : &options.where;
  return result_of(x, looked_up(x.evaluator(), *switcher, table, x.open(), how, where));
}

// Names a table among those that a host keeps. The bound takes part with all of its digits.
std::string key_of(const std::string& kind, const std::string& set, double bound) {
  std::string key = kind + " " + set + " ";
  key.append(reinterpret_cast<const char*>(&bound), sizeof bound);
  return key;
}

// 1 where x > 0, 0 where x < 0, for |x| <= 2 bound.
Array positive(const Array& x, const LookupOptions& options, bool fitted = true) {
  require_bound("compare", options.bound);
  const ArrayState& s = state(x);
  require_real("compare", s);
  fitted = fits("compare", s, true, 2 * options.bound) && fitted;
  const std::string set = s.context->switch_set(options.switching, s.key());
  const SwitchContextPtr native = s.host().switching(set);
  const auto table = s.host().table(key_of("sign", set, options.bound), [&] {
    return switching::make_sign_table(native, options.bound, 0.5);
  });
  const Complex ends[] = {-0.5, 0.5};
  // The claim holds for values that differ by more than the resolution.
  return claimed(through(x, *table, {Range::of(ends), true}, options, set) + 0.5, fitted);
}

// A value for each slot of one ciphertext, with the positions that they came from, which are plain
// numbers at first.
struct PlacedValue {
  Array value;
  std::variant<std::vector<double>, Array> place;
};

Array chosen_place(const Array& chosen, const PlacedValue& a, const PlacedValue& b) {
  if (const Array* y = std::get_if<Array>(&b.place)) {
    if (const Array* x = std::get_if<Array>(&a.place)) return chosen * (*x - *y) + *y;
    return chosen * (Values(std::get<0>(a.place)) - *y) + *y;
  }
  const std::vector<double>& y = std::get<0>(b.place);
  if (const Array* x = std::get_if<Array>(&a.place)) return chosen * (*x - Values(y)) + Values(y);
  std::vector<double> difference = std::get<0>(a.place);
  for (std::size_t i = 0; i < y.size(); ++i) difference[i] -= y[i];
  return chosen * Values(difference) + Values(y);
}

Array within(const Array& x, double bound) {
  return result_of(state(x), chosen_within(state(x).open(), bound));
}

PlacedValue larger_of(const PlacedValue& a, const PlacedValue& b, const LookupOptions& options) {
  const Array difference = a.value - b.value;
  const Array chosen = positive(difference, options);
  return {within(chosen * difference + b.value, options.bound), chosen_place(chosen, a, b)};
}

PlacedValue rotated_value(const PlacedValue& x, std::size_t steps) {
  if (const Array* place = std::get_if<Array>(&x.place)) {
    return {x.value.rotate(static_cast<std::int64_t>(steps)),
            place->rotate(static_cast<std::int64_t>(steps))};
  }
  std::vector<double> place = std::get<0>(x.place);
  std::rotate(place.begin(), place.begin() + static_cast<std::ptrdiff_t>(steps), place.end());
  return {x.value.rotate(static_cast<std::int64_t>(steps)), std::move(place)};
}

// The value of the first slot. Others may hold another one: of equal values each slot has chosen
// for itself.
Array single(const Array& x) {
  if (x.slots() == 1) return x.reshape({});
  std::vector<double> first(x.size());
  first[0] = 1;
  return (x * Values(first)).sum();
}

// One candidate for each ciphertext, with -bound behind the values.
std::vector<PlacedValue> candidates_of(const ArrayState& x, double bound) {
  if (x.padded() && !x.clean()) {
    throw ShapeError("largest", std::to_string(x.size()) + " values with others behind them",
                     "zeros behind them",
                     "multiply by ones, which clears what lies behind them and takes a level");
  }
  std::vector<PlacedValue> out;
  const auto slots = static_cast<std::size_t>(x.slots());
  for (std::size_t i = 0; i < x.parts().size(); ++i) {
    const std::size_t first = i * slots, count = std::min(slots, x.size() - first);
    std::vector<double> place(slots), filler(slots);
    for (std::size_t j = 0; j < slots; ++j) {
      place[j] = static_cast<double>(first + j);
      filler[j] = j < count ? 0 : -bound;
    }
    const Array part = result_of(
        x, {{x.parts()[i]}, x.known().part(first, count, slots), UnusedSlots::zero()}, {slots});
    out.push_back({count < slots ? within(part + Values(filler), bound) : part, std::move(place)});
  }
  return out;
}

struct MadeTable {
  std::shared_ptr<const switching::Table> table;
  Range range;  // of its values
};

// A function may give other values when it is called again, so its values name the table, and the
// table is made from these.
MadeTable table_of(Host& host, const std::string& set, const std::function<double(double)>& f,
                   double bound) {
  const SwitchContextPtr native = host.switching(set);
  std::vector<double> values;
  for (const double v : switching::table_arguments(native->params(), bound)) {
    values.push_back(f(v));
    if (std::abs(values.back()) <= std::ldexp(1.0, kLargest)) continue;
    const bool finite = std::isfinite(values.back());
    throw ValueError(
        "apply_lut", "f(" + short_number(v) + ") = " + short_number(values.back()),
        finite ? "values of at most 2^64 in size" : "a finite value everywhere within the bound",
        finite ? "divide f by a number" : "define f there");
  }
  const std::vector<Complex> complex(values.begin(), values.end());
  const auto digest = crypto::sha256(
      {reinterpret_cast<const std::uint8_t*>(values.data()), values.size() * sizeof(double)});
  std::string key = key_of("f", set, bound);
  key.append(reinterpret_cast<const char*>(digest.data()), digest.size());
  const auto table =
      host.table(key, [&] { return switching::make_table(native, values, f, bound); });
  return {table, Range::of(complex)};
}

}  // namespace
}  // namespace session

using session::state;

Array apply_lut(const Array& x, const std::function<double(double)>& f,
                const LookupOptions& options) {
  session::require_function("apply_lut", f);
  session::require_bound("apply_lut", options.bound);
  const session::ArrayState& s = state(x);
  session::require_real("apply_lut", s);
  const bool fitted = session::fits("apply_lut", s, options.where.empty(), options.bound);
  const std::string set = s.context->switch_set(options.switching, s.key());
  const session::MadeTable made = session::table_of(s.host(), set, f, options.bound);
  return session::claimed(session::through(x, *made.table, {made.range}, options, set), fitted);
}

Array compare(const Array& x, const Array& y, const LookupOptions& options) {
  return session::positive(x - y, options);
}

Array compare(const Array& x, double y, const LookupOptions& options) {
  session::require_bound("compare", options.bound);
  const Array difference = x - y;
  return session::positive(difference, options, session::fits(x, y, options.bound));
}

Array maximum(const Array& x, const Array& y, const LookupOptions& options) {
  const Array difference = x - y;
  return session::positive(difference, options) * difference + y;
}

Largest largest(const Array& x, const LookupOptions& options) {
  session::require_bound("largest", options.bound);
  session::require_real("largest", state(x));
  const bool fitted = session::fits("largest", state(x), true, options.bound);
  std::vector<session::PlacedValue> left = session::candidates_of(state(x), options.bound);
  while (left.size() > 1) {
    std::vector<session::PlacedValue> winners;
    for (std::size_t i = 0; i + 1 < left.size(); i += 2) {
      winners.push_back(session::larger_of(left[i], left[i + 1], options));
    }
    if (left.size() % 2) winners.push_back(left.back());
    left = std::move(winners);
  }
  session::PlacedValue best = left[0];
  for (auto shift = static_cast<std::size_t>(x.slots()) / 2; shift > 0; shift /= 2) {
    best = session::larger_of(best, session::rotated_value(best, shift), options);
  }
  const Array place = [&] {
    if (const Array* a = std::get_if<Array>(&best.place)) return *a;
    return best.value * 0 + std::get<0>(best.place)[0];  // a single value
  }();
  return {session::claimed(session::single(best.value), fitted),
          session::claimed(session::single(place), fitted)};
}

std::vector<std::string> switching_sets(const Context& context) {
  return context.state()->host()->switch_sets();
}

TableReport table_report(const Context& context, const std::function<double(double)>& f,
                         const LookupOptions& options, int slots) {
  session::require_function("table_report", f);
  session::require_bound("table_report", options.bound);
  const std::string set = context.state()->switch_set(options.switching, "");
  session::Host twin(*context.state()->host(), session::Host::Dry{});
  const int count = slots == 0 ? twin.params().max_slots() : slots;
  const auto switcher = twin.dry_switcher(set, count, options.bound, options.minimal_keys,
                                          switching::route_of(options.route));
  const switching::TableReport r =
      switcher->report(*session::table_of(twin, set, f, options.bound).table);
  return {switching::name(switcher->route()), r.argument, r.mean, r.deviation, r.largest};
}

}  // namespace latticino
