"""What a service runs: files of models behind one interface, whatever kind they are of.

`Facts` is all that the front, the clients and the queue know of a model. Only workers and checkers open the file.
"""

from __future__ import annotations

import hashlib
import json
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, BinaryIO

import numpy as np

from .. import arrays, errors
from ..ckks.client import ServerKeys
from ..ckks.context import Context, Session
from ..ckks.plan import Plan
from ..files import saving
from ..key_generation import keygen
from ..nn import files as networks
from ..nn.compiled import Compiled
from ..nn.loading import load as load_network
from ..saved import files as programs
from ..saved.arguments import PROGRAM
from ..saved.program import SavedFunction

After = Callable[[float], None]  # of each step: takes the part that is done, and ends the run by an exception

_MOST_NOTE = 1 << 16  # bytes of a file beside its residues


@dataclass(frozen=True)
class Port:
    """An input or an output. ``bytes`` of an input: exactly those of its file; of an output: at most."""

    name: str
    shape: tuple[int, ...]
    level: int
    bytes: int


@dataclass(frozen=True)
class Facts:
    """What everybody may know of a model.

    ``kind``: ``"network"`` or ``"program"``. ``digest``: SHA-256 of the file; ``client``: of the part that clients
    need. ``keys``: label and highest level of each; ``key_bytes`` on the device; ``bundle_bytes``: the most that a
    bundle's file may have. ``predicted_seconds`` of a run and ``peak_bytes`` are the plan's.
    """

    kind: str
    digest: str
    client: str
    parameters: str
    params_hash: str
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    keys: dict[str, int]
    key_bytes: int
    bundle_bytes: int
    predicted_seconds: float
    peak_bytes: int

    @property
    def request_bytes(self) -> int:
        """Of the body of a request: the files of all inputs, one behind the other."""
        return sum(port.bytes for port in self.inputs)

    @property
    def result_bytes(self) -> int:
        return sum(port.bytes for port in self.outputs)

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def read(cls, text: str) -> Facts:
        """The facts in what `to_json` gave."""
        fields = json.loads(text)
        for name in ("inputs", "outputs"):
            fields[name] = tuple(Port(p["name"], tuple(p["shape"]), p["level"], p["bytes"]) for p in fields[name])
        return cls(**fields)


class Model(ABC):
    """An open model on a device: it runs requests of tenants, each with the tenant's session."""

    @property
    @abstractmethod
    def context(self) -> Context:
        """The context that it computes in."""

    @property
    @abstractmethod
    def key_bytes(self) -> int:
        """What the keys of a run take on the device."""

    @abstractmethod
    def facts(self) -> Facts:
        """What the file says, and the sizes of its requests, which a key is made for."""

    @abstractmethod
    def client_file(self) -> bytes:
        """The part of the file that clients need."""

    @abstractmethod
    def require_keys(self, keys: ServerKeys) -> None:
        """KeyError unless the bundle has all keys that a run needs."""

    @abstractmethod
    def run(self, session: Session, inputs: Sequence[bytes], final: bool, after: After) -> bytes:
        """The result's file for the files of the inputs. ``final``: as of `lt.to_bytes`.

        FileError, KeyError, ContextError or ShapeError for inputs that are not this model's, or not of the session's
        key.
        """

    def load_keys(self, file: BinaryIO) -> ServerKeys:
        """A bundle for the context, which must have all keys that a run needs."""
        keys = saving.load_server_keys(file, self.context)
        self.require_keys(keys)
        return keys


class NetworkModel(Model):
    """A network that ``enc.save`` wrote for the server."""

    def __init__(self, network: Compiled, digest: str) -> None:
        self._network, self._digest = network, digest

    @property
    def context(self) -> Context:
        return self._network.context

    @property
    def key_bytes(self) -> int:
        return self._network.plan.program.key_bytes

    def facts(self) -> Facts:
        net, plan, params = self._network, self._network.plan.program, self.context.params
        client = hashlib.sha256(self.client_file()).hexdigest()
        place = Port("x", net.shape if net.images == 1 else (net.images, *net.shape), net.level, self._request_bytes)
        # A ciphertext of a result has two polynomials of 32-bit residues.
        last = net._machine.packings[net._network.graph.output]
        residues = 8 * params.n * params.limbs(max(plan.levels)) * last.count
        result = Port("y", net._shape_of_results, max(plan.levels), int(residues) + _MOST_NOTE)
        # Half of a key is stored as a seed, so the file is shorter than what the device holds; a public key beside it.
        return Facts("network", self._digest, client, net.preset, params.hash, (place,), (result,),
                     {repr(label): level for label, level in plan.keys.items()}, plan.key_bytes,
                     plan.key_bytes + (1 << 20), plan.seconds, plan.peak_bytes)

    @cached_property
    def _request_bytes(self) -> int:
        """Of any sample's file: its ciphertexts have the size of this one's."""
        net = self._network
        middle = np.zeros(net.shape) if net._normal is None else net._normal.centre
        sample = middle if net.images == 1 else np.broadcast_to(middle, (net.images, *net.shape))
        return len(saving.to_bytes(net.encrypt(keygen(self.context), sample)))

    def client_file(self) -> bytes:
        return networks.to_bytes(self._network._head("client"), {})

    def require_keys(self, keys: ServerKeys) -> None:
        _require_all(keys, self._network.plan.program, "network.server_keys(client)")

    def run(self, session: Session, inputs: Sequence[bytes], final: bool, after: After) -> bytes:
        x = saving.from_bytes(inputs[0], session)
        self._network._require_input(x)
        return saving.to_bytes(self._network._run(x, after), final=final)


