"""Powers of encrypted arrays of either scheme."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, TypeVar

from .. import arrays, errors
from .naming import named

_MAX_EXPONENT = 2**31 - 1
T = TypeVar("T")


def power(x: T, n: Any, remedy: Callable[[float | None], str]) -> T:
    """x ** n in ceil(log2(n)) products one after another. UnsupportedError if n is not an integer of 1 or more.

    ``remedy`` of another exponent: it gets None for what is no real number."""
    arrays.refuse_masked(n, "power")
    try:
        count = operator.index(n)
    except Exception:  # a TypeError, or raised by any conversion of the object
        count = 0
    if not 1 <= count <= _MAX_EXPONENT:
        number = _real(n)
        if number == 0:
            instead = "every value to the power 0 is 1: use np.ones(x.shape), which is clear data"
        elif number is not None and number.is_integer() and 1 <= number <= _MAX_EXPONENT:
            instead = f"use x ** {int(number)}"
        else:
            instead = remedy(number)
        raise errors.UnsupportedError.explain(
            "power", f"exponent {arrays.shown(n)}", f"an integer from 1 to {_MAX_EXPONENT}", instead)
    known: dict[int, Any] = {1: x}

    def of(k: int) -> Any:
        if k not in known:
            known[k] = of(k - k // 2) * of(k // 2)
        return known[k]

    with named("power", "multiply"):
        result: T = of(count)
    return result


def _real(n: Any) -> float | None:
    try:
        return arrays.as_real(n, "power", "exponent")
    except errors.ValueError:
        return None
