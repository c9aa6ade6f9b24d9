"""Odd polynomials that are as close to 1 as possible on [a, 1], and so to the sign on both sides of 0.

The exchange algorithm of Remez, in the widest floating point that numpy has here. Source of the use as stages of a
sign: Lee, Lee, No and Kim, "Minimax approximation of sign function by composite polynomial for homomorphic
comparison", IEEE TDSC 2021.
"""

from __future__ import annotations

import itertools
import math
from functools import lru_cache
from typing import Any

import numpy as np

POINTS = 3000  # points of the grid on which extrema are searched
_ROUNDS = 60
_TOLERANCE = 1e-6  # by how much the distance may grow in the last round, relative to it and to its difference from 1
_FLOOR = 2.0**-46  # smaller distances are lost in rounding

Real = Any  # numpy's type of numbers


@lru_cache(maxsize=4096)
def minimax(degree: int, a: float, points: int = POINTS,
            real: Real = np.longdouble) -> tuple[tuple[float, ...], float]:
    """The polynomial of odd degree with the smallest largest distance from 1 on [a, 1], for 0 < a < 1.

    As coefficients of T_0, T_1, ... on [-1, 1], those of even index zero, and that distance: infinite if it would
    be less than 2^-46.
    """
    count = (degree + 1) // 2
    grid = _grid(a, points, real)
    basis = _odd_basis(grid, a, count)
    points_now = _first_points(a, count, real)
    before = real(0)
    for _ in range(_ROUNDS):
        here = _odd_basis(points_now, a, count)
        solution = _solve(np.concatenate([here, _signs(len(here), real)[:, None]], axis=1), np.ones(len(here), real))
        level = np.abs(solution[-1])
        if level < _FLOOR:
            return (), math.inf
        if abs(level - before) <= _TOLERANCE * min(level, abs(1 - level)):
            break
        before = level
        points_now = _exchanged(*_extrema(grid, 1 - basis @ solution[:-1]), points_now)
    else:
        return (), math.inf
    largest = level + _TOLERANCE * min(level, abs(1 - level))
    nodes = np.cos(np.pi * (np.arange(degree + 1, dtype=real) + real(0.5)) / (degree + 1))
    values = _odd_basis(np.abs(nodes), a, count) @ solution[:-1] * np.sign(nodes)
    k = np.arange(degree + 1)
    c = 2 * (np.cos(np.arccos(nodes)[None, :] * k[:, None]) @ values) / (degree + 1)
    c[::2] = 0
    return tuple(float(x) for x in c), float(largest)


def _signs(n: int, real: Real) -> np.ndarray:
    return np.where(np.arange(n) % 2, real(-1), real(1))


def _grid(a: float, points: int, real: Real) -> np.ndarray:
    """Points of [a, 1] that are dense near both ends. If a is small, distances of points near it are proportional to
    it."""
    t = _shares(points, real)
    both = np.concatenate([real(a) ** (1 - t), real(a) + (1 - real(a)) * t])
    both = np.unique(np.clip(both, real(a), real(1)))
    return both


@lru_cache(maxsize=4)
def _shares(points: int, real: Real) -> np.ndarray:
    """Numbers from 0 to 1 that are dense near both ends."""
    return np.asarray((1 - np.cos(np.pi * np.arange(points + 1, dtype=real) / points)) / 2)


def _odd_basis(x: np.ndarray, a: float, count: int) -> np.ndarray:
    """x T_k(u), where u brings x^2 from [a^2, 1] to [-1, 1]: a basis of the odd polynomials that is well
    conditioned.
    """
    low = x.dtype.type(a) ** 2
    u = (2 * x * x - low - 1) / (1 - low)
    out = np.empty((len(x), count), x.dtype)
    before, now = np.ones_like(u), u
    for k in range(count):
        out[:, k] = x * before
        before, now = now, 2 * u * now - before
    return out


def _first_points(a: float, count: int, real: Real) -> np.ndarray:
    """The first points: Chebyshev's points for x^2."""
    t = (1 - np.cos(np.pi * np.arange(count + 1, dtype=real) / count)) / 2
    return np.asarray(np.sqrt(real(a) ** 2 + (1 - real(a) ** 2) * t))


def _extrema(x: np.ndarray, residual: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The positions of the largest residual between changes of its sign, and its size there: the vertex of a parabola.
    """
    positive = residual > 0
    starts = np.concatenate([[0], np.flatnonzero(positive[1:] != positive[:-1]) + 1, [len(residual)]])
    size = np.abs(residual)
    i = np.array([lo + int(size[lo:hi].argmax()) for lo, hi in itertools.pairwise(starts)])
    at, peak = x[i], size[i]
    inner = (i > 0) & (i < len(x) - 1)
    inner[inner] &= (positive[i[inner] - 1] == positive[i[inner]]) & (positive[i[inner] + 1] == positive[i[inner]])
    j = i[inner]
    h0, h1 = x[j] - x[j - 1], x[j + 1] - x[j]
    d0, d1 = (size[j] - size[j - 1]) / h0, (size[j + 1] - size[j]) / h1
    bend = (d1 - d0) / (h0 + h1)
    slope = (d0 * h1 + d1 * h0) / (h0 + h1)
    move = np.where(bend < 0, -slope / (2 * np.where(bend < 0, bend, 1)), 0)
    move = np.clip(move, -h0, h1)
    at[inner] += move
    peak[inner] += np.maximum(move * (slope + bend * move), 0)
    return at, peak


def _exchanged(at: np.ndarray, sizes: np.ndarray, before: np.ndarray) -> np.ndarray:
    """The extrema that replace the points: as many as there were points, of alternating signs, with the largest among
    them."""
    kept = list(range(len(at)))
    # Removes the smallest one. Unless it is at an end, a neighbour is removed too, so that signs still alternate.
    while len(kept) > len(before):
        size = sizes[kept]
        least = int(size.argmin())
        if least in (0, len(kept) - 1):
            kept.pop(least)
        elif len(kept) == len(before) + 1:
            kept.pop(0 if size[0] < size[-1] else -1)
        else:
            first = least - 1 if size[least - 1] < size[least + 1] else least
            del kept[first : first + 2]
    return at[kept] if len(kept) == len(before) else before


def _solve(m: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Solves a linear system by Gaussian elimination with pivots, for wide numbers. numpy's own solver takes doubles
    only."""
    if m.dtype == np.float64:
        return np.asarray(np.linalg.solve(m, right))
    m, b = np.array(m), np.array(right)
    n = len(b)
    for i in range(n):
        pivot = i + int(np.abs(m[i:, i]).argmax())
        m[[i, pivot]], b[[i, pivot]] = m[[pivot, i]], b[[pivot, i]]
        factors = m[i + 1 :, i] / m[i, i]
        m[i + 1 :] -= factors[:, None] * m[i]
        b[i + 1 :] -= factors * b[i]
    for i in range(n - 1, -1, -1):
        b[i] = (b[i] - m[i, i + 1 :] @ b[i + 1 :]) / m[i, i]
    return b
