"""Arrays of Python and of C++ give the same bits and the same claims: random programs run in both."""

import os
import subprocess
import warnings
from pathlib import Path

import numpy as np
import pytest

import latticino as lt

LEVELED, BOOTSTRAPPED = "test-n10-leveled-insecure", "test-n10-boot-insecure"
SIZES = (1, 5, 64, 512, 700)
RUNNER = Path(os.environ.get("LATTICINO_BUILD", ""), "array_programs")
PROGRAMS = 24  # programs of each world

pytestmark = [pytest.mark.slow,
              pytest.mark.skipif(not RUNNER.exists(), reason="LATTICINO_BUILD names no folder with array_programs")]


def numbers(count, state):
    """Numbers from -1 to 1 without a pattern, the same as array_programs.cc makes."""
    out = []
    for _ in range(count):
        state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
        out.append((state >> 11) * 2.0**-52 - 1)
    return np.array(out)


class Drawing:
    """Draws steps for arrays of one size. `left`: the levels of each array, as far as they are known here."""

    def __init__(self, seed, world):
        self.rng, self.world = np.random.default_rng(seed), world
        self.size = int(self.rng.choice(SIZES))
        self.inputs = int(self.rng.integers(1, 4))
        self.left = [world.context.level] * self.inputs
        self.steps = []

    def drawn(self):
        kinds = ["add", "subtract", "multiply", "multiply", "plus_number", "times_number", "times_integer", "plus_array",
                 "times_array", "negative", "conj", "to_level", "rotate", "polynomial", "chebyshev", "dot", "declare"]
        kinds += ["spread_sum"] * (self.size in (1, 64, 512))  # rows of a power of two
        if self.world.boots:
            kinds += ["bootstrap", "bootstrap", "bootstrap_with"]
        for _ in range(int(self.rng.integers(3, 12))):
            self.step(str(self.rng.choice(kinds)))
        last = int(self.rng.integers(3))  # steps whose results have another shape
        if last < 2:
            self.step(("sum", "matmul")[last])
        return self.steps

    def step(self, kind):
        rng, left = self.rng, self.left
        i, *others = (int(k) for k in rng.integers(len(left), size=4))
        cost, after = {"multiply": 1, "times_number": 1, "times_array": 1, "rotate": 1, "polynomial": 3, "chebyshev": 4,
                       "spread_sum": 1, "matmul": 1, "dot": 1, "sum": 1, "bootstrap": 1, "bootstrap_with": 1}.get(kind, 0), None
        used = [i, *others[: {"add": 1, "subtract": 1, "multiply": 1, "bootstrap_with": 1, "dot": 3}.get(kind, 0)]]
        level = min(left[k] for k in used)
        if level < cost and not self.world.automatic:
            return
        words = [str(k) for k in used]
        if kind in ("plus_number", "times_number"):
            words += [repr(float(v)) for v in ((0.0, rng.choice([1, -1])) if rng.integers(5) == 0 else
                                               rng.uniform(-1.5, 1.5, 2) * [1, rng.integers(2)])]
        elif kind == "times_integer":
            words += [str(int(rng.integers(-4, 5)))]
        elif kind in ("plus_array", "times_array"):
            words += [str(int(rng.integers(1, 2**31)))]
        elif kind == "to_level":
            after = int(rng.integers(max(level - 3, 0), level + 1))
            words += [str(after)]
        elif kind == "rotate":
            words += [str(int(rng.integers(self.size)))]
        elif kind == "polynomial":
            words += [repr(float(c)) for c in rng.uniform(-0.3, 0.3, int(rng.integers(3, 7)))]
        elif kind == "chebyshev":
            words += [repr(-1.5), repr(float(rng.uniform(1, 2))), *(repr(float(c)) for c in rng.uniform(-0.3, 0.3, 6))]
        elif kind == "spread_sum":
            words += [repr(float(rng.uniform(-1, 1)))]
        elif kind == "matmul":
            words += [str(int(rng.choice([1, 3, 8, 520]))), str(int(rng.integers(1, 2**31)))]
        elif kind == "declare":
            words += ["-1.0", repr(float(rng.uniform(0.5, 1)))]
        elif kind.startswith("bootstrap"):
            after = self.world.context.params.level_after_bootstrap - 3  # at least so many
            words += [str(int(rng.integers(4 if self.size > 512 else 3)))] if kind == "bootstrap" else []
        self.steps.append(" ".join([kind, *words]))
        left += [level - cost if after is None else after] * (1 + (kind == "bootstrap_with"))


def performed(of, text):
    """Computes one step on Python arrays."""
    kind, first, *words = text.split()
    x = of[int(first)]

    def other(n=0):
        return of[int(words[n])]

    def number():
        c = complex(float(words[0]), float(words[1]))
        return c.real if c.imag == 0 else c

    return {
        "add": lambda: x + other(), "subtract": lambda: x - other(), "multiply": lambda: x * other(),
        "plus_number": lambda: x + number(), "times_number": lambda: x * number(),
        "times_integer": lambda: x * int(words[0]), "negative": lambda: -x, "conj": x.conj,
        "plus_array": lambda: x + numbers(x.size, int(words[0])).reshape(x.shape),
        "times_array": lambda: x * numbers(x.size, int(words[0])).reshape(x.shape),
        "to_level": lambda: x.to_level(int(words[0])), "rotate": lambda: x.rotate(int(words[0])), "sum": x.sum,
        "declare": lambda: x.declare(float(words[0]), float(words[1])),
        "polynomial": lambda: x.polyval([float(w) for w in words]),
        "chebyshev": lambda: x.polyval([float(w) for w in words[2:]], "chebyshev", (float(words[0]), float(words[1]))),
        "spread_sum": lambda: x.spread_sum(float(words[0])),
        "matmul": lambda: x @ numbers(x.size * int(words[0]), int(words[1])).reshape(x.size, int(words[0])),
        "bootstrap": lambda: x.bootstrap((None, "complex", "real", "merged")[int(words[0])]),
        "bootstrap_with": lambda: x.bootstrap_with(other()),
        "dot": lambda: lt.dot([x, other()], [other(1), other(2)])}[kind]()


