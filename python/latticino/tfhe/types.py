"""Types of encrypted values: ``"bool"``, unsigned integers ``"u2"`` to ``"u64"``, integers modulo 16 ``"m4"``.

Inside they are bits: 0 for ``"bool"``, negative for integers modulo a power of two.
"""

from __future__ import annotations

import numbers
import operator
from collections.abc import Callable, Sequence
from typing import Any, Union

import numpy as np

from .. import _native, arrays, errors

Type = Union[str, type, np.dtype]  # noqa: UP007 - at run time, under Python 3.10
Table = Union[Callable[..., int], Sequence[int], np.ndarray]  # noqa: UP007
MAX_BITS = 64


def name_of(bits: int) -> str:
    """The type's name."""
    return f"u{bits}" if bits > 0 else f"m{-bits}" if bits else "bool"


def plain_bits(params: _native.TfheParams) -> int:
    """The bits of a whole block. A table takes so many bits, and they are those of the modulus of ``"m.."``."""
    return params.message_bits + params.carry_bits


def blocks_of(bits: int, params: _native.TfheParams) -> int:
    """Result blocks of a type in tables: 0 for bits, -1 for integers modulo 2^p."""
    return max(bits // params.message_bits, -1)


def widest(bits: Sequence[int], operation: str) -> int:
    """The type that holds all of these; ParameterError for integers modulo 2^p beside others."""
    if min(bits) < 0 and min(bits) != max(bits):
        raise errors.ParameterError.explain(
            operation, " and ".join(name_of(b) for b in sorted(set(bits))), "one type", "convert with astype")
    return max(bits)


def most_of(bits: int) -> int:
    """The largest value of a type."""
    return (1 << (abs(bits) or 1)) - 1


def bits_of(dtype: Type, params: _native.TfheParams, operation: str) -> int:
    """Bits of a type that the set can hold: 0 for ``bool``, the bits of whole blocks for integers, -p for integers
    modulo 2^p.

    Names, and numpy's ``bool`` and ``uint8`` to ``uint64``, are known. Raises ParameterError.
    """
    name = dtype if isinstance(dtype, str) else _numpy_name(dtype)
    name = "u" + name[4:] if name.startswith("uint") else name
    if name in ("bool", "bool_"):
        return 0
    if not params.booleans and name == f"m{plain_bits(params)}":
        return -plain_bits(params)
    digits = name[1:] if name[:1] == "u" else ""
    bits = int(digits) if digits.isascii() and digits.isdecimal() and len(digits) < 4 else 0
    block = params.message_bits
    if params.booleans or not 0 < bits <= MAX_BITS or bits % block:
        needs = '"bool"' if params.booleans else (
            f'"bool", "u{block}" to "u{MAX_BITS}" in steps of {block}, or "m{plain_bits(params)}"')
        raise errors.ParameterError.explain(
            operation, f"the type {arrays.shown(name)} under {params.name}", needs,
            "choose a set named ...-2-2-... for integers" if params.booleans else "name such a type")
    return bits


def _numpy_name(dtype: Any) -> str:
    try:
        return str(np.dtype(dtype).name)
    except Exception:  # a TypeError, or raised by an object that looks like a type
        return arrays.shown(dtype)


def numpy_type(bits: int) -> np.dtype:
    """The smallest of numpy's types that holds the values."""
    if not bits:
        return np.dtype(bool)
    return np.dtype(f"uint{next(w for w in (8, 16, 32, 64) if abs(bits) <= w)}")


def bits_of_values(x: np.ndarray, params: _native.TfheParams, operation: str) -> int:
    """The type that an array states; ParameterError for signed and real types."""
    if x.dtype.kind not in "bu":
        raise errors.ParameterError.explain(
            operation, f"values of dtype {x.dtype} and no type", "booleans or unsigned integers, or a type",
            'say dtype="u8", or use a numpy array of uint8')
    return bits_of(x.dtype, params, operation)


def _whole(x: Any) -> np.ndarray | None:
    """Python's integers, exactly, where numpy makes real numbers or objects of them: as of ``[1, 2**64 - 1]``."""
    if not isinstance(x, (list, tuple, int)):
        return None
    try:
        if np.asarray(x).dtype.kind not in "fO":
            return None
        values = np.array(x, object)
        whole = all(isinstance(v, numbers.Integral) for v in values.reshape(-1))
    except Exception:  # ragged lists, or whatever an object's own conversion raises
        return None
    return values if whole and values.size else None


def as_integers(x: Any, bits: int, operation: str) -> np.ndarray:
    """Numbers of any shape as uint64; ValueError unless all are integers that the type holds."""
    whole = _whole(x)
    x = arrays.as_numpy(x, operation, (int,)) if whole is None else whole
    if x.size and whole is None and x.dtype.kind not in "biu":
        values = "np.real(x)" if x.dtype.kind == "c" else "x"
        raise errors.ShapeError.explain(
            operation, f"dtype {x.dtype}", "booleans or integers",
            f"round and convert the data first, as in np.rint({values}).astype(int)")
    if not x.size:
        raise errors.ShapeError.explain(operation, "an empty array", "at least one value", "check the data")
    most = most_of(bits)
    least, largest = int(x.min()), int(x.max())
    if least < 0 or largest > most:
        raise errors.ValueError.explain(
            operation, f"a value {'below 0' if least < 0 else 'above'} at index "
            f"{int(x.argmin() if least < 0 else x.argmax())}", f"0 to {most} for {name_of(bits)}",
            "add a number that makes all values 0 or more, because these types have no sign" if least < 0 else
            "use a wider type")
    return np.asarray(x, dtype=np.uint64, order="C")  # because ascontiguousarray would give single values an axis


def of_type(x: Any, dtype: Type | None, params: _native.TfheParams, operation: str) -> tuple[np.ndarray, int]:
    """Numbers as uint64, and the bits of their type: the one that is named, or else that of the array."""
    if dtype is None:
        x = arrays.as_numpy(x, operation, (int,))
    bits = bits_of_values(x, params, operation) if dtype is None else bits_of(dtype, params, operation)
    return as_integers(x, bits, operation), bits


def _as_integer(y: Any, at: tuple[int, ...], operation: str) -> int:
    try:
        return operator.index(y.item() if isinstance(y, (np.generic, np.ndarray)) and y.size == 1 else y)
    except Exception as why:  # a TypeError, or raised by any conversion of the object
        raise errors.ValueError.explain(
            operation, f"f{at} = {arrays.shown(y)}".replace(",)", ")"),
            "integers or booleans", "round in the function") from why


def as_table(f: Table, sizes: tuple[int, ...], bits: int, operation: str) -> np.ndarray:
    """The values of a function of one or two arguments, the last argument fastest, as flat uint64."""
    count = int(np.prod(sizes))
    if callable(f):
        values = np.array([_as_integer(f(*map(int, at)), at, operation) for at in np.ndindex(*sizes)], dtype=object)
        if any(v < 0 or v >> MAX_BITS for v in values):
            raise errors.ValueError.explain(
                operation, "a function value below 0 or above 64 bits", f"0 to {most_of(bits)}",
                "reduce it in the function")
        values = values.astype(np.uint64)
    else:
        values = np.ascontiguousarray(arrays.as_numpy(f, operation)).reshape(-1)
    if values.size != count:
        raise errors.ShapeError.explain(
            operation, f"a table of {values.size} entries", f"{count}, one for each input", "list every input")
    return as_integers(values, bits, operation)
