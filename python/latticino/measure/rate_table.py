"""`latticino bench rates`: how many bytes a second each record reaches, for predicted times.

Programs of different mixture are timed and counted by a dry run; the seconds a byte of every record
follow by bounded least squares over the relative errors.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np

from .. import rates
from ..client import keygen
from ..context import Context
from . import Rows, machine, seconds

PRESET = "n16-d40-boot-v1"
PULL, FASTEST = 0.1, 5.0
OPERATION = 1e-6  # unit of the cost of a record in the fit, seconds
MOST_OPERATIONS = 50.0  # upper bound of that cost, in this unit


def programs(context: Context) -> dict[str, tuple[Callable, int, int]]:
    """Name: the program, the level and the number of its values."""
    most, top = context.slots, context.params.default_level
    w = np.random.default_rng(1).uniform(-1, 1, (64, 64))
    return {
        "square": (lambda a: a * a, top, most),
        "square, low": (lambda a: a * a, 2, most),
        "rotate": (lambda a: a.rotate(1), top, most),
        "rotate, low": (lambda a: a.rotate(1), 2, most),
        "sums": (lambda a: a + a + a - a, top, most),
        "scalar": (lambda a: a * 0.3, top, most),
        "plain": (lambda a: a * np.ones(64), top, 64),
        "matrix": (lambda a: a @ w, top, 64),
        "polynomial": (lambda a: a.polyval([0.1] * 8), top, most),
        "bootstrap": (lambda a: a.bootstrap(), 0, most),
        "bootstrap, sparse": (lambda a: a.bootstrap(), 0, 64),
    }


def run(args: argparse.Namespace) -> tuple[Rows, bool]:
    from scipy.optimize import lsq_linear

    context = Context(args.preset or PRESET, args.device, threads=args.threads)
    client = keygen(context)
    chosen = programs(context)
    examples = {n: client.encrypt(np.full(size, 0.1), level) for n, (_, level, size) in chosen.items()}
    plans = {n: context.plan(p, examples[n]) for n, (p, _, _) in chosen.items()}
    context.use(client.server_keys(*plans.values()))
    times = {n: seconds(lambda n=n, p=p: p(examples[n]), context.synchronize, args.runs or 3)
             for n, (p, _, _) in chosen.items()}
    names = sorted({r for plan in plans.values() for r in plan.bytes_by_name})
    moved = np.array([[plans[n].bytes_by_name.get(r, 0) / times[n] for r in names] for n in chosen])
    submitted = np.array([[plans[n].operations / times[n]] for n in chosen])
    # One row for each program, scaled to its time; a weak pull keeps records that seldom matter near
    # the typical cost of a byte, and no record is taken to be much faster than that. The last column
    # is the cost of submitting one record.
    typical = float(np.median([times[n] / plans[n].bytes_moved for n in chosen]))
    pull = np.hstack([PULL * np.eye(len(names)), np.zeros((len(names), 1))])
    wanted = np.concatenate([np.ones(len(chosen)), np.full(len(names), PULL)])
    lowest = np.append(np.full(len(names), 1 / FASTEST), 0.0)
    fit = lsq_linear(np.vstack([np.hstack([moved * typical, submitted * OPERATION]), pull]), wanted,
                     bounds=(lowest, np.append(np.full(len(names), np.inf), MOST_OPERATIONS)))
    found = {r: float(1 / (c * typical)) for r, c in zip(names, fit.x)}
    overhead = float(fit.x[-1] * OPERATION)
    rows = []
    for n in chosen:
        predicted = sum(b / found[r] for r, b in plans[n].bytes_by_name.items())
        predicted += overhead * plans[n].operations
        print(f"{n:20} measured {times[n]:9.4f} s, predicted {predicted:9.4f} s")
        rows.append({"program": n, "seconds": times[n], "predicted": predicted})
    _write(context, found, overhead, args.threads or os.cpu_count())
    good = all(0.5 <= r["predicted"] / r["seconds"] <= 2 for r in rows)
    print("every prediction is within a factor 2" if good else "some predictions are off by more than 2")
    return rows, good


def _write(context: Context, found: dict[str, float], overhead: float,
           threads: int | None) -> None:
    path = Path(rates.__file__).with_name("rates.json")
    table = json.loads(path.read_text())
    kind = "cuda" if context.device.startswith("cuda") else "cpu"
    table[kind] = {"device": context._native.device["name"], **machine(), "threads": threads,
                   "operation_seconds": overhead, "rates": found}
    path.write_text(json.dumps(table, indent=1) + "\n")
    print(f"rates written to {path}")
