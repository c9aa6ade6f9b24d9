"""`Executor`: distributes saved programs over workers. It stores data as blobs, and passes their hashes."""

from __future__ import annotations

import hashlib
import io
import itertools
import os
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Any, BinaryIO, TypeAlias, cast
from weakref import WeakKeyDictionary

from .. import arrays, errors, tfhe
from ..ckks.ciphertext import Ciphertext
from ..ckks.client import ServerKeys
from ..common.progress_bar import Task, track
from ..files import saving
from ..saved import messages
from ..saved.program import SavedProgram
from ..serve.blobs import Blobs
from ..serve.manifest import CHUNK, Manifest, is_hash
from ..serve.models import file_of, require_keys
from .engines import Engine
from .local import Local
from .shards import ARRAYS, OWNER, BatchBlobs, Outcome, Shard, facts_of

Path_: TypeAlias = "str | os.PathLike[str]"


class Result:
    """The result of a program for one item of a batch.

    ``hashes``: the SHA-256 of the file of each of its arrays. The files are blobs of the executor. A Result may be an
    item of a later batch.
    """

    def __init__(self, blobs: Blobs, program: SavedProgram, hashes: tuple[str, ...]) -> None:
        self._blobs, self._program, self.hashes = blobs, program, hashes

    def data(self, index: int = 0) -> bytes:
        """The bytes of the file of an array, which are compared with its hash. FileError if they have changed."""
        count = len(self.hashes)
        index = arrays.as_integer(index, "Result.data", "index", -count, count - 1)
        return self._blobs.read(ARRAYS, OWNER, self.hashes[index])

    def decrypt(self, client: Any) -> Any:
        """The values: an array, or a tuple of arrays."""
        read = [saving.from_bytes(self.data(i), client.context) for i in range(len(self.hashes))]
        return self._program.decrypt(client, read[0] if len(read) == 1 else tuple(read))

    def __repr__(self) -> str:
        return f"Result({', '.join(hash_[:16] for hash_ in self.hashes)})"


@dataclass(frozen=True)
class _Stage:
    """A program of a pipeline: its shard without inputs, and the hashes of its numbers."""

    program: SavedProgram
    shard: Shard
    numbers: tuple[str, ...]


@dataclass(frozen=True)
class _Try:
    """A shard that was sent to a worker: its item and stage, and how often it was lost before."""

    item: int
    stage: int
    shard: Shard
    lost: int = 0


