"""Measurements: `latticino bench`. Each prints a table and gives rows for a JSON record."""

from __future__ import annotations

import argparse
import json
import os
import platform
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from .. import __version__

Rows = list[dict[str, Any]]


def seconds(body: Callable[[], Any], synchronize: Callable[[], None], runs: int = 5) -> float:
    """Median time of `body`, after one run that is not counted (tables get built in it)."""
    body()
    synchronize()
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        body()
        synchronize()
        times.append(time.perf_counter() - start)
    return float(np.median(times))


def machine() -> dict[str, Any]:
    """What a record says about where it was taken."""
    model = platform.processor()
    if os.path.exists("/proc/cpuinfo"):
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        model = next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), model)
    return {"version": __version__, "date": time.strftime("%Y-%m-%d"), "cpu": model, "cores": os.cpu_count()}


def write_record(path: Path, name: str, rows: Rows) -> None:
    """One JSON object: the name, the machine, the rows."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"name": name, **machine(), "rows": rows}, indent=1) + "\n")
    print(f"record written to {path}")


def run(args: argparse.Namespace) -> int:
    """Does what `latticino bench` was asked for; status 1 where a stated target was missed."""
    from . import cpu, gpu, precision, report

    if args.what == "report":
        return report.run(args.record)
    bench = {"precision": precision.run, "cpu": cpu.run, "gpu": gpu.run}[args.what]
    rows, good = bench(args)
    if args.record:
        write_record(args.record, args.what, rows)
    return 0 if good else 1
