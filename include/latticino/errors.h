/// \file
/// Typed errors. Every message names the operation, what it had, what it needs and what the caller
/// can change. Operands of a call that throws stay usable, and nothing is half-written.
#pragma once

#include <stdexcept>
#include <string>

#include "latticino/export.h"

namespace latticino {

/// Base of all errors of the library.
class LATTICINO_API Error : public std::runtime_error {
 public:
  /// The message is "operation: had ...; needs ...; remedy".
  /// \param operation the name of the operation that was called
  /// \param had what the operation was given
  /// \param needs what it needs instead
  /// \param remedy what the caller can change
  Error(const std::string& operation, const std::string& had, const std::string& needs,
        const std::string& remedy)
      : std::runtime_error(operation + ": had " + had + "; needs " + needs + "; " + remedy),
        operation_(operation) {}
  /// The name of the operation that was called.
  const std::string& operation() const { return operation_; }

 private:
  std::string operation_;
};

/// Parameters that do not exist, do not fit together or are not secure.
class LATTICINO_API ParameterError : public Error {
 public:
  using Error::Error;
};
/// Too few levels, or levels that do not match.
class LATTICINO_API LevelError : public Error {
 public:
  using Error::Error;
};
/// Scales that do not match or overflow, or a message over its bound.
class LATTICINO_API ScaleError : public Error {
 public:
  using Error::Error;
};
/// A missing key, a key of another secret, or a key in the wrong role.
class LATTICINO_API KeyError : public Error {
 public:
  using Error::Error;
};
/// Objects that belong to different contexts.
class LATTICINO_API ContextError : public Error {
 public:
  using Error::Error;
};
/// Slot counts and shapes that do not fit.
class LATTICINO_API ShapeError : public Error {
 public:
  using Error::Error;
};
/// NaN, infinity, or a number out of range.
class LATTICINO_API ValueError : public Error {
 public:
  using Error::Error;
};
/// No such device, or a failure of CUDA.
class LATTICINO_API DeviceError : public Error {
 public:
  using Error::Error;
};
/// Host or device memory that is not available.
class LATTICINO_API OutOfMemoryError : public Error {
 public:
  using Error::Error;
};
/// A truncated, altered, hostile or foreign file.
class LATTICINO_API FileError : public Error {
 public:
  using Error::Error;
};
/// An option that does not exist.
class LATTICINO_API UnsupportedError : public Error {
 public:
  using Error::Error;
};

}  // namespace latticino
