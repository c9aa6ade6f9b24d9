"""Numbers in the clear give the same result and the same claim in every type. In the types of small integers, squares and
magnitudes wrap around: claims of products with such matrices were many bits too high."""

import numpy as np
import pytest

import latticino as lt

SMALL = [np.int8, np.uint8, np.int16, ">i2", np.float16, np.longdouble, np.bool_]
PRODUCTS = {
    "vector": ((8,), (8, 5), lambda a, w: a @ w), "transposed": ((8, 6), (8, 5), lambda a, w: a.T @ w),
    "transposed, left": ((8, 6), (5, 6), lambda a, w: w @ a.T), "slice": ((8, 6), (5, 5), lambda a, w: a[:, 1:] @ w),
    "map": ((8,), (5, 8), lambda a, w: lt.matrix_map(w)(a)), "conv": ((2, 8), (3, 2, 2), lambda a, w: a.conv(w)),
    "correlate": ((12,), (4,), lambda a, w: lt.correlate(a, w)), "elements": ((6, 8), (8,), lambda a, w: a * w - w),
}


def numbers(rng, shape, dtype):
    """Numbers that the type can hold, and whose magnitudes or squares it cannot."""
    dtype = np.dtype(dtype)
    if dtype.kind == "f":
        return rng.uniform(-300, 300, shape).astype(dtype)
    if dtype.kind == "b":
        return rng.integers(0, 2, shape).astype(dtype)
    least = np.iinfo(dtype).min
    w = rng.integers(max(least, -256), min(np.iinfo(dtype).max, 256), shape).astype(dtype)
    w.flat[0] = least
    return w


@pytest.mark.parametrize("dtype", SMALL, ids=str)
@pytest.mark.parametrize("name", PRODUCTS)
def test_products_claim_the_same_in_every_type(ctx, client, rng, name, dtype):
    shape, of, f = PRODUCTS[name]
    x, w = rng.uniform(-1, 1, shape), numbers(rng, of, dtype)
    double = w.astype(float)
    ctx.use(client.server_keys(lambda a: f(a, double), x))
    a = client.encrypt(x, range=(-1, 1))
    y, wanted = f(a, w), f(a, double)
    assert y.expected_bits == pytest.approx(wanted.expected_bits)
    assert (y.range.low, y.range.high) == pytest.approx((wanted.range.low, wanted.range.high))
    assert np.allclose(client.decrypt(y), client.decrypt(wanted), atol=1e-4 * max(1, wanted.range.bound))


@pytest.mark.parametrize("ends", [np.int8(-128), np.full(4, -128, np.int8)])
def test_ends_beyond_the_bound_are_refused_in_every_type(client, ends):
    with pytest.raises(lt.ValueError, match=r"^clip: .*larger than the bound"):
        client.encrypt(np.zeros(4), range=(-1, 1)).clip(ends, bound=1)


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.float16])
def test_fits_evaluate_every_type_in_double_precision(dtype):
    x = np.array([100, 7], dtype)
    fit, signs = lt.fit(lambda v: v / 100, (-128, 300), 10), lt.fit_sign(bound=300, gap=3, bits=8)
    for f in (fit, fit.exact, signs):
        assert np.array_equal(f(x), f(x.astype(float)))


def test_precision_is_of_differences_that_do_not_wrap():
    for z, expected, bits in (([1, 2], [2, 1], 0), ([0, 0], [255, 255], -np.log2(255))):
        assert lt.precision(np.uint8(z), np.uint8(expected)).mean == pytest.approx(bits)
    assert lt.precision(np.int8([100]), np.int8([-100])).worst == pytest.approx(-np.log2(200))
    assert lt.precision(np.array([True]), np.array([False])).mean == 0


@pytest.mark.parametrize("f", [
    lambda a, w: a @ w[:, None], lambda a, w: a.reshape(2, 2).T @ w[:2], lambda a, w: lt.matrix_map(w[None])(a),
    lambda a, w: lt.convolve(a, w)], ids=["matmul", "sparse matmul", "map", "convolve"])
def test_numbers_beyond_the_double_range_are_refused_by_the_operation_itself(client, f):
    with pytest.raises(lt.ValueError, match=r"^(matmul|matrix_map|convolve): had NaN or infinity"):
        f(client.encrypt(np.zeros(4)), np.full(4, np.longdouble("1e4000")))


@pytest.mark.parametrize("scheme", ["ckks", "tfhe"])
def test_the_star_of_a_matrix_is_not_taken_for_a_product_of_values(client, scheme):
    if scheme == "tfhe":
        client = lt.keygen(lt.tfhe.Context("test-tfhe-2-2-tiny-insecure", "not-encrypted"))
    x, m = client.encrypt(np.array([[1, 2], [3, 4]], np.uint8 if scheme == "tfhe" else float) % 2), np.asmatrix([[1, 2], [3, 4]])
    for f in (lambda: x * m, lambda: m * x):
        with pytest.raises(lt.ShapeError, match=r"^multiply: had a numpy.matrix, .*use @ for that product"):
            f()
    assert (x + m).shape == (2, 2)


def test_spans_of_time_are_no_numbers(client):
    x = client.encrypt(np.zeros(2))
    for f in (lambda: x * np.timedelta64(3), lambda: x + np.timedelta64(3), lambda: np.timedelta64(3) - x):
        with pytest.raises(lt.ValueError, match="had a timedelta64"):
            f()
