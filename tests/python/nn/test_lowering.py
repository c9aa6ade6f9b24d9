"""Lowered graphs compute what the model's graph does with the fitted activations, with few nodes and no wasted level."""

import math
import time

import numpy as np
import pytest

import latticino as lt
import networks
from latticino.nn import matrices, reference
from latticino.nn.activations import fit_activations
from latticino.nn.builder import Builder
from latticino.nn.graph import Node
from latticino.nn.lowered import Affine
from latticino.nn.lowering import lower
from latticino.nn.ranges import measure
from latticino.nn.reading import read
from latticino.nn.rewrites import simplified
from latticino.nn.run import Machine


def rng(seed=0):
    return np.random.default_rng(seed)


def distance(reading, x):
    """The distance of the lowered graph's result from that of the model with its fits, relative to the largest value.
    """
    wanted = reference.values(reading.graph, x, reading.fits)[reading.graph.output]
    got = reading.lowered.evaluate(x)
    assert got.shape == (len(x), *reading.model.shape_out)
    return float(np.abs(got - wanted).max() / max(1.0, np.abs(wanted).max()))


@pytest.mark.slow
@pytest.mark.parametrize("seed", [pytest.param(s, marks=pytest.mark.slow) if s >= 20 else s for s in range(60)])
def test_random_networks(seed):
    graph, x = networks.network(seed)
    reading = read(graph, calibration=x, bits=6)
    assert distance(reading, x) < 1e-9
    for node, y in zip(reading.lowered.nodes, reading.lowered.values(x)):
        assert np.abs(y).max() <= node.bound * (1 + 1e-9), node


@pytest.mark.parametrize("seed", range(60))
def test_rewrites_and_joined_polynomials_keep_the_function(seed):
    graph, x = networks.network(seed, 10)
    assert np.allclose(reference.run(simplified(graph), x), reference.run(graph, x), atol=1e-9)


def ops(lowered):
    return [n.op for n in lowered.nodes]


def small_convolution(build, x, channels, layer, **options):
    r = rng(len(layer))
    return build.conv(x, r.normal(size=(channels, build.shape(x)[0], 3, 3)) / 5, r.normal(size=channels), padding=1,
                      layer=layer, **options)


def normed(build, x, layer):
    n = build.shape(x)[0]
    return build.batch_norm(x, rng(1).normal(size=n), rng(2).random(n) + 0.5, rng(3).normal(size=n), rng(4).normal(size=n),
                            layer=layer)


def test_batch_norm_pooling_and_permutations_end_in_the_maps():
    build = Builder((3, 8, 8))
    x = normed(build, small_convolution(build, build.input, 4, "conv1"), "bn1")
    x = build.activation(x, "silu", "act")
    x = build.avg_pool(build.permute(build.scale(x, 0.5), (0, 2, 1)), 2, layer="pool")
    graph = build.graph(build.linear(build.flatten(x), rng().normal(size=(10, 64)), layer="fc"))
    data = rng(1).normal(size=(50, 3, 8, 8))
    reading = read(graph, calibration=data)
    assert ops(reading.lowered) == ["input", "affine", "polynomial", "affine"]
    assert distance(reading, data) < 1e-9
    assert reading.lowered.nodes[1].maps[0].grids[1] == matrices.grid_of((4, 8, 8))
    assert [n.layer for n in reading.lowered.nodes] == ["input", "conv1", "act", "fc"]


