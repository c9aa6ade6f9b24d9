"""Joins encrypted arrays, and reduces them over one axis or all."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from .. import errors
from ..arrays import shown
from . import engine, modular, types
from .pieces import each

if TYPE_CHECKING:
    from .array import EncryptedArray

_SUM_TERMS = 16  # ciphertexts of one sum: with more of them, carries are a small part of the work


def total(x: EncryptedArray, axis: int | None, dtype: types.Type | None) -> EncryptedArray:
    """See EncryptedArray.sum."""
    places = _along(x, axis, "sum")
    x = _for_sums_of(x, len(places), dtype)
    if x.bits < 0:
        return modular.total(x._at(places, "sum"))
    x._integer("sum")
    kept, length = places.shape[1:], len(places)
    x = x._at(places.reshape(-1), "sum").reshape(length, -1)
    evaluator = x._evaluator
    while length > 1:
        terms = min(length, _SUM_TERMS)
        rows = -(-length // terms)
        if terms * rows > length:
            none = np.zeros((terms * rows - length, x.shape[1]), np.uint64)
            x = concatenate([x, x._operand(none, "sum")])
        pieces = [x[t * rows : (t + 1) * rows] for t in range(terms)]
        x = each("sum", lambda *p: evaluator.sum(list(p)), x.bits, pieces)
        length = rows
    return x.reshape(kept)


def cumulated(x: EncryptedArray, axis: int | None, dtype: types.Type | None) -> EncryptedArray:
    """See EncryptedArray.cumsum. Every place adds the sum that ends `step` places before it, and then steps double."""
    places = _along(x, axis, "cumsum")
    x = _for_sums_of(x, len(places), dtype)
    x = x.reshape(-1) if axis is None else x.moveaxis(axis, 0)
    step = 1
    while step < len(x):
        x = concatenate([x[:step], x[step:] + x[:-step]])
        step *= 2
    return x if axis is None else x.moveaxis(0, axis)


def _for_sums_of(x: EncryptedArray, terms: int, dtype: types.Type | None) -> EncryptedArray:
    """The array in the type in which so many of its values are added."""
    if dtype is None and not x.bits:
        block = max(x.context.params.message_bits, 1)
        dtype = types.name_of(-(-terms.bit_length() // block) * block)
    return x if dtype is None else x.astype(dtype)


def fold(x: EncryptedArray, name: str, axis: int | None,
         f: Callable[[EncryptedArray, EncryptedArray], EncryptedArray]) -> EncryptedArray:
    """f of all values over an axis: first of pairs, then of pairs of results, and so on."""
    places = _along(x, axis, name)
    x = x._at(places.reshape(-1), name).reshape(len(places), -1)
    while len(x) > 1:
        half = len(x) // 2
        pairs = f(x[:half], x[half : 2 * half])
        x = pairs if len(x) == 2 * half else concatenate([pairs, x[2 * half :]])
    return x.reshape(places.shape[1:])


def _along(x: EncryptedArray, axis: int | None, operation: str) -> np.ndarray:
    """The flat places with the axis in front. None stands for all axes."""
    return x._moved(lambda p: p.reshape(-1) if axis is None else np.moveaxis(p, axis, 0), operation)


def concatenate(several: list[EncryptedArray], axis: int = 0) -> EncryptedArray:
    """See latticino.concatenate."""
    x = several[0]
    starts = np.cumsum([0, *(o.size for o in several)])
    try:
        places = np.concatenate([o._places() + np.uint32(s) for o, s in zip(several, starts)], axis)
    except Exception as why:  # raised by numpy, or by any conversion of the object
        raise errors.ShapeError.explain(
            "concatenate", f"axis {shown(axis)} of " + " and ".join(str(o.shape) for o in several),
            "shapes equal but for one axis, and that axis",
            "reshape them, or check the axis") from why
    whole = x._new(engine.concatenate([o._parts for o in several]), (int(starts[-1]),), x.bits)
    return whole._at(places, "concatenate")
