"""Model graphs: what builders refuse, the numpy reference against plain loops, and graphs as arrays."""

import itertools
import json
import math
import warnings

import numpy as np
import pytest

import latticino as lt
import networks
from latticino.nn import builder, formulas, reference
from latticino.nn.builder import Builder


def rng(seed=0):
    return np.random.default_rng(seed)


def looped(x, weight, stride, padding, dilation, groups):
    """A convolution of one input with two spatial axes, by loops."""
    (before_h, after_h), (before_w, after_w) = padding
    x = np.pad(x, [(0, 0), (before_h, after_h), (before_w, after_w)])
    out, inner, kh, kw = weight.shape
    h = (x.shape[1] - dilation[0] * (kh - 1) - 1) // stride[0] + 1
    w = (x.shape[2] - dilation[1] * (kw - 1) - 1) // stride[1] + 1
    y = np.zeros((out, h, w))
    for o, i, j, c, a, b in itertools.product(*map(range, (out, h, w, inner, kh, kw))):
        channel = o // (out // groups) * inner + c
        y[o, i, j] += weight[o, c, a, b] * x[channel, i * stride[0] + a * dilation[0], j * stride[1] + b * dilation[1]]
    return y


@pytest.mark.parametrize("stride, padding, dilation, groups", [
    ((1, 1), ((1, 1), (1, 1)), (1, 1), 1), ((2, 3), ((0, 2), (1, 0)), (1, 2), 2), ((1, 2), ((0, 0), (0, 0)), (2, 1), 4)])
