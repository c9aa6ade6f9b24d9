"""Long polls: one query of the store serves all requests that wait for a job. Each tenant has a limit of open ones."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager

from starlette.concurrency import run_in_threadpool

from .refusals import Refused
from .store import STORE_ERRORS
from .tenants import ACTIVE

LOOK = 0.1  # seconds between two queries
MAX_JOBS = 500  # jobs per query


class Polls:
    """Lets at most ``most`` requests of a tenant wait at a time. They keep connections open, which all share."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._open: Counter[str] = Counter()

    @contextmanager
    def one(self, tenant: str) -> Iterator[None]:
        """Counts a request as waiting while the block runs. Refused (429) for one too many."""
        if self._open[tenant] >= self._most:
            raise Refused.of(429, "service", f"{self._most} requests of this tenant that wait", f"at most {self._most}",
                             "wait for fewer jobs at a time, or ask without wait=", retry_after=1.0)
        self._open[tenant] += 1
        try:
            yield
        finally:
            self._open[tenant] -= 1
            if not self._open[tenant]:
                del self._open[tenant]


class Waiting:
    """Requests that wait for jobs to end. ``states`` reads the states of several jobs from the store at once."""

    def __init__(self, states: Callable[[Collection[str]], dict[str, str]]) -> None:
        self._states = states
        self._events: dict[str, list[asyncio.Event]] = {}
        self._looking: asyncio.Task[None] | None = None

    async def for_end(self, id_: str, seconds: float) -> None:
        """Returns when the job has ended, or when the time has passed."""
        event = asyncio.Event()
        self._events.setdefault(id_, []).append(event)
        if self._looking is None or self._looking.done():
            self._looking = asyncio.create_task(self._look())
        try:
            await asyncio.wait_for(event.wait(), seconds)
        except (asyncio.TimeoutError, TimeoutError):
            pass
        finally:
            self._events[id_].remove(event)
            if not self._events[id_]:
                del self._events[id_]

    async def _look(self) -> None:
        while self._events:
            ids = list(self._events)
            for at in range(0, len(ids), MAX_JOBS):
                some = ids[at : at + MAX_JOBS]
                try:
                    states = await run_in_threadpool(self._states, some)
                except STORE_ERRORS:  # each request also reads the store itself, and reports the error
                    continue
                for id_ in some:
                    if states.get(id_) not in ACTIVE:
                        for event in self._events.get(id_, ()):
                            event.set()
            await asyncio.sleep(LOOK)
