"""The CPU, its plain reference code and the GPU give the same bytes for the same files."""

import os

import numpy as np
import pytest

import latticino as lt
from conftest import GPU, PRESET
from latticino import _native

SETTINGS = [{"device": "cpu", "simd": False}, {"device": "cpu", "simd": True}] + [{"device": "cuda"}] * GPU


def program(a, b):
    return (0.5 * a * b + a.rotate(3)).bootstrap().polyval([0.25, -0.5, 0.0, 0.125]) @ np.eye(64)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """The files that a client sends (parameters, keys and two ciphertexts), and the values."""
    folder = tmp_path_factory.mktemp("devices")
    ctx = lt.Context(PRESET, "cpu")
    client = lt.keygen(ctx)
    x, y = np.random.default_rng(11).uniform(-1, 1, (2, 64))
    lt.save_params(folder / "params", ctx.params)
    lt.save_server_keys(folder / "keys", ctx, client.server_keys(program, x, y))
    for name, values in (("x", x), ("y", y)):
        lt.save_ciphertext(folder / name, client.encrypt(values))
    return folder, client, ctx, x, y


@pytest.mark.slow
def test_plans_are_for_the_kernels_and_cores_that_compute():
    def seconds(**settings):
        ctx = lt.Context(PRESET, "cpu", **settings)
        return ctx.plan(program, lt.Shape((64,)), lt.Shape((64,))).seconds

    cores = len(os.sched_getaffinity(0))
    kernels, threads, usable = _native.cpu_choice(0, True)
    assert threads == usable == cores and f", {kernels} kernels," in lt.Context(PRESET, "cpu")._native.device["name"]
    assert _native.cpu_choice(0, False)[0] == "reference" and _native.cpu_choice(8 * cores, True)[1:] == (8 * cores, cores)
    assert seconds(simd=False) == seconds() if kernels == "reference" else seconds(simd=False) > 1.5 * seconds()
    assert seconds(threads=8 * cores) == seconds(threads=cores) == seconds()  # threads without a core do not help
    assert seconds(threads=1) > 1.5 * seconds() or cores == 1
    affinity = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(affinity)})
    try:
        assert seconds(threads=cores) == seconds(threads=1)
    finally:
        os.sched_setaffinity(0, affinity)


@pytest.mark.slow
@pytest.mark.parametrize("recorded", [False, True], ids=["at once", "replayed"])
def test_results_are_equal_byte_for_byte(files, recorded):
    folder, client, home, x, y = files
    results = []
    for setting in SETTINGS:
        ctx = lt.Context(lt.load_params(folder / "params"), **setting)
        ctx.use(lt.load_server_keys(folder / "keys", ctx))
        run = lt.record(program) if recorded else program
        results.append(lt.to_bytes(run(*(lt.load_ciphertext(folder / name, ctx) for name in ("x", "y")))))
    assert all(r == results[0] for r in results)
    t = 0.5 * x * y + np.roll(x, -3)
    expected = np.polynomial.polynomial.polyval(t, [0.25, -0.5, 0.0, 0.125])
    assert lt.precision(client.decrypt(lt.from_bytes(results[0], home)), expected).mean > 10
