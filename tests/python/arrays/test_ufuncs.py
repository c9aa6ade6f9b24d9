"""numpy's ufuncs and functions of encrypted arrays: those that the arrays have are computed, the others name an
alternative."""

import numpy as np
import pytest

import latticino as lt

SAME = {
    "add": lambda x, v: np.add(x, v), "array first": lambda x, v: v + x, "array of floats first": lambda x, v: v.astype("f4") + x,
    "subtract": lambda x, v: np.subtract(v, x), "multiply": lambda x, v: np.multiply(v, x), "divide": lambda x, v: np.divide(x, v),
    "numpy's number first": lambda x, v: np.float64(2) * x, "an integer first": lambda x, v: np.int8(2) - x,
    "square": lambda x, v: np.square(x), "conjugate": lambda x, v: np.conj(x), "negative": lambda x, v: np.negative(x),
    "positive": lambda x, v: np.positive(x), "power": lambda x, v: np.power(x, 2),
    "matmul": lambda x, v: np.matmul(np.outer(v, v), x), "matmul, array second": lambda x, v: np.matmul(x, np.outer(v, v)),
    "broadcast": lambda x, v: v[:, None] + x,
    "sum": lambda x, v: np.sum(np.add.outer(v, v) + x, axis=0, keepdims=True), "mean": lambda x, v: np.mean(x),
    "var": lambda x, v: np.var(np.reshape(x, (2, 4)), 1, ddof=1), "reshape": lambda x, v: np.reshape(x, (4, -1)),
    "transpose": lambda x, v: np.transpose(np.reshape(x, (2, 2, 2)), (2, 0, 1)), "ravel": lambda x, v: np.ravel(v[:, None] + x),
    "moved axes": lambda x, v: np.moveaxis(np.swapaxes(np.reshape(x, (2, 1, 4)), 0, 2), -1, 0),
    "axes of length 1": lambda x, v: np.squeeze(np.expand_dims(np.expand_dims(x, 0), -1), axis=0),
    "broadcast_to": lambda x, v: np.broadcast_to(x, (2, 8)), "roll and flip": lambda x, v: np.flip(np.roll(x, 3, axis=0)),
    "concatenate, flat": lambda x, v: np.concatenate([np.reshape(x, (2, 4))] * 2, axis=None),
    "concatenate": lambda x, v: np.concatenate([np.reshape(x, (2, 4))] * 2, axis=1), "stack": lambda x, v: np.stack((x, -x), -1),
    "vstack": lambda x, v: np.vstack([x, np.reshape(x, (1, 8))]), "hstack": lambda x, v: np.hstack([x[0], x]),
    "hstack of rows": lambda x, v: np.hstack([np.reshape(x, (2, 4))] * 2), "dot": lambda x, v: np.dot(np.outer(v, v), x),
    "dot, encrypted first": lambda x, v: np.dot(x, v), "dot with a number": lambda x, v: np.dot(0.5, x),
    "convolve": lambda x, v: np.convolve(x, v[:3], "same"), "correlate": lambda x, v: np.correlate(x, v[:3])}


@pytest.mark.parametrize("f", SAME.values(), ids=SAME)
def test_what_the_array_has_computes(ctx, client, rng, f):
    values, other = rng.uniform(-0.5, 0.5, 8), rng.uniform(0.25, 0.5, 8)
    x = client.encrypt(values)
    ctx.use(client.server_keys(lambda a: f(a, other), lt.Shape((8,))))
    y = f(x, other)
    assert isinstance(y, lt.Ciphertext) and y.shape == np.shape(f(values, other))
    np.testing.assert_allclose(client.decrypt(y).unmarked(), f(values, other), atol=2.0**-20, rtol=0)


