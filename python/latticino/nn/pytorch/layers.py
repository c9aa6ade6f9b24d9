"""Converts each operation of an exported PyTorch program to nodes of the model graph. Nodes have the same values as in
torch, row by row; shapes may differ by axes of length 1. `Call.view` gives the axes that an operation names.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np

from ... import errors

if TYPE_CHECKING:
    from ..builder import Builder
    from ..labels.decisions import Decision


class Value(NamedTuple):
    """A node, and the shape that torch has for it, which begins with an axis for the one input."""

    node: int
    shape: tuple[int, ...]


class Decided(NamedTuple):
    """The result of a comparison: its node, the shape that torch has for it, and what it means. It can only be moved
    and returned. The shape of `decision` is not set yet."""

    node: int
    shape: tuple[int, ...]
    decision: Decision
    layer: str


class Missing(NamedTuple):
    """Stands for a result that a layer does not compute. Using it raises an error."""

    layer: str
    had: str
    needs: str
    remedy: str


RULES: dict[str, Callable[..., Any]] = {}
Rule = TypeVar("Rule", bound=Callable[..., Any])
SOFTMAX = {"softmax", "_softmax", "_safe_softmax"}
HIDDEN = -1e9  # what is added to scores that softmax leaves out
_MASK = -30.0  # where so little is added to scores, it is a mask: without one, exp would have to hold such values
_TINY = 1e-6  # a norm that is kept above so little is kept above 0 alone
_FEWER = "rewrite the layer with supported operations (docs/network_layers.md lists them), or leave it to the client"
_REMEDIES = {
    "embedding": "look the vectors up on the client: pass the embedding's output as the model's input",
    "topk": "return the scores, and sort the decrypted ones",
    "log_softmax": "return the scores, and take the logarithm of softmax of the decrypted ones",
    "logsumexp": "return its argument, and take logsumexp of the decrypted values",
    "rand": "leave random numbers to training: add them where self.training is true",
    "_native_batch_norm_legit": "use batch norm with track_running_stats=True, which costs nothing",
}


def remedy(name: str) -> str:
    for key, text in _REMEDIES.items():
        if name.startswith(key):
            return text
    if name in ("eq", "ne", "where", "sort"):
        return "comparisons are costly: use a ReLU or a smooth activation instead"
    return _FEWER


def rule(*names: str) -> Callable[[Rule], Rule]:
    def kept(f: Rule) -> Rule:
        RULES.update(dict.fromkeys(names, f))
        return f

    return kept


class Call:
    """One operation of the program: its name, its layer, and the shape that torch expects of its result."""

    def __init__(self, build: Builder, torch: Any, node: Any, name: str, layer: str,
                 shape: tuple[int, ...] | None) -> None:
        self.build, self.torch = build, torch
        self.node, self.name, self.layer, self.expected = node, name, layer, shape

    def named(self, name: str) -> Call:
        """This operation under the name of another one, whose rule computes a part of it."""
        return Call(self.build, self.torch, self.node, name, self.layer, self.expected)

    def value(self, node: int, shape: Sequence[int] | None = None) -> Value:
        """Sets the result, which must have as many values as torch's."""
        wanted = tuple(shape) if shape is not None else self.expected
        assert wanted is not None
        if math.prod(wanted) != self.build.nodes[node].size:
            raise errors.ShapeError.explain(f"layer {self.layer}",
                                            f"{self.name} with a result of shape {self.build.shape(node)}",
                                            f"torch's, {wanted}", "report the layer")
        return Value(node, wanted)

    def view(self, x: Value, *axes: int) -> tuple[int, list[int]]:
        """A node with torch's axes, without the first one if that is the axis of inputs, and the numbers of these axes.
        """
        chosen = [a % max(len(x.shape), 1) for a in axes]
        off = int(len(x.shape) > 1 and x.shape[0] == 1 and 0 not in chosen)
        return self.build.reshape(x.node, x.shape[off:], self.layer), [a - off for a in chosen]

    def constant(self, x: Any) -> np.ndarray:
        if isinstance(x, self.torch.Tensor):
            return np.asarray(x.detach().double().cpu().numpy())
        return np.asarray(x, np.float64)

    def array(self, x: Any) -> np.ndarray | None:
        return None if x is None else self.constant(x)

    def is_value(self, x: Any) -> bool:
        return isinstance(x, Value)

    def refuse(self, had: str, needs: str, remedy: str = _FEWER) -> errors.Error:
        return errors.UnsupportedError.explain(f"layer {self.layer}", had, needs, remedy)

    def require_constants(self, **given: Any) -> None:
        for name, x in given.items():
            if self.is_value(x):
                raise self.refuse(f"{self.name} with {name} computed from the input", f"a constant {name}")


