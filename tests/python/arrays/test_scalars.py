"""Numbers that recorded programs get in every run: results have the same bits as with the number itself, and meet their
claims."""

import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import latticino as lt
from latticino import _native

X = np.random.default_rng(3).uniform(-1, 1, 300)
VALUES = (0.0, -0.0, 1.0, -1.0, 2.0, -2.0, 1e-300, -5e-324, 2.0**-40, 0.3, -1.7, 1 / 3, np.float32(0.1), np.float64(1.9), 1, True)


def same(client, x, y):
    """The same bits. Where the number itself is real, the function knows it of its result, whose imaginary parts are dropped."""
    assert (x.level, x.scale, x.shape) == (y.level, y.scale, y.shape)
    a, b = client.decrypt(x).unmarked(), client.decrypt(y).unmarked()
    assert np.array_equal(a, b) if a.dtype == b.dtype else np.array_equal(a.real, b.real)


def step(a, b, c, d):
    """Uses the numbers alone, in expressions, at several levels, twice, in sums, products and quotients."""
    high = (a * b) * (1 + 1j * (1 - c)) + d
    low = high * (c * d / 3 - 2) - c
    return (2 * c - low) / (3 + d), a * c + c * a - a * (d ** 2)


@pytest.fixture(scope="module", autouse=True)
def some_keys(ctx, client):
    """A recorded program holds the keys of its arguments, even if it needs none."""
    ctx.use(client.server_keys(lambda a: a * a, X))


@pytest.fixture
def made(ctx, client):
    program = lt.record(step, c=lt.Scalar(-2, 2), d=lt.Scalar(-2, 2))
    ctx.use(client.server_keys(program, X, X))
    return program


@pytest.mark.parametrize("size", [300, 1100])
def test_replays_give_the_bits_of_the_function(made, client, size):
    x = np.resize(X, size)
    a, b = client.encrypt(x), client.encrypt(x[::-1])
    for c, d in zip(VALUES, VALUES[::-1]):
        for fast, slow in zip(made(a, b, c=c, d=d), step(a, b, float(c), float(d))):
            same(client, fast, slow)
    assert made.recorded and made.arena_bytes > 0


def test_huge_numbers_and_complex_ones(client):
    a = client.encrypt(X / 1e6)
    wide = lt.record(lambda x, c: x * c, c=lt.Scalar(-1e6, 1e6))
    for c in (1e6, -1e6, 999999.75, 1e-200, 0.0):
        same(client, wide(a, c=c), a * c)
    turned = lt.record(lambda x, c: (x * c + c.conjugate()) * (c.real - 2) + c.imag,
                       c=lt.Scalar(lt.Range(-1, 1, (-1, 1))))
    for c in (0.5 + 0.25j, -1j * 0.999, 1 - 1j, 0.0, 1):
        c = complex(c)
        same(client, turned(a, c=c), (a * c + c.conjugate()) * (c.real - 2) + c.imag)


def test_products_take_a_level_whatever_the_number_is(client):
    program = lt.record(lambda x, c: x * c, c=lt.Scalar(lt.Range(-2, 2, (-2, 2))))
    a = client.encrypt(X)
    assert {program(a, c=c).level for c in (0, 1, -1, 1j, -1j, 2, 0.5)} == {a.level - 1}
    for c in (1j, -1j, 1):
        assert lt.precision(client.decrypt(program(a, c=c)), X * c).worst > 14


