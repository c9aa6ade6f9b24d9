// Contexts: parameters on a device, or on no device at all (dry).
#include "ckks/context.h"

#include "bindings.h"
#include "math/errors.h"
#include "runtime/rates.h"

namespace latticino::python {
namespace {

ContextPtr create(const ParamsPtr& params, const std::string& device, int index, int threads,
                  bool simd, const std::string& tuning) {
  if (device == "cpu") {
    auto backend = make_cpu_backend({.simd = simd, .threads = threads});
    return ckks::Context::create(params, std::make_unique<Queue>(std::move(backend)));
  }
  if (device == "cuda") {
    auto backend = make_cuda_backend({.device = index, .tuning_file = tuning});
    return ckks::Context::create(params, std::make_unique<Queue>(std::move(backend)));
  }
  throw DeviceError("Context", "device \"" + device + "\"", "\"cpu\" or \"cuda\"",
                    "name one of them");
}

// Calls on a queue wait for other threads' recordings, whose Python code waits for the GIL: it is
// never held meanwhile.
template <class Call>
auto without_gil(Call call) {
  const nb::gil_scoped_release release;
  return call();
}

// What a dry run has counted, as plain Python values.
nb::dict report(const ckks::Context& context) {
  const DryReport r = without_gil([&] { return context.queue().report(); });
  nb::dict out;
  out["bytes_moved"] = r.bytes_moved;
  out["operations"] = r.operations;
  out["peak_bytes"] = r.peak_bytes;
  out["operations_by_name"] = nb::cast(r.operations_by_name);
  out["bytes_by_name"] = nb::cast(r.bytes_by_name);
  return out;
}

double predicted(const ckks::Context& context, bool cuda, int threads) {
  const DryReport report = context.queue().report();
  return cuda ? predicted_seconds(report, cuda_rates())
              : predicted_seconds(report, cpu_rates(), threads);
}

nb::dict device(const ckks::Context& context) {
  const DeviceInfo info = without_gil([&] { return context.queue().device(); });
  nb::dict out;
  out["backend"] = info.backend;
  out["name"] = info.name;
  out["total_bytes"] = info.total_bytes;
  out["free_bytes"] = info.free_bytes;
  return out;
}

}  // namespace

void bind_context(nb::module_& m) {
  m.def("cuda_built", &cuda_built);
  m.def("cuda_device_count", &cuda_device_count);
  nb::class_<ckks::Context>(m, "Context", "Parameters on a device.")
      .def_static("create", &create, "params"_a, "device"_a, "index"_a, "threads"_a, "simd"_a,
                  "tuning"_a = "", ReleaseGil())
      .def_static("create_dry", &ckks::Context::create_dry, "params"_a, ReleaseGil())
      .def_prop_ro("params", &ckks::Context::shared_params)
      .def_prop_ro("is_dry", &ckks::Context::is_dry)
      .def_prop_ro("device", &device)
      .def_prop_ro("report", &report)
      .def("predicted_seconds", &predicted, "cuda"_a, "threads"_a,
           "What a dry run has counted, at the rates of the machine measured for that kind of "
           "device.",
           ReleaseGil())
      .def_prop_ro(
          "live_bytes", [](const ckks::Context& c) { return c.queue().live_bytes(); }, ReleaseGil())
      .def_prop_ro(
          "peak_bytes", [](const ckks::Context& c) { return c.queue().peak_bytes(); }, ReleaseGil())
      .def(
          "reset_peak", [](const ckks::Context& c) { c.queue().reset_peak(); }, ReleaseGil())
      .def(
          "synchronize", [](const ckks::Context& c) { c.queue().synchronize(); }, ReleaseGil());
}

}  // namespace latticino::python
