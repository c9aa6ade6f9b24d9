"""The lowered graph: a network as affine maps, sums, products and polynomials of flat vectors.

A dense layer of 3 values to 2, and the square of each result:

    w = np.array([[1.0, 2.0, 0.5], [0.0, -1.0, 3.0]])
    nodes = (Node("x", "input", (), (3,)),
             Node("fc", "affine", (0,), (2,), maps=(Affine.dense(w),), bias=np.array([0.1, 0.2])),
             Node("square", "polynomial", (1,), (2,), series=Series((0.5, 0.0, 0.5), (-1.0, 1.0))))
    Lowered(nodes, 2).evaluate(np.ones((10, 3)))      # shape (10, 2)

Packing, placement of levels, the float shadow and the encrypted run all read this graph; none of them sees a layer.
Every linear layer is an affine map ``y = M x + b`` between flat values, row by row, with M sparse.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import numpy as np

from .. import arrays, errors
from ..linear.arranged import Arrangement, Side

Op = Literal["input", "affine", "add", "sub", "mul", "matmul", "polynomial", "split", "join", "squares"]

# Operations that bring values from real parts into real and imaginary parts of slots, and back. The planner inserts
# them (halves/).
HALVES = ("split", "join", "squares")

PRODUCTS = ("mul", "matmul")  # for two nodes: their units are multiplied
# How many inputs a node has. An affine node has as many as maps.
_INPUTS = {"input": 0, "add": 2, "sub": 2, "mul": 2, "matmul": 2, "polynomial": 1, **dict.fromkeys(HALVES, 1)}
_NAME = "lowered graph"
_MAX_SIZE = 1 << 31  # largest length of a vector, because two indices make one integer of 64 bits
_MAX_ENTRIES = 1 << 28  # most entries of one matrix
_IN_CACHE = 1 << 14  # values of a polynomial that are computed together
_CACHED_FROM_VALUES = ("_blocks", "digest", "gains")  # cached properties of a map that depend on its values
_EXACT = 1e-12  # relative: a factor that is 1 except for rounding
OUTSIDE = 1e-9  # relative: how far rounding may move a value out of a domain


@dataclass(frozen=True)
class Grid:
    """The form of a flat vector, row by row: ``channels`` planes of ``height`` x ``width`` values. A sequence has
    height 1. It is a hint for packing: a convolution between two grids has few diagonals in the multiplexed layout."""

    channels: int
    height: int
    width: int

    @property
    def size(self) -> int:
        return self.channels * self.height * self.width


@dataclass(frozen=True)
class Series:
    """The polynomial ``sum of coefficients[k] T_k((2 x - low - high) / (high - low))`` with ``domain = (low, high)``.

    Real coefficients, lowest first; T_k are Chebyshev polynomials. Outside of the domain it grows without limit.
    """

    coefficients: tuple[float, ...]
    domain: tuple[float, float]

    def __post_init__(self) -> None:
        given, ends = _numbers(self.coefficients), _numbers(self.domain)
        if given.ndim != 1 or ends.shape != (2,):
            _refuse(f"a series of shape {given.shape} on a domain of shape {ends.shape}", "coefficients and two ends")
        numbers, (low, high) = tuple(given.tolist()), ends.tolist()
        if not numbers or not all(map(math.isfinite, numbers)):
            _refuse("a series with no coefficient, or one that is not finite", "finite coefficients")
        if not (math.isfinite(low) and math.isfinite(high) and low < high):
            _refuse(f"a series on the domain {low} to {high}", "two finite ends, the smaller one first")
        object.__setattr__(self, "coefficients", numbers)
        object.__setattr__(self, "domain", (low, high))

    @property
    def degree(self) -> int:
        """The degree, without coefficients of zero at the end."""
        return max((k for k, c in enumerate(self.coefficients) if c), default=0)

    @property
    def is_square(self) -> bool:
        """Whether it is ``x * x``, except for rounding. That takes one level; other polynomials of degree 2 take two.
        """
        low, high = self.domain
        if self.degree != 2 or low != -high or self.coefficients[1]:
            return False
        constant, _, factor = self.coefficients[:3]
        return max(abs(2 * factor / high**2 - 1), abs(constant / factor - 1)) <= _EXACT

    def __call__(self, x: np.ndarray) -> np.ndarray:
        low, high = self.domain
        y = (2 * np.asarray(x, np.float64) - low - high) / (high - low)
        flat = np.ascontiguousarray(y).reshape(-1)
        for at in range(0, flat.size, _IN_CACHE):
            part = flat[at : at + _IN_CACHE]
            part[...] = np.polynomial.chebyshev.chebval(part, self.coefficients)
        return flat.reshape(y.shape)

    def scaled(self, inside: float, outside: float) -> Series:
        """The series q with ``q(x) = outside * p(inside * x)``, for positive `inside`."""
        low, high = self.domain
        return Series(tuple(outside * c for c in self.coefficients), (low / inside, high / inside))


class Affine:
    """A sparse matrix between flat vectors: row r of the result is the sum of ``values * x[columns]`` over the entries
    with ``rows == r``.

    Kept in the order of rows, then columns; entries of one place are added up, zeros left out. ``grids``: of the input
    and of the result, where they are grids of pixels; ``stride`` of the convolution between them, (height, width).
    """

    def __init__(self, rows: Any, columns: Any, values: Any, size_in: int, size_out: int, *,
                 grids: tuple[Grid, Grid] | None = None, stride: tuple[int, int] = (1, 1)) -> None:
        self.size_in = arrays.as_integer(size_in, _NAME, "size_in", 0, _MAX_SIZE)
        self.size_out = arrays.as_integer(size_out, _NAME, "size_out", 0, _MAX_SIZE)
        r, c = _indices(rows, self.size_out, "rows"), _indices(columns, self.size_in, "columns")
        v = _numbers(values)
        if not (r.shape == c.shape == v.shape) or v.ndim != 1 or v.size > _MAX_ENTRIES:
            _refuse(f"an affine map with {r.shape} rows, {c.shape} columns and {v.shape} values",
                    f"three vectors of one length up to {_MAX_ENTRIES:,}")
        if not np.isfinite(v).all():
            _refuse("an affine map with weights that are NaN or infinite", "finite weights")
        if grids is not None and (grids[0].size, grids[1].size) != (self.size_in, self.size_out):
            _refuse(f"grids of {grids[0].size} and {grids[1].size} values for {self.size_in} and {self.size_out}",
                    "grids of the sizes of the map")
        self.rows, self.columns, self.values = _summed(r, c, v, self.size_in)
        self.grids, self.stride = grids, (int(stride[0]), int(stride[1]))

    @classmethod
    def dense(cls, matrix: Any, **options: Any) -> Affine:
        """The map of a matrix of shape (results, inputs)."""
        m = _numbers(matrix)
        if m.ndim != 2:
            _refuse(f"a matrix of shape {m.shape}", "two dimensions")
        r, c = np.nonzero(m)
        return cls(r, c, m[r, c], m.shape[1], m.shape[0], **options)

    @classmethod
    def identity(cls, size: int, factor: float = 1.0) -> Affine:
        index = np.arange(size)
        return cls(index, index, np.full(size, factor), size, size)

    @property
    def nnz(self) -> int:
        """Entries that are not zero."""
        return int(self.values.size)

    @property
    def selects(self) -> bool:
        """Whether each result is one of the inputs, unchanged, so that only the layout changes."""
        return self.nnz == self.size_out and bool((self.values == 1).all()) and bool(
            np.array_equal(self.rows, np.arange(self.size_out)))

    @property
    def permutes(self) -> bool:
        """Whether the results are the inputs in another order."""
        return self.selects and self.size_in == self.size_out == len(np.unique(self.columns))

    @cached_property
    def digest(self) -> bytes:
        """A hash that identifies this matrix."""
        digest = hashlib.sha256()
        for array in (self.rows, self.columns, self.values):
            digest.update(np.ascontiguousarray(array).data)
        return digest.digest()

    @cached_property
    def gains(self) -> np.ndarray:
        """By how much each result multiplies independent errors of the inputs: the root of the sum of squares of its
        weights."""
        return np.sqrt(np.bincount(self.rows, self.values**2, self.size_out))

    def scaled(self, factor: float) -> Affine:
        """The map times a number that is not 0. Rows and columns are shared."""
        if not (math.isfinite(factor) and factor):
            _refuse(f"an affine map times {factor}", "a finite factor that is not 0")
        out = Affine.__new__(Affine)
        out.__dict__.update({name: value for name, value in self.__dict__.items() if name not in _CACHED_FROM_VALUES})
        out.values = self.values * factor
        return out

    def to_dense(self) -> np.ndarray:
        out = np.zeros((self.size_out, self.size_in))
        out[self.rows, self.columns] = self.values
        return out

    def apply(self, x: np.ndarray, changed: Callable[[np.ndarray], np.ndarray] | None = None) -> np.ndarray:
        """The results for vectors that are the rows of `x`, shape (batch, size_in). `changed` gives what it takes
        in place of the values that it reads."""
        out = np.zeros((self.size_out, len(x)))
        used, blocks = self._blocks
        read = x if used is None else x[:, used]
        turned = np.ascontiguousarray((read if changed is None else changed(read)).T)
        for rows, columns, weights in blocks:
            if weights.ndim == 1:
                out[rows] = weights[:, None] * turned[columns]
            else:
                out[rows] = weights @ turned[columns]
        return np.ascontiguousarray(out.T)

    @cached_property
    def _blocks(self) -> tuple[np.ndarray | None, list[tuple[np.ndarray, np.ndarray, np.ndarray]]]:
        """The columns that are read (None for all), and dense blocks. A block has the rows that read the same columns,
        such as all channels of one pixel of a convolution. Rows with one entry are one block, whose weights are a
        vector."""
        used, columns_of = None, self.columns
        if 2 * len(np.unique(columns_of)) < self.size_in:  # for example a step of a sequence
            used, columns_of = np.unique(columns_of, return_inverse=True)
            columns_of = columns_of.reshape(-1)
        counts = np.bincount(self.rows, minlength=self.size_out)
        starts = np.cumsum(counts) - counts
        # Each column has a random mark. A row is named by the sum of the marks of its columns: rows with the same
        # columns have the same name.
        marks = np.random.default_rng(1).integers(0, 2**63, self.size_in, dtype=np.uint64)
        names = np.zeros(self.size_out, np.uint64)
        np.add.at(names, self.rows, marks[columns_of])
        out = []
        for count in np.unique(counts[counts > 0]):
            rows = np.flatnonzero(counts == count)
            if count == 1:
                out.append((rows, columns_of[starts[rows]], self.values[starts[rows]]))
                continue
            order = rows[np.argsort(names[rows], kind="stable")]
            at = starts[order][:, None] + np.arange(count)
            columns = columns_of[at]
            change = np.flatnonzero((columns[1:] != columns[:-1]).any(axis=1)) + 1
            for first, last in zip([0, *change], [*change, len(order)]):
                out.append((order[first:last], columns[first], self.values[at[first:last]]))
        return used, out


def _numbers(x: Any) -> np.ndarray:
    out = arrays.as_numpy(x, _NAME)
    if out.dtype.kind == "c":
        _refuse("complex numbers", "real ones")
    return out.astype(np.float64)


def _indices(x: Any, size: int, name: str) -> np.ndarray:
    out = arrays.as_numpy(x, _NAME)
    if out.size == 0:
        return np.zeros(0, np.int64)
    if out.dtype.kind not in "iu" or out.min() < 0 or out.max() >= size:
        _refuse(f"{name} of an affine map outside of 0 to {size - 1}", "integers in that range")
    return out.astype(np.int64, copy=False)


def _summed(rows: np.ndarray, columns: np.ndarray, values: np.ndarray,
            width: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    keys = rows * width + columns
    if (keys[1:] > keys[:-1]).all():
        if values.all():
            return rows.copy(), columns.copy(), values  # copied, because the caller may change the array
        kept = np.flatnonzero(values)
        return rows[kept], columns[kept], values[kept]
    keys, where = np.unique(keys, return_inverse=True)
    values = np.bincount(where.reshape(-1), values, len(keys))
    kept = np.flatnonzero(values)
    keys, values = keys[kept], values[kept]
    return keys // width, keys % width, values


@dataclass(frozen=True)
class Node:
    """A value of the lowered graph.

    ``inputs``: indices of earlier nodes. ``shape`` without the batch. ``maps``: one for each input of an affine node,
    whose result is their sum plus ``bias``. ``bound``: values lie within -bound to bound (the calibrated maximum times
    a margin). ``layer``: the user's name of the layer, for messages and tables. ``like``: an earlier node with equally
    many values, whose slots an affine node takes; the planner sets it when it moves one operand to the slots of
    another. ``packed``: how the planner places the values of a product of matrices, or those of an affine node that is
    one of its factors.

    A ``split`` gives twice the values, a ``join`` the values, ``squares`` their squares.
    A ``matmul`` node multiplies matrices, (..., r, n) by (..., n, m), for each of the leading axes; its bias is added.
    """

    name: str
    op: Op
    inputs: tuple[int, ...]
    shape: tuple[int, ...]
    maps: tuple[Affine, ...] = ()
    bias: np.ndarray | None = None
    series: Series | None = None
    bound: float = 1.0
    layer: str = ""
    like: int | None = None
    packed: tuple[Arrangement, Side] | None = None

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    def matrices(self, left: int) -> tuple[int, int, int, int]:
        """The sizes (batch, r, n, m) of a product of matrices whose first factor has `left` values."""
        batch, (r, m) = math.prod(self.shape[:-2]), self.shape[-2:]
        return batch, r, left // (batch * r), m

    @property
    def title(self) -> str:
        return self.layer or self.name


@dataclass(frozen=True)
class Lowered:
    """Nodes in an order in which inputs come first, and the index of the result. Checked when made."""

    nodes: tuple[Node, ...]
    output: int
    # For users: ``units``, by which the values of nodes were divided, by the names of the nodes.
    facts: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "nodes", tuple(self.nodes))
        if not self.nodes or not 0 <= self.output < len(self.nodes):
            _refuse(f"{len(self.nodes)} nodes and the result {self.output}", "the index of a node as the result")
        if not self.inputs:
            _refuse("a graph without an input", "at least one")
        if len({n.name for n in self.nodes}) != len(self.nodes):
            _refuse("two nodes of one name", "names of their own")
        for i, node in enumerate(self.nodes):
            self._check(i, node)

    def _check(self, i: int, node: Node) -> None:
        affine = node.op == "affine"
        if not affine and node.op not in _INPUTS:
            _refuse(f"the operation {node.op!r}", ", ".join(["affine", *_INPUTS]))
        if not all(0 <= j < i for j in node.inputs):
            _refuse(f"{node.name} with inputs {node.inputs}", f"earlier nodes than {i}")
        wanted = len(node.maps) if affine else _INPUTS[node.op]
        if len(node.inputs) != wanted or (affine and not wanted):
            _refuse(f"{node.name}, {node.op}, with {len(node.inputs)} inputs", f"{wanted or 'one or more'}")
        if not node.shape or min(node.shape) < 1:
            _refuse(f"{node.name} of shape {node.shape}", "at least one axis, and one value or more along each")
        if not (math.isfinite(node.bound) and node.bound > 0):
            _refuse(f"{node.name} with the bound {node.bound}", "a positive number")
        if (node.op == "polynomial") != (node.series is not None) or (not affine and node.maps):
            _refuse(f"{node.name}, {node.op}, with maps or a series of another operation", "its own options alone")
        if node.like is not None and not (affine and 0 <= node.like < i and self.nodes[node.like].size == node.size):
            _refuse(f"{node.name} packed like node {node.like}", "an affine node, and an earlier one of as many values")
        sizes = [self.nodes[j].size for j in node.inputs]
        if affine:
            for size, m in zip(sizes, node.maps):
                if (m.size_in, m.size_out) != (size, node.size):
                    _refuse(f"{node.name} with a map from {m.size_in} to {m.size_out} values",
                            f"one from {size} to {node.size}")
            if node.bias is not None and (np.shape(node.bias) != (node.size,) or not np.isfinite(node.bias).all()):
                _refuse(f"{node.name} with a bias of shape {np.shape(node.bias)}",
                        f"{node.size} finite numbers in a row")
        elif node.op == "matmul":
            self._check_matmul(node, sizes)
        elif any(size != node.size for size in sizes) or node.bias is not None:
            _refuse(f"{node.name} of {node.size} values with inputs of {sizes}, or with a bias",
                    "inputs of its own size, and no bias")
        if node.packed is not None:
            how, side = node.packed
            fits = node.size == math.prod(how.shape_of(side)) and (side == "result") == (node.op == "matmul")
            if not fits or node.op not in ("affine", "matmul") or node.like is not None:
                _refuse(f"{node.name}, {node.op}, packed as the {side} side of {how}",
                        "a product or a factor of that size")

    @staticmethod
    def _check_matmul(node: Node, sizes: list[int]) -> None:
        if len(node.shape) < 2:
            _refuse(f"{node.name}, a product of matrices of shape {node.shape}", "two axes or more")
        batch, r, n, m = node.matrices(sizes[0])
        if sizes != [batch * r * n, batch * n * m] or not n:
            _refuse(f"{node.name} of shape {node.shape} with factors of {sizes} values", "matrices that fit")
        if node.bias is not None and (np.shape(node.bias) != (node.size,) or not np.isfinite(node.bias).all()):
            _refuse(f"{node.name} with a bias of shape {np.shape(node.bias)}", f"{node.size} finite numbers in a row")

    @property
    def inputs(self) -> tuple[int, ...]:
        """Indices of the input nodes."""
        return tuple(i for i, n in enumerate(self.nodes) if n.op == "input")

    @property
    def products(self) -> tuple[int, ...]:
        """Indices of the products of matrices."""
        return tuple(i for i, n in enumerate(self.nodes) if n.op == "matmul")

    @property
    def users(self) -> list[list[int]]:
        """For each node, those that read it; one that reads it twice counts twice."""
        out: list[list[int]] = [[] for _ in self.nodes]
        for i, node in enumerate(self.nodes):
            for j in node.inputs:
                out[j].append(i)
        return out

    def evaluate(self, *batches: Any) -> np.ndarray:
        """The result for a batch of each input, in float: shape (batch, *shape of the result)."""
        return self.values(*batches)[self.output]

    def values(self, *batches: Any, check: bool = True) -> list[np.ndarray]:
        """The values of all nodes for a batch of each input, shape (batch, *shape).

        ValueError if a value leaves the domain of a polynomial, naming the layer (`check`).
        """
        given = self._batches(batches)
        out: list[np.ndarray] = []
        for i, node in enumerate(self.nodes):
            xs = [out[j] for j in node.inputs]
            out.append(given[i] if node.op == "input" else result_of(node, xs, check))
        return [x.reshape(len(x), *n.shape) for x, n in zip(out, self.nodes)]

    def _batches(self, batches: tuple[Any, ...]) -> dict[int, np.ndarray]:
        if len(batches) != len(self.inputs):
            raise errors.ShapeError.explain("evaluate", f"{len(batches)} inputs", f"{len(self.inputs)}",
                                            "pass one batch for each input of the model")
        out, length = {}, None
        for i, batch in zip(self.inputs, batches):
            node, x = self.nodes[i], np.asarray(batch)
            if x.dtype.kind not in "biuf" or x.shape[1:] != node.shape or (length is not None and len(x) != length):
                raise errors.ShapeError.explain(
                    "evaluate", f"a batch of shape {x.shape} and type {x.dtype}",
                    f"real numbers of shape (batch, {', '.join(map(str, node.shape))})", "stack the samples")
            if not np.isfinite(x).all():
                raise errors.ValueError.explain("evaluate", "NaN or infinity", "finite numbers", "clean the data")
            out[i], length = x.reshape(len(x), node.size).astype(np.float64), len(x)
        return out


def result_of(node: Node, xs: list[np.ndarray], check: bool = True) -> np.ndarray:
    """The result of a node for its inputs, each of shape (batch, size)."""
    if node.op == "affine":
        total = node.maps[0].apply(xs[0])
        for m, x in zip(node.maps[1:], xs[1:]):
            total += m.apply(x)
        return total if node.bias is None else total + node.bias
    xs = [x.reshape(len(x), -1) for x in xs]
    if node.op == "polynomial":
        assert node.series is not None
        if check:
            require_within(node, xs[0])
        return node.series(xs[0])
    if node.op in HALVES:
        return 2 * xs[0] if node.op == "split" else xs[0] if node.op == "join" else xs[0] ** 2
    if node.op == "matmul":
        batch, r, n, width = node.matrices(xs[0].shape[1])
        out = np.matmul(xs[0].reshape(-1, batch, r, n), xs[1].reshape(-1, batch, n, width)).reshape(-1, node.size)
        return np.asarray(out if node.bias is None else out + node.bias)
    return np.asarray({"add": np.add, "sub": np.subtract, "mul": np.multiply}[node.op](*xs))


def require_within(node: Node, x: np.ndarray, unit: float = 1.0, outside: float = OUTSIDE) -> None:
    """Raises ValueError, naming the layer, if values leave the domain of a polynomial. `unit`: the unit of the values;
    `outside`: how far outside they may lie, relative to the domain."""
    assert node.series is not None
    low, high = node.series.domain
    slack = outside * (high - low)
    least, most = float(x.min(initial=low)), float(x.max(initial=high))
    if least < low - slack or most > high + slack:
        raise errors.ValueError.explain(
            f"layer {node.title}", f"values from {least * unit:.4g} to {most * unit:.4g}",
            f"values from {low * unit:.4g} to {high * unit:.4g}, the range that its polynomial was fitted for",
            "calibrate with data that show such values, or compile with a larger margin")


def _refuse(had: str, needs: str) -> None:
    raise errors.ShapeError.explain(_NAME, had, needs, "correct the graph")
