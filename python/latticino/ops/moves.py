"""Steps between layouts. Every operation that moves values between slots consists of five kinds of steps:

=============  ======  =====================================================================
step           levels  rotations of each ciphertext
=============  ======  =====================================================================
`taken`        0       none: other values are read, or the same in another order
`joined`       0       none: the ciphertexts of several arrays behind one object
`apply`        1       about 2 sqrt(d) for d diagonals of a sparse map
`placed`       1       those of a map; log2(n) more where values are repeated n times
`windows`      0       about log2(n) for sums of n slots, a step apart
=============  ======  =====================================================================

Range and error of the result are tracked here and in the modules `sums` and `matrix`. Modules that use these need not
track them.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache, partial, reduce
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, cast

import numpy as np

from .. import _native, errors
from ..claims import copies, noise
from ..claims.known import flat_index
from ..common.layout import Layout, Rest, weakest
from ..common.locks import Lock
from ..common.naming import named
from . import levels

if TYPE_CHECKING:
    from ..ckks.ciphertext import Ciphertext

MAX_ENTRIES = 1 << 26  # slots of the diagonals of one map: 2,048 diagonals of 32,768 slots
MAX_VALUES = 1 << 27  # values of an array: 1 GiB of addresses on the host
_SMALL_KEYS = 1 << 26  # numbers of diagonals (`Map._keys`) below this are looked up in a table, others are sorted
_MAX_MAPS = 64  # sums and products that are remembered
_LAST_BITS = 1e-15  # relative: smaller numbers are negligible for weights
_EQUAL = 1e-10  # relative: sums of equal diagonals differ by rounding errors only
_KINDS = 16  # the most kinds of diagonals whose errors are computed; rotations of one diagonal are one kind
_FEW = 8  # number of diagonals up to which a repeated value is moved at once, and not spread by rotations


# ---- steps that cost nothing ----


def taken(x: Ciphertext, index: np.ndarray) -> Ciphertext:
    """The values with these flat indices, in an array of the indices' shape. It is free."""
    if index.size > MAX_VALUES:
        raise errors.ShapeError.explain(
            "array", f"a result of shape {index.shape}",
            f"at most {MAX_VALUES:,} values, because the host stores where each one is",
            "compute on the smaller arrays first, or on parts")
    where, parts = x.layout.taken(index, x._known.reach)
    held = x._parts
    return x._like([held[p] for p in parts], x._known.taken(index.shape, flat_index(index)), layout=where)


def joined(xs: Sequence[Ciphertext], f: Callable[[Sequence[np.ndarray]], np.ndarray], operation: str) -> Ciphertext:
    """One array made from several by `f`. It is free. Operands of higher levels are brought down."""
    level, slots = min(x.level for x in xs), max(x.slots for x in xs)
    xs = [x.to_level(level) if any(p.level != level for p in x._parts) else x for x in xs]
    if len({p.scale for x in xs for p in x._parts}) > 1:
        raise errors.ScaleError.explain(
            operation, "arrays of several scales at one level", "one scale",
            "encrypt without a scale of your own, or bring all of them one level down with to_level")
    xs = [widened(x, slots) for x in xs]
    wide = [x.layout for x in xs]
    starts = np.cumsum([0, *(w.count for w in wide)])
    places = f([w.places + start * slots for w, start in zip(wide, starts)])
    rest = weakest(*(w.rest for w in wide))
    where = Layout(places.shape, slots, int(starts[-1]), places, rest, max(_reach(x, w) for x, w in zip(xs, wide)))
    sizes = [x.size for x in xs]
    index = f([np.arange(n).reshape(x.shape) + start for x, n, start in zip(xs, sizes, np.cumsum([0, *sizes]))])
    known = _native.Known.joined([x._known for x in xs], sizes, flat_index(index))
    return xs[0]._like([p for x in xs for p in x._parts], known, layout=where)


def _reach(x: Ciphertext, where: Layout) -> float:
    """A bound of the content of slots without values."""
    return max(where.bound, x._known.reach) if where.rest != "zero" else 0.0


def widened(x: Ciphertext, slots: int) -> Ciphertext:
    """The array in ciphertexts of more slots, which repeat the content of fewer slots. It is free."""
    if slots == x.slots:
        return x
    where = x.layout.widened(slots)
    growth = math.sqrt(slots / x.slots)  # because decoding reads more coefficients
    return x._like([p.with_slots(slots) for p in x._parts], x._known.repeated(x.size, growth),
                   layout=where.with_rest(where.rest, _reach(x, where)))


