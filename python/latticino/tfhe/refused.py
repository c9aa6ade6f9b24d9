"""Operators that encrypted integers do not have: errors that say what to write instead."""

from __future__ import annotations

from typing import Any, NoReturn

from .. import errors
from ..common.remedies import SHAPE_REMEDIES

_TABLE = "for values of at most 4 bits take a table"
_FRACTION = "use x itself: its values are integers from 0 on"
_PLACES = "x == x.{name}(axis) marks the places, and the client finds them after it decrypts"
_ORDER = "order pairs with lt.minimum(x, y) and lt.maximum(x, y)"
_NUMBERS = "decrypt first; list(x) has the encrypted values along the first axis"
_EQUAL = "(x == y).all(), and decrypt the result"
_PRODUCTS = "(x * w).sum(axis)"
_NO_CHANGE = "make a new array, with lt.where(mask, y, x) or lt.concatenate of slices"
_MEMORY = "x.nbytes says how much memory the ciphertexts take"
_MEAN = "x.sum(axis), and divide after you decrypt first, or // by a clear power of two"

# Advice for functions and methods of numpy.
REMEDIES: dict[str, str] = {
    **SHAPE_REMEDIES,
    "maximum": "lt.maximum(x, y)", "minimum": "lt.minimum(x, y)", "logical_and": "x & y of booleans",
    "logical_or": "x | y of booleans", "logical_xor": "x ^ y of booleans", "logical_not": "~x of booleans",
    "add.reduce": "x.sum(axis)", "maximum.reduce": "x.max(axis)", "minimum.reduce": "x.min(axis)",
    "logical_and.reduce": "x.all(axis)", "logical_or.reduce": "x.any(axis)", "multiply.reduce": "x.prod(axis)",
    "add.accumulate": "x.cumsum(axis)", "amax": "x.max(axis)", "amin": "x.min(axis)",
    "ptp": "x.max(axis) - x.min(axis)", "mean": _MEAN, "average": _MEAN,
    "std": "the sums of x and of x * x, from which the client computes it after it decrypts",
    "var": "the sums of x and of x * x, from which the client computes it after it decrypts",
    "argmax": _PLACES.format(name="max"), "argmin": _PLACES.format(name="min"),
    **dict.fromkeys(("sort", "argsort", "partition", "argpartition"), _ORDER),
    **dict.fromkeys(("median", "percentile", "quantile"), f"decrypt first, or {_ORDER}"),
    "cumprod": "lt.stack([x[: i + 1].prod() for i in range(len(x))])",
    **dict.fromkeys(("nonzero", "argwhere", "flatnonzero"), "x != 0, and decrypt the result"),
    "count_nonzero": "(x != 0).sum(axis)",
    **dict.fromkeys(("array_equal", "array_equiv", "allclose"), _EQUAL), "isclose": "x == y",
    "isin": "(x.expand_dims(-1) == values).any(-1), and decrypt the result",
    "searchsorted": "(x.expand_dims(-1) > edges).sum(-1)", "digitize": "(x.expand_dims(-1) >= edges).sum(-1)",
    **dict.fromkeys(("real", "imag", "conj", "conjugate", "round", "around", "rint", "floor", "ceil", "trunc", "fix",
                     "absolute", "fabs"), _FRACTION),
    "choose": "lt.where(condition, x, y)", "select": "lt.where(condition, x, y)",
    **dict.fromkeys(("dot", "inner", "vdot", "tensordot", "einsum", "matmul"), _PRODUCTS),
    "outer": "x.reshape(-1, 1) * y.reshape(-1)", "kron": "products of reshaped arrays, which broadcast",
    **dict.fromkeys(("item", "tolist"), _NUMBERS),
    **dict.fromkeys(("tobytes", "dumps"), "lt.to_bytes(x)"),
    **dict.fromkeys(("tofile", "dump"), "lt.save_ciphertext(path, x)"),
    **dict.fromkeys(("view", "byteswap", "getfield"), "x.astype(dtype)"),
    **dict.fromkeys(("fill", "put", "setfield", "setflags", "resize", "itemset"), _NO_CHANGE),
    **dict.fromkeys(("strides", "data", "ctypes", "base", "flags", "itemsize"), _MEMORY),
    "device": "x.context.device"}


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