@pytest.mark.slow
def test_a_residual_network_spends_no_level_on_domains():
    """Both sides of each sum have one scale, and the inputs of every polynomial are within -1 to 1."""
    build = Builder((3, 8, 8))
    x = build.activation(normed(build, small_convolution(build, build.input, 4, "c0"), "b0"), "relu", "r0")
    for k, (channels, stride) in enumerate([(4, 1), (8, 2), (8, 1)]):
        y = build.activation(normed(build, small_convolution(build, x, channels, f"c{k}a", stride=stride), "b"), "relu", f"r{k}a")
        y = normed(build, small_convolution(build, y, channels, f"c{k}b"), "b")
        if stride > 1:
            x = build.conv(x, rng(9).normal(size=(8, 4, 1, 1)), stride=2, layer="short")
        x = build.activation(build.add(y, x, f"sum{k}"), "relu", f"r{k}b")
    graph = build.graph(build.linear(build.mean(x, [1, 2]), rng(5).normal(size=(10, 8)), layer="fc"))
    data = rng(1).normal(size=(300, 3, 8, 8))
    for choice in ("composite", "polynomial"):
        reading = read(graph, calibration=data, bits=6, fits={f"r{k}{s}": choice for k in range(3) for s in "ab"})
        lowered = reading.lowered
        assert distance(reading, data) < 1e-9
        assert {n.series.domain for n in lowered.nodes if n.series} == {(-1.0, 1.0)}
        assert all(n.bound <= (2 if n.op == "polynomial" else 1 + 1e-9) for n in lowered.nodes[1:-1])
        # Seven convolutions and the last map; the shortcut of stride 2 is a map of its own, or part of one.
        assert ops(lowered).count("affine") in (8, 9)
        assert ops(lowered).count("add") in (2, 3)


def test_parallel_linear_branches_are_one_map():
    build = Builder((4, 6))
    a = build.linear(build.input, rng().normal(size=(3, 6)), layer="a")
    b = build.linear(build.input, rng(1).normal(size=(5, 6)), rng(2).normal(size=5), layer="b")
    x = build.activation(build.concat([a, b], 1, "both"), "tanh", "act")
    graph = build.graph(x)
    data = rng(3).normal(size=(40, 4, 6))
    reading = read(graph, calibration=data)
    assert ops(reading.lowered) == ["input", "affine", "polynomial"]
    assert distance(reading, data) < 1e-9


def test_a_narrow_layer_between_wide_ones_stays_two_maps():
    build = Builder((400,))
    x = build.linear(build.linear(build.input, rng().normal(size=(2, 400)), layer="down"), rng(1).normal(size=(400, 2)), layer="up")
    reading = read(build.graph(x), calibration=rng(2).normal(size=(20, 400)))
    assert [m.nnz for n in reading.lowered.nodes for m in n.maps] == [800, 800]


@pytest.mark.parametrize("rest", [lambda b, x: b.add(x, b.input), lambda b, x: b.mul(x, b.input),
                                  lambda b, x: b.add(b.mul(x, b.input), b.mul(b.input, b.add(x, b.input))),
                                  lambda b, x: b.sub(b.input, x), lambda b, x: b.add(b.input, b.input)])
def test_inputs_in_sums_and_products(rest):
    build = Builder((5,))
    x = build.activation(build.input, "sigmoid", "s")
    graph = build.graph(build.activation(rest(build, x), "tanh", "t"))
    data = rng().normal(size=(50, 5))
    assert distance(read(graph, calibration=data), data) < 1e-9
    plain = build.graph(rest(build, x))
    assert distance(read(plain, calibration=data), data) < 1e-9


def test_the_input_alone():
    data = rng().normal(size=(5, 3))
    assert np.array_equal(read(Builder((3,)).graph(0), calibration=data).lowered.evaluate(data), data)


@pytest.mark.slow
def test_constant_and_one_sided_values():
    build = Builder((6,))
    x = build.activation(build.scale(build.input, 0.0), "relu", "nothing")
    y = build.activation(build.shift(build.input, -100.0), "relu", "never")
    graph = build.graph(build.add(build.add(x, y), build.input))
    data = rng().random(size=(50, 6))
    reading = read(graph, calibration=data)
    assert distance(reading, data) < 1e-9
    assert np.abs(reading.lowered.evaluate(data) - data).max() < 1  # 100 times the error of the polynomial


# ---- matrices ----


@pytest.mark.parametrize("seed", range(30))
@pytest.mark.parametrize("transposed", [False, True])
def test_matrices_of_convolutions(seed, transposed):
    r = rng(seed)
    build = Builder([(3, 5, 7), (4, 9), (2, 3, 4, 5), (6, 8, 2)][seed % 4])
    networks.convolution(r, build, 0, transposed)
    node = build.nodes[-1]
    node = Node(node.op, node.inputs, node.shape, arrays={"weight": node.arrays["weight"]}, options=node.options)
    m = matrices.of_layer(node, build.shape(0))
    columns = reference.result_of(node, [np.eye(m.size_in).reshape(-1, *build.shape(0))]).reshape(m.size_in, -1)
    assert np.array_equal(m.to_dense(), columns.T)
    if m.grids:
        assert (m.grids[0].size, m.grids[1].size) == (m.size_in, m.size_out)
        assert m.stride[-len(node.options["stride"]):] == node.options["stride"][-2:]


