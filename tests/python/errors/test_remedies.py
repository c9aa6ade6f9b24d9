"""The advice in errors works, and errors show no data."""

import re
from decimal import Decimal

import numpy as np
import pytest

import latticino as lt
from tfhe_world import INTEGERS, World


@pytest.fixture(scope="module")
def client():
    ctx = lt.Context("test-n10-leveled-insecure", "cpu", threads=1)
    client = lt.keygen(ctx)
    ctx.use(client.server_keys(lambda a: a * a, lt.Shape((4,))))
    return client


@pytest.fixture(scope="module")
def x(client):
    return client.encrypt(np.array([0.1, 0.2, 0.3, 0.4]), range=(0.1, 1))


DEGENERATE = [(0, 5e-324), (1e-320, 2e-320), (-5e-324, 5e-324), (0, 1e-305), (1e16, 1e16 + 2), (1, 1 + 2**-45), (-1e308, 1e308),
              (-1.7e308, 1.7e308), (0, 1.1e301)]


@pytest.mark.filterwarnings("ignore::latticino.RangeWarning")
@pytest.mark.parametrize("domain", DEGENERATE, ids=str)
def test_domains_that_doubles_cannot_divide_are_named(x, domain):
    low, high = domain
    uses = [lambda: lt.fit(np.tanh, domain, 8), lambda: lt.fit_sort(4, domain, 8), lambda: x.approximate(np.tanh, domain, 8),
            lambda: x.declare(low, high).approximate(np.tanh, bits=8), lambda: x.sqrt(domain, 8), lambda: lt.softmax(x, domain=domain),
            lambda: x.polyval([1, 2, 3], "chebyshev", domain)]
    if low == -high or low == 0:
        uses += [lambda: x.sign(high), lambda: lt.fit_sign(high), lambda: x.abs(high), lambda: x.relu(high), lambda: lt.maximum(x, x, bound=high)]
    for use in uses:
        with pytest.raises(lt.ValueError, match="a domain from .* to .*, of length .*widen the domain"):
            use()


def test_short_and_far_domains_that_doubles_do_divide():
    for low, high in ((0, 1e-290), (0, 1e300), (1, 1 + 2**-38), (-(2.0**1000), 0)):
        fit = lt.fit(lambda v: (v - low) / (high - low), (low, high), 8)
        assert abs(fit((low + high) / 2) - 0.5) < 2**-8
    with pytest.raises(lt.ValueError, match="a gap from"):
        lt.fit_sign(1 + 2**-52, 1, 8)
    assert lt.fit_sign(1.0, 1 - 2**-20, 8)(1.0) > 1 - 2**-8


def test_exponents_name_what_computes_them(client, x):
    remedies = {0.5: r"x.sqrt\(domain, bits\)", -0.5: r"x.inverse_sqrt\(domain, bits\)",
                -1: r"x.inverse\(domain, bits\), for a domain without 0", -2: r"x.inverse\(domain, bits\) \*\* 2",
                2.5: r"x.approximate\(lambda v: v \*\* 2.5", 0: r"np.ones\(x.shape\), which is clear data", 1j: "x.approximate",
                "a": "x.approximate"}
    for n, remedy in remedies.items():
        with pytest.raises(lt.UnsupportedError, match=remedy):
            x**n
    v = np.array([0.1, 0.2, 0.3, 0.4])
    plan = client.context.plan(lambda a: a.approximate(lambda v: v**2.5, (0.1, 1), 8), x)
    client.context.use(client.server_keys(plan))
    assert np.allclose(client.decrypt(x.approximate(lambda v: v**2.5, (0.1, 1), 8)), v**2.5, atol=2**-8)
    with pytest.raises(lt.UnsupportedError, match="np.ones"):
        World(INTEGERS, "cpu").client.encrypt([1, 2], "u4") ** 0


def test_clear_values_join_ciphertexts_without_a_public_key(client, x):
    values = np.array([1.0, -1.0, 0.5])
    with pytest.raises(lt.ShapeError, match=r"y \* 0 \+ values"):
        lt.concatenate([x, values])
    y = x[:3]
    joined = lt.concatenate([x, y * 0 + values])
    assert joined.level == x.level and np.allclose(client.decrypt(joined), [0.1, 0.2, 0.3, 0.4, *values], atol=1e-6)


def test_numbers_that_are_refused_are_not_shown(x):
    for number in (Decimal("31337e400"), 31337 * 10**400, float("nan"), float("inf"), Decimal("nan"), Decimal("Infinity"), np.float64("inf")):
        for use in (lambda n: x * n, lambda n: x + n, lambda n: x - n, lambda n: n - x, lambda n: x / n):
            with pytest.raises(lt.ValueError, match="had (NaN|infinity|a number beyond the double range); needs a finite number") as why:
                use(number)
            assert "31337" not in str(why.value) and "3.1337" not in str(why.value) and "bits" not in str(why.value)


def test_sentences_of_errors(client):
    calibrated = client.encrypt([0.1, 0.2], like=[0.3, 0.4])
    for array, shown in ((calibrated, "calibrated on sample data"), (client.encrypt([0.1]), "values assumed in the unit box")):
        with pytest.raises(lt.UnsupportedError, match=rf"had an error for ranges that nobody declared \({shown}\)"):
            client.decrypt_for_sharing(array, None, 2)


def test_a_shape_without_a_range_says_how_to_state_one(client):
    ctx = client.context
    with pytest.raises(lt.PrecisionError, match=r"plan for lt.Shape\(shape, None, \(low, high\)\)"):
        ctx.plan(lambda a: a.approximate(np.tanh, (-1, 1), 8), lt.Shape((50,)))
    assert ctx.plan(lambda a: a.approximate(np.tanh, (-1, 1), 8), lt.Shape((50,), None, (-1, 1))).levels


def test_scales_below_the_error_of_an_encryption_are_refused(client):
    v = np.full(10, 0.5)
    for scale, options in ((1, {}), (3, {}), (16.0, {}), (2.0**20, {"range": (0, 1e-6)}), (3, {"like": v})):
        with pytest.raises(lt.ScaleError, match=r"had a scale of .* with an error of about .* for values of up to") as why:
            client.encrypt(v if "range" not in options else v * 1e-6, scale=scale, **options)
        least = float(re.search(r"needs a scale of 2\^\(([0-9.]+) \+ b\) for b bits", str(why.value))[1])
        x = client.encrypt(v if "range" not in options else v * 1e-6, scale=2.0 ** (least + 8), **options)
        bound = max(abs(x.range.low), abs(x.range.high))
        assert 7 < x.expected_bits + np.log2(bound) < 10
    assert client.encrypt(v * 1e-13, range=(0, 1e-13)).expected_bits > 30, "nobody chose the canonical scale"
