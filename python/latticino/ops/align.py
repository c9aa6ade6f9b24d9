"""Brings operands to one layout, and arrays to the plain layout."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import arrays, errors
from ..claims.known import as_complex, places_of
from ..common import layout, roles
from ..common.layout import Layout
from . import levels, moves

if TYPE_CHECKING:
    from ..ckks.ciphertext import Ciphertext


def aligned(x: Ciphertext, y: Ciphertext, operation: str) -> tuple[Ciphertext, Ciphertext]:
    """Both with numpy's broadcast shape and one layout. It is free if they have one layout already, or repeat.
    Otherwise one of them moves, which takes one level. It is the one whose move leaves the most levels; if both leave
    the same, it is the one that is cheaper to move."""
    roles.require_one_context(operation, x, y)
    if x.layout.same(y.layout):
        return x, y
    if x.layout.is_plain and y.layout.is_plain:
        if layout.repeats_over(y.shape, x.shape) and y.size == y.slots and x.shape != y.shape:
            return x, repeated(y, x)
        if layout.repeats_over(x.shape, y.shape) and x.size == x.slots and x.shape != y.shape:
            return repeated(x, y), y
    x, y = broadcast(x, shape_of(x, y, operation)), broadcast(y, shape_of(x, y, operation))
    if x.layout.same(y.layout):
        return x, y
    if _repeats(y, x.layout):
        return x, repeated(y, x)
    if _repeats(x, y.layout):
        return repeated(x, y), y
    slots = max(x.slots, y.slots)
    x, y = moves.widened(x, slots), moves.widened(y, slots)
    return (x, y) if x.layout.same(y.layout) else _moved(x, y, operation)


def shape_of(x: Ciphertext, y: Any, operation: str) -> tuple[int, ...]:
    try:
        shape = np.broadcast_shapes(x.shape, y.shape)
    except (RuntimeError, ValueError) as why:  # numpy broadcasts up to 32 dimensions, and has arrays of 64
        raise errors.ShapeError.explain(
            operation, f"shapes {x.shape} and {y.shape}", "equal shapes, or such that numpy broadcasts",
            "reshape or transpose one of them") from why
    if 0 in shape:  # where x has a single value
        raise errors.ShapeError.explain(
            operation, f"an operand of shape {y.shape}", "at least one value", "leave out the operand without values")
    return shape


def _moved(x: Ciphertext, y: Ciphertext, operation: str) -> tuple[Ciphertext, Ciphertext]:
    choices = []
    for first, (still, moving) in enumerate(((x, y), (y, x))):
        if still.layout.injective:
            level = min(still.level, moving.level - 1)
            choices.append((-level, moves.move(moving.layout, still.layout).cost, first))
    if not choices:  # both repeat values, along different axes
        where = Layout.plain(x.shape, _slots(x))
        return moves.placed(x, where, operation), moves.placed(y, where, operation)
    if min(choices)[2] == 0:
        return x, moves.placed(_lowered(y, x), x.layout, operation)
    return moves.placed(_lowered(x, y), y.layout, operation), y


def _lowered(moving: Ciphertext, still: Ciphertext) -> Ciphertext:
    """The operand, brought down to the level above that of the other one. This loses nothing, and makes the move
    cheaper."""
    return moving.to_level(still.level + 1) if moving.level > still.level + 1 and moving._is_canonical else moving


def _slots(x: Ciphertext) -> int:
    return max(x.slots, arrays.slots_for(x.size, x.context.slots, "move"))


def _repeats(x: Ciphertext, other: Layout) -> bool:
    """Whether x, whose slots repeat, has its values where the other layout needs them."""
    return len(x._parts) == 1 and x.slots < other.slots and np.array_equal(other.places % x.slots, x.layout.places)


def repeated(x: Ciphertext, larger: Ciphertext) -> Ciphertext:
    """x, which repeats periodically, in the layout of a larger array."""
    part = x._parts[0].with_slots(larger.slots)
    growth = math.sqrt(larger.slots / x.slots)  # because decoding reads more coefficients
    where = larger.layout.with_rest("zero").changed(larger.layout.full, x._known.reach)
    if x.layout.rest == "unknown":
        where = where.with_rest("unknown", x.layout.bound)
    return x._like([part] * len(larger._parts), x._known.repeated(larger.size, growth), layout=where)


def as_in(x: Ciphertext, other: Ciphertext, operation: str) -> Ciphertext:
    """x in the layout of another array of its shape, which has as many slots or more. It is free if x has that layout,
    or repeats over these slots; otherwise it takes one level."""
    if x.layout.same(other.layout):
        return x
    return repeated(x, other) if _repeats(x, other.layout) else moves.placed(x, other.layout, operation)


def broadcast(x: Ciphertext, shape: tuple[int, ...]) -> Ciphertext:
    """numpy's broadcast_to. It is free, because values share slots."""
    if shape == x.shape:
        return x
    try:
        index = np.broadcast_to(np.arange(x.size).reshape(x.shape), shape)
    except ValueError as why:
        raise errors.ShapeError.explain(
            "broadcast_to", f"shape {x.shape}", f"one that broadcasts to {shape}",
            "reshape it, or check the shape") from why
    return moves.taken(x, index)


