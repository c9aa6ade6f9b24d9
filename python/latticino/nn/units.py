"""Units of a lowered graph that is compiled: what a ciphertext holds is a value of the graph divided by the unit of its
node. (Lowering has divided the values of the model before: see `divisors`.)

With units near the largest values everything lies within -1 and 1, as bootstrapping needs it. Units cost no level: they
become factors of the weights of affine maps and of the coefficients of polynomials. Operands and results of a sum have
one unit; that of a product is the product of its factors' units. The unit of the result is 1 if its values are of
ordinary size. Otherwise it is a power of two, because very large values would not fit the modulus, and very small ones
would be lost in the error.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from .lowered import PRODUCTS, Affine, Lowered, Node, Series
from .packing import renames

_ROUNDED = 1e-9  # relative tolerance
_ORDINARY = 2.0**5  # results up to this size, or down to its inverse, are decrypted as they are


@dataclass(frozen=True)
class Scaled:
    """A graph whose values are those of another one, divided by ``units`` (of each node)."""

    graph: Lowered
    units: tuple[float, ...]

    @property
    def before(self) -> tuple[float, ...]:
        """The divisors by which lowering has divided the values of each node (`divisors`)."""
        known = self.graph.facts.get("units", {})
        out: list[float] = []
        for node in self.graph.nodes:  # nodes that the planner inserted have the values of their input
            out.append(float(known.get(node.name, out[node.inputs[0]] if node.inputs else 1.0)))
        return tuple(out)

    @property
    def shown(self) -> tuple[float, ...]:
        """The units in which messages state values: those of the user's model."""
        return tuple(a * b for a, b in zip(self.units, self.before))


def scaled(graph: Lowered) -> Scaled:
    """The graph in units of its own. It has additional factors if products meet in a sum, and behind a result whose
    unit something else decides."""
    if not _is_free(graph, graph.output):
        graph = _with_factor(graph, graph.output)
    units = _units(graph)
    while isinstance(units, int):
        graph = _with_factor(graph, units)
        units = _units(graph)
    nodes: list[Node] = []
    for i, node in enumerate(graph.nodes):
        own, before = units[i], [units[j] for j in node.inputs]
        node = replace(node, bound=node.bound / own)
        if node.op == "affine":
            node = replace(node, maps=tuple(m if u == own else m.scaled(u / own) for m, u in zip(node.maps, before)),
                           bias=None if node.bias is None else np.asarray(node.bias, float) / own)
        elif node.op == "matmul" and node.bias is not None:
            node = replace(node, bias=node.bias / own)
        elif node.series is not None:
            node = replace(node, series=_snapped(node.series.scaled(before[0], 1 / own)))
        nodes.append(node)
    return Scaled(Lowered(tuple(nodes), graph.output, graph.facts), tuple(units))


def _snapped(series: Series) -> Series:
    """The series with ends that an integer brings exactly to -1 and 1, if its ends are near these. This takes no
    level."""
    low, high = series.domain
    k, centre = round(2 / (high - low)), (low + high) / 2
    if k < 1 or abs(k * (high - low) / 2 - 1) > _ROUNDED:
        return series
    centre = 0.0 if abs(centre) < _ROUNDED else centre
    ends = centre - 1 / k, centre + 1 / k
    return Series(series.coefficients, ends) if 2 / (ends[1] - ends[0]) == k else series


class _Classes:
    """Nodes that share a unit: operands and results of sums, and renamed values."""

    def __init__(self, graph: Lowered) -> None:
        self._parent = list(range(len(graph.nodes)))
        for i, node in enumerate(graph.nodes):
            if node.op in ("add", "sub") or renames(node):
                for j in node.inputs:
                    self._parent[self.of(j)] = self.of(i)

    def of(self, i: int) -> int:
        while self._parent[i] != i:
            i = self._parent[i]
        return i

    def members(self) -> dict[int, list[int]]:
        out: dict[int, list[int]] = {}
        for i in range(len(self._parent)):
            out.setdefault(self.of(i), []).append(i)
        return out


def _is_free(graph: Lowered, i: int) -> bool:
    """Whether no other node decides the unit of node i."""
    alone = len(_Classes(graph).members()[_Classes(graph).of(i)]) == 1
    return alone and not graph.users[i] and graph.nodes[i].op in ("affine", "polynomial")


def _with_factor(graph: Lowered, after: int) -> Lowered:
    """The graph with an identity map behind a node, which all users of the node read."""
    node = graph.nodes[after]
    at = after + 1
    new = Node(f"{node.name}.unit", "affine", (after,), node.shape, maps=(Affine.identity(node.size),),
               bias=np.zeros(node.size), bound=node.bound, layer=node.layer, like=after)
    moved = [replace(n, inputs=tuple(at if j == after else j + (j >= at) for j in n.inputs),
                     like=None if n.like is None else n.like + (n.like >= at)) for n in graph.nodes[at:]]
    output = at if graph.output == after else graph.output + (graph.output >= at)
    return Lowered((*graph.nodes[:at], new, *moved), output, graph.facts)


def _free_factor(graph: Lowered, i: int, users: Sequence[Sequence[int]],
                 classes: dict[int, list[int]]) -> int | None:
    """The factor of a product whose unit nothing else decides."""
    alone = {members[0] for members in classes.values() if len(members) == 1}
    # A factor of a matrix product always comes from an affine map. A square with another unit would take a level more.
    kinds = ("affine",) if graph.nodes[i].op == "matmul" else ("affine", "polynomial")
    for j in reversed(graph.nodes[i].inputs):
        if j in alone and users[j] == [i] and j != graph.output and graph.nodes[j].op in kinds:
            return j
    return None


def _units(graph: Lowered) -> list[float] | int:
    """The unit of each node. If a sum needs another unit for a product than its factors give, that product instead."""
    classes = _Classes(graph)
    members, users = classes.members(), graph.users
    free = {i: _free_factor(graph, i, users, members) for i, n in enumerate(graph.nodes) if n.op in PRODUCTS}
    units = {root: _wanted(graph, several, users) for root, several in members.items()}
    units[classes.of(graph.output)] = _unit_of_result(graph.nodes[graph.output].bound)
    settled = set()  # classes whose unit was already used, or that a product decides
    for i, j in free.items():
        if j is None:
            a, b, own = (classes.of(k) for k in (*graph.nodes[i].inputs, i))
            product = units[a] * units[b]
            settled |= {a, b}
            if own in settled and abs(units[own] / product - 1) > _ROUNDED:
                return i
            units[own] = product
            settled.add(own)
    for i, j in free.items():
        if j is not None:
            other = next((k for k in graph.nodes[i].inputs if k != j), j)
            units[classes.of(j)] = units[classes.of(i)] / units[classes.of(other)]
    return [units[classes.of(i)] for i in range(len(graph.nodes))]


def _unit_of_result(bound: float) -> float:
    return 1.0 if 1 / _ORDINARY <= bound <= _ORDINARY else 2.0 ** round(math.log2(bound))


def _wanted(graph: Lowered, several: Sequence[int], users: Sequence[Sequence[int]]) -> float:
    """The wanted unit: at least the largest bound. It is a multiple of half the domain of the polynomials that read the
    values, if they agree, so that scaling takes no level."""
    most = max(graph.nodes[i].bound for i in several)
    halves = set()
    for i in several:
        for j in users[i]:
            series = graph.nodes[j].series
            if series is not None:
                low, high = series.domain
                halves.add((high - low) / 2)
                most = max(most, abs(low), abs(high))
    if len(halves) != 1:
        return most
    half = halves.pop()
    return half * math.ceil(most / half * (1 - _ROUNDED))
