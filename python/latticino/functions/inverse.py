"""Inverses, quotients and roots of encrypted arrays: one polynomial, or a less precise one and iterations that square
its error."""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.polynomial import chebyshev

from .. import arrays, errors
from ..claims import noise
from ..ops import align, levels
from ..ops.scalar import Scalar
from . import evaluate
from .chebyshev import DEGREE, Series, as_bits, as_domain

if TYPE_CHECKING:
    from ..ckks.ciphertext import Ciphertext, Operand

Function = Callable[[np.ndarray], np.ndarray]
Restated = Callable[["Ciphertext", float, float], "Ciphertext"]  # with values known to lie between two ends

_METHODS = (None, "polynomial", "iterations")
_MAX_ITERATIONS = 12
_STARTS = (3, 7, 15, 31, 63, 127, 255, 511)
_GRID = 4001


def inverse(x: Ciphertext, domain: Any, bits: Any, method: str | None) -> Ciphertext:
    """See Ciphertext.inverse."""
    return scaled_inverse("inverse", x, 1.0, domain, bits, method)


def scaled_inverse(operation: str, x: Ciphertext, numerator: complex, domain: Any, bits: Any,
                   method: str | None) -> Ciphertext:
    """``numerator / x``."""
    domain = _domain(operation, x, domain)
    if domain[0] <= 0 <= domain[1]:
        raise errors.ValueError.explain(
            operation, f"a domain from {domain[0]:g} to {domain[1]:g}, which has 0 in it", "one on a single side of 0",
            "name where the divisor lies: domain=(low, high), or declare(low, high)")
    size = abs(numerator)
    if size == 0:
        return x * 0
    start = None if _wants(operation, method, "iterations") else _polynomial(
        operation, x, lambda v: numerator / v, domain, bits, method)
    if start is not None:
        return start
    plan = _plan_inverse(domain, as_bits(operation, bits), size)
    y = _iterate(operation, x, domain, plan, bits, lambda v: 1 / v, size, _inverse_steps, _clear_inverse)
    return y if numerator == 1 else y * _plain_number(numerator)


def divide_by_range(x: Operand, y: Ciphertext) -> Ciphertext:
    """``x / y`` on the declared range of y."""
    evaluate.declared_domain("divide", y, "call x.divide(y, domain=(low, high))" if hasattr(x, "_known")
                             else "call y.inverse(domain=(low, high)) * x")
    return divide(x, y, None, 20, None)


def divide(x: Operand, y: Ciphertext, domain: Any, bits: Any, method: str | None) -> Ciphertext:
    """x / y for an encrypted y: see Ciphertext.divide."""
    if isinstance(x, numbers.Number):
        return scaled_inverse("divide", y, arrays.as_complex(x, "divide", "the dividend"), domain, bits, method)
    if not isinstance(x, Scalar):  # checked before an inverse is computed in vain
        align.shape_of(y, x if hasattr(x, "_known") else arrays.as_numpy(x, "divide"), "divide")
    return scaled_inverse("divide", y, 1.0, domain, bits, method) * x


def inverse_sqrt(x: Ciphertext, domain: Any, bits: Any, method: str | None) -> Ciphertext:
    """See Ciphertext.inverse_sqrt."""
    return _root("inverse_sqrt", x, domain, bits, method, lambda v: 1 / np.sqrt(v))


def sqrt(x: Ciphertext, domain: Any, bits: Any, method: str | None) -> Ciphertext:
    """See Ciphertext.sqrt."""
    return _root("sqrt", x, domain, bits, method, np.sqrt)


def _root(operation: str, x: Ciphertext, domain: Any, bits: Any, method: str | None,
          f: Function) -> Ciphertext:
    domain = _domain(operation, x, domain)
    of_zero = operation == "sqrt" and method != "iterations"  # the root of 0 has a value, but no derivative
    if domain[0] < 0 or (domain[0] == 0 and not of_zero):
        raise errors.ValueError.explain(
            operation, f"a domain from {domain[0]:g} to {domain[1]:g}",
            "values that are not negative" if of_zero else "positive values",
            "name where the values lie: domain=(low, high), or declare(low, high)")
    start = None if _wants(operation, method, "iterations") else _polynomial(
        operation, x, f, domain, bits, "polynomial" if domain[0] == 0 else method)
    if start is not None:
        return start
    plan = _plan_root(domain, as_bits(operation, bits), operation == "sqrt")
    if operation == "sqrt":
        return _iterate(operation, x, domain, plan, bits, f, 1.0, _root_steps, _clear_root)
    return _iterate(operation, x, domain, plan, bits, f, 1.0, _inverse_root_steps, _clear_inverse_root)


def _domain(operation: str, x: Ciphertext, domain: Any) -> tuple[float, float]:
    return evaluate.declared_domain(operation, x) if domain is None else as_domain(operation, domain)


