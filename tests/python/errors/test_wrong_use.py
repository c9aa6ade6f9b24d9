"""Wrong use: a typed exception that names operation, state, need and remedy; operands stay usable."""

import contextlib
import copy
import math
import os
import pickle
import sys
import time

import numpy as np
import pytest

import latticino as lt
from latticino.common import devices


@pytest.fixture
def pair(ctx, client, rng):
    x = rng.uniform(-1, 1, 64)
    ctx.use(client.server_keys(lambda a: a * a, x))
    return x, client.encrypt(x)


def states(error):
    text = str(error.value)
    return all(part in text for part in (": had ", "; needs ", "; ")) and error.value.operation


def test_nan_and_infinity(client):
    for bad in (np.nan, np.inf, 1j * np.nan):
        with pytest.raises(lt.ValueError) as e:
            client.encrypt([0.0, bad])
        assert states(e) and "index 1" in str(e.value)


def test_wrong_dtype(client):
    with pytest.raises(lt.ShapeError, match="dtype"):
        client.encrypt(["one"])
    with pytest.raises(lt.ShapeError):
        client.encrypt([])


def test_values_over_the_bound(client):
    with pytest.raises(lt.ScaleError) as e:
        client.encrypt([1e30])
    assert states(e)


def test_too_few_levels(ctx, client, pair):
    x, _ = pair
    low = client.encrypt(x, level=0)
    with pytest.raises(lt.LevelError) as e:
        low * low
    assert states(e)
    with pytest.raises(lt.LevelError):
        low * x
    with pytest.raises(lt.LevelError):
        client.encrypt(x, level=99)
    assert lt.precision(client.decrypt(low), x).worst > 15


@pytest.mark.parametrize("bad", [1.5, "1", float("nan"), None, [1]], ids=str)
def test_what_is_no_integer(client, pair, bad):
    x, a = pair
    uses = [lambda: a.rotate(bad), lambda: a.to_level(bad),
            lambda: client.decrypt_for_sharing(a, 1e3, bad), lambda: client.decrypt_for_sharing(a, 1e3, 1, bad)]
    if bad is not None:
        uses.append(lambda: client.encrypt(x, level=bad))
    for use in uses:
        with pytest.raises(lt.ValueError, match="an integer") as e:
            use()
        assert states(e)
    assert a.rotate(np.int64(0)) is a  # numpy's integers are accepted as integers


def test_numbers_of_decryption_for_sharing(client, pair):
    x, a = pair
    for bound, queries in ((0.0, 1), (-1.0, 1), (float("nan"), 1), ("x", 1), (10**400, 1), (1.0, 0), (1.0, -1)):
        with pytest.raises(lt.ValueError) as e:
            client.decrypt_for_sharing(a, bound, queries)
        assert states(e)
    with pytest.raises(lt.ScaleError):
        client.decrypt_for_sharing(client.encrypt(x, level=0), 2.0**40, 1)


def test_constants_that_would_wrap_around(client, pair):
    x, a = pair
    low = client.encrypt(x, level=0)
    for use in (lambda: low + 2.0**12, lambda: a + 1e90, lambda: low + np.full(64, 2.0**12), lambda: a * 1e90,
                lambda: a.polyval([0.0, 1e90])):
        with pytest.raises(lt.ScaleError) as e:
            use()
        assert states(e) and len(str(e.value)) < 250
    assert lt.precision(client.decrypt(low + 100.0), x + 100).worst > 14


def test_division(client, pair):
    x, a = pair
    d = np.linspace(1, 2, 64)
    assert lt.precision(client.decrypt(a / d), x / d).worst > 15
    for use in (lambda: a / a, lambda: 1 / a, lambda: d / a):
        with pytest.raises(lt.ValueError, match="divide: had no domain") as e:  # with one: see test_functions.py
            use()
        assert states(e)
    for divisor in (0, np.zeros(64), float("nan")):
        with pytest.raises(lt.ValueError) as e:
            a / divisor
        assert states(e)


