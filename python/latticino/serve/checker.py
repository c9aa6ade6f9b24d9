"""Checks uploaded bundles, each in a confined process, and removes what tenants no longer need."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from typing import Any

from .. import errors
from ..common import rights
from .blobs import Blobs
from .bundles import LEASE, Bundles, Check
from .jobs import Jobs, Limits
from .logs import log, tenant_tag
from .registry import Registry
from .store import STORE_ERRORS, Store

PAUSE = 0.2  # seconds between two searches for uploads
SWEEP, SWEEP_BLOBS = 2.0, 60.0  # seconds between two cleanups of rows, and of blobs
_AWAY = 1.0  # seconds until another try if the folder of blobs does not answer
_FRESH = 60.0  # seconds for which a blob without a row is kept, because its row may be about to come
_UNFINISHED = 3600.0
_SECONDS, _RATE = 120, 2 << 20  # a check may take `_SECONDS`, and one more for each `_RATE` bytes of the bundle
# Signals from outside, for example if all processes are stopped, or the system runs out of memory. The limits of the
# confined process, and errors that a bundle causes, end it with other signals.
_FROM_OUTSIDE = {-signal.SIGHUP, -signal.SIGINT, -signal.SIGTERM, -signal.SIGKILL}
# The environment variables of the confined process: no address of a store, no token.
_KEPT = ("PATH", "PYTHONPATH", "LANG", "LC_ALL", "LD_LIBRARY_PATH", "OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")
_FOLDERS = {"PATH", "PYTHONPATH", "LD_LIBRARY_PATH"}  # those that list folders; an empty name is the current one


def require_confined() -> None:
    """UnsupportedError unless this system confines a process that reads bundles."""
    done = subprocess.run(_command(), stdin=subprocess.DEVNULL, capture_output=True, text=True, cwd="/",
                          env=_environment())
    said = (done.stderr.strip().splitlines() or ["nothing was said"])[-1]
    if done.returncode == rights.UNREADY and said.startswith("serve: "):
        raise errors.UnsupportedError(said, "serve")
    if done.returncode:
        raise errors.UnsupportedError.explain(
            "serve", f"a process for bundles of strangers that ended with status {done.returncode} ({said})",
            "one that gives up its rights", "run the service where it can, as one user or as root of a whole machine")


def _command(*words: str) -> list[str]:
    return [sys.executable, "-m", "latticino.serve.confined", *words]


def _environment() -> dict[str, str]:
    """What the process gets, which starts in another folder: folders are named from the root."""
    kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
    for name in (name for name in _FOLDERS if kept.get(name)):
        kept[name] = os.pathsep.join(os.path.abspath(folder) for folder in kept[name].split(os.pathsep))
    return {**kept, "OPENBLAS_NUM_THREADS": "1"}


class Checker:
    """Works until ``stop`` is set."""

    def __init__(self, store: Store, blobs: Blobs, stop: threading.Event, limits: Limits | None = None) -> None:
        self._blobs, self._stop = blobs, stop
        self._bundles, self._jobs, self._registry = Bundles(store, blobs), Jobs(store, limits), Registry(store, blobs)

    def run(self) -> None:
        log("checker.ready")
        swept = swept_blobs = float("-inf")
        while not self._stop.is_set():
            busy = False
            try:
                busy = self.step()
                if time.monotonic() - swept > SWEEP:
                    swept = time.monotonic()
                    self._jobs.sweep()
                if time.monotonic() - swept_blobs > SWEEP_BLOBS:
                    swept_blobs = time.monotonic()
                    self._bundles.sweep()
                    self.sweep_blobs(_FRESH)
            except (*STORE_ERRORS, OSError) as why:
                log("checker.trouble", error=type(why).__name__)
                self._stop.wait(1.0)
            if not busy:
                self._stop.wait(PAUSE)
        log("checker.stopped")

    def sweep_blobs(self, age: float) -> None:
        """Removes blobs that no row names any more."""
        self._blobs.sweep("chunks", self._bundles.blobs, age)
        self._blobs.sweep("inputs", lambda: self._jobs.blobs("inputs"), age)
        self._blobs.sweep("results", lambda: self._jobs.blobs("results"), age)
        self._blobs.sweep_unfinished(_UNFINISHED)

    def step(self) -> bool:
        """Checks the next bundle. Returns False if there is none."""
        check = self._bundles.claim()
        if check is None:
            return False
        ended = threading.Event()
        thread = threading.Thread(target=self._hold, args=(check, ended), daemon=True)
        thread.start()
        start = time.monotonic()
        try:
            verdict = self._verdict(check)
        finally:
            ended.set()
            thread.join()
        if verdict is None:
            self._bundles.withdraw_damaged(check.tenant, check.manifest)
            away = not self._blobs.answers()
            self._bundles.retry(check, blame=not away)
            if away:
                self._stop.wait(_AWAY)
        elif "refused" in verdict:
            self._bundles.refuse(check, verdict["refused"])
        else:
            self._bundles.accept(check, verdict["id"], verdict["bytes"])
        log("bundle.checked", tenant=tenant_tag(check.tenant), bundle=check.hash[:16],
            verdict="retried" if verdict is None else "refused" if "refused" in verdict else "ready",
            seconds=round(time.monotonic() - start, 3))
        return True

    def _hold(self, check: Check, ended: threading.Event) -> None:
        while not ended.wait(LEASE / 4):
            try:
                self._bundles.renew(check)
            except STORE_ERRORS as why:
                log("checker.trouble", error=type(why).__name__)

    def _verdict(self, check: Check) -> dict[str, Any] | None:
        """The verdict of the confined process on a bundle. None if the process was stopped or not ready, or if files
        could not be read."""
        try:
            process = self._started(check)
        except OSError as why:
            log("checker.trouble", error=type(why).__name__)
            return None
        assert process.stdin is not None
        late = threading.Timer(_SECONDS + check.manifest.size / _RATE, process.kill)
        late.start()
        try:
            unread = self._fed(check, process)
            output = process.communicate()[0]
        finally:
            late.cancel()
            process.kill()
            process.wait()
        if unread or process.returncode in _FROM_OUTSIDE:
            return None
        if process.returncode == rights.UNREADY:
            log("checker.trouble", error="a process to read a bundle was not ready, or gave up no rights")
            return None
        try:
            found = json.loads(output.splitlines()[-1])
            if process.returncode == 0 and "refused" in found:
                return {"refused": str(found["refused"])}
            if process.returncode == 0:
                return {"id": str(found["id"]), "bytes": int(found["bytes"])}
        except (ValueError, LookupError, TypeError):  # the sender of the bundle may have taken over the process
            pass
        return {"refused": f"keys: had a bundle that ended its check with status {process.returncode}; needs a "
                "bundle of this package; make it again"}

    def _started(self, check: Check) -> subprocess.Popen[bytes]:
        """Starts the confined process. It gets a part of the model without its path, because the path would reveal
        where the store may be."""
        with open(self._registry.part(check.model), "rb") as model:
            return subprocess.Popen(
                _command(f"/proc/self/fd/{model.fileno()}"), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL, cwd="/", env=_environment(), pass_fds=[model.fileno()])

    def _fed(self, check: Check, process: subprocess.Popen[bytes]) -> bool:
        """Sends the chunks to the process. Returns whether one of them could not be read."""
        assert process.stdin is not None
        try:
            with self._bundles.file(check.tenant, check.manifest) as file:
                while piece := file.read(1 << 20):
                    process.stdin.write(piece)
            process.stdin.flush()
        except BrokenPipeError:
            pass  # it has read enough to refuse the bundle
        except OSError as why:  # this includes FileError
            log("checker.trouble", error=type(why).__name__)
            return True
        return False
