"""TFHE's two arithmetics, and functions of encrypted arrays that are recorded and replayed."""

import functools
import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import latticino as lt
from conftest import DEVICES
from latticino import _native
from tfhe_world import GATES, INTEGERS, World

ARITHMETICS = ("exact", "fft64")


@pytest.fixture(scope="session", params=[*DEVICES, "not-encrypted"])
def worlds(request):
    return functools.cache(lambda name, arithmetic="exact": World(name, request.param, arithmetic))


@pytest.fixture
def integers(worlds):
    return worlds(INTEGERS)


@pytest.fixture
def encrypted(device):
    return World(INTEGERS, device)


def bytes_like(rng, *shape):
    return rng.integers(0, 256, shape, dtype=np.uint8)


# ---- arithmetic ----


@pytest.mark.parametrize("arithmetic", ARITHMETICS)
def test_both_arithmetics_compute_the_same(worlds, rng, arithmetic):
    world = worlds(INTEGERS, arithmetic)
    x, y = bytes_like(rng, 6), bytes_like(rng, 6)
    a, b = world.encrypt(x, y)
    assert (world.client.decrypt(lt.where(a < b, a + b, a ^ 9)) == np.where(x < y, x + y, x ^ 9)).all()
    gates = worlds(GATES, arithmetic)
    flags = np.array([[False], [True]])
    c, d = gates.encrypt(flags, flags[:, 0])
    assert (gates.client.decrypt((c ^ d) | ~c) == (flags ^ flags[:, 0]) | ~flags).all()


def test_contexts_and_plans_say_which_arithmetic_they_have(device):
    plans = {}
    for arithmetic in ARITHMETICS:
        ctx = lt.tfhe.Context("tfhe-2-2-v1", device, arithmetic=arithmetic)
        assert ctx.arithmetic == arithmetic and f"{arithmetic} arithmetic" in repr(ctx)
        plan = plans[arithmetic] = ctx.plan(lambda a: a + 1, lt.tfhe.Shape((3,), "u8"))
        assert plan.arithmetic == arithmetic and f"{arithmetic} arithmetic" in str(plan)
    exact, fft64 = (plans[a] for a in ARITHMETICS)
    assert exact.bootstrappings == fft64.bootstrappings
    # A second form of the bootstrapping key, 8 bytes per coefficient beside twice 4; a rounding error.
    twice = lt.tfhe.preset("tfhe-2-2-v1").bootstrap_key_bytes
    assert fft64.key_bytes == exact.key_bytes + twice and fft64.peak_bytes > exact.peak_bytes
    assert exact.log_failure < fft64.log_failure < exact.log_failure + 2


def test_failure_probabilities_of_arrays_count_the_rounding(device):
    exact, fft64 = (World("test-tfhe-2-2-insecure", device, a) for a in ARITHMETICS)
    before, after = (w.encrypt([1, 2], dtype="u8")[0].log_failure for w in (exact, fft64))
    assert before < after < before / 2


@pytest.mark.parametrize("simd", [True, False])
def test_contexts_choose_the_faster_arithmetic_that_a_set_has(simd):
    vectors = _native.cpu_choice(1, simd)[0] != "reference"
    for name in ("tfhe-2-2-v1", "tfhe-gates-v1", "chameleon-592-legacy"):
        rule = _native.TfheArithmetic.choose(lt.tfhe.preset(name), "", "cpu", 0, 1, simd)
        assert rule.name == rule.text == rule.of(1) == rule.of(4096) == ("fft64" if vectors else "exact")
    for name in ("tfhe-2-2-group3-v1", "test-tfhe-ternary-insecure"):
        assert _native.TfheArithmetic.choose(lt.tfhe.preset(name), "auto", "cpu", 0, 1, simd).name == "exact"


