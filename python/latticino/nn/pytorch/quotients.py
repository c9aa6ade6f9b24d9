"""Rules for division by values, norms, and functions that are written with others."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from . import layers
from .layers import Call, Value, rule
from .places import RULES as RULES


@rule("div")
def _div(c: Call, x: Any, y: Any, rounding_mode: Any = None) -> Value:
    if rounding_mode is not None:
        raise c.refuse("a rounded division", "division without rounding")
    if not c.is_value(y):
        return layers.against(c, "mul", x, 1 / c.constant(y))
    if c.is_value(x) and _is_abs_plus_one(c, x, y):
        return c.value(c.build.activation(x.node, "softsign", c.layer))
    return layers.against(c, "mul", x, Value(_inverse(c, y.node), y.shape))


def _inverse(c: Call, node: int) -> int:
    """1 / node, which must be above 0: by an inverse root if it is a root. Values are repeated after that, not before.
    """
    moves = []
    while c.build.nodes[node].op == "reshape" or c.build.nodes[node].options.get("kind") == "broadcast":
        moves.append(c.build.nodes[node])
        node = c.build.nodes[node].inputs[0]
    if c.build.nodes[node].options.get("function") == "sqrt":
        out = c.build.activation(c.build.nodes[node].inputs[0], "rsqrt", c.layer)
    else:
        out = c.build.activation(node, "reciprocal", c.layer)
    for move in reversed(moves):
        out = c.build.add_node(move.op, (out,), c.layer, move.arrays, move.options)
    return out


def _is_abs_plus_one(c: Call, x: Any, y: Any) -> bool:
    """Whether y is ``1 + |x|``, as in softsign."""
    shift = c.build.nodes[y.node]
    if shift.op != "shift" or not np.all(shift.arrays["value"] == 1):
        return False
    size = c.build.nodes[shift.inputs[0]]
    given = _without_reshapes(c, size.inputs[0]) if size.op == "activation" else None
    return (size.options.get("function") == "abs" and given == _without_reshapes(c, x.node)
            and math.prod(x.shape) == math.prod(y.shape))


def _without_reshapes(c: Call, node: int) -> int:
    while c.build.nodes[node].op == "reshape":
        node = c.build.nodes[node].inputs[0]
    return node


@rule("linalg_vector_norm")
def _norm(c: Call, x: Any, order: Any = 2, axes: Any = None, keep: bool = False, **_: Any) -> Value:
    """The root of a sum of squares, or a sum of absolute values."""
    if order not in (1, 2):
        raise c.refuse(f"a norm of order {order:g}", "a norm of order 1 or 2", "use one of them, or x.abs().amax(axis)")
    absolute = order == 1
    function = c.build.activation(x.node, "abs", c.layer) if absolute else \
        c.build.polynomial(x.node, [0.0, 0.0, 1.0], c.layer)
    axes = [axes] if isinstance(axes, int) else axes
    chosen = [a % len(x.shape) for a in axes] if axes else list(range(int(x.shape[0] == 1), len(x.shape)))
    node, own = c.view(Value(function, x.shape), *chosen)
    total = c.build.mean(node, own, True, c.layer, total=True)
    return c.value(total if absolute else c.build.activation(total, "sqrt", c.layer))


@rule("norm")
def _older_norm(c: Call, x: Any, order: Any = 2, axes: Any = None, keep: bool = False, **_: Any) -> Value:
    return _norm(c, x, 2 if order is None else order, axes, keep)


@rule("var_mean")
def _var_mean(c: Call, x: Any, axes: Any = None, *rest: Any, **named: Any) -> list[Value]:
    c.expected = tuple(int(n) for n in c.node.meta["val"][0].shape)
    return [RULES["var"](c, x, axes, *rest, **named), RULES["mean"](c.named("mean"), x, axes)]


@rule("log1p")
def _log1p(c: Call, x: Any) -> Value:
    return c.value(c.build.activation(c.build.shift(x.node, 1.0, c.layer), "log", c.layer))


@rule("expm1")
def _expm1(c: Call, x: Any) -> Value:
    return c.value(c.build.shift(c.build.activation(x.node, "exp", c.layer), -1.0, c.layer))


@rule("exp2")
def _exp2(c: Call, x: Any) -> Value:
    return c.value(c.build.activation(c.build.scale(x.node, math.log(2), c.layer), "exp", c.layer))