def test_things_of_the_wrong_kind(ctx, client, pair):
    x, a = pair
    tfhe = lt.tfhe.Context("test-tfhe-2-2-tiny-insecure", "cpu")
    for use in (lambda: lt.Context(3), lambda: lt.keygen(None), lambda: lt.keygen(ctx.params), lambda: ctx.use(None),
                lambda: ctx.use(ctx.plan(lambda v: v * v, x)), lambda: lt.Context(tfhe.params),
                lambda: lt.tfhe.Context(ctx.params), lambda: lt.tfhe.Context(3, "not-encrypted"),
                lambda: tfhe.use(ctx.keys), lambda: tfhe.use(None)):
        with pytest.raises(lt.UnsupportedError) as e:
            use()
        assert states(e)
    with pytest.raises(lt.ShapeError):
        a.polyval(np.ones((2, 2)))
    with pytest.raises(lt.ShapeError):
        a.polyval([1, 2], "chebyshev", (1,))
    assert lt.precision(client.decrypt(a * a), x * x).worst > 15


def test_a_table_of_kernels_is_for_gpus():
    for context in (lt.Context, lt.tfhe.Context):
        name = "test-n10-leveled-insecure" if context is lt.Context else "test-tfhe-2-2-tiny-insecure"
        with pytest.raises(lt.UnsupportedError, match="tuning") as e:
            context(name, "cpu", tuning="table.txt")
        assert states(e)


def test_encryption_cannot_be_recorded(ctx, client, pair):
    x, a = pair
    ctx.use(client.server_keys(lambda v: v * v, x, public=True))
    for encrypt in (client.encrypt, ctx.encrypt):
        with pytest.raises(lt.UnsupportedError, match="randomness") as e:
            lt.record(lambda v: v + encrypt(x))(a)
        assert states(e) and e.value.operation == "encrypt"
    assert lt.precision(client.decrypt(a), x).worst > 15


def test_missing_key(client, pair):
    x, a = pair
    with pytest.raises(lt.KeyError) as e:
        a.rotate(1)
    assert states(e)
    assert lt.precision(client.decrypt(a * a), x * x).worst > 15


def test_context_without_keys_and_without_a_public_key(device, rng):
    bare = lt.Context("test-n10-leveled-insecure", device)
    own = lt.keygen(bare)
    a = own.encrypt(rng.uniform(-1, 1, 8))
    with pytest.raises(lt.KeyError, match="server_keys"):
        a * a
    with pytest.raises(lt.KeyError, match="public=True"):
        bare.encrypt([1.0])


def test_missing_keys_name_the_operation_that_was_called(device):
    ctx = lt.Context("test-n10-boot-insecure", device)
    own = lt.keygen(ctx)
    a = own.encrypt(np.linspace(-1, 1, 64))
    uses = ((lambda: a * a, "multiply"), (lambda: a.rotate(1), "rotate"), (lambda: a @ np.ones((64, 2)), "matmul"), (a.conj, "conj"),
            (a.bootstrap, "bootstrap"), (lambda: own.encrypt(np.ones(64), level=3).bootstrap(), "bootstrap"))
    for use, operation in uses:
        with pytest.raises(lt.KeyError, match=f"^{operation}: had a context without evaluation keys"):
            use()
    ctx.use(own.server_keys(lambda x: x * x, lt.Shape((64,))))
    for use, operation in uses[1:]:
        with pytest.raises(lt.KeyError, match=f"^{operation}: had no key of "):
            use()


def test_sums_and_plain_products_need_no_keys(device, rng):
    bare = lt.Context("test-n10-leveled-insecure", device)
    own, x = lt.keygen(bare), rng.uniform(-1, 1, 64)
    a, b = own.encrypt(x), own.encrypt(x[::-1].copy())
    for got, want in ((a + b, x + x[::-1]), (a - b, x - x[::-1]), (-a, -x), (a * 3, 3 * x), (a * 1j, 1j * x), (a + x, 2 * x),
                      (a - 0.5, x - 0.5), (a * 0.25, x / 4), (a * x, x * x), (a - np.uint8(3), x - 3)):
        assert lt.precision(own.decrypt(got), want).worst > 12
    for use in (lambda: a * b, lambda: a.rotate(1), lambda: a.conj(), lambda: a.sum(), lambda: a @ np.ones((64, 4)), lambda: a**2):
        with pytest.raises(lt.KeyError, match=r"ctx\.use\(client\.server_keys") as e:
            use()
        assert states(e)


