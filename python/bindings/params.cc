#include "params/params.h"

#include "bindings.h"

namespace latticino::python {

void bind_params(nb::module_& m) {
  nb::class_<Params>(m, "Params", "Checked, immutable parameters.")
      .def_prop_ro("name", &Params::name)
      .def_prop_ro("hash", &Params::hash)
      .def_prop_ro("log_n", &Params::log_n)
      .def_prop_ro("n", &Params::n)
      .def_prop_ro("max_slots", &Params::max_slots)
      .def_prop_ro("alpha", &Params::alpha)
      .def_prop_ro("dnum", &Params::dnum)
      .def_prop_ro("top_level", &Params::top_level)
      .def_prop_ro("default_level", &Params::default_level)
      .def_prop_ro("log_scale", [](const Params& p) { return p.literal().log_scale; })
      .def_prop_ro("log_pq", &Params::log_pq)
      .def_prop_ro("log_q_max", &Params::log_q_max)
      .def_prop_ro("log_p", &Params::log_p)
      .def_prop_ro("scale_drift", &Params::scale_drift)
      .def_prop_ro("has_bootstrap", [](const Params& p) { return p.bootstrap().has_value(); })
      .def_prop_ro("level_after_bootstrap", &Params::level_after_bootstrap)
      .def_prop_ro("bootstrap_log_failure", &Params::bootstrap_log_failure)
      .def_prop_ro("bootstrap_precision",
                   [](const Params& p) {
                     const BootstrapPrecision b = p.bootstrap_precision();
                     using Bits = std::pair<double, double>;  // of the mean, of the largest error
                     const auto bits = [](const PrecisionBits& x) { return Bits(x.mean, x.max); };
                     return std::map<std::string, Bits>{{"random", bits(b.random)},
                                                        {"spike", bits(b.spike)},
                                                        {"constant", bits(b.constant)},
                                                        {"alternating", bits(b.alternating)}};
                   })
      .def_prop_ro("switching_key_bytes", &Params::switching_key_bytes)
      .def_prop_ro("hamming_weight", [](const Params& p) { return p.literal().hamming_weight; })
      .def_prop_ro("secure",
                   [](const Params& p) {
                     return p.literal().security == ParamsLiteral::Security::Bits128;
                   })
      .def("limbs", &Params::limbs, "level"_a)
      .def("scale", &Params::scale, "level"_a)
      .def("rescale_factor", &Params::rescale_factor, "level"_a)
      .def("log_q", &Params::log_q, "level"_a)
      .def("message_bound", &Params::message_bound, "level"_a)
      .def("canonical_text", &Params::canonical_text)
      .def("explain", &Params::explain);
  m.def("preset", &preset, "name"_a);
  m.def("preset_names", &preset_names);
}

}  // namespace latticino::python
