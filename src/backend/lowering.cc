#include "backend/lowering.h"

#include <algorithm>
#include <type_traits>

#include "poly/ring.h"

namespace latticino {
namespace {

// Runs of consecutive primes of `basis` for which label(prime) has the same value.
template <class Label>
std::vector<Basis> runs_of_equal(const Basis& basis, const Label& label) {
  std::vector<PrimeRange> runs;
  for (int i = 0; i < basis.size(); ++i) {
    const auto prime = static_cast<std::uint16_t>(basis.prime(i));
    const auto next = static_cast<std::uint16_t>(prime + 1);
    if (!runs.empty() && runs.back().end == prime && label(prime - 1) == label(prime)) {
      runs.back().end = next;
    } else {
      runs.push_back({prime, next});
    }
  }
  std::vector<Basis> out;
  out.reserve(runs.size());
  for (const PrimeRange& run : runs) out.push_back(Basis{run});
  return out;
}

bool has(const PolyView& v, int prime) { return v.segments > 0 && v.basis().contains(prime); }

// Entries of constants that go by position in `all`, for the primes of `part`.
std::vector<std::uint32_t> part_of(const std::vector<std::uint32_t>& constants, const Basis& all,
                                   const Basis& part) {
  std::vector<std::uint32_t> out;
  for (int i = 0; i < all.size() && !constants.empty(); ++i) {
    if (part.contains(all.prime(i))) out.push_back(constants[i]);
  }
  return out;
}

bool overlap(const PolyView& a, const PolyView& b) {
  for (int i = 0; i < a.basis().size(); ++i) {
    const int prime = a.basis().prime(i);
    if (has(b, prime) && a.limb(prime) == b.limb(prime)) return true;
  }
  return false;
}

}  // namespace

void Lowering::lower(const Operation& op) {
  std::visit(
      [&](const auto& record) {
        if (!features_->batches && split(record)) return;
        if (!replace(record)) emit_(op);
      },
      op);
}

bool Lowering::replace(const Convert& op) {
  if (features_->tiles) return false;
  Transform down, up;
  Convert plain;
  for (const Convert::Item& item : op.items) {
    if (item.in.domain != Domain::Half) {
      plain.items.push_back(item);
      continue;
    }
    const PolyView in = like(item.in, Domain::Coeff), out = like(item.out, Domain::Coeff);
    down.items.push_back({.in = item.in, .out = in});
    plain.items.push_back({.table = item.table, .in = in, .out = out});
    up.items.push_back({.in = out, .out = item.out});
  }
  if (down.items.empty()) return false;
  emit_(down);
  emit_(plain);
  emit_(up);
  return true;
}

// Only fused inner products read products that are transformed on the way.
bool Lowering::replace(const Transform& op) {
  const auto is_product = [](const Transform::Item& item) { return item.times.segments > 0; };
  if (features_->inner || std::none_of(op.items.begin(), op.items.end(), is_product)) return false;
  Transform rest;
  for (const Transform::Item& item : op.items) {
    if (!is_product(item)) {
      rest.items.push_back(item);
      continue;
    }
    const PolyView product = like(item.in, Domain::Eval);
    lower(Dot{
        .parts = 1,
        .inputs = {{item.in, {}, {}}},
        .outputs = {{.terms = {{.input = 0, .factor = item.times}}, .out = {product, {}, {}}}}});
    rest.items.push_back({.in = product, .out = item.out});
  }
  emit_(rest);
  return true;
}

bool Lowering::replace(const KeyInner& op) {
  if (features_->inner) return false;
  for (const KeyInner::Group& group : op.groups) {
    Transform rows;
    std::vector<KeyInner::Digit> digits = group.digits;
    std::vector<KeyInner::Target> targets = group.targets;
    if (!group.product.empty()) products(group.product, digits, targets);
    for (KeyInner::Digit& digit : digits) {
      if (digit.converted.segments == 0 || digit.converted.domain == Domain::Eval) continue;
      const PolyView eval = like(digit.converted, Domain::Eval);
      rows.items.push_back({.in = digit.converted, .out = eval});
      digit.converted = eval;
    }
    if (!rows.items.empty()) lower(rows);
    for (const KeyInner::Target& target : targets) key_target(op, digits, target);
  }
  return true;
}

// A group's products as polynomials: the digits' own limbs, and the targets' addends.
void Lowering::products(const KeyInner::Product& product, std::vector<KeyInner::Digit>& digits,
                        std::vector<KeyInner::Target>& targets) {
  Basis own;
  for (const KeyInner::Digit& digit : digits) {
    if (digit.own.segments > 0) own = own.with(digit.own.basis());
  }
  const PolyView like_own = product.a[1].select(own);
  Tensor::Item tensor;
  tensor.pairs = {{product.a, product.b}};
  for (PolyView& out : tensor.out) out = like(like_own, Domain::Eval);
  lower(Tensor{{tensor}});
  for (KeyInner::Digit& digit : digits) {
    if (digit.own.segments > 0) digit.own = tensor.out[2].select(digit.own.basis());
  }
  for (KeyInner::Target& target : targets) target.add = {tensor.out[0], tensor.out[1]};
}

void Lowering::key_target(const KeyInner& op, const std::vector<KeyInner::Digit>& digits,
                          const KeyInner::Target& target) {
  Basis basis;
  for (const PolyView* v : {&digits[0].own, &digits[0].converted}) {
    if (v->segments > 0) basis = basis.with(v->basis());
  }
  Transform columns;
  Automorphism images;
  std::array<PolyView, 2> eval, half;  // where the sums go, both in Eval
  for (int h = 0; h < 2; ++h) {
    if (target.eval[h].segments > 0) {
      eval[h] = target.galois == 1 ? target.eval[h] : like(target.eval[h], Domain::Eval);
      if (target.galois != 1) {
        images.items.push_back(
            {.terms = {{.x = eval[h], .galois = target.galois}}, .out = target.eval[h]});
      }
    }
    if (target.half[h].segments > 0) {
      half[h] = like(target.half[h], Domain::Eval);
      columns.items.push_back({.in = half[h], .out = target.half[h]});
    }
  }
  // Which views hold a prime: of the digits' two, and of the outputs' two.
  const auto label = [&](int prime) {
    std::vector<bool> in;
    in.reserve(digits.size());
    for (const KeyInner::Digit& digit : digits) in.push_back(has(digit.own, prime));
    for (int h = 0; h < 2; ++h)
      in.push_back(has(eval[h], prime)), in.push_back(has(target.add[h], prime));
    return in;
  };
  Linear sums;
  for (const Basis& part : runs_of_equal(basis, label)) {
    const int prime = part.prime(0);
    Dot products;
    products.parts = 1;
    for (const KeyInner::Digit& digit : digits) {
      products.inputs.push_back({has(digit.own, prime) ? digit.own : digit.converted, {}, {}});
    }
    for (int h = 0; h < 2; ++h) {
      const PolyView out = (has(eval[h], prime) ? eval[h] : half[h]).select(part);
      Dot::Output& output = products.outputs.emplace_back();
      output.out[0] = out;
      for (std::size_t d = 0; d < digits.size(); ++d) {
        output.terms.push_back({.input = static_cast<int>(d), .factor = target.key[d][h]});
      }
      if (!has(target.add[h], prime)) continue;
      const std::vector<std::uint32_t> factor(op.add_factor.begin() + part.prime(0),
                                              op.add_factor.begin() + part.prime(0) + part.size());
      sums.items.push_back(
          {.terms = {{.x = out}, {.x = target.add[h], .residues = factor}}, .out = out});
    }
    const bool whole = !features_->sums && features_->key_sums && features_->batches;
    whole ? emit_(products) : lower(products);
  }
  if (!sums.items.empty()) lower(sums);
  if (!columns.items.empty()) lower(columns);
  if (!images.items.empty()) lower(images);
}

bool Lowering::replace(const ModDownFinish& op) {
  if (features_->last_step) return false;
  Transform rows;
  Dot products;
  products.parts = 1;
  Linear sums;
  Automorphism images;
  for (const ModDownFinish::Item& item : op.items) {
    PolyView x = item.x, y = item.y;
    if (item.times.segments > 0) {
      x = like(item.x, Domain::Eval);
      const int input = static_cast<int>(products.inputs.size());
      products.inputs.push_back({item.x, {}, {}});
      Dot::Output& product = products.outputs.emplace_back();
      product.terms = {{input, item.times.select(item.x.basis())}};
      product.out[0] = x;
    }
    if (y.domain == Domain::Half) {
      y = like(item.y, Domain::Eval);
      rows.items.push_back({.in = item.y, .out = y});
    }
    const PolyView out = item.galois == 1 ? item.out : like(item.out, Domain::Eval);
    if (item.galois != 1)
      images.items.push_back({.terms = {{.x = out, .galois = item.galois}}, .out = item.out});
    const Basis basis = item.out.basis();
    const auto label = [&](int prime) { return 2 * has(x, prime) + has(item.add, prime); };
    for (const Basis& part : runs_of_equal(basis, label)) {
      const int prime = part.prime(0);
      Linear::Item sum;
      sum.out = out.select(part);
      sum.terms.push_back({.x = y.select(part), .small = -1});
      if (has(x, prime)) {
        sum.terms.push_back({.x = x.select(part), .residues = part_of(op.factor, basis, part)});
      }
      if (has(item.add, prime)) sum.terms.push_back({.x = item.add.select(part)});
      sums.items.push_back(std::move(sum));
    }
  }
  if (!products.outputs.empty()) lower(products);
  if (!rows.items.empty()) lower(rows);
  lower(sums);
  if (!images.items.empty()) lower(images);
  return true;
}

bool Lowering::replace(const Linear& op) {
  const auto is_long = [](const Linear::Item& item) { return item.terms.size() > 2; };
  if (features_->sums || std::none_of(op.items.begin(), op.items.end(), is_long)) return false;
  Linear rest;
  for (const Linear::Item& item : op.items) {
    if (is_long(item)) {
      long_sum(item);
    } else {
      rest.items.push_back(item);
    }
  }
  if (!rest.items.empty()) emit_(rest);
  return true;
}

// Adds two terms at a time. All but the last sum are in scratch, because `out` may be one of the
// terms.
void Lowering::long_sum(const Linear::Item& item) {
  const std::size_t last = item.terms.size() - 1;
  const PolyView partial = like(item.out, item.out.domain);
  emit_(Linear{{{.terms = {item.terms[0], item.terms[1]}, .out = partial}}});
  for (std::size_t k = 2; k <= last; ++k) {
    Linear::Item step{.terms = {{.x = partial}, item.terms[k]}, .out = partial};
    if (k == last) {
      step.out = item.out;
      step.constant = item.constant;
      step.constant_upper = item.constant_upper;
      step.constant_stored = item.constant_stored;
      step.stored_limbs = item.stored_limbs;
    }
    emit_(Linear{{step}});
  }
}

bool Lowering::replace(const Tensor& op) {
  const auto is_long = [](const Tensor::Item& item) {
    return item.pairs.size() > 1 || item.factor != 1 || !item.terms.empty() ||
           !item.constant.empty();
  };
  if (features_->sums || std::none_of(op.items.begin(), op.items.end(), is_long)) return false;
  for (const Tensor::Item& item : op.items) {
    emit_(Tensor{{{.pairs = {item.pairs[0]}, .out = item.out}}});
    for (std::size_t k = 1; k < item.pairs.size(); ++k) {
      std::array<PolyView, 3> product;
      Linear sum;
      for (int i = 0; i < 3; ++i) {
        product[i] = like(item.out[i], Domain::Eval);
        sum.items.push_back({.terms = {{.x = item.out[i]}, {.x = product[i]}}, .out = item.out[i]});
      }
      emit_(Tensor{{{.pairs = {item.pairs[k]}, .out = product}}});
      lower(sum);
    }
    Linear rest;
    for (int i = 0; i < 3; ++i) {
      Linear::Item& part = rest.items.emplace_back();
      part.out = item.out[i];
      part.terms.push_back({.x = item.out[i], .small = item.factor});
      if (i == 2) continue;
      for (const Tensor::Term& t : item.terms) {
        part.terms.push_back({.x = t.x[i], .residues = t.residues, .upper = t.upper});
      }
      if (i == 0) part.constant = item.constant, part.constant_upper = item.constant_upper;
    }
    lower(rest);
  }
  return true;
}

bool Lowering::replace(const Dot& op) {
  const auto is_long = [](const Dot::Output& o) { return o.terms.size() > 1; };
  if (features_->sums || std::none_of(op.outputs.begin(), op.outputs.end(), is_long)) return false;
  for (const Dot::Output& output : op.outputs) long_sum(op, output);
  return true;
}

// One product at a time. If an output is one of its inputs, that product comes first; two such
// inputs are computed together.
void Lowering::long_sum(const Dot& op, const Dot::Output& output) {
  const auto own = [&](const Dot::Term& term) {
    for (int p = 0; p < op.parts; ++p) {
      for (int i = 0; i < op.parts; ++i) {
        if (overlap(output.out[i], op.inputs[term.input][p])) return true;
      }
    }
    return false;
  };
  std::vector<Dot::Term> terms = output.terms;
  const auto rest = std::stable_partition(terms.begin(), terms.end(), own);
  const auto emit = [&](auto begin, auto end, bool accumulate) {
    Dot step;
    step.parts = op.parts;
    Dot::Output& out = step.outputs.emplace_back();
    out.out = output.out;
    out.accumulate = accumulate;
    for (auto term = begin; term != end; ++term) {
      out.terms.push_back({.input = static_cast<int>(step.inputs.size()), .factor = term->factor});
      step.inputs.push_back(op.inputs[term->input]);
    }
    emit_(step);
  };
  auto next = std::max(rest, terms.begin() + 1);
  emit(terms.begin(), next, output.accumulate);
  for (; next != terms.end(); ++next) emit(next, next + 1, true);
}

bool Lowering::replace(const Automorphism& op) {
  const auto is_long = [](const Automorphism::Item& item) { return item.terms.size() > 1; };
  if (features_->sums || std::none_of(op.items.begin(), op.items.end(), is_long)) return false;
  for (const Automorphism::Item& item : op.items) {
    emit_(Automorphism{{{.terms = {item.terms[0]}, .out = item.out}}});
    for (std::size_t k = 1; k < item.terms.size(); ++k) {
      const PolyView image = like(item.out, item.out.domain);
      emit_(Automorphism{{{.terms = {item.terms[k]}, .out = image}}});
      emit_(Linear{{{.terms = {{.x = item.out}, {.x = image}}, .out = item.out}}});
    }
  }
  return true;
}

template <class Record>
bool Lowering::split(const Record& op) {
  if (op.items.size() < 2) return false;
  Record one = op;
  for (const auto& item : op.items) {
    one.items = {item};
    lower(one);
  }
  return true;
}

bool Lowering::split(const KeyInner& op) {
  if (op.groups.size() < 2 && (op.groups.empty() || op.groups[0].targets.size() < 2)) return false;
  for (const KeyInner::Group& group : op.groups) {
    for (const KeyInner::Target& target : group.targets) {
      lower(KeyInner{
          .groups = {{.digits = group.digits, .targets = {target}, .product = group.product}},
          .add_factor = op.add_factor});
    }
  }
  return true;
}

bool Lowering::split(const Dot& op) {
  if (op.outputs.size() < 2) return false;
  for (const Dot::Output& output : op.outputs)
    lower(Dot{.parts = op.parts, .inputs = op.inputs, .outputs = {output}});
  return true;
}

}  // namespace latticino
