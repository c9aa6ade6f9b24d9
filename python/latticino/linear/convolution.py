"""Convolutions and average pooling of arrays of channels, as sparse maps whose results stay where their inputs lie.

A convolution of stride 2 over an image in slots y W + x leaves its results in slots 2 y W + 2 x. The slots between them
take further channels of the result: the *multiplexed* layout (Lee et al. 2022, eprint 2021/1688, section 5). Then the
distance between an input and its result does not depend on where in the image they lie. So there are few diagonals, in
any chain of convolutions.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import arrays, errors
from ..common import captured
from ..common.layout import Layout
from ..common.naming import public
from ..ops import moves
from .maps import MAX_ENTRIES, LinearMap

if TYPE_CHECKING:
    from ..ckks.ciphertext import Ciphertext

Pair = tuple[int, int]


@dataclass(frozen=True)
class Window:
    """The part of an image (height, width) that a result reads: ``size`` values that lie ``dilation`` apart. From one
    result to the next it moves by ``stride``. It begins ``before`` the image and ends ``after`` it."""

    image: Pair
    size: Pair
    stride: Pair
    dilation: Pair
    before: Pair
    after: Pair

    def results(self, operation: str) -> Pair:
        """Height and width of the result."""
        out = tuple((n + b + a - d * (k - 1) - 1) // s + 1 for n, b, a, d, k, s in zip(
            self.image, self.before, self.after, self.dilation, self.size, self.stride))
        if min(out) < 1:
            raise errors.ShapeError.explain(
                operation, f"an image of {self.image} with padding {self.before}", f"at least the kernel's {self.size}",
                "pad more, or take a smaller kernel")
        return out[0], out[1]

    def taps(self, results: Pair) -> Iterator[tuple[int, int, np.ndarray, np.ndarray]]:
        """For each place in the kernel: the results that read a value there, and that value, flat in the image."""
        for ky in range(self.size[0]):
            for kx in range(self.size[1]):
                y, x = (np.arange(n) for n in results)
                at_y = y * self.stride[0] + ky * self.dilation[0] - self.before[0]
                at_x = x * self.stride[1] + kx * self.dilation[1] - self.before[1]
                y, at_y = (v[(at_y >= 0) & (at_y < self.image[0])] for v in (y, at_y))
                x, at_x = (v[(at_x >= 0) & (at_x < self.image[1])] for v in (x, at_x))
                yield (ky, kx, (y[:, None] * results[1] + x).reshape(-1),
                       (at_y[:, None] * self.image[1] + at_x).reshape(-1))


@dataclass(frozen=True)
class Multiplexed:
    """Layouts of results with channels in the slots that a stride leaves between them."""

    image: Pair
    results: Pair
    stride: Pair
    channels: int  # channels of the result
    shape: tuple[int, ...]  # height and width of the result

    def __call__(self, source: Layout, most: int) -> list[Layout]:
        places = source.places.reshape(-1, *self.image)
        first = places[:, :1, :1]
        steps = [int(places[0, 1, 0] - places[0, 0, 0]) if self.image[0] > 1 else 0,
                 int(places[0, 0, 1] - places[0, 0, 0]) if self.image[1] > 1 else 0]
        y, x = np.arange(self.image[0])[:, None], np.arange(self.image[1])
        if (places != first + y * steps[0] + x * steps[1]).any():
            return []
        bases = np.sort(first.reshape(-1))
        grid = (np.arange(self.results[0])[:, None] * self.stride[0] * steps[0]
                + np.arange(self.results[1]) * self.stride[1] * steps[1])
        between = np.add.outer(np.arange(min(self.stride[0], self.image[0])) * steps[0],
                               np.arange(min(self.stride[1], self.image[1])) * steps[1]).reshape(-1)
        room = np.unique(np.add.outer(bases, between))  # addresses at which a channel of the result can begin
        end = int(places.max()) + 1
        out = []
        for offsets in (room, bases):
            for span in self._spans(bases, end, source):
                out += self._of(offsets, span, grid, source, most)
        return out

    def _spans(self, bases: np.ndarray, end: int, source: Layout) -> list[int]:
        """How far apart further groups of channels may lie: a power of two, or as many as there are planes."""
        whole = source.count * source.slots if source.count > 1 else 1 << (end - 1).bit_length()
        steps = np.diff(bases)
        regular = len(bases) > 1 and bool((steps == steps[0]).all())
        return [whole, int(steps[0]) * len(bases)] if regular and int(steps[0]) * len(bases) != whole else [whole]

    def _of(self, offsets: np.ndarray, span: int, grid: np.ndarray, source: Layout, most: int) -> list[Layout]:
        group = np.arange(self.channels)
        begin = offsets[group % len(offsets)] + group // len(offsets) * span
        places = (begin[:, None, None] + grid).reshape(self.shape)
        if np.unique(places).size != places.size:
            return []
        needed = int(places.max()) + 1
        fixed = source.count > 1 and source.slots < most  # otherwise further slots would lie between the existing ones
        slots = source.slots if fixed else min(most, 1 << (needed - 1).bit_length())
        out = [Layout(self.shape, slots, -(-needed // slots), places)]
        if slots < source.slots:
            out.append(Layout(self.shape, source.slots, 1, places))
        return out


@public
def convolution_map(weight: Any, shape_in: Any, *, stride: Any = 1, padding: Any = 0, dilation: Any = 1,
                    groups: int = 1, target: Layout | None = None, keep: bool = True,
                    memory: int | None = None) -> LinearMap:
    """The map of `Ciphertext.conv`, made once for arrays of shape `shape_in`: (channels, length) or (channels, height,
    width). Options of the map as of `linear_map`."""
    options: dict[str, Any] = {"target": target, "keep": keep, "memory": memory}
    return _convolution(weight, shape_in, stride, padding, dilation, groups, "convolution_map", **options)


def _convolution(weight: Any, shape_in: Any, stride: Any, padding: Any, dilation: Any, groups: Any, operation: str,
                 **options: Any) -> LinearMap:
    w = arrays.as_doubles(weight, operation)
    if w.ndim not in (3, 4) or w.size == 0:
        raise errors.ShapeError.explain(
            operation, f"a weight of shape {w.shape}",
            "(results, channels, length) or (results, channels, height, width)",
            "add axes, or call lt.convolve for numpy's convolution of vectors")
    if not np.isfinite(w).all():
        raise errors.ValueError.explain(operation, "NaN or infinity", "finite weights", "clean the data")
    axes = w.ndim - 2
    shape = arrays.as_shape(shape_in, operation, moves.MAX_VALUES)
    groups = arrays.as_integer(groups, operation, "groups", 1, moves.MAX_VALUES)
    channels, per_group = w.shape[0], w.shape[1]
    if len(shape) != axes + 1 or shape[0] != per_group * groups or channels % groups:
        raise errors.ShapeError.explain(
            operation, f"an array of shape {shape}, a weight of shape {w.shape} and groups={groups}",
            f"{per_group * groups} channels of {axes} axes, and results in {groups} equal groups",
            "check the shapes, which are PyTorch's")
    window = _window(shape[1:], w.shape[2:], stride, padding, dilation, operation)
    results = window.results(operation)
    count = int(np.count_nonzero(w)) * math.prod(results)
    if count > MAX_ENTRIES:
        raise errors.UnsupportedError.explain(
            operation, f"about {count:,} products of single values", f"at most {MAX_ENTRIES:,}",
            "convolve the channels of the result in groups, and join them with lt.concatenate")
    w = w.reshape(groups, channels // groups, per_group, *window.size)
    area, image = math.prod(results), math.prod(window.image)
    rows, columns, values = [], [], []
    for ky, kx, result, value in window.taps(results):
        g, o, c = np.nonzero(w[..., ky, kx])
        rows.append(((g * w.shape[1] + o)[:, None] * area + result).reshape(-1))
        columns.append(((g * per_group + c)[:, None] * image + value).reshape(-1))
        values.append(np.repeat(w[g, o, c, ky, kx], len(result)))
    shape_out = (channels, *results[2 - axes :])
    layouts = Multiplexed(window.image, results, window.stride, channels, shape_out)
    return LinearMap(np.concatenate(rows), np.concatenate(columns), np.concatenate(values), shape, shape_out,
                     operation=operation, layouts=layouts, **options)


@public
def average_pool_map(size: Any, shape_in: Any, *, stride: Any = None, padding: Any = 0,
                     count_include_pad: bool = True, target: Layout | None = None, keep: bool = True,
                     memory: int | None = None) -> LinearMap:
    """The map of `Ciphertext.average_pool`, made once for arrays of shape `shape_in`: (channels, length) or (channels,
    height, width)."""
    return _pool(size, shape_in, stride, padding, count_include_pad, "average_pool_map", target=target, keep=keep,
                 memory=memory)


def _pool(size: Any, shape_in: Any, stride: Any, padding: Any, count_include_pad: Any, operation: str,
          **options: Any) -> LinearMap:
    shape = arrays.as_shape(shape_in, operation, moves.MAX_VALUES)
    if len(shape) not in (2, 3):
        raise errors.ShapeError.explain(
            operation, f"an array of shape {shape}", "(channels, length) or (channels, height, width)", "reshape it")
    axes = len(shape) - 1
    sizes = _several(size, axes, operation, "size", 1)
    counted = arrays.as_flag(count_include_pad, operation, "count_include_pad")
    window = _window(shape[1:], sizes, size if stride is None else stride, padding, 1, operation)
    if any(2 * p > k for p, k in zip(window.before, window.size)):
        raise errors.ValueError.explain(
            operation, f"padding {window.before} of windows of {window.size}", "at most half of a window", "pad less")
    results = window.results(operation)
    if (count := math.prod(results) * math.prod(window.size) * shape[0]) > MAX_ENTRIES:
        raise errors.UnsupportedError.explain(
            operation, f"about {count:,} values to average", f"at most {MAX_ENTRIES:,}",
            "take smaller windows, or pool some channels at a time and join them with lt.concatenate")
    area, image, channel = math.prod(results), math.prod(window.image), np.arange(shape[0])[:, None]
    taps = list(window.taps(results))
    read = np.bincount(np.concatenate([result for _, _, result, _ in taps]), minlength=area)
    weight = np.full(area, 1 / math.prod(window.size)) if counted else 1 / np.maximum(read, 1)
    rows = np.concatenate([(channel * area + result).reshape(-1) for _, _, result, _ in taps])
    columns = np.concatenate([(channel * image + value).reshape(-1) for _, _, _, value in taps])
    shape_out = (shape[0], *results[2 - axes :])
    layouts = Multiplexed(window.image, results, window.stride, shape[0], shape_out)
    options |= {"operation": operation, "layouts": layouts}
    return LinearMap(rows, columns, weight[rows % area], shape, shape_out, **options)


def _window(image: Sequence[int], size: Sequence[int], stride: Any, padding: Any, dilation: Any,
            operation: str) -> Window:
    """The window of a convolution over one or two axes. A single axis is the width of an image of height 1."""
    axes = len(image)
    strides = _several(stride, axes, operation, "stride", 1)
    dilations = _several(dilation, axes, operation, "dilation", 1)
    if isinstance(padding, str):
        if padding not in ("valid", "same") or (padding == "same" and max(strides) > 1):
            raise errors.ValueError.explain(
                operation, f"padding={arrays.shown(padding)} and stride {strides}", '"valid", or "same" with stride 1',
                "pass numbers")
        whole = [d * (k - 1) if padding == "same" else 0 for d, k in zip(dilations, size)]
        before, after = tuple(n // 2 for n in whole), tuple(n - n // 2 for n in whole)
    else:
        before = after = _several(padding, axes, operation, "padding", 0)

    def two(values: Sequence[int], alone: int) -> Pair:
        return (alone, int(values[0])) if axes == 1 else (int(values[0]), int(values[1]))

    return Window(two(image, 1), two(size, 1), two(strides, 1), two(dilations, 1), two(before, 0), two(after, 0))


def _several(x: Any, axes: int, operation: str, name: str, least: int) -> tuple[int, ...]:
    """A number for each axis, or one for all."""
    several = tuple(x) if isinstance(x, (tuple, list)) else (x,) * axes
    if len(several) != axes:
        raise errors.ValueError.explain(
            operation, f"{name}={arrays.shown(x)}", f"a number, or {axes}", "name one for each axis")
    return tuple(arrays.as_integer(n, operation, name, least, moves.MAX_VALUES) for n in several)


# ---- of encrypted arrays ----


def conv(x: Ciphertext, weight: Any, bias: Any, stride: Any, padding: Any, dilation: Any, groups: Any) -> Ciphertext:
    """See Ciphertext.conv."""
    w = arrays.as_doubles(weight, "conv")
    options = _hashable("conv", stride, padding, dilation, groups)
    shape = x.shape[max(0, x.ndim - (w.ndim - 1)) :]
    name = ("conv", shape, w.shape, w.dtype.str, hashlib.sha256(w.tobytes()).digest(), options)
    m = moves.remembered(name, lambda: _convolution(
        w, shape, stride, padding, dilation, groups, "conv", keep=True, shared=True))
    y = m(x)
    if bias is None:
        return y
    b = arrays.as_numpy(bias, "conv")
    if b.shape != (w.shape[0],):
        raise errors.ShapeError.explain(
            "conv", f"a bias of shape {b.shape}", f"({w.shape[0]},), one for each channel of the result", "reshape it")
    return y + b.reshape(-1, *(1,) * (w.ndim - 2))


def average_pool(x: Ciphertext, size: Any, stride: Any, padding: Any, count_include_pad: Any) -> Ciphertext:
    """See Ciphertext.average_pool."""
    axes = len(size) if isinstance(size, (tuple, list)) else (1 if x.ndim == 2 else 2)
    shape = x.shape[max(0, x.ndim - axes - 1) :]
    name = ("average_pool", shape, _hashable("average_pool", size, stride, padding, count_include_pad))
    return moves.remembered(name, lambda: _pool(
        size, shape, stride, padding, count_include_pad, "average_pool", keep=True, shared=True))(x)


def _hashable(operation: str, *options: Any) -> tuple[Any, ...]:
    try:
        return tuple(repr(o) for o in options)
    except Exception as why:  # raised by integers of thousands of digits, or by any __repr__
        raise errors.ValueError.explain(
            operation, f"an option that cannot be shown ({type(why).__name__})", "integers", "correct it") from None


# ---- numpy's convolutions of vectors ----


@captured.step("lt.convolve")
@public
def convolve(a: Ciphertext, v: Any, mode: str = "full") -> Ciphertext:
    """numpy's convolve of an encrypted vector with a clear one: ``y[k] = sum over j of v[j] * a[k - j]``; one level.

    ``mode``: ``"full"``, ``"same"`` or ``"valid"``. It flips `v`, as the convolution of mathematics does. The
    convolution of neural networks does not flip, and has channels: `Ciphertext.conv`.
    """
    return _with_vector(a, v, mode, "convolve")


@captured.step("lt.correlate")
@public
def correlate(a: Ciphertext, v: Any, mode: str = "valid") -> Ciphertext:
    """numpy's correlate of an encrypted vector with a clear one: ``y[k] = sum over j of a[j + k] * conj(v[j])``; one
    level. As `convolve`, but `v` is not flipped."""
    return _with_vector(a, v, mode, "correlate")


def _with_vector(a: Ciphertext, v: Any, mode: Any, operation: str) -> Ciphertext:
    if not isinstance(getattr(a, "layout", None), Layout):
        raise errors.UnsupportedError.explain(
            operation, f"a first operand of type {type(a).__name__}", "an encrypted vector",
            "pass it first, then the clear one")
    w = arrays.as_doubles(v, operation)
    if a.ndim != 1 or w.ndim != 1 or w.size == 0:
        raise errors.ShapeError.explain(
            operation, f"shapes {a.shape} and {w.shape}", "two vectors",
            "call x.conv for arrays of channels, which is PyTorch's convolution")
    if not isinstance(mode, str) or mode not in ("full", "same", "valid"):
        raise errors.ValueError.explain(
            operation, f"mode={arrays.shown(mode)}", '"full", "same" or "valid"', "name one of them")
    n, m = a.size, w.size
    turned = w if operation == "convolve" else w[::-1].conj()
    first, count = {"full": (0, n + m - 1), "same": ((min(n, m) - 1) // 2, max(n, m)),
                    "valid": (min(n, m) - 1, max(n, m) - min(n, m) + 1)}[mode]
    if mode == "same" and operation == "correlate" and m > n:  # because numpy centres the arrays that it exchanges
        first = n // 2
    name = (operation, n, mode, w.dtype.str, hashlib.sha256(w.tobytes()).digest())

    def made() -> LinearMap:
        if n * m > MAX_ENTRIES:
            raise errors.UnsupportedError.explain(
                operation, f"vectors of {n:,} and {m:,} numbers", f"at most {MAX_ENTRIES:,} products of single values",
                "convolve parts, and add them up")
        i, j = np.arange(n)[:, None], np.arange(m)
        rows = (i + j - first).reshape(-1)
        there = (rows >= 0) & (rows < count)
        return LinearMap(rows[there], np.repeat(np.arange(n), m)[there], np.tile(turned, n)[there], n, count,
                         operation=operation, shared=True)

    return moves.remembered(name, made)(a)
