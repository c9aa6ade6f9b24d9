"""The Python API on a small bootstrapping set: every result is decrypted and compared."""

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import latticino as lt
from latticino import _native

SLOTS = 512


def test_sums_products_and_scalars(encrypted, rng):
    x, y = rng.uniform(-1, 1, (2, 100))
    z = encrypted(lambda a, b: (a * b + 2 * a - b + 0.25) * 0.5 - 1j * a + y * b + 1, x, y)
    expected = (x * y + 2 * x - y + 0.25) * 0.5 - 1j * x + y * y + 1
    assert z.shape == (100,) and lt.precision(z, expected).worst > 15


def test_complex_values_and_conjugates(encrypted, rng):
    x = rng.uniform(-1, 1, 64) + 1j * rng.uniform(-1, 1, 64)
    z = encrypted(lambda a: a.conj() * a - a * (0.5 + 0.5j), x)
    assert lt.precision(z, abs(x) ** 2 - x * (0.5 + 0.5j)).worst > 15


def test_division_reversed_operators_and_powers(encrypted, rng):
    x = rng.uniform(-1, 1, 32)
    z = encrypted(lambda a: 1 - (x - a / 4) + a**5, x)
    assert lt.precision(z, 1 - (x - x / 4) + x**5).worst > 14


@pytest.mark.parametrize("size", [512, 8, 100, 1000])
@pytest.mark.parametrize("k", [1, -3, 37])
def test_rotation_is_cyclic_over_the_values(encrypted, rng, size, k):
    x = rng.uniform(-1, 1, size)
    z = encrypted(lambda a: a.rotate(k), x)
    assert lt.precision(z, np.roll(x, -k)).worst > 15


def test_long_vectors_become_several_ciphertexts(ctx, encrypted, rng):
    x = rng.uniform(-1, 1, (3, 700))
    z = encrypted(lambda a: a * a + x, x)
    assert z.shape == (3, 700) and lt.precision(z, x * x + x).worst > 15


@pytest.mark.parametrize("size", [512, 100, 1300])
def test_sum(encrypted, rng, size):
    x = rng.uniform(-0.1, 0.1, size)
    z = encrypted(lambda a: (a + 0.001).sum(), x)
    assert z.shape == () and abs(z - (x + 0.001).sum()) < 2**-12


def test_sums_over_rows_and_repetition(encrypted, rng):
    x, y = rng.uniform(-1, 1, (16, 32)), rng.uniform(-1, 1, 32)
    z = encrypted(lambda a, b: (a * b).sum(axis=0), x, y)
    assert z.shape == (32,) and lt.precision(z, (x * y).sum(axis=0)).worst > 12
    z = encrypted(lambda a: a.spread_sum(0.5), x)
    assert lt.precision(z, np.repeat(x.sum(axis=1, keepdims=True) / 2, 32, axis=1)).worst > 12


@pytest.mark.parametrize("shape", [(16, 16), (20, 7), (5, 30), (600, 3)])
def test_matrix_product(encrypted, rng, shape):
    x, w = rng.uniform(-1, 1, shape[0]), rng.uniform(-1, 1, shape) / shape[0]
    z = encrypted(lambda a: a @ w, x)
    assert z.shape == (shape[1],) and lt.precision(z, x @ w).worst > 14


def test_inner_product_and_left_matrix(encrypted, rng):
    x, w = rng.uniform(-1, 1, 16), rng.uniform(-1, 1, (4, 16)) / 8
    assert lt.precision(encrypted(lambda a: w @ a, x), w @ x).worst > 14
    assert abs(encrypted(lambda a, b: a @ b, x, x) - x @ x) < 2**-12


def test_polynomials(encrypted, rng):
    x = rng.uniform(-1, 1, 50)
    c = [0.5, -0.3, 0.0, 0.25]
    z = encrypted(lambda a: a.polyval(c), x)
    assert lt.precision(z, np.polynomial.polynomial.polyval(x, c)).worst > 14
    z = encrypted(lambda a: a.polyval(c, "chebyshev", (-2, 2)), x)
    assert lt.precision(z, np.polynomial.Chebyshev(c, (-2, 2))(x)).worst > 13


