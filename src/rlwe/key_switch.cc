#include "rlwe/key_switch.h"

#include <algorithm>
#include <string>

#include "math/errors.h"

namespace latticino::rlwe {
namespace {

// Primes of extended(level) that the coming mod_down takes away.
Basis removed_by(const Constants& constants, int level, bool drop_level) {
  return drop_level ? constants.divide_by_p_and_rescale(level).removed
                    : constants.divide_by_p(level).removed;
}

// The key's pair for every group of digits at `level`.
std::vector<std::array<PolyView, 2>> key_views(Queue& queue, const Constants& constants,
                                               const SwitchKey& key, int level) {
  std::vector<std::array<PolyView, 2>> out;
  for (const std::vector<int>& group : constants.params().digit_groups(level)) {
    out.push_back(group.size() == 1
                      ? key.digit(group[0])
                      : key.merged->get(queue, constants, key, group[0], group[1], level));
  }
  return out;
}

// Division of whole polynomials: the removed limbs go to Half (unless they are there already), are
// converted to the target and subtracted.
std::vector<Poly> divide(Queue& queue, const Ring& ring, const Constants::Division& division,
                         std::span<const DownItem> items) {
  Transform to_half;
  Convert convert;
  ModDownFinish subtract{{}, division.factor};
  std::vector<Poly> scratch, out;
  for (const DownItem& item : items) {
    PolyView removed = item.removed;
    if (removed.domain != Domain::Half) {
      scratch.push_back(queue.allocate(ring, division.removed, Domain::Half));
      to_half.items.push_back({removed, scratch.back().view});
      removed = scratch.back().view;
    }
    const Poly converted = queue.allocate(ring, division.target, Domain::Half);
    scratch.push_back(converted);
    convert.items.push_back({division.conversion, removed, converted.view});
    out.push_back(queue.allocate(ring, division.target, Domain::Eval));
    const Basis kept = division.target.intersect(item.eval.basis());
    subtract.items.push_back({kept.size() > 0 ? item.eval.select(kept) : PolyView{}, converted.view,
                              item.add, out.back().view, item.galois, item.times});
  }
  if (!to_half.items.empty()) queue.submit(std::move(to_half));
  queue.submit(std::move(convert));
  queue.submit(std::move(subtract));
  return out;
}

// Whether the limbs that stay need nothing of key_inner: with one digit they are its own, and what
// is added is neither rescaled nor on P.
bool multiplied_last(const InnerGroup& group, Addend addend) {
  return group.raised->converted.size() == 1 && group.product.empty() && addend == Addend::TimesP &&
         std::all_of(group.targets.begin(), group.targets.end(),
                     [](const InnerTarget& t) { return t.for_mod_down && !t.drop_level; });
}

// The pair whose limbs on P are left to key_inner.
ExtendedPair own_limbs(Queue& queue, const Constants& constants, const ModUpResult& raised,
                       const InnerTarget& target, const std::array<PolyView, 2>& key) {
  const Basis removed = removed_by(constants, raised.level, false);
  ExtendedPair pair;
  pair.level = raised.level;
  for (int h = 0; h < 2; ++h) {
    pair.part[h] = queue.allocate(constants.ring(), removed, Domain::Half);
    pair.half[h] = pair.part[h].view;
    pair.eval[h] = raised.source;
    pair.times[h] = key[h].select(raised.source.basis());
    pair.add[h] = target.add[h];
  }
  return pair;
}

}  // namespace

std::vector<KeyInner::Digit> ModUpResult::digits() const {
  std::vector<KeyInner::Digit> out;
  for (std::size_t j = 0; j < converted.size(); ++j) {
    out.push_back({source.select(own_[j]), converted[j].view});
  }
  return out;
}

std::vector<ModUpResult> mod_up(Queue& queue, const Constants& constants,
                                std::span<const PolyView> a, int level) {
  return mod_up(queue, constants, a, {}, level);
}

std::vector<ModUpResult> mod_up(Queue& queue, const Constants& constants,
                                std::span<const PolyView> a, std::span<const PolyView> times,
                                int level) {
  const Params& params = constants.params();
  const Basis basis = params.basis(level);
  const int groups = static_cast<int>(params.digit_groups(level).size());
  Transform to_half;
  Convert convert;
  std::vector<Poly> halves;
  std::vector<ModUpResult> out;
  for (std::size_t i = 0; i < a.size(); ++i) {
    ModUpResult& raised = out.emplace_back();
    raised.level = level;
    raised.source = a[i].select(basis);
    halves.push_back(queue.allocate(constants.ring(), basis, Domain::Half));
    to_half.items.push_back(
        {raised.source, halves.back().view, times.empty() ? PolyView{} : times[i]});
    for (int group = 0; group < groups; ++group) {
      const BaseConversion& table = constants.mod_up(group, level);
      raised.own_.push_back(table.from());
      raised.converted.push_back(queue.allocate(constants.ring(), table.to(), Domain::Half));
      convert.items.push_back(
          {&table, halves.back().view.select(table.from()), raised.converted.back().view});
    }
  }
  queue.submit(std::move(to_half));
  queue.submit(std::move(convert));
  return out;
}

ModUpResult mod_up(Queue& queue, const Constants& constants, const PolyView& a, int level) {
  return std::move(mod_up(queue, constants, std::span(&a, 1), level).front());
}

ExtendedPair allocate_extended(Queue& queue, const Constants& constants, int level) {
  ExtendedPair out;
  out.level = level;
  for (int h = 0; h < 2; ++h) {
    out.part[h] =
        queue.allocate(constants.ring(), constants.params().extended(level), Domain::Eval);
    out.eval[h] = out.part[h].view;
  }
  return out;
}

std::vector<std::vector<ExtendedPair>> key_inner(Queue& queue, const Constants& constants,
                                                 std::span<const InnerGroup> groups,
                                                 Addend addend) {
  KeyInner op;
  bool adds = false;
  std::vector<std::vector<ExtendedPair>> out;
  for (const InnerGroup& group : groups) {
    const ModUpResult& raised = *group.raised;
    KeyInner::Group& g = op.groups.emplace_back();
    const bool last = multiplied_last(group, addend);
    g.digits =
        last ? std::vector<KeyInner::Digit>{{{}, raised.converted[0].view}} : raised.digits();
    g.product = group.product;
    adds = adds || !group.product.empty();
    std::vector<ExtendedPair>& results = out.emplace_back();
    for (const InnerTarget& target : group.targets) {
      const auto keys = key_views(queue, constants, *target.key, raised.level);
      if (last) {
        results.push_back(own_limbs(queue, constants, raised, target, keys[0]));
        g.targets.push_back({keys, {}, results.back().half, {}, target.galois});
        continue;
      }
      ExtendedPair pair = allocate_extended(queue, constants, raised.level);
      if (target.for_mod_down) {
        const Basis removed = removed_by(constants, raised.level, target.drop_level);
        for (int h = 0; h < 2; ++h) {
          const PolyView whole = pair.part[h].view;
          pair.eval[h] = whole.select(whole.basis().without(removed));
          pair.half[h] = whole.select(removed).in(Domain::Half);
        }
      }
      adds = adds || target.add[0].segments > 0 || target.add[1].segments > 0;
      g.targets.push_back({keys, pair.eval, pair.half, target.add, target.galois});
      results.push_back(std::move(pair));
    }
  }
  if (adds && addend == Addend::TimesP) op.add_factor = constants.p_mod();
  if (adds && addend == Addend::Extended) op.add_factor.assign(constants.ring().prime_count(), 1);
  queue.submit(std::move(op));
  return out;
}

std::vector<ExtendedPair> key_inner(Queue& queue, const Constants& constants,
                                    const ModUpResult& raised,
                                    const std::vector<InnerTarget>& targets) {
  const InnerGroup group{&raised, targets};
  return std::move(key_inner(queue, constants, std::span(&group, 1)).front());
}

DownItem down_item(const Constants& constants, const ExtendedPair& x, int h, bool drop_level,
                   const PolyView& add, std::uint32_t galois) {
  const Basis removed = removed_by(constants, x.level, drop_level);
  const bool ready = x.half[h].segments > 0 && x.half[h].basis() == removed;
  if (!ready && x.half[h].segments > 0) {
    throw ShapeError("rlwe.mod_down", "Half limbs " + x.half[h].basis().str(), removed.str(),
                     "call key_inner with the same drop_level");
  }
  if (x.times[h].segments == 0) {
    return {x.eval[h], ready ? x.half[h] : x.eval[h].select(removed), add, galois};
  }
  if (!ready || add.segments > 0) {
    throw ShapeError("rlwe.mod_down", "a pair of one digit with another addend or drop_level",
                     "what key_inner was told", "call key_inner with the same drop_level and add");
  }
  return {x.eval[h], x.half[h], x.add[h], galois, x.times[h]};
}

std::vector<Poly> mod_down(Queue& queue, const Constants& constants,
                           std::span<const DownItem> items, int level, bool drop_level) {
  return divide(
      queue, constants.ring(),
      drop_level ? constants.divide_by_p_and_rescale(level) : constants.divide_by_p(level), items);
}

std::array<Poly, 2> mod_down(Queue& queue, const Constants& constants, const ExtendedPair& x,
                             bool drop_level, const std::array<PolyView, 2>& add,
                             std::uint32_t galois) {
  const DownItem items[2] = {down_item(constants, x, 0, drop_level, add[0], galois),
                             down_item(constants, x, 1, drop_level, add[1], galois)};
  std::vector<Poly> out = mod_down(queue, constants, items, x.level, drop_level);
  return {std::move(out[0]), std::move(out[1])};
}

std::vector<Poly> rescale(Queue& queue, const Constants& constants, const std::vector<PolyView>& in,
                          int level) {
  const Constants::Division& division = constants.rescale(level);
  std::vector<DownItem> items;
  for (const PolyView& view : in) items.push_back({view, view.select(division.removed), {}, 1});
  return divide(queue, constants.ring(), division, items);
}

std::vector<Poly> change_modulus(Queue& queue, const Constants& constants,
                                 std::span<const PolyView> in, const Basis& target) {
  std::vector<Poly> out;
  if (in.empty()) return out;
  const Constants::Division& division = constants.division(in[0].basis(), target);
  std::vector<DownItem> items;
  for (const PolyView& view : in) items.push_back({view, view.select(division.removed), {}, 1});
  return divide(queue, constants.ring(), division, items);
}

std::array<Poly, 2> switch_one_digit(Queue& queue, const Constants& constants,
                                     const std::array<PolyView, 2>& x,
                                     const std::array<PolyView, 2>& key, const Basis& aux) {
  const Ring& ring = constants.ring();
  const Basis base = x[0].basis();
  const Poly half = queue.allocate(ring, base, Domain::Half);
  const Poly raised = queue.allocate(ring, aux, Domain::Half);
  queue.submit(Transform{{{x[1], half.view}}});
  queue.submit(Convert{{{&constants.conversion(base, aux), half.view, raised.view}}});

  std::array<Poly, 2> sum;
  std::array<PolyView, 2> eval, removed;
  for (int h = 0; h < 2; ++h) {
    sum[h] = queue.allocate(ring, base.with(aux), Domain::Eval);
    eval[h] = sum[h].view.select(base);
    removed[h] = sum[h].view.select(aux).in(Domain::Half);
  }
  queue.submit(KeyInner{{{{{x[1], raised.view}}, {{{key}, eval, removed, {x[0], {}}, 1}}}},
                        constants.product_on(aux, base)});
  const DownItem items[2] = {{eval[0], removed[0], {}, 1}, {eval[1], removed[1], {}, 1}};
  std::vector<Poly> out = divide(queue, ring, constants.division(base.with(aux), base), items);
  return {std::move(out[0]), std::move(out[1])};
}

std::array<Poly, 2> switch_to_sparse(Queue& queue, const Constants& constants,
                                     const std::array<PolyView, 2>& x, const SwitchKey& key) {
  const Params& params = constants.params();
  return switch_one_digit(queue, constants, x, key.digit(0),
                          params.encapsulation_basis().without(params.basis(0)));
}

std::array<Poly, 2> switch_from_sparse(Queue& queue, const Constants& constants, const PolyView& b,
                                       const PolyView& a, const PolyView& a_aux,
                                       const SwitchKey& key, int level) {
  ExtendedPair pair = allocate_extended(queue, constants, level);
  const Basis removed = removed_by(constants, level, false);
  for (int h = 0; h < 2; ++h) {
    pair.eval[h] = pair.part[h].view.select(constants.params().basis(level));
    pair.half[h] = pair.part[h].view.select(removed).in(Domain::Half);
  }
  queue.submit(KeyInner{{{{{a, a_aux}}, {{{key.digit(0)}, pair.eval, pair.half, {b, {}}, 1}}}},
                        constants.p_mod()});
  return mod_down(queue, constants, pair, false);
}

std::vector<ExtendedPair> switch_over_raised(Queue& queue, const Constants& constants,
                                             std::span<const ExtendedPair> x,
                                             std::span<const SwitchKey* const> keys, int level) {
  const Params& params = constants.params();
  const Basis q = params.basis(level), carried = q.with(params.over_raise_basis());
  KeyInner op;
  op.add_factor = constants.over_raise_p_mod();
  std::vector<ExtendedPair> out;
  for (std::size_t k = 0; k < x.size(); ++k) {
    const ExtendedPair& pair = out.emplace_back(allocate_extended(queue, constants, level));
    const PolyView &b = x[k].eval[0], &a = x[k].eval[1];
    KeyInner::Group& group = op.groups.emplace_back();
    group.digits = {{a.select(q), a.select(params.aux_basis())}};
    group.targets = {{{keys[k]->digit(0)}, pair.eval, {}, {b.select(carried), {}}, 1}};
  }
  queue.submit(std::move(op));
  return out;
}

}  // namespace latticino::rlwe
