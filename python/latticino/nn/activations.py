"""Polynomials for activations: their choice, their levels, and their distance from the function.

A smooth function becomes one polynomial of the smallest degree that is close enough. It is fitted by least squares,
weighted by how often a value occurs in the calibration data. A function with a kink becomes one polynomial too, or x
times a sign that is composed of polynomials: the one with fewer levels, and among equals the one with fewer products.

"Close enough" is stated in bits. Over the calibration data, the root mean square of the error is at most ``2**-bits``
of the largest value that the function has within the bounds. At no point within the bounds is the error more than eight
times as large. For exp, the reciprocal and the inverse root, whose small values matter, it is ``2**-bits`` of each
value.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from .. import _native, arrays, errors
from ..functions import composite
from . import formulas
from .graph import Graph, Node
from .labels import ranks
from .labels.decisions import ERROR
from .lowered import Series
from .ranges import Ranges

BITS = 12.0
MAX_DEGREE = 255
_LARGEST = 8.0  # the largest error allowed, in units of the root mean square allowed
_POINTS = 1024
_SAMPLE = 2048  # values of the calibration data that a fit looks at
_EVERYWHERE = 0.1  # part of the weights that is spread over the whole domain
_NOISE = 2.0**-20  # by how much values between the stages of a sign may be wrong
_RELATIVE = ("exp", "rsqrt", "reciprocal")
_SQUARES = 5  # the most squarings after a polynomial of exp
_POSITIVE = ("sqrt", "log", "rsqrt", "reciprocal")  # functions that have no meaning for values below 0, or a pole there


@dataclass(frozen=True)
class Term:
    """``chain(x - shift)``, the polynomials one after the other; times ``x - shift`` where it is `gated`."""

    chain: tuple[Series, ...]
    shift: float = 0.0
    gated: bool = False

    def __call__(self, x: np.ndarray) -> np.ndarray:
        centred = y = np.asarray(x) - self.shift
        for series in self.chain:
            y = series(y)
        return y * centred if self.gated else y


@dataclass(frozen=True)
class Fit:
    """An activation as polynomials: ``offset`` plus the sum of terms, for x in `domain`.

    ``scale``: the largest value of the function there. ``rms``: root mean square of the error over the calibration
    data,
    ``largest``: the largest error on a grid of the domain, both relative to the scale, or to each value (see above).
    ``gap``: of a step; nearer to 0 its value lies between 0 and 1, and is not counted in either.
    """

    name: str
    domain: tuple[float, float]
    terms: tuple[Term, ...]
    offset: float = 0.0
    scale: float = 1.0
    rms: float = 0.0
    largest: float = 0.0
    gap: float = 0.0

    def __call__(self, x: np.ndarray) -> np.ndarray:
        total = np.full(np.shape(x), self.offset)
        for term in self.terms:
            total = total + term(np.asarray(x, np.float64))
        return total

    @cached_property
    def cost(self) -> tuple[int, int]:
        """The levels, and the products of ciphertexts."""
        parts = [[_cost(s.degree) for s in t.chain] for t in self.terms]
        levels = max(sum(p[0] for p in part) + t.gated for part, t in zip(parts, self.terms))
        return levels, sum(sum(p[1] for p in part) + t.gated for part, t in zip(parts, self.terms))

    @property
    def bits(self) -> float:
        return -math.log2(self.rms) if self.rms else math.inf

    def __repr__(self) -> str:
        degrees = " + ".join(" o ".join(str(s.degree) for s in reversed(t.chain)) + (" times x" if t.gated else "")
                             for t in self.terms)
        low, high = self.domain
        return (f"Fit({self.name} on {low:.3g} to {high:.3g}: degree {degrees}, {self.cost[0]} levels, "
                f"{self.cost[1]} products, {self.bits:.1f} bits)")


@lru_cache(maxsize=MAX_DEGREE + 2)
def _cost(degree: int) -> tuple[int, int]:
    if degree < 2:
        return degree, 0
    p = _native.Polynomial([complex(1.0)] * (degree + 1), True)
    return int(p.levels), int(p.products)


def fit_activations(graph: Graph, ranges: Ranges, bits: float = BITS, choices: Mapping[str, Any] | None = None,
                    before: tuple[Ranges, Mapping[int, Fit]] | None = None) -> dict[int, Fit]:
    """A fit for every activation of a graph, by its node.

    ``choices``: for layers by name, what to take instead of the cheapest: "composite" or "polynomial"; a degree; a
    sequence of monomial coefficients, lowest first, such as ``[0, 0.5, 0.25]``. ValueError for a name without an
    activation. ``before``: fits with other ranges, which are kept where the ranges are the same.
    """
    wanted = arrays.as_real(bits, "compile", "fit_bits", above=0)
    if wanted > 30:
        raise errors.ValueError.explain("compile", f"fit_bits={wanted:g}", "at most 30", "ask for fewer")
    if choices is not None and not isinstance(choices, Mapping):
        raise errors.ValueError.explain("compile", f"fits={arrays.shown(choices)}", "a dictionary by names of layers",
                                        'write fits={"layer": choice}')
    left = dict(choices or {})
    nodes = [(i, n) for i, n in enumerate(graph.nodes) if n.op == "activation"]
    out: dict[int, Fit] = {}
    made: dict[tuple[object, ...], Fit] = {}  # by layer, options and range, because steps of a loop share fits
    for i, node in nodes:
        choice = (choices or {}).get(node.layer)
        left.pop(node.layer, None)
        source = node.inputs[0]
        if before is not None and before[0].nodes[source] is ranges.nodes[source]:
            out[i] = before[1][i]
        else:
            key = (node.layer, repr(sorted(node.options.items())), id(ranges.nodes[source]))
            if key not in made:
                made[key] = fit(node, ranges, source, wanted, choice)
            out[i] = made[key]
    if left:
        names = ", ".join(dict.fromkeys(n.layer for _, n in nodes)) or "none"
        raise errors.ValueError.explain("compile", f"a choice for the activation {next(iter(left))!r}",
                                        f"one of the model's: {names}", "correct the name")
    return out


def fit(node: Node, ranges: Ranges, source: int, bits: float, choice: Any = None) -> Fit:
    """The fit of one activation, whose values come from the node `source`."""
    function = str(node.options["function"])
    if function == "step":
        return _step(node, ranges, source, float(node.options.get("bits") or bits), choice)
    if function == "first":
        return _first(int(node.options["count"]))
    f = formulas.formula(node.layer, function, {k: v for k, v in node.options.items() if k != "function"})
    bound = ranges.bound(source)
    domain = (-bound, bound)
    if function in _POSITIVE:
        domain = ranges.positive_ends(source)
        if domain[0] <= 0:
            raise errors.ValueError.explain(
                f"layer {node.layer or function}", f"{function} of values from {domain[0] * ranges.margin:.4g}",
                "values above 0",
                "add a constant before it, or remove constant inputs from the calibration data")
    task = Task(node.layer or function, function, f, domain, ranges.nodes[source].sample, 2.0**-bits)
    if isinstance(choice, (Sequence, np.ndarray)) and not isinstance(choice, str):
        return task.given(choice)
    if isinstance(choice, (int, np.integer)) and not isinstance(choice, bool):
        degree = arrays.as_integer(choice, f"layer {node.layer}", "degree", 1, MAX_DEGREE)
        return task.measured(Fit(function, domain, (Term((task.series(degree),)),)))
    if choice not in (None, "auto", "composite", "polynomial"):
        raise errors.ValueError.explain(f"layer {node.layer}", f"the activation {arrays.shown(choice)}",
                                        '"composite", "polynomial", a degree, or coefficients', "pass one of them")
    found = [] if choice == "composite" else [task.polynomial()]
    if function == "exp" and choice != "polynomial":
        found += [task.squared(k) for k in range(1, _SQUARES + 1)]
    if choice != "polynomial" and function in _KINKS:
        found.append(task.composite(node.options))
    fits = [x for x in found if x is not None]
    if not fits:
        raise task.refusal(choice)
    return min(fits, key=lambda x: x.cost)


def _step(node: Node, ranges: Ranges, source: int, bits: float, choice: Any) -> Fit:
    """The step as (1 + sign) / 2, by a composed sign that is close outside of the gap."""
    layer = node.layer or "step"
    gap = float(node.options.get("gap") or 2.0**-8)
    if isinstance(choice, (float, np.floating)):
        gap = float(choice)
    elif choice not in (None, "auto", "composite"):
        raise errors.ValueError.explain(f"layer {layer}", f"comparisons by {arrays.shown(choice)}",
                                        '"composite", or a gap as a share of the range', "pass one of them")
    bound = ranges.bound(source)
    if not 2.0**-20 * bound <= gap <= bound / 2:
        raise errors.ValueError.explain(f"layer {layer}", f"a gap of {gap:.3g}",
                                        "one from 2^-20 to a half of the range", "correct it")
    sign = composite.composed(f"layer {layer}", bound, gap, max(1.0, bits - 1), _NOISE)
    series = [Series(tuple(float(c.real) for c in s.values), (s.lower, s.upper)) for s in sign.series()]
    last = [0.5 * c for c in series[-1].coefficients]
    last[0] += 0.5
    chain = (*series[:-1], Series(tuple(last), series[-1].domain))
    found = Fit("step", (-bound, bound), (Term(chain),), largest=sign.error / 2, gap=gap)
    far = ranges.nodes[source].sample
    far = far[np.abs(far) >= gap]
    error = found(far) - formulas.step(far)
    return replace(found, rms=float(np.sqrt(np.mean(error**2))) if far.size else sign.error / 2)


def _first(count: int) -> Fit:
    """The function of ranks that gives 1 for the first one, see labels/ranks.py."""
    series = ranks.first(count).series
    every = np.arange(count)
    found = Fit("first", series.domain, (Term((series,)),), largest=ERROR)
    return replace(found, rms=float(np.sqrt(np.mean((found(every) - formulas.first(every)) ** 2))))


class Task:
    """A function on a domain, the weights of its values, and the error that is allowed."""

    def __init__(self, layer: str, function: str, f: Callable[[np.ndarray], np.ndarray], domain: tuple[float, float],
                 sample: np.ndarray, relative: float) -> None:
        self.layer, self.function, self.f, self.domain = layer, function, f, domain
        self.half = (domain[1] - domain[0]) / 2 or 1.0
        if not domain[0] < domain[1]:
            self.domain = domain = (domain[0] - self.half, domain[1] + self.half)
        self.sample = sample[:: max(1, len(sample) // _SAMPLE)]
        near = np.geomspace(1e-6, 1, 256) * self.half  # kinks are at 0
        self.grid = np.clip(np.concatenate([np.linspace(*domain, 2 * _POINTS + 1), near, -near]), *domain)
        with np.errstate(all="ignore"):
            self.values, self.exact = np.asarray(f(self.grid)), np.asarray(f(self.sample))
        if not np.isfinite(self.values).all():
            bad = self.grid[~np.isfinite(self.values)][0]
            raise errors.ValueError.explain(
                f"layer {layer}",
                f"{function} on {domain[0]:.4g} to {domain[1]:.4g}, where it is not finite at {bad:.4g}",
                "a range on which it is finite", "keep the values away from there, or compile with a smaller margin")
        self.scale = float(np.abs(self.values).max()) or 1.0
        self.relative, self.allowed = function in _RELATIVE, relative

    def measured(self, fit: Fit) -> Fit:
        of_sample, of_grid = (fit(x) - y for x, y in ((self.sample, self.exact), (self.grid, self.values)))
        units = (np.abs(self.exact), np.abs(self.values)) if self.relative else (self.scale, self.scale)
        return replace(fit, scale=self.scale, rms=float(np.sqrt(np.mean((of_sample / units[0]) ** 2))),
                       largest=float(np.abs(of_grid / units[1]).max()))

    def meets(self, fit: Fit) -> bool:
        return fit.rms <= self.allowed and fit.largest <= _LARGEST * self.allowed

    # ---- one polynomial ----

    @cached_property
    def _solved(self) -> tuple[np.ndarray, np.ndarray]:
        """R and Q^T f of the weighted basis. Their first columns give the least-squares fit of each smaller degree."""
        low, high = self.domain
        t = np.cos(np.pi * (np.arange(_POINTS) + 0.5) / _POINTS)
        x = (low + high) / 2 + (high - low) / 2 * t
        edges = np.concatenate([[low], (x[:-1] + x[1:])[::-1] / 2, [high]])
        met = np.histogram(self.sample, edges)[0][::-1] / max(len(self.sample), 1)
        met = np.convolve(met, np.ones(9) / 9, "same")  # a sample has gaps where further data may lie
        weights = np.sqrt((1 - _EVERYWHERE) * met + _EVERYWHERE / _POINTS)
        values = np.asarray(self.f(x))
        if self.relative:
            weights = weights * self.scale / np.abs(values)
        q, r = np.linalg.qr(np.polynomial.chebyshev.chebvander(t, MAX_DEGREE) * weights[:, None])
        return r, q.T @ (values * weights)

    def series(self, degree: int) -> Series:
        """The least-squares polynomial. Both the values of the calibration data and the whole domain count as
        weights."""
        r, right = self._solved
        n = degree + 1
        c = np.linalg.solve(r[:n, :n], right[:n])
        c[np.abs(c) < 1e-14 * np.abs(c).max()] = 0
        return Series(tuple(float(v) for v in c), self.domain)

    def polynomial(self) -> Fit | None:
        """The polynomial of the smallest degree that is close enough; None if there is none."""
        def of(degree: int) -> Fit:
            return self.measured(Fit(self.function, self.domain, (Term((self.series(degree),)),)))

        low, high = 1, MAX_DEGREE
        if not self.meets(of(high)):
            return None
        while low < high:
            middle = (low + high) // 2
            low, high = (low, middle) if self.meets(of(middle)) else (middle + 1, high)
        # a larger degree at the same cost is closer to the function
        while high < MAX_DEGREE and _cost(high + 1) == _cost(high):
            high += 1
        return of(high)

    def squared(self, times: int) -> Fit | None:
        """exp as ``exp(x / 2**times)``, squared `times` times. It is never negative, and as close relative to small
        values as to large ones."""
        power = 2.0**times
        inner = Task(self.layer, "exp", lambda x: np.exp(x / power), self.domain, self.sample, self.allowed / power)
        found = inner.polynomial()
        if found is None:
            return None
        chain, most = list(found.terms[0].chain), math.exp(self.domain[1] / power) * (1 + found.largest)
        for _ in range(times):
            chain.append(Series((most**2 / 2, 0.0, most**2 / 2), (-most, most)))
            most = most**2
        out = self.measured(Fit(self.function, self.domain, (Term(tuple(chain)),)))
        return out if self.meets(out) else None

    def given(self, coefficients: Any) -> Fit:
        """The polynomial that a user gave by monomial coefficients."""
        c = arrays.as_numpy(coefficients, f"layer {self.layer}")
        if c.ndim != 1 or not 2 <= c.size <= MAX_DEGREE + 1 or not np.isfinite(c).all() or c.dtype.kind == "c":
            raise errors.ValueError.explain(f"layer {self.layer}", f"a polynomial of {c.shape} coefficients",
                                            f"2 to {MAX_DEGREE + 1} finite real numbers", "correct it")
        return self.measured(Fit(self.function, self.domain, (Term((monomials(c.astype(float), self.domain),)),)))

    # ---- signs ----

    def composite(self, options: Mapping[str, Any]) -> Fit | None:
        """The activation by products of x with composed signs; None if no composition is close enough."""
        pieces = _KINKS[self.function](options)
        found: list[Fit] = []
        # Close to a kink both the values and their distance from the right result are small, so the gap may be wide.
        for wanted in (self.allowed * self.scale * share for share in (_LARGEST, 4, 2, 1)):
            for width in (16, 12, 8, 6, 4, 3, 2, 1):
                terms = [self._gated(piece, wanted, width) for piece in pieces.gates]
                if any(t is None for t in terms):
                    continue
                fit = self.measured(Fit(self.function, self.domain, tuple(t for t in terms if t is not None),
                                        pieces.offset))
                if self.meets(fit):
                    found.append(fit)
            if found:
                break
        return min(found, key=lambda x: x.cost) if found else None

    def _gated(self, piece: Gate, wanted: float, width: float) -> Term | None:
        bound = self.half + abs(piece.shift)
        gap = min(width * wanted / max(abs(piece.below - piece.above), 1e-9), bound / 2)
        bits = max(1.0, -math.log2(wanted / bound / max(abs(piece.above - piece.below) / 2, 1e-9)))
        try:
            sign = composite.composed(f"layer {self.layer}", bound, max(gap, 2.0**-23 * bound), bits, _NOISE)
        except errors.PrecisionError:
            return None
        series = [Series(tuple(float(c.real) for c in s.values), (s.lower, s.upper)) for s in sign.series()]
        factor, offset = (piece.above - piece.below) / 2, (piece.above + piece.below) / 2
        last = [factor * c for c in series[-1].coefficients]
        last[0] += offset
        return Term((*series[:-1], Series(tuple(last), series[-1].domain)), piece.shift, True)

    def refusal(self, choice: Any) -> errors.Error:
        best = self.measured(Fit(self.function, self.domain, (Term((self.series(MAX_DEGREE),)),)))
        what = f"{best.bits:.1f} bits at degree {MAX_DEGREE}"
        if choice == "composite":
            what = f"no composite for {self.function}"
        return errors.PrecisionError.explain(
            f"layer {self.layer}", f"{what} on {self.domain[0]:.4g} to {self.domain[1]:.4g}",
            f"{-math.log2(self.allowed):.1f} bits", "ask for fewer bits, narrow the values that come in, or choose "
            "another activation")


def monomials(coefficients: np.ndarray, domain: tuple[float, float]) -> Series:
    """A polynomial by its monomial coefficients, as a series on a domain."""
    centre, half = (domain[0] + domain[1]) / 2, (domain[1] - domain[0]) / 2
    inner = np.polynomial.Polynomial([centre, half])
    p = np.polynomial.Polynomial(coefficients)(inner)
    return Series(tuple(float(c) for c in np.polynomial.chebyshev.poly2cheb(np.atleast_1d(p.coef))), domain)


@dataclass(frozen=True)
class Gate:
    """``x - shift``, times `above` if it is positive and times `below` if it is negative."""

    shift: float
    above: float
    below: float


@dataclass(frozen=True)
class Pieces:
    """A function of straight pieces: ``offset`` plus a sum of gates."""

    gates: tuple[Gate, ...]
    offset: float = 0.0


_KINKS: dict[str, Callable[[Mapping[str, Any]], Pieces]] = {
    "relu": lambda o: Pieces((Gate(0.0, 1.0, 0.0),)),
    "leaky_relu": lambda o: Pieces((Gate(0.0, 1.0, float(o.get("slope", 0.01))),)),
    "abs": lambda o: Pieces((Gate(0.0, 1.0, -1.0),)),
    "clip": lambda o: Pieces((Gate(float(o.get("low", -1.0)), 1.0, 0.0), Gate(float(o.get("high", 1.0)), -1.0, 0.0)),
                             float(o.get("low", -1.0))),
}
