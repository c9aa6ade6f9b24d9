"""Tables of encrypted values: one, several at once, over the whole torus."""

import operator

import numpy as np
import pytest

import latticino as lt
from tfhe_world import any_device, gates, integers, worlds  # noqa: F401 - fixtures


def test_tables_of_one_and_two_arguments(integers):
    x, y = np.arange(16, dtype=np.uint8), np.arange(4, dtype=np.uint8)
    a = integers.client.encrypt(x, "u4")
    assert (integers.client.decrypt(a.apply(lambda v: v * v % 16)) == x * x % 16).all()
    assert (integers.client.decrypt(a.apply(lambda v: v * v, dtype="u8")) == x * x).all()
    assert (integers.client.decrypt(a.apply(x[::-1].copy())) == x[::-1]).all()
    assert (integers.client.decrypt(a.apply(lambda v: v % 3 == 0, dtype="bool")) == (x % 3 == 0)).all()
    b, c = integers.client.encrypt(y[:, None], "u2"), integers.client.encrypt(y, "u2")
    assert (integers.client.decrypt(b.apply(lambda u, v: 3 * u + v, c, dtype="u4")) == 3 * y[:, None] + y).all()
    flags = integers.client.encrypt([[False], [True]])
    assert (integers.client.decrypt(flags.apply(lambda f, v: f * v, c, dtype="u2")) == [0 * y, y]).all()


def test_several_functions_at_once_share_bootstrappings(integers):
    x, flags = np.arange(4, dtype=np.uint8), np.array([[False], [True]])
    a, b, c = integers.client.encrypt(x, "u2"), integers.client.encrypt(flags), integers.client.encrypt(x[::-1].copy(), "u2")
    decrypt, plan = integers.client.decrypt, integers.ctx.plan
    functions = [lambda v: v * v, lambda v: v % 2, [3, 1, 2, 0]]
    square, odd, other = a.apply_many(functions, dtype=["u4", "bool", "u2"])
    assert (decrypt(square) == x * x).all() and (decrypt(odd) == x % 2).all() and (decrypt(other) == [3, 1, 2, 0]).all()
    assert [y.dtype for y in (square, odd, other)] == ["u4", "bool", "u2"]
    both = b.apply_many([lambda f, v: f * v, lambda f, v: 40 * f + v], c, dtype="u8")
    for got, want in zip(both, (flags * x[::-1], 40 * flags + x[::-1])):
        assert (decrypt(got) == want).all() and got.shape == (2, 4)
    carry, digit = b.apply_many([lambda u, v: u & v, lambda u, v: u ^ v], b[::-1])
    assert not decrypt(carry).any() and decrypt(digit).all()
    for program, arguments, count in [
            (lambda u: u.apply_many(functions, dtype=["u4", "bool", "u2"]), [a], 4 * 1),
            (lambda u: u.apply(lambda v: v, dtype="u8"), [a], 4 * 1), (lambda u: u.apply(lambda v: v, dtype="u16"), [a], 4 * 2),
            (lambda u: u.apply(lambda v: v, dtype="u16"), [b], 2 * 1),
            (lambda u, v: u.apply_many([lambda s, t: s] * 4, v), [b, b[:1]], 2 * 1),
            (lambda u, v: u.apply(lambda s, t: s, v, dtype="u8"), [b, c], 8 * 2),
            (lambda u, v: u.apply(lambda s, t: s, v, dtype="u8"), [a, c], 4 * 4)]:
        assert plan(program, *arguments).bootstrappings == count
    for wrong in (lambda: a.apply_many([]), lambda: a.apply_many(functions, dtype=["u2", "u2"]),
                  lambda: a.apply_many([[1, 2]]), lambda: a.apply_many(abs), lambda: a.apply_many(3)):
        with pytest.raises(lt.ShapeError):
            wrong()
    for f in (lambda v: 1.5, lambda v: "1", lambda v: None, lambda v: -1, lambda v: 4):
        with pytest.raises(lt.ValueError):
            a.apply(f)
    assert (decrypt(a.apply(lambda v: np.array([v == 2]), dtype="bool")) == (x == 2)).all()


def test_several_functions_of_booleans(gates):
    x = np.array([[False], [True]])
    a, b = gates.client.encrypt(x), gates.client.encrypt(x[:, 0])
    neither, same = a.apply_many([lambda u, v: 1 - (u | v), lambda u, v: u == v], b)
    assert (gates.client.decrypt(neither) == ~(x | x[:, 0])).all() and (gates.client.decrypt(same) == (x == x[:, 0])).all()


