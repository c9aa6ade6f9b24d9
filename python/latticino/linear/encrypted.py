"""Products of two encrypted matrices.

A @ B of shapes (r, n) and (n, m) is the sum over t of two arrays of shape (r, m), multiplied slot by slot:

    (A @ B)[i, j] = sum over t of A[i, (i + j + t) mod n] * B[(i + j + t) mod n, j]

With a[i, c] = A[i, (i + c) mod n] in rows of m + n - 1 slots, the first factor is a, rotated by t. With b[c, j] =
B[(c + j) mod n, j] the second one is b, rotated by t rows. (In Jiang, Kim, Lauter, Song 2018, eprint 2018/1041, rows
have n slots, which takes masks and one more level.) So two maps make a and b, which takes one level. The 2 (n - 1)
rotations are made in two steps, so that there are few keys; they share about 2 sqrt(n) ModUps. The n products share one
relinearisation and one rescaling. If slots are left, q copies of a and b, each shifted by n / q, need only n / q
rotations, and log2(q) more to add them up.
"""

from __future__ import annotations

import contextlib
import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING

import numpy as np

from .. import _native, arrays, errors
from ..claims import noise
from ..claims.known import flat_index
from ..common import captured, roles
from ..common.layout import Layout
from ..ops import levels, matrix, moves
from .maps import LinearMap

if TYPE_CHECKING:
    from ..ckks.ciphertext import Ciphertext

_MAX_WORKING = 2 << 30  # bytes of rotated ciphertexts at the same time
_MAX_DIAGONALS = 2048  # of the map of one factor; if it has more, a factor is packed row by row first
_MAX_TERMS = 1 << 26  # products of single values up to which their errors are estimated one by one
_PER_LEVEL = 60  # number of diagonals that count as much as a level
_FEW_SHIFTS = 4  # the most rotations that have a key each


def product(x: Ciphertext, y: Ciphertext) -> Ciphertext:
    """``x @ y``: see Ciphertext.__matmul__."""
    shape = matrix.result_shape(x.shape, y.shape)
    roles.require_one_context("matmul", x, y)
    if x.ndim == 1 and y.ndim == 1:
        return (x * y).sum()
    if y.ndim > 1 and (x.ndim == 1 or x.shape[-2] == 1):  # as a sum of rows, each multiplied by a number
        vector = x if x.ndim == 1 else x.reshape(*x.shape[:-2], x.shape[-1])
        return (vector.expand_dims(-1) * y).sum(-2).reshape(shape)
    if y.ndim == 1 or y.shape[-1] == 1:
        vector = y if y.ndim == 1 else y.reshape(y.shape[:-1])
        return (x * vector.expand_dims(-2)).sum(-1).reshape(shape)
    lead = shape[:-2]
    if not lead:
        return _matrix_product(x, y)
    if math.prod(shape) * x.shape[-1] <= x.context.slots:  # computes everything at once, in one ciphertext
        # because the values would have to move by too many distances
        with contextlib.suppress(errors.UnsupportedError):
            return (x.expand_dims(-1) * y.expand_dims(-3)).sum(-2)
    xs, ys = (v.broadcast_to((*lead, *v.shape[-2:])) for v in (x, y))
    every = [_matrix_product(xs[at], ys[at]) for at in itertools.product(*map(range, lead))]
    out = moves.joined(every, np.stack, "matmul") if len(every) > 1 else every[0]
    return moves.taken(out, np.arange(out.size).reshape(shape))


def power(x: Ciphertext, n: int) -> Ciphertext:
    """See `matrix_power`."""
    n = arrays.as_integer(n, "matrix_power", "n", 1)
    if x.ndim < 2 or x.shape[-1] != x.shape[-2]:
        raise errors.ShapeError.explain(
            "matrix_power", f"shape {x.shape}", "square matrices, (..., n, n)", "reshape it")
    out = None
    while True:
        if n & 1:
            out = x if out is None else product(out, x)
        n >>= 1
        if not n:
            assert out is not None
            return out
        x = product(x, x)


