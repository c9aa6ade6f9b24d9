"""The encrypted run of a network: steps on ciphertexts, in dry runs and on real data alike."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Literal

import numpy as np

from ..common.layout import Layout
from ..linear import arranged
from ..linear.arranged import Side
from ..ops import moves, refreshing
from .halves import values
from .lowered import HALVES, Lowered, Node
from .maps.transforms import Transform, transform
from .packing import Packing, of_product, packings, renames

if TYPE_CHECKING:
    from ..ckks.ciphertext import Ciphertext

Form = Literal["real", "merged", "complex"]


@dataclass(frozen=True)
class Step:
    """The next step of a run. It computes node ``node`` from operands brought to ``level``; or, with a ``form`` of
    bootstrapping, it refreshes node ``node`` from that level."""

    node: int
    level: int
    form: Form | None = None


Watch = Callable[[Step, "Ciphertext"], "Ciphertext"]
# The step, the number of an operand of its node, and the operand at the level of the step.
WatchOperand = Callable[[Step, int, "Ciphertext"], "Ciphertext"]


class Machine:
    """A graph with the packing of each node and the map of each affine one: all that a step needs but its level.

    ``known``: maps that machines of similar graphs share; new ones are added. ``filled``: imaginary halves hold images,
    and `halves.filling` has made the graph.
    """

    def __init__(self, graph: Lowered, slots: int, images: int = 1, groups: int = 1,
                 known: dict[tuple[object, ...], Transform] | None = None, filled: bool = False) -> None:
        self.graph, self.images, self.groups, self._slots, self.filled = graph, images, groups, slots, filled
        self.packings: list[Packing] = packings(graph, slots, values.across(images, filled), groups, filled)
        self.transforms: list[tuple[Transform, ...]] = [
            tuple(transform(m, self.packings[j], self.packings[i], known) for j, m in zip(n.inputs, n.maps))
            if n.op == "affine" and not renames(n) else () for i, n in enumerate(graph.nodes)]
        users = graph.users
        self._last = [max(u, default=i) for i, u in enumerate(users)]
        self._last[graph.output] = len(graph.nodes)
        self.light: frozenset[int] = frozenset()  # affine nodes whose weights are expanded at each use
        self._gain: float | None = None  # gain, as of `Transform.apply`

    def with_light(self, nodes: Iterable[int]) -> Machine:
        """The same machine, with these nodes as `light`."""
        out = copy(self)
        out.light = frozenset(nodes)
        return out

    def without_errors_before(self) -> Machine:
        """The same machine, but its claims leave out the errors that rotations in maps add to values before weights
        multiply them."""
        out = copy(self)
        out._gain = 0.0
        return out

    @property
    def consistent(self) -> bool:
        """Whether both operands of each sum and product are in the same slots, and those of matrix products where these
        need them."""
        for i, node in enumerate(self.graph.nodes):
            if node.op == "matmul" and not self._arranged(i):
                return False
            if node.op in ("add", "sub", "mul"):
                a, b = (self.packings[j].layout for j in node.inputs)
                same = np.array_equal(a.places.reshape(-1), b.places.reshape(-1))
                if not same or (a.slots, a.count) != (b.slots, b.count):
                    return False
        return True

    def _arranged(self, i: int) -> bool:
        node = self.graph.nodes[i]
        if node.packed is None or node.packed[0].slots * self.images > self._slots:
            return False
        sides: tuple[Side, Side] = ("left", "right")
        for j, side in zip(node.inputs, sides):
            wanted = of_product(self.graph.nodes[j], node.packed[0], side, self.images)
            own = self.packings[j]
            if not own.same(wanted) or not np.array_equal(own.entries(np.arange(wanted.layout.size)),
                                                          wanted.entries(np.arange(wanted.layout.size))):
                return False
        return True

    def run(self, steps: Sequence[Step], inputs: Sequence[Ciphertext], watch: Watch | None = None,
            watch_operand: WatchOperand | None = None) -> Ciphertext:
        """The result of all steps. `watch` gets the result of each step, and returns the value that later steps use.
        `watch_operand` gets each operand at the level of its step, and returns the value that the step uses."""
        held: dict[int, Ciphertext] = dict(zip(self.graph.inputs, inputs))
        for step in steps:
            if step.form is not None:
                held[step.node] = refreshed(held[step.node], step.level, step.form)
            else:
                node = self.graph.nodes[step.node]
                held[step.node] = self.computed(step.node, self._operands(step, held, watch_operand), step.level)
                for j in set(node.inputs):
                    if self._last[j] <= step.node:
                        del held[j]  # so that its memory is free for the next steps
            if watch is not None:
                held[step.node] = watch(step, held[step.node])
        return held[self.graph.output]

    def _operands(self, step: Step, held: Mapping[int, Ciphertext], watch: WatchOperand | None) -> list[Ciphertext]:
        node = self.graph.nodes[step.node]
        if watch is None:
            return [held[j] for j in node.inputs]
        return [watch(step, k, self._brought(step, k, held[j])) for k, j in enumerate(node.inputs)]

    def _brought(self, step: Step, k: int, x: Ciphertext) -> Ciphertext:
        """Operand k of a step at its level, as `computed` brings it there."""
        if self.graph.nodes[step.node].op != "affine":
            return at_level(x, step.level)
        maps = self.transforms[step.node]
        return maps[k].lowered(x, step.level) if maps else x

    def computed(self, i: int, xs: Sequence[Ciphertext], level: int) -> Ciphertext:
        """Node i, computed from its operands, which are brought to `level`."""
        node, target = self.graph.nodes[i], self.packings[i]
        if node.op == "matmul":
            assert node.packed is not None
            x, y = (at_level(x, level) for x in (xs[0], xs[-1]))
            y = self._plus(i, arranged.product(x, y, arranged.with_images(node.packed[0], self.images)))
        else:
            y = self._affine(i, xs, level) if node.op == "affine" else self._of_values(node, xs, level)
        return _in(y, target.layout).declare(values.as_range(node.bound, target.both))

    def _affine(self, i: int, xs: Sequence[Ciphertext], level: int) -> Ciphertext:
        node = self.graph.nodes[i]
        if not self.transforms[i]:  # the same values in another order
            return moves.taken(xs[0], _index(node, len(self.packings[i].layout.places)))
        light = i in self.light
        y = self.transforms[i][0].apply(xs[0], level, light, self._gain)
        for t, x in zip(self.transforms[i][1:], xs[1:]):
            y = y + t.apply(x, level, light, self._gain)
        return self._plus(i, y)

    def _plus(self, i: int, y: Ciphertext) -> Ciphertext:
        """y plus the bias of node i."""
        node, packing = self.graph.nodes[i], self.packings[i]
        if node.bias is None or not node.bias.any():
            return y
        shape = packing.layout.shape
        bias = packing.entries(node.bias) * (1 + 1j if packing.both else 1)
        return _in(y, packing.layout) + np.ascontiguousarray(np.broadcast_to(bias.reshape(shape[1:]), shape))

    def _of_values(self, node: Node, xs: Sequence[Ciphertext], level: int) -> Ciphertext:
        xs = [at_level(x, level) for x in xs]
        if node.op in HALVES:
            return {"split": values.split, "join": values.joined, "squares": values.squared}[node.op](xs[0])
        xs = [_in(x, x.layout, (len(x), *node.shape)) for x in xs]
        if node.series is not None:
            s = node.series
            if s.is_square:
                return xs[0] * xs[0]
            return xs[0].polyval(s.coefficients[: s.degree + 1], "chebyshev", s.domain)
        a, b = xs if node.inputs[0] != node.inputs[1] else (xs[0], xs[0])
        return a * b if node.op == "mul" else a + b if node.op == "add" else a - b


def by_layer(graph: Lowered, steps: Sequence[Step]) -> list[list[int]]:
    """The numbers of steps of one layer that follow one another. A bootstrapping belongs to the layer after it."""
    titles: list[str] = []
    for step in reversed(steps):
        waits = step.form is not None and titles
        titles.append(titles[-1] if waits else graph.nodes[step.node].title)
    titles.reverse()
    return [list(numbers) for _, numbers in groupby(range(len(steps)), key=titles.__getitem__)]


def result_of_layer(steps: Sequence[Step], numbers: Sequence[int]) -> int:
    """The node whose value is the result of a layer that `by_layer` found."""
    return next(steps[k].node for k in reversed(numbers) if steps[k].form is None)


def at_level(x: Ciphertext, level: int) -> Ciphertext:
    return x if x.level == level else x.to_level(level)


def _index(node: Node, images: int) -> np.ndarray:
    columns = node.maps[0].columns
    return np.asarray((np.arange(images)[:, None] * columns.size + columns).reshape(images, *node.shape))


def _in(x: Ciphertext, like: Layout, shape: tuple[int, ...] | None = None) -> Ciphertext:
    """x, whose values are in the slots of `like`, with the shape of that layout or another shape of as many values."""
    shape = like.shape if shape is None else shape
    return x if x.shape == shape else x.reshape(shape)


def refreshed(x: Ciphertext, level: int, form: Form) -> Ciphertext:
    """x bootstrapped from `level`. ``"merged"``: its ciphertexts in pairs, each as one complex message;
    ``"complex"``: values in both halves."""
    x = at_level(x, level)
    return x.bootstrap(form, slot_to_coeff_first=refreshing.order_by_levels(x, form))
