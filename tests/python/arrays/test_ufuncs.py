"""numpy's ufuncs of encrypted arrays: the operators among them compute, the others say what to call."""

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
    "broadcast": lambda x, v: v[:, None] + x}


@pytest.mark.parametrize("f", SAME.values(), ids=SAME)
def test_ufuncs_that_are_operators_compute(ctx, client, rng, f):
    values, other = rng.uniform(-0.5, 0.5, 8), rng.uniform(0.25, 0.5, 8)
    x = client.encrypt(values)
    ctx.use(client.server_keys(lambda a: f(a, other), lt.Shape((8,))))
    y = f(x, other)
    assert isinstance(y, lt.Ciphertext)
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
    "a function": (lambda x, v: np.sum(x), "numpy.sum")}


@pytest.mark.parametrize("f, message", REFUSED.values(), ids=REFUSED)
def test_other_ufuncs_name_what_to_call(client, f, message):
    v = np.linspace(0.1, 0.5, 8)
    before = v.copy()
    with pytest.raises(lt.UnsupportedError, match=message):
        f(client.encrypt(v), v)
    assert (v == before).all()


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
    for use, message in ((lambda: np.maximum(x, w), r"lt.maximum\(x, y\)"), (lambda: np.add.reduce(x), r"x.sum\(axis\)"),
                         (lambda: np.sqrt(x), r"x.apply\(f\)"), (lambda: np.logical_and(x, x), "x & y")):
        with pytest.raises(lt.UnsupportedError, match=message):
            use()
