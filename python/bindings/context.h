// Functions of contexts of both schemes that concern their queue.
#pragma once

#include "bindings.h"
#include "runtime/observe.h"
#include "runtime/queue.h"
#include "runtime/rates.h"
#include "session/device.h"

namespace latticino::python {

// The counts of a dry run, with those of making constants under "preparation", and the device, as
// plain Python values.
nb::dict report(const Queue& queue);
nb::dict device(const Queue& queue);
// The counts of an observed queue so far (runtime/observe.h).
nb::dict observed_work(Queue& queue);
// `kernels`: "cuda", or the name of CPU kernels (CpuChoice).
double predicted(const Queue& queue, const std::string& kernels, int threads);
// The part of it that makes constants, which exist already when a recording is replayed.
double predicted_preparation(const Queue& queue, const std::string& kernels, int threads);

template <class Context>
void bind_queue(nb::class_<Context>& c) {
  c.def_prop_ro("is_dry", &Context::is_dry)
      .def_prop_ro("device", [](const Context& x) { return device(x.queue()); })
      .def_prop_ro("report", [](const Context& x) { return report(x.queue()); })
      .def(
          "predicted_seconds",
          [](const Context& x, const std::string& kernels, int threads) {
            return predicted(x.queue(), kernels, threads);
          },
          "kernels"_a, "threads"_a,
          "What a dry run has counted, at the rates of the machine measured for \"cuda\", or for "
          "these kernels of a CPU and so many threads at once.",
          ReleaseGil())
      .def(
          "predicted_preparation",
          [](const Context& x, const std::string& kernels, int threads) {
            return predicted_preparation(x.queue(), kernels, threads);
          },
          "kernels"_a, "threads"_a,
          "The part of predicted_seconds that makes constants, which replays find made.",
          ReleaseGil())
      .def(
          "note_allocations", [](const Context& x) { x.queue().note_allocations(); },
          "Of a dry run: from here on it notes what is allocated, for arena_bytes.", ReleaseGil())
      .def_prop_ro(
          "arena_bytes", [](const Context& x) { return x.queue().arena_bytes(); },
          "Memory that a recording of what was noted keeps for itself.", ReleaseGil())
      .def_prop_ro(
          "recording", [](const Context& x) { return x.queue().recording(); },
          "Whether this thread records a program now.", ReleaseGil())
      .def_prop_ro(
          "live_bytes", [](const Context& x) { return x.queue().live_bytes(); }, ReleaseGil())
      .def_prop_ro(
          "peak_bytes", [](const Context& x) { return x.queue().peak_bytes(); }, ReleaseGil())
      .def_prop_ro(
          "device_peak_bytes", [](const Context& x) { return x.queue().device_memory().peak; },
          "The same as the device counts it, with scratch and rounded blocks.", ReleaseGil())
      .def(
          "reset_peak", [](const Context& x) { x.queue().reset_peak(); }, ReleaseGil())
      .def(
          "clear_unused", [](const Context& x) { x.queue().clear_unused(); },
          "Sets memory that is kept for reuse to zero.", ReleaseGil())
      .def(
          "observe", [](const Context& x, bool on) { observe(x.queue(), on); }, "on"_a,
          "Starts counting what the device does from zero, or ends it.", ReleaseGil())
      .def_prop_ro(
          "observed", [](const Context& x) { return observed_work(x.queue()); },
          "Records, key switches, blind rotations, bytes moved, and seconds of stages by name.")
      .def(
          "synchronize", [](const Context& x) { x.queue().synchronize(); }, ReleaseGil());
}

}  // namespace latticino::python
