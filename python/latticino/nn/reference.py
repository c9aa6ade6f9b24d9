"""Runs a model graph in numpy, in doubles, over a batch of inputs. Everything else is compared with its results."""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from .. import arrays, errors
from . import formulas
from .graph import Graph, Node, refused, window_count

Array = np.ndarray
Replaced = Mapping[int, Callable[[Array], Array]]
_AT_ONCE = 1 << 19  # size of an intermediate array that fits into caches


def run(graph: Graph, x: Any, batch: int = 256) -> Array:
    """The results of inputs along the first axis of `x`: shape (inputs, *graph.shape_out)."""
    given, outs = as_batch(graph, x), []
    for first in range(0, len(given), batch):
        for i, y in walk(graph, given[first : first + batch]):
            if i == graph.output:
                outs.append(y)
    return np.concatenate(outs) if outs else np.zeros((0, *graph.shape_out))


def values(graph: Graph, x: Any, replaced: Replaced | None = None) -> list[Array]:
    """The values of each node, of shape (inputs, *node.shape). ``replaced``: see `walk`."""
    return [y for _, y in walk(graph, x, replaced)]


def walk(graph: Graph, x: Any, replaced: Replaced | None = None) -> Iterator[tuple[int, Array]]:
    """Yields each node with its values, one after the other. Values are dropped as soon as the graph does not need
    them. ``replaced``: for some nodes, a function to compute instead, such as a polynomial for an activation."""
    last = {j: i for i, node in enumerate(graph.nodes) for j in node.inputs}
    held: dict[int, Array] = {}
    for i, node in enumerate(graph.nodes):
        xs = [held[j] for j in node.inputs]
        if node.op == "input":
            held[i] = as_batch(graph, x)
        else:
            held[i] = replaced[i](xs[0]) if replaced and i in replaced else result_of(node, xs)
        yield i, held[i]
        del xs
        for j in [j for j in held if last.get(j, -1) <= i]:
            del held[j]


def as_batch(graph: Graph, x: Any) -> Array:
    given = arrays.as_numpy(x, "reference")
    if given.dtype.kind not in "biuf" or given.shape[1:] != graph.shape_in:
        raise errors.ShapeError.explain(
            "reference", f"inputs of shape {given.shape} and type {given.dtype}",
            f"real numbers of shape (inputs, {', '.join(map(str, graph.shape_in))})",
            "stack the inputs along a first axis")
    return given.astype(np.float64)


def result_of(node: Node, xs: Sequence[Array]) -> Array:
    """The result of a node for its inputs, which have the batch as their first axis."""
    out = _OPERATIONS[node.op](node, *xs)
    assert out.shape[1:] == node.shape, (node.op, node.layer, out.shape, node.shape)
    return out


