"""Contexts that do not encrypt, and computations whose results are checked with the secret key."""

import contextlib
import math
import warnings
import weakref

import numpy as np
import pytest

import latticino as lt
from conftest import PRESET
from latticino.measure.fuzz import ckks_programs


@pytest.fixture(scope="module")
def clear():
    context = lt.Context(PRESET, "not-encrypted")
    return context, lt.keygen(context)


X = np.random.default_rng(3).uniform(-1, 1, 600)
PROGRAMS = {
    "products": lambda a: a * a * 0.3 + a, "rotation": lambda a: a.rotate(7), "sum": lambda a: a.sum(),
    "matrix": lambda a: a @ np.ones((600, 3)), "polynomial": lambda a: a.polyval([.1, .2, .3], "chebyshev"),
    "refreshed": lambda a: a.bootstrap(), "real": lambda a: a.bootstrap("real"), "pair": lambda a: a.bootstrap_with(a * a)[1],
    "table": lambda a: a.apply_lut(np.tanh), "some": lambda a: a.apply_lut(np.tanh, where=X > 0),
    "compare": lambda a: a.compare(0.3), "max": lambda a: a.max(a * a), "dot": lambda a: lt.dot([a, a], [a, a * 0.5]),
    "conjugate": lambda a: (a * 1j).conj(), "array": lambda a: a * X + X, "lower": lambda a: a.to_level(2),
    "integers": lambda a: 3 * a - 7 * a, "power": lambda a: a**3}


@pytest.mark.slow
@pytest.mark.parametrize("name", PROGRAMS)
def test_values_in_the_clear_have_levels_scales_and_errors_of_encrypted_ones(ctx, client, clear, name):
    program = PROGRAMS[name]
    ctx.use(client.server_keys(program, X))
    real, shadow = program(client.encrypt(X)), program(clear[1].encrypt(X))
    assert (real.level, real.scale, real.shape, real.slots) == (shadow.level, shadow.scale, shadow.shape, shadow.slots)
    # Because the way back from tables depends on the device.
    tables = name in ("table", "some", "compare", "max")
    assert shadow.expected_bits == pytest.approx(real.expected_bits, abs=2.0 if tables else 1e-6) and "NOT ENCRYPTED" in repr(shadow)
    exact = shadow._known.sample[0].reshape(shadow.shape)
    have, want = (lt.precision(client_.decrypt(y), exact) for client_, y in ((client, real), (clear[1], shadow)))
    if real.size > 100 and name not in ("compare", "max"):  # a comparison may be wrong by chance, for equal values
        assert abs(have.mean - want.mean) < 1.5, (have, want)


@pytest.mark.parametrize("wrong, error", [
    (lambda a: a.to_level(0) * a, lt.LevelError), (lambda a: a + np.ones(3), lt.ShapeError), (lambda a: a @ a[0:1] if False else a @ np.ones(4), lt.ShapeError),
    (lambda a: a / 0, lt.ValueError), (lambda a: a.bootstrap("letters"), lt.UnsupportedError), (lambda a: a == a, lt.UnsupportedError)])
def test_errors_are_those_of_encrypted_values(ctx, client, clear, wrong, error):
    for c in (client, clear[1]):
        with pytest.raises(error):
            wrong(c.encrypt(X))


def test_values_in_the_clear_stay_in_the_process(clear, tmp_path):
    context, owner = clear
    x = owner.encrypt(X)
    keys = owner.server_keys(lambda a: a * a, X)
    context.use(keys)
    assert keys.bytes == 0 and "NOT ENCRYPTED" in repr(context) and "NOT ENCRYPTED" in repr(owner)
    for use in (lambda: lt.to_bytes(x), lambda: lt.save_ciphertext(tmp_path / "x", x), lambda: lt.save_secret_key(tmp_path / "k", owner),
                lambda: lt.save_server_keys(tmp_path / "s", context, keys), lambda: lt.from_bytes(b"1", context),
                lambda: owner.decrypt_for_sharing(x, None, 1)):
        with pytest.raises(lt.UnsupportedError):
            use()
    assert list(tmp_path.iterdir()) == []


