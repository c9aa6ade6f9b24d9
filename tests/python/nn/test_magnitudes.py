"""Features and results of very different sizes, as tables and regressions have them; bits measured layer by layer."""

import numpy as np
import pytest
from test_compiled import calibrated, residual_block, world
from test_lowered import rng

import latticino as lt
from latticino.nn import reference
from latticino.nn.balancing import balanced
from latticino.nn.builder import Builder
from latticino.nn.compiling import compiled
from latticino.nn.lowered import Affine, Node
from latticino.nn.reading import read

BOOT = "test-n10-boot-insecure"
SIZES = np.array([3e5, 90.0, 0.02, 1.0, 1.0])


def table(rows=1200):
    """Income, age, a ratio, a constant, and a column of zeros."""
    x = rng(1).uniform(0.1, 1, (rows, 5)) * SIZES
    x[:, 3], x[:, 4] = 1.0, 0.0
    return x


def of_table():
    """Scaled as a StandardScaler does it, then a layer of 6, a cubic, and one result."""
    build = Builder((5,))
    x = build.shift(build.scale(build.input, 4 / SIZES, "scaler"), np.full(5, -2.0), "scaler")
    x = build.activation(build.linear(x, rng(2).normal(size=(6, 5)) / 3, layer="fc1"), "tanh", "act")
    return build.graph(build.linear(x, rng(3).normal(size=(1, 6)), layer="fc2"))


def keyed(enc):
    client = lt.keygen(enc.context)
    enc.context.use(enc.server_keys(client))
    return client


@pytest.mark.slow
def test_features_of_very_different_sizes(device, tmp_path):
    x, graph = table(), of_table()
    enc = lt.nn.compile(graph, calibration=x, preset=BOOT, device=device, fits={"act": 3})
    assert enc.plan.bits > 12 and "of very different sizes: " in repr(enc.plan)
    client = keyed(enc)
    want = enc.shadow(x[:3])
    assert np.abs(want - reference.run(graph, x[:3])).max() < 0.5  # a cubic differs from tanh
    enc.save(tmp_path)
    half = lt.nn.load(tmp_path / "client.network")
    server = lt.nn.load(tmp_path / "server.network", device)
    assert np.array_equal(server.shadow(x[:3]), want)
    for row, expected in zip(x, want):
        got = half.decrypt(client, enc(half.encrypt(client, row))).unmarked()
        assert np.abs(got - expected).max() < 2.0 ** (4 - enc.plan.bits) * np.abs(want).max()
    for owner in (enc, half):
        wrong = x[0].copy()
        wrong[2] = 1e3
        with pytest.raises(lt.ValueError, match="1000 as feature 2 of sample 0; needs .* for which it was calibrated"):
            owner.encrypt(client, wrong)
    assert min(enc.measured_bits(client, x[:2])) > enc.plan.bits - 4


def test_features_of_like_sizes_stay_as_they_are():
    build = Builder((5,))
    graph = build.graph(build.linear(build.input, rng(2).normal(size=(6, 5))))
    found = read(graph, calibration=rng(1).normal(size=(1000, 5)) * [1, 2, 3, 10, 0.1])
    same, factors = balanced(found.lowered, found.largest)
    assert same is found.lowered and (factors == 1).all()


@pytest.mark.parametrize("size", [3e-7, 1e-3, 1.0, 1e5, 1e12])
def test_results_of_any_size(device, size):
    build = Builder((8,))
    graph = build.graph(build.linear(build.input, size * rng(2).normal(size=(3, 8)), size * np.ones(3)))
    x = rng(1).uniform(-1, 1, (1000, 8))
    enc = lt.nn.compile(graph, calibration=x, preset=BOOT, device=device)
    assert enc.plan.bits > 10 and ("enc.decrypt multiplies" in repr(enc.plan)) == (enc.result_unit != 1)
    client = keyed(enc)
    y = enc(enc.encrypt(client, x[0]))
    want = reference.run(graph, x[:1])[0]
    assert np.allclose(enc.shadow(x[0])[0], want, rtol=1e-9)
    assert np.abs(enc.decrypt(client, y).unmarked() - want).max() < 2.0**-8 * size
    assert np.abs(client.decrypt(y).unmarked() * enc.result_unit - want).max() < 2.0**-8 * size


@pytest.mark.slow
@pytest.mark.parametrize("images", [1, 2])
def test_measured_bits_are_those_of_the_plan(device, images):
    """Errors of 16 and more values of each layer: their mean is within 2.5 bits of what is predicted."""
    graph, x = residual_block()
    enc, client = world(graph, x, device, images=images)
    measured = enc.measured_bits(client, x[:4])
    assert len(measured) == len(enc.plan.layers)
    for layer, bits in zip(enc.plan.layers, measured):
        assert layer.bits - 2.5 < bits < layer.bits + 4, layer.layer
    for wrong in (x[:0], *((x[:3],) if images == 2 else ())):
        with pytest.raises(lt.ShapeError, match="measured_bits: had . samples"):
            enc.measured_bits(client, wrong)


def test_a_shadow_of_no_samples():
    enc = lt.nn.compile(of_table(), calibration=table(), preset=BOOT, device="cpu", fits={"act": 3})
    assert enc.shadow(table()[:0]).shape == (0, 1)


def test_bits_that_one_sample_predicts():
    """One sample and 32 copies of it give the same predicted bits, because these come from many draws of the errors."""
    graph, x = residual_block()
    one, many = (compiled(graph, x[:1].repeat(count, axis=0), BOOT, "cpu").plan for count in (1, 32))
    assert [layer.bits for layer in one.layers] == [layer.bits for layer in many.layers] and one.bits == many.bits


@pytest.mark.parametrize("size", [0.5, 10.0, 1000.0])
def test_weights_that_level_0_does_not_hold(size, device):
    """Two maps of one structure. By its weights the second one may reach 2^7 to 2^17, and in the calibration data its
    values have ordinary size, because the large weights cancel. Level 0 holds values up to 2^9."""
    x = rng(3).uniform(-1, 1, (20, 64))
    half, large = rng(4).normal(size=(32, 64)) / 8, np.full((64, 32), size)
    first = np.concatenate([half, half])
    second = np.concatenate([large + rng(5).normal(size=(64, 32)) / 6, -large], axis=1)
    nodes = [Node("x", "input", (), (64,)), Node("fc0", "affine", (0,), (64,), maps=(Affine.dense(first),), layer="fc0"),
             Node("fc1", "affine", (1,), (64,), maps=(Affine.dense(second),), layer="fc1")]
    enc, client = world(calibrated(nodes, x), x, device)
    assert [(s.node, s.level) for s in enc._placement.steps] == ([(1, 2), (2, 1)] if size < 1 else [(1, 3), (2, 2)])
    got = enc.decrypt(client, enc(enc.encrypt(client, x[0]))).unmarked()
    assert np.abs(got - second @ first @ x[0]).max() < 1e-7 * size
