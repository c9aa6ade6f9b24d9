"""The layouts of the argument and of the result of a sparse map, the diagonals that they need, and how the map is
applied.

For example, take a map of 784 values in 1,024 slots to 128 results in 128 slots. Value s adds to result t over the
distance s - t. A ciphertext of 128 slots repeats, so all slots t + 128 k hold the same result, and distances count
modulo 128. The map has 128 diagonals. It leaves 8 pieces of each result, 128 slots apart, and 3 rotations add them up.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from .. import _native, errors
from ..claims import noise
from ..common.layout import Layout
from ..common.progress_bar import Task
from ..ops import moves

if TYPE_CHECKING:
    from ..ckks.ciphertext import Ciphertext
    from ..ckks.context import Context

_LATER = 100  # number of diagonals that cost about as much as the operations on one more ciphertext of the result
_AT_ONCE = 1 << 21  # slots of diagonals that are encoded together: 32 MiB on the host
_MAX_WORKING = 2 << 30  # bytes of rotated ciphertexts if several arrays go through a map together


@dataclass(frozen=True)
class Placed:
    """A map between two layouts. ``pieces``: of each result, which lie a target's slots apart."""

    map: moves.Map
    source: Layout
    target: Layout
    pieces: int = 1

    @property
    def cost(self) -> float:
        """The cost of diagonals and rotations, by which layouts of the result are compared, with the cost of later
        operations for each of its ciphertexts."""
        turns = 8 * self.map.keys + 2 * math.log2(self.pieces) * self.target.count
        return self.map.diagonals + turns + _LATER * self.target.count

    @cached_property
    def read(self) -> tuple[int, ...]:
        """The ciphertexts of the source that the map reads, at least one. Others would be operands for nothing: a step
        of a recurrent network reads one of the 200 that hold its words."""
        return tuple(sorted({g.source for groups in self.map.blocks() for g in groups})) or (0,)

    def sources(self, parts: Sequence[_native.Ciphertext]) -> list[_native.Ciphertext]:
        """What the transform takes, from the ciphertexts of one array or of several: those that the map reads."""
        arrays = range(0, len(parts), self.source.count)
        return [parts[first + k].with_slots(self.map.slots) for first in arrays for k in self.read]

    def blocks(self) -> list[tuple[int, int, list[int]]]:
        """Target, source and distances of each block. A target without entries has a block of zeros."""
        every = [(t, g.source, list(g.distances)) for t, groups in enumerate(self.map.blocks()) for g in groups]
        reached = {t for t, _, _ in every}
        return every + [(t, self.read[0], [0]) for t in range(self.target.count) if t not in reached]

    def transform(self, native: _native.Context, level: int, light: bool = False) -> _native.BlockTransform:
        """The transform without its diagonals; `encode` makes them. Its sources are those that the map reads."""
        place = {source: k for k, source in enumerate(self.read)}
        blocks = [(target, place[source], distances) for target, source, distances in self.blocks()]
        return _native.BlockTransform(native, blocks, len(place), self.target.count, self.map.slots, level, light)

    def encode(self, to: _native.BlockTransform, spent: Callable[[int], None]) -> None:
        """Encodes all diagonals, a few at a time. It calls `spent` with the bytes that the diagonals take so far."""
        matrices = self.map.matrices() if self.map.known else None
        at_once = max(1, _AT_ONCE // self.map.slots)
        blocks = self.blocks()
        with Task("encoding a linear map", sum(len(d) for _, _, d in blocks)) as step:
            for block, (target, source, distances) in enumerate(blocks):
                for first in range(0, len(distances), at_once):
                    some = distances[first : first + at_once]
                    if matrices is None:
                        to.encode_unknown(block, first, len(some))
                    else:
                        to.encode(block, first, matrices(target, moves.Group(source, tuple(some))))
                    spent(to.bytes)
                    step.advance(len(some))


def placed(name: tuple[object, ...], rows: np.ndarray, columns: np.ndarray, values: np.ndarray, source: Layout,
           target: Layout) -> Placed:
    """A map of flat values, placed between these layouts."""
    had, slots = source.slots, max(source.slots, target.slots)
    name = (*name, source.name, target.name)
    if target.slots >= had:

        def build() -> moves.Entries:
            s, t = source.places.reshape(-1)[columns], target.places.reshape(-1)[rows]
            return t, s // had * slots + s % had, values

        return Placed(moves.Map(name, slots, had, target, build), source, target)

    def build_pieces() -> moves.Entries:
        s, t = source.places.reshape(-1)[columns], target.places.reshape(-1)[rows]
        distance = (s - t) % target.slots
        return t // target.slots * slots + (s - distance) % slots, s, values

    # The layout of the pieces of the results, before rotations add them up.
    places = target.places // target.slots * slots + target.places % target.slots
    wide = Layout(target.shape, slots, target.count, places)
    return Placed(moves.Map(name, slots, slots, wide, build_pieces), source, target, slots // target.slots)


def apply(xs: Sequence[Ciphertext], way: Placed, transform: _native.BlockTransform) -> list[list[_native.Ciphertext]]:
    """The target ciphertexts of each array. All are of one level, scale and key."""
    e, slots, count = xs[0]._evaluator, way.map.slots, way.target.count
    together = max(1, int(_MAX_WORKING // max(transform.working_bytes, 1)))
    out: list[list[_native.Ciphertext]] = []
    for first in range(0, len(xs), together):
        some = xs[first : first + together]
        made = transform.apply(e, way.sources([p for x in some for p in x._parts]))
        step = way.target.slots
        while step < slots:
            made = e.inner_sum(made, step, 2)
            step *= 2
        if way.pieces > 1:
            made = [p.with_slots(way.target.slots) for p in made]
        out += [made[i : i + count] for i in range(0, len(made), count)]
    return out


def added_error(x: Ciphertext, way: Placed, part: _native.Ciphertext, rotates: bool, l2: float) -> tuple[float, float]:
    """The errors that the map adds to each result: those of the keys of rotations and of the division, and those of
    rounded weights for values of size 1."""
    params, slots, level = x.context.params, way.map.slots, x.level
    widest = max((sum(len(g.distances) for g in groups) for groups in way.map.blocks()), default=1)
    rounded = noise.encoded(slots, noise.weight_scale(params, level)) * math.sqrt(max(widest, 1) * way.pieces)
    beside = rounded * x.layout.bound if x.layout.rest == "unknown" else 0.0
    divided = (noise.multiplied if rotates else noise.rescaled)(params, level, slots, part.scale)
    keys = l2 * noise.keys_alone(params, level, slots, x.scale) if rotates else 0.0
    # Each piece has its own error, and so has each rotation that adds pieces up.
    pieces = divided * math.sqrt(way.pieces)
    summed = 0.0
    if way.pieces > 1:
        summed = noise.switched(params, part.level, way.target.slots, part.scale) * noise.doubling(way.pieces)
    return math.hypot(pieces, keys, summed, beside), rounded


def require_budget(operation: str, limit: int) -> Callable[[int], None]:
    """A function that is called with the bytes that the diagonals take, and that raises an error above the limit."""

    def spent(size: int) -> None:
        if size > limit:
            raise errors.OutOfMemoryError.explain(
                operation, f"{size:,} bytes of encoded diagonals and more to come", f"at most {limit:,}",
                "raise memory=, or take keep=False, which encodes them at each call and drops them after it")

    return spent


def encoded(ctx: Context, way: Placed, level: int, spent: Callable[[int], None],
            light: bool = False) -> _native.BlockTransform:
    """The transform with its diagonals. `light`: they are kept as integers, and expanded at each use."""
    out = way.transform(ctx._native, level, light)
    way.encode(out, spent)
    return out
