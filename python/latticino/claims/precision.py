"""How close a decrypted vector is to the expected one, in bits."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from .. import arrays, errors


class Precision(NamedTuple):
    """Bits of precision: ``-log2`` of the mean, and of the maximum, of ``|z - expected|``."""

    mean: float
    worst: float

    def __str__(self) -> str:
        return f"{self.mean:.1f} bits (worst slot {self.worst:.1f})"


def in_words(mean: float, bits: str) -> str:
    """The text `bits` of a finite precision; of others, whether there is no error or nothing is known of it."""
    return bits if math.isfinite(mean) else "exact" if mean > 0 else "no bits"


def _numbers(x: Any) -> np.ndarray:
    """The numbers, in any layout; ShapeError for anything else."""
    return arrays.as_doubles(x, "precision")


def precision(z: Any, expected: Any) -> Precision:
    """Compares two vectors of equal shape by the complex modulus of their difference.

    Raises ShapeError if the shapes differ. Equal vectors give infinity.
    """
    z, expected = (_numbers(x) for x in (z, expected))
    if z.shape != expected.shape:
        raise errors.ShapeError.explain(
            "precision", f"shapes {z.shape} and {expected.shape}", "equal shapes", "cut or reshape one")
    if not z.size:
        raise errors.ShapeError.explain("precision", "empty arrays", "at least one value", "check the data")
    difference = np.abs(z - expected)
    with np.errstate(divide="ignore"):
        return Precision(float(-np.log2(difference.mean())), float(-np.log2(difference.max())))
