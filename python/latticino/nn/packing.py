"""Where the values of each node lie in the slots, and affine maps as diagonals between two such layouts.

An image of 16 channels of 32 x 32 pixels lies plane by plane. After a convolution of stride 2 each plane holds the
pixels of four channels: channel c, row i, column j lies in plane c // 4, row 2 i + c % 4 // 2, column 2 j + c % 2. The
*gap* is 2 then. Distances between a pixel and its neighbours are the same as before, so that a convolution has few
diagonals: (2 (g (k // 2) + g - 1) + 1)^2 for each plane, for kernels of k x k at gap g (Lee et al., ICML 2022).

Several images lie side by side: value a of image b of n in slot a n + b. All distances are n times as large, and there
are as many of them. What takes fewer slots than a ciphertext has repeats; distances count modulo the fewer slots of
input and result, and a result with fewer slots is added up by rotations.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from ..claims import noise
from ..common.layout import Layout
from ..linear.arranged import Arrangement, Side, with_images
from ..ops import moves
from .lowered import Affine, Grid, Lowered, Node

if TYPE_CHECKING:
    from ..ckks.ciphertext import Ciphertext

Gap = tuple[int, int]


@dataclass(frozen=True, eq=False)
class Packing:
    """The layout of a node, of shape (images, *shape of the node). ``gap``: of grids of pixels, else None.

    ``index``: of a factor of a product of matrices, whose values lie in several slots each: the layout is of shape
    (images, entries) then, and this says which value each entry is.
    """

    layout: Layout
    gap: Gap | None = None
    grid: Grid | None = None
    index: np.ndarray | None = None

    @property
    def slots(self) -> int:
        """Slots of each ciphertext."""
        return self.layout.slots

    @property
    def count(self) -> int:
        """Ciphertexts."""
        return self.layout.count

    @property
    def text(self) -> str:
        """In words, for tables."""
        several = f"{self.count} x " if self.count > 1 else ""
        what = f"gap {self.gap[0]}x{self.gap[1]}" if self.gap else "in a row" if self.layout.is_plain else "rows"
        if self.index is not None:
            what = "repeated rows"
        return f"{several}{self.slots} slot{'s' * (self.slots > 1)}, {what}"

    def same(self, other: Packing) -> bool:
        return self.layout.same(other.layout)

    def entries(self, values: np.ndarray) -> np.ndarray:
        """Of values of shape (..., size of the node) those that lie in the slots, in their order."""
        return values if self.index is None else values[..., self.index]


def packings(graph: Lowered, slots: int, images: int = 1) -> list[Packing]:
    """A packing for each node, in ciphertexts of up to `slots` slots.

    Sums and products have inputs of one packing where `with_moves` has made the graph.
    """
    gaps = gaps_of(graph)
    plane = plane_of(gaps)
    lengths = {graph.nodes[i].shape[-2] for i in graph.products}
    out: list[Packing] = []
    for node, found in zip(graph.nodes, gaps):
        if node.packed is not None:
            out.append(of_product(node, *node.packed, images))
        elif node.op in ("add", "sub", "mul", "polynomial") or node.like is not None:
            out.append(_shaped(out[node.inputs[0] if node.like is None else node.like], node, images))
        elif renames(node):
            out.append(_renamed(out[node.inputs[0]], node, images))
        elif node.op == "affine" and _keeps(graph, node):
            out.append(_shaped(out[node.inputs[0]], node, images))
        elif len(node.shape) > 1 and node.shape[-2] in lengths:
            out.append(Packing(_layout(_columns(node.shape), node, slots, images)))
        elif found is None:
            out.append(Packing(_layout(np.arange(node.size), node, slots, images)))
        else:
            out.append(Packing(_layout(_places(*found, plane), node, slots, images), found[1], found[0]))
    return out


def of_product(node: Node, how: Arrangement, side: Side, images: int) -> Packing:
    """Of a product of matrices, or one of its factors."""
    layout, index = with_images(how, images).layout(side)
    if index is not None:
        return Packing(layout, index=index)
    return _shaped(Packing(layout), node, images)


def _columns(shape: tuple[int, ...]) -> np.ndarray:
    """Addresses of matrices, column by column: affine maps of rows have few diagonals, those of products too."""
    *lead, rows, columns = shape
    step = 1 << (rows - 1).bit_length()
    column = np.arange(math.prod(lead) * columns).reshape(-1, 1, columns)
    return np.asarray(column * step + np.arange(rows)[:, None]).reshape(-1)


def _keeps(graph: Lowered, node: Node) -> bool:
    """Whether an affine node reads a product of matrices and has its shape: then it stays where that lies."""
    first = graph.nodes[node.inputs[0]]
    while first.op in ("polynomial", "mul", "add", "sub") and first.shape == node.shape:
        first = graph.nodes[first.inputs[0]]
    return first.op == "matmul" and first.packed is not None and first.shape == node.shape


def renames(node: Node) -> bool:
    """Whether a node is its input in another order: no ciphertext is touched."""
    if node.like is not None or node.packed is not None or node.bias is not None:
        return False
    return len(node.maps) == 1 and node.maps[0].permutes


def gaps_of(graph: Lowered) -> list[tuple[Grid, Gap] | None]:
    """For each node the grid that it is packed as, and its gap; None for a vector."""
    wanted: dict[int, Grid] = {}
    for node in graph.nodes:
        for i, m in zip(node.inputs, node.maps):
            if m.grids is not None:
                wanted.setdefault(i, m.grids[0])
    out: list[tuple[Grid, Gap] | None] = []
    for i, node in enumerate(graph.nodes):
        inputs = [out[j] for j in (node.inputs if node.like is None else (node.like,))]
        out.append(inputs[0] if node.like is not None else _gap_of(node, inputs, wanted.get(i)))
    return out


def _gap_of(node: Node, inputs: Sequence[tuple[Grid, Gap] | None], wanted: Grid | None) -> tuple[Grid, Gap] | None:
    if node.op in ("add", "sub", "mul", "polynomial"):
        return inputs[0]
    if node.op == "affine":
        for m, found in zip(node.maps, inputs):
            if m.grids is not None and found is not None and found[0] == m.grids[0] and min(m.stride) >= 1:
                return m.grids[1], (found[1][0] * m.stride[0], found[1][1] * m.stride[1])
        grid = next((m.grids[1] for m in node.maps if m.grids is not None), wanted)
        return None if grid is None else (grid, (1, 1))
    return None if wanted is None else (wanted, (1, 1))


def plane_of(gaps: Sequence[tuple[Grid, Gap] | None]) -> tuple[int, int]:
    """Height and width of the planes of all grids: powers of two that the widest one fits into."""
    found = [f for f in gaps if f is not None]
    height = max((g.height * gap[0] for g, gap in found), default=1)
    width = max((g.width * gap[1] for g, gap in found), default=1)
    return 1 << (height - 1).bit_length(), 1 << (width - 1).bit_length()


def _places(grid: Grid, gap: Gap, plane: tuple[int, int]) -> np.ndarray:
    """The address of each value of one image."""
    (gh, gw), (height, width) = gap, plane
    c, i, j = np.meshgrid(*map(np.arange, (grid.channels, grid.height, grid.width)), indexing="ij")
    inner = c % (gh * gw)
    row, column = gh * i + inner // gw, gw * j + inner % gw
    return np.asarray((c // (gh * gw) * height + row) * width + column).reshape(-1)


def _layout(places: np.ndarray, node: Node, slots: int, images: int) -> Layout:
    every = places * images + np.arange(images)[:, None]
    end = int(every.max()) + 1
    own = min(slots, 1 << (end - 1).bit_length())
    shape = (images, *node.shape)
    return Layout(shape, own, -(-end // own), every.reshape(shape))


def _shaped(packing: Packing, node: Node, images: int) -> Packing:
    old = packing.layout
    shape = (images, *node.shape)
    if old.shape == shape:
        return packing
    return Packing(Layout(shape, old.slots, old.count, old.places.reshape(shape)), packing.gap, packing.grid)


def _renamed(packing: Packing, node: Node, images: int) -> Packing:
    old, shape = packing.layout, (images, *node.shape)
    places = old.places.reshape(images, -1)[:, node.maps[0].columns].reshape(shape)
    return Packing(Layout(shape, old.slots, old.count, places))


def with_moves(graph: Lowered, slots: int, images: int = 1) -> Lowered:
    """The graph with a map before each sum and product whose operands lie in different slots. Products of matrices are
    those that `products.arranged` has made."""
    while True:
        packed = packings(graph, slots, images)
        odd = next((i for i, n in enumerate(graph.nodes) if n.op in ("add", "sub", "mul")
                    and not packed[n.inputs[0]].layout.same(_as(packed[n.inputs[1]], packed[n.inputs[0]]))), None)
        if odd is None:
            return graph
        graph = _with_move(graph, odd, packed)


def _as(packing: Packing, other: Packing) -> Layout:
    """The layout of the same addresses in the shape of another one."""
    old = packing.layout
    return Layout(other.layout.shape, old.slots, old.count, old.places.reshape(other.layout.shape))


def _with_move(graph: Lowered, at: int, packed: Sequence[Packing]) -> Lowered:
    """One operand of node `at` comes through a map into the slots of the other: the cheaper one."""
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


# ---- maps ----


class _Skeleton(moves.Map):
    """Of a map only which diagonals it has: for runs without data, which encode nothing."""

    def __init__(self, of: moves.Map) -> None:
        self.__dict__.update(of.__dict__)

    def matrices(self) -> Callable[[int, moves.Group], np.ndarray]:
        def of(target: int, group: moves.Group) -> np.ndarray:
            out = np.zeros((len(group.distances), self.slots), complex)
            out[:, 0] = 1
            return out

        return of


class Transform:
    """An affine map from one packing to another: a sparse map of slots, then sums of ``fold`` slots."""

    def __init__(self, affine: Affine, source: Packing, target: Packing) -> None:
        self.affine, self.source, self.target = affine, source, target
        folded = target.count == 1 and target.slots < source.slots
        self.fold = source.slots // target.slots if folded else 1
        self.map = self._folded() if folded else self._direct()

    @cached_property
    def name(self) -> tuple[str, str]:
        digest = hashlib.sha256(self.source.layout.name + self.target.layout.name)
        index = () if self.target.index is None else (self.target.index,)
        for array in (self.affine.rows, self.affine.columns, self.affine.values, *index):
            digest.update(np.ascontiguousarray(array).data)
        return "affine", digest.hexdigest()

    @property
    def diagonals(self) -> int:
        return 0 if self.turns else self.map.diagonals

    @property
    def cost(self) -> float:
        """Diagonals and rotations, to compare ways."""
        return self.diagonals + 8 * self.map.keys + 2 * math.log2(self.fold)

    @property
    def signature(self) -> tuple[object, ...]:
        """What decides the cost."""
        # Which of the input's ciphertexts it reads makes no difference: they are counted as they are met.
        met: dict[int, int] = {}
        groups = tuple(tuple((met.setdefault(g.source, len(met)), g.distances, g.first) for g in several)
                       for several in self.map.groups())
        return self.map.slots, self.fold, self.turns, groups

    def _entries(self) -> moves.Entries:
        """Addresses of all results and of their inputs, for all images."""
        images, m = self.target.layout.shape[0], self.affine
        rows, columns, values = m.rows, m.columns, m.values
        if self.target.index is not None:  # each row of the map as often as its value is there
            counts = np.bincount(rows, minlength=m.size_out)
            each = counts[self.target.index]
            rows = np.repeat(np.arange(each.size), each)
            at = (np.cumsum(counts) - counts)[self.target.index][rows]
            at = at + np.arange(rows.size) - (np.cumsum(each) - each)[rows]
            columns, values = columns[at], values[at]
        t = self.target.layout.places.reshape(images, -1)[:, rows]
        s = self.source.layout.places.reshape(images, -1)[:, columns]
        weights = np.broadcast_to(values, t.shape)
        if not t.size:  # a map of zeros
            return np.zeros(1, int), np.zeros(1, int), np.zeros(1)
        return t.reshape(-1), s.reshape(-1), weights.reshape(-1)

    def _direct(self) -> moves.Map:
        """Results in their own slots: as many as the input has, or more, over which it repeats."""
        period, slots = self.source.slots, self.target.slots

        def build() -> moves.Entries:
            t, s, w = self._entries()
            return t, s // period * slots + s % period, w

        return moves.Map((*self.name, "direct"), slots, period, self.target.layout, build)

    def _folded(self) -> moves.Map:
        """Parts of results in as many slots as the input has; a part of result t in a slot that is t modulo the slots
        of the result, at the nearest distance."""
        slots, own = self.source.slots, self.target.slots

        def build() -> moves.Entries:
            t, s, w = self._entries()
            return (s - (s - t) % own) % slots, s, w

        return moves.Map((*self.name, "folded"), slots, slots, self.target.layout.widened(slots), build)

    @cached_property
    def turns(self) -> tuple[tuple[int, int], ...] | None:
        """For each target ciphertext its source and a distance, where rotating is all that there is to do: every slot
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
        parts = [e.rotate(x._parts[i], d) if d else x._parts[i] for i, d in self.turns]
        added = noise.switched(params, first.level, self.target.slots, first.scale)
        return x._like(parts, x._known.mapped(self._of_sample, 1.0, 1.0, True, added, 0.0), layout=self.target.layout)

    def apply(self, x: Ciphertext, level: int) -> Ciphertext:
        """The map of an array in the source packing, at `level`: one level below it, or at it where it rotates."""
        x = x if x.level == level else x.to_level(level)
        if self.turns is not None:
            return self._turned(x)
        context = x.context
        self.map.require_possible("matmul")
        made = _Skeleton(self.map) if context._without_data else self.map
        l1, l2 = self.norms
        parts, added, rounded = moves.apply(x, x._parts, made, "matmul", l2)
        slots, own = self.map.slots, self.target.slots
        params = context.params
        if self.fold > 1:
            parts = moves.windows(x._evaluator, parts, own, self.fold, slots)
            switched = noise.switched(params, parts[0].level, own, parts[0].scale)
            added = math.hypot(added * math.sqrt(self.fold), switched * noise.doubling(self.fold))
            rounded *= math.sqrt(self.fold)
            parts = [p.with_slots(own) for p in parts]
        known = x._known if slots <= x.slots else x._known.repeated(x.size, math.sqrt(slots / x.slots))
        known = known.mapped(self._of_sample, l1, l2, True, added, rounded)
        return x._like(parts, known, layout=self.target.layout)

    @cached_property
    def norms(self) -> tuple[float, float]:
        """Largest sums of sizes and root of sums of squares of the weights of one result."""
        rows, values = self.affine.rows, self.affine.values
        l1 = np.bincount(rows, np.abs(values), self.affine.size_out).max()
        return float(l1), math.sqrt(np.bincount(rows, values**2, self.affine.size_out).max())

    def _of_sample(self, row: np.ndarray) -> np.ndarray:
        flat = row.reshape(self.target.layout.shape[0], -1)
        out = self.target.entries(self.affine.apply(flat.real) + 1j * self.affine.apply(flat.imag))
        return out.reshape(self.target.layout.shape)