def test_claims_hold_for_the_whole_range(ctx, client):
    x = np.full(512, 0.9)
    for kind in ({"range": (-1, 1)}, {"like": x}, {}):
        a = client.encrypt(x, **kind)
        program = lt.record(lambda v, c: v * c + c, c=lt.Scalar(-3, 2))
        for c in (-3.0, 2.0, 0.0, 0.001):
            y = program(a, c=c)
            assert y.range.low <= (c * x + c).min() and y.range.high >= (c * x + c).max()
            error = np.abs(client.decrypt(y).unmarked() - (c * x + c))
            mean, worst = y._known.errors(y.size, y._full)
            assert error.mean() <= 1.5 * mean and error.max() <= 4 * worst
        assert y.range.bound <= 3 + 3 + 1e-9
        plan = ctx.plan(program, lt.Shape((512,), a.level, (-1, 1)))
        assert plan.levels == (y.level,) == ctx.plan(
            lambda v, c: v * c + c, lt.Shape((512,), a.level), c=lt.Scalar(-3, 2)).levels
    # The largest number of the range decides, and not the number of a run.
    bits = [ctx.plan(lambda v, c: v * c, lt.Shape((512,)), c=lt.Scalar(0, top)).bits[0][0] for top in (2**10, 2**20)]
    assert 9.5 < bits[0] - bits[1] < 10.5


def test_a_plan_refuses_what_some_number_of_the_range_would_not_survive(ctx, client):
    def program(x, c):
        return x.to_level(0) + c
    with pytest.raises(lt.ScaleError):
        ctx.plan(program, lt.Shape((8,)), c=lt.Scalar(0, 1e9))
    with pytest.raises(lt.ScaleError, match="2\\^"):
        lt.record(lambda x, c: x * c, c=lt.Scalar(0, 1e200))(client.encrypt(X), c=0.0)


def test_wrong_numbers(client):
    a = client.encrypt(X)
    program = lt.record(lambda x, c: x * c, c=lt.Scalar(0, 2))
    program(a, c=1)
    for bad in (-1e-12, 2.0000001, float("nan"), float("inf"), "1", None, 1j, [1.0], np.ones(2), a, lt.Scalar(0, 1), 10**400):
        with pytest.raises(lt.ValueError, match="c="):
            program(a, c=bad)
    for names in ({}, {"d": 1}, {"c": 1, "d": 1}):
        with pytest.raises(lt.ValueError, match="c within 0 to 2"):
            program(a, **names)
    same(client, program(a, c=2), a * 2.0)
    with pytest.raises(lt.ValueError, match="none"):
        lt.record(lambda x: x * 2)(a, c=1)


def test_wrong_declarations(ctx, client):
    for refused in (lambda: lt.record(lambda x, c: x, c=3), lambda: lt.record(lambda x: x, c=lt.Scalar(0, 1)),
                    lambda: lt.record(3, c=lt.Scalar(0, 1)), lambda: lt.record(), lambda: lt.record(c=(0, 1)),
                    lambda: ctx.plan(lambda x, c: x * c, X, c=0.5)):
        with pytest.raises(lt.UnsupportedError):
            refused()
    for ends in ((1, 0), (0, float("inf")), ("a", "b"), (3,), (lt.Range(), 1)):
        with pytest.raises(lt.ValueError):
            lt.Scalar(*ends)
    a = client.encrypt(X)
    for use in (lambda: a * lt.Scalar(0, 1), lambda: lt.Scalar(0, 1) + a, lambda: lt.Scalar(1, 2) * 3 * a):
        with pytest.raises(lt.UnsupportedError, match="lt.record"):
            use()
    exact = lt.tfhe.Context("test-tfhe-2-2-tiny-insecure", "cpu")
    with pytest.raises(lt.UnsupportedError, match="TFHE"):
        lt.record(lambda x, c: x, c=lt.Scalar(0, 1))(lt.keygen(exact).encrypt([1], "u2"), c=1)


def test_a_scalar_has_no_value_while_it_is_recorded(client):
    a = client.encrypt(X)
    for f in (lambda x, c: x * (1.0 if c > 0 else 2.0), lambda x, c: x * float(c), lambda x, c: x if c else -x,
              lambda x, c: x * abs(c), lambda x, c: x * (2 if c == 1 else 3), lambda x, c: x * c**0.5):
        with pytest.raises(lt.UnsupportedError):
            lt.record(f, c=lt.Scalar(0, 1))(a, c=1)
    with pytest.raises(lt.ValueError, match="holds 0"):
        lt.record(lambda x, c: x / c, c=lt.Scalar(-1, 1))(a, c=1)
    for f in (lambda x, c: x * (np.ones(300) * c), lambda x, c: x @ c, lambda x, c: c / x):
        with pytest.raises((lt.Error, TypeError)):
            lt.record(f, c=lt.Scalar(1, 2))(a, c=1)