def test_bootstrap(ctx, encrypted, rng):
    x = rng.uniform(-1, 1, SLOTS) + 1j * rng.uniform(-1, 1, SLOTS)
    z = encrypted(lambda a: a.to_level(1).bootstrap() * a, x)
    assert lt.precision(z, x * x).mean > 14


def test_bootstrapping_by_itself(device, rng):
    own = lt.Context("test-n10-boot-insecure", device, auto_bootstrap=True)
    owner = lt.keygen(own)
    x = rng.uniform(-1, 1, 64)

    def program(a):
        for _ in range(own.params.default_level + 2):
            a = a * 0.9
        return a

    own.use(owner.server_keys(program, x))
    z = owner.decrypt(program(owner.encrypt(x)))
    # 9 products: 4 from level 7 down to the level that SlotToCoeff first needs, then as many again.
    assert own.bootstraps == 2
    assert lt.precision(z, x * 0.9 ** (own.params.default_level + 2)).mean > 12


def test_public_key_encryption(ctx, client, rng):
    x = rng.uniform(-1, 1, 64)
    ctx.use(client.server_keys(lambda a: a * a, x, public=True))
    a = ctx.encrypt(x)
    assert lt.precision(client.decrypt(a * a), x * x).worst > 13


def test_sharing_costs_bits_and_says_so(ctx, client, rng):
    x = rng.uniform(-1, 1, 64)
    shown = client.decrypt_for_sharing(client.encrypt(x), noise_bound=2.0**7, queries=4)
    assert not isinstance(shown.values, lt.PrivateArray)
    assert 18 < shown.bits_lost < 28
    assert 4 < lt.precision(shown.values, x).mean < 25


def test_decrypted_values_are_marked(client, rng):
    import pickle

    z = client.decrypt(client.encrypt(rng.uniform(-1, 1, 8)))
    assert isinstance(z, lt.PrivateArray) and not z.shareable and "not to be shared" in repr(z)
    with pytest.raises(lt.UnsupportedError, match="decrypt_for_sharing"):
        pickle.dumps(z)


def test_repr_states_level_scale_slots_precision(ctx, client):
    text = repr(client.encrypt(np.zeros(100)))
    assert f"level={ctx.level}" in text and "scale=2^40.0" in text and "slots=128" in text and "bits" in text
    assert "test-n10-boot-insecure" in repr(ctx)


def test_plans_predict_the_recorded_time_of_a_rotation(monkeypatch):
    one, two = (lt.Context("n16-d40-boot-v1", "cpu", threads=t) for t in (1, 2))
    times = {}
    for kernels in ("avx512", "avx2", "reference"):
        monkeypatch.setattr(_native, "cpu_choice", lambda threads, simd, k=kernels: (k, threads, threads))
        times[kernels] = [c.plan(lambda a: a.rotate(1), lt.Shape((c.slots,))).seconds for c in (one, two)]
        assert 0.5 < times[kernels][1] / times[kernels][0] < 0.6
    assert one.params.limbs(one.level) in range(21, 26)
    assert 0.5 < times["avx512"][0] / 43.7e-3 < 2 and 0.5 < times["avx2"][0] / 143.3e-3 < 2  # at 23 limbs
    assert times["reference"][0] > 2 * times["avx2"][0]
    one.device = two.device = "cuda:0"  # one stream, however many threads the host has
    on_gpu = [c.plan(lambda a: a.rotate(1), lt.Shape((c.slots,))).seconds for c in (one, two)]
    assert on_gpu[0] == on_gpu[1] and 0.5 < on_gpu[0] / 112e-6 < 2


