"""Attributes of numpy's arrays: encrypted arrays have them with numpy's meaning, or say what to call instead."""

import math

import numpy as np
import pytest

import latticino as lt

VALUES = np.array([[0.5, -0.25, 0.125, -0.5], [0.375, 0.25, -0.125, 0.0625]])
COMPLEX = VALUES + 1j * VALUES[::-1]
SAME = {
    "real": lambda x: x.real, "imag": lambda x: x.imag, "numpy's real": np.real, "numpy's imag": np.imag,
    "conjugate": lambda x: x.conjugate(), "copy": lambda x: x.copy(), "numpy's copy": np.copy,
    "cumsum": lambda x: x.cumsum(1), "cumsum of rows": lambda x: x.cumsum(axis=0), "numpy's cumsum": lambda x: np.cumsum(x),
    "prod": lambda x: x.prod(0), "prod of an odd number": lambda x: x[:, :3].prod(axis=1, keepdims=True),
    "numpy's prod": lambda x: np.prod(x[:, :2]), "diagonal": lambda x: np.diagonal(x, 1), "trace": lambda x: x.trace(),
    "numpy's trace": np.trace, "repeat": lambda x: np.repeat(x, [1, 2], axis=0), "repeat all": lambda x: x.repeat(2),
    "take": lambda x: np.take(x, [3, 0], axis=1), "flatten": lambda x: x.flatten(), "dot": lambda x: x.dot(np.arange(4) / 4)}


@pytest.mark.parametrize("f", SAME.values(), ids=SAME)
@pytest.mark.parametrize("values", [VALUES, COMPLEX], ids=["real", "complex"])
def test_arrays_of_ckks_have_them(ctx, client, values, f):
    ctx.use(client.server_keys(f, lt.Shape(values.shape, None, lt.Range(-1, 1, (-1, 1)) if values.dtype == complex else (-1, 1))))
    y, want = f(client.encrypt(values)), f(values)
    assert y.shape == want.shape and y.dtype == want.dtype
    # As precise as claimed: errors of single values are seldom more than 4 times the expected worst one.
    assert abs(client.decrypt(y).unmarked() - want).max() <= 4 * 2.0**-min(y.expected_worst_bits, 60)


def test_a_standard_deviation_and_ends():
    ctx = lt.Context("n16-d40-boot-v1", "not-encrypted")
    client = lt.keygen(ctx)
    x = client.encrypt(VALUES)
    y = x.std(1, ddof=1, domain=(0.02, 0.4), bits=6)
    np.testing.assert_allclose(client.decrypt(y).unmarked(), VALUES.std(1, ddof=1), atol=2.0**-6)
    for low, high in ((-0.2, 0.25), (None, 0.25), (-0.2, None), (-0.2, np.array([0.1, 0.2, 0.3, 0.4]))):
        y = x.clip(low, high, bits=5)
        np.testing.assert_allclose(client.decrypt(y).unmarked(), VALUES.clip(low, high), atol=2.0**-5)
        assert y.range.low >= (-1 if low is None else -0.2) - 2.0**-4 and y.range.high <= (1 if high is None else 0.4) + 2.0**-4
    for y in (np.clip(x, -0.2, 0.25), np.clip(x, a_min=-0.2, a_max=0.25)):  # with the bound and the bits that x.clip takes
        np.testing.assert_allclose(client.decrypt(y).unmarked(), VALUES.clip(-0.2, 0.25), atol=2.0**-12)
        assert y.level == x.clip(-0.2, 0.25).level
    for ends, message in (((None, None), "neither min nor max"), ((0.5, -0.5), "a min above the max"), ((0, 2), "larger than the bound")):
        with pytest.raises(lt.ValueError, match=f"clip: had .*{message}"):
            x.clip(*ends)


