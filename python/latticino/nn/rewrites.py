"""Layers written with simpler ones, before anything is measured: what is left are affine maps, sums, products,
polynomials and functions of one value.

| layer | becomes |
|---|---|
| prelu | scaled sums of x and its absolute value |
| hardsigmoid | a clip |
| max_pool | a tree of maxima, ``(a + b) / 2 + abs(a - b) / 2``, along one axis after the other |
| maximum | the same for two values |
| argmax | a step for each pair of values, ranks, and a function of ranks |
| layer_norm | the centred values times the inverse square root of their mean square |
| softmax | exp of the centred values times the reciprocal of their sum |
| attention, matmul | repeated values, products, sums |
| rnn, lstm, gru | their steps |
| sums and products of multiples of one value | a polynomial, or a quadratic with a coefficient for each place |
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from .. import errors
from .builder import Builder
from .graph import Graph, Node, window_sums
from .labels import ranks

_MAX_PRODUCTS = 1 << 17  # the most products of numbers of one matmul, and comparisons of one argmax
_MAX_DEGREE = 16  # the largest degree of polynomials that are multiplied out


FORMS = ("matmul", "elementwise")  # forms of products of matrices: kept as such, or written with products of numbers


def multiplies(graph: Graph) -> int:
    """The number of products of numbers in its largest product of matrices; 0 without any."""
    most = 0
    for node in graph.nodes:
        shapes = [graph.nodes[i].shape for i in node.inputs]
        if node.op == "matmul":
            most = max(most, node.size * shapes[0][-1])
        elif node.op == "attention":  # scores, and their product with the values
            queries, keys, values = shapes
            lead = math.prod(np.broadcast_shapes(queries[:-2], keys[:-2], values[:-2]))
            most = max(most, lead * queries[-2] * keys[-2] * max(queries[-1], values[-1]))
    return most


def simplified(graph: Graph, form: str = "elementwise") -> Graph:
    """The same function with fewer kinds of nodes. ``form`` of products of matrices, see `FORMS`.

    UnsupportedError, naming the layer, for a layer too large for it."""
    return _joined(_expanded(graph, form))


class _Builder(Builder):
    form = ""


def _expanded(graph: Graph, form: str) -> Graph:
    build = _Builder(graph.shape_in)
    build.form = form
    at = {0: 0}
    for i, node in enumerate(graph.nodes[1:], 1):
        if node.op == "argmax" and i != graph.output:
            raise errors.UnsupportedError.explain(
                f"layer {node.layer or i}", "argmax inside of the network", "it as the last step",
                "return it, and go on with the decrypted labels")
        xs = [at[j] for j in node.inputs]
        rule = _RULES.get(str(node.options.get("function")) if node.op == "activation" else node.op)
        at[i] = rule(build, node, *xs) if rule else build.add_node(node.op, tuple(xs), node.layer, node.arrays,
                                                                   node.options)
    return build.graph(at[graph.output], graph.decision)


def _prelu(build: Builder, node: Node, x: int) -> int:
    slopes = node.arrays["value"]
    size = build.activation(x, "abs", node.layer)
    return build.add(build.scale(size, (1 - slopes) / 2, node.layer), build.scale(x, (1 + slopes) / 2, node.layer),
                     node.layer)


def _hardsigmoid(build: Builder, node: Node, x: int) -> int:
    return build.activation(build.shift(build.scale(x, 1 / 6, node.layer), 0.5, node.layer), "clip", node.layer,
                            low=0.0, high=1.0)


# ---- maxima ----


def _max_pool(build: Builder, node: Node, x: int) -> int:
    o = node.options
    for axis, given in enumerate(zip(o["kernel"], o["stride"], o["padding"], o["dilation"]), 1):
        n = build.shape(x)[axis]
        covered = [np.flatnonzero(row) for row in window_sums(n, *given, o["ceil"])]
        # A window that reaches into the padding repeats its own last value instead.
        picks = [np.array([c[min(k, len(c) - 1)] for c in covered]) for k in range(max(map(len, covered)))]
        parts = [build.along(x, {axis: np.eye(n)[pick]}, "slice", node.layer) for pick in picks]
        while len(parts) > 1:
            parts = [_larger(build, node, *parts[k : k + 2]) if k + 1 < len(parts) else parts[k]
                     for k in range(0, len(parts), 2)]
        x = parts[0]
    return x


def _larger(build: Builder, node: Node, a: int, b: int) -> int:
    half = build.scale(build.add(a, b, node.layer), 0.5, node.layer)
    size = build.activation(build.scale(build.sub(a, b, node.layer), 0.5, node.layer), "abs", node.layer)
    return build.add(half, size, node.layer)


def _maximum(build: Builder, node: Node, x: int, y: int) -> int:
    return _larger(build, node, x, y)


def _argmax(build: Builder, node: Node, x: int) -> int:
    """1 for the largest value along an axis, 0 for others: see labels/ranks.py."""
    axis, layer, shape = node.options["axis"], node.layer, build.shape(x)
    count = shape[axis]
    compared = math.prod(shape) // count * (count * (count - 1) // 2)
    if not 2 <= count <= ranks.MOST or compared > _MAX_PRODUCTS:
        raise errors.UnsupportedError.explain(
            f"layer {layer or 'without a name'}", f"argmax of {count:,} values, {compared:,} comparisons in all",
            f"2 to {ranks.MOST} values and at most {_MAX_PRODUCTS:,} comparisons",
            "return the scores, and take argmax of the decrypted ones")
    differences = build.along(x, {axis: ranks.pairs(count)}, "pairs", layer)
    larger = build.activation(differences, "step", layer, gap=node.options["gap"], bits=ranks.bits_of_pairs(count))
    if count == 2:
        return larger
    matrix, offset = ranks.ranks(count)
    more = (1,) * (len(shape) - axis - 1)
    own = build.shift(build.along(larger, {axis: matrix}, "ranks", layer), offset.reshape(-1, *more), layer)
    return build.activation(own, "first", layer, count=count)


# ---- norms and softmax ----


def _mean_kept(build: Builder, x: int, axes: range, layer: str) -> int:
    """The mean over axes, repeated in every place."""
    shape = build.shape(x)
    return build.along(x, {a: np.full((shape[a], shape[a]), 1 / shape[a]) for a in axes}, "mean", layer)


def _layer_norm(build: Builder, node: Node, x: int) -> int:
    shape, layer = build.shape(x), node.layer
    axes = range(len(shape) - node.options["axes"], len(shape))
    centred = build.sub(x, _mean_kept(build, x, axes, layer), layer)
    variance = build.mean(build.mul(centred, centred, layer), axes, True, layer)
    root = build.activation(build.shift(variance, node.options["epsilon"], layer), "rsqrt", layer)
    out = build.mul(centred, root, layer)
    if "weight" in node.arrays:
        out = build.scale(out, node.arrays["weight"], layer)
    return build.shift(out, node.arrays["bias"], layer) if "bias" in node.arrays else out


def _softmax(build: Builder, node: Node, x: int) -> int:
    axis, layer = node.options["axis"], node.layer
    if "mask" not in node.arrays:
        return _softmax_along(build, x, axis, layer)
    mask = np.broadcast_to(node.arrays["mask"], node.shape)
    factor = np.exp(mask - mask.max(axis=axis, keepdims=True))
    centred = build.sub(x, _mean_of(build, x, factor > 0, axis, layer), layer)
    e = build.scale(build.activation(centred, "exp", layer), factor, layer)
    total = build.mean(e, [axis], True, layer, total=True)
    return build.mul(e, build.activation(total, "reciprocal", layer), layer)


def _mean_of(build: Builder, x: int, chosen: np.ndarray, axis: int, layer: str) -> int:
    """The mean of the chosen values along an axis, in their places. Others become 0, and so does what a mask hides."""
    shape = chosen.shape
    places = np.moveaxis(np.arange(chosen.size).reshape(shape), axis, -1)
    kept = np.moveaxis(chosen, axis, -1)
    share = kept[..., :, None] * kept[..., None, :] / kept.sum(axis=-1)[..., None, None]
    share = share + np.eye(shape[axis]) * ~kept[..., :, None]  # minus itself
    rows, columns = (np.broadcast_to(p, share.shape) for p in (places[..., :, None], places[..., None, :]))
    used = share != 0
    flat = build.reshape(x, (chosen.size,), layer)
    mean = build.sparse(flat, rows[used], columns[used], share[used], chosen.size, None, layer)
    return build.reshape(mean, shape, layer)


def _softmax_along(build: Builder, x: int, axis: int, layer: str) -> int:
    centred = build.sub(x, _mean_kept(build, x, range(axis, axis + 1), layer), layer)  # a shift does not change softmax
    e = build.activation(centred, "exp", layer)
    total = build.mean(e, [axis], True, layer, total=True)
    return build.mul(e, build.activation(total, "reciprocal", layer), layer)


# ---- products of matrices ----


def _matmul(build: Builder, node: Node, x: int, y: int) -> int:
    """A product of matrices: kept, with equal leading axes; or both factors repeated to (..., n, k, m), multiplied, and
    summed over k."""
    layer = node.layer
    a, b = build.shape(x), build.shape(y)
    lead = np.broadcast_shapes(a[:-2], b[:-2])
    if isinstance(build, _Builder) and build.form == "matmul":
        x, y = (build.broadcast(v, (*lead, *build.shape(v)[-2:]), layer) for v in (x, y))
        return build.matmul(x, y, layer)
    full = (*lead, a[-2], a[-1], b[-1])
    if math.prod(full) > _MAX_PRODUCTS:
        raise errors.UnsupportedError.explain(
            f"layer {layer or 'without a name'}", f"a product of encrypted matrices of shapes {a} and {b}, "
            f"{math.prod(full):,} products of numbers", f"at most {_MAX_PRODUCTS:,}",
            "use fewer tokens or a smaller width")
    left = build.broadcast(build.reshape(x, (*a, 1), layer), full, layer)
    right = build.broadcast(build.reshape(y, (*b[:-2], 1, *b[-2:]), layer), full, layer)
    return build.mean(build.mul(left, right, layer), [len(full) - 2], False, layer, total=True)


def _attention(build: Builder, node: Node, q: int, k: int, v: int) -> int:
    layer, last = node.layer, len(build.shape(k)) - 1
    turned = build.permute(k, (*range(last - 1), last, last - 1), layer)
    scores = build.scale(_matmul(build, node, q, turned), node.options["scale"], layer)
    if "mask" in node.arrays:
        return _masked(build, node, scores, v)
    return _matmul(build, node, _softmax_along(build, scores, last, layer), v)


def _masked(build: Builder, node: Node, scores: int, v: int) -> int:
    """exp of the scores times exp of the mask, which is a number."""
    layer, shape = node.layer, build.shape(scores)
    mask = np.exp(np.broadcast_to(node.arrays["mask"], shape))
    if not (mask.max(axis=-1) > 0).all():
        raise errors.UnsupportedError.explain(f"layer {layer or 'without a name'}",
                                              "a mask that hides all keys from a query",
                                              "at least one key for each query", "correct the mask")
    e = build.scale(build.activation(scores, "exp", layer), mask, layer)
    total = build.mean(e, [len(shape) - 1], True, layer, total=True)
    return _matmul(build, node, build.mul(e, build.activation(total, "reciprocal", layer), layer), v)


# ---- recurrent layers ----


def _steps(build: Builder, node: Node, x: int) -> tuple[list[int], Callable[[int], int], list[int]]:
    """The contribution of the inputs at each step, the map of the state, and the order of steps."""
    a, layer = node.arrays, node.layer
    steps, hidden = build.shape(x)[0], a["w_hh"].shape[1]
    bias = a.get("b_ih", np.zeros(len(a["w_ih"])))
    if node.op != "gru":  # both biases are added here; a GRU multiplies b_hh by a gate first
        bias = bias + a.get("b_hh", 0.0)
    inputs = [build.linear(build.reshape(build.slice(x, 0, t, t + 1, 1, layer), build.shape(x)[1:], layer), a["w_ih"],
                           bias, layer)
              for t in range(steps)]
    own = a.get("b_hh") if node.op == "gru" else None

    def of_state(h: int) -> int:
        if h < 0:  # these states are zeros
            zeros = build.linear(build.reshape(x, (build.nodes[x].size,), layer),
                                 np.zeros((len(a["w_hh"]), build.nodes[x].size)),
                                 own, layer)
            return zeros
        return build.linear(h, a["w_hh"], own, layer)

    assert hidden
    return inputs, of_state, list(range(steps))[::-1] if node.options["reverse"] else list(range(steps))


def _stacked(build: Builder, node: Node, states: dict[int, int]) -> int:
    rows = [build.reshape(states[t], (1, build.nodes[states[t]].size), node.layer) for t in sorted(states)]
    return build.concat(rows, 0, node.layer) if len(rows) > 1 else rows[0]


def _rnn(build: Builder, node: Node, x: int) -> int:
    inputs, of_state, order = _steps(build, node, x)
    h, states = -1, {}
    for t in order:
        total = inputs[t] if h < 0 else build.add(inputs[t], of_state(h), node.layer)
        h = states[t] = build.activation(total, node.options["function"], node.layer)
    return _stacked(build, node, states)


def _split(build: Builder, x: int, parts: int, layer: str) -> list[int]:
    n = build.shape(x)[0] // parts
    return [build.slice(x, 0, k * n, (k + 1) * n, 1, layer) for k in range(parts)]


def _lstm(build: Builder, node: Node, x: int) -> int:
    layer = node.layer
    inputs, of_state, order = _steps(build, node, x)
    h, c, states = -1, -1, {}
    for t in order:
        i, f, new, o = _split(build, inputs[t] if h < 0 else build.add(inputs[t], of_state(h), layer), 4, layer)
        gained = build.mul(build.activation(i, "sigmoid", layer), build.activation(new, "tanh", layer), layer)
        c = gained if c < 0 else build.add(build.mul(build.activation(f, "sigmoid", layer), c, layer), gained, layer)
        h = states[t] = build.mul(build.activation(o, "sigmoid", layer), build.activation(c, "tanh", layer), layer)
    return _stacked(build, node, states)


def _gru(build: Builder, node: Node, x: int) -> int:
    layer = node.layer
    inputs, of_state, order = _steps(build, node, x)
    h, states = -1, {}
    for t in order:
        r, z, new = _split(build, inputs[t], 3, layer)
        hr, hz, hn = _split(build, of_state(h), 3, layer)
        r = build.activation(build.add(r, hr, layer), "sigmoid", layer)
        z = build.activation(build.add(z, hz, layer), "sigmoid", layer)
        new = build.activation(build.add(new, build.mul(r, hn, layer), layer), "tanh", layer)
        # (1 - z) new + z h
        h = states[t] = build.sub(new, build.mul(z, new if h < 0 else build.sub(new, h, layer), layer), layer)
    return _stacked(build, node, states)


_RULES: dict[str, Callable[..., int]] = {
    "prelu": _prelu, "hardsigmoid": _hardsigmoid, "max_pool": _max_pool, "maximum": _maximum,
    "argmax": _argmax, "layer_norm": _layer_norm, "softmax": _softmax,
    "matmul": _matmul, "attention": _attention, "rnn": _rnn, "lstm": _lstm, "gru": _gru,
}


# ---- polynomials of one value ----

# lowest first; numbers, or arrays that broadcast to the value if the degree is at most 2
Coefficients = list[np.ndarray]


def _joined(graph: Graph) -> Graph:
    """Joins scales, shifts, sums and products of one value into one polynomial, if its degree is 2 or more."""
    known: list[tuple[int, Coefficients]] = []
    for i in range(len(graph.nodes)):
        known.append(_as_polynomial(graph, i, known))
    needed = {graph.output}
    for i in range(graph.output, 0, -1):
        if i in needed:
            root, c = known[i]
            needed.update([root] if len(c) > 2 and root != i else graph.nodes[i].inputs)
    build = Builder(graph.shape_in)
    at = {0: 0}
    for i in sorted(needed - {0}):
        node, (root, c) = graph.nodes[i], known[i]
        if root == i or len(c) <= 2:
            at[i] = build.add_node(node.op, tuple(at[j] for j in node.inputs), node.layer, node.arrays, node.options)
        elif len(c) == 3:
            at[i] = build.add_node("quadratic", (at[root],), node.layer, {f"c{k}": v for k, v in enumerate(c)})
        else:
            at[i] = build.polynomial(at[root], np.array([float(v) for v in c]), node.layer)
    return build.graph(at[graph.output], graph.decision)


def _as_polynomial(graph: Graph, i: int, known: list[tuple[int, Coefficients]]) -> tuple[int, Coefficients]:
    """(root, coefficients): the node as a polynomial of an earlier node, or of itself."""
    node, own = graph.nodes[i], (i, [np.zeros(()), np.ones(())])
    if not node.inputs:
        return own
    root, c = known[node.inputs[0]]
    out: Coefficients | None = None
    if node.op in ("scale", "shift"):
        value = node.arrays["value"]
        value = value.reshape(()) if value.size == 1 else value
        out = [v * value for v in c] if node.op == "scale" else [c[0] + value, *c[1:]]
    elif node.op == "polynomial":
        a = node.arrays["coefficients"].reshape(-1)
        out = [a[-1:].reshape(())] if (len(a) - 1) * (len(c) - 1) <= _MAX_DEGREE else None
        for value in a[-2::-1] if out is not None else ():
            out = _summed(_multiplied(out or [], c), [np.asarray(value)], 1.0)
    elif node.op in ("add", "sub", "mul"):
        other, d = known[node.inputs[1]]
        if other == root and node.op == "mul" and len(c) + len(d) - 2 <= _MAX_DEGREE:
            out = _multiplied(c, d)
        elif other == root and node.op != "mul":
            out = _summed(c, d, 1.0 if node.op == "add" else -1.0)
    while out and not np.any(out[-1]):
        out.pop()
    numbers = out is not None and all(np.ndim(v) == 0 for v in out)
    return (root, out) if out is not None and len(out) > 1 and (numbers or len(out) <= 3) else own


def _multiplied(a: Coefficients, b: Coefficients) -> Coefficients:
    out: Coefficients = [np.zeros(())] * (len(a) + len(b) - 1)
    for i, x in enumerate(a):
        for j, y in enumerate(b):
            out[i + j] = np.asarray(out[i + j] + x * y)
    return out


def _summed(a: Coefficients, b: Coefficients, sign: float) -> Coefficients:
    zero = np.zeros(())
    return [np.asarray((a[k] if k < len(a) else zero) + sign * (b[k] if k < len(b) else zero))
            for k in range(max(len(a), len(b)))]
