"""The exceptions of the library: one class for each kind of mistake, all below :class:`Error`.

Every message names the operation, what it had, what it needs, and what to change; the operands of a
failed call stay usable. Where a class has the name of a Python built-in it is also a subclass of
that built-in's family, so ``except ValueError`` catches it too.
"""

from __future__ import annotations

import builtins

__all__ = [
    "Error", "ParameterError", "LevelError", "ScaleError", "KeyError", "ContextError", "ShapeError",
    "ValueError", "DeviceError", "OutOfMemoryError", "FileError", "UnsupportedError", "PrecisionError",
    "SecurityWarning", "ServiceError", "ClusterError",
    "AttributeError", "IndexError",
]


class SecurityWarning(UserWarning):
    """Parameters below the default of 128 bits, or that fail more often than once in 2^128 bootstrappings."""


class Error(RuntimeError):
    """Base of all errors. ``operation`` is the public name of the operation that failed."""

    def __init__(self, message: str, operation: str = "") -> None:
        super().__init__(message)
        self.operation = operation

    @classmethod
    def explain(cls, operation: str, had: str, needs: str, remedy: str) -> Error:
        """The exception, with its message in the form that all parts of the library use."""
        return cls(f"{operation}: had {had}; needs {needs}; {remedy}", operation)


def class_for_numpy_error(why: Exception) -> type[ShapeError]:
    """The class for what numpy's indexing or reshaping refused."""
    return IndexError if isinstance(why, builtins.IndexError) else ShapeError


def install(extra: str) -> str:
    """How to install the packages of an extra, as a remedy for `Error.explain`."""
    return f"from a checkout of Latticino: pip install '.[{extra}]'"


class ParameterError(Error):
    """Parameters that do not exist, do not fit together or are not secure."""


class LevelError(Error):
    """Too few levels, or levels that do not match."""


class ScaleError(Error):
    """Scales that do not match, overflow, or a message over its bound."""


class KeyError(Error, builtins.LookupError):
    """A missing key, a key of another secret, or a key in the wrong role."""


class ContextError(Error):
    """Objects that belong to different contexts."""


class ShapeError(Error, builtins.ValueError):
    """Slot counts, array shapes, strides or dtypes that do not fit."""


class IndexError(ShapeError, builtins.IndexError):
    """An index or an axis that an array does not have."""


class ValueError(Error, builtins.ValueError):
    """NaN, infinity, or a number out of range."""


class DeviceError(Error):
    """No such device, or a failure of CUDA."""


class OutOfMemoryError(Error, builtins.MemoryError):
    """Not enough host or device memory. ``needed``: the bytes that would be enough, 0 if they are not known."""

    needed: int = 0


class FileError(Error, builtins.OSError):
    """A truncated, altered, hostile or foreign file."""


class PrecisionError(Error):
    """An error larger than what was asked for, or claimed (found by ``lt.debug``)."""


class ServiceError(Error):
    """A service refused a request, or a job ended there without a result.

    ``status`` of HTTP where there was a response; ``retry_after``: seconds after which it may be sent again;
    ``missing``: chunks that an upload lacks.
    """

    def __init__(self, message: str, operation: str = "", *, status: int | None = None,
                 retry_after: float | None = None, missing: tuple[str, ...] = ()) -> None:
        super().__init__(message, operation)
        self.status, self.retry_after, self.missing = status, retry_after, missing


class ClusterError(Error):
    """Workers of `lt.cluster` were lost too often, or gave other bytes than workers before them."""


class UnsupportedError(Error, builtins.NotImplementedError):
    """An operation or an option that does not exist for such arguments, ``==`` of CKKS arrays for instance."""


class AttributeError(UnsupportedError, builtins.AttributeError):
    """An attribute that arrays of numpy have, and encrypted arrays do not: ``hasattr`` is False."""