def _wants(operation: str, method: str | None, which: str) -> bool:
    if not (method is None or isinstance(method, str)) or method not in _METHODS:
        raise errors.UnsupportedError.explain(
            operation, f"method={arrays.shown(method)}", '"polynomial", "iterations" or None', "name one of them")
    return method == which


def _polynomial(operation: str, x: Ciphertext, f: Function, domain: tuple[float, float], bits: Any,
                method: str | None) -> Ciphertext | None:
    """The result by one polynomial, which takes the fewest levels. None if its degree would be too large and the
    iterations may be used instead.
    """
    try:
        fit = evaluate.chosen(operation, x, f, domain, as_bits(operation, bits), DEGREE)
    except errors.PrecisionError:
        if method == "polynomial":
            raise
        return None
    return evaluate.of_fit(operation, x, fit)


class Iterations(NamedTuple):
    """A coarse polynomial, the number of iterations that follow it, the final error, and the levels of all together."""

    start: Series
    steps: int
    error: float
    levels: int


# ---- 1 / x: y -> y (1 + r), r -> r^2 from r = 1 - x y ----


@lru_cache(maxsize=64)
def _plan_inverse(domain: tuple[float, float], bits: float, size: float) -> Iterations:
    x = _grid(domain)
    found = []
    for degree in _STARTS[:5]:
        start = _relative_inverse(domain, degree)
        for count in range(1, _MAX_ITERATIONS + 1):
            levels = int(start.native.levels) + 1 + count
            plan = Iterations(start, count, 0.0, levels)
            error = float(np.abs(size * (1 / x - _clear_inverse(plan, x))).max())
            if error <= 2.0**-bits:
                found.append((levels, int(start.native.products) + 2 * count, plan._replace(error=error)))
                break
    return _best("inverse", domain, bits, found)


def _relative_inverse(domain: tuple[float, float], degree: int) -> Series:
    """The polynomial p whose distance ``1 - x p(x)`` is the smallest on the domain: a multiple of T_(degree + 1)."""
    low, high = domain
    k = degree + 1
    zero = -(low + high) / (high - low)

    def p(v: np.ndarray) -> np.ndarray:
        y = (2 * v - low - high) / (high - low)
        return np.asarray((1 - np.cos(k * np.arccos(np.clip(y, -1, 1))) / _chebyshev_outside(k, zero)) / v)

    return _interpolated(p, domain, degree)


def _chebyshev_outside(k: int, y: float) -> float:
    return math.copysign(1.0, y) ** k * math.cosh(k * math.acosh(abs(y)))


def _clear_inverse(plan: Iterations, x: np.ndarray) -> np.ndarray:
    y = _value(plan.start, x)
    r = 1 - x * y
    for _ in range(plan.steps):
        y, r = y + y * r, r * r
    return y


def _inverse_steps(x: Ciphertext, y: Ciphertext, count: int, restated: Restated,
                   largest: float) -> Ciphertext:
    r = restated(1 - x * y, -1, 1)
    for i in range(count):
        y = restated(y + y * r, -largest, largest)
        r = restated(r * r, 0, 1) if i < count - 1 else r
    return y


# ---- 1 / sqrt(x): with w = y / 2, w -> w (1 + 2 s), s -> s^2 (3 + 4 s) from s = 1/4 - x w^2; no constant takes a
# level ----


@lru_cache(maxsize=64)
def _plan_root(domain: tuple[float, float], bits: float, root: bool) -> Iterations:
    x = _grid(domain)
    exact = np.sqrt(x) if root else 1 / np.sqrt(x)
    found = []
    for degree in _STARTS:
        start = _interpolated(lambda v: 0.5 / np.sqrt(v), domain, degree)
        if np.abs(0.25 - x * _value(start, x) ** 2).max() >= 0.25:
            continue
        for count in range(1, _MAX_ITERATIONS + 1):
            levels = int(start.native.levels) + 2 * count + 1
            plan = Iterations(start, count, 0.0, levels)
            error = float(np.abs((_clear_root if root else _clear_inverse_root)(plan, x) - exact).max())
            if error <= 2.0**-bits:
                found.append((levels, int(start.native.products) + 3 * count, plan._replace(error=error)))
                break
    return _best("sqrt" if root else "inverse_sqrt", domain, bits, found)


def _clear_root(plan: Iterations, x: np.ndarray) -> np.ndarray:
    w = _value(plan.start, x)
    return _clear_iterations(x * w, 0.25 - x * w * w, plan.steps)


def _clear_inverse_root(plan: Iterations, x: np.ndarray) -> np.ndarray:
    w = _value(plan.start, x)
    return _clear_iterations(w, 0.25 - x * w * w, plan.steps)


def _clear_iterations(g: np.ndarray, s: np.ndarray, count: int) -> np.ndarray:
    for _ in range(count):
        g, s = g * (1 + 2 * s), s * s * (3 + 4 * s)
    return 2 * g


def _root_steps(x: Ciphertext, w: Ciphertext, count: int, restated: Restated,
                largest: float) -> Ciphertext:
    g = restated(x * w, 0, largest)
    return _root_iterations(g, restated(0.25 - g * w, -0.25, 0.25), count, restated, largest)