def test_variances_and_roots_of_declared_values():
    """The range of a variance began below 0, so no domain was right for the root of it."""
    ctx = lt.Context("test-n12-boot-insecure", "not-encrypted", auto_bootstrap=True)
    client = lt.keygen(ctx)
    values = np.random.default_rng(4).uniform(-1, 1, 512)
    x = client.encrypt(values, range=(-1, 1))
    assert (x.var().range.low, x.var().range.high) == (0, 1)
    r = client.encrypt(values * 36 + 54, range=(18, 90)).var(ddof=1).range
    assert r.low == 0 and np.isclose(r.high, 36**2 * 512 / 511)
    r = client.encrypt(values * (1 + 2j), range=lt.Range(-1, 1, (-2, 2))).var().range
    assert r.is_real and (r.low, r.high) == (0, 5)
    with pytest.raises(lt.PrecisionError, match=r"^std: .*domain"):
        ctx.plan(lambda a: a.std(), x)
    plan = ctx.plan(lambda a: a.std(domain=(0.2, 1)), x)
    assert plan.bits[0][0] > 10
    assert abs(client.decrypt(x.std(domain=(0.2, 1))).unmarked() - values.std()) < 2.0**-10
    for wrong, message in (((-1, 1), "std: had a domain from -1 to 1"), ((1, 0), "std: had domain")):
        with pytest.raises(lt.ValueError, match=message):
            x.std(domain=wrong)


def test_no_level_for_parts_of_real_values(ctx, client):
    x = client.encrypt(VALUES)
    assert x.real is x and x.copy() is x and x.imag.level == x.level


def test_programs_with_them_are_saved(ctx, client, tmp_path):
    def program(x):
        return x.real.cumsum(1) + x.imag.prod(0)

    lt.save_program(tmp_path / "program", program, ctx, lt.Shape((2, 4), None, lt.Range(-1, 1, (-1, 1))))
    saved = lt.load_program(tmp_path / "program")
    ctx.use(client.server_keys(saved.plan))
    result = client.decrypt(saved.run(ctx, *saved.encrypt(client, COMPLEX)))
    np.testing.assert_allclose(result.unmarked(), COMPLEX.real.cumsum(1) + COMPLEX.imag.prod(0), atol=2.0**-18)


def test_programs_with_standard_deviations_are_saved(tmp_path):
    """The domain was stated by what no saved program may do."""
    ctx = lt.Context("test-n12-boot-insecure", "not-encrypted", auto_bootstrap=True)
    client = lt.keygen(ctx)
    values = np.random.default_rng(4).uniform(-1, 1, (4, 50))
    lt.save_program(tmp_path / "program", lambda x: x.std(1, domain=(0.2, 0.6), bits=8), ctx, lt.Shape((4, 50), None, (-1, 1)))
    saved = lt.load_program(tmp_path / "program")
    assert [note for note in saved.plan.notes if note.startswith("std: values outside of the domain 0.2 to 0.6 ")]
    result = saved.run(ctx, *saved.encrypt(client, values))
    np.testing.assert_allclose(client.decrypt(result).unmarked(), values.std(1), atol=2.0**-8)


OF_CKKS = {
    "argsort": "lt.top_k", "any": r"x.compare\(y, bound\)", "nonzero": "decrypt first", "round": r"x.apply_lut\(round, bound\)",
    "item": "decrypt first", "tolist": "decrypt first", "astype": "x.real", "cumprod": "lt.stack", "ptp": r"x.max\(bound=bound\)",
    "tobytes": r"lt.to_bytes\(x\)", "fill": "lt.concatenate", "sort": r"lt.sort\(x, domain, bits\)", "strides": "x.layout",
    "searchsorted": "compare", "exp": r"lt.exp\(x, domain, bits\)"}
