#include "ckks/evaluator.h"

#include "bindings.h"

namespace latticino::python {

void bind_evaluator(nb::module_& m) {
  using ckks::Ciphertext;
  using ckks::Complex;
  using ckks::Evaluator;
  using ckks::Plaintext;
  nb::class_<Evaluator>(m, "Evaluator", "Computes on ciphertexts of a context with given keys.")
      .def("__init__",
           [](Evaluator* self, ContextPtr context, std::shared_ptr<rlwe::KeySource> keys) {
             new (self) Evaluator(std::move(context), std::move(keys));
           },
           "context"_a, "keys"_a)
      .def("add", nb::overload_cast<const Ciphertext&, const Ciphertext&>(&Evaluator::add, nb::const_),
           ReleaseGil())
      .def("add_plain",
           nb::overload_cast<const Ciphertext&, const Plaintext&>(&Evaluator::add, nb::const_),
           ReleaseGil())
      .def("add_scalar", &Evaluator::add_scalar, ReleaseGil())
      .def("sub", nb::overload_cast<const Ciphertext&, const Ciphertext&>(&Evaluator::sub, nb::const_),
           ReleaseGil())
      .def("negate", &Evaluator::negate, ReleaseGil())
      .def("multiply",
           nb::overload_cast<const Ciphertext&, const Ciphertext&>(&Evaluator::multiply, nb::const_),
           ReleaseGil())
      .def("multiply_plain",
           nb::overload_cast<const Ciphertext&, const Plaintext&>(&Evaluator::multiply, nb::const_),
           ReleaseGil())
      .def("multiply_scalar", &Evaluator::multiply_scalar, ReleaseGil())
      .def("multiply_integer", &Evaluator::multiply_integer, ReleaseGil())
      .def("multiply_i", &Evaluator::multiply_i, "x"_a, "power"_a, ReleaseGil())
      .def("square", &Evaluator::square, ReleaseGil())
      .def("tensor", &Evaluator::tensor, ReleaseGil())
      .def("relinearize",
           nb::overload_cast<const Ciphertext&>(&Evaluator::relinearize, nb::const_), ReleaseGil())
      .def("relinearize_rescale", &Evaluator::relinearize_rescale, ReleaseGil())
      .def("rescale", nb::overload_cast<const Ciphertext&>(&Evaluator::rescale, nb::const_),
           ReleaseGil())
      .def("to_level", &Evaluator::to_level, "x"_a, "level"_a, ReleaseGil())
      .def("rotate", &Evaluator::rotate, "x"_a, "r"_a, ReleaseGil())
      .def("conjugate", &Evaluator::conjugate, ReleaseGil())
      .def(
          "rotate_hoisted",
          [](const Evaluator& e, const Ciphertext& x, const std::vector<int>& r) {
            return e.rotate_hoisted(x, r);
          },
          "x"_a, "r"_a, ReleaseGil())
      .def("inner_sum", &Evaluator::inner_sum, "x"_a, "step"_a, "count"_a, ReleaseGil());
}

}  // namespace latticino::python
