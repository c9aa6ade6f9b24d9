"""Indexing and reshaping. numpy applies them to the array of slot addresses; the ciphertexts do not change."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import errors
from . import moves

if TYPE_CHECKING:
    from ..ckks.ciphertext import Ciphertext


def moved(x: Ciphertext, move: Callable[[np.ndarray], Any], operation: str) -> Ciphertext:
    """x after numpy's `move` was applied to its array of addresses."""
    try:
        places = np.asarray(move(np.arange(x.size).reshape(x.shape)))
    except Exception as why:  # raised by numpy, or by any conversion of the object
        raise errors.class_for_numpy_error(why).explain(
            operation, f"an array of shape {x.shape} ({first_line(why)})", "indices, axes and shapes that exist",
            "check the arguments") from why
    if not places.size:
        raise errors.ShapeError.explain(operation, "no values", "at least one", "check the index")
    if places.dtype.kind != "i":  # for example, a field of a record
        raise errors.ShapeError.explain(
            operation, "an object that is no index", "integers, slices or masks", "check the index")
    if places.shape == x.shape and np.array_equal(places.reshape(-1), np.arange(x.size)):
        return x
    return moves.taken(x, places)


def first_line(why: Exception) -> str:
    return str(why).partition("\n")[0] or type(why).__name__
