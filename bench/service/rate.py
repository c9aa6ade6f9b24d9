"""Jobs per second of one tenant with a full queue, beside the same program run in this process without a service."""

from __future__ import annotations

import time
from pathlib import Path

import sqlalchemy as sa

from latticino._provenance import cpu_name
from latticino.measure.records import Row
from latticino.serve.tables import jobs
from memory import processor_seconds
from prefilled import Prefilled, serving
from running import until
from samples import Program, digest

TARGET = 0.95  # of the rate without a service, for programs of 100 ms or more
LONG_MS = 100.0
_SKIPPED = 3  # jobs in which a worker loads the keys, and warms up


def measure(folder: Path, name: str, count: int) -> tuple[list[Row], bool]:
    """The row of a program, and whether the target was met. Without a service half of the runs come before, and half
    after."""
    program = Program(folder, name)
    made = Prefilled(folder / f"rate-{name}", program, 1)
    session = program.bound(made.bundle)
    want = digest(program.run(session, made.body))
    for _ in range(_SKIPPED):
        made.submit(made.seats[0])
    raw, raw_cpu = _raw(program, session, made.body, count // 2)
    with serving(made, 1) as running:
        until(lambda: _done(made)[0] >= _SKIPPED, "the first jobs")
        worker = running.pids("worker")[0]
        cpu = -processor_seconds(worker)
        for _ in range(count):  # which is faster than a worker
            made.submit(made.seats[0])
        until(lambda: _done(made)[0] == count + _SKIPPED, "all jobs", 60 + 10 * raw * count)
        cpu += processor_seconds(worker)
        _, times = _done(made)
    again, again_cpu = _raw(program, session, made.body, count // 2)
    with made.store.read() as c:
        results = set(c.execute(sa.select(jobs.c.result)).scalars())
    raw, raw_cpu = (raw + again) / 2, (raw_cpu + again_cpu) / 2
    each = (times[-1] - times[_SKIPPED]) / (count - 1)
    each_cpu = cpu / count
    long = 1000 * raw >= LONG_MS
    print(f"{name}: {1000 * raw:.2f} ms without a service, {1000 * each:.2f} ms with it ({100 * raw / each:.1f} % of "
          f"the rate); processor {1000 * raw_cpu:.2f} and {1000 * each_cpu:.2f} ms ({100 * raw_cpu / each_cpu:.1f} %)")
    row: Row = {"name": "serve.rate", "value": round(1 / each, 4), "unit": "1/s", "params": {
        "program": name, "jobs": count, "tenants": 1, "workers": 1}, "device": cpu_name(), "backend": "cpu",
        "job_ms": round(1000 * each, 3), "raw_ms": round(1000 * raw, 3), "cost_ms": round(1000 * (each - raw), 3),
        "rate_percent": round(100 * raw / each, 2), "job_processor_ms": round(1000 * each_cpu, 3),
        "raw_processor_ms": round(1000 * raw_cpu, 3), "processor_cost_ms": round(1000 * (each_cpu - raw_cpu), 3),
        "processor_percent": round(100 * raw_cpu / each_cpu, 2),
        **({"target_percent": 100 * TARGET} if long else {})}
    return [row], results == {want} and (not long or raw / each >= TARGET)


def _raw(program: Program, session: object, body: bytes, count: int) -> tuple[float, float]:
    """Seconds, and those of processors, of a run."""
    program.run(session, body)
    start, cpu = time.monotonic(), time.process_time()
    for _ in range(count):
        program.run(session, body)
    return (time.monotonic() - start) / count, (time.process_time() - cpu) / count


def _done(made: Prefilled) -> tuple[int, list[float]]:
    """How many jobs are done, and when they were."""
    with made.store.read() as c:
        times = sorted(c.execute(sa.select(jobs.c.finished).where(jobs.c.state == "done")).scalars())
    return len(times), times
