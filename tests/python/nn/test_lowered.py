"""The lowered graph: what it refuses, and its numpy executor against plain matrices."""

import numpy as np
import pytest

import latticino as lt
from latticino.nn.lowered import Affine, Grid, Lowered, Node, Series


def rng(seed=0):
    return np.random.default_rng(seed)


def conv_entries(weight, height, width, stride=(1, 1), padding=(1, 1)):
    """Entries of a convolution by loops."""
    o, c, kh, kw = weight.shape
    oh = (height + 2 * padding[0] - kh) // stride[0] + 1
    ow = (width + 2 * padding[1] - kw) // stride[1] + 1
    rows, columns, values = [], [], []
    for y in range(oh):
        for x in range(ow):
            for dy in range(kh):
                for dx in range(kw):
                    sy, sx = y * stride[0] + dy - padding[0], x * stride[1] + dx - padding[1]
                    if 0 <= sy < height and 0 <= sx < width:
                        for a in range(o):
                            for b in range(c):
                                rows.append((a * oh + y) * ow + x)
                                columns.append((b * height + sy) * width + sx)
                                values.append(weight[a, b, dy, dx])
    return Affine(rows, columns, values, c * height * width, o * oh * ow,
                  grids=(Grid(c, height, width), Grid(o, oh, ow)), stride=stride)


@pytest.mark.parametrize("sizes", [(1, 1), (7, 3), (3, 7), (40, 40)])
def test_maps_are_their_dense_matrices(sizes):
    m = rng().normal(size=sizes) * (rng(1).random(sizes) < 0.5)
    a = Affine.dense(m)
    x = rng(2).normal(size=(5, sizes[1]))
    assert np.allclose(a.apply(x), x @ m.T, atol=1e-12)
    assert np.array_equal(a.to_dense(), m)
    assert a.nnz == np.count_nonzero(m)


def test_entries_in_any_order_and_twice_are_added_up():
    a = Affine([1, 0, 1, 0], [0, 1, 0, 1], [1.0, 2.0, 3.0, -2.0], 2, 3)
    assert np.array_equal(a.to_dense(), [[0, 0], [4, 0], [0, 0]])


@pytest.mark.parametrize("stride, padding", [((1, 1), (1, 1)), ((2, 2), (1, 1)), ((1, 2), (0, 1))])
def test_convolutions_in_blocks(stride, padding):
    a = conv_entries(rng().normal(size=(4, 3, 3, 3)), 6, 5, stride, padding)
    x = rng(1).normal(size=(9, 90))
    assert np.allclose(a.apply(x), x @ a.to_dense().T, atol=1e-12)
    assert len(a._blocks) <= a.grids[1].height * a.grids[1].width  # all channels of a pixel at once


def small():
    w = rng().normal(size=(4, 3))
    nodes = (Node("x", "input", (), (3,)),
             Node("fc", "affine", (0,), (2, 2), maps=(Affine.dense(w),), bias=np.arange(4.0), layer="fc1"),
             Node("p", "polynomial", (1,), (2, 2), series=Series((0.5, 1.0, 0.25), (-8, 8)), layer="act"),
             Node("m", "mul", (1, 2), (2, 2)),
             Node("s", "sub", (3, 1), (2, 2)),
             Node("two", "affine", (4, 0), (2,), maps=(Affine.dense(np.ones((2, 4))), Affine.dense(np.ones((2, 3))))))
    return Lowered(nodes, 5), w


def test_the_executor():
    graph, w = small()
    x = rng(3).normal(size=(6, 3)) / 2
    y = x @ w.T + np.arange(4)
    t = y / 8
    p = 0.5 + t + 0.25 * (2 * t * t - 1)
    want = (p * y - y).sum(axis=1) + x.sum(axis=1)
    got = graph.evaluate(x)
    assert got.shape == (6, 2)
    assert np.allclose(got, want[:, None], atol=1e-12)
    assert [v.shape for v in graph.values(x)] == [(6, 3), (6, 2, 2), (6, 2, 2), (6, 2, 2), (6, 2, 2), (6, 2)]


