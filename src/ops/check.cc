#include <algorithm>
#include <bit>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "crypto/gaussian.h"
#include "math/errors.h"
#include "ops/check_lwe.h"
#include "ops/operations.h"

namespace latticino {
namespace {

constexpr Domain kCoeff = Domain::Coeff, kHalf = Domain::Half, kEval = Domain::Eval;

void check_record(Checker& c, const Transform& op) {
  for (std::size_t i = 0; i < op.items.size(); ++i) {
    const auto& item = op.items[i];
    const bool product = item.times.segments > 0;
    c.same_basis(item.out, item.in.basis(), Label("out of item", i));
    if (!product) continue;
    const Label times("times of item", i);
    c.domain(item.times, times, {kEval});
    c.covers(item.times, item.in.basis(), times);
    c.domain(item.in, Label("in of item", i), {kEval});
    c.domain(item.out, Label("out of item", i), {kHalf});
  }
}

void check_record(Checker& c, const Convert& op) {
  for (std::size_t i = 0; i < op.items.size(); ++i) {
    const auto& item = op.items[i];
    const Label in("in of item", i), out("out of item", i);
    c.require(item.table != nullptr, Label("no table in item", i), "a BaseConversion");
    c.same_ring(&item.table->ring(), Label("table of item", i));
    c.domain(item.in, in, {kCoeff, kHalf});
    c.same_domain(item.in, item.out, Label("item", i));
    c.same_basis(item.in, item.table->from(), in);
    c.same_basis(item.out, item.table->to(), out);
  }
}

// The primes of a digit; own and converted must not share any.
Basis check_digit(Checker& c, const KeyInner::Digit& digit) {
  Basis basis;
  if (digit.own.segments > 0) {
    c.domain(digit.own, "own", {kEval});
    basis = digit.own.basis();
  }
  if (digit.converted.segments > 0) {
    c.domain(digit.converted, "converted", {kHalf, kEval});
    const Basis other = digit.converted.basis();
    const Basis both = basis.intersect(other);
    c.require(
        both.size() == 0, [&] { return "own and converted both with primes of " + both.str(); },
        "disjoint primes");
    basis = basis.with(other);
  }
  return basis;
}

void check_target(Checker& c, const KeyInner& op, const KeyInner::Target& target,
                  std::size_t digits, const Basis& basis) {
  c.require(target.key.size() == digits, Label("key digits:", target.key.size()),
            Label("key digits:", digits));
  c.galois(target.galois);
  for (const auto& pair : target.key) {
    for (const PolyView& key : pair) {
      c.domain(key, "key", {kEval});
      c.covers(key, basis, "key");
    }
  }
  for (int h = 0; h < 2; ++h) {
    const PolyView &eval = target.eval[h], &half = target.half[h], &add = target.add[h];
    Basis written;
    if (eval.segments > 0) {
      c.domain(eval, "eval", {kEval});
      written = eval.basis();
    }
    if (half.segments > 0) {
      c.domain(half, "half", {kHalf});
      c.require(target.galois == 1, "half with an automorphism", "galois 1 where half is used");
      c.require(written.intersect(half.basis()).size() == 0, "eval and half overlapping",
                "disjoint primes");
      written = written.with(half.basis());
    }
    c.require(
        written == basis, [&] { return "eval and half over " + written.str(); },
        [&] { return "together " + basis.str(); });
    if (add.segments > 0) {
      c.domain(add, "add", {kEval});
      c.within(add, basis, "add");
      c.require(!op.add_factor.empty(), "add without add_factor", "[P]_q for every prime");
    }
  }
}

// In a group with products, these take the place of the target's addends.
void check_product(Checker& c, const KeyInner& op, const KeyInner::Group& group) {
  Basis own;
  for (const KeyInner::Digit& digit : group.digits) {
    if (digit.own.segments > 0) own = own.with(digit.own.basis());
  }
  for (const auto* factor : {&group.product.a, &group.product.b}) {
    for (const PolyView& v : *factor) {
      c.domain(v, "product", {kEval});
      c.covers(v, own, "product");
    }
  }
  c.require(group.targets.size() == 1, Label("targets of a product:", group.targets.size()),
            "one target");
  const std::array<PolyView, 2>& add = group.targets[0].add;
  c.require(add[0].segments + add[1].segments == 0, "a product and an addend", "one of them");
  c.require(!op.add_factor.empty(), "a product without add_factor", "[P]_q for every prime");
}

void check_record(Checker& c, const KeyInner& op) {
  for (const KeyInner::Group& group : op.groups) {
    c.require(!group.digits.empty(), "a group without digits", "at least one digit");
    Basis basis;
    for (std::size_t j = 0; j < group.digits.size(); ++j) {
      const Basis digit = check_digit(c, group.digits[j]);
      if (j == 0) basis = digit;
      c.require(
          digit == basis && digit.size() > 0,
          [&] { return Label("digit", j) + " over " + digit.str(); },
          [&] { return "every digit over " + basis.str(); });
    }
    for (const KeyInner::Target& target : group.targets) {
      check_target(c, op, target, group.digits.size(), basis);
    }
    if (!group.product.empty()) check_product(c, op, group);
  }
  if (!op.add_factor.empty() && c.ring() != nullptr) {
    c.residues(op.add_factor, {{0, static_cast<std::uint16_t>(c.ring()->prime_count())}},
               "add_factor");
  }
}

void check_record(Checker& c, const ModDownFinish& op) {
  for (std::size_t i = 0; i < op.items.size(); ++i) {
    const auto& item = op.items[i];
    const Label out("out of item", i), x("x of item", i), y("y of item", i), add("add of item", i);
    c.domain(item.out, out, {kEval});
    const Basis basis = item.out.basis();
    c.galois(item.galois);
    c.domain(item.y, y, {kHalf, kEval});
    c.same_basis(item.y, basis, y);
    if (item.x.segments > 0) {
      c.domain(item.x, x, {kEval});
      c.within(item.x, basis, x);
    }
    if (item.times.segments > 0) {
      const Label times("times of item", i);
      c.require(item.x.segments > 0, "times without x", "x, or no times");
      c.domain(item.times, times, {kEval});
      c.covers(item.times, item.x.basis(), times);
    }
    if (item.add.segments > 0) {
      c.domain(item.add, add, {kEval});
      c.within(item.add, basis, add);
    }
    c.residues(op.factor, basis, "factor");
  }
}

void check_constants(Checker& c, const PolyView& out, const std::vector<std::uint32_t>& lower,
                     const std::vector<std::uint32_t>& upper, const Label& label) {
  if (!lower.empty()) c.residues(lower, out.basis(), label);
  if (upper.empty()) return;
  c.require(
      !lower.empty(), [&] { return label + " for the upper half only"; }, "both halves");
  c.require(
      out.domain == kEval, [&] { return "upper " + label.str() + " in " + name(out.domain); },
      "Eval");
  c.residues(upper, out.basis(), label);
}

// Residues in memory are read as they are: their size cannot be checked here.
void check_stored(Checker& c, const PolyView& out, const std::uint32_t* stored, bool others,
                  const Label& label) {
  if (stored == nullptr) return;
  c.require(
      !others, [&] { return label + " beside a vector of residues"; }, "one of the two");
  c.require(
      out.domain == kEval, [&] { return label + " in " + name(out.domain); }, "Eval");
}

void check_record(Checker& c, const Linear& op) {
  for (std::size_t i = 0; i < op.items.size(); ++i) {
    const auto& item = op.items[i];
    const Label label("x of item", i);
    for (const Linear::Term& term : item.terms) {
      c.same_domain(term.x, item.out, Label("item", i));
      c.covers(term.x, item.out.basis(), label);
      check_constants(c, item.out, term.residues, term.upper, "residues");
      check_stored(c, item.out, term.stored, !term.residues.empty(), "stored residues");
    }
    check_constants(c, item.out, item.constant, item.constant_upper, "constant");
    check_stored(c, item.out, item.constant_stored, !item.constant.empty(), "a stored constant");
    c.require(
        item.constant.empty() || item.out.domain == kEval,
        [&] { return std::string("a constant in ") + name(item.out.domain); }, "Eval");
  }
}

void check_eval_input(Checker& c, const PolyView& v, const Basis& basis, const Label& label) {
  c.domain(v, label, {kEval});
  c.covers(v, basis, label);
}

void check_eval_output(Checker& c, const PolyView& v, const PolyView& first, const Label& label) {
  c.domain(v, label, {kEval});
  c.same_basis(v, first.basis(), label);
}

void check_record(Checker& c, const Tensor& op) {
  for (const Tensor::Item& item : op.items) {
    for (const PolyView& out : item.out) check_eval_output(c, out, item.out[0], "out");
    c.require(!item.pairs.empty(), "an item without pairs", "at least one pair");
    for (const Tensor::Pair& pair : item.pairs) {
      for (const PolyView& a : pair.a) check_eval_input(c, a, item.out[0].basis(), "a");
      for (const PolyView& b : pair.b) check_eval_input(c, b, item.out[0].basis(), "b");
    }
    c.require(item.factor == 1 || item.factor == 2, Label("factor", item.factor), "1 or 2");
    for (const Tensor::Term& term : item.terms) {
      for (const PolyView& x : term.x) check_eval_input(c, x, item.out[0].basis(), "x");
      c.require(!term.residues.empty(), "a term without residues", "one for each prime");
      check_constants(c, item.out[0], term.residues, term.upper, "residues");
    }
    check_constants(c, item.out[0], item.constant, item.constant_upper, "constant");
  }
}

void check_record(Checker& c, const Dot& op) {
  c.require(op.parts >= 1 && op.parts <= 3, Label("parts:", op.parts), "1, 2 or 3 parts");
  for (std::size_t o = 0; o < op.outputs.size(); ++o) {
    const Dot::Output& output = op.outputs[o];
    for (int part = 0; part < op.parts; ++part) {
      check_eval_output(c, output.out[part], output.out[0], Label("out", o));
    }
    for (const Dot::Term& term : output.terms) {
      c.require(term.input >= 0 && term.input < static_cast<int>(op.inputs.size()),
                Label("input", term.input), "an index of inputs");
      c.domain(term.factor, Label("factor of out", o), {kEval});
      const Basis basis = term.factor.basis().intersect(output.out[0].basis());
      for (int part = 0; part < op.parts; ++part) {
        const PolyView& input = op.inputs[term.input][part];
        c.domain(input, Label("input", term.input), {kEval});
        c.covers(input, basis, Label("input", term.input));
      }
    }
  }
}

void check_record(Checker& c, const Automorphism& op) {
  for (const Automorphism::Item& item : op.items) {
    c.domain(item.out, "out", {kEval, kCoeff});
    c.require(!item.terms.empty(), "an item without terms", "at least one term");
    for (const Automorphism::Term& term : item.terms) {
      c.same_domain(term.x, item.out, "x and out");
      c.covers(term.x, item.out.basis(), "x");
      c.galois(term.galois);
    }
  }
}

void check_record(Checker& c, const ModRaise& op) {
  for (const ModRaise::Item& item : op.items) {
    c.domain(item.in, "in", {kCoeff});
    c.domain(item.out, "out", {kCoeff});
    c.require(
        item.in.limbs() <= 2, [&] { return "in over " + item.in.basis().str(); },
        "one or two primes");
  }
}

void check_record(Checker& c, const FromIntegers& op) {
  for (const FromIntegers::Item& item : op.items) {
    c.domain(item.out, "out", {kCoeff});
  }
}

// What Embed and Project share: `v` is the polynomial, `multiplier` the factor or divisor.
void check_slots(Checker& c, const SlotTransform* table, const PolyView& v, int slots,
                 double multiplier) {
  c.domain(v, "a polynomial of slots", {kCoeff});
  c.require(table != nullptr && table->log_n() == c.ring()->log_n(),
            "a missing slot transform, or one of another degree",
            "the transform of the ring's degree");
  c.require(
      slots > 0 && std::has_single_bit(static_cast<unsigned>(slots)) && slots <= table->max_slots(),
      [&] { return "slots: " + std::to_string(slots); }, "a power of two up to N/2");
  c.require(
      multiplier > 0 && std::isfinite(multiplier),
      [&] { return "the multiplier " + std::to_string(multiplier); }, "a positive finite number");
}

void check_record(Checker& c, const Embed& op) {
  for (const Embed::Item& item : op.items) {
    check_slots(c, item.table, item.out, item.slots, item.factor);
    c.require(
        item.bound >= 0, [&] { return "the bound " + std::to_string(item.bound); },
        "0 or a positive number");
  }
}

void check_record(Checker& c, const Project& op) {
  for (const Project::Item& item : op.items) {
    check_slots(c, item.table, item.in, item.slots, item.divisor);
  }
}

void check_record(Checker&, const ExpandUniform&) {}  // the checks of fields() are enough

void check_record(Checker& c, const SampleGaussian& op) {
  c.require(op.table != nullptr, "no table", "a GaussianTable");
  c.require(
      op.table->entries().size() <= kMaxSampleEntries,
      [&] { return "sigma " + std::to_string(op.table->sigma()); },
      "a sigma of at most 4: sample wider errors on the host");
  std::vector<std::pair<const std::uint8_t*, std::uint64_t>> errors;
  for (std::size_t i = 0; i < op.items.size(); ++i) {
    const SampleGaussian::Item& item = op.items[i];
    const Label out("out of item", i);
    c.domain(item.out, out, {kCoeff});
    if (item.seed != nullptr) errors.emplace_back(item.seed, item.index);
  }
  std::sort(errors.begin(), errors.end());
  c.require(std::adjacent_find(errors.begin(), errors.end()) == errors.end(),
            "one index twice under one seed", "an index of its own for each item");
}

void check_record(Checker& c, const Copy& op) {
  for (const Copy::Item& item : op.items) {
    if (item.x.segments == 0) continue;
    c.same_domain(item.x, item.out, "x and out");
    c.same_basis(item.x, item.out.basis(), "x");
  }
}

}  // namespace

std::vector<int> Dot::sole_readers() const {
  constexpr int kNone = -1, kMany = -2;
  std::vector<int> reader(inputs.size(), kNone);
  for (std::size_t o = 0; o < outputs.size(); ++o) {
    for (const Term& term : outputs[o].terms) {
      if (term.input < 0 || term.input >= static_cast<int>(inputs.size())) continue;
      int& r = reader[term.input];
      const bool whole = term.factor.ring == outputs[o].out[0].ring;
      r = whole && (r == kNone || r == static_cast<int>(o)) ? static_cast<int>(o) : kMany;
    }
  }
  return reader;
}

void check(const Operation& op) {
  Checker checker(name(op));
  std::visit(
      [&](const auto& record) {
        record.fields(checker);
        check_record(checker, record);
      },
      op);
  checker.finish();
}

}  // namespace latticino