def test_the_matrix_of_a_large_convolution_is_made_at_once():
    weight = rng().normal(size=(64, 64, 3, 3))
    start = time.process_time()  # processor time, because other processes run at the same time
    m = matrices.conv(weight, (64, 8, 8), (64, 8, 8), (1, 1), ((1, 1), (1, 1)), (1, 1), 1)
    assert m.nnz == 64 * 64 * (3 * 8 - 2) ** 2
    assert time.process_time() - start < 5  # 0.2 s on an idle machine


def test_products_of_matrices():
    a, b = (matrices.Affine.dense(rng(s).normal(size=n) * (rng(s + 5).random(n) < 0.4)) for s, n in ((0, (6, 9)), (1, (9, 7))))
    assert np.allclose(matrices.product(a, b).to_dense(), a.to_dense() @ b.to_dense(), atol=1e-12)
    assert matrices.product_cost(a, b) == (np.count_nonzero(a.to_dense(), 0) * np.count_nonzero(b.to_dense(), 1)).sum()


# ---- layers that consist of others ----


def lowered_close(build, out, data, tolerance, **options):
    graph = build.graph(out)
    reading = read(graph, calibration=data, **options)
    assert distance(reading, data) < 1e-9
    exact = reference.run(graph, data)
    assert np.abs(reading.lowered.evaluate(data) - exact).max() < tolerance * max(1.0, np.abs(exact).max())
    return reading


@pytest.mark.parametrize("options", [{"kernel": 2}, {"kernel": 3, "stride": 2, "padding": 1}, {"kernel": (1, 3), "stride": 1},
                                     {"kernel": 2, "stride": 2, "ceil": True}, {"kernel": 2, "dilation": 2, "stride": 1}])
def test_max_pooling(options):
    build = Builder((2, 5, 7))
    out = build.max_pool(build.input, **options, layer="pool")
    lowered_close(build, out, rng().normal(size=(80, 2, 5, 7)), 0.03, bits=9)


@pytest.mark.slow
def test_layer_norm_softmax_and_attention():
    build = Builder((4, 6))
    x = build.layer_norm(build.input, 1, rng().normal(size=6), rng(1).normal(size=6), layer="norm")
    lowered_close(build, x, rng(2).normal(size=(200, 4, 6)), 0.01)
    for axis in (0, 1):
        build = Builder((4, 6))
        lowered_close(build, build.softmax(build.input, axis, "soft"), 2 * rng(3).normal(size=(200, 4, 6)), 0.01)
    for mask in (None, np.where(np.tril(np.ones((4, 4))) > 0, 0.0, -1e9)):
        build = Builder((4, 6))
        q, k, v = (build.linear(build.input, rng(s).normal(size=(5, 6)) / 3, layer="qkv") for s in range(3))
        out = build.attention(q, k, v, mask=mask, layer="attention")
        lowered_close(build, out, rng(4).normal(size=(200, 4, 6)), 0.02)


@pytest.mark.parametrize("kind, gates", [("rnn", 1), ("lstm", 4), ("gru", 3)])
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("biases", [False, True])
def test_recurrent_layers_step_by_step(kind, gates, reverse, biases):
    r = rng(gates)
    b = (r.normal(size=gates * 3), r.normal(size=gates * 3)) if biases else ()
    build = Builder((4, 5))
    out = build.recurrent(kind, build.input, r.normal(size=(gates * 3, 5)) / 2, r.normal(size=(gates * 3, 3)) / 2, *b,
                          reverse=reverse, layer=kind)
    lowered_close(build, out, r.normal(size=(150, 4, 5)), 0.02)


