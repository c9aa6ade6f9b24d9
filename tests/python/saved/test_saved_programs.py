"""Programs as data: after saving and loading they compute the same bits, in this process and in another one."""

import json
import subprocess
import sys

import numpy as np
import pytest

import latticino as lt
from latticino.measure.fuzz import ckks_programs, saved_programs
from latticino.saved import files, operations
from latticino.saved.arguments import PROGRAM

CKKS, TFHE = "test-n10-boot-insecure", "test-tfhe-2-2-tiny-insecure"
SHAPES = (lt.Shape((8,), 7, (-1, 1)),) * 2
IMAGE = (lt.Shape((1, 4, 8), 6, (-1, 1)),)
RNG = np.random.default_rng(5)
X, Y, PICTURE = RNG.uniform(-1, 1, 8), RNG.uniform(-1, 1, 8), RNG.uniform(-1, 1, (1, 4, 8))
W, KERNEL = RNG.normal(size=(8, 4)), RNG.normal(size=(2, 1, 3, 3))
LINEAR = lt.linear_map([0, 1, 2], [7, 5, 3], [1.0, -1.0, 2.0], 8, 3)
STRIDED = lt.convolution_map(KERNEL, (1, 4, 8), stride=2)


def arithmetic(x, y):
    return (x + y - y * x, 1 + x - [0.25] * 8, 1 - x, -x, 2 * x, x * 0.5 + np.ones(8), (1 + 2j) * x, x / 4, x**3,
            np.float32(0.1) + x.declare(-1, 1), lt.dot([x, y], [y, y]), x.conj(), x - 0.5, ((1 + 2j) * x).real,
            ((1 + 2j) * x).imag)


def quotients(x, y):
    z = (x * 0.25 + 0.75).declare(0.5, 1)
    return 1 / z, y.divide(z, (0.5, 1), 6), z.inverse(bits=6), z.sqrt((0.5, 1), 6), z.inverse_sqrt((0.5, 1), 6)


def matrices(x, y):
    square = x[:4].reshape(2, 2)
    return (x @ W, W.T @ x, x @ y, lt.matrix_power(square, 2), lt.cov(lt.stack([x, y])), LINEAR(x), lt.convolve(x, [1, 2]),
            lt.correlate(x, [1, -1]))


def correlations(x, y):
    """For values without a stated range, but with a domain for their variances."""
    return lt.corrcoef(lt.stack([x, y]), (0.5, 1), bits=2)


def images(x):
    return x.conv(KERNEL, [1.0, 2.0], padding=1), x.average_pool(2), STRIDED(x).sum((1, 2))


def places(x, y):
    z = x.reshape(2, 4)
    return (x.rotate(3), x.sum(), z.sum(0), z.mean(1), x.var(), x.spread_sum(0.5), x[1:5], x[[0, 7]], x[np.arange(8) > 3],
            z[..., None].squeeze(-1).T, z.swapaxes(0, 1), z.moveaxis(0, 1), z.expand_dims(0), z.broadcast_to((3, 2, 4)) * 2,
            z.roll(1, 1), x.flip().contiguous(), lt.stack([x, y]), lt.concatenate([x, y]), x.to_level(4), sum(x[:2]))


def functions(x, y):
    return (x.polyval([1, 0.5, 0.25]), x.approximate(np.sin, (-1, 1), 10), lt.exp(x, (-1, 1), 8), x.sign(1, 0.5, 4),
            x.abs(1, 4), x.relu(1, 4), x.maximum(y, bits=4), lt.minimum(x, y, bits=4), lt.maximum(x, 0.5, bits=4), x.minimum(y, bits=4), lt.softmax(x * 0.125, domain=(-0.2, 0.2), bits=3),
            lt.logsumexp(x * 0.125, domain=(-0.2, 0.2), bits=3), lt.tanh(x, bits=6), x.clip(-0.5, 0.5, 1, 3),
            x.std(domain=(0.05, 1), bits=3))


def refreshed(x, y):
    a, b = x.bootstrap_with(y, arcsine=1)
    return x.bootstrap("real"), a, b, lt.sort(x[:2], (-1, 1), 3)


