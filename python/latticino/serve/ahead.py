"""A worker's other thread: it takes the next job while the present one is computed."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from types import TracebackType
from typing import Generic, TypeVar

from .jobs import Claim
from .leases import Holder

Job = TypeVar("Job")


@dataclass
class Taken:
    """A job under a lease that is renewed until ``holder`` ends. ``body``: the bytes of its input, or why there are
    none."""

    claim: Claim
    holder: Holder
    body: bytes | Exception


class Ahead(Generic[Job]):
    """``take`` gives the next job, or None. Another thread calls it once `start` says so, and not before the run that
    is under way is about to end: a job that is taken early waits here, and no idle worker gets it."""

    def __init__(self, take: Callable[[], Job | None]) -> None:
        self._take, self._pool, self._now = take, ThreadPoolExecutor(1, "ahead"), threading.Event()
        self._future: Future[Job | None] | None = None

    def start(self, after: float | None) -> None:
        """Takes a job ``after`` so many seconds, or when `following` is called (None: not before)."""
        self._now.clear()
        self._future = self._pool.submit(self._later, after)

    def _later(self, after: float | None) -> Job | None:
        self._now.wait(after)
        return self._take()

    def following(self) -> Job | None:
        """The job that was taken since `start`. Raises as ``take``. None without a `start`."""
        future, self._future = self._future, None
        self._now.set()
        return None if future is None else future.result()

    def __enter__(self) -> Ahead[Job]:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None,
                 trace: TracebackType | None) -> None:
        self._now.set()
        self._pool.shutdown()