# ---- linear maps ----


@dataclass(frozen=True)
class Group:
    """Diagonals between one source and one target ciphertext. The source is rotated by `first`; diagonal k multiplies
    that, rotated by distances[k]."""

    source: int
    distances: tuple[int, ...]
    first: int = 0


Entries = tuple[np.ndarray, np.ndarray, np.ndarray]  # target addresses, source addresses, weights


class _Equal(NamedTuple):
    """Groups of diagonals that are equal except for a sign.

    ``group``, ``sign``, ``periods``: for each diagonal the number of its group, its sign, and the number of slots after
    which its weights repeat. ``repeated``: the weights of the groups whose period is shorter than all slots."""

    group: np.ndarray
    sign: np.ndarray
    periods: np.ndarray
    repeated: dict[int, np.ndarray]


class Map:
    """A sparse linear map. Each target address gets a sum over its entries: the weight times the value at the source
    address. The map only keeps which diagonals it has. `build` gives the entries again when they must be encoded.
    """

    def __init__(self, name: tuple[Any, ...], slots: int, period: int, target: Layout,
                 build: Callable[[], Entries], count: int | None = None) -> None:
        self.name, self.slots, self.target = name, slots, target
        self.count = target.count if count is None else count  # number of target ciphertexts
        self._period, self._build = period, build
        self._groups: list[list[Group]] | None = None
        self._equal: _Equal | None = None
        self._means: list[np.ndarray] | None = None  # the mean weight of each diagonal, by target
        self.known = True  # False: only the positions of diagonals, for runs without data
        entries = build()
        self._sources = int(entries[1].max(initial=0)) // slots + 1
        self._unique = _distinct(self._keys(entries))

    @property
    def diagonals(self) -> int:
        return len(self._unique)

    def unknown(self) -> Map:
        """The map for runs without data, which encode no values."""
        out = Map.__new__(Map)
        self.groups()
        out.__dict__.update(self.__dict__, known=False)
        return out

    def _keys(self, entries: Entries) -> np.ndarray:
        t, s, _ = entries
        log = self.slots.bit_length() - 1  # slots and the period are powers of two
        pair = (t >> log) * self._sources + (s >> log)
        return np.asarray(pair * self._period + ((s - t) & (min(self.slots, self._period) - 1)))

    def require_possible(self, operation: str) -> None:
        if self.diagonals * self.slots > MAX_ENTRIES:
            raise errors.UnsupportedError.explain(
                operation, f"values that move by {self.diagonals:,} different distances in {self.slots:,} slots",
                f"at most {MAX_ENTRIES // self.slots:,} distances",
                "lay out the data for the operation before encrypting, or work on parts of the array")

    def groups(self) -> list[list[Group]]:
        """For each target ciphertext, its sources."""
        if self._groups is None:
            out: list[list[Group]] = [[] for _ in range(self.count)]
            pairs = self._unique // self._period
            found = [(int(p), self._unique[pairs == p] % self._period) for p in np.unique(pairs)]
            firsts = [self._first(distances) for _, distances in found]
            apart = len(set().union(*(set(((d - f) % self._period).tolist()) for (_, d), f in zip(found, firsts))))
            # Ciphertexts that are shifted copies of each other share keys if distances are counted from the first one.
            alone = len(np.unique(self._unique % self._period))
            shared = apart + min(len(set(firsts)), self._period.bit_length()) < alone
            for (p, distances), first in zip(found, firsts if shared else [0] * len(found)):
                counted = tuple(int(d) for d in (distances - first) % self._period)
                out[p // self._sources].append(Group(p % self._sources, counted, first))
            self._groups = out
        return self._groups

    def blocks(self) -> list[list[Group]]:
        """The same as `groups`, but with all distances counted from 0, for transforms that rotate a source once for all
        targets."""
        out: list[list[Group]] = [[] for _ in range(self.count)]
        pairs, distances = np.divmod(self._unique, self._period)
        for p in np.unique(pairs):
            out[int(p) // self._sources].append(Group(int(p) % self._sources, tuple(distances[pairs == p].tolist())))
        return out

    @cached_property
    def _by_bits(self) -> bool:
        """Whether keys for all powers of two are fewer than keys for all first distances."""
        firsts = {group.first for groups in self.groups() for group in groups} - {0}
        return len(firsts) > self.slots.bit_length()

    def steps_to(self, first: int) -> list[int]:
        """The rotations that together move a source by the first distance of a group."""
        if first == 0:
            return []
        if not self._by_bits:
            return [first]
        return [1 << b for b in range(first.bit_length()) if first >> b & 1]

    def diagonals_by(self, kind_of: Callable[[int], int], kinds: int) -> list[float]:
        """The number of diagonals with sources of each kind: the most of any target ciphertext."""
        counts = np.zeros((self.count, kinds))
        for target, groups in enumerate(self.groups()):
            for group in groups:
                counts[target, kind_of(group.source)] += len(group.distances)
        return [float(most) for most in counts.max(axis=0)]

    def alike(self, source: Layout, scale: float, step: int = 1, count: int = 1) -> _native.Alike | None:
        """Which weights are rounded alike, for values in the layout of the source. Weights are encoded at `scale`. Each
        result is the sum of `count` slots of a target, `step` apart. None if all diagonals differ and none repeats."""
        if self._equal is None:
            self._equal = self._equal_diagonals()
        group, sign, periods, repeated = self._equal
        if not group.size:
            return None
        of_group = {number: _native.Alike.size_of(weights, self.slots, scale) for number, weights in repeated.items()}
        sizes = [of_group.get(number, 1.0) for number in group.tolist()]
        target, rest = np.divmod(self._unique, self._sources * self._period)
        rows = np.stack([target, rest // self._period, rest % self._period, group, sign, periods], axis=1)
        return _native.Alike.of_diagonals(
            flat_index(rows), self.slots, self._period, flat_index(source.places),
            flat_index(self.target.places), [k * step % self.slots for k in range(count)], sizes)

    def common_error(self, source: Layout, scale: float) -> complex:
        """The error that all slots of a target have in common, for values of mean 1 in the layout of the source: the
        largest of all targets. Weights are encoded at `scale`. Slots without values count as full if they may hold
        numbers."""
        if self._means is None:
            self._means = self._means_of_diagonals()
        found = [_native.common_error(means, scale) for means in self._means]
        return max(found, key=abs, default=0) * self._filled(source)

    @cached_property
    def correlation(self) -> float:
        """The factor by which the variance of sums of results may exceed that of independent results."""
        targets, sources, weights = self._build()
        return _native.correlation(flat_index(targets), flat_index(sources), np.asarray(weights, complex))

    def profile(self, source: Layout, scale: float) -> np.ndarray | None:
        """The error in each slot of the targets, for values of 1 in the layout of the source, encoded at `scale`. None
        if too many diagonals differ.

        A rotation of slots only permutes coefficients and changes signs. So diagonals that are rotations of each other
        have errors that are the same rotations of one error."""
        t, s, w = self._build()
        which, count = _positions(self._unique, self._keys((t, s, w))), len(self._unique)
        slot = t & (self.slots - 1)
        first = np.full(count, self.slots)
        np.minimum.at(first, which, slot)
        factors = np.random.default_rng(1).normal(size=(2, self.slots))
        turned = slot - first[which]
        sums = np.bincount(which, w.real * factors[0, turned] + w.imag * factors[1, turned], count)
        order = np.argsort(sums)
        steps = np.diff(sums[order]) > _EQUAL * np.abs(sums).max(initial=0)
        kinds = np.empty(count, np.int64)
        kinds[order] = np.concatenate([[0], np.cumsum(steps)])
        if kinds.max() >= _KINDS:
            return None
        target = self._unique // (self._sources * self._period)
        out = np.zeros((self.count, self.slots), complex)
        for kind in range(kinds.max() + 1):
            own = np.flatnonzero(kinds == kind)
            weights, of_one = np.zeros(self.slots, complex), which == own[0]
            np.add.at(weights, turned[of_one], w[of_one])
            error = np.fft.fft(_native.rounding(weights, self.slots, scale))
            starts = np.zeros((self.count, self.slots))
            np.add.at(starts, (target[own], first[own]), 1)
            out += np.fft.ifft(np.fft.fft(starts) * error)
        return out * self._filled(source)

    def _filled(self, source: Layout) -> float:
        """The part of the source's slots that may hold numbers."""
        return int(source.used.sum()) / (self._sources * self._period) if source.rest == "zero" else 1.0

    def _means_of_diagonals(self) -> list[np.ndarray]:
        """The same without diagonals of equal weights, whose errors `alike` handles."""
        t, s, w = self._build()
        which, count = _positions(self._unique, self._keys((t, s, w))), len(self._unique)
        sums = [np.bincount(which, x, count) / self.slots for x in (w.real, w.imag, w.real**2 + w.imag**2)]
        means = sums[0] + 1j * sums[1]
        vary = sums[2] - np.abs(means) ** 2 > _EQUAL * sums[2]
        target = self._unique // (self._sources * self._period)
        return [means[vary & (target == k)] for k in np.unique(target[vary])]

    def _equal_diagonals(self) -> _Equal:
        """Which diagonals are equal and which repeat. Empty if all differ and none repeats. Diagonals are compared by
        sums of their weights with random factors."""
        t, s, w = self._build()
        which = _positions(self._unique, self._keys((t, s, w)))
        factors = np.random.default_rng(1).normal(size=(2, self.slots))

        def sums(period: int) -> np.ndarray:
            """Sums for each part of each diagonal."""
            slot = t & (self.slots - 1)
            at = which * (self.slots // period) + slot // period
            products = w.real * factors[0, slot % period] + w.imag * factors[1, slot % period]
            shape = len(self._unique), self.slots // period
            return np.bincount(at, products, math.prod(shape)).reshape(shape)

        def equal(a: np.ndarray, b: np.ndarray) -> np.ndarray:
            return np.asarray(np.abs(a - b) <= _EQUAL * np.abs(a).max(initial=0))

        def equal_parts(parts: np.ndarray) -> np.ndarray:
            return np.asarray((np.abs(parts - parts[:, :1]) <= _EQUAL * np.abs(parts).max(initial=0)).all(axis=1))

        whole = sums(self.slots)[:, 0]
        sign = np.where(whole < 0, -1, 1)
        whole = np.abs(whole)
        target = self._unique // (self._sources * self._period)
        order = np.lexsort((whole, target))
        same = equal(whole[order][1:], whole[order][:-1]) & (np.diff(target[order]) == 0)
        periods = np.full(len(self._unique), self.slots)
        shorter = self.slots // 2
        while shorter and (repeats := (periods == 2 * shorter) & equal_parts(sums(shorter))).any():
            periods[repeats] = shorter
            shorter //= 2
        if not same.any() and (periods == self.slots).all():
            return _Equal(np.empty(0, np.int64), sign, periods, {})
        group = np.empty(len(order), np.int64)
        group[order] = np.cumsum(np.concatenate([[0], ~same]))
        repeated: dict[int, np.ndarray] = {}
        most, by_diagonal = np.abs(w).max(initial=0), np.argsort(which, kind="stable")
        ends = np.cumsum(np.bincount(which, minlength=len(self._unique)))
        for k in np.flatnonzero(periods < self.slots).tolist():
            own = by_diagonal[0 if k == 0 else ends[k - 1] : ends[k]]
            weights = np.zeros(self.slots, complex)
            np.add.at(weights, t[own] & (self.slots - 1), w[own])
            parts = weights.reshape(-1, periods[k])
            if (np.abs(parts - parts[0]) <= _LAST_BITS * most).all():
                repeated.setdefault(int(group[k]), parts[0])
        return _Equal(group, sign, periods, repeated)

    def _first(self, distances: np.ndarray) -> int:
        """The first distance: the one after the widest gap on the circle."""
        gaps = np.diff(distances, prepend=distances[-1] - self._period)
        return int(distances[int(np.argmax(gaps))])

    @property
    def keys(self) -> float:
        """The approximate number of rotations that need a key of their own."""
        groups = [g for several in self.groups() for g in several]
        firsts = len({g.first for g in groups} - {0})
        return min(firsts, self._period.bit_length()) + 2 * math.sqrt(len({d for g in groups for d in g.distances}))

    def matrices(self) -> Callable[[int, Group], np.ndarray]:
        """A function that gives the diagonals of a group of a target ciphertext."""
        entries = self._build()
        which = _positions(self._unique, self._keys(entries))
        order = np.argsort(which, kind="stable")
        slot, weight = entries[0][order] % self.slots, entries[2][order]
        ends = np.cumsum(np.bincount(which, minlength=len(self._unique)))

        def of(target: int, group: Group) -> np.ndarray:
            out = np.zeros((len(group.distances), self.slots), complex)
            if not self.groups()[target]:
                return out
            start = (target * self._sources + group.source) * self._period
            for row, distance in zip(out, group.distances):
                k = int(np.searchsorted(self._unique, start + (distance + group.first) % self._period))
                at = slice(0 if k == 0 else ends[k - 1], ends[k])
                np.add.at(row, slot[at], weight[at])
            return out

        return of


def _distinct(keys: np.ndarray) -> np.ndarray:
    """np.unique, without sorting where the keys are small."""
    most = int(keys.max(initial=0)) + 1
    if most > _SMALL_KEYS:
        return np.unique(keys)
    there = np.zeros(most, bool)
    there[keys] = True
    return np.flatnonzero(there)


def _positions(distinct: np.ndarray, keys: np.ndarray) -> np.ndarray:
    """Like np.searchsorted, for keys that are all present. If there are few keys, positions are small integers, which
    numpy sorts fast."""
    most = int(distinct[-1]) + 1 if distinct.size else 1
    if most > _SMALL_KEYS:
        return np.searchsorted(distinct, keys)
    at = np.zeros(most, np.uint16 if len(distinct) < 1 << 16 else np.int64)
    at[distinct] = np.arange(len(distinct))
    return np.asarray(at[keys])


Made = TypeVar("Made")
_made: OrderedDict[tuple[Any, ...], Any] = OrderedDict()
_lock = Lock()


def remembered(name: tuple[Any, ...], make: Callable[[], Made]) -> Made:
    """The map, or the object with a map, that `name` stands for. It is made once, and kept as long as it is in use."""
    with _lock.own:
        if name in _made:
            _made.move_to_end(name)
            return cast("Made", _made[name])
    made = make()
    with _lock.own:
        _made[name] = made
        while len(_made) > _MAX_MAPS:
            _made.popitem(last=False)
    return made


def apply(x: Ciphertext, sources: Sequence[_native.Ciphertext], m: Map, operation: str,
          gain: float = 1.0, light: bool = False) -> tuple[list[_native.Ciphertext], float, float]:
    """The target ciphertexts, one level below, and the errors that were added to each slot. One error comes from key
    switches and divisions. The other comes from the rounding of weights, for values of size 1. `gain`: the root of the
    sum of squares of the weights of any one result. `light`: weights are kept as integers, and expanded at each
    use."""
    parts, added, rounded = _applied(x, sources, m, operation, gain, False, light)
    return [p for p in parts if p is not None], added, rounded


def _applied(x: Ciphertext, sources: Sequence[_native.Ciphertext], m: Map, operation: str, gain: float,
             empty: bool, light: bool = False) -> tuple[list[_native.Ciphertext | None], float, float]:
    """The target ciphertexts. A target that has no entries holds zeros, or is None (`empty`)."""
    ctx, e = x.context, x._evaluator
    matrices: Callable[[int, Group], np.ndarray] | None = None

    def encoded(target: int, group: Group, level: int) -> _native.LinearTransform:
        nonlocal matrices
        if not m.known:
            return _native.LinearTransform.unknown(ctx._native, list(group.distances), m.slots, level, light)
        matrices = matrices or m.matrices()
        return _native.LinearTransform(ctx._native, list(group.distances), matrices(target, group), level, light)

    parts: list[_native.Ciphertext | None] = []
    for i, groups in enumerate(m.groups()):
        if empty and not groups:
            parts.append(None)
            continue
        products = []
        for group in groups or [Group(0, (0,))]:  # no entries: it gets zeros
            part = sources[group.source].with_slots(m.slots)
            for step in m.steps_to(group.first):
                part = e.rotate(part, step)
            key = (*m.name, i, group.source, part.level, light)
            made = ctx._products.get(key, partial(encoded, i, group, part.level))
            with named(operation, "matmul"):
                products.append(made.apply(e, part))
        parts.append(reduce(e.add, products))
    widest = max(sum(len(g.distances) for g in groups) for groups in m.groups())
    params, level = ctx.params, x.level
    scale = next(p.scale for p in parts if p is not None)
    rounded = noise.encoded(m.slots, noise.weight_scale(params, level)) * math.sqrt(widest)
    each = (noise.multiplied if turns(m.groups()) else noise.rescaled)(params, level, m.slots, scale)
    before = gain * error_before(params, m, level, x.scale)
    return parts, math.hypot(each * math.sqrt(max(map(len, m.groups()))), before), rounded


def error_before(params: _native.Params, m: Map, level: int, scale: float) -> float:
    """The error of each rotated value before a weight multiplies it, as a map by `apply` leaves it. Rotations inside of
    the map share one division, which leaves nothing there but the errors of the keys."""
    most = max(len(m.steps_to(g.first)) for groups in m.groups() for g in groups or [Group(0, (0,))])
    keys = noise.keys_alone(params, level, m.slots, scale) if turns(m.groups()) else 0.0
    return math.hypot(keys, noise.switched(params, level, m.slots, scale) * math.sqrt(most))


def turns(groups: Sequence[Sequence[Group]]) -> bool:
    """Whether a map of these diagonals rotates."""
    return any(g.distances != (0,) for several in groups for g in several)


# ---- moving to other slots ----


@dataclass(frozen=True)
class Move:
    """How values come from one layout into another: a map, and rotations that repeat what it left.

    `spreads`: (step, count), one after the other. `runs`: a step and a number of bits; the map has targets for each
    bit, and what comes to those of bit k is repeated 2^k times.
    """

    map: Map
    spreads: tuple[tuple[int, int], ...] = ()
    runs: tuple[int, int] | None = None
    rest: Rest = "zero"
    _common: dict[tuple[float, bool], tuple[np.ndarray, float]] = field(default_factory=dict, compare=False)

    def common_errors(self, source: Layout, target: Layout, scale: float) -> tuple[np.ndarray, float]:
        """The errors that values of 1 in the source get from the rounding of masks encoded at `scale`: one for each
        value, or one for all of them; and the mean size in slots without values. Computed once."""
        key = scale, source.rest == "zero"
        if key not in self._common:
            self._common[key] = self._common_errors(source, target, scale)
        return self._common[key]

    def _common_errors(self, source: Layout, target: Layout, scale: float) -> tuple[np.ndarray, float]:
        profile = self.map.profile(source, scale) if self.runs is None else None
        if profile is None:
            times = math.prod(count for _, count in self.spreads) * (2 ** self.runs[1] - 1 if self.runs else 1)
            error = self.map.common_error(source, scale) * times
            return np.array([error], complex), abs(error)
        for step, count in self.spreads:
            profile = np.sum([np.roll(profile, k * step, axis=-1) for k in range(count)], axis=0)
        elsewhere = profile.reshape(-1)[~target.used.reshape(-1)]
        rest = float(abs(elsewhere.mean())) if elsewhere.size else 0.0
        return np.ascontiguousarray(profile.reshape(-1)[target.places.reshape(-1)]), rest

    def errors_of_copies(self, error: float, switched: float) -> copies.CopyErrors:
        """The error after the rotations that repeat the map's results, each of which adds the error `switched`."""
        if self.runs is not None:
            return copies.errors_after_runs(error, switched, self.runs[1])
        return copies.errors_after_spreads(error, switched, self.spreads, self.map.slots)

    @property
    def cost(self) -> float:
        """The number of diagonals and rotations."""
        turns = sum(2 * math.log2(c) for _, c in self.spreads) + (self.runs[1] if self.runs else 0)
        return self.map.diagonals + turns * self.map.target.count + 8 * self.map.keys


class _ByName:
    """A layout as the key of a cache."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout

    def __hash__(self) -> int:
        return hash(self.layout.name)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _ByName) and self.layout.name == other.layout.name


def move(source: Layout, target: Layout) -> Move:
    """The move from one layout to another of the same shape."""
    return _move(_ByName(source), _ByName(target))


@lru_cache(maxsize=32)
def _move(source_: _ByName, target_: _ByName) -> Move:
    source, target = source_.layout, target_.layout
    slots, period = target.slots, source.slots
    s = source.places // period * slots + source.places % period
    direct = _map(source, target, s, target.places, "move")
    if direct.diagonals <= _FEW:
        return Move(direct)
    axes = tuple(a for a in range(s.ndim) if s.shape[a] > 1 and not np.diff(s, axis=a).any())
    shorter = (_spread(source, target, s, axes) or _runs(source, target, s, axes)) if axes else None
    return min((Move(direct), shorter), key=lambda m: m.cost) if shorter else Move(direct)


def _map(source: Layout, target: Layout, s: np.ndarray, t: np.ndarray, name: str) -> Map:
    flat = t.reshape(-1)
    _, first = np.unique(flat, return_index=True)  # equal values may share a slot, so each moves once
    entries = flat[first], s.reshape(-1)[first], np.ones(len(first))
    return Map((name, source.name, target.name), target.slots, source.slots, target, lambda: entries)


def runs_of(t: np.ndarray, slots: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, int] | None:
    """Rows of addresses as runs of slots a fixed step apart, each in one ciphertext: the row, first address and length
    of each run, and the step; None if there is no such step."""
    parts = t // slots
    inside = parts[:, 1:] == parts[:, :-1]
    steps = ((t[:, 1:] - t[:, :-1]) % slots)[inside]
    if steps.size and (steps != steps[0]).any():
        return None
    starts = np.concatenate([np.ones((len(t), 1), bool), ~inside], axis=1)
    begin = np.flatnonzero(starts.reshape(-1))
    length = np.diff(np.append(begin, t.size))
    return begin // t.shape[1], t.reshape(-1)[begin], length, int(steps[0]) if steps.size else 0


def by_bits(first: np.ndarray, length: np.ndarray, step: int, slots: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Runs as windows of powers of two. For each power 2^k, the smallest first: which runs have a window of 2^k slots,
    and where it begins."""
    for k in range(int(length.max()).bit_length()):
        has = np.flatnonzero(length >> k & 1)
        offset = (length[has] & (1 << k) - 1) * step
        yield has, first[has] // slots * slots + (first[has] + offset) % slots


def _runs(source: Layout, target: Layout, s: np.ndarray, axes: tuple[int, ...]) -> Move | None:
    """Like `_spread`, for repeated values that are in several ciphertexts."""
    last = range(-len(axes), 0)
    rows = math.prod(n for a, n in enumerate(s.shape) if a not in axes)
    t = np.sort(np.moveaxis(target.places, axes, last).reshape(rows, -1), axis=1)
    if np.unique(t).size != t.size or (found := runs_of(t, target.slots)) is None:
        return None
    row, first, length, step = found
    values = np.moveaxis(s, axes, last).reshape(rows, -1)[:, 0]
    bits = list(by_bits(first, length, step, target.slots))
    to = np.concatenate([at + k * target.count * target.slots for k, (_, at) in enumerate(bits)])
    come = np.concatenate([values[row[has]] for has, _ in bits])
    entries = to, come, np.ones(len(to))
    made = Map(("runs", source.name, target.name), target.slots, source.slots, target, lambda: entries,
               len(bits) * target.count)
    return Move(made, runs=(step, len(bits)))


def _spread(source: Layout, target: Layout, s: np.ndarray, axes: tuple[int, ...]) -> Move | None:
    """The move if axes repeat values. The first copy of each value goes to its slot, and rotations fill the other
    slots."""
    t, slots = target.places, target.slots
    spreads = []
    for a in axes:
        steps = np.diff(t, axis=a)
        parts = np.diff(t // slots, axis=a)
        if parts.any() or (steps != steps.reshape(-1)[0]).any():
            return None
        spreads.append((int(steps.reshape(-1)[0]), s.shape[a]))
    at = tuple(slice(0, 1) if a in axes else slice(None) for a in range(s.ndim))
    counts = np.zeros((target.count, slots))
    labels = counts.copy()
    np.add.at(counts.reshape(-1), t[at].reshape(-1), 1)
    labels.reshape(-1)[t[at].reshape(-1)] = 1.0 + np.arange(t[at].size)
    for step, count in spreads:
        counts, labels = (_window(v, _rolled, np.add, -step, count, slots) for v in (counts, labels))
    wanted = np.broadcast_to(1.0 + np.arange(t[at].size).reshape(t[at].shape), t.shape)
    if (counts.reshape(-1)[t] != 1).any() or (labels.reshape(-1)[t] != wanted).any():
        return None
    beside = counts.reshape(-1).copy()
    beside[t.reshape(-1)] = 0
    return Move(_map(source, target, s[at], t[at], "spread"), tuple(spreads), rest="filler" if beside.any() else "zero")


def _rolled(rows: np.ndarray, k: int) -> np.ndarray:
    return np.roll(rows, -k, axis=1)


def placed(x: Ciphertext, target: Layout, operation: str) -> Ciphertext:
    """The values in the slots of another layout of the same shape. The other slots hold zeros or copies of values, as
    the layout of the result says. It takes one level."""
    target = Layout(x.shape, target.slots, target.count, target.places)
    if target.slots < x.slots:
        raise AssertionError("moves lead to as many slots, or more")
    plan = move(x.layout, target)
    plan.map.require_possible(operation)
    x = x._ready(1)
    levels.require_one(x, operation)
    made, added, rounded = _applied(x, x._parts, plan.map, operation, 1.0, plan.runs is not None)
    parts = [p for p in made if p is not None]
    growth = math.sqrt(target.slots / x.slots)
    known = x._known if growth == 1 else x._known.repeated(x.size, growth)
    switched = noise.switched(x.context.params, parts[0].level, target.slots, parts[0].scale)
    for step, count in plan.spreads:
        parts = windows(x._evaluator, parts, -step, count, target.slots)
    if plan.runs is not None:
        step, _ = plan.runs
        parts = [_filled(x._evaluator, made[i :: target.count], step, target.slots) for i in range(target.count)]
    where = target.with_rest(plan.rest, x._known.reach)
    name = int.from_bytes(target.name[:8], "little")
    if plan.spreads or plan.runs is not None:
        added, added_to_each = plan.errors_of_copies(added, switched)
        rounded, rounded_in_each = plan.errors_of_copies(rounded, 0)
        known = known.copied(name, flat_index(x.layout.places), added, rounded, added_to_each, rounded_in_each)
    else:
        known = known.placed(name, added, rounded)
    common = plan.common_errors(x.layout, target, noise.weight_scale(x.context.params, x.level))
    return x._like(parts, known.with_common_error(x._known, *common), layout=where)


def _filled(e: _native.Evaluator, by_bit: Sequence[_native.Ciphertext | None], step: int,
            slots: int) -> _native.Ciphertext:
    """The sum over k of ciphertext k with each slot repeated 2^k times, a step apart."""
    out = None
    for k in range(len(by_bit) - 1, -1, -1):
        if out is not None:
            turn = -(step << k) % slots
            out = e.add(out, e.rotate(out, turn) if turn else out)
        here = by_bit[k]
        if here is not None:
            out = here if out is None else e.add(out, here)
    assert out is not None
    return out


# ---- sums of slots ----


def _window(x: Any, rotate: Callable[[Any, int], Any], add: Callable[[Any, Any], Any], step: int, count: int,
            slots: int) -> Any:
    """The sum of `count` copies of x, rotated left by 0, step, 2 step .."""
    total, done, power, terms = None, 0, x, 1
    while True:
        if count & terms:
            turned = rotate(power, done * step % slots) if done * step % slots else power
            total = turned if total is None else add(total, turned)
            done += terms
        if done == count:
            return total
        turn = terms * step % slots
        power = add(power, rotate(power, turn) if turn else power)
        terms *= 2


def rotated(e: _native.Evaluator, part: _native.Ciphertext, by: Sequence[int]) -> list[_native.Ciphertext]:
    """The ciphertext rotated by each of these distances. Distance 0 costs nothing, and all rotations share one
    ModUp."""
    turns = iter(e.rotate_hoisted(part, [k for k in by if k]))
    return [next(turns) if k else part for k in by]


def windows(e: _native.Evaluator, parts: Sequence[_native.Ciphertext], step: int, count: int,
            slots: int) -> list[_native.Ciphertext]:
    """Ciphertexts with a sum in each slot: that of `count` slots, `step` apart, of which it is the first."""
    return [_window(p, e.rotate, e.add, step, count, slots) for p in parts]


def doublings(e: _native.Evaluator, part: _native.Ciphertext, step: int, most: int,
              slots: int) -> Iterator[_native.Ciphertext]:
    """The windows of 1, 2, 4 .. up to `most` slots."""
    terms = 1
    while True:
        yield part
        terms *= 2
        if terms > most:
            return
        turn = terms // 2 * step % slots
        part = e.add(part, e.rotate(part, turn) if turn else part)
