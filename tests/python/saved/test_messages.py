"""Numbers and results as bytes, as clients and services send them: what was written is read, anything else is an lt.Error."""

import contextlib
import struct

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import latticino as lt
from latticino.saved import messages

DECLARED = {"eta": lt.Scalar(-1, 1), "mu": lt.Scalar(lt.Range(-1, 1, (-1, 1)))}
X = np.linspace(-1, 1, 8)


@pytest.fixture(scope="module")
def ckks():
    ctx = lt.Context("test-n10-leveled-insecure", "cpu", threads=1)
    return ctx, lt.keygen(ctx)


@pytest.fixture(scope="module")
def exact():
    ctx = lt.tfhe.Context("test-tfhe-2-2-tiny-insecure", "cpu", threads=1)
    return ctx, lt.keygen(ctx)


@pytest.fixture(scope="module")
def result(ckks):
    """Two arrays, of which one is a scalar, and their bytes."""
    arrays = tuple(ckks[1].encrypt(x, 1) for x in (X, X[0]))
    return arrays, messages.result_to_bytes(arrays)


@pytest.fixture(scope="module")
def exact_result(exact):
    arrays = exact[1].encrypt([3, 0, 2], "u2"), exact[1].encrypt([7], "u4")
    return arrays, messages.result_to_bytes(arrays)


def cut(data):
    return [data[at : at + messages.NUMBER] for at in range(0, len(data), messages.NUMBER)]


@pytest.mark.parametrize("numbers", [{"eta": 0.1, "mu": 0.25 - 0.5j}, {"eta": -1, "mu": 0}, {"eta": np.float32(0.1), "mu": 1j}])
def test_numbers(numbers):
    data = messages.numbers_to_bytes(DECLARED, numbers)
    assert len(data) == 2 * messages.NUMBER
    assert messages.numbers_of(DECLARED, cut(data)) == numbers
    assert messages.numbers_to_bytes(dict(reversed(DECLARED.items())), numbers) == data[16:] + data[:16]


def test_a_real_number_is_a_float():
    """A complex one would take another form of a product than a direct run does."""
    assert [type(v) for v in messages.numbers_of(DECLARED, cut(struct.pack("<4d", 1, 0, 1, -0.5))).values()] == [float, complex]


def test_numbers_that_are_refused():
    for numbers in ({}, {"eta": 1}, {"eta": 2, "mu": 0}, {"eta": 1j, "mu": 0}, {"eta": "1", "mu": 0}, {"eta": 0, "mu": 0, "nu": 0}):
        with pytest.raises(lt.Error):
            messages.numbers_to_bytes(DECLARED, numbers)
    for parts in ([], [b"\0" * 16], [b"\0" * 16, b"\0" * 15], [b"\0" * 16] * 3, [b"\0" * 16, struct.pack("<dd", np.nan, 0)],
                  [b"\0" * 16, struct.pack("<dd", 0, np.inf)]):
        with pytest.raises(lt.FileError):
            messages.numbers_of(DECLARED, parts)


def test_results(ckks, result):
    ctx, client = ckks
    arrays, data = result
    assert len(data) == messages.most_around(2) + sum(len(lt.to_bytes(y)) for y in arrays)
    first, second = messages.result_of(data, ctx, 2)
    assert lt.to_bytes(first) == lt.to_bytes(arrays[0]) and second.shape == arrays[1].shape
    short = messages.result_to_bytes(arrays, final=True)
    assert len(short) < len(data) and np.abs(client.decrypt(messages.result_of(short, ctx, 2)[0]) - X).max() < 2**-15
    one = messages.result_to_bytes(arrays[0])
    assert one == lt.to_bytes(arrays[0]) and messages.result_of(one, ctx, 1).shape == (8,)
    listed = messages.result_of(messages.result_to_bytes([arrays[0]]), ctx, 1)
    assert isinstance(listed, tuple) and len(listed) == 1


def test_results_of_tfhe_are_exact(exact, exact_result):
    """They are always as short as possible, whatever was requested."""
    arrays, data = exact_result
    assert messages.result_to_bytes(arrays, final=True) == data
    assert [exact[1].decrypt(y).tolist() for y in messages.result_of(data, exact[0], 2)] == [[3, 0, 2], [7]]


def test_results_of_another_scheme_are_refused(ckks, exact, result, exact_result):
    for data, context in ((result[1], exact[0]), (exact_result[1], ckks[0])):
        with pytest.raises(lt.FileError):
            messages.result_of(data, context, 2)


def test_results_that_are_refused(ckks, result):
    arrays, data = result
    lengths = [len(lt.to_bytes(y)) for y in arrays]

    def of(*head, version=1, count=2):
        return struct.pack(f"<8sII{len(head)}Q", messages.MAGIC, version, count, *head) + data[messages.most_around(2):]

    bad = [data[:n] for n in (0, 4, 8, 15, 16, 31, 32, len(data) - 1)]
    bad += [data + b"x", lt.to_bytes(arrays[0]), of(*lengths, version=2), of(*lengths, count=3), of(*lengths, count=0),
            of(lengths[0] + 1, lengths[1] - 1), of(sum(lengths), 0), of(1 << 63, lengths[1]), of((1 << 64) - 1, sum(lengths) + 1),
            of(lengths[0]), of(*lengths, 0, count=3)]
    for wrong in bad:
        with pytest.raises(lt.FileError):
            messages.result_of(wrong, ckks[0], 2)
    with pytest.raises(lt.FileError, match="2 arrays where the program gives 1"):
        messages.result_of(data, ckks[0], 1)


@given(st.lists(st.tuples(st.integers(0, 1 << 20), st.integers(0, 255)), min_size=1, max_size=6), st.integers(-40, 40))
@settings(max_examples=150, deadline=None, derandomize=True)
def test_changed_results_are_refused(ckks, exact, result, exact_result, changes, longer):
    """Bytes that were changed, most of them in the first hundred: an lt.Error, or the same arrays."""
    for (context, _), (arrays, data) in ((ckks, result), (exact, exact_result)):
        bad = bytearray(data)
        for at, value in changes:
            bad[at % (len(bad) if at & 1 else 100)] = value
        bad = bytes(bad) + b"\0" * longer if longer >= 0 else bytes(bad)[:longer]
        with contextlib.suppress(lt.Error):
            assert [lt.to_bytes(y) for y in messages.result_of(bad, context, 2)] == [lt.to_bytes(y) for y in arrays]


@given(st.binary(max_size=80), st.integers(1, 4))
@settings(max_examples=150, deadline=None, derandomize=True)
def test_any_result_is_read_or_refused(ckks, data, count):
    for some in (data, messages.MAGIC + data, messages.MAGIC + struct.pack("<II", 1, count) + data):
        with pytest.raises(lt.Error):
            messages.result_of(some, ckks[0], count)
    with contextlib.suppress(lt.Error):
        messages.numbers_of(DECLARED, [data[:16], data[16:32]])
