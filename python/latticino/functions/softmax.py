"""Softmax: exponentials, divided by their sum."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _native, arrays, errors
from ..ops import sums
from . import evaluate, inverse
from .chebyshev import Fit, as_bits, as_domain

if TYPE_CHECKING:
    from ..ckks.ciphertext import Ciphertext

_MAX_HALVINGS = 6
_WIDEST = 5.5  # domain of exponents up to which their inverses, of size up to exp of it, may be bootstrapped
_STEP = 2.0**-40  # ends of domains are multiples of this, so that a length can be exactly 2
_SLACK = 63 / 64  # part of the lower end of a sum's domain that is left for errors


def softmax(x: Ciphertext, axis: int, domain: Any, bits: Any) -> Ciphertext:
    """See `lt.softmax`."""
    axis, count, (low, high), bits = _checked("softmax", x, axis, domain, bits)
    if count == 1:
        return x * 0 + 1.0
    fit, halvings = _exponential(x, (low, high), bits, count)
    before = x.context.bootstraps
    y = evaluate.of_fit("softmax", x, fit)
    # The factor by which a step of squares and their sum can multiply an error. It is worst if one of n values is near
    # 1 / sqrt n.
    growth = math.log2(max(2.0, count / 2) + math.sqrt(count))
    least = math.exp((low - high) / 2**halvings) * count
    for left in range(halvings, -1, -1):
        if left < halvings:  # the results for halved exponents, squared
            y = y * y
            y = _within(y, 0.0, 1.0)
            least = 1 / count
        most = float(count) if left == halvings else 1.0
        y = _divided(y, axis, (least, most), bits + 2 + left * growth)
    if x.context.bootstraps > before:  # its errors were not taken into account when the polynomials were chosen
        return y
    # The steps were chosen so that all errors together meet the bits. The slope of a softmax is at most 1/2.
    known, error = y._known, math.hypot(2.0**-bits, x._known.estimate.rms)
    estimate = _native.Estimate(known.range, min(known.estimate.rms, error))
    return y._like(y._parts, known.with_estimate(estimate))


def logsumexp(x: Ciphertext, axis: int, domain: Any, bits: Any) -> Ciphertext:
    """See `lt.logsumexp`."""
    axis, count, (low, high), bits = _checked("logsumexp", x, axis, domain, bits)
    if count == 1:
        return sums.total(x, axis)
    width = high - low
    fit = evaluate.chosen("logsumexp", x, _shifted(high, 1.0), (low, high),
                          as_bits("logsumexp", min(45.0, bits + 2 + width * math.log2(math.e))))
    s = sums.total(evaluate.of_fit("logsumexp", x, fit), axis)
    ends = (_SLACK * count * math.exp(-width), count / _SLACK)
    s = _within(s, *ends)
    logarithm = evaluate.chosen("logsumexp", s, lambda v: np.log(v) + high, ends, as_bits("logsumexp", bits + 1))
    return evaluate.of_fit("logsumexp", s, logarithm)


def _checked(operation: str, x: Ciphertext, axis: Any, domain: Any,
             bits: Any) -> tuple[int, int, tuple[float, float], float]:
    """The checked arguments: the axis, the number of values along it, the domain, and the bits."""
    at, = sums.as_axes(arrays.as_integer(axis, operation, "axis"), x.ndim, operation)
    ends = evaluate.declared_domain(operation, x) if domain is None else as_domain(operation, domain)
    if not x.range.is_real:
        evaluate.require_real(operation, x)
    return at, x.shape[at], ends, as_bits(operation, bits)


def _shifted(high: float, factor: float) -> Any:
    return lambda v: np.exp((v - high) * factor)


def _exponential(x: Ciphertext, domain: tuple[float, float], bits: float, count: int) -> tuple[Fit, int]:
    """The fit of ``exp((x - high) / 2^k)``, and the smallest k for which it can be precise enough. If all values lie at
    the low end, the sum is very small, and dividing by it multiplies the errors."""
    low, high = domain
    growth = math.log2(max(2.0, count / 2) + math.sqrt(count))
    widest = _WIDEST if x.context.auto_bootstrap and x.context.params.has_bootstrap else math.inf
    for k in range(_MAX_HALVINGS + 1):
        if (high - low) / 2**k > widest:
            continue
        wanted = bits + 2 + k * growth + (high - low) / 2**k * math.log2(math.e)
        try:
            return evaluate.chosen("softmax", x, _shifted(high, 0.5**k), domain, as_bits("softmax", wanted)), k
        except (errors.PrecisionError, errors.ValueError):
            continue
    raise errors.PrecisionError.explain(
        "softmax", f"a domain from {low:g} to {high:g} at scale 2^{math.log2(x.scale):.0f}", f"{bits:g} bits",
        "ask for fewer bits, narrow the domain, or take parameters with a larger scale")


def _divided(y: Ciphertext, axis: int, ends: tuple[float, float], bits: float) -> Ciphertext:
    """y divided by its sums along an axis, which lie between these ends."""
    low, high = _SLACK * ends[0], ends[1] / _SLACK
    # Multiplied by a factor they lie in a domain of length 2, whose map to [-1, 1] takes no level.
    least = max(1, round(2 * low / (high - low) / _STEP)) * _STEP
    factor = 2 / (high - low)
    count = y.shape[axis]
    spreads = axis == y.ndim - 1 and y.layout.is_plain and count & (count - 1) == 0 and count <= y.slots
    s = y.spread_sum(factor) if spreads else sums.total(y, axis, True, factor)
    s = _within(s, least, least + 2)
    over = inverse.scaled_inverse("softmax", s, factor, (least, least + 2), bits, None)
    return _within(y * over, 0.0, 1.0)


def _within(x: Ciphertext, low: float, high: float) -> Ciphertext:
    """x, which is known to lie between these ends. The rules for sums and products would give a wider range."""
    r = x.range
    ends = (low, high) if r.high < low or r.low > high else (max(low, r.low), min(high, r.high))
    return x._like(x._parts, x._known.through(np.copy, 1.0, 0.0, *ends))
