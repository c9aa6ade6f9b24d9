"""Evaluates polynomials of encrypted arrays: chooses the level, and computes what is known of the result."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.polynomial import chebyshev, polynomial

from .. import _native, arrays, errors
from ..claims.known import report
from ..common.constants import ConstantCache
from ..common.naming import caller
from ..ops import align, levels
from ..ops.scalar import Scalar
from .chebyshev import DEGREE, Fit, Series, as_bits, as_domain, fitted, resolvable

if TYPE_CHECKING:
    from ..ckks.ciphertext import Ciphertext

_WORTH_A_NOTE = 2.0  # a note is worth its place if its advice keeps so many more bits
# length relative to the values: for a shorter domain the coefficients of numpy's `convert` would be inexact
_NARROW = 2.0**-20
_MEAN = math.sqrt(math.pi) / 2  # mean of the modulus of a complex Gaussian, in units of its root mean square
_HALVES = 8  # half oscillations of an error, in which a sample shows its size
# Errors of polynomials that were evaluated before. Computing such an error takes longer than evaluating the polynomial.
_errors: ConstantCache[float] = ConstantCache(256, lambda error: 1)


def polyval(x: Ciphertext, coefficients: Sequence[complex], basis: str, domain: tuple[float, float]) -> Ciphertext:
    """See Ciphertext.polyval."""
    if not isinstance(basis, str) or basis not in ("monomial", "chebyshev"):
        raise errors.UnsupportedError.explain(
            "polyval", f"basis={arrays.shown(basis)}", '"monomial" or "chebyshev"', "name one of them")
    given, ends = (arrays.as_numpy(x, "polyval") for x in (coefficients, domain))
    if given.ndim != 1 or given.size == 0 or ends.shape != (2,) or ends.dtype.kind == "c":
        raise errors.ShapeError.explain(
            "polyval", f"coefficients of shape {given.shape}, a domain of shape {ends.shape}",
            "a list of coefficients, and two ends", "check the polynomial")
    values = [complex(c) for c in arrays.as_slots(given, "polyval")]
    if not (np.isfinite(ends).all() and ends[0] < ends[1]):
        raise errors.ValueError.explain(
            "polyval", f"a domain from {ends[0]} to {ends[1]}", "two finite ends, the smaller one first",
            "correct the domain")
    low, high = resolvable("polyval", float(ends[0]), float(ends[1]))
    series = Series(values, basis == "chebyshev", low, high)
    if series.native.degree < 1:
        return _constant(x, series)
    fills = x._padded and _native.leaves(x._contents, series.native)
    if fills:
        x, _ = filled(x, low, high)
    y, operand = evaluated("polyval", x, series)
    if x.context.device == "dry":
        _note_of_domain(operand, series, y)
    return align.zeroed(y) if fills else y


def _constant(x: Ciphertext, series: Series) -> Ciphertext:
    """The first coefficient, if all others are only rounding errors compared with it. Large powers would make them
    matter again."""
    y, r = x * 0 + series.values[0], x._known.range
    most = float(np.abs(series.mapped(np.array([r.low, r.high]) + 1j * np.array([r.imag_low, r.imag_high]))).max())
    # |T_k(y)| <= (|y| + sqrt(|y|^2 + 1))^k
    base = most + math.hypot(most, 1.0) if series.chebyshev else most
    off = sum(abs(c) * base**k for k, c in enumerate(series.values) if k and c)
    if not off:
        return y
    sample = x._known.sample
    return y._like(y._parts, y._known.meant(None if sample is None else series(sample[0]).astype(complex), off))


def _note_of_domain(x: Ciphertext, series: Series, y: Ciphertext) -> None:
    """Adds a note to a plan on the precision that a domain around the values would keep. Outside of a domain, powers
    are large. They increase the errors from rounded coefficients and from the products inside."""
    r, params = x._known.range, x.context.params
    if r.claim == "assumed" or not r.is_real or not (r.low < series.lower or series.upper < r.high):
        return
    if not r.high - r.low > _NARROW * r.bound:
        return
    kind = chebyshev.Chebyshev if series.chebyshev else polynomial.Polynomial
    ends = resolvable("polyval", r.low, r.high)
    other = kind(series.values, (series.lower, series.upper)).convert(domain=ends, kind=kind)
    p, moved = series.native, Series([complex(c) for c in other.coef], series.chebyshev, *ends).native
    if moved.degree < 1:
        return
    level = max(x.level, moved.levels)  # mapping to a domain may take one more level
    if level > params.top_level:
        return
    own = _native.Evaluation(params, x.level, p, x.slots).error(r, p)
    kept = _native.Evaluation(params, level, moved, x.slots).error(r, moved)
    now = y._known.error
    more = math.log2(now / math.hypot(math.sqrt(max(now**2 - own**2, 0.0)), kept)) if kept > 0 < now else 0.0
    if more < _WORTH_A_NOTE:
        return
    low, high = (f"{v:.6g}" for v in ends)
    unit = (series.lower, series.upper) == (-1.0, 1.0)
    c = "c" if unit else f"c, ({series.lower:g}, {series.upper:g})"
    x.context.note(f"polyval: values from {low} to {high} leave the domain {series.lower:g} to {series.upper:g}, where "
                   f"powers are large; domain=({low}, {high}) with the coefficients "
                   f"numpy.polynomial.{kind.__name__}({c}).convert(domain=({low}, {high})).coef keeps about "
                   f"{more:.0f} bits more")


def evaluated(operation: str, x: Ciphertext, series: Series, domain: tuple[float, float] | None = None,
              known: Callable[[Ciphertext, float], _native.Known] | None = None) -> tuple[Ciphertext, Ciphertext]:
    """A polynomial of every value, of degree 1 at least, and the operand as it was when it was evaluated. ``domain``:
    the interval in which the values lie, whatever else is known of them. ``known``: a function of the operand and of
    the error that evaluation adds; it gives what is known of the result.
    """
    p, more = series.native, levels.more_levels(x.context)
    x = x._ready_for_function(p.levels + (not x._is_canonical), operation)
    _native.require_levels(operation, x.level, p, more)
    x = x._canonical()
    level = _native.evaluation_level(operation, x._contents, p, more)
    x = x if level == x.level else x.to_level(level)
    operand = x

    def after(before: _native.Known, how: _native.Evaluation) -> _native.Known:
        assert known is not None
        return known(operand, _error_within(before.range, series, how))

    made = _native.evaluated(x._contents, x._evaluator, p, domain, None if known is None else after)
    return x._made(made), x


# ---- slots without values ----


def filled(x: Ciphertext, low: float, high: float) -> tuple[Ciphertext, float | None]:
    """x with slots without values that lie in a domain as well, and what they hold; None if that is not known.

    The polynomial of a number far outside would exceed the modulus, and make all slots wrong. It takes no level if
    these slots hold one number, or numbers that are known to be in the domain; otherwise one level for a mask.
    """
    if not x._padded:
        return x, 0.0
    x = align.cleared(x, "approximate")
    held = x.layout.number
    if held is None:
        if low <= -x.layout.bound and x.layout.bound <= high:
            return x, None
        x, held = x * np.ones(()), 0.0
    if held.imag == 0 and low <= held.real <= high:
        return x, held.real
    inside = _native.number_within(x._known.reach, low, high)
    return align.with_rest(x, inside - held, inside), inside


# ---- values within a domain ----


def require_within(operation: str, x: Ciphertext, low: float, high: float) -> Ciphertext:
    """x, or the same array without claims if its range leaves the domain, after a warning (ScaleError in a plan). If
    the values are known (not encrypted, or debugged), ValueError for values outside. A value at an end has noise: six
    deviations of it are allowed for."""
    slack = 6 * x._known.error + 1e-9 * (high - low)
    r, claimed = x.range, x
    if r.low < low - slack or r.high > high + slack:
        if r.claim == "assumed":
            note_of_promise(x, f"the domain {low:.4g} to {high:.4g}")
        else:
            report(x.context, f"values that may lie from {r.low:.4g} to {r.high:.4g} ({x._known.within()})",
                   f"values within the domain {low:.4g} to {high:.4g}",
                   "widen the domain, state a smaller range with declare(), or encrypt with sample data (like=)")
            claimed = x._like(x._parts, x._known.lost())
    if x.context._debugger is not None and not x.context._native.recording:
        values = x.context._debugger.values(x)
    elif not x.context.encrypted and x._known.sample is not None:
        values = x._known.sample[1]
    else:
        return claimed
    beyond = ~((values.real >= low - slack) & (values.real <= high + slack)).reshape(-1)
    if beyond.any():
        raise errors.ValueError.explain(
            operation, f"a value outside of the domain at index {int(np.argmax(beyond))}",
            f"values within {low:.6g} to {high:.6g}", "widen the domain, or scale the values")
    return claimed


def note_of_promise(x: Ciphertext, where: str) -> None:
    """Says in a plan that claims rest on a domain which the caller names, for values of which nothing was stated."""
    how = "assumed" if x.range.claim == "assumed" else "known"
    x.context.note(f"{caller()[0]}: values outside of {where} give wrong results; that there are none is your promise, "
                   f"as the values are only {how} to lie from {x.range.low:.4g} to {x.range.high:.4g}")


def promised(operation: str, x: Ciphertext, domain: tuple[float, float]) -> Ciphertext:
    """x within a domain by the caller's word, which counts as a declared range. A domain in which no value can lie is
    reported."""
    low, high = as_domain(operation, domain)
    r = x.range
    if r.high < low or high < r.low:
        return require_within(operation, x, low, high)
    if r.low < low or high < r.high:
        note_of_promise(x, f"the domain {low:.4g} to {high:.4g}")
    return x._like(x._parts, x._known.within_domain(low, high))


def declared_domain(operation: str, x: Ciphertext,
                    remedy: str = "pass domain=(low, high)") -> tuple[float, float]:
    """The declared range. ValueError if none was declared; the error names other ways to state a domain."""
    r = x.range
    if r.claim != "declared" or not r.low < r.high:
        had = "a declared range of a single value"
        if r.claim != "declared":
            had = f"no domain, and a range that is {r.claim}"
        planned = "; for a plan, lt.Shape(shape, None, (low, high))" if r.claim == "calibrated" else ""
        raise errors.ValueError.explain(
            operation, had, "the domain in which the values lie",
            f"{remedy}, or state the range with encrypt(x, range=...) or declare(){planned}")
    return resolvable(operation, r.low, r.high)


# ---- functions ----


def approximate(x: Ciphertext, f: Callable[..., Any] | Fit, domain: tuple[float, float] | None, bits: float | None,
                max_degree: int, operation: str = "approximate") -> Ciphertext:
    """See Ciphertext.approximate."""
    if isinstance(f, Fit):
        if domain is not None or bits is not None:
            raise errors.UnsupportedError.explain(
                operation, "a fit together with a domain or bits", "the fit alone", "leave domain and bits out")
        return of_fit(operation, x, f)
    ends = declared_domain(operation, x) if domain is None else as_domain(operation, domain)
    wanted = as_bits(operation, 20 if bits is None else bits)
    return of_fit(operation, x, chosen(operation, x, f, ends, wanted, max_degree))


def chosen(operation: str, x: Ciphertext, f: Callable[..., Any], domain: tuple[float, float], bits: float,
           max_degree: int = DEGREE) -> Fit:
    """The fit whose error, with that of its evaluation at the level of x, is within ``2**-bits``."""
    wanted, r = 2.0**-bits, x.range
    imag = 0.0 if r.is_real else max(abs(r.imag_low), abs(r.imag_high))
    allowed = wanted
    for _ in range(3):
        fit = fitted(operation, f, domain, allowed, max_degree, imag, _planned(x))
        own = evaluation_error(operation, x, fit)
        if fit.error + own <= wanted:
            return fit
        allowed = wanted - own
        if allowed < wanted / 16:
            break
    at = f"degree {fit.degree} and scale 2^{math.log2(x.scale):.0f}"
    raise errors.PrecisionError.explain(
        operation, f"an evaluation error of 2^{math.log2(own):.1f} at {at}", f"less than 2^-{bits:g}",
        f"ask for {max(1, math.floor(-math.log2(own) - 0.5))} bits, or take parameters with a larger scale")


def evaluation_error(operation: str, x: Ciphertext, fit: Fit) -> float:
    """Expected mean error that evaluating a fit adds, to values spread over the domain. It does not depend on what
    is known of the values: a plan chooses the same fit as the run."""
    if fit.degree < 1:
        return 0.0
    ctx, p = x.context, fit._native
    level = x.level
    if ctx._refreshes(x._contents, p.levels):
        level = max(level, ctx.params.level_after_bootstrap)
    _native.require_levels(operation, level, p, levels.more_levels(ctx))
    level = _native.steady_level(ctx.params, level, p.levels, p.depth) or level
    return own_error(fit.series, fit.domain, _native.Evaluation(ctx.params, level, p, x.slots))


def own_error(series: Series, domain: tuple[float, float], how: _native.Evaluation) -> float:
    """Mean error that evaluation adds to values spread over a domain."""
    def found() -> float:
        spread = _native.Range.of(np.linspace(*domain, 257).astype(complex))
        return how.error(spread, series.native) * _MEAN

    return _errors.get((domain, tuple(series.values), *series[1:], how.name), found)


def _error_within(r: _native.Range, series: Series, how: _native.Evaluation) -> float:
    """Error, root mean square, that evaluation adds to values of this range."""
    key = (r.claim, r.low, r.high, r.imag_low, r.imag_high, r.bound, r.rms, r.random,
           tuple(series.values), *series[1:], how.name)
    return _errors.get(key, lambda: how.error(r, series.native))


def of_fit(operation: str, x: Ciphertext, fit: Fit) -> Ciphertext:
    """The fit's polynomial of every value."""
    low, high = fit.domain
    if not x.range.is_real and not fit.imag:
        require_real(operation, x)
    x = require_within(operation, x, low, high)
    if fit.degree < 1:
        constant = x * 0 + complex(fit.coefficients[0])
        return constant._like(constant._parts, constant._known.meant(_meant(x, fit), fit.error))
    x, _ = filled(x, low, high)
    y, x = evaluated(operation, x, fit.series, fit.domain)
    y = y._like(y._parts, y._known.meant(_meant(x, fit), fit.error))
    return align.zeroed(y)