@dataclass(frozen=True)
class Tiling:
    """How a and b of a product of shapes (r, n) and (n, m) lie in slots: in ``copies``, each of ``rows`` rows of
    ``width`` slots, with ``shifts`` rotations; ``cyclic``: b repeats after its rows."""

    r: int
    n: int
    m: int
    copies: int
    shifts: int
    rows: int
    width: int
    cyclic: bool = False

    @property
    def slots(self) -> int:
        whole = self.copies * self.rows * self.width
        return 1 << (max(whole, self.r * self.width) - 1).bit_length()

    @property
    def slots_right(self) -> int:
        """Slots of the ciphertext of b; its content repeats after them."""
        return self.rows * self.width if self.cyclic else self.slots

    def _of(self, rows: int, columns: int) -> np.ndarray:
        p, i, c = np.ogrid[: self.copies, :rows, :columns]
        return np.asarray((p * self.rows + i) * self.width + c)

    def left(self) -> tuple[np.ndarray, np.ndarray]:
        """The places of a, and for each the value of A there, or -1."""
        places = self._of(self.r, self.m + self.shifts - 1)
        p, i, c = np.ogrid[: places.shape[0], : places.shape[1], : places.shape[2]]
        k = (i + c + p * self.shifts) % (self.copies * self.shifts)
        return places, np.where(k < self.n, i * self.n + k, -1)

    def right(self) -> tuple[np.ndarray, np.ndarray]:
        """The places of b, and for each the value of B there, or -1."""
        places = self._of(self.rows, self.m)
        p, c, j = np.ogrid[: places.shape[0], : places.shape[1], : places.shape[2]]
        k = (c + j + p * self.shifts) % (self.copies * self.shifts)
        return places, np.where(k < self.n, k * self.m + j, -1)

    def terms(self) -> tuple[np.ndarray, np.ndarray]:
        """For each result and term of its sum, which value of a and of b it takes: flat, of shape (r, m, terms)."""
        i, j, p, t = np.ogrid[: self.r, : self.m, : self.copies, : self.shifts]
        wide = self.m + self.shifts - 1
        a = (p * self.r + i) * wide + j + t
        b = (p * self.rows + (i + t) % self.rows) * self.m + j
        shape = (self.r, self.m, self.copies * self.shifts)
        return a.reshape(shape), np.broadcast_to(b, a.shape).reshape(shape)