def test_messages_name_rotations_and_operations_of_python(ctx, client, pair):
    x, a = pair
    for use, operation, needs in ((lambda: a.rotate(3), "rotate", '"rotation by 3"'), (a.conj, "conj", '"conjugation"'),
                                  (lambda: a @ np.ones((64, 64)), "matmul", "rotation by")):
        with pytest.raises(lt.KeyError) as e:
            use()
        assert states(e) and e.value.operation == operation and needs in str(e.value) and "galois" not in str(e.value)
    low = client.encrypt(x, level=0)
    for use, operation in ((lambda: low * low, "multiply"), (lambda: low * 0.5, "multiply"), (lambda: low.polyval([0, 0, 1]), "polyval"),
                           (lambda: low.to_level(1), "to_level"), (lambda: lt.preset("none"), "preset"),
                           (lambda: lt.load_params("/none"), "load_params"), (lambda: client.encrypt([1e30]), "encrypt")):
        with pytest.raises(lt.Error) as e:
            use()
        assert e.value.operation == operation and str(e.value).startswith(operation + ": had "), e.value


def test_messages_hold_no_plaintext(client):
    integers = lt.keygen(lt.tfhe.Context("test-tfhe-2-2-tiny-insecure", "cpu"))
    secret, place = "1234567", "index 2"
    for use, says in ((lambda: client.encrypt([0, 0, complex(float("nan"), 1234567)]), place),
                      (lambda: client.encrypt([0, 0, 1234567e30]), "bound"),
                      (lambda: client.encrypt([[1234567], [1234567, 2]]), "list"), (lambda: client.encrypt(["1234567"]), "dtype"),
                      (lambda: client.encrypt([1, 1, 1234567.5], range=(-1, 1)), "outside"),
                      (lambda: integers.encrypt([0, 1, 1234567], "u4"), place), (lambda: integers.encrypt([0, 1, -1234567], "u4"), place)):
        with pytest.raises(lt.Error) as e:
            use()
        assert secret not in str(e.value) and says in str(e.value)
        assert e.value.__cause__ is None or secret not in str(e.value.__cause__)


def test_messages_hold_no_decrypted_value(client):
    x = client.encrypt([0.5, 0.25])
    z = client.decrypt(client.encrypt([np.log(2.0), 1])).real[0]  # 0.6931...
    for use in (lambda: client.decrypt_for_sharing(x, z, 1), lambda: client.decrypt_for_sharing(x, 1e5, z), lambda: client.encrypt([1], scale=z),
                lambda: client.encrypt([1], range=(z, 2)), lambda: x**z, lambda: x.rotate(z), lambda: x.to_level(z), lambda: x.polyval([z, z])):
        with pytest.raises(lt.Error) as e:
            use()
        assert "decrypted values" in str(e.value) and "0.69" not in str(e.value), e.value


def test_secrets_are_not_pickled(client):
    exact = lt.tfhe.Context("test-tfhe-2-2-tiny-insecure", "cpu", threads=1)
    owner = lt.keygen(exact)
    for secret in (client, owner):
        with pytest.raises(lt.UnsupportedError, match="use lt.save_"):
            pickle.dumps(secret)
    for secret in (client, owner, client.server_keys(), owner.server_keys()):
        assert copy.copy(secret) is secret and copy.deepcopy([secret])[0] is secret


@pytest.mark.parametrize("auto", [False, True])
def test_remedies_for_levels_fit_the_context(device, auto):
    for name, remedy in (("test-n10-leveled-insecure", "fewer times"), ("test-n10-boot-insecure", "after bootstrapping" if auto else "bootstrap")):
        ctx = lt.Context(name, device, auto_bootstrap=auto)
        deep = lambda a: a.polyval(np.ones(600))  # noqa: E731 - more levels than any bootstrapping leaves
        with pytest.raises(lt.LevelError, match=remedy) as e:
            ctx.plan(deep, lt.Shape((2,), None, (-1, 1)))
        assert states(e) and not (auto and "bootstrap()" in str(e.value))
        if auto and ctx.params.has_bootstrap:
            continue  # the multiplication refreshes automatically
        client = lt.keygen(ctx)
        with pytest.raises(lt.LevelError, match=remedy):
            client.encrypt([1.0, 2.0], level=0, range=(0, 2)) * [1.0, 2.0]


