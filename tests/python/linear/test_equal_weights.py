"""Claims of products with matrices whose weights are rounded alike.

Errors follow from the weights alone, so they are the same in all runs. Matrices have random rows and results enough for
the mean error of one matrix to lie within a factor of 2 of its expectation, unless a case says otherwise."""

import numpy as np
import pytest

import latticino as lt
from claimed import rms_ratio
from latticino.ckks.ciphertext import Ciphertext
from latticino.common.layout import Layout
from latticino.ops import moves

rows = np.random.default_rng(5)


def equal(n, m):
    return np.tile(rows.uniform(-1, 1, m), (n, 1))


def band(n, width):
    """Result r is the sum of `width` values starting at r, times a weight of its own."""
    own = rows.uniform(-1, 1, n)
    return sum(np.roll(np.eye(n), k, axis=0) for k in range(width)) * own


def as_map(w):
    made = lt.matrix_map(w.T)
    return lambda a: made(a) if isinstance(a, Ciphertext) else a @ w


def product(w):
    return lambda a: a @ w


def turned(w):
    return lambda a: a[::-1] @ w


JOINED = equal(1400, 30)
# Programs, with the shape of the argument: one ciphertext and several, in order and in other places.
EQUAL = {
    "square": (product(equal(64, 64)), (64,)), "wide": (product(equal(64, 200)), (64,)),
    "tall": (product(equal(512, 128)), (512,)), "tall, of few rows": (product(equal(300, 40)), (300,)),
    "of two ciphertexts": (product(equal(1000, 100)), (1000,)),
    "of three, to two": (product(equal(1500, 600)), (1500,)),
    "one band": (product(band(128, 64)), (128,)),
    "turned": (turned(equal(300, 40)), (300,)), "one band, turned": (turned(band(128, 64)), (128,)),
    "joined": (lambda a: np.concatenate([a, a * 2]) @ JOINED, (700,)),
    "a batch": (product(equal(60, 20)), (5, 60)),
    "a map": (as_map(equal(64, 300)), (64,)), "a tall map": (as_map(equal(512, 128)), (512,)),
    "a map of one band": (as_map(band(128, 64)), (128,)), "a map of three ciphertexts": (as_map(equal(1500, 30)), (1500,)),
}


