// What a server of TFHE computes, on lists of batches.
#include <optional>

#include "tfhe.h"

namespace latticino::python {
namespace {

using tfhe::Ciphertext;
using tfhe::Comparison;
using tfhe::Gate;
using tfhe::Integer;

bool truth(Gate gate, bool x, bool y) {
  switch (gate) {
    case Gate::And:
      return x && y;
    case Gate::Nand:
      return !(x && y);
    case Gate::Or:
      return x || y;
    case Gate::Nor:
      return !(x || y);
    case Gate::Xor:
      return x != y;
    case Gate::Xnor:
      return x == y;
    case Gate::AndNot:
      return x && !y;
    case Gate::NotAnd:
      return !x && y;
    case Gate::OrNot:
      return x || !y;
    case Gate::NotOr:
      return !x || y;
  }
  return false;
}

// Gates and integers behind one face: bits are booleans of a gate set, or blocks of an integer set.
class TfheEvaluator {
 public:
  TfheEvaluator(TfheContextPtr context, std::shared_ptr<const tfhe::ServerKeys> keys)
      : evaluator_(std::make_shared<const tfhe::Evaluator>(std::move(context), std::move(keys))) {
    if (!gates()) integers_.emplace(evaluator_);
  }

  TfheBatches clear(std::span<const std::uint64_t> values, int bits) const {
    if (bits > 0) return integers("clear").clear(values, bits).blocks;
    return {
        evaluator_->clear(as_messages(values), encoding_of(evaluator_->context()->params(), bits))};
  }
  TfheBatches logic(Gate gate, const TfheBatches& x, const TfheBatches& y) const {
    if (gates()) {
      const auto [a, b] = evaluator_->settled(gate, bit(x), bit(y));
      return {evaluator_->gate(gate, a, b)};
    }
    return integers("gate")
        .bitwise({x}, {y}, [gate](auto a, auto b) { return truth(gate, a & 1, b & 1) ? 1u : 0u; })
        .blocks;
  }
  // Of bits, or of all bits of integers.
  TfheBatches invert(const TfheBatches& x, bool integer) const {
    if (gates()) return {evaluator_->logical_not(bit(x))};
    const int block = evaluator_->context()->params().literal().message_bits;
    TfheBatches out;
    for (const Ciphertext& b : x) {
      out.push_back(evaluator_->complement(b, integer ? (1u << block) - 1 : 1));
    }
    return out;
  }
  TfheBatches bitwise(Gate gate, const TfheBatches& x, const TfheBatches& y) const {
    return integers("bitwise")
        .bitwise({x}, {y},
                 [gate](std::uint32_t a, std::uint32_t b) {
                   std::uint32_t out = 0;
                   for (int i = 0; i < 32; ++i) {
                     out |= static_cast<std::uint32_t>(truth(gate, a >> i & 1, b >> i & 1)) << i;
                   }
                   return out;
                 })
        .blocks;
  }
  TfheBatches compare(Comparison what, const TfheBatches& x, const TfheBatches& y) const {
    return {integers("compare").compare(what, {x}, {y})};
  }
  TfheBatches select(const TfheBatches& condition, const TfheBatches& x,
                     const TfheBatches& y) const {
    if (gates()) {
      const auto [s, a] = evaluator_->settled(Gate::And, bit(condition), bit(x));
      const auto [t, b] = evaluator_->settled(Gate::NotAnd, s, bit(y));
      return {evaluator_->mux(t, a, b)};
    }
    return integers("where").select(bit(condition), {x}, {y}).blocks;
  }
  TfheBatches rerandomize(const TfheBatches& x) const {
    TfheBatches out;
    for (const Ciphertext& block : x) out.push_back(evaluator_->rerandomized(block));
    return out;
  }
  TfheBatches sum(const std::vector<TfheBatches>& x) const {
    std::vector<Integer> terms;
    for (const TfheBatches& term : x) terms.push_back({term});
    return integers("sum").sum(terms).blocks;
  }
  TfheBatches shift(const TfheBatches& x, int bits, bool left) const {
    const tfhe::Integers& e = integers("shift");
    return (left ? e.shift_left({x}, bits) : e.shift_right({x}, bits)).blocks;
  }
  TfheBatches shift_by(const TfheBatches& x, const TfheBatches& amount, bool left) const {
    const tfhe::Integers& e = integers("shift");
    return (left ? e.shift_left({x}, Integer{amount}) : e.shift_right({x}, Integer{amount})).blocks;
  }
  // Full messages.
  TfheBatches to_full(const TfheBatches& x) const { return {integers("astype").full({x})}; }
  TfheBatches add_full(const TfheBatches& x, const TfheBatches& y) const {
    return {integers("add").add_full(bit(x), bit(y))};
  }
  TfheBatches sub_full(const TfheBatches& x, const TfheBatches& y) const {
    return {integers("sub").sub_full(bit(x), bit(y))};
  }
  TfheBatches multiply_full(const TfheBatches& x, std::int32_t factor) const {
    return {integers("multiply").multiply_full(bit(x), factor)};
  }
  std::vector<TfheBatches> lookup_full(const TfheBatches& x, const std::vector<int>& blocks,
                                       const std::vector<IntegerInput>& values) const {
    return parts_of(integers("apply").lookup_full(bit(x), functions_of(blocks, values)));
  }
  // values[t][x], a function t each; of blocks[t] 0 the results are bits, of -1 full messages.
  std::vector<TfheBatches> lookup(const TfheBatches& x, const std::vector<int>& blocks,
                                  const std::vector<IntegerInput>& values) const {
    return parts_of(integers("apply").lookup({x}, functions_of(blocks, values)));
  }
  // values[t][x * columns + y]
  std::vector<TfheBatches> lookup_pair(const TfheBatches& x, const TfheBatches& y,
                                       const std::vector<int>& blocks,
                                       const std::vector<IntegerInput>& values,
                                       std::uint64_t columns) const {
    std::vector<tfhe::Integers::PairFunction> functions;
    for (std::size_t t = 0; t < functions_in(blocks, values); ++t) {
      functions.push_back({std::max(blocks[t], 1),
                           [v = as_span(values[t]), columns](std::uint64_t a, std::uint64_t b) {
                             const std::uint64_t at = a * columns + b;
                             return b < columns && at < v.size() ? v[at] : 0;
                           },
                           of_blocks(blocks[t])});
    }
    return parts_of(integers("apply").lookup({x}, {y}, functions));
  }
  TfheBatches zero(const TfheBatches& like, int blocks) const {
    const std::vector<std::uint32_t> none(bit(like, true).size(), 0);
    return TfheBatches(static_cast<std::size_t>(blocks),
                       evaluator_->clear(none, tfhe::Encoding::Padded));
  }
  const tfhe::Integers& integers(const char* operation) const {
    if (!integers_) {
      throw ParameterError(operation,
                           "integers under the set " + evaluator_->context()->params().name(),
                           "a set of blocks", "choose one named ...-2-2-...");
    }
    return *integers_;
  }

