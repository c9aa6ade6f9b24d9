"""The model graph: a network as its author wrote it, layer by layer, without the batch axis.

    build = Builder((3, 8, 8))
    x = build.conv(build.input, weight, bias, padding=1, layer="conv1")
    x = build.activation(x, "relu", layer="relu1")
    graph = build.graph(build.linear(build.flatten(x), w, b, layer="fc"))

`capture.py` makes it from PyTorch, `estimators.py` from scikit-learn; `reference.py` runs it in float; `ranges.py`
measures its values; `lowering.py` turns it into affine maps and polynomials. Shapes never contain the batch: every
value belongs to one input, and a run over many inputs has them along a first axis of its own.

| operation | inputs | arrays | options |
|---|---|---|---|
| input | none | | |
| linear | x (..., n) | weight (m, n), bias (m) | |
| conv | x (c, spatial...) | weight (o, c / groups, kernel...), bias (o) | stride, padding (before, after), dilation,
groups |
| conv_transpose | x (c, spatial...) | weight (c, o / groups, kernel...), bias (o) | the same, output_padding |
| along | x | axis0, axis1, ...: a matrix (m, n) for some axes | kind: "avg_pool", "mean", "slice", ... for messages |
| sparse | x | rows, columns, values: a matrix; bias (size) | size |
| scale, shift | x | value, broadcast to x | |
| reshape | x | | shape |
| permute | x | | axes |
| concat | several | | axis |
| add, sub, mul | x, y of one shape | | |
| activation | x | value: the slopes of a prelu | function, and its parameters |
| polynomial | x | coefficients, lowest first | |
| quadratic | x | c0, c1, c2: ``c0 + c1 x + c2 x^2``, each broadcast to x | |
| matmul | x (..., n, k), y (..., k, m) | | |
| softmax | x | mask, added to x | axis |
| layer_norm | x | weight, bias | axes (how many of the last), epsilon |
| attention | queries, keys, values (..., tokens, width) | mask, added to the scores | scale |
| max_pool | x (c, spatial...) | | kernel, stride, padding, dilation, ceil |
| maximum | x, y of one shape | | |
| argmax | x | | axis, gap (0: chosen by the calibration); gives 1 at the first largest value, else 0 |
| rnn, lstm, gru | x (steps, width) | w_ih, w_hh, b_ih, b_hh | reverse; rnn: function; gives all hidden states |
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from .. import errors
from .labels.decisions import Decision

INPUTS = {"input": 0, "linear": 1, "conv": 1, "conv_transpose": 1, "along": 1,
          "sparse": 1, "scale": 1, "shift": 1, "reshape": 1,
          "permute": 1, "add": 2, "sub": 2, "mul": 2, "activation": 1, "polynomial": 1, "quadratic": 1, "matmul": 2,
          "softmax": 1,
          "layer_norm": 1, "attention": 3, "max_pool": 1, "maximum": 2, "argmax": 1, "rnn": 1, "lstm": 1,
          "gru": 1}  # for concat: one or more
VERSION = 1


@dataclass(frozen=True)
class Node:
    """A value of the model graph: the result of `op` on earlier nodes. ``layer`` is the user's name for it."""

    op: str
    inputs: tuple[int, ...]
    shape: tuple[int, ...]
    layer: str = ""
    arrays: Mapping[str, np.ndarray] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def size(self) -> int:
        return math.prod(self.shape)


@dataclass(frozen=True)
class Graph:
    """Nodes, of which the first is the input and inputs come before their users, and the index of the result.

    ``decision``: what the result means, if it is that of a comparison."""

    nodes: tuple[Node, ...]
    output: int
    decision: Decision | None = None

    @property
    def shape_in(self) -> tuple[int, ...]:
        return self.nodes[0].shape

    @property
    def shape_out(self) -> tuple[int, ...]:
        return self.nodes[self.output].shape

    @property
    def users(self) -> list[list[int]]:
        """For each node, the nodes that read it."""
        out: list[list[int]] = [[] for _ in self.nodes]
        for i, node in enumerate(self.nodes):
            for j in node.inputs:
                out[j].append(i)
        return out

    def __repr__(self) -> str:
        lines = [f"Graph of {len(self.nodes)} nodes, {self.shape_in} to {self.shape_out}"]
        for i, n in enumerate(self.nodes):
            facts = ", ".join([*(f"{k}={v}" for k, v in n.options.items()),
                               *(f"{k} {v.shape}" for k, v in n.arrays.items())])
            lines.append(f"  {i:3}: {n.layer:20} {n.op:14} {', '.join(map(str, n.inputs)):10} {n.shape} {facts}")
        return "\n".join(lines)

    def to_arrays(self) -> dict[str, np.ndarray]:
        """Arrays that `builder.from_arrays` reads: the structure as JSON text in bytes, and each node's arrays."""
        rows = [{"op": n.op, "inputs": n.inputs, "layer": n.layer, "options": n.options, "arrays": list(n.arrays)}
                for n in self.nodes]
        head = {"version": VERSION, "input": self.shape_in, "output": self.output, "nodes": rows}
        text = json.dumps(head if self.decision is None else {**head, "decision": asdict(self.decision)})
        out = {"graph": np.frombuffer(text.encode(), np.uint8)}
        for i, n in enumerate(self.nodes):
            out.update({f"{i}.{name}": value for name, value in n.arrays.items()})
        return out


def refused(layer: str, had: str, needs: str, remedy: str) -> errors.Error:
    """ShapeError that names a layer."""
    return errors.ShapeError.explain(f"layer {layer or 'without a name'}", had, needs, remedy)


def per_axis(x: Any, axes: int) -> tuple[int, ...]:
    """One integer for each axis, from one integer for all axes or from a list."""
    values = [int(v) for v in np.atleast_1d(x)]
    return tuple(values * axes if len(values) == 1 else values)


def pairs(x: Any, axes: int) -> tuple[tuple[int, int], ...]:
    """(before, after) for each axis."""
    if np.ndim(x) == 2:
        return tuple((int(before), int(after)) for before, after in x)
    return tuple((n, n) for n in per_axis(x, axes))


def window_count(n: int, kernel: int, stride: int, padding: int, dilation: int, ceil: bool) -> int:
    """Windows of a pooling along an axis; rounded up (`ceil`), one that begins beyond the left padding and the values
    does not count."""
    room = n + 2 * padding - dilation * (kernel - 1) - 1
    count = (-(-room // stride) if ceil else room // stride) + 1
    if ceil and (count - 1) * stride >= n + padding:
        count -= 1
    return count


def window_sums(n: int, kernel: int, stride: int, padding: int, dilation: int, ceil: bool) -> np.ndarray:
    """The matrix (windows, n) of ones where a window covers a value."""
    out = np.zeros((max(window_count(n, kernel, stride, padding, dilation, ceil), 0), n))
    for j in range(len(out)):
        at = j * stride - padding + dilation * np.arange(kernel)
        out[j, at[(at >= 0) & (at < n)]] = 1
    return out
