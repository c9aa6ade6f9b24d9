"""Powers of encrypted arrays of either scheme."""

from __future__ import annotations

import numbers
from typing import Any

from . import errors


def power(x: Any, n: Any, remedy: str) -> Any:
    """x ** n in ceil(log2(n)) products one after another. UnsupportedError but for integers from 1."""
    if not isinstance(n, numbers.Integral) or n < 1:
        raise errors.UnsupportedError.explain("power", f"exponent {n!r}", "an integer from 1", remedy)
    known = {1: x}

    def of(k: int) -> Any:
        if k not in known:
            known[k] = of(k - k // 2) * of(k // 2)
        return known[k]

    return of(int(n))
