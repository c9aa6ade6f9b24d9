"""`latticino conformance`: checks that this device computes what the records define, bit for bit."""

from __future__ import annotations

import argparse
import os
import time
from concurrent.futures import ThreadPoolExecutor

from .. import _native, errors
from ..ckks.context import preset, presets
from ..common import devices
from ..common.progress_bar import Task
from . import network_conformance, records

SAMPLED = 5  # levels of a large set, with the lowest and the highest
SMALL = 12  # log2 N of the largest set that is small
LEVEL_BYTES = 4 << 30  # the most host memory that one level at N = 2^16 needs, for both sides


def run(args: argparse.Namespace) -> int:
    """Compares the device with the plain CPU reference and with big integers; 0 if all is equal.

    So does a whole network, on the set of `network_conformance`, unless another set was asked for.

    A GPU: every level of every set. The CPU: every level of the small sets, and a sample of a large
    one that was asked for by name; `--all-levels` and `--sampled` say otherwise.
    """
    kind, index = devices.choose(args.device)
    if args.all_levels and args.sampled:
        raise errors.UnsupportedError.explain("conformance", "--all-levels and --sampled", "one of them", "choose")
    if args.simd_oracle and kind == "cpu":
        raise errors.UnsupportedError.explain("conformance", "--simd-oracle on the CPU", "the plain code as the oracle",
                                              "leave the option out")
    every = args.all_levels or (kind == "cuda" and not args.sampled)
    names = [args.preset] if args.preset else presets()
    if not args.preset and kind == "cpu" and not args.all_levels:
        names = [name for name in names if preset(name).log_n <= SMALL]
    rows = []
    start = time.monotonic()
    for name in names:
        row = _compare(name, kind, index, args.threads or len(os.sched_getaffinity(0)), every, args.simd_oracle)
        rows.append(row)
    if args.preset in (None, network_conformance.PRESET):
        rows.append(network_conformance.compare(kind, index, args.threads))
    failed = sum(not row["passed"] for row in rows)
    print(f"every result is equal, bit for bit ({time.monotonic() - start:.0f} s)" if not failed
          else f"{failed} of {len(rows)} comparisons found differences")
    if args.record:
        device = _native.Context.create(preset(names[0]), kind, index, args.threads, True).device["name"]
        records.write(args.record, [records.stamped(row | {"device": device}) for row in rows])
    return 1 if failed else 0


def _compare(name: str, kind: str, index: int, threads: int, every: bool, simd_oracle: bool) -> records.Row:
    """Compares one set and returns its row, without the device. Levels are spread over threads, because most of the
    work is on the host."""
    params = preset(name)
    levels = 0 if every or params.log_n <= SMALL else SAMPLED
    fit = (_free_bytes() << SMALL) // (LEVEL_BYTES << params.log_n >> (16 - SMALL))
    parts = max(1, min(threads, levels or threads, params.top_level + 1, fit))
    start = time.monotonic()

    def compare(part: int) -> _native.ConformanceReport:
        report = _native.conformance(params, kind, index, max(1, threads // parts), levels, part=part, parts=parts,
                                     simd_oracle=simd_oracle)
        step.advance()
        return report

    with ThreadPoolExecutor(parts) as pool, Task(f"comparing {name}", parts) as step:
        try:
            reports = list(pool.map(compare, range(parts)))
        except KeyboardInterrupt:
            _native.stop_threads(True)
            pool.shutdown(cancel_futures=True)
            _native.stop_threads(False)
            raise
    failures, comparisons = (sum(getattr(r, what) for r in reports) for what in ("failures", "comparisons"))
    seconds = time.monotonic() - start
    good = all(report.passed for report in reports)
    print(f"{name:34} {kind}: {'every level' if not levels else f'{levels} levels'}, "
          f"{comparisons:>7,} comparisons, {'equal' if good else f'{failures} DIFFERENCES'} ({seconds:.1f} s)",
          flush=True)
    for report in reports:
        if not report.passed:
            print(report)
    all_levels = params.top_level + 1
    return {"name": "conformance", "value": failures, "unit": "differences", "backend": kind, "preset": name,
            "params": {"N": params.n, "levels": min(levels or all_levels, all_levels), "of_levels": all_levels},
            "comparisons": comparisons, "failures": failures, "passed": good,
            "oracle": "cpu, vector code" if simd_oracle else "cpu, plain code", "seconds": round(seconds, 2)}


def _free_bytes() -> int:
    return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