# All slots are in use: means of rows, one weight for all values, and equal weights.
MEANS = {
    "rows": (product(np.full(16, 0.3)), (128, 16)), "a map": (as_map(np.eye(512) * 0.3), (512,)),
    "a map of one row": (as_map(np.full((512, 512), 0.003)), (512,)),
    "a square matrix": (product(np.full((512, 512), 0.003)), (512,)), "a vector": (product(np.full(512, 0.003)), (512,)),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", EQUAL)
def test_equal_weights_have_equal_rounding_errors(ctx, client, rng, name):
    """Equal diagonals have one rounding error, which meets the sum of the values. They were taken to be independent: of
    equal values, the errors of these products were up to 25 times as large as claimed."""
    program, shape = EQUAL[name]
    ctx.use(client.server_keys(program, lt.Shape(shape, None, (-300, 300)), show=False))
    same = lambda: np.full(shape, 300.0 * rng.uniform(0.9, 1))  # noqa: E731
    random = lambda: rng.uniform(-300, 300, shape)  # noqa: E731
    for make, least in ((same, 1 / 4), (random, 1 / 8)):
        assert least < rms_ratio(client, program, make, program, lambda make: {"like": make()}, 4) < 2, make
        assert rms_ratio(client, program, make, program, lambda make: {"range": (-300, 300)}, 4) < 2, make


@pytest.mark.slow
@pytest.mark.parametrize("name", MEANS)
def test_weights_that_repeat_are_rounded_little(ctx, client, rng, name):
    """Weights that are all equal have one coefficient, and its rounding is known. They were taken to have as many as
    there are slots: of values that lie far from 0, these products claimed up to 6 bits too little."""
    program, shape = MEANS[name]
    far = lambda: rng.uniform(300, 301, shape)  # noqa: E731
    ctx.use(client.server_keys(program, lt.Shape(shape, None, (300, 301)), show=False))
    for claims in (lambda make: {"like": make()}, lambda make: {"range": (300, 301)}):
        # A vector has one result a run. The logarithm of the ratio then deviates by 0.14 over 8 runs, and by 0.035 over 128.
        assert 0.5 < rms_ratio(client, program, far, program, claims, 128 if name == "a vector" else 8) < 2


def tridiagonal(n):
    return sum(np.roll(np.eye(n), k, axis=0) * rows.uniform(-1, 1, n) for k in (-1, 0, 1))


# Most diagonals of these matrices are zero.
FEW_DIAGONALS = {
    "three diagonals": (product(tridiagonal(512)), (512,)), "one weight": (product(np.eye(16) * 0.3), (16,)),
    "rows": (product(rows.uniform(-1, 1, (16, 16))), (32, 16)), "rows of one weight": (product(np.eye(100) * 0.3), (4, 100)),
}


@pytest.mark.parametrize("name", FEW_DIAGONALS)
def test_diagonals_of_zeros_add_no_error(ctx, client, rng, name):
    """Only diagonals that are multiplied have rounding errors, and only rotations have those of key switches. Products of
    values that lie far from 0 claimed up to 4 bits too little."""
    program, shape = FEW_DIAGONALS[name]
    ctx.use(client.server_keys(program, lt.Shape(shape, None, (100, 101)), show=False))
    for claims in (lambda make: {"like": make()}, lambda make: {"range": (100, 101)}):
        assert 0.6 < rms_ratio(client, program, lambda: rng.uniform(100, 101, shape), program, claims, 16) < 1.6


def test_maps_know_their_equal_diagonals():
    plain = Layout.plain((8,), 8)

    def alike(entry, period=8, **pieces):
        r, c = np.divmod(np.arange(64), 8)
        w = np.array([entry(x, y) for x, y in zip(r, c)])
        m = moves.Map(("test",), 8, period, plain, lambda: (r[w != 0], c[w != 0], w[w != 0]))
        return m.alike(plain, 0.0, **pieces)

    own = rows.uniform(1, 2, 8)
    assert alike(lambda r, c: own[r]).growth(np.ones(8, complex)) == pytest.approx(np.sqrt(8))
    assert alike(lambda r, c: own[r] * ((c - r) % 8 < 4)).growth(np.ones(8, complex)) == pytest.approx(2)
    # Diagonals 0 and 1 are equal, one has the other sign, and one other weights.
    some = {0: own, 1: own, 2: -own, 3: own * (np.arange(8) != 3)}
    made = alike(lambda r, c: some.get((c - r) % 8, np.zeros(8))[r])
    assert made.largest_growth == pytest.approx(np.sqrt((9 + 1) / 4)) and made.growth(np.ones(8, complex)) == 1
    assert alike(lambda r, c: rows.uniform(1, 2)) is None
    # One diagonal of equal weights has one coefficient, where others have 16 numbers.
    assert alike(lambda r, c: (r == c) * 2.0).growth(np.ones(8, complex)) == pytest.approx(np.sqrt(1 / 8))
    assert alike(lambda r, c: (r == c) * own[r]) is None
    # Four pieces of each result, 2 slots apart, have one error.
    four = alike(lambda r, c: own[r % 2], step=2, count=4)
    assert four.growth(np.ones(8, complex)) == pytest.approx(np.sqrt(8))
    assert four.growth(np.array([1, -1] * 4, complex)) == pytest.approx(0.5)
    # The same, but without that period.
    assert alike(lambda r, c: own[r], step=2, count=4).growth(np.ones(8, complex)) == pytest.approx(np.sqrt(8))
