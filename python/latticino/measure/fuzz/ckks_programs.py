"""Random programs on encrypted approximate numbers: checks that values are right, and that the precision is as claimed.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ... import _native, errors
from ...ckks.client import Client
from ...ckks.context import Context
from ...ckks.dot import dot
from ...ckks.parameters import make_params
from ...claims.known import Range, RangeWarning
from ...key_generation import keygen
from ...ops.scalar import Scalar
from ...programs.program import record
from .functions import STEPS as FUNCTION_STEPS
from .result import Claimed, Result
from .shapes import STEPS as SHAPE_STEPS

LEVELED, BOOTSTRAPPED = "test-n10-leveled-insecure", "test-n10-boot-insecure"
# Other chains: one prime per level, two, and packed ones, with lists of terminals and with free ones.
CHAINS = ("test-n10-sr-insecure", "test-n10-dr-insecure", "test-n10-bitpacker-insecure",
          "test-n10-d36-w28-free-insecure", "test-n10-dr-boot-insecure",
          "test-n10-d34-w28-boot-insecure", "test-n10-d35-w28-free-boot-insecure")
SIZES = (1, 5, 64, 512, 512, 700, 1024)
FEW = 256  # number of values below which sample data have values near those of the data
WRONG = 2.0**6  # errors of more than this times the claim are wrong values, and not a question of precision
Operands = list[np.ndarray]
Step = Callable[..., Any]


def operand(choices: np.random.Generator, values: np.random.Generator, size: int) -> np.ndarray:
    """Values of magnitude 1e-3 to 1e3: random, positive, with a mean, constant, alternating or sparse, and real or
    complex. Arrays of equal `choices` are of one make: they have the same kind, magnitude and phase, and the same
    places of sparse values.
    """
    magnitude = 10.0 ** choices.uniform(-3, 3)
    kind = choices.integers(6)
    x = values.uniform(-1, 1, size)
    if kind == 1:
        x = values.uniform(0, 1, size)
    elif kind == 2:
        x = 0.7 + 0.3 * x
    elif kind == 3:
        x = np.full(size, float(choices.uniform(-1, 1)))
    elif kind == 4:
        x = np.where(np.arange(size) % 2, -0.8, 0.8)
    elif kind == 5:
        x = np.where(choices.uniform(0, 1, size) < 0.02, x, 0.0)
        x[choices.integers(size)] = 0.9
    if choices.integers(3) == 0:
        x = x * np.exp(1j * choices.uniform(0, 2 * np.pi))
    return x * magnitude


def _made(seed: int, salt: int, size: int) -> np.ndarray:
    """Data that are alike for all salts. Few values are alike too, because a sample shows nothing but those values."""
    few = size < FEW
    x = operand(np.random.default_rng(seed), np.random.default_rng([seed, 0 if few else salt]), size)
    return x * np.random.default_rng([seed, salt]).uniform(0.8, 1.25, size) if few else x


@dataclass
class Program:
    """Steps on a list of arrays, encrypted or not: each appends its result, the last one is the program's.

    ``numbers`` that each run brings anew, as they were drawn: the largest in size that they can be. Steps find those of
    the run in ``given``. ``apart``: how many values of the result may have errors that are independent of each other.
    """

    names: list[str]
    steps: list[Step]
    numbers: dict[str, float] = field(default_factory=dict)
    given: dict[str, Any] = field(default_factory=dict)
    apart: int = 0

    def __call__(self, *operands: Any, **given: Any) -> Any:
        self.given = given
        values = list(operands)
        for step in self.steps:
            value = step(values)
            values.append(np.asarray(value) if isinstance(value, np.generic) else value)
        return values[-1]


def _rolled(x: Any, k: int) -> Any:
    return np.roll(x.reshape(-1), -k).reshape(x.shape) if isinstance(x, np.ndarray) else x.rotate(k)


def _conj(x: Any) -> Any:
    return np.conj(x) if isinstance(x, np.ndarray) else x.conj()


def _polynomial(x: Any, c: list[float], basis: str, domain: tuple[float, float]) -> Any:
    if not isinstance(x, np.ndarray):
        return x.polyval(c, basis, domain)
    y = (2 * x - domain[0] - domain[1]) / (domain[1] - domain[0])
    return np.polynomial.chebyshev.chebval(y, c) if basis == "chebyshev" else np.polynomial.polynomial.polyval(y, c)


def _spread(x: Any, factor: float) -> Any:
    return np.full(x.shape, factor * x.sum()) if isinstance(x, np.ndarray) else x.spread_sum(factor)


def _dot(xs: list[Any], ys: list[Any]) -> Any:
    return sum(x * y for x, y in zip(xs, ys)) if isinstance(xs[0], np.ndarray) else dot(xs, ys)


def _refreshed(x: Any, ratio: float, message: str) -> Any:
    """The values, bootstrapped within the message box: they are scaled to fit into it, and scaled back."""
    return x if isinstance(x, np.ndarray) else (x * (1 / ratio)).bootstrap(message) * ratio


class Drawing:
    """Draws a program of a few steps whose values fit the modulus in any case."""

    def __init__(self, rng: np.random.Generator, operands: Operands, left: list[int], fresh: int,
                 bootstraps: bool, mode: str = "eager", others: Sequence[Operands] = ()) -> None:
        self.rng, self.fresh = rng, fresh
        self.others = [list(several) for several in others]  # the same values for other data
        self.clear, self.left = [np.asarray(x) for x in operands], left
        self.apart = [x.size for x in operands]  # number of values whose errors are independent of each other
        self.program, self.shape, self.of_shapes = Program([], []), operands[0].shape, mode == "shapes"
        more = {"numbers": _NUMBER_STEPS * 3, "shapes": SHAPE_STEPS * 2, "functions": FUNCTION_STEPS}.get(mode, [])
        steps = _STEPS[::3] if mode == "functions" else _STEPS
        self.kinds = [*steps, *([_bootstrap] * 2 if bootstraps else []), *more]
        self._to_move = 0

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    def add(self, name: str, step: Step, cost: int, *used: int, left: int | None = None,
            apart: int | None = None) -> None:
        """Adds a step that takes `cost` levels of the values that it uses, if its result is useful. `apart`: at most so
        many of its values have independent errors."""
        result, cost = np.asarray(step(self.clear)), cost + self._to_move
        if min(self.left[i] for i in used) < cost or result.size == 0 or not np.isfinite(result).all():
            return
        if not 1e-9 < np.abs(result).max() < 1e5:
            return
        self.program.names.append(name)
        self.program.steps.append(step)
        self.clear.append(result)
        for values in self.others:
            values.append(np.asarray(step(values)))
        self.left.append(min(self.left[i] for i in used) - cost if left is None else left)
        self.apart.append(min(result.size, *(self.apart[i] for i in used), result.size if apart is None else apart))

    def number(self, decades: float) -> str:
        """The name of a number that each run gets anew, in a range from the negative of the drawn number up to that
        number."""
        name = f"n{len(self.program.numbers)}"
        value = float(10.0 ** self.rng.uniform(-decades, decades))
        self.program.numbers[name] = self.program.given[name] = value
        return name

    def one(self) -> int:
        """A value of the shape of this step: that of the operands, if the program has no steps of shapes."""
        here = [i for i, v in enumerate(self.clear) if v.shape == self.shape]
        return int(self.rng.choice(here))

    def plain(self) -> np.ndarray:
        """A clear array of that shape."""
        return operand(self.rng, self.rng, self.size).reshape(self.shape)

    def last(self) -> None:
        """Sometimes a sum or a product with a matrix, which ends a program."""
        i = len(self.clear) - 1
        rows = self.clear[i].shape[-1:]
        kind = int(self.rng.integers(8))
        if kind <= 1:
            self.add("sum", lambda v: v[i].sum(), 1, i)
        elif kind == 2 and rows and rows[0] <= 64:
            w = self.rng.uniform(-1, 1, (rows[0], int(self.rng.integers(1, 40))))
            self.add("matmul", lambda v: v[i] @ w, 1, i)

    def drawn(self) -> Program:
        for _ in range(int(self.rng.integers(2, 9))):
            step = self.kinds[int(self.rng.integers(len(self.kinds)))]
            if self.of_shapes:  # values of other shapes may first have to move
                self.shape = self.clear[int(self.rng.integers(len(self.clear)))].shape
                self._to_move = 0 if step in SHAPE_STEPS else 1
            step(self)
        self.last()
        self._to_move = 0
        if not self.program.steps:
            self.add("plus array", lambda v: v[0] + np.ones(v[0].shape), 0, 0)
        if not self.program.steps:
            self.add("negative", lambda v: -v[0], 0, 0)
        self.program.apart = self.apart[-1]
        return self.program


def _add(d: Drawing) -> None:
    i, j = d.one(), d.one()
    d.add("add", lambda v: v[i] + v[j], 0, i, j)


def _subtract(d: Drawing) -> None:
    i, j = d.one(), d.one()
    d.add("subtract", lambda v: v[i] - v[j], 0, i, j)


def _multiply(d: Drawing) -> None:
    i, j = d.one(), d.one()
    d.add("multiply", lambda v: v[i] * v[j], 1, i, j)


def _times_array(d: Drawing) -> None:
    i, w = d.one(), d.plain()
    d.add("times array", lambda v: v[i] * w, 1, i)


def _plus_array(d: Drawing) -> None:
    i, w = d.one(), d.plain()
    d.add("plus array", lambda v: v[i] + w, 0, i)


def _divide(d: Drawing) -> None:
    i, w = d.one(), 10.0 ** d.rng.uniform(-2, 2, d.shape)
    d.add("divide", lambda v: v[i] / w, 1, i)


def _times_number(d: Drawing) -> None:
    i, c = d.one(), float(d.rng.choice([-1, 1]) * 10.0 ** d.rng.uniform(-3, 3))
    d.add("times number", lambda v: v[i] * c, 1, i)


def _times_integer(d: Drawing) -> None:
    i, c = d.one(), int(d.rng.integers(-20, 21))
    d.add("times integer", lambda v: v[i] * c, 0, i)


def _plus_number(d: Drawing) -> None:
    i, c = d.one(), complex(*d.rng.uniform(-3, 3, 2))
    d.add("plus number", lambda v: v[i] + c, 0, i)


def _power(d: Drawing) -> None:
    i, n = d.one(), int(d.rng.integers(2, 6))
    d.add("power", lambda v: v[i] ** n, (n - 1).bit_length(), i)


def _dot_of_pairs(d: Drawing) -> None:
    i, j, k, m = (d.one() for _ in range(4))
    d.add("dot", lambda v: _dot([v[i], v[j]], [v[k], v[m]]), 1, i, j, k, m)


def _rotate(d: Drawing) -> None:
    i, k = d.one(), int(d.rng.integers(d.size))
    d.add("rotate", lambda v: _rolled(v[i], k), 1, i)


def _conjugate(d: Drawing) -> None:
    i = d.one()
    d.add("conjugate", lambda v: _conj(v[i]), 0, i)


def _spread_sum(d: Drawing) -> None:
    i, factor = d.one(), float(d.rng.uniform(-1, 1)) / d.size
    if d.shape in ((64,), (512,)):
        d.add("spread_sum", lambda v: _spread(v[i], factor), 1, i, apart=1)


def _polyval(d: Drawing) -> None:
    i, c = d.one(), d.rng.uniform(-1, 1, int(d.rng.integers(3, 8))).tolist()
    basis = str(d.rng.choice(["chebyshev", "monomial"]))
    # The choices below use a generator of their own, so that programs of known seeds stay the same.
    more = np.random.default_rng(np.array(c).view(np.uint64))
    if more.integers(2):
        _polyval_outside(d, more, i, c, basis)
        return
    x = d.clear[i]
    # A sum of other data of the same kind may lie outside of any domain.
    if np.iscomplexobj(x) or np.abs(x).max() * 1.1 <= 1e-3 or (d.of_shapes and d.apart[i] < d.clear[0].size):
        return
    # because a domain is a statement about all data
    x = np.concatenate([v[i].reshape(-1) for v in (d.clear, *d.others)])
    bound = float(np.abs(x).max()) * 1.1
    domain = (-bound, bound) if d.rng.integers(2) else (float(x.min()) - 0.1 * bound, float(x.max()) + 0.1 * bound)
    if d.size < FEW:  # for few values, other data of the same kind lie next to them, and should be in the domain too
        domain = (-2 * bound, 2 * bound)
    d.add(f"polynomial ({basis})", lambda v: _polynomial(v[i], c, basis, domain), 5, i)


def _polyval_outside(d: Drawing, rng: np.random.Generator, i: int, c: list[float], basis: str) -> None:
    """Polynomials of real and of complex values up to 16 times outside of the domain, with coefficients of every size.
    """
    bound = float(np.abs(d.clear[i]).max())
    if not 1e-3 < bound < 1e3:
        return
    coefficients = (np.array(c) * 10.0 ** rng.uniform(-6, 2, len(c))).tolist()
    half = bound / 2.0 ** rng.uniform(0, 4)
    middle = float(rng.uniform(-1, 1)) * half * float(rng.integers(2))
    domain = (-1.0, 1.0) if bound < 32 and rng.integers(2) else (middle - half, middle + half)
    d.add(f"polynomial ({basis}, outside)", lambda v: _polynomial(v[i], coefficients, basis, domain), 5, i)


def _bootstrap(d: Drawing) -> None:
    i = d.one()
    bound = float(np.abs(d.clear[i]).max())
    if bound < 500:
        ratio = float(2.0 ** np.ceil(np.log2(bound * 2)))
        message = "complex" if np.iscomplexobj(d.clear[i]) or d.rng.integers(2) else "real"
        d.add("bootstrap", lambda v: _refreshed(v[i], ratio, message), 1, i, left=d.fresh)


def _times_scalar(d: Drawing) -> None:
    i, name, given = d.one(), d.number(2), d.program
    d.add("times scalar", lambda v: v[i] * given.given[name], 1, i)


def _times_expression(d: Drawing) -> None:
    i, name, given = d.one(), d.number(1), d.program
    c = complex(*d.rng.uniform(-1, 1, 2))
    d.add("times expression", lambda v: v[i] * (c - given.given[name] ** 2), 1, i)


def _plus_scalar(d: Drawing) -> None:
    i, name, given = d.one(), d.number(1), d.program
    d.add("plus scalar", lambda v: v[i] + given.given[name], 0, i)


def _over_scalar(d: Drawing) -> None:
    i, name, given = d.one(), d.number(1), d.program
    d.add("over scalar", lambda v: v[i] / (3 * abs(given.numbers[name]) + given.given[name]), 1, i)


_NUMBER_STEPS: list[Callable[[Drawing], None]] = [_times_scalar, _times_expression, _plus_scalar, _over_scalar]
_STEPS: list[Callable[[Drawing], None]] = [
    _add, _add, _subtract, _multiply, _multiply, _times_array, _plus_array, _divide, _times_number, _times_integer,
    _plus_number, _power, _dot_of_pairs, _rotate, _conjugate, _spread_sum, _polyval, _polyval]


class World:
    """Contexts with keys. Programs share them if the keys are those that they need."""

    def __init__(self, params: str | _native.Params, device: str, threads: int, auto_bootstrap: bool = False) -> None:
        self.context = Context(params, device, threads=threads, auto_bootstrap=auto_bootstrap)
        self.client: Client = keygen(self.context)
        self._seed: int | None = None

    def use_keys(self, seed: int | None, program: Any, encrypted: list[Any]) -> None:
        """Keys for the program of a seed, which all kinds of claims and modes share; None: for a program of its own."""
        if seed is None or seed != self._seed:
            self._seed = None
            self.context.use(self.client.server_keys(self.context.plan(program, *encrypted), show=False))
            self._seed = seed


def drawn_program(rng: np.random.Generator, context: Context, mode: str) -> tuple[Program, list[Operands], list[int]]:
    """A program, three sets of operands of one make for it, and the levels at which they begin."""
    bootstraps = context.params.has_bootstrap and rng.integers(3) == 0
    size = int(rng.choice(SIZES))
    made = [int(s) for s in rng.integers(0, 2**31, int(rng.integers(1, 4)))]
    several = [[_made(s, salt, size) for s in made] for salt in range(3)]
    levels = [_level(rng, context) for _ in made]
    left = [60 if mode == "auto" else level - 1 for level in levels]
    program = Drawing(rng, several[0], left, context.level - 2, bool(bootstraps), mode, several[1:]).drawn()
    return program, several, levels


def run(world: World, seed: int, kind: str, mode: str) -> Result:
    """One program. `kind` of claim: "calibrated" on other data of the same make, or "declared" bounds; `mode`: "eager",
    "recorded" (on the arguments of the recording and replayed on others), "numbers" (the same with numbers that each
    run brings anew), "shapes" (the first or the second, with values of other shapes), "functions" (the first, with
    steps of functions.py) or "auto" (bootstraps by itself).
    """
    rng, context = np.random.default_rng(seed), world.context
    program, (operands, samples, others), levels = drawn_program(rng, context, mode)
    drawn = program.numbers
    most = {name: Scalar(-value, value) for name, value in drawn.items()}
    later = {name: value * float(rng.choice([-1, 0, 1e-9, *rng.uniform(-1, 1, 3)])) for name, value in drawn.items()}
    title = f"ckks {context.params.name} {kind} {mode} seed {seed}: {', '.join(program.names)}"
    ranges = [declared(np.concatenate([x, o])) for x, o in zip(operands, others)]

    def encrypted(values: Operands) -> list[Any]:
        return [world.client.encrypt(x, level, like=s) if kind == "calibrated" else
                world.client.encrypt(x, level, range=r) for x, level, s, r in zip(values, levels, samples, ranges)]

    with warnings.catch_warnings():
        warnings.simplefilter("error", RangeWarning)
        try:
            first = encrypted(operands)
            recorded = mode in ("recorded", "numbers") or (mode == "shapes" and seed % 2 == 1)
            runs = record(program, **most) if recorded else program
            world.use_keys(seed if mode not in ("numbers", "shapes", "functions") else None, runs, first)
            results = [(runs(*first, **drawn), operands, drawn)]
            if recorded:
                results.append((runs(*encrypted(others), **later), others, later))
        except (errors.ScaleError, errors.LevelError, errors.PrecisionError, RangeWarning) as refused:
            return Result(title, len(program.steps), refused=f"{type(refused).__name__}: {refused}")
    compared = [_compared(world.client, y, np.asarray(program(*values, **n)), program.apart, mode == "functions")
                for y, values, n in results]
    return Result(title, len(program.steps), next((wrong for wrong, _ in compared if wrong), ""),
                  [claim for _, claim in compared])


def _compared(client: Client, y: Any, want: np.ndarray, apart: int, fitted: bool) -> tuple[str, Claimed]:
    """Names a wrong value, if there is one, and gives the bits that were claimed and measured. `apart` is the number of
    values whose errors are independent. `fitted`: the program has functions."""
    have = client.decrypt(y).unmarked()
    difference = np.abs(np.asarray(have) - want)
    claimed = y._known.errors(y.size, y._full)
    mean, worst = float(difference.mean()), float(difference.max())
    wrong = ""
    if have.shape != want.shape or worst > WRONG * max(claimed[1], 1e-300):
        wrong = f"an error of {worst:.3g} where {claimed[1]:.3g} is claimed"
    bits = [float(-np.log2(max(v, 1e-300))) for v in (*claimed, mean, worst)]
    # If a number is only known by its declared range, then only bounds are known of it and of its products, even if the
    # other factor has a sample.
    kind = "declared" if y._known.range.only_bounds else y._known.kind
    kind = "fitted" if fitted and kind == "calibrated" else kind
    return wrong, Claimed(kind, apart, *bits)


def _level(rng: np.random.Generator, context: Context) -> int:
    """The level at which an operand begins. It is mostly the default one."""
    return context.level if rng.integers(4) else int(rng.integers(1, context.level + 1))


def declared(x: np.ndarray) -> Any:
    """The range of real and imaginary parts."""
    return Range(x.real.min(), x.real.max(), (x.imag.min(), x.imag.max()))


def own_set(seed: int) -> _native.Params:
    """A small set with a scale for each level, for tests. They are packed, one in four with free terminals."""
    rng = np.random.default_rng(seed)
    while True:
        bits = rng.uniform(33, 50, int(rng.integers(10, 15)))
        try:
            return make_params(N=2**10, levels=[float(2.0**b) for b in bits], word=int(rng.choice([28, 29])),
                               security=None)
        except errors.ParameterError:
            continue  # there are no primes for these scales


def programs(device: str, threads: int, seed: int) -> Iterator[Result]:
    """Programs without end: leveled, with bootstrappings, and bootstrapped automatically; at once and recorded; with
    numbers of each run, with values of several shapes, and with functions; then on another chain, and on a set of one's
    own."""
    leveled, bootstrapped = World(LEVELED, device, threads), World(BOOTSTRAPPED, device, threads)
    auto = World(BOOTSTRAPPED, device, threads, auto_bootstrap=True)
    deep = World(make_params(N=2**10, levels=18, scale=2.0**40, security=None), device, threads)
    chains: dict[str, World] = {}
    while True:
        name = CHAINS[seed % len(CHAINS)]
        if name not in chains:
            chains[name] = World(name, device, threads)
        own = World(own_set(seed), device, threads)
        for kind in ("calibrated", "declared"):
            yield run(chains[name], seed, kind, "recorded" if seed % 2 else "eager")
            yield run(chains[name], seed, kind, "shapes")
            yield run(own, seed, kind, "numbers")
            yield run(leveled, seed, kind, "eager")
            yield run(leveled, seed, kind, "recorded")
            yield run(leveled, seed, kind, "numbers")
            yield run(leveled, seed, kind, "shapes")
            yield run(deep, seed, kind, "functions")
            yield run(bootstrapped, seed, kind, "recorded" if seed % 2 else "eager")
            yield run(bootstrapped, seed, kind, "numbers")
            yield run(bootstrapped, seed, kind, "shapes")
            yield run(auto, seed, kind, "auto")
        seed += 1
