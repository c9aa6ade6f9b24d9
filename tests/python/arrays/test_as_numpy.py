"""Encrypted arrays behave as numpy's: random shapes, encrypted and not, at once and recorded."""

import json
import math
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import latticino as lt
from latticino import _native
from latticino.files import saving as files

PRESET = "test-n10-boot-insecure"
SLOTS = 512
some = settings(max_examples=20, deadline=None, derandomize=True,
                suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])


@pytest.fixture(scope="module")
def clear():
    own = lt.Context(PRESET, "not-encrypted")
    return own, lt.keygen(own)


@pytest.fixture
def agrees(ctx, client, clear):
    """Runs a program on arrays: planned, encrypted, recorded, and on the device that does not encrypt. All must give
    numpy's result, at the level that the plan states and with the claimed precision."""

    def check(program, *operands, wanted=None, levels=None, recorded=True, bits=12):
        wanted = program(*operands) if wanted is None else wanted
        plan = ctx.plan(program, *operands)
        ctx.use(client.server_keys(plan))
        arguments = [client.encrypt(x, like=x) for x in operands]
        results = [program(*arguments)]
        if recorded:
            replay = lt.record(program)
            results += [replay(*arguments), replay(*arguments)]
        bounds = [(-2**0.5, 2**0.5)] * 2
        for x in operands:  # declared ranges give claims that hold
            assert np.abs(x).max() <= 2**0.5
        stated = [client.encrypt(x, range=lt.Range(*bounds[0], bounds[1] if np.iscomplexobj(x) else (0, 0))) for x in operands]
        y = program(*stated)
        assert y.range.claim == "declared"
        assert np.abs(client.decrypt(y) - wanted).mean() <= 2**(1.5 if y.size >= 32 else 4) * y._known.errors(y.size, y._full)[0], y
        own, owner = clear
        results.append(program(*[owner.encrypt(x) for x in operands]))
        for y in results:
            have = (owner if y.context is own else client).decrypt(y).unmarked()
            assert y.shape == have.shape == np.shape(wanted) and y.ndim == np.ndim(wanted)
            assert have.dtype == y.dtype == np.result_type(wanted, float)
            error = np.abs(have - wanted)
            assert error.max() < 2.0**-bits * max(1, np.abs(wanted).max()), (error.max(), y)
            assert plan.levels == (y.level,)
            if levels is not None:
                assert y.level == min(x.level for x in arguments) - levels
            claimed = y._known.errors(y.size, y._full)
            slack = 2.5 if y.size >= 32 else 4  # claims for few values rest on few samples
            assert error.mean() <= 2**slack * claimed[0], (y, -np.log2(error.mean()))
        return results[0]

    return check


def draw(rng, shape, kind="real"):
    x = rng.uniform(-1, 1, shape)
    return x + 1j * rng.uniform(-1, 1, shape) if kind == "complex" else x


def shapes(most=1200, dimensions=4):
    return st.lists(st.integers(1, 60), min_size=0, max_size=dimensions).filter(lambda s: math.prod(s) <= most).map(tuple)


# ---- reading in another order ----

VIEWS = {
    "int": lambda a: a[2], "negative": lambda a: a[-1, -2], "slice": lambda a: a[1:4, ::3], "backwards": lambda a: a[::-1, 5:1:-2],
    "ellipsis": lambda a: a[..., 3], "newaxis": lambda a: a[:, None, 2:5], "array": lambda a: a[[4, 0, 0, 2]],
    "two arrays": lambda a: a[[0, 3], [1, -1]], "grid": lambda a: a[np.ix_([0, 2], [1, 5, 6])], "mask": lambda a: a[np.arange(5) % 2 == 0],
    "full mask": lambda a: a[np.arange(35).reshape(5, 7) % 3 == 1], "value": lambda a: a[3, 4], "all": lambda a: a[...],
    "numpy integers": lambda a: a[np.int64(1), np.uint8(2)],
    "reshape": lambda a: a.reshape(7, 5), "reshape -1": lambda a: a.reshape((5, -1)), "ravel": lambda a: a.ravel(),
    "flatten": lambda a: a.flatten(), "T": lambda a: a.T, "transpose": lambda a: a.transpose(1, 0), "swapaxes": lambda a: a.swapaxes(0, 1),
    "squeeze": lambda a: a[:, :1].squeeze(1), "squeeze all": lambda a: a[:1, :1].squeeze(),
    "reshaped T": lambda a: a.T.reshape(5, 7), "T of T": lambda a: a.T.T,
}


