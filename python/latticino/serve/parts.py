"""The work of a client with its part of a model: keys, encryption, decryption."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from .. import errors, tfhe
from ..ckks.client import Client, ServerKeys
from ..ckks.context import Context
from ..files import saving
from ..saved import files as programs
from ..saved import messages

AnyClient: TypeAlias = Client | tfhe.Client


class Part:
    """A client's part of a model: inputs, results and keys of a saved program, without its steps and constants."""

    def __init__(self, data: bytes) -> None:
        self.program = programs.from_bytes(data)

    def context(self, device: str | None) -> Context | tfhe.Context:
        """A context of the model's parameters."""
        made: Context | tfhe.Context = self.program.context(device)
        return made

    def keys(self, client: AnyClient) -> ServerKeys | tfhe.ServerKeys:
        """The keys that a run needs. ContextError for a client of other parameters."""
        if isinstance(client, Client) and self.program.scheme == "ckks":
            return client.server_keys(self.program.plan)  # this compares the parameters
        self.program._require_context(client.context, "server_keys")
        return client.server_keys()

    def encrypt(self, client: AnyClient, values: Sequence[Any], numbers: Mapping[str, Any]) -> bytes:
        """The body of a request: the files of all inputs, and the numbers by their names."""
        in_the_clear = messages.numbers_to_bytes(self.program.scalars, numbers)
        return b"".join(saving.to_bytes(x) for x in self.program.encrypt(client, *values)) + in_the_clear

    def decrypt(self, client: AnyClient, data: bytes) -> Any:
        """The values in a result's file: an array, or a tuple of them."""
        return self.program.decrypt(client, messages.result_of(data, client.context, len(self.program.outputs)))


def part_of(kind: str, data: bytes) -> Part:
    """The part in the bytes of its file. ServiceError for a kind that this release does not know."""
    if kind not in ("network", "program"):
        raise errors.ServiceError.explain("connect", f"a model of the kind {kind}", "a network or a program",
                                          "use a later release of this package")
    return Part(data)