def test_values_in_the_clear_need_no_keys(ctx, clear):
    """The only exception to "the same errors", which the documentation of the device states."""
    programs = ((lambda a: a * a, X * X), (lambda a: a.rotate(3), np.roll(X, -3)))
    for context in (lt.Context(PRESET, ctx.device, threads=1), lt.Context(PRESET, "not-encrypted")):
        owner = lt.keygen(context)
        for program, result in programs:
            x = owner.encrypt(X)
            if context.encrypted:
                with pytest.raises(lt.KeyError):
                    program(x)
            else:
                assert np.abs(owner.decrypt(program(x)) - result).max() < 2**-20
            context.use(owner.server_keys(lambda a: a * a, X))
    for program, _ in programs:  # a plan names the keys on both devices
        keys, of_clear = (sorted(map(str, c.plan(program, X).keys)) for c in (ctx, clear[0]))
        assert keys and keys == of_clear
    for kind in (lt.Context, lt.tfhe.Context):
        assert "missing key is no error there" in " ".join(kind.__doc__.split())


@pytest.mark.filterwarnings("ignore::latticino.RangeWarning")
@pytest.mark.parametrize("values, level", [([1000.0], 0), ([-1e300, 0], None), ([1e7] * 4, 1)])
def test_values_beyond_the_bound_are_refused_in_the_clear_as_well(ctx, client, clear, values, level):
    """Earlier they gave a value that no ciphertext could hold, and claimed all of its bits."""
    refused = []
    for owner in (client, clear[1]):
        with pytest.raises(lt.ScaleError, match="encrypt: had a coefficient beyond the bound") as why:
            owner.encrypt(values, level)
        refused.append(str(why.value))
    assert refused[0] == refused[1]


def test_recorded_programs_run_in_the_clear(clear):
    _, owner = clear
    replay = lt.record(lambda a: a * a)
    for x in (X, -X, X / 2):
        assert np.abs(owner.decrypt(replay(owner.encrypt(x))) - x * x).max() < 2**-20


@pytest.mark.slow
def test_random_programs_in_the_clear_claim_what_they_show():
    world = ckks_programs.World(ckks_programs.LEVELED, "not-encrypted", 1)
    results = [ckks_programs.run(world, seed, "declared", "eager") for seed in range(100)]
    assert [r for r in results if r.wrong] == []


RANDOM = lt.Range(-1, 1, rms=1 / math.sqrt(3), random=True)


def test_debugging_names_the_first_operation_whose_error_exceeds_its_claim(ctx, client):
    x = np.full(512, 0.9)

    def program(a):
        fine = a * 0.5 + a * 0.5
        lost = fine.to_level(0).bootstrap(arcsine=1, log_message_ratio=0)
        return lost + 1

    ctx.use(client.server_keys(program, lt.Shape((512,))))
    with pytest.warns(lt.SecretWarning), lt.debug(ctx, client):
        a = client.encrypt(x, range=RANDOM)  # but it is constant
        with pytest.raises(lt.PrecisionError, match=r"bootstrap: .*test_debug.py:\d+"):
            program(a)
        good = client.encrypt(np.random.default_rng(1).uniform(-1, 1, 512))
        program(good)
        with pytest.raises(lt.UnsupportedError, match="debug"):
            lt.to_bytes(good)
        with pytest.raises(lt.UnsupportedError, match="debug"), lt.debug(ctx, client):
            pass
    assert ctx._debugger is None
    program(client.encrypt(x))
    lt.to_bytes(client.encrypt(x))


def test_debugging_ends_with_its_block_and_keeps_no_secret(ctx):
    owner = lt.keygen(ctx)
    gone = weakref.ref(owner)
    with pytest.warns(lt.SecretWarning) as warned, lt.debug(ctx, owner):
        assert ctx._debugger.client is owner
    assert ctx._debugger is None and warned[0].filename == __file__
    with pytest.warns(lt.SecretWarning) as warned, contextlib.ExitStack() as stack:
        stack.enter_context(lt.debug(ctx, owner))
        assert ctx._debugger.client is owner
    assert ctx._debugger is None
    with pytest.warns(lt.SecretWarning), pytest.raises(ZeroDivisionError), lt.debug(ctx, owner):
        1 / 0  # noqa: B018
    assert ctx._debugger is None
    del owner
    assert gone() is None


def test_debugging_checks_recorded_programs_and_sessions(ctx, client):
    def program(a):
        return (a * 0.5).to_level(0).bootstrap(arcsine=1, log_message_ratio=0)

    keys = client.server_keys(ctx.plan(program, lt.Shape((512,))), public=True)
    ctx.use(keys)
    session, x = ctx.bind(keys), np.full(512, 0.9)
    recorded = lt.record(program)
    recorded(client.encrypt(x, range=RANDOM))
    with pytest.warns(lt.SecretWarning), lt.debug(ctx, client):
        for f, encrypted in ((recorded, client.encrypt(x, range=RANDOM)), (program, session.encrypt(x, range=RANDOM))):
            with pytest.raises(lt.PrecisionError, match=r"bootstrap: .*test_debug.py:\d+"):
                f(encrypted)
        for save in (lambda: lt.to_bytes(session.encrypt(x)), lambda: lt.save_server_keys("unused", session, keys)):
            with pytest.raises(lt.UnsupportedError, match="debug"):
                save()
        good = recorded(client.encrypt(np.random.default_rng(1).uniform(-1, 1, 512)))
        assert good._known.shadow
    assert session._debugger is None


