#include "known.h"

NB_MODULE(_native, m) {
  using namespace latticino::python;
  m.doc() = "The C++ core. Use the package `latticino`; this module is its private half.";
  m.attr("__version__") = LATTICINO_VERSION;
  // Objects that live longer than the interpreter are not reported as leaks: Ctrl-C leaves some
  // behind.
  nb::set_leak_warnings(false);
  bind_interrupts(m);
  bind_errors(m);
  bind_params(m);
  bind_context(m);
  bind_session(m);
  bind_known(m);
  bind_ciphertext(m);
  bind_keys(m);
  bind_evaluator(m);
  bind_circuits(m);
  bind_contents(m);
  bind_array_operations(m);
  bind_files(m);
  bind_program(m);
  bind_switching(m);
  bind_conformance(m);
  bind_tfhe(m);
  bind_tfhe_evaluator(m);
  bind_tfhe_files(m);
  bind_bundles(m);
  bind_key_store(m);
}
