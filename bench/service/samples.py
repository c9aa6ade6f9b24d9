"""The programs that an attacked service runs, of small and insecure sets but one, and their results without a
service."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import latticino as lt
from latticino._provenance import cpu_name
from latticino.serve.models import open_model
from latticino.serve.parts import Part

SHAPE = (16,)


def _square(x: Any) -> Any:
    return x * x + 0.25


def _fresh(x: Any) -> Any:
    return (x * x).bootstrap()


def _long(x: Any) -> Any:
    for _ in range(8):
        x = (x * x + 0.25).bootstrap()
    return x


# By name: the function and its set. On an idle core a run of the first three takes about 1, 20 and 150 ms; `large` is
# for GPUs.
PROGRAMS: dict[str, tuple[Callable[[Any], Any], str]] = {
    "square": (_square, "test-n10-leveled-insecure"), "fresh": (_fresh, "test-n10-boot-insecure"),
    "long": (_long, "test-n10-boot-insecure"), "large": (_long, "n16-d35-boot-v1")}


class Program:
    """A program in a file ``path``, and open in this process, where `run` gives what a service has to give.

    ``name`` and ``facts`` as the service knows them; ``part``: what its clients get.
    """

    def __init__(self, folder: Path, name: str, device: str = "cpu") -> None:
        function, preset = PROGRAMS[name]
        self.name, self.path = name, folder / f"{name}.lt"
        if not self.path.exists():
            lt.save_program(self.path, function, lt.Context(preset, "cpu", threads=1), lt.Shape(SHAPE))
        self._model = open_model(self.path.read_bytes(), device, threads=1)
        self.facts = self._model.facts()
        self.part = Part(self._model.client_file())

    @property
    def argument(self) -> str:
        """For `latticino serve`."""
        return f"{self.name}={self.path}"

    @property
    def device_name(self) -> str:
        """Of the device that `run` computes on."""
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
        return self.part.encrypt(client, (np.random.default_rng(seed).uniform(-1, 1, SHAPE),), {})

    def run(self, session: Any, body: bytes) -> bytes:
        """The file of the result."""
        return self._model.run(session, [body], True, lambda _: None)


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
