#include "ckks/linear/hoisting.h"

#include <algorithm>

#include "ckks/evaluator/checks.h"
#include "rlwe/galois.h"

namespace latticino::ckks {
namespace {

using rlwe::ExtendedPair;

// One application of a HoistedSum to a batch; the stages in order, each a batched record or two.
class DoubleHoisting {
 public:
  DoubleHoisting(const Evaluator& evaluator, const HoistedSum& sum, std::span<const Ciphertext> x)
      : evaluator_(evaluator),
        context_(*evaluator.context()),
        sum_(sum),
        x_(x),
        level_(x[0].level) {}

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

  // Every baby rotation but 0 of every input modulo P Q, input by input in the order of
  // sum_.babies. All rotations of an input share its ModUp.
  std::vector<std::vector<ExtendedPair>> baby_rotations() const {
    std::vector<PolyView> a;
    for (const Ciphertext& x : x_) a.push_back(x.parts[1].view);
    const bool any = sum_.babies.back() != 0;
    const std::vector<rlwe::ModUpResult> raised =
        any ? rlwe::mod_up(queue(), constants(), a, level_) : std::vector<rlwe::ModUpResult>();
    std::vector<rlwe::InnerGroup> groups;
    for (std::size_t i = 0; any && i < x_.size(); ++i) {
      rlwe::InnerGroup& group = groups.emplace_back();
      group.raised = &raised[i];
      for (const int r : sum_.babies) {
        if (r == 0) continue;
        group.targets.push_back(
            {&key(x_[i], r), {x_[i].parts[0].view, {}}, galois(r), false, false});
      }
    }
    if (!any) return std::vector<std::vector<ExtendedPair>>(x_.size());
    return rlwe::key_inner(queue(), constants(), groups);
  }

  // For every input and giant: sum_b factor * baby. One record reads each baby once; baby 0 is the
  // input itself, whose factors have P in them.
  std::vector<ExtendedPair> inner_sums(
      const std::vector<std::vector<ExtendedPair>>& rotated) const {
    Dot op;
    std::vector<ExtendedPair> out;
    for (std::size_t i = 0; i < x_.size(); ++i) {
      if (sum_.babies.front() == 0) {
        op.inputs.push_back({x_[i].parts[0].view, x_[i].parts[1].view, {}});
      }
      for (const ExtendedPair& b : rotated[i]) {
        op.inputs.push_back({b.part[0].view, b.part[1].view, {}});
      }
    }
    for (std::size_t i = 0; i < x_.size(); ++i) {
      const int first = static_cast<int>(i * sum_.babies.size());
      for (const auto& row : sum_.rows) {
        out.push_back(rlwe::allocate_extended(queue(), constants(), level_));
        Dot::Output& output = op.outputs.emplace_back();
        output.out = {out.back().part[0].view, out.back().part[1].view, {}};
        for (const HoistedSum::Term& term : row) {
          output.terms.push_back({first + term.baby, term.factor.poly.view});
        }
      }
    }
    queue().submit(std::move(op));
    return out;
  }

  // Key-switches every inner sum with a giant rotation: its `a` comes down to Q and up again, its
  // `b` stays modulo P Q and is added as it is. The rotation itself is left to giant_sum().
  std::vector<ExtendedPair> switched(const std::vector<ExtendedPair>& inner) const {
    std::vector<rlwe::DownItem> items;
    for (const ExtendedPair& s : inner) {
      items.push_back(rlwe::down_item(constants(), s, 1, false));
    }
    const std::vector<Poly> a = rlwe::mod_down(queue(), constants(), items, level_, false);
    std::vector<PolyView> views;
    for (const Poly& p : a) views.push_back(p.view);
    const std::vector<rlwe::ModUpResult> raised = rlwe::mod_up(queue(), constants(), views, level_);
    std::vector<rlwe::InnerGroup> groups;
    const std::size_t giants = sum_.giants.size() - (sum_.giants.front() == 0);
    for (std::size_t k = 0; k < inner.size(); ++k) {
      const int r = sum_.giants[sum_.giants.size() - giants + k % giants];
      groups.push_back(
          {&raised[k], {{&key(x_[k / giants], r), {inner[k].part[0].view, {}}, 1, false, false}}});
    }
    std::vector<ExtendedPair> out;
    for (auto& group : rlwe::key_inner(queue(), constants(), groups, rlwe::Addend::Extended)) {
      out.push_back(std::move(group[0]));
    }
    return out;
  }

