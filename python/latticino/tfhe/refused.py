"""Operators that encrypted integers do not have: errors that say what to write instead."""

from __future__ import annotations

from typing import Any, NoReturn

from .. import errors

_TABLE = "for values of at most 4 bits take a table"


class NoQuotients:
    """Python's operators whose results are no integers, or that would need an encrypted divisor or exponent."""

    __slots__ = ()

    def _no_quotient(self, _: Any) -> NoReturn:
        raise errors.UnsupportedError.explain(
            "divide", "/ on encrypted integers", "// by a clear power of two, or a table",
            f"write x // 4 for integers of blocks; {_TABLE}, as in x.apply(lambda v: v // 3); "
            "for fractions encrypt in a context of CKKS, lt.Context")

    __truediv__ = __rtruediv__ = _no_quotient

    def _no_divisor(self, _: Any) -> NoReturn:
        raise errors.UnsupportedError.explain(
            "divide", "an encrypted divisor", "a clear power of two",
            f"{_TABLE}, as in x.apply(lambda v: 3 // max(v, 1))")

    __rmod__ = __rfloordiv__ = __rdivmod__ = _no_divisor

    def __divmod__(self, divisor: Any) -> tuple[Any, Any]:
        return self // divisor, self % divisor

    def __rpow__(self, _: Any) -> NoReturn:
        raise errors.UnsupportedError.explain(
            "power", "an encrypted exponent", "an exponent in the clear",
            f"write 1 << x for powers of two of integers of blocks; {_TABLE}, as in x.apply(lambda v: 3**v % 4)")

    def _no_product(self, _: Any) -> NoReturn:
        raise errors.UnsupportedError.explain(
            "matmul", "@ on encrypted integers", "products and sums",
            "write (x * w).sum(axis) for vectors and rows, and lt.stack to join results")

    __matmul__ = __rmatmul__ = _no_product

    def _no_fraction(self, *_: Any) -> NoReturn:
        raise errors.UnsupportedError.explain(
            "round", "abs() or round() of encrypted integers", "numbers with a sign or a fraction",
            "use x itself: its values are integers from 0 on")

    __abs__ = __round__ = _no_fraction
