"""Many open connections that send requests at a fixed rate, even if answers are late: times by
route."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import math
import os
import random
import time
import urllib.parse
import uuid
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import sqlalchemy as sa

from latticino._provenance import cpu_name
from latticino.measure.records import Row
from latticino.serve.tables import jobs
from memory import processor_seconds
from prefilled import Prefilled, Seat, serving
from running import Running, until
from samples import Program

TARGET_MS = 50.0  # limit for the slowest hundredth, in ms
# How many of a hundred requests go to each route.
MIX = {"GET /v1/jobs/{job}": 40, "POST /v1/jobs": 15, "GET /v1/jobs/{job}/result": 10, "GET /v1/jobs": 10,
       "GET /v1/models": 10, "GET /v1/bundles": 5, "GET /v1/bundles/{bundle}": 5, "GET /v2/health/ready": 5}


def measure(folder: Path, args: argparse.Namespace) -> tuple[list[Row], bool]:
    """A row for each route and one for all; whether the target was met. ``args``: see load.add_options."""
    tenants, workers = args.tenants, args.workers
    made = Prefilled(folder / "service", Program(folder, args.program), tenants)
    each = -(-(args.queued + args.more) // tenants)
    known = {seat.tenant: [made.submit(seat) for _ in range(each)] for seat in made.seats}
    print(f"{sum(map(len, known.values()))} jobs queued", flush=True)
    # Only the keys of a few tenants fit into memory, so workers also load keys all the time.
    with serving(made, workers, "--host-memory", "512MiB") as running:
        until(lambda: len(_done(made, 20)) >= 10, "workers that have jobs")
        _be_nice(running)
        least = _waiting(made)
        front = until(lambda: running.pids("front"), "a front")[0]
        sender, cpu = Sender(running.url, made, known, random.Random(args.seed)), -processor_seconds(front)
        asyncio.run(sender.run(args.connections, args.rate, args.seconds))
        cpu += processor_seconds(front)
        least = min(least, _waiting(made))
        inside = _of_the_front(running.log, sender.began)
        finished = len(_done(made, args.queued + args.more))
    params = {"connections": args.connections, "requests_per_second": args.rate, "tenants": tenants, "workers": workers,
              "seconds": args.seconds, "queued": args.queued, "program": args.program}
    rows: list[Row] = []
    by_route = {**sender.times, "all": [t for times in sender.times.values() for t in times]}
    for route, times in by_route.items():
        if not times:
            continue  # a short run may have no request of a route
        own = inside.get(route, [])
        p50, p99 = _percentiles(times)
        inner = _percentiles(own) if own else (0.0, 0.0)
        print(f"{route:27} {len(times):6} requests: half in {p50:7.2f} ms, 99 of 100 in {p99:7.2f} ms; "
              f"in the front {inner[0]:7.2f} and {inner[1]:7.2f} ms")
        rows.append({"name": "serve.front", "value": round(p99, 3), "unit": "ms", "params": {**params, "route": route},
                     "device": cpu_name(), "backend": "cpu", "cores": os.cpu_count(), "requests": len(times),
                     "median_ms": round(p50, 3),
                     "front_median_ms": round(inner[0], 3), "front_p99_ms": round(inner[1], 3)})
    each = 1000 * cpu / sender.statuses.total()
    print(f"the front took {each:.2f} ms of a processor for each request")
    rows[-1] |= {"statuses": {str(k): n for k, n in sender.statuses.items()}, "least_queued": least,
                 "jobs_done": finished, "late": sender.late, "target_ms": TARGET_MS,
                 "front_processor_ms": round(each, 3)}
    wrong = {status: n for status, n in sender.statuses.items() if status not in (200, 202)}
    print(f"statuses {dict(sender.statuses)}; at least {least} jobs waited; {sender.late} requests found their "
          f"connection busy")
    return rows, _percentiles(by_route["all"])[1] < TARGET_MS and not wrong and least >= args.queued


@dataclass
class Sender:
    """Sends requests of tenants over connections that stay open. ``times``: in ms, from the moment
    when each request was due."""

    url: str
    made: Prefilled
    known: dict[str, list[str]]
    rng: random.Random
    times: dict[str, list[float]] = field(default_factory=lambda: {route: [] for route in MIX})
    statuses: Counter[int] = field(default_factory=Counter)
    late: int = 0
    began: float = 0.0

    async def run(self, connections: int, rate: float, seconds: float) -> None:
        address = urllib.parse.urlsplit(self.url)
        assert address.hostname in ("127.0.0.1", "::1")
        opened = [await asyncio.open_connection(address.hostname, address.port) for _ in range(connections)]
        locks = [asyncio.Lock() for _ in opened]
        finished, refresh, tasks = _done(self.made, 200), 0.0, []
        self.began, start = time.time(), time.monotonic()
        for i in range(math.ceil(rate * seconds)):
            due = start + i / rate
            await asyncio.sleep(max(0.0, due - time.monotonic()))
            if due > refresh:
                finished, refresh = _done(self.made, 200), due + 5.0
            at = i % connections
            seat = self.made.seats[at % len(self.made.seats)]
            self.late += locks[at].locked()
            tasks.append(asyncio.create_task(self._one(opened[at], locks[at], due, *self._request(seat, finished))))
        await asyncio.gather(*tasks)
        for _, writer in opened:
            writer.close()

    def _request(self, seat: Seat, finished: Sequence[tuple[str, str]]) -> tuple[str, bytes]:
        """The route and the bytes of a random request of a tenant."""
        route = self.rng.choices(list(MIX), list(MIX.values()))[0]
        method, _, path = route.partition(" ")
        body, more = b"", ""
        if route == "POST /v1/jobs":
            body = self.made.body
            path += f"?model={self.made.program.name}&bundle={seat.bundle}"
            more = f"Idempotency-Key: {uuid.UUID(int=self.rng.getrandbits(128)).hex}\r\n"
        elif path.endswith("/result"):
            tenant, id_ = self.rng.choice(finished)
            seat = next(s for s in self.made.seats if s.tenant == tenant)
            path = path.replace("{job}", id_)
        elif "{job}" in path:
            path = path.replace("{job}", self.rng.choice(self.known[seat.tenant]))
        elif "{bundle}" in path:
            path = path.replace("{bundle}", seat.bundle) + f"?model={self.made.program.name}"
        head = (f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {seat.token}\r\n{more}"
                f"Content-Length: {len(body)}\r\n\r\n")
        return route, head.encode() + body

    async def _one(self, streams: tuple[asyncio.StreamReader, asyncio.StreamWriter], lock: asyncio.Lock, due: float,
                   route: str, data: bytes) -> None:
        reader, writer = streams
        async with lock:
            writer.write(data)
            await writer.drain()
            head = await reader.readuntil(b"\r\n\r\n")
            lines = head.decode().lower().split("\r\n")
            length = next(int(line.partition(":")[2]) for line in lines if line.startswith("content-length:"))
            await reader.readexactly(length)
        self.times[route].append(1000 * (time.monotonic() - due))
        self.statuses[int(lines[0].split()[1])] += 1


def _percentiles(times: Sequence[float]) -> tuple[float, float]:
    """The median, and the value that 99 of 100 do not exceed."""
    p50, p99 = np.percentile(times, (50, 99))
    return float(p50), float(p99)


def _done(made: Prefilled, most: int) -> list[tuple[str, str]]:
    """(tenant, id) of jobs that are done."""
    with made.store.read() as c:
        rows = c.execute(sa.select(jobs.c.tenant, jobs.c.id).where(jobs.c.state == "done").limit(most))
        return [(row[0], row[1]) for row in rows]


def _waiting(made: Prefilled) -> int:
    with made.store.read() as c:
        return int(c.execute(sa.select(sa.func.count()).select_from(jobs).where(jobs.c.state == "queued")).scalar())


def _be_nice(running: Running) -> None:
    """Lowers the priority of workers, so that the front gets the processors if it needs them. In
    Linux each thread has a priority of its own."""
    for pid, role in running.children().items():
        if role == "worker":
            be_nice(pid)


def be_nice(pid: int, least: int = 10) -> None:
    """Gives every thread of ``pid`` the niceness ``least``, if its niceness is smaller."""
    # A thread may have started in the meantime.
    while found := [task for task in tasks_of(pid) if _niceness(task) < least]:
        for task in found:
            with contextlib.suppress(ProcessLookupError):
                os.setpriority(os.PRIO_PROCESS, task, least)


def tasks_of(pid: int) -> list[int]:
    """The threads of a process; none if it has ended."""
    try:
        return [int(task) for task in os.listdir(f"/proc/{pid}/task")]
    except (FileNotFoundError, ProcessLookupError):
        return []


def _niceness(task: int) -> float:
    """Returns infinity if the thread has ended, which may happen at any time."""
    try:
        return os.getpriority(os.PRIO_PROCESS, task)
    except ProcessLookupError:
        return math.inf


def _of_the_front(log: Path, began: float) -> dict[str, list[float]]:
    """Times in ms by route, as the front itself measured them, without the time in the queue of its
    socket."""
    found: dict[str, list[float]] = {"all": []}
    for line in log.read_text().splitlines():
        if '"event": "request"' not in line:
            continue
        row: dict[str, Any] = json.loads(line)
        if row["time"] >= began:
            found["all"].append(row["ms"])
            found.setdefault(f"{row['method']} {row['route']}", []).append(row["ms"])
    return found