def tables(x, y):
    x, y = x[:4].contiguous(), y[:4].contiguous()
    values, at = lt.top_k(x, 2)
    return (x.apply_lut(lambda v: v * v - 0.5), x.compare(y), x.max(y), x.max(), x.argmax(), x.min(), x.argmin(), values, at)


def of_numbers(x, y, eta, mu):
    return x * (1 - eta**2) + mu / 2, y * eta.conjugate() - mu, x / (eta + 3), x + (2 / (mu + 2) - -eta).real * mu.imag, y * (
        0.5 + eta) * (2 * mu), x * (mu - 1)


def integers(x, y):
    flags = x < y
    few, many = x.apply_many([lambda v: v ^ 1, [3, 2, 1, 0]], dtype=["u2", "u4"])
    return (x & y, x | y, 1 | x, x ^ y, ~x, x + 1, 1 + y, 3 - x, x - y, 2 * x, x * y, x**2, -x, flags, x <= 1, x > y, x >= y, x == y, x != 2,
            x << 1, x >> y, 1 << x, 3 >> x, x % 2, x // 2, x[::-1], x.reshape(1, 2).T, x.astype("u4"), x.sum(), x.min(),
            x.max(0), flags.any(), flags.all(), few, many, x.apply(lambda a, b: a * b % 4, y), lt.where(flags, x, 2),
            lt.minimum(x, y), lt.maximum(x, 1), x.clip(1, 2), lt.stack([x, y]), lt.concatenate([x, y]), 1 & x, 2 ^ x)


PROGRAMS = {f.__name__: f for f in (arithmetic, quotients, matrices, places, functions, refreshed, tables)}
NUMBERS = {"eta": lt.Scalar(-1, 1), "mu": lt.Scalar(lt.Range(-1, 1, (-1, 1)))}


def bytes_of(results):
    return [lt.to_bytes(y) for y in (results if isinstance(results, tuple) else (results,))]


def saved(program, context, *examples, **scalars):
    return files.captured(program, context, examples, scalars)


def operations_of(data):
    return {row["op"] for row in PROGRAM.from_bytes(data)[0]._fields["steps"]}


@pytest.fixture(scope="module")
def ckks():
    ctx = lt.Context(CKKS, "cpu", threads=1)
    return ctx, lt.keygen(ctx)


@pytest.fixture(scope="module")
def exact():
    ctx = lt.tfhe.Context(TFHE, "cpu", threads=1)
    client = lt.keygen(ctx)
    ctx.use(client.server_keys())
    return ctx, client


@pytest.fixture(scope="module")
def data(ckks, exact):
    """The file of each program."""
    ctx = ckks[0]
    out = {name: saved(f, ctx, *SHAPES) for name, f in PROGRAMS.items()}
    out["correlations"] = saved(correlations, ctx, np.zeros(8), np.zeros(8))
    out["images"] = saved(images, ctx, *IMAGE)
    out["of_numbers"] = saved(of_numbers, ctx, *SHAPES, **NUMBERS)
    out["integers"] = saved(integers, exact[0], *(lt.tfhe.Shape((2,), "u2"),) * 2)
    return out


@pytest.mark.slow
def test_the_programs_here_have_every_operation(data):
    for scheme in ("ckks", "tfhe"):
        found = set().union(*(operations_of(d) for name, d in data.items() if (name == "integers") == (scheme == "tfhe")))
        assert set(operations.names(scheme)) - found == set()


