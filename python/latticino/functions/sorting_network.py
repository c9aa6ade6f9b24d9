"""Batcher's merge exchange sort: which values are compared at the same time."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

import numpy as np


class Stage(NamedTuple):
    """Pairs that are compared at once: each index of ``lower`` with the one ``distance`` above it, which gets the
    larger value. All indices are distinct. The distance is ``up - down``: ``up`` is a power of two, ``down`` another
    one or 0."""

    up: int
    down: int
    lower: np.ndarray

    @property
    def distance(self) -> int:
        return self.up - self.down


@lru_cache(maxsize=32)
def stages(count: int) -> tuple[Stage, ...]:
    """The stages that sort `count` values: k (k + 1) / 2 of them, where 2^k is the next power of two.

    The larger value always comes to the larger index. Values that lie far apart are sorted first, and then merged:
    every 2^j-th one, with j from k - 1 down to 0. Where the input is sorted or reversed already, compared values differ
    by far then in most stages. Exchanges of values that are nearly equal add the largest errors to each other.
    Source: Knuth, The Art of Computer Programming, volume 3, section 5.2.2, algorithm M.
    """
    return tuple(stage for stage in _all(count) if stage.lower.size)


def _all(count: int) -> Iterator[Stage]:
    half = 1 << max(0, (count - 1).bit_length() - 1)
    step = half
    while step and count > 1:
        yield Stage(step, 0, _pairs(count, step, step, 0))  # one of each pair in the even, one in the odd sequence
        up = half
        while up > step:
            yield Stage(up, step, _pairs(count, up - step, step, step))
            up //= 2
        step //= 2


def _pairs(count: int, distance: int, step: int, bit: int) -> np.ndarray:
    i = np.arange(max(count - distance, 0))
    return np.asarray(i[(i & step) == bit])
