"""Rules for maxima of PyTorch: of two values, along axes, in windows."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import layers
from .layers import Call, Value, rule
from .rare import RULES as RULES


@rule("maximum", "minimum", "fmax", "fmin")
def _extreme(c: Call, x: Any, y: Any) -> Value:
    """The larger or the smaller one of two values. If one of them is constant, a ReLU is enough."""
    sign = 1.0 if c.name in ("maximum", "fmax") else -1.0
    if c.is_value(x) and c.is_value(y):
        a, b = (signed(c, v, sign) for v in (x, y))
        return Value(*signed(c, layers.against(c, "maximum", a, b), sign))
    value, other = (x, y) if c.is_value(x) else (y, x)
    above = signed(c, layers.against(c, "sub", value, other), sign)
    above = c.value(c.build.activation(above.node, "relu", c.layer))
    return layers.against(c, "add", signed(c, above, sign), other)


def signed(c: Call, x: Any, sign: float) -> Any:
    """The value itself, or the value times -1."""
    return x if sign > 0 else c.value(c.build.scale(x.node, -1.0, c.layer), x.shape)


@rule("amax", "amin")
def _along(c: Call, x: Any, axes: Any = (), keep: bool = False) -> Value:
    axes = [axes] if isinstance(axes, int) else axes
    return c.value(largest(c, x, axes or range(len(x.shape)), c.name == "amin"))


def largest(c: Call, x: Any, axes: Any, least: bool) -> int:
    """The node with the largest values along axes, or with the least ones."""
    shape, node = list(x.shape), c.build.scale(x.node, -1.0, c.layer) if least else x.node
    for axis in sorted((a % len(shape) for a in axes), reverse=True):
        if shape[axis] > 1:
            node = c.build.largest(c.build.reshape(node, shape, c.layer), axis, c.layer)
        shape[axis] = 1
    return c.build.scale(node, -1.0, c.layer) if least else node


@rule("adaptive_max_pool1d", "adaptive_max_pool2d", "adaptive_max_pool3d")
def _adaptive_max_pool(c: Call, x: Any, sizes: Any) -> list[Value]:
    node = layers.image(c, x)
    given = c.build.shape(node)[1:]
    wanted = [int(m) for m in np.broadcast_to(sizes, len(given))]
    if any(n % m for n, m in zip(given, wanted)):
        raise c.refuse(f"{c.name} of {tuple(given)} to {tuple(wanted)}, whose windows differ in size",
                       "sizes that divide those of its input", "pad its input, or take other sizes")
    c.expected = tuple(int(n) for n in c.node.meta["val"][0].shape)
    return [c.value(c.build.max_pool(node, tuple(n // m for n, m in zip(given, wanted)), layer=c.layer))]
