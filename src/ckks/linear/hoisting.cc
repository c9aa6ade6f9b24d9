#include "ckks/linear/hoisting.h"

#include <algorithm>

#include "ckks/evaluator/checks.h"
#include "rlwe/galois.h"

namespace latticino::ckks {
namespace {

using rlwe::ExtendedPair;

// Applies a HoistedSum to a batch. The functions are the stages in order, each of one or two
// batched records.
class DoubleHoisting {
 public:
  DoubleHoisting(const Evaluator& evaluator, const HoistedSum& sum, std::span<const Ciphertext> x)
      : evaluator_(evaluator),
        context_(*evaluator.context()),
        sum_(sum),
        x_(x),
        level_(x[0].level),
        used_(sum.sources, std::vector<bool>(sum.babies.size())) {
    for (const auto& row : sum.rows) {
      for (const HoistedSum::Term& term : row) used_[term.source][term.baby] = true;
    }
  }

  std::vector<Ciphertext> run() const {
    std::vector<ExtendedPair> inner = inner_sums(baby_rotations());
    const std::vector<ExtendedPair> total = giant_sum(std::move(inner));
    return finish(total);
  }

 private:
  Queue& queue() const { return context_.queue(); }
  const rlwe::Constants& constants() const { return context_.constants(); }
  std::uint32_t galois(int r) const { return rlwe::rotation_element(r, context_.params().log_n()); }
  const rlwe::SwitchKey& key(const Ciphertext& x, int r) const {
    return evaluator_.key("ckks.LinearTransform", x, {rlwe::KeyKind::Galois, galois(r)});
  }
  int applications() const { return static_cast<int>(x_.size()) / sum_.sources; }
  // Whether a rotation of input i is among the terms.
  bool used(std::size_t i, std::size_t baby) const { return used_[i % sum_.sources][baby]; }
  bool turns(std::size_t i) const {
    for (std::size_t b = 0; b < sum_.babies.size(); ++b) {
      if (sum_.babies[b] != 0 && used(i, b)) return true;
    }
    return false;
  }

  // Every baby rotation except 0 that a term needs, for every input, modulo P Q. They come input by
  // input in the order of sum_.babies. All rotations of an input share its ModUp.
  std::vector<std::vector<ExtendedPair>> baby_rotations() const {
    std::vector<rlwe::SwitchInput> inputs;
    for (std::size_t i = 0; i < x_.size(); ++i) {
      if (!turns(i)) continue;
      rlwe::SwitchInput& input = inputs.emplace_back(rlwe::SwitchInput{.a = x_[i].parts[1].view});
      for (std::size_t b = 0; b < sum_.babies.size(); ++b) {
        const int r = sum_.babies[b];
        if (r == 0 || !used(i, b)) continue;
        input.targets.push_back(
            {.key = &key(x_[i], r), .add = {x_[i].parts[0].view, {}}, .galois = galois(r)});
      }
    }
    std::vector<std::vector<ExtendedPair>> out(x_.size());
    if (inputs.empty()) return out;
    auto turned = rlwe::key_switch_extended(queue(), constants(), inputs, level_);
    for (std::size_t i = 0, k = 0; i < x_.size(); ++i) {
      if (turns(i)) out[i] = std::move(turned[k++]);
    }
    return out;
  }

