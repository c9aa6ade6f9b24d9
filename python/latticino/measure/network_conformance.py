"""Part of `latticino conformance`: a network on encrypted 8 x 8 images, whose ciphertexts are compared step by step.

Its maps, products, polynomials and bootstrappings run on the plain code of one CPU thread and on the device, with the
same keys and the same encrypted image. Both have to give the same bits after every step, and so does a recording.
"""

from __future__ import annotations

import hashlib
import time
import warnings

import numpy as np

from .. import _native, errors, nn
from ..ckks.ciphertext import Ciphertext
from ..ckks.client import ServerKeys
from ..ckks.context import Context
from ..files import saving
from ..key_generation import keygen
from ..nn.builder import Builder
from ..nn.graph import Graph
from ..nn.run import Step
from ..programs.program import Program
from . import records

PRESET = "test-n10-boot-insecure"


def network() -> Graph:
    """Convolutions of strides 1 and 2 with a shortcut, a ReLU of degree 6, a square, pooling and a linear layer."""
    r, b = np.random.default_rng(0), Builder((2, 8, 8))

    def weights(*shape: int) -> np.ndarray:
        return np.asarray(r.normal(size=shape) / np.sqrt(np.prod(shape[1:])))

    x = b.activation(b.conv(b.input, weights(4, 2, 3, 3), weights(4, 1)[:, 0] / 4, padding=1, layer="conv"), "relu",
                     layer="relu")
    y = b.conv(x, weights(8, 4, 3, 3), stride=2, padding=1, layer="block")
    y = b.activation(y, "silu", layer="silu")
    y = b.conv(y, weights(8, 8, 3, 3), padding=1, layer="second")
    x = b.add(y, b.conv(x, weights(8, 4, 1, 1), stride=2, layer="shortcut"), layer="add")
    x = b.activation(b.mul(x, x, layer="square"), "tanh", layer="tanh")
    return b.graph(b.linear(b.mean(x, (1, 2), layer="pool"), weights(10, 8), layer="linear"))


def compiled() -> nn.Compiled:
    """The compiled network. Its steps are the same on every device, because other steps would give other bits."""
    x = np.random.default_rng(1).uniform(-1, 1, (200, 2, 8, 8))
    degrees = {"relu": 6, "silu": 7, "tanh": 7}
    return nn.compile(network(), calibration=x, preset=PRESET, device="cpu", fits=degrees)


class _Side:
    """One context with the keys and the encrypted image of another process."""

    def __init__(self, enc: nn.Compiled, context: Context, keys: bytes, image: bytes) -> None:
        self.context, self._enc = context, enc
        context.use(saving.from_bytes(keys, context, kind=ServerKeys))
        self._image = saving.from_bytes(image, context)

    def _run(self, x: Ciphertext) -> Ciphertext:
        return self._enc._machine.run(self._enc._placement.steps, [x])

    def digests(self) -> list[str]:
        """The digests of the results of all steps, of a recording, and of its replay."""
        found: list[str] = []

        def watch(_: Step, y: Ciphertext) -> Ciphertext:
            found.append(_digest(y))
            return y

        self._enc._machine.run(self._enc._placement.steps, [self._image], watch)
        program = Program(self._run)
        return [*found, *(_digest(program(self._image)) for _ in range(2))]


def _digest(x: Ciphertext) -> str:
    return hashlib.sha256(_native.ciphertexts_to_bytes(x._parts, "", None)).hexdigest()


def compare(kind: str, index: int, threads: int) -> records.Row:
    """The row of a record. ``threads``: those of the vector code, if the device is the CPU."""
    start = time.monotonic()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", errors.SecurityWarning)  # because the set is small on purpose
        enc = compiled()
        contexts = [Context(PRESET, "cpu", threads=1, simd=False),
                    Context(PRESET, kind if kind == "cpu" else f"{kind}:{index}", threads=threads)]
        client = keygen(enc.context)
    keys = saving.to_bytes(enc.server_keys(client, show=False))
    image = saving.to_bytes(enc.encrypt(client, np.random.default_rng(2).uniform(-1, 1, (2, 8, 8))))
    wanted, found = (_Side(enc, context, keys, image).digests() for context in contexts)
    steps = [f"{step.form or 'step'} {enc._machine.graph.nodes[step.node].title}" for step in enc._placement.steps]
    names = [*steps, "recording", "replay"]
    different = [name for name, a, b in zip(names, wanted, found, strict=True) if a != b]
    seconds = time.monotonic() - start
    print(f"{'network on 8x8 images':34} {kind}: {enc.plan.bootstraps} bootstrappings, {len(names):>7,} comparisons, "
          f"{'equal' if not different else f'{len(different)} DIFFERENCES'} ({seconds:.1f} s)", flush=True)
    for name in different:
        print(f"  {name} differs")
    return {"name": "conformance.network", "value": len(different), "unit": "differences", "backend": kind,
            "preset": PRESET, "params": {"N": enc.context.params.n, "steps": len(steps),
                                         "bootstraps": enc.plan.bootstraps},
            "comparisons": len(names), "failures": len(different), "passed": not different,
            "oracle": "cpu, plain code", "seconds": round(seconds, 2)}
