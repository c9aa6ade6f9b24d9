"""Steps of random programs that make values of other shapes: slices, transposes, sums along an axis.

Values of several shapes meet each other as numpy broadcasts them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from types import EllipsisType
from typing import Any, Protocol

import numpy as np

_MOST = 2048  # the most values of a result
_TO_MOVE = 1  # levels that an operation takes if the values are not in the layout that it needs


class Drawing(Protocol):
    """The interface of the program that a step is drawn for: `Drawing` of ckks_programs.py implements it."""

    clear: list[np.ndarray]
    rng: np.random.Generator

    def add(self, name: str, step: Callable[[Any], Any], cost: int, *used: int, left: int | None = None,
            apart: int | None = None) -> None:
        """Adds a step that uses these values."""


def _any(d: Drawing, dimensions: int = 1, most: int = _MOST) -> int | None:
    """A value of at least so many axes, and of more than one number."""
    here = [i for i, v in enumerate(d.clear) if v.ndim >= dimensions and 1 < v.size <= most]
    return int(d.rng.choice(here)) if here else None


def _slice_of(d: Drawing, n: int) -> slice | int:
    """An index for an axis of n values: one of them, neighbours, every second or third, or all in reverse order."""
    kind = int(d.rng.integers(6))
    if kind == 0:
        return int(d.rng.integers(n))
    if kind == 1:
        return slice(None, None, -1)
    start = int(d.rng.integers(n))
    step = 1 if kind <= 3 else int(d.rng.integers(2, 4))
    stop = int(d.rng.integers(start, n)) + 1
    if kind == 5:
        return slice(stop - 1, start - 1 if start else None, -step)
    return slice(start, stop, step)


def _take(d: Drawing) -> None:
    if (i := _any(d)) is None:
        return
    shape = d.clear[i].shape
    axes = int(d.rng.integers(1, len(shape) + 1))
    index: tuple[slice | int | EllipsisType, ...] = tuple(_slice_of(d, n) for n in shape[:axes])
    if d.rng.integers(4) == 0:
        index = (Ellipsis, *(_slice_of(d, n) for n in shape[-axes:]))
    d.add("slice", lambda v: v[i][index], 0, i)


def _gather(d: Drawing) -> None:
    if (i := _any(d)) is None:
        return
    n = d.clear[i].shape[0]
    index = d.rng.integers(0, n, int(d.rng.integers(1, n + 1)))
    apart = np.unique(index).size * d.clear[i].size // n
    d.add("gather", lambda v: v[i][index], 0, i, apart=apart)


def _reverse(d: Drawing) -> None:
    if (i := _any(d)) is None:
        return
    axis = int(d.rng.integers(d.clear[i].ndim))
    d.add("flip", lambda v: np.flip(v[i], axis), 0, i)


def _transpose(d: Drawing) -> None:
    if (i := _any(d, 2)) is None:
        return
    axes = tuple(int(a) for a in d.rng.permutation(d.clear[i].ndim))
    d.add("transpose", lambda v: v[i].transpose(*axes), 0, i)


def _shape_of(d: Drawing, size: int) -> tuple[int, ...]:
    """A shape of two or three axes, or sometimes of one."""
    shape = [size]
    for _ in range(int(d.rng.integers(1, 3)) if d.rng.integers(5) else 0):
        n = shape.pop()
        divisors = [k for k in range(1, n + 1) if n % k == 0]
        k = int(d.rng.choice(divisors))
        shape += [k, n // k]
    return tuple(shape)


def _reshape(d: Drawing) -> None:
    if (i := _any(d)) is None:
        return
    shape = _shape_of(d, d.clear[i].size)
    d.add("reshape", lambda v: v[i].reshape(*shape), 0, i)


def _reduce(d: Drawing) -> None:
    """A sum or a mean along axes."""
    if (i := _any(d)) is None:
        return
    x = d.clear[i]
    count = int(d.rng.integers(1, x.ndim + 1))
    axes = tuple(int(a) for a in d.rng.choice(x.ndim, count, replace=False))
    axis = axes[0] if count == 1 and d.rng.integers(2) else axes
    keepdims, name = bool(d.rng.integers(2)), str(d.rng.choice(["sum", "mean"]))
    apart = x.size // math.prod(x.shape[a] for a in axes)
    d.add(f"{name} along {axis}".replace(", ", " "), lambda v: getattr(v[i], name)(axis=axis, keepdims=keepdims),
          1 + _TO_MOVE, i, apart=apart)


def _join(d: Drawing) -> None:
    if (i := _any(d, most=_MOST // 2)) is None:
        return
    x = d.clear[i]
    alike = [k for k, v in enumerate(d.clear) if v.shape == x.shape]
    j = int(d.rng.choice(alike))
    if d.rng.integers(2):
        axis = int(d.rng.integers(x.ndim + 1))
        d.add("stack", lambda v: np.stack([v[i], v[j]], axis), 0, i, j)
    else:
        axis = int(d.rng.integers(x.ndim))
        d.add("concatenate", lambda v: np.concatenate([v[i], v[j]], axis), 0, i, j)


def _fit(a: np.ndarray, b: np.ndarray) -> bool:
    try:
        return math.prod(np.broadcast_shapes(a.shape, b.shape)) <= _MOST
    except ValueError:
        return False


def _pair(d: Drawing) -> tuple[int, int]:
    """Two values that numpy broadcasts, of different shapes if there are such values."""
    i = int(d.rng.integers(len(d.clear)))
    fit = [k for k, v in enumerate(d.clear) if _fit(v, d.clear[i])]
    other = [k for k in fit if d.clear[k].shape != d.clear[i].shape]
    return i, int(d.rng.choice(other or fit))


def _add_broadcast(d: Drawing) -> None:
    i, j = _pair(d)
    d.add("add broadcast", lambda v: v[i] + v[j], _TO_MOVE, i, j)


def _subtract_broadcast(d: Drawing) -> None:
    i, j = _pair(d)
    d.add("subtract broadcast", lambda v: v[i] - v[j], _TO_MOVE, i, j)


def _multiply_broadcast(d: Drawing) -> None:
    i, j = _pair(d)
    d.add("multiply broadcast", lambda v: v[i] * v[j], 1 + _TO_MOVE, i, j)


def _plain(d: Drawing, shape: tuple[int, ...]) -> np.ndarray:
    """A plain array that broadcasts to a shape, or that the shape broadcasts to."""
    own = [1 if d.rng.integers(3) == 0 else n for n in shape[int(d.rng.integers(len(shape) + 1)):]]
    return 10.0 ** d.rng.uniform(-1, 1) * d.rng.uniform(-1, 1, own)


def _times_plain(d: Drawing) -> None:
    if (i := _any(d)) is not None:
        w = _plain(d, d.clear[i].shape)
        d.add("times row", lambda v: v[i] * w, 1 + _TO_MOVE, i)


def _plus_plain(d: Drawing) -> None:
    if (i := _any(d)) is not None:
        w = _plain(d, d.clear[i].shape)
        d.add("plus row", lambda v: v[i] + w, _TO_MOVE, i)


def _matmul(d: Drawing) -> None:
    if (i := _any(d)) is None:
        return
    size, n = d.clear[i].size, d.clear[i].shape[-1]
    if n <= 64:
        w = d.rng.uniform(-1, 1, (n, int(d.rng.integers(1, 9)))[: int(d.rng.integers(1, 3))])
        means = d.rng.integers(4) == 0
        w = np.full(w.shape, 1.0 / n) if means else w
        d.add("matmul of rows", lambda v: v[i] @ w, 1 + _TO_MOVE, i, apart=size // n if means else size)


Step = Callable[[Any], None]
STEPS: list[Step] = [
    _take, _take, _take, _gather, _reverse, _transpose, _transpose, _reshape, _reshape, _reduce, _reduce, _reduce,
    _reduce, _join, _join, _add_broadcast, _subtract_broadcast, _multiply_broadcast, _multiply_broadcast, _times_plain,
    _plus_plain, _matmul]