  // For every application, target and giant with terms: sum_b factor * baby. One record reads each
  // baby once. Baby 0 is the input itself; its factors contain P.
  std::vector<ExtendedPair> inner_sums(
      const std::vector<std::vector<ExtendedPair>>& rotated) const {
    Dot op;
    std::vector<ExtendedPair> out;
    std::vector<std::vector<int>> places(x_.size(), std::vector<int>(sum_.babies.size()));
    for (std::size_t i = 0; i < x_.size(); ++i) {
      for (std::size_t b = 0, k = 0; b < sum_.babies.size(); ++b) {
        if (!used(i, b)) continue;
        places[i][b] = static_cast<int>(op.inputs.size());
        if (sum_.babies[b] == 0) {
          op.inputs.push_back({x_[i].parts[0].view, x_[i].parts[1].view, {}});
        } else {
          const ExtendedPair& turned = rotated[i][k++];
          op.inputs.push_back({turned.part[0].view, turned.part[1].view, {}});
        }
      }
    }
    for (int n = 0; n < applications(); ++n) {
      for (const auto& row : sum_.rows) {
        if (row.empty()) continue;
        out.push_back(rlwe::allocate_extended(queue(), constants(), level_));
        Dot::Output& output = op.outputs.emplace_back();
        output.out = {out.back().part[0].view, out.back().part[1].view, {}};
        for (const HoistedSum::Term& term : row) {
          output.terms.push_back({.input = places[n * sum_.sources + term.source][term.baby],
                                  .factor = term.factor.poly.view});
        }
      }
    }
    queue().submit(std::move(op));
    return out;
  }

  // Switches the key of every inner sum for its giant rotation. Part `a` comes down to Q and up
  // again; part `b` stays modulo P Q and is added as it is. giant_sum() rotates.
  std::vector<ExtendedPair> switched(const std::vector<ExtendedPair>& inner,
                                     const std::vector<int>& giants) const {
    std::vector<rlwe::DownItem> items;
    items.reserve(inner.size());
    for (const ExtendedPair& s : inner) {
      items.push_back(rlwe::down_item(constants(), s, 1, false));
    }
    const std::vector<Poly> a = rlwe::mod_down(queue(), constants(), items, level_, false);
    const std::size_t each = giants.size() / applications();
    std::vector<rlwe::SwitchInput> inputs;
    for (std::size_t k = 0; k < inner.size(); ++k) {
      const Ciphertext& x = x_[k / each * sum_.sources];
      inputs.push_back(
          {.a = a[k].view,
           .targets = {{.key = &key(x, giants[k]), .add = {inner[k].part[0].view, {}}}}});
    }
    std::vector<ExtendedPair> out;
    for (auto& sums :
         rlwe::key_switch_extended(queue(), constants(), inputs, level_, rlwe::Addend::Extended)) {
      out.push_back(std::move(sums[0]));
    }
    return out;
  }

  // For every application and target: sum_g rot_g(inner_g), automorphisms and sum in one record
  // (paper: Cheddar, Eq. 5).
  std::vector<ExtendedPair> giant_sum(std::vector<ExtendedPair> inner) const {
    if (sum_.giants.back() == 0) return inner;
    std::vector<ExtendedPair> still, turning;
    std::vector<int> turns;  // the rotations of `turning`
    for_rows([&](std::size_t k, std::size_t, int giant) {
      (giant == 0 ? still : turning).push_back(std::move(inner[k]));
      if (giant != 0) turns.push_back(giant);
    });
    turning = switched(turning, turns);
    Automorphism op;
    std::vector<ExtendedPair> out;
    std::vector<std::vector<std::pair<const ExtendedPair*, int>>> sums(applications() *
                                                                       sum_.targets);
    std::size_t at_still = 0, at_turning = 0;
    for_rows([&](std::size_t, std::size_t target, int giant) {
      sums[target].push_back({giant == 0 ? &still[at_still++] : &turning[at_turning++], giant});
    });
    for (const auto& sum : sums) {
      out.push_back(rlwe::allocate_extended(queue(), constants(), level_));
      for (int h = 0; h < 2; ++h) {
        Automorphism::Item& item = op.items.emplace_back();
        item.out = out.back().part[h].view;
        for (const auto& [pair, giant] : sum) {
          item.terms.push_back({.x = pair->part[h].view, .galois = giant == 0 ? 1 : galois(giant)});
        }
      }
    }
    queue().submit(std::move(op));
    return out;
  }

  // Calls f(k, which result, giant) for every inner sum k.
  template <class F>
  void for_rows(const F& f) const {
    std::size_t k = 0;
    for (int n = 0; n < applications(); ++n) {
      for (std::size_t r = 0; r < sum_.rows.size(); ++r) {
        if (sum_.rows[r].empty()) continue;
        f(k++, n * sum_.targets + r / sum_.giants.size(), sum_.giants[r % sum_.giants.size()]);
      }
    }
  }

