"""Encrypted vectors times plain matrices, block by block where either exceeds the slots."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _native, arrays, errors, noise

if TYPE_CHECKING:
    from .ciphertext import Ciphertext


def multiply(x: Ciphertext, w: Any) -> Ciphertext:
    """See Ciphertext.__matmul__."""
    w = arrays.as_numpy(w, "matmul")
    if len(x.shape) != 1 or w.ndim != 2 or w.shape[0] != x.shape[0] or 0 in w.shape:
        raise errors.ShapeError.explain(
            "matmul", f"shapes {x.shape} and {w.shape}", "(n,) and (n, m)", "reshape or transpose")
    if not np.isfinite(w).all():
        raise errors.ValueError.explain("matmul", "NaN or infinity", "finite numbers", "clean the data")
    x = x._ready(1)
    out_slots = arrays.slots_for(w.shape[1], x.context.slots, "matmul")
    parts = [_row_of_blocks(x, w[:, at : at + out_slots], out_slots) for at in range(0, w.shape[1], out_slots)]
    y = x._like(parts, 0.0, True, (w.shape[1],))
    # Longer inputs leave each result in pieces, which rotations add up (src/ckks/matrix.h).
    pieces = max(1, x.slots // out_slots)
    added = math.hypot(pieces * x._multiplied(parts), y._switched() * noise.doubling(pieces))
    given = x._error * float(np.linalg.norm(w, axis=0).max())
    return y._like(parts, math.hypot(given, added * math.sqrt(len(x._parts))))


def _row_of_blocks(x: Ciphertext, w: np.ndarray, out_slots: int) -> _native.Ciphertext:
    """The product with all rows of `w`: one block of rows for each ciphertext of x."""
    slots, total = max(x.slots, out_slots), None
    for i, part in enumerate(x._parts):
        block = w[i * x.slots : (i + 1) * x.slots]
        block = np.pad(block, ((0, x.slots - len(block)), (0, 0)))
        product = x.context.matrix_product(block, slots, part.level)
        y = product.apply(x.context.evaluator, part.with_slots(slots))
        total = y if total is None else x.context.evaluator.add(total, y)
    return total.with_slots(out_slots)
