"""Sparse linear maps against numpy: entries, matrices, diagonals, layouts, batches, memory, claims."""

import pickle
import threading

import numpy as np
import pytest

import latticino as lt
from claimed import rms_ratio


def dense(m):
    out = np.zeros((m.size_out, m.size_in), complex)
    np.add.at(out, (m._rows, m._columns), m._values)
    return out


def random_map(rng, size_in, size_out, count, **options):
    return lt.linear_map(rng.integers(0, size_out, count), rng.integers(0, size_in, count),
                         rng.uniform(-1, 1, count), size_in, size_out, **options)


@pytest.fixture
def applied(ctx, client):
    """The decrypted result. It must have the claimed precision, with declared and with calibrated ranges."""

    def run(m, x, program=None):
        program = program or (lambda a: m(a))
        ctx.use(client.server_keys(program, x))
        for options in ({"like": x}, {"range": lt.Range(-1, 1, (-1, 1))} if np.iscomplexobj(x) else {"range": (-1, 1)}):
            y = program(client.encrypt(x, **options))
            want = m.evaluate(x)
            assert y.shape == want.shape and y.level == ctx.level - 1
            found = lt.precision(client.decrypt(y), want)
            few = 3 if want.size < 100 else 1  # number of values below which errors may be large by chance
            assert found.mean > y.expected_bits - few and found.worst > y.expected_worst_bits - 2
            if "like" in options and want.size > 100:
                assert found.mean < y.expected_bits + 2
        return y

    return run


@pytest.mark.parametrize("size_in, size_out, count", [(1, 1, 1), (5, 3, 7), (512, 512, 900), (600, 40, 800), (40, 1300, 2000),
                                                      (1500, 1100, 1500)])
def test_any_entries(applied, rng, size_in, size_out, count):
    m = random_map(rng, size_in, size_out, count)
    x = rng.uniform(-1, 1, size_in)
    np.testing.assert_allclose(m.evaluate(x), dense(m).real @ x, atol=1e-9)
    applied(m, x)


def test_entries_of_one_place_are_added_up_and_zeros_left_out(applied, rng):
    m = lt.linear_map([0, 0, 1, 1], [2, 2, 0, 1], [1.0, 0.5, 2.0, 0.0], 4, 2)
    assert m.entries == 2
    np.testing.assert_array_equal(m.evaluate([1.0, 0, 2, 0]), [3.0, 2.0])
    applied(m, rng.uniform(-1, 1, 4))


def test_matrices_take_numbers_of_any_shape(applied, rng):
    w = rng.uniform(-1, 1, (12, 30))
    m = lt.matrix_map(w, (5, 6), (3, 4))
    x = rng.uniform(-1, 1, (5, 6))
    np.testing.assert_allclose(m.evaluate(x), (w @ x.ravel()).reshape(3, 4))
    assert applied(m, x).shape == (3, 4)


def test_complex_weights_and_values(applied, rng):
    m = lt.diagonal_map({0: 1j, 3: rng.uniform(-1, 1, 64) + 0.5j, -1: 0.25}, 64)
    assert not m.is_real
    applied(m, rng.uniform(-1, 1, 64) + 1j * rng.uniform(-1, 1, 64))
    y = applied(m, rng.uniform(-1, 1, 64))
    assert y.dtype == np.complex128
    assert applied(lt.diagonal_map({1: 0.5}, 64), rng.uniform(-1, 1, 64) * 1j).dtype == np.complex128


def test_diagonals_are_those_of_rolled_vectors(applied, rng):
    v = rng.uniform(-1, 1, 100)
    m = lt.diagonal_map({0: v, -2: 0.5, 7: 2 * v})
    x = rng.uniform(-1, 1, 100)
    np.testing.assert_allclose(m.evaluate(x), v * x + 0.5 * np.roll(x, 2) + 2 * v * np.roll(x, -7))
    applied(m, x)
    assert lt.diagonal_map({0: 1, 5: 2}, 512).diagonals == 2