def test_convolutions(stride, padding, dilation, groups):
    build = Builder((4, 6, 7))
    weight = rng().normal(size=(8, 4 // groups, 3, 2))
    graph = build.graph(build.conv(0, weight, stride=stride, padding=padding, dilation=dilation, groups=groups))
    x = rng(1).normal(size=(3, 4, 6, 7))
    wanted = [looped(one, weight, stride, padding, dilation, groups) for one in x]
    assert np.allclose(reference.run(graph, x), wanted, atol=1e-12)


@pytest.mark.parametrize("groups, output_padding", [(1, 0), (2, (1, 0))])
def test_transposed_convolutions_are_the_transpose(groups, output_padding):
    """<conv_transpose(y), x> = <y, conv(x)> for all x and y."""
    weight = rng().normal(size=(4, 6 // groups, 3, 2))  # of a convolution from 6 channels to 4
    build = Builder((4, 3, 4))
    options = {"stride": (2, 1), "padding": (1, 0), "dilation": (1, 2), "groups": groups}
    up = build.graph(build.conv_transpose(0, weight, output_padding=output_padding, **options))
    down = Builder(up.shape_out)
    conv = down.graph(down.conv(0, weight, **options))
    assert conv.shape_out == (4, 3, 4)
    x, y = rng(1).normal(size=(1, *up.shape_out)), rng(2).normal(size=(1, 4, 3, 4))
    assert math.isclose(float((reference.run(up, y) * x).sum()), float((y * reference.run(conv, x)).sum()), rel_tol=1e-9)


def test_pooling_counts_what_a_window_covers():
    build = Builder((1, 5))
    x = np.array([[[1.0, 2.0, 4.0, 8.0, 16.0]]])
    for options, wanted in [({"kernel": 2}, [1.5, 6.0]), ({"kernel": 2, "ceil": True}, [1.5, 6.0, 16.0]),
                            ({"kernel": 3, "stride": 2, "padding": 1}, [1.0, 14 / 3, 8.0]),
                            ({"kernel": 3, "stride": 2, "padding": 1, "count_padding": False}, [1.5, 14 / 3, 12.0]),
                            ({"kernel": 2, "divisor": 1}, [3.0, 12.0])]:
        assert np.allclose(reference.run(build.graph(build.avg_pool(0, **options)), x)[0, 0], wanted), options
    assert np.allclose(reference.run(build.graph(build.adaptive_avg_pool(0, 2)), x)[0, 0], [7 / 3, 28 / 3])
    assert np.allclose(reference.run(build.graph(build.max_pool(0, 3, 2, 1)), x)[0, 0], [2, 8, 16])


def test_slices_pads_means_and_concatenations():
    x = rng().normal(size=(4, 3, 5))
    build = Builder((3, 5))
    cases = [(build.slice(0, 1, 1, 5, 2), x[:, :, 1:5:2]), (build.mean(0, [1]), x.mean(axis=2)),
             (build.mean(0, [0], True, total=True), x.sum(axis=1, keepdims=True)),
             (build.pad(0, {1: (2, -1)}, 7.0), np.pad(x, [(0, 0), (0, 0), (2, 0)], constant_values=7.0)[:, :, :-1]),
             (build.concat([0, build.scale(0, 2.0)], 1), np.concatenate([x, 2 * x], axis=2)),
             (build.permute(0, (1, 0)), x.swapaxes(1, 2)), (build.add(0, build.mean(0, [0])), x + x.mean(1, keepdims=True))]
    for node, wanted in cases:
        assert np.allclose(reference.run(build.graph(node), x), wanted)


def test_erf():
    x = np.concatenate([np.linspace(-8, 8, 4001), [-1e9, 1e9, 0.0]])
    assert np.abs(formulas.erf(x) - [math.erf(v) for v in x]).max() < 1e-15


def test_batches_of_any_length():
    graph, x = networks.network(3)
    whole = reference.run(graph, x)
    assert np.array_equal(reference.run(graph, x, batch=7), whole) or np.allclose(reference.run(graph, x, 7), whole, atol=1e-12)
    assert reference.run(graph, x[:0]).shape == (0, *graph.shape_out)
    assert [y.shape for y in reference.values(graph, x)] == [(60, *n.shape) for n in graph.nodes]


@pytest.mark.parametrize("seed", range(12))
def test_graphs_as_arrays(seed, tmp_path):
    graph, x = networks.network(seed)
    np.savez(tmp_path / "graph.npz", **graph.to_arrays())
    again = builder.from_arrays(np.load(tmp_path / "graph.npz", allow_pickle=False))
    assert repr(again) == repr(graph)
    assert np.array_equal(reference.run(again, x), reference.run(graph, x))


def damaged(change):
    arrays = networks.network(1)[0].to_arrays()
    text = json.loads(arrays["graph"].tobytes())
    change(text, arrays)
    arrays["graph"] = np.frombuffer(json.dumps(text).encode(), np.uint8)
    return arrays


@pytest.mark.parametrize("change", [
    lambda t, a: t.update(version=2), lambda t, a: t.update(output=999), lambda t, a: t.pop("nodes"),
    lambda t, a: t["nodes"][1].update(op="eval"), lambda t, a: t["nodes"][1].update(inputs=[5]),
    lambda t, a: t.update(input=[-1]), lambda t, a: t["nodes"][1].update(inputs="x"),
    lambda t, a: a.pop(next(k for k in a if k != "graph")), lambda t, a: t["nodes"][-1].update(options=3)])
def test_damaged_arrays(change):
    with pytest.raises(lt.FileError, match="model graph"):
        builder.from_arrays(damaged(change))
    with pytest.raises(lt.FileError):
        builder.from_arrays({"graph": np.frombuffer(b"{]", np.uint8)})


def test_what_builders_refuse_names_the_layer():
    build = Builder((3, 8, 8))
    weight = rng().normal(size=(4, 3, 3, 3))
    for wrong in (lambda: build.linear(0, np.ones((2, 9)), layer="bad"), lambda: build.conv(0, weight, groups=2, layer="bad"),
                  lambda: build.conv(0, weight[:, :2], layer="bad"), lambda: build.conv(0, np.ones((4, 3, 9, 9)), layer="bad"),
                  lambda: build.conv(0, weight, stride=0, layer="bad"), lambda: build.reshape(0, (5,), "bad"),
                  lambda: build.permute(0, (0, 1, 1), "bad"), lambda: build.scale(0, np.ones(5), "bad"),
                  lambda: build.conv(0, weight, np.ones(3), layer="bad"), lambda: build.max_pool(0, 20, layer="bad"),
                  lambda: build.add(0, build.slice(0, 0, 0, 2), "bad"), lambda: build.layer_norm(0, 5, layer="bad")):
        with pytest.raises(lt.ShapeError, match="layer bad: had"):
            wrong()
    with pytest.raises(lt.ValueError, match="layer bad: had NaN or infinity in weight"):
        build.linear(0, np.full((2, 8), np.nan), layer="bad")
    with pytest.raises(lt.UnsupportedError, match="layer bad: had the function 'sine'"):
        build.activation(0, "sine", "bad")
    with pytest.raises(lt.ShapeError, match="reference"):
        reference.run(build.graph(0), np.ones((3, 8, 8)))
    with pytest.raises(lt.ShapeError, match="input"):
        Builder((0, 3))


def test_convolutions_keep_what_errstate_says():
    x, w = np.full((100, 16, 34, 34), 1e200), np.full((2, 16, 3, 3), 1e200)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("error")
        y = reference.correlate(x, w, None, (1, 1), [(0, 0)] * 2, (1, 1), 1)
    assert np.isinf(y).all()
