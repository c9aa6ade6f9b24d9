"""`latticino demo resnet18`: ResNet-18 for images of 64 x 64 pixels, with random weights: time, memory and precision.

This is He et al.'s network of 11 million weights. Without a training it tells nothing about accuracy: labels are
those of the network in the clear. Activations are polynomials of degree 2 for each channel, as in ResNet-20 of the
recipes (AESPA). A convolution and its activation then take 2 levels; with a ReLU of minimax polynomials they take a
bootstrapping each. The maximum after the first convolution is an average, which becomes part of the next ones.
"""

from __future__ import annotations

import numpy as np

from ..nn.builder import Builder
from ..nn.graph import Graph
from . import inputs
from .networks import Weights, Workload
from .random_weights import Before, Measuring, kernels, statistics
from .resnet20_aespa import quadratic

SIZE, WIDTH, CLASSES = 64, 64, 1000
CALIBRATION, TESTED = 250, 100  # numbers of images
# Coefficients of a constant, x and x^2. They are close to a ReLU (Park et al., "AESPA", 2022), but with a sixth of its
# curvature. No training kept the values of random weights small, and 17 squares one after the other make large values
# larger and larger. With half of the curvature, the scores of one image in 120 were 2^32 times those of the others.
QUADRATIC = (0.4, 0.5, 0.05)
_MEASURED = 32  # images from which means and variances of the random network are computed


def network(w: Weights, size: int = SIZE) -> Graph:
    """The network with weights as `random_weights` makes them, for images of ``size`` by ``size`` pixels."""
    return _built(Builder((3, size, size)), w, lambda b, x, name: None)


def _built(b: Builder, w: Weights, before: Before) -> Graph:
    def act(x: int, name: str) -> int:
        before(b, x, name)
        return quadratic(b, x, w, name)

    x = act(b.conv(b.input, w["conv.weight"], stride=2, padding=3, layer="conv"), "act")
    x, k = b.avg_pool(x, 3, 2, 1, layer="pool"), 0
    while f"blocks.{k}.conv1.weight" in w:
        name, own = f"blocks.{k}", b.shape(x)[0]
        stride = 2 if len(w[f"{name}.conv1.weight"]) > own else 1
        y = b.conv(x, w[f"{name}.conv1.weight"], stride=stride, padding=1, layer=f"{name}.conv1")
        y = b.conv(act(y, f"{name}.act1"), w[f"{name}.conv2.weight"], padding=1, layer=f"{name}.conv2")
        y = _norm(b, y, w, f"{name}.norm2", before)
        if stride > 1:
            x = b.conv(x, w[f"{name}.shortcut.weight"], stride=stride, layer=f"{name}.shortcut")
            x = _norm(b, x, w, f"{name}.norm3", before)
        x, k = act(b.add(y, x, layer=f"{name}.add"), f"{name}.act2"), k + 1
    return b.graph(b.linear(b.mean(x, (1, 2), layer="mean"), w["linear.weight"], w["linear.bias"], layer="linear"))


def _norm(b: Builder, x: int, w: Weights, name: str, before: Before) -> int:
    before(b, x, name)
    mean, variance, weight, bias = (w[f"{name}.{part}"] for part in ("running_mean", "running_var", "weight", "bias"))
    return b.batch_norm(x, mean, variance, weight, bias, layer=name)


def random_weights(seed: int = 0, size: int = SIZE, width: int = WIDTH,
                   classes: int = CLASSES) -> dict[str, np.ndarray]:
    """Normal kernels, and normalisations with the statistics of what they read, as training leaves them.

    ``width``: channels of the first of four stages of two blocks each, which have 1, 2, 4 and 8 times as many.
    """
    r = np.random.default_rng(seed)
    w, channels = {"conv.weight": kernels(r, width, 3, 7, 7)}, width
    for k, out in enumerate(width << stage for stage in range(4) for _ in range(2)):
        w.update({f"blocks.{k}.conv1.weight": kernels(r, out, channels, 3, 3),
                  f"blocks.{k}.conv2.weight": kernels(r, out, out, 3, 3)})
        if out > channels:
            w[f"blocks.{k}.shortcut.weight"] = kernels(r, out, channels, 1, 1)
        channels = out
    w.update({"linear.weight": kernels(r, classes, channels), "linear.bias": r.normal(size=classes) / 10})

    def before(b: Measuring, x: int, name: str) -> None:
        values = b.values(x)
        if "act" not in name:
            w.update(statistics(name, values, affine=True))
            return
        w[f"{name}.weight"] = np.repeat(np.reshape(QUADRATIC, (3, 1, 1, 1)), values.shape[1], axis=1)
        w.update({**statistics(f"{name}.first", values), **statistics(f"{name}.second", values**2)})

    _built(Measuring(inputs.normalised(inputs.scenes(_MEASURED, size))), w, before)
    return w


def data(w: Weights) -> inputs.Inputs:
    """Generated images."""
    both = inputs.scenes(CALIBRATION + TESTED, SIZE)
    return inputs.Inputs(f"generated images of {SIZE} x {SIZE} pixels", both[:CALIBRATION], both[CALIBRATION:], None)


def weights() -> tuple[str, Weights]:
    """Random weights, and a sentence that describes them."""
    return ("random weights, the same each time: they show time, memory and precision, and nothing of the accuracy",
            random_weights())


WORKLOAD = Workload("resnet18", "resnet18.image", "ms", "image", 1, "n16-d40-boot-v1", network, data,
                    lambda w, x: inputs.normalised(x), weights)