def test_a_map_of_zeros(ctx, client, rng):
    m = lt.linear_map([0], [0], [0.0], 512, 3)
    x = rng.uniform(-1, 1, 512)
    ctx.use(client.server_keys(lambda a: m(a), x))
    np.testing.assert_allclose(client.decrypt(m(client.encrypt(x))), 0, atol=1e-6)


def test_layouts_of_arguments_and_results(applied, rng):
    m = random_map(rng, 60, 30, 200)
    x = rng.uniform(-1, 1, (8, 120))
    want = lambda v: m.evaluate(v[3, ::2])  # noqa: E731
    one = lt.linear_map([0], [0], [1.0], 1, 1)
    one.evaluate = want
    y = applied(one, x, lambda a: m(a[3, ::2]))  # next to other values
    assert y.layout.clean
    spread = lt.Layout((30,), 256, 1, np.arange(30) * 8)
    given = random_map(rng, 60, 30, 200, target=spread)
    y = applied(given, rng.uniform(-1, 1, 60))
    assert y.layout.same(spread) and y.layout.clean


def test_narrow_results_are_folded(applied, ctx, client, rng):
    m = lt.matrix_map(rng.uniform(-1, 1, (16, 512)))
    assert m.diagonals == 16 and m.target.slots == 16  # and not 512
    y = applied(m, rng.uniform(-1, 1, 512))
    assert y.slots == 16
    cost = m.cost(y.context, level=3)
    assert (cost.diagonals, cost.hoisted + cost.single) == (16, 7 + 1 + 5)
    assert set(cost.rotations) >= {16, 32, 64, 128, 256}


def test_arrays_of_several_ciphertexts_rotate_each_once(applied, ctx, rng):
    m = lt.diagonal_map({d: 5.0 + d for d in range(-3, 4)}, 2048)
    cost = m.cost(ctx)
    assert cost.source.count == 4 and cost.diagonals == 4 * (7 + 6)  # the neighbours across each end
    assert cost.hoisted + 3 * cost.single <= 4 * 7
    applied(m, rng.uniform(-1, 1, 2048))


