"""lt.choose: the cheapest preset that runs a program, and the reasons against the others."""

import numpy as np
import pytest

import latticino as lt


def program(a):
    return (a * a + 1) * a


@pytest.fixture(scope="module")
def small():
    return lt.choose(program, lt.Shape((1000,), None, (-1, 1)), bits=20)


@pytest.mark.slow
def test_the_cheapest_that_fits(small):
    fit = [c for c in small.table if not c.refused]
    assert small.preset == fit[0].preset == small.table[0].preset and not small.bootstraps
    assert [c.seconds for c in fit] == sorted(c.seconds for c in fit)
    assert all(c.bits >= 20 for c in fit) and small.plan.bits[0][0] == fit[0].bits
    assert small.plan.prepared_seconds == fit[0].seconds <= fit[0].first_seconds == small.plan.seconds
    assert small.plan.peak_bytes == fit[0].bytes
    assert {c.preset for c in small.table} == {n for n in lt.presets() if lt.preset(n).secure}
    ctx = lt.Context(small.preset, "cpu", auto_bootstrap=small.bootstraps)
    assert ctx.plan(program, lt.Shape((1000,), None, (-1, 1))).bits == small.plan.bits
    client = lt.keygen(ctx)
    x = np.linspace(-1, 1, 1000)
    ctx.use(client.server_keys(small.plan))
    assert lt.precision(client.decrypt(program(client.encrypt(x, range=(-1, 1)))), x**3 + x).mean >= 20


def test_reasons_are_told(small):
    refused = [c for c in small.table if c.refused]
    assert refused and all("precision: " in c.refused for c in refused if c.seconds is not None)
    assert small.preset in small.reason and "the next takes" in small.reason
    for text in (repr(small), small._repr_html_()):
        assert all(c.preset in text for c in small.table) and "chosen" in text


@pytest.mark.slow
def test_more_bits_want_other_parameters(small):
    more = lt.choose(program, lt.Shape((1000,), None, (-1, 1)), bits=33)
    assert more.preset == "n16-d48-w30-precise-v1" and more.table[0].bits >= 33 and small.preset != more.preset
    with pytest.raises(lt.ParameterError, match="no preset runs.*bits"):
        lt.choose(program, lt.Shape((1000,)), bits=60)


@pytest.mark.slow
def test_depth_wants_bootstrapping():
    def deep(a):
        for _ in range(18):
            a = a * a * 0.5
        return a

    choice = lt.choose(deep, lt.Shape((32768,), None, (-1, 1)), bits=12, device="cuda")
    assert choice.bootstraps and choice.device == "cuda" and choice.plan.bootstraps > 0
    leveled = [c for c in choice.table if not c.bootstraps]
    assert leveled and all("LevelError" in c.refused for c in leveled)


@pytest.mark.slow
def test_explicit_bootstraps_are_refused_where_there_is_none():
    choice = lt.choose(lambda a: a.bootstrap(), lt.Shape((32768,), 3, (-1, 1)), bits=10)
    assert lt.preset(choice.preset).has_bootstrap and not choice.bootstraps
    assert all("ParameterError" in c.refused or "LevelError" in c.refused for c in choice.table if "leveled" in c.preset)


def test_what_cannot_be_chosen_for(ctx, client):
    x = client.encrypt(np.ones(8))
    with pytest.raises(lt.UnsupportedError, match="ciphertext"):
        lt.choose(program, x)
    with pytest.raises(lt.UnsupportedError):
        lt.choose("program", lt.Shape((8,)))
    with pytest.raises(lt.ValueError):
        lt.choose(program, lt.Shape((8,)), bits="many")
    with pytest.raises(lt.DeviceError):
        lt.choose(program, lt.Shape((8,)), device="tpu")
    with pytest.raises(lt.ShapeError, match="no ciphertext"):
        lt.choose(lambda a: 3, lt.Shape((8,)))
    with pytest.raises(ZeroDivisionError):
        lt.choose(lambda a: 1 / 0, lt.Shape((8,)))
