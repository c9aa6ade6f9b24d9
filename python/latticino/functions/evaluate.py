"""Polynomials of encrypted arrays: at which level, and what is known of the result."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _native, arrays, errors
from ..claims import noise
from ..claims.known import Range, report
from ..common.constants import ConstantCache
from ..common.layout import Layout
from ..ops import align, levels
from .chebyshev import DEGREE, Fit, Series, as_bits, as_domain, fitted

if TYPE_CHECKING:
    from ..ckks.ciphertext import Ciphertext

_MEAN = math.sqrt(math.pi) / 2  # of the modulus of a complex Gaussian, in units of its root mean square
# Errors of polynomials that were evaluated before, because computing one takes longer than evaluating the polynomial.
_errors: ConstantCache[float] = ConstantCache(256, lambda error: 1)
_LARGE = 2.0**8  # of T_n or of a power: of values outside of the interval that may leave the modulus


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
    low, high = float(ends[0]), float(ends[1])
    series = Series(values, basis == "chebyshev", low, high)
    if series.native.degree < 1:
        return x * 0 + values[0]
    fills = _leaves(x, series)
    if fills:
        x, _ = filled(x, low, high)
    y, _ = evaluated("polyval", x, series)
    return align.zeroed(y) if fills else y


def evaluated(operation: str, x: Ciphertext, series: Series, domain: tuple[float, float] | None = None,
              known: Callable[[Ciphertext, float], _native.Known] | None = None) -> tuple[Ciphertext, Ciphertext]:
    """A polynomial of every value, of degree 1 at least, and the operand as it was when it was evaluated. ``domain``:
    the interval in which the values lie, whatever else is known of them. ``known``: a function of the operand and of
    the error that evaluation adds; it gives what is known of the result.
    """
    p = series.native
    x = x._ready_for_function(p.levels + (not x._is_canonical), operation)
    require_levels(operation, x, p)
    x = _steady(operation, x._canonical(), p)
    require_levels(operation, x, p)
    parts = _native.evaluate(x._evaluator, p, x._parts)
    before = x._known if domain is None else x._known.within_domain(*domain)
    if p.levels > depth_of(p):
        before = before.times_number(1.0, 0.0, _rounded_stretch(x, series))
    added, mapping = product_errors(x.context.params, x.level, p, x.slots)
    if known is None:
        after = before.polynomial(*series, added, mapping)
    else:
        after = known(x, _error_within(before.range, series, added, mapping))
    return x._like(parts, after, layout=_rest_after(x, series, after.reach)), x


def _rest_after(x: Ciphertext, series: Series, reach: float) -> Layout:
    """The layout of a polynomial whose values are up to `reach` in size."""
    where = x.layout
    if where.number is not None:
        return where.holding(complex(series(where.number)))
    if where.bound > x._known.reach:  # not merely copies of values
        held = Range(-where.bound, where.bound, (0, 0) if x.range.is_real else (-where.bound, where.bound))
        reach = max(reach, _native.Estimate(held, 0.0).polynomial(*series, 0.0, 0.0).range.bound)
    return where.changed(False, reach)


def _rounded_stretch(x: Ciphertext, series: Series) -> float:
    """The rounded factor that scales to [-1, 1], relative to the exact one."""
    params = x.context.params
    stretch = 2 / (series.upper - series.lower)
    exact: float = stretch * params.rescale_factor(x.level) * (params.scale(x.level - 1) / x.scale)
    return round(exact) / exact


def product_errors(params: _native.Params, level: int, p: _native.Polynomial, slots: int) -> tuple[float, float]:
    """Errors of a product in an evaluation that begins at a level, and of the product that scales to [-1, 1]."""
    added = noise.multiplied(params, level, slots, params.scale(level - p.levels))
    scaled = p.levels > depth_of(p)
    return added, noise.rescaled(params, level, slots, params.scale(level - 1)) if scaled else 0.0


def depth_of(p: _native.Polynomial) -> int:
    """Levels of a polynomial without those of its domain."""
    return math.ceil(math.log2(p.degree + 1))


def require_levels(operation: str, x: Ciphertext, p: _native.Polynomial) -> None:
    if x.level < p.levels:
        scaling = " (one of them for the domain)" if p.levels > depth_of(p) else ""
        raise errors.LevelError.explain(
            operation, f"level {x.level}", f"{p.levels} levels for degree {p.degree}{scaling}",
            f"{levels.more_levels(x.context)}; fewer bits or a narrower domain need fewer levels")


# ---- levels whose scales suit ----


def _steady(operation: str, x: Ciphertext, p: _native.Polynomial) -> Ciphertext:
    """x at the highest level from which squares keep the scale: above the levels of computing, those of
    bootstrapping have primes of other sizes, and the square of a square would lose its precision there."""
    params, depth = x.context.params, depth_of(p)
    level = steady_level(params, x.level, p.levels, depth)
    if level is None:
        most = max(depth for depth in range(1, p.levels) if steady_level(params, x.level, depth, depth) is not None)
        raise errors.LevelError.explain(
            operation, f"level {x.level}, below which scales are not constant for {p.levels} levels",
            f"at most {most} levels", "encrypt at the default level, or take a polynomial of a smaller degree")
    return x if level == x.level else x.to_level(level)


def steady_level(params: _native.Params, level: int, levels: int, depth: int) -> int | None:
    """The highest level, up to the given one, from which scales stay the same over an evaluation; None if there is
    none."""
    for start in range(level, levels - 1, -1):
        if _keeps_scale(params, start - (levels - depth), depth):
            return start
    return None


def _keeps_scale(params: _native.Params, start: int, depth: int) -> bool:
    scale = math.log2(params.scale(start))
    for level in range(start, start - depth + 1, -1):
        scale = 2 * scale - math.log2(params.rescale_factor(level))
        if abs(scale - math.log2(params.scale(level - 1))) > 1:
            return False
    return True


# ---- slots behind the values ----


def _leaves(x: Ciphertext, series: Series) -> bool:
    """Whether the polynomial may leave the modulus in slots without values, although it does not for the values."""
    where, r = x.layout, x.range
    if where.full:
        return False
    held = 0.0 if where.rest == "unknown" else where.number  # what is unknown is cleared first
    if held is not None:
        y = abs(series.mapped(held))
    elif where.bound > x._known.reach:
        y = max(abs(series.mapped(end)) for end in (-where.bound, where.bound))
    else:  # copies of values
        return False
    degree = series.native.degree
    if series.chebyshev:
        return y > 1 and degree * math.acosh(y) > math.log(_LARGE)
    of_values = max(abs(series.mapped(end)) for end in (complex(r.low, r.imag_low), complex(r.high, r.imag_high)))
    return y > max(1.0, of_values) and degree * math.log(y) > math.log(_LARGE)


def filled(x: Ciphertext, low: float, high: float) -> tuple[Ciphertext, float | None]:
    """x with slots without values that lie in a domain as well, and what they hold; None if that is not known.

    A polynomial of a value far outside would leave the modulus, and take all slots along. Free of levels where these
    slots hold one number, or what is known to lie in the domain; one level for a mask elsewhere.
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
    reach = x._known.reach  # what is larger than values could leave the box of a bootstrapping
    inside = float(np.clip(np.clip((low + high) / 2, -reach, reach), low, high))
    return align.with_rest(x, inside - held, inside), inside


