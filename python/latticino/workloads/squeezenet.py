"""`latticino demo squeezenet`: a SqueezeNet for CIFAR-10 with average pooling and learned polynomials of degree 2."""

from __future__ import annotations

from ..nn.builder import Builder
from ..nn.graph import Graph
from . import inputs
from .networks import Weights, Workload
from .resnet20_aespa import quadratic


def network(w: Weights, size: int = 32) -> Graph:
    """The graph from arrays of the recipe examples/networks/squeezenet.py, for ``size`` x ``size`` pixels."""
    b = Builder((w["conv.weight"].shape[1], size, size))
    x = quadratic(b, b.conv(b.input, w["conv.weight"], stride=2, padding=1, layer="conv"), w, "act")
    x = _fire(b, x, w, "fires.0")
    x = _fire(b, b.avg_pool(x, 2, layer="fires.1"), w, "fires.2")
    x = _fire(b, b.avg_pool(x, 2, layer="fires.3"), w, "fires.4")
    return b.graph(b.mean(b.conv(x, w["last.weight"], w["last.bias"], layer="last"), (1, 2), layer="pool"))


def _fire(b: Builder, x: int, w: Weights, name: str) -> int:
    """A fire module: a 1 x 1 convolution to few channels, then two convolutions to more channels, which make half of
    them each: 1 x 1 and 3 x 3."""
    x = quadratic(b, b.conv(x, w[f"{name}.squeeze.weight"], layer=f"{name}.squeeze"), w, f"{name}.act1")
    one = b.conv(x, w[f"{name}.one.weight"], layer=f"{name}.one")
    three = b.conv(x, w[f"{name}.three.weight"], padding=1, layer=f"{name}.three")
    return quadratic(b, b.concat([one, three], layer=f"{name}.both"), w, f"{name}.act2")


WORKLOAD = Workload("squeezenet", "squeezenet.image", "ms", "image", 1, "n16-d40-boot-v1", network,
                    lambda w: inputs.images(), lambda w, x: inputs.normalised(x))
