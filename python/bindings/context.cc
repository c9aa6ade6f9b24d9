// Contexts: parameters on a device, or on no device at all (dry).
#include "context.h"

#include <nanobind/stl/tuple.h>

#include "backend/cpu/host_pool.h"
#include "backend/cpu_choice.h"
#include "backend/idle_backend.h"
#include "backend/ranges.h"
#include "ckks/context.h"

namespace latticino::python {
namespace {

// A call on a queue may wait for a recording of another thread, whose Python code waits for the
// GIL. So the GIL is never held during such a call.
template <class Call>
auto without_gil(Call call) {
  const Released release;
  return call();
}

}  // namespace

namespace {

nb::dict as_dict(const DryReport& r) {
  nb::dict out;
  out["bytes_moved"] = r.bytes_moved;
  out["operations"] = r.operations;
  out["operations_by_name"] = nb::cast(r.operations_by_name);
  out["bytes_by_name"] = nb::cast(r.bytes_by_name);
  std::map<std::string, std::uint64_t> items;
  std::map<std::string, double> work;
  for (const auto& [name, effort] : r.effort_by_name) {
    items[name] = effort.items;
    work[name] = effort.work;
  }
  out["ciphertexts_by_name"] = nb::cast(items);
  out["work_by_name"] = nb::cast(work);
  return out;
}

}  // namespace

nb::dict report(const Queue& queue) {
  const auto [all, preparation] =
      without_gil([&] { return std::pair(queue.report(), queue.preparation()); });
  nb::dict out = as_dict(all);
  out["peak_bytes"] = all.peak_bytes;
  out["preparation"] = as_dict(preparation);
  return out;
}

double predicted(const Queue& queue, const std::string& kernels, int threads) {
  return predicted_seconds(queue.report(), session::rates_of(kernels), threads);
}

double predicted_preparation(const Queue& queue, const std::string& kernels, int threads) {
  return predicted_seconds(queue.preparation(), session::rates_of(kernels), threads);
}

nb::dict device(const Queue& queue) {
  const DeviceInfo info = without_gil([&] { return queue.device(); });
  nb::dict out;
  out["backend"] = info.backend;
  out["name"] = info.name;
  out["total_bytes"] = info.total_bytes;
  out["free_bytes"] = info.free_bytes;
  return out;
}

nb::dict observed_work(Queue& queue) {
  const Observed seen = observed(queue);
  std::map<std::string, std::pair<std::uint64_t, double>> stages;
  for (const auto& [name, stage] : seen.stages) stages[name] = {stage.count, stage.seconds};
  nb::dict out;
  out["records"] = seen.work.records;
  out["bytes_moved"] = seen.work.bytes_moved;
  out["key_switches"] = seen.work.key_switches;
  out["blind_rotations"] = seen.work.blind_rotations;
  out["stages"] = nb::cast(stages);
  return out;
}

void bind_context(nb::module_& m) {
  m.def(
      "push_range", [](const std::string& name) { push_range(name.c_str()); }, "name"_a,
      "Begins a named range of this thread for profilers of GPUs (NVTX).");
  m.def("pop_range", &pop_range);
  m.def("available_memory", &cpu::available_memory,
        "Bytes of the host's memory, or the container's, that are not in use now.");
  m.def("cuda_built", &cuda_built);
  m.def("cuda_device_count", &cuda_device_count);
  m.def("timed_gpu", &session::timed_gpu, "index"_a,
        "The rates that predict times on a GPU: of an H200, or \"cuda-h100\".");
  m.def("cuda_has_fast_doubles", &cuda_has_fast_doubles, "index"_a);
  m.def(
      "cpu_choice",
      [](int threads, bool simd) {
        const CpuChoice cpu = cpu_choice({.simd = simd, .threads = threads});
        return std::tuple(cpu.kernels, cpu.threads, cpu.usable);
      },
      "threads"_a, "simd"_a,
      "Kernels, threads, and how many of these run at once, that a context on this CPU has.");
  nb::class_<IdleCounts>(m, "IdleCounts", "What a device that computes nothing was told to do.")
      .def(nb::init<>())
      .def_ro("records", &IdleCounts::records)
      .def_ro("allocations", &IdleCounts::allocations)
      .def_ro("allocated_bytes", &IdleCounts::allocated_bytes)
      .def_ro("copies_in", &IdleCounts::copies_in)
      .def_ro("copies_out", &IdleCounts::copies_out)
      .def_ro("waits", &IdleCounts::waits)
      .def_ro("replays", &IdleCounts::replays);
  nb::class_<ckks::Context> context(m, "Context", "Parameters on a device.");
  context
      .def_static(
          "create",
          [](const ParamsPtr& params, const std::string& device, int index, int threads, bool simd,
             const std::string& tuning) {
            return ckks::Context::create(
                params, session::make_queue({device, index}, threads, simd, tuning));
          },
          "params"_a, "device"_a, "index"_a, "threads"_a, "simd"_a, "tuning"_a = "", ReleaseGil())
      .def_static(
          "create_idle",
          [](const ParamsPtr& params, const std::shared_ptr<IdleCounts>& counts) {
            return ckks::Context::create(params,
                                         std::make_unique<Queue>(make_idle_backend(counts)));
          },
          "params"_a, "counts"_a, ReleaseGil(),
          "On a device that computes nothing: for measurements of the host.")
      .def_prop_ro("params", &ckks::Context::shared_params);
  bind_queue(context);
}

}  // namespace latticino::python
