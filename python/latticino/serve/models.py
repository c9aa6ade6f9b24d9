"""What a service runs: saved programs, of which compiled networks are one kind.

`Facts` is all that the front, the clients and the queue know of a model. Only workers and checkers open the file.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any, BinaryIO, TypeAlias

from .. import arrays, errors, tfhe
from ..ckks.client import ServerKeys
from ..ckks.context import Context, Session
from ..ckks.plan import Plan
from ..common.once import once
from ..files import regular, saving
from ..nn import files as networks
from ..saved import files as programs
from ..saved import messages
from ..saved.arguments import PROGRAM
from ..saved.networks import SavedNetwork
from ..saved.program import SavedFunction, SavedProgram

AnyContext: TypeAlias = Context | tfhe.Context
AnySession: TypeAlias = Session | tfhe.Session
AnyKeys: TypeAlias = ServerKeys | tfhe.ServerKeys
After = Callable[[float], None]  # called after each step with the fraction that is done; ends the run by an exception

OPTIONS = ("final", "deadline", "key")  # options of a job, which clients pass together with the numbers of a program


@dataclass(frozen=True)
class Port:
    """An input or an output. ``bytes`` of an input: exactly those of its file; of an output: at most. ``dtype``: that
    of the array, or ``"number"`` for a number that each run brings, in the clear. ``level``: 0 of TFHE."""

    name: str
    shape: tuple[int, ...]
    level: int
    bytes: int
    dtype: str = "float64"


@dataclass(frozen=True)
class Facts:
    """The public facts of a model.

    ``kind``: ``"network"`` or ``"program"``. ``digest``: SHA-256 of the file; ``client``: of the part that clients
    need. ``keys``: label and highest level of each; ``key_bytes`` on the device; ``bundle_bytes``: the most that a
    bundle's file may have. ``predicted_seconds`` of a run, ``first_seconds`` of the first one of a worker, which
    encodes constants, and ``peak_bytes`` are the plan's. ``switching``: sets of switching to TFHE that a bundle has
    keys of. ``scheme``: ``"ckks"`` or ``"tfhe"``, of which ``keys`` lists none.
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
    switching: tuple[str, ...] = ()
    scheme: str = "ckks"
    first_seconds: float = 0.0

    @property
    def request_bytes(self) -> int:
        """Bytes of the body of a request: the files of all inputs, one after the other, and then the numbers."""
        return sum(port.bytes for port in self.inputs)

    @property
    def result_bytes(self) -> int:
        """The most bytes of a result: the files of all outputs, and the header if there are several."""
        return sum(port.bytes for port in self.outputs) + messages.most_around(len(self.outputs))

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def read(cls, text: str) -> Facts:
        """The facts from the text that `to_json` made. FileError for text of another release."""
        try:
            return _facts_in(text)
        except (TypeError, LookupError, ValueError) as why:
            raise errors.FileError.explain(
                "store", f"facts of a model that another release wrote ({why})", "those of this release",
                "use one release for the service and its workers, and start latticino serve again") from why

    @classmethod
    def _read(cls, text: str) -> Facts:
        fields = json.loads(text)
        for name in ("inputs", "outputs"):
            fields[name] = tuple(Port(**{**p, "shape": tuple(p["shape"])}) for p in fields[name])
        return cls(**{**fields, "switching": tuple(fields.get("switching", ()))})


@lru_cache(maxsize=256)  # kept, because each request needs those of its model, and they never change
def _facts_in(text: str) -> Facts:
    return Facts._read(text)


class Reader:
    """Reads bundles of keys for a program or a network, or for the part of it that clients need."""

    def __init__(self, program: SavedProgram, **options: Any) -> None:
        self.program, self._options = program, options

    @once
    def context(self) -> AnyContext:
        """The context that it computes in, made on first use."""
        made: AnyContext = self.program.context(**self._options)
        return made

    @property
    def key_bytes(self) -> int:
        """Bytes of the keys of a run on the device."""
        return int(self.program.plan.key_bytes)

    def load_keys(self, file: BinaryIO) -> AnyKeys:
        """A bundle for the context. KeyError unless it has all keys that a run needs."""
        keys: AnyKeys = saving.load_server_keys(file, self.context)
        if isinstance(keys, ServerKeys):  # keys of TFHE serve every program of their parameters
            require_keys(keys, self.program.plan)
        return keys


@dataclass(frozen=True)
class Given:
    """The inputs of a request on a model's device, and its numbers. Nothing was compared yet with what the model takes
    or with a session: `Model.run` does that."""

    arrays: Sequence[Any]
    numbers: Mapping[str, float | complex]


