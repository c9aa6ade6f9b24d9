"""Signs of encrypted arrays by compositions of polynomials, and functions that use signs: steps, comparisons, absolute
values, maxima."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from .. import _native, arrays, errors
from ..common.naming import named
from ..ops import align, levels
from . import composite, evaluate
from .chebyshev import Series, resolvable
from .composite import Sign

if TYPE_CHECKING:
    from ..ckks.ciphertext import Ciphertext, Operand


class Outline(NamedTuple):
    """A linear function of the sign, ``scale * sign + shift``, whose values go from `low` to 1."""

    scale: float
    shift: float
    low: float


SIGN, STEP = Outline(1.0, 0.0, -1.0), Outline(0.5, 0.5, 0.0)


class Refresher(Protocol):
    """Bootstraps between polynomials, if the context does not do so by itself."""

    def __call__(self, x: Ciphertext, levels: int) -> Ciphertext:
        """x, refreshed before a step that takes so many levels, if x has fewer."""

    def grown(self, slope: float, added: float) -> None:
        """Multiplies the error by this slope, and adds the error of a step."""


def margin(x: Ciphertext) -> float:
    """The distance by which noise may move values between stages: half of the scale's bits."""
    return 2.0 ** -round(math.log2(x.context.params.scale(0)) / 2)


def sign(x: Ciphertext, bound: float, gap: float | None, bits: float) -> Ciphertext:
    """See Ciphertext.sign."""
    return outlined("sign", x, composite.checked("sign", bound, gap, bits, margin(x)), SIGN, bits)[0]


def compare(x: Ciphertext, y: Operand, bound: float, gap: float | None, bits: float | None) -> Ciphertext:
    """See Ciphertext.compare."""
    bound = 2 * arrays.as_real(bound, "compare", "bound", above=0)  # that of the difference
    bits = 20.0 if bits is None else arrays.as_real(bits, "compare", "bits", above=0)
    # The step is half of the sign.
    fit = composite.checked("compare", bound, gap, max(bits - 1, 1.0), margin(x))
    note_of_ties(x, f"{fit.gap:.2g}", "a number from 0 to 1")
    return outlined("compare", difference("compare", x, y), fit, STEP, bits)[0]


def note_of_ties(x: Ciphertext, distance: str, result: str) -> None:
    """Adds a note to a plan on the results of a comparison to which its bits do not apply."""
    x.context.note(f"compare: bits are of values that differ by {distance} or more; nearer ones give {result}")


def absolute(x: Ciphertext, bound: float, bits: float) -> Ciphertext:
    """See Ciphertext.abs."""
    bound, bits = _checked("abs", bound, bits)
    return _times_outline("abs", x, bound, bits, for_product("abs", bound, bits, SIGN, margin(x)), SIGN, np.abs)


def relu(x: Ciphertext, bound: float, bits: float) -> Ciphertext:
    """See Ciphertext.relu."""
    return _positive_part("relu", x, None, bound, bits)


def maximum(x: Ciphertext, y: Operand, bound: float, bits: float) -> Ciphertext:
    """See Ciphertext.maximum."""
    return _positive_part("maximum", x, y, bound, bits) + y


def minimum(x: Ciphertext, y: Operand, bound: float, bits: float) -> Ciphertext:
    """See Ciphertext.minimum."""
    return x - _positive_part("minimum", x, y, bound, bits)


def clip(x: Ciphertext, least: Any, most: Any, bound: float, bits: float) -> Ciphertext:
    """See Ciphertext.clip."""
    low, high = (None if v is None else arrays.as_doubles(v, "clip", (float,)) for v in (least, most))
    given = [v for v in (low, high) if v is not None]
    if not given:
        raise errors.ValueError.explain("clip", "neither min nor max", "one of them", "name it")
    bound, bits = _checked("clip", bound, bits)
    if any(v.dtype.kind == "c" or not (abs(v) <= bound).all() for v in given):
        raise errors.ValueError.explain(
            "clip", "ends that are complex, or larger than the bound", f"real ends within {bound:g}",
            "raise the bound, or lower the ends")
    if len(given) == 2 and not np.all(np.less_equal(*given)):
        raise errors.ValueError.explain("clip", "a min above the max", "ends in order", "exchange them")
    ends = [v if v is None or v.ndim else float(v) for v in (low, high)]
    # The parts below the lower end and above the upper end are removed separately, each with half of the error.
    y, bits = x, bits + len(given) - 1
    if ends[0] is not None:
        y = _positive_part("clip", x, ends[0], bound, bits) + ends[0]
    if ends[1] is not None:
        y = y - _positive_part("clip", x, ends[1], bound, bits)
    error = 2.0**-bits * len(given)
    within = y._known.within_domain(
        (-bound if low is None else float(low.min())) - error, (bound if high is None else float(high.max())) + error)
    return y._like(y._parts, within)


