"""Writes model graphs node by node."""

from __future__ import annotations

import builtins
import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .. import errors
from . import reference
from .graph import INPUTS, VERSION, Graph, Node, pairs, per_axis, refused, window_sums
from .labels.decisions import ERROR, Decision


class Builder:
    """Writes a graph node by node. Each method gives the index of its result.

    Results have the shapes that `reference.py` computes; ShapeError, naming the layer, where operands do not fit.
    """

    def __init__(self, shape: Sequence[int]) -> None:
        shape = tuple(int(n) for n in shape) or (1,)
        if min(shape) < 1:
            raise refused("input", f"the shape {shape}", "one value or more along each axis", "correct the sample")
        self.nodes = [Node("input", (), shape, "input")]
        self.input = 0

    def graph(self, output: int, decision: Decision | None = None) -> Graph:
        """The graph, with only the nodes that the result depends on. ``decision``: see `Graph`; without one, an argmax
        gives integers."""
        if not 0 <= output < len(self.nodes):
            raise refused("output", f"node {output}", f"one of {len(self.nodes)}", "pass a result of the builder")
        used = {0, output}
        for i in range(output, -1, -1):
            if i in used:
                used.update(self.nodes[i].inputs)
        kept = {old: new for new, old in enumerate(sorted(used))}
        nodes = [self.nodes[old] for old in kept]
        return Graph(tuple(Node(n.op, tuple(kept[j] for j in n.inputs), n.shape, n.layer, n.arrays, n.options)
                           for n in nodes), kept[output], self._decision(output, decision))

    def _decision(self, output: int, stated: Decision | None) -> Decision | None:
        node = self.nodes[output]
        compares = node.op == "argmax" or node.options.get("function") in ("step", "first")
        if stated is not None and not (compares and stated.fits(node.shape)):
            raise refused(node.layer, f"a result of {node.op} of shape {node.shape} as a {stated.kind}",
                          "a comparison whose shape fits", "state what the last step decides")
        if stated is not None or node.op != "argmax":
            return stated
        axis = node.options["axis"]
        return Decision("index", "int64", node.shape[:axis] + node.shape[axis + 1:], axis)

    def shape(self, x: int) -> tuple[int, ...]:
        return self.nodes[x].shape

    def add_node(self, op: str, inputs: tuple[int, ...], layer: str = "",
                 arrays: Mapping[str, np.ndarray] | None = None,
                 options: Mapping[str, Any] | None = None) -> int:
        """Adds any operation of the table of graph.py. Its shape is derived."""
        own = {k: np.array(v, np.float64) for k, v in (arrays or {}).items()}
        if op not in INPUTS and op != "concat":
            raise errors.UnsupportedError.explain(f"layer {layer or 'without a name'}", f"the operation {op!r}",
                                                  ", ".join([*INPUTS, "concat"]), "write it with these")
        count = INPUTS.get(op, len(inputs))
        if len(inputs) != count or not inputs or not all(0 <= j < len(self.nodes) for j in inputs):
            raise refused(layer, f"{op} of the nodes {inputs}", f"{count or 'some'} earlier nodes", "correct the graph")
        for name, value in own.items():
            if not np.isfinite(value).all():
                raise errors.ValueError.explain(f"layer {layer or 'without a name'}", f"NaN or infinity in {name}",
                                                "finite weights", "train or load the model again")
        node = Node(op, tuple(inputs), (), layer, own, dict(options or {}))
        shape = reference.shape_of(node, [self.nodes[j].shape for j in inputs])
        self.nodes.append(Node(op, node.inputs, shape, layer, own, node.options))
        return len(self.nodes) - 1

    # ---- linear layers ----

    def linear(self, x: int, weight: Any, bias: Any = None, layer: str = "") -> int:
        return self.add_node("linear", (x,), layer, _given(weight=weight, bias=bias))

    def sparse(self, x: int, rows: Any, columns: Any, values: Any, size: int, bias: Any = None,
               layer: str = "") -> int:
        """A map of the flat x: result r is the sum of ``values * x[columns]`` over the entries with ``rows == r``."""
        return self.add_node("sparse", (x,), layer, _given(rows=rows, columns=columns, values=values, bias=bias),
                             {"size": int(size)})

    def conv(self, x: int, weight: Any, bias: Any = None, *, stride: Any = 1, padding: Any = 0, dilation: Any = 1,
             groups: int = 1, layer: str = "") -> int:
        """``padding``: a number, one for each axis, or (before, after) for each axis."""
        axes = np.ndim(weight) - 2
        return self.add_node("conv", (x,), layer, _given(weight=weight, bias=bias), {
            "stride": per_axis(stride, axes), "padding": pairs(padding, axes), "dilation": per_axis(dilation, axes),
            "groups": int(groups)})

    def conv_transpose(self, x: int, weight: Any, bias: Any = None, *, stride: Any = 1, padding: Any = 0,
                       output_padding: Any = 0, dilation: Any = 1, groups: int = 1, layer: str = "") -> int:
        axes = np.ndim(weight) - 2
        return self.add_node("conv_transpose", (x,), layer, _given(weight=weight, bias=bias), {
            "stride": per_axis(stride, axes), "padding": per_axis(padding, axes),
            "output_padding": per_axis(output_padding, axes), "dilation": per_axis(dilation, axes),
            "groups": int(groups)})

    def scale(self, x: int, value: Any, layer: str = "") -> int:
        return self.add_node("scale", (x,), layer, {"value": value})

    def shift(self, x: int, value: Any, layer: str = "") -> int:
        return self.add_node("shift", (x,), layer, {"value": value})

    def batch_norm(self, x: int, mean: Any, variance: Any, weight: Any = None, bias: Any = None, epsilon: float = 1e-5,
                   layer: str = "", axis: int = 0) -> int:
        """A scale and a shift along an axis, from statistics of the training. ShapeError unless each parameter has one
        value for each entry of that axis."""
        shape = self.shape(x)
        channels = shape[axis]
        for name, value in _given(mean=mean, variance=variance, weight=weight, bias=bias).items():
            if np.size(value) != channels:
                raise refused(layer, f"{name} of shape {np.shape(value)}", f"one value for each of {channels} channels",
                              "correct the weights")
        factor = 1 / np.sqrt(np.asarray(variance, np.float64) + epsilon)
        if weight is not None:
            factor = factor * np.asarray(weight, np.float64)
        offset = -np.asarray(mean, np.float64) * factor
        if bias is not None:
            offset = offset + np.asarray(bias, np.float64)
        along = [1] * len(shape)
        along[axis] = channels
        return self.shift(self.scale(x, factor.reshape(along), layer), offset.reshape(along), layer)

    def along(self, x: int, matrices: Mapping[int, Any], kind: str, layer: str = "", **options: Any) -> int:
        """Multiplies by a matrix along each of some axes."""
        own = {f"axis{axis % len(self.shape(x))}": np.asarray(m, np.float64) for axis, m in matrices.items()}
        return self.add_node("along", (x,), layer, own, {"kind": kind, **options})

    def avg_pool(self, x: int, kernel: Any, stride: Any = None, padding: Any = 0, *, ceil: bool = False,
                 count_padding: bool = True, divisor: float | None = None, layer: str = "") -> int:
        """Average pooling over the axes after the first."""
        sizes = self.shape(x)[1:]
        kernel, padding = per_axis(kernel, len(sizes)), per_axis(padding, len(sizes))
        stride = kernel if stride is None or stride == () else per_axis(stride, len(sizes))
        own = {}
        for i, n in enumerate(sizes):
            m = window_sums(n, kernel[i], stride[i], padding[i], 1, ceil)
            counts = m.sum(axis=1)
            # if lengths are rounded up, a window may reach beyond the padding; that part is not counted
            if count_padding:
                starts = np.arange(len(m)) * stride[i] - padding[i]
                counts = np.minimum(starts + kernel[i], n + padding[i]) - starts
            own[i + 1] = m / counts[:, None] if divisor is None else m
        if divisor is not None:
            own[1] = own[1] / divisor
        return self.along(x, own, "avg_pool", layer, kernel=kernel, stride=stride)

    def adaptive_avg_pool(self, x: int, sizes: Any, layer: str = "") -> int:
        """Average pooling to these sizes of the axes after the first."""
        given = self.shape(x)[1:]
        own = {}
        for i, (n, m) in enumerate(zip(given, per_axis(sizes, len(given)))):
            own[i + 1] = np.zeros((m, n))
            for j in range(m):
                first, last = j * n // m, -(-(j + 1) * n // m)
                own[i + 1][j, first:last] = 1 / (last - first)
        return self.along(x, own, "avg_pool", layer)

    def mean(self, x: int, axes: Sequence[int], keep: bool = False, layer: str = "", total: bool = False) -> int:
        """The mean over axes, or the sum (`total`)."""
        shape = self.shape(x)
        chosen = sorted({a % len(shape) for a in axes})
        own = {a: np.full((1, shape[a]), 1.0 if total else 1 / shape[a]) for a in chosen}
        out = self.along(x, own, "sum" if total else "mean", layer)
        return out if keep else self.reshape(out, [n for a, n in enumerate(shape) if a not in chosen], layer)

    def slice(self, x: int, axis: int, start: int, stop: int, step: int = 1, layer: str = "") -> int:
        n = self.shape(x)[axis]
        return self.along(x, {axis: np.eye(n)[start:stop:step]}, "slice", layer)

    def pad(self, x: int, amounts: Mapping[int, tuple[int, int]], value: float = 0.0, layer: str = "") -> int:
        """Pads with zeros before and after, along axes. Negative amounts cut values off."""
        shape = self.shape(x)
        own = {a: np.eye(max(before, 0) + shape[a] + max(after, 0), shape[a], -max(before, 0))[
            max(-before, 0): None if after >= 0 else after] for a, (before, after) in amounts.items()}
        out = self.along(x, own, "pad", layer)
        if not value:
            return out
        inside = np.ones(shape)
        for a, m in own.items():
            inside = np.moveaxis(np.tensordot(m, inside, (1, a)), 0, a)
        return self.shift(out, value * (1 - inside), layer)

    # ---- moving values ----

    def reshape(self, x: int, shape: Sequence[int], layer: str = "") -> int:
        shape = tuple(int(n) for n in shape) or (1,)
        while self.nodes[x].op == "reshape":  # of several reshapes in a row, only the last one matters
            x = self.nodes[x].inputs[0]
        return x if shape == self.shape(x) else self.add_node("reshape", (x,), layer, {}, {"shape": shape})

    def flatten(self, x: int, layer: str = "") -> int:
        return self.reshape(x, (math.prod(self.shape(x)),), layer)

    def permute(self, x: int, axes: Sequence[int], layer: str = "") -> int:
        axes = tuple(int(a) % len(self.shape(x)) for a in axes)
        if axes == tuple(range(len(axes))):
            return x
        return self.add_node("permute", (x,), layer, {}, {"axes": axes})

    def concat(self, xs: Sequence[int], axis: int = 0, layer: str = "") -> int:
        return self.add_node("concat", tuple(xs), layer, {}, {"axis": int(axis) % len(self.shape(xs[0]))})

    def broadcast(self, x: int, shape: Sequence[int], layer: str = "") -> int:
        """Repeats axes of length 1, as numpy does."""
        x = self.reshape(x, (1,) * (len(shape) - len(self.shape(x))) + self.shape(x), layer)
        own = {a: np.ones((n, 1)) for a, (n, had) in enumerate(zip(shape, self.shape(x))) if n != had}
        return self.along(x, own, "broadcast", layer) if own else x

    # ---- functions of values ----

    def _both(self, op: str, x: int, y: int, layer: str) -> int:
        try:
            shape = np.broadcast_shapes(self.shape(x), self.shape(y))
        except builtins.ValueError as why:
            raise refused(layer, f"{op} of shapes {self.shape(x)} and {self.shape(y)}", "shapes that broadcast",
                          "correct the model") from why
        return self.add_node(op, (self.broadcast(x, shape, layer), self.broadcast(y, shape, layer)), layer)

    def add(self, x: int, y: int, layer: str = "") -> int:
        return self._both("add", x, y, layer)

    def sub(self, x: int, y: int, layer: str = "") -> int:
        return self._both("sub", x, y, layer)

    def mul(self, x: int, y: int, layer: str = "") -> int:
        return self._both("mul", x, y, layer)

    def activation(self, x: int, function: str, layer: str = "", value: Any = None, **parameters: Any) -> int:
        return self.add_node("activation", (x,), layer, _given(value=value), {"function": function, **parameters})

    def polynomial(self, x: int, coefficients: Any, layer: str = "") -> int:
        """A polynomial of each value, by the coefficients of monomials, lowest first."""
        return self.add_node("polynomial", (x,), layer, {"coefficients": coefficients})

    def matmul(self, x: int, y: int, layer: str = "") -> int:
        return self.add_node("matmul", (x, y), layer)

    def softmax(self, x: int, axis: int = -1, layer: str = "", mask: Any = None) -> int:
        """Softmax along an axis, of ``x + mask``; a large negative number in the mask hides a value."""
        return self.add_node("softmax", (x,), layer, _given(mask=mask), {"axis": int(axis) % len(self.shape(x))})

    def layer_norm(self, x: int, axes: int = 1, weight: Any = None, bias: Any = None, epsilon: float = 1e-5,
                   layer: str = "") -> int:
        """Layer normalisation over the last `axes` axes."""
        return self.add_node("layer_norm", (x,), layer, _given(weight=weight, bias=bias),
                             {"axes": int(axes), "epsilon": float(epsilon)})

    def attention(self, q: int, k: int, v: int, scale: float | None = None, mask: Any = None, layer: str = "") -> int:
        """``softmax(q k^T scale + mask) v``; the scale is ``1 / sqrt(width)`` unless it is given."""
        factor = 1 / math.sqrt(self.shape(q)[-1]) if scale is None else float(scale)
        return self.add_node("attention", (q, k, v), layer, _given(mask=mask), {"scale": factor})

    def max_pool(self, x: int, kernel: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1, ceil: bool = False,
                 layer: str = "") -> int:
        axes = len(self.shape(x)) - 1
        kernel = per_axis(kernel, axes)
        return self.add_node("max_pool", (x,), layer, {}, {
            "kernel": kernel, "stride": kernel if stride is None or stride == () else per_axis(stride, axes),
            "padding": per_axis(padding, axes), "dilation": per_axis(dilation, axes), "ceil": bool(ceil)})

    def maximum(self, x: int, y: int, layer: str = "") -> int:
        """The larger one of two values, place by place."""
        return self._both("maximum", x, y, layer)

    def largest(self, x: int, axis: int, layer: str = "") -> int:
        """The largest value along an axis, which is left out unless it is the only one."""
        shape, axis = self.shape(x), int(axis) % len(self.shape(x))
        n, lead, rest = shape[axis], math.prod(shape[:axis]), math.prod(shape[axis + 1:])
        out = self.max_pool(self.reshape(x, (lead, n, rest), layer), (n, 1), layer=layer)
        return self.reshape(out, shape[:axis] + shape[axis + 1:], layer)

    # ---- comparisons, which are the last step of a network ----

    def argmax(self, x: int, axis: int = -1, gap: float = 0.0, layer: str = "") -> int:
        """The place of the largest value along an axis, as a 1 in that place and zeros elsewhere. ``gap``: how close
        the two largest values may be; 0 lets the calibration choose it."""
        return self.add_node("argmax", (x,), layer, {}, {"axis": int(axis) % len(self.shape(x)), "gap": float(gap)})

    def positive(self, x: int, gap: float = 0.0, layer: str = "") -> int:
        """1 for a value above 0, else 0. ``gap``: as of `argmax`, how close values may be to 0."""
        return self.activation(x, "step", layer, gap=float(gap), bits=-math.log2(ERROR))

    # ---- recurrent layers ----

    def recurrent(self, kind: str, x: int, w_ih: Any, w_hh: Any, b_ih: Any = None, b_hh: Any = None, *,
                  reverse: bool = False, function: str = "tanh", layer: str = "") -> int:
        """One layer, in one direction, of "rnn", "lstm" or "gru", starting from states of zeros. Its result has the
        shape (steps, hidden)."""
        options: dict[str, Any] = {"reverse": bool(reverse)}
        if kind == "rnn":
            options["function"] = function
        return self.add_node(kind, (x,), layer, _given(w_ih=w_ih, w_hh=w_hh, b_ih=b_ih, b_hh=b_hh), options)


