"""Sorting: a network of exchanges, each computed from the sign of a difference."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .. import _native, arrays, errors
from ..claims.known import as_complex, places_of
from ..common.layout import Layout
from ..common.progress_bar import Task
from ..ops import align, refreshing
from ..ops.levels import more_levels
from . import composite, evaluate, sign, sorting_network
from .chebyshev import as_domain
from .composite import Sign
from .sign import STEP

if TYPE_CHECKING:
    from ..ckks.ciphertext import Ciphertext

MAX_VALUES = 1 << 22  # largest number of values
_FEW = 1 << 15  # the pairs of all stages are kept for up to so many values: 4 MiB
# _BOUND: the largest difference whose sign is computed. Values are scaled to an interval that is shorter than _BOUND:
# by how far exchanges may push values outwards, and by _NOISE for noise.
_BOUND, _NOISE = 63 / 64, 1 / 64
# The factor by which bootstrappings between the polynomials may increase their errors.
_OF_BOOTSTRAPPING = 16.0


class Sorting:
    """How `lt.sort` sorts ``count`` values of a domain.

    ``stages``: exchanges of pairs one after the other; ``comparisons`` in all of them; ``sign``: the composition of
    polynomials that each takes; ``levels`` of a stage. ``exchange_error``: the largest error of a single exchange;
    ``error``: a bound for all stages together, in units of the values. With a ``gap`` these hold for values that are
    equal or at least that far apart.

    Made by `lt.fit_sort`. Calling it sorts numbers in the clear, along the last axis, with the same polynomials.
    """

    __slots__ = ("count", "domain", "gap", "sign", "factor", "exchange_error")

    def __init__(self, count: int, domain: tuple[float, float], gap: float | None, fit: Sign, error: float) -> None:
        self.count, self.domain, self.gap, self.sign = count, domain, gap, fit
        # An exchange widens the interval of all values by the error of the sign, relative to its length, at most.
        width = (_BOUND - _NOISE) / (1 + fit.error) ** self.stages
        self.factor = width / (domain[1] - domain[0])
        self.exchange_error = error / self.factor

    @property
    def centre(self) -> float:
        return (self.domain[0] + self.domain[1]) / 2

    @property
    def stages(self) -> int:
        return len(sorting_network.stages(self.count))

    @property
    def comparisons(self) -> int:
        return sum(stage.lower.size for stage in sorting_network.stages(self.count))

    @property
    def levels(self) -> int:
        return self.sign.levels + 1

    @property
    def error(self) -> float:
        return self.stages * self.exchange_error

    def __call__(self, x: Any) -> np.ndarray:
        """The numbers sorted, with the errors of the polynomials.

        ValueError for numbers outside of the domain; encrypted values would be lost there.
        """
        values = arrays.as_numpy(x, "sort")
        if values.dtype.kind == "c":
            raise errors.UnsupportedError.explain("sort", "complex numbers", "real ones", "pass x.real")
        values = values.astype(float)
        if values.ndim == 0 or values.shape[-1] != self.count:
            raise errors.ShapeError.explain(
                "sort", f"values of shape {values.shape}", f"{self.count} along the last axis",
                "fit for the number that there are")
        low, high = self.domain
        if not ((values >= low) & (values <= high)).all():
            raise errors.ValueError.explain(
                "sort", f"values from {values.min():g} to {values.max():g}", f"values within {low:g} to {high:g}",
                "name the domain that all values lie in")
        y = (values - self.centre) * self.factor
        for stage in sorting_network.stages(self.count):
            lower, upper = stage.lower, stage.lower + stage.distance
            moved = sign.product(self.sign, STEP, y[..., lower] - y[..., upper])
            y[..., lower] -= moved
            y[..., upper] += moved
        return y / self.factor + self.centre

    def __repr__(self) -> str:
        degrees = ", ".join(map(str, self.sign.degrees))
        apart = f" at least {self.gap:g} apart" if self.gap is not None else ""
        return (f"Sorting({self.count} values{apart}: {self.stages} stages of {self.levels} levels, "
                f"degrees {degrees}, {-math.log2(self.exchange_error):.1f} bits for each exchange)")


def fit_sort(count: int, domain: tuple[float, float] = (-1, 1), bits: float = 12,
             gap: float | None = None) -> Sorting:
    """What `lt.sort` of `count` values costs, with the options of `lt.sort`. Calling the result sorts clear numbers."""
    count = arrays.as_integer(count, "fit_sort", "count", 1, MAX_VALUES)
    return _chosen("fit_sort", count, as_domain("fit_sort", domain), bits, gap, 2.0**-20, None)


def _chosen(operation: str, count: int, domain: tuple[float, float], bits: Any, gap: Any, margin: float,
            deepest: int | None) -> Sorting:
    bits = arrays.as_real(bits, operation, "bits")
    width = domain[1] - domain[0]
    gap = None if gap is None else arrays.as_real(gap, operation, "gap", above=0)
    if gap is not None and not 2.0**-20 * width <= gap < width:
        raise errors.ValueError.explain(
            operation, f"gap={gap:g} in a domain of length {width:g}",
            "a gap from 2^-20 of the domain's length to less than it", "correct one")
    least, most = 2 - math.log2(width), 18 - math.log2(width)
    if not least <= bits <= most:
        raise errors.ValueError.explain(
            operation, f"bits={bits:g} for values from {domain[0]:g} to {domain[1]:g}",
            f"bits from {math.ceil(least)} to {math.floor(most)}", "ask for such a precision")
    return _fitted(operation, count, domain, bits, gap, _OF_BOOTSTRAPPING * margin,
                   32 if deepest is None else deepest)


@lru_cache(maxsize=64)
def _fitted(operation: str, count: int, domain: tuple[float, float], bits: float, gap: float | None, margin: float,
            deepest: int) -> Sorting:
    length, stages = domain[1] - domain[0], max(1, len(sorting_network.stages(count)))
    found = []
    for more in (0.0, 0.2, 0.4, 0.7, 1.0, 2.0, 3.0):  # additional bits, because values are scaled to a shorter interval
        wanted = bits + math.log2(length / _BOUND) + more
        if gap is None:
            fit, error = sign.for_product(operation, _BOUND, wanted, STEP, margin, deepest)
        else:
            # Errors of the signs add up over all stages. They move values, and so change their distances.
            apart = 0.97 * gap / length * _BOUND * 2.0**-more
            fit = composite.composed(operation, _BOUND, apart, max(1.0, wanted + math.log2(stages) - 1), margin,
                                     deepest)
            error = fit.error / 2 * _BOUND
        out = Sorting(count, domain, gap, fit, error)
        reached = out.exchange_error if gap is None else out.error
        if reached <= 2.0**-bits and (gap is None or fit.gap <= 0.97 * gap * out.factor):
            found.append((fit.levels, reached, out))
        if found and fit.levels > found[0][0]:
            break
    if found:  # of the compositions with the fewest levels, the most precise one
        return min(found, key=lambda f: f[:2])[2]
    raise errors.PrecisionError.explain(
        operation, f"no composition of polynomials for {count} values in {stages} stages", f"{bits:g} bits",
        "ask for more bits, so that the errors of all stages stay small compared with the domain")


def sort(x: Ciphertext, domain: tuple[float, float] | None, bits: float, gap: float | None,
         axis: int | None) -> Ciphertext:
    """See `lt.sort`."""
    if axis is None:
        x, axis = x.reshape(-1), 0
    axis = arrays.as_integer(axis, "sort", "axis")
    if not -x.ndim <= axis < x.ndim:
        raise errors.ShapeError.explain(
            "sort", f"axis={arrays.shown(axis)} of {x.ndim} dimensions", "an axis that exists", "check the axis")
    count = arrays.as_integer(x.shape[axis], "sort", "the number of values", 1, MAX_VALUES)
    low, high = evaluate.declared_domain("sort", x) if domain is None else as_domain("sort", domain)
    if not x.range.is_real:
        evaluate.require_real("sort", x)
    x = evaluate.require_within("sort", x, low, high)
    bits = arrays.as_real(bits, "sort", "bits")
    run = _Run(x, axis % x.ndim, lambda deepest: _chosen("sort", count, (low, high), bits, gap,
                                                          sign.margin(x), deepest), bits)
    if count == 1:
        return x
    run.require_levels(x)
    x = align.plain(x, "sort")
    x, rest = evaluate.filled(x, low, high)
    fit = run.fit
    y = run.sorted((x - fit.centre if fit.centre else x) * fit.factor) * (1 / fit.factor)
    y = y + fit.centre if fit.centre else y
    y = y._like(y._parts, y._known.within_domain(low - fit.error, high + fit.error))
    return align.with_rest(y, -rest, 0.0) if y._padded and rest is not None else y


# ---- the network ----


class _Pairs(NamedTuple):
    """Pairs of a stage, the lower ones in one ciphertext and the upper ones in one: at the slots where the mask is
    True, and so many slots further on, cyclically, as the stage turns."""

    lower: int
    upper: int
    mask: np.ndarray


class _SplitRotation:
    """A rotation by ``up - down`` slots, as one by ``up`` and one back by ``down``: so all stages share few keys."""

    def __init__(self, stage: sorting_network.Stage, stride: int, slots: int) -> None:
        self.slots = slots
        self.parts = (stage.up * stride % slots, -stage.down * stride % slots)
        self.whole = sum(self.parts) % slots
        self.rotations = sum(part != 0 for part in self.parts)

    def __call__(self, e: _native.Evaluator, x: _native.Ciphertext, back: bool = False) -> _native.Ciphertext:
        for part in self.parts:
            if part:
                x = e.rotate(x, self.slots - part if back else part)
        return x


@lru_cache(maxsize=256)
def _few_pairs(count: int, index: int, stride: int, size: int, slots: int) -> tuple[_SplitRotation, list[_Pairs]]:
    """Those of a stage of a sort of few values, by its number: another sort of as many values has the same."""
    return _pairs(sorting_network.stages(count)[index], count, stride, size, slots)


def _pairs(stage: sorting_network.Stage, count: int, stride: int, size: int,
           slots: int) -> tuple[_SplitRotation, list[_Pairs]]:
    """The rotation of a stage in slots, and its pairs, for rows of `count` values that lie `stride` apart among
    `size` values."""
    outer = np.arange(0, size, count * stride)
    low = (outer[:, None, None] + stage.lower[:, None] * stride + np.arange(stride)).reshape(-1)
    distance, ciphertexts = stage.distance * stride, -(-size // slots)
    both = low // slots * ciphertexts + (low + distance) // slots
    out = []
    for key in np.unique(both):
        mask = np.zeros(slots, bool)
        mask[low[both == key] % slots] = True
        out.append(_Pairs(*divmod(int(key), ciphertexts), mask))
    return _SplitRotation(stage, stride, slots), out


class _Refresher:
    """Bootstraps real values where levels run out, two ciphertexts as one.

    A bootstrapping of real values removes errors of imaginary parts, which would grow from stage to stage otherwise;
    of two ciphertexts it makes them errors of the other one. So they are counted by themselves: ``imag``, of what is
    computed now; ``fresh``, of them what was added since the start of a stage.
    """

    def __init__(self, params: _native.Params) -> None:
        self.bootstraps: bool = params.has_bootstrap
        # `first`: the levels that SlotToCoeff first needs. `usable`: the levels above these after a bootstrapping.
        self.first = params.default_level - params.level_after_bootstrap if self.bootstraps else 0
        self.usable: int | None = params.default_level - self.first if self.bootstraps else None
        self.imag = self.fresh = 0.0

    def begin(self, imag: float) -> None:
        self.imag, self.fresh = imag, 0.0

    def grown(self, slope: float, added: float) -> None:
        self.imag, self.fresh = (math.hypot(slope * e, added) for e in (self.imag, self.fresh))

    def __call__(self, x: Ciphertext, levels: int) -> Ciphertext:
        if not self.bootstraps or x.level - levels >= self.first:
            return x
        known = x._known
        bare = x._like(x._parts, _native.Known.fresh(known.range, self.imag))
        form = "merged" if len(x._parts) > 1 else "real"
        y = bare.bootstrap(form, slot_to_coeff_first=refreshing.order_by_levels(bare, form))
        added = sign.error_between(bare, y)
        self.imag = math.sqrt(max(0.0, added**2 - self.imag**2)) if len(x._parts) > 1 else added
        estimate = _native.Estimate(known.range, math.hypot(known.estimate.rms, added))
        real = known.through(np.real, 1.0, 0.0, known.range.low, known.range.high)
        return x._like(y._parts, real.with_estimate(estimate).plus_error(0.0, added))


class _Run:
    """Sorts arrays like this one."""

    def __init__(self, x: Ciphertext, axis: int, fit_of: Callable[[int | None], Sorting], bits: float) -> None:
        self.axis, self.stride = axis, math.prod(x.shape[axis + 1 :])
        self.refresh = _Refresher(x.context.params)
        self.fit, self.bits = fit_of(self.refresh.usable), bits
        # If only the differences are bootstrapped, the values stay at a low level, where rotations are cheap, and get
        # no error of bootstrapping. If the levels do not suffice for a stage, the values are bootstrapped as well.
        self.of_differences = self.refresh.usable is None or self.fit.levels <= self.refresh.usable
        self.slope = _slope(self.fit)
        self.imag = 0.0  # error of the imaginary parts of the values

    def require_levels(self, x: Ciphertext) -> None:
        fit = self.fit
        needed = fit.stages * fit.levels + 2
        if not self.refresh.bootstraps and x.level < needed:
            raise errors.LevelError.explain(
                "sort", f"level {x.level}",
                f"{needed} levels for {fit.stages} stages of {fit.levels}, and two for the domain",
                more_levels(x.context) + ", or a set with bootstrapping")
        # Differences at low levels would get too few levels from a bootstrapping. Mapping to the network's domain takes
        # a level.
        least = self.refresh.first + (fit.factor != 1)
        if self.refresh.bootstraps and not x.context.auto_bootstrap and x.level < least:
            raise errors.LevelError.explain(
                "sort", f"level {x.level}", f"level {least}, at which differences can still be bootstrapped",
                "take a context with auto_bootstrap=True, or sort before levels run out")

    def sorted(self, x: Ciphertext) -> Ciphertext:
        """x sorted. Its values lie within half of the width around 0, and it has the plain layout."""
        fit, slots, flat = self.fit, x.slots, len(x._parts) * x.slots
        known = x._known.mapped(lambda row: np.pad(row, (0, flat - x.size)), 1.0, 1.0, True, 0.0)
        # the interval up to which exchanges may move them
        known = known.through(np.copy, 1.0, 0.0, -_BOUND / 2, _BOUND / 2)
        y = x._like(x._parts, known, layout=Layout.plain((flat,), slots))
        self.imag = x._known.estimate.rms
        x.context.note(f"sort: {fit}")
        if x._known.sample is None:
            x.context.note("sort: the bits are a bound for any values of the range, to which every stage adds; a plan "
                           "of sample values claims what data of their kind keep")
        with Task("sorting", fit.stages) as step:
            for i, stage in enumerate(sorting_network.stages(fit.count)):
                name = ("sort", x.size, fit.count, self.stride, slots, i)
                where = (fit.count, self.stride, x.size, slots)
                y = self._exchanged(y, name, *(_few_pairs(fit.count, i, *where[1:]) if x.size <= _FEW
                                               else _pairs(stage, *where)))
                step.advance()
        known = y._known.mapped(lambda row: row[: x.size], 1.0, 1.0, True, 0.0)
        sample = x._known.sample
        meant = None if sample is None else np.sort(sample[0].real.reshape(x.shape), axis=self.axis)
        known = known.with_estimate(_native.Estimate(y._known.range, y._known.estimate.rms))
        return x._like(y._parts, known.meant(meant, fit.error * fit.factor, bounded=True))

    def _exchanged(self, x: Ciphertext, name: tuple[Any, ...], rotation: _SplitRotation,
                   pairs: list[_Pairs]) -> Ciphertext:
        """x with the smaller value of each pair at its lower place. Let d be the lower value minus the upper one. Then
        the lower value is too large by u = d (1 + sign d) / 2, and the upper one is too small by u.
        """
        e, fit, refresh = x._evaluator, self.fit, self.refresh
        refresh.begin(self.imag)
        if not self.of_differences:
            x = refresh(x, max(2, int(fit.sign.polynomials()[0].levels)))
            self.imag = refresh.imag
        d = self._differences(x, rotation, pairs)
        refresh.begin(math.sqrt(2) * self.imag)
        before, d = d, refresh(d, fit.levels) if self.of_differences else d
        refreshed, imag = sign.error_between(before, d), refresh.imag
        bits = self.bits - math.log2(fit.factor)  # of the values in the network's domain
        s, own = sign.outlined("sort", d, fit.sign, STEP, bits, False, 1, refresh)
        before, s = s, refresh(s, 1)
        moved = _masked(d, name, pairs) * s
        turned = x._switched() * math.sqrt(rotation.rotations)
        multiplied = (s if s.level < d.level else d)._multiplied(moved._parts)
        added = math.hypot(own, _BOUND * sign.error_between(before, s), multiplied, turned)
        # What is known of the product follows from the exchange as a whole, whose slope is less than that of the sign.
        known = d._known.through(lambda v: sign.product(fit.sign, STEP, v), self.slope, added, -_BOUND, _BOUND)
        known = known.mapped(lambda row: _scattered(row, rotation, pairs, x.size), 1.0, 1.0, True, 0.0)
        self.imag = math.hypot(self.imag, self.slope * imag, refresh.fresh, turned)
        error = math.hypot(x._known.estimate.rms, self.slope * refreshed, added)
        known = x._known.plus(known).with_estimate(_native.Estimate(x._known.range, error))
        parts = list(x._parts)
        for p, u in zip(pairs, moved._parts):
            parts[p.lower] = e.sub([parts[p.lower]], [u])[0]
            parts[p.upper] = e.add(parts[p.upper], rotation(e, u, back=True))
        return x._like(parts, known)

    def _differences(self, x: Ciphertext, rotation: _SplitRotation, pairs: list[_Pairs]) -> Ciphertext:
        """The lower minus the upper values of pairs, a ciphertext for each of `pairs`."""
        e, slots = x._evaluator, x.slots
        turned = {p.upper: rotation(e, x._parts[p.upper]) for p in pairs}
        made = e.sub([x._parts[p.lower] for p in pairs], [turned[p.upper] for p in pairs])

        def differences(row: np.ndarray) -> np.ndarray:
            lower, upper = _addresses(rotation, pairs)
            return np.asarray(row[lower] - row[upper])

        known = x._known.mapped(differences, 2.0, math.sqrt(2), True,
                                x._switched() * math.sqrt(rotation.rotations)).within_domain(-_BOUND, _BOUND)
        d = x._like(made, known, layout=Layout.plain((len(pairs) * slots,), slots))
        return d.to_level(d.level) if len({p.level for p in made}) > 1 else d


def _addresses(rotation: _SplitRotation, pairs: list[_Pairs]) -> tuple[np.ndarray, np.ndarray]:
    """The addresses of the lower and of the upper values of pairs, slot by slot of the ciphertexts of differences."""
    at = np.arange(rotation.slots)
    return (np.concatenate([p.lower * rotation.slots + at for p in pairs]),
            np.concatenate([p.upper * rotation.slots + (at + rotation.whole) % rotation.slots for p in pairs]))


def _slope(fit: Sorting) -> float:
    """The largest factor by which an exchange multiplies the error of a difference."""
    v = np.geomspace(fit.sign.gap / 64, _BOUND, 8001)
    v = np.concatenate([-v[::-1], v])
    return float(np.abs(np.diff(sign.product(fit.sign, STEP, v)) / np.diff(v)).max())


def _masked(d: Ciphertext, name: tuple[Any, ...], pairs: list[_Pairs]) -> Ciphertext:
    """The differences of the pairs, and zeros elsewhere."""
    def encoded(i: int, part: _native.Ciphertext) -> _native.Plaintext:
        return d.context._encodings.named((*name, i), lambda: pairs[i].mask.astype(complex), part.level,
                                       d._factor_scale(part))

    factors = [encoded(i, part) for i, part in enumerate(d._parts)]
    mask = as_complex(np.concatenate([p.mask for p in pairs]))
    made = d._contents.times_plain(d._evaluator, factors, mask, *places_of(d.layout))
    return d._like(made.parts, made.known)


def _scattered(products: np.ndarray, rotation: _SplitRotation, pairs: list[_Pairs], size: int) -> np.ndarray:
    """The array to add to one of that size, so that the products of pairs are taken from the lower places and given to
    the upper ones."""
    lower, upper = _addresses(rotation, pairs)
    moved = products * np.concatenate([p.mask for p in pairs])
    out = np.zeros(size, moved.dtype)
    np.subtract.at(out, lower, moved)
    np.add.at(out, upper, moved)
    return out