OF_TFHE = {
    "std": r"x \* x", "mean": r"x.sum\(axis\)", "argmax": r"x == x.max\(axis\)", "sort": "lt.minimum", "nonzero": "x != 0",
    "round": "use x itself", "real": "use x itself", "item": "decrypt first", "tolist": "decrypt first", "dot": r"\(x \* w\).sum",
    "view": "x.astype", "ptp": r"x.max\(axis\) - x.min\(axis\)", "tofile": "lt.save_ciphertext"}


@pytest.fixture(scope="module")
def integers():
    ctx = lt.tfhe.Context("test-tfhe-2-2-tiny-insecure", "not-encrypted")
    client = lt.keygen(ctx)
    ctx.use(client.server_keys())
    return client


@pytest.mark.parametrize("scheme", ["ckks", "tfhe"])
def test_the_others_say_what_to_call(client, integers, scheme):
    x = client.encrypt(VALUES) if scheme == "ckks" else integers.encrypt([1, 2], "u8")
    for name, remedy in (OF_CKKS if scheme == "ckks" else OF_TFHE).items():
        assert not hasattr(x, name)
        with pytest.raises(lt.AttributeError, match=f"^{name}: had latticino.*no such attribute.*{remedy}") as why:
            getattr(x, name)
        assert isinstance(why.value, AttributeError) and isinstance(why.value, lt.UnsupportedError)
    missing = [name for name in dir(np.ndarray) if not name.startswith("_") and not hasattr(type(x), name)]
    for name in missing:
        with pytest.raises(lt.AttributeError, match=name):
            getattr(x, name)
    with pytest.raises(AttributeError, match="object has no attribute 'summ'") as why:
        print(x.summ)
    assert not isinstance(why.value, lt.Error)


def test_functions_of_numpy_name_a_remedy_of_their_own(client, integers):
    x, n = client.encrypt(VALUES[0]), integers.encrypt([1, 2], "u8")
    for use, remedy in (
            (lambda: np.std(x), "numpy.std: .*x.std"),
            (lambda: np.argsort(x), "lt.top_k"), (lambda: np.round(x), "apply_lut"), (lambda: np.floor(x), "math.floor"),
            (lambda: np.diff(x), r"x\[\.\.\., 1:\] - x"), (lambda: np.median(x), "lt.sort"), (lambda: np.tile(x, 2), "lt.concatenate"),
            (lambda: np.average(x), "x.mean"), (lambda: np.linalg.norm(x), "sqrt"), (lambda: np.fft.fft(x), r"np.fft.fft\(np.eye"),
            (lambda: np.einsum("i,i->", x, x), "sum"), (lambda: np.split(x, 2), r"x\[:n\]"), (lambda: np.zeros_like(x), "np.zeros"),
            (lambda: np.multiply.reduce(x), r"x.prod\(axis\)"), (lambda: np.sort(n), "lt.minimum"), (lambda: np.std(n), r"x \* x"),
            (lambda: np.argmax(n), r"x == x.max"), (lambda: np.real(n), "use x itself"), (lambda: np.array_equal(n, n), r"\(x == y\).all")):
        with pytest.raises(lt.UnsupportedError, match=remedy):
            use()


# Each remedy is a term that computes what numpy's function computes.
EXACT_REMEDIES = {
    "vdot": lambda x, y: np.vdot(x, y), "vecdot": lambda x, y: np.vecdot(x, y), "inner": lambda x, y: np.inner(x, y),
    "outer": lambda x, y: np.outer(x[0], y[0]), "ediff1d": lambda x, y: np.ediff1d(x), "diff": lambda x, y: np.diff(x),
    "rot90": lambda x, y: np.rot90(x), "fliplr": lambda x, y: np.fliplr(x), "flipud": lambda x, y: np.flipud(x),
    "dstack": lambda x, y: np.dstack([x, y]), "triu": lambda x, y: np.triu(x), "tril": lambda x, y: np.tril(x),
    "matrix_transpose": lambda x, y: np.linalg.matrix_transpose(x), "matmul": lambda x, y: np.linalg.matmul(x, y.T),
    "trace": lambda x, y: np.linalg.trace(x), "diagonal": lambda x, y: np.linalg.diagonal(x), "cumprod": lambda x, y: np.cumprod(x[0])}


