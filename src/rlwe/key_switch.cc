#include "rlwe/key_switch.h"

#include <algorithm>
#include <string>

#include "math/errors.h"

namespace latticino::rlwe {
namespace {

// Primes of extended(level) that the next mod_down removes.
Basis removed_by(const Constants& constants, int level, bool drop_level) {
  return drop_level ? constants.divide_by_p_and_rescale(level).removed
                    : constants.divide_by_p(level).removed;
}

// The key's pair for every group of digits at `level`.
std::vector<std::array<PolyView, 2>> key_views(Queue& queue, const Constants& constants,
                                               const SwitchKey& key, int level) {
  const Params& params = constants.params();
  if (key.label.band != params.band(level)) {
    throw KeyError("rlwe.key_switch", key.label.str() + " at level " + std::to_string(level),
                   key.label.at(params, level).str(), "use the key of the level's band");
  }
  std::vector<std::array<PolyView, 2>> out;
  for (const std::vector<int>& group : params.digit_groups(level)) {
    out.push_back(group.size() == 1
                      ? key.digit(group[0])
                      : key.merged->get(queue, constants, key, group[0], group[1], level));
  }
  return out;
}

// The properties by which kinds of key switches differ: primes, conversions and constants.
struct Plan {
  int level = 0;
  Basis basis = {}, extended = {};  // primes of what is switched; primes of the sums
  // Conversions of ModUp; none if the caller has raised.
  std::vector<const BaseConversion*> digits = {};
  std::vector<std::uint32_t> add_factor = {};     // factor of what is added to the sums
  const Constants::Division* division = nullptr;  // none: the sums are not divided
  // If there is one digit, the limbs that stay may be left to the last pass. They are the digit's
  // own limbs, and what is added is neither rescaled nor on P.
  bool multiply_last = false;
};

struct Target {
  const SwitchKey* key = nullptr;
  std::array<PolyView, 2> one_digit = {};  // used instead of `key`: the pair of a key of one digit
  std::array<PolyView, 2> add = {}, after = {};
  std::uint32_t galois = 1;
  Basis half = {};  // primes on which the sum is left in Half, for a division
};

struct Input {
  PolyView a;
  std::vector<Target> targets = {};
  KeyInner::Product product = {};
  PolyView raised = {};  // set if the caller has raised the one digit
};

// A switch at a level, for inputs that the caller has raised.
Plan raised_at(const Constants& constants, int level) {
  const Params& params = constants.params();
  return {.level = level,
          .basis = params.basis(level),
          .extended = params.extended(level),
          .add_factor = constants.p_mod(level)};
}

// The same, with the raised digits.
Plan plan_of(const Constants& constants, int level) {
  Plan plan = raised_at(constants, level);
  const Params& params = constants.params();
  const int groups = static_cast<int>(params.digit_groups(level).size());
  for (int group = 0; group < groups; ++group) {
    plan.digits.push_back(&constants.mod_up(group, level));
  }
  return plan;
}

ExtendedPair allocate_pair(Queue& queue, const Ring& ring, const Plan& plan) {
  ExtendedPair out;
  out.level = plan.level;
  for (int h = 0; h < 2; ++h) {
    out.part[h] = queue.allocate(ring, plan.extended, Domain::Eval);
    out.eval[h] = out.part[h].view;
  }
  return out;
}

// Passes 1 and 2.
std::vector<ModUpResult> raise(Queue& queue, const Ring& ring, const Plan& plan,
                               std::span<const Input> inputs) {
  Transform to_half;
  Convert convert;
  std::vector<Poly> halves;
  std::vector<ModUpResult> out;
  for (const Input& input : inputs) {
    ModUpResult& raised = out.emplace_back();
    raised.level = plan.level;
    raised.source = input.a.select(plan.basis);
    if (plan.digits.empty()) {
      raised.own = {plan.basis};
      raised.converted = {{nullptr, input.raised}};
      continue;
    }
    halves.push_back(queue.allocate(ring, plan.basis, Domain::Half));
    const PolyView& half = halves.back().view;
    to_half.items.push_back({.in = raised.source, .out = half, .times = input.product.b[1]});
    for (const BaseConversion* digit : plan.digits) {
      raised.own.push_back(digit->from());
      raised.converted.push_back(queue.allocate(ring, digit->to(), Domain::Half));
      convert.items.push_back(
          {.table = digit, .in = half.select(digit->from()), .out = raised.converted.back().view});
    }
  }
  if (plan.digits.empty()) return out;
  queue.submit(std::move(to_half));
  queue.submit(std::move(convert));
  return out;
}

bool is_empty(const std::array<PolyView, 2>& x) { return x[0].segments + x[1].segments == 0; }

// Pass 3 computes the limbs of the pair on P, and pass 5 computes all others.
ExtendedPair own_limbs(Queue& queue, const Ring& ring, const ModUpResult& raised,
                       const Target& target, const std::array<PolyView, 2>& key) {
  ExtendedPair pair;
  pair.level = raised.level;
  for (int h = 0; h < 2; ++h) {
    pair.part[h] = queue.allocate(ring, target.half, Domain::Half);
    pair.half[h] = pair.part[h].view;
    pair.eval[h] = raised.source;
    pair.times[h] = key[h].select(raised.source.basis());
    pair.add[h] = target.add[h];
  }
  return pair;
}

// Pass 3.
std::vector<std::vector<ExtendedPair>> multiply(Queue& queue, const Constants& constants,
                                                const Plan& plan,
                                                std::span<const ModUpResult> raised,
                                                std::span<const Input> inputs) {
  KeyInner op;
  bool adds = false;
  std::vector<std::vector<ExtendedPair>> out;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Input& input = inputs[i];
    const bool last =
        plan.multiply_last && raised[i].converted.size() == 1 && input.product.empty() &&
        std::all_of(input.targets.begin(), input.targets.end(),
                    [](const Target& t) { return t.half.size() > 0 && is_empty(t.after); });
    KeyInner::Group& group = op.groups.emplace_back();
    if (last) {
      group.digits = {{.converted = raised[i].converted[0].view}};
    } else {
      group.digits = raised[i].digits();
    }
    group.product = input.product;
    adds = adds || !input.product.empty();
    std::vector<ExtendedPair>& results = out.emplace_back();
    for (const Target& target : input.targets) {
      const std::vector<std::array<PolyView, 2>> keys =
          target.key == nullptr ? std::vector{target.one_digit}
                                : key_views(queue, constants, *target.key, plan.level);
      if (last) {
        results.push_back(own_limbs(queue, constants.ring(), raised[i], target, keys[0]));
        group.targets.push_back({.key = keys, .half = results.back().half});
        continue;
      }
      ExtendedPair pair = allocate_pair(queue, constants.ring(), plan);
      const bool divided = target.half.size() > 0;
      for (int h = 0; divided && h < 2; ++h) {
        const PolyView whole = pair.part[h].view;
        pair.eval[h] = whole.select(whole.basis().without(target.half));
        pair.half[h] = whole.select(target.half).in(Domain::Half);
      }
      adds = adds || !is_empty(target.add);
      group.targets.push_back({.key = keys,
                               .eval = pair.eval,
                               .half = pair.half,
                               .add = target.add,
                               .galois = divided ? 1 : target.galois});
      results.push_back(std::move(pair));
    }
  }
  if (adds) op.add_factor = plan.add_factor;
  queue.submit(std::move(op));
  return out;
}

// Passes 4 and 5, division of whole polynomials: the removed limbs go to Half (unless they are
// there already), are converted to the target and subtracted.
std::vector<Poly> divide(Queue& queue, const Ring& ring, const Constants::Division& division,
                         std::span<const DownItem> items) {
  Transform to_half;
  Convert convert;
  ModDownFinish subtract{.items = {}, .factor = division.factor};
  std::vector<Poly> scratch, out;
  for (const DownItem& item : items) {
    PolyView removed = item.removed;
    if (removed.domain != Domain::Half) {
      scratch.push_back(queue.allocate(ring, division.removed, Domain::Half));
      to_half.items.push_back({.in = removed, .out = scratch.back().view});
      removed = scratch.back().view;
    }
    const Poly converted = queue.allocate(ring, division.target, Domain::Half);
    scratch.push_back(converted);
    convert.items.push_back({.table = division.conversion, .in = removed, .out = converted.view});
    out.push_back(queue.allocate(ring, division.target, Domain::Eval));
    const Basis kept = division.target.intersect(item.eval.basis());
    subtract.items.push_back({.x = kept.size() > 0 ? item.eval.select(kept) : PolyView{},
                              .y = converted.view,
                              .add = item.add,
                              .out = out.back().view,
                              .galois = item.galois,
                              .times = item.times});
  }
  if (!to_half.items.empty()) queue.submit(std::move(to_half));
  queue.submit(std::move(convert));
  queue.submit(std::move(subtract));
  return out;
}

// Part h of a pair that is about to be divided.
DownItem down(const ExtendedPair& x, int h, const Basis& removed, const PolyView& add,
              std::uint32_t galois) {
  const bool ready = x.half[h].segments > 0 && x.half[h].basis() == removed;
  if (!ready && x.half[h].segments > 0) {
    throw ShapeError("rlwe.mod_down", "Half limbs " + x.half[h].basis().str(), removed.str(),
                     "call key_inner with the same drop_level");
  }
  if (x.times[h].segments == 0) {
    return {.eval = x.eval[h],
            .removed = ready ? x.half[h] : x.eval[h].select(removed),
            .add = add,
            .galois = galois};
  }
  if (!ready || add.segments > 0) {
    throw ShapeError("rlwe.mod_down", "a pair of one digit with another addend or drop_level",
                     "those that key_inner was called with",
                     "call key_inner with the same drop_level and add");
  }
  return {.eval = x.eval[h],
          .removed = x.half[h],
          .add = x.add[h],
          .galois = galois,
          .times = x.times[h]};
}

struct Switched {
  std::vector<std::vector<ExtendedPair>> sums;  // [input][target]
  std::vector<std::array<Poly, 2>> quotients;   // the targets of all inputs, if the plan divides
};

// Runs the passes of a batch in their order. Every key switch of the library runs here.
Switched run(Queue& queue, const Constants& constants, const Plan& plan,
             std::span<const Input> inputs) {
  const std::vector<ModUpResult> raised = raise(queue, constants.ring(), plan, inputs);
  Switched out{.sums = multiply(queue, constants, plan, raised, inputs), .quotients = {}};
  if (plan.division == nullptr) return out;
  std::vector<DownItem> items;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    for (std::size_t t = 0; t < inputs[i].targets.size(); ++t) {
      const Target& target = inputs[i].targets[t];
      for (int h = 0; h < 2; ++h) {
        items.push_back(
            down(out.sums[i][t], h, plan.division->removed, target.after[h], target.galois));
      }
    }
  }
  std::vector<Poly> parts = divide(queue, constants.ring(), *plan.division, items);
  for (std::size_t k = 0; k + 1 < parts.size(); k += 2) {
    out.quotients.push_back({std::move(parts[k]), std::move(parts[k + 1])});
  }
  return out;
}

