"""Runs a service in processes of its own, as an operator starts it. The tests of tests/service use
it too."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import latticino as lt

SECONDS = 120  # seconds that any step here may take on a busy machine
ROLES = ("front", "checker", "worker")


def until(condition: Callable[[], Any], what: str, seconds: float = SECONDS) -> Any:
    """Waits for ``condition``, and returns its first value that holds."""
    last = time.monotonic() + seconds
    while time.monotonic() < last:
        found = condition()
        if found:
            return found
        time.sleep(0.05)
    raise AssertionError(f"not in {seconds:g} s: {what}")


def on_device(device: str) -> list[str]:
    """The service's options for workers that compute on this device. Several workers share a GPU.
    """
    return [] if device == "cpu" else ["--device", device, "--memory", "16GiB", "--threads", "0"]


class Running:
    """`latticino serve` in a folder. ``log``: the file that its processes write to."""

    def __init__(self, folder: Path, models: Sequence[str], *options: str, store: str | None = None) -> None:
        self.folder, self._options = Path(folder), ["--folder", str(folder), *(["--store", store] if store else [])]
        self.folder.mkdir(exist_ok=True)
        self.log = self.folder / "log"
        self._models, self._more = models, options
        self.start()

    def start(self) -> None:
        self.out = self.folder / "out"
        environ = dict(os.environ, PYTHONWARNINGS="ignore", OPENBLAS_NUM_THREADS="1")
        no_workers = ("--workers", "0") in zip(self._more, self._more[1:])
        of_workers = () if no_workers else ("--device", "cpu", "--threads", "1")
        with self.out.open("w") as out, self.log.open("a") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "latticino", "serve", *self._models, "--port", "0", *of_workers,
                 *self._options, *self._more], stdout=out, stderr=log, env=environ)
        self.url = str(until(self._address, "an address"))

    def _address(self) -> str | None:
        assert self.process.poll() is None, self.log.read_text()
        found = re.search(r"serving at (\S+)", self.out.read_text())
        return found and found[1]

    def command(self, *words: str) -> str:
        """The output of a command for operators."""
        done = subprocess.run([sys.executable, "-m", "latticino", *words, *self._options], capture_output=True,
                              text=True, env=dict(os.environ, PYTHONWARNINGS="ignore"))
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def tenant(self, name: str, *options: str) -> str:
        """The token of a new tenant."""
        self.command("tenants", "add", name)
        return self.command("tenants", "token", name, *options)

    def pids(self, role: str) -> list[int]:
        """The living processes of a role, according to the log."""
        started = re.findall(rf'"event": "process.started", "role": "{role}", "pid": (\d+)', self.log.read_text())
        return [int(pid) for pid in started if alive(int(pid))]

    def children(self) -> dict[int, str]:
        """The role of each process that the service has now."""
        pid = self.process.pid
        try:
            found = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        except OSError:
            return {}
        roles = {int(child): role_of(int(child)) for child in found}
        return {child: role for child, role in roles.items() if role is not None}

    def kill(self, role: str) -> int:
        """Kills one process of a role with SIGKILL. Returns its id."""
        pid: int = until(lambda: self.pids(role), f"a {role}")[0]
        os.kill(pid, signal.SIGKILL)
        until(lambda: not alive(pid), "the end of a killed process")
        return pid

    def kill_in_the_middle(self, running: Callable[[], int]) -> int:
        """Kills a worker while each worker has a job. ``running`` counts the jobs that run."""
        last = time.monotonic() + SECONDS
        while time.monotonic() < last:
            pids = self.pids("worker")
            for pid in pids:
                os.kill(pid, signal.SIGSTOP)
            found = running()
            if found == len(pids):
                os.kill(pids[0], signal.SIGKILL)
            for pid in pids[found == len(pids):]:
                os.kill(pid, signal.SIGCONT)
            if found == len(pids):
                return pids[0]
            time.sleep(0.02)
        raise AssertionError("no moment when each worker has a job")

    def stop(self) -> int:
        """Asks the service to stop. Returns its exit status."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        return self.process.wait(SECONDS)


def alive(pid: int) -> bool:
    """Whether a process runs. A process that has ended and waits for its parent does not run."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def role_of(pid: int) -> str | None:
    """The role of a process of a service, by its command; None for any other process, and for one that has ended."""
    try:
        words = Path(f"/proc/{pid}/cmdline").read_text().split("\0")
    except OSError:
        return None
    return next((role for role in ROLES if role in words), None) if "latticino.serve.process" in words else None


# ---- networks, and the results of running them in this process ----


def saved_network(folder: Path, make: Callable[[], Any], preset: str, **options: Any) -> tuple[Any, Any]:
    """A network in a folder: the files that `enc.save` writes for both sides, and samples."""
    from latticino.nn.compiling import compiled

    graph, x = make()
    enc = compiled(graph, x, preset, "cpu", **options)
    enc.save(folder)
    return enc, x


@lru_cache
def loaded(folder: Path) -> Any:
    return lt.nn.load(folder / "server.network", "cpu")


@lru_cache
def with_keys(folder: Path, bundle: bytes) -> Any:
    """A session of its own for each bundle, on one context."""
    context = loaded(folder).context
    return context.bind(lt.from_bytes(bundle, context, kind=lt.ServerKeys))


def direct(folder: Path, bundle: bytes, body: bytes, final: bool = True) -> bytes:
    """The result's file from a run in this process, without a service."""
    return lt.to_bytes(loaded(folder)(lt.from_bytes(body, with_keys(folder, bundle))), final=final)
