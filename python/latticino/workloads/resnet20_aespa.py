"""`latticino demo resnet20-aespa`: ResNet-20 whose activations are learned polynomials of degree 2 (AESPA)."""

from __future__ import annotations

import numpy as np

from ..nn.builder import Builder
from ..nn.graph import Graph
from . import inputs
from .networks import Weights, Workload

EPSILON = 1e-5  # epsilon of batch norm, as in PyTorch


def quadratic(b: Builder, x: int, w: Weights, name: str) -> int:
    """``w0 + w1 x + w2 x^2`` for each channel, both powers normalised with the statistics of training."""
    constant, first, second = (v.reshape(-1) for v in w[f"{name}.weight"])
    one = b.batch_norm(x, *_statistics(w, f"{name}.first"), first, constant, EPSILON, layer=name)
    two = b.batch_norm(b.mul(x, x, layer=name), *_statistics(w, f"{name}.second"), second, None, EPSILON, layer=name)
    return b.add(one, two, layer=name)


def _statistics(w: Weights, name: str) -> tuple[np.ndarray, np.ndarray]:
    return w[f"{name}.running_mean"], w[f"{name}.running_var"]


def network(w: Weights, size: int = 32) -> Graph:
    """The graph from arrays of the recipe examples/networks/resnet20_aespa.py, for ``size`` x ``size`` pixels."""
    b = Builder((w["conv.weight"].shape[1], size, size))
    x = quadratic(b, b.conv(b.input, w["conv.weight"], padding=1, layer="conv"), w, "act")
    k = 0
    while f"blocks.{k}.conv1.weight" in w:
        x, k = _block(b, x, w, f"blocks.{k}"), k + 1
    return b.graph(b.linear(b.mean(x, (1, 2), layer="pool"), w["linear.weight"], w["linear.bias"], layer="linear"))


def _block(b: Builder, x: int, w: Weights, name: str) -> int:
    """Two convolutions, and a shortcut without weights: fewer pixels, and channels of zeros on both sides."""
    channels, height, width = b.shape(x)
    out = len(w[f"{name}.conv1.weight"])
    stride = 2 if out > channels else 1
    y = b.conv(x, w[f"{name}.conv1.weight"], stride=stride, padding=1, layer=f"{name}.conv1")
    y = quadratic(b, y, w, f"{name}.act1")
    y = b.conv(y, w[f"{name}.conv2.weight"], padding=1, layer=f"{name}.conv2")
    norm = f"{name}.norm"
    y = b.batch_norm(y, *_statistics(w, norm), w[f"{norm}.weight"], w[f"{norm}.bias"], EPSILON, layer=norm)
    if stride > 1:
        x = b.slice(b.slice(x, 1, 0, height, 2, layer=f"{name}.shortcut"), 2, 0, width, 2, layer=f"{name}.shortcut")
        more = (out - channels) // 2
        x = b.pad(x, {0: (more, more)}, layer=f"{name}.shortcut")
    return quadratic(b, b.add(y, x, layer=f"{name}.add"), w, f"{name}.act2")


WORKLOAD = Workload("resnet20-aespa", "resnet20_aespa.image", "ms", "image", 1, "n16-d40-boot-v1", network,
                    lambda w: inputs.images(), lambda w, x: inputs.normalised(x))
