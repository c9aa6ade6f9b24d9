"""Batcher's odd-even merge sort: which values are compared at once."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

import numpy as np


class Stage(NamedTuple):
    """Pairs that are compared at once: each index of ``lower`` with the one ``distance`` above it, which gets the
    larger value. All indices are distinct."""

    distance: int
    lower: np.ndarray


@lru_cache(maxsize=32)
def stages(count: int) -> tuple[Stage, ...]:
    """The stages that sort `count` values: k (k + 1) / 2 of them, where 2^k is the next power of two.

    Distances are powers of two. The larger value always comes to the larger index, so a network of fewer values is
    that of the next power of two without the pairs that reach beyond them.
    Source: Knuth, The Art of Computer Programming, volume 3, section 5.3.4.
    """
    return tuple(stage for stage in _all(count) if stage.lower.size)


def _all(count: int) -> Iterator[Stage]:
    merged = 1
    while merged < count:
        distance = merged
        while distance:
            i = np.arange(max(count - distance, 0))
            at = i - distance % merged
            pairs = (at >= 0) & (at % (2 * distance) < distance)
            pairs &= i // (2 * merged) == (i + distance) // (2 * merged)
            yield Stage(distance, i[pairs])
            distance //= 2
        merged *= 2
