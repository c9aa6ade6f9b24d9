// Linear transforms, polynomials, bootstrapping.
#include <nanobind/stl/tuple.h>

#include <cmath>

#include "bindings.h"
#include "ckks/bootstrap/bootstrap.h"
#include "ckks/bootstrap/choice.h"
#include "ckks/linear/block_transform.h"
#include "ckks/linear/matrix.h"
#include "ckks/polynomial/polynomial.h"
#include "math/errors.h"

namespace latticino::python {
namespace {

using ckks::BlockTransform;
using ckks::BootstrapOptions;
using ckks::Bootstrapper;
using ckks::Ciphertext;
using ckks::Evaluator;
using ckks::LinearTransform;
using ckks::MatrixProduct;
using ckks::Polynomial;
using ckks::bootstrap::Choice;
using MatrixInput =
    nb::ndarray<const std::complex<double>, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

void bind_transform(nb::module_& m) {
  nb::class_<LinearTransform>(
      m, "LinearTransform",
      "A sparse linear map of slots by its diagonals; see ckks/linear/linear_transform.h.")
      .def(
          "__init__",
          [](LinearTransform* self, const ContextPtr& context, const std::vector<int>& indices,
             const MatrixInput& diagonals, int level, bool light) {
            if (indices.size() != diagonals.shape(0)) {
              throw ShapeError("ckks.LinearTransform", std::to_string(indices.size()) + " indices",
                               std::to_string(diagonals.shape(0)) + ", one of each diagonal",
                               "check the diagonals");
            }
            const int slots = static_cast<int>(diagonals.shape(1));
            ckks::Diagonals given;
            for (std::size_t k = 0; k < indices.size(); ++k) {
              const ckks::Complex* first = diagonals.data() + k * diagonals.shape(1);
              given[indices[k]] = std::vector<ckks::Complex>(first, first + slots);
            }
            const Released release;
            LinearTransform::Options options;
            options.level = level;
            options.compact = light;
            new (self) LinearTransform(context, given, slots, options);
          },
          "context"_a, "indices"_a, "diagonals"_a, "level"_a, "light"_a = false,
          "`light`: diagonals are kept as integers, and expanded at each use.")
      .def_static(
          "unknown",
          [](const ContextPtr& context, const std::vector<int>& indices, int slots, int level,
             bool light) {
            const Released release;
            LinearTransform::Options options;
            options.level = level;
            options.compact = light;
            return LinearTransform(context, indices, slots, options);
          },
          "context"_a, "indices"_a, "slots"_a, "level"_a, "light"_a = false,
          "One of a dry context, from diagonals of which no value is known.")
      .def("apply",
           nb::overload_cast<const Evaluator&, const Ciphertext&>(&LinearTransform::apply,
                                                                  nb::const_),
           "evaluator"_a, "x"_a, ReleaseGil())
      .def_prop_ro("rotations", &LinearTransform::rotations)
      .def_prop_ro("bytes", &LinearTransform::bytes);
}

void bind_blocks(nb::module_& m) {
  nb::class_<BlockTransform>(m, "BlockTransform",
                             "A linear map of the slots of several ciphertexts to those of several "
                             "others; see ckks/linear/block_transform.h.")
      .def(
          "__init__",
          [](BlockTransform* self, const ContextPtr& context,
             const std::vector<std::tuple<int, int, std::vector<int>>>& blocks, int sources,
             int targets, int slots, int level, bool light) {
            std::vector<BlockTransform::Block> given;
            given.reserve(blocks.size());
            for (const auto& [target, source, rotations] : blocks) {
              given.push_back({target, source, rotations});
            }
            const Released release;
            new (self)
                BlockTransform(context, std::move(given), sources, targets, slots, level, light);
          },
          "context"_a, "blocks"_a, "sources"_a, "targets"_a, "slots"_a, "level"_a,
          "light"_a = false)
      .def(
          "encode",
          [](BlockTransform& self, int block, int first, const MatrixInput& diagonals) {
            const std::span<const ckks::Complex> values(diagonals.data(), diagonals.size());
            const Released release;
            self.encode(block, first, values);
          },
          "block"_a, "first"_a, "diagonals"_a)
      .def("encode_unknown", &BlockTransform::encode_unknown, "block"_a, "first"_a, "count"_a,
           ReleaseGil())
      .def(
          "apply",
          [](const BlockTransform& self, const Evaluator& e, const std::vector<Ciphertext>& x) {
            return self.apply(e, x);
          },
          "evaluator"_a, "x"_a, ReleaseGil())
      .def_prop_ro("rotations", &BlockTransform::rotations)
      .def_prop_ro("babies", &BlockTransform::babies)
      .def_prop_ro("giants", &BlockTransform::giants)
      .def_prop_ro("bytes", &BlockTransform::bytes)
      .def_prop_ro("working_bytes", &BlockTransform::working_bytes);
}

void bind_matrix(nb::module_& m) {
  nb::class_<MatrixProduct>(m, "MatrixProduct",
                            "x @ W for a packed vector; see ckks/linear/matrix.h.")
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
      .def_prop_ro("depth", &Polynomial::depth, "The levels without that of the interval.")
      .def_prop_ro("levels", &Polynomial::levels)
      .def_prop_ro("products", &ckks::product_count);
}

void bind_bootstrap(nb::module_& m) {
  nb::enum_<BootstrapOptions::Message>(m, "Message",
                                       "What the slots hold: decides the EvalMod work.")
      .value("Complex", BootstrapOptions::Message::Complex)
      .value("Real", BootstrapOptions::Message::Real)
      .value("MergedReals", BootstrapOptions::Message::MergedReals);
  nb::class_<Bootstrapper>(m, "Bootstrapper", "Refreshes ciphertexts.")
      .def_prop_ro("bytes", &Bootstrapper::bytes)
      .def_prop_ro("input_level", &Bootstrapper::input_level)
      .def_prop_ro("output_level", &Bootstrapper::output_level)
      .def_prop_ro(
          "noise",
          [](const Bootstrapper& b) {
            const bool halved = b.options().message != BootstrapOptions::Message::Complex;
            return std::sqrt(b.noise().total() / (halved ? 2 : 1));
          },
          "Root mean square of what is added to a slot, without the sine's part.")
      .def_prop_ro("predicted_bits", [](const Bootstrapper& b) {
        const auto p = b.predicted_precision();
        return std::pair(p.mean_bits, p.max_bits);
      });
  nb::class_<Choice>(m, "BootstrapChoice", "The form of bootstrapping that was chosen, and why.")
      .def_prop_ro("over_mod_raise", [](const Choice& c) { return c.options.over_mod_raise; })
      .def_prop_ro("slot_to_coeff_first",
                   [](const Choice& c) { return c.options.slot_to_coeff_first; })
      .def_prop_ro("arcsine", [](const Choice& c) { return c.options.arcsine; })
      .def_prop_ro("log_message_ratio", [](const Choice& c) { return c.options.log_message_ratio; })
      .def_ro("input_level", &Choice::input_level)
      .def_ro("output_level", &Choice::output_level)
      .def_prop_ro(
          "predicted_bits",
          [](const Choice& c) { return std::pair(c.predicted.mean_bits, c.predicted.max_bits); })
      .def_ro("reason", &Choice::reason);
}

}  // namespace

void bind_circuits(nb::module_& m) {
  bind_transform(m);
  bind_blocks(m);
  bind_matrix(m);
  bind_polynomial(m);
  bind_bootstrap(m);
}

}  // namespace latticino::python
