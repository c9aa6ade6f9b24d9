"""The largest of several values: a sign for each pair of them, ranks, and a polynomial of ranks.

An example with three scores, 0.1, 0.9 and 0.4. A composed sign says for each pair whether the first one is larger: 0, 0
and 1. The rank of a score is how many others are larger: 2, 0 and 1. A polynomial that is near 1 at 0, and near 0 at 1
and 2, turns ranks into 0, 1 and 0.

The polynomial is Chebyshev's for the interval from 1 to the largest rank, divided by its value at 0. No polynomial of
its degree is smaller in the interval. It is small between integers, too. Scores that nearly equal each other have ranks
there.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.polynomial import chebyshev

from ..lowered import Series
from .decisions import ERROR

MOST = 256  # values; their pairs fill a ciphertext of 32,768 slots
_ROOM = 0.25  # by which ranks may lie beyond the smallest and the largest one
_OFF = 1 / 16  # the most that ranks may be off by
_RIPPLE = 0.1  # the largest value at ranks other than 0, if these are not off
_GRID = 4001


class First(NamedTuple):
    """The polynomial of ranks, and by how much each rank may be off: then its results are off by `ERROR` at most."""

    series: Series
    off: float


@lru_cache(maxsize=32)
def first(count: int) -> First:
    """For the ranks of three values or more."""
    low, high = 1 - _OFF, count - 1 + _OFF
    at = (2 * 0.0 - low - high) / (high - low)
    degree = math.ceil(math.acosh(1 / _RIPPLE) / math.acosh(-at))
    top = math.cosh(degree * math.acosh(-at)) * (-1) ** degree
    ends = (-_ROOM, count - 1 + _ROOM)
    t = chebyshev.chebpts1(degree + 1)
    x = (ends[0] + ends[1]) / 2 + (ends[1] - ends[0]) / 2 * t
    values = chebyshev.chebval((2 * x - low - high) / (high - low), [0.0] * degree + [1.0]) / top
    series = Series(tuple(float(c) for c in chebyshev.chebfit(t, values, degree)), ends)
    return First(series, _largest_off(series))


def _largest_off(series: Series) -> float:
    """The largest distance from 0 at which the polynomial is within `ERROR` of 1. Other ranks are within it anyway."""
    near = np.linspace(0, _OFF, _GRID)
    wrong = np.maximum(np.abs(series(near) - 1), np.abs(series(-near) - 1)) > ERROR
    return float(near[int(wrong.argmax()) - 1]) if wrong.any() else _OFF


def bits_of_pairs(count: int) -> float:
    """How close the comparison of each pair must be to 0 or 1, in bits."""
    return -math.log2(ERROR if count == 2 else first(count).off / (count - 1))


def pairs(count: int) -> np.ndarray:
    """The matrix of the differences of all pairs, of shape (pairs, count): the first minus the second one. For two
    values it has the opposite difference, too."""
    i, j = np.triu_indices(count, 1)
    out = np.eye(count)[i] - np.eye(count)[j]
    return np.concatenate([out, -out]) if count == 2 else out


def ranks(count: int) -> tuple[np.ndarray, np.ndarray]:
    """The matrix of shape (count, pairs), and the numbers added to its results, that make ranks of comparisons. A
    comparison is 1 if the first one of its pair is larger, else 0."""
    i, j = np.triu_indices(count, 1)
    return (np.eye(count)[j] - np.eye(count)[i]).T, np.bincount(i, minlength=count).astype(float)