@pytest.fixture(scope="module")
def clear():
    return lt.keygen(lt.Context("test-n10-boot-insecure", "not-encrypted"))


@pytest.mark.parametrize("name", EXACT_REMEDIES)
def test_remedies_compute_what_numpys_function_does(clear, name):
    f = EXACT_REMEDIES[name]
    if name == "vecdot" and not hasattr(np, name):
        pytest.skip("numpy 2.1 and later has it")
    v, w = COMPLEX[:2, :4], np.flip(COMPLEX[:2, :4]) * 1j
    x, y = clear.encrypt(v), clear.encrypt(w)
    with pytest.raises(lt.UnsupportedError, match=rf"^numpy\.{name}: ") as why:
        f(x, y)
    remedy = str(why.value).rpartition("; ")[2]
    if name in ("outer", "cumprod"):
        x, y = x[0], y[0]
    other = y.T if name == "matmul" else y
    result = clear.decrypt(eval(remedy, {"x": x, "y": other, "np": np, "lt": lt}))
    np.testing.assert_allclose(result.unmarked(), f(v, w), atol=2.0**-10)


def test_polynomials_keep_the_order_of_numpys_coefficients(clear):
    """The remedy named x.polyval(coefficients), which takes the lowest coefficient first; numpy takes the highest first."""
    x, coefficients = clear.encrypt(VALUES), np.array([3, -2, 1, 0.5])
    for f in (lambda: np.polyval(coefficients, x), lambda: np.poly1d(coefficients)(x)):
        with pytest.raises(lt.UnsupportedError, match="^numpy.polyval: ") as why:
            f()
        remedy = str(why.value).rpartition("; ")[2].partition(", ")[0]
        result = clear.decrypt(eval(remedy, {"x": x, "coefficients": coefficients}))
        np.testing.assert_allclose(result.unmarked(), np.polyval(coefficients, VALUES), atol=2.0**-10)


def test_functions_that_numpy_does_not_have_are_not_named_as_its_own(client):
    special = pytest.importorskip("scipy.special")
    with pytest.raises(lt.UnsupportedError, match=r"x\.approximate\(expit, domain, bits\)$"):
        special.expit(client.encrypt(VALUES))


def test_sparse_matrices_name_a_map(clear):
    sparse = pytest.importorskip("scipy.sparse")
    m = sparse.csr_array(np.array([[0, 2, 0, 0], [1, 0, 0, -1], [0, 0, 3, 0]]))
    x = clear.encrypt(VALUES[0])
    for f in (lambda: x @ m.T, lambda: x + m, lambda: clear.encrypt(m)):
        with pytest.raises(lt.ShapeError, match="had a sparse matrix of SciPy; .*lt.linear_map"):
            f()
    m = m.tocoo()
    result = clear.decrypt(lt.linear_map(m.row, m.col, m.data, m.shape[1], m.shape[0])(x))
    np.testing.assert_allclose(result.unmarked(), m @ VALUES[0], atol=2.0**-10)


OPTIONS = {
    "sum of some": (lambda x: np.sum(x, where=[[True], [False]]), r"x\[mask\], or x \* mask"),
    "initial": (lambda x: np.sum(x, initial=3), r"x\.sum\(axis\) \+ initial"),
    "correction": (lambda x: np.var(x, correction=1), "pass ddof in its place"),
    "order": (lambda x: np.ravel(x, order="F"), r"x\.ravel\(\) is x\.T\.ravel\(\)"),
    "mode": (lambda x: np.take(x, [9], mode="wrap"), "indices % n"),
    "where of a ufunc": (lambda x: np.add(x, 1, where=False), r"x \* mask"),
    "type": (lambda x: np.sum(x, dtype=np.float32), "leave it out")}


