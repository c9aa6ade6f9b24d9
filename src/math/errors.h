// Typed errors of the library. Every message names the operation, what it had, what it needs and
// what the caller can change; nothing is half-written when one is thrown.
#pragma once

#include <stdexcept>
#include <string>
#include <utility>

namespace latticino {

class Error : public std::runtime_error {
 public:
  // operation: the public name of what was asked for ("ckks.multiply").
  Error(const std::string& operation, const std::string& had, const std::string& needs,
        const std::string& remedy)
      : std::runtime_error(operation + ": had " + had + "; needs " + needs + "; " + remedy),
        operation_(operation) {}
  const std::string& operation() const { return operation_; }

 private:
  std::string operation_;
};

#define LATTICINO_ERROR(Name)     \
  class Name : public Error {     \
   public:                        \
    using Error::Error;           \
  }
LATTICINO_ERROR(ParameterError);    // parameters that do not exist, do not fit or are not secure
LATTICINO_ERROR(LevelError);        // too few levels, or levels that do not match
LATTICINO_ERROR(ScaleError);        // scales that do not match, overflow, message over its bound
LATTICINO_ERROR(KeyError);          // missing key, wrong key, wrong role
LATTICINO_ERROR(ContextError);      // objects of different contexts
LATTICINO_ERROR(ShapeError);        // slot counts, array shapes, strides, dtypes
LATTICINO_ERROR(ValueError);        // NaN, infinity, out of range
LATTICINO_ERROR(DeviceError);       // no such device, CUDA failure
LATTICINO_ERROR(OutOfMemoryError);  // host or device memory
LATTICINO_ERROR(FileError);         // truncated, altered, hostile or foreign file
LATTICINO_ERROR(UnsupportedError);  // an option that does not exist
#undef LATTICINO_ERROR

}  // namespace latticino
