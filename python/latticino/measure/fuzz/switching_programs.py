"""Random functions of CKKS slots through encrypted tables, comparisons and largest values, against numpy."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ...ckks.context import Context
from ...key_generation import keygen
from ...programs.program import record
from .result import Result

PRESET = "test-n10-boot-insecure"
SIZES = (8, 64, 100)
BOUNDS = (0.25, 1.0, 8.0)
DEVIATIONS = 6.0  # deviations of a value's noise when it is looked up; results beyond them count as wrong


def programs(device: str, threads: int, seed: int) -> Iterator[Result]:
    """Programs without end: each is a table, a comparison or a largest value, and is run at once or replayed."""
    context = Context(PRESET, device, threads=threads)
    client = keygen(context)
    while True:
        rng = np.random.default_rng(seed)
        size, bound = int(rng.choice(SIZES)), float(rng.choice(BOUNDS))
        x, y = rng.uniform(-bound, bound, (2, size))
        kind = _KINDS[int(rng.integers(len(_KINDS)))]
        program, accept = kind(context, rng, size, bound)
        title = f"switching {kind.__name__.strip('_')} of {size} values within {bound:g}, seed {seed}"
        context.use(client.server_keys(program, x, y, show=False))
        runs = record(program) if rng.integers(2) else program
        ends = (-bound, bound)
        values = client.decrypt(runs(client.encrypt(x, range=ends), client.encrypt(y, range=ends))).unmarked().real
        wrong = accept(np.asarray(values), x, y)
        yield Result(title, steps=1, wrong=f"{wrong} values lie outside of what the table allows" if wrong else "")
        seed += 1


Program = Callable[[Any, Any], Any]
Accept = Callable[[np.ndarray, np.ndarray, np.ndarray], int]


def _resolution(context: Context, size: int, bound: float) -> float:
    """The distance from its true place at which a value may be looked up."""
    slots = 1 << (size - 1).bit_length()
    return DEVIATIONS * context.table_report(lambda v: v, bound, slots=slots).argument


def _table(context: Context, rng: np.random.Generator, size: int, bound: float) -> tuple[Program, Accept]:
    a, b, c = rng.uniform(-1, 1, 3)

    def f(v: float) -> float:
        return a * math.sin(3 * v / bound) + b * abs(v) / bound + c

    slope = (3 * abs(a) + abs(b)) / bound
    slots = 1 << (size - 1).bit_length()
    report = context.table_report(f, bound, slots=slots)
    allowed = report.largest + DEVIATIONS * report.deviation + slope * _resolution(context, size, bound)

    def accept(values: np.ndarray, x: np.ndarray, y: np.ndarray) -> int:
        return int((np.abs(values - np.array([f(v) for v in x])) > allowed).sum())

    return (lambda x, y: x.apply_lut(f, bound)), accept


def _compare(context: Context, rng: np.random.Generator, size: int, bound: float) -> tuple[Program, Accept]:
    tie = 2 * _resolution(context, size, 2 * bound)

    def accept(values: np.ndarray, x: np.ndarray, y: np.ndarray) -> int:
        clear = np.abs(x - y) > tie
        return int((np.abs(values - (x > y))[clear] > 2**-8).sum())

    return (lambda x, y: x.compare(y, bound)), accept


def _larger(context: Context, rng: np.random.Generator, size: int, bound: float) -> tuple[Program, Accept]:
    tie = 2 * _resolution(context, size, 2 * bound)

    def accept(values: np.ndarray, x: np.ndarray, y: np.ndarray) -> int:
        allowed = np.where(np.abs(x - y) > tie, 2**-8 * bound, tie)
        return int((np.abs(values - np.maximum(x, y)) > allowed).sum())

    return (lambda x, y: x.max(y, bound)), accept


_KINDS = (_table, _compare, _larger)
