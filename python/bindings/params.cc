#include "params/params.h"

#include <nanobind/stl/tuple.h>

#include <tuple>

#include "bindings.h"
#include "ckks/bootstrap/explain.h"
#include "ckks/linear/linear_transform.h"
#include "params/own/request.h"
#include "params/security.h"
#include "rlwe/noise.h"
#include "session/claims/slot_noise.h"

namespace latticino::python {

namespace {

// A function of a level. The level may be any integer of Python.
template <class Result>
auto at_level(const char* name, Result (Params::*function)(int) const) {
  return [name, function](const Params& params, nb::handle level) {
    int known = 0;
    if (nb::try_cast(level, known, false) && known >= 0 && known <= params.top_level()) {
      return (params.*function)(known);
    }
    const nb::object as_integer = nb::module_::import_("latticino.arrays").attr("as_integer");
    const nb::object value = as_integer(level, name, "level", 0, params.top_level());
    return (params.*function)(nb::cast<int>(value));
  };
}

// For each kind of message, the bits of the mean error and of the largest error.
std::map<std::string, std::pair<double, double>> precision(const Params& p) {
  const BootstrapPrecision b = p.bootstrap_precision();
  const auto bits = [](const PrecisionBits& x) { return std::pair(x.mean, x.max); };
  return {{"random", bits(b.random)},
          {"spike", bits(b.spike)},
          {"constant", bits(b.constant)},
          {"alternating", bits(b.alternating)}};
}

void bind_facts(nb::class_<Params>& c) {
  c.def_prop_ro("name", &Params::name, "The name, versioned.")
      .def_prop_ro("hash", &Params::hash, "SHA-256 of the canonical text, in hex.")
      .def_prop_ro("log_n", &Params::log_n, "log2 of the ring degree N.")
      .def_prop_ro("n", &Params::n, "The ring degree N.")
      .def_prop_ro("max_slots", &Params::max_slots, "Values that one ciphertext holds: N/2.")
      .def_prop_ro("alpha", &Params::alpha, "Primes of a key-switching digit, and of P.")
      .def_prop_ro("dnum", &Params::dnum, "Key-switching digits at the top level.")
      .def_prop_ro("top_level", &Params::top_level, "The highest level, bootstrapping included.")
      .def_prop_ro("default_level", &Params::default_level, "Level of fresh ciphertexts.")
      .def_prop_ro(
          "log_scale", [](const Params& p) { return p.literal().log_scale; },
          "log2 of the scale at level 0.")
      .def_prop_ro("log_pq", &Params::log_pq,
                   "log2 of the widest modulus of a key, which security depends on.")
      .def_prop_ro("log_q_max", &Params::log_q_max, "log2 of the ciphertext modulus at the top.")
      .def_prop_ro("log_p", &Params::log_p, "log2 of the key-switching modulus P.")
      .def_prop_ro("scale_drift", &Params::scale_drift,
                   "Largest deviation of a level's scale from its target, in bits.")
      .def_prop_ro("switching_key_bytes", &Params::switching_key_bytes,
                   "Memory of one evaluation key for the top level.")
      .def_prop_ro(
          "hamming_weight", [](const Params& p) { return p.literal().hamming_weight; },
          "Hamming weight of the secret; 0: uniform ternary.")
      .def_prop_ro(
          "secure",
          [](const Params& p) { return p.literal().security == ParamsLiteral::Security::Bits128; },
          "Whether the set is held to the 128-bit table.")
      .def("security_bits", &security_bits, "quantum"_a = false,
           "Bits of the strongest table that admits the keys, classical or against quantum "
           "computers: 256, 192 or 128; 0 for none. With bootstrapping 128, classical.");
}

void bind_bootstrapping(nb::class_<Params>& c) {
  c.def_prop_ro(
       "has_bootstrap", [](const Params& p) { return p.bootstrap().has_value(); },
       "Whether the set has the levels of bootstrapping.")
      .def_prop_ro(
          "has_arcsine", [](const Params& p) { return p.bootstrap() && p.bootstrap()->arcsine; },
          "Whether bootstrapping corrects the error of its sine in large coefficients.")
      .def_prop_ro(
          "log_message_ratio",
          [](const Params& p) { return p.bootstrap() ? p.bootstrap()->log_message_ratio : 0; },
          "Bits by which raised messages lie below the modulus of level 0.")
      .def_prop_ro("level_after_bootstrap", &Params::level_after_bootstrap,
                   "Levels left after bootstrapping; ParameterError without it.")
      .def_prop_ro("bootstrap_log_failure", &Params::bootstrap_log_failure,
                   "log2 of the probability that one bootstrapping of full slots is wrong.")
      .def_prop_ro(
          "bootstrap_precision", &precision,
          "Predicted bits (of the mean error, of the largest in 20 runs) by message: random, "
          "spike, constant, alternating.");
}

// Errors of slots (session/claims/slot_noise.h), for estimates.
void bind_noise(nb::module_& m) {
  m.def(
      "fresh_variance",
      [](const Params& p, bool open) {
        return open ? rlwe::fresh_public_variance(p) : rlwe::fresh_symmetric_variance();
      },
      "params"_a, "public"_a);
  m.def("fresh_error", &session::fresh_error, "params"_a, "scale"_a, "slots"_a, "public"_a = false,
        "The error of a fresh encryption under the secret key, or under the public one.");
  m.def("rescaled_error", &session::rescaled_error, "params"_a, "level"_a, "slots"_a, "scale"_a,
        "What a division from `level` to the level below adds, at the scale there.");
  m.def("switched_error", &session::switched_error, "params"_a, "level"_a, "slots"_a, "scale"_a,
        "What a key switch at `level` adds: a rotation or a conjugation.");
  m.def("multiplied_error", &session::multiplied_error, "params"_a, "level"_a, "slots"_a, "scale"_a,
        "What a key switch adds that goes to the level below, at the scale there: a product.");
  m.def("key_error_alone", &session::key_error_alone, "params"_a, "level"_a, "slots"_a, "scale"_a,
        "The part of `switched_error` that comes from the errors of the key, without the division "
        "by P after it: what rotations leave that share one division (a matrix product's).");
  m.def("encoded_error", &session::encoded_error, "slots"_a, "scale"_a,
        "What rounding plain values at `scale` adds: 1/12 for each of 2 n coefficients.");
  m.def("weight_scale", &ckks::weight_scale, "params"_a, "level"_a,
        "The scale of weights that multiply ciphertexts at `level` in linear maps.");
  m.def("doubling", &session::doubling, "count"_a,
        "How often the error of one key switch counts where `count` parts of the slots are added "
        "up.");
}

}  // namespace

void bind_params(nb::module_& m) {
  nb::class_<Params> c(m, "Params", "Checked, immutable parameters.");
  bind_facts(c);
  bind_bootstrapping(c);
  c.def("limbs", at_level("limbs", &Params::limbs), "level"_a.none(),
        nb::sig("def limbs(self, level: int) -> int"), "Primes of a ciphertext at a level.")
      .def("scale", at_level("scale", &Params::scale), "level"_a.none(),
           nb::sig("def scale(self, level: int) -> float"),
           "What values are multiplied by at a level.")
      .def("rescale_factor", at_level("rescale_factor", &Params::rescale_factor), "level"_a.none(),
           nb::sig("def rescale_factor(self, level: int) -> float"),
           "What a product is divided by on its way to the level below.")
      .def("log_q", at_level("log_q", &Params::log_q), "level"_a.none(),
           nb::sig("def log_q(self, level: int) -> float"),
           "log2 of the ciphertext modulus at a level.")
      .def("message_bound", at_level("message_bound", &Params::message_bound), "level"_a.none(),
           nb::sig("def message_bound(self, level: int) -> float"),
           "The largest size that a coefficient of a message may have at a level.")
      .def("canonical_text", &Params::canonical_text, "What files hold and `hash` is of.")
      .def("explain", &ckks::bootstrap::explain, ReleaseGil(),
           "Everything about the set, as a table for people, and what bootstrapping does by "
           "default.");
  m.def("preset", &preset, "name"_a);
  m.def(
      "make_params",
      [](std::int64_t n, double log_scale, std::optional<std::vector<double>> level_log_scale,
         std::int64_t levels, std::int64_t word, bool bootstrapping, std::int64_t dnum,
         std::int64_t hamming_weight, std::int64_t security, bool quantum,
         const std::string& name) {
        return make_params({n, log_scale, std::move(level_log_scale), levels, word, bootstrapping,
                            dnum, hamming_weight, security, quantum, name});
      },
      "n"_a, "log_scale"_a, "level_log_scale"_a.none(), "levels"_a, "word"_a, "bootstrapping"_a,
      "dnum"_a, "hamming_weight"_a, "security"_a, "quantum"_a, "name"_a, ReleaseGil());
  m.def("preset_names", &preset_names);
  bind_noise(m);
}

}  // namespace latticino::python
