"""Arrays of either scheme joined into one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, overload

import numpy as np

from . import arrays, errors
from .ckks.ciphertext import Ciphertext
from .ops import moves
from .ops.shapes import first_line
from .tfhe import functions as of_tfhe
from .tfhe.array import EncryptedArray


@overload
def concatenate(arrays: Sequence[Ciphertext], axis: int | None = ...) -> Ciphertext: ...


@overload
def concatenate(arrays: Sequence[EncryptedArray], axis: int = ...) -> EncryptedArray: ...


def concatenate(arrays: Any, axis: Any = 0) -> Ciphertext | EncryptedArray:
    """Arrays joined along an axis; no bootstrapping.

    Of CKKS: free; the arrays are brought to the lowest level among them, and keep their ciphertexts
    (`Ciphertext.contiguous` packs them); None as axis joins all of them flattened. Of TFHE: of the widest type.
    """
    several = _ciphertexts(arrays, "concatenate")
    if several is None:
        return of_tfhe.concatenate(arrays, axis)
    if axis is None:
        several, axis = [x.ravel() for x in several], 0
    return _joined(several, lambda places: np.concatenate(places, axis), "concatenate", axis)


@overload
def stack(arrays: Sequence[Ciphertext], axis: int = ...) -> Ciphertext: ...


@overload
def stack(arrays: Sequence[EncryptedArray], axis: int = ...) -> EncryptedArray: ...


def stack(arrays: Any, axis: int = 0) -> Ciphertext | EncryptedArray:
    """Arrays of one shape joined along a new axis; no bootstrapping. As `concatenate`."""
    several = _ciphertexts(arrays, "stack")
    if several is None:
        return of_tfhe.stack(arrays, axis)
    return _joined(several, lambda places: np.stack(places, axis), "stack", axis)


def _ciphertexts(values: Any, operation: str) -> list[Ciphertext] | None:
    """Encrypted arrays of one context; None where there is no ciphertext of CKKS among them."""
    if isinstance(values, Ciphertext):  # joined along its first axis
        values = list(values) if values.shape else [values]
    if not isinstance(values, (list, tuple)) or not any(isinstance(x, Ciphertext) for x in values):
        return None
    first = next(x for x in values if isinstance(x, Ciphertext))
    for x in values:
        if not isinstance(x, Ciphertext):
            raise errors.ShapeError.explain(
                operation, f"a {type(x).__name__} among ciphertexts", "ciphertexts", "encrypt it first")
        if x.context is not first.context:
            raise errors.ContextError.explain(
                operation, "ciphertexts of two contexts or sessions", "one of them", "encrypt all in the same one")
        if x._key != first._key:
            raise errors.KeyError.explain(
                operation, f"ciphertexts of the keys {first._key} and {x._key}", "one key", "encrypt all by one client")
    return list(values)


def _joined(xs: list[Ciphertext], join: Callable[[Sequence[np.ndarray]], np.ndarray], operation: str,
            axis: Any) -> Ciphertext:
    arrays.as_integer(axis, operation, "axis")
    try:
        join([np.broadcast_to(0.0, x.shape) for x in xs])
    except Exception as why:  # numpy's
        raise errors.ShapeError.explain(
            operation, f"shapes {', '.join(str(x.shape) for x in xs)} ({first_line(why)})",
            "shapes that numpy joins", "reshape them, or check the axis") from why
    return moves.joined(xs, join, operation)