def test_sums_and_products_of_one_value_are_one_polynomial():
    build = Builder((7,))
    x = build.linear(build.input, rng().normal(size=(7, 7)) / 3, layer="fc")
    square = build.mul(x, x)
    out = build.add(build.add(build.scale(square, 0.3), build.scale(x, -0.5)), build.mul(build.shift(square, 1.0), x))
    reading = lowered_close(build, build.shift(out, 0.7), rng(1).normal(size=(60, 7)), 1e-9)
    assert ops(reading.lowered) == ["input", "affine", "polynomial"]
    assert reading.lowered.nodes[2].series.degree == 3


# ---- errors ----


def test_what_is_too_large_is_refused_by_name():
    build = Builder((64, 64))
    out = build.matmul(build.input, build.input, "scores")
    with pytest.raises(lt.UnsupportedError, match=r"layer scores: had a product of encrypted matrices .*; use fewer tokens"):
        read(build.graph(out), calibration=np.ones((2, 64, 64)))


def test_a_graph_that_was_not_simplified_is_refused_by_name():
    build = Builder((4,))
    graph = build.graph(build.softmax(build.input, 0, "soft"))
    ranges = measure(graph, rng().normal(size=(9, 4)))
    with pytest.raises(lt.UnsupportedError, match=r"layer soft: had the operation softmax; .* rewrites\.simplified"):
        lower(graph, ranges, fit_activations(graph, ranges))


def test_values_outside_of_the_range_name_the_layer():
    build = Builder((4,))
    graph = build.graph(build.activation(build.input, "tanh", "squash"))
    reading = read(graph, calibration=rng().random(size=(20, 4)))
    with pytest.raises(lt.ValueError, match="layer squash: had values from"):
        reading.lowered.evaluate(np.full((1, 4), 9.0))


def test_models_of_other_kinds_are_refused():
    with pytest.raises(lt.UnsupportedError, match="compile: had a dict"):
        read({}, np.ones((1, 2)))
    with pytest.raises(lt.UnsupportedError, match="no calibration data"):
        read(Builder((3,)).graph(0))
    assert math.isclose(read(Builder((3,)).graph(0), np.ones((1, 3))).ranges.bound(0), 1.25)


@pytest.mark.parametrize("residual", [False, True])
def test_quadratics_of_each_channel_take_one_map_and_one_level(residual):
    """A basis of Hermite polynomials with batch norms, as degree-2 networks are trained: c0 + c1 x + c2 x^2."""
    build = Builder((2, 6, 6))
    x = small_convolution(build, build.input, 3, "conv1")
    if residual:
        x = build.add(x, small_convolution(build, build.activation(x, "tanh", "act"), 3, "more"))
    square = build.scale(build.shift(build.mul(x, x, "herpn"), -1.0, "herpn"), 1 / math.sqrt(2), "herpn")
    y = build.add(normed(build, x, "linear"), build.scale(square, np.array([1.0, -2.0, 0.5]).reshape(3, 1, 1)), "herpn")
    graph = build.graph(small_convolution(build, y, 2, "conv2"))
    data = rng(1).normal(size=(50, 2, 6, 6))
    reading = read(graph, calibration=data, bits=10)
    assert distance(reading, data) < 1e-9
    last = [n for n in reading.lowered.nodes if n.op == "polynomial"][-1]
    assert last.series.domain == (-1, 1) and np.allclose(last.series.coefficients, [0.5, 0, 0.5])
    assert len(reading.lowered.nodes[-1].maps) == 1 + residual
    assert residual or ops(reading.lowered) == ["input", "affine", "polynomial", "affine"]


def test_quadratics_that_are_nearly_linear():
    build = Builder((4,))
    x = build.linear(0, rng().normal(size=(4, 4)), layer="fc")
    y = build.add(build.scale(build.mul(x, x), np.array([1e-9, 0.0, 1.0, 0.1])), build.scale(x, np.array([1.0, 3.0, 0.0, 0.1])))
    lowered_close(build, build.linear(y, rng(1).normal(size=(2, 4)), layer="last"), rng(2).normal(size=(40, 4)), 1e-9)


