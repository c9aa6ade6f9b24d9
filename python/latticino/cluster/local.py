"""The engine for one machine: a process for each device."""

from __future__ import annotations

import os
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

from .. import _native, arrays, errors
from ..common import devices as known
from .engines import Engine, slots
from .shards import READY, Options, Outcome, Shard

_TRIES = 3  # how often a worker is started that ends before it has done anything


class Local(Engine):
    """Processes on this machine, one for each device. A process that dies is started again.

    - ``devices``: a device for each process, named as for `lt.Context`, such as ``["cuda:0", "cuda:1"]``. None stands
      for all GPUs of this machine. If it has none, one process computes on the CPU.
    - ``threads``: how many threads each process has on a CPU. 0 divides the cores that this process may use among them.
    - ``memory``: how many bytes of host memory each process may use for keys. None divides half of the machine's memory
      among them.
    """

    def __init__(self, devices: Sequence[str] | None = None, *, threads: int = 0, memory: int | None = None) -> None:
        if devices is None:
            count = _native.cuda_device_count() if _native.cuda_built() else 0
            devices = [f"cuda:{i}" for i in range(count)] or ["cpu"]
        if not isinstance(devices, Sequence) or isinstance(devices, (str, bytes)) or not devices:
            raise errors.DeviceError.explain("Local", f"devices={arrays.shown(devices)}", "a list of devices",
                                             'pass such as ["cuda:0", "cuda:1"], or ["cpu"] * 4')
        for device in devices:
            known.choose(device)
        on_cpu = sum(device == "cpu" for device in devices)
        threads = known.as_threads(threads) or max(known.threads(0) // max(on_cpu, 1), 1)
        share = known.physical_memory() // 2 // len(devices)
        memory = share if memory is None else arrays.as_integer(memory, "Local", "memory", 1)
        self._options = [Options("", device, threads, memory) for device in devices]
        self._events: queue.SimpleQueue[tuple[_Worker, str | None]] = queue.SimpleQueue()
        self._waiting: list[tuple[int, Shard]] = []
        self._lost: list[tuple[int, Outcome]] = []
        self._workers: list[_Worker] = []

    @property
    def workers(self) -> int:
        return len(self._options)

    @property
    def pids(self) -> list[int]:
        """The ids of the processes that are running."""
        return [worker.process.pid for worker in self._workers]

    def open(self, blobs: str) -> None:
        """Starts the processes."""
        self._options = [replace(options, blobs=blobs) for options in self._options]
        self._workers = [_Worker(options, self._command(), self._events) for options in self._options]

    def _command(self) -> list[str]:
        return [sys.executable, "-m", "latticino.cluster.process"]

    def submit(self, ticket: int, shard: Shard) -> None:
        self._waiting.append((ticket, shard))

    def ended(self) -> list[tuple[int, Outcome]]:
        self._give()
        with suppress(queue.Empty):
            worker, line = self._events.get(timeout=1.0)
            if worker in self._workers:
                return self._told(worker, line)
        return []

    def forget(self) -> None:
        self._waiting.clear()

    def close(self) -> None:
        """Stops the processes, even if they are computing shards."""
        workers, self._workers = self._workers, []
        for worker in workers:
            worker.end()

    def _give(self) -> None:
        """Gives shards to the workers that have none. A worker gets a shard of a program that it has open, if there is
        one."""
        for slot, worker in enumerate(self._workers):
            if not worker.ready or worker.ticket is not None:
                continue
            mine = [w for w in self._waiting if slot in slots(w[1].share, len(self._workers))]
            if mine:
                chosen = next((w for w in mine if w[1].program in worker.opened), mine[0])
                self._waiting.remove(chosen)
                worker.give(*chosen)

    def _told(self, worker: _Worker, line: str | None) -> list[tuple[int, Outcome]]:
        """Handles a line from a worker. None: the worker has ended."""
        if line is None:
            return self._replaced(worker)
        if line == READY:
            worker.ready = True
            return []
        outcome, ticket = Outcome.read(line), worker.ticket
        if ticket is None:  # it could not start
            raise outcome.raised()
        worker.ticket, worker.served = None, True
        return [(ticket, outcome)]

    def _replaced(self, worker: _Worker) -> list[tuple[int, Outcome]]:
        why = worker.status()
        tries = 1 if worker.served or worker.ticket is not None else worker.tries + 1
        if tries > _TRIES:
            raise errors.ClusterError.explain(
                "cluster", f"a worker on {worker.options.device} that ended {_TRIES} times before it took a shard, "
                f"the last time {why}", "one that starts", "see what it wrote to standard error")
        at = self._workers.index(worker)
        self._workers[at] = _Worker(worker.options, self._command(), self._events, tries)
        if worker.ticket is None:
            return []
        return [(worker.ticket, Outcome((), "ClusterError", f"cluster: had a worker that ended {why}", lost=True))]


class _Worker:
    """A process. ``ticket``: that of its shard. ``opened``: programs that it has opened. ``tries``: how often it was
    started since it last completed something."""

    def __init__(self, options: Options, command: list[str],
                 events: queue.SimpleQueue[tuple[_Worker, str | None]], tries: int = 0) -> None:
        self.options, self.tries, self.ready, self.served = options, tries, False, False
        self.ticket: int | None = None
        self.opened: set[str] = set()
        environ = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}  # numpy needs no threads: the library has its own
        # A session of its own, so that Ctrl-C goes to the program only, which then ends its workers.
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environ,
                                        start_new_session=True)
        self._say(options.to_json())
        threading.Thread(target=self._read, args=(events,), daemon=True, name="cluster").start()

    def _read(self, events: queue.SimpleQueue[tuple[_Worker, str | None]]) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if line.endswith("\n"):  # otherwise it was killed in the middle of the line
                events.put((self, line.strip()))
        self.process.wait()
        events.put((self, None))

    def _say(self, line: str) -> None:
        assert self.process.stdin is not None
        with suppress(OSError):  # it has ended, which the reader thread will notice
            self.process.stdin.write(line + "\n")
            self.process.stdin.flush()

    def give(self, ticket: int, shard: Shard) -> None:
        self.ticket = ticket
        self.opened.add(shard.program)
        self._say(shard.to_json())

    def status(self) -> str:
        code = self.process.poll() or 0
        return f"by signal {signal.Signals(-code).name}" if code < 0 else f"with status {code}"

    def end(self) -> None:
        self.process.kill()
        self.process.wait()
        with suppress(OSError):
            assert self.process.stdin is not None
            self.process.stdin.close()
