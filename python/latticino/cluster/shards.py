"""The work of a worker: it reads a shard, which consists of hashes, computes, and returns the hashes of the results."""

from __future__ import annotations

import json
import threading
import time
from dataclasses import asdict, dataclass
from typing import BinaryIO, cast

from .. import errors
from ..common import devices
from ..saved import files as programs
from ..saved import messages
from ..serve.blobs import Blobs
from ..serve.manifest import Manifest
from ..serve.models import AnyKeys, Model, open_model
from ..serve.sessions import Name, Sessions

OWNER = "cluster"  # the owner of all blobs of an executor
READY = "ready"  # the line that a worker writes when it has started
ARRAYS = "results"  # the area of encrypted arrays: results of one stage are inputs of the next one


@dataclass(frozen=True)
class Shard:
    """One run of a program.

    ``program``, ``keys``: SHA-256 of the program's file, and of the list of chunks of the keys. ``inputs``: those of
    the files of its inputs, and then of its numbers. ``final``: as of `lt.to_bytes`, for every result. ``share``: which
    workers should run it, as a part of all of them.
    """

    program: str
    keys: str
    inputs: tuple[str, ...]
    final: bool = False
    share: tuple[float, float] = (0.0, 1.0)

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def read(cls, text: str) -> Shard:
        fields = json.loads(text)
        return cls(**{**fields, "inputs": tuple(fields["inputs"]), "share": tuple(fields["share"])})


@dataclass(frozen=True)
class Outcome:
    """How a shard ended. ``results``: SHA-256 of the files of its results; or ``error``, the class of an error, with
    its ``message``. ``lost``: another worker may do better. ``seconds`` that it took."""

    results: tuple[str, ...] = ()
    error: str = ""
    message: str = ""
    lost: bool = False
    seconds: float = 0.0

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def read(cls, text: str) -> Outcome:
        fields = json.loads(text)
        return cls(**{**fields, "results": tuple(fields["results"])})

    @classmethod
    def of(cls, why: errors.Error, lost: bool = False) -> Outcome:
        public = next(kind.__name__ for kind in type(why).__mro__ if hasattr(errors, kind.__name__))
        return cls((), public, str(why), lost)

    def raised(self) -> errors.Error:
        """The error as an exception."""
        kind: type[errors.Error] = getattr(errors, self.error, errors.Error)
        return kind(self.message, self.message.partition(":")[0])


@dataclass(frozen=True)
class Options:
    """Of a worker. ``blobs``: a folder; ``device`` and ``threads`` as of `lt.Context`; ``memory``: bytes of host memory
    for bundles of keys, 0 for half of the machine's."""

    blobs: str
    device: str | None = None
    threads: int = 0
    memory: int = 0

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def read(cls, text: str) -> Options:
        return cls(**json.loads(text))


class BatchBlobs(Blobs):
    """The blobs of an executor and its workers. FileError if the folder takes no file."""

    def put(self, area: str, owner: str, data: bytes) -> str:
        try:
            return super().put(area, owner, data)
        except errors.Error:
            raise
        except OSError as why:
            raise errors.FileError.explain(
                "cluster", f"a folder of blobs that takes no file ({why.strerror})", "room on its disk, and the right "
                "to write", "make room, and start the batch again") from why


class Runner:
    """Computes shards on one device, with programs and keys that stay open. DeviceError if there is no such device."""

    def __init__(self, options: Options) -> None:
        kind, _ = devices.choose(options.device)
        devices.as_threads(options.threads)
        self._options, self._blobs = options, BatchBlobs(options.blobs)
        # Memory that a bundle takes in addition to its bytes on the device: see `Sessions`.
        self._sessions = Sessions(options.memory or devices.physical_memory() // 2, 1.5 if kind == "cpu" else 0.5)
        self._models: dict[str, Model] = {}

    def run(self, shard: Shard) -> Outcome:
        """The outcome of a shard. Errors of the library are returned as outcomes."""
        start = time.monotonic()
        try:
            results = self._computed(shard)
        except (errors.OutOfMemoryError, errors.DeviceError) as why:
            self._sessions.clear()
            self._models.clear()
            return Outcome.of(why, lost=True)
        except errors.Error as why:
            return Outcome.of(why)
        return Outcome(results, seconds=time.monotonic() - start)

    def _computed(self, shard: Shard) -> tuple[str, ...]:
        model = self._model(shard.program)
        session = self._sessions.get(Name(OWNER, shard.program, shard.keys), model, model.key_bytes,
                                     lambda: self._keys(model, shard.keys))
        inputs = [self._blobs.read(ARRAYS, OWNER, hash_) for hash_ in shard.inputs]
        data = model.run(session, inputs, shard.final, _after)
        files = messages.files_of(data, len(model.program.outputs))
        return tuple(self._blobs.put(ARRAYS, OWNER, file) for file in files)

    def _model(self, digest: str) -> Model:
        if digest not in self._models:
            data = self._blobs.read("models", OWNER, digest)
            self._models[digest] = open_model(data, self._options.device, threads=self._options.threads, answers=False)
        return self._models[digest]

    def _keys(self, model: Model, hash_: str) -> AnyKeys:
        data = self._blobs.read("chunks", OWNER, hash_)
        try:
            manifest = Manifest.read(json.loads(data))
        except ValueError as why:  # such as the hash of a chunk
            raise errors.FileError.explain("cluster", f"the blob {hash_[:16]}, which is no list of chunks of keys",
                                           "the hash that put_keys gave", "pass that, or the keys themselves") from why
        return model.load_keys(cast(BinaryIO, self._blobs.joined(OWNER, manifest)))


def _after(_: float) -> None:
    """Closes the device. A shard that runs is completed first."""


# ---- workers of an engine that calls functions ----

_runners: dict[str, Runner] = {}
_one = threading.Lock()  # a device computes one shard at a time


def computed(options: str, shard: str) -> str:
    """The outcome of a shard as JSON, from `Options` and a `Shard` as JSON. The process keeps programs and keys open.
    """
    with _one:
        if options not in _runners:
            _runners.clear()  # what it had opened for an executor of another folder
            try:
                _runners[options] = Runner(Options.read(options))
            except errors.Error as why:
                return Outcome.of(why).to_json()
        return _runners[options].run(Shard.read(shard)).to_json()


def facts_of(data: bytes) -> Model:
    """Opens the program in a file, to learn what it takes and returns. FileError and UnsupportedError as of
    `open_model`."""
    return Model(programs.from_bytes(data), answers=False)
