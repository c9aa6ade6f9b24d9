// The Python extension. Each file has one function that binds its part. Arithmetic of the schemes
// is not done here.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/complex.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <complex>
#include <memory>
#include <span>
#include <vector>

#include "ckks/ciphertext.h"

namespace latticino::python {

namespace nb = nanobind;
using namespace nb::literals;  // NOLINT: nanobind's argument names

using ContextPtr = std::shared_ptr<const ckks::Context>;
using ParamsPtr = std::shared_ptr<const Params>;
using ComplexArray = nb::ndarray<nb::numpy, std::complex<double>, nb::ndim<1>>;
using ComplexInput =
    nb::ndarray<const std::complex<double>, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using ComplexRows =
    nb::ndarray<const std::complex<double>, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

// Installs a signal handler, so that Ctrl-C ends long work, unless a program has replaced Python's
// own handler.
void watch_interrupts() noexcept;

// Lets other threads run Python while the core works, and lets Ctrl-C end that work.
struct Released {
  Released() { watch_interrupts(); }
  nb::gil_scoped_release gil;
};
using ReleaseGil = nb::call_guard<Released>;

// Gives a vector to numpy without another copy.
template <class T>
nb::ndarray<nb::numpy, T, nb::ndim<1>> to_numpy(std::vector<T> values) {
  auto* kept = new std::vector<T>(std::move(values));
  nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return {kept->data(), {kept->size()}, owner};
}

inline std::span<const ckks::Complex> as_span(const ComplexInput& values) {
  return {values.data(), values.size()};
}

void bind_bundles(nb::module_& m);
void bind_interrupts(nb::module_& m);
void bind_errors(nb::module_& m);
void bind_params(nb::module_& m);
void bind_conformance(nb::module_& m);
void bind_context(nb::module_& m);
void bind_ciphertext(nb::module_& m);
void bind_keys(nb::module_& m);
void bind_key_store(nb::module_& m);
void bind_evaluator(nb::module_& m);
void bind_circuits(nb::module_& m);
void bind_files(nb::module_& m);
void bind_program(nb::module_& m);
void bind_session(nb::module_& m);
void bind_known(nb::module_& m);
void bind_switching(nb::module_& m);
void bind_tfhe(nb::module_& m);
void bind_tfhe_evaluator(nb::module_& m);
void bind_tfhe_files(nb::module_& m);

}  // namespace latticino::python