 private:
  bool gates() const { return evaluator_->context()->params().booleans(); }
  static std::size_t functions_in(const std::vector<int>& blocks,
                                  const std::vector<IntegerInput>& values) {
    if (blocks.size() == values.size()) return values.size();
    throw ShapeError(
        "apply",
        std::to_string(values.size()) + " tables, " + std::to_string(blocks.size()) + " widths",
        "a width each", "pass as many");
  }
  static tfhe::Encoding of_blocks(int blocks) {
    return blocks < 0 ? tfhe::Encoding::Full : tfhe::Encoding::Padded;
  }
  static std::vector<tfhe::Integers::Function> functions_of(
      const std::vector<int>& blocks, const std::vector<IntegerInput>& values) {
    std::vector<tfhe::Integers::Function> functions;
    for (std::size_t t = 0; t < functions_in(blocks, values); ++t) {
      functions.push_back(
          {std::max(blocks[t], 1),
           [v = as_span(values[t])](std::uint64_t at) { return at < v.size() ? v[at] : 0; },
           of_blocks(blocks[t])});
    }
    return functions;
  }
  static std::vector<TfheBatches> parts_of(std::vector<Integer> several) {
    std::vector<TfheBatches> out;
    for (Integer& x : several) out.push_back(std::move(x.blocks));
    return out;
  }
  static const Ciphertext& bit(const TfheBatches& x, bool any = false) {
    if (x.empty() || (x.size() != 1 && !any)) {
      throw ShapeError("gate", std::to_string(x.size()) + " blocks", "booleans", "compare first");
    }
    return x[0];
  }