// The inputs, with the primes of the next division in `half`.
std::vector<Input> inputs_of(std::span<const SwitchInput> inputs, const Basis& half) {
  std::vector<Input> out;
  for (const SwitchInput& input : inputs) {
    Input& in = out.emplace_back(Input{.a = input.a, .product = input.product});
    for (const SwitchTarget& t : input.targets) {
      in.targets.push_back(
          {.key = t.key, .add = t.add, .after = t.after, .galois = t.galois, .half = half});
    }
  }
  return out;
}

}  // namespace

std::vector<KeyInner::Digit> ModUpResult::digits() const {
  std::vector<KeyInner::Digit> out;
  for (std::size_t j = 0; j < converted.size(); ++j) {
    out.push_back({.own = source.select(own[j]), .converted = converted[j].view});
  }
  return out;
}

std::vector<std::array<Poly, 2>> key_switch(Queue& queue, const Constants& constants,
                                            std::span<const SwitchInput> inputs, int level,
                                            bool drop_level) {
  Plan plan = plan_of(constants, level);
  plan.division =
      drop_level ? &constants.divide_by_p_and_rescale(level) : &constants.divide_by_p(level);
  plan.multiply_last = !drop_level;
  return run(queue, constants, plan, inputs_of(inputs, plan.division->removed)).quotients;
}