def run(inputs, steps):
    """The facts of the result of each step. "refused" ends the program if a step raises an error."""
    arrays, lines = list(inputs), []
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        for text in steps:
            try:
                made = performed(arrays, text)
            except lt.Error:
                lines.append("refused")
                break
            for y in made if isinstance(made, tuple) else (made,):
                r = y.range
                facts = (y.scale, y.expected_bits, y.expected_worst_bits, r.low, r.high, r.imag_low, r.imag_high)
                count = sum(issubclass(w.category, lt.RangeWarning) for w in warned)
                lines.append([y.level, *facts, count])
                arrays.append(y)
    return arrays[len(inputs):], lines


def exact(line):
    """The facts, without the bits of precision."""
    return line if line == "refused" else [*line[:2], *line[4:]]


def data(x):
    """The bytes of the ciphertexts, because both write the facts in different forms."""
    return lt._native.ciphertexts_to_bytes(x._parts, "", None)


class World:
    """A context whose one bundle serves all programs."""

    def __init__(self, preset, automatic):
        self.context = lt.Context(preset, "cpu", threads=1, auto_bootstrap=automatic)
        self.preset, self.automatic = preset, automatic
        self.boots = self.context.params.has_bootstrap
        self.client = lt.keygen(self.context)

    def inputs(self, drawing):
        """Some arrays have a declared range, some are real, some are at lower levels."""
        rng = drawing.rng
        for _ in range(drawing.inputs):
            x = rng.uniform(-1, 1, drawing.size) * rng.choice([0.05, 1.0])
            x = x * np.exp(1j) if rng.integers(3) == 0 else x
            ends = float(np.abs(x).max())
            stated = lt.Range(-ends, ends, (-ends, ends)) if rng.integers(2) else None
            yield self.client.encrypt(x, range=stated)


@pytest.mark.parametrize("preset, automatic", [(LEVELED, False), (BOOTSTRAPPED, False), (BOOTSTRAPPED, True)])
def test_both_front_doors_give_the_same_bits_and_claims(tmp_path, preset, automatic):
    world = World(preset, automatic)
    drawn = []
    for seed in range(PROGRAMS):
        drawing = Drawing([seed, automatic], world)
        steps = drawing.drawn()
        drawn.append((seed, steps, list(world.inputs(drawing))))
    plans = []
    for _, steps, inputs in drawn:
        for at in range(len(steps), 0, -1):  # limited by the plan: if it refuses a step, the run refuses it or warns
            try:
                plans.append(world.context.plan(lambda *x, steps=steps[:at]: planned(x, steps), *inputs))
                break
            except lt.Error:
                continue
    needed = plans[0]
    for plan in plans[1:]:
        needed |= plan
    keys = world.client.server_keys(needed, show=False)
    world.context.use(keys)
    lt.save_server_keys(tmp_path / "keys", world.context, keys)
    folders = [tmp_path / str(seed) for seed, _, _ in drawn]
    for folder, (_, steps, inputs) in zip(folders, drawn):
        folder.mkdir()
        for i, x in enumerate(inputs):
            lt.save_ciphertext(folder / f"x{i}", x)
        (folder / "program").write_text("\n".join(steps) + "\n")
    subprocess.run([RUNNER, preset, "1" if automatic else "0", tmp_path / "keys", *folders], check=True, capture_output=True)
    compared = 0
    for folder, (seed, steps, inputs) in zip(folders, drawn):
        given = [lt.load_ciphertext(folder / f"x{i}", world.context) for i in range(len(inputs))]
        told = (folder / "told").read_text().splitlines()
        arrays, lines = run(given, steps)
        theirs = [line if line == "refused" else [float(v) for v in line.split()] for line in told]
        told = list(zip(steps, lines, theirs))
        assert [exact(x) for x in theirs] == [exact(x) for x in lines], (seed, told)
        for x, y in zip(theirs, lines):
            # Parts of an error are added in an order that depends on what else was computed: the last bit may differ.
            assert x == "refused" or x[2:4] == pytest.approx(y[2:4], rel=1e-12), (seed, told)
        for i, y in enumerate(arrays):
            other = lt.load_ciphertext(folder / f"y{len(inputs) + i}", world.context)
            assert (other.shape, data(other)) == (y.shape, data(y)), (seed, steps[: i + 1])
            compared += 1
    assert compared > 4 * PROGRAMS


def planned(inputs, steps):
    arrays = list(inputs)
    for text in steps:
        made = performed(arrays, text)
        arrays += made if isinstance(made, tuple) else [made]
    return arrays[-1]