AT_ANY_LEVEL = {
    "*": lambda a: a * a, "* array": lambda a: a * np.arange(5.0), "* number": lambda a: a * 0.3, "@": lambda a: a @ np.ones((5, 4)),
    "apply_lut": lambda a: a.apply_lut(abs), "compare": lambda a: a.compare(0.25), "max": lambda a: a.max(0.3),
    "ranks": lambda a: a.argmin(), "polyval": lambda a: a.polyval(np.ones(8)), "deep": lambda a: a.polyval(np.ones(31)),
    "too deep": lambda a: a.polyval(np.ones(600)), "sign": lambda a: a.sign(bits=6), "relu": lambda a: a.relu(bits=6),
    "sum": lambda a: a.sum(), "slices": lambda a: a[1:3] + a[:2], "rotate": lambda a: a.rotate(1), "to_level": lambda a: a.to_level(4),
    "inverse": lambda a: (a + 2).inverse((1, 3)), "sort": lambda a: lt.sort(a), "bootstrap": lambda a: a.bootstrap()}


@pytest.mark.slow
@pytest.mark.parametrize("name", AT_ANY_LEVEL)
def test_no_remedy_is_bootstrapping_where_it_happens_by_itself(device, name):
    ctx = lt.Context("test-n10-boot-insecure", device, auto_bootstrap=True)
    for level in (0, 1, 2, 3):
        try:
            ctx.plan(AT_ANY_LEVEL[name], lt.Shape((5,), level, (-0.3, 0.3)))
        except lt.LevelError as e:
            assert name in ("too deep", "to_level") and "bootstrap()" not in str(e) and "bootstrap the" not in str(e), str(e)
        except lt.ScaleError as e:
            assert name in ("inverse", "sort", "ranks") and "declare" in str(e), str(e)


