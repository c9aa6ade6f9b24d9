"""A constant load for many minutes: whether the memory of each process of a service stays as it is after the warm-up.

    ./latticino bench service-soak --minutes 60 --record FILE

Every result is compared with that of a run in this process. Memory is what Linux calls resident. A process is flat if
the median of its last tenth lies within 1 % of that of its first tenth, where the warm-up is left out.
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
from memory import Growth, Sampler, growth
from options import not_negative, positive
from setting import setting

FLAT = 1.0  # percent
SPARE = 16  # bundles that workers keep beside those of all tenants, so that they drop some all the time
_SAMPLES = 400  # of a run, about
_REST = 120.0  # seconds for what was sent to end


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--minutes", type=positive, default=60.0)
    parser.add_argument("--warm-up", type=not_negative, help="minutes that do not count; default: a quarter of them")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--store", choices=("sqlite", "postgresql"), default="sqlite")
    parser.add_argument("--tenants", type=count(1), default=4)
    parser.add_argument("--clients", type=count(1), default=4, help="threads of each tenant that send jobs")
    parser.add_argument("--workers", type=count(1), default=2)
    parser.add_argument("--pause", type=not_negative, default=0.5, help="mean seconds between two jobs of a thread")


def run(args: argparse.Namespace) -> tuple[list[Row], bool]:
    """A row for each process, one for the results, and whether all was right and flat."""
    lasts = 60 * args.minutes
    warm_up = 60 * (args.minutes / 4 if args.warm_up is None else args.warm_up)
    with setting(args.store, ("square", "fresh"), args.tenants, args.workers, SPARE) as s:
        load = Load(s.tenants, args.clients, args.pause, args.seed)
        service = s.running.process.pid
        with Sampler(lambda: {service: "service", **s.running.children()}, lasts / _SAMPLES) as sampler:
            load.start()
            start = time.monotonic()
            while (passed := time.monotonic() - start) < lasts:
                time.sleep(min(60.0, lasts - passed))
                print(f"{(time.monotonic() - start) / 60:.1f} min: {dict(load.counts)}", flush=True)
        load.stop(_REST)
        wrong = [*load.wrong, *faults(s.ledger.snapshot()[0], s.tables.jobs(), s.completions.read(), at_the_end=True)]
        states = s.ledger.states()
        if s.running.stop():
            wrong.append("the service did not stop as it should")
    params = {"minutes": args.minutes, "warm_up_minutes": round(warm_up / 60, 3), "store": args.store,
              "tenants": args.tenants, "clients": args.tenants * args.clients, "workers": args.workers,
              "seed": args.seed}
    found = judged(sampler.samples, warm_up, args.workers + 3, wrong)
    for what in wrong:
        print("wrong:", what)
    rows: list[Row] = [{"name": "serve.soak", "value": load.counts["fetched"], "unit": "results", "params": params,
                        "device": cpu_name(), "backend": "cpu", "jobs": dict(states), "wrong": len(wrong),
                        "bundles_accepted": load.counts["bundles"]}]
    for (role, _), g in found.items():
        print(f"{role:8} {g.first_bytes / 1e6:8.2f} MB, then {g.last_bytes / 1e6:8.2f} MB: {g.percent:+.2f} %, "
              f"{g.bytes_per_minute / 1e3:+.1f} kB per minute{'' if flat(g) else ': not flat'}")
        rows.append({"name": "serve.soak_memory", "value": g.last_bytes, "unit": "bytes",
                     "params": {**params, "process": role}, "device": cpu_name(), "backend": "cpu",
                     "first_bytes": g.first_bytes, "growth_percent": round(g.percent, 3),
                     "slope_bytes_per_minute": round(g.bytes_per_minute), "flat": flat(g)})
    return [stamped(row) for row in rows], not wrong and all(map(flat, found.values()))


def flat(g: Growth) -> bool:
    """Whether memory has not grown by more than `FLAT` percent. Less memory than before is flat."""
    return g.percent <= FLAT


def judged(samples: dict[tuple[str, int], Any], warm_up: float, processes: int, wrong: list[str]) -> dict[Any, Growth]:
    """The growth of each process. What ended, started anew, or has too few samples is ``wrong``."""
    if len(samples) != processes:
        wrong.append(f"{len(samples)} processes were seen, not {processes}: some ended, and others took their places")
    found = {}
    for name, points in sorted(samples.items()):
        try:
            found[name] = growth(points, warm_up)
        except ValueError as why:
            wrong.append(f"{name[0]}: {why}")
    return found
