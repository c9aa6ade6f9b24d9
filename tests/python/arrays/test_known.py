"""What is known of arrays lives in the extension: threads and forks do not disturb it, and wrong arrays are refused."""

import os
import threading

import numpy as np
import pytest

from latticino import _native

ERROR = 1e-6


def sampled(size=4096):
    return _native.Known.sampled(np.zeros(size, complex), False, ERROR)


def test_threads_add_independent_noise():
    made = [sampled()]
    threads = [threading.Thread(target=lambda: made.append(sampled())) for _ in range(3)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    for i, x in enumerate(made):
        assert x.error == pytest.approx(ERROR, rel=0.05)
        for y in made[:i]:
            assert x.minus(y).error == pytest.approx(ERROR * 2**0.5, rel=0.05)


def test_threads_compute_on_one_array_at_once():
    x, out = sampled(1 << 16), []

    def work():
        y = x
        for _ in range(8):
            y = y.plus(x).times_number(0.5)
        out.append((y.error, y.range.bound))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(out) == 4 and all(e == pytest.approx(ERROR, rel=0.05) and b <= 1e-100 for e, b in out)


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs a fork")
def test_a_fork_goes_on_with_its_own_samples():
    """While another thread works: no lock stays locked."""
    stop = threading.Event()

    def work():
        while not stop.is_set():
            sampled(1 << 14)

    busy = threading.Thread(target=work)
    busy.start()
    try:
        for _ in range(5):
            read, write = os.pipe()
            child = os.fork()
            if child == 0:
                os.write(write, repr(sampled().plus(sampled()).error).encode())
                os._exit(0)
            os.close(write)
            with os.fdopen(read) as pipe:
                assert float(pipe.read()) == pytest.approx(ERROR * 2**0.5, rel=0.05)
            assert os.waitpid(child, 0)[1] == 0
    finally:
        stop.set()
        busy.join()


def test_samples_are_read_only_and_outlive_what_they_belong_to():
    x = sampled(8)
    rows = x.sample
    assert rows.shape == (1 + 4 + 2 * 12, 8) and rows.dtype == np.complex128
    exact = [0, *range(5, 29, 2)]  # the sample, and other data of the same kind
    assert not rows[exact].any() and np.delete(rows, exact, axis=0).all()
    with pytest.raises(ValueError, match="read-only"):
        rows[0, 0] = 1
    before = rows.copy()
    del x
    assert (rows == before).all()


def test_large_samples_give_their_range_alone():
    x = _native.Known.sampled(np.full(1 << 20, 0.5 + 0j), True, ERROR)
    assert x.sample is None and (x.range.low, x.range.high, x.range.is_real) == (0.5, 0.5, True)


@pytest.mark.parametrize("wrong", [
    lambda x: x.plus_plain(np.zeros(7, complex), 8, 2.0**30),
    lambda x: x.times_plain(np.zeros(8, complex), 8, 2.0**30, 0.0, np.arange(7), 1),
    lambda x: x.times_plain(np.zeros(8, complex), 8, 2.0**30, 0.0, np.arange(1, 9), 1),
    lambda x: x.taken((2,), np.array([0, 8])),
    lambda x: x.taken((1,), np.array([-1])),
    lambda x: x.plus(sampled(4)),
    lambda x: _native.Known.joined([x, x], [8], np.arange(8)),
    lambda x: _native.Known.joined([x, x], [8, 4], np.arange(8)),
    lambda x: x.through(lambda v: v[:4], 1.0, 0.0, -1.0, 1.0),
    lambda x: x.meant(np.zeros(4, complex), 0.0),
    lambda x: x.with_common_error(x, np.zeros(4, complex), 0.0),
    lambda x: x.part(1, 8)])
def test_arrays_of_another_size_are_refused(wrong):
    with pytest.raises((ValueError, IndexError)):
        wrong(sampled(8))


def test_errors_of_a_function_of_samples_reach_the_caller():
    def fails(v):
        raise KeyError("of the function")

    with pytest.raises(KeyError, match="of the function"):
        sampled(8).through(fails, 1.0, 0.0, -1.0, 1.0)
