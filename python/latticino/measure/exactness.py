"""`latticino bench exactness`: checks many times that results of TFHE are right. It writes counts and deviations to a
record."""

from __future__ import annotations

import argparse
import math
import operator
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from .. import tfhe
from .._provenance import cpu_name
from ..common import devices, progress_bar
from ..key_generation import keygen
from ..tfhe.functions import maximum, minimum, where
from .records import Row, stamped

GATES = {"exact": "tfhe-gates-v1", "fft64": "tfhe-gates-v2"}  # the sets that are fastest in each arithmetic
INTEGERS, SMALL = "tfhe-2-2-v1", "test-tfhe-2-2-tiny-insecure"
NOISE = ("tfhe-gates-v1", "tfhe-gates-v2", "tfhe-2-2-v1")
NOISE_SAMPLES = 4096
RUNS = 1000  # repetitions of every table entry; the other parts are scaled with them
BATCH = 4096
WIDTHS = (16, 32, 64)

Binary = Callable[[Any, Any], Any]
# The operation on ciphertexts, and the same in numpy: a gate each.
LOGIC: dict[str, tuple[Binary, Binary]] = {
    **{name: (f, f) for name, f in {
        "and": operator.and_, "or": operator.or_, "xor": operator.xor, "xnor": operator.eq, "less": operator.lt,
        "less_equal": operator.le, "greater": operator.gt, "greater_equal": operator.ge}.items()},
    "nand": (lambda x, y: x.apply(lambda a, b: 1 - (a & b), y), lambda x, y: ~(x & y)),
    "nor": (lambda x, y: x.apply(lambda a, b: 1 - (a | b), y), lambda x, y: ~(x | y))}


def _shifted(x: Any, y: Any, left: bool) -> Any:
    """numpy's shift, but 0 where numpy's result would be undefined."""
    bits = x.dtype.itemsize * 8
    by = np.where(y < bits, y, 0).astype(x.dtype)
    return np.where(y < bits, x << by if left else x >> by, 0)


ARITHMETIC: dict[str, tuple[Binary, Binary]] = {
    **{name: (f, f) for name, f in {
        "add": operator.add, "subtract": operator.sub, "multiply": operator.mul, "and": operator.and_,
        "or": operator.or_, "xor": operator.xor, "less": operator.lt, "less_equal": operator.le,
        "equal": operator.eq, "not_equal": operator.ne, "greater": operator.gt, "greater_equal": operator.ge}.items()},
    "minimum": (minimum, np.minimum), "maximum": (maximum, np.maximum),
    "shift_left": (operator.lshift, lambda x, y: _shifted(x, y, True)),
    "shift_right": (operator.rshift, lambda x, y: _shifted(x, y, False)),
    "where": (lambda x, y: where(x < y, y, x), np.maximum),
}


class _Part:
    """A set with keys on the device, and the counts of one part of the run."""

    def __init__(self, name: str, args: argparse.Namespace) -> None:
        self.ctx = tfhe.Context(name, args.device, threads=args.threads, arithmetic=args.arithmetic)
        self.client = keygen(self.ctx)
        self.ctx.use(self.client.server_keys(show=False))
        self.rng = np.random.default_rng(1)
        self.cases = self.wrong = self.bootstrappings = 0
        self.start = time.monotonic()

    def compare(self, got: tfhe.EncryptedArray, want: np.ndarray) -> None:
        """Counts results that decrypt to a wrong value."""
        self.cases += want.size
        self.wrong += int((self.client.decrypt(got) != want).sum())

    def count(self, program: Callable[..., Any], *examples: Any) -> None:
        self.bootstrappings += self.ctx.plan(program, *examples).bootstrappings

    def row(self, what: str) -> Row:
        self.ctx.synchronize()
        seconds = time.monotonic() - self.start
        kind = self.ctx.device.partition(":")[0]
        print(f"{what:24} {self.ctx.params.name:28} {self.cases:>9,} cases, {self.bootstrappings:>11,} bootstrappings, "
              f"{self.wrong} wrong ({seconds:.1f} s)", flush=True)
        return {"name": f"tfhe.exactness.{what}", "value": self.wrong, "unit": "wrong results", "cases": self.cases,
                "bootstrappings": self.bootstrappings, "seconds": round(seconds, 2),
                "device": self.ctx._native.device["name"] if kind == "cuda" else cpu_name(), "backend": kind,
                "mode": "immediate", "preset": self.ctx.params.name, "params": {"arithmetic": self.ctx.arithmetic}}


