"""Checks and converts arguments: which numbers may become slots, and how a long vector is divided among ciphertexts."""

from __future__ import annotations

import builtins
import difflib
import math
import numbers
import operator
import os
import reprlib
import warnings
from typing import Any, cast

import numpy as np

from . import errors
from .common import roles
from .common.private import PrivateArray
from .common.ufuncs import OfNumpy

__all__ = ["PrivateArray"]


def as_numpy(x: Any, operation: str, kinds: tuple[type, ...] = (float, complex)) -> np.ndarray:
    """A C-contiguous numpy array of numbers, in the machine's byte order: of sequences, arrays, anything with DLPack or
    ``__array__`` (tensors, pandas). It is a view where x is such an array, a copy otherwise.

    Raises ShapeError for what holds no numbers. If one of ``kinds`` can hold them, it names the conversion.
    """
    refuse_masked(x, operation)
    if isinstance(x, np.matrix) and operation == "multiply":
        raise errors.ShapeError.explain(
            operation, "a numpy.matrix, whose operator * is the product of matrices", "an array",
            "use @ for that product, or np.asarray(m) to multiply value by value")
    if isinstance(x, roles.Callee):
        x.refuse(operation)
    if hasattr(x, "tocoo") and hasattr(x, "toarray"):  # numpy would make an object of it
        raise errors.ShapeError.explain(
            operation, "a sparse matrix of SciPy", "an array",
            "pass m.toarray(), or make a map: m = m.tocoo(), then lt.linear_map(m.row, m.col, m.data, m.shape[1], "
            "m.shape[0]), which is the product m @ x")
    if isinstance(x, OfNumpy):
        raise errors.UnsupportedError.explain(
            operation, f"{roles.name_of(type(x))} here",
            "numbers in the clear, or an array of the same scheme and context",
            "decrypt it first, or keep both values in one scheme")
    if not isinstance(x, np.ndarray) and hasattr(x, "__dlpack__"):
        x = _from_dlpack(x, operation)
    try:
        x = np.asarray(x)
    except Exception as why:  # raised by ragged lists, sparse matrices, or the conversion of any other object
        if isinstance(why, errors.Error):
            raise
        # The cause is not chained, because its message may contain values.
        raise errors.ShapeError.explain(
            operation, f"a {type(x).__name__} that is no array", "numbers in a regular shape",
            "pass a numpy array") from None
    if x.dtype.kind not in "fciub" or x.dtype.itemsize > 16:
        raise errors.ShapeError.explain(
            operation, f"dtype {x.dtype}", "real, complex or integer numbers of at most 16 bytes",
            _how_to_convert(x, kinds))
    own: np.ndarray = np.ascontiguousarray(x, x.dtype.newbyteorder("=")).reshape(x.shape)
    return own


def as_doubles(x: Any, operation: str, kinds: tuple[type, ...] = (float, complex)) -> np.ndarray:
    """The same as float64, or as complex128 if they are complex. In the types of small integers, squares and
    magnitudes would wrap around. Numbers beyond the double range become infinite."""
    x = as_numpy(x, operation, kinds)
    with np.errstate(over="ignore"):
        own: np.ndarray = x.astype(complex if x.dtype.kind == "c" else float, copy=False)
    return own


def _how_to_convert(x: np.ndarray, kinds: tuple[type, ...]) -> str:
    """The remedy for an array of a type that is refused: a conversion, if that works."""
    for kind in kinds:
        try:
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("error")
                converted: np.ndarray = np.asarray(x, kind)
            if np.isfinite(converted).all():
                return f"convert with np.asarray(x, {kind.__name__})"
        except Exception:  # raised by any conversion of the object
            continue
    return {"U": "pass numbers in place of text", "S": "pass numbers in place of text",
            "V": "pass one field of numbers, such as x[\"name\"]"}.get(
        x.dtype.kind, "pass numbers in every place, no None or other object")


def refuse_masked(x: Any, operation: str) -> None:
    """ShapeError if values are masked, which numpy would forget."""
    if _masked(x, 64):
        raise errors.ShapeError.explain(
            operation, "an array with masked values", "values in every place",
            "fill it: x.filled(value), or select x.compressed()")


