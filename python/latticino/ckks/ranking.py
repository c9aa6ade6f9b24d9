"""The largest values and their indices, by their ranks: two comparisons in sequence, however many values there are.

All pairs are compared at once. The rank of a value is how many others come before it; a second comparison turns it
into a one or a zero. A pair of equal values counts for its first one, so that ranks are those of a stable sort.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _native, arrays, errors
from ..functions import composite, evaluate, sign
from . import switching

if TYPE_CHECKING:
    from .ciphertext import Ciphertext

_TIES = 6.0  # distance, in deviations of noise, by which the second value of a pair must be larger
_RANK_DEVIATIONS = 4.5  # half of a rank must be so many deviations of noise


def top(x: Ciphertext, k: int, bound: Any, method: str, gap: Any, bits: Any, largest: bool,
        operation: str, options: dict[str, Any]) -> tuple[Ciphertext, Ciphertext]:
    """The k largest or smallest values in this order, and their indices: arrays of shape (k,)."""
    method = arrays.as_text(method, operation, "method")
    bound = arrays.as_real(bound, operation, "bound", above=0)
    k = arrays.as_integer(k, operation, "k", 1, x.size)
    if x.size > switching.MAX_PAIRED:
        raise errors.ShapeError.explain(
            operation, f"{x.size} values", f"at most {switching.MAX_PAIRED}, because all pairs are compared",
            'take parts of the array, lt.sort(), or method="rounds" for a single one')
    by_tables = _checked(operation, x, method, bound, gap, bits, options)
    x = x.reshape(-1)
    if x.size == 1:
        return x, x * 0
    chosen = _by_tables(x, k, bound, largest, operation, options) if by_tables else (
        _by_polynomials(x, k, bound, largest, operation, *_gap_and_bits(operation, bound, gap, bits)))
    every = np.arange(x.size, dtype=float)
    if k == 1:
        return (chosen * x).sum().reshape(1), (chosen * every).sum().reshape(1)
    chosen = chosen.reshape(k, x.size)
    return (chosen * x).sum(-1), (chosen * every).sum(-1)


def _checked(operation: str, x: Ciphertext, method: str, bound: float, gap: Any, bits: Any,
             options: dict[str, Any]) -> bool:
    """Checks, before anything is computed, whether tables can do it and whether all arguments fit together."""
    if method == "ranks":
        if gap is not None or bits is not None:
            raise errors.UnsupportedError.explain(
                operation, 'gap or bits with method="ranks"', "neither: this method uses tables", "leave them out")
        switching.as_bound(bound, operation)
        switching.require_options(operation, x, options)
        switching.require_real(operation, x)
        return True
    if method != "polynomial":
        needs = '"ranks" or "polynomial"' if operation in ("top_k", "min", "argmin") else (
            '"rounds", "ranks" or "polynomial"')
        raise errors.UnsupportedError.explain(operation, f"method={arrays.shown(method)}", needs, "name one of them")
    if options:
        raise errors.UnsupportedError.explain(
            operation, f"the option {next(iter(options))} with polynomials", "gap and bits", "leave it out")
    _gap_and_bits(operation, bound, gap, bits)
    evaluate.require_real_operands(operation, (x,))
    return False


def _gap_and_bits(operation: str, bound: float, gap: Any, bits: Any) -> tuple[float, float]:
    """Arguments of the method by polynomials: the given ones, or the defaults."""
    bits = 12.0 if bits is None else arrays.as_real(bits, operation, "bits", above=0)
    gap = bound / 64 if gap is None else arrays.as_real(gap, operation, "gap", above=0)
    if gap >= 2 * bound:
        raise errors.ValueError.explain(
            operation, f"gap={gap:g} with bound={bound:g}", "a gap below twice the bound", "correct one")
    return gap, bits


def _pairs(count: int) -> tuple[np.ndarray, np.ndarray]:
    return np.triu_indices(count, 1)


def _differences(x: Ciphertext, largest: bool, factor: float = 1.0) -> Ciphertext:
    """The first minus the second value of all pairs, times `factor`. For the smallest, the second minus the first."""
    first, second = _pairs(x.size)
    w = np.zeros((x.size, len(first)))
    at = np.arange(len(first))
    w[first, at], w[second, at] = (1, -1) if largest else (-1, 1)
    return x @ (w * factor)


def _ranks(before: Ciphertext, count: int, k: int, step: float, factor: float = 1.0) -> Ciphertext:
    """For each of k ranks in turn and each value: the value's rank minus that rank, and `step`, times a factor.
    ``before`` holds 1 for each pair whose first value comes before the second one, else 0."""
    first, second = _pairs(count)
    at = np.arange(len(first))
    w = np.zeros((len(first), count))
    w[at, first], w[at, second] = -1, 1
    # values after this one, which come before it in the order if they are less
    later = np.bincount(first, minlength=count)
    offset = later[None, :] - np.arange(k)[:, None] + step
    return before @ (np.tile(w, k) * factor) + offset.reshape(-1) * factor


def _by_tables(x: Ciphertext, k: int, bound: float, largest: bool, operation: str,
               options: dict[str, Any]) -> Ciphertext:
    """For each of k ranks in turn: 1 at the value that has this rank, 0 at the others."""
    before = switching.positive(operation, _differences(x, largest), bound, _TIES, **options)
    ranks = _ranks(before, x.size, k, 0.0)
    ranks = ranks.declare(-k + 1, x.size - 1)
    top = float(x.size)
    deviation = switching.argument_deviation(ranks, top, **options)
    if _RANK_DEVIATIONS * deviation > 0.5:
        raise errors.PrecisionError.explain(
            operation, f"ranks with noise of {deviation:.2g} in a table", f"at most {0.5 / _RANK_DEVIATIONS:.2g}",
            f"at most {math.floor(0.5 / _RANK_DEVIATIONS / deviation * x.size)} values, a set of switching with more "
            'precise tables, or method="polynomial"')
    return switching.stepped(operation, ranks, lambda v: float(abs(v) < 0.5), top, **options)


def _by_polynomials(x: Ciphertext, k: int, bound: float, largest: bool, operation: str, gap: float,
                    bits: float) -> Ciphertext:
    count = x.size
    # Half of the gap is added to each difference. So for values that are equal or a gap apart, the arguments of the
    # sign are at least half of the gap away from 0. The maps that compute differences and ranks also scale them to [-1,
    # 1], so that no sign needs a level for the scaling.
    reach, most = 2 * bound + gap / 2, count + 0.25
    margin, deepest = sign.margin(x), _deepest(x)
    coarse = composite.checked(operation, 1.0, gap / 2 / reach, math.log2(count) + 2, margin, deepest)
    d = _differences(x, largest, 1 / reach) + gap / 2 / reach
    before, _ = sign.outlined(operation, d, coarse, sign.STEP, 2.0, True)
    ranks = _ranks(before, count, k, -0.5, -1 / most).declare(-(count - 1.25) / most, (k + 0.25) / most)
    # The index is a weighted sum of `count` results of the step, with weights up to `count`. The value is one with
    # weights up to the bound.
    wanted = bits + math.log2(count) + max(math.log2(count), math.log2(bound))
    fine = composite.checked(operation, 1.0, 0.25 / most, wanted, margin, deepest)
    below, own = sign.outlined(operation, ranks, fine, sign.STEP, wanted, True)
    # Ranks differ from the right integer by at most 1/4. The step is flat there, so errors of ranks do not matter.
    known = below._known.within_domain(0.0, 1.0)
    estimate = _native.Estimate(known.range, math.hypot(own, fine.error / 2))
    below = below._like(below._parts, known.with_estimate(estimate))
    if k == 1:
        return below
    # The number of ranks below k, minus the number of ranks below k - 1.
    w = np.eye(k * count)
    at = np.arange(count, k * count)
    w[at - count, at] = -1
    return below @ w


def _deepest(x: Ciphertext) -> int:
    """The most levels that one polynomial may take. A context that bootstraps has fewer after a bootstrapping."""
    params = x.context.params
    if not (x.context.auto_bootstrap and params.has_bootstrap):
        return int(params.top_level)
    first = params.default_level - params.level_after_bootstrap  # the levels that SlotToCoeff needs
    return int(params.default_level - first)


def of_method(x: Ciphertext, method: str, bound: Any, gap: Any, bits: Any, operation: str,
              rounds: Callable[[], Ciphertext] | None, options: dict[str, Any]) -> Ciphertext:
    """The largest or smallest value, or its index, of shape (). `rounds` computes it by rounds of comparisons."""
    method = arrays.as_text(method, operation, "method")
    if method == "rounds" and rounds is not None:
        if gap is not None or bits is not None:
            raise errors.UnsupportedError.explain(
                operation, 'gap or bits with method="rounds"', "neither: this method uses tables", "leave them out")
        return rounds()
    values, indices = top(x, 1, bound, method, gap, bits, operation in ("max", "argmax"), operation, options)
    return (indices if operation.startswith("arg") else values).reshape(())
