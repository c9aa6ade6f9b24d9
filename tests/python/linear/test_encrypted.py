"""Products of two encrypted matrices against numpy, with the levels, keys and precision that they state."""

import threading

import numpy as np
import pytest

import latticino as lt
from latticino.linear import encrypted as of_matrices

SHAPES = [((2, 3), (3, 2)), ((20, 8), (8, 9)), ((60, 4), (4, 5)), ((16, 16), (16, 16)), ((10, 12), (12, 9)), ((3, 40), (40, 3)), ((24, 24), (24, 24)), ((7, 30), (30, 10)),
          ((2, 16, 16), (16, 16)), ((3, 4, 5), (3, 5, 2)), ((2, 1, 4, 4), (3, 4, 4)), ((3, 4), (4,)), ((4,), (4, 3)), ((1, 16), (16, 32)),
          ((16, 32), (32, 1)), ((5,), (2, 5, 3)), ((2, 3, 5), (5,))]


@pytest.mark.parametrize("left, right", SHAPES, ids=str)
def test_products_are_numpys(ctx, client, rng, left, right):
    a, b = rng.uniform(-1, 1, left), rng.uniform(-1, 1, right)
    want = a @ b
    ctx.use(client.server_keys(lambda x, y: x @ y, a, b))
    for like in (False, True):
        y = client.encrypt(a, **({"like": a} if like else {})) @ client.encrypt(b, **({"like": b} if like else {}))
        assert y.shape == want.shape and ctx.level - y.level <= 2
        found = lt.precision(client.decrypt(y), want)
        assert found.mean > y.expected_bits - (1 if want.size >= 100 else 3) and found.worst > y.expected_worst_bits - 2
        assert not like or want.size < 100 or found.mean < y.expected_bits + 2


@pytest.mark.slow
def test_matrices_larger_than_a_ciphertext(ctx, client, rng):
    for left, right in (((40, 30), (30, 20)), ((3, 600), (600, 4)), ((20, 8), (8, 70))):
        a, b = rng.uniform(-1, 1, left), rng.uniform(-1, 1, right)
        ctx.use(client.server_keys(lambda x, y: x @ y, a, b))
        y = client.encrypt(a) @ client.encrypt(b)
        np.testing.assert_allclose(client.decrypt(y), a @ b, atol=1e-5)
        assert lt.precision(client.decrypt(y), a @ b).mean > y.expected_bits - 1


def test_transposes_chains_and_powers(ctx, client, rng):
    a, b = rng.uniform(-1, 1, (12, 12)) / 4, rng.uniform(-1, 1, (12, 12)) / 4
    cases = {"a @ a.T": (lambda x, y: x @ x.T, a @ a.T), "a.T @ b": (lambda x, y: x.T @ y, a.T @ b),
             "a @ b @ a": (lambda x, y: x @ y @ x, a @ b @ a), "a^3": (lambda x, y: lt.matrix_power(x, 3), a @ a @ a),
             "a^1": (lambda x, y: lt.matrix_power(x, 1), a), "rows": (lambda x, y: x[2:7] @ y[:, 3:5], a[2:7] @ b[:, 3:5]),
             "then": (lambda x, y: (x @ y + y) * 0.5, (a @ b + b) / 2), "a @ a": (lambda x, y: x @ x, a @ a)}
    ctx.use(client.server_keys(lambda x, y: [f(x, y) for f, _ in cases.values()], a, b))
    x, y = client.encrypt(a, like=a), client.encrypt(b, like=b)
    for name, (f, want) in cases.items():
        made = f(x, y)
        found = lt.precision(client.decrypt(made), want)
        np.testing.assert_allclose(client.decrypt(made), want, atol=1e-5, err_msg=name)
        assert found.mean > made.expected_bits - 1.5, name


