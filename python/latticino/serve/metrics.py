"""The metrics for Prometheus: counts of the front, and the state of the queue and the workers, from the store."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import sqlalchemy as sa
from prometheus_client import CollectorRegistry, Counter, Histogram
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

from .jobs import SEEN
from .store import Store
from .tables import bundles, jobs, workers
from .tenants import ACTIVE

_WORKER_COUNTERS = {"key_hits": "jobs whose keys were in memory", "key_misses": "jobs whose keys had to be read",
                    "bundles_dropped": "bundles dropped from memory",
                    "evictions": "bundles moved from device to host memory",
                    "predicted_seconds": "predicted seconds of jobs that are done",
                    "real_seconds": "measured seconds of jobs that are done"}


class Metrics:
    """One registry per front. No metric names a tenant, a job or a key."""

    def __init__(self, store: Store) -> None:
        self.registry = CollectorRegistry()
        self.requests = Counter("latticino_requests", "requests by route and status", ["route", "status"],
                                registry=self.registry)
        self.seconds = Histogram("latticino_request_seconds", "time until a response begins, long polls left out",
                                 registry=self.registry,
                                 buckets=(0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0))
        self.damaged = Counter("latticino_damaged_results", "results that were not sent, as their bytes had changed on "
                               "the disk", registry=self.registry)
        self.registry.register(_FromStore(store))


class _FromStore:
    def __init__(self, store: Store) -> None:
        self._store = store

    def describe(self) -> list[Any]:
        """Describes nothing, because Prometheus would otherwise collect, and read the store, when the registry is made.
        """
        return []

    def collect(self) -> Iterator[Any]:
        with self._store.read() as c:
            now = self._store.now(c)
            states = c.execute(sa.select(jobs.c.state, sa.func.count()).group_by(jobs.c.state)).all()
            oldest = c.execute(sa.select(sa.func.min(jobs.c.created)).where(jobs.c.state == "queued")).scalar()
            waiting = c.execute(sa.select(sa.func.coalesce(sa.func.sum(jobs.c.seconds), 0.0)).where(
                jobs.c.state.in_(ACTIVE))).scalar()
            of_bundles = c.execute(sa.select(bundles.c.state, sa.func.count()).group_by(bundles.c.state)).all()
            alive = c.execute(sa.select(workers).where(workers.c.seen.between(now - SEEN, now + SEEN))).all()
        yield _gauge("jobs", "jobs by state", "state", states)
        yield _gauge("bundles", "bundles of keys by state", "state", of_bundles)
        yield GaugeMetricFamily("latticino_queue_age_seconds", "age of the oldest job that waits",
                                value=0.0 if oldest is None else max(now - oldest, 0.0))
        yield GaugeMetricFamily("latticino_queue_seconds", "predicted seconds of jobs that wait or run", value=waiting)
        yield GaugeMetricFamily("latticino_workers", "workers that live", value=len(alive))
        counters = {row.id: json.loads(row.counters) for row in alive}
        yield _gauge("resident_bytes", "bytes of keys on the device", "worker",
                     [(id_, found["resident_bytes"]) for id_, found in counters.items()])
        for name, text in _WORKER_COUNTERS.items():
            family = CounterMetricFamily(f"latticino_worker_{name}", text, labels=["worker"])
            for id_, found in counters.items():
                family.add_metric([id_], found[name])
            yield family
        ended = CounterMetricFamily("latticino_worker_jobs", "jobs by how they ended", labels=["worker", "ended"])
        for id_, found in counters.items():
            for how, count in found["jobs"].items():
                ended.add_metric([id_, how], count)
        yield ended


def _gauge(name: str, text: str, label: str, rows: Any) -> Any:
    family = GaugeMetricFamily(f"latticino_{name}", text, labels=[label])
    for key, value in rows:
        family.add_metric([key], value)
    return family
