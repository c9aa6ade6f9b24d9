"""A worker's other threads. One renews the lease of a job while it runs, and tells the run when to stop. Another one
takes the next job while the current one is computed."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from types import TracebackType
from typing import Generic, TypeVar

from .jobs import LEASE, RENEWAL, Claim, Jobs
from .logs import log
from .models import Given

Job = TypeVar("Job")
LOOK = 1.0  # seconds between two checks whether the job was cancelled


class Stopped(Exception):
    """Ends a run. ``why``: ``"cancel"``, ``"late"``, ``"lost"`` (another worker has the job) or ``"stop"`` (this
    worker ends)."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


class Holder:
    """Keeps the lease from `begin` to `end`, which may be called in different threads. `after` is told of each step of
    the run. It raises `Stopped` if the run has to end.

    ``stop`` is set when the worker has to end. The run may then go on for ``grace`` seconds. ``since``: when the lease
    began, by time.monotonic().
    """

    def __init__(self, jobs: Jobs, claim: Claim, stop: threading.Event, grace: float) -> None:
        self._jobs, self._claim, self._stop, self._grace = jobs, claim, stop, grace
        self.since = time.monotonic()
        self._verdict, self._progress = "go on", 0.0
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._hold, daemon=True, name="lease")
        self._stopping_since: float | None = None

    def begin(self) -> None:
        self._thread.start()

    def end(self) -> None:
        self._ended.set()
        self._thread.join()

    def after(self, progress: float) -> None:
        """Is called after each step. Notes how far the run is. Raises `Stopped` if it shall not go on."""
        self._progress = progress
        if self._verdict != "go on":
            raise Stopped(self._verdict)

    def _hold(self) -> None:
        renewed = time.monotonic()
        while not self._ended.wait(LOOK):
            now = time.monotonic()
            try:
                if now - renewed >= RENEWAL:
                    verdict = self._jobs.renew(self._claim, self._progress)
                    renewed = now
                else:
                    verdict = self._jobs.verdict(self._claim)
            except Exception as why:  # if the store cannot be reached for a while, this must not end the run
                log("lease.trouble", job=self._claim.id, error=type(why).__name__)
                verdict = "lost" if now - renewed >= LEASE else "go on"
            if verdict == "go on" and self._stop.is_set():
                self._stopping_since = self._stopping_since or now
                if now - self._stopping_since >= self._grace:
                    self._verdict = "stop"
            if verdict != "go on":
                self._verdict = verdict


@dataclass
class ClaimedJob:
    """A claimed job. ``holder`` renews its lease. ``given``: its inputs, or the error of reading them. It is None
    once a run has taken them, so that they are freed with the run."""

    claim: Claim
    holder: Holder
    given: Given | Exception | None


class Prefetcher(Generic[Job]):
    """Calls ``take``, which gives the next job or None, in another thread while the present job runs.

    The call should come shortly before the present run ends. A job that is taken earlier waits here, and an idle
    worker cannot get it. After ``patience`` seconds ``give_back`` gets it, so that others can take it."""

    def __init__(self, take: Callable[[], Job | None], give_back: Callable[[Job], None], patience: float) -> None:
        self._take, self._give_back, self._patience = take, give_back, patience
        self._pool, self._now = ThreadPoolExecutor(1, "ahead"), threading.Event()
        self._future: Future[Job | None] | None = None

    def start(self, after: float | None) -> None:
        """Takes a job after ``after`` seconds, or at the latest when `following` is called. None: only then."""
        self._now.clear()
        self._future = self._pool.submit(self._later, after)

    def _later(self, after: float | None) -> Job | None:
        self._now.wait(after)
        job = self._take()
        if job is None or self._now.wait(self._patience):
            return job
        self._give_back(job)
        return None

    def following(self) -> Job | None:
        """The job that was taken since `start`; None if it was given back, or `start` was not called. Raises as
        ``take`` and ``give_back``."""
        future, self._future = self._future, None
        self._now.set()
        return None if future is None else future.result()

    def __enter__(self) -> Prefetcher[Job]:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None,
                 trace: TracebackType | None) -> None:
        self._now.set()
        self._pool.shutdown()
