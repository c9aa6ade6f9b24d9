"""Rules for operations of PyTorch that few models have: see `layers`, which has the others."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from . import layers
from .layers import Call, Value, rule
from .quotients import RULES as RULES


@rule("_pad_circular")
def _pad_circular(c: Call, x: Any, amounts: Any) -> Value:
    for i in range(len(amounts) // 2):
        axis = len(x.shape) - 1 - i
        before, after, n = int(amounts[2 * i]), int(amounts[2 * i + 1]), x.shape[axis]
        node, (own,) = c.view(x, axis)
        chosen = [k % n for k in range(-before, n + after)]
        shape = (*x.shape[:axis], len(chosen), *x.shape[axis + 1:])
        x = c.value(c.build.along(node, {own: np.eye(n)[chosen]}, "pad", c.layer), shape)
    return c.value(x.node)


@rule("cumsum")
def _cumsum(c: Call, x: Any, axis: int, **_: Any) -> Value:
    node, (own,) = c.view(x, axis)
    return c.value(c.build.along(node, {own: np.tri(x.shape[axis])}, "sum", c.layer))


@rule("unfold")
def _unfold(c: Call, x: Any, axis: int, size: int, step: int) -> Value:
    """Windows along an axis; the places within a window become a new last axis."""
    axis %= len(x.shape)
    count = (x.shape[axis] - size) // step + 1
    chosen = [k * step + j for k in range(count) for j in range(size)]
    node, (own,) = c.view(x, axis)
    windows = c.build.along(node, {own: np.eye(x.shape[axis])[chosen]}, "slice", c.layer)
    shape = c.build.shape(windows)
    split = c.build.reshape(windows, (*shape[:own], count, size, *shape[own + 1:]), c.layer)
    order = [a for a in range(len(shape) + 1) if a != own + 1]
    return c.value(c.build.permute(split, [*order, own + 1], c.layer))


@rule("where")
def _where(c: Call, chosen: Any, x: Any, y: Any) -> Value:
    """One of two, by a constant mask, as in ``x.masked_fill(mask, 0)`` and ``x.tril()``."""
    if c.is_value(chosen):
        raise c.refuse("the operation where on a computed condition", "a constant mask", layers.remedy("where"))
    mask, total = c.constant(chosen), None
    for given, part in ((x, mask), (y, 1 - mask)):
        if c.is_value(given):
            term = layers.against(c, "mul", given, c.torch.as_tensor(part))
        else:
            value = layers.without_infinity(c, np.where(part > 0, c.constant(given), 0))
            term = c.torch.as_tensor(np.where(part > 0, value, 0))
        total = term if total is None else layers.against(c, "add", total, term)
    assert isinstance(total, Value)
    return total


@rule("instance_norm")
def _instance_norm(c: Call, x: Any, weight: Any, bias: Any, mean: Any, variance: Any, own_statistics: bool,
                   momentum: float, epsilon: float, *_: Any) -> Value:
    if own_statistics:
        return Value(*RULES["group_norm"](c, x, x.shape[1], weight, bias, epsilon))
    found = RULES["_native_batch_norm_legit_no_training"](c, x, weight, bias, mean, variance, momentum, epsilon)
    return Value(*found[0])


@rule("rrelu")
def _rrelu(c: Call, x: Any, low: float = 1 / 8, high: float = 1 / 3, training: bool = False, *_: Any) -> Value:
    if training:
        raise c.refuse("rrelu with random slopes", "rrelu as in eval()", "pass training=self.training")
    return c.value(c.build.activation(x.node, "leaky_relu", c.layer, slope=(float(low) + float(high)) / 2))


@rule("threshold")
def _threshold(c: Call, x: Any, least: float, value: float) -> Value:
    if least != value:
        raise c.refuse(f"threshold from {value:g} to {least:g}, which is a jump", "a continuous function",
                       "use a ReLU, or the same value for both")
    return Value(*RULES["clamp_min"](c, x, least))


@rule("dropout", "native_dropout")
def _dropout(c: Call, x: Any, share: float, training: Any = True) -> Any:
    if training and share > 0:
        raise c.refuse("dropout that is always on", "dropout as in eval(), which does nothing",
                       "pass training=self.training to F.dropout")
    return c.value(x.node) if c.name == "dropout" else [c.value(x.node, x.shape)]


@rule("var")
def _var(c: Call, x: Any, axes: Any = None, unbiased: bool = True, keep: bool = False, *, correction: Any = None,
         keepdim: bool = False) -> Value:
    axes = [axes] if isinstance(axes, int) else axes
    chosen = [a % len(x.shape) for a in axes] if axes else list(range(int(x.shape[0] == 1), len(x.shape)))
    node, own = c.view(x, *chosen)
    count = math.prod(x.shape[a] for a in chosen)
    less = float(unbiased if correction is None else correction)
    if count <= less:
        raise c.refuse(f"the variance of {count} values", f"more than {less:g} values", "pass correction=0")
    away = c.build.sub(node, c.build.mean(node, own, True, c.layer), c.layer)
    total = c.build.mean(c.build.polynomial(away, [0.0, 0.0, 1.0], c.layer), own, True, c.layer, total=True)
    return c.value(c.build.scale(total, 1 / (count - less), c.layer))
