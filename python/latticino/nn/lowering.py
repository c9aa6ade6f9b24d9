"""From a model graph to a lowered one with few affine maps, without separate scalings, and with values within -1 to 1.

The first step decides the structure. A value is kept as an affine expression of existing nodes, and becomes a node only
if a function, a product or several layers need it. So batch norm, scales, pooling, slices and permutations become parts
of the next or the previous map, and parallel linear branches of one input become one map. The second step decides the
scale of every node, so that the values for each polynomial lie within -1 to 1 without a level for scaling.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from .. import errors
from . import matrices
from .activations import Fit, Term, monomials
from .divisors import divided, divisors_of
from .graph import Graph
from .graph import Node as ModelNode
from .lowered import Affine, Lowered, Node, Series
from .ranges import Ranges

_AFFINE = ("linear", "conv", "conv_transpose", "along", "sparse", "scale", "permute")
_STEP = 2.0**-10  # by how much the polynomial of a step may exceed 1
_GROWTH = 4  # how many times more entries a product of maps may have than the maps themselves
_MAX_SHIFT = 2  # how far a square may shift all values, in units of the bound: this costs two bits of precision
# by how much a channel may be narrowed: this costs five bits of its precision, and it is nearly linear then
_MAX_SHIFT_OF_ONE = 64
_ROUNDED = 2.0**-48  # relative: smaller constants are rounding errors
_SMALL = 1 << 16  # products of maps with fewer entries are always made


def lower(graph: Graph, ranges: Ranges, fits: Mapping[int, Fit], facts: Mapping[str, Any] | None = None) -> Lowered:
    """The lowered graph of a model graph that `rewrites.simplified` gave, with ranges and fits of its nodes.

    Its result has the shape and the values of the model's. UnsupportedError, naming the layer, for an operation without
    a lowered form.
    """
    return lowered_with_fit_requests(graph, ranges, fits, facts)[0]


def lowered_with_fit_requests(graph: Graph, ranges: Ranges, fits: Mapping[int, Fit],
                              facts: Mapping[str, Any] | None = None,
                              known: Known | None = None) -> tuple[Lowered, dict[int, float]]:
    """The lowered graph, and requests for wider fits, by nodes of the model graph.

    A request is the bound with which the node's polynomial would need no level for its domain: the bound of the
    largest part of a sum, if the sum itself has a smaller one.
    ``known``: matrices of an earlier call for the same graph."""
    structure = _Structure(graph, ranges, fits, Known() if known is None else known)
    output = structure.result()
    divisors = divisors_of(structure.nodes, output)
    nodes, output = divided(structure.nodes, output)
    requests: dict[int, float] = {}
    for node in nodes:
        series = node.series
        if series is None or node.name not in structure.readers:
            continue
        source, half = structure.readers[node.name]
        low, high = series.domain
        if low == -high and high < 1:
            requests[source] = max(requests.get(source, 0.0), half / high)
    return Lowered(tuple(nodes), output, {**(facts or {}), "units": divisors}), requests


class Known:
    """Matrices of layers, and their products, that are made once for all ranges of one graph."""

    def __init__(self) -> None:
        self._layers: dict[tuple[int, tuple[int, ...]], tuple[ModelNode, Affine]] = {}
        # keeps both factors alive, because it uses their ids
        self._products: dict[tuple[int, int], tuple[Affine, Affine, Affine]] = {}

    def of_layer(self, node: ModelNode, shape: tuple[int, ...]) -> Affine:
        key = id(node), shape
        if key not in self._layers:
            self._layers[key] = node, matrices.of_layer(node, shape)
        return self._layers[key][1]

    def product(self, a: Affine, b: Affine) -> Affine:
        key = id(a), id(b)
        if key not in self._products:
            self._products[key] = a, b, matrices.product(a, b)
        return self._products[key][2]


@dataclass
class Expression:
    """``sum of maps[i] @ node i + bias``; a map of None is the identity."""

    maps: dict[int, Affine | None]
    shape: tuple[int, ...]
    bias: np.ndarray | None = None
    layer: str = ""
    source: int = 0  # the node of the model graph whose range these values have

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def node(self) -> int | None:
        """The node itself, if the expression is one node as it is: without a map, a bias or other terms. Else None."""
        (first, m), *rest = self.maps.items()
        return first if m is None and not rest and self.bias is None else None

    @property
    def number(self) -> float | None:
        """The factor, if the expression is a node times a number other than 0."""
        (_, m), *rest = self.maps.items()
        if rest or self.bias is not None:
            return None
        if m is None:
            return 1.0
        same = m.nnz == m.size_out == m.size_in and np.array_equal(m.rows, m.columns)
        return float(m.values[0]) if same and bool((m.values == m.values[0]).all()) else None

    @property
    def light(self) -> bool:
        """Whether later maps can absorb the expression at no cost. They can if each row has one entry at most, all of
        one node."""
        return len(self.maps) == 1 and all(m is None or (m.nnz <= m.size_out and len(np.unique(m.rows)) == m.nnz)
                                           for m in self.maps.values())


@dataclass
class _Structure:
    graph: Graph
    ranges: Ranges
    fits: Mapping[int, Fit]
    known: Known
    nodes: list[Node] = field(default_factory=list)
    made: list[Expression] = field(default_factory=list)
    # By name of a polynomial: the node of the model graph that it reads, and the end of its domain.
    readers: dict[str, tuple[int, float]] = field(default_factory=dict)

    def result(self) -> int:
        """Writes all nodes, in true values, and returns the index of the result."""
        users = self.graph.users
        for i, node in enumerate(self.graph.nodes):
            out = self._expression(i, node)
            out.source = i
            if len(users[i]) > 1 and not out.light:
                out = self._as_node(out)
            self.made.append(out)
        output = self._as_node(self.made[self.graph.output])
        index = output.node
        assert index is not None
        return index

    def _expression(self, i: int, node: ModelNode) -> Expression:
        xs = [self.made[j] for j in node.inputs]
        if node.op == "input":
            return self._new("input", (), node.shape, node.layer, i)
        if node.op == "reshape":
            return Expression(xs[0].maps, node.shape, xs[0].bias, xs[0].layer, i)
        if node.op in _AFFINE:
            return self._affine(node, xs[0])
        if node.op == "shift":
            added = np.broadcast_to(node.arrays["value"], node.shape).reshape(-1)
            layer = node.layer if xs[0].node is not None else xs[0].layer
            return Expression(xs[0].maps, node.shape, _plus(xs[0].bias, added), layer)
        if node.op == "concat":
            return self._concat(node, xs)
        if node.op in ("add", "sub"):
            return self._sum(i, node, *xs)
        if node.op == "mul":
            return self._new("mul", tuple(self._index(self._as_node(x)) for x in xs), node.shape, node.layer, i)
        if node.op == "matmul":
            return self._matmul(i, node, *xs)
        if node.op == "polynomial":
            bound = self.ranges.bound(node.inputs[0])
            series = monomials(node.arrays["coefficients"].reshape(-1), (-bound, bound))
            return self._terms(i, node, xs[0], (Term((series,)),), 0.0)
        if node.op == "quadratic":
            return self._quadratic(i, node, xs[0])
        if node.op == "activation":
            fit = self.fits[i]
            return self._terms(i, node, xs[0], fit.terms, fit.offset, fit.largest * fit.scale)
        raise errors.UnsupportedError.explain(
            f"layer {node.layer or i}", f"the operation {node.op}", "one with a lowered form",
            "simplify the graph first: rewrites.simplified(graph)")

    def _bound(self, i: int) -> float:
        """The bound of a node of the model graph: 1 for steps and their products, which are never larger."""
        return 1 + _STEP if self._steps(i) else self.ranges.bound(i)

    def _steps(self, i: int) -> bool:
        node = self.graph.nodes[i]
        if node.op == "activation":
            return bool(node.options["function"] == "step")
        turned = node.op == "along" and node.options.get("kind") == "roll"
        return (turned or node.op in ("mul", "reshape")) and all(self._steps(j) for j in node.inputs)

    # ---- nodes ----

    def _new(self, op: Any, inputs: tuple[int, ...], shape: tuple[int, ...], layer: str, source: int,
             bound: float | None = None, **options: Any) -> Expression:
        names = {n.name for n in self.nodes}
        lead = layer or op
        name = next(n for n in (lead, *(f"{lead}.{k}" for k in range(1, len(names) + 2))) if n not in names)
        bound = self._bound(source) if bound is None else bound
        self.nodes.append(Node(name, op, inputs, shape, bound=bound, layer=layer, **options))
        return Expression({len(self.nodes) - 1: None}, shape, None, layer, source)

    def _index(self, x: Expression) -> int:
        assert x.node is not None
        return x.node

    def _as_node(self, x: Expression, bound: float | None = None) -> Expression:
        """The expression as a node of its own."""
        if x.node is not None:
            return Expression(x.maps, x.shape, None, x.layer, x.source)
        maps = tuple(matrices.identity(x.shape) if m is None else m for m in x.maps.values())
        out = self._new("affine", tuple(x.maps), x.shape, x.layer, x.source, bound, maps=maps, bias=x.bias)
        # A later reader of the same value finds the node.
        x.maps, x.bias = out.maps, None
        return out

    # ---- affine maps ----

    def _affine(self, node: ModelNode, x: Expression) -> Expression:
        if node.op == "along" and not node.arrays:
            return x
        m = self.known.of_layer(node, x.shape)
        if not self._worthwhile(m, x):
            x = self._as_node(x)
        bias = None if x.bias is None else matrices.applied(m, x.bias)
        if "bias" in node.arrays:
            own = node.arrays["bias"]
            if node.op not in ("linear", "sparse"):
                own = own.reshape(-1, *(1,) * (len(node.shape) - 1))
            bias = _plus(bias, np.broadcast_to(own, node.shape))
        maps = {i: m if b is None else self.known.product(m, b) for i, b in x.maps.items()}
        layer = x.layer if node.op in ("scale", "permute") and x.node is None else node.layer
        return Expression(dict(maps), node.shape, bias, layer)

    @staticmethod
    def _worthwhile(m: Affine, x: Expression) -> bool:
        """Whether one map instead of two saves more than it costs."""
        if x.light:
            return True
        had = sum(b.nnz for b in x.maps.values() if b is not None)
        cost = sum(m.nnz if b is None else matrices.product_cost(m, b) for b in x.maps.values())
        return cost <= max(_SMALL, _GROWTH * (had + m.nnz))

    def _concat(self, node: ModelNode, xs: list[Expression]) -> Expression:
        index, axis = np.arange(math.prod(node.shape)).reshape(node.shape), node.options["axis"]
        parts = np.split(index, np.cumsum([x.shape[axis] for x in xs])[:-1], axis=axis)
        grid = None if axis else matrices.grid_of(node.shape)  # channels next to each other still form a grid
        maps: dict[int, Affine | None] = {}
        bias: np.ndarray | None = None
        for x, part in zip(xs, parts):
            where = part.reshape(-1)
            if x.bias is not None:
                bias = np.zeros(index.size) if bias is None else bias
                bias[where] = x.bias
            for i, m in x.maps.items():
                own = matrices.placed(matrices.identity(x.shape) if m is None else m, where, index.size, grid)
                before = maps.get(i)
                maps[i] = own if before is None else matrices.total(before, own)
        return Expression(maps, node.shape, bias, node.layer)

    # ---- sums ----

    def _sum(self, i: int, node: ModelNode, x: Expression, y: Expression) -> Expression:
        """The sum as one affine map, if both have the same inputs or neither is a node yet; otherwise as a sum of
        nodes, which is free."""
        sign = 1.0 if node.op == "add" else -1.0
        together = set(x.maps) == set(y.maps) or (x.node is None and y.node is None)
        if together:
            maps = dict(x.maps)
            for j, m in y.maps.items():
                own = matrices.identity(y.shape) if m is None else m
                if j in maps:
                    before = maps[j]
                    maps[j] = matrices.total(matrices.identity(x.shape) if before is None else before, own, sign)
                else:
                    maps[j] = own.scaled(sign)
            bias = x.bias if y.bias is None else _plus(x.bias, sign * y.bias)
            return Expression(maps, node.shape, bias, (x.layer if x.node is None else y.layer) or node.layer)
        inputs = self._index(self._as_node(x)), self._index(self._as_node(y))
        return self._new(node.op, inputs, node.shape, node.layer, i)

    def _matmul(self, i: int, node: ModelNode, x: Expression, y: Expression) -> Expression:
        """A product of matrices. Numbers that multiply a factor multiply the product instead, because the operations
        after the product can absorb them."""
        factor, inputs = 1.0, []
        for own in (x, y):
            number = own.number
            if number is not None and own.node is None:
                factor *= number
                inputs.append(next(iter(own.maps)))
            else:
                inputs.append(self._index(self._as_node(own)))
        # The matmul node computes the product without `factor`, which the next node multiplies by.
        out = self._new("matmul", (inputs[0], inputs[1]), node.shape, node.layer, i, self._bound(i) / abs(factor))
        if factor == 1.0:
            return out
        maps: dict[int, Affine | None] = {self._index(out): matrices.identity(node.shape).scaled(factor)}
        return Expression(maps, node.shape, None, node.layer)

    # ---- polynomials ----

    def _terms(self, i: int, node: ModelNode, x: Expression, terms: tuple[Term, ...], offset: float,
               largest: float = 0.0) -> Expression:
        own = self._bound(i) + abs(offset) + largest
        bound = self.ranges.bound(node.inputs[0])
        parts = [self._term(i, node, x, t, own if len(terms) == 1 else bound + abs(t.shift)) for t in terms]
        total = parts[0]
        for part in parts[1:]:
            total = self._new("add", (self._index(total), self._index(part)), node.shape, node.layer, i, own)
        if offset:
            total = Expression(total.maps, node.shape, np.full(node.size, offset), node.layer)
        return total

    def _quadratic(self, i: int, node: ModelNode, x: Expression) -> Expression:
        """A quadratic polynomial as ``c2 (x + c1 / (2 c2))^2`` and a constant. The map before it takes the shift and
        the map after it takes c2, so only one level is needed. Channels that are shifted far are made narrower in
        exchange, so that other channels keep their precision. If c2 of a channel is almost 0, or if nothing would take
        the shift, the form is ``c1 x + c2 x^2``."""
        c0, c1, c2 = (np.broadcast_to(node.arrays[k], node.shape).reshape(-1) for k in ("c0", "c1", "c2"))
        source = node.inputs[0]
        bound = self.ranges.bound(source)
        shift = np.divide(c1, 2 * c2, out=np.full(c1.size, np.inf), where=c2 != 0)
        shift[(c1 == 0) & (c2 == 0)] = 0.0
        moved = float(np.abs(shift).max())
        narrower, maps = np.ones(1), dict[int, Affine | None]()
        if 0 < moved <= _MAX_SHIFT * bound and self._shifted(x, shift, bound + moved):
            moved, bound = 0.0, bound + moved
        if moved and (x.node is not None or moved > _MAX_SHIFT_OF_ONE * bound):
            u = self._as_node(x)
            square = self._square(i, node, u, bound)
            maps = {self._index(u): matrices.diagonal(c1, node.shape), square: matrices.diagonal(c2, node.shape)}
            return Expression(maps, node.shape, c0, node.layer)
        if moved:
            narrower = bound / (bound + np.abs(shift))
            factor = matrices.diagonal(narrower, node.shape)
            maps = {j: factor if m is None else matrices.product(factor, m) for j, m in x.maps.items()}
            x = Expression(maps, x.shape, narrower * _plus(x.bias, shift), x.layer, source)
        square = self._square(i, node, self._as_node(x, bound if moved else None), bound)
        behind = c2 / narrower**2
        scaled_by = None if np.all(behind == 1) else matrices.diagonal(behind, node.shape)
        rest = c0 - c2 * shift**2
        # it is a complete square, apart from rounding
        if float(np.abs(rest).max()) <= _ROUNDED * float(np.abs(c0).max()):
            rest = np.zeros(1)
        return Expression({square: scaled_by}, node.shape, rest if np.any(rest) else None, node.layer)

    def _shifted(self, x: Expression, shift: np.ndarray, bound: float) -> bool:
        """If x is a product of matrices that nothing else reads, adds numbers to it, which takes no level."""
        at = x.node
        if at is None or self.nodes[at].op != "matmul" or len(self.graph.users[x.source]) > 1:
            return False
        if any(at in n.inputs for n in self.nodes):
            return False
        self.nodes[at] = replace(self.nodes[at], bias=_plus(self.nodes[at].bias, shift), bound=bound)
        return True

    def _square(self, i: int, node: ModelNode, x: Expression, bound: float) -> int:
        series = Series((bound**2 / 2, 0.0, bound**2 / 2), (-bound, bound))
        out = self._new("polynomial", (self._index(x),), node.shape, node.layer, i, bound**2, series=series)
        return self._index(out)

    def _term(self, i: int, node: ModelNode, x: Expression, term: Term, reach: float) -> Expression:
        """A chain of polynomials of ``x - shift``, times ``x - shift`` if the term is gated. Its values lie within
        `reach`."""
        source, chain = node.inputs[0], list(term.chain)
        bound = self.ranges.bound(source) + abs(term.shift)
        low, high = chain[0].domain
        moved = term.shift
        if not term.gated and x.node is None and low + high:  # if it is only centred, one affine map does it
            moved, chain[0] = (low + high) / 2, Series(chain[0].coefficients, ((low - high) / 2, (high - low) / 2))
            bound = (high - low) / 2
        if moved:
            x = Expression(dict(x.maps), x.shape, _plus(x.bias, np.full(x.size, -moved)), x.layer, source)
        u = y = self._as_node(x, None if not moved else bound)
        for k, series in enumerate(chain):
            most = _largest(series)
            if k + 1 < len(chain):  # scaled to stay in the domain of the next polynomial
                most = min(most, chain[k + 1].domain[1])
            elif not term.gated:
                most = min(most, reach)
            y = self._new("polynomial", (self._index(y),), node.shape, node.layer, i, most, series=series)
            if k == 0 and not moved:
                self.readers[self.nodes[-1].name] = source, series.domain[1]
        if not term.gated:
            return y
        return self._new("mul", (self._index(u), self._index(y)), node.shape, node.layer, i, reach)


def _largest(series: Series) -> float:
    """A bound of the values within the domain. It takes 16 points per degree. Between two neighbouring points, a
    polynomial exceeds the larger of their values by a factor of ``1 / cos(pi / 32)`` at most (Ehlich and Zeller,
    1964)."""
    low, high = series.domain
    points = np.cos(np.pi * np.linspace(0, 1, 16 * max(series.degree, 1) + 1))
    most = float(np.abs(series((low + high) / 2 + (high - low) / 2 * points)).max())
    return most / math.cos(math.pi / 32) or 1.0


def _plus(a: np.ndarray | None, b: np.ndarray) -> np.ndarray:
    flat = np.asarray(b, np.float64).reshape(-1)
    return flat if a is None else a + flat
