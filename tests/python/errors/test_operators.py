"""Operators that encrypted arrays do not have, and operands that no array takes: the message says what to write, and
that works."""

import operator
import re

import numpy as np
import pytest

import latticino as lt

OPERATORS = {name: getattr(operator, name) for name in (
    "add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "lshift", "rshift", "and_", "or_", "xor", "iadd", "itruediv",
    "imatmul", "ipow", "ilshift")}
OPERANDS = (2, 2.5, None, "abc", 1j, 0, -1, np.float64(2), np.array([2.0, 1]), [2], object())


@pytest.fixture(scope="module")
def exact():
    context = lt.tfhe.Context("test-tfhe-2-2-tiny-insecure", "not-encrypted")
    client = lt.keygen(context)
    context.use(client.server_keys())
    return client


@pytest.fixture
def arrays_of(client, exact):
    return {"ckks": lambda: client.encrypt(np.full(2, 0.5)), "u4": lambda: exact.encrypt([1, 2], "u4"),
            "bool": lambda: exact.encrypt([True, False], "bool"), "m4": lambda: exact.encrypt([1, 2], "m4")}


@pytest.mark.parametrize("kind", ["ckks", "u4", "bool", "m4"])
def test_operators_compute_or_say_what_to_write(arrays_of, kind):
    x = arrays_of[kind]()
    refused = 0
    for name, f in {**OPERATORS, "divmod": divmod}.items():
        for other in (*OPERANDS, x):
            for operands in ((x, other), (other, x)):
                if name == "mod" and isinstance(operands[0], str):
                    continue  # Python formats the text
                try:
                    f(*operands)
                except lt.Error as why:
                    refused += 1
                    assert re.fullmatch(r"[^:]+: had .+; needs .+; .+", str(why)), (name, other)
    for f in (abs, round, operator.neg, operator.invert):
        try:
            f(x)
        except lt.Error:
            refused += 1
    assert refused > 100


