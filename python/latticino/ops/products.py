"""Products with plain matrices as sparse maps of slots, for arrays of any size in any layout.

Row r of x @ w sums n values with weights. If row r of the result begins at the slot where row r of x begins, value (r,
l) adds to result (r, j) over the distance l - j. That gives n + m - 1 distances for all rows together. If m is much
smaller than n, it is cheaper to make n / m partial sums of each result, m slots apart, which takes about 3 m distances,
and to add them up by rotations.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from .. import arrays, errors
from ..claims import noise
from ..common.layout import Layout
from . import levels, moves

if TYPE_CHECKING:
    from ..ckks.ciphertext import Ciphertext

_MAX_WEIGHTS = 1 << 25  # products of single numbers in a sparse map: 1 GiB on the host while it is made


@dataclass(frozen=True)
class _ProductPlan:
    """A map, and then sums of `count` slots that are `step` apart."""

    map: moves.Map
    step: int = 1
    count: int = 1

    @property
    def cost(self) -> float:
        return self.map.diagonals + 8 * self.map.keys + 2 * math.log2(self.count) * self.map.target.count


@dataclass(frozen=True)
class _Terms:
    """Addresses (lead, n, free) of the values, weights (lead, n, m), the shape of the result, and whether the matrix is
    on the left: free is x's last axis then, else its last but one."""

    places: np.ndarray
    weights: np.ndarray
    shape: tuple[int, ...]
    left: bool

    @property
    def n(self) -> int:
        return int(self.weights.shape[-2])

    @property
    def m(self) -> int:
        return int(self.weights.shape[-1])

    def layout(self, places: np.ndarray, slots: int, bound: float = 0.0) -> Layout:
        """The layout of results at addresses (lead, m, free); ciphertexts without results are left out."""
        parts = np.unique(places // slots)
        places = np.searchsorted(parts, places // slots) * slots + places % slots
        ordered = places if self.left else places.swapaxes(-1, -2)
        return Layout(self.shape, slots, len(parts), ordered.reshape(self.shape), "unknown" if bound else "zero", bound)

    def results(self, layout: Layout) -> np.ndarray:
        """Addresses (lead, m, free) in a layout of the result."""
        lead, free = self.weights.shape[:-2], self.places.shape[-1]
        if self.left:
            return layout.places.reshape(*lead, self.m, free)
        return layout.places.reshape(*lead, free, self.m).swapaxes(-1, -2)


def sparse(x: Ciphertext, w: np.ndarray, left: bool, shape: tuple[int, ...]) -> Ciphertext:
    """The product, in the layout that needs the fewest diagonals. It takes one level."""
    terms = _terms(x, w, left, shape)
    entries = terms.weights.size * terms.places.shape[-1]
    if entries > _MAX_WEIGHTS:
        raise errors.UnsupportedError.explain(
            "matmul", f"a product of shapes {x.shape} and {w.shape}",
            f"at most {_MAX_WEIGHTS:,} products of single values ({entries:,} here)",
            "multiply the rows in groups, and join the results with lt.concatenate")
    x = x._ready(1)
    levels.require_one(x, "matmul")
    size = np.abs(terms.weights)
    l1, l2 = float(size.sum(axis=-2).max()), float(np.sqrt((size**2).sum(axis=-2)).max())
    bound = l1 * max(x._known.reach, x.layout.bound)
    digest = hashlib.sha256(np.ascontiguousarray(w).tobytes()).digest()
    name = ("matmul", x.layout.name, left, w.shape, digest, w.dtype.str)
    plan = moves.remembered(name, lambda: min(_product_plans(x, terms, name, bound), key=lambda plan: plan.cost))
    plan.map.require_possible("matmul")
    # Each piece has only a part of a result's weights.
    parts, added, rounded = moves.apply(x, x._parts, plan.map, "matmul", l2 / math.sqrt(plan.count))
    if plan.count > 1:
        slots = plan.map.slots
        parts = moves.windows(x._evaluator, parts, plan.step, plan.count, slots)
        switched = noise.switched(x.context.params, parts[0].level, slots, parts[0].scale)
        added = math.hypot(added * math.sqrt(plan.count), switched * math.sqrt(plan.count - 1))
        rounded *= math.sqrt(plan.count)

    def of_row(row: np.ndarray) -> np.ndarray:
        v = row.reshape(x.shape)
        return np.asarray(np.matmul(w, v) if left else np.matmul(v, w))

    scale = noise.weight_scale(x.context.params, x.level)
    alike, common = plan.map.alike(x.layout, scale, plan.step, plan.count), plan.map.common_error(x.layout, scale)
    known = x._known.mapped(of_row, l1, l2, w.dtype.kind != "c", added, rounded, alike,
                            plan.map.correlation)
    known = known.with_common_error(x._known, common * plan.count)
    where = plan.map.target
    return x._like(parts, known, layout=where if plan.count == 1 else where.with_rest("unknown", plan.count * bound))


def _terms(x: Ciphertext, w: np.ndarray, left: bool, shape: tuple[int, ...]) -> _Terms:
    places = x.layout.places
    if places.ndim == 1:
        places = places[:, None] if left else places[None, :]
    if w.ndim == 1:
        w = w[None, :] if left else w[:, None]
    weights, places = (w.swapaxes(-1, -2), places) if left else (w, places.swapaxes(-1, -2))
    lead = np.broadcast_shapes(places.shape[:-2], weights.shape[:-2])
    return _Terms(np.broadcast_to(places, (*lead, *places.shape[-2:])),
                  np.broadcast_to(weights, (*lead, *weights.shape[-2:])), shape, left)


def _product_plans(x: Ciphertext, terms: _Terms, name: tuple[object, ...], bound: float) -> Iterator[_ProductPlan]:
    slots, m = x.slots, terms.m
    plain = Layout.plain(terms.shape, max(slots, arrays.slots_for(math.prod(terms.shape), x.context.slots, "matmul")))
    direct = [plain]
    beside = _beside(terms, slots)
    if beside is not None and beside.count <= 4 * max(plain.count, x.layout.count):
        direct.append(beside)
    for i, target in enumerate(direct):
        yield _ProductPlan(moves.Map((*name, i), target.slots, slots, target, _direct(terms, slots, target)))
    count = terms.n // m
    if count < 2:
        return
    for i, partial_sums in enumerate((_in_place(terms, count, slots), _by_rows(terms, count, slots))):
        if partial_sums is not None:
            places, step = partial_sums
            target = terms.layout(places[..., :m, :], slots, bound)
            used = np.unique(places // slots)
            places = np.searchsorted(used, places // slots) * slots + places % slots
            made = moves.Map((*name, "sums", i), slots, slots, target, _folded(terms, count, places))
            yield _ProductPlan(made, m * step, count)


def _beside(terms: _Terms, slots: int) -> Layout | None:
    """The layout with result j in the place of value j of its row. Results beyond n lie in further ciphertexts. None if
    places would coincide."""
    whole, j = int(terms.places.max()) // slots + 1, np.arange(terms.m)
    places = terms.places[..., j % terms.n, :] + (j // terms.n * whole * slots)[:, None]
    return terms.layout(places, slots) if np.unique(places).size == places.size else None


def _in_place(terms: _Terms, count: int, slots: int) -> tuple[np.ndarray, int] | None:
    """The places (lead, count m, free) of partial sums, a step apart. They are the places of the values. None if a row
    lies in several ciphertexts, or if values have no common step."""
    places = terms.places[..., : count * terms.m, :]
    steps = np.diff(places, axis=-2).reshape(-1)
    if (steps != steps[0]).any() or np.diff(places // slots, axis=-2).any() or np.unique(places).size != places.size:
        return None
    return places, int(steps[0])


def _by_rows(terms: _Terms, count: int, slots: int) -> tuple[np.ndarray, int] | None:
    """The places of partial sums in ciphertexts that hold only whole rows."""
    lead, n, free = terms.weights.shape[:-2], terms.n, terms.places.shape[-1]
    if n > slots:
        return None
    row = np.arange(math.prod(lead) * free).reshape(*lead, 1, free)
    fit = slots // n
    return row // fit * slots + row % fit * n + np.arange(count * terms.m)[:, None], 1


def _direct(terms: _Terms, period: int, target: Layout) -> Callable[[], moves.Entries]:
    def build() -> moves.Entries:
        t, s = terms.results(target), terms.places // period * target.slots + terms.places % period
        return _nonzero(np.broadcast_to(t[..., None, :, :], (*terms.weights.shape, t.shape[-1])), s, terms.weights)

    return build


def _folded(terms: _Terms, count: int, places: np.ndarray) -> Callable[[], moves.Entries]:
    """Value l adds to partial sum q of result j over the distance (l - j) mod n - q m, between 0 and m for most."""

    def build() -> moves.Entries:
        n, m = terms.n, terms.m
        between = (np.arange(n)[:, None] - np.arange(m)) % n
        index = np.arange(m) + m * np.minimum(between // m, count - 1)
        return _nonzero(places[..., index, :], terms.places, terms.weights)

    return build


def _nonzero(t: np.ndarray, s: np.ndarray, w: np.ndarray) -> moves.Entries:
    """The nonzero entries of targets (lead, n, m, free), sources (lead, n, free) and weights (lead, n, m)."""
    weights = np.broadcast_to(w[..., None], t.shape).reshape(-1)
    chosen = np.flatnonzero(weights)
    chosen = chosen if chosen.size else np.zeros(1, int)
    sources = np.broadcast_to(s[..., :, None, :], t.shape).reshape(-1)
    return t.reshape(-1)[chosen], sources[chosen], weights[chosen]
