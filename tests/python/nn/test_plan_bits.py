"""Bits of plans compared with those of encrypted runs, for weights of very different sizes."""

import numpy as np
import pytest
from test_compiled import BOOT, calibrated

import latticino as lt
from latticino.nn.compiling import compiled
from latticino.nn.lowered import Affine, Node

WIDTH, RARE = 64, 2


def rng(seed):
    return np.random.default_rng(seed)


def dense(seed, size=WIDTH):
    return Affine.dense(rng(seed).normal(size=(size, WIDTH)) / WIDTH**0.5)


def quadratics():
    """Squares and maps in turn, as in a residual network of learned quadratics. Two of 64 values are small, and the
    shortcut multiplies their squares by 2^11."""
    small = np.where(np.arange(WIDTH) < RARE, 2.0**-6, 1.0)
    x = rng(1).uniform(-1, 1, (200, WIDTH)) * small
    shortcut = Affine(np.arange(WIDTH), np.arange(WIDTH), 0.5 * small**-2, WIDTH, WIDTH)
    nodes = [Node("x", "input", (), (WIDTH,)), Node("p", "mul", (0, 0), (WIDTH,)),
             Node("b", "affine", (1,), (WIDTH,), maps=(dense(3),)), Node("q", "mul", (2, 2), (WIDTH,)),
             Node("c", "affine", (3, 1), (WIDTH,), maps=(dense(4), shortcut)), Node("r", "mul", (4, 4), (WIDTH,)),
             Node("last", "affine", (5,), (WIDTH,), maps=(dense(5),))]
    return calibrated(nodes, x), x


def rotated():
    """One map. Two of 64 results have weights of 2^5, which cancel: all values are there twice. But the errors that the keys of
    rotations leave do not cancel."""
    x = np.tile(rng(1).uniform(-1, 1, (200, WIDTH // 2)), 2)
    large = np.where(np.arange(WIDTH) < RARE, 2.0**5, 0.0)[:, None]
    half = rng(3).normal(size=(WIDTH, WIDTH // 2)) / WIDTH**0.5
    weights = np.concatenate([half + large, half - large], axis=1)
    return calibrated([Node("x", "input", (), (WIDTH,)), Node("a", "affine", (0,), (WIDTH,), maps=(Affine.dense(weights),))], x), x


def refreshed():
    """Squares of normal values, far smaller than their bound, which are bootstrapped."""
    x = rng(1).normal(size=(200, WIDTH))
    nodes = [Node("x", "input", (), (WIDTH,))]
    for k in range(4):
        nodes += [Node(f"map {k}", "affine", (2 * k,), (WIDTH,), maps=(dense(k),)),
                  Node(f"square {k}", "mul", (2 * k + 1,) * 2, (WIDTH,))]
    return calibrated([*nodes, Node("last", "affine", (8,), (WIDTH,), maps=(dense(5),))], x), x


@pytest.mark.slow
@pytest.mark.parametrize("make, preset, keys, runs", [
    (quadratics, "test-n10-leveled-insecure", 10, 8), (rotated, "n13-d30-leveled-v1", 3, 8), (refreshed, BOOT, 3, 8)])
def test_weights_of_different_sizes(make, preset, keys, runs, device):
    """The bits of each layer and of the result are those of the runs within a bit, and not those of the largest weight.

    The errors of squares lie in two slots. There a key multiplies them by a number of its own, whose square is exponential. Its
    mean over two slots and ten keys has a deviation of 0.22, which are 0.16 bits."""
    graph, x = make()
    enc = compiled(graph, x, preset, device)
    assert (enc.plan.bootstraps > 0) == (make is refreshed)
    squares = []
    for k in range(keys):
        client = lt.keygen(enc.context)
        enc.context.use(enc.server_keys(client))
        measured = enc.measured_bits(client, x[k * runs : (k + 1) * runs])
        squares.append(2.0 ** (-2 * np.array(measured)))
    measured = -np.log2(np.mean(squares, axis=0)) / 2
    assert enc.plan.layers[-1].bits == enc.plan.bits and abs(measured[-1] - enc.plan.bits) < 1
    # The plan assumes that a bootstrapping takes as much from all values as from the largest.
    above = 1.5 if make is refreshed else 1
    for layer, bits in zip(enc.plan.layers, measured):
        assert layer.bits - 1 < bits < layer.bits + above, (layer.layer, layer.bits, bits)