def _positive_part(operation: str, x: Ciphertext, y: Operand | None, bound: Any, bits: Any) -> Ciphertext:
    """The positive part of x, or of x - y if there is a y."""
    bound, bits = _checked(operation, bound, bits)
    if y is not None:
        bound *= 2
        _wanted(operation, bound, bits)
        x = difference(operation, x, y)
    fit = for_product(operation, bound, bits, STEP, margin(x))
    return _times_outline(operation, x, bound, bits, fit, STEP, lambda v: np.maximum(v, 0))


def difference(operation: str, x: Ciphertext, y: Operand, assumed: bool = True) -> Ciphertext:
    """x - y of real values. ``assumed`` as of `evaluate.require_real_operands`."""
    evaluate.require_real_operands(operation, (x, y), assumed)
    with named(operation, "subtract"):
        return x - y


def _checked(operation: str, bound: Any, bits: Any) -> tuple[float, float]:
    bound = arrays.as_real(bound, operation, "bound", above=0)
    resolvable(operation, -bound, bound)
    return bound, arrays.as_real(bits, operation, "bits")


def outlined(operation: str, x: Ciphertext, fit: Sign, outline: Outline, bits: float, exact: bool = True,
             after: int = 0, refresh: Refresher | None = None) -> tuple[Ciphertext, float]:
    """``scale * sign(x) + shift``, and the error that its computation adds for values beyond the gap. ``after``: levels
    that are taken next. Without ``exact`` the result becomes a factor of x: the error is that of the product, and the
    distance from the sign itself is not counted yet. ``refresh`` bootstraps before polynomials that lack levels, if the
    context does not do so.
    """
    if not x.range.is_real:
        evaluate.require_real(operation, x)
    x = evaluate.require_within(operation, x, -fit.bound, fit.bound)
    x, _ = evaluate.filled(x, -fit.bound, fit.bound)
    _require_precision(operation, x, fit, outline, bits, exact)
    if refresh is None:
        _require_levels(operation, x, fit, after)
    first, y, steps = x, x, [0.0]
    # A factor of x is steeper within the gap.
    steepest = fit.slopes() if exact else fit.slopes_within_gap()
    for i, (series, slope, steep) in enumerate(zip(fit.series(), fit.slopes(), steepest)):
        if refresh is not None:
            y, before = refresh(y, int(series.native.levels)), y
            steps[-1] = math.hypot(steps[-1], error_between(before, y))
        low = -1.0
        if i == len(fit.stages) - 1:
            values = [outline.scale * c for c in series.values]
            values[0] += outline.shift
            series, slope, low = series._replace(values=values), outline.scale * slope, outline.low
            steep *= outline.scale
        y, own = _stage(operation, y, series, steep, (low, 1.0))
        steps.append(own)
        if refresh is not None:
            refresh.grown(slope, own)
    if exact:
        y = y._like(y._parts, y._known.meant(_sign_of(first, fit, outline), outline.scale * fit.error))
    if x._clean and y._padded:
        y = align.with_rest(y, -outline.shift, 0.0)
    return y, _error_of(fit, steps, outline, exact)


def _error_of(fit: Sign, steps: Sequence[float], outline: Outline, exact: bool) -> float:
    """The error of an outline, or without ``exact`` of its product with x. ``steps``: the error of x where it gets it,
    and what each polynomial adds to its result, the last one already as part of the outline."""
    steps = [*steps[:-1], steps[-1] / outline.scale]
    if not exact:
        return outline.scale * fit._error_of_product(steps)
    added = steps[0]
    for slope, own in zip(fit.slopes(), steps[1:]):
        added = math.hypot(slope * added, own)
    return outline.scale * added


def error_between(before: Ciphertext, after: Ciphertext) -> float:
    """The error that a bootstrapping added to the expected error."""
    old, new = before._known.estimate.rms, after._known.estimate.rms
    return math.sqrt(max(0.0, new * new - old * old))


def _stage(operation: str, y: Ciphertext, series: Series, slope: float,
           ends: tuple[float, float]) -> tuple[Ciphertext, float]:
    owns = []

    def known(operand: Ciphertext, own: float) -> _native.Known:
        # for the case that the context has bootstrapped it first
        owns.append(math.hypot(own, slope * error_between(y, operand)))
        return operand._known.through(
            lambda v: np.polynomial.chebyshev.chebval(v / series.upper, series.values), slope, own, *ends)

    out, _ = evaluate.evaluated(operation, y, series, (series.lower, series.upper), known)
    return out, owns[0]


