// Ciphertexts and plaintexts, which Python passes around, and the functions that make them from
// numbers.
#include "ckks/ciphertext.h"

#include "bindings.h"
#include "ckks/encoding/encoder.h"
#include "session/ckks/host.h"

namespace latticino::python {

void bind_ciphertext(nb::module_& m) {
  nb::class_<ckks::Ciphertext>(m, "Ciphertext", "One CKKS ciphertext: up to N/2 slots.")
      .def_ro("level", &ckks::Ciphertext::level)
      .def_ro("scale", &ckks::Ciphertext::scale)
      .def_ro("slots", &ckks::Ciphertext::slots)
      .def_prop_ro("limbs", &ckks::Ciphertext::limbs)
      .def_prop_ro("key", [](const ckks::Ciphertext& x) { return x.key.str(); })
      .def_prop_ro("bytes", &session::bytes_of)
      .def("with_slots", &session::with_slots, "slots"_a)
      .def("__repr__", &ckks::Ciphertext::str);
  nb::class_<ckks::Plaintext>(m, "Plaintext", "An encoded vector.")
      .def_ro("level", &ckks::Plaintext::level)
      .def_ro("scale", &ckks::Plaintext::scale)
      .def_ro("slots", &ckks::Plaintext::slots)
      .def_ro("extended", &ckks::Plaintext::extended)
      .def_prop_ro("nbytes", [](const ckks::Plaintext& x) { return x.poly.buffer->bytes(); });
  m.def(
      "encode",
      [](const ContextPtr& context, const ComplexInput& values, int level, double scale) {
        return ckks::encode(context, as_span(values), level, scale);
      },
      "context"_a, "values"_a, "level"_a, "scale"_a, ReleaseGil());
  m.def(
      "encode_all",
      [](const ContextPtr& context, const ComplexRows& values, int level, double scale) {
        std::vector<ckks::Values> rows;
        for (std::size_t i = 0; i < values.shape(0); ++i) {
          rows.push_back({values.data() + i * values.shape(1), values.shape(1)});
        }
        return ckks::encode_all(context, rows, level, scale);
      },
      "context"_a, "values"_a, "level"_a, "scale"_a, ReleaseGil());
  m.def("decode", [](const ckks::Plaintext& x) {
    std::vector<ckks::Complex> values;
    {
      const Released release;
      values = ckks::decode(x);
    }
    return to_numpy(std::move(values));
  });
  m.def("shape_only", &session::shape_only, "context"_a, "level"_a, "scale"_a, "slots"_a);
}

}  // namespace latticino::python
