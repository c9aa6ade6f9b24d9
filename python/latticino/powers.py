"""Powers of encrypted arrays of either scheme."""

from __future__ import annotations

import operator
from typing import Any

from . import arrays, errors

_MOST = 2**31 - 1


def power(x: Any, n: Any, remedy: str) -> Any:
    """x ** n in ceil(log2(n)) products one after another. UnsupportedError but for integers from 1."""
    try:
        count = operator.index(n)
    except Exception:  # TypeError, or what an object's own conversion raises
        count = 0
    if not 1 <= count <= _MOST:
        raise errors.UnsupportedError.explain(
            "power", f"exponent {arrays.shown(n)}", f"an integer from 1 to {_MOST}", remedy)
    known = {1: x}

    def of(k: int) -> Any:
        if k not in known:
            known[k] = of(k - k // 2) * of(k // 2)
        return known[k]

    return of(count)