@pytest.mark.parametrize("name", VIEWS)
@pytest.mark.parametrize("kind", ["real", "complex"])
def test_views_are_numpys_and_free(agrees, rng, name, kind):
    agrees(VIEWS[name], draw(rng, (5, 7), kind), levels=0)


METHODS = {
    "moveaxis": (lambda a: a.moveaxis(0, -1), lambda a: np.moveaxis(a, 0, -1)),
    "expand_dims": (lambda a: a.expand_dims((0, 2)), lambda a: np.expand_dims(a, (0, 2))),
    "broadcast_to": (lambda a: a.broadcast_to((4, 5, 7)), lambda a: np.broadcast_to(a, (4, 5, 7))),
    "roll": (lambda a: a.roll(3), lambda a: np.roll(a, 3)), "roll axis": (lambda a: a.roll(-2, 1), lambda a: np.roll(a, -2, 1)),
    "roll axes": (lambda a: a.roll((1, 2), (0, 1)), lambda a: np.roll(a, (1, 2), (0, 1))),
    "flip": (lambda a: a.flip(), np.flip), "flip axis": (lambda a: a.flip(1), lambda a: np.flip(a, 1)),
    "stack": (lambda a: lt.stack([a, a[::-1]], axis=1), lambda a: np.stack([a, a[::-1]], axis=1)),
    "stacked numbers": (lambda a: lt.stack([a[0, 0], a.sum()]), lambda a: np.stack([a[0, 0], a.sum()])),
    "stacked iteration": (lambda a: lt.stack(list(a)[::-1]), lambda a: a[::-1]),
    "concatenate": (lambda a: lt.concatenate([a, a[:2], a[1:2]]), lambda a: np.concatenate([a, a[:2], a[1:2]])),
    "concatenate axis": (lambda a: lt.concatenate((a, a[:, :3]), axis=-1), lambda a: np.concatenate((a, a[:, :3]), axis=-1)),
    "concatenate flat": (lambda a: lt.concatenate([a, a[0]], axis=None), lambda a: np.concatenate([a, a[0]], axis=None)),
}


@pytest.mark.parametrize("name", METHODS)
def test_methods_are_numpys_and_free(agrees, rng, name):
    program, numpy = METHODS[name]
    x = draw(rng, (5, 7))
    agrees(program, x, wanted=numpy(x), levels=0)


@st.composite
def indexed(draw_):
    shape = draw_(shapes().filter(len))
    index = []
    for n in shape[: draw_(st.integers(0, len(shape)))]:
        kind = draw_(st.integers(0, 2))
        if kind == 0:
            index.append(draw_(st.integers(-n, n - 1)))
        elif kind == 1:
            index.append(slice(draw_(st.one_of(st.none(), st.integers(-n, n))), draw_(st.one_of(st.none(), st.integers(-n, n))),
                               draw_(st.sampled_from([None, 1, 2, 3, -1, -2]))))
        else:
            index.append(None)
            index.append(slice(None))
    return shape, tuple(index)


@pytest.mark.slow
@given(indexed(), st.integers(0, 2**32))
@some
def test_indexing_of_any_shape(agrees, case, seed):
    shape, index = case
    x = draw(np.random.default_rng(seed), shape)
    if x[index].size:
        agrees(lambda a: a[index], x, levels=0, recorded=False)


def test_indices_that_numpy_refuses(client):
    x = client.encrypt(np.ones((3, 4)))
    for index in (3, (0, 0, 0), "a", 1.5, np.ones(4, bool), [7]):
        with pytest.raises(lt.ShapeError):
            x[index]
    with pytest.raises(lt.ShapeError, match="no values"):
        x[2:1]
    with pytest.raises(lt.UnsupportedError, match="encrypted index"):
        x[x]
    with pytest.raises(TypeError):
        iter(x[0, 0]).__next__()
    for use in (lambda: x.reshape(5, 3), lambda: x.transpose(0, 0), lambda: x.squeeze(0), lambda: x.broadcast_to((2, 4)),
                lambda: x.swapaxes(0, 2), lambda: x.moveaxis(0, 5), lambda: x.expand_dims(9), lambda: x.roll(1, 7), lambda: x.flip(3)):
        with pytest.raises(lt.ShapeError):
            use()


def test_results_that_no_host_holds_are_refused(client):
    x, y = client.encrypt(np.ones((20_000, 1))), client.encrypt(np.ones((1, 20_000)))
    for use in (lambda: x.broadcast_to((20_000, 20_000)), lambda: x * y, lambda: x * np.ones((1, 20_000))):
        with pytest.raises(lt.ShapeError, match="at most 134,217,728 values"):
            use()


