"""Encrypting arrays: checks of values, levels and scales, and what is known of a fresh array."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _native, arrays, errors
from ..claims import noise
from ..claims.known import RangeWarning, as_complex, as_range, fresh
from ..common.layout import Layout
from ..common.naming import caller
from ..common.progress_bar import Task
from .ciphertext import Ciphertext

if TYPE_CHECKING:
    from .context import Context

_MAX_BATCH = 16  # ciphertexts that are encoded and encrypted together
# Values of this many times the size are not like their sample. Two samples of a few values may differ by less.
_UNLIKE_SAMPLE = 4


def encrypted_array(ctx: Context, x: Any, level: int | None, scale: float | None,
                    encrypt: Callable[[list[_native.Plaintext]], list[_native.Ciphertext]],
                    public: bool, stated: Any = None, like: Any = None) -> Ciphertext:
    """A fresh array of the values. `encrypt` makes ciphertexts from plaintexts. See Context.encrypt."""
    if ctx._native.recording:
        raise errors.UnsupportedError.explain(
            "encrypt", "a recording", "fresh randomness at every run, which a replay cannot have",
            "encrypt outside of the recorded function and pass the result")
    level = ctx.level if level is None else arrays.as_integer(level, "encrypt", "level")
    if not 0 <= level <= ctx.params.top_level:
        raise errors.LevelError.explain(
            "encrypt", f"level {arrays.shown(level)}", f"a level from 0 to {ctx.params.top_level}", "leave it out")
    chosen = scale is not None
    scale = ctx.params.scale(level) if scale is None else arrays.as_real(scale, "encrypt", "scale", finite=False)
    if not (1 <= scale < math.inf and math.log2(scale) < ctx.params.log_q(level)):
        raise errors.ScaleError.explain(
            "encrypt", f"scale {scale}", f"one from 1 to less than 2^{ctx.params.log_q(level):.1f}",
            "leave it out for the canonical scale")
    array = arrays.as_numpy(x, "encrypt")
    values = arrays.as_slots(array, "encrypt")
    slots = arrays.slots_for(values.size, ctx.slots, "encrypt")
    error = noise.fresh(ctx.params, scale, slots, public)
    known = _known_of(ctx, array, values, stated, like, error)
    if chosen:
        _require_precision(scale, error, known.range)
    rows = arrays.rows(values, slots)
    batches = [rows[first : first + _MAX_BATCH] for first in range(0, len(rows), _MAX_BATCH)]
    if not ctx.encrypted:
        for batch in batches:
            _native.encode_all(ctx._native, batch, level, float(scale))  # raises the errors that encrypting raises
        parts = [_native.shape_only(ctx._native, level, float(scale), slots) for _ in rows]
    elif len(batches) == 1:
        parts = encrypt(_native.encode_all(ctx._native, rows, level, float(scale)))
    else:
        parts = []
        with Task("encrypting", len(rows)) as step:
            for batch in batches:
                parts += encrypt(_native.encode_all(ctx._native, batch, level, float(scale)))
                step.advance(len(batch))
    return Ciphertext(ctx, parts, Layout.plain(array.shape, slots), known)


def _require_precision(scale: float, error: float, within: _native.Range) -> None:
    """ScaleError if the error of a fresh encryption is as large as the values may be."""
    if 0 < within.bound <= error:
        raise errors.ScaleError.explain(
            "encrypt", f"a scale of 2^{math.log2(scale):.1f}, with an error of about {error:.3g} for values of up to "
            f"{within.bound:.4g} in size",
            f"a scale of 2^({math.log2(scale * error / within.bound):.1f} + b) for b bits of "
            "such values", "leave it out for the canonical scale")


def _known_of(ctx: Context, array: np.ndarray, values: np.ndarray, stated: Any, like: Any,
              error: float) -> _native.Known:
    """What is known of values to encrypt. This is what the caller states, never the values themselves."""
    if stated is not None and like is not None:
        raise errors.UnsupportedError.explain(
            "encrypt", "a range and sample data", "one of them", "leave range out, or like")
    if like is not None:
        sample = arrays.as_numpy(like, "encrypt")
        arrays.as_slots(sample, "encrypt")
        if sample.shape != array.shape:
            raise errors.ShapeError.explain(
                "encrypt", f"sample data of shape {sample.shape}", f"the shape of the values, {array.shape}",
                "pass like=data of that shape")
        if array.dtype.kind == "c" and sample.dtype.kind != "c":
            raise errors.ValueError.explain(
                "encrypt", "complex values and real sample data", "sample data of the values' type",
                "pass like=data of complex numbers")
        seen = _native.range_of_sample(as_complex(sample), not np.iscomplexobj(sample))
        if _native.Range.of(values).bound > _UNLIKE_SAMPLE * seen.bound:
            warnings.warn(f"encrypt: values are more than {_UNLIKE_SAMPLE} times as large as those of the sample "
                          "data; the claimed precision will not hold; pass like= data that are as large",
                          RangeWarning, stacklevel=caller()[1])
        return _fresh(ctx, seen, error, array, sample)
    known = _native.Range.assumed(array.dtype.kind != "c") if stated is None else as_range(stated)
    if known.contains(_native.Range.of(values)):
        return _fresh(ctx, known, error, array)
    if known.claim != "assumed":
        raise errors.ValueError.explain(
            "encrypt", f"values outside of the declared range ({known})", "values within it", "correct the range")
    within, remedy = "-1 to 1", "encrypt(x, range=(low, high))"
    if stated is not None:  # from a program that was made without it
        within = f"{known} with a modulus of up to {known.bound:g}" if array.dtype.kind == "c" else str(known)
        remedy = "lt.Shape(shape, None, (low, high)) where the program is saved"
    warnings.warn(f"encrypt: values lie outside of {within}, the range that is assumed where none is stated; "
                  f"the claimed precision will not hold; state the range: {remedy}",
                  RangeWarning, stacklevel=caller()[1])
    return _fresh(ctx, known, error, array)


def _fresh(ctx: Context, known: _native.Range, error: float, values: np.ndarray,
           sample: np.ndarray | None = None) -> _native.Known:
    if not ctx.encrypted or ctx._debugger is not None:
        return _native.Known.with_shadow(known, error, as_complex(values))
    return fresh(known, error, sample)
