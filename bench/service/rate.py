"""Jobs per second of a full queue, compared with the same program run in this process without a service.

The jobs are those of one tenant, or of several in turn: then a worker clears freed memory before each job."""

from __future__ import annotations

import functools
import itertools
import json
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import sqlalchemy as sa

from latticino.measure.records import Row
from latticino.serve.tables import jobs
from memory import TICK, processor_seconds
from prefilled import Prefilled, serving
from running import Running, on_device, until
from samples import Program, digest

# Fraction of the rate without a service that is required, for programs of 100 ms or more.
TARGET = 0.95
LONG_MS = 100.0
_START = 300.0  # seconds that each worker may take to load the keys
_WARM = 3  # jobs during which a worker loads the keys and warms up


def measured(folder: Path, name: str, count: int, device: str = "cpu",
             workers: Sequence[int] = (1,), tenants: int = 1) -> Iterator[tuple[list[Row], bool]]:
    """For each number of workers the row of a program, and whether the target was met. Without a service half of the
    runs come before, and half after.

    ``raw_ms`` of a row is the time of such a run, which reads the inputs and writes the result as bytes. ``run_ms`` is
    what a worker takes to run a job whose inputs it has read ahead, and to store its result. ``tenant_changes``: jobs
    that ran after one of another tenant."""
    begins = Steps(name)
    begins("planning the program")
    program = Program(folder, name, device)
    begins("making keys and a request, and storing them")
    made = Prefilled(folder / f"rate-{name}", program, tenants)
    begins("loading the keys for runs without a service")
    session = program.bound(made.bundle)
    begins("the first run, which encodes constants")
    want = digest(program.run(session, made.body))
    for each in workers:
        yield _measured(made, session, want, count, device, each, begins)


class Steps:
    """Says which step of a measurement begins, and after how many seconds. With a large set of parameters minutes pass
    before the first result."""

    def __init__(self, name: str) -> None:
        self._name, self._start = name, time.monotonic()

    def __call__(self, step: str) -> None:
        print(f"{self._name}, {time.monotonic() - self._start:.1f} s: {step}", flush=True)


def _measured(made: Prefilled, session: object, want: str, count: int, device: str,
              workers: int, begins: Steps) -> tuple[list[Row], bool]:
    program = made.program
    begins(f"{count // 2} runs without a service")
    raw, raw_cpu = _raw(program, session, made.body, count // 2)
    begins(f"starting a service, workers: {workers}")
    with serving(made, workers, *on_device(device)) as running:
        begins(f"{_WARM} jobs of each worker, which loads the keys and encodes constants")
        before = _warm(made, running, workers)
        begins(f"{count} jobs of {len(made.seats)} tenants in turn")
        pids = running.pids("worker")
        cpu = -sum(map(processor_seconds, pids))
        for i in range(count):  # submitting is faster than a worker, so the queue stays full
            made.submit(made.seats[i % len(made.seats)])
        until(lambda: _done(made)[0] == before + count, "all jobs", 60 + 10 * raw * count)
        cpu += sum(map(processor_seconds, pids))
        _, times = _done(made)
    begins(f"{count // 2} more runs without a service")
    again, again_cpu = _raw(program, session, made.body, count // 2)
    with made.store.read() as c:
        results = set(c.execute(sa.select(jobs.c.result)).scalars())
        latest = sa.select(jobs.c.real_seconds, jobs.c.tenant).where(jobs.c.state == "done")
        runs, tenants = zip(*c.execute(latest.order_by(jobs.c.finished.desc()).limit(count)), strict=True)
    raw, raw_cpu = (raw + again) / 2, (raw_cpu + again_cpu) / 2
    each = (times[-1] - times[before]) / (count - 1)
    each_cpu = max(cpu, TICK) / count  # a few small jobs may take less than a tick
    long = 1000 * raw >= LONG_MS and workers == 1 and len(made.seats) == 1
    print(f"{program.name}, workers: {workers}, tenants: {len(made.seats)}: {1000 * raw:.2f} ms without a service, "
          f"{1000 * each:.2f} ms with it ({100 * raw / each:.1f} % of the rate); "
          f"processor {1000 * raw_cpu:.2f} and {1000 * each_cpu:.2f} ms ({100 * raw_cpu / each_cpu:.1f} %)", flush=True)
    row: Row = {"name": "serve.rate", "value": round(1 / each, 4), "unit": "1/s", "params": {
        "program": program.name, "preset": program.facts.parameters, "jobs": count, "tenants": len(made.seats),
        "workers": workers},
        "tenant_changes": sum(a != b for a, b in itertools.pairwise(tenants)),
        "device": program.device_name, "backend": device.partition(":")[0],
        "request_bytes": len(made.body), "job_ms": round(1000 * each, 3), "raw_ms": round(1000 * raw, 3),
        "run_ms": round(1000 * sum(runs) / count, 3),
        "cost_ms": round(1000 * (each - raw), 3), "rate_percent": round(100 * raw / each, 2),
        "job_processor_ms": round(1000 * each_cpu, 3), "raw_processor_ms": round(1000 * raw_cpu, 3),
        "processor_cost_ms": round(1000 * (each_cpu - raw_cpu), 3),
        "processor_percent": round(100 * raw_cpu / each_cpu, 2), **({"target_percent": 100 * TARGET} if long else {})}
    return [row], results == {want} and (not long or raw / each >= TARGET)


def _has_done(made: Prefilled, count: int) -> bool:
    """RuntimeError if a job ended in another way."""
    with made.store.read() as c:
        failed = c.execute(sa.select(jobs.c.error).where(jobs.c.state.in_(("failed", "poisoned")))).scalars().first()
    if failed is not None:
        raise RuntimeError(f"a job failed: {failed}")
    return _done(made)[0] == count


def _warm(made: Prefilled, running: Running, workers: int) -> int:
    """Sends jobs of every tenant until each worker has done some. Returns how many are done then."""
    sent, last = _done(made)[0], time.monotonic() + _START
    while min(by := _by_worker(running), default=0) < _WARM or len(by) < workers:
        if time.monotonic() > last:
            raise AssertionError(f"not in {_START:g} s: {workers} workers that have done {_WARM} jobs each")
        for seat in made.seats * workers:
            made.submit(seat)
        sent += workers * len(made.seats)
        until(functools.partial(_has_done, made, sent), "the first jobs", _START)
    return sent


def _by_worker(running: Running) -> list[int]:
    """How many jobs each worker has done since this start."""
    lines = running.log.read_text().splitlines()
    ready = {found["worker"]: 0 for line in lines if '"worker.ready"' in line for found in [json.loads(line)]}
    for line in lines:
        if '"job.done"' in line:
            ready[json.loads(line)["worker"]] += 1
        elif '"worker.stopped"' in line:
            ready.pop(json.loads(line)["worker"], None)
    return list(ready.values())


def _raw(program: Program, session: object, body: bytes, count: int) -> tuple[float, float]:
    """Seconds of a run, and seconds of processor time."""
    program.run(session, body)
    start, cpu = time.monotonic(), time.process_time()
    for _ in range(count):
        program.run(session, body)
    return (time.monotonic() - start) / count, (time.process_time() - cpu) / count


def _done(made: Prefilled) -> tuple[int, list[float]]:
    """The number of jobs that are done, and when they were."""
    with made.store.read() as c:
        times = sorted(c.execute(sa.select(jobs.c.finished).where(jobs.c.state == "done")).scalars())
    return len(times), times
