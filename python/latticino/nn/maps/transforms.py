"""Affine maps as diagonals between the packings of two nodes, and the maps that bring operands into one packing."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ... import _native
from ...claims import noise
from ...common.layout import Layout
from ...common.naming import named
from ...linear import placement
from ...ops import moves
from ..lowered import Affine, Lowered, Node
from ..packing import Packing, packings, renames

if TYPE_CHECKING:
    from ...ckks.ciphertext import Ciphertext

_MAX_WORKING = 2 << 30  # bytes of rotated ciphertexts while several groups of images go through a map together


def with_moves(graph: Lowered, slots: int, images: int = 1, groups: int = 1, filled: bool = False) -> Lowered:
    """The graph with a map before each sum and product whose operands lie in different slots. Products of matrices are
    those that `products.arranged` has made."""
    while True:
        packed = packings(graph, slots, images, groups, filled)
        odd = next((i for i, n in enumerate(graph.nodes) if n.op in ("add", "sub", "mul")
                    and not packed[n.inputs[0]].layout.same(_as(packed[n.inputs[1]], packed[n.inputs[0]]))), None)
        if odd is None:
            return graph
        graph = _with_move(graph, odd, packed)


def _as(packing: Packing, other: Packing) -> Layout:
    """The layout with the same addresses and the shape of another layout."""
    old = packing.layout
    return Layout(other.layout.shape, old.slots, old.count, old.places.reshape(other.layout.shape))


def _with_move(graph: Lowered, at: int, packed: Sequence[Packing]) -> Lowered:
    """The graph in which one operand of node `at` is moved by a map to the slots of the other. It is the operand that
    is cheaper to move."""
    a, b = graph.nodes[at].inputs
    identity = Affine.identity(graph.nodes[a].size)
    _, moving, still = min((Transform(identity, packed[m], packed[s]).cost, m, s) for m, s in ((b, a), (a, b)))
    source = graph.nodes[moving]
    alone = graph.users[moving] == [at] and moving != graph.output
    if graph.products and alone and source.op == "affine" and source.packed is None and source.like is None \
            and still < moving and not renames(source):
        nodes: list[Node] = list(graph.nodes)
        nodes[moving] = replace(source, like=still)
        return Lowered(tuple(nodes), graph.output, graph.facts)
    move = Node(f"{graph.nodes[at].name}.move{moving}", "affine", (moving,), source.shape, maps=(identity,),
                bound=source.bound, like=still,
                layer=graph.nodes[at].layer if graph.nodes[at].op == "mul" else source.layer)
    nodes = []
    for i, n in enumerate(graph.nodes):
        inputs = tuple(j + (j >= at) for j in n.inputs)
        if i == at:
            nodes.append(move)
            inputs = tuple(at if j == moving else j for j in n.inputs)
        like = None if n.like is None else n.like + (n.like >= at)
        nodes.append(replace(n, inputs=inputs, like=like))
    return Lowered(tuple(nodes), graph.output + (graph.output >= at), graph.facts)


class Transform:
    """An affine map from one packing to another: a sparse map of slots, then sums of ``fold`` slots.

    ``source`` and ``target`` are those of one group of images; every group goes through the same map.
    """

    def __init__(self, affine: Affine, source: Packing, target: Packing) -> None:
        self.affine, self.groups, self._result = affine, target.groups, target.layout
        source, target = self.source, self.target = source.one, target.one
        folded = target.count == 1 and target.slots < source.slots
        self.fold = source.slots // target.slots if folded else 1
        self.map = self._folded() if folded else self._direct()

    @cached_property
    def name(self) -> tuple[str, str]:
        digest = hashlib.sha256(self.source.layout.name + self.target.layout.name + self.affine.digest)
        if self.target.index is not None:
            digest.update(np.ascontiguousarray(self.target.index).data)
        return "affine", digest.hexdigest()

    @property
    def diagonals(self) -> int:
        return 0 if self.turns else self.map.diagonals

    @property
    def cost(self) -> float:
        """The number of diagonals and rotations, by which alternatives are compared."""
        return self.diagonals + 8 * self.map.keys + 2 * math.log2(self.fold)

    @cached_property
    def signature(self) -> tuple[object, ...]:
        """The properties that decide the cost."""
        # The cost does not depend on which ciphertexts are read, only on how many: they are numbered in order of use.
        met: dict[int, int] = {}
        groups = tuple(tuple((met.setdefault(g.source, len(met)), g.distances, g.first) for g in several)
                       for several in self.map.groups())
        return self.map.slots, self.fold, self.turns, groups, self.groups

    def _entries(self) -> moves.Entries:
        """Addresses of all results and of their inputs, for all images."""
        images, m = self.target.layout.shape[0], self.affine
        rows, columns, values = m.rows, m.columns, m.values
        if self.target.index is not None:  # each row of the map is repeated as often as its value occurs
            counts = np.bincount(rows, minlength=m.size_out)
            each = counts[self.target.index]
            rows = np.repeat(np.arange(each.size), each)
            at = (np.cumsum(counts) - counts)[self.target.index][rows]
            at = at + np.arange(rows.size) - (np.cumsum(each) - each)[rows]
            columns, values = columns[at], values[at]
        t = self.target.layout.places.reshape(images, -1).take(rows, 1)
        s = self.source.layout.places.reshape(images, -1).take(columns, 1)
        weights = np.broadcast_to(values, t.shape)
        if not t.size:  # the map has only zeros
            return np.zeros(1, int), np.zeros(1, int), np.zeros(1)
        return t.reshape(-1), s.reshape(-1), weights.reshape(-1)

    def _direct(self) -> moves.Map:
        """The map with results in their own slots. There are as many slots as the input has, or more; over these the
        input repeats."""
        period, slots = self.source.slots, self.target.slots

        def build() -> moves.Entries:
            t, s, w = self._entries()
            return t, s // period * slots + s % period, w

        return moves.Map((*self.name, "direct"), slots, period, self.target.layout, build)

    def _folded(self) -> moves.Map:
        """The map to parts of results, in as many slots as the input has. A part of result t lies in a slot that is t
        modulo the slots of the result, at the nearest distance."""
        slots, own = self.source.slots, self.target.slots

        def build() -> moves.Entries:
            t, s, w = self._entries()
            return (s - (s - t) % own) % slots, s, w

        return moves.Map((*self.name, "folded"), slots, slots, self.target.layout.widened(slots), build)

    @cached_property
    def turns(self) -> tuple[tuple[int, int], ...] | None:
        """For each target ciphertext its source and a distance, if the map only rotates: every slot
        of the target takes one value of the source as it is. None for other maps."""
        t = self.target.layout
        if self.target.index is not None or self.source.slots != t.slots or not (
                self.affine.selects and t.full and t.injective):
            return None
        groups = self.map.groups()
        if any(len(g) != 1 or len(g[0].distances) != 1 for g in groups):
            return None
        return tuple((g[0].source, (g[0].first + g[0].distances[0]) % t.slots) for g in groups)

    def _turned(self, x: Ciphertext) -> Ciphertext:
        e, params, first = x._evaluator, x.context.params, x._parts[0]
        assert self.turns is not None
        at = range(0, len(x._parts), self.source.count)
        parts = [e.rotate(x._parts[g + i], d) if d else x._parts[g + i] for g in at for i, d in self.turns]
        added = noise.switched(params, first.level, self.target.slots, first.scale)
        return x._like(parts, x._known.mapped(self._of_sample, 1.0, 1.0, True, added, 0.0), layout=self._result)

    def apply(self, x: Ciphertext, level: int, light: bool = False, gain: float | None = None) -> Ciphertext:
        """The result for an array in the source packing, brought to `level`. It is one level below, or at that level if
        the map only rotates. `light`: weights are kept as integers, and expanded at each use. `gain`: by which the
        claim counts `error_before`; None for the gain of the weights of any one result."""
        x = self.lowered(x, level)
        if self.turns is not None:
            return self._turned(x)
        context = x.context
        made = self.map.unknown() if context._without_data else self.map
        l1, l2 = self.norms
        gain = (l2 if gain is None else gain) / math.sqrt(self.fold)  # each piece has only some of a result's weights
        if self._blocked:
            parts, added, rounded = self._in_blocks(x, made, light, gain)
        else:
            self.map.require_possible("matmul")
            parts, added, rounded = moves.apply(x, x._parts, made, "matmul", gain, light)
        slots, own = self.map.slots, self.target.slots
        params = context.params
        if self.fold > 1:
            parts = moves.windows(x._evaluator, parts, own, self.fold, slots)
            switched = noise.switched(params, parts[0].level, own, parts[0].scale)
            added = math.hypot(added * math.sqrt(self.fold), switched * noise.doubling(self.fold))
            rounded *= math.sqrt(self.fold)
            parts = [p.with_slots(own) for p in parts]
        known = x._known if slots <= x.slots else x._known.repeated(x.size, math.sqrt(slots / x.slots))
        scale = noise.weight_scale(params, x.level)
        alike, common = self.map.alike(x.layout, scale, own, self.fold), self.map.common_error(x.layout, scale)
        known = known.mapped(self._of_sample, l1, l2, True, added, rounded, alike)
        known = known.with_common_error(x._known, common * self.fold)
        return x._like(parts, known, layout=self._result)

    @cached_property
    def _read(self) -> list[int]:
        """The ciphertexts of the source that the map reads."""
        used = {i for i, _ in self.turns} if self.turns is not None else {
            g.source for groups in self.map.blocks() for g in groups}
        return sorted(used) or [0]

    def lowered(self, x: Ciphertext, level: int) -> Ciphertext:
        """x at a level. Only what the map reads is brought down, and stands where the rest would: a recurrent
        network reads one ciphertext of all words at each step."""
        read = [g + i for g in range(0, len(x._parts), self.source.count) for i in self._read]
        if level >= x.level or len(read) == len(x._parts) or x.context._debugger is not None:
            return x if x.level == level else x.to_level(level)
        where = x.layout
        made = _native.Contents([x._parts[k] for k in read], x._known, where.rest, where.bound, where.number).lowered(
            x._evaluator, level)
        parts = [made.parts[0]] * len(x._parts)
        for k, part in zip(read, made.parts):
            parts[k] = part
        rest: Any = made.rest
        return x._like(parts, made.known, layout=where.with_rest(*rest))

    def _in_blocks(self, x: Ciphertext, m: moves.Map, light: bool,
                   gain: float) -> tuple[list[_native.Ciphertext], float, float]:
        """The result for several ciphertexts. Each is rotated once for all targets that it adds to, as in
        `moves.apply`."""
        context, params, slots, level = x.context, x.context.params, m.slots, x.level
        way = placement.Placed(m, self.source.layout, m.target)
        make = partial(placement.encoded, context, way, level, lambda _: None, light)
        made = context._products.get((*m.name, "blocks", level, light), make)
        sources, parts = way.sources(x._parts), []
        step = len(way.read) * max(1, _MAX_WORKING // max(made.working_bytes, 1))
        with named("matmul", "matmul"):
            for first in range(0, len(sources), step):
                parts += made.apply(x._evaluator, sources[first : first + step])
        blocks = [groups for groups in m.blocks() if groups]
        widest = max((sum(len(g.distances) for g in groups) for groups in blocks), default=1)
        rounded = noise.encoded(slots, noise.weight_scale(params, level)) * math.sqrt(widest)
        divided = (noise.multiplied if self._rotates else noise.rescaled)(params, level, slots, parts[0].scale)
        return parts, math.hypot(divided, gain * self.error_before(params, level, x.scale)), rounded

    def error_before(self, params: _native.Params, level: int, scale: float) -> float:
        """The error that rotations leave in each value before a weight multiplies it."""
        if self.turns is not None:
            return 0.0
        if not self._blocked:
            return moves.error_before(params, self.map, level, scale)
        return noise.keys_alone(params, level, self.map.slots, scale) if self._rotates else 0.0

    @cached_property
    def _rotates(self) -> bool:
        return moves.turns(self.map.blocks())

    @property
    def _blocked(self) -> bool:
        return self.groups * self.source.count * self.map.count > 1

    @cached_property
    def norms(self) -> tuple[float, float]:
        """For the weights of one result: the largest sum of their sizes, and the largest root of the sum of their
        squares."""
        rows, values = self.affine.rows, self.affine.values
        l1 = np.bincount(rows, np.abs(values), self.affine.size_out).max()
        return float(l1), float(self.affine.gains.max())

    def _of_sample(self, row: np.ndarray) -> np.ndarray:
        flat = row.reshape(self._result.shape[0], -1)
        out = self.target.entries(self.affine.apply(flat.real) + 1j * self.affine.apply(flat.imag))
        return out.reshape(self._result.shape)


def transform(affine: Affine, source: Packing, target: Packing,
              known: dict[tuple[object, ...], Transform] | None) -> Transform:
    """The transform, or the one of `known` that is the same."""
    if known is None or target.index is not None:
        return Transform(affine, source, target)
    key = (affine.digest, source.groups, source.layout.name, target.groups, target.layout.name)
    if key not in known:
        known[key] = Transform(affine, source, target)
    return known[key]
