"""Functions by tables: any function of every value, comparisons, the largest value."""

import math

import numpy as np
import pytest

import latticino as lt
from latticino.common import devices

SLOTS = 64
ERROR = 2**-6  # part of the bound: five deviations of the small set


def spread(count, bound=1.0):
    return bound * (2 * np.random.default_rng(3).permutation(count) / (count - 1) - 1)


@pytest.mark.parametrize("f, bound", [(lambda v: v, 1.0), (lambda v: max(v, 0.0), 8.0),
                                      (lambda v: 1 / (1 + math.exp(-v)), 8.0), (math.sin, math.pi)])
def test_functions_of_every_value(ctx, client, f, bound):
    x = spread(SLOTS, bound)

    def program(a):
        return a.apply_lut(f, bound)

    plan = ctx.plan(program, x)
    keys = client.server_keys(plan)
    ctx.use(keys)
    encrypted = client.encrypt(x)
    y = program(encrypted)
    assert (y.level,) == plan.levels and y.shape == x.shape
    assert np.abs(client.decrypt(y).real - [f(v) for v in x]).max() < ERROR * bound
    assert 0 < plan.seconds < 1e3  # blind rotations have rates
    assert keys.switching == list(plan.switching) == ["test-switch-n10-insecure"]
    assert keys.bytes == plan.key_bytes > sum(plan.switching.values()) > 0


def test_clear_numbers_beyond_the_bound_are_told(ctx, client):
    """Before, such a comparison gave wrong results without a warning, and claimed their precision."""
    x = spread(SLOTS)
    ctx.use(client.server_keys(lambda a: (a.compare(0.5), a.max(0.5)), lt.Shape(x.shape)))
    encrypted = client.encrypt(x)
    assert encrypted.compare(1.0).expected_bits > 5
    for y in (3.0, -100, np.full(x.shape, 3.0)):
        for program in (lambda a: a.compare(y), lambda a: a.max(y)):
            with pytest.raises(lt.ScaleError, match="numbers within the bound 1"):
                ctx.plan(program, lt.Shape(x.shape))
            with pytest.warns(lt.RangeWarning, match="raise the bound, or declare"):
                assert program(encrypted).expected_bits < 1
    stated = client.encrypt(x / 4, range=(-0.25, 0.25))
    assert np.abs(client.decrypt(stated.compare(1.5)).real).max() < ERROR


@pytest.mark.slow
def test_arrays_of_several_ciphertexts_and_chosen_values(ctx, client):
    x = spread(700).reshape(7, 100)
    where = x > 0.25

    def program(a):
        return a.apply_lut(lambda v: -2 * v, where=where), a.apply_lut(lambda v: v * v)

    ctx.use(client.server_keys(program, x))
    some, every = (client.decrypt(y).real for y in program(client.encrypt(x)))
    assert np.abs(some - np.where(where, -2 * x, x)).max() < 2 * ERROR
    assert np.abs((some - x)[~where]).max() < 2**-12
    assert np.abs(every - x * x).max() < 2 * ERROR


@pytest.mark.slow
@pytest.mark.parametrize("first, last", [(0, 10), (600, 700), (5, 5)])
def test_values_chosen_in_some_ciphertexts(ctx, client, first, last):
    """Before, each ciphertext had a level of its own: the higher one if none of its values was chosen."""
    x = spread(700)
    where = np.zeros(700, bool)
    where[first:last] = True

    def program(a):
        y = a.apply_lut(lambda v: -2 * v, where=where)
        return y, y * y

    ctx.use(client.server_keys(program, x))
    y, square = program(client.encrypt(x))
    want = np.where(where, -2 * x, x)
    assert len({p.level for p in y._parts}) == 1
    assert np.abs(client.decrypt(y).real - want).max() < 2 * ERROR
    assert np.abs(client.decrypt(square).real - want**2).max() < 8 * ERROR
    if first == last:  # no value is looked up
        assert y.level == client.encrypt(x).level and y.expected_bits > 25


