"""Numbers in: what may become slots, and how a long vector is cut into ciphertexts."""

from __future__ import annotations

import numbers
import operator
from typing import Any

import numpy as np

from . import errors


def as_numpy(x: Any, operation: str) -> np.ndarray:
    """A C-contiguous numpy view of numbers, sequences, arrays, or anything with DLPack.

    Raises ShapeError for other dtypes and for strided arrays (silent copies hide slow code).
    """
    if isinstance(x, np.ma.MaskedArray):
        raise errors.ShapeError.explain(
            operation, "a masked array", "values in every place", "fill it: x.filled(value), or select x.compressed()")
    if not isinstance(x, np.ndarray) and hasattr(x, "__dlpack__"):
        x = _from_dlpack(x, operation)
    try:
        x = np.asarray(x)
    except (ValueError, TypeError, OverflowError) as why:  # ragged lists, sparse matrices, ...
        raise errors.ShapeError.explain(
            operation, f"a {type(x).__name__} that is no array ({why})", "numbers in a regular shape",
            "pass a numpy array") from why
    if x.dtype.kind not in "fciub" or x.dtype.itemsize > 16:
        raise errors.ShapeError.explain(
            operation, f"dtype {x.dtype}", "real, complex or integer numbers of at most 16 bytes",
            "convert with x.astype(float)")
    if not x.flags.c_contiguous:
        raise errors.ShapeError.explain(
            operation, f"strides {x.strides} for shape {x.shape}", "a C-contiguous array",
            "pass np.ascontiguousarray(x)")
    return x


def _from_dlpack(x: Any, operation: str) -> np.ndarray:
    try:
        return np.from_dlpack(x)
    except (AttributeError, BufferError, RuntimeError, TypeError, ValueError) as why:
        raise errors.ShapeError.explain(
            operation, f"a DLPack tensor that numpy cannot read ({why})", "a tensor in host memory",
            "copy it to the host first") from why


def as_slots(x: Any, operation: str) -> np.ndarray:
    """The same as flat complex128 values; ValueError for NaN or infinity."""
    x = as_numpy(x, operation)
    values = np.ascontiguousarray(x, dtype=np.complex128).reshape(-1)
    if not np.isfinite(values).all():
        where = int(np.flatnonzero(~np.isfinite(values))[0])
        raise errors.ValueError.explain(
            operation, f"{values[where]} at index {where}", "finite numbers", "clean the data first")
    return values


def as_integer(x: Any, operation: str, name: str, least: int | None = None) -> int:
    """An integer of at least `least`; ValueError for anything else, numbers with a fraction among them."""
    try:
        value = operator.index(x)
    except TypeError:
        value = None
    if value is None or (least is not None and value < least):
        raise errors.ValueError.explain(
            operation, f"{name}={x!r}", "an integer" + ("" if least is None else f" from {least}"), "round or correct it")
    return value


def as_real(x: Any, operation: str, name: str) -> float:
    """A real number as a double; ValueError for anything else."""
    try:
        if isinstance(x, numbers.Real):
            return float(x)
    except OverflowError:
        pass
    raise errors.ValueError.explain(operation, f"{name}={x!r}", "a real number within the double range", "correct it")


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
    """The same, row by row."""
    return list(rows(values, slots))


class PrivateArray(np.ndarray):
    """Decrypted values for the key's owner only: **not to be shared**.

    A CKKS decryption carries noise that depends on the secret key; who sees enough of it next to
    the ciphertexts can find the key (Li and Micciancio, EUROCRYPT 2021). What others will see comes
    from ``decrypt_for_sharing``. Behaves as a numpy array; arrays computed from it stay marked.
    """

    shareable = False

    def __repr__(self) -> str:
        return super().__repr__() + "  # not to be shared: see decrypt_for_sharing"

    def __reduce__(self) -> Any:
        raise errors.UnsupportedError.explain(
            "pickle", "decrypted values marked as not to be shared", "values meant for others",
            "use decrypt_for_sharing, or np.array(x) if the file stays with the key's owner")