def distinct(x: Ciphertext, operation: str) -> Ciphertext:
    """The values with one slot each. It takes one level if values share slots."""
    return x if x.layout.injective else moves.placed(x, Layout.plain(x.shape, _slots(x)), operation)


def cleared(x: Ciphertext, operation: str) -> Ciphertext:
    """The same layout. If the other slots hold what is not known, they are set to zero, which takes one level."""
    return masked(x, operation) if x.layout.rest == "unknown" else x


def masked(x: Ciphertext, operation: str) -> Ciphertext:
    """The same layout, with zeros in the other slots, whatever they held. It takes one level."""
    x = x._ready(1)
    levels.require_one(x, operation)
    mask = x.layout.used.astype(complex).reshape(-1, x.slots)
    factors = [x.context.encode(m, p.level, x._factor_scale(p)) for m, p in zip(mask, x._parts)]
    ones = as_complex(np.ones(x.shape))
    return x._made(x._contents.times_plain(x._evaluator, factors, ones, *places_of(x.layout)))


def with_rest(x: Ciphertext, value: complex, after: complex) -> Ciphertext:
    """x with a number added in all slots without values, which hold the number `after` then."""
    encoded: list[Any] = [None] * len(x._parts)
    if value:
        rows = np.where(x.layout.used, 0, value).astype(np.complex128).reshape(-1, x.slots)
        encoded = [x.context.encode(row, part.level, part.scale) if row.any() else None
                   for part, row in zip(x._parts, rows)]
    return x._made(x._contents.with_rest(x._evaluator, encoded, after))


def zeroed(x: Ciphertext) -> Ciphertext:
    """x with zeros in the slots without values, if one known number lies in all of them. It takes no level."""
    number = x.layout.number
    return with_rest(x, -number, 0.0) if number else x


def moderate(x: Ciphertext) -> Ciphertext:
    """x with zeros in the slots without values, if these hold a known number that is larger than the values."""
    number = None if x._clean else x._contents.excess
    return x if number is None else with_rest(x, -number, 0.0)


def plain(x: Ciphertext, operation: str) -> Ciphertext:
    """x in the plain layout. It is free if x has that layout already, with zeros or fillers behind; otherwise it takes
    one level."""
    if x.layout.is_plain and x.layout.rest != "unknown":
        return x
    if x.layout.is_plain:
        return cleared(x, operation)
    return moves.placed(x, Layout.plain(x.shape, _slots(x)), operation)


def operand(x: Ciphertext, values: Any, operation: str) -> tuple[Ciphertext, np.ndarray]:
    """x, and a plain array of its shape. If the array is larger, x is broadcast. This takes a level if the array then
    has different values where x shares a slot."""
    array = arrays.as_numpy(values, operation)
    if array.shape != x.shape:
        shape = shape_of(x, array, operation)
        x = broadcast(x, shape)
    if not x.layout.injective and not _constant(array, x.layout):
        x = distinct(x, operation)
    return x, np.ascontiguousarray(np.broadcast_to(array, x.shape)).reshape(x.shape)


def _constant(array: np.ndarray, where: Layout) -> bool:
    """Whether an array repeats one value along the axes along which the layout does, and has only distinct values
    otherwise."""
    axes = [a for a in range(len(where.shape)) if where.shape[a] > 1 and not np.diff(where.places, axis=a).any()]
    own = (1,) * (len(where.shape) - array.ndim) + array.shape
    at = tuple(slice(0, 1) if a in axes else slice(None) for a in range(len(where.shape)))
    first = where.places[at]
    return all(own[a] == 1 for a in axes) and np.unique(first).size == first.size
