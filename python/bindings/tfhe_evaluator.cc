// The operations of a TFHE server, on lists of batches.
#include "tfhe.h"

namespace latticino::python {
namespace {

using tfhe::Comparison;
using tfhe::Gate;
using tfhe::Integer;

using session::KeylessEngine;
using session::TfheEngine;

std::vector<TfheEngine::Table> tables_of(const std::vector<IntegerInput>& values) {
  std::vector<TfheEngine::Table> out;
  out.reserve(values.size());
  for (const IntegerInput& table : values) out.push_back(as_span(table));
  return out;
}

using Binary = Integer (tfhe::Integers::*)(const Integer&, const Integer&) const;
template <Binary operation>
TfheBatches binary(const TfheEngine& e, const TfheBatches& x, const TfheBatches& y) {
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
  m.def(
      "gate_truth",
      [](Gate gate) {
        const std::array<bool, 4> values = tfhe::truth_table(gate);
        return std::vector<int>(values.begin(), values.end());
      },
      "gate"_a, "The values of a gate at (0, 0), (0, 1), (1, 0) and (1, 1).");
  nb::enum_<Comparison>(m, "Comparison", "Orders of two integers.")
      .value("Less", Comparison::Less)
      .value("LessEqual", Comparison::LessEqual)
      .value("Equal", Comparison::Equal)
      .value("NotEqual", Comparison::NotEqual)
      .value("GreaterEqual", Comparison::GreaterEqual)
      .value("Greater", Comparison::Greater);
}

}  // namespace

void bind_tfhe_evaluator(nb::module_& m) {
  bind_enumerations(m);
  nb::class_<KeylessEngine>(m, "TfheKeylessEngine",
                            "The evaluator without keys of a context, for one key at a time.")
      .def(nb::init<>())
      .def(
          "of",
          [](KeylessEngine& self, const TfheContextPtr& context, const TfheBatches& like) {
            if (like.empty()) throw ShapeError("compute", "no batches", "one or more", "pass some");
            return self.of(context, like[0].key);
          },
          "context"_a, "like"_a, ReleaseGil(),
          "For sums of ciphertexts under the key of these; what needs keys is a KeyError.");
  using E = TfheEngine;
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
      .def(
          "sum", [](const E& e, const std::vector<TfheBatches>& x) { return e.sum(x); }, "x"_a,
          ReleaseGil())
      .def("shift", &E::shift, "x"_a, "bits"_a, "left"_a, ReleaseGil())
      .def("shift_by", &E::shift_by, "x"_a, "amount"_a, "left"_a, ReleaseGil())
      .def("to_full", &E::to_full, "x"_a, ReleaseGil())
      .def("add_full", &E::add_full, "x"_a, "y"_a, ReleaseGil())
      .def("sub_full", &E::sub_full, "x"_a, "y"_a, ReleaseGil())
      .def("multiply_full", &E::multiply_full, "x"_a, "factor"_a, ReleaseGil())
      .def(
          "lookup_full",
          [](const E& e, const TfheBatches& x, const std::vector<int>& blocks,
             const std::vector<IntegerInput>& values) {
            return e.lookup_full(x, blocks, tables_of(values));
          },
          "x"_a, "blocks"_a, "values"_a, ReleaseGil())
      .def(
          "lookup",
          [](const E& e, const TfheBatches& x, const std::vector<int>& blocks,
             const std::vector<IntegerInput>& values) {
            return e.lookup(x, blocks, tables_of(values));
          },
          "x"_a, "blocks"_a, "values"_a, ReleaseGil())
      .def(
          "lookup_pair",
          [](const E& e, const TfheBatches& x, const TfheBatches& y, const std::vector<int>& blocks,
             const std::vector<IntegerInput>& values, std::uint64_t columns) {
            return e.lookup_pair(x, y, blocks, tables_of(values), columns);
          },
          "x"_a, "y"_a, "blocks"_a, "values"_a, "columns"_a, ReleaseGil());
}

}  // namespace latticino::python
