"""Units of values: the scaled graph computes the same, its values lie in the unit box, and domains take no level."""

import numpy as np
import pytest
from test_lowered import rng

from latticino.nn.lowered import Affine, Lowered, Node, Series
from latticino.nn.units import scaled


def dense(n, m, seed=0):
    return Affine.dense(rng(seed).normal(size=(m, n)))


def relu(first, name, at, size, bound, out):
    """A ReLU as two polynomials and a product: x (a + b odd(x))."""
    return (Node(f"{name}.p1", "polynomial", (at,), (size,), series=Series((0, 1.2, 0, 0.3), (-bound, bound)), bound=1.6),
            Node(f"{name}.p2", "polynomial", (first,), (size,), series=Series((0.5, 0.5), (-1.6, 1.6)), bound=1.0),
            Node(f"{name}.y", "mul", (at, first + 1), (size,), bound=out))


def residual():
    nodes = (Node("x", "input", (), (4,), bound=3.0),
             Node("a", "affine", (0,), (4,), maps=(dense(4, 4),), bias=np.ones(4), bound=20.0),
             *relu(2, "r", 1, 4, 25.0, 20.0),
             Node("b", "affine", (4,), (4,), maps=(dense(4, 4, 1),), bound=50.0),
             Node("s", "add", (5, 4), (4,), bound=60.0),
             *relu(7, "t", 6, 4, 64.0, 60.0),
             Node("c", "affine", (9,), (2,), maps=(dense(4, 2, 2),), bound=100.0))
    return Lowered(nodes, 10)


def squares():
    """x + x^2 + (2 x)^2: products in one sum, whose units differ."""
    nodes = (Node("x", "input", (), (3,), bound=5.0), Node("q", "mul", (0, 0), (3,), bound=25.0),
             Node("s", "add", (0, 1), (3,), bound=30.0), Node("d", "affine", (0,), (3,), maps=(Affine.identity(3, 2.0),),
                                                              bound=10.0),
             Node("e", "mul", (3, 3), (3,), bound=100.0), Node("y", "sub", (2, 4), (3,), bound=130.0))
    return Lowered(nodes, 5)


def gate():
    nodes = (Node("x", "input", (), (3,), bound=5.0),
             Node("g", "polynomial", (0,), (3,), series=Series((0.5, 0.5), (-5.0, 7.0)), bound=1.0),
             Node("y", "mul", (1, 0), (3,), bound=5.0), Node("z", "add", (0, 2), (3,), bound=10.0))
    return Lowered(nodes, 3)


@pytest.mark.parametrize("make", [residual, squares, gate])
def test_the_same_in_other_units(make):
    graph = make()
    s = scaled(graph)
    bound = graph.nodes[0].bound
    x = rng(3).uniform(-bound, bound, (50, *graph.nodes[0].shape)) / 4
    want = graph.evaluate(x)
    got = s.graph.values(x / s.units[0], check=False)
    assert np.allclose(got[s.graph.output] * s.units[s.graph.output], want, rtol=1e-9, atol=1e-9)
    for node, unit in zip(s.graph.nodes, s.units):
        if node.op == "mul":
            a, b = (s.units[j] for j in node.inputs)
            assert unit == pytest.approx(a * b)
        if node.op in ("add", "sub"):
            assert len({unit, *(s.units[j] for j in node.inputs)}) == 1


@pytest.mark.parametrize("make", [residual, gate])
def test_domains_take_no_level_and_values_fit(make):
    s = scaled(make())
    for i, node in enumerate(s.graph.nodes):
        if node.series is not None:
            low, high = node.series.domain
            assert (2 / (high - low)).is_integer()
        if not any(s.graph.nodes[j].op == "mul" for j in s.graph.users[i]):
            assert node.bound <= 1.0 + 1e-12 or i == s.graph.output
    unit, bound = s.units[s.graph.output], s.graph.nodes[s.graph.output].bound
    assert (unit == 1 and 1 / 32 <= bound <= 32) or (np.log2(unit).is_integer() and 0.7 < bound < 1.5)


def test_products_that_disagree_get_a_factor_of_their_own():
    graph = squares()
    s = scaled(graph)
    assert len(s.graph.nodes) == len(graph.nodes) + 3  # one more after the result, whose unit is 1