def test_plans_count_lookups(ctx):
    x = spread(700)  # slots of the last ciphertext without values are looked up too
    whole, some = ctx.plan(lambda a: a.apply_lut(abs), x), ctx.plan(lambda a: a.apply_lut(abs, where=x > 0.5), x)
    signs = ctx.plan(lambda a: a.compare(0.0) + a.compare(0.5), spread(SLOTS))
    none = ctx.plan(lambda a: a + 1, x)
    parts = -(-700 // ctx.slots)
    assert whole.lookups == parts * ctx.slots and some.lookups == (x > 0.5).sum()
    assert signs.lookups == 2 * SLOTS and none.lookups == whole.bootstraps == 0
    assert (whole | signs).lookups == whole.lookups + signs.lookups
    assert f"table lookups      {whole.lookups:,}" in str(whole) and "lookups" not in str(none)


def test_comparisons(ctx, client):
    x, y = spread(SLOTS, 2.0), np.roll(spread(SLOTS, 2.0), 5)

    def program(a, b):
        return a.compare(b, 2.0), a.max(b, 2.0), a.compare(0.5, 2.0)

    ctx.use(client.server_keys(program, x, y))
    greater, larger, above = (client.decrypt(z).real for z in program(client.encrypt(x), client.encrypt(y)))
    clear = np.abs(x - y) > 4 * ERROR
    assert np.abs(greater - (x > y))[clear].max() < 2**-10
    assert np.abs(larger - np.maximum(x, y))[clear].max() < 2**-8
    assert np.abs(larger - np.maximum(x, y)).max() < 4 * ERROR
    clear = np.abs(x - 0.5) > 4 * ERROR
    assert np.abs(above - (x > 0.5))[clear].max() < 2**-10


@pytest.mark.parametrize("size", [8, 5])
def test_the_largest_value_and_where_it_is(ctx, client, size):
    x = np.linspace(-0.9, 0.8, size)[np.random.default_rng(5).permutation(size)]
    ctx.use(client.server_keys(lambda a: (a.max(), a.argmax()), x))
    encrypted = client.encrypt(x, level=ctx.level)
    assert abs(client.decrypt(encrypted.max()).real - x.max()) < 2**-8
    assert abs(client.decrypt(encrypted.argmax()).real - x.argmax()) < 0.05


@pytest.mark.slow
def test_programs_that_look_up_can_be_recorded(ctx, client):
    x, y = spread(SLOTS), np.sort(spread(SLOTS))

    def program(a):
        return a.apply_lut(lambda v: v * v) + a.compare(0.25) + 0 * a.apply_lut(abs, where=x > 0)

    ctx.use(client.server_keys(program, x))
    replay = lt.record(program)
    for values in (x, y, x):
        have, want = client.decrypt(replay(client.encrypt(values))).real, values**2 + (values > 0.25)
        clear = np.abs(values - 0.25) > 2 * ERROR
        assert np.abs(have - want)[clear].max() < 2 * ERROR


@pytest.mark.slow
@pytest.mark.parametrize("route", ["ring", "matvec", "automatic"])
def test_either_way_back(ctx, client, tmp_path, route):
    x = spread(SLOTS)

    def program(a):
        return a.apply_lut(lambda v: v * v, route=route), a.compare(0.25, route=route)

    plan = ctx.plan(program, x)
    (way,) = plan.repack_routes.values()
    assert route in ("automatic", way.route) and way.seconds > 0 and way.key_bytes > 0
    assert bool(plan.products) == (way.route == "matvec")
    assert f"back by route {way.route}" in str(plan)
    keys = client.server_keys(plan)
    assert keys.bytes == plan.key_bytes == (plan | ctx.plan(lambda a: a.apply_lut(abs, route=route), x)).key_bytes
    lt.save_server_keys(tmp_path / "keys", ctx, keys)
    for bundle in (keys, lt.load_server_keys(tmp_path / "keys", ctx)):
        ctx.use(bundle)
        square, above = (client.decrypt(y).real for y in program(client.encrypt(x)))
        assert np.abs(square - x * x).max() < 2 * ERROR
        assert np.abs(above - (x > 0.25))[np.abs(x - 0.25) > 4 * ERROR].max() < 2**-10


def test_routes_without_keys_and_unknown_ones(ctx, client):
    x = spread(SLOTS)
    ctx.use(client.server_keys(lambda a: a.apply_lut(abs, route="ring"), x))
    encrypted = client.encrypt(x)
    with pytest.raises(lt.KeyError, match="no key for route Matvec"):
        encrypted.apply_lut(abs, route="matvec")
    with pytest.raises(lt.ValueError, match="automatic, ring or matvec"):
        encrypted.apply_lut(abs, route="back")
    encrypted.apply_lut(abs)  # the choice follows the keys


def test_the_default_set_is_that_of_the_keys_or_the_device(device):
    ctx = lt.Context("test-n12-boot-insecure", device, threads=1)
    exact, fp64 = "test-switch-n12-insecure", "test-switch-n12-fp64-insecure"
    first, other = (fp64, exact) if devices.fast_doubles(device, 0, 1, True) else (exact, fp64)
    assert lt.Context("test-n12-boot-insecure", "cpu", simd=False).switch_set() == exact
    client, x = lt.keygen(ctx), spread(SLOTS)

    def program(a):
        return a.apply_lut(abs)

    assert ctx.switch_set() == first and list(ctx.plan(program, x).switching) == [first]
    ctx.use(client.server_keys(lambda a: a.apply_lut(abs, switching=other), x))
    assert ctx.switch_set() == other and list(ctx.plan(program, x).switching) == [other]
    assert np.abs(client.decrypt(program(client.encrypt(x))).real - np.abs(x)).max() < ERROR


def test_keys_from_files_do_the_same(ctx, client, tmp_path):
    x = spread(SLOTS)
    keys = client.server_keys(lambda a: a.apply_lut(abs), x)
    encrypted = client.encrypt(x)
    before = client.decrypt(ctx.use(keys) and encrypted.apply_lut(abs))
    lt.save_server_keys(tmp_path / "keys", ctx, keys)
    loaded = lt.load_server_keys(tmp_path / "keys", ctx)
    assert loaded.switching == keys.switching and loaded.bytes == keys.bytes
    ctx.use(loaded)
    assert (client.decrypt(encrypted.apply_lut(abs)) == before).all()


def test_reports_predict_the_errors_of_tables(ctx, client):
    x = spread(SLOTS, 2.0)
    reports = {route: ctx.table_report(lambda v: v, 2.0, slots=SLOTS, route=route) for route in ("ring", "matvec")}
    ctx.use(client.server_keys(lambda a: [a.apply_lut(lambda v: v, 2.0, route=route) for route in reports], x))
    for route, report in reports.items():
        error = np.abs(client.decrypt(client.encrypt(x).apply_lut(lambda v: v, 2.0, route=route)).real - x)
        assert report.route == route
        assert report.mean / 2 < error.mean() < 2 * report.mean and error.max() < report.largest
        assert report.mean < report.deviation < report.largest
        assert report.deviation == pytest.approx(report.argument, rel=0.1)  # slope 1: hardly anything else matters
    flat, steep = (ctx.table_report(lambda v, slope=slope: slope * v, slots=SLOTS) for slope in (0.0, 4.0))
    assert flat.mean < steep.mean / 4
    with pytest.raises(lt.ValueError):
        ctx.table_report(abs, bound=-1)


def test_wrong_use_says_what_is_wrong(ctx, client):
    x = spread(SLOTS)
    keys = client.server_keys(lambda a: a.apply_lut(abs), x)
    ctx.use(keys)
    encrypted = client.encrypt(x)
    with pytest.raises(lt.LevelError):
        client.encrypt(x, level=1).apply_lut(abs)
    with pytest.raises(lt.ValueError):
        encrypted.apply_lut(lambda v: math.inf)
    with pytest.raises(lt.ValueError):
        encrypted.apply_lut(abs, bound=-1)
    with pytest.raises(lt.ShapeError):
        encrypted.apply_lut(abs, where=np.ones(3, bool))
    for f in (lambda v: "x", lambda v: 1j, lambda v: [v, v], lambda v: "3", lambda v: b"3", np.complex128, lambda v: np.array([v]),
              lambda v: np.sqrt(v + 0j), lambda v: np.array(1j)):
        with pytest.raises(lt.ValueError, match="real number"):
            encrypted.apply_lut(f)
    for use in (lambda: encrypted.apply_lut(abs, bound="wide"), lambda: encrypted.compare(0.0, bound="wide")):
        with pytest.raises(lt.ValueError, match="bound='wide'"):
            use()
    for use in (lambda: encrypted.apply_lut([1.0, 2.0]), lambda: ctx.table_report(3), lambda: ctx.plan(3, x)):
        with pytest.raises(lt.UnsupportedError, match="function"):
            use()
    with pytest.raises(ZeroDivisionError):
        encrypted.apply_lut(lambda v: 1 / (v - v))
    with pytest.raises(lt.ParameterError):
        encrypted.apply_lut(abs, switching="switch-n16-d40-v1")
    ctx.use(client.server_keys(lambda a: a * a, x))
    with pytest.raises(lt.KeyError):
        encrypted.apply_lut(abs)
    leveled = lt.Context("test-n10-leveled-insecure", "cpu")
    with pytest.raises(lt.ParameterError):
        lt.keygen(leveled).encrypt(x).apply_lut(abs)


@pytest.mark.parametrize("size", [1e-7, 1e-12])
def test_tables_of_tiny_values_claim_the_errors_of_the_way_back(ctx, client, size):
    x = spread(SLOTS)
    ctx.use(client.server_keys(lambda a: a.apply_lut(lambda v: size * v), x))
    y = client.encrypt(x).apply_lut(lambda v: size * v)
    assert abs(lt.precision(client.decrypt(y), size * x).mean - y.expected_bits) < 1.5  # 64 values: a deviation of 0.1


@pytest.mark.slow
@pytest.mark.parametrize("basis", ["declared", "assumed", "calibrated"])
@pytest.mark.parametrize("f, size, scale", [(lambda v: v, 1.0, 2.0**8), (lambda v: math.tanh(20 * v), 0.05, None)])
def test_tables_claim_what_errors_of_their_arguments_become(ctx, client, rng, f, size, scale, basis):
    """Arguments with errors of their own, and arguments where the function is steep, had the claims of exact arguments
    that are spread evenly."""
    x = rng.uniform(-size, size, 256)
    ctx.use(client.server_keys(lambda a: a.apply_lut(f), x))
    options = {"declared": {"range": (-1, 1)}, "assumed": {}, "calibrated": {"like": x}}[basis]
    y = client.encrypt(x, scale=scale, **options).apply_lut(f)
    found = lt.precision(client.decrypt(y), np.vectorize(f)(x))
    assert -1 < y.expected_bits - found.mean < 0.4 and y.expected_worst_bits < found.worst + 1, (y, found)


def test_tables_have_the_values_that_name_them(ctx, client):
    """A function that changes gave its later values to the table that was named by its first ones."""
    x, seen = spread(SLOTS), set()

    def changing(v):
        known = v in seen and abs(v) < 1  # arguments beyond the bound are cut to it, so 1 comes several times
        seen.add(v)
        return -v if known else v

    ctx.use(client.server_keys(lambda a: a.apply_lut(lambda v: v), x))
    for f in (changing, lambda v: v):
        assert np.abs(client.decrypt(client.encrypt(x).apply_lut(f)) - x).max() < ERROR


def test_a_call_evaluates_its_function_once_per_entry(ctx, client):
    """Claims are computed from the table, so a second call evaluates the function for the table's name only."""
    x, calls = spread(SLOTS), []

    def f(v):
        calls.append(v)
        return v / 2

    ctx.use(client.server_keys(lambda a: a.apply_lut(f), x))
    for options in ({}, {"like": x}):
        a = client.encrypt(x, **options)
        first = a.apply_lut(f)
        calls.clear()
        second = a.apply_lut(f)
        assert len(calls) == 1024  # entries of the set n10
        assert second.expected_bits == pytest.approx(first.expected_bits, abs=0.5)


@pytest.mark.filterwarnings("ignore::latticino.RangeWarning")
def test_tables_claim_nothing_of_values_that_may_have_wrapped(ctx, client):
    x = spread(SLOTS)
    ctx.use(client.server_keys(lambda a: (a.apply_lut(lambda v: v), a.compare(0.0)), x))
    for power in (150, 600):
        for options in ({}, {"like": x}):
            a = client.encrypt(x, **options)
            for _ in range(power // 150):
                a = a * 2.0**150
            assert a.apply_lut(lambda v: v).expected_bits < 2
            assert a.compare(0.0).expected_bits < 2


@pytest.mark.parametrize("use", [lambda a: a.max(), lambda a: a.argmax(), lambda a: a[:3].max(), lambda a: a.argmax(0.5)])
def test_maxima_of_values_beyond_the_bound_are_refused(ctx, use):
    """Also if slots are left over, which hold filler values."""
    for count in (5, 8):
        with pytest.raises(lt.ScaleError, match="raise the bound"):
            ctx.plan(use, lt.Shape((count,), ctx.level, (-5, 5)))
    ctx.plan(lambda a: a.max(bound=5), lt.Shape((5,), ctx.level, (-5, 5)))


def test_rounds_are_those_of_the_values_not_of_the_slots(ctx, client):
    x = np.array([0.1, 0.7, -0.3, 0.2] + [0.9] * 60)
    program = lambda a: (a[:4].max(), a[:4].argmax())  # noqa: E731
    example = client.encrypt(x, level=ctx.level)
    assert ctx.plan(lambda a: a.argmax(), x[:4]).levels == ctx.plan(lambda a: a[:4].contiguous().argmax(), x[:4]).levels
    ctx.use(client.server_keys(program, example))
    largest, index = map(client.decrypt, program(example))
    assert abs(largest - 0.7) < 2**-8 and abs(index - 1) < 0.05