@pytest.mark.slow
def test_the_same_bytes_in_another_process(data, ckks, exact, tmp_path):
    """The keys of loaded plans suffice. A process that has only files gives the same bytes."""
    ctx, client = ckks
    wanted, programs = {}, {name: files.from_bytes(d) for name, d in data.items()}
    keys = client.server_keys(*(p.plan for p in programs.values() if p.scheme == "ckks"))
    ctx.use(keys)
    lt.save_server_keys(tmp_path / "ckks keys", ctx, keys, one_file=True)
    lt.save_server_keys(tmp_path / "tfhe keys", exact[0], exact[0].keys, one_file=True)
    for name, program in programs.items():
        own, owner = ckks if program.scheme == "ckks" else exact
        values = [[1, 3], [2, 0]] if name == "integers" else [PICTURE] if name == "images" else [X, Y]
        given = program.encrypt(owner, *values)
        assert [len(b) for b in bytes_of(given)] == [x.bytes for x in program.inputs]
        given = tuple(lt.from_bytes(lt.to_bytes(x), own) for x in given)  # which rounds the claimed error
        numbers = {"eta": 0.3, "mu": 0.5 - 0.25j} if name == "of_numbers" else {}
        f = {**globals()}[name]
        results = bytes_of(f(*given, **numbers))
        assert [y.most_bytes >= len(b) for y, b in zip(program.outputs, results)] == [True] * len(results)
        for i, x in enumerate(given):
            (tmp_path / f"{name}.{i}").write_bytes(lt.to_bytes(x))
        (tmp_path / f"{name}.lt").write_bytes(data[name])
        wanted[name] = [len(given), {k: [complex(v).real, complex(v).imag] for k, v in numbers.items()}, len(results)]
        for i, y in enumerate(results):
            (tmp_path / f"{name}.result{i}").write_bytes(y)
    (tmp_path / "programs.json").write_text(json.dumps(wanted))
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", ELSEWHERE, str(tmp_path)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


ELSEWHERE = """
import json, sys
from pathlib import Path
import latticino as lt
folder, held = Path(sys.argv[1]), {}
for name, (count, numbers, results) in json.loads((folder / "programs.json").read_text()).items():
    program = lt.load_program(folder / f"{name}.lt")
    if program.scheme not in held:
        held[program.scheme] = program.context("cpu", threads=1)
        held[program.scheme].use(lt.load_server_keys(folder / f"{program.scheme} keys", held[program.scheme]))
    ctx = held[program.scheme]
    given = [lt.from_bytes((folder / f"{name}.{i}").read_bytes(), ctx) for i in range(count)]
    numbers = {k: complex(*v) if v[1] else v[0] for k, v in numbers.items()}
    gave = program.run(ctx, *given, **numbers)
    gave = gave if isinstance(gave, tuple) else (gave,)
    assert len(gave) == results
    for i, y in enumerate(gave):
        assert lt.to_bytes(y) == (folder / f"{name}.result{i}").read_bytes(), (name, i)
"""


@pytest.mark.slow
def test_random_programs_give_the_same_bits(device):
    """Programs of the CKKS fuzz."""
    world = ckks_programs.World(ckks_programs.LEVELED, device, 1)
    results = [saved_programs.run(world, seed) for seed in range(50)] + [saved_programs.run(world, seed, "shapes") for seed in range(30)]
    assert [r for r in results if r.wrong] == [] and sum(bool(r.refused) for r in results) < 5
    auto = ckks_programs.World(ckks_programs.BOOTSTRAPPED, device, 1, auto_bootstrap=True)
    assert [r for r in (saved_programs.run(auto, seed) for seed in range(2)) if r.wrong] == []


def test_what_a_program_says_of_itself(ckks):
    ctx, _ = ckks
    program = files.from_bytes(saved(lambda x, y: x * y + 1, ctx, *SHAPES))
    assert [x.shape for x in program.inputs] == [(8,), (8,)] and program.inputs[0].level == 7
    (y,) = program.outputs
    assert (y.shape, y.dtype, y.level) == ((8,), "float64", 6) and y.bits > 20
    plan = ctx.plan(lambda x, y: x * y + 1, *SHAPES)
    assert program.keys == plan.keys and program.peak_bytes == plan.peak_bytes
    assert program.parameters.hash == ctx.params.hash and len(program.digest) == 64
    assert "SavedFunction((8,) float64" in repr(program)


def test_a_saved_program_is_a_function(ckks):
    """It can be planned, recorded, and used in another program that is saved."""
    ctx, client = ckks
    program = files.from_bytes(saved(lambda x, y, eta: x * y * eta, ctx, *SHAPES, eta=lt.Scalar(-1, 1)))
    ctx.use(client.server_keys(program.plan))
    x, y = program.encrypt(client, X, Y)
    want = client.decrypt(program.run(ctx, x, y, eta=0.5))
    recorded = lt.record(program, **program.scalars)
    assert np.allclose(client.decrypt(recorded(x, y, eta=0.5)), want)
    outer = files.from_bytes(saved(lambda x, y: program(x, y, eta=0.5) - recorded(x, y, eta=0.25), ctx, *SHAPES))
    assert np.allclose(client.decrypt(outer.run(ctx, x, y)), want / 2, atol=1e-6)