def _tilings(r: int, n: int, m: int, stride: int, most: int) -> Iterator[Tiling]:
    """The tilings that fit `most` slots. `stride` is the distance of the rows of B."""
    for q in (1 << k for k in range(n.bit_length())):
        s = -(-n // q)
        least = m + s - 1
        widths = {1 << (least - 1).bit_length(), -(-least // stride) * stride}
        for width in widths:
            one = Tiling(r, n, m, q, s, r + s - 1, width)
            if one.copies * one.rows * width <= most:
                yield one
            whole = n * width
            if q == 1 and whole & (whole - 1) == 0 and max(whole, r * width) <= most:
                yield Tiling(r, n, m, 1, n, n, width, True)


def _diagonals(source: Layout, places: np.ndarray, index: np.ndarray, slots: int) -> int:
    """The number of diagonals of the map that brings values from `source` to these places."""
    there = index >= 0
    s = source.places.reshape(-1)[index[there]]
    distance = (s - places[there]) % slots % min(slots, source.slots)
    return int(np.unique(s // source.slots * slots + distance).size)


def _matrix_product(x: Ciphertext, y: Ciphertext) -> Ciphertext:
    (r, n), m, most = x.shape, y.shape[1], x.context.slots
    found = list(_tilings(r, n, m, _row_stride(y), most))
    if not found or r * n * m > _MAX_TERMS:
        return _in_halves(x, y)
    ways = []
    for packed in itertools.product((False, True), repeat=2):
        layouts = [_packed(v) if p else v.layout for v, p in zip((x, y), packed)]
        for tiling in found:
            counts = [_diagonals(layouts[0], *tiling.left(), tiling.slots),
                      _diagonals(layouts[1], *tiling.right(), tiling.slots_right)]
            first = [moves.move(v.layout, w).map.diagonals + _PER_LEVEL
                     for v, w, p in zip((x, y), layouts, packed) if p]
            if max(counts) <= _MAX_DIAGONALS or any(packed):
                work = 3 * tiling.shifts + 4 * math.log2(tiling.copies) + 0.8 * (sum(counts) + sum(first))
                short = any(p and v.level < 3 and not v.context.auto_bootstrap for v, p in zip((x, y), packed))
                ways.append((short, max(counts) > _MAX_DIAGONALS, work, packed, tiling))
    *_, packed, tiling = min(ways, key=lambda way: way[:4])
    x = x._ready(2 + packed[0])
    y = x if y is x else y._ready(2 + packed[1])
    x, y = (v.contiguous() if p else v for v, p in zip((x, y), packed))
    return _tiled(x, y, tiling)


def _row_stride(y: Ciphertext) -> int:
    """The distance from one row of y to the next. If rows have no common distance, it is the length of a row."""
    places = y.layout.places
    step = int(places[1, 0] - places[0, 0]) if len(places) > 1 else 0
    return step if y.shape[1] <= step <= y.slots else y.shape[1]


def _packed(v: Ciphertext) -> Layout:
    return Layout.plain(v.shape, max(v.slots, arrays.slots_for(v.size, v.context.slots, "matmul")))


def _in_halves(x: Ciphertext, y: Ciphertext) -> Ciphertext:
    """The product of matrices that are too large for one ciphertext: halves the longest of r, n and m."""
    (r, n), m = x.shape, y.shape[1]
    if r >= max(n, m):
        return _beside([product(x[: r // 2], y), product(x[r // 2 :], y)], 0)
    if m >= n:
        return _beside([product(x, y[:, : m // 2]), product(x, y[:, m // 2 :])], 1)
    return product(x[:, : n // 2], y[: n // 2]) + product(x[:, n // 2 :], y[n // 2 :])


def _beside(halves: list[Ciphertext], axis: int) -> Ciphertext:
    return moves.joined(halves, lambda places: np.concatenate(places, axis), "matmul")


def _tiled(x: Ciphertext, y: Ciphertext, tiling: Tiling) -> Ciphertext:
    for v in (x, y):
        if v.level < 2:
            raise errors.LevelError.explain(
                "matmul", f"an encrypted matrix at level {v.level}", "level 2 or more for the product of two",
                levels.more_levels(v.context))
    level = min(x.level, y.level)
    x, y = (v if v.level == level else v.to_level(level) for v in (x, y))
    a = _map(tiling, tiling.left, tiling.slots, x)(x)
    b = _map(tiling, tiling.right, tiling.slots_right, y)(y)
    e, slots = x._evaluator, tiling.slots
    left, right = a._parts[0].with_slots(slots), b._parts[0].with_slots(slots)
    sums = _sums(e, left, right, tiling)
    made = reduce(e.add, sums)
    params = x.context.params
    twice = math.sqrt(2) if tiling.shifts > _FEW_SHIFTS else 1.0
    switched = [noise.switched(params, v.level, slots, v.scale) * twice for v in (left, right)]
    added = noise.multiplied(params, left.level, slots, made.scale) * math.sqrt(len(sums))
    if tiling.copies > 1:
        made = moves.windows(e, [made], tiling.rows * tiling.width, tiling.copies, slots)[0]
        turn = noise.switched(params, made.level, slots, made.scale)
        added = math.hypot(added * math.sqrt(tiling.copies), turn * math.sqrt(tiling.copies - 1))
    known_a, known_b = (v._known if v.slots == slots else v._known.repeated(v.size, math.sqrt(slots / v.slots))
                        for v in (a, b))
    terms = tiling.terms()
    factors = [k.taken(at.shape, flat_index(at)).plus_error(s) for k, at, s in zip((known_a, known_b), terms, switched)]
    known = factors[0].times(factors[1], False, 0.0).reduced(terms[0].shape, (2,), terms[0].shape[2], 1, added, 0, [])
    i, j = np.ogrid[: tiling.r, : tiling.m]
    where = Layout((tiling.r, tiling.m), slots, 1, i * tiling.width + j)
    return x._like([made], known, layout=where.with_rest(
        "zero" if tiling.copies == 1 else "unknown", known.reach))


def _sums(e: _native.Evaluator, left: _native.Ciphertext, right: _native.Ciphertext,
          tiling: Tiling) -> list[_native.Ciphertext]:
    """Parts of the sum over t of the products of a, rotated by t, and b, rotated by t rows. There are as few parts as
    memory allows.

    t = g step + b: rotations by b of the ciphertext, and by g step of each of those, take few keys."""
    at_once = max(1, _MAX_WORKING // (left.bytes + right.bytes))
    step = tiling.shifts if tiling.shifts <= _FEW_SHIFTS else 1 << (tiling.shifts - 1).bit_length() // 2
    sides = [(x, unit, moves.rotated(e, x, [b * unit % tiling.slots for b in range(min(step, tiling.shifts))]))
             for x, unit in ((left, 1), (right, tiling.width))]
    sums, waiting = [], [[], []]  # type: ignore[var-annotated]
    for b in range(len(sides[0][2])):
        for side, (_, unit, babies) in zip(waiting, sides):
            turns = range(0, tiling.shifts - b, step)
            side += [[p] for p in moves.rotated(e, babies[b], [k * unit % tiling.slots for k in turns])]
        if len(waiting[0]) >= at_once or b + 1 == len(sides[0][2]):
            sums.append(e.dot(*waiting)[0])
            waiting = [[], []]
    return sums


def _map(tiling: Tiling, side: Callable[[], tuple[np.ndarray, np.ndarray]], slots: int, v: Ciphertext) -> LinearMap:
    """The map that makes a or b."""
    def made() -> LinearMap:
        places, index = side()
        there = np.flatnonzero(index.reshape(-1) >= 0)
        target = Layout(places.shape, slots, 1, places)
        return LinearMap(there, index.reshape(-1)[there], np.ones(there.size), v.shape, places.shape, target=target,
                         operation="matmul", shared=True)

    return moves.remembered(("matrices", tiling, side.__name__, v.shape), made)


@captured.step("lt.matrix_power")
def matrix_power(x: Ciphertext, n: int) -> Ciphertext:
    """``x @ x @ .. @ x`` of encrypted square matrices, shape (..., k, k), for n >= 1: about log2(n) products one after
    the other, 2 levels each."""
    if not isinstance(getattr(x, "layout", None), Layout):
        raise errors.UnsupportedError.explain(
            "matrix_power", f"a {type(x).__name__}", "an encrypted array", "call numpy.linalg.matrix_power for others")
    return power(x, n)

