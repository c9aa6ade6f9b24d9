"""Rules that choose, set and add up values at constant places. torch itself computes the places: an operation runs on
the numbers 0, 1, 2, ... of the values, and its result says where each value goes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from .layers import RULES as RULES
from .layers import Call, Value, rule

_LOOK_UP = "look the values up on the client, or multiply by a matrix of zeros and ones"
_MOST = 1 << 24  # the most products of two numbers that one map is written with


def _numbers(c: Call, x: Any, first: int = 0) -> Any:
    """An array of x's shape with the numbers of its values, beginning with the first."""
    return c.torch.arange(first, first + math.prod(x.shape)).reshape(tuple(x.shape))


def _picked(c: Call, x: Any, columns: np.ndarray, rows: np.ndarray, size: int) -> int:
    """Values of x at places (columns), added up in the places of a result (rows)."""
    node = c.build.reshape(x.node, (math.prod(x.shape),), c.layer)
    return c.build.sparse(node, rows, columns, np.ones(len(rows)), size, None, c.layer)


@rule("diagonal", "gather", "take")
def _chosen(c: Call, x: Any, *args: Any, **kwargs: Any) -> Value:
    """Values at constant places, as in ``x.gather(1, places)``."""
    _require_constants(c, args, _LOOK_UP)
    if not c.is_value(x):
        raise c.refuse(f"{c.name} of a constant", "values of the network", _LOOK_UP)
    chosen = c.node.target(_numbers(c, x), *args, **kwargs).reshape(-1).numpy()
    return c.value(_picked(c, x, chosen, np.arange(len(chosen)), len(chosen)))


@rule("index")
def _index(c: Call, x: Any, indices: Any) -> Value:
    return _chosen(c, x, indices)


# ---- values that are set ----


@rule("copy")
def _copy(c: Call, x: Any, source: Any, *_: Any) -> Any:
    """What ``part[:] = source`` writes: the source, repeated to the shape of the part."""
    _require_floats(c)
    if c.is_value(source):
        return Value(*RULES["expand"](c, source, c.expected))
    return c.torch.as_tensor(source).double().expand(c.expected)


@rule("select_scatter", "slice_scatter", "scatter", "index_put")
def _put(c: Call, x: Any, *args: Any, **kwargs: Any) -> Value:
    """x, where the values of a source replace those at constant places, as in ``x[:, 0] = source``."""
    _require_floats(c)
    at = {"scatter": 2, "index_put": 1}.get(c.name, 0)
    source, places = args[at], [*args[:at], *args[at + 1:]]
    if c.name == "scatter" and ("reduce" in kwargs or len(places) > 2):
        raise c.refuse("scatter with reduce=", "values that are set or added", "use scatter_add")
    _require_constants(c, places)
    if c.name == "index_put" and (kwargs.get("accumulate") or (len(args) > 2 and args[2])):
        return _added(c, x, source, _numbers(c, x)[tuple(slice(None) if i is None else i for i in args[0])])
    size, plain = math.prod(x.shape), isinstance(source, (int, float))
    own = size if plain else _numbers(c, source, size)
    from_each = c.node.target(_numbers(c, x), *args[:at], own, *args[at + 1:], **kwargs).reshape(-1).numpy()
    total, fixed = None, np.zeros(len(from_each))
    for given, first, chosen in ((x, 0, from_each < size), (source, size, from_each >= size)):
        rows = np.flatnonzero(chosen)
        if not c.is_value(given):
            flat = c.constant(given).reshape(-1)
            fixed[rows] = flat[from_each[rows] - first]
        elif len(rows):
            part = _picked(c, given, from_each[rows] - first, rows, len(from_each))
            total = part if total is None else c.build.add(total, part, c.layer)
    if total is None:
        return c.value(c.build.shift(c.build.scale(x.node, 0.0, c.layer), fixed.reshape(c.build.shape(x.node)),
                                     c.layer))
    return c.value(c.build.shift(total, fixed, c.layer) if fixed.any() else total)


@rule("scatter_add")
def _scatter_add(c: Call, x: Any, axis: int, places: Any, source: Any) -> Value:
    _require_constants(c, [places])
    to = _numbers(c, x).gather(axis, places)
    return _added(c, x, source, to, tuple(slice(n) for n in places.shape))


