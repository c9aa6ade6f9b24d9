"""The engine for many machines: workers of Dask. Only hashes are sent through Dask. Blobs are in a folder that all
machines can read."""

from __future__ import annotations

import itertools
import queue
import secrets
import time
import urllib.parse
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from .. import arrays, errors
from .engines import Engine, slots
from .shards import Options, Outcome, Shard, computed

_LOOPBACK = ("127.0.0.1", "::1", "localhost", "")


class Dask(Engine):
    """Workers of a Dask cluster, each a process with one thread and one device.

    - ``scheduler``: the address of a scheduler, or a ``distributed.Client``. An address of another machine has to begin
      with ``tls://``; its certificates are those of Dask's settings. A client can bring its own (``security=``).
    - ``device``: the device that each worker computes on, named as for `lt.Context`. None stands for the GPU that the
      worker sees. If it sees none, it computes on the CPU.
    - ``threads``: how many threads each worker has on a CPU. 0 stands for all cores of its machine.
    - ``memory``: how many bytes of host memory each worker may use for keys. None stands for half of its machine's.
    - ``patience``: after how many seconds without any worker a batch fails

    The folder of the blobs has the same name on all machines. Dask runs any code that it is sent: see docs/security.md.
    """

    def __init__(self, scheduler: Any, *, device: str | None = None, threads: int = 0, memory: int | None = None,
                 patience: float = 60.0) -> None:
        self._options = Options("", device, arrays.as_integer(threads, "Dask", "threads", 0),
                                0 if memory is None else arrays.as_integer(memory, "Dask", "memory", 1))
        self._patience = arrays.as_real(patience, "Dask", "patience", 0.0)
        self._scheduler, self._own = scheduler, isinstance(scheduler, str)
        if self._own:
            _require_closed(scheduler)
        self._client: Any = None
        self._name = secrets.token_hex(8)  # so that keys on the scheduler differ from those of other executors
        self._ended: queue.SimpleQueue[tuple[int, Any]] = queue.SimpleQueue()
        self._keys = itertools.count()
        self._waiting: list[tuple[int, Shard]] = []
        self._given: dict[int, _Given] = {}
        self._alone_since: float | None = None

    @property
    def workers(self) -> int:
        return len(self._addresses())

    def open(self, blobs: str) -> None:
        """Connects to the scheduler. ClusterError if it does not answer, UnsupportedError without `distributed`, for
        ``tls://`` without a certificate, and for workers with several threads."""
        try:
            import distributed
        except ImportError as why:
            raise errors.UnsupportedError.explain("Dask", "a Python without distributed", "that package",
                                                  errors.install("cluster")) from why
        if self._own:
            try:
                self._client = distributed.Client(self._scheduler, timeout=self._patience, set_as_default=False)
            except (OSError, ValueError) as why:
                raise errors.ClusterError.explain("Dask", f"no answer of {arrays.shown(self._scheduler)} ({why})",
                                                  "a scheduler of Dask", "start `dask scheduler`, or correct the "
                                                  "address") from why
            except TypeError as why:  # Dask's error for tls:// where its settings name no certificates
                if not str(self._scheduler).startswith("tls://"):
                    raise
                raise errors.UnsupportedError.explain(
                    "Dask", f"{arrays.shown(self._scheduler)} without a certificate",
                    "a certificate and its key, for TLS",
                    "pass a distributed.Client with security= (docs/scaling.md), or configure TLS of Dask") from why
        elif isinstance(self._scheduler, distributed.Client):
            self._client = self._scheduler
        else:
            raise errors.UnsupportedError.explain("Dask", f"a {type(self._scheduler).__name__} as scheduler",
                                                  "an address or a distributed.Client", "pass one")
        self._options = replace(self._options, blobs=blobs)
        several = [a for a, threads in self._known().items() if threads != 1]
        if several:
            raise errors.UnsupportedError.explain("Dask", f"a worker with several threads, {several[0]}",
                                                  "one shard at a time on each device",
                                                  "start workers with `dask worker --nthreads 1`")

    def submit(self, ticket: int, shard: Shard) -> None:
        self._waiting.append((ticket, shard))

    def ended(self) -> list[tuple[int, Outcome]]:
        self._give()
        with suppress(queue.Empty):
            ticket, future = self._ended.get(timeout=1.0)
            self._alone_since = None
            given = self._given.get(ticket)
            if given is None or given.future is not future:  # it belongs to a batch that was given up
                return []
            del self._given[ticket]
            return [(ticket, _outcome(future))]
        self._look_after()
        return []

    def forget(self) -> None:
        self._waiting.clear()
        self._alone_since = None  # so that the next batch may wait as long again
        given, self._given = self._given, {}
        for one in given.values():
            one.future.cancel()

    def _give(self) -> None:
        """Gives the scheduler two shards for each worker that they are for. So if a worker dies, only few shards have
        to be tried again, and the stages of a pipeline do not wait for each other."""
        if not self._waiting:
            return
        addresses = self._addresses()
        count = Counter(one.shard.share for one in self._given.values())
        for ticket, shard in list(self._waiting) if addresses else ():
            where = [addresses[slot] for slot in slots(shard.share, len(addresses))]
            if count[shard.share] < 2 * len(where):
                count[shard.share] += 1
                self._waiting.remove((ticket, shard))
                self._hand_over(ticket, shard, where if len(where) < len(addresses) else None)

    def _hand_over(self, ticket: int, shard: Shard, where: list[str] | None) -> None:
        future = self._client.submit(computed, self._options.to_json(), shard.to_json(), workers=where, pure=False,
                                     key=f"latticino-{self._name}-{next(self._keys)}")
        self._given[ticket] = _Given(future, shard, where)
        future.add_done_callback(lambda done: self._ended.put((ticket, done)))

    def close(self) -> None:
        """Closes nothing: the scheduler and its workers keep running."""
        client, self._client = self._client, None
        if client is not None:
            self.forget()
            if self._own:
                client.close()

    def _known(self) -> dict[str, int]:
        found: dict[str, int] = self._client.nthreads()
        return found

    def _addresses(self) -> list[str]:
        return sorted(self._known())

    def _look_after(self) -> None:
        """Called when nothing has ended for a second. Checks whether there are workers, and whether the workers that
        shards are assigned to still exist. A worker that was started again has another address."""
        now, addresses = time.monotonic(), set(self._addresses())
        if addresses or not (self._waiting or self._given):
            self._alone_since = None
            for ticket, one in list(self._given.items()):
                if one.where is not None and not addresses & set(one.where):
                    del self._given[ticket]
                    one.future.cancel()
                    self._waiting.insert(0, (ticket, one.shard))
            return
        self._alone_since = self._alone_since or now
        if now - self._alone_since >= self._patience:
            raise errors.ClusterError.explain(
                "Dask", f"no worker for {self._patience:g} s", "at least one",
                "start `dask worker --nthreads 1`, and call again")