class Executor:
    """Spreads programs that `lt.save_program` wrote over processes and machines: ``lt.cluster.Executor("blobs")``.

    - ``blobs``: a folder for programs, keys and encrypted arrays, named by their SHA-256. All workers see it under this
      name. Nothing is ever removed from it.
    - ``engine``: `Local`, the default, has a process for each device of this machine; `Dask` has many machines.
      An engine serves one executor at a time.
    - ``retries``: how often a shard is started again after its worker was lost

    Evaluation draws no random numbers. So a shard that is run again gives the same bytes. Calls from several threads
    wait for each other.

    >>> with lt.cluster.Executor("blobs", lt.cluster.Local(["cpu"] * 4)) as executor:
    ...     results = executor.map("score.lt", keys, [client.encrypt(x) for x in samples])
    """

    def __init__(self, blobs: Path_, engine: Engine | None = None, *, retries: int = 3) -> None:
        folder = os.path.abspath(arrays.as_path(blobs, "Executor"))
        self._retries = arrays.as_integer(retries, "Executor", "retries", 0)
        if engine is not None and not isinstance(engine, Engine):
            raise errors.UnsupportedError.explain("Executor", f"a {type(engine).__name__} as engine",
                                                  "an engine of lt.cluster", "pass lt.cluster.Local()")
        self._blobs, self._engine = BatchBlobs(folder), Local() if engine is None else engine
        self._programs: dict[str, SavedProgram] = {}
        self._keys: WeakKeyDictionary[Any, str] = WeakKeyDictionary()
        self._tickets, self._lock = itertools.count(), threading.Lock()
        self._process: int | None = os.getpid()
        if self._engine.taken:
            raise errors.UnsupportedError.explain("Executor", "an engine that another executor has", "one of its own",
                                                  "pass another lt.cluster.Local(), or close the other executor")
        try:
            self._engine.open(folder)
        except BaseException:
            self._engine.close()
            raise
        self._engine.taken = True

    @property
    def engine(self) -> Engine:
        """The engine. Its ``workers`` says how many workers there are."""
        return self._engine

    def map(self, program: Path_, keys: Any, batch: Iterable[Any], *, numbers: Mapping[str, Any] | None = None,
            final: bool = False, repeated: int = 0) -> list[Result]:
        """The `Result` of a program for each item of a batch, in their order.

        - ``program``: a file of `lt.save_program`
        - ``keys``: a bundle, the file of one (``one_file=True``), or what `put_keys` gave
        - ``batch``: items of the program's encrypted inputs. An item is an encrypted array, the bytes of its file, the
          hash of a blob with these bytes, or a `Result`. If the program has several inputs, an item is a tuple of them.
        - ``numbers``: the values of the program's numbers by their names. They are not encrypted, and are the same for
          all items.
        - ``final``: whether results of CKKS are made short, as `lt.to_bytes` does with the same argument
        - ``repeated``: how many items at the beginning are computed twice, to compare the bytes

        KeyError for keys that lack some of the program's; ContextError for keys of other parameters; other errors as of
        `SavedProgram.run`. FileError for blobs that are gone, or have other bytes than their hash says. ClusterError if
        a shard lost its worker more often than ``retries``, or gave other bytes when it was repeated. UnsupportedError
        for an executor that is closed, or that was made before a fork.
        """
        return self._run([program], keys, batch, numbers, final, repeated, False)

    def pipeline(self, programs: Sequence[Path_], keys: Any, batch: Iterable[Any], *,
                 numbers: Mapping[str, Any] | None = None, final: bool = False, repeated: int = 0,
                 placed: bool = True) -> list[Result]:
        """The `Result` of the last of several programs, of which each takes the results of the one before.

        ``placed``: every program has workers of its own, as many as its part of the predicted seconds says, so that a
        device holds the weights of few programs. False: every worker runs all programs. ``final`` is for the last
        program alone. Everything else is as of `map`. ShapeError, LevelError or ContextError for programs that do not
        follow each other.
        """
        if not isinstance(programs, (list, tuple)) or not programs:
            raise errors.ShapeError.explain("pipeline", "no list of programs", "the programs in their order",
                                            "pass a list of files")
        return self._run(list(programs), keys, batch, numbers, final, repeated, placed)

    def put_keys(self, keys: Any) -> str:
        """Stores a bundle as blobs in chunks of 8 MiB. Returns its hash, which other calls take instead of the bundle.

        ``keys``: a bundle of either scheme, or the file of one. FileError for a file that cannot be read.
        """
        if isinstance(keys, str) and is_hash(keys):
            if not self._blobs.has("chunks", OWNER, keys):
                raise errors.FileError.explain("cluster", f"no keys {keys[:16]} among the blobs", "those of put_keys",
                                               "store them in this folder first")
            return keys
        chunks = _Chunks(self._blobs)
        if isinstance(keys, (ServerKeys, tfhe.ServerKeys)):
            if keys not in self._keys:
                saving.save_server_keys(cast(BinaryIO, chunks), keys._context, keys, one_file=True)
                self._keys[keys] = chunks.finished()
            return self._keys[keys]
        path = arrays.as_path(keys, "put_keys")
        try:
            with open(path, "rb") as file, Task("storing keys", os.path.getsize(path), unit="bytes") as step:
                while data := file.read(CHUNK):
                    chunks.write(data)
                    step.advance(len(data))
        except OSError as why:
            raise errors.FileError.explain("put_keys", f"{path}: {why}", "the file of a bundle", "check it") from why
        return chunks.finished()

    def close(self) -> None:
        """Stops the workers of `Local`, or closes the connection to the scheduler of `Dask`."""
        if self._process is not None:
            self._process = None
            self._engine.taken = False
            self._engine.close()

    def __enter__(self) -> Executor:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None,
                 trace: TracebackType | None) -> None:
        self.close()

    # ---- storing data as blobs ----

    def _run(self, files: Sequence[Path_], keys: Any, batch: Iterable[Any], numbers: Mapping[str, Any] | None,
             final: bool, repeated: int, placed: bool) -> list[Result]:
        self._require_open()
        if isinstance(batch, (str, bytes)) or not isinstance(batch, Iterable):
            raise errors.ShapeError.explain("cluster", f"a {type(batch).__name__} as batch", "a list of items",
                                            "pass [item] for one")
        if numbers is not None and not isinstance(numbers, Mapping):
            raise errors.ValueError.explain("cluster", f"numbers={arrays.shown(numbers)}", "numbers by their names",
                                            'pass {"name": value}')
        programs = [self._opened(file) for file in files]
        for k, (one, following) in enumerate(itertools.pairwise(programs)):
            require_following(k, one, following)
        final, placed = arrays.as_flag(final, "cluster", "final"), arrays.as_flag(placed, "cluster", "placed")
        again = arrays.as_integer(repeated, "cluster", "repeated", 0)
        stages = self._stages(programs, keys, numbers or {}, final, placed)
        items = [self._item(programs[0], i, given) for i, given in enumerate(track(batch, "storing inputs"))]
        with self._lock:  # a generator as batch may itself use this executor, so it must be finished before
            found = self._computed(stages, items, again)
        return [Result(self._blobs, programs[-1], hashes) for hashes in found]

    def _require_open(self) -> None:
        if self._process != os.getpid():  # the engine's threads exist only in the process that opened it
            raise errors.UnsupportedError.explain("cluster", "an executor that is closed, or that was made before a "
                                                  "fork", "an open one of this process", "make another one")

    def _opened(self, path: Path_) -> SavedProgram:
        data = file_of(path, "cluster")
        digest = hashlib.sha256(data).hexdigest()
        if digest not in self._programs:
            self._programs[digest] = facts_of(data).program
            self._blobs.put("models", OWNER, data)
        return self._programs[digest]

    def _stages(self, programs: Sequence[SavedProgram], keys: Any, numbers: Mapping[str, Any], final: bool,
                placed: bool) -> list[_Stage]:
        for program in programs:
            _require_match(program, keys)
        unknown = sorted(set(numbers) - {name for program in programs for name in program.scalars})
        if unknown:
            raise errors.ValueError.explain("cluster", f"the number {arrays.shown(unknown[0])}",
                                            "numbers that a program takes", "leave it out")
        bundle = self.put_keys(keys)
        shares = shares_of([p.prepared_seconds for p in programs]) if placed else [(0.0, 1.0)] * len(programs)
        out = []
        for k, (program, share) in enumerate(zip(programs, shares)):
            own = {name: value for name, value in numbers.items() if name in program.scalars}
            data = messages.numbers_to_bytes(program.scalars, own)
            each = [data[at : at + messages.NUMBER] for at in range(0, len(data), messages.NUMBER)]
            shard = Shard(program.digest, bundle, (), final and k == len(programs) - 1, share)
            out.append(_Stage(program, shard, tuple(self._blobs.put(ARRAYS, OWNER, number) for number in each)))
        return out

    def _item(self, program: SavedProgram, index: int, given: Any) -> tuple[str, ...]:
        parts = given if isinstance(given, (tuple, list)) else (given,)
        hashes = tuple(hash_ for part in parts for hash_ in self._hashes(index, part))
        if len(hashes) != len(program.inputs):
            raise errors.ShapeError.explain("cluster", f"{len(hashes)} arrays as item {index}",
                                            f"{len(program.inputs)} of the program", "pass a tuple with one for each")
        return hashes

    def _hashes(self, index: int, part: Any) -> tuple[str, ...]:
        if isinstance(part, Result):
            return part.hashes
        if isinstance(part, str) and is_hash(part):
            return (part,)
        if isinstance(part, (Ciphertext, tfhe.EncryptedArray)):
            part = saving.to_bytes(part)
        if not isinstance(part, bytes):
            raise errors.ShapeError.explain("cluster", f"a {type(part).__name__} in item {index}",
                                            "an encrypted array, its bytes, its hash or a Result", "encrypt it first")
        return (self._blobs.put(ARRAYS, OWNER, part),)

    # ---- shards ----

    def _computed(self, stages: Sequence[_Stage], items: Sequence[tuple[str, ...]],
                  again: int) -> list[tuple[str, ...]]:
        under_way: dict[int, _Try] = {}
        known: dict[tuple[int, int], tuple[str, ...]] = {}  # results, indexed by item and stage

        def submit(tried: _Try) -> None:
            ticket = next(self._tickets)
            under_way[ticket] = tried
            self._engine.submit(ticket, tried.shard)

        def begin(item: int, stage: int, inputs: tuple[str, ...]) -> None:
            shard = replace(stages[stage].shard, inputs=inputs + stages[stage].numbers)
            for _ in range(2 if item < again else 1):
                submit(_Try(item, stage, shard))

        try:
            with Task("computing", len(stages) * (len(items) + min(again, len(items))), unit="shards") as step:
                for item, inputs in enumerate(items):
                    begin(item, 0, inputs)
                while under_way:
                    self._require_open()  # another thread may close it
                    for ticket, outcome in self._engine.ended():
                        tried = under_way.pop(ticket, None)  # None: it belongs to a batch that was given up
                        if tried is None:
                            continue
                        if outcome.error:
                            submit(self._once_more(tried, outcome))
                            continue
                        step.advance()
                        at = tried.item, tried.stage
                        first = at not in known
                        known.setdefault(at, _checked(stages[tried.stage].program, outcome))
                        _require_same(tried, known[at], outcome.results)
                        if first and tried.stage + 1 < len(stages):
                            begin(tried.item, tried.stage + 1, outcome.results)
        finally:
            self._engine.forget()
        return [known[item, len(stages) - 1] for item in range(len(items))]

    def _once_more(self, tried: _Try, outcome: Outcome) -> _Try:
        """The next attempt for a shard whose worker was lost. Raises the outcome's error if another attempt would not
        help."""
        if not outcome.lost:
            raise outcome.raised()
        if tried.lost < self._retries:
            return replace(tried, lost=tried.lost + 1)
        if outcome.error != "ClusterError":
            raise outcome.raised()
        raise errors.ClusterError.explain(
            "cluster", f"item {tried.item} of the batch, which lost its worker {tried.lost + 1} times; the last one "
            f"said: {outcome.message}", f"a shard that its worker survives within {self._retries} retries",
            "see what the workers wrote to standard error, as of too little memory; or raise retries=")


