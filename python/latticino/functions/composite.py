"""Signs as compositions of odd polynomials: their degrees, and how close they are to the sign."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.polynomial import chebyshev

from .. import _native, arrays, errors
from .chebyshev import Series, resolvable
from .remez import minimax

_DEGREES = (3, 5, 7, 11, 13, 15, 23, 27, 29, 31)  # of a stage: the largest for each number of levels and products
_MAX_LEVELS, _MAX_PRODUCTS = 32, 96
_MAX_BITS = 40.0
_TABLE = 40  # number of intervals for which distances are computed once; between them they are interpolated
_TABLE_POINTS = 600
_WIDEST, _NARROWEST = 20.0, 0.02  # the ends of the table, as -log(a)
_STAGE_BITS = 36  # smaller distances are lost in the rounding of doubles
_GRID = 20001


class Sign:
    """Polynomials that are applied one after another. The result is near the sign of x for gap <= |x| <= bound.

    ``degrees``; ``levels`` and ``products`` in all; ``error``: the largest distance from the sign on a dense grid of
    that domain, ``bits = -log2(error)``. Made by `lt.fit_sign`; calling it evaluates it on numbers in the clear.
    """

    __slots__ = ("bound", "gap", "interval", "stages", "error", "domains", "_slopes", "_series", "_within_gap")

    def __init__(self, bound: float, gap: float, interval: float, stages: Sequence[np.ndarray],
                 domains: Sequence[tuple[float, float]]) -> None:
        self.bound, self.gap, self.interval = bound, gap, interval
        self.stages, self.domains = tuple(stages), tuple(domains)
        x = np.concatenate([np.geomspace(gap, bound, _GRID), np.linspace(gap, bound, _GRID)])
        self.error = float(np.abs(self(x) - 1).max())
        self._slopes = [_slope(c, a, b) for c, (a, b) in zip(self.stages, self.domains)]
        ends = [self.interval] + [1.0] * (len(self.stages) - 1)
        self._series = [Series([complex(x) for x in c], True, -end, end) for c, end in zip(self.stages, ends)]
        self._within_gap: list[float] | None = None

    @property
    def degrees(self) -> tuple[int, ...]:
        return tuple(len(c) - 1 for c in self.stages)

    @property
    def levels(self) -> int:
        return sum(int(p.levels) for p in self.polynomials())

    @property
    def products(self) -> int:
        return sum(int(p.products) for p in self.polynomials())

    @property
    def bits(self) -> float:
        return -math.log2(self.error)

    def series(self) -> list[Series]:
        return list(self._series)

    def polynomials(self) -> list[_native.Polynomial]:
        return [series.native for series in self.series()]

    def slopes(self) -> list[float]:
        """The largest slope of each stage at its values."""
        scaled = [self._slopes[0] / self.interval]
        return scaled + self._slopes[1:]

    def slopes_within_gap(self) -> list[float]:
        """The slopes of the stages, also at values nearer to 0 than the gap."""
        if self._within_gap is not None:
            return list(self._within_gap)
        steepest = [max(s, float(np.abs(chebyshev.chebval(np.linspace(0, a, 257), chebyshev.chebder(c))).max()))
                    for s, c, (a, _) in zip(self._slopes, self.stages, self.domains)]
        self._within_gap = [steepest[0] / self.interval, *steepest[1:]]
        return list(self._within_gap)

    def _error_of_product(self, errors: Sequence[float]) -> float:
        """The largest error of x times the sign of x. ``errors``: of x where the sign gets it, and of the result of
        each polynomial.

        Near 0 the polynomials are steep, but the sign is multiplied by a small x there. Where x is large, most of them
        are flat. But an error may bring a value out of the interval of the next polynomial, where that is steeper. So
        the slopes count up to three deviations away.
        """
        x = np.concatenate([np.geomspace(self.gap / 256, self.bound, 4001), np.linspace(0, self.bound, 1001)])
        y, off = x / self.interval, np.full(x.shape, errors[0] / self.interval)
        for c, error in zip(self.stages, errors[1:]):
            slope = np.abs([chebyshev.chebval(y + k * off, chebyshev.chebder(c)) for k in (-3, 0, 3)]).max(axis=0)
            y, off = chebyshev.chebval(y, c), np.hypot(slope * off, error)
        return float((x * off).max())

    def __call__(self, x: Any) -> np.ndarray:
        """Evaluates the composition on plain numbers."""
        y = arrays.as_doubles(x, "sign") / self.interval
        for c in self.stages:
            y = chebyshev.chebval(y, c)
        return np.asarray(y)

    def __repr__(self) -> str:
        degrees = ", ".join(map(str, self.degrees))
        return (f"Sign(from {self.gap:g} to {self.bound:g}: degrees {degrees}, {self.levels} levels, "
                f"{self.products} products, {self.bits:.1f} bits)")


def _slope(c: np.ndarray, a: float, b: float) -> float:
    return float(np.abs(chebyshev.chebval(np.geomspace(a, b, 4001), chebyshev.chebder(c))).max())


def fit_sign(bound: float = 1.0, gap: float | None = None, bits: float = 20) -> Sign:
    """The polynomials that `Ciphertext.sign` applies at a scale of 2^40: those with the fewest levels, then products.

    Within ``2**-bits`` of the sign for ``gap <= |x| <= bound``; ``gap=None`` is ``bound / 256``. ValueError for a
    gap that is not between 0 and the bound, PrecisionError for what no composition reaches.
    """
    return checked("fit_sign", bound, gap, bits, 2.0**-20)


def checked(operation: str, bound: Any, gap: Any, bits: Any, margin: float, deepest: int = _MAX_LEVELS) -> Sign:
    bound = arrays.as_real(bound, operation, "bound", above=0)
    gap = bound / 256 if gap is None else arrays.as_real(gap, operation, "gap", above=0)
    bits = arrays.as_real(bits, operation, "bits", above=0)
    resolvable(operation, -bound, bound)
    if not 2.0**-24 * bound <= gap <= (1 - 2.0**-24) * bound:
        raise errors.ValueError.explain(
            operation, f"gap={gap:g} with bound={bound:g}",
            "a gap from 2^-24 of the bound to less than the bound, by 2^-24 of it", "correct one")
    if not 1 <= bits <= _MAX_BITS:
        raise errors.ValueError.explain(operation, f"bits={bits:g}", f"a number from 1 to {_MAX_BITS:g}", "correct it")
    return composed(operation, bound, gap, bits, margin, deepest)


def fewer_bits(operation: str) -> str:
    """Advice on what a caller can ask for instead, as text. Some operations choose the gap themselves."""
    return "fewer bits" if operation in ("abs", "relu", "maximum", "minimum") else "fewer bits or a wider gap"


@lru_cache(maxsize=256)
def composed(operation: str, bound: float, gap: float, bits: float, margin: float,
             deepest: int = _MAX_LEVELS) -> Sign:
    """The cheapest composition. ``margin``: the distance by which noise may move the values between stages. So far
    outside of its interval, a polynomial must still be close to its target. ``deepest``: the most levels of any one
    polynomial."""
    ends = {bound, _free(bound)}
    found = [s for s in (_on(bound, gap, bits, margin, end, deepest) for end in ends) if s is not None]
    if not found:
        raise errors.PrecisionError.explain(
            operation, f"no composition of polynomials for a gap of 2^{math.log2(gap / bound):.1f} of the bound",
            f"{bits:g} bits, with noise of 2^{math.log2(margin):.0f} between them",
            f"ask for {fewer_bits(operation)}, or take parameters with a larger scale")
    return min(found, key=lambda s: (s.levels, s.products))


def _free(bound: float) -> float:
    """The smallest larger end that an integer factor maps to 1, which takes no level."""
    k = math.floor(1 / bound * (1 + 1e-12))
    return bound if k < 1 else 1 / k


def _on(bound: float, gap: float, bits: float, margin: float, interval: float, deepest: int) -> Sign | None:
    wanted = 2.0**-bits
    for slack in (1.0, 0.97, 0.9, 0.75, 0.5):  # interpolated distances may be slightly wrong
        degrees = _degrees(gap / interval, 2 * math.atanh(wanted * slack), margin, deepest)
        if degrees is None:
            return None
        out = _built(bound, gap, interval, degrees, margin)
        if out is not None and out.error <= wanted:
            return out
    return None


def _built(bound: float, gap: float, interval: float, degrees: Sequence[int], margin: float) -> Sign | None:
    a, b = gap / interval, 1.0
    stages, domains = [], []
    for i, degree in enumerate(degrees):
        c, e = minimax(degree, a)
        if not c:
            return None
        domains.append((a, b))
        last = i == len(degrees) - 1
        # The coefficients of this stage map the values of the next one to [-1, 1].
        top = 1.0 if last else 1 + e + margin
        stages.append(np.array(c) / top)
        a = (1 - e - margin) / top
    return Sign(bound, gap, interval, stages, domains)


class _Composition(NamedTuple):
    narrowness: float
    degrees: tuple[int, ...]


@lru_cache(maxsize=64)
def _compositions(a: float, margin: float, deepest: int) -> dict[tuple[int, int], _Composition]:
    """For every number of levels and of products, the composition that ends with the narrowest interval around 1."""
    best: dict[tuple[int, int], _Composition] = {(0, 0): _Composition(-math.log(a), ())}
    degrees = [(degree, *_cost(degree)) for degree in _DEGREES if _cost(degree)[0] <= deepest]
    for levels in range(_MAX_LEVELS):
        for products in range(_MAX_PRODUCTS):
            composition = best.get((levels, products))
            if composition is None:
                continue
            for degree, more_levels, more_products in degrees:
                to = (levels + more_levels, products + more_products)
                if to[0] > _MAX_LEVELS or to[1] > _MAX_PRODUCTS:
                    continue
                s = _narrowed(degree, composition.narrowness)
                # The next stage gets noisy values, so its interval has a margin. The last stage has none.
                if s is not None and (to not in best or s < best[to].narrowness):
                    best[to] = _Composition(s + 2 * margin, (*composition.degrees, degree))
    return best


def _degrees(a: float, narrowness: float, margin: float, deepest: int) -> tuple[int, ...] | None:
    fits = [(cost, composition.degrees) for cost, composition in _compositions(a, margin, deepest).items()
            if composition.degrees and composition.narrowness - 2 * margin <= narrowness]
    return min(fits)[1] if fits else None


@lru_cache(maxsize=len(_DEGREES))
def _cost(degree: int) -> tuple[int, int]:
    c = np.zeros(degree + 1, complex)
    c[1::2] = 1.0 / (1 + np.arange((degree + 1) // 2))
    p = _native.Polynomial(list(c), True)
    return int(p.levels), int(p.products)


def _narrowed(degree: int, s: float) -> float | None:
    """The polynomial of this degree maps [a, 1] to [a', 1]. Returns -log(a') for s = -log(a).

    It is interpolated by cubics in a table of logarithms. Intervals narrower than the table's follow a power of s."""
    at, out = _table(degree)
    t = math.log(s)
    if t > at[-1]:
        return None
    if t < at[0]:
        return math.exp(out[0] + (degree + 1) / 2 * (t - at[0]))
    first = min(max(bisect_left(at, t) - 2, 0), len(at) - 4)
    total = 0.0
    for i in range(first, first + 4):
        weight = 1.0
        for j in range(first, first + 4):
            if j != i:
                weight *= (t - at[j]) / (at[i] - at[j])
        total += weight * out[i]
    return math.exp(total)


@lru_cache(maxsize=len(_DEGREES))
def _table(degree: int) -> tuple[list[float], list[float]]:
    at, out = [], []
    for s in np.geomspace(_NARROWEST, _WIDEST, _TABLE):
        _, e = minimax(degree, math.exp(-float(s)), _TABLE_POINTS, np.float64)
        if 2.0**-_STAGE_BITS < e < 1:
            at.append(math.log(float(s)))
            out.append(math.log(2 * math.atanh(e)))
    return at, out
