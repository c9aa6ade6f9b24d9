"""Encrypted booleans and integers against numpy, on every device and on values that are not encrypted:
the same program, the same results. Small insecure sets."""

import operator

import numpy as np
import pytest

import latticino as lt
from latticino import _native
from latticino.measure import exactness
from tfhe_world import GATES, INTEGERS, World, any_device, gates, integers, worlds  # noqa: F401 - fixtures


@pytest.fixture(params=[GATES, INTEGERS])
def bits(request, worlds):
    return worlds(request.param)


def numbers(rng, shape, bits=8):
    x = rng.integers(0, 1 << bits, shape, dtype=np.uint64)
    x.flat[: min(2, x.size)] = [0, (1 << bits) - 1][: min(2, x.size)]
    return x.astype(f"uint{max(8, bits)}")


LOGIC = [operator.and_, operator.or_, operator.xor, operator.eq, operator.ne, operator.lt, operator.le,
         operator.gt, operator.ge]
ORDER = LOGIC[3:]


def test_every_gate_of_every_input(bits):
    x, y = np.array([[False], [True]]), np.array([False, True])
    for op in LOGIC:
        bits.equal(op, x, y)
        bits.equal(lambda a: op(a, y), x)
        bits.equal(lambda a: op(a, a), y)
    bits.equal(lambda a: ~a, x)


def test_choices_of_booleans(bits):
    c, x, y = np.ascontiguousarray(np.array(list(np.ndindex(2, 2, 2)), bool).T)
    e = [bits.client.encrypt(v) for v in (c, x, y)]
    want = np.where(c, x, y)
    for got in (lt.where(*e), lt.where(e[0], x, e[2]), lt.where(c, e[1], e[2])):
        assert (bits.client.decrypt(got) == want).all()
    assert (bits.client.decrypt(lt.where(e[0], e[0], e[2])) == np.where(c, c, y)).all()


def test_every_table_of_two_booleans(bits):
    x, y = np.array([0, 0, 1, 1], bool), np.array([0, 1, 0, 1], bool)
    a, b = bits.client.encrypt(x), bits.client.encrypt(y)
    for table in np.ndindex(2, 2, 2, 2):
        assert (bits.client.decrypt(a.apply(table, b)) == np.array(table, bool)).all(), table
    for table in np.ndindex(2, 2):
        assert (bits.client.decrypt(a.apply(table)) == np.array(table, bool)[x.astype(int)]).all()


def test_arithmetic_with_broadcasting(integers, rng):
    x, y = numbers(rng, (3, 1)), numbers(rng, (4,))
    for op in (operator.add, operator.sub, operator.mul, operator.and_, operator.or_, operator.xor):
        integers.equal(op, x, y)
        integers.equal(lambda a: op(a, np.uint8(7)), x)
        integers.equal(lambda a: op(np.uint8(7), a), x)
    integers.equal(lambda a: ~a, x)
    integers.equal(lambda a: (a[0, 0] + np.uint8(1)) * np.uint8(3), x)  # no axis
    integers.equal(lambda a: 0 - a, x)
    got = integers.client.decrypt(-integers.client.encrypt(x))
    assert (got == (0 - x)).all()


@pytest.mark.parametrize("name", exactness.ARITHMETIC)
def test_every_pair_of_four_bits(integers, name):
    x, y = np.divmod(np.arange(256, dtype=np.uint8), 16)
    ours, numpys = exactness.ARITHMETIC[name]
    want = numpys(x, y)
    got = integers.client.decrypt(ours(*(integers.client.encrypt(v, "u4") for v in (x, y))))
    assert (got == (want if want.dtype == bool else want & 15)).all()


def test_comparisons_minima_and_choices(integers, rng):
    x, y = numbers(rng, (6,)), numbers(rng, (6,))
    x[3] = y[3]
    for op in ORDER:
        integers.equal(op, x, y)
        integers.equal(lambda a: op(a, 100), x)
        integers.equal(lambda a: op(100, a), x)
    a, b = integers.client.encrypt(x), integers.client.encrypt(y)
    for ours, numpys in ((lt.minimum, np.minimum), (lt.maximum, np.maximum)):
        assert (integers.client.decrypt(ours(a, b)) == numpys(x, y)).all()
        assert (integers.client.decrypt(ours(9, b)) == numpys(9, y)).all()
    assert (integers.client.decrypt(lt.where(a < b, a * 2, 5)) == np.where(x < y, x * 2, 5)).all()
    assert (integers.client.decrypt(lt.where(a < b, 1, 2, dtype="u2")) == np.where(x < y, 1, 2)).all()