WEIGHTS = np.cos(np.outer(np.arange(64), np.arange(32)) ** 2) / 8
PROGRAMS = {
    "fresh": (lambda a: a, lambda x: x),
    "public": (lambda a: a, lambda x: x),
    "sum of itself": (lambda a: a + a, lambda x: x + x),
    "number": (lambda a: a * 0.9 * 0.9, lambda x: 0.81 * x),
    "array": (lambda a: a * np.linspace(-1, 1, SLOTS), lambda x: x * np.linspace(-1, 1, SLOTS)),
    "product": (lambda a: a * a.conj(), lambda x: abs(x) ** 2),
    "power": (lambda a: a**4, lambda x: x**4),
    "polynomial": (lambda a: a.polyval([0.5, 0.2, 0, 0.1]), lambda x: 0.5 + 0.2 * x + 0.1 * x**3),
    "rotation": (lambda a: a.rotate(1), lambda x: np.roll(x, -1)),
    "lower": (lambda a: a.to_level(1), lambda x: x),
    "dot": (lambda a: lt.dot([a, a], [a, a]), lambda x: 2 * x * x),
    "columns": (lambda a: a.sum(axis=0), lambda x: x.reshape(8, 64).sum(axis=0)),
    "rows": (lambda a: a.spread_sum(0.5), lambda x: np.repeat(x.reshape(64, 8).sum(axis=1) / 2, 8)),
    "matrix": (lambda a: a @ WEIGHTS, lambda x: x @ WEIGHTS),
    "repeated": (lambda a: a * np.ones((8, 64)), lambda x: x),
}


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("preset", ["test-n10-boot-insecure", "test-n10-sr-insecure"])
def test_expected_precision_is_near_the_measured_one(preset, name, rng):
    program, clear = PROGRAMS[name]
    own = lt.Context(preset, "cpu", threads=1)
    owner = lt.keygen(own)
    size = 64 if name == "matrix" else SLOTS
    x = rng.uniform(-1, 1, size) + 1j * rng.uniform(-1, 1, size)
    shaped = x.reshape({"rows": (64, 8), "columns": (8, 64), "repeated": (8, 64)}.get(name, -1))
    own.use(owner.server_keys(program, shaped, public=True))
    party = own if name == "public" else owner
    sample = rng.uniform(-1, 1, shaped.shape) + 1j * rng.uniform(-1, 1, shaped.shape)
    for of_all, z in ((False, program(party.encrypt(shaped, like=sample))), (True, program(party.encrypt(shaped)))):
        measured = lt.precision(np.ravel(owner.decrypt(z)), clear(x)).mean
        assert measured > z.expected_bits - 1, (measured, z.expected_bits)
        if not of_all:  # without a sample, the claim holds for all values in the unit box
            assert measured < z.expected_bits + 1, (measured, z.expected_bits)


def test_fewer_slots_keep_more_precision(ctx, client, rng):
    """Decoding reads two coefficients per slot, so fewer slots hold less noise. If a ciphertext is added to a larger one,
    over which it repeats, the noise of all its coefficients counts."""
    x = rng.uniform(-1, 1, 8)
    ctx.use(client.server_keys(lambda a: a * a, x))
    few, many = client.encrypt(x), client.encrypt(np.zeros((64, 8)))
    assert few.expected_bits > client.encrypt(np.ones(SLOTS)).expected_bits + 2.5
    errors = [np.abs(client.decrypt(client.encrypt(x)).unmarked() - x) for _ in range(16)]  # 128 draws: 7 % of deviation
    assert abs(-np.log2(np.mean(errors)) - few.expected_bits) < 1
    both = few + many
    assert abs(lt.precision(client.decrypt(both), np.tile(x, (64, 1))).mean - both.expected_bits) < 1


def test_plan_gives_exactly_the_keys(ctx, client, rng):
    x = rng.uniform(-1, 1, 64)

    def program(a):
        return (a * a).rotate(5) + a.conj()

    plan = ctx.plan(program, x)
    keys = client.server_keys(plan)
    assert len(plan.keys) == 3 and plan.key_bytes == keys.bytes and keys.missing(plan) == []
    assert plan.levels == (ctx.level - 1,) and plan.bootstraps == 0 and plan.seconds > 0
    assert plan.peak_bytes > plan.key_bytes and "evaluation keys    3" in str(plan)
    other = ctx.plan(lambda a: a.rotate(7), lt.Shape((64,)))
    assert len((plan | other).keys) == 4 and len(keys.missing(plan | other)) == 1


