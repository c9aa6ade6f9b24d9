"""Ranges of a network's values, measured on calibration data."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .. import arrays, errors
from . import reference
from .graph import Graph

MARGIN = 1.25
ENOUGH = 1000  # with fewer inputs, ranges are reported as uncertain
_SAMPLE = 1 << 14  # number of values of each node that are kept
_LARGEST = 1e100  # the largest size of a value, because squares of values are added up
_AT_ONCE = 1 << 25  # numbers that all nodes compute for one batch


@dataclass(frozen=True)
class NodeRange:
    """Smallest, largest, mean, deviation and a random sample of all values of a node over all inputs.

    ``tenth``: the tenth largest of the inputs' own largest sizes; the smallest where there are fewer than ten.
    """

    low: float
    high: float
    mean: float
    deviation: float
    sample: np.ndarray
    tenth: float

    @property
    def most(self) -> float:
        return max(abs(self.low), abs(self.high))


@dataclass(frozen=True)
class Normal:
    """Units of each value of an input: the client encrypts ``(x - centre) / width``. Arrays of the shape of an input.

    Trees have the middle and half the range of each feature, so that calibration data are within -1 to 1; features of
    very different sizes are divided by factors (`balancing`). ``clips``: a value outside of its range is read as the
    nearest end, where that is known to change no result.
    """

    centre: np.ndarray
    width: np.ndarray
    clips: bool = False

    @classmethod
    def of(cls, data: np.ndarray, clips: bool = False) -> Normal:
        """From inputs along the first axis. If a feature has one value, its width is the value's size, at least 1."""
        low, high = data.min(axis=0), data.max(axis=0)
        width, centre = (high - low) / 2, (high + low) / 2
        return cls(centre, np.where(width > np.abs(centre) * 2.0**-40, width, np.maximum(np.abs(centre), 1.0)), clips)

    @classmethod
    def plain(cls, shape: tuple[int, ...]) -> Normal:
        """Units that leave values as they are."""
        return cls(np.zeros(shape), np.ones(shape))

    def times(self, factors: np.ndarray) -> Normal:
        """The units that give the values of these units, divided by factors."""
        return Normal(self.centre, self.width * factors, self.clips)

    def __call__(self, x: np.ndarray) -> np.ndarray:
        return np.asarray((x - self.centre) / self.width)

    def require_within(self, operation: str, x: np.ndarray, bound: float) -> None:
        """ValueError, naming a feature, where a value of the batch x lies beyond `bound` widths from its centre."""
        beyond = np.abs(self(x)) - bound
        if x.size and float(beyond.max()) > bound * 1e-9:
            where = np.unravel_index(int(beyond.argmax()), x.shape)
            at = where[1:]
            low, high = (float(self.centre[at] + side * bound * self.width[at]) for side in (-1, 1))
            name = ", ".join(map(str, at))
            raise errors.ValueError.explain(
                operation, f"{float(x[where]):.4g} as feature {name} of sample {where[0]}",
                f"{low:.4g} to {high:.4g}, the range for which it was calibrated",
                "calibrate with data that show such values, or compile with a larger margin")


@dataclass(frozen=True)
class Ranges:
    """The ranges of each node of a graph. ``margin``: by which bounds exceed the largest value that was seen."""

    nodes: tuple[NodeRange, ...]
    inputs: int
    margin: float

    def bound(self, node: int) -> float:
        """Values are assumed to be within -bound to bound."""
        return self.nodes[node].most * self.margin or 1.0

    def positive_ends(self, node: int) -> tuple[float, float]:
        """The ends for values above 0: the smallest value that was seen, divided by the margin, and the largest one
        times the margin."""
        r = self.nodes[node]
        return r.low / self.margin, r.high * self.margin

    def wider(self, ends: Mapping[int, tuple[float, float]]) -> Ranges:
        """The ranges, where those of some nodes are widened to contain these ends."""
        nodes = list(self.nodes)
        for i, (low, high) in ends.items():
            nodes[i] = replace(nodes[i], low=min(nodes[i].low, low), high=max(nodes[i].high, high))
        return replace(self, nodes=tuple(nodes))

    def narrow(self, node: int) -> bool:
        """Whether a value outside of the bound is likely among ten times as many inputs. If the tail of the sizes falls
        exponentially, the largest grows by as much again as it exceeds the tenth largest."""
        r = self.nodes[node]
        return r.tenth > 0 and 2 * r.most - r.tenth > self.bound(node)

    @property
    def notes(self) -> list[str]:
        """Notes for users on these ranges."""
        count = "one input" if self.inputs == 1 else f"{self.inputs:,} inputs"
        out = [f"bounds are {self.margin:g} times the largest values of {count}"]
        if self.inputs < ENOUGH:
            out.append(f"{count} {'is' if self.inputs == 1 else 'are'} few: values of other inputs may lie outside of "
                       "the bounds, where "
                       f"polynomials explode; calibrate with {ENOUGH:,} or more")
        return out