REFUSED = {
    "tanh": (lambda x, v: np.tanh(x), r"numpy.tanh: .*lt.tanh\(x, domain, bits\)"),
    "arctan": (lambda x, v: np.arctan(x), r"numpy.arctan.*x.approximate\(np.arctan, domain, bits\)"),
    "sqrt": (lambda x, v: np.sqrt(x), r"x.sqrt\(domain, bits\)"), "abs": (lambda x, v: np.abs(x), r"x.abs\(bound, bits\)"),
    "maximum": (lambda x, v: np.maximum(v, x), r"x.maximum\(y, bound, bits\)"),
    "isnan": (lambda x, v: np.isnan(x), "numpy.isnan.*decrypt first"), "hypot": (lambda x, v: np.hypot(x, v), "numpy.hypot.*decrypt"),
    "less": (lambda x, v: v < x, "compare.*method"), "equal": (lambda x, v: np.equal(v, x), "compare.*method"),
    "exponent": (lambda x, v: np.power(v, x), "numpy.power"), "and": (lambda x, v: np.bitwise_and(x, 1), "numpy.bitwise_and"),
    "modf": (lambda x, v: np.modf(x), "numpy.modf"), "reduce": (lambda x, v: np.add.reduce(x), r"numpy.add.reduce.*x.sum\(axis\)"),
    "at": (lambda x, v: np.add.at(v, [0], x), "numpy.add.at"), "outer": (lambda x, v: np.multiply.outer(v, x), "numpy.multiply.outer"),
    "out": (lambda x, v: np.add(v, x, out=v), r"numpy.add.*out=.*a = a \+ x"), "in place": (lambda x, v: v.__iadd__(x), r"a = a \+ x"),
    "where": (lambda x, v: np.add(v, x, where=v > 0), "option where"), "dtype": (lambda x, v: np.add(x, 1, dtype=float), "option dtype"),
    "a function": (lambda x, v: np.unwrap(x), "numpy.unwrap.*decrypt first"),
    "a function with a bound": (lambda x, v: np.max(x), r"numpy.a?max: .*x.a?max\(bound=bound\)"),
    "a function on a domain": (lambda x, v: np.sort(x), r"numpy.sort: .*lt.sort\(x, domain, bits\)"),
    "std": (lambda x, v: np.std(x), r"x.std\(axis, domain=\(low, high\), bits=bits\)"),
    "another order": (lambda x, v: np.reshape(x, (2, 4), order="F"), "numpy.reshape: had the option order; needs shape only"),
    "a type of sums": (lambda x, v: np.sum(x, 0, float), "numpy.sum: had the option dtype; needs axis, keepdims only"),
    "a result elsewhere": (lambda x, v: np.concatenate([x, x], out=v), "numpy.concatenate: .*'out'.*; needs arrays, axis only"),
    "a choice": (lambda x, v: np.where(v > 0, x, v), r"numpy.where: .*x \* mask"),
    "dot of three axes": (lambda x, v: np.dot(np.reshape(x, (2, 2, 2)), np.eye(2)), "numpy.dot: had arrays of 3 and 2 axes"),
    "an argument that is not first": (lambda x, v: np.sum(v, where=x), "numpy.add.reduce")}


@pytest.mark.parametrize("f, message", REFUSED.values(), ids=REFUSED)
def test_the_others_name_what_to_call(client, f, message):
    v = np.linspace(0.1, 0.5, 8)
    before = v.copy()
    with pytest.raises(lt.UnsupportedError, match=message):
        f(client.encrypt(v), v)
    assert (v == before).all()


@pytest.mark.parametrize("f", [lambda x: np.vstack([x, [0.5] * 8]), lambda x: np.hstack([x, 1.0])], ids=["row", "number"])
def test_numbers_in_the_clear_are_not_joined(client, f):
    with pytest.raises(lt.ShapeError, match="concatenate: had a ndarray among ciphertexts"):
        f(client.encrypt(np.zeros(8)))


def test_no_axis_is_not_the_first_one(client):
    x = client.encrypt(np.zeros((2, 4)))
    with pytest.raises(lt.ValueError, match="stack: had axis=None"):
        np.stack([x, x], axis=None)