class ProgramModel(Model):
    """A function of CKKS arrays that `lt.save_program` wrote: with one result, no numbers of each run, no switching."""

    def __init__(self, program: SavedFunction, device: str | None, threads: int,
                 key_budget: int | None) -> None:
        for had, unfit in (("a program of TFHE", program.scheme != "ckks"),
                           (f"a program with {len(program.outputs)} results", len(program.outputs) != 1),
                           (f"a program with the numbers {', '.join(program.scalars)}", bool(program.scalars)),
                           ("a program that switches to TFHE", bool(getattr(program.plan, "switching", {})))):
            if unfit:
                raise errors.UnsupportedError.explain("serve", had, "one of CKKS with one result, and with arrays "
                                                      "alone as arguments", "write the program so")
        self._program = program
        self._options: dict[str, Any] = {"device": device, "threads": threads, "key_budget": key_budget}

    @cached_property
    def _context(self) -> Context:
        made: Context = self._program.context(**self._options)
        return made

    @property
    def context(self) -> Context:
        return self._context

    @property
    def key_bytes(self) -> int:
        return int(self._program.plan.key_bytes)

    def facts(self) -> Facts:
        program = self._program
        places = [Port(f"x{i}", tuple(x.shape), x.level or 0, x.bytes) for i, x in enumerate(program.inputs)]
        results = [Port("y", tuple(y.shape), y.level or 0, y.most_bytes) for y in program.outputs]
        client = hashlib.sha256(self.client_file()).hexdigest()
        return Facts("program", program.digest, client, program.parameters.name, program.parameters.hash,
                     tuple(places), tuple(results), {repr(label): level for label, level in program.keys.items()},
                     self.key_bytes, self.key_bytes + (1 << 20), program.predicted_seconds, program.peak_bytes)

    def client_file(self) -> bytes:
        return self._program.client_bytes()

    def require_keys(self, keys: ServerKeys) -> None:
        _require_all(keys, self._program.plan, "client.server_keys(program.plan)")

    def run(self, session: Session, inputs: Sequence[bytes], final: bool, after: After) -> bytes:
        given = [saving.from_bytes(data, session) for data in inputs]
        y = self._program.compute(session, given, after=after)
        return saving.to_bytes(y[0] if isinstance(y, tuple) else y, final=final)


def _require_all(keys: ServerKeys, plan: Plan, remedy: str) -> None:
    missing = keys.missing(plan)
    if missing:
        raise errors.KeyError.explain(
            "keys", f"a bundle without {len(missing)} keys, {missing[0]!r} among them", "those of the model",
            f"make it with {remedy}")


def open_model(path: str | os.PathLike[str], device: str | None = None, *, threads: int = 0,
               key_budget: int | None = None) -> Model:
    """The model in a file, for a device, as of `lt.Context`. ``key_budget``: bytes of keys on the device.

    FileError for damaged and foreign files; UnsupportedError for the part that clients need.
    """
    name = arrays.as_path(path, "serve")
    try:
        with open(name, "rb") as file:
            magic = file.read(len(networks.MAGIC))
            digest = hashlib.sha256(magic)
            while piece := file.read(1 << 20):
                digest.update(piece)
    except OSError as why:
        raise errors.FileError.explain("serve", f"{path}: {why}", "the file of a model", "check the path") from why
    if magic == PROGRAM.magic:
        with open(name, "rb") as file:
            data = file.read()
        program = programs.from_bytes(data)
        assert isinstance(program, SavedFunction)
        return ProgramModel(program, device, threads, key_budget)
    if magic != networks.MAGIC:
        raise errors.FileError.explain("serve", f"{path}, which is no file of a network or a program",
                                       "what enc.save wrote for the server, or lt.save_program",
                                       "name the file server.network of its folder")
    network = load_network(name, device)
    if not isinstance(network, Compiled):
        raise errors.UnsupportedError.explain("serve", f"{path}, the part of a network for the owner of the data",
                                              "the part for the server", "name the file server.network beside it")
    network.threads, network.key_budget = threads, key_budget
    return NetworkModel(network, digest.hexdigest())
