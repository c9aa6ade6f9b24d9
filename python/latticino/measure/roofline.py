"""`latticino bench roofline`: what each kernel must do at least, and how near to that it comes.

The formulas stand here and nowhere else. They count what the passes are there for: bytes with each
input read once and each output written once, and the arithmetic of the transforms and conversions;
addresses, exchanges and twiddles come on top. `checked` holds them against the hardware counters
that bench/counters.py collects.
"""

from __future__ import annotations

import argparse
import math
from dataclasses import dataclass, field
from pathlib import Path

from .. import errors
from . import programs, records
from .records import Row

# Measured rates a second; int8 products of the matrix units from the data sheet.
CEILINGS = {"NVIDIA H200": {"memory": 4.2e12, "issue": 31e12, "multiply": 16.5e12, "matrix": 989e12}}
LIMBS = "47,23,7"
EXPLAINED = 0.6  # of the binding ceiling; below it docs/performance.md says why


@dataclass
class Work:
    """Operations of one kernel: thread instructions issued, slots of the 32-bit multiplier (a high
    half or a wide product takes two), products of bytes on the matrix units."""

    issue: float = 0
    multiply: float = 0
    matrix: float = 0

    def add(self, count: float, issue: float, multiply: float = 0, matrix: float = 0) -> Work:
        return Work(self.issue + count * issue, self.multiply + count * multiply, self.matrix + count * matrix)


# (instructions, multiplier slots) of the steps, with sums and minima apart. Hopper takes a sum and a minimum
# in one instruction: two fewer a butterfly.
BUTTERFLY_ROWS = (10, 5)     # Montgomery: wide, low and high product, a fold of the other operand, two sums
BUTTERFLY_COLUMNS = (9, 4)   # Shoup: high and two low products
SCALE = (5, 4)               # by a constant, Shoup
JOIN = (8, 3)                # four planes of a conversion to one residue
PRODUCT = (1, 2)             # 64-bit multiply-add
REDUCE = (10, 8)             # a sum of products of data: two Montgomery reductions
COMBINE = (9, 4)             # x f - y + add: a product (Shoup), a difference, a sum
PLANES = 16                  # products of bytes for one word times one word


@dataclass
class Shape:
    """Key switching of `limbs` primes with `aux` auxiliary ones, which is also the digits' size."""

    n: int
    limbs: int
    aux: int
    digits: list[int] = field(init=False)

    def __post_init__(self) -> None:
        self.digits = [min(self.aux, self.limbs - first) for first in range(0, self.limbs, self.aux)]

    @property
    def log_rows(self) -> int:
        return int(math.log2(self.n)) // 2

    @property
    def log_columns(self) -> int:
        return int(math.log2(self.n)) - self.log_rows

    def rows(self, work: Work, limbs: float) -> Work:
        return work.add(limbs * self.n * self.log_columns / 2, *BUTTERFLY_ROWS)

    def columns(self, work: Work, limbs: float) -> Work:
        return work.add(limbs * self.n * self.log_rows / 2, *BUTTERFLY_COLUMNS)

    def tile(self, conversions: list[tuple[int, int]]) -> Work:
        """Of (sources, targets): columns back, scale, products on the matrix units, columns."""
        work = Work()
        for sources, targets in conversions:
            work = self.columns(work, sources + targets).add(sources * self.n, *SCALE)
            work = work.add(targets * self.n, *JOIN, PLANES * sources)
        return work


def work(name: str, shape: Shape) -> Work | None:
    """The least work of a benchmark of bench_records; None for those that have no formula."""
    n, limbs, aux, extended = shape.n, shape.limbs, shape.aux, shape.limbs + shape.aux
    up = [(own, extended - own) for own in shape.digits]
    if name == "poly.intt_rows":
        return shape.rows(Work(), limbs).add(limbs * n, *SCALE)
    if name == "poly.ntt_rows":
        return shape.rows(Work(), limbs)
    if name in ("poly.ntt", "poly.intt"):
        return shape.rows(shape.columns(Work(), limbs), limbs)
    if name == "poly.mod_up":
        return shape.tile(up)
    if name == "poly.key_inner":
        work = shape.rows(Work(), sum(targets for _, targets in up) + 2 * aux)
        return work.add(2 * extended * n * len(up), *PRODUCT).add(2 * extended * n, *REDUCE)
    if name == "poly.mod_switch_tile":
        return shape.tile([(aux, limbs)] * 2)
    if name == "poly.subtract_scale":
        return shape.rows(Work(), 2 * limbs).add(2 * limbs * n, *COMBINE)
    if name == "ckks.rotate":
        total = Work()
        for part in PASSES:
            one = work_of(part, shape)
            total = total.add(1, one.issue, one.multiply, one.matrix)
        return total
    if name == "ckks.add":
        return Work().add(2 * limbs * n, 3)
    if name == "poly.tensor":
        return Work().add(4 * limbs * n, *PRODUCT).add(3 * limbs * n, *REDUCE)
    return Work() if name == "poly.copy" else None