def test_shifts_and_powers_of_two(integers, rng):
    x = numbers(rng, (9,))
    for k in (0, 1, 2, 5, 8, 300):
        got = integers.client.decrypt(integers.client.encrypt(x) << k)
        assert (got == (x << k if k < 8 else 0)).all()
        got = integers.client.decrypt(integers.client.encrypt(x) >> k)
        assert (got == (x >> k if k < 8 else 0)).all()
    for m in (1, 2, 8, 16, 128):
        integers.equal(lambda a: a % m, x)
        integers.equal(lambda a: a // m, x)
    assert (integers.client.decrypt(integers.client.encrypt(x) % 256) == x).all()
    assert (integers.client.decrypt(integers.client.encrypt(x) // 256) == 0).all()
    by = np.arange(9, dtype=np.uint8)
    a, s = integers.client.encrypt(x), integers.client.encrypt(by, "u4")
    for amount in (s, by):
        assert (integers.client.decrypt(a << amount) == np.where(by < 8, x << (by % 8), 0)).all()
        assert (integers.client.decrypt(a >> amount) == np.where(by < 8, x >> (by % 8), 0)).all()
    assert (integers.client.decrypt(1 << s) == [(1 << int(k)) % 16 for k in by]).all()


@pytest.mark.parametrize("width", [2, 4, 6, 16, 32, 64])
def test_other_widths(integers, rng, width):
    x, y = (rng.integers(0, 1 << width, 3, dtype=np.uint64) for _ in range(2))
    a, b = (integers.client.encrypt(v, f"u{width}") for v in (x, y))
    mask = np.uint64(2**width - 1)
    assert (integers.client.decrypt(a + b) == (x + y & mask)).all()
    assert (integers.client.decrypt(a - b) == (x - y & mask)).all()
    assert (integers.client.decrypt(a < b) == (x < y)).all()
    assert a.dtype == f"u{width}" and integers.client.decrypt(a).dtype == np.dtype(f"uint{max(8, width)}")
    if width <= 16:
        assert (integers.client.decrypt(a * b) == (x * y & mask)).all()


def test_reductions_and_powers(integers, bits, rng):
    x = numbers(rng, (3, 5))
    a, decrypt = integers.client.encrypt(x), integers.client.decrypt
    for name in ("min", "max", "any", "all"):
        for axis in (None, 0, 1, -1):
            got = decrypt(getattr(a, name)(axis) if axis is not None else getattr(a, name)())
            want = getattr(x, name)(axis)
            assert got.shape == want.shape and (got == want).all(), (name, axis)
    flags = np.array([[False, False, True], [True, True, True], [False, False, False]])
    for name in ("any", "all"):
        for axis in (None, 0, 1):
            bits.equal(lambda v: getattr(v, name)(axis), flags)
    for n in (1, 2, 5):
        integers.equal(lambda v: v**n, x[0])
    for wrong in (lambda: a**0, lambda: a**-1, lambda: a**0.5, lambda: a**a):
        with pytest.raises(lt.UnsupportedError, match="exponent"):
            wrong()
    for wrong in (lambda: bits.client.encrypt(flags).max(), lambda: bits.client.encrypt(flags) ** 2):
        with pytest.raises(lt.ParameterError):
            wrong()
    with pytest.raises(lt.ShapeError):
        a.max(axis=2)


def test_sums(integers, rng):
    x = numbers(rng, (3, 21))
    a = integers.client.encrypt(x)
    assert integers.client.decrypt(a.sum(dtype="u16")) == x.sum()
    assert (integers.client.decrypt(a.sum(axis=1, dtype="u16")) == x.sum(axis=1)).all()
    assert (integers.client.decrypt(a.sum(axis=0)) == x.sum(axis=0) % 256).all()
    flags = x < 128
    count = integers.client.encrypt(flags).sum()
    assert count.dtype == "u6" and integers.client.decrypt(count) == flags.sum()


def test_shapes_need_no_keys(any_device, rng):
    ctx = lt.tfhe.Context(INTEGERS, any_device, threads=1)
    client = lt.keygen(ctx)
    x = numbers(rng, (3, 4, 2))
    a = client.encrypt(x)
    for view in (lambda v: v[1], lambda v: v[:, ::2], lambda v: v[..., 0], lambda v: v[::-1, None], lambda v: v[[2, 0]],
                 lambda v: v[x > 100], lambda v: v.reshape(4, -1), lambda v: v.ravel(), lambda v: v.T,
                 lambda v: v.transpose(1, 0, 2), lambda v: v[2, 3, 1]):
        assert (client.decrypt(view(a)) == view(x)).all() and view(a).shape == view(x).shape
    for axis in (0, 1, -1):
        assert (client.decrypt(lt.concatenate([a, a[:]], axis)) == np.concatenate([x, x], axis)).all()
        assert (client.decrypt(lt.stack([a, a], axis)) == np.stack([x, x], axis)).all()
    assert [client.decrypt(v).tolist() for v in a[0]] == x[0].tolist()
    one = client.encrypt(np.uint8(3))
    assert one.shape == () and client.decrypt(one) == 3 and client.encrypt(True).shape == ()
    assert (client.decrypt(a.astype("u4")) == x % 16).all()
    if ctx.encrypted:
        with pytest.raises(lt.KeyError, match="server_keys"):
            a + a


def test_types_widen_and_narrow(integers, rng):
    x, y = numbers(rng, (5,)), rng.integers(0, 2**16, 5, dtype=np.uint16)
    a, b = integers.client.encrypt(x), integers.client.encrypt(y)
    assert (integers.client.decrypt(a + b) == x + y).all() and (a + b).dtype == "u16"
    assert (integers.client.decrypt(b.astype("uint8")) == y.astype(np.uint8)).all()
    assert (integers.client.decrypt((a < 99) * a) == (x < 99) * x).all()
    assert (integers.client.decrypt((a & 3).astype("bool")) == ((x & 3) != 0)).all()


def test_long_arrays_go_in_pieces(integers, rng, monkeypatch):
    x, y = numbers(rng, (5, 7)), numbers(rng, (7,))
    want = integers.client.decrypt(integers.client.encrypt(x) + y)
    monkeypatch.setattr(integers.ctx, "_max_batch", lambda bits: 4)
    integers.equal(operator.add, x, y)
    assert (want == x + y).all()
    assert (integers.client.decrypt(integers.client.encrypt(x) * 3) == x * 3).all()


def test_results_say_what_they_are(any_device):
    world = World(GATES, any_device)
    x = world.client.encrypt(np.ones((2, 3), bool))
    if world.ctx.encrypted:
        assert all(part in repr(x & x) for part in ("(2, 3)", "bool", GATES, "fails with 2^-"))
        assert (x & x).log_failure < -100 and x.nbytes > 6 * 4 * 2048 and "MiB of keys" in repr(world.ctx)
    else:
        assert "NOT ENCRYPTED" in repr(x) and "NOT ENCRYPTED" in repr(world.ctx)
        assert isinstance(x, lt.tfhe.NotEncryptedArray) and (x & x).values.all()
        for refused in (lambda: lt.to_bytes(x), lambda: lt.save_secret_key("nowhere", world.client),
                        lambda: lt.save_server_keys("nowhere", world.ctx, world.client.server_keys())):
            with pytest.raises(lt.UnsupportedError, match="not encrypted"):
                refused()


def test_wrong_use_is_named(gates, integers, rng):
    x, flags = integers.client.encrypt([1, 2, 3], "u8"), integers.client.encrypt([True, False, True])
    wrong = [
        (lt.ValueError, lambda: x + 256), (lt.ValueError, lambda: x + (-1)), (lt.ValueError, lambda: x << -1),
        (lt.ShapeError, lambda: x + 1.5), (lt.ShapeError, lambda: x + np.zeros(4, np.uint8)),
        (lt.ShapeError, lambda: x[7]), (lt.ShapeError, lambda: x[5:]), (lt.ShapeError, lambda: x.reshape(2)),
        (lt.ShapeError, lambda: x.sum(axis=1)), (lt.ShapeError, lambda: x.transpose(1, 0)), (lt.ShapeError, lambda: x[x]),
        (lt.ShapeError, lambda: lt.concatenate([x, x.reshape(3, 1)])),
        (lt.UnsupportedError, lambda: bool(x == x)), (lt.UnsupportedError, lambda: x % 3),
        (lt.UnsupportedError, lambda: x.apply(lambda v: v)), (lt.ParameterError, lambda: flags + flags),
        (lt.ParameterError, lambda: lt.where(x, x, x)), (lt.ParameterError, lambda: lt.where(flags, 1, 2)),
        (lt.ShapeError, lambda: lt.where(np.array([True]), 1, 2)),
        (lt.ParameterError, lambda: integers.client.encrypt([1, 2])),
        (lt.ParameterError, lambda: integers.client.encrypt([1], "u7")),
        (lt.ParameterError, lambda: integers.client.encrypt([1], "i8")),
        (lt.ParameterError, lambda: gates.client.encrypt([1], "u8")),
        (lt.ValueError, lambda: integers.client.encrypt([256], "u8")),
        (lt.ShapeError, lambda: integers.client.encrypt([], "u8")),
        (lt.ShapeError, lambda: x.astype("u4").apply([1, 2, 3])),
        (lt.ContextError, lambda: x + gates.client.encrypt([True])), (lt.ContextError, lambda: gates.client.decrypt(x)),
        (lt.ShapeError, lambda: integers.client.decrypt([1])),
        (lt.ShapeError, lambda: lt.stack([x, x], axis=3)), (lt.ShapeError, lambda: lt.stack([x, x], axis=-3)),
        (lt.ParameterError, lambda: x.astype(3)), (lt.ParameterError, lambda: integers.client.encrypt([1], dtype=[1])),
        (lt.UnsupportedError, lambda: np.asarray(x)), (lt.UnsupportedError, lambda: np.sqrt([x, x])),
        (lt.UnsupportedError, lambda: integers.ctx.plan(3)), (lt.UnsupportedError, lambda: lt.record(3)),
        (lt.ValueError, lambda: integers.ctx.plan(abs, lt.tfhe.Shape((-2,), "u8"))),
        (lt.ValueError, lambda: integers.ctx.plan(abs, lt.tfhe.Shape((2.5,), "u8"))),
        (lt.ValueError, lambda: integers.ctx.plan(abs, lt.tfhe.Shape("ab", "u8"))),
        (lt.DeviceError, lambda: lt.tfhe.Context(device=3)), (lt.ParameterError, lambda: lt.tfhe.Context(arithmetic=3)),
    ]
    for kind, use in wrong:
        with pytest.raises(kind) as e:
            use()
        assert ": had " in str(e.value) and "; needs " in str(e.value) and e.value.operation
    assert (integers.client.decrypt(x) == [1, 2, 3]).all(), "operands stay usable"


def test_presets_by_name():
    assert {"tfhe-gates-v1", "tfhe-gates-v2", "tfhe-2-2-v1"} <= set(lt.tfhe.presets())
    with pytest.raises(lt.ParameterError, match="tfhe-gates-v2"):
        lt.tfhe.Context("tfhe-gate-v2")
    with pytest.raises(lt.ParameterError, match="lt.tfhe.Context"):
        lt.Context("tfhe-gates-v2")
    assert "failure probability" in lt.tfhe.preset("tfhe-gates-v2").explain()


def test_keys_of_others(any_device):
    if any_device == "not-encrypted":
        return
    ctx = lt.tfhe.Context(INTEGERS, any_device, threads=1)
    one, other = lt.keygen(ctx), lt.keygen(ctx)
    ctx.use(one.server_keys())
    x = other.encrypt([1], "u8")
    with pytest.raises(lt.KeyError):
        x + x
    with pytest.raises(lt.KeyError):
        one.decrypt(x)
    with pytest.raises(lt.ContextError, match="load_server_keys"):
        lt.tfhe.Context(INTEGERS, any_device, threads=1).use(one.server_keys())
    with pytest.raises(lt.ContextError):
        lt.tfhe.Context(GATES, any_device, threads=1).use(one.server_keys())


def test_a_client_and_a_server_share_only_files(device, rng, tmp_path):
    ctx = lt.tfhe.Context(INTEGERS, device, threads=1)
    client = lt.keygen(ctx)
    x, flags = numbers(rng, (3, 5)), rng.integers(0, 2, 5).astype(bool)
    lt.save_params(tmp_path / "params", ctx.params)
    lt.save_server_keys(tmp_path / "keys", ctx, client.server_keys())
    lt.save_secret_key(tmp_path / "secret", client)
    lt.save_ciphertext(tmp_path / "x", client.encrypt(x))
    assert (tmp_path / "x").stat().st_size < 1024 + 4 * 4 * x.size

    server = lt.tfhe.Context(lt.load_params(tmp_path / "params"), device, threads=1)
    server.use(lt.load_server_keys(tmp_path / "keys", server))
    a, f = lt.load_ciphertext(tmp_path / "x", server), lt.from_bytes(lt.to_bytes(client.encrypt(flags)), server)
    result = lt.to_bytes(lt.where(f, a + 1, a))

    owner = lt.load_client(tmp_path / "secret", ctx)
    assert (owner.decrypt(lt.from_bytes(result, ctx)) == np.where(flags, x + 1, x)).all()
    with pytest.raises(lt.FileError):
        lt.from_bytes(result[:-1], ctx)
    with pytest.raises(lt.FileError):
        lt.load_server_keys(tmp_path / "x", ctx)
    with pytest.raises(lt.FileError, match="CKKS"):
        lt.load_ciphertext(tmp_path / "x", lt.Context("test-n10-leveled-insecure", device))


@pytest.mark.parametrize("note", ["", "[]", '{"shape": [3], "dtype": "u8"}', '{"shape": [-1, -2], "dtype": "u8"}',
                                  '{"shape": [2], "dtype": "u7"}', '{"shape": [2], "dtype": "bool"}',
                                  '{"shape": [Infinity], "dtype": "u8"}', '{"shape": [2], "dtype": "m4"}'])
def test_hostile_descriptions_are_refused(device, note):
    ctx = lt.tfhe.Context(INTEGERS, device, threads=1)
    x = lt.keygen(ctx).encrypt([1, 2], "u8")
    data = lt._native.tfhe_ciphertexts_to_bytes(x._parts, note)
    with pytest.raises(lt.FileError):
        lt.from_bytes(data, ctx)


def test_plans_count_what_runs(integers, rng):
    x = numbers(rng, (2, 5))

    def program(a, b):
        return lt.where(a < b, a + b, 7)

    plan = integers.ctx.plan(program, x, lt.tfhe.Shape((5,), "u8"))
    assert plan.bootstrappings == 10 * (8 + 10 + 8) and plan.rounds == 4 + 4 + 1 and plan.seconds > 0
    assert f"{plan.bootstrappings} in {plan.rounds} rounds" in str(plan)
    assert plan.input_bytes >= 15 * 4 * 4 * 1024 and plan.peak_bytes > plan.key_bytes + plan.input_bytes
    assert integers.ctx.plan(program, integers.client.encrypt(x), x).bootstrappings == plan.bootstrappings
    assert integers.ctx.plan(lambda a: a[0], x).bootstrappings == 0
    if integers.ctx.encrypted:
        ctx = lt.tfhe.Context(INTEGERS, integers.ctx.device, threads=1)
        client = lt.keygen(ctx)
        ctx.use(client.server_keys())
        a, b = client.encrypt(x), client.encrypt(x[0])
        ctx.reset_peak()
        program(a, b)
        assert 0.7 < plan.peak_bytes / ctx.peak_bytes < 1.05
    one, two = (integers.ctx.plan(program, x[:k], x[:k]).log_failure for k in (1, 2))
    assert two == pytest.approx(one + 1) and -np.inf < one < -100
    with pytest.raises(lt.ParameterError):
        integers.ctx.plan(lambda a: a + a, np.array([True]))
    with pytest.raises(lt.ShapeError):
        integers.ctx.plan(lambda a: a, lt.tfhe.Shape((0,), "u8"))
    assert integers.ctx.plan(lambda a: a == 1, lt.tfhe.Shape(3, "u2")).bootstrappings == 6


def test_plans_predict_recorded_times(monkeypatch):
    monkeypatch.setattr(_native, "cpu_choice", lambda threads, simd: ("avx512", threads, threads))
    one = lt.tfhe.Context("tfhe-gates-v1", "cpu", threads=1, arithmetic="exact")
    many = lt.tfhe.Context("tfhe-2-2-v1", "cpu", threads=1, arithmetic="exact")
    gate = lambda n: one.plan(lambda a, b: a & b, *[lt.tfhe.Shape((n,))] * 2).seconds  # noqa: E731
    assert 0.5 < gate(1) / 15.3e-3 < 2 and 0.5 < gate(8) / (8 * 12.1e-3) < 2
    table = many.plan(lambda a: a.apply(lambda v: 3 - v), lt.tfhe.Shape((8,), "u2"))
    assert table.bootstrappings == 8 and 0.5 < table.seconds / (8 * 26.8e-3) < 2
    one.device = "cuda:0"
    assert 0.5 < gate(1) / 1.40e-3 < 2 and 0.5 < gate(4096) / (4096 / 37597) < 2
    one = lt.tfhe.Context("tfhe-gates-v2", "cpu", threads=1, arithmetic="fft64")
    assert 0.5 < gate(1) / 11.5e-3 < 2
    one.device = "cuda:0"
    assert 0.5 < gate(1) / 1.00e-3 < 2 and 0.5 < gate(4096) / (4096 / 72107) < 2
