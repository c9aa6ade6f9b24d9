// Every typed error of the library becomes the Python exception of the same name.
#include "math/errors.h"

#include <cstring>
#include <map>
#include <new>
#include <string>

#include "bindings.h"

namespace latticino::python {
namespace {

// The name of an operation of the core in Python.
std::string public_name(const std::string& operation) {
  static const std::map<std::string, std::string> kNames = {
      {"ckks.tensor", "multiply"},
      {"ckks.square", "multiply"},
      {"ckks.multiply_scalar", "multiply"},
      {"ckks.multiply_no_rescale", "multiply"},
      {"ckks.relinearize", "multiply"},
      {"ckks.relinearize_rescale", "multiply"},
      {"ckks.add_scalar", "add"},
      {"ckks.sub", "subtract"},
      {"ckks.to_level_scale", "to_level"},
      {"ckks.drop_to", "to_level"},
      {"ckks.LinearTransform", "matmul"},
      {"ckks.MatrixProduct", "matmul"},
      {"ckks.tile", "matmul"},
      {"ckks.inner_sum", "sum"},
      {"ckks.conjugate", "conj"},
      {"ckks.Polynomial", "polyval"},
      {"ckks.evaluate", "polyval"},
      {"ckks.bootstrap_pair", "bootstrap_with"},
      {"ckks.encode", "encode"},
      {"ckks.Evaluator", "compute"},
      {"ckks.client", "encrypt"},
      {"rlwe.mod_down", "rescale"},
      {"rlwe.key", "evaluation keys"},
      {"rlwe.key_switch", "evaluation keys"},
      {"rlwe.secret_key", "secret key"},
      {"rlwe.generate_key", "server_keys"},
      {"rlwe.public_key", "server_keys"},
      {"tfhe.secret_key", "secret key"},
      {"tfhe.sub", "subtract"},
      {"tfhe.add_clear", "add"},
      {"tfhe.multiply_clear", "multiply"},
      {"key_store", "server_keys"},
      {"tfhe.clear", "encode"},
      {"tfhe.integer", "encrypt"},
      {"tfhe.integers", "compute"},
      {"tfhe.evaluator", "compute"},
      {"tfhe.gate", "gate"},
      {"tfhe.take", "index"},
      {"tfhe.table", "apply"},
      {"tfhe.context", "Context"},
      {"tfhe_params.check", "parameters"},
      {"switch_params.check", "parameters"},
      {"params.tfhe_preset", "preset"},
      {"params.switch_preset", "switching"},
      {"io.read", "load"},
      {"io.write", "save"},
      {"io.save_ciphertexts", "save_ciphertext"},
      {"Program::run", "program"},
  };
  if (const auto known = kNames.find(operation); known != kNames.end()) return known->second;
  if (operation.starts_with("switching.")) return "apply_lut";
  const std::size_t end = operation.find_last_of(".:");
  return end == std::string::npos ? operation : operation.substr(end + 1);
}

void raise(PyObject* module, const char* name, const Error& e) {
  nb::gil_scoped_acquire gil;
  nb::object type = nb::borrow(module).attr(name);
  // A message may contain names from the system whose bytes are not valid text. The operation comes
  // first.
  const std::string operation = public_name(e.operation());
  const std::string text = operation + std::string(e.what()).substr(e.operation().size());
  nb::object message = nb::steal(
      PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "backslashreplace"));
  try {
    nb::object error = type(message, operation);
    PyErr_SetObject(type.ptr(), error.ptr());
  } catch (nb::python_error& other) {
    // an interrupt that was pending until the next line of Python
    other.restore();
  }
}

void translate(const std::exception_ptr& p, void* module) {
  auto* errors = static_cast<PyObject*>(module);
  try {
    std::rethrow_exception(p);
#define LATTICINO_TRANSLATE(Name) \
  }                               \
  catch (const Name& e) {         \
    raise(errors, #Name, e);
    LATTICINO_TRANSLATE(ParameterError)
    LATTICINO_TRANSLATE(LevelError)
    LATTICINO_TRANSLATE(ScaleError)
    LATTICINO_TRANSLATE(KeyError)
    LATTICINO_TRANSLATE(ContextError)
    LATTICINO_TRANSLATE(ShapeError)
    LATTICINO_TRANSLATE(ValueError)
    LATTICINO_TRANSLATE(DeviceError)
    LATTICINO_TRANSLATE(OutOfMemoryError)
    LATTICINO_TRANSLATE(FileError)
    LATTICINO_TRANSLATE(UnsupportedError)
    LATTICINO_TRANSLATE(Error)
#undef LATTICINO_TRANSLATE
  } catch (const std::bad_alloc&) {
    raise(errors, "OutOfMemoryError",
          OutOfMemoryError("host memory", "no room for what the call works with",
                           "more free memory of the process",
                           "free arrays, or pass fewer values at once"));
  }
}

}  // namespace

void bind_errors(nb::module_&) {
  // Kept for the life of the process, because exceptions may be raised until its very end.
  nb::object errors = nb::module_::import_("latticino.errors");
  nb::register_exception_translator(translate, errors.release().ptr());
}

}  // namespace latticino::python