PASSES = ("poly.intt_rows", "poly.mod_up", "poly.key_inner", "poly.mod_switch_tile", "poly.subtract_scale")


def input_bytes(name: str, shape: Shape) -> int | None:
    """Those of the words that one of the passes reads, once each; the rest of its bytes it writes."""
    limbs, aux = shape.limbs, shape.aux
    read = {"poly.intt_rows": limbs, "poly.mod_up": limbs, "poly.key_inner": 3 * (limbs + aux) * len(shape.digits),
            "poly.mod_switch_tile": 2 * aux, "poly.subtract_scale": 5 * limbs}
    return 4 * shape.n * read[name] if name in read else None


def work_of(name: str, shape: Shape) -> Work:
    found = work(name, shape)
    assert found is not None, name
    return found


def rooflined(row: Row) -> Row | None:
    """The row with its least work, the resource that binds and the fraction of it that is reached."""
    params, ceilings = row.get("params", {}), CEILINGS.get(row.get("device", ""))
    if ceilings is None or row.get("preset") != "none" or not {"N", "limbs", "aux"} <= params.keys():
        return None
    least = work(row["name"], Shape(params["N"], params["limbs"], params["aux"]))
    if least is None:
        return None
    amounts = {"memory": row["bytes_moved"], "issue": least.issue, "multiply": least.multiply, "matrix": least.matrix}
    seconds = {k: v / ceilings[k] for k, v in amounts.items()}
    binding = max(seconds, key=lambda k: seconds[k])
    return {**row, "name": f"roofline.{row['name'].split('.', 1)[1]}", "least_us": round(1e6 * seconds[binding], 3),
            "binding": binding, "ceiling_fraction": round(1e6 * seconds[binding] / row["value"], 3),
            "instructions": round(least.issue), "multiplies": round(least.multiply), "products8": round(least.matrix)}


def show(rows: list[Row]) -> None:
    print(f"{'kernel':18} {'limbs':>5} {'us':>8} {'MB':>7} {'G instr':>8} {'G mul':>7} {'G int8':>7} "
          f"{'least us':>8} {'bound by':>9} {'fraction':>8}")
    for r in rows:
        print(f"{r['name'][9:]:18} {r['params']['limbs']:5} {r['value']:8.2f} {r['bytes_moved'] / 1e6:7.1f} "
              f"{r['instructions'] / 1e9:8.3f} {r['multiplies'] / 1e9:7.3f} {r['products8'] / 1e9:7.2f} "
              f"{r['least_us']:8.2f} {r['binding']:>9} {r['ceiling_fraction']:8.2f}"
              + ("  *" if r["ceiling_fraction"] < EXPLAINED else ""))
    print(f"* under {EXPLAINED:.0%} of the binding ceiling")


def checked(rows: list[Row], counted: list[Row]) -> list[Row]:
    """Adds to each row what the hardware counted, where it counted that kernel at these limbs."""
    by_shape = {(c["name"], c["params"]["limbs"]): c for c in counted}
    out = []
    for row in rows:
        found = by_shape.get((row["name"].replace("roofline.", "counters."), row["params"]["limbs"]), {})
        extra = {k: v for k, v in found.items() if k.startswith("counted_") or k.endswith("_percent")}
        if extra:
            shape = Shape(*(row["params"][k] for k in ("N", "limbs", "aux")))
            # Reads beside reads: what a kernel writes stays in the L2 past its end, and DRAM sees little of it.
            least = {"DRAM reads": ("counted_dram_read", input_bytes(row["name"].replace("roofline.", "poly."), shape)),
                     "L2 bytes": ("counted_l2_bytes", row["bytes_moved"]),
                     "instructions": ("counted_instructions", row["instructions"])}
            ratios = {label: extra[key] / value for label, (key, value) in least.items() if key in extra and value}
            busy = {k[:-8]: v for k, v in extra.items() if k.endswith("_percent")}
            print(f"{row['name'][9:]:18} {row['params']['limbs']:5} counted / least: "
                  + ", ".join(f"{k} {v:.2f}" for k, v in ratios.items())
                  + "; busy %: " + ", ".join(f"{k} {v:.0f}" for k, v in busy.items()))
        out.append({**row, **extra})
    return out


def run(args: argparse.Namespace) -> tuple[list[Row], bool]:
    """Measures the records, or takes a record of them, and prints the table."""
    if args.files:
        measured = [row for path in args.files for row in records.read(Path(path))]
    else:
        options = {"device": "cuda", "limbs": LIMBS, "replays": args.runs or 15}
        measured, _ = programs.run_program("bench_records", options)
    rows = [r for r in map(rooflined, measured) if r is not None]
    if not rows:
        raise errors.UnsupportedError.explain(
            "bench roofline", "no rows of a device with measured ceilings", f"one of {', '.join(CEILINGS)}",
            "measure its ceilings and add them to roofline.py")
    show(rows)
    counted = [row for row in measured if row["name"].startswith("counters.")]
    return (checked(rows, counted) if counted else rows), True