def test_plans_for_a_gpu_choose_as_an_h200_does():
    if "cuda" in DEVICES:
        pytest.skip("a GPU is here, whose own table counts")
    rule = _native.TfheArithmetic.choose(lt.tfhe.preset("chameleon-500-legacy"), "", "cuda", 0, 0, True)
    assert rule.name == "auto" and rule.text == "exact to 131 at once, fft64 from 132"
    assert (rule.of(1), rule.of(131), rule.of(132), rule.of(4096)) == ("exact", "exact", "fft64", "fft64")
    for name in ("tfhe-2-2-v1", "tfhe-gates-v2"):
        assert _native.TfheArithmetic.choose(lt.tfhe.preset(name), "", "cuda", 0, 0, True).name == "fft64"


def test_a_context_tells_the_arithmetic_of_a_number():
    chosen = lt.tfhe.Context(INTEGERS, "cpu", threads=1, arithmetic="auto")
    default = lt.tfhe.Context(INTEGERS, "cpu", threads=1)
    assert chosen.arithmetic == default.arithmetic == chosen.arithmetic_for(1) == default.arithmetic_for(4096)
    for arithmetic in ARITHMETICS:
        asked = lt.tfhe.Context(INTEGERS, "cpu", threads=1, arithmetic=arithmetic)
        assert {asked.arithmetic_for(count) for count in (1, 8, 10**6)} == {arithmetic}
        assert pickle.loads(pickle.dumps(asked)).arithmetic == arithmetic
    for wrong in (0, -1, 1.5, "8", None, 2**32):
        with pytest.raises(lt.ValueError, match="together"):
            default.arithmetic_for(wrong)
    clear = lt.tfhe.Context(INTEGERS, "not-encrypted")
    assert clear.arithmetic_for(3) == clear.arithmetic


def test_contexts_without_vector_code_are_exact():
    ctx = lt.tfhe.Context(INTEGERS, "cpu", threads=1, simd=False)
    assert ctx.arithmetic == "exact" and "exact arithmetic" in repr(ctx)


@pytest.mark.parametrize("where", [*DEVICES, "not-encrypted"])
def test_arithmetics_that_a_set_does_not_have_are_refused(where):
    for name, told in (("tfhe-2-2-group3-v1", "failure probability"), ("test-tfhe-ternary-insecure", "ternary")):
        lt.tfhe.Context(name, where)
        with pytest.raises(lt.ParameterError, match=told) as e:
            lt.tfhe.Context(name, where, arithmetic="fft64")
        assert name in str(e.value)
    with pytest.raises(lt.ParameterError, match="fft32.*exact.*fft64"):
        lt.tfhe.Context(INTEGERS, where, arithmetic="fft32")


# ---- programs ----


@pytest.mark.parametrize("arithmetic", ARITHMETICS)
def test_programs_replay_on_other_values(worlds, rng, arithmetic):
    world = worlds(INTEGERS, arithmetic)
    calls = []

    @lt.record
    def program(a, b):
        """Chooses, looks up, sums and inverts."""
        calls.append(1)
        return lt.where(a < b, a + b, 7), a.astype("u4").apply(lambda v: v * 5 % 16), a[::2].sum(), ~b

    results = []
    for _ in range(3):
        x, y = bytes_like(rng, 2, 3), bytes_like(rng, 3)
        results.append((program(*world.encrypt(x, y)), x, y))
    for (choice, table, total, inverse), x, y in results:
        decrypt = world.client.decrypt
        assert (decrypt(choice) == np.where(x < y, x + y, 7)).all() and choice.shape == (2, 3)
        assert (decrypt(table) == x * 5 % 16).all() and table.dtype == "u4"
        assert (decrypt(inverse) == ~y).all() and decrypt(total) == x[::2].sum() % 256
    assert program.__doc__ == "Chooses, looks up, sums and inverts."
    assert (len(calls), program.arena_bytes > 0) == ((2, True) if world.ctx.encrypted else (4, False))


def test_programs_of_booleans(worlds):
    gates = worlds(GATES)
    x, y = np.array([0, 0, 1, 1], bool), np.array([0, 1, 0, 1], bool)
    program = lt.record(lambda a, b: lt.where(a, a & b, a | b)).record(*gates.encrypt(y, y.copy()))
    result = program(*gates.encrypt(x, y))
    assert (gates.client.decrypt(result) == np.where(x, x & y, x | y)).all() and result.dtype == "bool"