def _added(c: Call, x: Any, source: Any, to: Any, part: tuple[slice, ...] = ()) -> Value:
    """x plus values of a source (a part of it), which are added up in the places `to`."""
    given = _numbers(c, source)[part] if part else _numbers(c, source)
    rows, columns = to.reshape(-1).numpy(), given.expand(to.shape).reshape(-1).numpy()
    size = math.prod(x.shape)
    if not c.is_value(source):
        flat = np.zeros(size)
        np.add.at(flat, rows, c.constant(source).reshape(-1)[columns])
        return c.value(c.build.shift(c.build.reshape(x.node, (size,), c.layer), flat, c.layer))
    total = _picked(c, source, columns, rows, size)
    if c.is_value(x):
        return c.value(c.build.add(total, c.build.reshape(x.node, (size,), c.layer), c.layer))
    fixed = c.constant(x).reshape(-1)
    return c.value(c.build.shift(total, fixed, c.layer) if fixed.any() else total)


def _require_constants(c: Call, places: Sequence[Any], remedy: str = "multiply by a mask instead") -> None:
    for a in places:
        if any(c.is_value(i) for i in (a if isinstance(a, (list, tuple)) else [a])):
            raise c.refuse(f"{c.name} at places that are computed from the input", "constant places", remedy)


def _require_floats(c: Call) -> None:
    if not c.node.meta["val"].is_floating_point():
        raise c.refuse(f"values that are set in an array of {c.node.meta['val'].dtype}", "an array of real numbers",
                       "make the array with dtype=x.dtype")


# ---- constants, and products with several matrices ----


@rule("full_like")
def _full_like(c: Call, x: Any, value: Any, **_: Any) -> Any:
    """A constant: of ``torch.zeros_like(x)`` and its kin the values are known."""
    return c.torch.full(c.expected, value, dtype=c.node.meta["val"].dtype)


@rule("by_matrices")
def _by_matrices(c: Call, x: Any, w: np.ndarray, left: bool) -> Value:
    """``x @ w``, or ``w @ x`` (`left`), for an array w of several matrices."""
    lead = np.broadcast_shapes(x.shape[:-2], w.shape[:-2])
    n, m = (w.shape[-2], x.shape[-1]) if left else (x.shape[-2], w.shape[-1])
    places = _numbers(c, x).numpy()
    if left:
        columns, values = places[..., None, :, :], w[..., :, :, None]
    else:
        columns, values = places[..., :, :, None], w[..., None, :, :]
    full = (*lead, n, w.shape[-1] if left else w.shape[-2], m)
    if math.prod(full) > _MOST:
        raise c.refuse(f"{c.name} with a constant of shape {w.shape}", f"at most {_MOST:,} products of numbers",
                       "use one matrix for all")
    rows = np.arange(math.prod((*lead, n, m))).reshape(*lead, n, 1, m)
    rows, columns, values = (np.broadcast_to(a, full).reshape(-1) for a in (rows, columns, values))
    node = c.build.reshape(x.node, (math.prod(x.shape),), c.layer)
    return c.value(c.build.sparse(node, rows, columns, values, math.prod((*lead, n, m)), None, c.layer))


@rule("bilinear")
def _bilinear(c: Call, x: Any, y: Any, weight: Any, bias: Any = None) -> Value:
    """``x^T W_k y + b_k``, as a map of all products of a value of x and a value of y."""
    c.require_constants(weight=weight, bias=bias)
    w = c.constant(weight)
    if not (c.is_value(x) and c.is_value(y)):
        value, other = (x, y) if c.is_value(x) else (y, x)
        sides = "koi,...i->...ok" if c.is_value(x) else "kio,...i->...ok"
        made = np.einsum(sides, w, c.constant(other))
        row = Value(value.node, (*value.shape[:-1], 1, value.shape[-1]))
        out = _by_matrices(c, row, made, False)
    else:
        lead = tuple(x.shape[1:-1])
        left = c.build.reshape(x.node, (*lead, x.shape[-1], 1), c.layer)
        right = c.build.reshape(y.node, (*lead, 1, y.shape[-1]), c.layer)
        both = c.build.reshape(c.build.mul(left, right, c.layer), (*lead, x.shape[-1] * y.shape[-1]), c.layer)
        out = c.value(c.build.linear(both, w.reshape(len(w), -1), None, c.layer))
    if bias is None:
        return out
    assert c.expected is not None
    shaped = c.build.reshape(out.node, c.expected[1:], c.layer)
    return c.value(c.build.shift(shaped, c.constant(bias), c.layer))
