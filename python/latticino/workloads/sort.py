"""`latticino demo sort`: sorts encrypted numbers, and compares with the same sort in the clear."""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from .. import errors
from ..array_functions import sort
from ..ckks.client import Client
from ..ckks.context import Context
from ..ckks.plan import Plan
from ..claims.precision import Precision, precision
from ..functions.sorting import Sorting, fit_sort
from ..key_generation import keygen
from ..programs.program import Program

MIB = 2**20
SMALL, LARGE = 16, 2**14  # default count of numbers, on a CPU and on a GPU
BITS = 12.0
# Bits of an exchange, by log2 of the scale. The largest error of sorted numbers is then about as small as that of
# Cheddar's sort, whose Table 6 has largest errors. At 2^30 no exchange is more precise.
BITS_AT = {30: 12.0, 35: 15.5, 40: 15.5, 48: 16.0}
_DIFFERENT = 10  # number of distinct values of the data with duplicates


@dataclass
class Row:
    """The measurement of one sort; ``clear``: the error of the same polynomials in the clear."""

    kind: str
    seconds: list[float]
    precision: Precision
    clear: Precision
    got: np.ndarray
    want: np.ndarray


@dataclass
class Result:
    """The measurements of the demo."""

    preset: str
    device: str
    device_name: str
    bits: float
    fit: Sorting
    sizes: dict[str, int]  # facts of the parameters and the data
    bootstraps: int = 0  # bootstrappings of one sort
    rows: list[Row] = field(default_factory=list)
    key_bytes: int = 0
    device_peak_bytes: int = 0
    predicted: float = 0.0
    predicted_peak_bytes: int = 0
    predicted_bits: float = 0.0
    predicted_worst_bits: float = 0.0
    mode: str = "immediate"  # or "replayed"


def numbers(kind: str, size: int, seed: int = 1) -> np.ndarray:
    """Generated numbers from 0 to 1."""
    rng = np.random.default_rng(seed)
    random = rng.uniform(0, 1, size)
    return {"random": random, "sorted": np.sort(random), "reversed": np.sort(random)[::-1].copy(),
            "duplicates": rng.integers(0, _DIFFERENT, size) / (_DIFFERENT - 1)}[kind]


KINDS = ("random", "sorted", "reversed", "duplicates")


def planned(context: Context, size: int, bits: float) -> Plan:
    """The plan of a sort. Its bits are those that other random numbers keep. Of any numbers of the range a plan could
    only claim a bound, to which every exchange adds."""
    return context.plan(lambda x: sort(x, (0, 1), bits), numbers("random", size, seed=2))


def run(preset: str, device: str | None = None, size: int | None = None, bits: float = BITS, threads: int = 0,
        repeat: int = 1, recorded: bool = False) -> Result:
    """Sorts numbers of each kind, the random ones `repeat` times, and prints a line for each. ``recorded``: the sort is
    recorded once, and replayed for each."""
    for name, value in (("size", size), ("repeat", repeat)):
        if value is not None and value < 1:
            raise errors.ValueError.explain("demo", f"--{name} {value}", "1 or more", "leave it out for the default")
    context = Context(preset, device, threads=threads)
    count = size if size is not None else SMALL if context.device == "cpu" else LARGE
    params = context.params

    def sorted_up(x: Any) -> Any:
        return sort(x, (0, 1), bits)

    program: Callable[[Any], Any] = sorted_up
    plan = planned(context, count, bits)
    sizes = {"N": params.n, "limbs": params.limbs(params.top_level), "slots": context.slots, "batch": 1,
             "threads": threads, "values": count}
    result = Result(preset, context.device, context._native.device["name"], bits, fit_sort(count, (0, 1), bits), sizes,
                    plan.bootstraps, predicted=plan.prepared_seconds, predicted_bits=plan.bits[0][0],
                    predicted_peak_bytes=plan.recorded_peak_bytes if recorded else plan.peak_bytes,
                    predicted_worst_bits=plan.bits[0][1], mode="replayed" if recorded else "immediate")
    client = _prepared(context, plan, result)
    if recorded:
        start = time.monotonic()
        replayed = Program(sorted_up).record(client.encrypt(numbers(KINDS[0], count), range=(0, 1)))
        context.synchronize()
        print(f"recorded in {time.monotonic() - start:.1f} s: {replayed.arena_bytes / MIB:,.0f} MiB of its own")
        program = replayed
    print(f"{'numbers':>12} {'time':>10} {'precision':>26} {'polynomials in the clear':>26}")
    for kind in KINDS:
        row = _sorted(context, client, program, kind, result, repeat if kind == "random" else 1)
        result.rows.append(row)
        print(f"{kind:>12} {_time(float(np.median(row.seconds))):>10} {row.precision!s:>26} {row.clear!s:>26}",
              flush=True)
    result.device_peak_bytes = context.peak_bytes
    _summary(result)
    return result


