"""The divisors of a graph while a model is lowered: a node holds its true value divided by a number, its divisor.

For example, a polynomial has the domain -8 to 8. The map before it gets the divisor 8, which goes into its weights.
Then the polynomial reads values within -1 to 1, and no level is spent on a scaling.

Both sides of a sum have the same divisor, and that of a product is the product of its factors' divisors. Affine maps
and polynomials can have any divisor. The last polynomial of a sign brings the product of a ReLU into the range of the
sum after it. Compiling divides the values once more, by units: see `units`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from .lowered import PRODUCTS, Affine, Lowered, Node, Series

_SAME = 1e-12


def divided(nodes: Sequence[Node], output: int) -> tuple[list[Node], int]:
    """The graph with every node divided by its divisor. The divisor is 1 for the input and for the result. For other
    nodes it is the bound of their values, or the end of the domain of the polynomial that reads them."""
    nodes, output = _with_free_maps(list(nodes), output)
    divisors = _Divisors(nodes, output).all()
    return [_divided_node(n, divisors[i], [divisors[j] for j in n.inputs]) for i, n in enumerate(nodes)], output


def divisors_of(nodes: Sequence[Node], output: int) -> dict[str, float]:
    """The divisor of each node, by name."""
    nodes, output = _with_free_maps(list(nodes), output)
    return {n.name: float(divisor) for n, divisor in zip(nodes, _Divisors(nodes, output).all())}


def _groups(nodes: list[Node]) -> list[int]:
    """For each node, the first of the nodes that sums tie it to."""
    first = list(range(len(nodes)))

    def find(i: int) -> int:
        while first[i] != i:
            i = first[i]
        return i

    for i, n in enumerate(nodes):
        if n.op in ("add", "sub"):
            for j in n.inputs:
                a, b = find(i), find(j)
                first[max(a, b)] = min(a, b)
    return [find(i) for i in range(len(nodes))]


def _adjustable(nodes: list[Node], groups: list[int], users: list[list[int]], i: int) -> int | None:
    """The factor of a product that no other node reads and that can have any divisor."""
    sizes = np.bincount(groups, minlength=len(nodes))
    a, b = nodes[i].inputs
    if nodes[i].op == "matmul":  # its factors come through maps, which should not be needed only for a square
        free = [j for j in (a, b) if nodes[j].op == "affine" and users[j] == [i] and sizes[groups[j]] == 1]
        return free[0] if free else None
    if a == b or _turned(nodes, a, b) or _turned(nodes, b, a):
        return None
    free = [j for j in (a, b) if nodes[j].op in ("polynomial", "affine") and users[j] == [i] and sizes[groups[j]] == 1]
    return min(free, key=lambda j: nodes[j].op == "affine") if free else None


def _turned(nodes: list[Node], i: int, other: int) -> bool:
    """Whether node i is another node in another order, so that no factor should turn it into a map."""
    n = nodes[i]
    return n.inputs == (other,) and len(n.maps) == 1 and n.bias is None and n.maps[0].permutes


def _with_free_maps(nodes: list[Node], output: int) -> tuple[list[Node], int]:
    """The nodes, with a map after each input and each fixed product that is a part of a sum or the result. This map can
    have any divisor."""
    groups, users = _groups(nodes), Lowered(tuple(nodes), output).users
    sizes = np.bincount(groups, minlength=len(nodes))
    fixed = {i for i, n in enumerate(nodes) if n.op in PRODUCTS and _adjustable(nodes, groups, users, i) is None}
    rigid = {i for i, n in enumerate(nodes) if sizes[groups[i]] > 1 and (n.op == "input" or i in fixed)}
    rigid |= fixed & {output}
    if not rigid:
        return nodes, output
    out: list[Node] = []
    moved: dict[int, int] = {}
    copies: dict[int, int] = {}
    taken = {n.name for n in nodes}
    for i, n in enumerate(nodes):
        summed = n.op in ("add", "sub")
        out.append(replace(n, inputs=tuple(copies.get(j, moved[j]) if summed else moved[j] for j in n.inputs)))
        moved[i] = len(out) - 1
        if i in rigid:
            name = next(f"{n.name}.{word}" for word in ("scaled", *map(str, range(len(nodes) + 1)))
                        if f"{n.name}.{word}" not in taken)
            taken.add(name)
            out.append(Node(name, "affine", (moved[i],), n.shape, maps=(Affine.identity(n.size),), bound=n.bound,
                            layer=n.layer))
            copies[i] = len(out) - 1
    return out, copies.get(output, moved[output])


class _Divisors:
    """Chooses the divisor of every node."""

    def __init__(self, nodes: list[Node], output: int) -> None:
        self.nodes, self.output = nodes, output
        self.users = Lowered(tuple(nodes), output).users
        self.groups = _groups(nodes)
        self.chosen: dict[int, float] = {}

    def all(self) -> list[float]:
        members: dict[int, list[int]] = {}
        for i, g in enumerate(self.groups):
            members.setdefault(g, []).append(i)
        later: dict[int, int] = {}  # factors whose divisor follows from that of their product
        for i, n in enumerate(self.nodes):
            if n.op in PRODUCTS:
                j = _adjustable(self.nodes, self.groups, self.users, i)
                if j is not None:
                    later[j] = i
        for i, n in enumerate(self.nodes):
            if i in later or i in self.chosen:
                continue
            if len(members[self.groups[i]]) == 1 and self._follows(i):
                self.chosen[i] = self._of(n.inputs[0], later)
            elif n.op in PRODUCTS and i not in later.values():
                a, b = n.inputs
                self._choose(members[self.groups[i]], self._of(a, later) * self._of(b, later))
            else:
                self._choose(members[self.groups[i]], self._wish(members[self.groups[i]]))
        return [self._of(i, later) for i in range(len(self.nodes))]

    def _follows(self, i: int) -> bool:
        """Whether another order of a node's values is multiplied with the node itself. It then has the same divisor."""
        return any(self.nodes[j].op == "mul" and any(_turned(self.nodes, i, k) for k in self.nodes[j].inputs)
                   for j in self.users[i])

    def _of(self, i: int, later: dict[int, int]) -> float:
        if i in self.chosen:
            return self.chosen[i]
        product = later[i]  # its divisor is that of the product, divided by that of the other factor
        a, b = self.nodes[product].inputs
        return self.chosen[product] / self._of(b if i == a else a, later)

    def _choose(self, members: list[int], divisor: float) -> None:
        for i in members:
            self.chosen[i] = divisor

    def _wish(self, members: list[int]) -> float:
        """The best divisor for the nodes of a group."""
        if self.output in members or any(self.nodes[i].op == "input" for i in members):
            return 1.0
        domains = []
        for i in members:
            for user in self.users[i]:
                series = self.nodes[user].series
                if series is not None and abs(sum(series.domain)) <= _SAME * series.domain[1]:
                    domains.append(series.domain[1])
        return max([*domains,
                    *(self.nodes[i].bound for i in members)]) if not domains or len(members) > 1 else max(domains)


def _divided_node(node: Node, own: float, of_inputs: list[float]) -> Node:
    node = replace(node, bound=node.bound / own)
    if node.op == "affine":
        maps = tuple(m if n == own else m.scaled(n / own) for m, n in zip(node.maps, of_inputs))
        return replace(node, maps=maps, bias=None if node.bias is None else node.bias / own)
    if node.op == "matmul":
        return replace(node, bias=None if node.bias is None else node.bias / own)
    if node.series is not None:
        series = node.series.scaled(of_inputs[0], 1 / own)
        low, high = series.domain
        if abs(low + 1) < 1e-9 and abs(high - 1) < 1e-9:  # so that rounding costs no level
            series = Series(series.coefficients, (-1.0, 1.0))
        return replace(node, series=series)
    return node