def test_integers_of_the_whole_torus(integers, rng):
    """Every sum and table of one ciphertext without a padding bit, and conversions to the other types."""
    x, y = np.divmod(np.arange(256, dtype=np.uint8), 16)
    client, ctx = integers.client, integers.ctx
    a, b, decrypt = client.encrypt(x, "m4"), client.encrypt(y, "m4"), client.decrypt
    assert a.dtype == "m4" and (decrypt(a) == x).all() and decrypt(a).dtype == np.uint8
    for f in (operator.add, operator.sub, lambda u, v: u + v + 3, lambda u, v: 7 - u, lambda u, v: -u, lambda u, v: 3 * u - v):
        assert (decrypt(f(a, b)) == f(x, y) % 16).all()
    for factor in (0, 5, 15, -1, 16, np.uint8(9)):
        assert (decrypt(a * factor) == x.astype(int) * int(factor) % 16).all()
    assert (decrypt(a.reshape(16, 16).sum(axis=0)) == x.reshape(16, 16).sum(axis=0) % 16).all()
    free = ctx.plan(lambda u, v: [(u + v - 3) * 5, u[::2].reshape(8, -1).sum(axis=1)], a, b)
    assert free.bootstrappings == 0

    few = np.arange(16, dtype=np.uint8)
    c = client.encrypt(few, "m4")
    table = rng.integers(0, 16, 16, dtype=np.uint8)
    assert (decrypt((c + 9).apply(table)) == table[(few + 9) % 16]).all() and (c + 9).apply(table).dtype == "m4"
    low, big = c.apply_many([lambda v: v % 4, lambda v: v * v], dtype=["u2", "u8"])
    assert (decrypt(low) == few % 4).all() and (decrypt(big) == few * few).all()
    assert ctx.plan(lambda u: u.apply_many([lambda v: v % 4, lambda v: v * v], dtype=["u2", "u8"]), c).bootstrappings == (
        16 * (1 + 1 + 4))
    assert (decrypt(c == 5) == (few == 5)).all() and (decrypt(c != few[::-1].copy()) == (few != few[::-1])).all()
    assert ctx.plan(lambda u: u == u[::-1], c).bootstrappings == 16 * 2
    for dtype, want in (("u4", few), ("u2", few % 4), ("u8", few), ("bool", few != 0), ("m4", few)):
        assert (decrypt(c.astype(dtype)) == want).all() and c.astype(dtype).dtype == dtype
    for values, dtype in ((few, "u4"), (few % 4, "u2"), (few * 16 + few, "u8"), (few % 2 == 1, "bool")):
        d = client.encrypt(values, dtype)
        assert (decrypt(d.astype("m4") + 15) == (values.astype(int) + 15) % 16).all()
        assert ctx.plan(lambda u: u.astype("m4"), d).bootstrappings == 0
    d = client.encrypt(few % 4, "u2")
    third, two = d.apply_many([lambda v: (3 * v + 7) % 16, lambda v: v], dtype=["m4", "u2"])
    assert (decrypt(third) == (3 * (few % 4) + 7) % 16).all() and (decrypt(two) == few % 4).all()
    assert (decrypt(lt.concatenate([c, c + 1])) == np.concatenate([few, (few + 1) % 16])).all()
    if ctx.encrypted:
        again = lt.from_bytes(lt.to_bytes(c + c), ctx)
        assert again.dtype == "m4" and (decrypt(again.apply(lambda v: v)) == 2 * few % 16).all()
        assert c.log_failure <= -64 and "m4" in repr(c) and "noise of 2 boot" in repr(c + c)
        replay = lt.record(lambda u: (u + 1).apply(lambda v: v * v % 16))
        for values in (few, few[::-1].copy()):
            assert (decrypt(replay(client.encrypt(values, "m4"))) == (values + 1) ** 2 % 16).all()


def test_integers_of_the_whole_torus_need_blocks_for_the_rest(gates, integers):
    c, u = integers.client.encrypt([1, 2, 3], "m4"), integers.client.encrypt([1, 2, 3], "u8")
    flags = integers.client.encrypt([True, False, True])
    for wrong in (lambda: c & c, lambda: ~c, lambda: c < 3, lambda: c << 1, lambda: u << c, lambda: c % 4, lambda: c + u,
                  lambda: c == u, lambda: lt.where(flags, c, c), lambda: lt.where(flags, c, u), lambda: lt.maximum(c, c),
                  lambda: lt.concatenate([c, u]), lambda: gates.client.encrypt([1], "m4"),
                  lambda: integers.client.encrypt([1], "m5")):
        with pytest.raises(lt.ParameterError, match="m4|bool"):
            wrong()
    for wrong in (lambda: c * c, lambda: c * np.array([1, 2, 3]), lambda: c.apply(lambda v, w: v, c)):
        with pytest.raises(lt.UnsupportedError):
            wrong()
    with pytest.raises(lt.ValueError):
        c + 16
