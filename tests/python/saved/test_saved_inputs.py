"""Inputs of saved programs as their clients encrypt them: with the ranges that the program states, in files of exact
sizes."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import latticino as lt
from latticino.saved import files

PRESET = "test-n10-boot-insecure"
ends = st.floats(-50, 50).map(lambda v: round(v, 3) + 0.0)


@pytest.fixture(scope="module")
def owner():
    ctx = lt.Context(PRESET, "cpu", threads=1)
    return ctx, lt.keygen(ctx)


def programs(ctx, *examples):
    """A saved function of these arguments, and the part of it for clients."""
    whole = files.from_bytes(files.captured(lambda *x: tuple(v + v for v in x), ctx, examples, {}))
    return whole, files.from_bytes(whole.client_bytes())


@st.composite
def ranges(draw):
    """The forms of ranges that `lt.Shape` takes: none, two ends, or a range with imaginary parts, a root mean square,
    or no structure."""
    low, high = sorted((draw(ends), draw(ends)))
    imag = sorted((draw(ends), draw(ends)))
    most = float(np.hypot(max(abs(low), abs(high)), max(map(abs, imag))))
    return draw(st.sampled_from([None, (low, high), lt.Range(low, high, tuple(imag)), lt.Range(low, high, random=True),
                                 lt.Range(low, high, tuple(imag), rms=most / 2 or None)]))


def drawn(draw, shape, r, imaginary):
    """Values within a range, of any type that can hold them."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    values = rng.uniform(r.low, r.high, shape)
    if imaginary:
        values = values + 1j * rng.uniform(r.imag_low, r.imag_high, shape)
        values = values / np.maximum(1, np.abs(values) / r.bound)  # nothing was stated: a modulus of up to 1
    kind = draw(st.sampled_from(["own", "list", "integers", "booleans", "complex"]))
    least, most = int(np.ceil(r.low)), int(np.floor(r.high))
    if r.imag_low <= 0 <= r.imag_high and kind == "integers" and least <= most:
        return rng.integers(least, most, shape, endpoint=True)
    if r.imag_low <= 0 <= r.imag_high and kind == "booleans" and r.low <= 0 and r.high >= 1:
        return np.ones(shape, bool)
    return np.asarray(values).tolist() if kind == "list" else np.asarray(values).astype(complex) if kind == "complex" else values


@settings(deadline=None, max_examples=100, derandomize=True)
@given(st.data(), st.sampled_from([(), (1,), (1, 1), (3,), (2, 4), (600,)]), ranges(), st.sampled_from([None, 2]))
def test_every_admissible_input_has_the_size_that_the_program_states(owner, data, shape, stated, level):
    ctx, client = owner
    whole, half = programs(ctx, lt.Shape(shape, level, stated))
    (x,), (other,) = whole.inputs, half.inputs
    r, imaginary = x.range, x.dtype == "complex128"
    values = drawn(data.draw, shape, r, imaginary)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        (y,) = half.encrypt(client, values)
    assert len(lt.to_bytes(y)) == x.bytes == other.bytes
    assert (str(y.range), y.range.claim, y.dtype) == (str(r), r.claim, np.dtype(x.dtype))


def test_an_example_that_is_computed_is_encrypted_as_the_program_states(owner):
    """With an assumed range that is not the unit box, and with other numbers than zeros after the values."""
    ctx, client = owner
    whole, half = programs(ctx, client.encrypt(np.zeros(3)) * 2 + 1)
    (x,) = whole.inputs
    assert (x.range.low, x.range.high, x.range.claim) == (-1, 3, "assumed") and half.inputs[0].bytes == x.bytes
    (y,) = half.encrypt(client, [3.0, -1.0, 0])
    assert len(lt.to_bytes(y)) == x.bytes and str(y.range) == str(x.range)


def test_values_outside_of_what_a_program_states(owner):
    """Values outside of a declared range are an error; if the range is only assumed, they give a warning."""
    ctx, client = owner
    _, stated = programs(ctx, lt.Shape((2,), None, (0, 255)))
    with pytest.raises(lt.ValueError, match=r"declared range \(0 to 255\)"):
        stated.encrypt(client, [-1, 3])
    whole, assumed = programs(ctx, np.zeros(2))
    with pytest.warns(lt.RangeWarning, match=r"outside of -1 to 1, .* lt.Shape\(shape, None, \(low, high\)\)") as told:
        (y,) = assumed.encrypt(client, [2.0, 0])
    assert told[0].filename == __file__ and len(lt.to_bytes(y)) == whole.inputs[0].bytes and y.range.claim == "assumed"
    for half in (stated, assumed):
        with pytest.raises(lt.ValueError, match="complex values for an input of real numbers"):
            half.encrypt(client, [1j, 0])
        with pytest.raises(lt.ShapeError, match="encrypt: had values of shape"):
            half.encrypt(client, 1.0)
    with pytest.warns(lt.RangeWarning, match=r"outside of -1 to 1, .* encrypt\(x, range=") as told:
        client.encrypt([2.0])
    assert told[0].filename == __file__


def test_arguments_of_wider_ranges_are_refused(owner):
    """Before, an assumed range was taken for that of the program, which then claimed too much."""
    ctx, client = owner
    whole, _ = programs(ctx, lt.Shape((3,), None, (0, 0.1)))
    ctx.use(client.server_keys(whole.plan, show=False))
    x = np.full(3, 0.05)
    for wider in ({}, {"range": (-1, 1)}, {"like": x + 0.1}):
        with pytest.raises(lt.ScaleError, match=r"run: had values .* as input 0; needs values 0 to 0.1 \(declared\)"):
            whole.run(ctx, client.encrypt(x, **wider))
    for narrower in ({"range": (0, 0.06)}, {"like": x}):
        (y,) = whole.run(ctx, client.encrypt(x, **narrower))
        assert np.abs(client.decrypt(y).unmarked() - 2 * x).max() < 2**-20
