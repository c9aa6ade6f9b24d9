"""`latticino bench roofline`: the least work of each kernel, and how close its time comes to the limit that follows.

All formulas are in this file. They count the bytes of each input read once and each output written once, and the
arithmetic of the transforms and conversions. They do not count addresses, exchanges and twiddles. `checked` compares
them with the hardware counters that bench/counters.py collects.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from dataclasses import astuple, dataclass, field
from pathlib import Path

from .. import errors
from . import programs, records
from .records import Row

# Rates per second. Those of int8 products on the matrix units and of doubles are of the data sheet. A record of
# `latticino bench ceilings` replaces all but the matrix units' where it is given beside the measured rows.
CEILINGS = {"NVIDIA H200": {"memory": 4.2e12, "issue": 31e12, "multiply": 16.5e12, "matrix": 989e12,
                            "double": 17e12}}
LIMBS = "47,23,13,7"
EXPLAINED = 0.6  # fraction of the binding ceiling; docs/lab/roofline.md gives reasons for smaller ones
DRAWN = {"poly.intt_rows": "rows back to Half", "poly.mod_up": "ModUp", "poly.key_inner": "products with keys",
         "poly.mod_switch_tile": "ModDown", "poly.subtract_scale": "last step",
         "poly.dot8x4": "sums of products (no transform)"}


@dataclass
class Work:
    """The operations of one kernel. ``issue``: thread instructions issued; ``multiply``: slots of the 32-bit multiplier
    (a high half or a wide product takes two); ``matrix``: products of bytes on the matrix units; ``double``: operations
    of doubles. ``shared``: bytes of inputs that items share, which a row's bytes_moved counts for each item."""

    issue: float = 0
    multiply: float = 0
    matrix: float = 0
    double: float = 0
    shared: float = 0

    def add(self, count: float, issue: float, multiply: float = 0, matrix: float = 0, double: float = 0,
            shared: float = 0) -> Work:
        return Work(self.issue + count * issue, self.multiply + count * multiply, self.matrix + count * matrix,
                    self.double + count * double, self.shared + count * shared)


