"""What is known of an encrypted array: where its values lie, and how large its error is expected to be.

The rules are those of src/session/claims, whose `Known` each array has. This module adds what is needed for numpy
arrays and for Python's warnings.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from .. import _native, arrays, errors
from ..common.layout import Layout
from ..common.naming import caller, named


class RangeWarning(UserWarning):
    """Values may leave the range that the parameters allow, or that was assumed. Results may then be wrong."""


class Range:
    """Where values lie: real parts within ``low`` to ``high``, imaginary parts within ``imag``.

    ``rms``: their root mean square, if known; ``random``: whether they are without structure (no mean, no pattern),
    which lets a bootstrapping keep more levels. What is stated here is public: it travels with ciphertexts and files.
    ValueError for ends that are not finite or not in order.
    """

    def __new__(  # type: ignore[misc]  # what it makes is of the extension
            cls, low: float = -1.0, high: float = 1.0, imag: tuple[float, float] = (0.0, 0.0),
            rms: float | None = None, random: bool = False) -> _native.Range:
        low, high = arrays.as_real(low, "Range", "low"), arrays.as_real(high, "Range", "high")
        bottom, top = (arrays.as_real(x, "Range", "imag") for x in _pair(imag, "imag"))
        with named("Range"):
            return _native.Range.declared(low, high, bottom, top,
                                          0.0 if rms is None else arrays.as_real(rms, "Range", "rms"),
                                          arrays.as_flag(random, "Range", "random"))


def _pair(x: Any, name: str) -> tuple[Any, Any]:
    try:
        low, high = x
    except Exception as why:  # raised by iterating over any object
        raise errors.ValueError.explain(
            "Range", f"{name}={arrays.shown(x)}", "two ends", f"pass {name}=(low, high)") from why
    return low, high


def as_range(x: Any) -> _native.Range:
    """A range, or one of real values from its two ends."""
    if isinstance(x, _native.Range):
        return x
    low, high = _pair(x, "range")
    return Range(low, high)


def fresh(known: _native.Range, error: float, sample: np.ndarray | None = None) -> _native.Known:
    """What is known of a fresh encryption, whose values are like those of a sample if there is one."""
    if sample is None:
        return _native.Known.fresh(known, error)
    return _native.Known.sampled(as_complex(sample), not np.iscomplexobj(sample), error)


def as_complex(values: np.ndarray) -> np.ndarray:
    """The values in the form that the extension takes: flat, in double precision."""
    return np.ascontiguousarray(values, np.complex128).reshape(-1)


def range_of(plain: np.ndarray) -> _native.Range:
    """The range of plain values."""
    return _native.Range.of(as_complex(plain))


def places_of(where: Layout) -> tuple[np.ndarray | None, int]:
    """The addresses of plain values in the form that the extension takes (None: row by row), and the number of
    ciphertexts."""
    return (None, 0) if where.is_plain else (flat_index(where.places), where.count)


def flat_index(index: np.ndarray) -> np.ndarray:
    """The indices in the form that the extension takes."""
    return np.ascontiguousarray(index, np.int64).reshape(-1)


def check_fits(context: Any, known: _native.Known, part: _native.Ciphertext, rest: float = 0.0) -> _native.Known:
    """What is known, if the values fit the modulus of a ciphertext, and if the content of slots without values, bounded
    by `rest`, fits as well. Otherwise it raises ScaleError in a plan, and warns elsewhere; nothing is then claimed of
    the result."""
    found = _native.fitting(known, part, rest)
    if found is None:
        return known
    known, misfits = found
    for misfit in misfits:
        report(context, *misfit)
    return known


def report(context: Any, had: str, needs: str, remedy: str) -> None:
    """Raises ScaleError in a plan, and gives a RangeWarning elsewhere."""
    operation, levels, _ = caller()
    problem = errors.ScaleError.explain(operation, had, needs, remedy)
    if context.device == "dry":
        raise problem
    warnings.warn(str(problem), RangeWarning, stacklevel=levels)
