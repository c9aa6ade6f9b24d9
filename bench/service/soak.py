"""A constant load for many minutes: whether the memory of each process of a service stays as it is after the warm-up.

    ./latticino bench service-soak --minutes 60 --record FILE

Every result is compared with that of a run in this process. Memory is what Linux calls resident. A process is flat if
the median of its last tenth lies within 1 % of that of its first tenth, where the warm-up is left out. The warm-up
lasts until every worker's memory for keys is full, so that it has dropped a bundle for the first time. The record also
has the memory of each process over the whole run, as a curve of twenty points.

With ``--device cuda`` the workers share a GPU. Its memory in use is one more row, so no other program may run there.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

from clients import Load
from latticino._provenance import cpu_name
from latticino.common.options import count
from latticino.measure.records import Row, stamped
from ledger import faults
from memory import Growth, Sampler, curve, gpu_name, growth
from options import not_negative, positive
from setting import Setting, setting

FLAT = 1.0  # percent of growth that is allowed
_SAMPLES = 400  # measurements of memory in a run, about
_REST = 120.0  # seconds until everything that was sent has ended


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--minutes", type=positive, default=60.0)
    parser.add_argument("--warm-up", type=not_negative, help="minutes that do not count, at least; default: a quarter "
                        "of them")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--store", choices=("sqlite", "postgresql"), default="sqlite")
    parser.add_argument("--tenants", type=count(1), default=4)
    parser.add_argument("--clients", type=count(1), default=4, help="threads of each tenant that send jobs")
    parser.add_argument("--workers", type=count(1), default=2)
    parser.add_argument("--pause", type=not_negative, default=0.5, help="mean seconds between two jobs of a thread")
    parser.add_argument("--spare", type=count(1), default=16, help="small bundles that a worker has memory for beside "
                        "those of all tenants; it drops others all the time")
    parser.add_argument("--device", default="cpu", help="of the workers: cpu, cuda or cuda:N")


def run(args: argparse.Namespace) -> tuple[list[Row], bool]:
    """A row for each process, one for the results, and whether all of it was right and flat."""
    lasts, backend = 60 * args.minutes, args.device.partition(":")[0]
    warm_up = 60 * (args.minutes / 4 if args.warm_up is None else args.warm_up)
    with setting(args.store, ("square", "fresh"), args.tenants, args.workers, args.spare, args.device) as s:
        load = Load(s.tenants, args.clients, args.pause, args.seed)
        service = s.running.process.pid
        with Sampler(lambda: {service: "service", **s.running.children()}, lasts / _SAMPLES, args.device) as sampler:
            load.start()
            full = _loaded(s, load, sampler, lasts, args.workers)
        load.stop(_REST)
        wrong = [*load.wrong, *faults(s.ledger.snapshot()[0], s.tables.jobs(), s.completions.read(), at_the_end=True)]
        if full is None:
            wrong.append("a worker still had room for more keys at the end: run for longer, or pass a smaller --spare")
        warm_up = max(warm_up, full or 0.0)
        device = cpu_name() if args.device == "cpu" else gpu_name(args.device)
        states = s.ledger.states()
        if s.running.stop():
            wrong.append("the service did not stop as it should")
    params = {"minutes": args.minutes, "warm_up_minutes": round(warm_up / 60, 3), "store": args.store,
              "tenants": args.tenants, "clients": args.tenants * args.clients, "workers": args.workers,
              "spare": args.spare, "seed": args.seed}
    found = judged(sampler.samples, warm_up, args.workers + 3 + (args.device != "cpu"), wrong)
    for what in wrong:
        print("wrong:", what)
    rows: list[Row] = [{"name": "serve.soak", "value": load.counts["fetched"], "unit": "results", "params": params,
                        "device": device, "backend": backend, "jobs": dict(states), "wrong": len(wrong),
                        "bundles_accepted": load.counts["bundles"],
                        "keys_full_minutes": None if full is None else round(full / 60, 2)}]
    for (role, pid), g in found.items():
        print(f"{role:8} {g.first_bytes / 1e6:8.2f} MB, then {g.last_bytes / 1e6:8.2f} MB: {g.percent:+.2f} %, "
              f"{g.bytes_per_minute / 1e3:+.1f} kB per minute{'' if flat(g) else ': not flat'}")
        rows.append({"name": "serve.soak_memory", "value": g.last_bytes, "unit": "bytes",
                     "params": {**params, "process": role}, "device": device, "backend": backend,
                     "first_bytes": g.first_bytes, "growth_percent": round(g.percent, 3),
                     "slope_bytes_per_minute": round(g.bytes_per_minute), "flat": flat(g),
                     "curve_minutes_bytes": curve(sampler.samples[role, pid])})
    return [stamped(row) for row in rows], not wrong and all(map(flat, found.values()))


def _loaded(s: Setting, load: Load, sampler: Sampler, lasts: float, workers: int) -> float | None:
    """Runs the load for so many seconds. Returns the time, on the sampler's clock, when all workers
    had dropped keys."""
    full, said, start = None, 0, time.monotonic()
    while (passed := time.monotonic() - start) < lasts:
        time.sleep(min(2.0, lasts - passed))
        if full is None:
            dropped = [counters["bundles_dropped"] for counters in s.tables.counters()]
            if len(dropped) == workers and all(dropped):
                full = sampler.seconds
        if passed // 60 > said:
            said = int(passed // 60)
            print(f"{said} min: {dict(load.counts)}", flush=True)
    return full


def flat(g: Growth) -> bool:
    """Whether memory has not grown by more than `FLAT` percent. Less memory than before is flat."""
    return g.percent <= FLAT


def judged(samples: dict[tuple[str, int], Any], warm_up: float, processes: int, wrong: list[str]) -> dict[Any, Growth]:
    """The growth of each process. A process that ended, was started anew, or has too few samples is
    ``wrong``."""
    if len(samples) != processes:
        wrong.append(f"{len(samples)} processes were seen, not {processes}: some ended, and others took their places")
    found = {}
    for name, points in sorted(samples.items()):
        try:
            found[name] = growth(points, warm_up)
        except ValueError as why:
            wrong.append(f"{name[0]}: {why}")
    return found