std::vector<std::vector<ExtendedPair>> key_switch_extended(Queue& queue, const Constants& constants,
                                                           std::span<const SwitchInput> inputs,
                                                           int level, Addend addend) {
  Plan plan = plan_of(constants, level);
  if (addend == Addend::Extended) plan.add_factor.assign(constants.ring().prime_count(), 1);
  return run(queue, constants, plan, inputs_of(inputs, {})).sums;
}

std::vector<ModUpResult> mod_up(Queue& queue, const Constants& constants,
                                std::span<const PolyView> a, int level) {
  std::vector<Input> inputs;
  for (const PolyView& view : a) inputs.push_back({.a = view});
  return raise(queue, constants.ring(), plan_of(constants, level), inputs);
}

ModUpResult mod_up(Queue& queue, const Constants& constants, const PolyView& a, int level) {
  return std::move(mod_up(queue, constants, std::span(&a, 1), level).front());
}

ExtendedPair allocate_extended(Queue& queue, const Constants& constants, int level) {
  return allocate_pair(queue, constants.ring(),
                       {.level = level, .extended = constants.params().extended(level)});
}

std::vector<ExtendedPair> key_inner(Queue& queue, const Constants& constants,
                                    const ModUpResult& raised,
                                    const std::vector<InnerTarget>& targets) {
  Plan plan = raised_at(constants, raised.level);
  plan.multiply_last = std::all_of(targets.begin(), targets.end(), [](const InnerTarget& t) {
    return t.for_mod_down && !t.drop_level;
  });
  Input input{.a = raised.source};
  for (const InnerTarget& t : targets) {
    const Basis half = t.for_mod_down ? removed_by(constants, raised.level, t.drop_level) : Basis{};
    input.targets.push_back({.key = t.key, .add = t.add, .galois = t.galois, .half = half});
  }
  return std::move(
      multiply(queue, constants, plan, std::span(&raised, 1), std::span(&input, 1)).front());
}

