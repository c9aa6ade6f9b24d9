"""An arrangement for each product of matrices of a lowered graph, and the maps that bring its factors there.

If an affine map makes a factor, it can leave the factor in the arrangement that the product needs, as long as this
takes few diagonals. That is so for the queries of an attention. Keys and values are needed as diagonals of the product,
and a map would have a separate matrix for every diagonal. So they take two maps: one that multiplies and one that only
moves. Scores already lie as the next product needs them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from ... import errors
from ...linear.arranged import Arrangement, Side, arrangements, best
from ...ops import moves
from ..lowered import Affine, Lowered, Node
from ..maps.transforms import Transform
from ..packing import Packing, of_product, packings, renames

_LEVEL = 60  # number of diagonals that cost as much as a level
_TURN = 8  # number of diagonals that take as long as a rotation
_MAX_ENTRIES = 1 << 23  # entries of a map that is tried; larger ones have too many diagonals
_SIDES: tuple[Side, Side] = ("left", "right")


class FactorRoute(NamedTuple):
    """How a factor comes to its side. ``own``: the side in which its own affine node gives it, or None if that node
    stays as it is. ``moved``: the sides into which maps then move it, one level each."""

    cost: float
    own: Side | None
    moved: tuple[Side, ...]


def arranged(graph: Lowered, slots: int, images: int = 1) -> Lowered:
    """The graph with an arrangement for each product of matrices, in ciphertexts of up to `slots` slots.

    UnsupportedError, naming the layer, for matrices too large for it."""
    while True:
        at = next((i for i in graph.products if graph.nodes[i].packed is None), None)
        if at is None:
            return graph
        graph = _arranged(graph, at, slots, images)


def _arranged(graph: Lowered, at: int, slots: int, images: int) -> Lowered:
    node = graph.nodes[at]
    sizes = node.matrices(graph.nodes[node.inputs[0]].size)
    packed = packings(graph, slots, images)
    found = best(*sizes, slots, images)
    if not found:
        raise errors.UnsupportedError.explain(
            f"layer {node.title}", "a product of encrypted matrices of shapes "
            f"{(*node.shape[:-2], *sizes[1:3])} and {(*node.shape[:-2], *sizes[2:])}",
            f"rows that fit {slots:,} slots", "use fewer tokens, a smaller width, or fewer images at once")
    first = packed[node.inputs[0]]
    found += [a for a in arrangements(*sizes, slots, images) if a not in found and _lies(first, graph, node, 0, a)]
    routes = [(how, [_route(graph, at, k, how, packed) for k in range(2)]) for how in found]
    how, chosen = min(routes, key=lambda w: _TURN * w[0].cost + sum(route.cost for route in w[1]))
    for k in range(2):
        graph, at = _with_route(graph, at, k, how, chosen[k])
    nodes = list(graph.nodes)
    nodes[at] = replace(nodes[at], packed=(replace(how, images=1), "result"))
    return Lowered(tuple(nodes), graph.output, graph.facts)


def _lies(packing: Packing, graph: Lowered, node: Node, k: int, how: Arrangement) -> bool:
    """Whether the values of factor k (0: left, 1: right) already lie in the slots where this arrangement of the product
    reads them."""
    wanted = of_product(graph.nodes[node.inputs[k]], how, _SIDES[k], how.images)
    return packing.index is None and wanted.index is None and packing.layout.same(wanted.layout)


def _route(graph: Lowered, at: int, k: int, how: Arrangement, packed: Sequence[Packing]) -> FactorRoute:
    """The cheapest route of factor k to the slots where the product reads it: a change of the maps that make it, or a
    map of its own."""
    node, side = graph.nodes[at], _SIDES[k]
    j = node.inputs[k]
    source = graph.nodes[j]
    if _lies(packed[j], graph, node, k, how):
        return FactorRoute(0.0, None, ())
    identity = Affine.identity(source.size)

    def cost(maps: Sequence[Affine], before: Sequence[Packing], to: Side) -> float:
        target = of_product(source, how, to, how.images)
        if sum(m.nnz for m in maps) * target.layout.size // source.size > _MAX_ENTRIES:
            return float("inf")
        return sum(_cost(Transform(m, p, target)) for m, p in zip(maps, before))

    def of(side: Side) -> Packing:
        return of_product(source, how, side, how.images)

    routes = [FactorRoute(cost([identity], [packed[j]], side) + _LEVEL, None, (side,))]
    between: tuple[Side, ...] = ("before right",) if side == "right" and how.spaced else ()
    turn = {b: _cost(Transform(identity, of(b), of(side))) + _LEVEL for b in between}
    routes += [FactorRoute(cost([identity], [packed[j]], b) + turn[b] + _LEVEL, None, (b, side)) for b in between]
    alone = graph.users[j] == [at] and j != graph.output
    if source.op == "affine" and alone and source.packed is None and source.like is None:
        before = [packed[i] for i in source.inputs]
        had = 0.0 if renames(source) else sum(_cost(Transform(m, p, packed[j])) for m, p in zip(source.maps, before))
        routes.append(FactorRoute(cost(source.maps, before, side) - had, side, ()))
        routes += [FactorRoute(cost(source.maps, before, b) - had + turn[b], b, (side,)) for b in between]
    return min(routes, key=lambda route: route.cost)


def _cost(t: Transform) -> float:
    """The cost in diagonals. Maps that are not possible cost more than any that is possible."""
    return t.cost + (1e9 if t.map.diagonals * t.map.slots > moves.MAX_ENTRIES else 0.0)


def _with_route(graph: Lowered, at: int, k: int, how: Arrangement, route: FactorRoute) -> tuple[Lowered, int]:
    """The graph in which factor k of product `at` comes by that route, and where the product is now."""
    how = replace(how, images=1)
    j = graph.nodes[at].inputs[k]
    if route.own is not None:
        nodes = list(graph.nodes)
        nodes[j] = replace(nodes[j], packed=(how, route.own))
        graph = Lowered(tuple(nodes), graph.output, graph.facts)
    for side in route.moved:
        j = graph.nodes[at].inputs[k]
        source = graph.nodes[j]
        name = f"{graph.nodes[at].name}.{_SIDES[k]}{'.before' if side != _SIDES[k] else ''}"
        taken = {n.name for n in graph.nodes}
        name = next(n for n in (name, *(f"{name}.{i}" for i in range(len(taken) + 1))) if n not in taken)
        new = Node(name, "affine", (j,), source.shape, maps=(Affine.identity(source.size),), bound=source.bound,
                   layer=graph.nodes[at].layer, packed=(how, side))
        graph = _inserted(graph, at, k, new)
        at += 1
    return graph, at


def _inserted(graph: Lowered, at: int, k: int, new: Node) -> Lowered:
    """The graph with a new node in front of node `at`, which reads it as its input k."""
    nodes: list[Node] = []
    for i, n in enumerate(graph.nodes):
        inputs = tuple(j + (j >= at) for j in n.inputs)
        if i == at:
            nodes.append(new)
            inputs = tuple(at if place == k else j for place, j in enumerate(inputs))
        like = None if n.like is None else n.like + (n.like >= at)
        nodes.append(replace(n, inputs=inputs, like=like))
    return Lowered(tuple(nodes), graph.output + (graph.output >= at), graph.facts)
