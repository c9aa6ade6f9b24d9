"""Tenants that keep a service busy: each sends jobs, asks for them, compares results, and notes it all in a ledger."""

from __future__ import annotations

import random
import threading
import time
import uuid
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TypeVar

import latticino as lt
from ledger import ENDED, Ledger
from running import Running
from samples import Program, digest

BODIES = 3  # different requests of a tenant for each program
# What the service says of a bundle whose checkers have died three times.
GIVEN_UP = "its check did not end in 3 tries"
# Seconds of a long poll. It is short, so that a tenant soon asks again if a killed front owed it an
# answer.
_SHORT = 2.0
Answer = TypeVar("Answer")


@dataclass(frozen=True)
class Prepared:
    """The body of a request, and the SHA-256 of the result that a run without a service gives for
    it."""

    body: bytes
    want: str


class Tenant:
    """The client side of one tenant for all programs: keys at the service, and requests that are
    ready to send."""

    def __init__(self, running: Running, programs: Sequence[Program], name: str, id_of: Callable[[str], str],
                 ledger: Ledger) -> None:
        self.programs, self.name, self.ledger = {p.name: p for p in programs}, name, ledger
        token = running.tenant(name)
        self.id = id_of(name)
        self.services = {p.name: lt.connect(running.url, token, p.name) for p in programs}
        self.clients = {p.name: p.client() for p in programs}
        self.remotes: dict[str, lt.Remote] = {}
        self.prepared: dict[str, list[Prepared]] = {}
        for p in programs:
            bundle = lt.to_bytes(p.part.keys(self.clients[p.name]))
            self.remotes[p.name], self.prepared[p.name] = self.with_keys(p.name, bundle, BODIES)

    def with_keys(self, name: str, bundle: bytes, bodies: int) -> tuple[lt.Remote, list[Prepared]]:
        """Uploads a bundle, and prepares requests under its key."""
        program, client = self.programs[name], self.clients[name]
        keys = lt.from_bytes(bundle, client.context, kind=lt.ServerKeys)
        remote = self.services[name].use(client, keys)
        self.ledger.accepted(self.id, remote.bundle)
        session, made = program.bound(bundle), []
        for seed in range(bodies):
            body = program.encrypted(client, seed)
            made.append(Prepared(body, digest(program.run(session, body))))
        return remote, made


class Load:
    """Threads of tenants, which work until `stop`. ``counts``: what they did. ``wrong``: what no service may do.

    Each tenant has ``threads`` that send jobs, and one more that uploads new bundles, uses them and removes them.
    ``pause``: seconds between two jobs of a thread, at random up to twice as many.
    """

    def __init__(self, tenants: Sequence[Tenant], threads: int, pause: float, seed: int) -> None:
        self.counts: Counter[str] = Counter()
        self.wrong: list[str] = []
        self._tenants, self._pause, self._stop = tenants, pause, threading.Event()
        self._lock = threading.Lock()
        makers = [(tenant, self._jobs) for tenant in tenants for _ in range(threads)]
        makers += [(tenant, self._bundles) for tenant in tenants]
        self._threads = [threading.Thread(target=self._guarded, args=(work, tenant, random.Random(f"{seed} {i}")),
                                          daemon=True) for i, (tenant, work) in enumerate(makers)]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def stop(self, seconds: float) -> None:
        """Sends nothing new, and waits until everything that was sent has ended."""
        self._stop.set()
        last = time.monotonic() + seconds
        for thread in self._threads:
            thread.join(max(last - time.monotonic(), 0.1))
        late = sum(thread.is_alive() for thread in self._threads)
        if late:
            self._is_wrong(f"{late} threads of tenants had no answer {seconds:g} s after the last request")

    def count(self, what: str) -> None:
        with self._lock:
            self.counts[what] += 1

    def _is_wrong(self, what: str) -> None:
        with self._lock:
            self.wrong.append(what)

    def _guarded(self, work: Callable[[Tenant, random.Random], None], tenant: Tenant, rng: random.Random) -> None:
        try:
            while not self._stop.is_set():
                work(tenant, rng)
                self._stop.wait(rng.uniform(0, 2 * self._pause))
        except BaseException as why:
            self._is_wrong(f"a thread of {tenant.name} ended: {type(why).__name__}: {why}")
            raise

    def _jobs(self, tenant: Tenant, rng: random.Random) -> None:
        name = rng.choice(sorted(tenant.programs))
        self._one(tenant, tenant.remotes[name], rng.choice(tenant.prepared[name]), rng)

    def _one(self, tenant: Tenant, remote: lt.Remote, prepared: Prepared, rng: random.Random) -> None:
        """A job, from its request to its result. One in ten requests is sent twice, one job in twenty is cancelled."""
        key, ledger = uuid.UUID(int=rng.getrandbits(128)).hex, tenant.ledger
        ledger.sent(tenant.id, key, prepared.want)
        job = None
        for _ in range(2 if rng.random() < 0.1 else 1):
            job = self._insisting(lambda: remote.send(prepared.body, key=key))
            ledger.told(tenant.id, key, job.row)
        assert job is not None
        if rng.random() < 0.05:
            ledger.cancels(tenant.id, key)
            self._insisting(job.cancel)
        while job.state not in ENDED:
            self._insisting(lambda: job.look(_SHORT))
        ledger.told(tenant.id, key, job.row)
        self.count(job.state)
        if job.state == "done" and job.row["result"] is not None:
            with suppress(_Refused):
                found = digest(self._insisting(job.data))
                self.count("fetched")
                if found != prepared.want:
                    self._is_wrong(f"job {job.id}: a file of another result than a run without the service")

    def _bundles(self, tenant: Tenant, rng: random.Random) -> None:
        """A new bundle of keys: uploaded, checked, used for a job, removed."""
        name = min(tenant.programs, key=lambda p: tenant.programs[p].facts.bundle_bytes)
        bundle = lt.to_bytes(tenant.programs[name].part.keys(tenant.clients[name]))
        try:
            remote, (prepared,) = self._insisting(lambda: tenant.with_keys(name, bundle, 1))
        except _Refused:
            self.count("bundles given up")
            return
        self.count("bundles")
        self._one(tenant, remote, prepared, rng)
        tenant.ledger.removes(tenant.id, remote.bundle)
        try:
            tenant.services[name].delete(remote.bundle)
        except lt.ServiceError as why:
            # 404: a request whose answer was lost has removed it
            if why.status not in (None, 404, 409, 503):
                raise
        self._stop.wait(rng.uniform(1, 5))

    def _insisting(self, ask: Callable[[], Answer]) -> Answer:
        """Asks until there is an answer. If the service does not answer, or refuses for now, it
        asks again."""
        while True:
            try:
                return ask()
            except lt.ServiceError as why:
                if why.status == 410 or GIVEN_UP in str(why):
                    raise _Refused from why
                if not (why.status in (429, 500, 502, 503) or (why.status is None and "no answer of" in str(why))):
                    raise
                if why.status == 500:
                    self._is_wrong(f"an answer of status 500: {why}")
                self.count("asked again")
                time.sleep(0.5)


class _Refused(Exception):
    """A result that is gone (status 410), or a bundle whose checkers were killed three times."""
