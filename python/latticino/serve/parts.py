"""What a client does with its part of a model: keys, encryption, decryption."""

from __future__ import annotations

import os
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from .. import errors
from ..ckks.client import Client, ServerKeys
from ..ckks.context import Context
from ..files import saving
from ..nn.compiled import Network
from ..nn.loading import load as load_network
from ..saved import files as programs
from ..saved.program import SavedProgram


class Part(ABC):
    """A client's part of a model."""

    @abstractmethod
    def context(self, device: str | None) -> Context:
        """A context of the model's parameters."""

    @abstractmethod
    def keys(self, client: Client) -> ServerKeys:
        """The keys that a run needs."""

    @abstractmethod
    def encrypt(self, client: Client, values: Sequence[Any]) -> bytes:
        """The body of a request: the files of all inputs."""

    @abstractmethod
    def decrypt(self, client: Client, data: bytes) -> Any:
        """The values in a result's file."""


class NetworkPart(Part):
    """Of a network: its file for the owner of the data."""

    def __init__(self, data: bytes) -> None:
        self.network = _network(data)

    def context(self, device: str | None) -> Context:
        return Context(self.network.preset, device)

    def keys(self, client: Client) -> ServerKeys:
        return self.network.server_keys(client)

    def encrypt(self, client: Client, values: Sequence[Any]) -> bytes:
        if len(values) != 1:
            raise errors.ShapeError.explain("run", f"{len(values)} arrays", "one, which holds all samples of a run",
                                            "pass one array")
        return saving.to_bytes(self.network.encrypt(client, values[0]))

    def decrypt(self, client: Client, data: bytes) -> Any:
        return self.network.decrypt(client, saving.from_bytes(data, client.context))


class ProgramPart(Part):
    """Of a program: its inputs, results and keys, without its steps and constants."""

    def __init__(self, data: bytes) -> None:
        self.program: SavedProgram = programs.from_bytes(data)

    def context(self, device: str | None) -> Context:
        made: Context = self.program.context(device)
        return made

    def keys(self, client: Client) -> ServerKeys:
        return client.server_keys(self.program.plan)

    def encrypt(self, client: Client, values: Sequence[Any]) -> bytes:
        return b"".join(saving.to_bytes(x) for x in self.program.encrypt(client, *values))

    def decrypt(self, client: Client, data: bytes) -> Any:
        return self.program.decrypt(client, saving.from_bytes(data, client.context))


def part_of(kind: str, data: bytes) -> Part:
    """The part in the bytes of its file. ServiceError for a kind that this release does not know."""
    if kind not in ("network", "program"):
        raise errors.ServiceError.explain("connect", f"a model of the kind {kind}", "a network or a program",
                                          "use a later release of this package")
    return NetworkPart(data) if kind == "network" else ProgramPart(data)


def _network(data: bytes) -> Network:
    handle, name = tempfile.mkstemp(suffix=".network")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        return load_network(name, "cpu")
    finally:
        with suppress(OSError):
            Path(name).unlink()
