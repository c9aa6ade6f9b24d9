"""Functions of several encrypted arrays."""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from typing import Any

from .. import errors
from ..arrays import as_numpy, shown
from ..common import captured
from ..common.naming import called
from . import reductions, types
from .array import EncryptedArray, Operand
from .pieces import each


def _first(operands: Sequence[Any], operation: str) -> EncryptedArray:
    for x in operands:
        if isinstance(x, EncryptedArray):
            return x
    raise errors.ShapeError.explain(
        operation, "no encrypted array", "at least one", "use numpy for clear values")


def _several(values: Any, operation: str) -> list[Any]:
    if not isinstance(values, (list, tuple, EncryptedArray)):
        raise errors.ShapeError.explain(
            operation, f"a {type(values).__name__}", "a list of arrays", "put them into a list")
    return list(values)


@captured.step("lt.where")
@called("where")
def where(condition: Operand, x: Operand, y: Operand, dtype: types.Type | None = None) -> EncryptedArray:
    """``x`` where the encrypted booleans are true, ``y`` elsewhere; the operands broadcast.

    Two bootstrappings per block, one for booleans of an integer set. ``dtype``: at least the result's,
    needed where both values are clear.
    """
    first = _first([x, y, condition], "where")
    ctx = first.context
    for o in (condition, x, y):
        if isinstance(o, EncryptedArray):
            first._operand(o, "where")  # all belong to one context
    if isinstance(condition, EncryptedArray):
        if condition.bits:
            raise errors.ParameterError.explain(
                "where", f"a condition of {condition.dtype}", "booleans", "compare first, or astype(\"bool\")")
    else:
        flags = types.as_integers(condition, 0, "where")
        condition = type(first)(ctx, first._evaluator.clear(flags.reshape(-1), 0), flags.shape, 0)
    if dtype is None and not (isinstance(x, EncryptedArray) or isinstance(y, EncryptedArray)):
        raise errors.ParameterError.explain(
            "where", "two clear values and no type", "a type", 'say dtype="u8"')
    bits = types.widest([o.bits for o in (x, y) if isinstance(o, EncryptedArray)]
                        + ([] if dtype is None else [types.bits_of(dtype, ctx.params, "where")]), "where")
    like = type(first)(ctx, first._parts, first.shape, bits)._blocks("where")  # the type that plain values get
    chosen = [like._operand(o, "where")._as(bits) for o in (x, y)]
    return each("where", first._evaluator.select, bits, [first._operand(condition, "where"), *chosen])


@called("minimum")
def minimum(x: Operand, y: Operand) -> EncryptedArray:
    """The smaller of two integers, element by element."""
    return _extreme("minimum", x, y)


@called("maximum")
def maximum(x: Operand, y: Operand) -> EncryptedArray:
    """The larger of two integers, element by element."""
    return _extreme("maximum", x, y)


def _extreme(name: str, x: Operand, y: Operand) -> EncryptedArray:
    first = _first([x, y], name)
    return first._arithmetic(name, y if first is x else x)


@called("concatenate")
def concatenate(arrays: Sequence[EncryptedArray], axis: int = 0) -> EncryptedArray:
    """Arrays joined along an axis, of the widest type among them; no bootstrapping."""
    arrays = _several(arrays, "concatenate")
    first = _first(arrays, "concatenate")
    several = [first._operand(x, "concatenate") for x in arrays]
    bits = types.widest([x.bits for x in several], "concatenate")
    return reductions.concatenate([x._as(bits) for x in several], axis)


@called("stack")
def stack(arrays: Sequence[EncryptedArray], axis: int = 0) -> EncryptedArray:
    """Arrays of one shape joined along a new axis; no bootstrapping."""
    arrays = _several(arrays, "stack")
    first = _first(arrays, "stack")
    if not isinstance(axis, numbers.Integral) or not -first.ndim - 1 <= axis <= first.ndim:
        raise errors.ShapeError.explain(
            "stack", f"axis {shown(axis)} for results of {first.ndim + 1} axes", "one of them", "check the axis")
    axis %= first.ndim + 1
    shape = (*first.shape[:axis], 1, *first.shape[axis:])
    if any(as_numpy(x, "stack").shape != first.shape if not isinstance(x, EncryptedArray) else x.shape != first.shape
           for x in arrays):
        raise errors.ShapeError.explain("stack", "arrays of several shapes", "one shape", "reshape them")
    return concatenate([first._operand(x, "stack").reshape(shape) for x in arrays], axis)
