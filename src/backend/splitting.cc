#include "backend/splitting.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "ops/views.h"
#include "poly/ring.h"

namespace latticino {
namespace {

using Views = std::vector<const PolyView*>;

// Divides `whole` into parts of consecutive primes, as few as possible, such that each view has at
// most `most` segments on each of them.
std::vector<Basis> parts_of(const Basis& whole, const Views& views, int most) {
  std::vector<Basis> out;
  Basis part;
  for (int i = 0; i < whole.size(); ++i) {
    const auto prime = static_cast<std::uint16_t>(whole.prime(i));
    const Basis one{{prime, static_cast<std::uint16_t>(prime + 1)}};
    const Basis more = part.with(one);
    const auto fits = [&](const PolyView* v) { return limbs_on(*v, more).segments <= most; };
    if (part.size() > 0 && (more.runs() > most || !std::all_of(views.begin(), views.end(), fits))) {
      out.push_back(part);
      part = one;
    } else {
      part = more;
    }
  }
  if (part.size() > 0) out.push_back(part);
  return out;
}

using Words = std::vector<std::uint32_t>;

// A part, and the positions of its primes among those of the whole.
struct Place {
  Basis part;
  int first = 0;

  PolyView of(const PolyView& v) const { return limbs_on(v, part); }
  Words of(const Words& by_position) const {
    if (by_position.empty()) return {};
    return {by_position.begin() + first, by_position.begin() + first + part.size()};
  }
  const std::uint32_t* of(const std::uint32_t* stored) const {
    return stored == nullptr ? nullptr : stored + first;
  }
};

// Calls use(position) for the parts of a view that is written while other views are read.
template <class Use>
void each_place(const PolyView& out, Views views, int most, const Use& use) {
  views.push_back(&out);
  Place place;
  for (const Basis& part : parts_of(out.basis(), views, most)) {
    place.part = part;
    use(place);
    place.first += part.size();
  }
}

// Records whose items only write limbs of `out`, each from words of its own.
template <class Record>
Record with_parts_of_out(const Record& op, int most) {
  Record divided = op;
  divided.items.clear();
  for (const auto& item : op.items) {
    each_place(item.out, {}, most, [&](const Place& place) {
      divided.items.push_back(item);
      divided.items.back().out = place.of(item.out);
    });
  }
  return divided;
}

// The sources, in parts that fit into views.
std::vector<Basis> source_parts(const PolyView& in, int most) {
  return parts_of(in.basis(), {&in}, most);
}

Linear::Item part_of(const Linear::Item& item, const Place& place) {
  Linear::Item part;
  for (const Linear::Term& t : item.terms) {
    part.terms.push_back({.x = place.of(t.x),
                          .small = t.small,
                          .residues = place.of(t.residues),
                          .upper = place.of(t.upper),
                          .stored = place.of(t.stored)});
  }
  part.out = place.of(item.out);
  part.constant = place.of(item.constant);
  part.constant_upper = place.of(item.constant_upper);
  part.constant_stored = place.of(item.constant_stored);
  part.stored_limbs = item.stored_stride();
  return part;
}

Tensor::Item part_of(const Tensor::Item& item, const Place& place) {
  Tensor::Item part;
  for (const Tensor::Pair& p : item.pairs) {
    part.pairs.push_back(
        {.a = {place.of(p.a[0]), place.of(p.a[1])}, .b = {place.of(p.b[0]), place.of(p.b[1])}});
  }
  for (int i = 0; i < 3; ++i) part.out[i] = place.of(item.out[i]);
  part.factor = item.factor;
  for (const Tensor::Term& t : item.terms) {
    part.terms.push_back({.x = {place.of(t.x[0]), place.of(t.x[1])},
                          .residues = place.of(t.residues),
                          .upper = place.of(t.upper)});
  }
  part.constant = place.of(item.constant);
  part.constant_upper = place.of(item.constant_upper);
  return part;
}

// Some outputs of a record on some of its primes, with only the inputs that they still read.
Dot part_of(const Dot& op, const std::vector<const Dot::Output*>& outputs, const Place& place) {
  Dot out;
  out.parts = op.parts;
  std::vector<int> number(op.inputs.size(), -1);
  for (const Dot::Output* output : outputs) {
    Dot::Output& part = out.outputs.emplace_back();
    part.accumulate = output->accumulate;
    for (int p = 0; p < op.parts; ++p) part.out[p] = place.of(output->out[p]);
    for (const Dot::Term& term : output->terms) {
      const PolyView factor = place.of(term.factor);
      if (factor.segments == 0) continue;  // inputs that are zero modulo these primes are left out
      int& input = number[term.input];
      if (input < 0) {
        input = static_cast<int>(out.inputs.size());
        std::array<PolyView, 3>& views = out.inputs.emplace_back();
        for (int p = 0; p < op.parts; ++p) views[p] = place.of(op.inputs[term.input][p]);
      }
      part.terms.push_back({.input = input, .factor = factor});
    }
  }
  return out;
}

// Whether the kernels of Transform copy limbs of the item: it stays in its domain, or is one phase
// in place, which reads from a copy.
bool is_copied(const Transform::Item& item) {
  if (item.times.segments > 0) return false;
  if (item.in.domain == item.out.domain) return true;
  const bool one_phase = item.in.domain == Domain::Half || item.out.domain == Domain::Half;
  const int prime = item.in.segment[0].prime;
  return one_phase && item.in.limb(prime) == item.out.limb(prime);
}

// Targets of a key switch in parts of its digits that are computed together: they share what is
// transformed, and scratch is bounded.
constexpr std::size_t kTargetsAtOnce = 4;

std::array<PolyView*, 4> outputs(KeyInner::Target& target) {
  return {&target.eval[0], &target.eval[1], &target.half[0], &target.half[1]};
}

// Digits [first, last) of a group. The addends of targets go with its first digits. Those of a
// product go with the digits that own their primes.
KeyInner::Group part_of(const KeyInner::Group& group, int first, int last) {
  KeyInner::Group part;
  part.digits.assign(group.digits.begin() + first, group.digits.begin() + last);
  const auto has_own = [](const KeyInner::Digit& digit) { return digit.own.segments > 0; };
  if (std::any_of(part.digits.begin(), part.digits.end(), has_own)) part.product = group.product;
  for (const KeyInner::Target& target : group.targets) {
    part.targets.push_back({.key = {target.key.begin() + first, target.key.begin() + last},
                            .eval = target.eval,
                            .half = target.half,
                            .galois = target.galois});
    if (first == 0) part.targets.back().add = target.add;
  }
  return part;
}

}  // namespace

template <class Record>
void Splitting::divide(const Record& op, const Operation& whole) {
  if constexpr (requires { Record::kLimbsApart; }) {
    emit_(with_parts_of_out(op, limits_.segments));
  } else {
    emit_(whole);
  }
}

void Splitting::run(const Operation& op) {
  int segments = 0;
  for_each_view(op,
                [&](const PolyView& v, bool) { segments = std::max<int>(segments, v.segments); });
  if (segments <= limits_.segments && !std::holds_alternative<KeyInner>(op)) return emit_(op);
  std::visit([&](const auto& record) { divide(record, op); }, op);
}

// Sums over parts of the sources are added afterwards: all but the first are made in scratch.
void Splitting::divide(const Convert& op, const Operation&) {
  Convert divided;
  Linear sums;
  for (const Convert::Item& item : op.items) {
    const std::vector<Basis> sources = source_parts(item.in, limits_.segments);
    each_place(item.out, {}, limits_.segments, [&](const Place& place) {
      const PolyView out = place.of(item.out);
      Linear::Item sum{.terms = {{.x = out}}, .out = out};
      for (const Basis& from : sources) {
        const bool first = from == sources.front();
        const PolyView to = first ? out : take_(*out.ring, place.part, out.domain);
        divided.items.push_back(
            {.table = &item.table->part(from, place.part), .in = item.in.select(from), .out = to});
        if (!first) sum.terms.push_back({.x = to});
      }
      if (sources.size() > 1) sums.items.push_back(std::move(sum));
    });
  }
  emit_(divided);
  if (!sums.items.empty()) emit_(sums);
}

// The parts are in place if and only if the whole is.
void Splitting::divide(const Transform& op, const Operation&) {
  Transform divided;
  for (const Transform::Item& item : op.items) {
    if (!is_copied(item)) {
      divided.items.push_back(item);
      continue;
    }
    each_place(item.out, {&item.in}, limits_.segments, [&](const Place& place) {
      divided.items.push_back({.in = place.of(item.in), .out = place.of(item.out)});
    });
  }
  emit_(divided);
}

void Splitting::divide(const KeyInner& op, const Operation& whole) {
  if (op.groups.empty()) return emit_(whole);
  const int most = limits_.digits(op);
  const auto parts = [&](const KeyInner::Group& group) {
    return (static_cast<int>(group.digits.size()) + most - 1) / most;
  };
  const auto fits = [&](const KeyInner::Group& group) { return parts(group) == 1; };
  if (std::all_of(op.groups.begin(), op.groups.end(), fits)) return emit_(whole);
  KeyInner rest{.groups = {}, .add_factor = op.add_factor};
  std::vector<PolyView> scratch;
  for (const KeyInner::Group& group : op.groups) {
    if (fits(group)) {
      rest.groups.push_back(group);
      continue;
    }
    for (std::size_t first = 0; first < group.targets.size(); first += kTargetsAtOnce) {
      const std::size_t last = std::min(first + kTargetsAtOnce, group.targets.size());
      const KeyInner::Group some{
          .digits = group.digits,
          .targets = {group.targets.begin() + first, group.targets.begin() + last},
          .product = group.product};
      add_digits(op, some, parts(group), scratch);
    }
  }
  if (!rest.groups.empty()) emit_(rest);
}

// Parts of the digits one after the other: the first writes the outputs, the others add to them.
// All use the same scratch.
void Splitting::add_digits(const KeyInner& op, const KeyInner::Group& group, int parts,
                           std::vector<PolyView>& scratch) {
  const int digits = static_cast<int>(group.digits.size());
  for (int k = 0; k < parts; ++k) {
    KeyInner::Group part = part_of(group, digits * k / parts, digits * (k + 1) / parts);
    Linear sums;
    for (KeyInner::Target& target : part.targets) {
      for (PolyView* out : outputs(target)) {
        if (k == 0 || out->segments == 0) continue;
        const std::size_t next = sums.items.size();
        if (next == scratch.size()) scratch.emplace_back();
        if (scratch[next].basis() != out->basis()) {
          scratch[next] = take_(*out->ring, out->basis(), out->domain);
        }
        const PolyView sum = std::exchange(*out, scratch[next].in(out->domain));
        sums.items.push_back({.terms = {{.x = sum}, {.x = *out}}, .out = sum});
      }
    }
    emit_(KeyInner{{std::move(part)}, op.add_factor});
    if (!sums.items.empty()) run(sums);
  }
}

void Splitting::divide(const Linear& op, const Operation&) {
  Linear divided;
  for (const Linear::Item& item : op.items) {
    Views views;
    for (const Linear::Term& t : item.terms) views.push_back(&t.x);
    each_place(item.out, std::move(views), limits_.segments,
               [&](const Place& place) { divided.items.push_back(part_of(item, place)); });
  }
  emit_(divided);
}

void Splitting::divide(const Tensor& op, const Operation&) {
  Tensor divided;
  for (const Tensor::Item& item : op.items) {
    Views views;
    for (const Tensor::Pair& p : item.pairs) {
      for (const auto* side : {&p.a, &p.b}) views.insert(views.end(), {&(*side)[0], &(*side)[1]});
    }
    for (const Tensor::Term& t : item.terms) views.insert(views.end(), {&t.x[0], &t.x[1]});
    views.insert(views.end(), {&item.out[1], &item.out[2]});
    each_place(item.out[0], std::move(views), limits_.segments,
               [&](const Place& place) { divided.items.push_back(part_of(item, place)); });
  }
  emit_(divided);
}

// Outputs of one basis stay together, so that they share inputs as before.
void Splitting::divide(const Dot& op, const Operation&) {
  std::vector<bool> done(op.outputs.size(), false);
  for (std::size_t first = 0; first < op.outputs.size(); ++first) {
    if (done[first]) continue;
    const Basis basis = op.outputs[first].out[0].basis();
    std::vector<const Dot::Output*> outputs;
    Views views;
    for (std::size_t o = first; o < op.outputs.size(); ++o) {
      const Dot::Output& output = op.outputs[o];
      if (output.out[0].basis() != basis) continue;
      done[o] = true;
      outputs.push_back(&output);
      for (int p = 0; p < op.parts; ++p) views.push_back(&output.out[p]);
      for (const Dot::Term& term : output.terms) {
        views.push_back(&term.factor);
        for (int p = 0; p < op.parts; ++p) views.push_back(&op.inputs[term.input][p]);
      }
    }
    each_place(op.outputs[first].out[0], std::move(views), limits_.segments,
               [&](const Place& place) { emit_(part_of(op, outputs, place)); });
  }
}

void Splitting::divide(const Automorphism& op, const Operation&) {
  Automorphism divided;
  for (const Automorphism::Item& item : op.items) {
    Views views;
    for (const Automorphism::Term& t : item.terms) views.push_back(&t.x);
    each_place(item.out, std::move(views), limits_.segments, [&](const Place& place) {
      Automorphism::Item& part = divided.items.emplace_back();
      for (const Automorphism::Term& t : item.terms) {
        part.terms.push_back({.x = place.of(t.x), .galois = t.galois});
      }
      part.out = place.of(item.out);
    });
  }
  emit_(divided);
}

void Splitting::divide(const Copy& op, const Operation&) {
  Copy divided;
  for (const Copy::Item& item : op.items) {
    each_place(item.out, {&item.x}, limits_.segments, [&](const Place& place) {
      divided.items.push_back({.x = place.of(item.x), .out = place.of(item.out)});
    });
  }
  emit_(divided);
}

}  // namespace latticino
