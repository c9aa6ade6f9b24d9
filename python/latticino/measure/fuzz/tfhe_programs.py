"""Random programs on encrypted booleans and integers, compared with the same steps in numpy."""

from __future__ import annotations

import operator
from collections.abc import Iterator, Sequence

import numpy as np

from ... import tfhe
from ...key_generation import keygen
from ...tfhe.functions import maximum, minimum, stack, where
from .result import Result, WrongValue

GATES, INTEGERS = "test-tfhe-gates-insecure", "test-tfhe-2-2-tiny-insecure"
WIDTHS = (2, 4, 6, 8)
SHAPES = [(3,), (2, 3), (2, 1), ()]


class World:
    """A context with the keys of one client."""

    def __init__(self, name: str, device: str, arithmetic: str = "exact", threads: int = 1) -> None:
        self.ctx = tfhe.Context(name, device, threads=threads, arithmetic=arithmetic)
        self.client = keygen(self.ctx)
        self.ctx.use(self.client.server_keys())


class CheckedArray:
    """An encrypted array, with its values as int64 and the name of its type."""

    def __init__(self, x, values):
        self.x, self.values = x, np.asarray(values)

    @property
    def bits(self):
        return int(self.x.dtype[1:]) if self.x.dtype != "bool" else 1

    def wrapped(self, values):
        return values % (1 << self.bits)


class Machine:
    """Draws steps. From two operands that broadcast, a step computes an encrypted result and numpy's result."""

    def __init__(self, world, seed):
        self.world, self.rng, self.done = world, np.random.default_rng(seed), {}

    def draw(self, *choices):
        return choices[self.rng.integers(len(choices))]

    def fresh(self, dtype, shape=None):
        most = 2 if dtype == "bool" else 1 << int(dtype[1:])
        values = self.rng.integers(0, most, self.draw(*SHAPES) if shape is None else shape)
        return CheckedArray(self.world.client.encrypt(np.asarray(values, np.uint64), dtype), values)

    def clear_like(self, a):
        """A clear operand of the type: one number, or an array."""
        values = self.rng.integers(0, 1 << a.bits, self.draw((), a.values.shape))
        return CheckedArray(int(values) if not values.shape else values.astype(np.uint64), values)

    def pair(self, a, b):
        """Two operands in any order, of which one may be plain. This tests Python's operators and their reflected
        forms."""
        b = self.draw(b, self.clear_like(a))
        return (a, b) if isinstance(b.x, tfhe.EncryptedArray) or self.rng.integers(2) else (b, a)

    # ---- steps ----

    def binary(self, a, b, *operators):
        u, v = self.pair(a, b)
        op = self.draw(*operators)
        return op(u.x, v.x), op(u.values, v.values)

    def logic(self, a, b):
        return self.binary(a, b, operator.and_, operator.or_, operator.xor)

    def order(self, a, b):
        x, values = self.binary(a, b, operator.lt, operator.le, operator.eq, operator.ne, operator.gt, operator.ge)
        return x, values.astype(int)

    def invert(self, a, b):
        return ~a.x, (1 << a.bits) - 1 - a.values

    def places(self, a, b):
        if not a.values.ndim:
            return a.x.reshape(1), a.values.reshape(1)
        move = self.draw(lambda v: v[::-1], lambda v: v[-1], lambda v: v.T, lambda v: v.reshape(-1), lambda v: v[None],
                         lambda v: v[..., :1], lambda v: v[np.arange(v.shape[0]) % 2 == 0])
        return move(a.x), move(a.values)

    def join(self, a, b):
        return stack([a.x, a.x[..., ::-1]] if a.values.ndim else [a.x, a.x]), np.stack(
            [a.values, a.values[..., ::-1]] if a.values.ndim else [a.values, a.values])

    def choose(self, a, b):
        condition = self.fresh("bool", self.draw((), a.values.shape))
        u, v = self.pair(a, b)
        return where(condition.x, u.x, v.x), np.where(condition.values, u.values, v.values)

    def arithmetic(self, a, b):
        return self.binary(a, b, operator.add, operator.sub, operator.mul)

    def extreme(self, a, b):
        u, v = self.pair(a, b)
        ours, numpys = self.draw((minimum, np.minimum), (maximum, np.maximum))
        return ours(u.x, v.x), numpys(u.values, v.values)

    def shift(self, a, b):
        op, k = self.draw(operator.lshift, operator.rshift), int(self.rng.integers(a.bits + 2))
        return op(a.x, k), op(a.values, k)

    def shift_by(self, a, b):
        by = self.fresh(self.draw("u2", "u4"), self.draw((), a.values.shape))
        op = self.draw(operator.lshift, operator.rshift)
        return op(a.x, by.x), np.where(by.values < a.bits, op(a.values, by.values), 0)

    def power(self, a, b):
        op, d = self.draw(operator.mod, operator.floordiv), 1 << int(self.rng.integers(a.bits + 1))
        return op(a.x, d), op(a.values, d)

    def negative(self, a, b):
        return -a.x, -a.values

    def widen(self, a, b):
        return a.x.astype(self.draw("bool", *(f"u{w}" for w in WIDTHS))), a.values

    def total(self, a, b):
        axis = self.draw(None, *range(a.values.ndim))
        return a.x.sum(axis), a.values.sum(axis)

    def table(self, a, b):
        u, low = a.x.astype("u4"), a.values % 16
        f, g = self.rng.integers(0, 4, (2, 16))
        few, many = u.apply_many([f, lambda w: 21 * int(g[w])], dtype=["u2", self.draw("u6", "u8")])
        self.keep("apply_many", few, f[low])
        return many, 21 * g[low]

    def table_of_two(self, a, b):
        u, v = a.x.astype("u2"), b.x.astype("u2")
        f = self.rng.integers(0, 16, (4, 4))
        return u.apply(f, v, dtype="u4"), f[a.values % 4, b.values % 4]

    def modular(self, a, b):
        """A sum and a table over the whole torus, and back."""
        k, f = int(self.rng.integers(-4, 5)), self.rng.integers(0, 16, 16)
        other = self.fresh("m4", self.draw((), a.values.shape))
        u, values = k * other.x - a.x.astype("m4"), k * other.values - a.values
        self.keep("equal", (u + 3 == 7).astype("u2"), (values + 3) % 16 == 7)
        return u.apply(f, dtype="u4"), f[values % 16]

    def keep(self, name, x, values):
        """The result as an array of its type, if its decryption agrees with numpy."""
        checked = CheckedArray(x, values)
        wanted = values.astype(bool) if x.dtype == "bool" and name == "widen" else checked.wrapped(values)
        checked.values = np.asarray(wanted, dtype=np.int64)
        have = self.world.client.decrypt(x)
        if have.shape != checked.values.shape or (have != checked.values).any():
            raise WrongValue(f"{name} of type {x.dtype}: {have.tolist()} instead of {checked.values.tolist()}")
        self.done[name] = self.done.get(name, 0) + 1
        return checked