def test_recordings_keep_what_they_were_made_of(encrypted, rng):
    program = lt.record(lambda a: a * 3)
    x = bytes_like(rng, 4)
    program(encrypted.client.encrypt(x))
    encrypted.ctx.use(encrypted.client.server_keys())  # the first ones belong to the recording
    y = bytes_like(rng, 4)
    assert (encrypted.client.decrypt(program(encrypted.client.encrypt(y))) == y * 3).all()


def test_results_feed_programs(integers, rng):
    program = lt.record(lambda a: a + 1)
    x = bytes_like(rng, 5)
    a = integers.client.encrypt(x)
    for _ in range(4):
        a = program(a)
    assert (integers.client.decrypt(a) == x + 4).all()


def test_replays_check_their_arguments(encrypted, rng):
    x, y = bytes_like(rng, 4), bytes_like(rng, 4)
    a, b = encrypted.encrypt(x, y)
    program = lt.record(lambda u, v: u + v)
    assert (encrypted.client.decrypt(program(a, b)) == x + y).all()
    stranger = lt.keygen(encrypted.ctx)
    elsewhere = World(INTEGERS, encrypted.ctx.device)
    chosen = lt.where(a < b, a, b)  # sums of two bootstrappings
    wrong = [
        (lt.KeyError, lambda: program(a, stranger.encrypt(y))),
        (lt.ContextError, lambda: program(a, elsewhere.client.encrypt(y))),
        (lt.ShapeError, lambda: program(a)), (lt.ShapeError, lambda: program(a, b[:3])),
        (lt.ShapeError, lambda: program(a, b.reshape(2, 2))), (lt.ShapeError, lambda: program(a, b.astype("u4"))),
        (lt.ShapeError, lambda: program(a, y)), (lt.LevelError, lambda: program(a, chosen)),
        (lt.ParameterError, lambda: program(a, a)),
        (lt.ShapeError, lambda: lt.record(lambda u: 3)(a)), (lt.ShapeError, lambda: lt.record(lambda: a)()),
        (lt.ContextError, lambda: lt.record(lambda u, v: u)(a, elsewhere.client.encrypt(y))),
    ]
    for kind, use in wrong:
        with pytest.raises(kind) as e:
            use()
        assert ": had " in str(e.value) and "; needs " in str(e.value)
    assert (encrypted.client.decrypt(program(b, a)) == x + y).all(), "it stays usable"
    wider = lt.record(lambda u, v: u + v).record(a, chosen)
    assert (encrypted.client.decrypt(wider(a, chosen)) == x + np.minimum(x, y)).all()
    assert (encrypted.client.decrypt(wider(a, b)) == x + y).all(), "less noise than recorded is served"


def test_an_array_twice_is_recorded_as_one(device):
    gates = World(GATES, device)
    flags, others = np.array([False, True]), np.array([True, False])
    a, b = gates.encrypt(flags, others)
    equal = lt.record(lambda u, v: u == v).record(a, a)
    assert gates.client.decrypt(equal(b, b)).all()
    with pytest.raises(lt.ParameterError, match="record"):
        equal(a, b)


def test_arrays_of_both_schemes_do_not_mix(encrypted):
    ckks = lt.Context("test-n10-leveled-insecure", encrypted.ctx.device)
    x, a = lt.keygen(ckks).encrypt([0.5, 0.25]), encrypted.client.encrypt([1, 2], "u8")
    with pytest.raises(lt.ShapeError, match="one scheme"):
        lt.record(lambda u, v: u)(x, a)
    program = lt.record(lambda u: u[0]).record(a)
    with pytest.raises(lt.ShapeError, match="EncryptedArray"):
        program(x)


def test_one_program_in_several_threads(encrypted, rng):
    program = lt.record(lambda a: a * a)
    x = bytes_like(rng, 4, 3)
    arguments = encrypted.encrypt(*x)
    program(arguments[0])
    with ThreadPoolExecutor() as pool:
        results = list(pool.map(lambda a: [program(a) for _ in range(3)], arguments))
    for v, replays in zip(x, results):
        assert all((encrypted.client.decrypt(z) == v * v).all() for z in replays)