# (instructions, multiplier slots) for each kind of step. Sums and minima count separately. Hopper does a sum and a
# minimum in one instruction, so it takes two instructions fewer per butterfly.
BUTTERFLY_ROWS = (10, 5)     # Montgomery: wide, low and high product, a fold of the other operand, two sums
BUTTERFLY_COLUMNS = (9, 4)   # Shoup: high and two low products
SCALE = (5, 4)  # a product with a constant, by Shoup's method
JOIN = (8, 3)  # from the four byte planes of a conversion to one residue
PRODUCT = (1, 2)             # 64-bit multiply-add
FOLD = (2, 0)  # reduction of a sum that has no room for two more products
REDUCE = (10, 8)             # a sum of products of data: two Montgomery reductions
REDUCE_ONCE = (5, 3)  # for data and constants, or if a transform removes R^-1
MULTIPLY = (6, 5)            # a product and one reduction
SUM = (3, 0)
COMBINE = (9, 4)             # x f - y + add: a product (Shoup), a difference, a sum
DIFFERENCE = (6, 4)          # x f - y
LIFT = (7, 7)                # a 64-bit integer: two words times constants, one reduction
WORDS = (15, 11)             # 128 bits: four words times constants, folds, one reduction
QUARTER_ROUND = 12  # a quarter round of ChaCha20: four sums, exclusive ors and rotations
PLANES = 16  # products of bytes for the product of two words
FEW_SOURCES = 4  # conversions of up to so many sources use no matrix units
SLOT_BUTTERFLY = 10  # a butterfly of doubles: four products and six sums, none fused (ops/slot_transform.h)
GUESS = 4  # primes below 2^30 from which a decoded integer is reconstructed


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

    @property
    def words(self) -> int:
        return self.limbs * self.n

    @property
    def one_aux(self) -> int:
        """The number of auxiliary primes if all limbs are one digit: as many as the digit has limbs, and not more than
        there are."""
        return min(self.aux, self.limbs)

    @property
    def left(self) -> int:
        """The number of limbs after a rescaling by two primes."""
        return self.limbs - 2

    def rows(self, work: Work, limbs: float) -> Work:
        return work.add(limbs * self.n * self.log_columns / 2, *BUTTERFLY_ROWS)

    def columns(self, work: Work, limbs: float) -> Work:
        return work.add(limbs * self.n * self.log_rows / 2, *BUTTERFLY_COLUMNS)

    def inverse_rows(self, limbs: float) -> Work:
        return self.rows(Work(), limbs).add(limbs * self.n, *SCALE)

    def tile(self, conversions: list[tuple[int, int]]) -> Work:
        """The work of conversions (sources, targets): columns back, scale, products, columns."""
        work = Work()
        few = max(sources for sources, _ in conversions) <= FEW_SOURCES
        for sources, targets in conversions:
            work = self.columns(work, sources + targets).add(sources * self.n, *SCALE)
            if few:
                work = work.add(targets * self.n * sources, *PRODUCT).add(targets * self.n, *REDUCE_ONCE)
            else:
                work = work.add(targets * self.n, *JOIN, PLANES * sources)
        return work

    def inner(self, digits: int, rows: int, evals: int, halves: int) -> Work:
        """Digits times a key, `rows` of their limbs in Half; limbs of each result in Eval and in Half."""
        work = self.rows(Work(), rows + 2 * halves)
        work = work.add(2 * (evals + halves) * self.n * digits, *PRODUCT)
        return work.add(2 * evals * self.n, *REDUCE).add(2 * halves * self.n, *REDUCE_ONCE)

    def key_inner(self) -> Work:
        rows = sum(self.limbs + self.aux - own for own in self.digits)
        return self.inner(len(self.digits), rows, self.limbs, self.aux)

    def key_inner_product(self) -> Work:
        """The inner product with a key in a multiplication. For its own limbs it adds a1 b1 with a reduction; and a0 b0
        and a0 b1 + a1 b0, each times [P] with one reduction."""
        work = self.key_inner().add(self.words, *PRODUCT).add(self.words, *REDUCE)
        return work.add(3 * self.words, *PRODUCT).add(2 * self.words, *MULTIPLY)

    def slot_stages(self) -> Work:
        """The special FFT of n/2 slots."""
        return Work().add(self.n // 4 * int(math.log2(self.n // 2)), SLOT_BUTTERFLY, double=SLOT_BUTTERFLY)

    def project(self) -> Work:
        """Mixed-radix digits of a few primes, agreement of the others, a quotient, the FFT."""
        guess = min(GUESS, self.limbs)
        work = self.slot_stages().add(self.n, 1, double=1)
        work = work.add(self.n * guess * (guess + 1) / 2, *MULTIPLY)
        return work.add((self.limbs - guess) * self.n, *WORDS)


# By benchmark of bench_records, in the order of bench/record_cases.cc.
FORMULAS: dict[str, Callable[[Shape], Work]] = {
    "poly.copy": lambda s: Work(),
    "ckks.add": lambda s: Work().add(2 * s.words, *SUM),
    "poly.linear4": lambda s: Work().add(8 * s.words, *PRODUCT).add(2 * s.words, *FOLD)
                              .add(2 * s.words, *REDUCE_ONCE),
    "poly.automorphism": lambda s: Work(),
    "poly.automorphism_sum4": lambda s: Work().add(3 * s.words, *SUM),
    "poly.tensor": lambda s: Work().add(4 * s.words, *PRODUCT).add(3 * s.words, *REDUCE),
    "ckks.mul_plain": lambda s: Work().add(2 * s.words, *PRODUCT).add(2 * s.words, *REDUCE),
    "poly.dot8x4": lambda s: Work().add(64 * s.words, *PRODUCT).add(3 * 8 * s.words, *FOLD)
                             .add(8 * s.words, *REDUCE),
    # For two primes: two products modulo the second one, and one product of 64 bits.
    "poly.mod_raise": lambda s: Work().add(2 * s.n, *MULTIPLY).add(s.n, *PRODUCT).add(s.words, *LIFT),
    # Two products and a rounding per coefficient.
    "poly.embed": lambda s: s.slot_stages().add(s.n, 3, double=3).add(s.words, *LIFT),
    "poly.project": lambda s: s.project(),
    # A block of ChaCha20 has four coefficients: 80 quarter rounds and 16 sums.
    "poly.expand": lambda s: Work().add(s.words / 4, 80 * QUARTER_ROUND + 16).add(s.words, *WORDS),
    "poly.ntt": lambda s: s.rows(s.columns(Work(), s.limbs), s.limbs),
    "poly.intt": lambda s: s.rows(s.columns(Work(), s.limbs), s.limbs),
    "poly.ntt_columns": lambda s: s.columns(Work(), s.limbs),
    "poly.ntt_rows": lambda s: s.rows(Work(), s.limbs),
    "poly.intt_rows": lambda s: s.inverse_rows(s.limbs),
    "poly.mod_up": lambda s: s.tile([(own, s.limbs + s.aux - own) for own in s.digits]),
    "poly.key_inner": lambda s: s.key_inner(),
    "poly.mod_switch_tile": lambda s: s.tile([(s.aux, s.limbs)] * 2),
    "poly.subtract_scale": lambda s: s.rows(Work(), 2 * s.limbs).add(2 * s.words, *COMBINE),
    "poly.product_rows": lambda s: s.inverse_rows(s.limbs).add(s.words, *MULTIPLY),
    "poly.key_inner_product": lambda s: s.key_inner_product(),
    "poly.mod_up_one_digit": lambda s: s.tile([(s.limbs, s.one_aux)]),
    "poly.key_inner_one_digit": lambda s: s.inner(1, s.one_aux, 0, s.one_aux),
    "poly.mod_switch_tile_one_digit": lambda s: s.tile([(s.one_aux, s.limbs)] * 2),
    # Both halves multiply the limbs of one polynomial by the key.
    "poly.subtract_scale_one_digit": lambda s: s.rows(Work(), 2 * s.limbs).add(2 * s.words, *COMBINE)
                                               .add(2 * s.words, *MULTIPLY).add(s.words, 0, shared=4),
    "poly.rescale_rows": lambda s: s.inverse_rows(4),
    "poly.rescale_tile": lambda s: s.tile([(2, s.left)] * 2),
    "poly.rescale_last": lambda s: s.rows(Work(), 2 * s.left).add(2 * s.left * s.n, *DIFFERENCE),
}
PASSES = ("poly.intt_rows", "poly.mod_up", "poly.key_inner", "poly.mod_switch_tile", "poly.subtract_scale")
PARTS = {
    "poly.mod_down": PASSES[3:],
    "ckks.mul_relin": ("poly.product_rows", "poly.mod_up", "poly.key_inner_product", *PASSES[3:]),
    "ckks.rotate": PASSES,
    "ckks.rotate_one_digit": ("poly.intt_rows", *(f"{name}_one_digit" for name in PASSES[1:])),
    "ckks.rescale": ("poly.rescale_rows", "poly.rescale_tile", "poly.rescale_last"),
}


def work(name: str, shape: Shape) -> Work | None:
    """The least work of a benchmark of bench_records; None for those that have no formula."""
    if name in PARTS:
        total = Work()
        for part in PARTS[name]:
            total = total.add(1, *astuple(FORMULAS[part](shape)))
        return total
    return FORMULAS[name](shape) if name in FORMULAS else None


def input_bytes(name: str, shape: Shape) -> int | None:
    """The bytes of the words that one of the passes reads, each counted once. The rest of its bytes are written."""
    limbs, aux = shape.limbs, shape.aux
    read = {"poly.intt_rows": limbs, "poly.mod_up": limbs, "poly.key_inner": 3 * (limbs + aux) * len(shape.digits),
            "poly.mod_switch_tile": 2 * aux, "poly.subtract_scale": 5 * limbs}
    return 4 * shape.n * read[name] if name in read else None


def ceilings_of(rows: list[Row]) -> dict[str, dict[str, float]]:
    """The ceilings of devices, with those that rows of `latticino bench ceilings` have measured."""
    ceilings = {device: dict(rates) for device, rates in CEILINGS.items()}
    for row in rows:
        known = ceilings.get(row.get("device", ""), {})
        kind = row["name"].removeprefix("ceiling.")
        if row["name"].startswith("ceiling.") and kind in known:
            known[kind] = row["value"]
    return ceilings


def rooflined(row: Row, all_ceilings: dict[str, dict[str, float]] = CEILINGS) -> Row | None:
    """The row with its least work, the resource that limits it, and the fraction of that limit that is reached."""
    params, ceilings = row.get("params", {}), all_ceilings.get(row.get("device", ""))
    if ceilings is None or row.get("preset") != "none" or not {"N", "limbs", "aux"} <= params.keys():
        return None
    least = work(row["name"], Shape(params["N"], params["limbs"], params["aux"]))
    if least is None:
        return None
    amounts = {"memory": row["bytes_moved"] - least.shared, "issue": least.issue, "multiply": least.multiply,
               "matrix": least.matrix, "double": least.double}
    seconds = {k: v / ceilings[k] for k, v in amounts.items()}
    binding = max(seconds, key=lambda k: seconds[k])
    return {**row, "name": f"roofline.{row['name'].split('.', 1)[1]}", "least_us": round(1e6 * seconds[binding], 3),
            "binding": binding, "ceiling_fraction": round(1e6 * seconds[binding] / row["value"], 3),
            "instructions": round(least.issue), "multiplies": round(least.multiply), "products8": round(least.matrix),
            "doubles": round(least.double)}


def show(rows: list[Row]) -> None:
    print(f"{'kernel':26} {'limbs':>5} {'us':>8} {'MB':>7} {'G instr':>8} {'G mul':>7} {'G int8':>7} "
          f"{'least us':>8} {'bound by':>9} {'fraction':>8}")
    for r in rows:
        print(f"{r['name'][9:]:26} {r['params']['limbs']:5} {r['value']:8.2f} {r['bytes_moved'] / 1e6:7.1f} "
              f"{r['instructions'] / 1e9:8.3f} {r['multiplies'] / 1e9:7.3f} {r['products8'] / 1e9:7.2f} "
              f"{r['least_us']:8.2f} {r['binding']:>9} {r['ceiling_fraction']:8.2f}"
              + ("  *" if r["ceiling_fraction"] < EXPLAINED else ""))
    print(f"* under {EXPLAINED:.0%} of the binding ceiling")


def plot(rows: list[Row], path: Path, ceilings: dict[str, dict[str, float]] = CEILINGS) -> None:
    """Draws instructions per second against instructions per byte, below the limits of memory and instruction rate."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    device = rows[0]["device"]
    memory, issue = ceilings[device]["memory"], ceilings[device]["issue"]
    figure, ax = plt.subplots(figsize=(8, 4.8), layout="constrained")
    intensities = [0.5, issue / memory, 40]
    ax.plot(intensities, [min(memory * x, issue) / 1e12 for x in intensities], color="black")
    ax.annotate(f"memory: {memory / 1e12:g} TB/s", (1.0, 1.15 * memory / 1e12), rotation=36, rotation_mode="anchor")
    ax.annotate(f"instructions: {issue / 1e12:g} T/s", (12, 1.08 * issue / 1e12))
    for name, label in DRAWN.items():
        named = [r for r in rows if r["name"] == f"roofline.{name.split('.')[1]}"]
        line = sorted(named, key=lambda r: r["params"]["limbs"])
        x = [r["instructions"] / r["bytes_moved"] for r in line]
        y = [r["instructions"] / r["value"] / 1e6 for r in line]
        drawn, = ax.plot(x, y, "-", lw=0.8, alpha=0.6)
        ax.scatter(x, y, s=[12 + 2 * r["params"]["limbs"] for r in line], color=drawn.get_color(), label=label)
    ax.set(xscale="log", yscale="log", xlabel="instructions per byte of memory traffic",
           ylabel="10^12 instructions per second", xlim=(0.5, 40), ylim=(0.4, 50),
           title=f"Kernels of a key switch, {device}: small points 7 limbs, large points 47")
    ax.grid(alpha=0.3, which="both", lw=0.4)
    ax.legend(loc="lower right", fontsize="small")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)
    plt.close(figure)
    print(f"plot written to {path}")


def checked(rows: list[Row], counted: list[Row]) -> list[Row]:
    """Adds the hardware counters to each row, if they were taken for that kernel at these limbs."""
    by_shape = {(c["name"], c["params"]["limbs"]): c for c in counted}
    out = []
    for row in rows:
        found = by_shape.get((row["name"].replace("roofline.", "counters."), row["params"]["limbs"]), {})
        extra = {k: v for k, v in found.items() if k.startswith("counted_") or k.endswith("_percent")}
        if extra:
            shape = Shape(*(row["params"][k] for k in ("N", "limbs", "aux")))
            # Of DRAM traffic only reads are compared. What a kernel writes stays in the L2 when it ends, so a counter
            # of writes shows little of it.
            least = {"DRAM reads": ("counted_dram_read", input_bytes(row["name"].replace("roofline.", "poly."), shape)),
                     "L2 bytes": ("counted_l2_bytes", row["bytes_moved"]),
                     "instructions": ("counted_instructions", row["instructions"])}
            ratios = {label: extra[key] / value for label, (key, value) in least.items() if key in extra and value}
            busy = {k[:-8]: v for k, v in extra.items() if k.endswith("_percent")}
            print(f"{row['name'][9:]:26} {row['params']['limbs']:5} counted / least: "
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
    ceilings = ceilings_of(measured)
    rows = [r for r in (rooflined(row, ceilings) for row in measured) if r is not None]
    if not rows:
        raise errors.UnsupportedError.explain(
            "bench roofline", "no rows of a device with measured ceilings", f"one of {', '.join(CEILINGS)}",
            "measure its ceilings (bench ceilings) and add the device to roofline.py")
    show(rows)
    if args.plot:
        plot(rows, args.plot, ceilings)
    counted = [row for row in measured if row["name"].startswith("counters.")]
    return (checked(rows, counted) if counted else rows), True