def _masked(x: Any, depth: int) -> bool:
    """Whether values are masked, in an array or in an array within up to `depth` lists. numpy takes no more of them."""
    if type(x) in (list, tuple):
        return depth > 0 and any(_masked(part, depth - 1) for part in x
                                 if type(part) in (list, tuple) or isinstance(part, np.ma.MaskedArray))
    return isinstance(x, np.ma.MaskedArray) and bool(np.ma.is_masked(x))


def _from_dlpack(x: Any, operation: str) -> np.ndarray:
    """The array of a tensor in host memory. If DLPack refuses it because it records gradients, it is detached first."""
    try:
        return np.from_dlpack(x)
    except (AttributeError, BufferError, RuntimeError, TypeError, ValueError) as why:
        if getattr(x, "requires_grad", False) and hasattr(x, "detach"):
            detached = x.detach()
            if not getattr(detached, "requires_grad", False):
                return _from_dlpack(detached, operation)
        raise errors.ShapeError.explain(
            operation, f"a DLPack tensor that numpy cannot read ({why})",
            "a dense tensor in host memory, of a type that numpy has",
            "copy it to the host, or convert its type: x.float() for bfloat16, x.to_dense() or x.resolve_conj()"
        ) from why


def as_slots(x: Any, operation: str) -> np.ndarray:
    """The same as flat complex128 values; ValueError for NaN or infinity."""
    x = as_numpy(x, operation)
    with np.errstate(all="ignore"):
        values = np.ascontiguousarray(x, dtype=np.complex128).reshape(-1)
    if not np.isfinite(values).all():
        where = int(np.flatnonzero(~np.isfinite(values))[0])
        raise errors.ValueError.explain(
            operation, f"{_kind(values[where])} at index {where}", "finite numbers", "clean the data first")
    return values


def _kind(value: complex) -> str:
    return "NaN" if np.isnan(value) else "infinity"


def shown(x: Any) -> str:
    """A short text of any value, for a message. Use it only for values that the author of a program writes, never for
    data."""
    if isinstance(x, numbers.Integral) and not isinstance(x, np.timedelta64) and not -(2**128) < int(x) < 2**128:
        return f"an integer of {int(x).bit_length()} bits"
    if isinstance(x, PrivateArray):
        return "decrypted values"
    try:
        text = reprlib.repr(x)
    except Exception:  # raised by any __repr__ of the object
        text = f"a {type(x).__name__}"
    return printable(text)


def printable(text: str) -> str:
    """The text without unpaired surrogates, which files and terminals refuse."""
    return text.encode("utf-8", "backslashreplace").decode()


def as_integer(x: Any, operation: str, name: str, least: int | None = None, most: int | None = None) -> int:
    """An integer from `least` to `most`; ValueError for anything else, also for numbers with a fraction."""
    try:
        value = None if isinstance(x, np.ma.MaskedArray) and np.ma.is_masked(x) else operator.index(x)
    except Exception:  # a TypeError, or what an array of another library raises
        value = None
    if value is None or (least is not None and value < least) or (most is not None and value > most):
        bounds = ("" if least is None else f" from {least}") + ("" if most is None else f" to {most}")
        raise errors.ValueError.explain(operation, f"{name}={shown(x)}", "an integer" + bounds, "round or correct it")
    return value


def as_real(x: Any, operation: str, name: str, above: float | None = None, finite: bool = True) -> float:
    """A real number as a double that is larger than `above`; ValueError for anything else. It is finite unless the
    caller checks that."""
    value: float | None = None
    try:
        if isinstance(x, numbers.Real) or (isinstance(x, np.ndarray) and x.shape == () and x.dtype.kind in "fiub"):
            value = float(x)
    except (OverflowError, TypeError, builtins.ValueError, errors.Error):  # for example raised by numpy's timedelta64
        pass
    if value is None or (finite and not math.isfinite(value)) or (above is not None and value <= above):
        raise errors.ValueError.explain(
            operation, f"{name}={shown(x)}",
            "a real number within the double range" + ("" if above is None else f", more than {above:g}"), "correct it")
    return value


