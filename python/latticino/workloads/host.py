"""`latticino bench host`: what the host does for an eager program, operation by operation.

On a device that computes nothing, the time is that of Python and of the library's own code. On a GPU, the time of the
driver is added: until all work is submitted, and until it is done.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from .. import _native, errors
from ..array_functions import sort
from ..ckks.context import Context
from ..ckks.plan import Shape
from ..key_generation import keygen
from ..measure import programs
from ..measure.records import Row, stamped
from . import helr
from .sort import LARGE

PRESET = "n16-d40-boot-v1"
_COLUMNS = 256  # values in a row: the 14 x 14 pixels of MNIST, padded
COUNTED = ("records", "allocations", "copies_in", "copies_out", "waits", "replays")


@dataclass
class _Device:
    """The context in which programs run. ``counts`` is None on a GPU."""

    context: Context
    counts: _native.IdleCounts | None

    def seconds(self, work: Callable[[], Any]) -> tuple[float, float]:
        """Seconds until the work is submitted, and until it is done. Processor time if the device computes nothing."""
        if self.counts is not None:
            start = time.process_time()
            work()
            return (time.process_time() - start,) * 2
        self.context.synchronize()
        start = time.perf_counter()
        work()
        submitted = time.perf_counter() - start
        self.context.synchronize()
        return submitted, time.perf_counter() - start

    def counted(self, work: Callable[[], Any]) -> dict[str, int]:
        before = {name: getattr(self.counts, name) for name in COUNTED}
        work()
        return {name: getattr(self.counts, name) - n for name, n in before.items()}


def run(args: argparse.Namespace) -> tuple[list[Row], bool]:
    """Measures the steps of HELR on MNIST's shape, and the stages of a sort of 2^14 numbers."""
    device = _device(args.device)
    rows = [*_helr(device, args.runs or 9), *_sort(device, args.runs or 5)]
    if args.device is None:
        more, _ = programs.run_program("bench_host", {"device": "none", "runs": args.runs or 51})
        rows += more
    return rows, True


def _device(name: str | None) -> _Device:
    if name is None:
        counts = _native.IdleCounts()
        return _Device(Context._idle(PRESET, counts), counts)
    if programs.device_of(name) != "cuda":
        raise errors.UnsupportedError.explain(
            "bench host", f"--device {name}", "cuda, or no device for one that computes nothing", "leave it out")
    return _Device(Context(PRESET, "cuda"), None)


def _helr(device: _Device, runs: int) -> list[Row]:
    context = device.context
    trainer = helr.Trainer(context, helr.Settings(rows=1024))
    z = np.random.default_rng(1).uniform(0, 1, (trainer.settings.rows, _COLUMNS))
    plan = context.plan(trainer.cycle, *trainer.examples(z))
    client = keygen(context)
    context.use(client.server_keys(plan))
    batch, first = trainer.encrypt(client, z), trainer.first_state(client, _COLUMNS)
    eta = helr.momentum(2)[1]
    rows, state = [], first
    for _ in range(trainer.steps_between):
        step = partial(trainer.step, state, batch, eta)
        rows.append(_row(device, "helr.step", step, runs, 1, level=state.level))
        state = step()
    rows.append(_row(device, "helr.bootstrap", partial(trainer.refresh, state), runs, 1, level=state.level))
    return rows


def _sort(device: _Device, runs: int) -> list[Row]:
    context = device.context
    plan = context.plan(lambda x: sort(x, (0, 1), 12), Shape((LARGE,), None, (0, 1)))
    client = keygen(context)
    context.use(client.server_keys(plan))
    x = client.encrypt(np.linspace(0, 1, LARGE), range=(0, 1))
    return [_row(device, "sort.stage", lambda: sort(x, (0, 1), 12), runs, plan.bootstraps, level=x.level)]


def _row(device: _Device, name: str, work: Callable[[], Any], runs: int, count: int, **sizes: int) -> Row:
    """The row of a program that repeats something `count` times."""
    work()  # constants exist from here on
    counts = {} if device.counts is None else {k: round(n / count, 1) for k, n in device.counted(work).items()}
    times = np.array([device.seconds(work) for _ in range(runs)]) * 1e6 / count
    low, middle, high = (float(v) for v in np.quantile(times[:, 0], [0.25, 0.5, 0.75]))
    done = {} if device.counts is not None else {"until_done": float(np.median(times[:, 1]))}
    params = device.context.params
    row = {"name": f"host.{name}", "value": middle, "unit": "us", "median_of": runs, "low": low, "high": high,
           "device": device.context._native.device["name"],
           "backend": "none" if device.counts is not None else "cuda", "mode": "immediate", "preset": params.name,
           "params": {"N": params.n, "batch": 1, **sizes}, **({"clock": "cpu"} if counts else {}), **counts, **done}
    print(f"{name:24} level {sizes['level']:2}: {middle:9.1f} us ({low:.1f} .. {high:.1f})"
          + "".join(f", {n:g} {k.replace('_', ' ')}" for k, n in counts.items() if n)
          + "".join(f", {t:.1f} us until done" for t in done.values()), flush=True)
    return stamped(row)