def test_reshape_as_numpy_before_2_1_has_it(client, monkeypatch):
    def reshape(a, newshape, order="C"):
        raise AssertionError("arrays compute it")

    x = client.encrypt(np.zeros(8))
    monkeypatch.setattr(np, "reshape", reshape)
    assert x.__array_function__(reshape, (lt.Ciphertext,), (x, (2, 4)), {}).shape == (2, 4)
    assert x.__array_function__(reshape, (lt.Ciphertext,), (x,), {"newshape": (2, 4)}).shape == (2, 4)


def test_saved_programs_may_use_functions_of_numpy(ctx, client, tmp_path):
    def program(x):
        return np.sum(np.reshape(np.concatenate([x, 2 * x]), (2, 4)), axis=0)

    lt.save_program(tmp_path / "program", program, ctx, lt.Shape((4,), None, (-1, 1)))
    saved, v = lt.load_program(tmp_path / "program"), np.linspace(-0.3, 0.3, 4)
    ctx.use(client.server_keys(saved.plan))
    result = client.decrypt(saved.run(ctx, *saved.encrypt(client, v)))
    np.testing.assert_allclose(result.unmarked(), 3 * v, atol=2.0**-20)


def test_decrypted_values_meet_encrypted_ones(client):
    v = np.linspace(-0.5, 0.5, 8)
    x = client.encrypt(v)
    own = client.decrypt(x)
    for y, want in ((own + x, 2 * v), (x - own, 0 * v), (np.multiply(own, x), v * v)):
        assert isinstance(y, lt.Ciphertext)
        np.testing.assert_allclose(client.decrypt(y).unmarked(), want, atol=2.0**-20)
    with pytest.raises(lt.UnsupportedError, match=r"a = a \+ x"):
        own += x


def test_ufuncs_of_integers():
    ctx = lt.tfhe.Context("test-tfhe-2-2-tiny-insecure", "not-encrypted")
    client = lt.keygen(ctx)
    ctx.use(client.server_keys())
    v, w = np.array([1, 5, 2], np.uint8), np.array([3, 1, 2], np.uint8)
    x = client.encrypt(v, "u8")
    for f in (np.add, np.subtract, np.multiply, np.bitwise_and, np.bitwise_or, np.bitwise_xor, np.less, np.equal, np.greater_equal):
        assert np.array_equal(client.decrypt(f(x, w)), f(v, w)), f
        assert np.array_equal(client.decrypt(f(w, x)), f(w, v)), f
    assert np.array_equal(client.decrypt(np.square(x)), v * v)
    assert np.array_equal(client.decrypt(np.left_shift(x, 1)), v << 1)
    assert np.array_equal(client.decrypt(+x), v)
    for g in (np.sum, np.min, np.max, np.any, np.all, np.ravel, lambda y: np.reshape(y, (3, 1)), lambda y: np.concatenate([y, y]),
              lambda y: np.vstack([y, y]), lambda y: np.transpose(np.stack([y, y])), lambda y: np.where(y > 1, y, 7),
              lambda y: np.where(w > 1, y, 7), lambda y: np.sum(y, dtype=np.uint16)):
        assert np.array_equal(client.decrypt(g(x)), g(v)), g
    for use, message in ((lambda: np.maximum(x, w), r"lt.maximum\(x, y\)"), (lambda: np.add.reduce(x), r"x.sum\(axis\)"),
                         (lambda: np.sqrt(x), r"x.apply\(f\)"), (lambda: np.mean(x), r"numpy.mean: .*x.sum\(axis\).*decrypt first"),
                         (lambda: np.dot(x, w), r"numpy.dot: .*\(x \* w\).sum"), (lambda: np.logical_and(x, x), "x & y")):
        with pytest.raises(lt.UnsupportedError, match=message):
            use()
