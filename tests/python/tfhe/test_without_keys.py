"""TFHE without evaluation keys: operations without bootstrapping work, and errors name the operation that was called.
"""

import numpy as np
import pytest

import latticino as lt

SET = "test-tfhe-2-2-tiny-insecure"


@pytest.fixture(scope="module")
def world():
    ctx = lt.tfhe.Context(SET, "cpu", threads=1)
    client = lt.keygen(ctx)
    return ctx, client, client.encrypt([9, 3, 15], "m4"), client.encrypt([1, 200, 3], "u8"), client.encrypt([True, False, True])


FREE = {
    "sum of two": (lambda m, u, b: m + m, [2, 6, 14]), "a clear number": (lambda m, u, b: m + 9, [2, 12, 8]),
    "clear numbers": (lambda m, u, b: m - np.array([1, 2, 3]), [8, 1, 12]), "clear minus encrypted": (lambda m, u, b: 1 - m, [8, 14, 2]),
    "clear product": (lambda m, u, b: 3 * m, [11, 9, 13]), "negative": (lambda m, u, b: -m, [7, 13, 1]),
    "sum": (lambda m, u, b: m.sum(), 11), "cumsum": (lambda m, u, b: m.cumsum(), [9, 12, 11]),
    "joined with clear numbers": (lambda m, u, b: lt.concatenate([u, [7]]), [1, 200, 3, 7]), "inverted": (lambda m, u, b: ~u, [254, 55, 252]),
    "inverted booleans": (lambda m, u, b: ~b, [False, True, False]), "wider": (lambda m, u, b: u.astype("u16"), [1, 200, 3]),
    "remainder": (lambda m, u, b: u % 4, [1, 0, 3]), "shapes": (lambda m, u, b: lt.stack([u, u]).T[1:], [[200, 200], [3, 3]]),
    "m4 of blocks": (lambda m, u, b: u.astype("m4") + m, [10, 11, 2])}


@pytest.mark.parametrize("values", [[1, 2**64 - 1], [[3, 2**63], [2**53 + 1, 2**64 - 1]], (True, 2**64 - 1), [np.uint64(2**63 + 1), 1]], ids=str)
def test_integers_that_numpy_would_round_are_exact(values):
    """numpy makes real numbers of these lists, and the error told the user to round them: 2**64 - 1 became 0."""
    ctx = lt.tfhe.Context(SET, "not-encrypted")
    client = lt.keygen(ctx)
    x = client.encrypt(values, "u64")
    exact = np.array(values, dtype=object)
    assert (client.decrypt(x).astype(object) == exact).all() and (client.decrypt(x * 0 + values).astype(object) == exact).all()


@pytest.mark.parametrize("values, dtype, had", [
    ([1, 2**64], "u64", "a value above at index 1"), (2**64, "u64", "a value above"), ([-1, 2**64 - 1], "u64", "a value below 0 at index 0"),
    ([1, 2**64 - 1], "u8", "a value above at index 1"), (10**400, "u64", "a value above"), ([], "u8", "an empty array"),
    ([1, 2.5], "u8", "dtype float64"), ([None, 1], "u8", "dtype object")], ids=str)
def test_integers_out_of_range_are_named(values, dtype, had):
    client = lt.keygen(lt.tfhe.Context(SET, "not-encrypted"))
    with pytest.raises(lt.Error, match=f"^encrypt: had {had}"):
        client.encrypt(values, dtype)


@pytest.mark.parametrize("f, want", FREE.values(), ids=FREE)
def test_what_takes_no_bootstrapping_takes_no_keys(world, f, want):
    _ctx, client, *arrays = world
    assert np.array_equal(client.decrypt(f(*arrays)), want)


