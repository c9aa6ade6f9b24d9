"""`latticino demo resnet20`: ResNet-20 on CIFAR-10, with ReLUs as minimax polynomials.

The network of Lee et al. (ICML 2022) with their weights, which carry no licence and are read from LATTICINO_DATA.
Without them the weights are random.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from ..nn.builder import Builder
from ..nn.graph import Graph
from . import inputs
from .networks import Weights, Workload
from .random_weights import Before, Measuring, kernels, statistics

FIT_BITS = 13.0  # bits of each ReLU, relative to its largest value: the precision 2^-13 of Lee et al.
CALIBRATION = 250  # images of the training set for calibration
MARGIN = 2.0  # margin of bounds over their largest values
_WEIGHTS = "resnet20_cifar10.npz"
_MEASURED = 48  # images from which means and variances of random weights are computed


def network(w: Weights, size: int = 32) -> Graph:
    """He et al.'s ResNet-20 for CIFAR-10: 19 convolutions with batch norm, shortcuts without weights.

    For images of ``size`` by ``size`` pixels, with as many blocks in each of three stages as there are weights for.
    """
    return _built(Builder((3, size, size)), w, lambda b, x, name: None)


def _built(b: Builder, w: Weights, before: Before) -> Graph:
    def conv(x: int, name: str, norm: str, stride: int = 1) -> int:
        x = b.conv(x, w[f"{name}.weight"], stride=stride, padding=1, layer=name)
        before(b, x, norm)
        mean, variance, weight, bias = (w[f"{norm}.{p}"] for p in ("running_mean", "running_var", "weight", "bias"))
        return b.batch_norm(x, mean, variance, weight, bias, float(w["bn_eps"]), layer=name)

    def relu(x: int, name: str) -> int:
        return b.activation(x, "relu", layer=name)

    def shortcut(x: int, name: str) -> int:
        """A shortcut: every second row and column, and as many channels of zeros."""
        channels, height, width = b.shape(x)
        x = b.slice(b.slice(x, 1, 0, height, 2, layer=name), 2, 0, width, 2, layer=name)
        return b.pad(x, {0: (channels // 2, channels // 2)}, layer=name)

    x = relu(conv(b.input, "conv1", "bn1"), "relu")
    for stage, k in _blocks(w):
        name, stride = f"layer{stage}.{k}", 2 if stage > 1 and k == 0 else 1
        y = relu(conv(x, f"{name}.conv1", f"{name}.bn1", stride), f"{name}.relu1")
        y = conv(y, f"{name}.conv2", f"{name}.bn2")
        x = relu(b.add(y, shortcut(x, f"{name}.shortcut") if stride > 1 else x, layer=f"{name}.add"), f"{name}.relu2")
    return b.graph(b.linear(b.mean(x, (1, 2), layer="pool"), w["linear.weight"], w["linear.bias"], layer="linear"))


def _blocks(w: Weights) -> Iterator[tuple[int, int]]:
    for stage in (1, 2, 3):
        k = 0
        while f"layer{stage}.{k}.conv1.weight" in w:
            yield stage, k
            k += 1


def random_weights(seed: int = 0, size: int = 32, width: int = 16, blocks: int = 3) -> dict[str, np.ndarray]:
    """Normal kernels, and batch norms with the statistics of what they read. ``width``: channels of the first of three
    stages, of so many ``blocks``."""
    r, names = np.random.default_rng(seed), [("conv1", width, 3)]
    channels = width
    for stage in (1, 2, 3):
        for k in range(blocks):
            out = width << (stage - 1)
            names += [(f"layer{stage}.{k}.conv1", out, channels), (f"layer{stage}.{k}.conv2", out, out)]
            channels = out
    w = {f"{name}.weight": kernels(r, out, own, 3, 3) for name, out, own in names}
    w.update({"bn_eps": np.array(1e-5), "linear.weight": kernels(r, 10, channels),
              "linear.bias": r.normal(size=10) / 10, "input_mean": np.array(inputs.MEAN),
              "input_std": np.array(inputs.DEVIATION)})
    x = inputs.normalised(inputs.scenes(_MEASURED, size))
    _built(Measuring(x), w, lambda b, at, name: w.update(statistics(name, b.values(at), affine=True)))
    return w


def weights() -> tuple[str, Weights]:
    """The weights in LATTICINO_DATA, or random ones, and a sentence that describes them."""
    folder = inputs.found(_WEIGHTS)
    if folder is None:
        return (f"no {_WEIGHTS} in LATTICINO_DATA: random weights, which show time, memory and precision, and nothing "
                "of the accuracy"), random_weights()
    return "weights of Lee et al. (ICML 2022)", inputs.read(folder / _WEIGHTS, doubles=True)


def data(w: Weights, size: int = 32) -> inputs.Inputs:
    found = inputs.images(size)
    return replace(found, calibration=found.calibration[:CALIBRATION])


def prepared(w: Weights, x: np.ndarray) -> np.ndarray:
    """Bytes (n, height, width, 3) as the network reads them: (n, 3, height, width)."""
    mean, deviation = (np.reshape(w[name], 3) for name in ("input_mean", "input_std"))
    return np.asarray(((x / 255.0 - mean) / deviation).transpose(0, 3, 1, 2))


def options(graph: Graph) -> dict[str, object]:
    """ReLUs as compositions of polynomials, as in the paper."""
    fits = {node.layer: "composite" for node in graph.nodes if node.op == "activation"}
    return {"fits": fits, "margin": MARGIN, "fit_bits": FIT_BITS}


WORKLOAD = Workload("resnet20", "resnet20.image", "ms", "image", 1, "n16-d35-boot-v1", network, data, prepared, weights,
                    options)
