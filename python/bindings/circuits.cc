// Linear transforms, polynomials, bootstrapping.
#include "bindings.h"
#include "ckks/bootstrap/bootstrap.h"
#include "ckks/linear_transform.h"
#include "ckks/polynomial.h"

namespace latticino::python {
namespace {

using ckks::Bootstrapper;
using ckks::BootstrapOptions;
using ckks::Ciphertext;
using ckks::Evaluator;
using ckks::LinearTransform;
using ckks::Polynomial;

void bind_linear_transform(nb::module_& m) {
  nb::class_<LinearTransform>(m, "LinearTransform", "A slot-wise matrix product by diagonals.")
      .def(
          "__init__",
          [](LinearTransform* self, const ContextPtr& context,
             const std::map<int, ComplexInput>& diagonals, int slots, int level,
             double plaintext_scale, bool hoisted) {
            ckks::Diagonals copied;
            for (const auto& [d, values] : diagonals) {
              const auto span = as_span(values);
              copied[d] = {span.begin(), span.end()};
            }
            nb::gil_scoped_release release;
            LinearTransform::Options options;
            options.level = level;
            options.plaintext_scale = plaintext_scale;
            options.hoisted = hoisted;
            new (self) LinearTransform(context, copied, slots, options);
          },
          "context"_a, "diagonals"_a, "slots"_a, "level"_a,
          "plaintext_scale"_a, "hoisted"_a = true)
      .def("apply", &LinearTransform::apply, ReleaseGil())
      .def_prop_ro("rotations", &LinearTransform::rotations)
      .def_prop_ro("bytes", &LinearTransform::bytes);
}

void bind_polynomial(nb::module_& m) {
  nb::class_<Polynomial>(m, "Polynomial", "Coefficients in the monomial or the Chebyshev basis.")
      .def(
          "__init__",
          [](Polynomial* self, const std::vector<ckks::Complex>& coefficients, bool chebyshev,
             double lower, double upper) {
            new (self) Polynomial{chebyshev ? ckks::PolynomialBasis::Chebyshev
                                            : ckks::PolynomialBasis::Monomial,
                                  coefficients, lower, upper};
          },
          "coefficients"_a, "chebyshev"_a = false, "lower"_a = -1.0, "upper"_a = 1.0)
      .def_prop_ro("degree", &Polynomial::degree)
      .def_prop_ro("depth", &Polynomial::depth);
  m.def(
      "evaluate",
      [](const Evaluator& e, const Polynomial& p, const Ciphertext& x) { return evaluate(e, p, x); },
      ReleaseGil());
}

void bind_bootstrap(nb::module_& m) {
  nb::enum_<BootstrapOptions::Message>(m, "Message", "What the slots hold: decides the EvalMod work.")
      .value("Complex", BootstrapOptions::Message::Complex)
      .value("Real", BootstrapOptions::Message::Real)
      .value("MergedReals", BootstrapOptions::Message::MergedReals);
  nb::class_<Bootstrapper>(m, "Bootstrapper", "Refreshes ciphertexts.")
      .def(
          "__init__",
          [](Bootstrapper* self, ContextPtr context, int slots, BootstrapOptions::Message message,
             bool minimal_keys) {
            nb::gil_scoped_release release;
            new (self) Bootstrapper(std::move(context),
                                    {.slots = slots, .message = message, .minimal_keys = minimal_keys});
          },
          "context"_a, "slots"_a, "message"_a, "minimal_keys"_a)
      .def("bootstrap", &Bootstrapper::bootstrap, ReleaseGil())
      .def("bootstrap_pair", &Bootstrapper::bootstrap_pair, ReleaseGil())
      .def_prop_ro("bytes", &Bootstrapper::bytes)
      .def_prop_ro("predicted_bits", [](const Bootstrapper& b) {
        const auto p = b.predicted_precision();
        return std::pair(p.mean_bits, p.max_bits);
      });
}

}  // namespace

void bind_circuits(nb::module_& m) {
  bind_linear_transform(m);
  bind_polynomial(m);
  bind_bootstrap(m);
}

}  // namespace latticino::python
