"""One process of a service: ``python -m latticino.serve.process ROLE``, which `service` starts.

The first line of its standard input is the configuration, in JSON. After that the input stays open. A line ``drain``
says that the service is about to stop. The end of the input says that the service has stopped, or was killed.
"""

from __future__ import annotations

import contextlib
import gc
import json
import logging
import signal
import socket
import sys
import threading
import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any

from .. import errors
from ..common import rights
from .blobs import Blobs
from .jobs import Limits
from .logs import AsLines, log
from .store import Store


@dataclass(frozen=True)
class Config:
    """Of all processes. ``store`` and ``blobs`` as of their classes; ``reserve``: bytes that stay free on the disk;
    ``resources`` of a worker, ``limits`` of all tenants, ``rate`` and ``burst`` of a token, ``polls`` of a
    tenant and ``page`` as of `front.Settings`; ``socket``: a file descriptor that the front listens on."""

    store: str
    blobs: str
    reserve: int = 1 << 30
    resources: dict[str, Any] = field(default_factory=dict)
    limits: dict[str, Any] = field(default_factory=dict)
    rate: float = 100.0
    burst: float = 400.0
    polls: int = 100
    page: str = ""
    socket: int = -1

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    def open(self, make: bool = False) -> tuple[Store, Blobs]:
        """The store and the blobs. ``make`` as of `Blobs`."""
        return Store(self.store), Blobs(self.blobs, self.reserve, make)


class Signals:
    """When to stop: ``drain`` is set first, then ``stop``. SIGTERM and SIGINT set both.

    ``last``: for the process that ends last. It ignores the signals and follows the service alone. A supervisor may
    send a signal to all processes at once, and tenants can fetch their results until the workers have ended.
    """

    def __init__(self, last: bool = False) -> None:
        self.drain, self.stop = threading.Event(), threading.Event()
        self._on_stop: Callable[[], None] = lambda: None
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, signal.SIG_IGN if last else lambda *_: self._end())

    def follow(self, lines: Any) -> None:
        """Reads what the service writes to this process, in a thread."""
        threading.Thread(target=self._follow, args=(lines,), daemon=True, name="service").start()

    def _follow(self, lines: Any) -> None:
        for line in lines:
            if line.strip() == "drain":
                self.drain.set()
        self._end()

    def call_on_stop(self, end: Callable[[], None]) -> None:
        """Calls ``end`` when the process shall stop, or at once if that time has passed."""
        self._on_stop = end
        if self.stop.is_set():
            end()

    def _end(self) -> None:
        self.drain.set()
        self.stop.set()
        self._on_stop()


def run_worker(config: Config, signals: Signals) -> None:
    from .resources import Resources
    from .worker import Worker

    store, blobs = config.open()
    Worker(store, blobs, Resources(**config.resources), signals.drain, Limits(**config.limits)).run()


def run_checker(config: Config, signals: Signals) -> None:
    from .checker import Checker

    store, blobs = config.open()
    Checker(store, blobs, signals.drain, Limits(**config.limits)).run()


def run_front(config: Config, signals: Signals) -> None:
    import uvicorn

    from .front import Front, Settings
    from .traffic import MOST_CONNECTIONS, Protocol, connections_for_files

    store, blobs = config.open()
    settings = Settings(Limits(**config.limits), config.rate, config.burst, config.polls, config.page)
    front = Front(store, blobs, settings, signals.drain.is_set)
    Protocol.most = connections_for_files()
    options = uvicorn.Config(front.app(), http=Protocol, ws="none", loop="asyncio", lifespan="off", log_config=None,
                             access_log=False, server_header=False, limit_concurrency=MOST_CONNECTIONS + 1,
                             timeout_keep_alive=75, timeout_graceful_shutdown=5, backlog=2048)
    server = uvicorn.Server(options)
    server.capture_signals = contextlib.nullcontext  # `Signals` handles them

    def end() -> None:
        server.should_exit = True

    signals.call_on_stop(end)
    gc.collect()
    # a full garbage collection stops all requests, and need not visit objects that live as long as the process
    gc.freeze()
    log("front.ready")
    with socket.socket(fileno=config.socket) as listening:
        server.run(sockets=[listening])
    log("front.stopped")


ROLES = {"worker": run_worker, "checker": run_checker, "front": run_front}


def main() -> int:
    """Runs the role that the first argument names. Returns 0 for an orderly end, 1 for an error, which is logged."""
    # because `latticino serve` has already printed the name of the set
    warnings.simplefilter("ignore", errors.SecurityWarning)
    logging.basicConfig(handlers=[AsLines()])
    role = sys.argv[1]
    signals = Signals(last=role == "front")
    config = Config(**json.loads(sys.stdin.readline()))
    signals.follow(sys.stdin)
    try:
        rights.hide()
        ROLES[role](config, signals)
    except (errors.Error, OSError) as why:
        log("process.failed", role=role, error=type(why).__name__, message=str(why))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
