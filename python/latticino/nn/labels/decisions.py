"""What the result of a network means that ends with a comparison.

An encrypted run of such a network gives numbers near 0 and 1. For example, 0.02, 0.97 and 0.01 mean the label 1. If two
scores are closer than the distance that the plan states, the numbers may lie in between, as 0.5, 0.5 and 0.0 do. Then
the result is undecided. A result that is decided is right, however close the scores are: polynomials of a sign have the
sign of their argument everywhere, and only their size is smaller near 0.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ... import errors
from ...common.naming import caller

KINDS = ("index", "step", "sign")
TYPES = ("bool", "int64", "float64")
SLACK = 0.25  # numbers that are farther than this from 0 and from 1 decide nothing
ERROR = 0.125  # what polynomials may be off by; the rest of the slack is left for noise


class UndecidedWarning(UserWarning):
    """A label or a comparison is undecided, because two values are closer than the network can tell apart."""


@dataclass(frozen=True)
class Decision:
    """How numbers near 0 and 1 become the result of a network.

    ``kind``: with "index" one number along ``axis`` is near 1 and the others are near 0, and the result is the place of
    the 1; with "step" each number is a result, 0 or 1; "sign" is the same, but the results are -1 and 1, and 0 for a
    number in between. ``type``: numpy's name for the type of results. ``shape``: of the result of one input.
    """

    kind: str
    type: str
    shape: tuple[int, ...]
    axis: int = 0

    def __post_init__(self) -> None:
        valid = self.kind in KINDS and self.type in TYPES and type(self.axis) is int
        if not valid or not all(type(n) is int and n > 0 for n in self.shape):
            raise errors.ValueError.explain(
                "network", f"a decision {self.kind!r} of the type {self.type!r}",
                f"one of {', '.join(KINDS)} and of {', '.join(TYPES)}", "correct it")

    def fits(self, held: Sequence[int]) -> bool:
        """Whether numbers of this shape, for one input, give results of the right shape."""
        if self.kind != "index":
            return math.prod(held) == math.prod(self.shape)
        if not 0 <= self.axis < len(held) or held[self.axis] < 2:
            return False
        return math.prod(held) == math.prod(self.shape) * held[self.axis]

    def of(self, values: np.ndarray) -> np.ndarray:
        """The results for numbers of shape (inputs, ...), of shape (inputs, *shape)."""
        shape = (len(values), *self.shape)
        if self.kind == "index":
            return np.asanyarray(values.argmax(axis=self.axis + 1).reshape(shape).astype(self.type))
        if self.kind == "sign":
            return np.asanyarray(np.clip(np.rint(2 * values - 1), -1, 1).reshape(shape).astype(self.type))
        return np.asanyarray((values > 0.5).reshape(shape).astype(self.type))

    def undecided(self, values: np.ndarray) -> np.ndarray:
        """Which results these numbers leave undecided, of shape (inputs, *shape)."""
        shape = (len(values), *self.shape)
        if self.kind != "index":
            return np.asanyarray((np.abs(values - 0.5) <= 0.5 - SLACK).reshape(shape))
        largest = np.sort(values, axis=self.axis + 1)
        last, before = (np.take(largest, k, axis=self.axis + 1) for k in (-1, -2))
        return np.asanyarray(((last < 1 - SLACK) | (before > SLACK)).reshape(shape))

    def warn(self, operation: str, undecided: np.ndarray) -> None:
        """Gives an `UndecidedWarning` if results are undecided. Signs say it by themselves: they are 0."""
        count = int(np.count_nonzero(np.asarray(undecided)))
        if count and self.kind != "sign":
            what = "the two largest scores" if self.kind == "index" else "a value and its threshold"
            warnings.warn(f"{operation}: {count:,} of {undecided.size:,} results may be wrong, because {what} are "
                          "closer to each other than the network tells apart", UndecidedWarning, stacklevel=caller()[1])

    def margins(self, compared: np.ndarray) -> np.ndarray:
        """The distance of the two largest scores, or of a value and its threshold, flat. ``compared``: what is compared
        with 0, of shape (inputs, ...). For labels these are the differences of all pairs along `axis`, and those of the
        first value and each other one come first."""
        if self.kind != "index":
            return np.asarray(np.abs(compared).reshape(-1))
        values = np.moveaxis(compared, self.axis + 1, -1)
        count = classes(values.shape[-1])
        own = np.concatenate([np.zeros((*values.shape[:-1], 1)), -values[..., : count - 1]], axis=-1)
        own.sort(axis=-1)
        return np.asarray((own[..., -1] - own[..., -2]).reshape(-1))


def classes(pairs: int) -> int:
    """The number of values with so many pairs. Two values are compared both ways."""
    return 2 if pairs == 2 else (1 + math.isqrt(1 + 8 * pairs)) // 2