DownItem down_item(const Constants& constants, const ExtendedPair& x, int h, bool drop_level,
                   const PolyView& add, std::uint32_t galois) {
  return down(x, h, removed_by(constants, x.level, drop_level), add, galois);
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
  items.reserve(in.size());
  for (const PolyView& view : in)
    items.push_back({.eval = view, .removed = view.select(division.removed)});
  return divide(queue, constants.ring(), division, items);
}

std::vector<Poly> change_modulus(Queue& queue, const Constants& constants,
                                 std::span<const PolyView> in, const Basis& target) {
  std::vector<Poly> out;
  if (in.empty()) return out;
  const Constants::Division& division = constants.division(in[0].basis(), target);
  std::vector<DownItem> items;
  for (const PolyView& view : in)
    items.push_back({.eval = view, .removed = view.select(division.removed)});
  return divide(queue, constants.ring(), division, items);
}

std::vector<std::array<Poly, 2>> switch_one_digit(Queue& queue, const Constants& constants,
                                                  std::span<const std::array<PolyView, 2>> x,
                                                  const std::array<PolyView, 2>& key,
                                                  const Basis& aux) {
  if (x.empty()) return {};
  const Basis base = x[0][0].basis(), extended = base.with(aux);
  const Plan plan{.basis = base,
                  .extended = extended,
                  .digits = {&constants.conversion(base, aux)},
                  .add_factor = constants.product_on(aux, base),
                  .division = &constants.division(extended, base)};
  std::vector<Input> inputs;
  for (const auto& [b, a] : x) {
    inputs.push_back({.a = a, .targets = {{.one_digit = key, .add = {b, {}}, .half = aux}}});
  }
  return run(queue, constants, plan, inputs).quotients;
}

std::vector<std::array<Poly, 2>> switch_to_sparse(Queue& queue, const Constants& constants,
                                                  std::span<const std::array<PolyView, 2>> x,
                                                  const SwitchKey& key) {
  const Params& params = constants.params();
  return switch_one_digit(queue, constants, x, key.digit(0),
                          params.encapsulation_basis().without(params.basis(0)));
}

std::vector<std::array<Poly, 2>> switch_from_sparse(Queue& queue, const Constants& constants,
                                                    std::span<const RaisedPair> x,
                                                    const SwitchKey& key, int level) {
  Plan plan = raised_at(constants, level);
  plan.division = &constants.divide_by_p(level);
  std::vector<Input> inputs;
  for (const RaisedPair& pair : x) {
    inputs.push_back({.a = pair.a,
                      .targets = {{.one_digit = key.digit(0),
                                   .add = {pair.b, {}},
                                   .half = plan.division->removed}},
                      .raised = pair.a_aux});
  }
  return run(queue, constants, plan, inputs).quotients;
}

std::vector<ExtendedPair> switch_over_raised(Queue& queue, const Constants& constants,
                                             std::span<const ExtendedPair> x,
                                             std::span<const SwitchKey* const> keys, int level) {
  const Params& params = constants.params();
  const Basis carried = params.basis(level).with(params.over_raise_basis());
  Plan plan = raised_at(constants, level);
  plan.add_factor = constants.over_raise_p_mod();
  std::vector<Input> inputs;
  for (std::size_t k = 0; k < x.size(); ++k) {
    const PolyView &b = x[k].eval[0], &a = x[k].eval[1];
    inputs.push_back({.a = a,
                      .targets = {{.one_digit = keys[k]->digit(0), .add = {b.select(carried), {}}}},
                      .raised = a.select(params.aux_basis())});
  }
  std::vector<ExtendedPair> out;
  for (auto& sums : run(queue, constants, plan, inputs).sums) out.push_back(std::move(sums[0]));
  return out;
}

}  // namespace latticino::rlwe