# ---- sums ----

@pytest.mark.slow
@given(shapes(), st.data(), st.integers(0, 2**32))
@settings(some, max_examples=40)
def test_sums_over_any_axes(agrees, shape, data, seed):
    axis = data.draw(st.one_of(st.none(), *([st.integers(-len(shape), len(shape) - 1), st.lists(
        st.integers(0, len(shape) - 1), unique=True).map(tuple)] if shape else [])))
    keepdims = data.draw(st.booleans())
    x = draw(np.random.default_rng(seed), shape)
    agrees(lambda a: a.sum(axis, keepdims=keepdims), x, recorded=False, bits=10)


SUMS = {
    "rows in one ciphertext": ((20, 7), 1, 0), "columns": ((20, 7), 0, 0), "rows over ciphertexts": ((200, 7), 1, 1),
    "columns over ciphertexts": ((300, 5), 0, 1), "longer than a ciphertext": ((2, 700), 1, 1), "few long rows": ((3, 700), 0, 1),
    "middle": ((4, 9, 5), 1, 0), "two axes": ((4, 9, 5), (1, 2), 0), "outer axes": ((4, 9, 5), (0, 2), 0), "powers of two": ((2, 8, 16), (0, 1), 0),
    "rows of powers of two": ((64, 16), 1, 0), "nothing": ((3, 4), (), 0), "all of a vector": ((300,), 0, 0),
}


@pytest.mark.parametrize("name", SUMS)
def test_sums_cost_what_is_written(agrees, rng, name):
    shape, axis, levels = SUMS[name]
    x = draw(rng, shape)
    agrees(lambda a: a.sum(axis), x, wanted=x.sum(axis), levels=levels, bits=10)


@pytest.mark.slow
@pytest.mark.parametrize("shape, axis", [((40, 5), 1), ((40, 5), 0), ((300,), None), ((7, 11), (0, 1)), ((150, 7), 1), ((512,), None)])
@pytest.mark.parametrize("kind", ["real", "complex"])
def test_means_and_variances(agrees, rng, shape, axis, kind):
    x = draw(rng, shape, kind) * 0.7
    agrees(lambda a: a.mean(axis), x, levels=1, bits=13)
    agrees(lambda a: a.mean(axis, keepdims=True), x, recorded=False, bits=13)
    agrees(lambda a: a.var(axis, ddof=1), x, recorded=False, bits=11)


def test_variance_of_too_few_values(client):
    x = client.encrypt(np.ones((1, 4)))
    with pytest.raises(lt.ValueError, match="ddof"):
        x.var(axis=0, ddof=1)
    for axis in (2, (0, 0), 1.5, "x"):
        with pytest.raises((lt.ShapeError, lt.ValueError)):
            x.sum(axis)


# ---- broadcasting ----

PAIRS = [((3, 4), (4,)), ((3, 1), (3, 5)), ((3, 1), (1, 5)), ((5,), (4, 5)), ((6, 7), ()), ((2, 3, 4), (3, 1)), ((300, 3), (3,)),
         ((300, 3), (300, 1)), ((1, 40), (20, 1)), ((4, 1, 3), (5, 1)), ((1,), (9,)), ((16, 16), (16,)), ((16, 32), (16, 1))]


@pytest.mark.parametrize("a, b", PAIRS)
@pytest.mark.parametrize("swap", [False, True])
def test_broadcasting_of_encrypted_arrays(agrees, rng, a, b, swap):
    a, b = (b, a) if swap else (a, b)
    x, y = draw(rng, a), draw(rng, b)
    agrees(lambda u, v: u * v + v - u, x, y, recorded=False)


@pytest.mark.parametrize("a, b", PAIRS)
@pytest.mark.parametrize("swap", [False, True])
def test_broadcasting_with_clear_arrays(agrees, rng, a, b, swap):
    a, b = (b, a) if swap else (a, b)
    x, w = draw(rng, a), draw(rng, b)
    agrees(lambda u: w * u + w - u / (w + 2), x, recorded=False)


def test_shapes_that_do_not_broadcast(client):
    x, y = client.encrypt(np.ones((3, 4))), client.encrypt(np.ones(3))
    for use in (lambda: x + y, lambda: x * np.ones(3), lambda: x - np.ones((2, 4)), lambda: x / np.ones((4, 4)), lambda: x * y):
        with pytest.raises(lt.ShapeError, match="broadcast"):
            use()


