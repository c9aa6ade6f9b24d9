// Cases at the shapes of key switching and rescaling, level by level.
#include <algorithm>

#include "conformance/exact.h"
#include "conformance/side.h"

namespace latticino::conformance {
namespace {

using exact::Verdict;
using Operations = std::vector<Operation>;

// Limbs of key switching lack the factor 1 / prod(unused), except those that are `complete`.
struct Lacking {
  Basis unused, complete;
  Lacking() = default;
  Lacking(const Params& params, int level)
      : unused(params.key_layout(level).aux.without(params.aux_basis(level))),
        complete(params.key_layout(level).aux) {}
};

std::vector<std::uint32_t> entries(const Ring& ring, const Observed::Array& a, const Basis& basis,
                                   std::size_t i, const Lacking& lacking) {
  std::vector<std::uint32_t> out;
  for (int k = 0; k < basis.size(); ++k) {
    const int p = basis.prime(k);
    const std::uint32_t q = ring.prime(p);
    std::uint32_t x = a.limb(p)[i];
    for (int j = 0; !lacking.complete.contains(p) && j < lacking.unused.size(); ++j) {
      x = exact::mul(x, exact::inverse(ring.prime(lacking.unused.prime(j)) % q, q), q);
    }
    out.push_back(x);
  }
  return out;
}

// Coefficient i of a conversion against the integer sum_j y_j D/q_j.
void expect_converted(Verdict& verdict, const Ring& ring, const Basis& from, const Lacking& lacking,
                      const Observed::Array& in, const Observed::Array& out, std::size_t i) {
  const std::vector<std::uint32_t> d = exact::primes(ring, from);
  const std::vector<std::uint32_t> a = entries(ring, in, from, i, lacking);
  const BigUint shifted = exact::converted(a, {}, d), modulus = product(d);
  for (std::size_t j = 0; j < d.size(); ++j) {
    verdict.expect("the integer modulo a source", from.prime(j), i, shifted.mod(d[j]), a[j]);
  }
  for (int k = 0; k < out.basis.size(); ++k) {
    const int p = out.basis.prime(k);
    const std::uint32_t q = ring.prime(p);
    const std::uint32_t shift = exact::mul(modulus.mod(q), d.size(), q);
    verdict.expect("target", p, i, out.limb(p)[i],
                   exact::add(shifted.mod(q), exact::negate(shift, q), q));
  }
}

// All digits of a ModUp in one record. With Half inputs the integers must be the same as with Coeff
// inputs.
Case mod_up(const Params& params, int level, Domain domain) {
  const Basis basis = params.basis(level);
  const int groups = static_cast<int>(params.digit_groups(level).size());
  Case c{"Convert", std::string("ModUp, ") + name(domain), {}, {}};
  c.build = [=](Side& side) -> Operations {
    const PolyView coeff = side.input(basis, Domain::Coeff);
    PolyView in = coeff;
    Operations ops;
    if (domain == Domain::Half) {
      in = side.output(basis, Domain::Half);
      ops.push_back(Transform{{{coeff, in}}});
    }
    Convert convert;
    Transform back;
    for (int group = 0; group < groups; ++group) {
      const BaseConversion& table = side.constants().mod_up(group, level);
      const PolyView out = side.output(table.to(), domain);
      convert.items.push_back({&table, in.select(table.from()), out});
      back.items.push_back({out, side.output(table.to(), Domain::Coeff)});
    }
    ops.push_back(convert);
    ops.push_back(back);
    return ops;
  };
  c.exact = [=, all = params.extended(level),
             lacking = Lacking(params, level)](const Observed& seen) {
    Verdict verdict;
    for (const Observed::Array& out : seen.outputs) {
      if (out.domain != Domain::Coeff) continue;
      for (const std::size_t i : exact::samples(seen.n)) {
        expect_converted(verdict, *seen.ring, all.without(out.basis), lacking, seen.inputs[0], out,
                         i);
      }
    }
    return verdict.text();
  };
  return c;
}

struct KeyShape {
  std::string name;
  std::vector<std::uint32_t> galois;  // one element for each target, modulo 2N
  Basis half;                         // primes whose sums leave in Half
  bool add = false;
  Domain converted = Domain::Half;
  int groups = 1;
  // Keys that are as wide as the ring, as keys are made for the highest level of use.
  bool wide_keys = false;
  // Whether digits and addends belong to a product; every second group has a square.
  bool product = false;
  bool one_key = false;  // all targets have the same key
};

// `own`: the primes of each digit. The targets use the keys in turn, or all use one key.
Case key_inner(const Basis& all, const std::vector<Basis>& own, const Basis& added,
               const KeyShape& shape) {
  Case c{"KeyInner", shape.name, {}, {}};
  c.build = [=](Side& side) -> Operations {
    const Ring& ring = side.ring();
    const Basis whole{{0, static_cast<std::uint16_t>(ring.prime_count())}};
    const Basis wide = shape.wide_keys ? whole : all;
    std::vector<std::array<PolyView, 2>> keys;
    for (std::size_t j = 0; j < own.size(); ++j) {
      keys.push_back({side.input(wide, Domain::Eval), side.input(wide, Domain::Eval)});
    }
    KeyInner op;
    Transform to_eval;
    for (int g = 0; g < shape.groups; ++g) {
      KeyInner::Group group;
      if (shape.product) {
        const auto pair = [&]() -> std::array<PolyView, 2> {
          return {side.input(added, Domain::Eval), side.input(added, Domain::Eval)};
        };
        group.product.a = pair();
        group.product.b = g % 2 == 1 ? group.product.a : pair();
      }
      for (const Basis& digit : own) {
        const Basis other = all.without(digit);
        KeyInner::Digit d{
            shape.product ? group.product.a[1].select(digit) : side.input(digit, Domain::Eval), {}};
        if (other.size() > 0) {
          d.converted = side.input(other, shape.converted);
          to_eval.items.push_back({d.converted, side.output(other, Domain::Eval)});
        }
        group.digits.push_back(d);
      }
      for (const std::uint32_t galois : shape.galois) {
        KeyInner::Target target;
        target.key = keys;
        target.galois = galois % (2 * ring.n());
        for (int h = 0; h < 2; ++h) {
          target.eval[h] = side.output(all.without(shape.half), Domain::Eval);
          if (shape.half.size() > 0) {
            target.half[h] = side.output(shape.half, Domain::Half);
            to_eval.items.push_back({target.half[h], side.output(shape.half, Domain::Eval)});
          }
          if (shape.add && h == 0) target.add[h] = side.input(added, Domain::Eval);
        }
        group.targets.push_back(target);
        if (!shape.one_key) std::rotate(keys.begin(), keys.begin() + 1, keys.end());
      }
      op.groups.push_back(group);
    }
    for (int p = 0; p < ring.prime_count() && (shape.add || shape.product); ++p) {
      op.add_factor.push_back(static_cast<std::uint32_t>(mix(p) % ring.prime(p)));
    }
    return {op, to_eval};
  };
  return c;
}

// The sums of one target and one group, computed directly from the record's formula.
Case key_inner_exact(const Basis& all, const std::vector<Basis>& own, const Basis& added,
                     KeyShape shape) {
  shape.groups = 1;
  Case c = key_inner(all, own, added, shape);
  c.exact = [=](const Observed& seen) {
    Verdict verdict;
    const Ring& ring = *seen.ring;
    const std::size_t n = ring.n(), beta = own.size();
    // Order of inputs: 2 beta keys; a0, a1, b0, b1 of a product; then each digit's own (unless it
    // belongs to a product) and converted limbs; then `add`.
    std::vector<const Observed::Array*> own_limbs, other_limbs;
    const std::size_t factors = 2 * beta;
    std::size_t next = factors + (shape.product ? 4 : 0), eval_copy = 0;
    const auto factor = [&](int i, int p) { return seen.inputs[factors + i].limb(p); };
    for (std::size_t j = 0; j < beta; ++j) {
      own_limbs.push_back(&seen.inputs[shape.product ? factors + 1 : next++]);
      const bool has_other = all.without(own[j]).size() > 0;
      other_limbs.push_back(has_other ? &seen.outputs[eval_copy++] : nullptr);
      next += has_other;
    }
    const std::uint32_t g = shape.galois[0] % (2 * n);
    for (int h = 0; h < 2; ++h) {
      // Order of a target's outputs: Eval, then Half and its copy in Eval.
      const std::size_t at = eval_copy + h * (shape.half.size() > 0 ? 3 : 1);
      for (int k = 0; k < all.size(); ++k) {
        const int p = all.prime(k);
        const std::uint32_t q = ring.prime(p);
        const bool half = shape.half.contains(p);
        const std::uint32_t* out = seen.outputs[at + (half ? 2 : 0)].limb(p);
        for (const std::size_t i : exact::samples(n)) {
          const std::uint32_t from = exact::source_index(i, g, ring.log_n());
          std::uint32_t sum = 0;
          for (std::size_t j = 0; j < beta; ++j) {
            const Observed::Array& digit = own[j].contains(p) ? *own_limbs[j] : *other_limbs[j];
            std::uint32_t x = digit.limb(p)[from];
            if (shape.product && own[j].contains(p)) x = exact::mul(x, factor(3, p)[from], q);
            sum = exact::add(sum, exact::mul(x, seen.inputs[2 * j + h].limb(p)[from], q), q);
          }
          if (shape.product && added.contains(p)) {
            const auto product = [&](int i, int j) {
              return exact::mul(factor(i, p)[from], factor(2 + j, p)[from], q);
            };
            const std::uint32_t d =
                h == 0 ? product(0, 0) : exact::add(product(0, 1), product(1, 0), q);
            sum = exact::add(sum, exact::mul(d, mix(p) % q, q), q);
          }
          if (shape.add && h == 0 && added.contains(p)) {
            sum = exact::add(sum, exact::mul(seen.inputs[next].limb(p)[from], mix(p) % q, q), q);
          }
          verdict.expect("sum", p, i, out[i], sum);
        }
      }
    }
    return verdict.text();
  };
  return c;
}

using Pick = std::function<const rlwe::Constants::Division&(const rlwe::Constants&)>;

// Coefficient i of a division by D = prod(removed) with the factor U = prod(entering):
// (x U - y) / D for y = x U converted centred, an exact integer.
void expect_divided(Verdict& verdict, const Ring& ring, const Basis& removed, const Basis& entering,
                    const Lacking& lacking, const Observed::Array& x, const Observed::Array& out,
                    std::size_t i) {
  const std::vector<std::uint32_t> d = exact::primes(ring, removed);
  const std::vector<std::uint32_t> u = exact::primes(ring, entering);
  const BigUint y = exact::converted(entries(ring, x, removed, i, lacking), u, d);  // + |D| D
  BigUint t =
      exact::reconstruct(entries(ring, x, x.basis, i, lacking), exact::primes(ring, x.basis)) *
      product(u);
  BigUint shift = product(d);
  shift *= static_cast<std::uint32_t>(2 * d.size());
  t += shift;
  t -= y;  // x U - y + |D| D >= 0
  for (const std::uint32_t q : d) {
    verdict.expect("a remainder after division", t.mod(q) == 0);
    t = t.divided_by(q);
  }
  for (int k = 0; k < out.basis.size(); ++k) {
    const int p = out.basis.prime(k);
    const std::uint32_t q = ring.prime(p);
    verdict.expect("quotient", p, i, out.limb(p)[i],
                   exact::add(t.mod(q), exact::negate(d.size(), q), q));
  }
}

Case division(const std::string& name, const Basis& source, const Basis& entering, const Pick& pick,
              const Lacking& lacking = Lacking()) {
  Case c{"ModDownFinish", name, {}, {}};
  c.build = [=](Side& side) -> Operations {
    const rlwe::Constants::Division& division = pick(side.constants());
    const PolyView coeff = side.input(source, Domain::Coeff);
    const PolyView x = side.output(source, Domain::Eval);
    const PolyView removed = side.output(division.removed, Domain::Half);
    const PolyView y = side.output(division.target, Domain::Half);
    const PolyView out = side.output(division.target, Domain::Eval);
    return {Transform{{{coeff, x}}}, Transform{{{x.select(division.removed), removed}}},
            Convert{{{division.conversion, removed, y}}},
            ModDownFinish{{{x.select(source.intersect(division.target)), y, {}, out, 1}},
                          division.factor},
            Transform{{{out, side.output(division.target, Domain::Coeff)}}}};
  };
  c.exact = [=](const Observed& seen) {
    Verdict verdict;
    const Basis removed = seen.outputs[1].basis;
    for (const std::size_t i : exact::samples(seen.n)) {
      expect_divided(verdict, *seen.ring, removed, entering, lacking, seen.inputs[0],
                     seen.outputs[4], i);
    }
    return verdict.text();
  };
  return c;
}

// The forms of the last step: y in either domain, with an addend, permuted, in place, no x at all,
// x times a key.
Case subtract_forms(const Basis& source, const Pick& pick) {
  Case c{"ModDownFinish", "addend, automorphism, in place", {}, {}};
  c.build = [=](Side& side) -> Operations {
    const rlwe::Constants::Division& division = pick(side.constants());
    const Basis target = division.target, kept = source.intersect(target);
    const auto half = [&] { return side.input(target, Domain::Half); };
    const auto eval = [&](const Basis& basis) { return side.input(basis, Domain::Eval); };
    const auto out = [&] { return side.output(target, Domain::Eval); };
    const PolyView over_x = side.in_out(target, Domain::Eval);
    const PolyView over_add = side.in_out(target, Domain::Eval);
    const auto last = 2u * side.ring().n() - 1;
    ModDownFinish op{{}, division.factor};
    op.items = {{eval(kept), half(), eval(target), out(), 1},
                {eval(kept), half(), eval(kept), out(), 5},
                {eval(kept), eval(target), {}, out(), last},
                {over_x.select(kept), half(), {}, over_x, 1},
                {eval(kept), half(), over_add, over_add, 1},
                {{}, half(), eval(target), out(), 25},
                {{}, eval(target), {}, out(), 1}};
    if (kept.size() == 0) return {op};
    const PolyView over = side.in_out(target, Domain::Eval);
    op.items.insert(op.items.end(), {{eval(kept), half(), {}, out(), 5, eval(source)},
                                     {eval(kept), half(), eval(kept), out(), last, eval(kept)},
                                     {eval(kept), eval(target), eval(target), out(), 1, eval(kept)},
                                     {over.select(kept), half(), {}, over, 1, eval(source)}});
    return {op};
  };
  return c;
}

// Items of one basis in many forms, which share what they read.
Case subtract_batch(const Basis& source, const Pick& pick) {
  Case c{"ModDownFinish", "nine items of one launch", {}, {}};
  c.build = [=](Side& side) -> Operations {
    const rlwe::Constants::Division& division = pick(side.constants());
    const Basis target = division.target, kept = source.intersect(target);
    const auto eval = [&](const Basis& basis) { return side.input(basis, Domain::Eval); };
    const PolyView none, x[2] = {eval(kept), eval(kept)}, add[3] = {eval(target), none, x[1]};
    const PolyView key[3] = {eval(source), eval(kept), eval(source)};
    ModDownFinish op{{}, division.factor};
    for (int i = 0; i < 9; ++i) {
      const bool lacks_x = i % 7 == 6, lacks_key = lacks_x || i % 5 == 4, stays = i % 4 == 0;
      op.items.push_back({lacks_x ? none : x[i % 2], side.input(target, Domain::Half), add[i % 3],
                          side.output(target, Domain::Eval), stays ? 1u : 4u * i + 1,
                          lacks_key ? none : key[i % 3]});
    }
    return {op};
  };
  return c;
}

}  // namespace

std::vector<Case> level_cases(const Params& params, int level) {
  const Basis basis = params.basis(level), aux = params.aux_basis(level);
  const Basis all = params.extended(level);
  std::vector<Basis> own;
  for (const std::vector<int>& group : params.digit_groups(level)) {
    own.push_back(params.group_basis(level, group));
  }
  const Pick by_p = [level](const auto& c) -> auto& { return c.divide_by_p(level); };
  std::vector<Case> cases = {
      mod_up(params, level, Domain::Half),
      mod_up(params, level, Domain::Coeff),
      key_inner_exact(all, own, basis, {"one target, Eval, automorphism", {5}, {}, true}),
      key_inner_exact(
          all, own, basis,
          {"one target, Half outputs, wide keys", {1}, aux, true, Domain::Half, 1, true}),
      key_inner(all, own, basis, {"three targets", {1, 25, ~0u}, {}, true}),
      key_inner(all, own, basis,
                {"two groups of two, Eval digits", {1, 1}, aux, true, Domain::Eval, 2}),
      key_inner(all, own, basis,
                {"nine groups by one key", {1}, aux, true, Domain::Half, 9, false, false, true}),
      key_inner(all, own, basis,
                {"the same, permuted", {5}, {}, true, Domain::Half, 9, false, false, true}),
      key_inner_exact(all, own, basis,
                      {"product, Half outputs", {1}, aux, false, Domain::Half, 1, false, true}),
      key_inner(all, own, basis,
                {"products and squares", {25}, {}, false, Domain::Half, 3, true, true}),
      division("division by P", all, {}, by_p, Lacking(params, level)),
      subtract_forms(all, by_p),
      subtract_batch(all, by_p)};
  if (level == 0) return cases;
  const Pick rescale = [level](const auto& c) -> auto& { return c.rescale(level); };
  const Pick merged = [level](const auto& c) -> auto& { return c.divide_by_p_and_rescale(level); };
  const Basis leaving = params.leaving(level), entering = params.entering(level);
  cases.push_back(division("rescale", basis, entering, rescale));
  cases.push_back(
      division("division by P with rescale", all, entering, merged, Lacking(params, level)));
  cases.push_back(subtract_forms(basis, rescale));
  cases.push_back(key_inner_exact(
      all, own, basis, {"Half outputs for division with rescale", {1}, leaving.with(aux)}));
  return cases;
}

std::vector<Case> set_cases(const Params& params) {
  if (!params.bootstrap()) return {};
  const Basis base = params.basis(0), all = params.encapsulation_basis();
  const Basis whole = params.extended(params.top_level()), q = params.basis(params.top_level());
  const Pick pick = [ all, base ](const auto& c) -> auto& { return c.division(all, base); };
  const Basis small = all.without(base);
  const Pick other = [ small, base ](const auto& c) -> auto& { return c.division(small, base); };
  return {
      division("another modulus", small, base, other),
      key_inner_exact(all, {base}, base,
                      {"encapsulation, one digit", {1}, all.without(base), true}),
      division("division of the encapsulation", all, {}, pick),
      key_inner_exact(whole, {q}, q,
                      {"one digit of every prime", {1}, params.aux_basis(), true, Domain::Eval}),
      key_inner_exact(
          whole, {q}, q,
          {"product, one digit of every prime", {5}, {}, false, Domain::Eval, 1, false, true}),
      key_inner_exact(whole, {whole}, q, {"a digit without conversion", {5}, {}, true})};
}

}  // namespace latticino::conformance