class _Chunks(io.RawIOBase):
    """Takes the bytes of a bundle piece by piece, and stores them in chunks."""

    def __init__(self, blobs: Blobs) -> None:
        self._blobs, self._held, self._size, self._hashes = blobs, bytearray(), 0, list[str]()

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self._held += data
        while len(self._held) >= CHUNK:
            self._store(CHUNK)
        return len(data)

    def finished(self) -> str:
        """Stores the last chunk and the list of all chunks. Returns the hash of the list."""
        if self._held:
            self._store(len(self._held))
        return self._blobs.put("chunks", OWNER, Manifest(self._size, tuple(self._hashes)).to_json().encode())

    def _store(self, count: int) -> None:
        self._hashes.append(self._blobs.put("chunks", OWNER, bytes(self._held[:count])))
        self._size += count
        del self._held[:count]


def shares_of(seconds: Sequence[float]) -> list[tuple[float, float]]:
    """The part of the workers that each stage of a pipeline gets, by its predicted seconds.

    >>> shares_of([1.0, 3.0])
    [(0.0, 0.25), (0.25, 1.0)]
    """
    if not any(seconds):  # for example, of programs that return their inputs
        seconds = [1.0] * len(seconds)
    whole, ends = sum(seconds), [0.0, *itertools.accumulate(seconds)]
    return [(a / whole, b / whole) for a, b in itertools.pairwise(ends)]


