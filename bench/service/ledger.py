"""What tenants sent and what they were told, and whether the tables of a service agree with it."""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from latticino.serve.store import Store
from latticino.serve.tables import bundles, jobs, workers

ENDED = ("done", "failed", "cancelled", "expired", "poisoned")
ATTEMPTS = 3  # number of dead workers after which a job is poisoned


@dataclass
class Sent:
    """A request of a tenant. ``want``: SHA-256 of the result of a run without a service. ``ids``: of the jobs that
    its acknowledgements named. ``state`` and ``result``: what the tenant was told last, the result as its SHA-256."""

    tenant: str
    key: str
    want: str
    ids: set[str] = field(default_factory=set)
    state: str = "queued"
    result: str | None = None
    cancelled: bool = False  # the tenant has asked for it


@dataclass(frozen=True)
class Row:
    """A job as the tables describe it."""

    id: str
    tenant: str
    key: str
    state: str
    result: str | None
    attempts: int


class Ledger:
    """Requests by (tenant, idempotency key), and bundles that were accepted, by (tenant, hash).
    Several threads may use it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sent: dict[tuple[str, str], Sent] = {}
        self._bundles: set[tuple[str, str]] = set()

    def sent(self, tenant: str, key: str, want: str) -> None:
        """Called before a request is sent for the first time."""
        with self._lock:
            self._sent.setdefault((tenant, key), Sent(tenant, key, want))

    def told(self, tenant: str, key: str, row: Mapping[str, Any]) -> None:
        """What the service says about a job: in the acknowledgement, or later."""
        with self._lock:
            sent = self._sent[tenant, key]
            sent.ids.add(str(row["id"]))
            if row["state"] in ENDED:
                sent.state, sent.result = str(row["state"]), row["result"]

    def cancels(self, tenant: str, key: str) -> None:
        """Called before the tenant asks for the end of a job."""
        with self._lock:
            self._sent[tenant, key].cancelled = True

    def accepted(self, tenant: str, bundle: str) -> None:
        with self._lock:
            self._bundles.add((tenant, bundle))

    def removes(self, tenant: str, bundle: str) -> None:
        """Called before the tenant asks for the removal of a bundle."""
        with self._lock:
            self._bundles.discard((tenant, bundle))

    def snapshot(self) -> tuple[list[Sent], set[tuple[str, str]]]:
        """All requests and bundles at this moment."""
        with self._lock:
            return ([Sent(s.tenant, s.key, s.want, set(s.ids), s.state, s.result, s.cancelled)
                     for s in self._sent.values()], set(self._bundles))

    def states(self) -> Counter[str]:
        """The number of acknowledged jobs by how they ended, as far as their tenants know."""
        with self._lock:
            return Counter(s.state for s in self._sent.values() if s.ids)


class Tables:
    """Reads the tables of a service through a connection of its own."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def jobs(self) -> list[Row]:
        columns = (jobs.c.id, jobs.c.tenant, jobs.c.idempotency, jobs.c.state, jobs.c.result, jobs.c.attempts)
        with self._store.read() as c:
            return [Row(*row) for row in c.execute(sa.select(*columns))]

    def counters(self) -> list[dict[str, Any]]:
        """The counts of each worker."""
        with self._store.read() as c:
            return [json.loads(row[0]) for row in c.execute(sa.select(workers.c.counters))]

    def bundles(self) -> dict[tuple[str, str], str]:
        """The state of each bundle."""
        with self._store.read() as c:
            found = c.execute(sa.select(bundles.c.tenant, bundles.c.hash, bundles.c.state))
            return {(row[0], row[1]): row[2] for row in found}


class Completions:
    """How often the log of a service says that a worker has done a job. Reads only the new part of
    the log."""

    def __init__(self, log: Path) -> None:
        self._log, self._at = log, 0
        self.of: Counter[str] = Counter()

    def read(self) -> Counter[str]:
        with self._log.open("rb") as file:
            file.seek(self._at)
            text = file.read()
        whole = text.rfind(b"\n") + 1
        self._at += whole
        for line in text[:whole].splitlines():
            if b'"job.done"' in line:
                # The end of a line that a killed process left, followed by the next line.
                with suppress(ValueError):
                    self.of[json.loads(line)["job"]] += 1
        return self.of


def faults(sent: Sequence[Sent], rows: Iterable[Row], done: Mapping[str, int], at_the_end: bool = False) -> list[str]:
    """Where the tables contradict what tenants were told, as a list of sentences. ``rows`` are read
    after ``sent``. ``done``: how often each job was done, according to the log. ``at_the_end``: all
    jobs must have ended with their results."""
    by_key: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        by_key.setdefault((row.tenant, row.key), []).append(row)
    found: list[str] = []
    for s in sent:
        found += _of_one(s, by_key.pop((s.tenant, s.key), []), at_the_end)
    if at_the_end:
        found += [f"job {row.id}: nobody sent it" for rows_ in by_key.values() for row in rows_]
    found += [f"job {id_}: done {count} times" for id_, count in done.items() if count > 1]
    return found


def _of_one(s: Sent, rows: list[Row], at_the_end: bool) -> list[str]:
    if len(s.ids) > 1 or len(rows) > 1:
        return [f"request {s.key}: in effect twice, as {', '.join(sorted(s.ids | {r.id for r in rows}))}"]
    if not s.ids:
        return []  # the tenant got no acknowledgement
    if not rows or rows[0].id not in s.ids:
        return [f"job {next(iter(s.ids))}: acknowledged and lost"]
    row, = rows
    found = []
    if s.state in ENDED and (row.state != s.state or (row.result != s.result and not s.cancelled)):
        found.append(f"job {row.id}: {row.state} after its tenant was told that it is {s.state}")
    if row.state == "done" and row.result != s.want and not (s.cancelled and row.result is None):
        found.append(f"job {row.id}: another result than a run without the service")
    if row.state in ("failed", "expired") or (row.state == "cancelled" and not s.cancelled):
        found.append(f"job {row.id}: {row.state} without a reason of its tenant")
    if row.state == "poisoned" and row.attempts < ATTEMPTS:
        found.append(f"job {row.id}: poisoned after {row.attempts} attempts")
    if at_the_end and row.state not in ENDED:
        found.append(f"job {row.id}: still {row.state} at the end")
    return found


def bundle_faults(accepted: Iterable[tuple[str, str]], states: Mapping[tuple[str, str], str],
                  kept: Iterable[tuple[str, str]]) -> list[str]:
    """Bundles that a tenant was told are ready, and that are not. ``states`` are read after
    ``accepted``, and ``kept`` after both. ``kept`` has the bundles that are still accepted then and
    were not removed in the meantime."""
    kept = set(kept)
    return [f"bundle {hash_[:16]}: accepted, and now {states.get((tenant, hash_), 'lost')}"
            for tenant, hash_ in accepted
            if (tenant, hash_) in kept and states.get((tenant, hash_)) != "ready"]