def test_functions_of_a_number(client):
    a = client.encrypt(X)
    program = lt.record(lambda x, c: x * c.mapped(np.sqrt, 0, 1.5), c=lt.Scalar(0, 4))
    for c in (0.0, 0.09, 2.25):
        same(client, program(a, c=c), a * float(np.sqrt(c)))
    with pytest.raises(lt.ValueError, match="0 to 1.5"):
        program(a, c=4)
    same(client, program(a, c=1), a * 1.0)


def test_kept_scalars_are_refused_outside(ctx, client):
    kept, a = [], client.encrypt(X)

    @lt.record(c=lt.Scalar(0, 1))
    def program(x, c):
        kept.append(c * 2)
        return x * c

    program(a, c=1)
    with pytest.raises(lt.ContextError, match="kept"):
        a * kept[-1]
    with pytest.raises(lt.UnsupportedError):
        pickle.dumps(kept[-1])
    with pytest.raises(lt.ContextError, match="two programs"):
        lt.record(lambda x, c: x * (c + kept[-1]), c=lt.Scalar(0, 1))(a, c=1)
    elsewhere = lt.Context(ctx.params.name, "cpu")
    b = lt.keygen(elsewhere).encrypt(X)
    with pytest.raises(lt.ContextError):
        lt.record(lambda x, c: x + (b * c).sum(), c=lt.Scalar(0, 1))(a, c=1)
    again = pickle.loads(pickle.dumps(lt.Scalar(-1, 2)))
    assert repr(again) == "Scalar(-1, 2)" and again.range.high == 2


def test_a_function_must_do_the_same_at_every_call(client):
    calls = []

    def restless(x, c):
        calls.append(1)
        return x * (c if len(calls) < 3 else c + 0.5)

    with pytest.raises(lt.UnsupportedError, match="every call"):
        lt.record(restless, c=lt.Scalar(0, 1))(client.encrypt(X), c=1)


def test_threads_pass_numbers_of_their_own(client):
    program = lt.record(lambda x, c: (x * c) * (1 - c) + c, c=lt.Scalar(-1, 1))
    a = client.encrypt(X)
    wanted = {c: client.decrypt((a * c) * (1 - c) + c).unmarked() for c in np.linspace(-1, 1, 8).tolist()}
    program(a, c=0)
    with ThreadPoolExecutor(4) as pool:
        for c, y in zip(list(wanted) * 20, pool.map(lambda c: program(a, c=c), list(wanted) * 20)):
            assert np.array_equal(client.decrypt(y).unmarked(), wanted[c])


def test_two_recordings_keep_their_numbers_apart(client):
    a = client.encrypt(X)
    first, second = (lt.record(lambda x, c, k=k: x * c + k, c=lt.Scalar(0, 2)) for k in (1.0, 2.0))
    for c in (0.5, 1.5):
        y, z = first(a, c=c), second(a, c=2 - c)
        same(client, y, a * c + 1.0)
        same(client, z, a * (2 - c) + 2.0)


def test_many_numbers(client):
    """More uses than one block of memory holds."""
    def program(x, c):
        return sum((x * (c * k) for k in range(1, 400)), x * c)
    a, few = client.encrypt(X), lt.record(program, c=lt.Scalar(-1e-3, 1e-3))
    for c in (1e-3, -5e-4):
        same(client, few(a, c=c), program(a, c))