def measure(graph: Graph, data: Any, margin: float = MARGIN,
            replaced: Mapping[int, Callable[[np.ndarray], np.ndarray]] | None = None,
            watch: Callable[[int, np.ndarray], None] | None = None) -> Ranges:
    """Runs the graph on calibration data: an array of inputs along the first axis, or an iterable of such arrays.

    ``margin``: at least 1. ``replaced``: see `reference.walk`. ``watch`` gets each node and its values. ValueError,
    naming the layer, where a value is NaN or infinite.
    """
    factor = arrays.as_real(margin, "calibrate", "margin")
    if factor < 1:
        raise errors.ValueError.explain("calibrate", f"margin={factor:g}", "1 or more",
                                        "raise it: values reach what was measured")
    seen = [_Seen(i) for i in range(len(graph.nodes))]
    count = 0
    for given in batches(data, graph.shape_in):
        count += len(given)
        for i, y, low, high in _walked(graph, given, replaced):
            seen[i].add(y, low, high)
            if watch is not None:
                watch(i, y)
    if not count:
        raise errors.ShapeError.explain("calibrate", "no inputs", "one or more, better a thousand",
                                        "pass calibration=data")
    return Ranges(tuple(s.result() for s in seen), count, factor)


def extremes(graph: Graph, data: np.ndarray,
             replaced: Mapping[int, Callable[[np.ndarray], np.ndarray]]) -> list[tuple[float, float]]:
    """The smallest and the largest value of each node; raises as `measure`."""
    out = [(math.inf, -math.inf)] * len(graph.nodes)
    for i, _, low, high in _walked(graph, data, replaced):
        out[i] = min(out[i][0], low), max(out[i][1], high)
    return out


def _walked(graph: Graph, given: np.ndarray, replaced: Mapping[int, Callable[[np.ndarray], np.ndarray]] | None
            ) -> Iterator[tuple[int, np.ndarray, float, float]]:
    """Each node with some of its values, and the smallest and the largest of these."""
    at_once = max(1, _AT_ONCE // sum(n.size for n in graph.nodes))
    for first in range(0, len(given), at_once):
        for i, y in reference.walk(graph, given[first : first + at_once], replaced):
            low, high = float(y.min()), float(y.max())
            if not (low >= -_LARGEST and high <= _LARGEST):  # and no NaN
                had = f"values beyond {_LARGEST:g}" if np.isfinite(y).all() else "NaN or infinity"
                raise errors.ValueError.explain(f"layer {graph.nodes[i].layer or i}", f"{had} for a calibration input",
                                                "finite values", "clean the data, or correct or train the layer")
            yield i, y, low, high


def batches(data: Any, shape: tuple[int, ...]) -> Iterator[np.ndarray]:
    """Calibration data as arrays of inputs of a shape: an array, a list of inputs, or an iterable of arrays."""
    if hasattr(data, "__array__") or hasattr(data, "__dlpack__") or not isinstance(data, Iterable):
        given: Iterable[Any] = [data]
    elif isinstance(data, (list, tuple)) and all(np.shape(x) == shape for x in data):
        given = [data]
    else:
        given = data
    for batch in given:
        if (isinstance(batch, (list, tuple)) and batch is not data) or isinstance(batch, dict):
            raise errors.ShapeError.explain(
                "calibrate", f"batches that are a {type(batch).__name__}", "arrays of inputs alone",
                "leave labels out: calibration=(x for x, _ in loader)")
        x = arrays.as_numpy(batch, "calibrate")
        if x.dtype.kind == "c" or not x.ndim or (x.shape[1:] != shape and len(x)):
            raise errors.ShapeError.explain(
                "calibrate", f"data of shape {x.shape} and type {x.dtype}",
                f"real numbers of shape (inputs, {', '.join(map(str, shape))})", "stack inputs along a first axis")
        yield x.reshape(len(x), *shape).astype(np.float64)


class _Seen:
    """Collects the range of a node over batches."""

    def __init__(self, seed: int) -> None:
        self.low, self.high, self.count, self.mean, self.squares = math.inf, -math.inf, 0, 0.0, 0.0
        self.kept = np.zeros(0)
        self.largest = np.zeros(0)  # the largest sizes of values in one input each: the ten largest of these, in order
        self.random = np.random.default_rng(seed)

    def add(self, y: np.ndarray, low: float, high: float) -> None:
        """``low``, ``high``: the smallest and the largest of the values y."""
        flat = y.reshape(-1)
        self.low, self.high = min(self.low, low), max(self.high, high)
        each = y.reshape(len(y), -1)
        own = np.maximum(each.max(axis=1), -each.min(axis=1))
        self.largest = np.sort(np.concatenate([self.largest, own]))[-10:]
        n, mean = flat.size, float(flat.mean())
        step = mean - self.mean  # the parallel formula, which does not cancel for values far from zero
        self.squares += float(((flat - mean) ** 2).sum()) + step**2 * self.count * n / (self.count + n)
        self.mean += step * n / (self.count + n)
        # A reservoir: every value seen so far is in the sample with the same probability.
        share = self.random.binomial(min(_SAMPLE, self.count + n), n / (self.count + n))
        new = flat[self.random.integers(0, n, share)]
        room = min(_SAMPLE, self.count + n) - share
        old = self.kept if len(self.kept) <= room else self.random.choice(self.kept, room, replace=False)
        self.kept = np.concatenate([old, new])
        self.count += n

    def result(self) -> NodeRange:
        return NodeRange(self.low, self.high, self.mean, math.sqrt(self.squares / self.count), np.sort(self.kept),
                         float(self.largest[0]))
