"""`latticino demo resnet20`: ResNet-20 on CIFAR-10, an image at a time, its ReLUs minimax polynomials.

The network of Lee et al. (ICML 2022) with their weights, which carry no licence and are read from LATTICINO_DATA.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from .. import arrays, errors, nn
from ..ckks.ciphertext import Ciphertext
from ..common import display
from ..common.progress_bar import Task
from ..key_generation import keygen
from ..nn import reference
from ..nn.builder import Builder
from ..nn.graph import Graph
from . import inputs
from .networks import close, shadowed

DEFAULT_PRESET = "n16-d35-boot-v1"
FIT_BITS = 13.0  # of each ReLU, relative to its largest value: the precision 2^-13 of Lee et al.
CALIBRATION = 250  # images of the training set
MARGIN = 2.0  # of bounds beyond their largest values
_WEIGHTS, _IMAGES, _TRAINING = "resnet20_cifar10.npz", "cifar10_test_1k.npz", "cifar10_train_1.npz"
_SHADOWED = 100  # images between two steps of the progress bar


@dataclass
class Result:
    """What the demo measured."""

    plan: nn.NetworkPlan
    images: int
    accuracy: float  # of the network in the clear
    shadow_accuracy: float
    outside: int  # images of which a value left the range of a polynomial: counted as wrong
    median_error: float  # of logits of the shadow
    first_seconds: float = 0.0  # of a run that encodes the weights as well, and records
    seconds: list[float] = field(default_factory=list)  # of encrypted runs after it
    logit_errors: list[float] = field(default_factory=list)  # to the shadow, relative to the largest logit
    equal_labels: int = 0  # of encrypted runs, with the shadow
    device: str = ""
    device_name: str = ""
    peak_bytes: int = 0


def folder() -> Path:
    """Where the data lie; UnsupportedError where they do not."""
    name = os.environ.get("LATTICINO_DATA")
    missing = [n for n in (_WEIGHTS, _IMAGES, _TRAINING) if not name or not (Path(name) / n).exists()]
    if missing or not name:
        raise errors.UnsupportedError.explain(
            "demo resnet20", f"no {', '.join(missing)} in LATTICINO_DATA", "a folder with the weights and CIFAR-10",
            "set LATTICINO_DATA, or run `latticino demo`, which needs no files")
    return Path(name)


def network(w: Mapping[str, Any]) -> Graph:
    """He et al.'s ResNet-20 for CIFAR-10: 19 convolutions with batch norm, shortcuts without weights."""
    b = Builder((3, 32, 32))

    def conv(x: int, name: str, norm: str, stride: int = 1) -> int:
        x = b.conv(x, w[f"{name}.weight"], stride=stride, padding=1, layer=name)
        mean, variance, weight, bias = (w[f"{norm}.{p}"] for p in ("running_mean", "running_var", "weight", "bias"))
        return b.batch_norm(x, mean, variance, weight, bias, float(w["bn_eps"]), layer=name)

    def relu(x: int, name: str) -> int:
        return b.activation(x, "relu", layer=name)

    def shortcut(x: int, name: str) -> int:
        """Every second row and column, and as many channels of zeros."""
        channels, height, width = b.shape(x)
        x = b.slice(b.slice(x, 1, 0, height, 2, layer=name), 2, 0, width, 2, layer=name)
        return b.pad(x, {0: (channels // 2, channels // 2)}, layer=name)

    x = relu(conv(b.input, "conv1", "bn1"), "relu")
    for stage in (1, 2, 3):
        for k in range(3):
            name, stride = f"layer{stage}.{k}", 2 if stage > 1 and k == 0 else 1
            y = relu(conv(x, f"{name}.conv1", f"{name}.bn1", stride), f"{name}.relu1")
            y = conv(y, f"{name}.conv2", f"{name}.bn2")
            x = relu(b.add(y, shortcut(x, f"{name}.shortcut") if stride > 1 else x, layer=f"{name}.add"),
                     f"{name}.relu2")
    return b.graph(b.linear(b.mean(x, (1, 2), layer="pool"), w["linear.weight"], w["linear.bias"], layer="linear"))


def images(path: Path, w: Mapping[str, Any], count: int) -> tuple[np.ndarray, np.ndarray]:
    """Normalised images of shape (count, 3, 32, 32), and their labels."""
    found = inputs.read(path, ("x", "y"))
    x, y = found["x"][:count].astype(np.float64) / 255, found["y"][:count]
    if x.ndim != 4 or x.shape[-1] != 3:
        x = x if x.shape[1:2] == (3,) else x.reshape(len(x), 3, 32, 32)
    else:
        x = x.transpose(0, 3, 1, 2)
    mean, deviation = (np.asarray(w[name], float).reshape(3, 1, 1) for name in ("input_mean", "input_std"))
    return (x - mean) / deviation, y


def compiled(preset: str = DEFAULT_PRESET, device: str | None = None, memory: str | None = None,
             batch: int = 1) -> tuple[nn.Compiled, Mapping[str, Any]]:
    """The network for encrypted images, and its weights."""
    where = folder()
    w = inputs.read(where / _WEIGHTS)
    with inputs.of_the_network("demo resnet20", "the weights of Lee et al., and CIFAR-10", "obtain the files again"):
        graph = network(w)
        x, _ = images(where / _TRAINING, w, CALIBRATION)
    fits = {node.layer: "composite" for node in graph.nodes if node.op == "activation"}
    return nn.compile(graph, calibration=x, preset=preset, device=device, memory=memory, images=batch, fits=fits,
                      margin=MARGIN, fit_bits=FIT_BITS), w


def run(preset: str = DEFAULT_PRESET, device: str | None = None, count: int = 1000, encrypted: int = 0,
        memory: str | None = None, threads: int = 0, say: Callable[..., None] = print) -> Result:
    """Plans, shadows `count` test images, runs `encrypted` of them encrypted, and prints what it finds."""
    start = time.monotonic()
    enc, w = compiled(preset, device, memory)
    say(f"compiled in {time.monotonic() - start:.0f} s")
    say(repr(enc.plan))
    with inputs.of_the_network("demo resnet20", "the test images of CIFAR-10", "obtain the files again"):
        x, y = images(folder() / _IMAGES, w, count)
    assert enc.reading is not None
    shadow, clear = [], []
    with Task("shadow of ResNet-20", len(x)) as task:
        for at in range(0, len(x), _SHADOWED):
            part = x[at : at + _SHADOWED]
            shadow.append(shadowed(enc, part))
            clear.append(reference.run(enc.reading.graph, part).reshape(len(part), -1))
            task.advance(len(part))
    logits, exact = np.concatenate(shadow), np.concatenate(clear)
    inside = np.isfinite(logits).all(axis=1)
    result = Result(enc.plan, len(x), float((exact.argmax(axis=1) == y).mean()),
                    float((inside & (logits.argmax(axis=1) == y)).mean()), int((~inside).sum()),
                    float(np.median(np.abs(logits - exact).max(axis=1)[inside])))
    if result.outside:
        say(f"{result.outside} images have values outside of the range of a polynomial: a larger margin holds them")
    say(f"{len(x)} test images: {100 * result.accuracy:.1f} % in the clear, {100 * result.shadow_accuracy:.1f} % with "
        f"polynomials; largest difference of an image's logits {result.median_error:.3f} in the median")
    if encrypted:
        enc.threads = threads
        _run_encrypted(enc, x[:encrypted], logits, result, say)
    return result


def row(r: Result) -> dict[str, Any]:
    """The measurements as a row of a record; UnsupportedError where nothing ran encrypted."""
    if not r.seconds:
        raise errors.UnsupportedError.explain("demo resnet20", "--record, and no image that ran encrypted",
                                              "one or more", "add --encrypted 1")
    plan = r.plan
    return {"name": "resnet20.image", "value": 1e3 * float(np.median(r.seconds)), "unit": "ms",
            "median_of": len(r.seconds), "low": 1e3 * min(r.seconds), "high": 1e3 * max(r.seconds),
            "device": r.device_name, "backend": r.device.partition(":")[0], "mode": "replayed", "preset": plan.preset,
            "params": {"batch": plan.images, "images": r.images, "predicted_ms": 1e3 * plan.seconds},
            "first_ms": 1e3 * r.first_seconds,
            "accuracy": r.shadow_accuracy, "clear_accuracy": r.accuracy, "bootstraps": plan.bootstraps,
            "key_bytes": plan.key_bytes, "peak_bytes": r.peak_bytes, "logit_error": max(r.logit_errors),
            "equal_labels": r.equal_labels}


def verdict(r: Result) -> int:
    """0 where encrypted runs gave the labels of the shadow, or its two best logits are close."""
    return 0 if r.equal_labels == len(r.seconds) else 1


def _run_encrypted(enc: nn.Compiled, x: np.ndarray, logits: np.ndarray, result: Result,
                   say: Callable[..., None]) -> None:
    client = keygen(enc.context)
    enc.context.use(enc.server_keys(client))
    keys = enc.context.keys
    say(f"keys: {display.size(0 if keys is None else keys.bytes)}")
    result.device, result.device_name = enc.context.device, enc.context._native.device["name"]

    def timed(given: Ciphertext) -> tuple[Ciphertext, float]:
        start = time.monotonic()
        y = enc(given)
        enc.context.synchronize()
        return y, time.monotonic() - start

    _, result.first_seconds = timed(enc.encrypt(client, x[0]))
    say(f"first run, which encodes the weights and records: {display.seconds(result.first_seconds)}")
    for k, image in enumerate(x):
        y, seconds = timed(enc.encrypt(client, image))
        result.seconds.append(seconds)
        got = arrays.as_numpy(enc.decrypt(client, y), "demo")
        error = float(np.abs(got - logits[k]).max() / np.abs(logits[k]).max())
        result.logit_errors.append(error)
        same = got.argmax() == logits[k].argmax() or close(enc, logits[k : k + 1])[0]
        result.equal_labels += bool(same)
        say(f"image {k}: {display.seconds(result.seconds[-1])}, logits within 2^{np.log2(error):.1f} of the largest, "
            f"label {int(got.argmax())}, {'as' if same else 'NOT as'} the shadow's")
    result.peak_bytes = enc.context.peak_bytes
