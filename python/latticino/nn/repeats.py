"""Steps of a model that are the same computation again and again, such as those of a recurrent layer.

    common(graph, ranges)      # the ranges, where each step has those of all steps

Measured ranges differ a little from step to step. With one range for all of them, steps have the same polynomials, the
same weights in the same units, and the same cost at a level: weights are encoded once for each level, not for each
step, and the cost of a step is found once for each level. The steps themselves all stay in the graph, so the time to
place and to simulate them grows with their number.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from .graph import Graph, Node
from .ranges import NodeRange, Ranges

_WEIGHTED = ("linear", "conv", "conv_transpose")
_MIN_REPEATS = 3  # how often a layer must occur


def common(graph: Graph, ranges: Ranges) -> Ranges:
    """Ranges in which nodes that are steps of one loop share one range. Other nodes keep theirs."""
    nodes = list(ranges.nodes)
    for group in groups(graph):
        joined = _joined([nodes[i] for i in group])
        for i in group:
            nodes[i] = joined
    return replace(ranges, nodes=tuple(nodes))


def groups(graph: Graph) -> list[list[int]]:
    """Nodes that do the same in each step of a loop, in order.

    A loop is a layer with weights that is met three times or more, with the same operations between one time and the
    next. What depends on no earlier step, such as slices of the input, is no part of it.
    """
    same: dict[str, list[int]] = {}
    for i, node in enumerate(graph.nodes):
        if node.op in _WEIGHTED:
            same.setdefault(_name(node), []).append(i)
    out: list[list[int]] = []
    for starts in same.values():
        if len(starts) >= _MIN_REPEATS:
            out += _bodies(graph, starts)
    return out


def _bodies(graph: Graph, starts: Sequence[int]) -> list[list[int]]:
    """Groups of the nodes of each step, by what they do after the start of their step."""
    reached = [_behind(graph, start, end) for start, end in zip(starts, [*starts[1:], len(graph.nodes)])]
    found = [dict(zip(_shapes(graph, body), body)) for body in reached]
    shared = [key for key in found[0] if all(key in one for one in found)]
    return [[one[key] for one in found] for key in shared]


def _behind(graph: Graph, start: int, end: int) -> list[int]:
    """`start`, and the nodes before `end` that depend on it."""
    inside = {start}
    for i in range(start + 1, end):
        if inside & set(graph.nodes[i].inputs):
            inside.add(i)
    return sorted(inside)


def _shapes(graph: Graph, body: Sequence[int]) -> list[tuple[object, ...]]:
    """A description of each node of a step: its operation and shape, and those of the nodes of the step that lead to
    it."""
    names: dict[int, tuple[object, ...]] = {}
    counts: dict[tuple[object, ...], int] = {}
    for i in body:
        node = graph.nodes[i]
        own = (node.op, node.shape, tuple(sorted((k, str(v)) for k, v in node.options.items())),
               tuple(hash(names[j]) if j in names else None for j in node.inputs))
        counts[own] = counts.get(own, 0) + 1
        names[i] = (*own, counts[own])
    return [names[i] for i in body]


def _name(node: Node) -> str:
    digest = hashlib.sha256(repr((node.op, node.shape, sorted((k, str(v)) for k, v in node.options.items()))).encode())
    for key in sorted(node.arrays):
        digest.update(key.encode() + repr(node.arrays[key].shape).encode())
        digest.update(np.ascontiguousarray(node.arrays[key]).tobytes())
    return digest.hexdigest()


def _joined(several: Sequence[NodeRange]) -> NodeRange:
    """The range of all values together. Each range was measured on equally many values, so the sample takes equally
    many of each."""
    first = several[0]
    if all(r is first for r in several):
        return first
    mean = float(np.mean([r.mean for r in several]))
    spread = float(np.mean([r.deviation**2 + (r.mean - mean) ** 2 for r in several]))
    sample = np.sort(np.concatenate([r.sample[k :: len(several)] for k, r in enumerate(several)]))
    return NodeRange(min(r.low for r in several), max(r.high for r in several), mean, spread**0.5, sample,
                     max(r.tenth for r in several))