  std::vector<Ciphertext> finish(const std::vector<ExtendedPair>& total) const {
    std::vector<rlwe::DownItem> items;
    for (const ExtendedPair& t : total) {
      for (int h = 0; h < 2; ++h) items.push_back(rlwe::down_item(constants(), t, h, sum_.merged));
    }
    std::vector<Poly> parts = rlwe::mod_down(queue(), constants(), items, level_, sum_.merged);
    if (!sum_.merged) {
      std::vector<PolyView> views;
      views.reserve(parts.size());
      for (const Poly& p : parts) views.push_back(p.view);
      parts = rlwe::rescale(queue(), constants(), views, level_);
    }
    const Params& params = context_.params();
    const double factor = sum_.any_factor().scale / params.rescale_factor(level_);
    std::vector<Ciphertext> out;
    for (std::size_t i = 0; i < total.size(); ++i) {
      const Ciphertext& x = x_[i / sum_.targets * sum_.sources];
      out.push_back({evaluator_.context(),
                     {parts[2 * i], parts[2 * i + 1]},
                     level_ - 1,
                     snap_scale(params, level_ - 1, x.scale * factor),
                     x.slots,
                     x.key});
    }
    return out;
  }

  const Evaluator& evaluator_;
  const Context& context_;
  const HoistedSum& sum_;
  std::span<const Ciphertext> x_;
  int level_;
  std::vector<std::vector<bool>> used_;  // by source and position in sum_.babies
};

}  // namespace

std::vector<CompactFactor> encode_terms(const std::shared_ptr<const Context>& context,
                                        const Factors& given, const TermForm& form, bool rotated) {
  const bool extended = form.rotates && rotated, times = form.rotates && !rotated;
  if (form.compact) {
    std::vector<CompactFactor> out =
        compact_factors(context, given, form.level, form.scale, extended);
    for (CompactFactor& f : out) f.times_p = times;
    return out;
  }
  const Queue::Preparing preparing(context->queue());
  std::vector<CompactFactor> out;
  for (Plaintext& p : encode_factors(context, given, form.level, form.scale, extended)) {
    if (times) context->queue().submit(Linear{{times_p(p)}});
    out.push_back({std::move(p), {}});
  }
  return out;
}

HoistedSum HoistedSum::expanded() const {
  HoistedSum out = *this;
  std::vector<const CompactFactor*> compact;
  for (auto& row : out.rows) {
    for (Term& term : row) {
      if (term.compact) compact.push_back(term.compact.get());
    }
  }
  std::vector<Plaintext> made = expand(compact);
  auto next = made.begin();
  for (auto& row : out.rows) {
    for (Term& term : row) {
      if (term.compact) term.factor = std::move(*next++);
    }
  }
  return out;
}

HoistedSum::Term HoistedSum::term(int baby, CompactFactor factor, int source) {
  if (factor.integers == nullptr) return {baby, std::move(factor.form), source, nullptr};
  Plaintext form = factor.form;
  return {baby, std::move(form), source, std::make_shared<CompactFactor>(std::move(factor))};
}

std::size_t HoistedSum::bytes() const {
  std::size_t total = 0;
  for (const auto& row : rows) {
    for (const Term& t : row) {
      total += t.compact ? t.compact->integers->bytes() : t.factor.poly.buffer->bytes();
    }
  }
  return total;
}

const Plaintext& HoistedSum::any_factor() const {
  return std::find_if(rows.begin(), rows.end(), [](const auto& row) { return !row.empty(); })
      ->front()
      .factor;
}

std::vector<Ciphertext> hoisted_sum(const Evaluator& evaluator, const HoistedSum& sum,
                                    std::span<const Ciphertext> x) {
  if (x.empty()) return {};
  return DoubleHoisting(evaluator, sum, x).run();
}

std::vector<Ciphertext> plain_sum(const Evaluator& evaluator, const HoistedSum& sum,
                                  std::span<const Ciphertext> x) {
  const Context& context = *evaluator.context();
  Dot op;
  for (const Ciphertext& c : x) op.inputs.push_back({c.parts[0].view, c.parts[1].view, {}});
  std::vector<Ciphertext> products;
  for (std::size_t first = 0; first < x.size(); first += sum.sources) {
    for (const auto& row : sum.rows) {
      Ciphertext& y = products.emplace_back(x[first]);
      y.scale *= sum.any_factor().scale;
      Dot::Output& output = op.outputs.emplace_back();
      for (int h = 0; h < 2; ++h) {
        y.parts[h] =
            context.queue().allocate(context.ring(), context.params().basis(y.level), Domain::Eval);
        output.out[h] = y.parts[h].view;
      }
      for (const HoistedSum::Term& term : row) {
        output.terms.push_back({static_cast<int>(first) + term.source, term.factor.poly.view});
      }
    }
  }
  context.queue().submit(std::move(op));
  return evaluator.rescale(products);
}

std::vector<Ciphertext> transform_inputs(const char* operation, const Evaluator& evaluator,
                                         std::span<const Ciphertext> x, int slots,
                                         const Plaintext& factor) {
  const Context& context = *evaluator.context();
  const Params& params = context.params();
  std::vector<Ciphertext> out;
  for (const Ciphertext& c : x) {
    require_context(operation, context, c);
    require_context(operation, context, factor);
    require_parts(operation, c, 2);
    require_slots(operation, c.slots, slots);
    require_level(operation, c.level, factor.level);
    const bool canonical = same_scale(c.scale, params.scale(c.level));
    out.push_back(evaluator.to_level_scale(c, factor.level,
                                           canonical ? params.scale(factor.level) : c.scale));
    require_capacity(operation, params, factor.level, out.back().scale * factor.scale);
  }
  return out;
}

namespace {

// For every giant: sum_b factor * baby, one record that reads each baby once.
std::vector<Ciphertext> rows_of(const HoistedSum& sum, const std::vector<Ciphertext>& babies) {
  const Context& context = *babies[0].context;
  Dot op;
  for (const Ciphertext& b : babies) op.inputs.push_back({b.parts[0].view, b.parts[1].view, {}});
  std::vector<Ciphertext> out;
  for (const auto& row : sum.rows) {
    Ciphertext& y = out.emplace_back(babies[0]);
    y.scale *= row[0].factor.scale;
    Dot::Output& output = op.outputs.emplace_back();
    for (int h = 0; h < 2; ++h) {
      y.parts[h] =
          context.queue().allocate(context.ring(), context.params().basis(y.level), Domain::Eval);
      output.out[h] = y.parts[h].view;
    }
    for (const HoistedSum::Term& term : row) {
      output.terms.push_back({.input = term.baby, .factor = term.factor.poly.view});
    }
  }
  context.queue().submit(std::move(op));
  return out;
}

}  // namespace

Ciphertext iterated_sum(const Evaluator& evaluator, const HoistedSum& sum, int baby_step,
                        int giant_step, const Ciphertext& x) {
  std::vector<Ciphertext> babies;  // indexed by position in sum.babies
  Ciphertext turned = x;
  for (int r = 0; r <= sum.babies.back(); r += baby_step) {
    if (r > 0) turned = evaluator.rotate(turned, baby_step);
    if (std::binary_search(sum.babies.begin(), sum.babies.end(), r)) babies.push_back(turned);
  }
  std::vector<Ciphertext> rows = rows_of(sum, babies);
  babies.clear();
  // Horner's rule over the giants: the highest one is rotated most often.
  Ciphertext out = std::move(rows.back());
  rows.pop_back();
  for (int r = sum.giants.back(); r > 0;) {
    out = evaluator.rotate(out, giant_step);
    r -= giant_step;
    if (rows.empty() || sum.giants[rows.size() - 1] != r) continue;
    out = evaluator.add(out, rows.back());
    rows.pop_back();
  }
  return evaluator.rescale(out);
}

}  // namespace latticino::ckks