def _meant(x: Ciphertext, fit: Fit) -> np.ndarray | None:
    """The function itself for the sample's values; the polynomial for those outside of the domain."""
    sample = x._known.sample
    if sample is None:
        return None
    exact = sample[0] if fit.imag else sample[0].real
    low, high = fit.domain
    inside = (exact.real >= low) & (exact.real <= high)
    out = np.asarray(fit(sample[0]), dtype=complex)
    if inside.any():
        out[inside] += _distance(fit, exact[inside])
    return out


def _distance(fit: Fit, x: np.ndarray) -> np.ndarray:
    """What the function has more than the polynomial, for values of a sample.

    The distance oscillates. A sample of few different values, such as a constant, may lie where it is 0, while other
    data lie where it is largest. There each value has the root mean square of the oscillation that it lies in, of one
    sign for all, because signs of other data may agree. Beside the real axis the distance does not return to 0, and
    grows with the imaginary part: the largest one of the values there counts.
    """
    low, high = fit.interval
    halves = fit.degree + 1
    at = np.floor(halves / math.pi * np.arccos(np.clip((2 * x.real - low - high) / (high - low), -1, 1)))
    here = np.asarray(fit.exact(x) - fit(x), dtype=complex)
    found = np.unique(at)
    if len(found) >= min(_HALVES, halves) and len(np.unique(x)) >= _HALVES:
        return here
    for half in found:
        inside, angles = at == half, math.pi / halves * (half + np.linspace(-0.5, 1.5, 33))
        near = np.clip((low + high + (high - low) * np.cos(angles)) / 2, *fit.domain)
        if fit.imag:
            across = x[inside].imag
            near = near + 1j * across[np.abs(across).argmax()]
        here[inside] = math.sqrt(np.mean(np.abs(fit.exact(near) - fit(near)) ** 2))
    return here


