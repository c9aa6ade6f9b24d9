#include "ckks/evaluator/evaluator.h"
#include "ckks/evaluator/scalar_inputs.h"

#include "bindings.h"

namespace latticino::python {

namespace {

using ckks::Ciphertext;
using ckks::Evaluator;
using ckks::Plaintext;
using ckks::ScalarInputs;
using Ciphertexts = std::vector<Ciphertext>;

// The functions of long vectors, several ciphertexts at once.
void bind_lists(nb::class_<Evaluator>& evaluator) {
  evaluator
      .def(
          "add",
          [](const Evaluator& e, const Ciphertexts& x, const Ciphertexts& y) {
            return e.add(x, y);
          },
          ReleaseGil())
      .def(
          "sub",
          [](const Evaluator& e, const Ciphertexts& x, const Ciphertexts& y) {
            return e.sub(x, y);
          },
          ReleaseGil())
      .def(
          "add_input",
          [](const Evaluator& e, const Ciphertexts& x, ScalarInputs& inputs, std::size_t index) {
            return e.add_scalar(x, {inputs, index});
          },
          "x"_a, "inputs"_a, "index"_a, ReleaseGil())
      .def(
          "multiply_input",
          [](const Evaluator& e, const Ciphertexts& x, ScalarInputs& inputs, std::size_t index) {
            return e.multiply_scalar(x, {inputs, index});
          },
          "x"_a, "inputs"_a, "index"_a, ReleaseGil())
      .def(
          "multiply",
          [](const Evaluator& e, const Ciphertexts& x, const Ciphertexts& y) {
            return e.multiply(x, y);
          },
          ReleaseGil())
      .def(
          "multiply_plain",
          [](const Evaluator& e, const Ciphertexts& x, const std::vector<Plaintext>& y) {
            return e.multiply(x, y);
          },
          ReleaseGil())
      .def(
          "conjugate", [](const Evaluator& e, const Ciphertexts& x) { return e.conjugate(x); },
          ReleaseGil())
      .def(
          "rotate_hoisted",
          [](const Evaluator& e, const Ciphertext& x, const std::vector<int>& r) {
            return e.rotate_hoisted(x, r);
          },
          "x"_a, "r"_a, ReleaseGil())
      .def(
          "inner_sum",
          [](const Evaluator& e, const Ciphertexts& x, int step, int count) {
            return e.inner_sum(x, step, count);
          },
          "x"_a, "step"_a, "count"_a, ReleaseGil());
}

}  // namespace

void bind_evaluator(nb::module_& m) {
  auto evaluator = nb::class_<Evaluator>(m, "Evaluator",
                                         "Computes on ciphertexts of a context with given keys.");
  evaluator
      .def(
          "__init__",
          [](Evaluator* self, ContextPtr context, std::shared_ptr<rlwe::KeySource> keys) {
            new (self) Evaluator(std::move(context), std::move(keys));
          },
          "context"_a, "keys"_a.none(),
          "Without keys (None): sums, and products with plain values.")
      .def("add",
           nb::overload_cast<const Ciphertext&, const Ciphertext&>(&Evaluator::add, nb::const_),
           ReleaseGil())
      .def("multiply_plain",
           nb::overload_cast<const Ciphertext&, const Plaintext&>(&Evaluator::multiply, nb::const_),
           ReleaseGil())
      .def(
          "dot",
          [](const Evaluator& e, const std::vector<Ciphertexts>& x,
             const std::vector<Ciphertexts>& y) { return e.dot(x, y); },
          "x"_a, "y"_a, ReleaseGil())
      .def("rotate", nb::overload_cast<const Ciphertext&, int>(&Evaluator::rotate, nb::const_),
           "x"_a, "r"_a, ReleaseGil())
      .def("inner_sum",
           nb::overload_cast<const Ciphertext&, int, int>(&Evaluator::inner_sum, nb::const_), "x"_a,
           "step"_a, "count"_a, ReleaseGil());
  bind_lists(evaluator);
}

}  // namespace latticino::python