CHAINS = {
    "slice times slice": lambda a: a[1:, :3] * a[:-1, 2:5], "transposed sum": lambda a: a.T + a.T[::-1],
    "own transpose": lambda a: a[:5, :5] * a[:5, :5].T, "sum of sums": lambda a: a.sum(axis=0) + a.sum(axis=1)[:7],
    "centred": lambda a: a - a.mean(axis=0), "centred rows": lambda a: a - a.mean(axis=1, keepdims=True),
    "outer": lambda a: a[:, 0][:, None] * a[0][None, :], "sum of a slice": lambda a: a[2:5, 1:4].sum(),
    "sum of a transpose": lambda a: a.T.sum(axis=1), "sum of shifted": lambda a: (a + 0.5)[1:].sum(axis=0), "power": lambda a: a[1:4] ** 3,
    "sum of repeated": lambda a: (a[0] + 0 * a).sum(axis=0), "number": lambda a: (a[3] + 0.25) * 0.5 - 1,
    "sum of an index": lambda a: a[[0, 0, 1]].sum(axis=0), "plus array of an index": lambda a: a[[0, 0, 1]] + np.arange(21.0).reshape(3, 7) / 21,
    "differences": lambda a: a[1:] - a[:-1],
}


@pytest.mark.parametrize("name", CHAINS)
def test_operations_in_sequence(agrees, rng, name):
    agrees(CHAINS[name], draw(rng, (9, 7)) * 0.7, bits=9)


@pytest.mark.parametrize("shape", [(9, 7), (90, 11)])
def test_contiguous_is_the_layout_of_a_fresh_array(agrees, rng, shape):
    x = draw(rng, shape)
    for program, wanted in ((lambda a: a.T.contiguous(), x.T), (lambda a: a[::2, 1:].contiguous(), x[::2, 1:]),
                            (lambda a: lt.stack([a[0], a[2]]).contiguous(), x[[0, 2]])):
        y = agrees(program, x, wanted=wanted, levels=1)
        assert y.layout.is_plain and y.layout.clean and y.contiguous() is y


def test_rotations_sums_and_functions_of_every_layout(agrees, rng):
    x = draw(rng, (8, 8)) * 0.6
    for cut, levels in ((lambda a: a.T, 0), (lambda a: a[:, 2], 1), (lambda a: a[1::2], 1)):
        part = cut(x)
        agrees(lambda a: cut(a).rotate(3), x, wanted=np.roll(part.ravel(), -3).reshape(part.shape), levels=0)
        agrees(lambda a: cut(a).polyval([0.25, 0.5, 0, 1]), x, wanted=0.25 + part / 2 + part**3, levels=2 + levels)
        agrees(lambda a: cut(a).spread_sum(0.5), x, bits=10,
               wanted=np.broadcast_to(part.sum(-1, keepdims=True) / 2, part.shape))
        agrees(lambda a: cut(a).conj() * 1j, x, wanted=part * 1j)
        agrees(lambda a: cut(a).bootstrap(), x, wanted=part, recorded=False, bits=8)


def test_dot_and_pairs_of_several_layouts(agrees, rng):
    x, y = draw(rng, (2, 6, 6)) * 0.7
    agrees(lambda a, b: lt.dot([a, b.T], [b, a]), x, y, wanted=x * y + y.T * x)
    agrees(lambda a, b: a.T.bootstrap_with(b)[0], x, y, wanted=x.T, recorded=False, bits=8)
    agrees(lambda a, b: a[:, 1] @ b[2], x, y, wanted=x[:, 1] @ y[2])


# ---- matrices ----


@pytest.mark.parametrize("a, b", [((10, 8), (8,)), ((9,), (9, 5)), ((3, 4, 6), (6,)), ((7,), (2, 7, 3)), ((700, 3), (3,)), ((1, 5), (5,)),
                                  ((5,), (5, 1))])
def test_encrypted_matrices_times_encrypted_vectors(agrees, rng, a, b):
    x, y = draw(rng, a) * 0.5, draw(rng, b) * 0.5
    agrees(lambda x, y: x @ y, x, y, wanted=x @ y)


def test_encrypted_products_in_a_row(agrees, rng):
    """A step of gradient descent: with a transposed matrix, and with one that is a product."""
    x, w = draw(rng, (12, 4)) * 0.4, draw(rng, (4,)) * 0.4
    agrees(lambda x, w: w - x.T @ (x @ w) * 0.25, x, w, wanted=w - x.T @ (x @ w) / 4, bits=10)
    agrees(lambda x, w: (x @ w) @ x, x, w, wanted=(x @ w) @ x, bits=10)
    agrees(lambda x, w: x[::2, 1:] @ w[1:], x, w, wanted=x[::2, 1:] @ w[1:])