def _planned(x: Ciphertext) -> str:
    """Advice for a plan whose shape says nothing about its values, which may then be complex."""
    assumed = x.context.device == "dry" and x.range.claim == "assumed"
    return ", or plan for lt.Shape(shape, None, (low, high))" if assumed else ""


def require_real(operation: str, x: Ciphertext) -> None:
    """UnsupportedError, because the values are complex, or are not known to be real."""
    raise errors.UnsupportedError.explain(
        operation, f"complex values ({x._known.within()})", "real ones for a function on a real domain",
        f"take the real parts, x.real.declare(low, high), or encrypt real numbers{_planned(x)}; "
        "polyval() takes complex values")


def require_real_operands(operation: str, operands: Sequence[Any], assumed: bool = True) -> None:
    """UnsupportedError for complex operands, encrypted or clear. ``assumed``: also for those that are merely assumed to
    be complex."""
    for x in operands:
        if hasattr(x, "_known"):
            if not x.range.is_real and (assumed or x.range.claim != "assumed"):
                require_real(operation, x)
        elif not (x.range.is_real if isinstance(x, Scalar) else np.all(np.imag(arrays.as_numpy(x, operation)) == 0)):
            raise errors.UnsupportedError.explain(
                operation, "complex values in the clear", "real ones", "take their real parts")