# ---- values within a domain ----


def require_within(operation: str, x: Ciphertext, low: float, high: float) -> None:
    """ScaleError in a plan, a warning elsewhere, for a range that leaves a domain; ValueError for values outside
    where they are known (not encrypted, or debugged). A value at an end has noise: six deviations of it are allowed
    for.
    """
    slack = 6 * x._known.error + 1e-9 * (high - low)
    r = x.range
    if r.claim != "assumed" and (r.low < low - slack or r.high > high + slack):
        report(operation, x.context, f"values that may lie from {r.low:.4g} to {r.high:.4g} ({x._known.within()})",
               f"values within the domain {low:.4g} to {high:.4g}",
               "widen the domain, state a smaller range with declare(), or encrypt with sample data (like=)")
    if x.context._debugger is not None and not x.context._native.recording:
        values = x.context._debugger.values(x)
    elif not x.context.encrypted and x._known.sample is not None:
        values = x._known.sample[1]
    else:
        return
    beyond = ~((values.real >= low - slack) & (values.real <= high + slack)).reshape(-1)
    if beyond.any():
        raise errors.ValueError.explain(
            operation, f"a value outside of the domain at index {int(np.argmax(beyond))}",
            f"values within {low:.6g} to {high:.6g}", "widen the domain, or scale the values")


def declared_domain(operation: str, x: Ciphertext) -> tuple[float, float]:
    """The declared range; ValueError if none is."""
    r = x.range
    if r.claim != "declared" or not r.low < r.high:
        had = "a declared range of a single value"
        if r.claim != "declared":
            had = f"no domain, and a range that is {r.claim}"
        planned = "; for a plan, lt.Shape(shape, None, (low, high))" if r.claim == "calibrated" else ""
        raise errors.ValueError.explain(
            operation, had, "the domain in which the values lie",
            f"pass domain=(low, high), or state the range with encrypt(x, range=...) or declare(){planned}")
    return r.low, r.high


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
        fit = fitted(operation, f, domain, allowed, max_degree, imag)
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
    if level < p.levels:
        require_levels(operation, x, p)
    level = steady_level(ctx.params, level, p.levels, depth_of(p)) or level
    return own_error(fit.series, fit.domain, *product_errors(ctx.params, level, p, x.slots))


def own_error(series: Series, domain: tuple[float, float], added: float, mapping: float) -> float:
    """Mean error that evaluation adds to values spread over a domain."""
    def found() -> float:
        spread = _native.Range.of(np.linspace(*domain, 257).astype(complex))
        return float(_native.Estimate(spread, 0.0).polynomial(*series, added, mapping).rms * _MEAN)

    return _errors.get((domain, tuple(series.values), *series[1:], added, mapping), found)


def _error_within(r: _native.Range, series: Series, added: float, mapping: float) -> float:
    """Error, root mean square, that evaluation adds to values of this range."""
    key = (r.claim, r.low, r.high, r.imag_low, r.imag_high, r.bound, r.rms, r.random,
           tuple(series.values), *series[1:], added, mapping)
    return _errors.get(key, lambda: float(_native.Estimate(r, 0.0).polynomial(*series, added, mapping).rms))


def of_fit(operation: str, x: Ciphertext, fit: Fit) -> Ciphertext:
    """The fit's polynomial of every value."""
    low, high = fit.domain
    if not x.range.is_real and not fit.imag:
        require_real(operation, x)
    require_within(operation, x, low, high)
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
        out[inside] = fit.exact(exact[inside])
    return out


def require_real(operation: str, x: Ciphertext) -> None:
    raise errors.UnsupportedError.explain(
        operation, f"complex values ({x._known.within()})", "real ones for a function on a real domain",
        "take the real parts, ((x + x.conj()) * 0.5).declare(low, high), or encrypt real numbers; polyval() takes "
        "complex values")
