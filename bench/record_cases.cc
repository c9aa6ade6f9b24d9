#include "record_cases.h"

#include <algorithm>

namespace latticino::bench {
namespace {

// A set moves at least 4 polynomials: at N = 2^16 and 32 limbs or fewer, 200 MB in all.
int sets_for(int log_n, int limbs) { return std::clamp((210 << 16 >> log_n) / limbs, 6, 256); }

constexpr std::uint32_t kGalois = 5;

Basis range(int begin, int end) {
  return {{static_cast<std::uint16_t>(begin), static_cast<std::uint16_t>(end)}};
}

}  // namespace

Shapes::Shapes(Queue& queue, const Ring& ring, int limbs, int aux)
    : queue_(queue),
      ring_(ring),
      slot_transform_(ring.log_n()),
      sets_(sets_for(ring.log_n(), limbs)) {
  const int last = ring.prime_count() - aux;
  q_ = range(0, limbs);
  p_ = range(last, last + aux);
  all_ = q_.with(p_);
  for (int first = 0; first < limbs; first += aux) {
    const Basis digit = range(first, std::min(first + aux, limbs));
    digits_.push_back(digit);
    up_.push_back(std::make_unique<BaseConversion>(ring, digit, all_.without(digit)));
  }
  down_ = std::make_unique<BaseConversion>(ring, p_, q_);
  if (limbs <= aux + 1) {  // digits as parameter sets define them
    one_p_ = range(last, last + std::min(aux, limbs));
    one_up_ = std::make_unique<BaseConversion>(ring, q_, one_p_);
    one_down_ = std::make_unique<BaseConversion>(ring, one_p_, q_);
  }
  if (limbs <= 2) return;
  leaving_ = range(limbs - 2, limbs);
  staying_ = range(0, limbs - 2);
  rescale_ = std::make_unique<BaseConversion>(ring, leaving_, staying_);
}

// Inputs and outputs by role. They are expanded from a seed once, so that no benchmark runs on
// zeros.
PolyView Shapes::poly(const std::string& role, int set, const Basis& basis, Domain domain) {
  const std::string key = role + "/" + std::to_string(set) + "/" + basis.str();
  auto it = polys_.find(key);
  if (it == polys_.end()) {
    it = polys_.emplace(key, queue_.allocate(ring_, basis, domain)).first;
    ExpandUniform fill{{{{}, polys_.size(), it->second.view}}};
    queue_.submit(fill);
  }
  return it->second.view.in(domain);
}

std::vector<std::uint32_t> Shapes::constants(const Basis& basis) const {
  std::vector<std::uint32_t> c;
  for (int l = 0; l < basis.size(); ++l) c.push_back(ring_.prime(basis.prime(l)) / 3 + l);
  return c;
}

std::vector<Case> Shapes::cases() {
  std::vector<Case> out;
  add_elementwise(out);
  add_products(out);
  add_lifts(out);
  add_transforms(out);
  add_key_switch(out);
  if (one_up_ != nullptr) add_one_digit(out);
  if (rescale_ != nullptr) add_rescale(out);
  return out;
}

void Shapes::add_elementwise(std::vector<Case>& out) {
  const auto eval = [this](const char* role, int set) { return poly(role, set, q_, Domain::Eval); };
  out.push_back({"poly.copy", [=, this](int k) -> std::vector<Operation> {
                   return {Copy{{{eval("a0", k), eval("b0", k)}, {eval("a1", k), eval("b1", k)}}}};
                 }});
  out.push_back({"ckks.add", [=, this](int k) -> std::vector<Operation> {
                   const auto sum = [&](const char* x, const char* y, const char* z) {
                     return Linear::Item{
                         {{eval(x, k), 1, {}, {}}, {eval(y, k), 1, {}, {}}}, eval(z, k), {}, {}};
                   };
                   return {Linear{{sum("a0", "b0", "c0"), sum("a1", "b1", "c1")}}};
                 }});
  out.push_back({"poly.linear4", [=, this](int k) -> std::vector<Operation> {
                   const auto c = constants(q_);
                   Linear op;
                   for (const char* out_role : {"c0", "c1"}) {
                     op.items.push_back({{{eval("a0", k), 1, c, {}},
                                          {eval("a1", k), 1, c, {}},
                                          {eval("b0", k), 1, c, {}},
                                          {eval("b1", k), 1, c, {}}},
                                         eval(out_role, k),
                                         c,
                                         {}});
                   }
                   return {op};
                 }});
  out.push_back({"poly.automorphism", [=, this](int k) -> std::vector<Operation> {
                   return {Automorphism{{{{{eval("a0", k), kGalois}}, eval("b0", k)},
                                         {{{eval("a1", k), kGalois}}, eval("b1", k)}}}};
                 }});
  out.push_back({"poly.automorphism_sum4", [=, this](int k) -> std::vector<Operation> {
                   Automorphism::Item item;
                   std::uint32_t galois = kGalois;
                   for (const char* role : {"a0", "a1", "b0", "b1"}) {
                     item.terms.push_back({eval(role, k), galois});
                     galois = galois * kGalois % (2u * ring_.n());
                   }
                   item.out = eval("c0", k);
                   return {Automorphism{{item}}};
                 }});
}

void Shapes::add_products(std::vector<Case>& out) {
  const auto eval = [this](const std::string& role, int set) {
    return poly(role, set, q_, Domain::Eval);
  };
  out.push_back({"poly.tensor", [=, this](int k) -> std::vector<Operation> {
                   return {
                       Tensor{{{{{{eval("a0", k), eval("a1", k)}, {eval("b0", k), eval("b1", k)}}},
                                {eval("c0", k), eval("c1", k), eval("c2", k)}}}}};
                 }});
  out.push_back({"ckks.mul_plain", [=, this](int k) -> std::vector<Operation> {
                   return {
                       Dot{2,
                           {{eval("a0", k), eval("a1", k), {}}},
                           {{{{0, eval("f0", k)}}, {eval("c0", k), eval("c1", k), {}}, false}}}};
                 }});
  // Four giant steps over eight baby steps.
  out.push_back({"poly.dot8x4", [=, this](int k) -> std::vector<Operation> {
                   Dot op;
                   for (int i = 0; i < 8; ++i) {
                     const std::string baby = std::to_string(i);
                     op.inputs.push_back({eval("x" + baby, 0), eval("y" + baby, 0), {}});
                   }
                   for (int o = 0; o < 4; ++o) {
                     Dot::Output& output = op.outputs.emplace_back();
                     const std::string giant = std::to_string(o);
                     for (int i = 0; i < 8; ++i) {
                       output.terms.push_back({i, eval("g" + giant + std::to_string(i), 0)});
                     }
                     output.out = {eval("u" + giant, k), eval("v" + giant, k), {}};
                   }
                   return {op};
                 }});
}

void Shapes::add_lifts(std::vector<Case>& out) {
  out.push_back({"poly.mod_raise", [this](int k) -> std::vector<Operation> {
                   return {ModRaise{{{poly("m", k, range(0, 2), Domain::Coeff),
                                      poly("a0", k, q_, Domain::Coeff)}}}};
                 }});
  out.push_back({"poly.embed", [this](int k) -> std::vector<Operation> {
                   return {embed(k, poly("a0", k, q_, Domain::Coeff))};
                 }});
  out.push_back({"poly.project", [this](int k) -> std::vector<Operation> {
                   const std::size_t known = polys_.size();
                   const PolyView small = poly("small", k, q_, Domain::Coeff);
                   if (polys_.size() > known) queue_.submit(embed(k, small));
                   return {Project{{{&slot_transform_, small, 1e9, ring_.n() / 2, slots(k)}}}};
                 }});
  out.push_back({"poly.expand", [this](int k) -> std::vector<Operation> {
                   return {ExpandUniform{{{{1, 2, 3}, 7, poly("a0", k, q_, Domain::Eval)}}}};
                 }});
}

// Memory for all slots. Read as doubles, residues below 2^30 are numbers below 2.
double* Shapes::slots(int set) {
  return reinterpret_cast<double*>(poly("slots", set, range(0, 4), Domain::Coeff).limb(0));
}

Operation Shapes::embed(int set, const PolyView& out) {
  return Embed{{{&slot_transform_, slots(set), ring_.n() / 2, 0x1p30, 0, out}}};
}

void Shapes::add_transforms(std::vector<Case>& out) {
  const auto transform = [&](const char* name, Domain from, Domain to) {
    out.push_back({name, [=, this](int k) -> std::vector<Operation> {
                     return {Transform{{{poly("a0", k, q_, from), poly("b0", k, q_, to)}}}};
                   }});
  };
  transform("poly.ntt", Domain::Coeff, Domain::Eval);
  transform("poly.intt", Domain::Eval, Domain::Coeff);
  transform("poly.ntt_columns", Domain::Coeff, Domain::Half);
  transform("poly.ntt_rows", Domain::Half, Domain::Eval);
  transform("poly.intt_rows", Domain::Eval, Domain::Half);
}

Operation Shapes::mod_up(int set) {
  Convert op;
  const PolyView half = poly("half", set, q_, Domain::Half);
  for (std::size_t j = 0; j < digits_.size(); ++j) {
    op.items.push_back({up_[j].get(), half.select(digits_[j]),
                        poly("up" + std::to_string(j), set, up_[j]->to(), Domain::Half)});
  }
  return op;
}

std::vector<std::array<PolyView, 2>> Shapes::key(int set) {
  std::vector<std::array<PolyView, 2>> pairs;
  for (std::size_t j = 0; j < digits_.size(); ++j) {
    const std::string digit = std::to_string(j);
    pairs.push_back(
        {poly("kb" + digit, set, all_, Domain::Eval), poly("ka" + digit, set, all_, Domain::Eval)});
  }
  return pairs;
}

Operation Shapes::key_inner(int set) {
  KeyInner::Group group;
  KeyInner::Target target;
  const PolyView input = poly("a1", set, q_, Domain::Eval);
  for (std::size_t j = 0; j < digits_.size(); ++j) {
    group.digits.push_back({input.select(digits_[j]),
                            poly("up" + std::to_string(j), set, up_[j]->to(), Domain::Half)});
  }
  target.key = key(set);
  target.eval = {poly("e0", set, q_, Domain::Eval), poly("e1", set, q_, Domain::Eval)};
  target.half = {poly("h0", set, p_, Domain::Half), poly("h1", set, p_, Domain::Half)};
  group.targets.push_back(target);
  return KeyInner{{group}, {}};
}

// The same for the product of (a0, a1) and (b0, b1).
Operation Shapes::key_inner_product(int set) {
  const auto eval = [&](const char* role) { return poly(role, set, q_, Domain::Eval); };
  auto op = std::get<KeyInner>(key_inner(set));
  op.groups[0].product = {{eval("a0"), eval("a1")}, {eval("b0"), eval("b1")}};
  op.add_factor = constants({{0, static_cast<std::uint16_t>(ring_.prime_count())}});
  return op;
}

Operation Shapes::mod_down(int set) {
  Convert op;
  for (const char* part : {"0", "1"}) {
    op.items.push_back({down_.get(), poly(std::string("h") + part, set, p_, Domain::Half),
                        poly(std::string("d") + part, set, q_, Domain::Half)});
  }
  return op;
}

Operation Shapes::subtract(int set, std::uint32_t galois) {
  ModDownFinish op;
  for (const char* part : {"0", "1"}) {
    op.items.push_back({poly(std::string("e") + part, set, q_, Domain::Eval),
                        poly(std::string("d") + part, set, q_, Domain::Half), PolyView{},
                        poly(std::string("c") + part, set, q_, Domain::Eval), galois});
  }
  op.items[0].add = poly("a0", set, q_, Domain::Eval);
  op.factor = constants(q_);
  return op;
}

Case Shapes::rotations(int batch) {
  return {"ckks.rotate", [=, this](int k) { return switched(k, batch, false); }};
}

Case Shapes::hoisted(int count) {
  return {"ckks.rotate_hoisted", [=, this](int k) {
            const int first = k * count;
            auto inner = std::get<KeyInner>(key_inner(first));
            auto down = std::get<Convert>(mod_down(first));
            auto last = std::get<ModDownFinish>(subtract(first, kGalois));
            for (int set = first + 1; set < first + count; ++set) {
              const auto more_inner = std::get<KeyInner>(key_inner(set));
              const auto more_down = std::get<Convert>(mod_down(set));
              auto more_last = std::get<ModDownFinish>(subtract(set, kGalois));
              more_last.items[0].add = last.items[0].add;
              inner.groups[0].targets.push_back(more_inner.groups[0].targets[0]);
              down.items.insert(down.items.end(), more_down.items.begin(), more_down.items.end());
              last.items.insert(last.items.end(), more_last.items.begin(), more_last.items.end());
            }
            return std::vector<Operation>{
                Transform{
                    {{poly("a1", first, q_, Domain::Eval), poly("half", first, q_, Domain::Half)}}},
                mod_up(first), std::move(inner), std::move(down), std::move(last)};
          }};
}

std::vector<Operation> Shapes::switched(int k, int batch, bool products) {
  Transform rows;
  Convert up, down;
  KeyInner inner;
  ModDownFinish last;
  for (int set = k * batch; set < (k + 1) * batch; ++set) {
    rows.items.push_back({poly("a1", set, q_, Domain::Eval), poly("half", set, q_, Domain::Half),
                          products ? poly("b1", set, q_, Domain::Eval) : PolyView{}});
    const auto append = [](auto& to, Operation op) {
      auto from = std::get<std::decay_t<decltype(to)>>(std::move(op));
      if constexpr (std::is_same_v<std::decay_t<decltype(to)>, KeyInner>) {
        to.groups.push_back(from.groups[0]);
        to.add_factor = from.add_factor;
      } else {
        to.items.insert(to.items.end(), from.items.begin(), from.items.end());
      }
    };
    append(up, mod_up(set));
    append(inner, products ? key_inner_product(set) : key_inner(set));
    inner.groups.back().targets[0].key = key(k);
    append(down, mod_down(set));
    append(last, subtract(set, products ? 1 : kGalois));
  }
  last.factor = constants(q_);
  return {rows, up, inner, down, last};
}

std::vector<Case> Shapes::batched_passes(int batch) {
  std::vector<Case> out;
  for (const char* name : {"poly.intt_rows", "poly.mod_up", "poly.key_inner",
                           "poly.mod_switch_tile", "poly.subtract_scale"}) {
    const std::size_t pass = out.size();
    out.push_back({name, [=, this](int k) {
                     return std::vector<Operation>{switched(k, batch, false)[pass]};
                   }});
  }
  out.push_back({"poly.key_inner_product",
                 [=, this](int k) { return std::vector<Operation>{switched(k, batch, true)[2]}; }});
  out.push_back(rotations(batch));
  out.push_back({"ckks.mul_relin", [=, this](int k) { return switched(k, batch, true); }});
  return out;
}

void Shapes::add_key_switch(std::vector<Case>& out) {
  const auto rows = [this](int k) {
    return Operation(
        Transform{{{poly("a1", k, q_, Domain::Eval), poly("half", k, q_, Domain::Half)}}});
  };
  out.push_back({"poly.mod_up", [this](int k) { return std::vector<Operation>{mod_up(k)}; }});
  out.push_back({"poly.key_inner", [this](int k) { return std::vector<Operation>{key_inner(k)}; }});
  out.push_back(
      {"poly.mod_switch_tile", [this](int k) { return std::vector<Operation>{mod_down(k)}; }});
  out.push_back({"poly.mod_down", [this](int k) {
                   return std::vector<Operation>{mod_down(k), subtract(k, 1)};
                 }});
  const auto product_rows = [this](int k) {
    return Operation(Transform{{{poly("a1", k, q_, Domain::Eval), poly("half", k, q_, Domain::Half),
                                 poly("b1", k, q_, Domain::Eval)}}});
  };
  out.push_back(
      {"poly.product_rows", [=](int k) { return std::vector<Operation>{product_rows(k)}; }});
  out.push_back({"poly.key_inner_product",
                 [this](int k) { return std::vector<Operation>{key_inner_product(k)}; }});
  out.push_back({"ckks.mul_relin", [=, this](int k) {
                   return std::vector<Operation>{product_rows(k), mod_up(k), key_inner_product(k),
                                                 mod_down(k), subtract(k, 1)};
                 }});
  out.push_back(
      {"poly.subtract_scale", [this](int k) { return std::vector<Operation>{subtract(k, 1)}; }});
  out.push_back({"ckks.rotate", [=, this](int k) {
                   return std::vector<Operation>{rows(k), mod_up(k), key_inner(k), mod_down(k),
                                                 subtract(k, kGalois)};
                 }});
}

// A rescaling of both polynomials, and its passes.
void Shapes::add_rescale(std::vector<Case>& out) {
  const auto rows = [this](int k) {
    Transform op;
    for (const char* part : {"0", "1"}) {
      op.items.push_back({poly(std::string("a") + part, k, q_, Domain::Eval).select(leaving_),
                          poly(std::string("l") + part, k, leaving_, Domain::Half)});
    }
    return Operation(op);
  };
  const auto tile = [this](int k) {
    Convert op;
    for (const char* part : {"0", "1"}) {
      op.items.push_back({rescale_.get(), poly(std::string("l") + part, k, leaving_, Domain::Half),
                          poly(std::string("s") + part, k, staying_, Domain::Half)});
    }
    return Operation(op);
  };
  const auto last = [this](int k) {
    ModDownFinish op;
    for (const char* part : {"0", "1"}) {
      op.items.push_back({poly(std::string("a") + part, k, q_, Domain::Eval).select(staying_),
                          poly(std::string("s") + part, k, staying_, Domain::Half), PolyView{},
                          poly(std::string("r") + part, k, staying_, Domain::Eval), 1});
    }
    op.factor = constants(staying_);
    return Operation(op);
  };
  const auto add = [&](const char* name, auto... steps) {
    out.push_back({name, [=](int k) { return std::vector<Operation>{steps(k)...}; }});
  };
  add("poly.rescale_rows", rows);
  add("poly.rescale_tile", tile);
  add("poly.rescale_last", last);
  add("ckks.rescale", rows, tile, last);
}

}  // namespace latticino::bench
