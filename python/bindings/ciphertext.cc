// Ciphertexts and plaintexts: data that Python passes around, and what turns numbers into them.
#include "ckks/ciphertext.h"

#include "bindings.h"
#include "ckks/encoder.h"
#include "math/errors.h"
#include "params/params.h"

namespace latticino::python {

ckks::Ciphertext allocate_like(const ckks::Ciphertext& like) {
  ckks::Ciphertext out = like;
  const ckks::Context& context = *like.context;
  for (Poly& part : out.parts) {
    part = context.queue().allocate(context.ring(), part.view.basis(), part.view.domain);
  }
  return out;
}

void copy_into(const ckks::Ciphertext& from, const ckks::Ciphertext& to) {
  Copy copy;
  for (std::size_t i = 0; i < from.parts.size(); ++i) {
    copy.items.push_back({from.parts[i].view, to.parts[i].view});
  }
  from.context->queue().submit(copy);
}

namespace {

// A ciphertext without data, for dry contexts: the shape of a fresh encryption.
ckks::Ciphertext shape_only(const ContextPtr& context, int level, double scale, int slots) {
  if (!context->is_dry()) {
    throw ContextError("shape_only", "a context with a device", "a dry context", "encrypt instead");
  }
  ckks::Ciphertext out{context, {}, level, scale, slots, {}};
  for (int i = 0; i < 2; ++i) {
    out.parts.push_back(context->queue().allocate(context->ring(), context->params().basis(level),
                                                  Domain::Eval));
  }
  return out;
}

// The same ciphertext seen with another slot count: more slots always hold (they repeat); fewer
// only where the caller knows that the slots repeat with that period.
ckks::Ciphertext with_slots(const ckks::Ciphertext& x, int slots) {
  const int most = x.context->params().max_slots();
  if (slots < 1 || slots > most || (slots & (slots - 1)) != 0) {
    throw ShapeError("with_slots", std::to_string(slots) + " slots",
                     "a power of two from 1 to " + std::to_string(most), "choose another count");
  }
  ckks::Ciphertext out = x;
  out.slots = slots;
  return out;
}

std::size_t bytes(const ckks::Ciphertext& x) {
  std::size_t limbs = 0;
  for (const Poly& part : x.parts) limbs += part.view.limbs();
  return limbs * x.context->params().n() * sizeof(std::uint32_t);
}

}  // namespace

void bind_ciphertext(nb::module_& m) {
  nb::class_<ckks::Ciphertext>(m, "Ciphertext", "One CKKS ciphertext: up to N/2 slots.")
      .def_ro("level", &ckks::Ciphertext::level)
      .def_ro("scale", &ckks::Ciphertext::scale)
      .def_ro("slots", &ckks::Ciphertext::slots)
      .def_prop_ro("limbs", &ckks::Ciphertext::limbs)
      .def_prop_ro("key", [](const ckks::Ciphertext& x) { return x.key.str(); })
      .def_prop_ro("part_count", [](const ckks::Ciphertext& x) { return x.parts.size(); })
      .def_prop_ro("bytes", &bytes)
      .def("with_slots", &with_slots, "slots"_a)
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
  m.def("shape_only", &shape_only, "context"_a, "level"_a, "scale"_a, "slots"_a);
}

}  // namespace latticino::python
