"""Random programs in several processes at once, each with seeds of its own."""

from __future__ import annotations

import multiprocessing
import queue
import signal
import traceback
import warnings
from collections.abc import Callable, Generator, Iterator
from itertools import islice
from typing import Any

from ... import errors
from .result import Result

APART = 10**6  # difference between the seeds of one process and those of the next
_HELD = 64  # the most results that wait to be taken
_SECONDS = 1.0  # seconds after which a process that ended without a message is noticed
Part = Callable[[str, int, int], Iterator[Result]]


def results(part: Part, device: str, threads: int, seed: int, jobs: int,
            most: int | None) -> Generator[Result, None, None]:
    """The results of the programs of a part, as soon as they end: at most `most`, or without end. Equal arguments give
    the same programs, perhaps in another order. If a process fails, a RuntimeError contains its traceback."""
    shares: list[int | None] = [None] * jobs if most is None else [(most + j) // jobs for j in range(jobs)]
    if jobs == 1:
        yield from islice(part(device, threads, seed), shares[0])
        return
    spawn = multiprocessing.get_context("spawn")
    found: Any = spawn.Queue(_HELD)
    workers = [spawn.Process(target=_run, args=(part, device, threads, seed + j * APART, share, found), daemon=True)
               for j, share in enumerate(shares)]
    try:
        for worker in workers:
            worker.start()
        ended = 0
        while ended < jobs:
            try:
                result = found.get(timeout=_SECONDS)
            except queue.Empty:
                dead = [w for w in workers if w.exitcode not in (None, 0)]
                if dead:
                    raise RuntimeError(f"a process of the fuzz ended with status {dead[0].exitcode}") from None
                continue
            if isinstance(result, str):
                raise RuntimeError(f"a process of the fuzz failed:\n{result}")
            if result is None:
                ended += 1
            else:
                yield result
    finally:
        for worker in workers:
            if worker.pid is not None:
                worker.terminate()
        for worker in workers:
            if worker.pid is not None:
                worker.join()


def _run(part: Part, device: str, threads: int, seed: int, share: int | None, found: Any) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the process that started it ends it
    warnings.simplefilter("ignore", errors.SecurityWarning)
    try:
        for result in islice(part(device, threads, seed), share):
            found.put(result)
        found.put(None)
    except Exception:
        found.put(traceback.format_exc())