def test_keys_of_another_client_are_not_asked_for():
    """Before, a plain number was taken as if it were under the key of the bundle that was used last."""
    ctx = lt.tfhe.Context(SET, "cpu", threads=1)
    first, second = lt.keygen(ctx), lt.keygen(ctx)
    ctx.use(second.server_keys())
    x = first.encrypt([9, 3], "m4")
    assert np.array_equal(first.decrypt(3 * x + 1), [12, 10])
    with pytest.raises(lt.KeyError, match=f"^apply: had a context without evaluation keys; needs those of key {first.key_id}"):
        x.apply(lambda v: v)
    y = second.encrypt([1, 2], "m4")
    assert np.array_equal(second.decrypt((y + 1).apply(lambda v: v * v % 16)), [4, 9])
    ctx.use(first.server_keys())
    assert np.array_equal(first.decrypt((3 * x + 1).apply(lambda v: v % 4)), [0, 2])


def test_sums_are_recorded_without_keys(world):
    _, client, m, *_ = world
    program = lt.record(lambda x: 2 * x + 1)
    for _ in range(2):
        assert np.array_equal(client.decrypt(program(m)), [3, 7, 15])


def test_too_much_noise_asks_for_keys(world):
    """A product with a number may have more noise than decryption allows; then it bootstraps, which takes keys."""
    _, _client, m, *_ = world
    with pytest.raises(lt.Error) as why:
        for _ in range(40):
            m = 7 * m
    assert isinstance(why.value, (lt.KeyError, lt.LevelError)) and str(why.value).startswith("multiply: had ")


CALLED = {
    "add": lambda m, u, b: u + u, "subtract": lambda m, u, b: u - 1, "multiply": lambda m, u, b: u * u, "and": lambda m, u, b: u & u,
    "or": lambda m, u, b: b | b, "xor": lambda m, u, b: u ^ 1, "less": lambda m, u, b: u < u, "less_equal": lambda m, u, b: u <= 3,
    "greater": lambda m, u, b: u > 3, "greater_equal": lambda m, u, b: u >= u, "equal": lambda m, u, b: m == m,
    "not_equal": lambda m, u, b: u != 1, "negate": lambda m, u, b: -u, "power": lambda m, u, b: u**3, "shift": lambda m, u, b: u << 1,
    "remainder": lambda m, u, b: u % 8, "floor_divide": lambda m, u, b: u // 2, "sum": lambda m, u, b: u.sum(), "min": lambda m, u, b: u.min(),
    "max": lambda m, u, b: u.max(), "any": lambda m, u, b: u.any(), "all": lambda m, u, b: b.all(), "astype": lambda m, u, b: u.astype("bool"),
    "apply": lambda m, u, b: m.apply(lambda v: v), "where": lambda m, u, b: lt.where(b, u, u), "maximum": lambda m, u, b: lt.maximum(u, 3),
    "minimum": lambda m, u, b: lt.minimum(u, u), "prod": lambda m, u, b: u.prod(), "cumsum": lambda m, u, b: u.cumsum(),
    "clip": lambda m, u, b: u.clip(1, 3), "rerandomize": lambda m, u, b: u.rerandomize()}


@pytest.mark.parametrize("name", CALLED)
def test_a_missing_key_names_the_operation_that_was_called(world, name):
    _, _, *arrays = world
    with pytest.raises(lt.KeyError, match=f"^{name}: had a context without evaluation keys; needs ") as why:
        CALLED[name](*arrays)
    assert why.value.operation == name


def test_other_calls_are_named_as_well(world):
    ctx = world[0]
    for use, name in ((lambda: ctx.encrypt([1], "u8"), "encrypt"), (lambda: ctx.evaluator, "evaluator")):
        with pytest.raises(lt.KeyError, match=f"^{name}: had a context without evaluation keys"):
            use()
    small = lt.tfhe.Context(SET, "cpu", threads=1, key_budget=4096)
    with pytest.raises(lt.OutOfMemoryError, match="^server_keys: had a bundle of .* raise key_budget"):
        lt.keygen(small).server_keys()


def test_a_file_of_keys_over_the_budget_names_the_loading(tmp_path):
    ctx = lt.tfhe.Context(SET, "cpu", threads=1)
    lt.save_server_keys(tmp_path / "keys", ctx, lt.keygen(ctx).server_keys())
    with pytest.raises(lt.OutOfMemoryError, match="^load_server_keys: had a bundle of "):
        lt.load_server_keys(tmp_path / "keys", lt.tfhe.Context(SET, "cpu", threads=1, key_budget=4096))
