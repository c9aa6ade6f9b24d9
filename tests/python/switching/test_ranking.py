"""The largest and smallest values and where they are, by ranks: against numpy, with ties, by tables and by polynomials."""

import math

import numpy as np
import pytest

import latticino as lt

PRESET = "test-n10-boot-insecure"


def stable(x, k, largest=True):
    return np.argsort(-x.reshape(-1) if largest else x.reshape(-1), kind="stable")[:k]


def kinds(count):
    """Values that are equal, or more than 1/32 apart."""
    rng = np.random.default_rng(count)
    steps = np.linspace(-0.9, 0.9, min(count, 40))
    yield rng.permutation(np.resize(steps, count))
    yield np.sort(np.resize(steps, count))
    yield np.sort(np.resize(steps, count))[::-1].copy()
    yield np.full(count, 0.4)
    yield np.where(np.arange(count) % 2, 0.8, -0.8)
    yield np.where(np.arange(count) == count // 2, -0.3, -0.9)


def held(client, result, want):
    got = client.decrypt(result).unmarked()
    assert got.shape == np.shape(want)
    error = np.abs(got - want)
    # For few values this depends on chance.
    assert result.size < 3 or -math.log2(error.mean()) > result.expected_bits - 2
    return error.max()


# ---- by tables ----

@pytest.mark.slow
@pytest.mark.parametrize("count, k", [(10, 1), (10, 4), (2, 2), (5, 5), (1, 1)])
def test_the_first_of_equal_values_comes_first(ctx, client, count, k):
    ctx.use(client.server_keys(lambda a: lt.top_k(a, k), lt.Shape((count,), ctx.level, (-1, 1))))
    for x in kinds(count):
        values, indices = lt.top_k(client.encrypt(x, level=ctx.level, range=(-1, 1)), k)
        order = stable(x, k)
        assert held(client, indices, order) < 0.02, x
        assert held(client, values, x[order]) < 2.0**-8, x


@pytest.mark.slow
def test_largest_and_smallest_of_an_array(ctx, client, rng):
    x = rng.permutation(np.linspace(-0.9, 0.9, 12)).reshape(3, 4)
    x[2, 3] = x[0, 1]

    def program(a):
        return a.max(method="ranks"), a.argmax(method="ranks"), a.min(), a.argmin()

    plan = ctx.plan(program, x)
    ctx.use(client.server_keys(plan))
    largest, at_largest, smallest, at_smallest = program(client.encrypt(x, level=ctx.level))
    assert largest.shape == at_largest.shape == smallest.shape == ()
    assert held(client, largest, x.max()) < 2.0**-8 and held(client, smallest, x.min()) < 2.0**-8
    assert held(client, at_largest, x.argmax()) < 0.02 and held(client, at_smallest, x.argmin()) < 0.02
    alone = ctx.plan(lambda a: a.argmax(method="ranks"), x)
    assert alone.lookups == 128 + 16  # 66 pairs and 12 ranks, in slots of the next powers of two
    assert "16 slots" in str(alone) or alone.levels


@pytest.mark.slow
def test_more_values_than_a_table_tells_apart(ctx, client):
    x = np.linspace(-1, 1, 200)
    with pytest.raises(lt.PrecisionError, match=r"argmax: had ranks with noise.*at most \d+ values.*polynomial"):
        ctx.plan(lambda a: a.argmax(method="ranks"), x)
    with pytest.raises(lt.ShapeError, match="300 values; needs at most 256.*sort"):
        ctx.plan(lambda a: lt.top_k(a, 2), np.zeros(300))


def test_rounds_of_values_whose_range_is_declared(ctx):
    """Each round chooses one of two values, so the range does not grow."""
    plan = ctx.plan(lambda a: (a.max(), a.argmax()), lt.Shape((8,), ctx.level, (-1, 1)))
    assert plan.lookups == 2 * 3 * 8
    assert ctx.plan(lambda a: a.argmax(), lt.Shape((5,), ctx.level, (-1, 1))).lookups == 3 * 8


# ---- by polynomials ----

@pytest.fixture(scope="module")
def clear():
    ctx = lt.Context("n16-d40-boot-v1", "not-encrypted", auto_bootstrap=True)
    return ctx, lt.keygen(ctx)


@pytest.mark.slow
@pytest.mark.parametrize("count, k", [(10, 1), (7, 3), (2, 1), (60, 1), (3, 3)])
@pytest.mark.parametrize("bits", [8, 14])
def test_polynomials_choose_as_numpy_does(clear, count, k, bits):
    _, client = clear
    for x in kinds(count):
        values, indices = lt.top_k(client.encrypt(x, range=(-1, 1)), k, method="polynomial", gap=1 / 32, bits=bits)
        order = stable(x, k)
        assert held(client, indices, order) < 2.0**-bits, x
        assert held(client, values, x[order]) < 2.0**-bits, x


@pytest.mark.slow
def test_polynomials_on_encrypted_values(device, rng):
    ctx = lt.Context(PRESET, device, threads=1, auto_bootstrap=True)
    client = lt.keygen(ctx)
    x = rng.permutation(np.linspace(-2, 2, 9))
    x[4] = x.max()

    def program(a):
        return a.argmax(2.0, "polynomial", gap=0.5, bits=8), a.min(2.0, "polynomial", gap=0.5, bits=8)

    plan = ctx.plan(program, lt.Shape((9,), None, (-2, 2)))
    ctx.use(client.server_keys(plan))
    at, least = program(client.encrypt(x, range=(-2, 2)))
    assert held(client, at, x.argmax()) < 2.0**-8 and held(client, least, x.min()) < 2.0**-8
    assert plan.bootstraps > 0 and plan.lookups == 0


@pytest.mark.slow
def test_large_bounds_need_more_bits(clear):
    _, client = clear
    x = np.array([-90.0, 80.0, 80.0, 10.0])
    values, indices = lt.top_k(client.encrypt(x, range=(-100, 100)), 2, 100, "polynomial", gap=5, bits=6)
    assert held(client, values, [80, 80]) < 2.0**-6 and held(client, indices, [1, 2]) < 2.0**-6


# ---- errors ----

@pytest.mark.parametrize("use, error, message", [
    (lambda x: lt.top_k(x, 0), lt.ValueError, "k"), (lambda x: lt.top_k(x, 9), lt.ValueError, "k"),
    (lambda x: lt.top_k(x, 1, -1), lt.ValueError, "bound"), (lambda x: lt.top_k(x, 1, method="rounds"), lt.UnsupportedError, '"ranks" or "polynomial"'),
    (lambda x: x.argmax(method="best"), lt.UnsupportedError, '"rounds", "ranks"'), (lambda x: x.max(bits=8), lt.UnsupportedError, "rounds"),
    (lambda x: x.argmin(method="ranks", gap=0.1), lt.UnsupportedError, "gap or bits"), (lambda x: x.max(x, method="ranks"), lt.UnsupportedError, "maximum"),
    (lambda x: x.min(method="polynomial", route="ring"), lt.UnsupportedError, "option route"), (lambda x: x.min(method="rounds"), lt.UnsupportedError, "ranks"),
    (lambda x: lt.top_k([1, 2], 1), lt.UnsupportedError, "list"), (lambda x: x.argmax(1.0, "polynomial", gap=5), lt.ValueError, "gap")])
def test_wrong_arguments(client, use, error, message):
    with pytest.raises(error, match=message):
        use(client.encrypt(np.linspace(-1, 1, 8)))