def test_recorded_programs_replay_and_check(ctx, client, rng):
    x, y = rng.uniform(-1, 1, (2, 64))
    w = rng.uniform(-1, 1, 64)

    @lt.record
    def program(a, b):
        return (a * b + w) * w, a.rotate(1)

    ctx.use(client.server_keys(lambda a, b: program._function(a, b), x, y))
    for _ in range(3):
        x, y = rng.uniform(-1, 1, (2, 64))
        product, turned = program(client.encrypt(x), client.encrypt(y))
        assert lt.precision(client.decrypt(product), (x * y + w) * w).worst > 14
        assert lt.precision(client.decrypt(turned), np.roll(x, -1)).worst > 14
    a = client.encrypt(x)
    with pytest.raises(lt.LevelError):
        program(a, client.encrypt(y, level=2))
    with pytest.raises(lt.ShapeError):
        program(a, client.encrypt(np.zeros(32)))
    with pytest.raises(lt.ScaleError):
        program(a, client.encrypt(y, scale=2.0**34))
    other = lt.keygen(ctx)
    with pytest.raises(lt.KeyError):
        program(a, other.encrypt(y))


def test_two_contexts_in_two_threads(device):
    def work(i):
        own = lt.Context("test-n10-leveled-insecure", device)
        client = lt.keygen(own)
        x = np.random.default_rng(i).uniform(-1, 1, 64)
        own.use(client.server_keys(lambda a: a * a, x))
        return lt.precision(client.decrypt(client.encrypt(x) * client.encrypt(x)), x * x).worst

    with ThreadPoolExecutor() as pool:
        assert min(pool.map(work, range(2))) > 15


def test_one_context_in_several_threads(ctx, client, rng):
    x = rng.uniform(-1, 1, 64)
    ctx.use(client.server_keys(lambda a: (a * a).rotate(1), x))
    a = client.encrypt(x)

    def work(i):
        return client.decrypt((a * (i + 1) * a).rotate(1))

    with ThreadPoolExecutor() as pool:
        out = list(pool.map(work, range(4)))
    for i in range(4):
        assert lt.precision(out[i], (i + 1) * np.roll(x * x, -1)).worst > 13


def test_one_program_in_several_threads(ctx, client, rng):
    program = lt.record(lambda a: (a * a) * a)
    ctx.use(client.server_keys(program._function, np.zeros(512)))
    x = rng.uniform(-1, 1, (4, 512))
    arguments = [client.encrypt(v) for v in x]
    program(arguments[0])
    with ThreadPoolExecutor() as pool:
        results = list(pool.map(lambda a: [program(a) for _ in range(25)], arguments))
    for v, replays in zip(x, results):
        assert min(lt.precision(client.decrypt(z), v**3).worst for z in replays) > 13


def test_recording_beside_a_thread_that_computes(client, ctx, rng):
    x = rng.uniform(-1, 1, 64)
    ctx.use(client.server_keys(lambda a: (a * a).rotate(1), x))
    a, stop = client.encrypt(x), threading.Event()

    def work():
        while not stop.is_set():
            (a * 2 + a).level, ctx.live_bytes

    thread = threading.Thread(target=work)
    thread.start()
    try:
        for _ in range(5):
            z = lt.record(lambda b: (b * b).rotate(1))(a)
    finally:
        stop.set()
        thread.join()
    assert lt.precision(client.decrypt(z), np.roll(x * x, -1)).worst > 13


def test_sharing_an_array_of_several_ciphertexts_floods_each(ctx, client):
    one, three = (client.encrypt(np.zeros(n)) for n in (SLOTS, 3 * SLOTS))
    alone = client.decrypt_for_sharing(one, noise_bound=128.0, queries=4)
    together = client.decrypt_for_sharing(three, noise_bound=128.0, queries=4)
    assert together.sigma == pytest.approx(alone.sigma * 3**0.5)
    assert together.bits_lost == pytest.approx(alone.bits_lost + np.log2(3) / 2)