def test_a_session_runs_what_its_context_loads(ckks):
    ctx, client = ckks
    program = files.from_bytes(saved(lambda x, y: x * y, ctx, *SHAPES))
    session = ctx.bind(client.server_keys(program.plan))
    x, y = program.encrypt(client, X, Y)
    got = program.run(session, x, lt.from_bytes(lt.to_bytes(y), session))
    assert got.context is session and np.allclose(client.decrypt(got), X * Y, atol=1e-6)


def test_steps_that_no_result_needs_are_left_out(ckks):
    ctx, _ = ckks

    def wasteful(x, y):
        x.bootstrap()
        return x + y
    assert operations_of(saved(wasteful, ctx, *SHAPES)) == {"add"}


def test_constants_are_held_once(ckks):
    w = np.ones((8, 8))
    data = saved(lambda x, y: (x @ w) @ w.copy(), ckks[0], *SHAPES)
    assert len(PROGRAM.from_bytes(data)[1]) == 1


def test_inputs_are_those_that_the_program_states(ckks):
    ctx, client = ckks
    program = files.from_bytes(saved(lambda x, y: x * y, ctx, *SHAPES))
    x, y = program.encrypt(client, X, Y)
    other = lt.Context(CKKS, "cpu", threads=1)
    for error, given, had in [
            (lt.LevelError, (x.to_level(5), y), "level 5 as input 0"), (lt.ShapeError, (x, y.reshape(2, 4)), "shape (2, 4)"),
            (lt.ShapeError, (x,), "1 arguments"), (lt.ShapeError, (x, Y), "a ndarray as input 1"),
            (lt.ScaleError, (x, client.encrypt(Y, 7, range=(-2, 2))), "as input 1"),
            (lt.ScaleError, (x, client.encrypt(Y, 7, 2.0**39, range=(-1, 1))), "scale"),
            (lt.ShapeError, (x, client.encrypt(Y * 1j, 7)), "complex128"), (lt.ShapeError, (x, y.flip()), "layout"),
            (lt.ContextError, (x, lt.keygen(other).encrypt(Y, 7)), "another context's")]:
        with pytest.raises(error, match="run: had .*" + had.replace("(", r"\(").replace(")", r"\)")):
            program.run(ctx, *given)
    for context in (lt.Context("test-n10-leveled-insecure", "cpu", threads=1), lt.Context(CKKS, "cpu", auto_bootstrap=True), 3):
        with pytest.raises(lt.ContextError, match="run: had "):
            program.run(context, x, y)
    with pytest.raises(lt.ValueError, match="pass a number for each"):
        program.run(ctx, x, y, eta=1)
    with pytest.raises(lt.ShapeError, match="encrypt: had values of shape"):
        program.encrypt(client, X, Y[:4])


def test_what_is_known_of_inputs_is_what_the_program_states(ckks):
    """A range within the stated one, and none at all, give the bits and claims of the plan."""
    ctx, client = ckks
    program = files.from_bytes(saved(lambda x: x * x, ctx, SHAPES[0]))
    ctx.use(client.server_keys(program.plan))
    for given in (client.encrypt(X, 7), client.encrypt(X * 0.5, 7, range=(-0.5, 0.5))):
        y = program.run(ctx, given)
        assert (y.range.low, y.range.high, y.range.claim) == (0, 1, "declared")
    # Claims that rest on a sample also do so after the program.
    sent = lt.from_bytes(lt.to_bytes(client.encrypt(X * 0.5, 7, like=X * 0.5)), ctx)
    y = program.run(ctx, sent)
    assert (y.range.low, y.range.high, y.range.claim) == (0, 1, "calibrated")
    with pytest.raises(lt.UnsupportedError, match="sample data"):
        client.decrypt_for_sharing(y, None, queries=1)


