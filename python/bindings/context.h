// What contexts of both schemes offer of their queue.
#pragma once

#include "bindings.h"
#include "runtime/queue.h"

namespace latticino::python {

std::unique_ptr<Queue> make_queue(const std::string& device, int index, int threads, bool simd,
                                  const std::string& tuning);

// What a dry run has counted, and the device, as plain Python values.
nb::dict report(const Queue& queue);
nb::dict device(const Queue& queue);
double predicted(const Queue& queue, bool cuda, int threads);

template <class Context>
void bind_queue(nb::class_<Context>& c) {
  c.def_prop_ro("is_dry", &Context::is_dry)
      .def_prop_ro("device", [](const Context& x) { return device(x.queue()); })
      .def_prop_ro("report", [](const Context& x) { return report(x.queue()); })
      .def(
          "predicted_seconds",
          [](const Context& x, bool cuda, int threads) {
            return predicted(x.queue(), cuda, threads);
          },
          "cuda"_a, "threads"_a,
          "What a dry run has counted, at the rates of the machine measured for that kind of "
          "device.",
          ReleaseGil())
      .def_prop_ro(
          "recording", [](const Context& x) { return x.queue().recording(); },
          "Whether this thread records a program now.", ReleaseGil())
      .def_prop_ro(
          "live_bytes", [](const Context& x) { return x.queue().live_bytes(); }, ReleaseGil())
      .def_prop_ro(
          "peak_bytes", [](const Context& x) { return x.queue().peak_bytes(); }, ReleaseGil())
      .def(
          "reset_peak", [](const Context& x) { x.queue().reset_peak(); }, ReleaseGil())
      .def(
          "synchronize", [](const Context& x) { x.queue().synchronize(); }, ReleaseGil());
}

}  // namespace latticino::python