def test_a_value_outside_of_its_domain_names_the_layer():
    graph, _ = small()
    with pytest.raises(lt.ValueError, match="layer act.*calibrate"):
        graph.evaluate(np.full((1, 3), 30.0))
    assert graph.values(np.full((1, 3), 30.0), check=False)[5].shape == (1, 2)


def test_a_scaled_series():
    s = Series((0.1, 0.2, 0.3), (-2.0, 6.0))
    x = np.linspace(-2, 6, 17)
    assert np.allclose(s.scaled(4.0, 0.5)(x / 4.0), 0.5 * s(x))


@pytest.mark.parametrize("batch", [np.zeros((2, 4)), np.zeros(3), np.full((1, 3), np.nan), np.zeros((1, 3), complex)])
def test_batches_that_do_not_fit(batch):
    with pytest.raises((lt.ShapeError, lt.ValueError), match="evaluate"):
        small()[0].evaluate(batch)


X = Node("x", "input", (), (3,))


@pytest.mark.parametrize("make", [
    lambda: Affine([0], [3], [1.0], 3, 3),
    lambda: Affine([0.5], [0], [1.0], 3, 3),
    lambda: Affine([0], [0], [np.inf], 3, 3),
    lambda: Affine([0, 1], [0], [1.0], 3, 3),
    lambda: Affine([0], [0], [1.0], 3, 3, grids=(Grid(1, 1, 3), Grid(1, 1, 4))),
    lambda: Series((), (-1, 1)),
    lambda: Series((1.0,), (1, -1)),
    lambda: Lowered((), 0),
    lambda: Lowered((X,), 1),
    lambda: Lowered((X, X), 1),
    lambda: Lowered((X, Node("a", "add", (0, 1), (3,))), 1),
    lambda: Lowered((X, Node("a", "add", (0,), (3,))), 1),
    lambda: Lowered((X, Node("a", "add", (0, 0), (4,))), 1),
    lambda: Lowered((X, Node("a", "relu", (0,), (3,))), 1),
    lambda: Lowered((X, Node("a", "polynomial", (0,), (3,))), 1),
    lambda: Lowered((X, Node("a", "affine", (0,), (3,), maps=(Affine.identity(4),))), 1),
    lambda: Lowered((X, Node("a", "affine", (0,), (3,), maps=(Affine.identity(3),), bias=np.zeros(4))), 1),
    lambda: Lowered((X, Node("a", "add", (0, 0), (3,), bound=0.0)), 1),
])
def test_graphs_that_are_none(make):
    with pytest.raises(lt.ShapeError):
        make()


def test_which_series_are_squares():
    def square(constant=0.5, linear=0.0, factor=0.5, low=-1.0, high=1.0, *more):
        return Series((constant, linear, factor, *more), (low, high)).is_square

    assert square() and square(8.0, 0.0, 8.0, -4.0, 4.0) and square(0.5 + 1e-15) and square(0.5, 0.0, 0.5, -1.0, 1.0, 0.0)
    assert not square(0.6) and not square(0.5, 1e-9) and not square(1.0, 0.0, 1.0) and not square(-0.5, 0.0, -0.5)
    assert not square(0.5, 0.0, 0.5, -1.0, 2.0) and not square(0.5, 0.0, 0.5, -1.0, 1.0, 1e-9)
    assert not Series((0.5,), (-1.0, 1.0)).is_square and not Series((0.0, 1.0), (-1.0, 1.0)).is_square


def test_an_affine_map_keeps_its_own_numbers():
    rows, columns, values = np.array([0, 1]), np.array([1, 0]), np.array([2.0, 3.0])
    m = Affine(rows, columns, values, 2, 2)
    for array in (rows, columns, values):
        array[:] = 0
    assert np.array_equal(m.apply(np.array([[1.0, 10.0]])), [[20.0, 3.0]])
