"""Polynomials that approximate a function on a domain: Chebyshev series of the smallest degree."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.polynomial import chebyshev, polynomial

from .. import _native, arrays, errors
from ..common import roles

MAX_DEGREE = 4095
DEGREE = 511  # largest degree that is tried by default
_POINTS = 8  # points per degree at which a function is measured
_MIN_POINTS = 4096
# relative to the largest value: the rounding error that a double leaves in a coefficient that should be zero
_ROUNDING = 1e-13
_SHOWN = 40  # letters of a name that are shown
_LARGEST_END = 2.0**1000  # largest end of a domain; the inverse of its length must be a double as well
_SHORTEST = 2.0**-40  # shortest domain, relative to its larger end: doubles have 53 bits
_STEPS = 6  # number of degrees by which interpolation may need less than the series


class Series(NamedTuple):
    """Coefficients in the Chebyshev or the monomial basis, and the interval that is mapped to [-1, 1]."""

    values: list[complex]
    chebyshev: bool
    lower: float
    upper: float

    @property
    def native(self) -> _native.Polynomial:
        return _native.Polynomial(*self)

    def mapped(self, x: Any) -> Any:
        """The numbers after the map of the interval to [-1, 1]."""
        return (2 * x - self.lower - self.upper) / (self.upper - self.lower)

    def __call__(self, x: Any) -> np.ndarray:
        """Evaluates the polynomial on plain numbers."""
        evaluate = chebyshev.chebval if self.chebyshev else polynomial.polyval
        return np.asarray(evaluate(self.mapped(x), self.values))


class Fit:
    """A polynomial that approximates a function on ``domain``: a Chebyshev series on ``interval``.

    ``degree``; ``levels`` that evaluating it takes; ``products`` of ciphertexts in it; ``error``: the largest
    distance from the function that was found on a dense grid of the domain, and ``bits``, which is ``-log2(error)``;
    ``coefficients`` of T_0, T_1, ... of ``(2 x - lower - upper) / (upper - lower)`` with the interval's ends, which
    lie at or outside of the domain's. Made by `lt.fit`, taken by `Ciphertext.approximate`. Calling it evaluates it
    on numbers in the clear.
    """

    __slots__ = ("function", "name", "domain", "interval", "coefficients", "error", "imag", "series", "_native")

    def __init__(self, function: Callable[..., Any], name: str, domain: tuple[float, float],
                 interval: tuple[float, float], coefficients: np.ndarray, error: float, imag: float = 0.0) -> None:
        self.function, self.name, self.domain, self.interval = function, name, domain, interval
        self.coefficients, self.error, self.imag = coefficients, error, imag
        self.series = Series([complex(c) for c in coefficients], True, *interval)
        self._native = self.series.native

    @property
    def degree(self) -> int:
        return int(self._native.degree)

    @property
    def levels(self) -> int:
        return int(self._native.levels) if self.degree else 0

    @property
    def products(self) -> int:
        return int(self._native.products)

    @property
    def bits(self) -> float:
        return -math.log2(self.error) if self.error > 0 else math.inf

    def __call__(self, x: Any) -> np.ndarray:
        """Evaluates the polynomial on plain numbers."""
        low, high = self.interval
        values = arrays.as_doubles(x, "fit")
        return np.asarray(chebyshev.chebval((2 * values - low - high) / (high - low), self.coefficients))

    def exact(self, x: np.ndarray) -> np.ndarray:
        """Evaluates the function itself."""
        return sampled(self.function, arrays.as_doubles(x, "fit"), "fit")

    def __repr__(self) -> str:
        low, high = self.domain
        return (f"Fit({self.name} on {low:g} to {high:g}: degree {self.degree}, {self.levels} levels, "
                f"{self.products} products, {self.bits:.1f} bits)")

    def plot(self, axes: Any = None) -> Any:
        """Draws the function, the polynomial and their distance; needs matplotlib. Returns the figure.

        ``axes``: two of matplotlib's to draw on, one above the other. UnsupportedError without matplotlib.
        """
        try:
            from matplotlib.figure import Figure
        except ImportError as why:
            raise errors.UnsupportedError.explain(
                "plot", "no matplotlib", "it for the plot", errors.install("demo")) from why
        several = isinstance(axes, (list, tuple)) or (isinstance(axes, np.ndarray) and axes.ndim == 1)
        if axes is not None and not (several and len(axes) == 2 and all(hasattr(a, "plot") for a in axes)):
            raise errors.ValueError.explain(
                "plot", f"axes={arrays.shown(axes)}", "two axes of matplotlib", "leave it out, or pass two")
        x = np.linspace(*self.domain, 1001)
        exact, close = self.exact(x).real, self(x).real
        figure = Figure(figsize=(7, 5), layout="constrained") if axes is None else axes[0].figure
        above, below = figure.subplots(2, 1, sharex=True) if axes is None else axes
        above.plot(x, exact, label=self.name)
        above.plot(x, close, "--", label=f"degree {self.degree}")
        above.legend()
        above.set_title(f"{self.levels} levels, {self.products} products, {self.bits:.1f} bits")
        below.semilogy(x, np.maximum(np.abs(exact - close), 1e-18))
        below.set_xlabel("x")
        below.set_ylabel("error")
        return figure


def fit(f: Callable[..., Any], domain: tuple[float, float], bits: float = 20, *, max_degree: int = DEGREE) -> Fit:
    """The Chebyshev polynomial of smallest degree that is within ``2**-bits`` of ``f`` on ``domain``.

    ``f``: a numpy function, or any function of an array or of a number, with real or complex values. The error is
    measured at 8 points per degree up to ``max_degree``, at least 4096. If a somewhat wider interval saves the level
    that scaling to [-1, 1] takes, and ``f`` is finite there, the series is fitted on that interval.

    PrecisionError if ``max_degree`` (at most 4095) does not suffice: it says what is reached, and where the error is
    largest. ValueError for a domain that is not an interval, and if ``f`` is not finite on it.
    """
    return fitted("fit", f, as_domain("fit", domain), 2.0 ** -as_bits("fit", bits), max_degree)


def as_bits(operation: str, bits: Any) -> float:
    value = arrays.as_real(bits, operation, "bits")
    if not 1 <= value <= 45:
        raise errors.ValueError.explain(
            operation, f"bits={arrays.shown(bits)}", "a number from 1 to 45 (doubles have 53)", "correct it")
    return value


def as_domain(operation: str, domain: Any) -> tuple[float, float]:
    """Two finite ends in order; ValueError for anything else."""
    try:
        low, high = domain
    except Exception:  # raised by iterating over any object
        low = high = None
    ends = [arrays.as_real(end, operation, "domain") for end in (low, high)] if low is not None else [0.0, 0.0]
    if not ends[0] < ends[1]:
        raise errors.ValueError.explain(
            operation, f"domain={arrays.shown(domain)}", "two finite ends, the smaller one first",
            "pass domain=(low, high)")
    return resolvable(operation, ends[0], ends[1])


def resolvable(operation: str, low: float, high: float) -> tuple[float, float]:
    """The ends of a domain that doubles can divide; ValueError for others."""
    largest = max(abs(low), abs(high))
    if not (largest <= _LARGEST_END and high - low >= max(1 / _LARGEST_END, largest * _SHORTEST)):
        raise errors.ValueError.explain(
            operation, f"a domain from {low:.6g} to {high:.6g}, of length {high - low:.3g}",
            f"ends up to 2^{math.log2(_LARGEST_END):.0f}, at least 2^-{math.log2(_LARGEST_END):.0f} apart, and at "
            f"least 2^{math.log2(_SHORTEST):.0f} of the larger one",
            "widen the domain, or scale the values and the function")
    return low, high


def fitted(operation: str, f: Callable[..., Any], domain: tuple[float, float], allowed: float, max_degree: int = DEGREE,
           imag: float = 0.0, planned: str = "") -> Fit:
    """See `fit`. ``imag``: imaginary parts up to which values are measured as well. ``planned``: how else a plan can
    say that values are real."""
    roles.require_function(operation, f)
    most = arrays.as_integer(max_degree, operation, "max_degree", 1, MAX_DEGREE)
    name = _name(f)
    given = _Samples(operation, f, domain, domain, most, imag)
    best = given.smallest(allowed)
    wider = _free_interval(domain)
    if wider is not None and wider != domain:
        try:
            other = _Samples(operation, f, domain, wider, most, imag).smallest(allowed)
        except errors.Error:  # it is not finite there
            other = None
        if other is not None:
            choices = [Fit(f, name, domain, interval, c, error, imag)
                       for interval, (c, error) in ((wider, other), *([(domain, best)] if best else []))]
            return min(choices, key=lambda c: (c.levels, c.products))
    if best is None:
        raise given.refusal(name, allowed, planned)
    return Fit(f, name, domain, domain, best[0], best[1], imag)


def _free_interval(domain: tuple[float, float]) -> tuple[float, float] | None:
    """The smallest interval around a domain that is brought to [-1, 1] by an integer factor, which takes no level."""
    low, high = domain
    k = math.floor(2 / (high - low) * (1 + 1e-12))
    if k < 1:
        return None
    centre = (low + high) / 2
    lower, upper = centre - 1 / k, centre + 1 / k
    # If rounding has moved the ends, the factor is no longer an integer.
    return (lower, upper) if 2 / (upper - lower) == k else None


class _Samples:
    """A function on a dense grid, and its series on an interval around the domain."""

    def __init__(self, operation: str, f: Callable[..., Any], domain: tuple[float, float],
                 interval: tuple[float, float], most: int, imag: float) -> None:
        self.operation, self.domain, self.interval, self.most, self.imag = operation, domain, interval, most, imag
        n = max(_MIN_POINTS, _POINTS * (most + 1))
        lower, upper = interval
        y = np.cos(np.pi * np.arange(n + 1) / n)
        values = sampled(f, (lower + upper) / 2 + (upper - lower) / 2 * y, operation)
        self.largest = float(np.abs(values).max())
        self.coefficients = _cleaned(_series(values), self.largest, interval)
        inside = np.linspace(*domain, n // 2 + 1)  # at points that no coefficient was made from
        self.x = np.concatenate([inside, domain[0] + (domain[1] - domain[0]) * (1 - y[:: 2]) / 2])
        if imag:
            across = np.linspace(-imag, imag, 17)
            self.x = (np.linspace(*domain, n // 8 + 1)[:, None] + 1j * across).reshape(-1)
        self.values = sampled(f, self.x, operation)

    def error(self, degree: int) -> float:
        return float(self._distances(self.coefficients[: degree + 1]).max())

    def _distances(self, coefficients: np.ndarray) -> np.ndarray:
        lower, upper = self.interval
        y = (2 * self.x - lower - upper) / (upper - lower)
        with np.errstate(all="ignore"):
            distance = np.abs(chebyshev.chebval(y, coefficients) - self.values)
        return np.where(np.isfinite(distance), distance, np.inf)

    def smallest(self, allowed: float) -> tuple[np.ndarray, float] | None:
        """The coefficients of the smallest degree that is within an error, and the error that it has. None if no degree
        is."""
        low, high = 0, self.most
        if self.error(high) > allowed:
            return None
        while low < high:
            middle = (low + high) // 2
            low, high = (low, middle) if self.error(middle) <= allowed else (middle + 1, high)
        best = self.coefficients[: high + 1], self.error(high)
        # for functions with kinks, interpolation needs a slightly smaller degree
        for degree in range(high - 1, max(high - _STEPS, 0), -1):
            c = self._interpolated(degree)
            error = float(self._distances(c).max())
            if error <= allowed:
                best = c, error
        return best

    def _interpolated(self, degree: int) -> np.ndarray:
        """The polynomial through the points where T_(degree + 1) is zero. At these points higher terms of the series
        have the values of lower ones."""
        n = degree + 1
        c = np.zeros(n, self.coefficients.dtype)
        k = np.arange(len(self.coefficients))
        turns, rest = np.divmod(k, 2 * n)
        folded = np.where(rest < n, rest, 2 * n - rest)
        signs = np.where(turns % 2, -1.0, 1.0) * np.where(rest > n, -1.0, 1.0)
        kept = rest != n  # this polynomial is zero at all these points
        np.add.at(c, folded[kept], (signs * self.coefficients)[kept])
        return _cleaned(c, self.largest, self.interval)

    def refusal(self, name: str, allowed: float, planned: str) -> errors.Error:
        distances = self._distances(self.coefficients[: self.most + 1])
        at, reached = self.x[int(distances.argmax())], float(distances.max())
        where = f"{at.real:.4g}" if not self.imag else f"{complex(at):.4g}"
        had = f"{-math.log2(reached):.1f} bits" if 0 < reached < 1 else "no bits"
        if self.imag:
            remedy = ("no polynomial is close to it on complex values; take real ones, "
                      f"((x + x.conj()) * 0.5).declare(low, high){planned}")
        else:
            remedy = ("a kink, a jump or a pole in or near the domain needs high degrees: narrow the domain, ask for "
                      "fewer bits or raise max_degree; sign(), abs() and relu() reach more, and apply_lut() takes any "
                      "function")
        return errors.PrecisionError.explain(
            self.operation, f"{had} for {name} at degree {self.most}, with the largest error at {where}",
            f"{-math.log2(allowed):.1f} bits", remedy)


def sampled(f: Callable[..., Any], x: np.ndarray, operation: str) -> np.ndarray:
    """The values of f at points. f is called with the array, or with each number if that does not work. ValueError if a
    value is not finite.
    """
    with np.errstate(all="ignore"):
        try:
            values = np.asarray(f(x))
            fits = values.shape == x.shape and values.dtype.kind in "fciub"
        except Exception:  # raised by functions of a single number
            fits = False
        if not fits:
            values = _one_by_one(f, x, operation)
    values = values.astype(complex if values.dtype.kind == "c" else float)
    if not np.isfinite(values).all():
        at = x.reshape(-1)[int(np.argmin(np.isfinite(values)))]
        raise errors.ValueError.explain(
            operation, f"a function that is not finite at {at:.6g}", "finite values on the whole domain",
            "choose a domain without that point")
    return np.asarray(values)


def _one_by_one(f: Callable[..., Any], x: np.ndarray, operation: str) -> np.ndarray:
    out = []
    for v in x.reshape(-1).tolist():
        try:
            y = f(v)
            out.append(complex(y) if isinstance(y, (complex, np.complexfloating)) else float(y))
        except Exception as why:  # raised by the function
            if isinstance(why, errors.Error):
                raise
            raise errors.ValueError.explain(
                operation, f"a function that fails at {v:.6g} ({type(why).__name__}: {why})", "a number",
                "choose a domain where it is defined, or correct it") from why
    return np.array(out).reshape(x.shape)


def _series(values: np.ndarray) -> np.ndarray:
    """Coefficients of the interpolation at cos(pi k / n)."""
    n = len(values) - 1
    c = np.fft.fft(np.concatenate([values, values[-2:0:-1]]))[: n + 1] / n
    c[[0, -1]] /= 2
    return c if values.dtype.kind == "c" else c.real


def _cleaned(c: np.ndarray, largest: float, interval: tuple[float, float]) -> np.ndarray:
    """The series of an even or an odd function without the coefficients that only rounding left, because they cost
    products."""
    out = np.array(c)
    small = _ROUNDING * max(largest, np.abs(c).max())
    if interval[0] == -interval[1]:
        for first in (0, 1):
            if np.abs(c[first::2]).max() <= small:
                out[first::2] = 0
    if out.dtype.kind == "c":
        out.real[np.abs(out.real) <= small * 1e-3] = 0
        out.imag[np.abs(out.imag) <= small * 1e-3] = 0
    out[np.abs(out) <= small * 1e-3] = 0
    return out


def _name(f: Any) -> str:
    name = getattr(f, "__name__", type(f).__name__)
    return "a function" if name == "<lambda>" else str(name)[:_SHOWN]