def test_debugging_leaves_other_clients_alone(ctx, client):
    def program(a):
        return a * a

    other = lt.keygen(ctx)
    ctx.use(other.server_keys(ctx.plan(program, lt.Shape((16,)))))
    loaded = other.encrypt(np.full(16, 0.5))
    with pytest.warns(lt.SecretWarning), lt.debug(ctx, client):
        y = program(loaded)
        assert not y._known.shadow
    assert np.abs(other.decrypt(y) - 0.25).max() < 1e-6


def test_debugging_takes_up_values_that_were_there_before(ctx, client):
    before = client.encrypt(X)
    with pytest.warns(lt.SecretWarning), lt.debug(ctx, client):
        y = (before + before) * 0.5
        assert y._known.shadow and np.abs(y._known.sample[0] - X).max() < 2**-20


@pytest.mark.slow
def test_debugging_leaves_good_programs_alone(ctx, client):
    for name, program in PROGRAMS.items():
        if name == "pair":  # squares are positive, for which its bootstrapping is not meant
            continue
        ctx.use(client.server_keys(program, X))
        with pytest.warns(lt.SecretWarning), lt.debug(ctx, client):
            program(client.encrypt(X))


def test_debugging_wants_the_client_of_the_context(ctx, client, clear):
    other = lt.Context(PRESET, "cpu", threads=1)
    for arguments, error in (((ctx, lt.keygen(other)), lt.ContextError), ((ctx, None), lt.UnsupportedError),
                             ((None, client), lt.UnsupportedError), (clear, lt.UnsupportedError)):
        with pytest.raises(error), lt.debug(*arguments):
            pass


@pytest.mark.parametrize("kind", ["debug", "clear"])
def test_tables_check_their_bound_where_values_are_known(ctx, client, clear, kind):
    x = np.linspace(-1, 1, 64)
    x[7] = 1.25
    program = lambda a: (a.apply_lut(abs), a.apply_lut(abs, 1.5), a.compare(0.0, 0.5))  # noqa: E731
    ctx.use(client.server_keys(program, lt.Shape((64,))))
    owner = client if kind == "debug" else clear[1]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        encrypted = owner.encrypt(x)
        if kind == "debug":
            encrypted.apply_lut(abs)  # nothing was declared
            manager = lt.debug(ctx, client)
        else:
            manager = warnings.catch_warnings()
        with manager:
            for use in (lambda: encrypted.apply_lut(abs), lambda: encrypted.compare(0.0, 0.5)):
                with pytest.raises(lt.ValueError, match="index 7") as refused:
                    use()
                assert "1.25" not in str(refused.value)
            encrypted.apply_lut(abs, 1.5)
            encrypted.apply_lut(abs, where=x < 1)
    with pytest.raises(lt.ScaleError, match="bound"):
        ctx.plan(lambda a: a.apply_lut(abs), lt.Shape((64,), None, (-2, 2)))
    with pytest.warns(lt.RangeWarning, match="bound"):
        client.encrypt(x, range=(-2, 2)).apply_lut(abs)


@pytest.mark.parametrize("rows", [128, 256])
def test_errors_of_values_in_the_clear_do_not_feed_on_claims(rows):
    """Training's claims grow by each iteration, as its ranges do; the values in the clear have errors of real size."""
    pytest.importorskip("sklearn")
    from latticino.workloads import data, helr

    context, digits = lt.Context("test-n10-boot-insecure", "not-encrypted"), data.digits()
    settings = helr.Settings(iterations=12, rows=rows)
    trainer, batches, owner = helr.Trainer(context, settings), data.batches(digits, rows), lt.keygen(context)
    encrypted = [trainer.encrypt(owner, z) for z in batches]
    state = trainer.first_state(owner, digits.columns)
    for t, (eta, expected) in enumerate(zip(helr.momentum(12), helr.clear_training(batches, settings))):
        state = trainer.step(trainer.refresh(state), encrypted[t % len(batches)], eta)
        assert lt.precision(owner.decrypt(state) * settings.bound, expected).mean > 17, t  # 19 on the CPU