# ---- linear layers ----


@rule("linear")
def _linear(c: Call, x: Any, weight: Any, bias: Any = None) -> Value:
    if not c.is_value(x):
        raise c.refuse("linear with weights computed from the input", "constant weights")
    c.require_constants(weight=weight, bias=bias)
    node, _ = c.view(x, -1)
    return c.value(c.build.linear(node, c.constant(weight), c.array(bias), c.layer))


@rule("addmm")
def _addmm(c: Call, bias: Any, x: Any, weight: Any, beta: float = 1, alpha: float = 1) -> Value:
    if c.is_value(bias) or not c.is_value(x) or c.is_value(weight):
        raise c.refuse("addmm of several computed operands", "one computed operand")
    node, _ = c.view(x, -1)
    out = c.build.linear(node, alpha * c.constant(weight).T, None, c.layer)
    return c.value(c.build.shift(out, beta * c.constant(bias), c.layer))


@rule("conv1d", "conv2d", "conv3d")
def _conv(c: Call, x: Any, weight: Any, bias: Any = None, stride: Any = 1, padding: Any = 0, dilation: Any = 1,
          groups: int = 1) -> Value:
    c.require_constants(weight=weight, bias=bias)
    w = c.constant(weight)
    if padding == "same":  # if the total is odd, torch pads one more at the end
        axes = w.ndim - 2
        ds = [int(v) for v in np.broadcast_to(dilation, axes)]
        totals = [d * (k - 1) for d, k in zip(ds, w.shape[2:])]
        padding = [(n // 2, n - n // 2) for n in totals]
    elif padding == "valid":
        padding = 0
    node = c.build.reshape(x.node, x.shape[-(w.ndim - 1):], c.layer)
    return c.value(c.build.conv(node, w, c.array(bias), stride=stride, padding=padding, dilation=dilation,
                                groups=groups, layer=c.layer))


@rule("conv_transpose1d", "conv_transpose2d", "conv_transpose3d")
def _conv_transpose(c: Call, x: Any, weight: Any, bias: Any = None, stride: Any = 1, padding: Any = 0,
                    output_padding: Any = 0, groups: int = 1, dilation: Any = 1) -> Value:
    c.require_constants(weight=weight, bias=bias)
    w = c.constant(weight)
    node = c.build.reshape(x.node, x.shape[-(w.ndim - 1):], c.layer)
    return c.value(c.build.conv_transpose(node, w, c.array(bias), stride=stride, padding=padding,
                                          output_padding=output_padding, dilation=dilation, groups=groups,
                                          layer=c.layer))


@rule("_native_batch_norm_legit_no_training")
def _batch_norm(c: Call, x: Any, weight: Any, bias: Any, mean: Any, variance: Any, momentum: float,
                epsilon: float) -> list[Value]:
    node, (axis,) = c.view(x, 1)
    factor = 1 / np.sqrt(c.constant(variance) + epsilon)
    if weight is not None:
        factor = factor * c.constant(weight)
    offset = -c.constant(mean) * factor
    if bias is not None:
        offset = offset + c.constant(bias)
    more = (1,) * (len(c.build.shape(node)) - axis - 1)
    scaled = c.build.scale(node, factor.reshape(-1, *more), c.layer)
    return [c.value(c.build.shift(scaled, offset.reshape(-1, *more), c.layer), x.shape)]


@rule("avg_pool1d", "avg_pool2d", "avg_pool3d")
def _avg_pool(c: Call, x: Any, kernel: Any, stride: Any = (), padding: Any = 0, ceil: bool = False,
              count_padding: bool = True, divisor: float | None = None) -> Value:
    node = image(c, x)
    return c.value(c.build.avg_pool(node, kernel, tuple(stride) if isinstance(stride, (list, tuple)) else stride,
                                    padding, ceil=ceil,
                                    count_padding=count_padding, divisor=divisor, layer=c.layer))


@rule("adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d", "_adaptive_avg_pool2d",
      "_adaptive_avg_pool3d")
def _adaptive_avg_pool(c: Call, x: Any, sizes: Any) -> Value:
    return c.value(c.build.adaptive_avg_pool(image(c, x), sizes, c.layer))


def image(c: Call, x: Any) -> int:
    """(channels, spatial...), by the number of spatial axes in the operation's name."""
    axes = int("".join(ch for ch in c.name if ch.isdigit()))
    return c.build.reshape(x.node, x.shape[-(axes + 1):], c.layer)


@rule("upsample_nearest1d", "upsample_nearest2d", "upsample_nearest3d", "_upsample_nearest_exact1d",
      "_upsample_nearest_exact2d", "_upsample_nearest_exact3d", "upsample_linear1d", "upsample_bilinear2d",
      "upsample_trilinear3d", "upsample_bicubic2d", "reflection_pad1d", "reflection_pad2d", "reflection_pad3d",
      "replication_pad1d", "replication_pad2d", "replication_pad3d")
def _separable(c: Call, x: Any, *args: Any, **kwargs: Any) -> Value:
    """An operation that multiplies by a matrix along each spatial axis. The matrices come from torch itself, applied to
    unit vectors."""
    shape = tuple(x.shape[-(int("".join(ch for ch in c.name if ch.isdigit())) + 1):])
    node = c.build.reshape(x.node, shape, c.layer)
    own = {}
    for axis, n in enumerate(shape[1:], 1):
        probe = c.torch.eye(n).reshape(1, n, *(n if a == axis else 1 for a in range(1, len(shape))))
        probe = probe.expand(1, n, *shape[1:]).contiguous().double()
        out = c.node.target(probe, *args, **kwargs)[0]
        own[axis] = out.moveaxis(axis, 1).reshape(n, out.shape[axis], -1)[:, :, 0].T.numpy()
    return c.value(c.build.along(node, own, c.name, c.layer))


@rule("matmul", "bmm", "mm")
def _matmul(c: Call, x: Any, y: Any) -> Value:
    if c.is_value(x) and c.is_value(y):
        off = int(len(x.shape) > 2 and len(y.shape) > 2 and x.shape[0] == y.shape[0] == 1)
        if min(len(x.shape), len(y.shape)) < 2:
            raise c.refuse("matmul of a vector", "two matrices", "use unsqueeze and squeeze around it")
        left, right = (c.build.reshape(v.node, v.shape[off:], c.layer) for v in (x, y))
        return c.value(c.build.matmul(left, right, c.layer))
    if c.is_value(x):
        w = c.constant(y)
        if w.ndim > 2:
            w = w.reshape(w.shape[-2:]) if math.prod(w.shape[:-2]) == 1 else w
        if w.ndim <= 2:
            node, _ = c.view(x, -1)
            return c.value(c.build.linear(node, w.T if w.ndim == 2 else w[None], None, c.layer))
    else:
        w = c.constant(x)
        if w.ndim > 2 and math.prod(w.shape[:-2]) == 1:
            w = w.reshape(w.shape[-2:])
        if w.ndim <= 2 and len(y.shape) >= 2:
            node, (axis,) = c.view(y, -2)
            return c.value(c.build.along(node, {axis: np.atleast_2d(w)}, "matmul", c.layer))
    value = x if c.is_value(x) else y
    if min(len(value.shape), w.ndim) < 2:
        raise c.refuse(f"{c.name} of shape {value.shape} with a constant of shape {w.shape}", "two matrices",
                       "use unsqueeze and squeeze around it")
    return Value(*RULES["by_matrices"](c, value, w, not c.is_value(x)))


# ---- moving values ----


# Operations that change no value, and no order of values.
MOVES = ("view", "reshape", "_unsafe_view", "unsqueeze", "squeeze", "flatten", "unflatten", "clone", "alias", "detach",
         "contiguous", "_to_copy", "lift_fresh_copy", "to")


@rule(*MOVES)
def _same(c: Call, x: Any, *args: Any, **kwargs: Any) -> Value:
    before, after = c.node.args[0].meta["val"].dtype, c.node.meta["val"].dtype
    if before.is_floating_point and not after.is_floating_point:
        raise c.refuse(f"real numbers as {after}, which rounds them", "real numbers",
                       "leave the conversion to the client")
    return c.value(x.node, c.expected)


@rule("_assert_tensor_metadata")
def _checked(c: Call, x: Any, *args: Any, **kwargs: Any) -> None:
    """torch's own check of a type, which precedes ``x.float()`` and similar calls."""


@rule("permute", "transpose", "t")
def _permute(c: Call, x: Any, axes: Any = (1, 0), other: int | None = None) -> Value:
    order = list(range(len(x.shape)))
    if other is not None:
        order[axes], order[other] = order[other], order[axes]
    else:
        order = [a % len(x.shape) for a in axes]
    # Axes of length 1 move without moving a value.
    kept = [a for a, n in enumerate(x.shape) if n != 1]
    moved = [kept.index(a) for a in order if a in kept]
    if moved == sorted(moved):
        return c.value(x.node)
    node = c.build.reshape(x.node, [x.shape[a] for a in kept], c.layer)
    return c.value(c.build.permute(node, moved, c.layer))


@rule("cat")
def _cat(c: Call, xs: Any, axis: int = 0) -> Value:
    if not all(c.is_value(x) for x in xs):
        return _cat_constants(c, xs, axis)
    off = int(axis % len(xs[0].shape) != 0 and all(x.shape[0] == 1 for x in xs))
    nodes = [c.build.reshape(x.node, x.shape[off:], c.layer) for x in xs]
    return c.value(c.build.concat(nodes, axis % len(xs[0].shape) - off, c.layer))


def _cat_constants(c: Call, xs: Any, axis: int) -> Value:
    """Joins values with constants, such as a class token: zeros in the places of the constants, and a shift."""
    assert c.expected is not None
    axis = axis % len(c.expected)
    total, at, out = np.zeros(c.expected), 0, None
    for x in xs:
        n = x.shape[axis]
        if c.is_value(x):
            node = c.build.reshape(x.node, x.shape, c.layer)
            node = c.build.pad(node, {axis: (at, c.expected[axis] - at - n)}, 0.0, c.layer)
            out = node if out is None else c.build.add(out, node, c.layer)
        else:
            where = [slice(None)] * len(c.expected)
            where[axis] = slice(at, at + n)
            total[tuple(where)] = c.constant(x)
        at += n
    assert out is not None
    return c.value(c.build.shift(out, total, c.layer))


@rule("slice")
def _slice(c: Call, x: Any, axis: int = 0, start: int | None = None, end: int | None = None, step: int = 1) -> Value:
    n = x.shape[axis]
    chosen = range(n)[slice(start, end, step)]
    if list(chosen) == list(range(n)):
        return c.value(x.node)
    return _picked(c, x, axis, list(chosen))


def _picked(c: Call, x: Any, axis: int, chosen: list[int], kind: str = "slice") -> Value:
    node, (own,) = c.view(x, axis)
    return c.value(c.build.along(node, {own: np.eye(x.shape[axis])[chosen]}, kind, c.layer))


@rule("select")
def _select(c: Call, x: Any, axis: int, index: int) -> Value:
    return _picked(c, x, axis, [int(index) % x.shape[axis]])


@rule("index_select")
def _index_select(c: Call, x: Any, axis: int, index: Any) -> Value:
    c.require_constants(index=index)
    return _picked(c, x, axis, [int(i) for i in c.constant(index).reshape(-1)])


@rule("flip")
def _flip(c: Call, x: Any, axes: Any) -> Value:
    for axis in axes:
        x = _with_shape(c, x, axis, list(range(x.shape[axis]))[::-1], "flip")
    return c.value(x.node)


@rule("roll")
def _roll(c: Call, x: Any, shifts: Any, axes: Any = ()) -> Value:
    if not axes:
        return Value(*RULES["take"](c, x, shifts))
    for shift, axis in zip(np.atleast_1d(shifts), np.atleast_1d(axes)):
        x = _with_shape(c, x, int(axis), [int(i) for i in np.roll(np.arange(x.shape[axis]), shift)], "roll")
    return c.value(x.node)


def _with_shape(c: Call, x: Any, axis: int, chosen: list[int], kind: str) -> Any:
    node, (own,) = c.view(x, axis)
    return c.value(c.build.along(node, {own: np.eye(x.shape[axis])[chosen]}, kind, c.layer), x.shape)


@rule("split", "split_with_sizes", "chunk", "unbind", "unsafe_split", "unsafe_chunk")
def _split(c: Call, x: Any, sizes: Any = None, axis: int = 0) -> list[Value]:
    if c.name == "unbind":
        axis = 0 if sizes is None else sizes
    n, out, at = x.shape[axis], [], 0
    for part in c.node.meta["val"]:
        shape = tuple(int(m) for m in part.shape)
        length = 1 if c.name == "unbind" else shape[axis]
        node, (own,) = c.view(x, axis)
        out.append(c.value(c.build.along(node, {own: np.eye(n)[at : at + length]}, "slice", c.layer), shape))
        at += length
    return out


@rule("expand", "repeat")
def _expand(c: Call, x: Any, sizes: Any, **_: Any) -> Value:
    assert c.expected is not None
    shape = (1,) * (len(c.expected) - len(x.shape)) + tuple(x.shape)
    node = c.build.reshape(x.node, shape, c.layer)
    own = {a: np.tile(np.eye(had), (n // had, 1)) for a, (had, n) in enumerate(zip(shape, c.expected)) if had != n}
    return c.value(c.build.along(node, own, "broadcast", c.layer) if own else node)


@rule("constant_pad_nd")
def _pad(c: Call, x: Any, amounts: Any, value: float = 0.0) -> Value:
    ends = {len(x.shape) - 1 - i: (int(amounts[2 * i]), int(amounts[2 * i + 1])) for i in range(len(amounts) // 2)}
    node, axes = c.view(x, *ends)
    return c.value(c.build.pad(node, dict(zip(axes, ends.values())), float(value), c.layer))


@rule("mean", "sum")
def _mean(c: Call, x: Any, axes: Any = None, keep: bool = False, **_: Any) -> Value:
    axes = [axes] if isinstance(axes, int) else axes
    chosen = [a % len(x.shape) for a in axes] if axes else [a for a in range(len(x.shape)) if a or x.shape[0] != 1]
    chosen = [a for a in chosen if x.shape[a] != 1]
    if not chosen:
        return c.value(x.node)
    node, own = c.view(x, *chosen)
    return c.value(c.build.mean(node, own, True, c.layer, total=c.name == "sum"))


# ---- functions of values ----


def against(c: Call, op: str, x: Any, y: Any) -> Value:
    """The operation `op` on two operands, one of which may be constant."""
    assert c.expected is not None
    if c.is_value(x) and c.is_value(y):
        rank = len(c.expected)
        shapes = [(1,) * (rank - len(v.shape)) + tuple(v.shape) for v in (x, y)]
        off = int(rank > 1 and c.expected[0] == 1)
        nodes = [c.build.reshape(v.node, shape[off:], c.layer) for v, shape in zip((x, y), shapes)]
        return c.value(getattr(c.build, op)(*nodes, layer=c.layer))
    value, other = (x, c.constant(y)) if c.is_value(x) else (y, c.constant(x))
    off = int(len(c.expected) > 1 and c.expected[0] == 1)
    shape = (1,) * (len(c.expected) - len(value.shape)) + tuple(value.shape)
    other = without_infinity(c, other) if op in ("add", "sub") else other
    node = c.build.broadcast(c.build.reshape(value.node, shape[off:], c.layer), c.expected[off:], c.layer)
    if other.ndim and off and other.ndim == len(c.expected):
        other = other[0]
    if op == "mul":
        return c.value(c.build.scale(node, other, c.layer))
    if op == "sub" and not c.is_value(x):
        node = c.build.scale(node, -1.0, c.layer)
    return c.value(c.build.shift(node, -other if op == "sub" and c.is_value(x) else other, c.layer))


def without_infinity(c: Call, x: np.ndarray) -> np.ndarray:
    """Constants that are added to values. A softmax leaves out what minus infinity is added to; a large number does so
    too."""
    if np.isfinite(x).all():
        return x
    users = {str(user.target).removeprefix("aten.").split(".")[0] for user in c.node.users}
    if not users <= SOFTMAX or np.isnan(x).any() or (x == np.inf).any():
        raise c.refuse("a mask that sets values to infinity", "finite values",
                       "apply softmax directly to the masked values, or use F.scaled_dot_product_attention with "
                       "attn_mask or is_causal")
    return np.asarray(np.maximum(x, HIDDEN))


def _times(c: Call, x: Any, factor: float) -> Any:
    if factor == 1:
        return x
    return c.value(c.build.scale(x.node, factor, c.layer), x.shape) if c.is_value(x) else x * factor


@rule("add")
def _add(c: Call, x: Any, y: Any, alpha: float = 1) -> Value:
    return against(c, "add", x, _times(c, y, alpha))


@rule("sub")
def _sub(c: Call, x: Any, y: Any, alpha: float = 1) -> Value:
    return against(c, "sub", x, _times(c, y, alpha))


@rule("rsub")
def _rsub(c: Call, x: Any, y: Any, alpha: float = 1) -> Value:
    return against(c, "sub", y, _times(c, x, alpha))


@rule("mul")
def _mul(c: Call, x: Any, y: Any) -> Value:
    return against(c, "mul", x, y)


@rule("neg")
def _neg(c: Call, x: Any) -> Value:
    return c.value(c.build.scale(x.node, -1.0, c.layer))


@rule("square")
def _square(c: Call, x: Any) -> Value:
    return c.value(c.build.polynomial(x.node, [0.0, 0.0, 1.0], c.layer))


@rule("pow")
def _pow(c: Call, x: Any, exponent: Any) -> Value:
    if c.is_value(exponent) and not c.is_value(x) and c.constant(x).size == 1 and float(c.constant(x)) > 0:
        power = c.build.scale(exponent.node, math.log(float(c.constant(x))), c.layer)
        return c.value(c.build.activation(power, "exp", c.layer))
    n = None if c.is_value(exponent) or not c.is_value(x) else float(exponent)
    if n is not None and n == int(n) and 1 <= n <= 64:
        return c.value(c.build.polynomial(x.node, [0.0] * int(n) + [1.0], c.layer))
    if n is not None and n == int(n) and -64 <= n <= -2:
        inverse = c.build.activation(x.node, "reciprocal", c.layer)
        return c.value(c.build.polynomial(inverse, [0.0] * int(-n) + [1.0], c.layer))
    roots = {0.5: "sqrt", -0.5: "rsqrt", -1.0: "reciprocal"}
    if n in roots:
        return c.value(c.build.activation(x.node, roots[n], c.layer))
    raise c.refuse(f"a power with exponent {exponent if n is not None else 'that is computed'}",
                   "0.5, -0.5, or an integer from -64 to 64, but 0, as the exponent")


def _activation(function: str, *names: str, **defaults: Any) -> Callable[..., Any]:
    """A rule for a function with the parameters that torch passes, in this order."""
    def computed(c: Call, x: Any, *args: Any, **kwargs: Any) -> Value:
        parameters = dict(defaults, **dict(zip(names, args)), **kwargs)
        parameters = {k: v if isinstance(v, str) else float(v) for k, v in parameters.items()}
        return c.value(c.build.activation(x.node, function, c.layer, **parameters))

    return computed


for _name in ("relu", "silu", "sigmoid", "tanh", "mish", "hardswish", "hardsigmoid", "abs", "exp", "log", "sqrt",
              "rsqrt", "reciprocal", "sin", "cos", "erf"):
    RULES[_name] = _activation(_name)
RULES["relu6"] = _activation("clip", low=0.0, high=6.0)
RULES["hardtanh"] = _activation("clip", "low", "high", low=-1.0, high=1.0)
RULES["leaky_relu"] = _activation("leaky_relu", "slope", slope=0.01)
RULES["elu"] = _activation("elu", "alpha", "scale", "input_scale", alpha=1.0, scale=1.0, input_scale=1.0)
RULES["selu"] = _activation("elu", alpha=1.6732632423543772, scale=1.0507009873554805, input_scale=1.0)
RULES["gelu"] = _activation("gelu", approximate="none")
RULES["softplus"] = _activation("softplus", "beta", "threshold", beta=1.0, threshold=20.0)
RULES["log_sigmoid_forward"] = lambda c, x: [c.value(c.build.activation(x.node, "logsigmoid", c.layer), x.shape)]
RULES["log_sigmoid"] = _activation("logsigmoid")


@rule("celu")
def _celu(c: Call, x: Any, alpha: float = 1.0) -> Value:
    return c.value(c.build.activation(x.node, "elu", c.layer, alpha=float(alpha), scale=1.0,
                                      input_scale=1 / float(alpha)))


def _is_root(c: Call, node: int) -> bool:
    while c.build.nodes[node].op == "reshape":
        node = c.build.nodes[node].inputs[0]
    return bool(c.build.nodes[node].options.get("function") == "sqrt")


@rule("clamp")
def _clamp(c: Call, x: Any, low: Any = None, high: Any = None, **named: Any) -> Any:
    low, high = named.get("min", low), named.get("max", high)
    if c.torch.is_tensor(low) or c.torch.is_tensor(high) or c.is_value(low) or c.is_value(high):
        x = x if low is None else RULES["maximum"](c.named("maximum"), x, low)
        return x if high is None else RULES["minimum"](c.named("minimum"), x, high)
    if low is None:  # the smaller of x and a number
        down = c.build.activation(c.build.scale(c.build.shift(x.node, -float(high), c.layer), -1.0, c.layer), "relu",
                                  c.layer)
        return c.value(c.build.shift(c.build.scale(down, -1.0, c.layer), float(high), c.layer))
    if high is None:
        up = c.build.activation(c.build.shift(x.node, -float(low), c.layer), "relu", c.layer)
        return c.value(c.build.shift(up, float(low), c.layer))
    return c.value(c.build.activation(x.node, "clip", c.layer, low=float(low), high=float(high)))


@rule("clamp_min")
def _clamp_min(c: Call, x: Any, low: Any) -> Any:
    """``F.normalize`` divides by a norm that is kept above 1e-12."""
    if isinstance(low, (int, float)) and 0 <= low <= _TINY and _is_root(c, x.node):
        return x
    return _clamp(c, x, low, None)


@rule("clamp_max")
def _clamp_max(c: Call, x: Any, high: Any) -> Any:
    return _clamp(c, x, None, high)


@rule("prelu", "_prelu_kernel")
def _prelu(c: Call, x: Any, weight: Any) -> Value:
    w = c.constant(weight).reshape(-1)
    if w.size == 1:
        return c.value(c.build.activation(x.node, "leaky_relu", c.layer, slope=float(w[0])))
    node, (axis,) = c.view(x, 1)
    more = (1,) * (len(c.build.shape(node)) - axis - 1)
    return c.value(c.build.activation(node, "prelu", c.layer, value=w.reshape(-1, *more)))


@rule("softmax", "_softmax", "_safe_softmax")
def _softmax(c: Call, x: Any, axis: int, *_: Any) -> Value:
    mask = _mask_before(c, x.node)
    if mask is not None:
        source, added = mask
        node, (own,) = c.view(Value(source, x.shape), axis)
        return c.value(c.build.softmax(node, own, c.layer, added.reshape(c.build.shape(node))))
    node, (own,) = c.view(x, axis)
    return c.value(c.build.softmax(node, own, c.layer))


def _mask_before(c: Call, node: int) -> tuple[int, np.ndarray] | None:
    """The scores before a mask, and the mask, if constants that hide some of them were added."""
    while c.build.nodes[node].op == "reshape":
        node = c.build.nodes[node].inputs[0]
    shift = c.build.nodes[node]
    if shift.op != "shift" or shift.arrays["value"].min() > _MASK:
        return None
    return shift.inputs[0], np.broadcast_to(shift.arrays["value"], shift.shape)


@rule("layer_norm")
def _layer_norm(c: Call, x: Any, sizes: Any, weight: Any = None, bias: Any = None, epsilon: float = 1e-5,
                *_: Any) -> Value:
    node, _axes = c.view(x, *range(-len(sizes), 0))
    return c.value(c.build.layer_norm(node, len(sizes), c.array(weight), c.array(bias), epsilon, c.layer))


@rule("group_norm")
def _group_norm(c: Call, x: Any, groups: int, weight: Any = None, bias: Any = None, epsilon: float = 1e-5,
                *_: Any) -> Value:
    node = c.build.reshape(x.node, (groups, c.build.nodes[x.node].size // groups), c.layer)
    node = c.build.layer_norm(node, 1, None, None, epsilon, c.layer)
    node = c.build.reshape(node, x.shape[1:], c.layer)
    more = (1,) * (len(x.shape) - 2)
    if weight is not None:
        node = c.build.scale(node, c.constant(weight).reshape(-1, *more), c.layer)
    if bias is not None:
        node = c.build.shift(node, c.constant(bias).reshape(-1, *more), c.layer)
    return c.value(node)


@rule("scaled_dot_product_attention")
def _attention(c: Call, q: Any, k: Any, v: Any, mask: Any = None, dropout: float = 0.0, causal: bool = False,
               scale: float | None = None, enable_gqa: bool = False) -> Value:
    if enable_gqa or not all(c.is_value(t) for t in (q, k, v)):
        raise c.refuse("attention with shared or constant heads", "queries, keys and values of the input")
    c.require_constants(mask=mask)
    added = None
    if causal:
        added = np.where(np.tril(np.ones((q.shape[-2], k.shape[-2]))) > 0, 0.0, HIDDEN)
    elif mask is not None:
        added = c.constant(mask)
        added = np.where(added > 0, 0.0, HIDDEN) if mask.dtype == c.torch.bool else np.maximum(added, HIDDEN)
        if added.ndim == len(q.shape) and added.shape[0] == 1:
            added = added[0]
    queries, keys, values = (c.view(t, -1)[0] for t in (q, k, v))
    return c.value(c.build.attention(queries, keys, values, scale, added, c.layer))


@rule("max_pool1d", "max_pool2d", "max_pool3d")
def _max_pool(c: Call, x: Any, kernel: Any, stride: Any = (), padding: Any = 0, dilation: Any = 1,
              ceil: bool = False) -> Value:
    node = image(c, x)
    return c.value(c.build.max_pool(node, kernel, tuple(stride) if isinstance(stride, (list, tuple)) else stride,
                                    padding, dilation, ceil, c.layer))


@rule("max_pool2d_with_indices", "max_pool3d_with_indices")
def _max_pool_with_indices(c: Call, x: Any, *args: Any, **kwargs: Any) -> list[Any]:
    c.expected = tuple(int(n) for n in c.node.meta["val"][0].shape)
    return [_max_pool(c, x, *args, **kwargs),
            Missing(c.layer, "the places of the maxima of windows", "their values alone", "leave return_indices out")]


# ---- recurrent layers ----


@rule("lstm", "gru", "rnn_tanh", "rnn_relu")
def _recurrent(c: Call, x: Any, states: Any, weights: Any, biases: bool, layers: int, dropout: float, train: bool,
               both: bool, batch_first: bool) -> list[Any]:
    kind = "rnn" if c.name.startswith("rnn") else c.name
    for state in states if isinstance(states, (list, tuple)) and not c.is_value(states) else [states]:
        if c.is_value(state) or np.any(c.constant(state)):
            raise c.refuse(f"{kind} that starts from given states", "states of zeros", "leave the states out")
    ways, each = 2 if both else 1, 4 if biases else 2
    if len(weights) != layers * ways * each:
        raise c.refuse(f"{kind} with projections", "proj_size=0", "put a linear layer behind it")
    if len(x.shape) == 3 and x.shape[0 if batch_first else 1] != 1:
        raise c.refuse(f"{kind} that takes {x.shape[0 if batch_first else 1]} sequences at a time",
                       "one for each input",
                       "pass batch_first=True if the first axis of its input is that of the inputs")
    steps = math.prod(x.shape[:-1])
    node = c.build.reshape(x.node, (steps, x.shape[-1]), c.layer)
    last = []
    for layer in range(layers):
        outs = []
        for way in range(ways):
            first = (layer * ways + way) * each
            w = [c.constant(v) for v in weights[first : first + each]]
            out = c.build.recurrent(kind, node, *w, reverse=bool(way), function=c.name.removeprefix("rnn_"),
                                    layer=c.layer)
            outs.append(out)
            last.append(c.build.slice(out, 0, 0 if way else steps - 1, 1 if way else steps, 1, c.layer))
        node = outs[0] if ways == 1 else c.build.concat(outs, 1, c.layer)
    hidden = last[0] if len(last) == 1 else c.build.concat(last, 0, c.layer)
    shapes = [tuple(int(n) for n in v.shape) for v in c.node.meta["val"]]
    results: list[Any] = [c.value(node, shapes[0]), c.value(hidden, shapes[1])]
    if kind == "lstm":
        results.append(Missing(c.layer, "an LSTM whose cell states are used",
                               "its outputs or its last hidden state alone",
                               "use output[:, -1] or h_n"))
    return results