PRODUCTS = [((40, 20), (20, 30)), ((40, 20), (20, 8)), ((100, 20), (20, 50)), ((128, 128), (128, 2)), ((7, 90, 10), (10, 3)),
            ((3, 200, 4), (3, 4, 9)), ((2000,), (2000, 3)), ((30, 40), (40,)), ((1, 600), (600, 2)), ((40, 100), (100, 7)), ((5, 100), (100, 3)), ((20, 250), (250, 10))]


@pytest.mark.slow
@pytest.mark.parametrize("a, b", PRODUCTS)
def test_products_of_any_size(agrees, rng, a, b):
    x, w = draw(rng, a), draw(rng, b) / b[-2 if len(b) > 1 else 0] ** 0.5
    agrees(lambda u: u @ w, x, levels=1, recorded=False, bits=10)


@pytest.mark.slow
@pytest.mark.parametrize("a, b", [((30, 40), (40, 20)), ((50, 100), (100, 20)), ((8,), (8, 5)), ((2, 5, 60), (60, 20)), ((6, 2000), (2000,))])
def test_products_from_the_left_of_any_size(agrees, rng, a, b):
    w, x = draw(rng, a, "complex") / a[-1] ** 0.5, draw(rng, b)
    agrees(lambda u: w @ u, x, levels=1, recorded=False, bits=10)


def test_products_of_every_layout(agrees, rng):
    x, w = draw(rng, (12, 9)), draw(rng, (12, 5)) / 4
    agrees(lambda a: a.T @ w, x, levels=1)
    agrees(lambda a: w.T @ a[:, ::2], x, levels=1)
    agrees(lambda a: a[:, 3] @ w, x, levels=1)
    agrees(lambda a: (a @ np.ones((9, 4))) @ np.ones((4, 2)), x, bits=8)
    agrees(lambda a: a.sum(axis=1) @ w, x, bits=8)


# ---- types of values ----

def test_real_values_stay_real_and_complex_ones_complex(client, ctx, rng):
    x, z = draw(rng, (4, 4)), draw(rng, (4, 4), "complex")

    def programs(a):
        return (a * a, a + 1, a.sum(axis=0), a @ np.ones((4, 2)), a.T, a.polyval([1, 2, 3]), a / 3, a.conj(), a.rotate(1),
                a.var(axis=1) if a.dtype.kind == "f" else a)

    def complex_programs(a):
        return a * 1j, a + 1j, a * np.full(4, 1j), a @ np.full((4, 4), 1j), a.polyval([1j, 1])

    ctx.use(client.server_keys(programs, x))
    assert all(y.dtype == client.decrypt(y).dtype == np.float64 for y in programs(client.encrypt(x)))
    assert all(y.dtype == client.decrypt(y).dtype == np.complex128 for y in programs(client.encrypt(z)))
    ctx.use(client.server_keys(complex_programs, x))
    assert all(client.decrypt(y).dtype == np.complex128 for y in complex_programs(client.encrypt(x)))
    with pytest.raises(lt.ValueError, match="like"):
        client.encrypt(z, like=x)


def test_complex_values_keep_their_imaginary_parts_beside_real_samples(ctx, client, clear, rng):
    z = draw(rng, (4, 4), "complex")
    ctx.use(client.server_keys(lambda a: ((a * 0.5 - a.T) * np.ones(4)).sum(axis=0), z))
    for owner in (client, clear[1]):
        for sample in (np.zeros((4, 4), complex), np.ones((4, 4), complex)):
            a = owner.encrypt(z, like=sample)
            for y, want in ((a, z), (((a * 0.5 - a.T) * np.ones(4)).sum(axis=0), (z * 0.5 - z.T).sum(axis=0)), (a - a * 1, z * 0)):
                assert y.dtype == owner.decrypt(y).dtype == np.complex128
                assert np.abs(owner.decrypt(y) - want).max() < 2**-12


# ---- files, other scales, other clients, threads ----

