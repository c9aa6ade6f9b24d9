"""Random programs on encrypted arrays against the same steps of numpy, on every device and arithmetic."""

import operator

import numpy as np
import pytest

import latticino as lt
from conftest import DEVICES
from tfhe_world import GATES, INTEGERS, World

WIDTHS = (2, 4, 6, 8)
SHAPES = [(3,), (2, 3), (2, 1), ()]
WORLDS = [*((d, a) for d in DEVICES for a in ("exact", "fft64")), ("not-encrypted", "exact")]


class Twin:
    """An encrypted array, and its values as int64 with the type's name beside."""

    def __init__(self, x, values):
        self.x, self.values = x, np.asarray(values)

    @property
    def bits(self):
        return int(self.x.dtype[1:]) if self.x.dtype != "bool" else 1

    def wrapped(self, values):
        return values % (1 << self.bits)


class Machine:
    """Draws steps: of two operands that broadcast an encrypted result, and numpy's."""

    def __init__(self, world, seed):
        self.world, self.rng, self.done = world, np.random.default_rng(seed), {}

    def draw(self, *choices):
        return choices[self.rng.integers(len(choices))]

    def fresh(self, dtype, shape=None):
        most = 2 if dtype == "bool" else 1 << int(dtype[1:])
        values = self.rng.integers(0, most, self.draw(*SHAPES) if shape is None else shape)
        return Twin(self.world.client.encrypt(np.asarray(values, np.uint64), dtype), values)

    def clear_like(self, a):
        """A clear operand of the type: one number, or an array."""
        values = self.rng.integers(0, 1 << a.bits, self.draw((), a.values.shape))
        return Twin(int(values) if not values.shape else values.astype(np.uint64), values)

    def pair(self, a, b):
        """Two operands, one of them clear at times, in any order: native operators and reflected ones."""
        b = self.draw(b, self.clear_like(a))
        return (a, b) if isinstance(b.x, lt.tfhe.EncryptedArray) or self.rng.integers(2) else (b, a)

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
        return lt.stack([a.x, a.x[..., ::-1]] if a.values.ndim else [a.x, a.x]), np.stack(
            [a.values, a.values[..., ::-1]] if a.values.ndim else [a.values, a.values])

    def choose(self, a, b):
        condition = self.fresh("bool", self.draw((), a.values.shape))
        u, v = self.pair(a, b)
        return lt.where(condition.x, u.x, v.x), np.where(condition.values, u.values, v.values)

    def arithmetic(self, a, b):
        return self.binary(a, b, operator.add, operator.sub, operator.mul)

    def extreme(self, a, b):
        u, v = self.pair(a, b)
        ours, numpys = self.draw((lt.minimum, np.minimum), (lt.maximum, np.maximum))
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
        """Sums and a table over the whole torus, and back."""
        k, f = int(self.rng.integers(-4, 5)), self.rng.integers(0, 16, 16)
        other = self.fresh("m4", self.draw((), a.values.shape))
        u, values = k * other.x - a.x.astype("m4"), k * other.values - a.values
        self.keep("equal", (u + 3 == 7).astype("u2"), (values + 3) % 16 == 7)
        return u.apply(f, dtype="u4"), f[values % 16]

    def keep(self, name, x, values):
        """The result in its type, if decryption agrees."""
        twin = Twin(x, values)
        wanted = values.astype(bool) if x.dtype == "bool" and name == "widen" else twin.wrapped(values)
        twin.values = np.asarray(wanted, dtype=np.int64)
        have = self.world.client.decrypt(x)
        assert have.shape == twin.values.shape and (have == twin.values).all(), (name, have, twin.values)
        self.done[name] = self.done.get(name, 0) + 1
        return twin


BITS = ("logic", "order", "invert", "places", "join", "choose")
NUMBERS = ("arithmetic", "extreme", "shift", "shift_by", "power", "negative")
ANY = ("widen", "total", "table", "table_of_two", "modular")


def run(machine, pool, steps, count):
    for _ in range(count):
        name = machine.draw(*steps)
        a, b = (pool[machine.rng.integers(len(pool))] for _ in range(2))
        try:
            np.broadcast_shapes(a.values.shape, b.values.shape)
        except ValueError:
            b = a
        if name in NUMBERS and a.x.dtype == "bool":
            continue
        twin = machine.keep(name, *getattr(machine, name)(a, b))
        if twin.values.size <= 12:
            pool[machine.rng.integers(len(pool))] = twin
    assert set(steps) <= set(machine.done)




@pytest.fixture(scope="module", params=WORLDS, ids="-".join)
def where(request):
    return request.param


@pytest.mark.parametrize("seed", range(3))
def test_random_programs_of_booleans(where, seed):
    machine = Machine(World(GATES, *where), seed)
    run(machine, [machine.fresh("bool") for _ in range(4)], BITS, 60)


@pytest.mark.parametrize("seed", range(4))
def test_random_programs_of_integers(where, seed):
    machine = Machine(World(INTEGERS, *where), seed)
    pool = [machine.fresh(f"u{w}") for w in WIDTHS for _ in range(2)]
    run(machine, pool, (*BITS, *NUMBERS, *ANY), 150)
