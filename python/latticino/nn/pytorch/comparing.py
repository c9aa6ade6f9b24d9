"""Rules for comparisons of PyTorch that are the result of a network: labels, thresholds and signs."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..labels.decisions import Decision
from . import layers
from .layers import Call, Decided, Value, rule
from .maxima import RULES as RULES
from .maxima import largest, signed

# ---- labels ----


@rule("argmax", "argmin")
def _argmax(c: Call, x: Any, axis: int | None = None, keep: bool = False) -> Decided:
    if axis is None:
        x, axis = Value(c.build.reshape(x.node, (1, math.prod(x.shape)), c.layer), (1, math.prod(x.shape))), 1
    assert c.expected is not None
    return _places(c, x, axis, c.name == "argmin")


def _places(c: Call, x: Any, axis: int, least: bool) -> Decided:
    node, (own,) = c.view(x, axis)
    source = c.build.nodes[_without_reshapes(c, node)]
    if source.op == "softmax" and not least and source.shape == c.build.shape(node) and source.options["axis"] == own:
        node = source.inputs[0]  # its largest value is at the same place
    if least:
        node = c.build.scale(node, -1.0, c.layer)
    assert c.expected is not None
    return Decided(c.build.argmax(node, own, layer=c.layer), c.expected, Decision("index", "int64", (), own), c.layer)


def _without_reshapes(c: Call, node: int) -> int:
    while c.build.nodes[node].op == "reshape":
        node = c.build.nodes[node].inputs[0]
    return node


@rule("max", "min")
def _max(c: Call, x: Any, other: Any = None, keep: bool = False) -> Any:
    """The largest value of all, or (values, places) along an axis."""
    if other is None:
        return c.value(largest(c, x, range(len(x.shape)), c.name == "min"))
    c.expected = tuple(int(n) for n in c.node.meta["val"][0].shape)
    used = {int(user.args[1]) for user in c.node.users if len(user.args) > 1}
    values = c.value(largest(c, x, [other], c.name == "min")) if 0 in used else None
    return [values, _places(c, x, other, c.name == "min") if 1 in used else None]


# ---- thresholds ----


@rule("gt", "ge", "lt", "le")
def _threshold(c: Call, x: Any, y: Any) -> Decided:
    x, y = _before_sigmoid(c, x, y) if c.is_value(x) else (x, y)
    above = layers.against(c, "sub", x, y)
    return _decided(c, above if c.name in ("gt", "ge") else signed(c, above, -1.0), "step", "bool")


def _before_sigmoid(c: Call, x: Any, y: Any) -> tuple[Any, Any]:
    """``sigmoid(x) > y`` as ``x > log(y / (1 - y))``, for a number y between 0 and 1."""
    source = c.build.nodes[_without_reshapes(c, x.node)]
    number = None if c.is_value(y) or np.size(c.constant(y)) != 1 else float(c.constant(y).reshape(()))
    if source.options.get("function") != "sigmoid" or number is None or not 0 < number < 1:
        return x, y
    return Value(source.inputs[0], x.shape), math.log(number / (1 - number))


@rule("sign", "sgn")
def _sign(c: Call, x: Any) -> Decided:
    return _decided(c, x, "sign", "float64")


@rule("heaviside")
def _heaviside(c: Call, x: Any, at_zero: Any) -> Decided:
    c.require_constants(values=at_zero)
    return _decided(c, x, "step", "float64")


def _decided(c: Call, x: Any, kind: str, own: str) -> Decided:
    assert c.expected is not None
    return Decided(c.build.positive(x.node, layer=c.layer), c.expected, Decision(kind, own, ()), c.layer)
