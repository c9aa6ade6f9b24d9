"""Products of encrypted arrays with plain matrices, with numpy's rules for shapes."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _native, arrays, errors
from . import products

if TYPE_CHECKING:
    from ..ckks.ciphertext import Ciphertext

# The most entries of the matrix of a whole linear map: 256 MiB of complex numbers on the host.
_MAX_ENTRIES = 1 << 24


def result_shape(a: tuple[int, ...], b: tuple[int, ...]) -> tuple[int, ...]:
    """The shape of numpy's ``a @ b``; ShapeError if numpy has no such product."""
    why = ""
    if not a or not b:
        why = "at least one dimension on both sides; use * for single values"
    elif a[-1] != b[-2 if len(b) > 1 else 0]:
        why = "(..., n) and (n,) or (..., n, m)"
    else:
        try:
            lead = np.broadcast_shapes(a[:-2], b[:-2])
            return (*lead, *a[-2:-1], *(b[-1:] if len(b) > 1 else ()))
        except (RuntimeError, ValueError):  # numpy broadcasts up to 32 dimensions
            why = "leading dimensions that broadcast"
    raise errors.ShapeError.explain("matmul", f"shapes {a} and {b}", why, "reshape or transpose")


def multiply(x: Ciphertext, w: Any, left: bool = False) -> Ciphertext:
    """``x @ w``, or ``w @ x``, for a plain `w`: see Ciphertext.__matmul__."""
    w = arrays.as_doubles(w, "matmul")
    shape = result_shape(w.shape, x.shape) if left else result_shape(x.shape, w.shape)
    if w.size == 0:
        raise errors.ShapeError.explain(
            "matmul", f"shapes {x.shape} and {w.shape}", "at least one value", "check the data")
    if not np.isfinite(w).all():
        raise errors.ValueError.explain("matmul", "NaN or infinity", "finite numbers", "clean the data")
    if x.layout.is_plain and x.layout.rest != "unknown":
        if len(x.shape) == 1 and w.ndim <= 2:
            return _apply(x, w.reshape(-1, w.shape[-1]).T if left else w.reshape(len(w), -1), shape)
        if x.size * max(x.size, math.prod(shape)) <= _MAX_ENTRIES:
            return _apply(x, _whole_map(x.shape, w, left, shape), shape)
    return products.sparse(x, w, left, shape)


def _whole_map(shape: tuple[int, ...], w: np.ndarray, left: bool, result: tuple[int, ...]) -> np.ndarray:
    """The matrix M with ``result.ravel() = x.ravel() @ M``: numpy's product with each unit vector."""
    size, out = math.prod(shape), math.prod(result)
    own = shape if len(shape) > 1 else ((shape[0], 1) if left else (1, shape[0]))
    other = w if w.ndim > 1 else (w[None, :] if left else w[:, None])
    units = np.eye(size).reshape(size, *(1,) * max(0, other.ndim - len(own)), *own)
    return np.asarray(np.matmul(other, units) if left else np.matmul(units, other)).reshape(size, out)


def _apply(x: Ciphertext, w: np.ndarray, shape: tuple[int, ...]) -> Ciphertext:
    """The flat values of x times a matrix of shape (x.size, m), as an array of `shape`."""
    x = x._ready(1)
    matrix = np.ascontiguousarray(w, dtype=np.complex128)
    made = _native.times_matrix(
        x._contents, x._evaluator, matrix, w.dtype.kind != "c", lambda v: v @ matrix, x.context._encodings)
    return x._like(made.parts, made.known, True, shape)
