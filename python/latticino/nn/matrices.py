"""Sparse matrices of layers, between values in row order, and their products.

They are large: a convolution of 64 by 64 channels on 8 by 8 pixels has two million entries. So all is computed by
operations on whole numpy arrays.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from .graph import Node
from .lowered import Affine, Grid
from .reference import as_conv

Shape = tuple[int, ...]


def grid_of(shape: Shape) -> Grid | None:
    """The grid of a shape (channels, width) or (channels, height, width); None for other shapes."""
    if len(shape) == 2:
        return Grid(shape[0], 1, shape[1])
    return Grid(*shape) if len(shape) == 3 else None


def hint(shape_in: Shape, shape_out: Shape, stride: Sequence[int]) -> dict[str, object]:
    """Options of `Affine` for a map between grids. There are none if the shapes are no grids."""
    grids = grid_of(shape_in), grid_of(shape_out)
    if grids[0] is None or grids[1] is None or len(shape_in) != len(shape_out):
        return {}
    return {"grids": grids, "stride": (1, *stride) if len(stride) == 1 else tuple(stride)}


def of_layer(node: Node, shape: Shape) -> Affine:
    """The matrix of a linear layer, without its bias."""
    if node.op == "linear":
        return linear(node.arrays["weight"], shape)
    if node.op == "sparse":
        rows, columns = (node.arrays[name].astype(np.int64) for name in ("rows", "columns"))
        return Affine(rows, columns, node.arrays["values"], math.prod(shape), node.options["size"])
    if node.op == "conv":
        o = node.options
        return conv(node.arrays["weight"], shape, node.shape, o["stride"], o["padding"], o["dilation"], o["groups"])
    if node.op == "conv_transpose":
        return conv_transpose(node, shape)
    if node.op == "along":
        return along(node, shape)
    if node.op == "permute":
        index = np.arange(math.prod(shape)).reshape(shape).transpose(node.options["axes"]).reshape(-1)
        return picks(index, math.prod(shape))
    assert node.op == "scale", node.op
    return diagonal(np.broadcast_to(node.arrays["value"], shape).reshape(-1), shape)


def picks(index: np.ndarray, size: int) -> Affine:
    """The map whose row r takes value ``index[r]``."""
    return Affine(np.arange(len(index)), index, np.ones(len(index)), size, len(index))


def diagonal(values: np.ndarray, shape: Shape) -> Affine:
    index, grid = np.arange(len(values)), grid_of(shape)
    return Affine(index, index, values, len(values), len(values), grids=(grid, grid) if grid else None)


def identity(shape: Shape) -> Affine:
    return diagonal(np.ones(math.prod(shape)), shape)


def linear(weight: np.ndarray, shape: Shape) -> Affine:
    """The map that multiplies the last axis by `weight`, at each place of the other axes."""
    m, n = weight.shape
    places = math.prod(shape[:-1])
    if places == 1:
        return Affine.dense(weight)
    r, c = np.nonzero(weight)
    at = np.arange(places)[:, None]
    return Affine((at * m + r).reshape(-1), (at * n + c).reshape(-1), np.tile(weight[r, c], places), places * n,
                  places * m)


def conv(weight: np.ndarray, shape_in: Shape, shape_out: Shape, stride: Sequence[int],
         padding: Sequence[tuple[int, int]], dilation: Sequence[int], groups: int) -> Affine:
    """The map of a convolution. Its entries are in the order of rows, then columns."""
    places_out, kernel = shape_out[1:], weight.shape[2:]
    # For each axis, arrays of shape (places, kernel): the input's position, and whether it lies inside the input.
    at = [np.arange(m)[:, None] * s + np.arange(k) * d - p[0] for m, k, s, d, p in
          zip(places_out, kernel, stride, dilation, padding)]
    inside = [(a >= 0) & (a < n) for a, n in zip(at, shape_in[1:])]
    column, valid = np.zeros((), np.int64), np.ones((), bool)
    for a, ok, n in zip(at, inside, shape_in[1:]):  # axes: places..., kernel..., brought together below
        column = column[..., None, None] * n + a
        valid = valid[..., None, None] & ok
    axes = len(kernel)
    order = [*range(0, 2 * axes, 2), *range(1, 2 * axes, 2)]
    spots, taps = math.prod(places_out), math.prod(kernel)
    column, valid = (v.transpose(order).reshape(spots, taps) for v in (column, valid))
    place, tap = np.nonzero(valid)
    column = column[place, tap]
    # The taps of one place are neighbours here. Each pair of an output and an input channel repeats them.
    out, inner = weight.shape[:2]
    size = math.prod(shape_in[1:])
    counts = np.bincount(place, minlength=spots)
    starts = np.cumsum(counts) - counts
    lengths = counts * inner  # entries of a row
    row_of = np.repeat(np.arange(spots), lengths)
    within = np.arange(len(row_of)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    channel, pick = np.divmod(within, np.maximum(counts[row_of], 1))
    pick = starts[row_of] + pick
    base, taps_of = column[pick] + channel * size, tap[pick]
    flat = weight.reshape(out, inner, taps)
    first = (np.arange(out) // (out // groups)) * inner * size
    rows = (np.arange(out)[:, None] * spots + row_of).reshape(-1)
    columns = (first[:, None] + base).reshape(-1)
    values = flat[:, channel, taps_of].reshape(-1)
    return Affine(rows, columns, values, math.prod(shape_in), math.prod(shape_out),
                  **hint(shape_in, shape_out, stride))  # type: ignore[arg-type]


def conv_transpose(node: Node, shape: Shape) -> Affine:
    """The map of a transposed convolution: a convolution of the input with zeros between its values. The columns of the
    zeros are left out."""
    weight, padding = as_conv(node)
    stride = node.options["stride"]
    spread = (shape[0], *((n - 1) * s + 1 for n, s in zip(shape[1:], stride)))
    m = conv(weight, spread, node.shape, (1,) * len(stride), padding, node.options["dilation"], node.options["groups"])
    index = np.full(spread, -1)
    index[tuple([slice(None)] + [slice(None, None, s) for s in stride])] = np.arange(math.prod(shape)).reshape(shape)
    columns = index.reshape(-1)[m.columns]
    kept = columns >= 0
    return Affine(m.rows[kept], columns[kept], m.values[kept], math.prod(shape), m.size_out)


def along(node: Node, shape: Shape) -> Affine:
    """The map that is the Kronecker product of one matrix per axis."""
    rows, columns, values = np.zeros(1, np.int64), np.zeros(1, np.int64), np.ones(1)
    stride = []
    for axis, n in enumerate(shape):
        m = node.arrays.get(f"axis{axis}")
        r, c = np.nonzero(m) if m is not None else (np.arange(n), np.arange(n))
        v, height = (m[r, c], len(m)) if m is not None else (np.ones(n), n)
        rows = (rows[:, None] * height + r).reshape(-1)
        columns = (columns[:, None] * n + c).reshape(-1)
        values = (values[:, None] * v).reshape(-1)
        stride.append(max(1, round(n / height)))
    local = node.options.get("kind") in ("avg_pool", "slice", "pad") and len(shape) > 1
    options = hint(shape, node.shape, stride[1:]) if local else {}
    return Affine(rows, columns, values, math.prod(shape), math.prod(node.shape), **options)  # type: ignore[arg-type]


def applied(m: Affine, x: np.ndarray) -> np.ndarray:
    """The result for one vector."""
    return np.bincount(m.rows, m.values * x[m.columns], m.size_out)


def product_cost(a: Affine, b: Affine) -> int:
    """Multiplications of `product`."""
    return int(np.bincount(b.rows, minlength=b.size_out)[a.columns].sum())


def product(a: Affine, b: Affine) -> Affine:
    """The map that applies b, then a."""
    counts = np.bincount(b.rows, minlength=b.size_out)
    starts = np.cumsum(counts) - counts
    each = counts[a.columns]
    entry = np.repeat(np.arange(a.nnz), each)
    at = starts[a.columns][entry] + np.arange(len(entry)) - (np.cumsum(each) - each)[entry]
    options: dict[str, object] = {}
    if a.grids and b.grids:
        options = {"grids": (b.grids[0], a.grids[1]), "stride": (a.stride[0] * b.stride[0], a.stride[1] * b.stride[1])}
    return Affine(a.rows[entry], b.columns[at], a.values[entry] * b.values[at], b.size_in, a.size_out,
                  **options)  # type: ignore[arg-type]


def total(a: Affine, b: Affine, sign: float = 1.0) -> Affine:
    """a plus `sign` times b."""
    grids, stride = (a.grids, a.stride) if a.grids == b.grids and a.stride == b.stride else (None, (1, 1))
    return Affine(np.concatenate([a.rows, b.rows]), np.concatenate([a.columns, b.columns]),
                  np.concatenate([a.values, sign * b.values]), a.size_in, a.size_out, grids=grids, stride=stride)


def placed(a: Affine, index: np.ndarray, size: int, grid: Grid | None = None) -> Affine:
    """The map with its row r as row ``index[r]`` of `size` rows. ``grid``: the grid of the result, if it has more
    channels of the same pixels."""
    grids = (a.grids[0], grid) if a.grids is not None and grid is not None else None
    return Affine(index[a.rows], a.columns, a.values, a.size_in, size, grids=grids,
                  stride=a.stride if grids else (1, 1))