def _given(**arrays: Any) -> dict[str, Any]:
    return {name: value for name, value in arrays.items() if value is not None}


def from_arrays(arrays: Mapping[str, np.ndarray]) -> Graph:
    """The graph that `Graph.to_arrays` wrote; FileError for anything else. Every shape is derived anew."""
    try:
        found = json.loads(np.asarray(arrays["graph"], np.uint8).tobytes())
        if found["version"] != VERSION:
            raise errors.FileError.explain("model graph", f"format version {found['version']!r}", f"{VERSION}",
                                           "read it with a newer version of the library")
        build = Builder(tuple(found["input"]))
        for i, row in enumerate(found["nodes"][1:], 1):
            own = {str(name): np.asarray(arrays[f"{i}.{name}"], np.float64) for name in row["arrays"]}
            options = {str(k): _tuples(v) for k, v in row["options"].items()}
            build.add_node(str(row["op"]), tuple(row["inputs"]), str(row["layer"]), own, options)
        stated = found.get("decision")
        decision = None if stated is None else Decision(**{k: _tuples(v) for k, v in stated.items()})
        return build.graph(found["output"], decision)
    except errors.FileError:
        raise
    except Exception as why:  # raised by reading JSON and arrays of a damaged file
        raise errors.FileError.explain("model graph", f"bytes that hold no arrays ({type(why).__name__})",
                                       "arrays of a graph",
                                       "save it again") from why


def _tuples(x: Any) -> Any:
    return tuple(_tuples(v) for v in x) if isinstance(x, list) else x