@pytest.mark.parametrize("name", ["arithmetic", "integers"])
def test_the_part_for_clients(name, ckks, exact):
    """It has neither steps nor constants, and can make the keys of the whole program."""
    f, (ctx, client) = {"arithmetic": lambda x, y, eta: (x * Y + y.rotate(2)).bootstrap() * eta, "integers": lambda x, y: x + y}[
        name], ckks if name == "arithmetic" else exact
    examples, numbers = (SHAPES, {"eta": lt.Scalar(0, 1)}) if name == "arithmetic" else ((lt.tfhe.Shape((2,), "u2"),) * 2, {})
    whole = files.from_bytes(saved(f, ctx, *examples, **numbers))
    data = whole.client_bytes()
    head, arrays = PROGRAM.from_bytes(data)
    assert not arrays and "steps" not in head._fields
    half = files.from_bytes(data)
    assert half.program == whole.digest and half.digest != whole.digest and half.client_bytes() == data
    assert repr(half.inputs).split("range")[0] == repr(whole.inputs).split("range")[0] and half.outputs == whole.outputs
    assert half.keys == whole.keys and half.peak_bytes == whole.peak_bytes and half.scalars.keys() == whole.scalars.keys()
    if name == "arithmetic":
        ctx.use(client.server_keys(half.plan))
    given = half.encrypt(client, *([X, Y] if name == "arithmetic" else [[1, 3], [2, 0]]))
    done = []
    result = whole.compute(ctx, given, {"eta": 0.5} if name == "arithmetic" else {}, done.append)
    assert done[-1] == 1 and sorted(done) == done and whole.decrypt(client, result).shape == whole.outputs[0].shape
    with pytest.raises(lt.UnsupportedError, match="run: had the part of a program that clients need"):
        half.run(ctx, *given)


def test_a_table_has_its_keys_in_the_part_for_clients(ckks):
    ctx, client = ckks
    whole = files.from_bytes(saved(lambda x: x.apply_lut(abs), ctx, SHAPES[0]))
    half = files.from_bytes(whole.client_bytes())
    assert half.plan.switching == whole.plan.switching and half.plan.products == whole.plan.products
    ctx.use(client.server_keys(half.plan))
    got = client.decrypt(whole.run(ctx, *half.encrypt(client, X)))
    assert np.abs(got - np.abs(X)).max() < 0.2


def test_a_run_ends_where_its_watcher_says(ckks):
    ctx, client = ckks
    program = files.from_bytes(saved(lambda x, y: (x + y + 1) - 2, ctx, *SHAPES))
    seen = []

    def watch(done):
        seen.append(done)
        if done > 0.5:
            raise TimeoutError
    with pytest.raises(TimeoutError):
        program.compute(ctx, program.encrypt(client, X, Y), after=watch)
    assert seen == [1 / 3, 2 / 3]


@pytest.mark.parametrize("arithmetic", ["exact", "fft64"])
def test_a_program_of_tfhe_keeps_its_arithmetic(arithmetic, tmp_path):
    ctx = lt.tfhe.Context("test-tfhe-2-2-insecure", "cpu", threads=1, arithmetic=arithmetic)
    lt.save_program(tmp_path / "p", lambda x: x + 1, ctx, lt.tfhe.Shape((2,), "u4"))
    program = lt.load_program(tmp_path / "p")
    assert program.plan.arithmetic == program.context("cpu", threads=1).arithmetic == arithmetic
    for asked in ("exact", "fft64"):
        assert program.context("cpu", threads=1, arithmetic=asked).arithmetic == asked


def test_a_program_of_tfhe_re_randomises_where_it_was_saved_so(tmp_path):
    ctx = lt.tfhe.Context(TFHE, "cpu", threads=1, rerandomize=True)
    lt.save_program(tmp_path / "p", lambda x: x + 1, ctx, lt.tfhe.Shape((2,), "u4"))
    program = lt.load_program(tmp_path / "p")
    own, client = program.context("cpu", threads=1), files.from_bytes(program.client_bytes())
    assert program.rerandomize and client.rerandomize and own.rerandomizes
    owner = lt.keygen(own)
    with pytest.raises(lt.KeyError, match="without a public key"):
        own.use(owner.server_keys())
    own.use(owner.server_keys(public=True))
    assert owner.decrypt(program.run(own, *client.encrypt(owner, [3, 14]))).tolist() == [4, 15]
    other = program.context("cpu", threads=1, rerandomize=False)
    owner = lt.keygen(other)
    other.use(owner.server_keys())
    with pytest.raises(lt.ContextError, match="run: had a context that does not re-randomise"):
        program.run(other, *client.encrypt(owner, [3, 14]))
