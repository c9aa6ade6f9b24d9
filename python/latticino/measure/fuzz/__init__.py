"""`latticino fuzz`: random programs on encrypted values, whose results are compared with the same steps in the
clear."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator

import numpy as np

from ... import _native, devices, errors
from ..._provenance import cpu_name
from .. import records
from . import of_ckks, of_switching, of_tfhe
from .result import Claimed, Result

Part = Callable[[str, int, int], Iterator[Result]]
PARTS: dict[str, Part] = {"ckks": of_ckks.programs, "tfhe": of_tfhe.programs, "switching": of_switching.programs}
SHOWN = 10  # wrong programs of each part that are printed


class Count:
    """What the programs of one part came to."""

    def __init__(self, part: str) -> None:
        self.part, self.programs, self.steps, self.seconds = part, 0, 0, 0.0
        self.wrong: list[Result] = []
        self.claims: list[Claimed] = []

    def add(self, result: Result) -> None:
        self.programs += 1
        self.steps += result.steps
        self.claims += result.claims
        if result.wrong:
            self.wrong.append(result)
            if len(self.wrong) <= SHOWN:
                print(f"WRONG in {result.program}: {result.wrong}", file=sys.stderr, flush=True)

    def row(self, device: str, index: int, seed: int) -> records.Row:
        name = _native.TfheContext.create(_native.tfhe_preset(of_tfhe.GATES), device, index, 1, True).device[
            "name"] if device == "cuda" else cpu_name()
        return records.stamped({
            "name": f"fuzz.{self.part}", "value": len(self.wrong), "unit": "programs with wrong values",
            "programs": self.programs, "steps": self.steps, "seconds": round(self.seconds, 1), "seed": seed,
            "device": name, "backend": device, **distribution(self.claims)})


def distribution(claims: list[Claimed]) -> dict[str, object]:
    """Claimed minus measured bits by kind of claim: quantiles of results with 256 slots and more (mean and worst
    slot), and the root mean square of error divided by claimed error of those with fewer."""
    out: dict[str, object] = {}
    for kind in sorted({c.kind for c in claims}):
        many = [c for c in claims if c.kind == kind and c.slots >= 256]
        few = [c for c in claims if c.kind == kind and c.slots < 256]
        if many:
            mean = np.array([c.claimed_mean - c.mean for c in many])
            worst = np.array([c.claimed_worst - c.worst for c in many])
            points = [0, 0.5, 50, 99.5, 100]
            out[kind] = {"results": len(many), "percent": points,
                         "mean_bits": np.percentile(mean, points).round(2).tolist(),
                         "worst_bits": np.percentile(worst, points).round(2).tolist(),
                         "within_1_mean": round(float((np.abs(mean) <= 1).mean()), 4),
                         "within_2_worst": round(float((np.abs(worst) <= 2).mean()), 4)}
        if few:
            ratio = np.exp2([c.claimed_mean - c.mean for c in few])
            out[f"{kind}_few_slots"] = {"results": len(few), "rms_ratio": round(float(np.sqrt((ratio**2).mean())), 3)}
    return out


def run(args: argparse.Namespace) -> int:
    """Runs every part for its share of the time: status 1 where a value was wrong."""
    kind, index = devices.choose(args.device)
    device = kind if kind == "cpu" else f"cuda:{index}"
    check(args)
    names = [args.part] if args.part else list(PARTS)
    share = 60 * args.minutes / len(names)
    if args.record:
        records.require_writable(args.record)
    rows = []
    for name in names:
        count, start = Count(name), time.monotonic()
        for result in PARTS[name](device, args.threads, args.seed):
            count.add(result)
            count.seconds = time.monotonic() - start
            if count.seconds > share:
                break
        print(f"{name:12} {count.programs:>7,} programs, {count.steps:>9,} steps, {len(count.wrong)} with wrong values "
              f"({count.seconds:.0f} s)", flush=True)
        for what, values in distribution(count.claims).items():
            print(f"  {what}: {values}")
        rows.append(count.row(kind, index, args.seed))
    if args.record:
        records.write(args.record, rows)
    return 1 if any(row["value"] for row in rows) else 0


def check(args: argparse.Namespace) -> None:
    """ValueError for times that are not positive."""
    if not args.minutes > 0:
        raise errors.ValueError.explain("fuzz", f"--minutes {args.minutes}", "a positive number", "correct it")