def test_a_bootstrapping_inside(ctx, client):
    def program(x, c):
        return (x * c).to_level(0).bootstrap() * (c + 1)
    ctx.use(client.server_keys(ctx.plan(program, lt.Shape((512,)), c=lt.Scalar(-1, 1))))
    a = client.encrypt(np.resize(X, 512))
    recorded = lt.record(program, c=lt.Scalar(-1, 1))
    for c in (0.25, -0.75):
        same(client, recorded(a, c=c), program(a, c))


def test_without_encryption_and_while_debugging(ctx, client):
    program = lt.record(lambda x, c: x * c + c, c=lt.Scalar(lt.Range(-2, 2, (-2, 2))))
    clear = lt.Context(ctx.params.name, "not-encrypted")
    owner = lt.keygen(clear)
    for c in (0.5, 1j, -2.0):
        y = program(owner.encrypt(X), c=c)
        assert y.level == clear.level - 1 and lt.precision(owner.decrypt(y), X * c + c).worst > 14
    with pytest.raises(lt.ValueError):
        program(owner.encrypt(X), c=3)
    replayed = lt.record(lambda x, c: x * c, c=lt.Scalar(0, 1))
    with pytest.warns(lt.SecretWarning), lt.debug(ctx, client):
        y = replayed(client.encrypt(X), c=0.5)
        assert y._known.shadow and lt.precision(client.decrypt(y), X * 0.5).worst > 14


def test_slots_without_values_follow_the_number(client):
    """Sums over an axis read slots without values, which hold what the operation with the number left there."""
    x = np.resize(X, (5, 3))

    def program(v, c):
        return ((v + c) * c).sum()
    recorded = lt.record(program, c=lt.Scalar(-2, 2))
    ctx = client.context
    ctx.use(client.server_keys(ctx.plan(program, lt.Shape(x.shape), c=lt.Scalar(-2, 2))))
    for c in (0.0, 2.0, -1.5):
        assert abs(client.decrypt(recorded(client.encrypt(x), c=c)) - ((x + c) * c).sum()) < 2**-8


def test_the_same_bits_on_every_path():
    """With the plain reference and with vector kernels."""
    got = []
    for simd in (False, True):
        ctx = lt.Context("test-n10-leveled-insecure", "cpu", threads=1, simd=simd)
        client = lt.keygen(ctx)
        ctx.use(client.server_keys(lambda a: a * a, X))
        a = client.encrypt(X)
        program = lt.record(lambda x, c: x * c + c, c=lt.Scalar(-1, 1))
        same(client, program(a, c=0.7), a * 0.7 + 0.7)
        got.append(program(a, c=0.3).level)
    assert got[0] == got[1]


def test_ranges_of_expressions():
    numbers = _native.Range
    seen = {}

    def program(x, c, d):
        for name, s in {"sum": c + d, "difference": 1 - c, "product": c * d, "quotient": c / d, "square": c**2, "cube": d**3,
                        "inverse": d**-1, "complex": (1 + 2j) * c, "size": (c * 1j) ** 2, "quotient 2": 1 / (d + 1j * c)}.items():
            seen[name] = s
        return x

    ctx = lt.Context("test-n10-leveled-insecure", "cpu", threads=1)
    ctx.plan(program, lt.Shape((4,)), c=lt.Scalar(-1, 2), d=lt.Scalar(1, 4))
    rng = np.random.default_rng(1)
    for c, d in np.vstack([np.column_stack([rng.uniform(-1, 2, 200), rng.uniform(1, 4, 200)]), [[-1, 1], [2, 1], [2, 4], [-1, 4]]]):
        for name, value in {"sum": c + d, "difference": 1 - c, "product": c * d, "quotient": c / d, "square": c * c, "cube": d**3,
                            "inverse": 1 / d, "complex": (1 + 2j) * c, "size": -c * c, "quotient 2": 1 / (d + 1j * c)}.items():
            assert seen[name].range.contains(numbers.of_number(complex(value))), name
    assert (seen["square"].range.low, seen["square"].range.high) == (0, 4)