def run(args: argparse.Namespace) -> tuple[list[Row], bool]:
    """Runs every part that was asked for. It passes if no result is wrong."""
    devices.choose(args.device)
    runs = args.runs or RUNS
    if args.part == "noise":
        return _noise(args, runs)
    parts = {"gates": _gates, "tables": _tables, "u8": _u8, "wide": _wide}
    rows = [row for name in ([args.part] if args.part else parts) for row in parts[name](args, runs)]
    wrong, cases = sum(r["value"] for r in rows), sum(r["cases"] for r in rows)
    print(f"{wrong} wrong results in {cases:,} cases")
    return [stamped(row) for row in rows], wrong == 0


def _gates(args: argparse.Namespace, runs: int) -> Iterator[Row]:
    """Runs `runs` thousand gates of all kinds. Each takes a fresh ciphertext and an earlier result; MUX takes one
    more."""
    part = _Part(args.preset or GATES[args.arithmetic], args)
    total = runs * 1000
    batch = min(BATCH, total)
    clear = [part.rng.integers(0, 2, batch).astype(bool) for _ in range(5)]
    fresh = [part.client.encrypt(x) for x in clear]
    y, cy = fresh.pop(), clear.pop()
    rounds = -(-total // batch)
    kinds = [*LOGIC.values(), None]
    for i in progress_bar.track(range(rounds), "gates"):
        kind = kinds[i % len(kinds)]
        x, cx = fresh[i % len(fresh)], clear[i % len(clear)]
        if kind is None:
            other = (i + 1) % len(fresh)
            z, cz = where(y, x, fresh[other]), np.where(cy, cx, clear[other])
        else:
            z, cz = kind[0](x, y), kind[1](cx, cy)
        part.bootstrappings += batch * (1 if kind else 2)
        part.compare(z, cz)
        if 0.1 < cz.mean() < 0.9:  # because chains of one kind end in constants
            y, cy = z, cz
    yield part.row("gates")


def _noise(args: argparse.Namespace, runs: int) -> tuple[list[Row], bool]:
    """Deviations of fresh results of bootstrappings, and what key and modulus switch add before the next one.

    Good where results are right and both are the predicted ones within four deviations of an estimate from so many
    samples and the key's n random bits.
    """
    rows: list[Row] = []
    samples, good = max(16, NOISE_SAMPLES * runs // RUNS), True
    for name in [args.preset] if args.preset else NOISE:
        part = _Part(name, args)
        clear = part.rng.integers(0, 2 if part.ctx.params.booleans else 4, samples, dtype=np.uint8)
        errors: tuple[list[Any], list[Any]] = [], []
        for at in progress_bar.track(range(0, samples, 256), name):
            want = clear[at:at + 256]
            if part.ctx.params.booleans:
                want = want.astype(bool)
                got = part.client.encrypt(want) & part.client.encrypt(np.ones_like(want))
            else:
                got = part.client.encrypt(want, "u2").apply(np.arange(4, dtype=np.uint8))  # one block each
            part.bootstrappings += want.size
            part.compare(got, want)
            for batch in got._parts:
                errors[0].append(part.client._native.errors(batch))
                errors[1].append(part.client._native.switch_errors(part.ctx.keys._native, batch))
        row, well = _deviations(part, *(np.concatenate(e) for e in errors))
        rows, good = [*rows, stamped(row)], good and well
    return rows, good


def _deviations(part: _Part, results: np.ndarray, switches: np.ndarray) -> tuple[Row, bool]:
    """One row: measured and predicted deviations, log2 of the torus, and the failure exponents of both."""
    params, fourier = part.ctx.params, part.ctx.arithmetic == "fft64"
    predicted = params.variances(fourier)
    measured = [float(np.mean(e * e)) for e in (results, switches)]
    exponents = params.log_failure_of(*measured), params.log_failure_of(*predicted)
    near = 4 * math.sqrt(2 / results.size + 1 / params.lwe_dimension)
    agrees = all(abs(m / p - 1) <= near for m, p in zip(measured, predicted))
    row = part.row("noise")
    log2 = {}
    for name, values in (("measured", measured), ("predicted", predicted)):
        for what, variance in zip(("result", "switch"), values):
            log2[f"{what}_log2_{name}"] = round(math.log2(variance) / 2, 3)
    print("  result 2^{result_log2_measured} (predicted 2^{result_log2_predicted}), switches 2^{switch_log2_measured} "
          "(2^{switch_log2_predicted})".format(**log2) + f"; fails with 2^{exponents[0]:.1f} (2^{exponents[1]:.1f})"
          + ("" if agrees else "  DIFFERS FROM THE PREDICTION"))
    more = {"samples": results.size, **log2, "log2_failure_predicted": round(exponents[1], 1),
            "params": {**row["params"], "threads": part.ctx.threads}}
    wrong = row["value"]
    changed = {"value": round(exponents[0], 1), "unit": "log2 failure", "wrong": wrong, **more}
    return {**row, **changed}, agrees and wrong == 0


def _tables(args: argparse.Namespace, runs: int) -> Iterator[Row]:
    """Looks up every entry of random tables of 4 bits, `runs` times each."""
    part = _Part(args.preset or INTEGERS, args)
    x = np.tile(np.arange(16, dtype=np.uint8), runs)
    for table in (np.arange(16, dtype=np.uint8), *(part.rng.integers(0, 16, (2, 16), dtype=np.uint8))):
        part.compare(part.client.encrypt(x, "u4").apply(np.ascontiguousarray(table)), table[x])
        part.count(lambda a, table=table: a.apply(table), tfhe.Shape(x.shape, "u4"))
    yield part.row("tables")
    yield _tables_of(args, runs, "tables_shared", {"bool": ["u2"] * 8, "u2": ["u2"] * 4, "u4": ["u2", "bool"]})
    yield _tables_of(args, runs, "tables_full", {"m4": ["m4", "u4", "bool"]})


def _tables_of(args: argparse.Namespace, runs: int, what: str, types: dict[str, list[str]]) -> Row:
    """Looks up every entry of random tables at once, `runs` times each. For each type of argument there is a table for
    each type of result."""
    part = _Part(args.preset or INTEGERS, args)
    for dtype, results in types.items():
        entries = 2 if dtype == "bool" else 1 << int(dtype[1:])
        x = np.tile(np.arange(entries, dtype=np.uint8), runs)
        tables = [part.rng.integers(0, 2 if r == "bool" else 1 << int(r[1:]), entries, dtype=np.uint8) for r in results]
        for got, table in zip(part.client.encrypt(x, dtype).apply_many(tables, dtype=results), tables):
            part.compare(got, table[x])
        part.count(lambda a, t=tables, r=results: a.apply_many(t, dtype=r), tfhe.Shape(x.shape, dtype))
    return part.row(what)


def _u8(args: argparse.Namespace, runs: int) -> Iterator[Row]:
    """Computes with every pair of bytes, at a small insecure set. If `runs` is below 1000, it takes a sample of the
    pairs."""
    pairs = np.arange(1 << 16)
    rng = np.random.default_rng(1)
    if runs < RUNS:
        pairs = rng.choice(pairs, max(1, len(pairs) * runs // RUNS), replace=False)
    x, y = (pairs >> 8).astype(np.uint8), (pairs & 255).astype(np.uint8)
    part = _Part(SMALL, args)
    _compare_all(part, x, y, "u8 pairs")
    yield part.row("u8_exhaustive" if runs >= RUNS else "u8_sample")


def _wide(args: argparse.Namespace, runs: int) -> Iterator[Row]:
    """Computes `runs` random cases in all, over widths and operations. Edge cases are among them."""
    for width in WIDTHS:
        part = _Part(args.preset or INTEGERS, args)
        each = -(-runs // (len(WIDTHS) * len(ARITHMETIC)))
        x, y = (part.rng.integers(0, 2**width, each + 3, dtype=np.uint64).astype(f"uint{width}") for _ in range(2))
        x[:2], y[:3] = (0, 2**width - 1), (2**width - 1, 1, width - 1)
        x, y = x[:each], y[:each]
        _compare_all(part, x, y, f"u{width}")
        yield part.row(f"u{width}")


def _compare_all(part: _Part, x: np.ndarray, y: np.ndarray, title: str) -> None:
    a, b = part.client.encrypt(x), part.client.encrypt(y)
    for ours, numpys in progress_bar.track(list(ARITHMETIC.values()), title):
        part.compare(ours(a, b), numpys(x, y))
        part.count(ours, a, b)
