"""The service on one machine: processes of a front, a checker and workers. A process that ends is started again."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

from .. import errors
from ..common import rights
from .logs import log
from .process import Config

_RESTART = 1.0  # seconds between two starts of a process
# For the allocator of the front, which has dozens of threads: they share one heap, so that each can use what another
# has freed, and large pieces go back to the system.
_FRONT = {"MALLOC_ARENA_MAX": "1", "MALLOC_MMAP_THRESHOLD_": "131072", "MALLOC_TRIM_THRESHOLD_": "131072"}
_LAST = 10.0  # seconds that processes have to end after everything else has ended


class Child:
    """A process of a role. The service writes instructions to its standard input."""

    def __init__(self, role: str, config: Config) -> None:
        self.role, self._config, self._started = role, config, float("-inf")
        self._process: subprocess.Popen[str] | None = None

    @property
    def pid(self) -> int:
        return -1 if self._process is None else self._process.pid

    @property
    def alive(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def start(self) -> None:
        """Starts it, unless it was started a moment ago. A system that has no room for it is asked again later."""
        if time.monotonic() - self._started < _RESTART:
            return
        self._started = time.monotonic()
        sockets = [self._config.socket] if self._config.socket >= 0 else []
        # A new session of the operating system keeps the terminal's Ctrl-C away from this process. The service itself
        # gets it, and ends its processes in the right order.
        environ = {**_FRONT, **os.environ} if self.role == "front" else None
        try:
            self._process = subprocess.Popen([sys.executable, "-m", "latticino.serve.process", self.role], text=True,
                                             stdin=subprocess.PIPE, pass_fds=sockets, start_new_session=True,
                                             env=environ)
        except OSError as why:
            log("process.failed", role=self.role, error=type(why).__name__, message=str(why))
            return
        log("process.started", role=self.role, pid=self._process.pid)
        self.say(self._config.to_json())

    def say(self, line: str) -> None:
        """Writes a line to its standard input."""
        if self._process is None:
            return  # the service was told to stop before it started this process
        assert self._process.stdin is not None
        with suppress(OSError):  # the process has ended, which the next call of alive() finds out
            self._process.stdin.write(line + "\n")
            self._process.stdin.flush()

    def end(self) -> None:
        """Closes its standard input. The process ends then."""
        if self._process is not None and self._process.stdin is not None:
            with suppress(OSError):
                self._process.stdin.close()

    def wait(self, last: float, now: threading.Event) -> None:
        """Waits until it ends. At the time ``last``, or once ``now`` is set, it is killed."""
        while self.alive:
            if time.monotonic() > last or now.is_set():
                assert self._process is not None
                log("process.killed", role=self.role, pid=self.pid)
                self._process.kill()
                self._process.wait()
                return
            time.sleep(0.05)


class Service:
    """So many ``workers``, and with an ``address`` to listen on also a front and a checker.

    `run` returns once SIGTERM, SIGINT or SIGHUP (of a terminal that closes) has come and all processes have ended: jobs
    that run may end within ``grace`` seconds, and results can be fetched until then. A second signal ends all at once.
    """

    def __init__(self, config: Config, workers: int, address: tuple[str, int] | None, grace: float) -> None:
        self._grace, self._stop, self._now = grace, threading.Event(), threading.Event()
        self.socket = None if address is None else listening(*address)
        roles = [*["worker"] * workers]
        self._front: list[Child] = []
        if self.socket is not None:
            roles.append("checker")
            self._front = [Child("front", replace(config, socket=self.socket.fileno()))]
        self._others = [Child(role, config) for role in roles]

    @property
    def port(self) -> int:
        return -1 if self.socket is None else int(self.socket.getsockname()[1])

    def run(self) -> None:
        rights.hide()
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            if number == signal.SIGHUP and signal.getsignal(number) == signal.SIG_IGN:
                continue  # set by nohup
            signal.signal(number, lambda *_: (self._now if self._stop.is_set() else self._stop).set())
        children = [*self._front, *self._others]
        while not self._stop.wait(0.2):
            for child in children:
                if not child.alive:
                    child.start()
        log("service.stopping")
        for child in children:
            child.say("drain")
        self._end(self._others, self._grace + _LAST)
        self._end(self._front, _LAST)
        log("service.stopped")

    def _end(self, children: Sequence[Child], seconds: float) -> None:
        last = time.monotonic() + seconds
        for child in children:
            child.end()
        for child in children:
            child.wait(last, self._now)


def listening(host: str, port: int) -> socket.socket:
    """A socket that listens. The front inherits it. If the front dies, requests wait here for the next one."""
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        out = socket.socket(family, socket.SOCK_STREAM)
        out.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        out.bind((host, port))
        out.listen(2048)
    except OSError as why:
        raise errors.UnsupportedError.explain("serve", f"{host}:{port}: {why}", "an address that can be listened on",
                                              "choose another with --host and --port") from why
    return out


def quiet_environment() -> None:
    """Gives numpy one thread in each process: the library has threads of its own."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
