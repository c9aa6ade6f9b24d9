"""Sums over axes, and functions that use them."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _native, arrays, errors
from ..claims import noise
from ..common.layout import Layout
from . import align, levels, moves

if TYPE_CHECKING:
    from ..ckks.ciphertext import Ciphertext


def total(x: Ciphertext, axis: Any = None, keepdims: bool = False, factor: complex = 1) -> Ciphertext:
    """See Ciphertext.sum; `factor` multiplies the sums."""
    axes, keepdims = as_axes(axis, len(x.shape), "sum"), arrays.as_flag(keepdims, "sum", "keepdims")
    if not axes:
        return x * factor if factor != 1 else x
    if _plainly(x, axes):
        out = _in_ciphertexts(x, axes)
        out = out * factor if factor != 1 else out
    else:
        out = _along(x, axes, factor)
    if not keepdims:
        return out
    return moves.taken(out, np.arange(out.size).reshape([1 if a in axes else n for a, n in enumerate(x.shape)]))


def as_axes(axis: Any, dimensions: int, operation: str) -> tuple[int, ...]:
    """The axes in the form that numpy takes them, in order. None stands for all axes."""
    if axis is None:
        return tuple(range(dimensions))
    every = [arrays.as_integer(a, operation, "axis") for a in (axis if isinstance(axis, tuple) else (axis,))]
    out = sorted(a + dimensions if a < 0 else a for a in every)
    if len(set(out)) != len(out) or not all(0 <= a < dimensions for a in out):
        raise errors.ShapeError.explain(
            operation, f"axis={arrays.shown(axis)} of {dimensions} dimensions", "axes that exist, each once",
            "check the axis")
    return tuple(out)


def _plainly(x: Ciphertext, axes: tuple[int, ...]) -> bool:
    """Whether plain rotations can add up the values of each sum, because the other slots hold nothing else."""
    if len(axes) == len(x.shape):
        return x.layout.injective and x.layout.rest != "unknown"
    kept = math.prod(x.shape[len(axes):])
    leading = x.layout.is_plain and axes == tuple(range(len(axes)))
    return leading and x.layout.rest != "unknown" and kept & (kept - 1) == 0 and kept <= x.slots


def _in_ciphertexts(x: Ciphertext, axes: tuple[int, ...]) -> Ciphertext:
    """Sums over leading axes in ciphertexts of as many slots as there are sums."""
    shape = x.shape[len(axes):]
    if x._padded and not x._clean:
        x = x * np.ones(x.shape)
    made = x._contents.summed(x._evaluator, math.prod(shape), x.size)
    return x._like(made.parts, made.known, True, shape)


def _along(x: Ciphertext, axes: tuple[int, ...], factor: complex) -> Ciphertext:
    """Sums over any axes. If their values are equally far apart, the axes are summed together; otherwise one after the
    other."""
    out = _windowed(x, axes, factor)
    if out is None and len(axes) > 1:
        out = _along(_along(x, axes[-1:], 1), axes[:-1], factor)
    if out is None:  # one axis, with values at any addresses
        out = _windowed(align.plain(x, "sum"), axes, factor)
    assert out is not None
    return out


def _windowed(x: Ciphertext, axes: tuple[int, ...], factor: complex) -> Ciphertext | None:
    """Sums of slots that are a fixed step apart; None if there is no such step. It takes no level if the values of each
    sum lie in one ciphertext. Otherwise it takes one, because a map collects the pieces."""
    where, slots = x.layout, x.slots
    shape = tuple(n for a, n in enumerate(x.shape) if a not in axes)
    terms = np.moveaxis(where.places, axes, range(-len(axes), 0)).reshape(math.prod(shape), -1)
    terms = np.sort(terms, axis=1) if len(axes) > 1 else terms
    found = moves.runs_of(terms, slots)
    if found is None:
        return None
    if len(found[0]) > len(terms):
        return _collected(x, axes, factor, terms, found)
    count, step = terms.shape[1], found[3]
    bound = count * max(x._known.reach, where.bound)
    out, kept = _where_begun(terms, shape, slots)
    made = moves.windows(x._evaluator, [x._parts[p] for p in kept], step, count, slots)
    known = x._known.reduced(x.shape, axes, count, 1, x._switched() * math.sqrt(count - 1), 0, [])
    y = x._like(made, known, layout=out.with_rest("unknown", bound))
    return y * factor if factor != 1 else y


def _where_begun(terms: np.ndarray, shape: tuple[int, ...], slots: int) -> tuple[Layout, list[int]]:
    """The layout of sums that lie where their first values do, and which ciphertexts those are in."""
    kept = np.unique(terms[:, 0] // slots)
    places = np.searchsorted(kept, terms[:, 0] // slots) * slots + terms[:, 0] % slots
    return Layout(shape, slots, len(kept), places.reshape(shape)), kept.tolist()


def _collected(x: Ciphertext, axes: tuple[int, ...], factor: complex, terms: np.ndarray,
               found: tuple[np.ndarray, np.ndarray, np.ndarray, int]) -> Ciphertext:
    """Sums of values that lie in several ciphertexts. A run of n values is made of windows of powers of two."""
    x = x._ready(1)
    levels.require_one(x, "sum")
    where, slots = x.layout, x.slots
    shape = tuple(n for a, n in enumerate(x.shape) if a not in axes)
    row, first, length, step = found
    bits = list(moves.by_bits(first, length, step, slots))
    rows = np.concatenate([row[has] for has, _ in bits])
    s = np.concatenate([at + k * where.count * slots for k, (_, at) in enumerate(bits)])
    weights = np.full(len(s), complex(factor))
    most = 1 << (int(length.max()).bit_length() - 1)
    windows = list(zip(*(moves.doublings(x._evaluator, p, step, most, slots) for p in x._parts)))
    targets = [Layout.plain(shape, slots), _where_begun(terms, shape, slots)[0]]

    def entries_to(target: Layout) -> moves.Entries:
        return target.places.reshape(-1)[rows], s, weights

    def cheapest() -> moves.Map:
        made = [moves.Map((*name, i), slots, slots, target, partial(entries_to, target))
                for i, target in enumerate(targets) if target.injective]
        return min(made, key=lambda m: m.diagonals)

    name = ("sum", where.name, axes, complex(factor))
    m = moves.remembered(name, cheapest)
    m.require_possible("sum")
    count = terms.shape[1]
    sources = [p for several in windows for p in several]
    parts, added, _ = moves.apply(x, sources, m, "sum", abs(factor) * math.sqrt(count))
    before = abs(factor) * x._switched() * math.sqrt(count - 1) if most > 1 else 0.0
    # Rounded weights multiply sums of 1, 2, 4 .. neighbouring values.
    rounded = noise.encoded(x.slots, x.context.params.rescale_factor(x.level))
    windows_of = m.diagonals_by(lambda source: source // where.count, int(length.max()).bit_length())
    known = x._known.reduced(x.shape, axes, count, factor, math.hypot(before, added), rounded, windows_of)
    return x._like(parts, known, layout=m.target)


def mean(x: Ciphertext, axis: Any, keepdims: bool) -> Ciphertext:
    """See Ciphertext.mean."""
    axes = as_axes(axis, len(x.shape), "mean")
    count = math.prod(x.shape[a] for a in axes)
    return total(x, axes, keepdims, 1 / count if count > 1 else 1)


def variance(x: Ciphertext, axis: Any, ddof: float, keepdims: bool) -> Ciphertext:
    """See Ciphertext.var."""
    axes, ddof = as_axes(axis, len(x.shape), "var"), arrays.as_real(ddof, "var", "ddof")
    count = math.prod(x.shape[a] for a in axes)
    if count <= ddof:
        raise errors.ValueError.explain(
            "var", f"ddof={ddof:g} of {count} values", "fewer than the values", "lower ddof")
    # sum |x|^2 - |sum x|^2 / n: the errors of x that are multiplied by the mean of x are equal in both terms, so they
    # cancel. Two products of different factors are subtracted, which takes one scale: the canonical one.
    x = _about_zero(x._ready(2 if x._is_canonical else 3)._canonical())
    squares = total(_squared(x), axes, keepdims, 1 / (count - ddof))
    out = squares - _squared(total(x, axes, keepdims, 1 / math.sqrt(count * (count - ddof))))
    # The rules for differences do not know that the two terms depend on each other, and that variances are not
    # negative.
    most = largest_variance(x._known.range) * count / (count - ddof)
    return out._like(out._parts, out._known.within_domain(0.0, most))


def largest_variance(r: _native.Range) -> float:
    """The variance of values of which half are at each end of a range."""
    return float(((r.high - r.low) / 2) ** 2 + ((r.imag_high - r.imag_low) / 2) ** 2)


def _about_zero(x: Ciphertext) -> Ciphertext:
    """x minus the middle of its range, if that is far from 0. The difference of squares of large numbers would lose
    precision."""
    r = x._known.range
    middle = complex((r.low + r.high) / 2, (r.imag_low + r.imag_high) / 2)
    if abs(middle) < r.bound / 8:
        return x
    c = middle.real if r.is_real else middle
    return x - (np.full(x.shape, c) if x._padded else c)


def _squared(x: Ciphertext) -> Ciphertext:
    """``|x|^2``."""
    if x._known.range.is_real:
        return x * x
    square = x * x.conj()
    return square._like(square._parts, square._known.as_real())


def spread(x: Ciphertext, factor: complex) -> Ciphertext:
    """See Ciphertext.spread_sum."""
    x = align.plain(x, "spread_sum")
    columns, factor = x.shape[-1] if x.shape else 1, arrays.as_complex(factor, "spread_sum", "factor")
    _native.require_rows(columns, x.slots, "spread_sum")
    x = x._ready(1)
    return x._made(_native.spread(x._contents, x._evaluator, x.size, columns, factor, *x._constants))