def test_a_channel_that_is_nearly_linear_costs_the_others_no_precision():
    """``x + c x^2`` with small c is a square with a large shift. It still takes one map and one level."""
    curvature = np.array([1.0, -0.5, 0.02, 0.01])
    readings = []
    data = rng(2).normal(size=(40, 4))
    for linear in (np.array([0.0, 0.0, 1.0, 1.0]), np.zeros(4)):
        build = Builder((4,))
        x = build.linear(0, rng().normal(size=(4, 4)), layer="fc")
        y = build.add(build.scale(build.mul(x, x), curvature), build.scale(x, linear))
        readings.append(read(build.graph(build.linear(y, rng(1).normal(size=(2, 4)), layer="last")), calibration=data))
    shifted, plain = readings
    assert distance(shifted, data) < 1e-9
    assert ops(shifted.lowered) == ops(plain.lowered) == ["input", "affine", "polynomial", "affine"]
    bound = shifted.ranges.bound(1)
    assert 1 / (2 * 0.01) / bound > 5  # a large shift
    one, other = (reading.lowered.nodes[-1].maps[0].to_dense() for reading in readings)
    assert np.allclose(one[:, :2], other[:, :2])  # as large, and so are the errors of the squares
    assert np.allclose(one[:, 2:], other[:, 2:] * (1 + 1 / (2 * curvature[2:]) / bound) ** 2)


def test_values_that_grow_without_bound_are_refused_by_name():
    build = Builder((2,))
    x = build.scale(0, 1e30, "large")
    for k in range(3):
        x = build.mul(x, x, f"square {k}")
    with pytest.raises(lt.ValueError, match=r"layer square 1: had values beyond 1e\+100"):
        measure(build.graph(x), np.ones((2, 2)))


def test_maps_that_read_little():
    """Columns that are not read are left out, and rows with one entry are computed together."""
    r = rng(4)
    dense = np.zeros((30, 500))
    dense[np.arange(20), r.integers(0, 50, 20)] = r.normal(size=20)
    dense[20:25, :7] = r.normal(size=(5, 7))
    for matrix in (dense, dense[:, :60], np.eye(6)[[3, 1, 1]]):
        x = r.normal(size=(3, matrix.shape[1]))
        assert np.allclose(Affine.dense(matrix).apply(x), x @ matrix.T)


def test_channels_side_by_side_are_a_grid():
    """Two convolutions of one input, joined, are the convolution with the weights of both."""
    a, b = (rng(k).normal(size=(2, 3, 3, 3)) for k in (1, 2))
    a[:, :, [0, 0, 0, 2, 2, 2], [0, 1, 2, 0, 1, 2]] = 0  # a 1 x 3 kernel in a 3 x 3 one, as a 1 x 1 is in a fire module
    graphs = []
    for joined in (True, False):
        build = Builder((3, 8, 8))
        x = build.conv(build.input, rng().normal(size=(3, 3, 3, 3)), stride=2, padding=1, layer="first")
        x = build.activation(x, "tanh", "act")
        if joined:
            x = build.concat([build.conv(x, w, padding=1, layer=name) for w, name in ((a, "a"), (b, "b"))], 0, "both")
        else:
            x = build.conv(x, np.concatenate([a, b]), padding=1, layer="both")
        x = build.activation(x, "tanh", "act2")
        graphs.append(build.graph(build.conv(x, rng(3).normal(size=(2, 4, 3, 3)), padding=1, layer="last")))
    data = rng(4).normal(size=(40, 3, 8, 8))
    one, other = (read(g, calibration=data, bits=8).lowered for g in graphs)
    wanted = other.evaluate(data)
    assert np.abs(one.evaluate(data) - wanted).max() < 0.05 * np.abs(wanted).max()  # these fits are for other samples
    for x, y in zip(one.nodes, other.nodes):
        assert [m.grids for m in x.maps] == [m.grids for m in y.maps] and [m.stride for m in x.maps] == [m.stride for m in y.maps]
    machines = [Machine(graph, 512) for graph in (one, other)]
    assert [p.gap for p in machines[0].packings] == [p.gap for p in machines[1].packings]
    counts = [[t.diagonals for several in m.transforms for t in several] for m in machines]
    assert counts[0] == counts[1]
