// What is known of encrypted values: ranges, errors, and the rules by which operations change them.
#include <nanobind/stl/pair.h>

#include "bindings.h"
#include "session/claims/estimate.h"

namespace latticino::python {
namespace {

using session::Claim;
using session::Estimate;
using session::name_of;
using session::Range;
using Complex = std::complex<double>;

void bind_range(nb::module_& m) {
  nb::class_<Range>(m, "Range", "Where the values of an encrypted array lie.")
      .def_static("assumed", &Range::assumed, "real"_a)
      .def_static("unit_disc", &Range::unit_disc)
      .def_static(
          "declared",
          [](double low, double high, double imag_low, double imag_high, double rms, bool random) {
            return Range::declared({low, high}, {imag_low, imag_high}, rms, random);
          },
          "low"_a, "high"_a, "imag_low"_a, "imag_high"_a, "rms"_a, "random"_a)
      .def_static(
          "of", [](const ComplexInput& values) { return Range::of(as_span(values)); }, "values"_a)
      .def_static(
          "of_number", [](Complex value) { return Range::of(value); }, "value"_a)
      .def_static(
          "rebuilt",
          [](int claim, const std::vector<double>& x, bool random) {
            Range out =
                Range::stated(claim == 0 ? Claim::Assumed : Claim::Declared, {x.at(0), x.at(1)},
                              {x.at(2), x.at(3)}, x.at(4), x.at(5), random);
            out.of_a_sample = claim == 2;
            return out;
          },
          "claim"_a, "numbers"_a, "random"_a,
          "Claims are 0 (assumed), 1 (declared), 2 (calibrated on a sample that is not at hand).")
      .def_prop_ro("claim", [](const Range& r) { return name_of(r.basis()); })
      .def_prop_ro("only_bounds", &Range::only_bounds)
      .def(
          "of_a_sample",
          [](Range r) {
            r.of_a_sample = true;
            return r;
          },
          "The same range, of values that rest on a sample which is not at hand.")
      .def_prop_ro("low", [](const Range& r) { return r.re.low; })
      .def_prop_ro("high", [](const Range& r) { return r.re.high; })
      .def_prop_ro("imag_low", [](const Range& r) { return r.im.low; })
      .def_prop_ro("imag_high", [](const Range& r) { return r.im.high; })
      .def_ro("bound", &Range::bound)
      .def_ro("rms", &Range::rms)
      .def_ro("random", &Range::random_like)
      .def_prop_ro("is_real", &Range::is_real)
      .def("contains", &Range::contains, "other"_a)
      .def("serves", &Range::serves, "other"_a)
      .def("described", &Range::described)
      .def("__str__", &Range::str);
}

void bind_estimate(nb::module_& m) {
  nb::class_<Estimate>(m, "Estimate", "Range and error of an encrypted array.")
      .def(
          "__init__",
          [](Estimate* self, const Range& range, double error) {
            new (self) Estimate{range, session::Error::fresh(error, true, false)};
          },
          "range"_a, "error"_a)
      .def_ro("range", &Estimate::range)
      .def_prop_ro("rms", [](const Estimate& e) { return e.error.rms(); });
}

}  // namespace

void bind_session(nb::module_& m) {
  bind_range(m);
  bind_estimate(m);
}

}  // namespace latticino::python