def test_layouts_travel_in_files(ctx, client, rng, tmp_path):
    x = draw(rng, (30, 25))

    def programs(a):
        return a.T, a[::2, 1], a.sum(axis=1), lt.stack([a[0], a[3]]), a[0].broadcast_to((4, 25)), a + 1, a[3, 4], a[:2].T + 1

    def after(*several):
        return [y * np.linspace(-1, 1, y.size).reshape(y.shape) for y in several]

    ctx.use(client.server_keys(lambda a: after(*programs(a)), x))
    for y in programs(client.encrypt(x, range=(-1, 1))):
        z = lt.from_bytes(lt.to_bytes(y), ctx)
        lt.save_ciphertext(tmp_path / "array", y)
        again = lt.load_ciphertext(tmp_path / "array", ctx)
        for w in (z, again):
            assert w.layout.same(y.layout) and (w.layout.rest, w.shape, w.dtype) == (y.layout.rest, y.shape, y.dtype)
            np.testing.assert_array_equal(client.decrypt(w).unmarked(), client.decrypt(y).unmarked())
            np.testing.assert_array_equal(client.decrypt(after(w)[0]).unmarked(), client.decrypt(after(y)[0]).unmarked())


def test_plain_layouts_are_written_as_before(client):
    note = json.loads(files.note_of(client.encrypt(np.ones((3, 4)))))
    assert set(note) == {"shape", "clean", "error", "range"} and note["clean"] is True


def test_layouts_too_scattered_for_a_file_say_so(client):
    x = client.encrypt(np.ones(20_000))[np.random.default_rng(1).permutation(20_000)]
    with pytest.raises(lt.UnsupportedError, match="contiguous"):
        lt.to_bytes(x)


@pytest.mark.parametrize("change", [
    {"version": 3}, {"version": None}, {"rest": "ones"}, {"rest": 3}, {"bound": -1}, {"bound": "x"}, {"runs": []}, {"runs": [[0, 1]]},
    {"runs": [[0, 1, 13]]}, {"runs": [[0, 1, 11]]}, {"runs": [[10, 1, 12]]}, {"runs": [[0, 1.0, 12]]}, {"runs": [[True, 1, 12]]},
    {"runs": [[0, 2**53, 12]]}, {"runs": "0:12"}, {"shape": [2**20, 2**20]}, {"shape": [3, 5]}, {"error": -1}, {"layout": None}], ids=str)
def test_damaged_layouts_are_refused(ctx, client, change):
    x = client.encrypt(np.ones((3, 4))).T
    note = json.loads(files.note_of(x))
    for name, value in change.items():
        inside = note["array"]["layout"] if name in ("rest", "bound", "runs") else note["array"] if name in note["array"] else note
        inside[name] = value
    from_bytes = lambda n: lt.from_bytes(_native.ciphertexts_to_bytes(x._parts, json.dumps(n), None), ctx)  # noqa: E731
    assert from_bytes(json.loads(files.note_of(x))).shape == (4, 3)
    with pytest.raises(lt.FileError):
        from_bytes(note)


@pytest.mark.parametrize("log_scale", [25, 30, 36, 45, 60])
def test_scales_of_ones_own_move_or_are_refused(ctx, client, rng, log_scale):
    x = draw(rng, (9, 7))
    for program in (lambda a: a.T.contiguous(), lambda a: a[1:] - a[:-1], lambda a: a.sum(axis=1), lambda a: a.T @ np.ones((9, 2)),
                    lambda a: a.mean(axis=0), lambda a: lt.concatenate([a, a]) * np.ones((18, 7))):
        try:
            ctx.use(client.server_keys(program, client.encrypt(x, scale=2.0**log_scale)))
            y = program(client.encrypt(x, scale=2.0**log_scale))
        except lt.ScaleError:
            continue
        wanted = np.concatenate([x, x]) if y.shape == (18, 7) else x.T if y.shape == (7, 9) else program(x)
        assert np.abs(client.decrypt(y) - wanted).max() < 2.0 ** -(y.expected_bits - 5), y


def test_arrays_of_two_clients_and_contexts_do_not_mix(ctx, client, rng):
    other = lt.keygen(ctx)
    x, y = client.encrypt(draw(rng, (3, 4))), other.encrypt(draw(rng, (3, 4)))
    with pytest.raises(lt.KeyError):
        lt.stack([x, y])
    with pytest.raises(lt.KeyError):
        x.T + y.T
    elsewhere = lt.Context(PRESET, "cpu", threads=1)
    with pytest.raises(lt.ContextError):
        lt.concatenate([x, lt.keygen(elsewhere).encrypt(np.ones((3, 4)))])
    for bad in ([x, np.ones((3, 4))], [x, 1], (x, "a")):
        with pytest.raises(lt.ShapeError, match="encrypt it, by the client or under a public key"):
            lt.concatenate(bad)
    for use in (lambda: lt.stack([x, x[0]]), lambda: lt.concatenate([x, x.T]), lambda: lt.stack([x], axis=5)):
        with pytest.raises(lt.ShapeError):
            use()
    with pytest.raises(lt.ValueError):
        lt.stack([x], axis=0.5)


