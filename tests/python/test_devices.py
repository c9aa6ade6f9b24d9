"""The CPU, its plain reference code and the GPU give the same bytes for the same files."""

import numpy as np
import pytest
from conftest import DEVICES, PRESET

import latticino as lt

SETTINGS = [{"device": "cpu", "simd": False}, {"device": "cpu", "simd": True}] + [
    {"device": d} for d in DEVICES if d != "cpu"]


def program(a, b):
    return (0.5 * a * b + a.rotate(3)).bootstrap().polyval([0.25, -0.5, 0.0, 0.125]) @ np.eye(64)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """What a client sends: parameters, keys and two ciphertexts; and the values."""
    folder = tmp_path_factory.mktemp("devices")
    ctx = lt.Context(PRESET, "cpu")
    client = lt.keygen(ctx)
    x, y = np.random.default_rng(11).uniform(-1, 1, (2, 64))
    lt.save_params(folder / "params", ctx.params)
    lt.save_server_keys(folder / "keys", ctx, client.server_keys(program, x, y))
    for name, values in (("x", x), ("y", y)):
        lt.save_ciphertext(folder / name, client.encrypt(values))
    return folder, client, ctx, x, y


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
