"""The programs that a service under attack runs, and their results without a service. All but one
use small, insecure sets."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

import latticino as lt
from latticino._provenance import cpu_name
from latticino.serve.models import open_model
from latticino.serve.parts import Part
from latticino.serve.worker import parts_of
from latticino.workloads import helr

SHAPE = (16,)
Made: TypeAlias = tuple[Callable[..., Any], Sequence[Any]]  # a function, and a shape for each of its arguments


def _square(context: lt.Context) -> Made:
    return lambda x: x * x + 0.25, [lt.Shape(SHAPE)]


def _fresh(context: lt.Context) -> Made:
    return lambda x: (x * x).bootstrap(), [lt.Shape(SHAPE)]


def _long(context: lt.Context) -> Made:
    def long(x: Any) -> Any:
        for _ in range(8):
            x = (x * x - 0.5).declare(-1, 1).bootstrap()  # the values stay in this range
        return x

    return long, [lt.Shape(SHAPE)]


def _helr(context: lt.Context) -> Made:
    """A training of 16 steps on encrypted data, from encrypted weights: 128 rows of 64 numbers, or fewer in a small
    set."""
    trainer = helr.Trainer(context, helr.Settings(rows=min(128, context.slots // 64)))
    z = np.zeros((trainer.settings.rows, 64))

    def training(state: Any, *parts: Any) -> Any:
        batch = helr.Batch(parts, parts[0])
        for eta in helr.momentum(trainer.settings.iterations):
            state = trainer.step(trainer.refresh(state), batch, eta)
        return state

    return training, trainer.examples(z)


# By name: the function that makes the program, and its set. On an idle core a run of the first
# three takes about 1, 20 and 150 ms; the others are for GPUs.
PROGRAMS: dict[str, tuple[Callable[[lt.Context], Made], str]] = {
    "square": (_square, "test-n10-leveled-insecure"), "fresh": (_fresh, "test-n10-boot-insecure"),
    "long": (_long, "test-n10-boot-insecure"), "large": (_long, "n16-d35-boot-v1"), "helr": (_helr, "n16-d40-boot-v1")}


class Program:
    """A program in a file ``path``, which is also open in this process. `run` gives the result that
    a service has to give. ``name`` and ``facts``: as the service knows them. ``part``: the part for
    its clients. ``device``: the device of `run`."""

    def __init__(self, folder: Path, name: str, device: str = "cpu") -> None:
        make, preset = PROGRAMS[name]
        self.name, self.path = name, folder / f"{name}.lt"
        if not self.path.exists():
            context = lt.Context(preset, device, threads=1)
            function, shapes = make(context)
            lt.save_program(self.path, function, context, *shapes)
        self._model = open_model(self.path.read_bytes(), device, threads=1 if device == "cpu" else 0)
        self.facts = self._model.facts()
        self.part = Part(self._model.client_file())

    @property
    def argument(self) -> str:
        """The arguments for `latticino serve`."""
        return f"{self.name}={self.path}"

    @property
    def device_name(self) -> str:
        """The name of the device that `run` computes on."""
        context: Any = self._model.context
        return cpu_name() if context.device == "cpu" else str(context._native.device["name"])

    def client(self) -> lt.Client:
        """A client with a key of its own."""
        context: Any = self.part.context("cpu")
        client: lt.Client = lt.keygen(context)
        return client

    def bound(self, bundle: bytes) -> Any:
        """A session with the keys in a bundle's file."""
        keys: Any = self._model.load_keys(io.BytesIO(bundle))
        return self._model.context.bind(keys)

    def encrypted(self, client: lt.Client, seed: int) -> bytes:
        """The body of a request."""
        rng = np.random.default_rng(seed)
        return self.part.encrypt(client, [rng.uniform(-1, 1, port.shape) for port in self.facts.inputs], {})

    def run(self, session: Any, body: bytes) -> bytes:
        """The file of the result."""
        return self._model.run(session, parts_of(body, self.facts), True, lambda _: None)


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