def test_arrays_of_several_levels_are_joined_at_the_lowest(agrees, rng):
    x = draw(rng, (4, 5))
    agrees(lambda a: lt.concatenate([a, a * 0.3, a * a]), x, wanted=np.concatenate([x, x * 0.3, x * x]), levels=1)


def test_missing_keys_name_what_was_asked_for(ctx, client, rng):
    x = client.encrypt(draw(rng, (30, 40)))
    ctx.use(client.server_keys(lambda a: a * a, x))
    for name, use in (("contiguous", lambda: x.T.contiguous()), ("subtract", lambda: x[1:] - x[:-1]), ("sum", lambda: x.sum(axis=1)),
                      ("matmul", lambda: x.T @ np.ones((30, 2)))):
        with pytest.raises(lt.KeyError) as e:
            use()
        assert e.value.operation == name and str(e.value).startswith(e.value.operation + ": had ")
    low = client.encrypt(np.ones((3, 4)), level=0)
    for name, use in (("contiguous", lambda: low.T.contiguous()), ("add", lambda: low[1:] + low[:-1]), ("matmul", lambda: low.T @ np.ones(3)),
                      ("multiply", lambda: low[:, :1].broadcast_to((3, 4)) * np.arange(12.0).reshape(3, 4))):
        with pytest.raises(lt.LevelError) as e:
            use()
        assert e.value.operation == name


def test_several_threads_move_at_once(ctx, client, rng):
    x = draw(rng, (11, 13))

    def program(a):
        return a - a.mean(axis=1, keepdims=True)

    ctx.use(client.server_keys(program, x))
    a = client.encrypt(x)
    with ThreadPoolExecutor(4) as pool:
        for z in pool.map(lambda _: client.decrypt(program(a)), range(8)):
            assert lt.precision(z, program(x)).worst > 12


def test_other_values_in_slots_are_told_where_they_are_too_large(ctx, client):
    """Sums across two rows lie between those that were asked for, and may be larger."""
    x = np.ones((8, 8))
    sums_ = client.encrypt(x, range=(0, 1))
    ctx.use(client.server_keys(lambda a: a.sum(axis=1), x))
    total = sums_.sum(axis=1)
    assert total.layout.rest == "unknown" and total.layout.bound >= 8
    narrow = (total * 0.125).declare(0, 1)
    assert narrow.layout.bound >= 1
    with pytest.raises(lt.ScaleError, match="slots without values"):
        ctx.plan(lambda a: a.sum(axis=1).declare(0, 1).to_level(0) * 200, lt.Shape((8, 8), None, (0, 1)))
    ctx.plan(lambda a: a.sum(axis=1).contiguous().declare(0, 1).to_level(0) * 200, lt.Shape((8, 8), None, (0, 1)))


def test_a_recording_asks_for_the_layout_it_was_made_with(ctx, client, rng):
    x = draw(rng, (6, 6))
    ctx.use(client.server_keys(lambda a: a.T * a.T, x))
    program = lt.record(lambda a: a * a)
    a = client.encrypt(x)
    assert lt.precision(client.decrypt(program(a.T)), x.T**2).worst > 12
    assert lt.precision(client.decrypt(program(a.T)), x.T**2).worst > 12
    with pytest.raises(lt.ShapeError, match="layout"):
        program(a)


def test_debugging_follows_layouts(client, rng):
    own = lt.Context(PRESET, "cpu", threads=1)
    owner = lt.keygen(own)
    x = draw(rng, (5, 6))

    def program(a):
        return (a.T - a.mean(axis=1)).sum(axis=0) * a[:, 2]

    own.use(owner.server_keys(program, x))
    with pytest.warns(lt.SecretWarning), lt.debug(own, owner):
        y = program(owner.encrypt(x))
        assert own._debugger.checked > 5
    assert lt.precision(owner.decrypt(y), program(x)).worst > 10


