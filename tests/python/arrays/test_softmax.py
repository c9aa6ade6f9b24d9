"""Softmax and the logarithm of a sum of exponentials, against numpy."""

import math
import warnings

import numpy as np
import pytest

import latticino as lt


def softmax(x, axis):
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


def logsumexp(x, axis):
    return np.log(np.exp(x).sum(axis))


def rows(rng, domain, shape, axis):
    """Random values, and rows of one value, of the ends in turn, with one value that stands out, with ties."""
    x = np.moveaxis(rng.uniform(*domain, shape), axis, -1)
    flat = x.reshape(-1, x.shape[-1])
    patterns = [np.full(x.shape[-1], domain[0]), np.full(x.shape[-1], domain[1]), np.linspace(*domain, x.shape[-1]),
                np.where(np.arange(x.shape[-1]) == 1, domain[1], domain[0]), np.where(np.arange(x.shape[-1]) % 2, *domain)]
    for row, pattern in zip(flat, patterns):
        row[:] = pattern
    return np.ascontiguousarray(np.moveaxis(flat.reshape(x.shape), -1, axis))


@pytest.fixture(scope="module")
def large():
    """The levels and errors with a large set, computed on plain numbers."""
    ctx = lt.Context("n16-d40-boot-v1", "not-encrypted", auto_bootstrap=True)
    return ctx, lt.keygen(ctx)


CASES = [((8, 8), -1, (-2, 2), 12), ((6, 10), -1, (-3, 3), 12), ((10, 7), 0, (-1, 0), 16), ((7, 3, 4), 1, (-4, 4), 8),
         ((6, 8), 1, (-10, 10), 8), ((7,), 0, (-0.5, 0.5), 14), ((6, 1), 1, (-1, 1), 12), ((40, 2), -1, (0, 6), 12), ((6, 100), 1, (-1, 1), 14)]


@pytest.mark.slow
@pytest.mark.parametrize("shape, axis, domain, bits", CASES, ids=str)
@pytest.mark.parametrize("f, exact", [(lt.softmax, softmax), (lt.logsumexp, logsumexp)])
def test_values_of_all_kinds(large, rng, f, exact, shape, axis, domain, bits):
    _, client = large
    x = rows(rng, domain, shape, axis)
    if f is lt.logsumexp and domain[1] - domain[0] > 7:
        with pytest.raises(lt.PrecisionError, match="logsumexp"):
            f(client.encrypt(x, range=domain), axis, bits=20)
        return
    for options in ({"range": domain}, {"like": x}):
        warnings.simplefilter("error")
        y = f(client.encrypt(x, **options), axis, domain, bits)
        error = np.abs(client.decrypt(y).unmarked() - exact(x, axis))
        assert y.shape == exact(x, axis).shape and error.max() <= 2.0**-bits
        assert error.mean() == 0 or y.size < 100 or -math.log2(error.mean()) > y.expected_bits - 1


@pytest.mark.slow
@pytest.mark.parametrize("shape, axis", [((4, 8), -1), ((4, 3), 0), ((300, 2), 1)], ids=str)
def test_encrypted_values(device, rng, shape, axis):
    ctx = lt.Context("test-n10-boot-insecure", device, threads=1, auto_bootstrap=True)
    client = lt.keygen(ctx)
    x = rows(rng, (-0.5, 0.5), shape, axis)
    plan = ctx.plan(lambda a: lt.softmax(a, axis, bits=8), lt.Shape(shape, None, (-0.5, 0.5)))
    ctx.use(client.server_keys(plan))
    y = lt.softmax(client.encrypt(x, range=(-0.5, 0.5)), axis, bits=8)
    error = np.abs(client.decrypt(y).unmarked() - softmax(x, axis))
    assert error.max() < 2.0**-8 and -math.log2(error.mean()) > y.expected_bits - 1
    assert plan.bits[0][:2] == pytest.approx((y.expected_bits, y.expected_worst_bits))


def test_claims_are_what_was_asked_for_where_nothing_is_bootstrapped(large):
    _, client = large
    y = lt.softmax(client.encrypt(np.linspace(-2, 2, 8), range=(-2, 2)), bits=12)
    assert 12 < y.expected_bits < 15 and "declared 0 to 1" in repr(y)


@pytest.mark.parametrize("use, error, message", [
    (lambda x: lt.softmax(x), lt.ValueError, "domain"), (lambda x: lt.softmax(x, 1, (-1, 1)), lt.ShapeError, "axis"),
    (lambda x: lt.softmax(x, None, (-1, 1)), lt.Error, "axis"), (lambda x: lt.softmax(x * 1j, -1, (-1, 1)), lt.UnsupportedError, "complex"),
    (lambda x: lt.softmax([1.0]), lt.UnsupportedError, "list"), (lambda x: lt.softmax(x, -1, (-1, 1), 40), lt.PrecisionError, "softmax"),
    (lambda x: lt.softmax(x.to_level(2), -1, (-1, 1), 8), lt.LevelError, "softmax: had level 2"), (lambda x: lt.logsumexp(x, 5, (-1, 1)), lt.ShapeError, "axis")])
def test_wrong_arguments(ctx, client, use, error, message):
    ctx.use(client.server_keys(lambda a: a * a, lt.Shape((4,), 19)))
    with pytest.raises(error, match=message):
        use(client.encrypt(np.zeros(4)))


def test_values_that_leave_the_domain(large):
    ctx, _ = large
    with pytest.raises(lt.ScaleError, match="domain -1 to 1"):
        ctx.plan(lambda a: lt.softmax(a, -1, (-1, 1)), lt.Shape((4,), None, (-2, 1)))