@pytest.mark.parametrize("name", OPTIONS)
def test_options_without_which_the_result_differs_have_a_remedy(client, name):
    f, remedy = OPTIONS[name]
    if name == "correction" and np.lib.NumpyVersion(np.__version__) < "2.0.0":
        pytest.skip("numpy 2 and later has it")
    with pytest.raises(lt.UnsupportedError, match=remedy):
        f(client.encrypt(VALUES))


def test_values_equal_to_an_edge_are_counted_as_numpy_does(integers):
    edges, v = np.array([1, 3, 6]), np.array([0, 1, 3, 7])
    n = integers.encrypt(v, "u8")
    for f in (np.digitize, lambda a, e: np.searchsorted(e, a)):
        with pytest.raises(lt.UnsupportedError) as why:
            f(n, edges)
        result = eval(str(why.value).rpartition("; ")[2], {"x": n, "edges": edges})
        assert np.array_equal(integers.decrypt(result), f(v, edges))


INTEGERS = {
    "swapaxes": lambda y: np.swapaxes(y, 0, 1), "moveaxis": lambda y: np.moveaxis(y, 0, 1),
    "axes of length 1": lambda y: np.squeeze(np.expand_dims(y, 0)), "broadcast": lambda y: np.broadcast_to(y, (2, 2, 3)),
    "roll": lambda y: np.roll(y, 1, 1), "flip": lambda y: np.flip(y, 0), "flatten": lambda y: y.flatten(), "copy": lambda y: y.copy(),
    "cumsum": lambda y: np.cumsum(y, 1, dtype=np.uint8), "diagonal": lambda y: np.diagonal(y, 1), "trace": lambda y: y.trace(),
    "repeat": lambda y: np.repeat(y, 2, 1), "take": lambda y: np.take(y, [2, 0], 1), "clip": lambda y: np.clip(y, 2, 5),
    "clip above": lambda y: y.clip(max=3), "prod": lambda y: np.prod(y, 1), "cumsum of all": lambda y: y.cumsum()}


@pytest.mark.parametrize("f", INTEGERS.values(), ids=INTEGERS)
def test_arrays_of_integers_have_them(integers, f):
    values = np.array([[1, 5, 20], [3, 200, 6]], np.uint8)
    x = integers.encrypt(values, "u8")
    assert np.array_equal(integers.decrypt(f(x)), f(values).astype(np.uint8))
    assert f(x).dtype == "u8"


def test_cumulative_sums_of_booleans_and_of_integers_that_wrap(integers):
    flags = np.array([True, False, True, True, True])
    assert np.array_equal(integers.decrypt(integers.encrypt(flags).cumsum()), np.cumsum(flags))
    assert np.array_equal(integers.decrypt(integers.encrypt([9, 9, 9], "m4").cumsum()), [9, 2, 11])
    with pytest.raises(lt.ValueError, match="clip: had neither"):
        integers.encrypt([1], "u8").clip()


def test_wrong_axes_are_errors_of_shapes(client, integers):
    for x in (client.encrypt(VALUES), integers.encrypt([[1, 2], [3, 4]], "u8")):
        for use in (lambda x=x: x.prod(5), lambda x=x: x.cumsum(3), lambda x=x: x.take([9]), lambda x=x: x.diagonal(5), lambda x=x: x.trace(0, 0, 4)):
            with pytest.raises(lt.ShapeError):
                use()


def test_values_of_shape_1(client):
    assert client.encrypt(0.5).prod().shape == () and math.isinf(client.encrypt(0.5).imag.expected_bits)


def test_errors_of_powers_name_them(ctx, client):
    with pytest.raises(lt.UnsupportedError, match=r"^power: had exponent 2.0; .* use x \*\* 2$"):
        client.encrypt(VALUES) ** 2.0
    with pytest.raises(lt.LevelError, match="^power: "):
        client.encrypt(VALUES, 0) ** 2