def test_every_tiling_gives_the_product(rng):
    """On plain values: a and b, placed as in a tiling, are rotated, multiplied and added up."""
    for r, n, m in ((3, 5, 4), (8, 8, 8), (1, 7, 2), (6, 3, 6), (5, 16, 1), (20, 8, 9)):
        a, b = rng.uniform(-1, 1, (r, n)), rng.uniform(-1, 1, (n, m))
        found = list(of_matrices._tilings(r, n, m, m, 1 << 10))
        assert {t.copies for t in found} >= {1, 2} and any(t.cyclic for t in found) == (n & (n - 1) == 0)
        for t in found:
            factors = []
            for values, (places, index) in ((a, t.left()), (b, t.right())):
                slots = np.zeros(t.slots)
                slots[places] = np.where(index < 0, 0, values.reshape(-1)[index])
                if t.cyclic and values is b:
                    slots = np.tile(slots[: t.slots_right], t.slots // t.slots_right)
                factors.append(slots)
            total = sum(np.roll(factors[0], -k) * np.roll(factors[1], -k * t.width) for k in range(t.shifts))
            total = sum(np.roll(total, -p * t.rows * t.width) for p in range(t.copies))
            i, j = np.ogrid[:r, :m]
            np.testing.assert_allclose(total[i * t.width + j], a @ b, atol=1e-12, err_msg=str(t))
            if t.copies == 1:  # zero elsewhere
                total[(i * t.width + j).reshape(-1)] = 0
                np.testing.assert_allclose(total, 0, atol=1e-12)
            at_a, at_b = t.terms()
            held = [np.where(index < 0, 0, v.reshape(-1)[index]).reshape(-1) for v, (_, index) in ((a, t.left()), (b, t.right()))]
            np.testing.assert_allclose((held[0][at_a] * held[1][at_b]).sum(-1), a @ b, atol=1e-12)


def test_two_large_matrices_take_few_keys():
    """A plan of two matrices of 128 x 128 at N = 2^16 has few keys."""
    ctx = lt.Context("n16-d40-boot-v1", "not-encrypted")
    shape = lt.Shape((128, 128), level=4)
    plan = ctx.plan(lambda a, b: a @ b, shape, shape)
    assert plan.levels == (2,) and len(plan.keys) < 110


def test_batches_that_cannot_be_multiplied_at_once_are_multiplied_one_by_one():
    """All products of single values of 64 matrices fit the slots of N = 2^16, but they would move by 4,096 distances."""
    ctx = lt.Context("n16-d40-boot-v1", "not-encrypted")
    client, (a, b) = lt.keygen(ctx), np.random.default_rng(1).uniform(-1, 1, (2, 64, 8, 8))
    y = client.encrypt(a, level=3) @ client.encrypt(b, level=3)
    assert y.level == 1 and y.shape == (64, 8, 8)
    np.testing.assert_allclose(client.decrypt(y), a @ b, atol=1e-5)


def test_in_recordings_and_threads(ctx, client, rng):
    a, b = rng.uniform(-1, 1, (2, 10, 10))
    program = lambda x, y: x @ y  # noqa: E731
    ctx.use(client.server_keys(program, a, b))
    recorded = lt.record(program)
    for _ in range(2):
        a, b = rng.uniform(-1, 1, (2, 10, 10))
        np.testing.assert_allclose(client.decrypt(recorded(client.encrypt(a), client.encrypt(b))), a @ b, atol=1e-5)
    wrong = []

    def work():
        y = client.decrypt(client.encrypt(a) @ client.encrypt(b))
        if np.abs(y - a @ b).max() > 1e-5:
            wrong.append(y)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


def test_complex_constant_and_large_matrices(ctx, client, rng):
    a, b = rng.uniform(-1, 1, (6, 6)) + 1j, 1j * rng.uniform(-1, 1, (6, 6))
    ctx.use(client.server_keys(lambda x, y: x @ y, a, b))
    box = lt.Range(-1, 1, (-1, 1))
    np.testing.assert_allclose(client.decrypt(client.encrypt(a, range=box) @ client.encrypt(b, range=box)), a @ b, atol=1e-4)
    for c in (np.ones((6, 6)), np.zeros((6, 6)), 30 * rng.uniform(0, 1, (6, 6))):
        y = client.encrypt(c, range=(0, 30)) @ client.encrypt(c, range=(0, 30))
        assert lt.precision(client.decrypt(y), c @ c).mean > y.expected_bits - 2


def test_wrong_products_are_refused(ctx, client, rng):
    a = client.encrypt(rng.uniform(-1, 1, (8, 16)))
    other = lt.Context("test-n10-boot-insecure", ctx.device, threads=1)
    foreign = lt.keygen(other).encrypt(np.ones((16, 8)))
    for call, error in ((lambda: a @ a, lt.ShapeError), (lambda: a @ foreign, lt.ContextError), (lambda: lt.matrix_power(a, 2), lt.ShapeError),
                        (lambda: lt.matrix_power(a @ a.T, 0), lt.Error), (lambda: lt.matrix_power(np.eye(3), 2), lt.UnsupportedError),
                        (lambda: a.to_level(1) @ a.T.to_level(1), lt.LevelError)):
        with pytest.raises(error):
            call()


def test_debugging_follows_a_product(ctx, client, rng):
    a, b = rng.uniform(-1, 1, (2, 12, 12))
    ctx.use(client.server_keys(lambda x, y: x @ y, a, b))
    with lt.debug(ctx, client):
        client.encrypt(a) @ client.encrypt(b)