def _inverse_root_steps(x: Ciphertext, w: Ciphertext, count: int, restated: Restated,
                        largest: float) -> Ciphertext:
    return _root_iterations(w, restated(0.25 - (x * w) * w, -0.25, 0.25), count, restated, largest)


def _root_iterations(g: Ciphertext, s: Ciphertext, count: int, restated: Restated,
                     largest: float) -> Ciphertext:
    for i in range(count):
        g = restated(g + 2 * (g * s), 0, largest)
        s = restated((s * s) * (3 + 4 * s), -0.25, 0.25) if i < count - 1 else s
    return 2 * g


# ---- both ----


def _grid(domain: tuple[float, float]) -> np.ndarray:
    low, high = domain
    proportional = math.copysign(1, low) * np.geomspace(abs(low), abs(high), _GRID)
    both = np.concatenate([np.linspace(low, high, _GRID), proportional])
    return np.clip(both, low, high)


def _interpolated(f: Function, domain: tuple[float, float], degree: int) -> Series:
    low, high = domain
    nodes = np.cos(np.pi * (np.arange(degree + 1) + 0.5) / (degree + 1))
    values = f((low + high) / 2 + (high - low) / 2 * nodes)
    c = chebyshev.chebfit(nodes, values, degree)
    return Series([complex(v) for v in c], True, low, high)


def _value(start: Series, x: np.ndarray) -> np.ndarray:
    low, high = start.lower, start.upper
    return np.asarray(chebyshev.chebval((2 * x - low - high) / (high - low), np.real(start.values)))


def _best(operation: str, domain: tuple[float, float], bits: float,
          found: list[tuple[int, int, Iterations]]) -> Iterations:
    if not found:
        raise errors.PrecisionError.explain(
            operation, f"no iterations of at most {_MAX_ITERATIONS} steps on {domain[0]:g} to {domain[1]:g}",
            f"{bits:g} bits", "raise the lower end of the domain, or ask for fewer bits")
    return min(found, key=lambda f: f[:2])[2]


def _iterate(operation: str, x: Ciphertext, domain: tuple[float, float], plan: Iterations, bits: float,
             f: Function, size: float, steps: Callable[..., Ciphertext],
             clear: Callable[[Iterations, np.ndarray], np.ndarray]) -> Ciphertext:
    low, high = domain
    if not x.range.is_real:
        evaluate.require_real(operation, x)
    x = evaluate.require_within(operation, x, low, high)
    refreshes = x.context.auto_bootstrap and x.context.params.has_bootstrap
    if x.level < plan.levels and not refreshes:
        raise errors.LevelError.explain(
            operation, f"level {x.level}",
            f"{plan.levels} levels for degree {plan.start.native.degree} and {plan.steps} iterations",
            f"{levels.more_levels(x.context)}; fewer bits or a narrower domain need fewer levels")
    x, rest = evaluate.filled(x, low, high)
    v = _grid(domain)
    largest = 1.01 * float(np.abs(f(v)).max()) + plan.error
    params = x.context.params
    product = noise.multiplied(params, min(x.level, params.default_level), x.slots, params.scale(0))
    # Later steps multiply the error of each product, by at most the largest result.
    own = product * (plan.steps + 2) * max(1.0, largest)
    if own * size > 2.0**-bits:
        raise errors.PrecisionError.explain(
            operation,
            f"an evaluation error of 2^{math.log2(own * size):.1f} at scale 2^{math.log2(params.scale(0)):.0f}",
            f"less than 2^-{bits:g}",
            "ask for fewer bits, raise the domain's lower end, or take parameters with a larger scale")

    def restated(y: Ciphertext, least: float, most: float) -> Ciphertext:
        return y._like(y._parts, y._known.within_domain(least, most))

    y, _ = evaluate.evaluated(operation, x, plan.start, domain)
    y = restated(y, -2 * largest, 2 * largest)  # a start is within its own size of what it is near
    y = steps(x, y, plan.steps, restated, largest)
    slope = float(np.abs(np.diff(f(v[:_GRID])) / np.diff(v[:_GRID])).max())
    slope = max(slope, float(np.abs(np.diff(f(v[_GRID:])) / np.diff(v[_GRID:])).max()))

    def values(z: np.ndarray) -> np.ndarray:
        return clear(plan, np.clip(z.real, low, high) + 1j * z.imag)

    ends = (float(f(v).min()) - plan.error, float(f(v).max()) + plan.error)
    sample = x._known.sample
    known = x._known.through(values, slope, own, *ends).meant(
        None if sample is None else f(np.clip(sample[0].real, low, high)), plan.error / size)
    y = y._like(y._parts, known)
    if not y._padded or rest is None:
        return y
    return align.with_rest(y, -float(f(np.array([rest]))[0]), 0.0)


def _plain_number(c: complex) -> complex | float:
    return c.real if c.imag == 0 else c