def as_complex(x: Any, operation: str, name: str) -> complex:
    """A finite number as a complex double; ValueError for anything else."""
    try:
        if isinstance(x, numbers.Number) or (isinstance(x, np.ndarray) and x.shape == () and x.dtype.kind in "fciub"):
            value = complex(cast(Any, x))
            if np.isfinite(value):
                return value
    except (OverflowError, TypeError, builtins.ValueError, errors.Error):
        pass
    raise errors.ValueError.explain(operation, f"{name}={shown(x)}", "a finite number", "correct it")


def as_flag(x: Any, operation: str, name: str) -> bool:
    """True or False; ValueError for anything else but 0 and 1."""
    if isinstance(x, (bool, np.bool_)) or (isinstance(x, numbers.Integral) and x in (0, 1)):
        return bool(x)
    raise errors.ValueError.explain(operation, f"{name}={shown(x)}", "True or False", "say one of them")


def as_text(x: Any, operation: str, name: str) -> str:
    """A string without unpaired surrogates; ValueError for anything else."""
    try:
        if isinstance(x, str) and x.encode() is not None and "\0" not in x:
            return x
    except UnicodeEncodeError:
        pass
    raise errors.ValueError.explain(operation, f"{name}={shown(x)}", "a string", "correct it")


def unknown_preset(name: str, names: list[str], remedy: str) -> errors.Error:
    """The ParameterError for a name that no set has."""
    near = name[:64]  # the time grows with the length

    def distance(x: str) -> float:
        return -difflib.SequenceMatcher(None, x, near).ratio()

    first, second, third = sorted(names, key=distance)[:3]  # of equally near names, those listed first
    return errors.ParameterError.explain(
        "preset", f"the name {shown(name)}", f"a preset, perhaps {first}, {second} or {third}", remedy)


def as_path(x: Any, operation: str) -> str:
    """The name of a file. UnsupportedError for an object that is no path, FileError for a name that no file can have.
    """
    try:
        name = os.fsdecode(x)
    except Exception:  # a TypeError, or what the object's own __fspath__ raises
        raise errors.UnsupportedError.explain(
            operation, f"a path of type {type(x).__name__}", "a string or a pathlib.Path", "name the file") from None
    try:
        name.encode()
    except UnicodeEncodeError:
        raise errors.FileError.explain(
            operation, "a file name that is not UTF-8", "one that is", "rename the file") from None
    if not name or "\0" in name:
        raise errors.FileError.explain(
            operation, f"the file name {shown(name)}", "one that a file can have", "correct it")
    return name


def as_shape(x: Any, operation: str, most: int) -> tuple[int, ...]:
    """A shape as numpy takes it, one size or several; ShapeError for more than `most` values."""
    several = isinstance(x, (tuple, list)) or (isinstance(x, np.ndarray) and x.ndim > 0)
    sizes = tuple(x) if several else (x,)
    shape = tuple(as_integer(n, operation, "size", 0) for n in sizes)
    if len(shape) > 64 or math.prod(shape) > most:
        raise errors.ShapeError.explain(
            operation, f"a shape of {shown(math.prod(shape))} values in {len(shape)} dimensions",
            f"up to {most:,} values in 64", "plan the work in parts")
    return shape


def slots_for(size: int, most: int, operation: str) -> int:
    """Slots of each ciphertext that together hold `size` values: a power of two up to `most`."""
    if size < 1:
        raise errors.ShapeError.explain(operation, "an empty array", "at least one value", "check the data")
    return min(most, 1 << (size - 1).bit_length())


def rows(values: np.ndarray, slots: int) -> np.ndarray:
    """Flat values as rows of `slots`, the last padded with zeros."""
    count = -(-values.size // slots)
    if values.size != count * slots:
        values = np.concatenate([values, np.zeros(count * slots - values.size, values.dtype)])
    return values.reshape(count, slots)


def chunks(values: np.ndarray, slots: int) -> list[np.ndarray]:
    """The same values, one row after the other."""
    return list(rows(values, slots))