@dataclass(frozen=True)
class _Given:
    """A shard that was given to the scheduler. ``where``: addresses of the workers that may run it; None: all."""

    future: Any
    shard: Shard
    where: list[str] | None


def _require_closed(address: str) -> None:
    """UnsupportedError for a scheduler over a connection through which others could send code."""
    parts = urllib.parse.urlsplit(address if "://" in address else f"tcp://{address}")
    if parts.scheme != "tls" and (parts.hostname or "") not in _LOOPBACK:
        raise errors.UnsupportedError.explain(
            "Dask", f"{arrays.shown(address)}, to which anybody on the network can send code",
            "tls:// with certificates, or a scheduler on this machine",
            "configure TLS of Dask, or pass a distributed.Client that you made")


def _outcome(future: Any) -> Outcome:
    """How a Dask future ended. If a worker is lost, Dask itself runs its shard again, a few times."""
    if future.status == "finished":
        return Outcome.read(future.result())
    if future.status == "error":
        why = future.exception()
        lost = type(why).__name__ == "KilledWorker"
        return Outcome((), "ClusterError", f"cluster: had {type(why).__name__}: {why}; needs workers that stay; see "
                       "their logs", lost)
    return Outcome((), "ClusterError", f"cluster: had a shard that the scheduler has {future.status}", lost=True)
