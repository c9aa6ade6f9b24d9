// Linear transforms, polynomials, bootstrapping.
#include <cmath>

#include "bindings.h"
#include "ckks/bootstrap/bootstrap.h"
#include "ckks/matrix.h"
#include "ckks/polynomial.h"

namespace latticino::python {
namespace {

using ckks::BootstrapOptions;
using ckks::Bootstrapper;
using ckks::Ciphertext;
using ckks::Evaluator;
using ckks::LinearTransform;
using ckks::MatrixProduct;
using ckks::Polynomial;
using MatrixInput =
    nb::ndarray<const std::complex<double>, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

void bind_matrix(nb::module_& m) {
  nb::class_<MatrixProduct>(m, "MatrixProduct", "x @ W for a packed vector; see ckks/matrix.h.")
      .def(
          "__init__",
          [](MatrixProduct* self, const ContextPtr& context, const MatrixInput& w, int slots,
             int level) {
            const std::span<const ckks::Complex> values(w.data(), w.size());
            const int rows = static_cast<int>(w.shape(0)), columns = static_cast<int>(w.shape(1));
            const Released release;
            LinearTransform::Options options;
            options.level = level;
            new (self) MatrixProduct(context, values, rows, columns, slots, options);
          },
          "context"_a, "matrix"_a, "slots"_a, "level"_a)
      .def("apply", &MatrixProduct::apply, "evaluator"_a, "x"_a, ReleaseGil())
      .def_prop_ro("output_period", &MatrixProduct::output_period)
      .def_prop_ro("bytes", &MatrixProduct::bytes);
}

void bind_polynomial(nb::module_& m) {
  nb::class_<Polynomial>(m, "Polynomial", "Coefficients in the monomial or the Chebyshev basis.")
      .def(
          "__init__",
          [](Polynomial* self, const std::vector<ckks::Complex>& coefficients, bool chebyshev,
             double lower, double upper) {
            new (self) Polynomial{
                chebyshev ? ckks::PolynomialBasis::Chebyshev : ckks::PolynomialBasis::Monomial,
                coefficients, lower, upper};
          },
          "coefficients"_a, "chebyshev"_a = false, "lower"_a = -1.0, "upper"_a = 1.0)
      .def_prop_ro("degree", &Polynomial::degree)
      .def_prop_ro("levels", &Polynomial::levels);
  m.def(
      "evaluate",
      [](const Evaluator& e, const Polynomial& p, const std::vector<Ciphertext>& x) {
        return evaluate(e, p, x);
      },
      "evaluator"_a, "polynomial"_a, "x"_a, ReleaseGil());
}

void bind_bootstrap(nb::module_& m) {
  nb::enum_<BootstrapOptions::Message>(m, "Message",
                                       "What the slots hold: decides the EvalMod work.")
      .value("Complex", BootstrapOptions::Message::Complex)
      .value("Real", BootstrapOptions::Message::Real)
      .value("MergedReals", BootstrapOptions::Message::MergedReals);
  nb::class_<Bootstrapper>(m, "Bootstrapper", "Refreshes ciphertexts.")
      .def(
          "__init__",
          [](Bootstrapper* self, ContextPtr context, int slots, BootstrapOptions::Message message,
             bool minimal_keys, bool slot_to_coeff_first, bool over_mod_raise) {
            const Released release;
            new (self) Bootstrapper(std::move(context), {.slots = slots,
                                                         .message = message,
                                                         .minimal_keys = minimal_keys,
                                                         .slot_to_coeff_first = slot_to_coeff_first,
                                                         .over_mod_raise = over_mod_raise});
          },
          "context"_a, "slots"_a, "message"_a, "minimal_keys"_a, "slot_to_coeff_first"_a = false,
          "over_mod_raise"_a = false)
      .def("bootstrap", &Bootstrapper::bootstrap, ReleaseGil())
      .def("bootstrap_pair", &Bootstrapper::bootstrap_pair, ReleaseGil())
      .def_prop_ro("bytes", &Bootstrapper::bytes)
      .def_prop_ro("input_level", &Bootstrapper::input_level)
      .def_prop_ro("output_level", &Bootstrapper::output_level)
      .def_prop_ro("message_ratio", &Bootstrapper::message_ratio)
      .def(
          "noise",
          [](const Bootstrapper& b, const Params& params) {
            const BootstrapOptions& o = b.options();
            const int slots = o.slots == 0 ? params.max_slots() : o.slots;
            const BootstrapNoise noise =
                o.slot_to_coeff_first ? params.bootstrap_noise_slots_first(slots, b.message_ratio())
                                      : params.bootstrap_noise(slots);
            const bool halved = o.message != BootstrapOptions::Message::Complex;
            return std::sqrt(noise.total() / (halved ? 2 : 1));
          },
          "params"_a, "Root mean square of what is added to a slot, without the sine's part.")
      .def_prop_ro("predicted_bits", [](const Bootstrapper& b) {
        const auto p = b.predicted_precision();
        return std::pair(p.mean_bits, p.max_bits);
      });
}

}  // namespace

void bind_circuits(nb::module_& m) {
  bind_matrix(m);
  bind_polynomial(m);
  bind_bootstrap(m);
}

}  // namespace latticino::python