def _prepared(context: Context, plan: Plan, result: Result) -> Client:
    fit = result.fit
    print(f"{fit.count:,} generated numbers from 0 to 1: {fit.stages} stages of {fit.comparisons:,} comparisons in "
          f"all, polynomials of degrees {', '.join(map(str, fit.sign.degrees))}")
    print(f"parameters {result.preset}: N = 2^{context.params.log_n}, log2 PQ = {context.params.log_pq:.0f}, "
          f"device {context.device} ({result.device_name})")
    print(f"plan: {plan.bootstraps} bootstrappings, {len(plan.keys)} evaluation keys, {plan.key_bytes / MIB:,.0f} MiB; "
          f"peak memory about {plan.peak_bytes / MIB:,.0f} MiB; about {_time(plan.prepared_seconds)} for a sort")
    print(f"plan: random numbers keep {plan.bits[0][0]:.1f} bits in the mean, {plan.bits[0][1]:.1f} in the worst place")
    start = time.monotonic()
    client = keygen(context)
    context.use(client.server_keys(plan))
    result.key_bytes = context.keys.bytes
    print(f"keys generated in {time.monotonic() - start:.1f} s: {result.key_bytes / MIB:,.0f} MiB")
    return client


def _sorted(context: Context, client: Client, program: Any, kind: str, result: Result, repeat: int) -> Row:
    x = numbers(kind, result.fit.count)
    want, encrypted = np.sort(x), client.encrypt(x, range=(0, 1))
    seconds = []
    for _ in range(repeat):
        y: Any = None  # a result that is kept is no memory of the next sort
        start = time.monotonic()
        y = program(encrypted)
        context.synchronize()
        seconds.append(time.monotonic() - start)
    got = client.decrypt(y).unmarked()
    return Row(kind, seconds, precision(got, want), precision(result.fit(x), want), got, want)


def _time(seconds: float) -> str:
    return f"{seconds:.2f} s" if seconds >= 1 else f"{1e3 * seconds:.1f} ms"


def _summary(r: Result) -> None:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(f"\n{r.fit.count:,} numbers in {_time(float(np.median(r.rows[0].seconds)))} with {r.bootstraps} "
          f"bootstrappings (predicted: {_time(r.predicted)}); peak memory {peak / MIB:,.0f} MiB of the process, "
          f"{r.device_peak_bytes / MIB:,.0f} MiB of the library's buffers")


def verdict(r: Result) -> int:
    """0 if every sort is within the error bound of its polynomials. Otherwise it prints which are not and returns 1."""
    for row in r.rows:
        worst = float(np.abs(row.got - row.want).max())
        if worst > r.fit.error + 2.0**-10:
            print(f"{row.kind} numbers are wrong by up to {worst:.3g}, more than the bound {r.fit.error:.3g}",
                  file=sys.stderr)
            return 1
    return 0


def row(r: Result) -> dict[str, Any]:
    """The measurements as a row of a record; the value is the median time of a sort of random numbers."""
    random = r.rows[0]
    low, middle, high = (float(x) for x in np.quantile(random.seconds, [0.25, 0.5, 0.75]))
    spread = {"low": low, "high": high} if len(random.seconds) > 1 else {}
    return {"name": "sort.run", "value": middle, "unit": "s", "median_of": len(random.seconds), **spread,
            "device": r.device_name, "backend": r.device.partition(":")[0], "mode": r.mode, "preset": r.preset,
            "params": {**r.sizes, "bits": r.bits, "stages": r.fit.stages}, "bootstraps": r.bootstraps,
            "predicted": r.predicted, "key_bytes": r.key_bytes, "peak_bytes": r.device_peak_bytes,
            "predicted_peak_bytes": r.predicted_peak_bytes, "predicted_bits": r.predicted_bits,
            "predicted_worst_bits": r.predicted_worst_bits,
            "mean_error_bits": random.precision.mean, "max_error_bits": random.precision.worst,
            **{f"{row.kind}_mean_error_bits": row.precision.mean for row in r.rows[1:]}}


def plot(r: Result, path: Path) -> None:
    """Draws the sorted numbers, and their errors."""
    from .demo import require_plots

    require_plots()
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, (top, bottom) = plt.subplots(2, 1, figsize=(7, 6), sharex=True, layout="constrained")
    random = r.rows[0]
    top.plot(numbers("random", r.fit.count), ".", ms=2, color="0.7", label="before")
    top.plot(random.want, "s", ms=6, mfc="none", color="C1", label="sorted in the clear",
             markevery=max(1, r.fit.count // 32))
    top.plot(random.got, ".", ms=3, color="C0", label="sorted encrypted")
    top.set(ylabel="value", title=f"{r.fit.count:,} encrypted numbers sorted\n{r.preset}, {r.device}")
    top.legend(loc="upper left")
    for line in r.rows:
        bottom.semilogy(np.maximum(np.abs(line.got - line.want), 2.0**-40), ".", ms=3, label=line.kind)
    bottom.axhline(2.0**-r.bits, color="0.6", lw=1, label=f"2^-{r.bits:g}")
    bottom.set(xlabel="place", ylabel="error")
    bottom.legend(loc="lower right", ncols=2)
    figure.savefig(path, dpi=150)
    plt.close(figure)
    print(f"plot written to {path}")
