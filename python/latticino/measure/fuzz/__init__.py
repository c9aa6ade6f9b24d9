"""`latticino fuzz`: random programs on encrypted values, compared with the same steps in the clear."""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ... import _native, errors
from ..._provenance import cpu_name
from ...common import devices
from ...common.progress_bar import Task
from .. import records
from . import ckks_programs, jobs, saved_programs, switching_programs, tfhe_programs
from .result import Claimed, Result

Part = Callable[[str, int, int], Iterator[Result]]
PARTS: dict[str, Part] = {"ckks": ckks_programs.programs, "tfhe": tfhe_programs.programs,
                          "switching": switching_programs.programs, "saved": saved_programs.programs,
                          "program-files": saved_programs.hostile}
EXACT = 200.0  # in bits: smaller errors count as none
SHOWN = 10  # number of wrong programs of each part that are printed

# The limits that the fuzz sets for claims of precision: for results with MANY slots or more, and for those with fewer.
MANY = 256
MIN_WITHIN = 0.99  # part of calibrated results that must be within 1 bit of the claim (mean) or 2 bits (worst slot)
# Runs of fewer than SHORT results may have GROUPED more results outside of that part. Up to six results of one seed
# share their data and lie outside together. Among a few hundred results, two such groups can occur by chance.
GROUPED, SHORT = 12, 1000
# Bits that any result may be less precise than its claim.
MAX_BELOW = {"calibrated": 3.0, "fitted": 3.0, "declared": 1.0}
# Bounds of the root mean square of error divided by claimed error. Claims of declared ranges may be too pessimistic, so
# their lower bound is checked only in runs of SHORT results and more.
FEW_RATIO = (0.5, 2.0)


class Count:
    """The counts of the programs of one part."""

    def __init__(self, part: str) -> None:
        self.part, self.programs, self.steps, self.refused, self.seconds = part, 0, 0, 0, 0.0
        self.wrong: list[Result] = []
        self.claims: list[Claimed] = []

    def add(self, result: Result) -> None:
        self.programs += 1
        self.steps += result.steps
        self.refused += bool(result.refused)
        self.claims += result.claims
        if result.wrong:
            self.wrong.append(result)
            if len(self.wrong) <= SHOWN:
                print(f"WRONG in {result.program}: {result.wrong}", file=sys.stderr, flush=True)

    @property
    def missed(self) -> list[str]:
        """Claims of precision that do not hold, in words."""
        return missed(distribution(self.claims))

    def row(self, device: str, index: int, args: argparse.Namespace) -> records.Row:
        params = _native.tfhe_preset(tfhe_programs.GATES)
        rule = _native.TfheArithmetic.choose(params, "exact", device, index, 1, True)
        name = _native.TfheContext.create(params, device, index, 1, True, "", rule).device[
            "name"] if device == "cuda" else cpu_name()
        return records.stamped({
            "name": f"fuzz.{self.part}", "value": len(self.wrong), "unit": "programs with wrong values",
            "programs": self.programs, "steps": self.steps, "refused": self.refused, "missed_claims": self.missed,
            "seconds": round(self.seconds, 1), "seed": args.seed, "jobs": args.jobs, "device": name, "backend": device,
            **distribution(self.claims)})


def distribution(claims: list[Claimed]) -> dict[str, dict[str, Any]]:
    """Claimed minus measured bits by kind of claim: quantiles of results with 256 slots and more (mean and worst
    slot), and the root mean square of error divided by claimed error of those with fewer. Not of exact results."""
    claims = [c for c in claims if c.mean < EXACT]
    out: dict[str, dict[str, Any]] = {}
    for kind in sorted({c.kind for c in claims}):
        many = [c for c in claims if c.kind == kind and c.slots >= MANY]
        few = [c for c in claims if c.kind == kind and c.slots < MANY]
        if many:
            mean = np.array([min(c.claimed_mean, EXACT) - c.mean for c in many])
            worst = np.array([min(c.claimed_worst, EXACT) - c.worst for c in many])
            points = [0, 0.5, 5, 50, 95, 99.5, 100]
            out[kind] = {"results": len(many), "percent": points,
                         "mean_bits": np.percentile(mean, points).round(2).tolist(),
                         "worst_bits": np.percentile(worst, points).round(2).tolist(),
                         "within_1_mean": round(float((np.abs(mean) <= 1).mean()), 4),
                         "within_2_worst": round(float((np.abs(worst) <= 2).mean()), 4)}
        if few:
            ratio = np.exp2([min(c.claimed_mean, EXACT) - c.mean for c in few])
            out[f"{kind}_few_slots"] = {"results": len(few), "rms_ratio": round(float(np.sqrt((ratio**2).mean())), 3)}
    return out


def missed(found: dict[str, dict[str, Any]], least_within: float = MIN_WITHIN) -> list[str]:
    """The claims of precision that a distribution contradicts, in words."""
    out = []
    for kind, most in MAX_BELOW.items():
        many, few = found.get(kind), found.get(f"{kind}_few_slots")
        if many:
            below = max(*many["mean_bits"], *many["worst_bits"])
            if below > most:
                out.append(f"{kind}: a result lies {below} bits below its claim, more than {most:g}")
        if many and kind == "calibrated":
            for name in ("within_1_mean", "within_2_worst"):
                if (least_within - many[name]) * many["results"] > (GROUPED if many["results"] < SHORT else 0):
                    out.append(f"{kind}: {name} is {many[name]}, less than {least_within}")
        least = FEW_RATIO[0] if kind == "calibrated" or (few and few["results"] >= SHORT) else 0.0
        if few and not least <= few["rms_ratio"] <= FEW_RATIO[1]:
            out.append(f"{kind}: rms of error over claim is {few['rms_ratio']} of few slots, not in {FEW_RATIO}")
    return out


def run(args: argparse.Namespace) -> int:
    """Runs every part for its share of the time, or for a number of programs: status 1 where a value was wrong or a
    claim of precision did not hold."""
    kind, index = devices.choose(args.device)
    device = kind if kind == "cpu" else f"cuda:{index}"
    names = [args.part] if args.part else list(PARTS)
    share = 60 * args.minutes / len(names)
    if args.record:
        records.require_writable(args.record)
    threads = args.threads or (max(1, (os.cpu_count() or 1) // args.jobs) if args.jobs > 1 else 0)
    rows, counts = [], []
    for name in names:
        count, start = Count(name), time.monotonic()
        with warnings.catch_warnings(), Task(f"fuzz of {name}", args.programs or None) as step:
            warnings.simplefilter("ignore", errors.SecurityWarning)  # because the sets are small on purpose
            found = jobs.results(PARTS[name], device, threads, args.seed, args.jobs, args.programs)
            with contextlib.closing(found):
                for result in found:
                    count.add(result)
                    step.advance()
                    count.seconds = time.monotonic() - start
                    if not args.programs and count.seconds > share:
                        break
        print(f"{name:12} {count.programs:>7,} programs, {count.steps:>9,} steps, "
              f"{len(count.wrong)} with wrong values, {count.refused} refused ({count.seconds:.0f} s)", flush=True)
        for what, values in distribution(count.claims).items():
            print(f"  {what}: {values}")
        for what in count.missed:
            print(f"  MISSED {what}", flush=True)
        rows.append(count.row(kind, index, args))
        counts.append(count)
    if args.record:
        records.write(args.record, rows)
    return 1 if any(c.wrong or c.missed for c in counts) else 0