def shape_of(node: Node, shapes: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    """The shape of a node's result; ShapeError, naming its layer, where its operands do not fit."""
    try:
        with np.errstate(all="ignore"):
            # Arrays are views of one number, so no memory is needed for the operands.
            out = _OPERATIONS[node.op](node, *(np.broadcast_to(0.5, (1, *s)) for s in shapes))
        shape = tuple(int(n) for n in out.shape[1:])
        if not shape or min(shape) < 1:
            raise builtins.ValueError("a result without values")
    except errors.Error:
        raise
    except (builtins.ValueError, IndexError, TypeError, builtins.KeyError, ZeroDivisionError) as why:
        arrays = ", ".join(f"{name} of shape {a.shape}" for name, a in node.arrays.items())
        options = ", ".join(f"{name}={value}" for name, value in node.options.items())
        raise refused(node.layer, f"{node.op} of shapes {', '.join(map(str, shapes))} with "
                      f"{arrays or 'no weights'}{', ' + options if options else ''}",
                      "operands that fit together", f"correct the layer ({why})") from why
    return shape


# ---- linear layers ----


def _linear(node: Node, x: Array) -> Array:
    out = x @ node.arrays["weight"].T
    return np.asarray(out + node.arrays["bias"] if "bias" in node.arrays else out)


def _sparse(node: Node, x: Array) -> Array:
    flat, size = x.reshape(len(x), -1), int(node.options["size"])
    rows, columns = (node.arrays[name].astype(np.int64) for name in ("rows", "columns"))
    values = node.arrays["values"]
    if not rows.shape == columns.shape == values.shape or rows.ndim != 1:
        raise builtins.ValueError("rows, columns and values are of one length")
    if rows.size and (min(rows.min(), columns.min()) < 0 or rows.max() >= size or columns.max() >= flat.shape[1]):
        raise builtins.ValueError("an entry lies outside of the matrix")
    out = np.zeros((size, len(x)))
    for at in range(0, rows.size, max(1, _AT_ONCE // max(len(x), 1))):
        part = slice(at, at + max(1, _AT_ONCE // max(len(x), 1)))
        np.add.at(out, rows[part], values[part, None] * flat.T[columns[part]])
    if "bias" in node.arrays:
        out += np.broadcast_to(node.arrays["bias"], (size,))[:, None]
    return np.ascontiguousarray(out.T)


def _windows(x: Array, kernel: Sequence[int], stride: Sequence[int], dilation: Sequence[int],
             counts: Sequence[int]) -> Array:
    """A view of padded values, of shape (batch, channels, places..., kernel...)."""
    steps = x.strides
    shape = (*x.shape[:2], *counts, *kernel)
    strides = (*steps[:2], *(s * t for s, t in zip(steps[2:], stride)), *(s * d for s, d in zip(steps[2:], dilation)))
    return np.lib.stride_tricks.as_strided(x, shape, strides, writeable=False)


def _conv(node: Node, x: Array) -> Array:
    o = node.options
    return correlate(x, node.arrays["weight"], node.arrays.get("bias"), o["stride"], o["padding"], o["dilation"],
                     o["groups"])


def correlate(x: Array, weight: Array, bias: Array | None, stride: Sequence[int], padding: Sequence[tuple[int, int]],
              dilation: Sequence[int], groups: int) -> Array:
    """A convolution of any number of spatial axes; negative padding cuts off."""
    axes = weight.ndim - 2
    if x.ndim != axes + 2 or not len(stride) == len(padding) == len(dilation) == axes:
        raise builtins.ValueError(f"{axes} spatial axes are needed")
    if groups < 1 or x.shape[1] != groups * weight.shape[1] or weight.shape[0] % groups:
        raise builtins.ValueError("channels do not fit the groups")
    if min(stride) < 1 or min(dilation) < 1:
        raise builtins.ValueError("strides and dilations are 1 or more")
    x = _padded(x, padding)
    kernel = weight.shape[2:]
    counts = [(n - d * (k - 1) - 1) // s + 1 for n, k, s, d in zip(x.shape[2:], kernel, stride, dilation)]
    if min(counts) < 1:
        raise builtins.ValueError("the kernel is larger than the padded input")
    if bias is not None and bias.shape != weight.shape[:1]:
        raise builtins.ValueError("one bias for each channel is needed")
    w = weight.reshape(groups, weight.shape[0] // groups, -1)
    out = np.empty((len(x), weight.shape[0], *counts))
    at_once = max(1, _AT_ONCE // (math.prod(x.shape[2:]) * math.prod(kernel) * x.shape[1]))
    for first in range(0, len(x), at_once):
        part = x[first : first + at_once]
        columns, places = _columns(part, groups, kernel, stride, dilation, counts)
        made = places(np.matmul(w, columns))
        out[first : first + at_once] = made.reshape(len(part), -1, *counts)
    if bias is not None:
        out += bias.reshape(-1, *[1] * axes)
    return out


def _columns(x: Array, groups: int, kernel: Sequence[int], stride: Sequence[int], dilation: Sequence[int],
             counts: Sequence[int]) -> tuple[Array, Callable[[Array], Array]]:
    """What a kernel sees of padded values: shape (batch, groups, channels and kernel, places). And a function that
    gives the places their axes, (..., places) to (..., *counts).

    With a stride of 1 the places of one offset of the kernel are one run of the values, with a few places more
    between the rows: long runs are copied several times as fast as rows are.
    """
    axes = len(kernel)
    if max(stride) > 1:
        view = _windows(x, kernel, stride, dilation, counts)
        view = view.reshape(len(x), groups, -1, *view.shape[2:])
        ordered = view.transpose(0, 1, 2, *range(3 + axes, 3 + 2 * axes), *range(3, 3 + axes))
        return ordered.reshape(len(x), groups, -1, math.prod(counts)), lambda y: y.reshape(*y.shape[:-1], *counts)
    x = np.ascontiguousarray(x)
    steps = [math.prod(x.shape[3 + a :]) for a in range(axes)]
    run = 1 + sum((n - 1) * step for n, step in zip(counts, steps))
    size = x.itemsize
    strides = (*x.strides[:2], *(d * step * size for d, step in zip(dilation, steps)), size)
    view = np.lib.stride_tricks.as_strided(x, (*x.shape[:2], *kernel, run), strides, writeable=False)

    def places(y: Array) -> Array:
        shape, of_places = (*y.shape[:-1], *counts), (*y.strides[:-1], *(step * size for step in steps))
        return np.lib.stride_tricks.as_strided(y, shape, of_places, writeable=False)

    return view.reshape(len(x), groups, -1, run), places


def _padded(x: Array, padding: Sequence[tuple[int, int]]) -> Array:
    kept = [slice(None)] * 2 + [slice(max(-b, 0), n - max(-a, 0)) for n, (b, a) in zip(x.shape[2:], padding)]
    x = x[tuple(kept)]
    grown = [(max(b, 0), max(a, 0)) for b, a in padding]
    return np.pad(x, [(0, 0), (0, 0), *grown]) if any(b or a for b, a in grown) else x


def as_conv(node: Node) -> tuple[Array, tuple[tuple[int, int], ...]]:
    """A transposed convolution as a convolution of stride 1 of the input with zeros between its values: weights and
    padding."""
    w, o = node.arrays["weight"], node.options
    groups, axes = o["groups"], w.ndim - 2
    if w.shape[0] % groups:
        raise builtins.ValueError("channels do not fit the groups")
    w = w.reshape(groups, w.shape[0] // groups, *w.shape[1:]).swapaxes(1, 2)
    w = np.flip(w.reshape(-1, *w.shape[2:]), tuple(range(2, 2 + axes)))
    padding = tuple((d * (k - 1) - p, d * (k - 1) - p + more) for d, k, p, more in
                    zip(o["dilation"], w.shape[2:], o["padding"], o["output_padding"]))
    return np.ascontiguousarray(w), padding


def _conv_transpose(node: Node, x: Array) -> Array:
    weight, padding = as_conv(node)
    stride = node.options["stride"]
    if x.ndim != len(stride) + 2:
        raise builtins.ValueError(f"{len(stride)} spatial axes are needed")
    spread = np.zeros((*x.shape[:2], *((n - 1) * s + 1 for n, s in zip(x.shape[2:], stride))))
    spread[tuple([slice(None)] * 2 + [slice(None, None, s) for s in stride])] = x
    return correlate(spread, weight, node.arrays.get("bias"), (1,) * len(stride), padding, node.options["dilation"],
                     node.options["groups"])


def _along(node: Node, x: Array) -> Array:
    for name, matrix in node.arrays.items():
        axis = int(name.removeprefix("axis")) + 1
        if (np.count_nonzero(matrix, axis=1) <= 1).all():  # slices and padding
            at = np.abs(matrix).argmax(axis=1)
            factor = matrix[np.arange(len(at)), at]
            x = np.take(x, at, axis)
            if not (factor == 1).all():
                x = x * factor.reshape(-1, *(1,) * (x.ndim - 1 - axis))
            continue
        x = np.moveaxis(np.tensordot(x, matrix, (axis, 1)), -1, axis)
    return np.ascontiguousarray(x)


def _scale(node: Node, x: Array) -> Array:
    return np.asarray(x * _of_shape(node.arrays["value"], x))


def _shift(node: Node, x: Array) -> Array:
    return np.asarray(x + _of_shape(node.arrays["value"], x))


def _of_shape(value: Array, x: Array) -> Array:
    return np.broadcast_to(value, x.shape[1:])


# ---- moving values ----


def _reshape(node: Node, x: Array) -> Array:
    return np.asarray(x.reshape(len(x), *node.options["shape"]))


def _permute(node: Node, x: Array) -> Array:
    return np.asarray(x.transpose(0, *(a + 1 for a in node.options["axes"])))


def _concat(node: Node, *xs: Array) -> Array:
    return np.concatenate(xs, axis=node.options["axis"] + 1)


# ---- functions of values ----


def _pair(f: Callable[[Array, Array], Array]) -> Callable[..., Array]:
    def computed(node: Node, x: Array, y: Array) -> Array:
        if x.shape != y.shape:
            raise builtins.ValueError("two operands of one shape are needed")
        return f(x, y)

    return computed


def _activation(node: Node, x: Array) -> Array:
    parameters = {k: v for k, v in node.options.items() if k != "function"}
    if "value" in node.arrays:
        parameters["value"] = _of_shape(node.arrays["value"], x)
    return np.asarray(formulas.formula(node.layer, node.options["function"], parameters)(x))


def _polynomial(node: Node, x: Array) -> Array:
    return np.asarray(np.polynomial.polynomial.polyval(x, node.arrays["coefficients"].reshape(-1)))


def _quadratic(node: Node, x: Array) -> Array:
    c0, c1, c2 = (_of_shape(node.arrays[name], x) for name in ("c0", "c1", "c2"))
    return np.asarray(c0 + x * (c1 + x * c2))


def _matmul(node: Node, x: Array, y: Array) -> Array:
    if x.ndim < 3 or y.ndim < 3:
        raise builtins.ValueError("two axes or more are needed")
    return np.asarray(x @ y)


def softmax(x: Array, axis: int) -> Array:
    e = np.exp(x - x.max(axis=axis, keepdims=True))
    return np.asarray(e / e.sum(axis=axis, keepdims=True))


def _softmax(node: Node, x: Array) -> Array:
    if "mask" in node.arrays:
        x = x + _of_shape(node.arrays["mask"], x)
    return softmax(x, node.options["axis"] + 1)


def _layer_norm(node: Node, x: Array) -> Array:
    axes = tuple(range(x.ndim - node.options["axes"], x.ndim))
    if axes and axes[0] < 1:
        raise builtins.ValueError("it has fewer axes")
    centred = x - x.mean(axis=axes, keepdims=True)
    out = centred / np.sqrt((centred**2).mean(axis=axes, keepdims=True) + node.options["epsilon"])
    if "weight" in node.arrays:
        out = out * _of_shape(node.arrays["weight"], x)
    return np.asarray(out + _of_shape(node.arrays["bias"], x) if "bias" in node.arrays else out)


def _attention(node: Node, q: Array, k: Array, v: Array) -> Array:
    scores = q @ k.swapaxes(-1, -2) * node.options["scale"]
    if "mask" in node.arrays:
        scores = scores + _of_shape(node.arrays["mask"], scores)
    return np.asarray(softmax(scores, -1) @ v)


def _max_pool(node: Node, x: Array) -> Array:
    o = node.options
    if not x.ndim - 2 == len(o["kernel"]) == len(o["stride"]) == len(o["padding"]) == len(o["dilation"]):
        raise builtins.ValueError(f"{len(o['kernel'])} spatial axes are needed")
    counts = [window_count(n, k, s, p, d, o["ceil"]) for n, k, s, p, d in
              zip(x.shape[2:], o["kernel"], o["stride"], o["padding"], o["dilation"])]
    if min(counts) < 1:
        raise builtins.ValueError("the kernel is larger than the padded input")
    more = [(p, max(p, (c - 1) * s + d * (k - 1) + 1 - n - p)) for n, c, k, s, p, d in
            zip(x.shape[2:], counts, o["kernel"], o["stride"], o["padding"], o["dilation"])]
    x = np.pad(x, [(0, 0), (0, 0), *more], constant_values=-np.inf)
    view = _windows(x, o["kernel"], o["stride"], o["dilation"], counts)
    return np.asarray(view.max(axis=tuple(range(2 + len(counts), view.ndim))))


def _argmax(node: Node, x: Array) -> Array:
    axis = node.options["axis"] + 1
    at = np.expand_dims(x.argmax(axis=axis), axis)
    return np.asarray(np.moveaxis(np.arange(x.shape[axis]) == np.moveaxis(at, axis, -1), -1, axis).astype(np.float64))


# ---- recurrent layers ----


def _steps(node: Node, x: Array) -> tuple[Array, Array, Array | float]:
    """The contributions of the inputs, the matrix of the state, and its bias. Steps are the first axis, in the order of
    time."""
    a = node.arrays
    gates = x @ a["w_ih"].T + a.get("b_ih", 0.0)
    gates = gates.swapaxes(0, 1)
    if a["w_hh"].shape != (a["w_ih"].shape[0], a["w_hh"].shape[1]):
        raise builtins.ValueError("the weights of inputs and of states do not fit")
    return gates[::-1] if node.options["reverse"] else gates, a["w_hh"].T, a.get("b_hh", 0.0)


def _in_time(node: Node, states: list[Array]) -> Array:
    return np.stack(states[::-1] if node.options["reverse"] else states, axis=1)


def _rnn(node: Node, x: Array) -> Array:
    gates, w, b = _steps(node, x)
    f = formulas.formula(node.layer, node.options["function"], {})
    h, out = np.zeros((len(x), w.shape[0])), []
    for g in gates:
        h = f(g + h @ w + b)
        out.append(h)
    return _in_time(node, out)


def _lstm(node: Node, x: Array) -> Array:
    gates, w, b = _steps(node, x)
    h, c, out = np.zeros((len(x), w.shape[0])), np.zeros((len(x), w.shape[0])), []
    for g in gates:
        i, f, new, o = np.split(g + h @ w + b, 4, axis=1)
        c = formulas.sigmoid(f) * c + formulas.sigmoid(i) * np.tanh(new)
        h = formulas.sigmoid(o) * np.tanh(c)
        out.append(h)
    return _in_time(node, out)


def _gru(node: Node, x: Array) -> Array:
    gates, w, b = _steps(node, x)
    h, out = np.zeros((len(x), w.shape[0])), []
    for g in gates:
        r, z, new = np.split(g, 3, axis=1)
        hr, hz, hn = np.split(h @ w + b, 3, axis=1)
        r, z = formulas.sigmoid(r + hr), formulas.sigmoid(z + hz)
        h = (1 - z) * np.tanh(new + r * hn) + z * h
        out.append(h)
    return _in_time(node, out)


_OPERATIONS: dict[str, Callable[..., Array]] = {
    "linear": _linear, "conv": _conv, "conv_transpose": _conv_transpose, "along": _along, "sparse": _sparse,
    "scale": _scale,
    "shift": _shift, "reshape": _reshape, "permute": _permute, "concat": _concat, "add": _pair(np.add),
    "sub": _pair(np.subtract), "mul": _pair(np.multiply), "activation": _activation, "polynomial": _polynomial,
    "quadratic": _quadratic,
    "matmul": _matmul, "softmax": _softmax, "layer_norm": _layer_norm, "attention": _attention,
    "max_pool": _max_pool, "maximum": _pair(np.maximum), "argmax": _argmax, "rnn": _rnn, "lstm": _lstm, "gru": _gru,
}
