"""Random programs are saved and loaded, and must give the same bits. Random files of programs must be refused or
loaded."""

from __future__ import annotations

import copy
import json
import random
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ... import errors, tfhe
from ...ckks.context import Context
from ...ckks.plan import Shape
from ...files.saving import to_bytes
from ...linear import convolution_map
from ...ops.scalar import Scalar
from ...saved import files
from ...saved.arguments import PROGRAM
from ...tfhe.functions import where
from . import ckks_programs, tfhe_programs
from .result import Result

_MAX_NUMBER = 1 << 22  # the largest random number that replaces another one
_STRANGE: tuple[Any, ...] = (
    None, True, False, -1, 0, 1, 2, 63, 1 << 20, _MAX_NUMBER, 1 << 31, 1 << 53, 1 << 63, -(1 << 63), 1e308, -0.5,
    1e-320, "", "add", "lt.sort", "bootstrap", "__class__", "\u0000", [], {}, [[]], {"of": 0}, {"of": 1 << 30},
    {"of": -1}, {"tuple": []}, {"slice": [None, None, -1]}, {"ellipsis": True}, {"complex": [0, 1]}, {"options": {}},
    {"slice": [0, 1 << 60, 1]}, {"array": {"name": "0", "dtype": "float64", "shape": [1 << 40]}})