  std::shared_ptr<const tfhe::Evaluator> evaluator_;
  std::optional<tfhe::Integers> integers_;
};

using Binary = Integer (tfhe::Integers::*)(const Integer&, const Integer&) const;
template <Binary operation>
TfheBatches binary(const TfheEvaluator& e, const TfheBatches& x, const TfheBatches& y) {
  return (e.integers("integers").*operation)({x}, {y}).blocks;
}

void bind_enumerations(nb::module_& m) {
  nb::enum_<Gate>(m, "Gate", "Functions of two bits.")
      .value("And", Gate::And)
      .value("Nand", Gate::Nand)
      .value("Or", Gate::Or)
      .value("Nor", Gate::Nor)
      .value("Xor", Gate::Xor)
      .value("Xnor", Gate::Xnor)
      .value("AndNot", Gate::AndNot)
      .value("NotAnd", Gate::NotAnd)
      .value("OrNot", Gate::OrNot)
      .value("NotOr", Gate::NotOr);
  nb::enum_<Comparison>(m, "Comparison", "Orders of two integers.")
      .value("Less", Comparison::Less)
      .value("LessEqual", Comparison::LessEqual)
      .value("Equal", Comparison::Equal)
      .value("NotEqual", Comparison::NotEqual)
      .value("GreaterEqual", Comparison::GreaterEqual)
      .value("Greater", Comparison::Greater);
}

}  // namespace

std::shared_ptr<void> make_tfhe_evaluator(TfheContextPtr context,
                                          std::shared_ptr<const tfhe::ServerKeys> keys) {
  return std::make_shared<TfheEvaluator>(std::move(context), std::move(keys));
}

nb::object tfhe_evaluator_object(const std::shared_ptr<void>& evaluator) {
  return nb::cast(std::static_pointer_cast<TfheEvaluator>(evaluator));
}

void bind_tfhe_evaluator(nb::module_& m) {
  bind_enumerations(m);
  using E = TfheEvaluator;
  nb::class_<E>(m, "TfheEvaluator", "Computes on batches of a context with given keys.")
      .def(
          "__init__",
          [](E* self, TfheContextPtr context, std::shared_ptr<tfhe::ServerKeys> keys) {
            const Released release;
            new (self) E(std::move(context), std::move(keys));
          },
          "context"_a, "keys"_a)
      .def(
          "clear",
          [](const E& e, const IntegerInput& values, int bits) {
            return e.clear(as_span(values), bits);
          },
          "values"_a, "bits"_a, ReleaseGil())
      .def("zero", &E::zero, "like"_a, "blocks"_a, ReleaseGil())
      .def("logic", &E::logic, "gate"_a, "x"_a, "y"_a, ReleaseGil())
      .def("invert", &E::invert, "x"_a, "integer"_a, ReleaseGil())
      .def("bitwise", &E::bitwise, "gate"_a, "x"_a, "y"_a, ReleaseGil())
      .def("compare", &E::compare, "what"_a, "x"_a, "y"_a, ReleaseGil())
      .def("select", &E::select, "condition"_a, "x"_a, "y"_a, ReleaseGil())
      .def("add", &binary<&tfhe::Integers::add>, "x"_a, "y"_a, ReleaseGil())
      .def("sub", &binary<&tfhe::Integers::sub>, "x"_a, "y"_a, ReleaseGil())
      .def("multiply", &binary<&tfhe::Integers::multiply>, "x"_a, "y"_a, ReleaseGil())
      .def("minimum", &binary<&tfhe::Integers::min>, "x"_a, "y"_a, ReleaseGil())
      .def("maximum", &binary<&tfhe::Integers::max>, "x"_a, "y"_a, ReleaseGil())
      .def("rerandomize", &E::rerandomize, "x"_a, ReleaseGil())
      .def("sum", &E::sum, "x"_a, ReleaseGil())
      .def("shift", &E::shift, "x"_a, "bits"_a, "left"_a, ReleaseGil())
      .def("shift_by", &E::shift_by, "x"_a, "amount"_a, "left"_a, ReleaseGil())
      .def("to_full", &E::to_full, "x"_a, ReleaseGil())
      .def("add_full", &E::add_full, "x"_a, "y"_a, ReleaseGil())
      .def("sub_full", &E::sub_full, "x"_a, "y"_a, ReleaseGil())
      .def("multiply_full", &E::multiply_full, "x"_a, "factor"_a, ReleaseGil())
      .def("lookup_full", &E::lookup_full, "x"_a, "blocks"_a, "values"_a, ReleaseGil())
      .def("lookup", &E::lookup, "x"_a, "blocks"_a, "values"_a, ReleaseGil())
      .def("lookup_pair", &E::lookup_pair, "x"_a, "y"_a, "blocks"_a, "values"_a, "columns"_a,
           ReleaseGil());
}

}  // namespace latticino::python
