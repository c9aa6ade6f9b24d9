"""Convolutions of many channels as two maps. The first map uses slots that would otherwise only repeat values.

At gap 4 a layer of 64 channels lies in 4 planes of 1,024 slots. A convolution has 225 diagonals for each distance
between an input plane and an output plane: 900. With 16 planes in a ciphertext the first map computes all 16 pairs of
planes at once, with 225 diagonals, as the input repeats every 4 planes. The second map adds up four planes for each
output plane: 4 diagonals. It takes one more level.

In general there are P planes, and room for f times as many. Part i of the first map, from 0 to f - 1, has in plane b
what input planes p with ``(b - p) % f == 0`` contribute to output plane ``(b + i) % P``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from ..lowered import Affine, Grid, Lowered, Node
from ..packing import gaps_of, plane_of
from ..units import Scaled

_MARGIN = 1.25  # tolerance on the bound of parts for values that samples do not show, relative to the result's bound


class Split(NamedTuple):
    """How one map becomes two: the parts of the first map, the planes of input and result, and the channels of a
    plane."""

    parts: int
    planes: int
    each: int


def splittable(graph: Lowered, slots: int, images: int) -> dict[int, Split]:
    """Affine nodes that two maps can compute."""
    gaps = gaps_of(graph)
    plane = plane_of(gaps)
    out = {}
    for i, node in enumerate(graph.nodes):
        found = gaps[i]
        if node.op != "affine" or node.like is not None or node.packed is not None or found is None:
            continue
        m, before = node.maps[0], gaps[node.inputs[0]]
        grid, gap = found
        if m.grids is None or before is None or m.stride != (1, 1) or before != (m.grids[0], gap) or grid != m.grids[1]:
            continue
        each = gap[0] * gap[1]
        planes, rest = divmod(grid.channels, each)
        same = before[0] == grid and not rest and planes & (planes - 1) == 0
        parts = min(planes, slots // max(1, images * planes * plane[0] * plane[1]))
        if same and parts > 1 and m.nnz > 2 * m.size_out:
            out[i] = Split(parts, planes, each)
    return out


class Splitting:
    """Splits nodes of a network. What it computes is kept for the next choice of nodes.

    ``samples``: inputs, from which bounds of parts are taken.
    """

    def __init__(self, network: Scaled, samples: np.ndarray) -> None:
        self._network, self._samples = network, samples
        self._known: dict[tuple[int, Split], tuple[Node, Node, float]] = {}

    @cached_property
    def _values(self) -> list[np.ndarray]:
        graph, x = self._network.graph, self._samples
        first = graph.inputs[0]
        shaped = x.reshape(len(x), *graph.nodes[first].shape)
        return [v.reshape(len(x), -1) for v in graph.values(shaped / self._network.units[first], check=False)]

    def split(self, chosen: dict[int, Split]) -> Scaled:
        """The network with these nodes in two maps."""
        network, graph = self._network, self._network.graph
        nodes: list[Node] = []
        units: list[float] = []
        at: list[int] = []
        known = dict(graph.facts.get("units", {}))
        for i, (node, unit) in enumerate(zip(graph.nodes, network.units)):
            inputs = tuple(at[j] for j in node.inputs)
            node = replace(node, inputs=inputs, like=None if node.like is None else at[node.like])
            if i in chosen:
                one, two, factor = self._two(i, chosen[i])
                part = replace(one, inputs=inputs[:1])
                node = replace(node, inputs=(len(nodes), *inputs[1:]), maps=two.maps)
                nodes.append(part)
                units.append(unit * factor)
                if node.name in known:
                    known[part.name] = known[node.name]
            nodes.append(node)
            units.append(unit)
            at.append(len(nodes) - 1)
        return Scaled(Lowered(tuple(nodes), at[graph.output], {**graph.facts, "units": known}), tuple(units))

    def _two(self, i: int, split: Split) -> tuple[Node, Node, float]:
        """Both nodes, whose inputs are to be set, and the number by which the values of the first one are divided."""
        if (i, split) not in self._known:
            graph = self._network.graph
            node = graph.nodes[i]
            values = [self._values[j] for j in (node.inputs[0], i)]
            self._known[i, split] = _two(node, split, graph.nodes[node.inputs[0]].bound, values)
        return self._known[i, split]


def _two(node: Node, split: Split, bound: float, values: Sequence[np.ndarray]) -> tuple[Node, Node, float]:
    """Both nodes, whose inputs are to be set, and the number by which the values of the first one are divided."""
    parts, planes, each = split
    m = node.maps[0]
    assert m.grids is not None
    grid = m.grids[0]
    size = grid.height * grid.width
    wide = Grid(parts * grid.channels, grid.height, grid.width)
    channel, place = np.divmod(m.rows, size)
    target, inner = np.divmod(channel, each)
    source = m.columns // size // each
    part = (target - source) % planes % parts
    rows = ((part * planes + (target - part) % planes) * each + inner) * size + place
    one = Affine(rows, m.columns, m.values, m.size_in, wide.size, grids=(grid, wide))
    # Map two: a result is the sum over the parts of the plane that holds it in that part.
    c, p = np.divmod(np.arange(grid.size), size)
    t, k = np.divmod(c, each)
    from_ = np.concatenate([((i * planes + (t - i) % planes) * each + k) * size + p for i in range(parts)])
    two = Affine(np.tile(np.arange(grid.size), parts), from_, np.ones(from_.size), wide.size, grid.size,
                 grids=(wide, grid))
    largest = np.abs(values[1]).max()
    l1 = float(np.bincount(one.rows, np.abs(one.values), wide.size).max()) * bound
    seen = float(np.abs(one.apply(values[0])).max())
    factor = min(l1, _MARGIN * node.bound * seen / largest) if largest else l1
    shape = (wide.channels, *node.shape[1:])
    name = f"{node.name}.parts"
    return (Node(name, "affine", node.inputs[:1], shape, maps=(one.scaled(1 / factor),), bound=1.0, layer=node.layer),
            replace(node, maps=(two.scaled(factor), *node.maps[1:])), factor)