def loaded_again(context: Any, program: Any, inputs: Sequence[Any], scalars: Mapping[str, Scalar]) -> Any:
    """The program, after it was saved and loaded."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "program"
        files.save_program(path, program, context, *inputs, **scalars)
        return files.load_program(path)


def difference(have: Any, want: Any) -> str:
    """The difference between the results of two runs: nothing, or the number of a result."""
    several = [list(y) if isinstance(y, (list, tuple)) else [y] for y in (have, want)]
    if len(several[0]) != len(several[1]):
        return f"{len(several[0])} results for {len(several[1])}"
    wrong = [i for i, (a, b) in enumerate(zip(*several)) if to_bytes(a) != to_bytes(b)]
    return f"other bytes of result {wrong[0]}" if wrong else ""


def programs(device: str, threads: int, seed: int) -> Iterator[Result]:
    """Programs of the CKKS fuzz without end. Each runs, and runs again after it was saved and loaded."""
    worlds = [ckks_programs.World(ckks_programs.LEVELED, device, threads),
              ckks_programs.World(ckks_programs.BOOTSTRAPPED, device, threads),
              ckks_programs.World(ckks_programs.BOOTSTRAPPED, device, threads, auto_bootstrap=True)]
    while True:
        for world in worlds:
            yield run(world, seed)
        yield run(worlds[seed % 2], seed, "shapes")
        seed += 1


def run(world: ckks_programs.World, seed: int, mode: str = "") -> Result:
    """One program of a mode of `ckks_programs.run`. The default is "auto" if the context bootstraps automatically,
    and "numbers" otherwise."""
    context, rng = world.context, np.random.default_rng(seed)
    mode = mode or ("auto" if context.auto_bootstrap else "numbers")
    drawn, (operands, *_), levels = ckks_programs.drawn_program(rng, context, mode)
    title = f"saved {context.params.name} {mode} seed {seed}: {', '.join(drawn.names)}"
    scalars = {name: Scalar(-value, value) for name, value in drawn.numbers.items()}
    inputs = [world.client.encrypt(x, level, range=ckks_programs.declared(x)) for x, level in zip(operands, levels)]
    try:
        program = loaded_again(context, drawn, inputs, scalars)
        whole = context.plan(drawn, *inputs, **scalars)  # a program may contain steps that no result needs
    except (errors.ScaleError, errors.LevelError) as why:  # it exceeds the limits of the parameters
        return Result(title, len(drawn.steps), refused=f"{type(why).__name__}: {why}")
    context.use(world.client.server_keys(whole, program.plan, show=False))
    want = drawn(*inputs, **drawn.numbers)
    return Result(title, len(drawn.steps), difference(program.run(context, *inputs, **drawn.numbers), want))


# ---- files from untrusted sources ----


def seeds() -> list[tuple[dict[str, Any], dict[str, np.ndarray]]]:
    """Programs to start with: their heads and arrays."""
    ckks = Context(ckks_programs.BOOTSTRAPPED, "cpu", threads=1)
    exact = tfhe.Context(tfhe_programs.INTEGERS, "cpu", threads=1)
    pool = convolution_map(np.ones((2, 1, 3, 3)), (1, 8, 8), stride=2)

    def many(x: Any, y: Any, eta: Any) -> Any:
        z = (x * y + 2.5) @ np.ones((8, 4)) * (1 - eta**2)
        return z[::2] + np.arange(2), x.approximate(np.tanh, (-1, 1), 8), (x + 1j * y).rotate(3)[[0, 2, 5]]

    def images(x: Any) -> Any:
        return pool(x).reshape(2, -1).sum(1), x.average_pool(2), x.broadcast_to((3, 1, 8, 8)) * 2

    def booleans(x: Any, y: Any) -> Any:
        return where(x < y, x + 1, y).apply_many([lambda v: v ^ 1], dtype="u2"), x.reshape(-1)[::-1]

    made = [files.captured(many, ckks, (Shape((8,), 6, (-1, 1)),) * 2, {"eta": Scalar(-1, 1)}),
            files.captured(images, ckks, (Shape((1, 8, 8), 6, (-1, 1)),), {}),
            files.captured(lambda x, y: booleans(x, y)[0][0], exact, (tfhe.Shape((2,), "u2"),) * 2, {})]
    made += [files.from_bytes(data).client_bytes() for data in made[::2]]
    read = [PROGRAM.from_bytes(data) for data in made]
    return [({k: v for k, v in head._fields.items() if k != "arrays"}, arrays) for head, arrays in read]


def hostile(device: str, threads: int, seed: int) -> Iterator[Result]:
    """Changed files without end. Each must give a program or an error of the library."""
    known = seeds()
    while True:
        yield attempt(seed, mutated(known, random.Random(seed)))
        seed += 1


def attempt(seed: int, data: bytes) -> Result:
    """Loads the bytes of a file. Any exception that is no error of the library is wrong."""
    title = f"program file, seed {seed}"
    try:
        program = files.from_bytes(data)
    except errors.Error as why:
        return Result(title, 1, refused=str(why))
    except Exception as why:
        return Result(title, 1, wrong=f"{type(why).__name__}: {why}")
    repr((program, program.inputs, program.outputs))
    return Result(title, 1)


def mutated(known: Sequence[tuple[dict[str, Any], dict[str, np.ndarray]]], rng: random.Random) -> bytes:
    """The bytes of a program with a few changes, and a correct digest."""
    head, arrays = copy.deepcopy(rng.choice(known))
    for _ in range(rng.randint(1, 4)):
        if rng.random() < 0.15 and arrays:
            _change_array(arrays, rng)
        else:
            _change(head, rng)
    return PROGRAM.to_bytes(json.loads(json.dumps(head)), arrays)


def _change_array(arrays: dict[str, np.ndarray], rng: random.Random) -> None:
    name = rng.choice(sorted(arrays))
    values = arrays[name].copy()
    kind = rng.randrange(3)
    if kind == 0 and values.size:
        values[rng.randrange(values.size)] = rng.choice([0, -1, 1 << 40]) if values.dtype.kind == "i" else rng.choice(
            [0.0, -1.0, 1e300, float("nan"), float("inf")])
    arrays[name] = values if kind == 0 else values[: values.size // 2] if kind == 1 else np.tile(values, 2)


def _change(head: dict[str, Any], rng: random.Random) -> None:
    places = list(_places(head))
    holder, key = rng.choice(places)
    kind = rng.randrange(5)
    if kind == 0:
        del holder[key]
    elif kind == 1:
        other, name = rng.choice(places)
        if name in other if isinstance(other, dict) else name < len(other):
            holder[key] = copy.deepcopy(other[name])
    elif kind == 2 and isinstance(holder, list):
        holder.insert(rng.randrange(len(holder) + 1), copy.deepcopy(holder[key]))
    elif kind == 3 and isinstance(holder[key], (int, float)) and not isinstance(holder[key], bool):
        holder[key] = holder[key] + rng.choice([-1, 1, 7, -holder[key], holder[key]])
    else:
        holder[key] = copy.deepcopy(rng.choice(_STRANGE))


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every place in nested objects and lists."""
    for key in value if isinstance(value, dict) else range(len(value)):
        yield value, key
        if isinstance(value[key], (dict, list)):
            yield from _places(value[key])
