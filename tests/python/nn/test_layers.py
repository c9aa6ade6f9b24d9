"""Layers that consist of many nodes, encrypted: levels, scales and values of each node, and the model's own result."""

import numpy as np
import pytest
from test_compiled import BOOT, check_nodes
from test_lowered import rng

import latticino as lt
from claimed import LUCK
from latticino.nn.builder import Builder
from latticino.nn.reference import run


def weights(k, *shape):
    return rng(k).normal(size=shape) / np.sqrt(np.prod(shape[1:]))


def max_pool():
    """A tree of comparisons: the larger one of two columns, then of two rows."""
    b = Builder((2, 4, 4))
    x = b.flatten(b.max_pool(b.input, 2, layer="pool"))
    return b.graph(b.linear(x, weights(1, 3, 8), layer="fc"))


def overlapping():
    """Windows of three values that overlap, with padding."""
    b = Builder((2, 6))
    x = b.flatten(b.max_pool(b.input, 3, 2, 1, layer="pool"))
    return b.graph(b.linear(x, weights(1, 3, 6), layer="fc"))


def larger():
    """The larger one of two branches, then the largest value of three along an axis that is not the last one."""
    b = Builder((3, 4))
    x = b.maximum(b.linear(b.input, weights(0, 4, 4), layer="fc1"), b.input, layer="maximum")
    return b.graph(b.linear(b.largest(x, 0, layer="amax"), weights(1, 3, 4), layer="fc2"))


def layer_norm():
    b = Builder((4, 8))
    x = b.layer_norm(b.linear(b.input, weights(0, 8, 8), layer="fc"), 1, 1 + weights(1, 8, 4)[:, 0] / 4, weights(2, 8, 4)[:, 0],
                     layer="norm")
    return b.graph(b.linear(x, weights(3, 2, 8), layer="last"))


def transposed():
    """New values are inserted between its values: strides of 2, and an output with one row and column more."""
    b = Builder((3, 4, 4))
    x = b.conv_transpose(b.input, weights(0, 3, 2, 3, 3), weights(1, 2), stride=2, padding=1, output_padding=1, layer="up")
    x = b.flatten(b.activation(x, "silu", layer="act"))
    return b.graph(b.linear(x, weights(2, 3, 128), layer="fc"))


def recurrent(kind):
    gates = {"lstm": 4, "gru": 3}[kind]
    b = Builder((3, 4))
    x = b.recurrent(kind, b.input, weights(0, 4 * gates, 4), weights(1, 4 * gates, 4), weights(2, 4 * gates, 4)[:, 0] / 2,
                    weights(3, 4 * gates, 4)[:, 0] / 2, layer=kind)
    return b.graph(b.linear(b.reshape(b.slice(x, 0, 2, 3, layer="last"), (4,), "last"), weights(4, 2, 4), layer="fc"))


# With degrees of their activations, and the resulting distance from the model.
MODELS = {"max pool": (max_pool, {"pool": 7}, 0.15), "overlapping windows": (overlapping, {"pool": 7}, 0.15),
          "larger": (larger, {"maximum": 7, "amax": 7}, 0.15), "layer norm": (layer_norm, {"norm": 7}, 0.15), "transposed": (transposed, {"act": 4}, 0.02),
          "lstm": (lambda: recurrent("lstm"), {"lstm": 5}, 0.02), "gru": (lambda: recurrent("gru"), {"gru": 3}, 0.06)}


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
def test_encrypted(device, name):
    make, fits, near = MODELS[name]
    graph = make()
    x = rng(7).uniform(-1, 1, (300, *graph.shape_in))
    enc = lt.nn.compile(graph, calibration=x, preset=BOOT, device=device, fits=fits)
    client = lt.keygen(enc.context)
    enc.context.use(enc.server_keys(client))
    check_nodes(enc, client, x)
    got = enc.decrypt(client, enc(enc.encrypt(client, x[1]))).unmarked().reshape(-1)  # recorded
    shadow = enc.shadow(x).reshape(len(x), -1)
    largest = np.abs(shadow).max()
    assert np.abs(got - shadow[1]).mean() < 2.0 ** (LUCK - enc.plan.bits) * 1.25 * largest
    exact = run(graph, x).reshape(len(x), -1)
    assert np.abs(shadow - exact).mean() < near * np.abs(exact).max()
    assert set(fits) <= {layer.layer for layer in enc.plan.layers}
    assert enc.plan.bootstraps or name == "transposed"
