"""What a client does with its part of a model: keys, encryption, decryption."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import errors
from ..ckks.client import Client, ServerKeys
from ..ckks.context import Context
from ..files import saving
from ..saved import files as programs


class Part:
    """A client's part of a model: inputs, results and keys of a saved program, without its steps and constants."""

    def __init__(self, data: bytes) -> None:
        self.program = programs.from_bytes(data)

    def context(self, device: str | None) -> Context:
        """A context of the model's parameters."""
        made: Context = self.program.context(device)
        return made

    def keys(self, client: Client) -> ServerKeys:
        """The keys that a run needs."""
        return client.server_keys(self.program.plan)

    def encrypt(self, client: Client, values: Sequence[Any]) -> bytes:
        """The body of a request: the files of all inputs."""
        return b"".join(saving.to_bytes(x) for x in self.program.encrypt(client, *values))

    def decrypt(self, client: Client, data: bytes) -> Any:
        """The values in a result's file."""
        return self.program.decrypt(client, saving.from_bytes(data, client.context))


def part_of(kind: str, data: bytes) -> Part:
    """The part in the bytes of its file. ServiceError for a kind that this release does not know."""
    if kind not in ("network", "program"):
        raise errors.ServiceError.explain("connect", f"a model of the kind {kind}", "a network or a program",
                                          "use a later release of this package")
    return Part(data)