class Model(Reader):
    """A program or a network on a device, open: it runs requests of tenants, each with the tenant's session.

    UnsupportedError for the part that clients need, and for what a service does not run. ``answers``: results are those
    of a service, which brings them to level 0. ScaleError then for a result whose values may not fit its modulus.
    """

    def __init__(self, program: SavedProgram, answers: bool = True, **options: Any) -> None:
        _require_fit(program, answers)
        super().__init__(program, **options)

    def facts(self) -> Facts:
        """The facts that the file states, and the sizes of its requests."""
        program = self.program
        kind = "network" if isinstance(program, SavedNetwork) else "program"
        places = [Port(f"x{i}", tuple(x.shape), x.level or 0, x.bytes, x.dtype) for i, x in enumerate(program.inputs)]
        places += [Port(name, (), 0, messages.NUMBER, "number") for name in program.scalars]
        names = ["y"] if len(program.outputs) == 1 else [f"y{i}" for i in range(len(program.outputs))]
        results = [Port(name, tuple(y.shape), y.level or 0, y.most_bytes, y.dtype)
                   for name, y in zip(names, program.outputs)]
        client = hashlib.sha256(self.client_file()).hexdigest()
        # Half of each key is stored as a seed, so the file is shorter than the keys on the device. It may also contain
        # a public key.
        return Facts(kind, program.digest, client, program.parameters.name, program.parameters.hash, tuple(places),
                     tuple(results), {repr(label): level for label, level in program.keys.items()}, self.key_bytes,
                     self.key_bytes + (1 << 20), program.prepared_seconds, program.peak_bytes,
                     tuple(getattr(program.plan, "switching", ())), program.scheme, program.predicted_seconds)

    def client_file(self) -> bytes:
        """The part of the file that clients need."""
        return self.program.client_bytes()

    def given(self, inputs: Sequence[bytes]) -> Given:
        """Reads the files of the inputs, and numbers, in the order of the facts. Another thread may call this while
        `run` computes. FileError or ContextError for what is no input of any model with these parameters."""
        count = len(self.program.inputs)
        numbers = messages.numbers_of(self.program.scalars, inputs[count:])
        return Given([saving.from_bytes(data, self.context) for data in inputs[:count]], numbers)

    def run(self, session: AnySession, inputs: Sequence[bytes] | Given, final: bool, after: After) -> bytes:
        """The result's file for the inputs, or for their files as of `given`. ``final``: as of `lt.to_bytes`.

        FileError, KeyError, ContextError, ShapeError or ValueError for inputs that are not this model's, or not of the
        session's key.
        """
        given = inputs if isinstance(inputs, Given) else self.given(inputs)
        return messages.result_to_bytes(self.program.compute(session, given.arrays, given.numbers, after), final)


def require_keys(keys: ServerKeys, plan: Plan) -> None:
    """KeyError unless a bundle has all keys of a plan."""
    missing, held = [repr(label) for label in keys.missing(plan)], keys._switching
    missing += [f"those of the set {name}" for name in plan.switching if name not in held]
    missing += [f"those of the set {name} for products of {slots} slots" for name, slots, size in plan.products
                if name in held and (slots, size) not in held[name].products]
    if missing:
        raise errors.KeyError.explain(
            "keys", f"a bundle without {len(missing)} keys, {missing[0]} among them", "those of the model",
            "make it with service.use(client), or client.server_keys(service.program.plan)")


def _require_fit(program: SavedProgram, answers: bool) -> None:
    operation = "serve" if answers else "cluster"
    if not isinstance(program, (SavedFunction, SavedNetwork)):
        raise errors.UnsupportedError.explain(
            operation, "the part of a model that clients need", "the whole model",
            "name the file that lt.save_program wrote, or server.network of the folder of enc.save")
    if program.rerandomize:
        raise errors.UnsupportedError.explain(
            operation, "a program that re-randomises", "one of which a second run gives the same bytes",
            "save it for a context without rerandomize=True")
    if not answers:
        return
    taken = [name for name in OPTIONS if name in program.scalars]
    if taken:
        raise errors.UnsupportedError.explain(
            "serve", f"a program with a number of the name {taken[0]}", f"names other than {', '.join(OPTIONS)}, which "
            "are options of a job", "rename the argument, and save the program again")
    _require_answers(program)


def _require_answers(program: SavedProgram) -> None:
    """An answer that does not fit would decrypt to wrong values, and nobody would notice. So the range is used even if
    nobody declared it, as in every plan."""
    for i, had, needs, assumed in program._misfits:
        remedy = "divide the result in the program, or state its range if that is smaller: y.declare(low, high); then "\
                 "save the program again"
        if assumed:
            remedy = "state the ranges of the inputs, lt.Shape(shape, None, (low, high)), if the values are smaller; " \
                     f"else {remedy}"
        if isinstance(program, SavedNetwork):
            remedy = "compile the network for a set with more room at level 0"
        raise errors.ScaleError.explain("serve", f"result {i} with {had}",
                                        f"{needs}, to which a service brings its answers", remedy)


def file_of(path: str | os.PathLike[str], operation: str = "serve") -> bytes:
    """The bytes of a model's file. FileError for a path that cannot be read, and for other kinds of files, which are
    not read to their end."""
    name = arrays.as_path(path, operation)
    if os.path.isdir(name):
        raise errors.FileError.explain(operation, f"the folder {path}", "the file of a model",
                                       "name a file in it: server.network of a network")
    with regular.opened(name, operation, "the file of a model") as file:
        magic = file.read(len(networks.MAGIC))
        if magic in (networks.MAGIC, PROGRAM.magic):
            return magic + file.read()
    raise errors.FileError.explain(operation, f"{path}, which is no file of a network or a program",
                                   "what lt.save_program wrote, or enc.save for the server",
                                   "name that file; of a network: server.network in its folder")


def open_model(data: bytes, device: str | None = None, *, threads: int = 0, key_budget: int | None = None,
               answers: bool = True) -> Model:
    """The model in the bytes of its file, for a device, as of `lt.Context`. ``key_budget``: bytes of keys on the
    device. ``answers`` as of `Model`.

    FileError for damaged and foreign files; UnsupportedError for what cannot be served.
    """
    return Model(programs.from_bytes(data), answers, device=device, threads=threads, key_budget=key_budget)


def open_reader(data: bytes) -> Reader:
    """Opens a reader of bundles for a model, on the CPU, from the bytes of its file or of the part for clients."""
    return Reader(programs.from_bytes(data), device="cpu", threads=1)