  // For every input: sum_g rot_g(inner_g), automorphisms and sum in one record (paper: Cheddar,
  // Eq. 5).
  std::vector<ExtendedPair> giant_sum(std::vector<ExtendedPair> inner) const {
    if (sum_.giants.back() == 0) return inner;
    const bool has_zero = sum_.giants.front() == 0;
    const std::size_t giants = sum_.giants.size();
    std::vector<ExtendedPair> still, turning;
    for (std::size_t k = 0; k < inner.size(); ++k) {
      (has_zero && k % giants == 0 ? still : turning).push_back(std::move(inner[k]));
    }
    turning = switched(turning);
    const std::size_t per_input = giants - has_zero;
    Automorphism op;
    std::vector<ExtendedPair> out;
    for (std::size_t i = 0; i < x_.size(); ++i) {
      out.push_back(rlwe::allocate_extended(queue(), constants(), level_));
      for (int h = 0; h < 2; ++h) {
        Automorphism::Item& item = op.items.emplace_back();
        item.out = out.back().part[h].view;
        if (has_zero) item.terms.push_back({still[i].part[h].view, 1});
        for (std::size_t k = 0; k < per_input; ++k) {
          item.terms.push_back(
              {turning[i * per_input + k].part[h].view, galois(sum_.giants[k + has_zero])});
        }
      }
    }
    queue().submit(std::move(op));
    return out;
  }

  std::vector<Ciphertext> finish(const std::vector<ExtendedPair>& total) const {
    std::vector<rlwe::DownItem> items;
    for (const ExtendedPair& t : total) {
      for (int h = 0; h < 2; ++h) items.push_back(rlwe::down_item(constants(), t, h, sum_.merged));
    }
    std::vector<Poly> parts = rlwe::mod_down(queue(), constants(), items, level_, sum_.merged);
    if (!sum_.merged) {
      std::vector<PolyView> views;
      for (const Poly& p : parts) views.push_back(p.view);
      parts = rlwe::rescale(queue(), constants(), views, level_);
    }
    const Params& params = context_.params();
    const double factor = sum_.rows[0][0].factor.scale / params.rescale_factor(level_);
    std::vector<Ciphertext> out;
    for (std::size_t i = 0; i < x_.size(); ++i) {
      out.push_back({evaluator_.context(),
                     {parts[2 * i], parts[2 * i + 1]},
                     level_ - 1,
                     snap_scale(params, level_ - 1, x_[i].scale * factor),
                     x_[i].slots,
                     x_[i].key});
    }
    return out;
  }

  const Evaluator& evaluator_;
  const Context& context_;
  const HoistedSum& sum_;
  std::span<const Ciphertext> x_;
  int level_;
};

}  // namespace

std::vector<Plaintext> encode_hoisted(const std::shared_ptr<const Context>& context,
                                      std::span<const Values> batch, int level, double scale,
                                      bool rotated) {
  std::vector<Plaintext> out = encode_factors(context, batch, level, scale, rotated);
  if (rotated) return out;
  const Basis q = context->params().basis(level);
  std::vector<std::uint32_t> p_mod;
  for (int i = 0; i < q.size(); ++i) p_mod.push_back(context->constants().p_mod()[q.prime(i)]);
  for (const Plaintext& x : out) {
    context->queue().submit(Linear{{{{{x.poly.view, 1, p_mod, {}}}, x.poly.view, {}, {}}}});
  }
  return out;
}

std::vector<Ciphertext> hoisted_sum(const Evaluator& evaluator, const HoistedSum& sum,
                                    std::span<const Ciphertext> x) {
  if (x.empty()) return {};
  return DoubleHoisting(evaluator, sum, x).run();
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
      output.terms.push_back({term.baby, term.factor.poly.view});
    }
  }
  context.queue().submit(std::move(op));
  return out;
}

}  // namespace

Ciphertext iterated_sum(const Evaluator& evaluator, const HoistedSum& sum, int baby_step,
                        int giant_step, const Ciphertext& x) {
  std::vector<Ciphertext> babies;  // by position in sum.babies
  Ciphertext turned = x;
  for (int r = 0; r <= sum.babies.back(); r += baby_step) {
    if (r > 0) turned = evaluator.rotate(turned, baby_step);
    if (std::binary_search(sum.babies.begin(), sum.babies.end(), r)) babies.push_back(turned);
  }
  std::vector<Ciphertext> rows = rows_of(sum, babies);
  babies.clear();
  // Horner over the giants: the highest is rotated most often.
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
