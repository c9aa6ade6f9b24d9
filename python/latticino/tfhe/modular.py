"""Integers modulo 2^p as single ciphertexts over the whole torus: type ``"m4"`` where blocks have 4 bits.

Sums, differences and products by clear integers wrap and need no bootstrapping; a table takes two.
"""

from __future__ import annotations

import functools
import numbers
import operator
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from .. import errors
from .pieces import each, each_of

if TYPE_CHECKING:
    from .array import EncryptedArray

FUNCTIONS = {"add": "add_full", "subtract": "sub_full"}


def arithmetic(name: str, x: EncryptedArray, y: EncryptedArray) -> EncryptedArray:
    """x + y or x - y modulo 2^p."""
    if name not in FUNCTIONS:
        refuse(name, x.dtype)
    return each(name, getattr(x._evaluator, FUNCTIONS[name]), x.bits, [x, y])


def product(x: EncryptedArray, factor: Any) -> EncryptedArray:
    """x times one clear integer. Modulo 2^p the integer of the smallest size is taken, because its square multiplies
    the noise."""
    if not isinstance(factor, numbers.Integral):
        raise errors.UnsupportedError.explain(
            "multiply", f"{x.dtype} and a {type(factor).__name__}", "one clear integer",
            'convert both with astype("u4") for a product of encrypted values')
    count = 1 << -x.bits
    least = (int(factor) + count // 2) % count - count // 2
    return each("multiply", lambda parts: x._evaluator.multiply_full(parts, least), x.bits, [x])


def total(x: EncryptedArray) -> EncryptedArray:
    """The sum over the first axis."""
    return functools.reduce(operator.add, (x[t] for t in range(x.shape[0])))


def equal(x: EncryptedArray, y: EncryptedArray, equal: bool) -> EncryptedArray:
    """Whether x - y is 0, or is not."""
    return (x - y).apply(lambda v: (v == 0) == equal, dtype="bool")


def lookup(x: EncryptedArray, blocks: list[int], tables: list[np.ndarray], widths: list[int]) -> list[EncryptedArray]:
    """Functions of every value. They take one bootstrapping together, and one per result block."""
    e = x._evaluator
    return each_of("apply", lambda parts: e.lookup_full(parts, blocks, tables), widths, [x])


def refuse(operation: str, dtype: str) -> NoReturn:
    """ParameterError, because this needs integers of blocks."""
    raise errors.ParameterError.explain(
        operation, f"integers of type {dtype}", "booleans or integers of type \"u..\"",
        f'convert with astype("u{dtype[1:]}"), which takes bootstrappings')