def test_switching_takes_every_layout(device, rng):
    own = lt.Context("test-n12-switch-insecure" if "test-n12-switch-insecure" in lt.presets() else PRESET, device)
    owner = lt.keygen(own)
    x = np.array([[0.4, -0.7, 0.2], [-0.3, 0.8, -0.5]])

    def program(a):
        return a.T.apply_lut(abs), a[:, 1].compare(0.0), a[0].max(), a.T[:2].argmax()

    own.use(owner.server_keys(program, x))
    found = [owner.decrypt(y) for y in program(owner.encrypt(x))]
    for have, want in zip(found, (abs(x.T), [0, 1], 0.4, 3)):
        assert np.abs(have - want).max() < 0.05


def test_narrow_products_take_few_diagonals(ctx, rng):
    """About three diagonals for each column, and not one for each value of a row."""
    x, w = rng.uniform(-1, 1, (40, 250)), rng.uniform(-1, 1, (250, 4))
    few = ctx.plan(lambda a: a @ w, x)
    assert len(few.keys) < 30 and few.levels == (ctx.level - 1,)


@pytest.mark.slow
@pytest.mark.parametrize("zero", [slice(0, 20), slice(20, 40), slice(None), slice(10, 50)])
def test_columns_of_zeros_are_zeros(agrees, rng, zero):
    x, w = draw(rng, (40, 20)), draw(rng, (20, 50)) / 4
    w[:, zero] = 0
    agrees(lambda a: a @ w, x, levels=1, recorded=False)


# ---- random programs ----

STEPS = {
    "transpose": lambda a, r: a.T, "reverse": lambda a, r: a[::-1] if a.ndim else a, "cut": lambda a, r: a[..., : max(1, a.shape[-1] // 2)] if a.ndim else a,
    "every second": lambda a, r: a[::2] if a.ndim else a, "flat": lambda a, r: a.reshape(-1), "column": lambda a, r: a.reshape(-1, 1),
    "number": lambda a, r: a * 0.5 + 0.25, "array": lambda a, r: a * r.uniform(-1, 1, a.shape), "row": lambda a, r: a - r.uniform(-1, 1, a.shape[-1:]),
    "squared": lambda a, r: a * a, "reversed product": lambda a, r: a * (a[::-1] if a.ndim else a), "sum": lambda a, r: a.sum(axis=int(r.integers(a.ndim))) * 0.25 if a.ndim else a,
    "mean": lambda a, r: a - a.mean(axis=int(r.integers(a.ndim)), keepdims=True) if a.ndim else a,
    "neighbours": lambda a, r: a[1:] - a[:-1] if a.ndim and len(a) > 1 else a,
    "matrix": lambda a, r: a @ (r.uniform(-1, 1, (a.shape[-1], 3)) / a.shape[-1]) if a.ndim else a,
    "index": lambda a, r: a[r.integers(0, len(a), 3)] if a.ndim else a,
    "doubled": lambda a, r: (lt.concatenate if isinstance(a, lt.Ciphertext) else np.concatenate)([a, a * 0.5]) if a.ndim else a,
    "outer sum": lambda a, r: a.reshape(-1)[:20, None] + a.reshape(-1)[None, :7], "function": lambda a, r: powers(a),
}


def powers(a):
    return a.polyval([0.1, 0.5, 0.25]) if isinstance(a, lt.Ciphertext) else 0.1 + 0.5 * a + 0.25 * a * a


@given(shapes(700, 3), st.lists(st.sampled_from(sorted(STEPS)), min_size=2, max_size=6), st.integers(0, 2**32), st.sampled_from(["real", "complex"]))
@settings(some, max_examples=25)
def test_random_programs_give_what_numpy_gives(ctx, client, clear, shape, steps, seed, kind):
    x = draw(np.random.default_rng(seed), shape, kind)

    def program(a):
        r = np.random.default_rng(seed)
        for step in steps:
            a = STEPS[step](a, r)
            if a.size > 3000:
                break
        return a

    wanted = program(x)
    try:
        plan = ctx.plan(program, x)
    except lt.LevelError:
        return
    ctx.use(client.server_keys(plan))
    a, own = client.encrypt(x, like=x), clear[1].encrypt(x)
    for owner, y in ((client, program(a)), (clear[1], program(own))):
        have = owner.decrypt(y).unmarked()
        assert plan.levels == (y.level,) and have.shape == np.shape(wanted) and (have.dtype == np.result_type(wanted, float))
        error = np.abs(have - wanted)
        assert error.max() < 2.0**-8 * max(1, np.abs(wanted).max())
        assert error.mean() <= 2 ** (3 if y.size >= 32 else 5) * y._known.errors(y.size)[0], (y, -np.log2(error.mean()))
