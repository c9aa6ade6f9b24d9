"""Features of very different sizes, as in a table with an income in thousands and a ratio below 0.1.

All features of a ciphertext have the same absolute error. A layer multiplies a small feature by a large weight, and so
it multiplies that error too. The result would then hold little but error. So the client divides small features by
factors below 1 before it encrypts them, which makes them larger, and the weights that multiply these features contain
the factors. That costs nothing.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from .lowered import Affine, Lowered, Node
from .packing import renames

# the largest that a weight may make of the largest input, in units of the bound of the node that reads it
_MAX_EFFECT = 2.0**8
_ROOM = 2.0**4  # in the same units: inputs of which one feature contributes more are refused at encryption


def balanced(graph: Lowered, largest: np.ndarray) -> tuple[Lowered, np.ndarray]:
    """The graph for features that are divided by factors, and the factors, of the shape of an input.

    ``largest``: of each feature, the largest size in the calibration data.
    """
    first = graph.inputs[0]
    given = graph.nodes[first]
    ones = np.ones(given.shape)
    readers = [n for n in graph.nodes if first in n.inputs]
    if len(given.shape) != 1 or graph.output == first or not all(n.op == "affine" and not renames(n) for n in readers):
        return graph, ones
    makes = np.zeros(given.size)  # the largest value that weights make of an input as large as the bound
    for node in readers:
        for j, m in zip(node.inputs, node.maps):
            if j == first:
                np.maximum.at(makes, m.columns, np.abs(m.values) * given.bound / node.bound)
    if makes.max() < _MAX_EFFECT:
        return graph, ones
    top = float(largest.max()) or 1.0
    factors = np.minimum(1.0, np.maximum(_ROOM / np.maximum(makes, _ROOM), largest / top))
    nodes = tuple(_divided(n, first, factors) for n in graph.nodes)
    return Lowered(nodes, graph.output, graph.facts), factors


def _divided(node: Node, first: int, factors: np.ndarray) -> Node:
    """The node with new maps if it reads node `first`, the input, whose features are now divided by factors."""
    if first not in node.inputs:
        return node
    return replace(node, maps=tuple(_columns(m, factors) if j == first else m for j, m in zip(node.inputs, node.maps)))


def _columns(m: Affine, factors: np.ndarray) -> Affine:
    values = m.values * factors[m.columns]
    return Affine(m.rows, m.columns, values, m.size_in, m.size_out, grids=m.grids, stride=m.stride)
