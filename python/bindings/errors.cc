// Every typed error of the library becomes the Python exception of the same name.
#include "math/errors.h"

#include <cstring>
#include <new>

#include "bindings.h"

namespace latticino::python {
namespace {

void raise(PyObject* module, const char* name, const Error& e) {
  nb::gil_scoped_acquire gil;
  nb::object type = nb::borrow(module).attr(name);
  // Messages may name what the system calls by bytes that are no text.
  const char* what = e.what();
  nb::object message = nb::steal(
      PyUnicode_DecodeUTF8(what, static_cast<Py_ssize_t>(std::strlen(what)), "backslashreplace"));
  nb::object error = type(message, e.operation());
  PyErr_SetObject(type.ptr(), error.ptr());
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
  // Kept for the life of the process: exceptions may surface until the very end.
  nb::object errors = nb::module_::import_("latticino.errors");
  nb::register_exception_translator(translate, errors.release().ptr());
}

}  // namespace latticino::python
