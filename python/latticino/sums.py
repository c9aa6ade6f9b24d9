"""What moves values between slots: rotations, and the sums that are made of them."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from . import _native, arrays, errors, layout, noise
from .known import rounding

if TYPE_CHECKING:
    from .ciphertext import Ciphertext


def rotate(x: Ciphertext, k: int) -> Ciphertext:
    """See Ciphertext.rotate."""
    k = arrays.as_integer(k, "rotate", "steps") % x.size
    if k == 0:
        return x
    e, groups = x._evaluator, layout.rotation_groups(x.size, x.slots, k)
    masked = any(mask is not None for group in groups for _, _, mask in group)
    x = x._ready(1) if masked else x
    parts, encoded, scale = [], 0.0, 1.0
    for i, group in enumerate(groups):
        total = None
        for source, turn, mask in group:
            y = e.rotate(x._parts[source], turn) if turn else x._parts[source]
            if mask is not None:
                name = ("rotation", x.size, x.slots, k, i, source, turn)
                factor = x.context._encode_named(name, partial(mask.astype, complex), y.level, x._factor_scale(y))
                y = e.multiply_plain(y, factor)
                encoded = noise.encoded(x.slots, factor.scale) * math.sqrt(len(group))
                scale = factor.scale
            total = y if total is None else e.add(total, y)
        parts.append(total)
    # A result without a mask next to masked ones keeps its level: sums and products align it.
    added = math.hypot(x._switched(), x._rescaled(parts) if masked else 0.0)
    off = _off(x, groups, scale) if masked and x._known.sample is not None else None
    return x._like(parts, x._known.rotated(k, masked, added, encoded * x._known.range.rms, off))


def _off(x: Ciphertext, groups: list[list[tuple[int, int, np.ndarray | None]]], scale: float) -> np.ndarray:
    """What the rounding of a rotation's masks adds to the sample's values."""
    rows = arrays.rows(x._known.sample[0].reshape(-1), x.slots)
    out = np.zeros((len(groups), x.slots), dtype=np.complex128)
    for row, group in zip(out, groups):
        for source, turn, mask in group:
            if mask is not None:
                row += np.roll(rows[source], -turn) * rounding(mask.astype(complex), x.slots, scale)
    return out.reshape(-1)[: x.size].reshape(x.shape)


def total(x: Ciphertext, axis: int | None) -> Ciphertext:
    """See Ciphertext.sum."""
    if x._padded and not x._clean:
        x = x * np.ones(x.shape)
    e = x._evaluator
    part = x._parts[0]
    for other in x._parts[1:]:
        part = e.add(part, other)
    kept = 1
    if axis is not None:
        axis = arrays.as_integer(axis, "sum", "axis")
        axis += len(x.shape) if axis < 0 else 0
        kept = _columns(x, "sum") if axis == 0 else 0
        if not kept or len(x.shape) != 2:
            raise errors.UnsupportedError.explain(
                "sum", f"axis={arrays.shown(axis)} of shape {x.shape}", "no axis, or axis 0 of two", "see spread_sum")
    count = x.slots // kept
    if count > 1:
        part = e.inner_sum(part, kept, count)
    shape = () if axis is None else x.shape[1:]
    known = x._known.summed(shape, x.size / kept, x._switched(kept) * noise.doubling(count))
    return x._like([part.with_slots(kept)], known, True, shape)


def spread(x: Ciphertext, factor: complex) -> Ciphertext:
    """See Ciphertext.spread_sum."""
    c, factor = _columns(x, "spread_sum"), arrays.as_complex(factor, "spread_sum", "factor")
    x, e = x._ready(1), x._evaluator
    # Steps along the row: what one leaves in a slot meets what it left in others.
    summed = e.inner_sum(x._parts, 1, c)
    first_error = x._switched() * math.sqrt(c - 1)
    masks = [_first_of_rows(x, i, c, factor) for i in range(len(x._parts))]
    first = e.multiply_plain(summed, masks)
    parts = e.inner_sum(first, -1, c)
    level, scale = first[0].level, first[0].scale
    added = math.hypot(abs(factor) * first_error, x._rescaled(first) * math.sqrt(c),
                       noise.switched(x.context.params, level, x.slots, scale) * math.sqrt(c - 1),
                       noise.encoded(x.slots, masks[0].scale) * math.sqrt(c) * x._known.range.rms)
    return x._like(parts, x._known.spread(factor, c, added), True)


def _first_of_rows(x: Ciphertext, i: int, c: int, factor: complex) -> _native.Plaintext:
    """For ciphertext i of x: `factor` in the first place of each row of c values, zero elsewhere."""
    part, filled = x._parts[i], min(x.slots, x.size - i * x.slots)

    def values() -> np.ndarray:
        mask = np.zeros(x.slots, complex)
        mask[:filled:c] = factor
        return mask

    name = ("first of rows", x.slots, filled, c, complex(factor))
    return x.context._encode_named(name, values, part.level, x._factor_scale(part))


def _columns(x: Ciphertext, operation: str) -> int:
    c = x.shape[-1] if x.shape else 1
    if c & (c - 1) or c > x.slots:
        raise errors.ShapeError.explain(
            operation, f"rows of {c} values", f"a power of two up to {x.slots}", "pad the rows")
    return c