def test_commands_refuse_before_they_work(tmp_path, capsys, monkeypatch):
    from latticino import cli

    folder = tmp_path / "folder"
    folder.mkdir()
    common = ["demo", "--device", "cpu", "--preset", "test-n10-boot-insecure", "--no-plot"]
    for options in (["--rows", "-4"], ["--iterations", "-1"], ["--threads", "0", "--record", str(folder)]):
        with contextlib.suppress(SystemExit):
            assert cli.main([*common, *options]) == 1
        out = capsys.readouterr()
        assert "latticino: " in out.err and "Traceback" not in out.err and "iteration" not in out.out
    monkeypatch.setenv("LATTICINO_DATA", str(tmp_path))
    path = tmp_path / "helr_mnist38.npz"
    good = dict(q_train=np.ones((4, 3)), q_test=np.ones((2, 3)), y_train=np.ones(4), y_test=np.ones(2))
    np.savez(path, **good)
    whole = path.read_bytes()
    damaged = [b"", b"no zip", whole[: len(whole) // 2], whole[:80] + b"\xff" * 20 + whole[100:]]
    for data in damaged:
        path.write_bytes(data)
        assert cli.main(common) == 1
        assert "helr_mnist38.npz" in capsys.readouterr().err
    for wrong in (dict(q_test=np.ones((2, 5))), dict(y_test=np.ones(3)), dict(q_train=np.ones(4)), dict(y_train=np.zeros(4)),
                  dict(q_train=np.full((4, 3), "a"))):
        np.savez(path, **{**good, **wrong})
        assert cli.main(common) == 1
        assert "FileError" in capsys.readouterr().err


def test_mismatched_contexts_and_keys(ctx, client, pair):
    x, a = pair
    other = lt.Context("test-n10-leveled-insecure", ctx.device)
    stranger = lt.keygen(other)
    b = stranger.encrypt(x)
    with pytest.raises(lt.ContextError):
        a + b
    with pytest.raises(lt.ContextError):
        client.decrypt(b)
    with pytest.raises(lt.ContextError):
        ctx.use(stranger.server_keys(lambda v: v * v, x))
    second = lt.keygen(ctx)
    with pytest.raises(lt.KeyError):
        a + second.encrypt(x)
    with pytest.raises(lt.KeyError):
        second.decrypt(a)
    assert lt.precision(client.decrypt(a), x).worst > 15


def test_keys_in_the_memory_of_another_context(ctx, client, pair):
    x, _ = pair
    twin = lt.Context(ctx.params, ctx.device, threads=1)
    with pytest.raises(lt.ContextError, match="load_server_keys"):
        twin.use(client.server_keys(lambda v: v * v, x))


def test_no_numbers_at_all(client, pair):
    x, a = pair
    for bad in ([[1.0], [1.0, 2.0]], object(), [None]):
        with pytest.raises(lt.ShapeError) as e:
            client.encrypt(bad)
        assert states(e)
    with pytest.raises(lt.ValueError):
        a * 10**400
    with pytest.raises(lt.ShapeError):
        a.polyval([])
    assert lt.precision(client.decrypt(a), x).worst > 15


def test_recorded_programs_refuse_what_they_were_not_recorded_for(ctx, client, rng):
    x = rng.uniform(-1, 1, 5)
    total = lt.record(lambda a: a.sum())
    ctx.use(client.server_keys(total._function, x))
    assert abs(client.decrypt(total(client.encrypt(x))) - x.sum()) < 2**-12
    with pytest.raises(lt.ShapeError, match="zeros in slots"):
        total(client.encrypt(x) + 1)  # the recorded sum would include the ones after x
    with pytest.raises(lt.ShapeError):
        total(x)
    with pytest.raises(lt.ShapeError):
        lt.record(lambda a: 3)(client.encrypt(x))
    with pytest.raises(lt.KeyError):
        total.record(client.encrypt(np.zeros(64)))  # other rotations: the first recording still works
    assert abs(client.decrypt(total(client.encrypt(x))) - x.sum()) < 2**-12


def test_shapes_that_do_not_fit(client, pair):
    x, a = pair
    with pytest.raises(lt.ShapeError):
        a + client.encrypt(np.zeros(60))
    with pytest.raises(lt.ShapeError):
        a * np.zeros(3)
    with pytest.raises(lt.ShapeError):
        a @ np.zeros((3, 3))
    with pytest.raises(lt.ShapeError):
        client.decrypt(x)


def test_unsupported_options(client, pair):
    _, a = pair
    for use in (lambda: a.polyval([1, 2], basis="legendre"), lambda: a**-1, lambda: a**0.5,
                lambda: a.bootstrap(message="quaternion")):
        with pytest.raises(lt.UnsupportedError) as e:
            use()
        assert states(e)
    with pytest.raises(lt.ValueError):
        a / 0


def test_bootstrapping_needs_a_set_that_has_it(device, rng):
    own = lt.Context("test-n10-leveled-insecure", device)
    client = lt.keygen(own)
    x = rng.uniform(-1, 1, 8)
    own.use(client.server_keys(lambda a: a * a, x))
    with pytest.raises(lt.ParameterError, match="boot"):
        client.encrypt(x).bootstrap()


def test_unknown_presets_and_devices():
    with pytest.raises(lt.ParameterError, match="n16-d40-boot-v1"):
        lt.Context("n16-d40-bot-v1")
    for bad in ("gpu", "cpu:1", "cuda:x", ""):
        with pytest.raises(lt.DeviceError):
            lt.Context("test-n10-leveled-insecure", device=bad)


def test_cuda_is_never_replaced_by_the_cpu(monkeypatch):
    monkeypatch.setattr(devices._native, "cuda_built", lambda: False)
    with pytest.raises(lt.DeviceError, match="LATTICINO_CUDA"):
        devices.choose("cuda")
    assert devices.choose(None) == ("cpu", 0)
    monkeypatch.setattr(devices._native, "cuda_built", lambda: True)
    monkeypatch.setattr(devices._native, "cuda_device_count", lambda: 1)
    assert devices.choose(None) == ("cuda", 0)
    with pytest.raises(lt.DeviceError, match="nvidia-smi"):
        devices.choose("cuda:1")


def test_a_program_without_levels_fails_in_the_plan(ctx, rng):
    def program(a):
        for _ in range(50):
            a = a * a
        return a

    with pytest.raises(lt.LevelError):
        ctx.plan(program, rng.uniform(-1, 1, 8))


def test_aliased_operands(client, pair):
    x, a = pair
    a_before = a
    a *= a
    assert lt.precision(client.decrypt(a), x * x).worst > 15
    assert lt.precision(client.decrypt(a_before), x).worst > 15
    a_before += a_before
    assert lt.precision(client.decrypt(a_before), 2 * x).worst > 14


def test_programs_that_did_not_run_have_no_plan(ctx, pair):
    x, a = pair
    exact = lt.tfhe.Context("test-tfhe-2-2-tiny-insecure", "not-encrypted")

    async def later(v):
        return v * v

    def given(v):
        yield v * v

    for plan in (lambda f: ctx.plan(f, x), lambda f: exact.plan(f, lt.tfhe.Shape((2,), "u2"))):
        for program in (given, lambda v: (w * w for w in [v]), lambda v: map(abs, [v])):
            with pytest.raises(lt.UnsupportedError, match="has not run.*tuple") as e:
                plan(program)
            assert states(e)
    coroutine = later(a)
    with pytest.raises(lt.UnsupportedError, match="has not run"):
        ctx.plan(lambda v: coroutine, x)
    coroutine.close()
    x = lt.Shape((8,))  # claims from samples differ by chance
    named, listed = ctx.plan(lambda v: {"sum": v + v, "more": [v * v]}, x), ctx.plan(lambda v: (v + v, v * v), x)
    assert named.levels == listed.levels and named.bits == listed.bits and len(named.levels) == 2


def test_what_functions_make_is_not_made_of_nonsense(ctx, client):
    exact = lt.tfhe.Context("test-tfhe-2-2-tiny-insecure", "cpu")
    for make, remedy in ((lambda: lt.Client(ctx, None), "lt.keygen"), (lambda: lt.tfhe.Client(exact, ctx), "lt.keygen"),
                         (lambda: lt.Session(ctx, None), "server_keys"), (lambda: lt.Session(None, client.server_keys()), "bind"),
                         (lambda: lt.tfhe.Session(exact, 3), "server_keys"), (lambda: lt.Program(3), "lambda"),
                         (lambda: lt.cluster.Local(3), "cpu"), (lambda: lt.cluster.Local({"cpu"}), "cpu")):
        with pytest.raises(lt.Error, match=remedy) as e:
            make()
        assert states(e)


WRONG_COMMANDS = [
    "", "nope", "demo extra", "demo --rows 0", "demo --rows -4", "demo --rows 2.5", "demo --rows 3", "demo --rows 10000000000000000000000",
    "demo --iterations 0", "demo --iterations nan", "demo --iterations 99999999999999999999999", "demo --repeat 0", "demo --threads -1",
    "demo --threads 99999", "demo --threads \u0663", "demo --data nope", "demo --output plot.nope", "demo --output plot",
    "demo --record /dev/null/x.json", "demo --preset tfhe-2-2-v1", "demo --preset \udcff", "demo --device \udcff", "demo --device cuda:-1",
    "explain nope", "explain \udcff", "explain a b", "conformance --all-levels --sampled", "conformance --threads 100000",
    "conformance --preset \udcff", "fuzz --minutes 0", "fuzz --minutes nan", "fuzz --minutes inf", "fuzz --minutes 1e308",
    "fuzz --minutes \udcff", "fuzz --seed -1", "fuzz --seed 99999999999999999999999999", "fuzz --device not-encrypted", "fuzz --part nope", "fuzz --jobs 0",
    "bench", "bench nope", "bench compare", "bench compare /dev/null /dev/null", "bench growth /dev/null", "bench cpu --device cpu",
    "bench precision file", "bench precision --part noise", "bench precision --plot x.png", "bench cpu --tuning x", "bench gates --no-peers",
    "bench gates --preset nope", "bench precision --preset nope", "bench precision --preset tfhe-2-2-v1", "bench gates --preset n16-d40-boot-v1",
    "demo resnet20 --memory nope", "demo resnet20 --memory 0", "demo trees --preset nope", "demo trees --preset tfhe-2-2-v1",
    "demo resnet20 --weights /dev/zero", "demo resnet20 --device gpu", "demo rnn --device cuda:-1", "params --device cuda:-1",
    "params --save /dev/full", "keys list --url http://127.0.0.1:1 --token-file /dev/zero", "keys list x --url http://127.0.0.1:1",
    "keys push --url http://127.0.0.1:1", "keys delete --url http://127.0.0.1:1", "jobs list x --url http://127.0.0.1:1",
    "jobs cancel --url http://127.0.0.1:1", "keys list --url http://127.0.0.1:1 --token-file /dev/null/x",
    "bench compare /dev/zero /dev/zero", "bench growth --plot x.nope", "bench report --runs 3", "bench precision --runs 0", "tune --table /dev/null/x", "tune --nope"]


@pytest.mark.parametrize("command", WRONG_COMMANDS)
def test_every_wrong_option_gives_one_line_at_once(command, capsys, monkeypatch):
    from latticino import cli

    monkeypatch.delenv("LATTICINO_DATA", raising=False)
    try:
        status = cli.main(command.split())
    except SystemExit as end:
        status = end.code
    out = capsys.readouterr()
    assert status in (1, 2) and out.out == ""
    assert out.err.startswith("latticino: ") and out.err.count("\n") == 1 and len(out.err) < 700, out.err


def test_a_missing_bundle_is_named_before_the_service_is_asked(tmp_path, capsys):
    from latticino import cli

    token = tmp_path / "token"
    token.write_text("abc")
    start = time.monotonic()
    assert cli.main(["keys", "push", str(tmp_path / "none"), "--url", "http://127.0.0.1:1", "--token-file", str(token)]) == 1
    assert "FileError: keys: had" in capsys.readouterr().err and time.monotonic() - start < 3, "no request was tried again"


COMMANDS = ("demo", "info", "explain", "params", "bench", "tune", "conformance", "fuzz", "serve", "worker", "tenants", "keys",
            "jobs", "plan")


@pytest.mark.parametrize("width", [60, 80, 200])
def test_help_is_plain_and_fits_the_terminal(width, capsys, monkeypatch):
    from latticino import cli

    monkeypatch.setenv("COLUMNS", str(width))
    for words in ([], *([c] for c in COMMANDS)):
        with pytest.raises(SystemExit) as end:
            cli.main([*words, "--help"])
        out = capsys.readouterr()
        assert end.value.code == 0 and out.err == "" and out.out.isprintable() is False and "\x1b" not in out.out
        assert max(map(len, out.out.splitlines())) <= width, words


@pytest.mark.slow
@pytest.mark.parametrize("words", [["--help"], ["bench", "--help"], ["--version"], ["info"], ["explain", "n16-d40-boot-v1"]])
def test_whoever_reads_may_have_enough(words, capsys, monkeypatch):
    """`latticino info | head -1`: no traceback, neither here nor where the interpreter ends."""
    from latticino import cli

    reads, writes = os.pipe()
    os.close(reads)
    with os.fdopen(writes, "w") as stream:
        monkeypatch.setattr(sys, "stdout", stream)
        assert cli.main(words) == 1
        print("goes nowhere")
        stream.flush()
        monkeypatch.undo()
    assert capsys.readouterr().err == ""


def test_closed_streams_take_nothing(capfd, monkeypatch):
    """`latticino info >&-`: an error does not go to standard output, and a file gets none of what is printed."""
    from latticino import cli

    for closed in ("stdout", "stderr", "stdin"):
        monkeypatch.setattr(sys, closed, None)
        assert cli.main(["info"]) == 0 and cli.main(["explain", "nope"]) == 1
        getattr(sys, closed).close()
        monkeypatch.undo()
        out = capfd.readouterr()
        assert (out.out == "") == (closed == "stdout") and (out.err == "") == (closed == "stderr")
        assert "ParameterError" not in out.out


def test_the_version_of_the_command(capsys):
    from latticino import cli

    with pytest.raises(SystemExit) as end:
        cli.main(["--version"])
    assert end.value.code == 0 and lt.__version__ in capsys.readouterr().out


def test_a_difference_is_named_and_keeps_its_signs(pair):
    _, a = pair
    for use in (lambda: a - math.inf, lambda: math.inf - a, lambda: a - np.full(a.shape, math.inf), lambda: a - 10**400):
        with pytest.raises(lt.ValueError, match="^subtract: had") as e:
            use()
        assert "-inf" not in str(e.value)
    for use in (lambda: a - np.zeros(a.size + 1), lambda: np.zeros(a.size + 1) - a):
        with pytest.raises(lt.ShapeError, match="^subtract: had shapes"):
            use()


def test_errors_name_classes_as_users_import_them():
    ctx, tfhe = lt.Context("test-n10-leveled-insecure", "cpu"), lt.tfhe.Context("test-tfhe-gates-insecure", "cpu")
    with pytest.raises(lt.UnsupportedError, match=r"had latticino\.tfhe\.Context; needs latticino\.ServerKeys;"):
        ctx.use(tfhe)
    with pytest.raises(lt.UnsupportedError, match=r"had latticino\.Context; needs latticino\.tfhe\.ServerKeys;"):
        tfhe.use(ctx)
