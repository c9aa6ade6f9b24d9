#include "conformance/conformance.h"

#include "bindings.h"

namespace latticino::python {
namespace {

conformance::Factory factory(const std::string& device, int index, int threads, bool simd) {
  if (device == "cuda") return [index] { return make_cuda_backend({.device = index}); };
  return [threads, simd] { return make_cpu_backend({.simd = simd, .threads = threads}); };
}

}  // namespace

void bind_conformance(nb::module_& m) {
  nb::class_<conformance::Report>(m, "ConformanceReport", "What the conformance suite compared.")
      .def_prop_ro("passed", &conformance::Report::passed)
      .def_prop_ro("failures", &conformance::Report::failures)
      .def_prop_ro("comparisons", [](const conformance::Report& r) { return r.rows.size(); })
      .def("__str__", &conformance::Report::str);
  m.def(
      "conformance",
      [](const ParamsPtr& params, const std::string& device, int index, int threads, int levels,
         bool thorough, std::uint64_t seed, int part, int parts, bool simd_oracle) {
        conformance::Options options;
        options.levels = levels;
        options.thorough = thorough;
        options.seed = seed;
        options.part = part;
        options.parts = parts;
        return conformance::run(params, factory("cpu", 0, threads, simd_oracle),
                                factory(device, index, threads, true), options);
      },
      "params"_a, "device"_a, "index"_a = 0, "threads"_a = 0, "levels"_a = 0, "thorough"_a = false,
      "seed"_a = 1, "part"_a = 0, "parts"_a = 1, "simd_oracle"_a = false, ReleaseGil());
}

}  // namespace latticino::python
