"""A batch over 1 to 4 worker processes of this machine, and with a worker that is killed in the middle of it.

    ./latticino bench service-scaling --record FILE

Each process has one thread; with ``--device cuda`` all share a GPU (``--program large`` is for one). The workers have
opened the program and loaded the keys before the time starts. All results have to be those of a run in this process,
byte for byte.

- ``local``: the processes of `lt.cluster.Local`
- ``dask``: a scheduler of Dask and its workers, for as many processes
"""

from __future__ import annotations

import argparse
import hashlib
import os
import signal
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import latticino as lt
from latticino.measure.records import Row, stamped
from running import until
from samples import PROGRAMS, Program

ENGINES = ("local", "dask")
_WARM = 3  # shards that each worker computes before the time starts


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--engine", choices=ENGINES, help="this one alone")
    parser.add_argument("--program", choices=tuple(PROGRAMS), default="long")
    parser.add_argument("--device", default="cpu", help="of all processes, which share it: cpu, cuda or cuda:N")
    parser.add_argument("--inputs", type=int, default=48, help="of the batch")
    parser.add_argument("--workers", type=int, default=4, help="the most processes")
    parser.add_argument("--runs", type=int, default=3, help="batches of each number of processes; the fastest counts")


def run(args: argparse.Namespace) -> tuple[list[Row], bool]:
    """A row for each number of workers and each engine, and whether all bytes were right."""
    rows: list[Row] = []
    good = True
    for engine in [args.engine] if args.engine else ENGINES:
        with tempfile.TemporaryDirectory(prefix="latticino-scaling-") as folder:
            batch = Batch(Path(folder), args.program, args.inputs, args.device)
            alone = None
            for workers, kills in [*((n, 0) for n in range(1, args.workers + 1)), (3, 1)]:
                row, well = measured(batch, engine, workers, args.runs, kills)
                alone = row["value"] if alone is None else alone
                row["speedup"] = round(alone / row["value"], 3)
                print(f"{engine}, workers: {workers}, killed: {kills}: {row['value']:.2f} s, {row['speedup']:.2f} "
                      "times as fast as 1 worker", flush=True)
                rows, good = [*rows, row], good and well
    return [stamped(row) for row in rows], good


class Batch:
    """Encrypted inputs of a program, keys, and the hashes of the results of a run in this process.
    """

    def __init__(self, folder: Path, name: str, count: int, device: str) -> None:
        self.folder, self.device, self.program = folder, device, Program(folder, name, device)
        client = self.program.client()
        self.keys = client.server_keys(self.program.part.program.plan)
        self.inputs = [self.program.encrypted(client, seed) for seed in range(count)]
        session = self.program.bound(lt.to_bytes(self.keys))
        start = time.monotonic()
        results = [self.program.run(session, body) for body in self.inputs]
        self.alone_seconds = time.monotonic() - start
        self.right = [(hashlib.sha256(data).hexdigest(),) for data in results]

    def through(self, executor: lt.cluster.Executor, count: int | None = None) -> bool:
        """Whether the results of the first inputs are right."""
        found = executor.map(self.program.path, self.keys, self.inputs[:count], final=True)
        return [r.hashes for r in found] == self.right[:count]


def measured(batch: Batch, engine: str, workers: int, runs: int, kills: int) -> tuple[Row, bool]:
    """The row for so many workers. ``kills``: how many of them die in the middle of each batch."""
    seconds, good = [], True
    with _engine(engine, workers, batch.device) as (made, pids), \
            lt.cluster.Executor(batch.folder / "blobs", made) as executor:
        for _ in range(runs):
            until(lambda: len(pids()) == workers, "all workers")
            good = batch.through(executor, _WARM * workers) and good
            before, start = set(pids()), time.monotonic()
            with _killing(made, pids, kills, len(batch.inputs) // 2):
                good = batch.through(executor) and good
            seconds.append(time.monotonic() - start)
            good = good and len(before - set(pids())) == kills
    row: Row = {"name": "cluster.batch", "value": round(min(seconds), 3), "unit": "s", "params": {
        "engine": engine, "program": batch.program.name, "inputs": len(batch.inputs), "workers": workers,
        "killed": kills, "threads": 1}, "device": batch.program.device_name,
        "backend": batch.device.partition(":")[0], "cores": os.cpu_count(),
        "runs_seconds": [round(s, 3) for s in seconds], "without_engine_seconds": round(batch.alone_seconds, 3),
        "equal_digests": good}
    return row, good


@contextmanager
def _killing(made: lt.cluster.Engine, pids: Callable[[], list[int]], count: int, after: int) -> Iterator[None]:
    """Kills so many processes as soon as so many shards have ended."""
    ended, seen = made.ended, 0

    def ending() -> list[tuple[int, Any]]:
        nonlocal seen
        outcomes, before = ended(), seen
        seen += len(outcomes)
        if before < after <= seen:
            for pid in pids()[:count]:
                os.kill(pid, signal.SIGKILL)
        return outcomes

    made.ended = ending  # type: ignore[method-assign]
    try:
        yield
    finally:
        made.ended = ended  # type: ignore[method-assign]


@contextmanager
def _engine(name: str, workers: int, device: str) -> Iterator[tuple[lt.cluster.Engine, Callable[[], list[int]]]]:
    """An engine, and a function that returns the ids of its processes."""
    if name == "local":
        made = lt.cluster.Local([device] * workers, threads=1)
        yield made, lambda: made.pids
        return
    import distributed

    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    with distributed.LocalCluster(n_workers=workers, threads_per_worker=1, processes=True, dashboard_address=None,
                                  silence_logs=50) as cluster:

        def pids() -> list[int]:
            known: list[Any] = list(cluster.workers.values())
            return [nanny.pid for nanny in known if nanny.status.name == "running" and nanny.pid]

        with distributed.Client(cluster, set_as_default=False) as client:
            client.wait_for_workers(workers)
            yield lt.cluster.Dask(client, device=device, threads=1), pids