def require_following(stage: int, one: SavedProgram, following: SavedProgram) -> None:
    """Raises an error unless the results of a program can be the inputs of the next one, as far as their files say."""
    if one.scheme != following.scheme or one.parameters.hash != following.parameters.hash:
        raise errors.ContextError.explain(
            "pipeline", f"a program of {following.parameters.name} after one of {one.parameters.name}",
            "one set of parameters", "save both programs for the same context")
    if len(one.outputs) != len(following.inputs):
        raise errors.ShapeError.explain(
            "pipeline", f"{len(one.outputs)} results of program {stage}",
            f"{len(following.inputs)}, as program {stage + 1} takes", "save one of them again")
    for i, (y, x) in enumerate(zip(one.outputs, following.inputs)):
        if tuple(y.shape) != tuple(x.shape) or (y.dtype != x.dtype and x.dtype != "complex128"):
            raise errors.ShapeError.explain(
                "pipeline", f"result {i} of program {stage} with shape {tuple(y.shape)} of {y.dtype}",
                f"shape {tuple(x.shape)} of {x.dtype}, as program {stage + 1} takes", "save one of them again")
        if y.level != x.level:
            raise errors.LevelError.explain(
                "pipeline", f"result {i} of program {stage} at level {y.level}",
                f"level {x.level}, as program {stage + 1} takes",
                f"save that program for lt.Shape({tuple(x.shape)}, {y.level}, ...)")


def _require_match(program: SavedProgram, keys: Any) -> None:
    """ContextError or KeyError for a bundle that cannot serve a program. Workers check the other forms of keys."""
    if not isinstance(keys, (ServerKeys, tfhe.ServerKeys)):
        return
    if keys.params_hash != program.parameters.hash or isinstance(keys, ServerKeys) != (program.scheme == "ckks"):
        raise errors.ContextError.explain("cluster", "keys of other parameters", f"those of {program.parameters.name}",
                                          "make them with a client of program.context()")
    if isinstance(keys, ServerKeys):
        require_keys(keys, program.plan)


def _checked(program: SavedProgram, outcome: Outcome) -> tuple[str, ...]:
    """The hashes of an outcome. ClusterError if no worker of this release could return it."""
    if len(outcome.results) != len(program.outputs) or not all(map(is_hash, outcome.results)):
        raise errors.ClusterError.explain("cluster", "a worker that gave no hashes of results",
                                          f"{len(program.outputs)} of them", "use one release on all machines")
    return outcome.results


def _require_same(tried: _Try, known: tuple[str, ...], found: tuple[str, ...]) -> None:
    if known != found:
        raise errors.ClusterError.explain(
            "cluster", f"other bytes from a second run of program {tried.stage} for item {tried.item} "
            f"({found[0][:16]} after {known[0][:16]})", "the same bytes from all workers",
            "do not use these results: test the memory and the devices of the workers, and use one release on all of "
            "them")