REMEDIES = {
    "x / 3": (lambda x: x / 3, "v // 3", lambda x: x.apply(lambda v: v // 3), [0, 1, 2, 5]),
    "3 / x": (lambda x: 3 / x, "x // 4", lambda x: x // 4, [0, 0, 1, 3]),
    "3 // x": (lambda x: 3 // x, r"3 // max\(v, 1\)", lambda x: x.apply(lambda v: 3 // max(v, 1)), [3, 1, 0, 0]),
    "3 % x": (lambda x: 3 % x, "a table", lambda x: x.apply(lambda v: 3 % max(v, 1)), [0, 0, 3, 3]),
    "divmod(3, x)": (lambda x: divmod(3, x), "a table", lambda x: x.apply(lambda v: 3 // max(v, 1)), [3, 1, 0, 0]),
    "3**x": (lambda x: 3**x, r"3\*\*v % 4", lambda x: x.apply(lambda v: 3**v % 4), [3, 3, 3, 3]),
    "2**x": (lambda x: 2**x, "1 << x", lambda x: 1 << x, [2, 8, 0, 0]),
    "x @ w": (lambda x: x @ np.ones(4, int), r"\(x \* w\).sum\(axis\)", lambda x: (x * np.ones(4, int)).sum(0), 26 % 16),
    "x << 1.5": (lambda x: x << 1.5, r"np.rint\(x\)", lambda x: x << np.rint(1.5).astype(int), [4, 12, 12, 12]),
    "x << 2j": (lambda x: x << 2j, r"np.real\(x\)", lambda x: x << np.rint(np.real(1 + 2j)).astype(int), [2, 6, 14, 14]),
}


@pytest.mark.parametrize("wrong, said, remedy, result", REMEDIES.values(), ids=REMEDIES)
def test_remedies_for_operators_of_integers_work(exact, wrong, said, remedy, result):
    x = exact.encrypt([1, 3, 7, 15], "u4")
    with pytest.raises((lt.UnsupportedError, lt.ShapeError), match=said):
        wrong(x)
    np.testing.assert_array_equal(exact.decrypt(remedy(x)), result)


def test_quotient_and_remainder_of_integers(exact):
    x = exact.encrypt([1, 3, 7, 15], "u4")
    quotient, remainder = divmod(x, 4)
    assert exact.decrypt(quotient).tolist() == [0, 0, 1, 3] and exact.decrypt(remainder).tolist() == [1, 3, 3, 3]
    with pytest.raises(lt.UnsupportedError, match="a clear power of two"):
        divmod(x, 3)


def test_the_remedy_for_encrypted_exponents_works(ctx, client):
    v = np.linspace(-0.9, 0.9, 16)
    x = client.encrypt(v)
    with pytest.raises(lt.UnsupportedError, match=r"x\.approximate\(lambda v: 2\.0\*\*v, domain=\(-1, 1\), bits=20\)"):
        2**x

    def f(a):
        return a.approximate(lambda v: 2.0**v, domain=(-1, 1), bits=20)

    ctx.use(client.server_keys(f, v))
    assert np.abs(client.decrypt(f(x)) - 2**v).max() < 2**-12


CONVERTED = {
    "texts": (["1", "0.5"], "float"), "complex texts": (["1j", "0.5"], "complex"),
    "large integers": (np.array([2**70, 1], object) // 2**70, "float"),
    "long complex": (np.full(2, 0.5j, np.clongdouble), "complex"),
    "one field": (np.zeros(2, [("a", float)]), "float")}


@pytest.mark.parametrize("data, kind", CONVERTED.values(), ids=CONVERTED)
def test_conversions_are_named_where_they_work(client, data, kind):
    with pytest.raises(lt.ShapeError, match=rf"convert with np\.asarray\(x, {kind}\)"):
        client.encrypt(data)
    converted = np.asarray(data, {"float": float, "complex": complex}[kind])
    assert np.abs(client.decrypt(client.encrypt(converted)) - converted).max() < 1e-4


@pytest.mark.parametrize("data, said", [
    ("abc", "numbers in place of text"), (b"abc", "numbers in place of text"), (["1", "x"], "numbers in place of text"),
    (None, "no None"), ([None, 1], "no None"), ({}, "no None or other object"),
    (np.zeros(2, [("a", float), ("b", float)]), "one field")])
def test_no_conversion_is_named_where_none_works(client, exact, data, said):
    x, n = client.encrypt(np.zeros(2)), exact.encrypt([1, 2], "u4")
    for use in (lambda: client.encrypt(data), lambda: x + data, lambda: x / data, lambda: x @ data, lambda: n + data,
                lambda: exact.encrypt(data, "u4"), lambda: n << data):
        with pytest.raises(lt.ShapeError, match=said) as refused:
            use()
        assert "asarray" not in str(refused.value)


def test_texts_of_integers_are_converted_to_integers(exact):
    for use in (lambda v: exact.encrypt(v, "u4"), lambda v: exact.encrypt([0, 0], "u4") + v):
        with pytest.raises(lt.ShapeError, match=r"np\.asarray\(x, int\)"):
            use(["1", "2"])
        assert exact.decrypt(use(np.asarray(["1", "2"], int))).tolist() == [1, 2]


OPERATIONS_WITH_MAPS = {
    "a @ m": operator.matmul, "a * m": operator.mul, "a + m": operator.add, "a - m": operator.sub, "a / m": operator.truediv,
    "np.dot": np.dot, "np.matmul": np.matmul, "np.multiply": np.multiply}


@pytest.mark.parametrize("use", OPERATIONS_WITH_MAPS.values(), ids=OPERATIONS_WITH_MAPS)
def test_maps_are_called_and_are_no_operands(client, use):
    """The error asked for numbers in every place, although a map is called."""
    m, v = lt.matrix_map(np.eye(4)), np.linspace(-1, 1, 4)
    x = client.encrypt(v)
    for operands in ((x, m), (m, x), (v, m), (m, v), (m, m)):
        with pytest.raises(lt.UnsupportedError, match=r"LinearMap.*call map\(x\) or x\.apply\(map\); map\.evaluate\(x\)"):
            use(*operands)
    assert client.decrypt(m(x)) == pytest.approx(v, abs=1e-3) == m.evaluate(v)


def test_maps_are_no_arrays(ctx, client):
    m, x = lt.matrix_map(np.eye(4)), client.encrypt(np.ones(4))
    for use in (lambda: client.encrypt(m), lambda: np.asarray(m), lambda: lt.dot([x], [m]), lambda: x @ [m], lambda: -m,
                lambda: m**2, lambda: 2**m, lambda: x.conv(m), lambda: ctx.plan(lambda a: a @ m, np.ones(4))):
        with pytest.raises(lt.UnsupportedError, match=r"call map\(x\)"):
            use()
    assert m == m and m != lt.matrix_map(np.eye(4))
