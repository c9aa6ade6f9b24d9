"""Random programs on encrypted approximate numbers: are the values right, and is the precision what was claimed?"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ... import errors
from ...client import Client, keygen
from ...context import Context
from ...known import Range, RangeWarning
from ...plan import Shape
from ...program import record
from .result import Claimed, Result

LEVELED, BOOTSTRAPPED = "test-n10-leveled-insecure", "test-n10-boot-insecure"
SIZES = (1, 5, 64, 512, 512, 700, 1024)
WRONG = 2.0**6  # times the claimed error: no longer a matter of precision
Operands = list[np.ndarray]
Step = Callable[..., Any]


def operand(rng: np.random.Generator, size: int) -> np.ndarray:
    """Values of magnitude 1e-3 to 1e3: random, positive, with a mean, constant, alternating or sparse; real or
    complex."""
    magnitude = 10.0 ** rng.uniform(-3, 3)
    kind = rng.integers(6)
    x = rng.uniform(-1, 1, size)
    if kind == 1:
        x = rng.uniform(0, 1, size)
    elif kind == 2:
        x = 0.7 + 0.3 * x
    elif kind == 3:
        x = np.full(size, float(rng.uniform(-1, 1)))
    elif kind == 4:
        x = np.where(np.arange(size) % 2, -0.8, 0.8)
    elif kind == 5:
        x = np.where(rng.uniform(0, 1, size) < 0.02, x, 0.0)
        x[rng.integers(size)] = 0.9
    if rng.integers(3) == 0:
        x = x * np.exp(1j * rng.uniform(0, 2 * np.pi))
    return x * magnitude


@dataclass
class Program:
    """Steps on a list of arrays, encrypted or not: each appends its result, the last one is the program's."""

    names: list[str]
    steps: list[Step]

    def __call__(self, *operands: Any) -> Any:
        values = list(operands)
        for step in self.steps:
            values.append(step(values))
        return values[-1]


def _rolled(x: Any, k: int) -> Any:
    return np.roll(x.reshape(-1), -k) if isinstance(x, np.ndarray) else x.rotate(k)


def _conj(x: Any) -> Any:
    return np.conj(x) if isinstance(x, np.ndarray) else x.conj()


def _polynomial(x: Any, c: list[float], bound: float) -> Any:
    if isinstance(x, np.ndarray):
        return np.polynomial.chebyshev.chebval(x / bound, c)
    return x.polyval(c, "chebyshev", (-bound, bound))


def _refreshed(x: Any, ratio: float) -> Any:
    """Refreshed inside the message box: scaled there and back."""
    return x if isinstance(x, np.ndarray) else (x * (1 / ratio)).bootstrap() * ratio


def draw(rng: np.random.Generator, operands: Operands, levels: int, bootstraps: bool) -> Program:
    """A program of a few steps whose values stay within what the modulus holds, whatever it does."""
    clear = [np.asarray(x) for x in operands]
    left = [levels] * len(clear)
    program = Program([], [])
    size = clear[0].size

    def add(name: str, step: Step, cost: int, *used: int) -> None:
        result = np.asarray(step(clear))
        if min(left[i] for i in used) < cost or result.size == 0 or not np.isfinite(result).all():
            return
        if not 1e-9 < np.abs(result).max() < 1e5:
            return
        program.names.append(name)
        program.steps.append(step)
        clear.append(result)
        left.append(min(left[i] for i in used) - cost)

    for _ in range(int(rng.integers(2, 9))):
        here = [i for i, v in enumerate(clear) if v.shape == clear[0].shape]
        i, j = (int(rng.choice(here)) for _ in range(2))
        w = operand(rng, size)
        c = float(rng.uniform(-3, 3))
        k = int(rng.integers(size)) if size > 1 else 0
        bound = float(np.abs(clear[i]).max()) * 1.1
        coefficients = rng.uniform(-1, 1, int(rng.integers(3, 8))).tolist()
        kind = int(rng.integers(12))
        if kind <= 1:
            add("add", lambda v, i=i, j=j: v[i] + v[j], 0, i, j)
        elif kind == 2:
            add("subtract", lambda v, i=i, j=j: v[i] - v[j], 0, i, j)
        elif kind <= 4:
            add("multiply", lambda v, i=i, j=j: v[i] * v[j], 1, i, j)
        elif kind == 5:
            add("times array", lambda v, i=i, w=w: v[i] * w, 1, i)
        elif kind == 6:
            add("plus array", lambda v, i=i, w=w: v[i] + w, 0, i)
        elif kind == 7:
            add("times number", lambda v, i=i, c=c: v[i] * c, 1, i)
        elif kind == 8:
            add("rotate", lambda v, i=i, k=k: _rolled(v[i], k), 1, i)
        elif kind == 9:
            add("conjugate", lambda v, i=i: _conj(v[i]), 0, i)
        elif kind == 10 and np.isrealobj(clear[i]) and bound > 1e-3:
            add("polynomial", lambda v, i=i, c=coefficients, b=bound: _polynomial(v[i], c, b), 4, i)
        elif kind == 11 and bootstraps and bound < 500:
            ratio = float(2.0 ** np.ceil(np.log2(bound * 2)))
            add("bootstrap", lambda v, i=i, r=ratio: _refreshed(v[i], r), 1, i)
            if program.names and program.names[-1] == "bootstrap":
                left[-1] = levels - 1
    last = len(clear) - 1
    if rng.integers(4) == 0:
        add("sum", lambda v, i=last: v[i].sum(), 1, last)
    elif rng.integers(6) == 0 and size <= 64:
        w = rng.uniform(-1, 1, (size, int(rng.integers(1, 40))))
        add("matmul", lambda v, i=last, w=w: v[i] @ w, 1, last)
    if not program.steps:
        add("plus array", lambda v: v[0] + np.ones(size), 0, 0)
    if not program.steps:
        add("negative", lambda v: -v[0], 0, 0)
    return program