def test_periods_take_less_memory(rng):
    ctx = lt.Context("n16-d40-boot-v1", "not-encrypted")
    v = rng.uniform(-1, 1, (2, 64))
    periodic = lt.diagonal_map({d: np.tile(row, ctx.slots // 64) for d, row in enumerate(v)})
    other = lt.diagonal_map({d: rng.uniform(-1, 1, ctx.slots) for d in range(2)})
    costs = [m.cost(ctx, level=2).bytes for m in (periodic, other)]
    assert costs[0] == costs[1] / 64  # in the ring of degree 1,024, which is the smallest


def test_batches(applied, ctx, client, rng):
    m = lt.matrix_map(rng.uniform(-1, 1, (20, 100)))
    applied(m, rng.uniform(-1, 1, (6, 100)))  # rows in shared ciphertexts
    applied(m, rng.uniform(-1, 1, (2, 3, 100)))
    xs = rng.uniform(-1, 1, (3, 100))
    program = lambda a, b, c: (*m(a, b, c), m(lt.stack([a, b, c])), m(lt.stack([a, b * 0.5, c])))  # noqa: E731
    plan = ctx.plan(program, *xs)
    ctx.use(client.server_keys(program, *xs))
    made = program(*[client.encrypt(x) for x in xs])
    for y, want in zip(made, [*m.evaluate(xs), m.evaluate(xs), m.evaluate(xs * [[1], [0.5], [1]])]):
        assert y.shape == want.shape
        np.testing.assert_allclose(client.decrypt(y), want, atol=1e-6)
    # Encoded once per level: the products of three arrays read the same diagonals.
    encodings = [m.cost(ctx, level=level).bytes for level in (ctx.level, ctx.level - 1)]
    assert sum(encodings) <= plan.constant_bytes < sum(encodings) + 100
    one, three = (ctx.plan(p, *xs).keys.keys() for p in (lambda a, b, c: m(a), lambda a, b, c: m(a, b, c)))
    assert one == three


def test_one_map_in_plans_recordings_and_bundles(ctx, client, rng, tmp_path):
    m = random_map(rng, 100, 60, 300)
    x = rng.uniform(-1, 1, 100)
    program = lambda a: m(a) * 0.5  # noqa: E731
    plan = ctx.plan(program, x)
    assert plan.levels == (ctx.level - 2,) and plan.constant_bytes == m.cost(ctx).bytes
    bundle = client.server_keys(plan)
    path = tmp_path / "keys"
    lt.save_server_keys(path, ctx, bundle)
    ctx.use(lt.load_server_keys(path, ctx))
    recorded = lt.record(program)
    for _ in range(3):
        x = rng.uniform(-1, 1, 100)
        np.testing.assert_allclose(client.decrypt(recorded(client.encrypt(x))), 0.5 * m.evaluate(x), atol=1e-6)


def test_memory_is_kept_or_not_as_asked(ctx, client, rng):
    w, x = rng.uniform(-1, 1, (20, 100)), rng.uniform(-1, 1, 100)
    kept, dropped = lt.matrix_map(w), lt.matrix_map(w, keep=False)
    ctx.use(client.server_keys(lambda a: kept(a), x))
    a = client.encrypt(x)
    size = kept.cost(a).bytes
    np.testing.assert_array_equal(client.decrypt(kept(a)), client.decrypt(dropped(a)))
    assert [t.bytes for t in ctx._maps[kept].values()] == [size] and dropped not in ctx._maps
    kept(a.to_level(2))
    assert len(ctx._maps[kept]) == 2
    with pytest.raises(lt.UnsupportedError, match="keep=False in a recording"):
        lt.record(lambda b: dropped(b))(a)
    small = lt.matrix_map(w, memory=size - 1)
    with pytest.raises(lt.OutOfMemoryError, match=f"at most {size - 1:,}"):
        small(a)
    assert small not in ctx._maps
    exact = lt.matrix_map(w, memory=size)
    exact(a)
    with pytest.raises(lt.OutOfMemoryError):
        exact(a.to_level(2))  # the diagonals of a second level are kept too
    other, before = lt.matrix_map(w), len(ctx._maps)
    other(a)
    assert len(ctx._maps) == before + 1
    del other
    assert len(ctx._maps) == before  # its diagonals are released together with the map


def test_two_clients_and_threads(ctx, rng):
    m = random_map(rng, 200, 100, 500)
    x = rng.uniform(-1, 1, 200)
    wrong = []

    def work():
        client = lt.keygen(ctx)
        session = ctx.bind(client.server_keys(lambda a: m(a), x))
        for _ in range(3):
            y = client.decrypt(m(session.adopt(client.encrypt(x))))
            if np.abs(y - m.evaluate(x)).max() > 1e-6:
                wrong.append(y)

    threads = [threading.Thread(target=work) for _ in range(2)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


def test_maps_travel_as_pickles(applied, rng):
    m = random_map(rng, 50, 20, 100, keep=False)
    other = pickle.loads(pickle.dumps(m))
    x = rng.uniform(-1, 1, 50)
    np.testing.assert_array_equal(m.evaluate(x), other.evaluate(x))
    assert not other.keep
    applied(other, x)


@pytest.mark.slow
def test_one_sided_and_large_values(ctx, client, rng):
    m = lt.matrix_map(rng.uniform(0, 1, (30, 200)))
    for x in (np.full(200, 0.9), rng.uniform(0, 100, 200), np.zeros(200)):
        ctx.use(client.server_keys(lambda a: m(a), x))
        # Sums of the same errors with positive weights are large together, so each run has the error of one normal number.
        # The root mean square of 32 such errors is above 1.7 times its expectation with a probability of 1e-7. That of 64
        # is below 0.53 times with a probability of 2e-9. With `like`, the average ratio over 10 keys was 0.93 to 1.
        for options in ({"range": (0, 100)}, {"like": x}):
            runs = 32 if "range" in options else 64
            ratio = rms_ratio(client, m, lambda x=x: x, m.evaluate, lambda make, o=options: o, runs)
            assert ratio < 2 and (ratio > 0.5 or "range" in options)


def test_debugging_follows_a_map(ctx, client, rng):
    m, x = random_map(rng, 100, 30, 300), rng.uniform(-1, 1, 100)
    ctx.use(client.server_keys(lambda a: m(a), x))
    with lt.debug(ctx, client):
        m(client.encrypt(x))


def test_not_encrypted(rng):
    clear = lt.Context("test-n10-boot-insecure", "not-encrypted")
    owner = lt.keygen(clear)
    m, x = random_map(rng, 100, 30, 300), rng.uniform(-1, 1, 100)
    np.testing.assert_allclose(owner.decrypt(m(owner.encrypt(x))), m.evaluate(x), atol=1e-5)


@pytest.mark.parametrize("make, error", [
    (lambda: lt.linear_map([0], [4], [1.0], 4, 4), lt.ShapeError), (lambda: lt.linear_map([-1], [0], [1.0], 4, 4), lt.ShapeError),
    (lambda: lt.linear_map([0.5], [0], [1.0], 4, 4), lt.ShapeError), (lambda: lt.linear_map([0, 1], [0], [1.0], 4, 4), lt.ShapeError),
    (lambda: lt.linear_map([0], [0], [np.nan], 4, 4), lt.ValueError), (lambda: lt.linear_map([0], [0], ["a"], 4, 4), lt.ShapeError),
    (lambda: lt.linear_map([0], [0], [1.0], (), (0,)), lt.ShapeError), (lambda: lt.linear_map([0], [0], [1.0], 4, 4, keep=2), lt.ValueError),
    (lambda: lt.linear_map([0], [0], [1.0], 4, 4, memory=0), lt.ValueError),
    (lambda: lt.linear_map([0], [0], [1.0], 4, 4, target=lt.Layout.plain((5,), 8)), lt.ShapeError),
    (lambda: lt.linear_map([0], [0], [1.0], 4, 4, target="plain"), lt.UnsupportedError),
    (lambda: lt.linear_map([0], [0], [1.0], 4, 4, target=lt.Layout((4,), 8, 1, np.zeros(4, int))), lt.ShapeError),
    (lambda: lt.matrix_map(np.ones(3)), lt.ShapeError), (lambda: lt.matrix_map(np.ones((3, 4)), 3, 4), lt.ShapeError),
    (lambda: lt.matrix_map([[np.inf]]), lt.ValueError), (lambda: lt.diagonal_map({}), lt.ShapeError),
    (lambda: lt.diagonal_map({0: np.ones(3), 1: np.ones(4)}), lt.ShapeError)])
def test_wrong_maps_are_refused(make, error):
    with pytest.raises(error):
        make()


def test_wrong_uses_are_refused(ctx, client, rng):
    m, x = random_map(rng, 100, 30, 300), rng.uniform(-1, 1, 100)
    a = client.encrypt(x)
    for call, error in ((lambda: m(x), lt.UnsupportedError), (lambda: m(), lt.ShapeError), (lambda: m(client.encrypt(x[:99])), lt.ShapeError),
                        (lambda: m(a.to_level(0)), lt.LevelError), (lambda: a.apply(np.eye(3)), lt.UnsupportedError),
                        (lambda: m.cost(ctx, level=0), lt.LevelError), (lambda: m.cost("cpu"), lt.UnsupportedError)):
        with pytest.raises(error):
            call()
    many = lt.linear_map(np.arange(1 << 17) % 509, np.arange(1 << 17), np.ones(1 << 17), 1 << 17, 509)
    assert many.entries == 1 << 17


def test_auto_bootstrap_refreshes_first(device, rng):
    ctx = lt.Context("test-n10-boot-insecure", device, threads=1, auto_bootstrap=True)
    client = lt.keygen(ctx)
    m, x = random_map(rng, 512, 64, 600), rng.uniform(-0.5, 0.5, 512)
    program = lambda a: m(a)  # noqa: E731
    low = client.encrypt(x, level=0)
    ctx.use(client.server_keys(program, low))
    np.testing.assert_allclose(client.decrypt(program(low)), m.evaluate(x), atol=1e-2)
    assert ctx.bootstraps == 1


def in_slots(way, x, rng):
    """The result of a placed map for x, slot by slot, with other values in the slots that x leaves free."""
    source, target, slots = way.source, way.target, way.map.slots
    held = rng.uniform(-9, 9, source.count * source.slots)
    held[source.places.reshape(-1)] = x.reshape(-1)
    held = np.tile(held.reshape(source.count, source.slots), slots // source.slots)
    made, matrices = np.zeros((target.count, slots), complex), way.map.matrices()
    for t, groups in enumerate(way.map.blocks()):
        for group in groups:
            for row, distance in zip(matrices(t, group), group.distances):
                made[t] += row * np.roll(held[group.source], -distance)
    made = made.reshape(target.count, way.pieces, -1).sum(1)
    assert made.shape[1] == target.slots
    return made.reshape(-1)


def random_layout(rng, size, most):
    """Values at any addresses, a step apart, or row by row, in one ciphertext or several."""
    slots = 1 << int(rng.integers(0, most.bit_length()))
    needed = -(-size // slots)
    kind = rng.integers(3)
    if kind == 0:
        return lt.Layout.plain((size,), slots)
    if kind == 1:
        step = int(rng.integers(1, 4))
        return lt.Layout((size,), slots, -(-size * step // slots), np.arange(size) * step)
    count = needed + int(rng.integers(0, 2))
    return lt.Layout((size,), slots, count, rng.permutation(count * slots)[:size])


def test_maps_between_any_layouts(rng):
    from latticino.linear import placement

    for _ in range(150):
        size_in, size_out = (int(n) for n in rng.integers(1, 40, 2))
        m = random_map(rng, size_in, size_out, int(rng.integers(0, 60)))
        source, target = random_layout(rng, size_in, 32), random_layout(rng, size_out, 32)
        way = placement.placed(m._name, m._rows, m._columns, m._values, source, target)
        x = rng.uniform(-1, 1, size_in)
        made = in_slots(way, x, rng)
        np.testing.assert_allclose(target.read(made), m.evaluate(x), atol=1e-9)
        made[target.places.reshape(-1)] = 0
        np.testing.assert_allclose(made, 0, atol=1e-9)  # zeros elsewhere
        assert way.map.diagonals <= min(source.slots, target.slots) * source.count * target.count


@pytest.mark.parametrize("distance", [0, 3])
def test_ciphertexts_that_a_map_does_not_read_are_no_operands(ctx, client, distance):
    """A map of 512 values that lie in one of several ciphertexts takes the same however many there are. Before, a sum
    without rotations counted each of them as read: of 200 ciphertexts of words a step of a recurrent network reads one."""
    moved, ciphertexts = [], (2, 9)
    for count in ciphertexts:
        size, at = 512 * count, np.arange(512)
        m = lt.linear_map(at, 512 + (at + distance) % 512, np.linspace(0.5, 1, 512), size, 512)
        plan = ctx.plan(m, lt.Shape((size,)))
        moved.append((plan.bytes_by_name["Dot"], plan.keys))
        ctx.use(client.server_keys(plan))
        x = np.random.default_rng(count).uniform(-1, 1, size)
        assert np.abs(client.decrypt(m(client.encrypt(x))) - m.evaluate(x)).max() < 2.0**-15
    assert moved[0] == moved[1]
