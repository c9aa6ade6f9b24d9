"""Graphs for values in both halves of slots (real and imaginary parts): splits before functions, joins after them. The
factor 2 of a split costs no level if the map before can halve its result, or if the maps after squares can divide by 4.
Otherwise a map of its own halves the values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from ..lowered import HALVES, Affine, Lowered, Node
from ..packing import renames
from ..units import Scaled

# Whether operands of these operations hold both halves.
_OPERANDS_IN_BOTH = {"split": True, "join": False, "squares": False, "polynomial": False, "mul": False}


def in_both(graph: Lowered) -> list[bool]:
    """For each node of a graph that `filled` returned, whether its values are in both halves."""
    out: list[bool] = []
    for node in graph.nodes:
        out.append(node.op != "split" and (not node.inputs or node.op in HALVES or out[node.inputs[0]]))
    return out


def are_consistent(graph: Lowered, filled: bool) -> bool:
    """Whether each node finds its operands in the halves that it computes on. ``filled``: imaginary ones hold
    values."""
    if not filled:
        return not any(node.op in HALVES for node in graph.nodes)
    both = in_both(graph)
    for node in graph.nodes:
        held = {both[j] for j in node.inputs}
        maps = node.op == "affine" and node.like is None and not renames(node)
        wanted = both[node.like] if node.like is not None else True if maps else _OPERANDS_IN_BOTH.get(node.op)
        if len(held) > 1 or node.op == "matmul" or (wanted is not None and held != {wanted}):
            return False
    return both[graph.output]


def filled(network: Scaled) -> Scaled:
    """The network for values in both halves: with a split before each function that needs one, and joins after it."""
    return _Filling(network).made()


@dataclass
class _Filling:
    """``factors``: the factors by which the values of a node are larger than they were."""

    network: Scaled
    nodes: list[Node] = field(default_factory=list)
    units: list[float] = field(default_factory=list)
    factors: dict[int, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        graph = self.graph = self.network.graph
        self.both: list[bool] = []
        for i, node in enumerate(graph.nodes):
            held = [self.both[j] for j in node.inputs]
            self.both.append(any(held) if node.op in ("add", "sub") or renames(node) or self._is_square(i)
                             else node.op in ("input", "affine"))
        self.users = graph.users
        self.at: list[int] = []  # index of each node in the new graph
        self._made: dict[tuple[str, int], int] = {}  # splits, joins and halved copies of nodes

    def _is_square(self, i: int) -> bool:
        node = self.graph.nodes[i]
        return node.series.is_square if node.series is not None else node.op == "mul" and len(set(node.inputs)) == 1

    def _maps(self, i: int) -> bool:
        """Whether a node takes any factor into its weights."""
        node = self.graph.nodes[i]
        return node.op == "affine" and not renames(node)

    def _computes(self, i: int) -> bool:
        """Whether a node needs its values times two in both halves: a square of them, or a split."""
        return self.graph.nodes[i].op in ("polynomial", "mul")

    def _halves(self, j: int) -> bool:
        """Whether a node can hold half of its values: all nodes that read it need them times two, or have weights."""
        users = self.users[j]
        return (j != self.graph.output and (self._maps(j) or not self.graph.nodes[j].inputs)
                and any(map(self._computes, users)) and all(self._computes(i) or self._maps(i) for i in users))

    def _grows(self, i: int) -> bool:
        """Whether a square can hold four times its values, because all nodes that read it have weights."""
        return self.both[i] and self._is_square(i) and self.factors.get(self.graph.nodes[i].inputs[0], 1.0) == 1 and (
            i != self.graph.output and all(map(self._maps, self.users[i])))

    def made(self) -> Scaled:
        graph = self.graph
        for i, node in enumerate(graph.nodes):
            if self.both[i]:
                self.factors[i] = 0.5 if self._halves(i) else 4.0 if self._grows(i) else 1.0
            self.at.append(self._put(self._node(i, node), self.network.units[i] / self.factors.get(i, 1.0)))
        output = self._in_both(graph.output)
        return Scaled(Lowered(tuple(self.nodes), output, graph.facts), tuple(self.units))

    def _put(self, node: Node, unit: float) -> int:
        self.nodes.append(node)
        self.units.append(unit)
        return len(self.nodes) - 1

    def _node(self, i: int, node: Node) -> Node:
        factor = self.factors.get(i, 1.0)
        node = replace(node, bound=node.bound * factor)
        if self._maps(i):
            by = [factor / self.factors.get(j, 1.0) for j in node.inputs]
            return replace(node, inputs=tuple(map(self._in_both, node.inputs)),
                           maps=tuple(m if f == 1 else m.scaled(f) for m, f in zip(node.maps, by)),
                           bias=None if node.bias is None else node.bias * factor,
                           like=None if node.like is None else self._in_both(node.like))
        if self.both[i] and self._is_square(i):
            return replace(node, op="squares", series=None, inputs=(self._split(node.inputs[0], i, factor == 4),))
        if self._computes(i):
            return replace(node, inputs=tuple(self._split(j, i) if self.both[j] else self.at[j] for j in node.inputs))
        return replace(node, inputs=tuple(self._in_both(j) if self.both[i] else self.at[j] for j in node.inputs))

    def _in_both(self, j: int) -> int:
        """Node j with its values in both halves: joined, if they are in real parts."""
        if self.both[j]:
            return self.at[j]
        node = self.graph.nodes[j]
        return self._once("join", j, lambda: Node(f"{node.name}.join", "join", (self.at[j],), node.shape,
                                                  bound=node.bound, layer=node.layer), 1.0)

    def _split(self, j: int, reader: int, twice: bool = False) -> int:
        """Node j, whose values are in both halves, in real parts; or `twice` of it."""
        node = self.graph.nodes[j]
        source = self.at[j] if twice or self.factors[j] == 0.5 else self._half(j, reader)
        kind, factor = ("double", 2.0) if twice else ("split", 1.0)
        return self._once(kind, j, lambda: Node(f"{node.name}.{kind}", "split", (source,), node.shape,
                                                bound=node.bound * factor, layer=self.graph.nodes[reader].title),
                          1 / factor)

    def _half(self, j: int, reader: int) -> int:
        """Half of node j, by a map that takes a level."""
        node = self.graph.nodes[j]
        maps = (Affine.identity(node.size, 0.5 / self.factors[j]),)
        return self._once("half", j, lambda: Node(
            f"{node.name}.half", "affine", (self.at[j],), node.shape, maps=maps, bound=node.bound / 2,
            layer=self.graph.nodes[reader].title, like=self.at[j]), 2.0)

    def _once(self, kind: str, j: int, make: Callable[[], Node], unit: float) -> int:
        if (kind, j) not in self._made:
            self._made[kind, j] = self._put(make(), self.network.units[j] * unit)
        return self._made[kind, j]
