// make_params. If a request is refused, it names changes that were tried.
#include <algorithm>
#include <cmath>
#include <string_view>

#include "math/errors.h"
#include "math/interrupt.h"
#include "params/own/plans.h"

namespace latticino {
namespace {

using own::Fix;
using own::Outcome;
using std::to_string;

constexpr std::size_t kMaxFixes = 3;
constexpr int kNearPacks = 2;   // searches for packed chains that each tried change may take
constexpr int kMaxPacked = 10;  // changes that take a search, in all
constexpr int kKindPacked = 4;  // the same for one kind of change
// Combinations of which one change is left out, to see whether it is needed.
constexpr int kMaxOmissions = 4;
// Distance in bits between scales that are tried instead of a refused one.
constexpr double kScaleStep = 0.25;
constexpr double kMaxScaleDistance = 36;  // bits between the refused scale and the farthest one

// Changes that are tried, the nearest first. The message names one of each kind.
using Kind = std::vector<Fix>;

template <class Change>
Fix fix(const ParamsRequest& x, std::string text, Change change) {
  Fix out{std::move(text), change, x};
  change(out.request);
  return out;
}

Kind fewer_levels(const ParamsRequest& x, const Outcome& refused) {
  Kind out;
  if (x.level_log_scale) {
    std::size_t most = x.level_log_scale->size() - 1;
    if (refused.level > 0) most = static_cast<std::size_t>(refused.level);
    for (std::size_t count = most; count >= 1; --count) {
      out.push_back(fix(x, "levels=levels[:" + to_string(count) + "]",
                        [=](auto& r) { r.level_log_scale->resize(count); }));
    }
  } else {
    for (std::int64_t count = x.levels - 1; count >= 1; --count) {
      out.push_back(fix(x, "levels=" + to_string(count), [=](auto& r) { r.levels = count; }));
    }
  }
  return out;
}

Kind other_rings(const ParamsRequest& x, bool larger) {
  Kind out;
  for (std::int64_t n = larger ? 2 * x.n : x.n / 2; n >= 1 << 10 && n <= 1 << 17;
       n = larger ? 2 * n : n / 2) {
    out.push_back(fix(x, "N=" + to_string(n), [=](auto& r) { r.n = n; }));
  }
  return out;
}

Kind other_digits(const ParamsRequest& x) {
  Kind out;
  if (x.dnum == 0) return out;
  for (int away = 1; away <= 60; ++away) {
    for (const std::int64_t dnum : {x.dnum + away, x.dnum - away}) {
      if (dnum < 1) continue;
      out.push_back(fix(x, "dnum=" + to_string(dnum), [=](auto& r) { r.dnum = dnum; }));
    }
  }
  out.push_back(fix(x, "dnum=None", [](auto& r) { r.dnum = 0; }));
  return out;
}

Kind other_scales(const ParamsRequest& x) {
  Kind out;
  if (x.level_log_scale) return out;
  for (double away = kScaleStep; away <= kMaxScaleDistance;
       away += away < 2 ? kScaleStep : 2 * kScaleStep) {
    for (const double near : {x.log_scale + away, x.log_scale - away}) {
      // Tries the value that the message shows.
      const double scale = std::round(near / kScaleStep) * kScaleStep;
      out.push_back(
          fix(x, "scale=2**" + own::number(scale), [=](auto& r) { r.log_scale = scale; }));
    }
  }
  return out;
}

Kind other_words(const ParamsRequest& x) {
  Kind out;
  if (x.word == 0) return out;
  out.push_back(fix(x, "word=None", [](auto& r) { r.word = 0; }));
  for (const std::int64_t word : {28, 29, 30}) {
    out.push_back(fix(x, "word=" + to_string(word), [=](auto& r) { r.word = word; }));
  }
  return out;
}

Kind lower_security(const ParamsRequest& x) {
  Kind out;
  if (x.quantum) out.push_back(fix(x, "quantum=False", [](auto& r) { r.quantum = false; }));
  for (const std::int64_t bits : {192, 128}) {
    if (x.security <= bits) continue;
    out.push_back(fix(x, "security=" + to_string(bits), [=](auto& r) { r.security = bits; }));
  }
  return out;
}

// If nothing else helps: a small set that exists for every ring of its size.
Kind plain(const ParamsRequest& x) {
  return {fix(x,
              "N=65536 and levels=1 and scale=2**40 and word=None and dnum=None and "
              "secret='ternary'",
              [](ParamsRequest& r) {
                r.n = 65536, r.levels = 1, r.log_scale = 40, r.word = 0, r.dnum = 0;
                r.level_log_scale.reset();
                r.hamming_weight = 0;
              })};
}

// Scales for the level that cannot be packed, with which a search gets beyond it. They are rounded
// as messages show them. A request for one scale at all levels has no list to change:
// other_scales() has its remedies.
Kind nearest_scales(const ParamsRequest& x, const Outcome& refused) {
  Kind out;
  if (!x.level_log_scale) return out;
  for (const double scale : refused.nearest) {
    const std::string text = own::number(scale);
    const auto level = static_cast<std::size_t>(refused.level);
    out.push_back(fix(x, "levels[" + to_string(level) + "]=2**" + text,
                      [=](auto& r) { (*r.level_log_scale)[level] = std::stod(text); }));
  }
  return out;
}

bool accepted(const ParamsRequest& x, int packs = 0) {
  check_interrupt();
  return !own::fault_of(x) && own::may_fit(x) && own::solve(x, packs).params != nullptr;
}

// As many levels as the list has, all at one scale.
Kind one_scale(const ParamsRequest& x) {
  Kind out;
  if (!x.level_log_scale) return out;
  const std::vector<double>& list = *x.level_log_scale;
  const std::int64_t stc = x.bootstrapping ? own::kStcLevels : 0;
  const auto levels = std::max<std::int64_t>(1, static_cast<std::int64_t>(list.size()) - 1 - stc);
  for (const double scale : {*std::max_element(list.begin(), list.end()), list[0], 40.0}) {
    out.push_back(
        fix(x, "levels=" + to_string(levels) + " and scale=2**" + own::number(scale), [=](auto& r) {
          r.level_log_scale.reset();
          // Rounds the scale to the digits that the message shows.
          r.levels = levels, r.log_scale = std::stod(own::number(scale));
        }));
  }
  return out;
}

// The first change of a kind that is accepted. Levels of different sizes are packed, which takes a
// search for each change: `searches` are left.
std::optional<Fix> first_accepted(const Kind& kind, int& searches) {
  int searched = 0;
  for (const Fix& f : kind) {
    const bool packed = f.request.level_log_scale && searched < kKindPacked && searches > 0 &&
                        !own::fault_of(f.request) && own::may_fit(f.request);
    if (packed) ++searched, --searches;
    if (accepted(f.request, packed ? kNearPacks : 0)) return f;
  }
  return std::nullopt;
}

// Changes that turn the request into one that is accepted.
std::vector<Fix> fixes_of(const ParamsRequest& x, const Outcome& refused) {
  std::vector<Fix> out;
  for (const Fix& f : nearest_scales(x, refused)) {
    if (accepted(f.request, kNearPacks)) out.push_back(f);
  }
  std::vector<Kind> kinds = {fewer_levels(x, refused), other_digits(x), other_rings(x, true),
                             other_scales(x),          other_words(x),  lower_security(x),
                             other_rings(x, false)};
  // If primes do not make up the scale, another scale is the nearest change.
  constexpr std::size_t kScales = 3;
  if (refused.level > 0)
    std::rotate(kinds.begin(), kinds.begin() + kScales, kinds.begin() + kScales + 1);
  int searches = kMaxPacked;
  for (const Kind& kind : kinds) {
    if (out.size() >= kMaxFixes) break;
    if (std::optional<Fix> found = first_accepted(kind, searches)) out.push_back(*std::move(found));
  }
  if (out.empty()) {
    if (std::optional<Fix> found = first_accepted(one_scale(x), searches)) out = {*found};
  }
  if (out.empty() && x.bootstrapping) {
    Fix without = fix(x, "bootstrapping=False", [](auto& r) { r.bootstrapping = false; });
    if (accepted(without.request)) out.push_back(std::move(without));
  }
  if (!out.empty()) return out;
  Kind last = plain(x);
  if (accepted(last[0].request)) out = std::move(last);
  return out;
}

std::vector<std::string> settings_of(const std::string& text) {
  constexpr std::string_view kAnd = " and ";
  std::vector<std::string> out;
  std::size_t from = 0;
  for (std::size_t to; (to = text.find(kAnd, from)) != std::string::npos; from = to + kAnd.size()) {
    out.push_back(text.substr(from, to - from));
  }
  out.push_back(text.substr(from));
  return out;
}

// Both changes, one after the other. What the second one sets again is named once.
std::string joined(const std::string& first, const std::string& second) {
  if (first.empty()) return second;
  const auto name = [](const std::string& setting) { return setting.substr(0, setting.find('=')); };
  const std::vector<std::string> later = settings_of(second);
  std::string out;
  for (const std::string& setting : settings_of(first)) {
    const bool again = std::any_of(later.begin(), later.end(),
                                   [&](const std::string& s) { return name(s) == name(setting); });
    if (!again) out += setting + " and ";
  }
  return out + second;
}

ParamsRequest changed(ParamsRequest x, const std::vector<Fix>& fixes) {
  for (const Fix& f : fixes) f.change(x);
  return x;
}

// Changes that together are accepted, without those that the others do without.
std::string shortest(const ParamsRequest& x, std::vector<Fix> fixes) {
  int searches = kMaxOmissions;
  for (std::size_t i = 0; i < fixes.size() && fixes.size() > 1;) {
    std::vector<Fix> others = fixes;
    others.erase(others.begin() + static_cast<long>(i));
    const ParamsRequest without = changed(x, others);
    const bool enough =
        without == changed(x, fixes) ||
        (!own::fault_of(without) && searches-- > 0 && accepted(without, kNearPacks));
    if (enough) {
      fixes = std::move(others);
    } else {
      ++i;
    }
  }
  std::string out;
  for (const Fix& f : fixes) out = joined(out, f.text);
  return out;
}

// `before`: the changes that bring fields into range.
std::string remedy_of(const ParamsRequest& x, const std::vector<Fix>& before,
                      const std::vector<Fix>& fixes) {
  if (fixes.empty()) return "take a preset";
  std::string out = "ask for ";
  for (std::size_t i = 0; i < fixes.size(); ++i) {
    std::vector<Fix> all = before;
    all.push_back(fixes[i]);
    out += (i == 0 ? "" : "; or for ") + shortest(x, std::move(all));
  }
  return out;
}

[[noreturn]] void refuse(const own::Refusal& why, const std::string& remedy) {
  throw ParameterError("make_params", why.had, why.needs, remedy);
}

}  // namespace

std::shared_ptr<const Params> make_params(const ParamsRequest& request) {
  const std::optional<own::Fault> fault = own::fault_of(request);
  if (!fault) {
    Outcome outcome = own::solve(request, own::kAllPacks);
    if (outcome.params) return outcome.params;
    refuse(outcome.why, remedy_of(request, {}, fixes_of(request, outcome)));
  }
  // Brings fields into range one after the other, then asks for what the request still lacks.
  std::vector<Fix> before = {fault->fix};
  constexpr int kMaxFaults = 200;  // a list may have a fault in every level
  for (int i = 0; i < kMaxFaults; ++i) {
    const std::optional<own::Fault> next = own::fault_of(before.back().request);
    if (!next) break;
    before.push_back(next->fix);
  }
  const ParamsRequest& x = before.back().request;
  Outcome outcome;
  if (own::may_fit(x)) outcome = own::solve(x, own::kAllPacks);
  if (outcome.params) refuse(fault->why, "ask for " + shortest(request, before));
  refuse(fault->why, remedy_of(request, before, fixes_of(x, outcome)));
}

}  // namespace latticino