class World:
    """Contexts with keys, which programs share as far as their keys serve."""

    def __init__(self, preset: str, device: str, threads: int, auto_bootstrap: bool = False) -> None:
        self.context = Context(preset, device, threads=threads, auto_bootstrap=auto_bootstrap)
        self.client: Client = keygen(self.context)


def run(world: World, seed: int, kind: str, mode: str) -> Result:
    """One program. `kind` of claim: "calibrated" on other data of the same make, or "declared" bounds; `mode`: "eager",
    "recorded" (replayed on the arguments of the recording and on others) or "auto" (bootstraps by itself)."""
    rng = np.random.default_rng(seed)
    bootstraps = world.context.params.has_bootstrap and rng.integers(3) == 0
    size = int(rng.choice(SIZES))
    made = [int(s) for s in rng.integers(0, 2**31, int(rng.integers(1, 4)))]
    operands, samples = ([operand(_make(s, salt), size) for s in made] for salt in (0, 1))
    levels = 60 if mode == "auto" else world.context.level - 1
    program = draw(rng, operands, levels, bootstraps)
    title = f"ckks {world.context.params.name} {kind} {mode} seed {seed}: {', '.join(program.names)}"
    want = np.asarray(program(*operands))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RangeWarning)
        try:
            ranges = [_declared(x) for x in operands]
            shapes = [Shape(x.shape, None, r) for x, r in zip(operands, ranges)]
            plan = world.context.plan(program, *(samples if kind == "calibrated" else shapes))
            world.context.use(world.client.server_keys(plan, show=False))
            encrypted = [world.client.encrypt(x, like=s) if kind == "calibrated" else world.client.encrypt(x, range=r)
                         for x, s, r in zip(operands, samples, ranges)]
            y = (record(program) if mode == "recorded" else program)(*encrypted)
        except (errors.ScaleError, errors.LevelError) as refused:
            return Result(title, len(program.steps), claims=[], refused=str(refused))
        have = world.client.decrypt(y).unmarked()
    difference = np.abs(np.asarray(have) - want)
    claimed = y._known.errors(y.size)
    mean, worst = float(difference.mean()), float(difference.max())
    wrong = ""
    if have.shape != want.shape or worst > WRONG * max(claimed[1], 1e-300):
        wrong = f"an error of {worst:.3g} where {claimed[1]:.3g} is claimed"
    bits = [float(-np.log2(max(v, 1e-300))) for v in (*claimed, mean, worst)]
    return Result(title, len(program.steps), wrong, [Claimed(y._known.kind, y.size, *bits)])


def _make(seed: int, salt: int) -> np.random.Generator:
    """Draws the same kind and magnitude for either salt, and other values: sample data look like the data."""
    return _Twin(seed, salt)  # type: ignore[return-value]


class _Twin:
    """A generator whose first draws, which choose the kind, are the same for all salts."""

    def __init__(self, seed: int, salt: int) -> None:
        self._choices, self._values = np.random.default_rng(seed), np.random.default_rng([seed, salt])

    def uniform(self, low: float, high: float, size: int | None = None) -> Any:
        return self._choices.uniform(low, high) if size is None else self._values.uniform(low, high, size)

    def integers(self, high: int) -> Any:
        return self._choices.integers(high)


def _declared(x: np.ndarray) -> Any:
    return Range(x.real.min(), x.real.max(), (x.imag.min(), x.imag.max()))


def programs(device: str, threads: int, seed: int) -> Iterator[Result]:
    """Programs without end: leveled, with bootstrappings, and bootstrapped automatically."""
    leveled, bootstrapped = World(LEVELED, device, threads), World(BOOTSTRAPPED, device, threads)
    auto = World(BOOTSTRAPPED, device, threads, auto_bootstrap=True)
    while True:
        for kind in ("calibrated", "declared"):
            yield run(leveled, seed, kind, "eager")
            yield run(leveled, seed, kind, "recorded")
            yield run(bootstrapped, seed, kind, "eager")
            yield run(auto, seed, kind, "auto")
        seed += 1
