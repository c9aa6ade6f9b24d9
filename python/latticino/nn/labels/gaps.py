"""How close two values may be that the last step of a network compares, chosen from the calibration data."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from .. import reference
from ..graph import Graph
from ..ranges import Ranges

_UNDECIDED = 0.005  # part of the calibration inputs whose results may be undecided
_FINEST, _WIDEST = 2.0**-10, 2.0**-3  # the gaps that are chosen, as parts of the bound


def near(graph: Graph, x: np.ndarray, close: float) -> np.ndarray:
    """Which results of a model graph compare values that nearly equal each other: those that are `close` to each other,
    as a part of the largest value that is compared. Flat, for one input."""
    node = graph.nodes[graph.output]
    y = reference.run(Graph(graph.nodes[: node.inputs[0] + 1], node.inputs[0]), x)
    most = max(float(np.abs(y).max()), 1e-3)
    if node.op == "argmax":
        own = np.sort(y, axis=node.options["axis"] + 1)
        y = np.take(own, -1, axis=node.options["axis"] + 1) - np.take(own, -2, axis=node.options["axis"] + 1)
    return np.asarray(np.abs(y).reshape(-1) <= close * most)


class Margins:
    """Collects, while a graph runs on the calibration data, how far its results are from being undecided."""

    def __init__(self, graph: Graph) -> None:
        self.graph, self.decision = graph, graph.decision
        steps = [i for i, n in enumerate(graph.nodes) if n.op == "activation" and n.options["function"] == "step"]
        self.step = steps[-1] if self.decision is not None else -1
        self._found = [np.zeros(0)]

    def watch(self, i: int, y: np.ndarray) -> None:
        """Takes the values of node i."""
        if self.decision is not None and i == self.graph.nodes[self.step].inputs[0]:
            self._found.append(self.decision.margins(y))

    @property
    def found(self) -> np.ndarray:
        return np.concatenate(self._found)

    def chosen(self, ranges: Ranges) -> Graph:
        """The graph with a gap for its last comparison, unless the model states one."""
        if self.decision is None or self.graph.nodes[self.step].options["gap"]:
            return self.graph
        bound = ranges.bound(self.graph.nodes[self.step].inputs[0])
        gap = float(np.clip(np.quantile(self.found, _UNDECIDED), _FINEST * bound, _WIDEST * bound))
        nodes = list(self.graph.nodes)
        nodes[self.step] = replace(nodes[self.step], options={**nodes[self.step].options, "gap": gap})
        return replace(self.graph, nodes=tuple(nodes))

    def fact(self, gap: float) -> str:
        """A sentence on the calibration inputs."""
        assert self.decision is not None
        closer, what = float((self.found < gap).mean()), "values closer to their threshold"
        if self.decision.kind == "index":
            what = "the two largest scores closer to each other"
        return f"{closer:.1%} of the results for the calibration data have {what} than {gap:.3g}: these may be wrong"
