"""Sets whose levels have keys of their own: plans name the keys of each band, and bundles, files and programs use them."""

import io

import numpy as np
import pytest

import latticino as lt
from latticino.nn import keys
from latticino.saved import clients, files

PRESET = "test-n10-bands-insecure"
BANDS = {1: 1, 2: 1, 4: 2, 5: 2, 6: 2, 7: 2, 8: 3, 9: 3, 13: 4, 14: 4, 15: 4}  # by level


def named(name, level):
    band = BANDS.get(level, 0)
    return f"{name}[{band}]" if band else name


def powers(x):
    """A product and a rotation at levels 7, 6, ... 1."""
    for _ in range(7):
        x = x * x.rotate(1)
    return x


@pytest.fixture(scope="module")
def made():
    ctx = lt.Context(PRESET, "cpu", threads=1)
    client, x = lt.keygen(ctx), np.linspace(-1, 1, ctx.params.max_slots)
    plan = ctx.plan(powers, x)
    bundle = client.server_keys(plan)
    ctx.use(bundle)
    return ctx, client, x, plan, bundle


def test_plans_name_the_keys_of_each_band_with_its_highest_level(made):
    plan = made[3]
    want = {named(name, level): level for level in range(1, 8) for name in ("relinearize", "galois(5)")}
    assert {repr(label): level for label, level in plan.keys.items()} == want
    assert {(k, v) for k, v in want.items() if k.startswith("g")} == {("galois(5)", 3), ("galois(5)[1]", 2), ("galois(5)[2]", 7)}
    assert sum(plan.bytes_by_key.values()) == plan.key_bytes


def test_results_are_right_at_every_level(made):
    _, client, x, _, _ = made
    want, y = x, client.encrypt(x)
    for level in range(7, 0, -1):
        want, y = want * np.roll(want, -1), y * y.rotate(1)
        assert y.level == level - 1
        assert np.abs(client.decrypt(y) - want).max() < 2**-20, level


def test_the_key_of_another_band_is_missing_by_its_name(made):
    _, client, x, plan, _ = made
    own = lt.Context(PRESET, "cpu", threads=1)
    other = client.server_keys(made[0].plan(lambda y: y * y.rotate(1), lt.Shape((x.size,), 3)))
    assert {repr(k) for k in other.missing(plan)} == {"relinearize[1]", "relinearize[2]", "galois(5)[1]", "galois(5)[2]"}
    own.use(lt.load_server_keys(stream_of(made[0], other), own))
    given = lt.from_bytes(lt.to_bytes(client.encrypt(x)), own)
    with pytest.raises(lt.KeyError, match="rotation by 1, band 2"):
        given.rotate(1)


def stream_of(ctx, bundle):
    out = io.BytesIO()
    lt.save_server_keys(out, ctx, bundle)
    out.seek(0)
    return out


def test_files_and_programs_keep_the_bands(made):
    ctx, _, x, plan, bundle = made
    loaded = lt.load_server_keys(stream_of(ctx, bundle), lt.Context(PRESET, "cpu", threads=1))
    assert loaded.labels == bundle.labels and not loaded.missing(plan)
    shown = loaded._repr_html_()
    assert "for products" in shown and "for rotations and conjugation" in shown and "for bootstrapping" not in shown
    program = files.from_bytes(files.captured(powers, ctx, (lt.Shape((x.size,), 7, (-1, 1)),), {}))
    assert program.keys == plan.keys


def test_files_of_networks_find_the_keys_of_bands(made):
    """Files of networks name each key and its level, not its band."""
    ctx, plan = made[0], made[3] | made[0].plan(lambda x: x.bootstrap("complex"), lt.Shape((made[2].size,), 0))
    assert any(level > ctx.params.default_level for label, level in plan.keys.items() if "[" in repr(label))
    twin, recorder = lt.Context._dry(ctx)
    keys._use_all(twin, list(map(repr, plan.keys)), list(plan.keys.values()), [])
    found = {repr(label) for label, _ in recorder.request}
    assert found >= {repr(label) for label in plan.keys if "[" in repr(label)}


@pytest.mark.parametrize("name", ["relinearize[0]", "galois(5)[2", "galois(5)[]", "galois(5)[02]", "[1]", "relinearize[1][1]"])
def test_programs_with_keys_of_no_band_are_refused(made, name):
    with pytest.raises(lt.FileError, match="keys that do not exist"):
        clients._label(name, made[0].params)
    assert repr(clients._label("galois(5)[2]", made[0].params)) == "galois(5)[2]"
