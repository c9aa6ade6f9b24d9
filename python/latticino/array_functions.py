"""Functions of encrypted arrays of either scheme, by numpy's names."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast, overload

import numpy as np

from . import errors
from .arrays import as_integer
from .ckks import ranking
from .ckks.ciphertext import Ciphertext
from .common import captured, roles
from .common.naming import public
from .common.ufuncs import computes
from .functions import softmax as normalised
from .functions import sorting
from .linear import convolve, correlate, cov
from .ops import moves
from .ops.shapes import first_line
from .tfhe import functions as of_integers
from .tfhe.array import EncryptedArray

Domain = tuple[float, float] | None


def _apply(name: str, x: Any, f: Any, domain: Domain, bits: float) -> Ciphertext:
    roles.require_kind(name, x, Ciphertext, "encrypt it with CKKS, or use numpy for clear values")
    return cast("Ciphertext", x.approximate(f, domain, bits))


@public
def exp(x: Ciphertext, domain: Domain = None, bits: float = 20) -> Ciphertext:
    """``np.exp`` of every value: ``x.approximate(np.exp, domain, bits)``."""
    return _apply("exp", x, np.exp, domain, bits)


@public
def log(x: Ciphertext, domain: Domain = None, bits: float = 20) -> Ciphertext:
    """``np.log`` of every value, on a domain above 0: ``x.approximate(np.log, domain, bits)``."""
    return _apply("log", x, np.log, domain, bits)


@public
def sin(x: Ciphertext, domain: Domain = None, bits: float = 20) -> Ciphertext:
    """``np.sin`` of every value: ``x.approximate(np.sin, domain, bits)``."""
    return _apply("sin", x, np.sin, domain, bits)


@public
def cos(x: Ciphertext, domain: Domain = None, bits: float = 20) -> Ciphertext:
    """``np.cos`` of every value: ``x.approximate(np.cos, domain, bits)``."""
    return _apply("cos", x, np.cos, domain, bits)


@public
def tanh(x: Ciphertext, domain: Domain = None, bits: float = 20) -> Ciphertext:
    """``np.tanh`` of every value: ``x.approximate(np.tanh, domain, bits)``."""
    return _apply("tanh", x, np.tanh, domain, bits)


def _sigmoid(v: Any) -> Any:
    return 0.5 + 0.5 * np.tanh(0.5 * np.asarray(v))


@public
def sigmoid(x: Ciphertext, domain: Domain = None, bits: float = 20) -> Ciphertext:
    """``1 / (1 + exp(-x))`` of every value, by `Ciphertext.approximate`."""
    return _apply("sigmoid", x, _sigmoid, domain, bits)


@public
def sqrt(x: Ciphertext, domain: Domain = None, bits: float = 20) -> Ciphertext:
    """``np.sqrt`` of every value: ``x.sqrt(domain, bits)``."""
    roles.require_kind("sqrt", x, Ciphertext, "encrypt it with CKKS, or use numpy for clear values")
    return x.sqrt(domain, bits)


@captured.step("lt.sort")
@public
def sort(x: Ciphertext, domain: Domain = None, bits: float = 12, gap: float | None = None,
         axis: int | None = -1) -> Ciphertext:
    """The values in ascending order along an axis, as ``np.sort``: docs/functions.md.

    Real values within ``domain`` (left out: the declared range). Batcher's network has k (k + 1) / 2 stages for up to
    2^k values, however many rows the other axes hold. All pairs of a stage are compared at once by minimax polynomials.
    ``axis=None``: all values, in one row.

    ``bits``: each exchange is within ``2**-bits`` of the smaller and the larger of its two values. Errors of
    stages add up in the worst case (`lt.fit_sort` tells the bound); values of most arrays keep about ``bits``
    in the mean. With ``gap`` the *result* is within ``2**-bits``, for values that are equal or at least that far
    apart. It gives values, not their indices.

    It bootstraps when levels run out, even if the context does not bootstrap by itself: about once per stage and
    ciphertext, two ciphertexts as one. LevelError for parameters without bootstrapping and too few levels.
    PrecisionError if no composition reaches the bits, or none does at this scale.
    """
    roles.require_kind("sort", x, Ciphertext, "encrypt it with CKKS, or use numpy for clear values")
    return sorting.sort(x, domain, bits, gap, axis)


@captured.step("lt.softmax")
@public
def softmax(x: Ciphertext, axis: int = -1, domain: Domain = None, bits: float = 12) -> Ciphertext:
    """``exp(x) / exp(x).sum(axis, keepdims=True)`` of real values in a domain, within ``2**-bits``: docs/functions.md.

    ``domain``: where the values lie; left out, the declared range. Exponentials and the inverses of their sums are
    polynomials. If the domain is wide and all values of a row are low, the sum is small, so more bits are needed
    inside. If the scale has too few bits, the exponents are halved as often as needed, and each time the results are
    squared and divided by their sums again. It takes the levels of ``exp`` and of an inverse, and two more; each
    halving takes those of an inverse and three more. Rows whose length is a power of two along the last axis take the
    fewest rotations. PrecisionError if the scale does not allow the bits, LevelError if levels are missing, and
    ValueError without a domain.
    """
    roles.require_kind("softmax", x, Ciphertext, "encrypt it with CKKS, or use numpy for clear values")
    return normalised.softmax(x, axis, domain, bits)


@captured.step("lt.logsumexp")
@public
def logsumexp(x: Ciphertext, axis: int = -1, domain: Domain = None, bits: float = 12) -> Ciphertext:
    """``log(exp(x).sum(axis))`` of real values in a domain, within ``2**-bits``. As `softmax`, without halving."""
    roles.require_kind("logsumexp", x, Ciphertext, "encrypt it with CKKS, or use numpy for clear values")
    return normalised.logsumexp(x, axis, domain, bits)


@captured.step("lt.top_k")
@public
def top_k(x: Ciphertext, k: int, bound: float = 1.0, method: str = "ranks", *, gap: float | None = None,
          bits: float | None = None, **options: Any) -> tuple[Ciphertext, Ciphertext]:
    """The k largest values in descending order, and their indices into the flat array: two arrays of shape (k,).

    Real values within ``bound``, up to 256 of them, by the methods of `Ciphertext.max` other than ``"rounds"``; equal
    values come in the order of their indices. `sort` orders more values, without indices.
    """
    roles.require_kind("top_k", x, Ciphertext, "encrypt it with CKKS, or use numpy for clear values")
    return ranking.top(x, k, bound, method, gap, bits, True, "top_k", options)


@captured.step("lt.minimum")
@public
def minimum(x: Any, y: Any, **options: Any) -> Any:
    """The smaller of two, element by element: of TFHE's integers, or of CKKS arrays by `Ciphertext.minimum` and its
    options.
    """
    return _extreme("minimum", x, y, options)


@captured.step("lt.maximum")
@public
def maximum(x: Any, y: Any, **options: Any) -> Any:
    """The larger of two, element by element: of TFHE's integers, or of CKKS arrays by `Ciphertext.maximum` and its
    options.
    """
    return _extreme("maximum", x, y, options)


def _extreme(name: str, x: Any, y: Any, options: dict[str, Any]) -> Any:
    if isinstance(x, Ciphertext) or isinstance(y, Ciphertext):
        if isinstance(x, EncryptedArray) or isinstance(y, EncryptedArray):
            raise errors.UnsupportedError.explain(
                name, "arrays of both schemes", "arrays of one", "keep both values in one scheme")
        first, second = (x, y) if isinstance(x, Ciphertext) else (y, x)
        return getattr(first, name)(second, **options)
    if options:
        raise errors.UnsupportedError.explain(
            name, f"the option {next(iter(options))} with integers", "no option: integers are exact", "leave it out")
    return getattr(of_integers, name)(x, y)


# ---- arrays joined into one ----


@overload
def concatenate(arrays: Sequence[Ciphertext], axis: int | None = ...) -> Ciphertext: ...


@overload
def concatenate(arrays: Sequence[EncryptedArray], axis: int = ...) -> EncryptedArray: ...


@captured.step("lt.concatenate")
@public
def concatenate(arrays: Any, axis: Any = 0) -> Ciphertext | EncryptedArray:
    """Arrays joined along an axis; no bootstrapping.

    Of CKKS: free; the arrays are brought to the lowest level among them, and keep their ciphertexts
    (`Ciphertext.contiguous` packs them); None as axis joins all of them flattened. Of TFHE: of the widest type.
    """
    several = _ciphertexts(arrays, "concatenate")
    if several is None:
        return of_integers.concatenate(arrays, axis)
    if axis is None:
        several, axis = [x.ravel() for x in several], 0
    return _joined(several, lambda places: np.concatenate(places, axis), "concatenate", axis)


@overload
def stack(arrays: Sequence[Ciphertext], axis: int = ...) -> Ciphertext: ...


@overload
def stack(arrays: Sequence[EncryptedArray], axis: int = ...) -> EncryptedArray: ...


@captured.step("lt.stack")
@public
def stack(arrays: Any, axis: int = 0) -> Ciphertext | EncryptedArray:
    """Arrays of one shape joined along a new axis; no bootstrapping. As `concatenate`."""
    several = _ciphertexts(arrays, "stack")
    if several is None:
        return of_integers.stack(arrays, axis)
    return _joined(several, lambda places: np.stack(places, axis), "stack", axis)


def _ciphertexts(values: Any, operation: str) -> list[Ciphertext] | None:
    """Encrypted arrays of one context; None if there is no ciphertext of CKKS among them."""
    if isinstance(values, Ciphertext):  # joined along its first axis
        values = list(values) if values.shape else [values]
    if not isinstance(values, (list, tuple)) or not any(isinstance(x, Ciphertext) for x in values):
        return None
    first = next(x for x in values if isinstance(x, Ciphertext))
    for x in values:
        if not isinstance(x, Ciphertext):
            raise errors.ShapeError.explain(
                operation, f"a {type(x).__name__} among ciphertexts", "ciphertexts",
                "encrypt it, by the client or under a public key; without either, add it to zeros made of a ciphertext "
                "of its shape: y * 0 + values")
        roles.require_one_context(operation, first, x)
        if x._key != first._key:
            raise errors.KeyError.explain(
                operation, f"ciphertexts of the keys {first._key} and {x._key}", "one key", "encrypt all by one client")
    return list(values)


def _joined(xs: list[Ciphertext], join: Callable[[Sequence[np.ndarray]], np.ndarray], operation: str,
            axis: Any) -> Ciphertext:
    as_integer(axis, operation, "axis")
    try:
        join([np.broadcast_to(0.0, x.shape) for x in xs])
    except Exception as why:  # numpy's
        raise errors.ShapeError.explain(
            operation, f"shapes {', '.join(str(x.shape) for x in xs)} ({first_line(why)})",
            "shapes that numpy joins", "reshape them, or check the axis") from why
    return moves.joined(xs, join, operation)


# ---- numpy's own functions, where encrypted arrays are among their arguments ----


@computes(np.concatenate)
def _concatenate(arrays: Any, axis: Any = 0) -> Any:
    return concatenate(arrays, axis)


@computes(np.stack)
def _stack(arrays: Any, axis: Any = 0) -> Any:
    return stack(arrays, axis)


@computes(np.vstack)
def _vstack(tup: Any) -> Any:
    rows: list[Any] = [np.reshape(x, (1, -1)) if np.ndim(x) < 2 else x for x in tup]
    return concatenate(rows)


@computes(np.hstack)
def _hstack(tup: Any) -> Any:
    several: list[Any] = [np.reshape(x, 1) if np.ndim(x) == 0 else x for x in tup]
    return concatenate(several, 0 if np.ndim(several[0]) == 1 else 1)


@computes(np.where)
def _where(condition: Any, x: Any, y: Any) -> EncryptedArray:
    if any(isinstance(v, Ciphertext) for v in (condition, x, y)):
        raise errors.UnsupportedError.explain(
            "numpy.where", "an encrypted array of approximate numbers", "encrypted booleans or integers",
            "use x * mask + y * (1 - mask) with a mask of zeros and ones, such as x.compare(y, bound)")
    return of_integers.where(condition, x, y)


@computes(np.dot)
def _dot(a: Any, b: Any) -> Any:
    if not isinstance(a, Ciphertext) and not isinstance(b, Ciphertext):
        raise errors.UnsupportedError.explain(
            "numpy.dot", "an encrypted array of integers", "numbers in the clear", "use (x * w).sum(axis)")
    if max(np.ndim(a), np.ndim(b)) > 2:
        raise errors.UnsupportedError.explain(
            "numpy.dot", f"arrays of {np.ndim(a)} and {np.ndim(b)} axes", "at most 2 axes",
            "use a @ b, which multiplies stacks of matrices")
    return a @ b if np.ndim(a) and np.ndim(b) else a * b


@computes(np.cov)
def _cov(m: Any, y: Any = None, rowvar: bool = True, bias: bool = False, ddof: float | None = None) -> Ciphertext:
    if y is not None:
        m, rowvar = concatenate([_variables(v, rowvar) for v in (m, y)]), True
    return cov(m, rowvar, (0 if bias else 1) if ddof is None else ddof)


def _variables(x: Any, rowvar: bool) -> Any:
    """An array with one variable in each row."""
    of = x if isinstance(x, Ciphertext) else np.asarray(x)
    if of.ndim > 2:
        raise errors.ShapeError.explain("numpy.cov", f"shape {of.shape}", "variables by observations", "reshape it")
    return of.reshape(1, -1) if of.ndim < 2 else of if rowvar else of.T


@computes(np.convolve)
def _convolve(a: Any, v: Any, mode: str = "full") -> Ciphertext:
    return convolve(a, v, mode)


@computes(np.correlate)
def _correlate(a: Any, v: Any, mode: str = "valid") -> Ciphertext:
    return correlate(a, v, mode)
