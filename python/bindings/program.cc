// Python functions turned into programs that replay on fixed memory.
#include "session/recorded_program.h"

#include <nanobind/stl/shared_ptr.h>

#include "bindings.h"
#include "math/errors.h"
#include "session/scope.h"

namespace latticino::python {
namespace {

template <class Ciphertext>
void bind_recorded(nb::module_& m, const char* name, const char* doc) {
  using P = session::RecordedProgram<Ciphertext>;
  using Ciphertexts = std::vector<Ciphertext>;
  nb::class_<P>(m, name, doc)
      .def(
          "__init__",
          [](P* self, const Ciphertexts& examples, const nb::callable& function,
             std::shared_ptr<ckks::ScalarInputs> numbers) {
            // Releases the GIL before anything waits for the queue: a recording thread holds the
            // queue while it waits for the GIL.
            const Released release;
            new (self) P(
                examples,
                [&](const Ciphertexts& inputs) {
                  const nb::gil_scoped_acquire acquire;
                  return nb::cast<Ciphertexts>(function(inputs));
                },
                std::move(numbers));
          },
          "examples"_a, "function"_a, "numbers"_a.none() = nb::none())
      .def("run", &P::run, "arguments"_a, "values"_a = std::vector<ckks::Complex>(), ReleaseGil())
      .def("launch", &P::launch, ReleaseGil())
      .def_prop_ro("arena_bytes", &P::arena_bytes);
}

// An interrupt cannot come between the end of a function and the end of its scope, as it can where
// Python code ends the scope.
void bind_scope(nb::module_& m) {
  using session::Scope;
  nb::class_<Scope>(m, "Scope", "The time in which a function is recorded.")
      .def_static(
          "current", [] { return std::const_pointer_cast<Scope>(Scope::current()); },
          "The scope of the function that this thread records, if it records one.")
      .def(
          "require",
          [](const Scope& scope) {
            Scope::require_open(&scope);
            if (Scope::current().get() == &scope) return;
            throw ContextError("compute", "an array of a recorded function in another thread",
                               "the thread that records", "compute in the recorded function itself");
          },
          "ContextError for arrays that were made in this scope and are used outside of it, or in "
          "another thread.");
  m.def(
      "in_scope",
      [](const nb::callable& function, const nb::object& argument) {
        const Scope::Entered entered;
        return nb::object(function(argument));
      },
      "function"_a, "argument"_a, "Calls a function in a scope of its own.");
}

}  // namespace

void bind_program(nb::module_& m) {
  nb::class_<ckks::ScalarInputs>(m, "ScalarInputs", "Numbers that a recording takes at every run.")
      .def(
          "__init__",
          [](ckks::ScalarInputs* self, ContextPtr context) {
            new (self) ckks::ScalarInputs(std::move(context));
          },
          "context"_a)
      .def("set", &ckks::ScalarInputs::set, "index"_a, "value"_a, "bound"_a)
      .def_prop_ro("count", &ckks::ScalarInputs::count);
  bind_scope(m);
  bind_recorded<ckks::Ciphertext>(m, "RecordedProgram", "Replays a recorded function.");
  bind_recorded<tfhe::Ciphertext>(m, "TfheRecordedProgram",
                                  "Replays a recorded function of TFHE ciphertexts.");
}

}  // namespace latticino::python
