#include "session/ckks/lookup.h"
#include "math/text.h"
#include "session/claims/slot_noise.h"

#include <algorithm>
#include <cmath>
#include <optional>

namespace latticino::session {
namespace {

std::string short_text(double x) { return formatted("%.4g", x); }

// The slots that flags choose, for each ciphertext. A ciphertext without a chosen value has none.
std::vector<std::vector<int>> chosen_slots(const Contents& x, const std::vector<bool>& where) {
  const auto slots = static_cast<std::size_t>(x.slots());
  std::vector<std::vector<int>> out(x.parts.size());
  for (std::size_t i = 0; i < where.size(); ++i) {
    if (where[i]) out.at(i / slots).push_back(static_cast<int>(i % slots));
  }
  return out;
}

}  // namespace

std::optional<Misfit> beyond(const Known& known, double bound) {
  const double slack = 6 * known.error(), largest = known.range().re.size();
  if (known.range().claim == Claim::Assumed || !(largest > bound * (1 + 1e-9) + slack)) return {};
  return Misfit{"values that may reach " + short_text(largest) + " (" + known.within() + ")",
                "values within " + short_text(bound), "raise the bound, or scale the values down"};
}

Contents looked_up(const ckks::Evaluator& e, const switching::Switcher& switcher,
                   const switching::Table& table, const Contents& x, const Lookup& how,
                   const std::vector<bool>* where) {
  std::vector<std::vector<int>> chosen(x.parts.size());  // empty: all slots
  if (where != nullptr) chosen = chosen_slots(x, *where);
  const auto stays = [&](std::size_t i) { return where != nullptr && chosen[i].empty(); };
  Parts made = x.parts;
  std::optional<ckks::Ciphertext> changed;
  for (std::size_t i = 0; i < made.size(); ++i) {
    if (stays(i)) continue;
    made[i] = switcher.apply(e, x.parts[i], table, chosen[i]);
    changed = made[i];
  }
  if (!changed) return x;
  for (std::size_t i = 0; i < made.size(); ++i) {  // all parts of an array have one level
    if (stays(i)) made[i] = e.to_level(made[i], changed->level);
  }
  const switching::TableReport report = switcher.report(table);
  // The last product of the way back adds an error that does not become smaller with the table.
  const double product =
      multiplied_error(x.params(), changed->level + 1, changed->slots, changed->scale) /
      std::sqrt(2.0);
  const double beside = std::hypot(report.packed, product);
  Known known = x.known.looked_up(how.f, how.range,
                                  how.constant ? beside : std::hypot(report.deviation, product),
                                  {report.argument, beside}, where);
  const UnusedSlots rest = where != nullptr && x.rest.clean()
                               ? UnusedSlots::zero()
                               : UnusedSlots::of(std::max(x.rest.kind, UnusedSlots::Kind::Filler),
                                                 std::max(x.rest.bound, known.reach()));
  return {std::move(made), std::move(known), rest};
}

Contents chosen_within(Contents x, double bound) {
  x.known = x.known.within_domain({-bound, bound});
  return x;
}

}  // namespace latticino::session