def _sign_of(x: Ciphertext, fit: Sign, outline: Outline) -> np.ndarray | None:
    """The intended result for the sample. For values within the gap it is the result of the polynomials, whatever that
    is."""
    if x._known.sample is None:
        return None
    v = x._known.sample[0].real
    signs = np.where(np.abs(v) >= fit.gap, np.sign(v), fit(np.clip(v, -fit.bound, fit.bound)))
    return np.asarray(outline.scale * signs + outline.shift)


def _times_outline(operation: str, x: Ciphertext, bound: float, bits: float, chosen: tuple[Sign, float],
                   outline: Outline, meant: Callable[[np.ndarray], np.ndarray]) -> Ciphertext:
    """The product of x with a function of its sign: an absolute value or a positive part. The gap follows from the
    bits: within it both the values and their distance from the right result are small."""
    fit, error = chosen
    s, own = outlined(operation, x, fit, outline, bits, False, 1)
    x = x._ready(1)
    y = x * s
    v = np.geomspace(fit.gap / 64, bound, 8001)
    v = np.concatenate([-v[::-1], v])
    slope = float(np.abs(np.diff(product(fit, outline, v)) / np.diff(v)).max())
    added = math.hypot(own, x._multiplied(y._parts))
    known = x._known.through(lambda z: product(fit, outline, z), slope, added, -error, bound + error)
    sample = x._known.sample
    return y._like(y._parts, known.meant(None if sample is None else meant(sample[0].real), error))


def product(fit: Sign, outline: Outline, v: np.ndarray) -> np.ndarray:
    return np.asarray(v * (outline.scale * fit(v) + outline.shift))


def _wanted(operation: str, bound: float, bits: float) -> float:
    """The requested error of a product. ValueError if no composition reaches it, or if none is needed."""
    wanted = 2.0**-bits if abs(bits) < 1000 else 0.0
    if not 2.0**-20 * bound <= wanted < bound / 4:
        raise errors.ValueError.explain(
            operation, f"bits={bits:g} with bound={bound:g}",
            f"bits from {math.ceil(2 - math.log2(bound))} to {math.floor(20 - math.log2(bound))}",
            "ask for such a precision")
    return wanted


def for_product(operation: str, bound: float, bits: float, outline: Outline, margin: float,
                deepest: int = 32) -> tuple[Sign, float]:
    """The composition of the fewest levels with which the product is within ``2**-bits``, and its error. ``deepest``:
    the most levels of any one of its polynomials."""
    wanted = _wanted(operation, bound, bits)
    found: list[tuple[int, int, int, Sign, float]] = []
    for width in (16, 12, 8, 6, 4, 3, 2):
        gap = min(width * wanted, bound / 2)
        # Beyond the gap, the error is the error of the sign times the value. It is largest at the bound.
        fit = composite.composed(operation, bound, gap, max(1.0, -math.log2(wanted / (outline.scale * bound))), margin,
                                 deepest)
        v = np.concatenate([np.geomspace(fit.gap / 256, bound, 20001), np.linspace(0, bound, 4001)])
        error = float((v * outline.scale * np.abs(1 - fit(v))).max())
        if error <= wanted:
            found.append((fit.levels, fit.products, len(found), fit, error))
    if not found:
        raise errors.PrecisionError.explain(
            operation, f"no composition of polynomials with a bound of {bound:g}", f"{bits:g} bits",
            "ask for fewer bits")
    best = min(found, key=lambda f: f[:3])
    return best[3], best[4]


def _require_levels(operation: str, x: Ciphertext, fit: Sign, after: int) -> None:
    if x.context.auto_bootstrap and x.context.params.has_bootstrap:
        return
    if x.level < fit.levels + after:
        degrees = ", ".join(map(str, fit.degrees))
        raise errors.LevelError.explain(
            operation, f"level {x.level}", f"{fit.levels + after} levels for polynomials of degrees {degrees}",
            f"{levels.more_levels(x.context)}; {composite.fewer_bits(operation)} need fewer levels")


def _require_precision(operation: str, x: Ciphertext, fit: Sign, outline: Outline, bits: float, exact: bool) -> None:
    """Raises PrecisionError if the noise of the evaluation itself exceeds the error that is asked for. No choice of
    degrees changes that.
    """
    params, steps = x.context.params, [0.0]
    for p, series in zip(fit.polynomials(), fit.series()):
        level = max(params.default_level, p.levels)  # noise differs little between levels
        if level > params.top_level:
            return
        how = _native.Evaluation(params, level, p, x.slots)
        steps.append(evaluate.own_error(series, (series.lower, series.upper), how))
    own = _error_of(fit, [*steps[:-1], outline.scale * steps[-1]], outline, exact)
    if own > 2.0**-bits:
        raise errors.PrecisionError.explain(
            operation, f"an evaluation error of 2^{math.log2(own):.1f} at scale 2^{math.log2(params.scale(0)):.0f}",
            f"less than 2^-{bits:g}", "ask for fewer bits, or take parameters with a larger scale")