BITS = ("logic", "order", "invert", "places", "join", "choose")
NUMBERS = ("arithmetic", "extreme", "shift", "shift_by", "power", "negative")
ANY = ("widen", "total", "table", "table_of_two", "modular")


def run(machine: Machine, pool: list[CheckedArray], steps: Sequence[str], count: int) -> None:
    """`count` steps on arrays of the pool, which takes up their results; WrongValue at the first wrong one."""
    for _ in range(count):
        name = machine.draw(*steps)
        a, b = (pool[machine.rng.integers(len(pool))] for _ in range(2))
        try:
            np.broadcast_shapes(a.values.shape, b.values.shape)
        except ValueError:
            b = a
        if name in NUMBERS and a.x.dtype == "bool":
            continue
        checked = machine.keep(name, *getattr(machine, name)(a, b))
        if checked.values.size <= 12:
            pool[machine.rng.integers(len(pool))] = checked


def programs(device: str, threads: int, seed: int) -> Iterator[Result]:
    """Programs without end. Booleans and integers take turns, in exact arithmetic and in FP64."""
    worlds = [(name, World(name, device, arithmetic, threads)) for name in (GATES, INTEGERS)
              for arithmetic in ("exact", "fft64")]
    while True:
        for name, world in worlds:
            machine = Machine(world, seed)
            title = f"tfhe {name} {world.ctx.arithmetic} seed {seed}"
            try:
                if name == GATES:
                    run(machine, [machine.fresh("bool") for _ in range(4)], BITS, 20)
                else:
                    run(machine, [machine.fresh(f"u{w}") for w in WIDTHS for _ in range(2)], (*BITS, *NUMBERS, *ANY),
                        40)
                yield Result(title, steps=sum(machine.done.values()))
            except WrongValue as why:
                yield Result(title, steps=sum(machine.done.values()) + 1, wrong=str(why))
        seed += 1
