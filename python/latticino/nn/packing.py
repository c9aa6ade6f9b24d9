"""Where the values of each node lie in the slots.

An image of 16 channels of 32 x 32 pixels lies plane by plane. After a convolution of stride 2 each plane holds the
pixels of four channels: channel c, row i, column j lies in plane c // 4, row 2 i + c % 4 // 2, column 2 j + c % 2. The
*gap* is 2 then. Distances between a pixel and its neighbours are the same as before, so that a convolution has few
diagonals: (2 (g (k // 2) + g - 1) + 1)^2 for each plane, for kernels of k x k at gap g (Lee et al., ICML 2022).

Several images lie side by side: value a of image b, of n images, is in slot a n + b. All distances are n times as
large, and there are as many of them. If an array takes fewer slots than a ciphertext has, it repeats. Then distances
count modulo the smaller number of slots of input and result, and a result with fewer slots is added up by rotations.

Where images fill several ciphertexts they lie in *groups*: the first n images side by side in the first ciphertexts,
the next n in the next ones. One map with its encoded diagonals serves all groups.

With ``halves``, slots hold the images of the first half in their real parts and those of the second half in their
imaginary parts. Behind a split, the second half lies in as many groups of its own behind the first one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ..common.layout import Layout
from ..linear.arranged import Arrangement, Side, with_images
from .lowered import HALVES, Grid, Lowered, Node

Gap = tuple[int, int]


@dataclass(frozen=True, eq=False)
class Packing:
    """The layout of a node, of shape (images, *shape of the node). ``gap``: of grids of pixels, else None.

    ``index``: of a factor of a product of matrices, whose values lie in several slots each: the layout is of shape
    (images, entries) then, and this says which value each entry is. ``groups`` of images, in as many ciphertexts each.
    ``both``: imaginary parts hold as many more images, which the layout does not count.
    """

    layout: Layout
    gap: Gap | None = None
    grid: Grid | None = None
    index: np.ndarray | None = None
    groups: int = 1
    both: bool = False

    @property
    def slots(self) -> int:
        """Slots of each ciphertext."""
        return self.layout.slots

    @property
    def count(self) -> int:
        """Ciphertexts."""
        return self.layout.count

    @property
    def text(self) -> str:
        """The packing as text, for tables."""
        several = f"{self.count} x " if self.count > 1 else ""
        what = f"gap {self.gap[0]}x{self.gap[1]}" if self.gap else "in a row" if self.layout.is_plain else "rows"
        if self.index is not None:
            what = "repeated rows"
        return f"{several}{self.slots} slot{'s' * (self.slots > 1)}, {what}{', both halves' * self.both}"

    @cached_property
    def one(self) -> Packing:
        """The packing of the first group."""
        if self.groups == 1:
            return self
        old = self.layout
        places = old.places[: old.shape[0] // self.groups]
        return replace(self, layout=Layout(places.shape, old.slots, old.count // self.groups, places), groups=1)

    def same(self, other: Packing) -> bool:
        return self.layout.same(other.layout)

    def entries(self, values: np.ndarray) -> np.ndarray:
        """The values that the slots hold, in their order, out of values of shape (..., size of the node)."""
        return values if self.index is None else values[..., self.index]


def groups_for(graph: Lowered, slots: int, images: int) -> int:
    """Into how many groups `images` inputs are divided: as many as take no more ciphertexts than one group does."""
    if graph.products:
        return 1
    best, least = 1, 0
    for groups in (1 << k for k in range(images.bit_length()) if images % (1 << k) == 0):
        found = packings(graph, slots, images, groups)
        count = sum(p.count for p, node in zip(found, graph.nodes) if node.op != "affine")
        if groups > 1 and (count > least or found[graph.inputs[0]].slots < slots):
            break
        best, least = groups, count
    return best


def packings(graph: Lowered, slots: int, images: int = 1, groups: int = 1, halves: bool = False) -> list[Packing]:
    """A packing for each node, in ciphertexts of up to `slots` slots.

    In a graph that `with_moves` has made, all inputs of a sum or product have the same packing. ``halves``: slots hold
    two images, and `images` are those of the real parts.
    """
    gaps = gaps_of(graph)
    plane = plane_of(gaps)
    lengths = {graph.nodes[i].shape[-2] for i in graph.products}
    out: list[Packing] = []
    for node, found in zip(graph.nodes, gaps):
        if node.packed is not None:
            out.append(of_product(node, *node.packed, images))
        elif node.op in HALVES:
            out.append((_apart if node.op == "split" else _together)(out[node.inputs[0]]))
        elif node.op in ("add", "sub", "mul", "polynomial") or node.like is not None:
            out.append(_shaped(out[node.inputs[0] if node.like is None else node.like], node))
        elif renames(node):
            out.append(_renamed(out[node.inputs[0]], node))
        elif node.op == "affine" and _keeps(graph, node):
            out.append(_shaped(out[node.inputs[0]], node))
        elif len(node.shape) > 1 and node.shape[-2] in lengths:
            out.append(Packing(_layout(_columns(node.shape), node, slots, images, groups), groups=groups, both=halves))
        elif found is None:
            out.append(Packing(_layout(np.arange(node.size), node, slots, images, groups), groups=groups, both=halves))
        else:
            layout = _layout(_places(*found, plane), node, slots, images, groups)
            out.append(Packing(layout, found[1], found[0], groups=groups, both=halves))
    return out


def of_product(node: Node, how: Arrangement, side: Side, images: int) -> Packing:
    """The packing of a product of matrices, or of one of its factors."""
    layout, index = with_images(how, images).layout(side)
    if index is not None:
        return Packing(layout, index=index)
    return _shaped(Packing(layout), node, images)


def _columns(shape: tuple[int, ...]) -> np.ndarray:
    """Addresses of matrices, column by column. Affine maps of rows then have few diagonals, and so have the maps to
    products."""
    *lead, rows, columns = shape
    step = 1 << (rows - 1).bit_length()
    column = np.arange(math.prod(lead) * columns).reshape(-1, 1, columns)
    return np.asarray(column * step + np.arange(rows)[:, None]).reshape(-1)


def _keeps(graph: Lowered, node: Node) -> bool:
    """Whether an affine node reads a product of matrices and has its shape: then its values stay in the same slots."""
    first = graph.nodes[node.inputs[0]]
    while first.op in ("polynomial", "mul", "add", "sub") and first.shape == node.shape:
        first = graph.nodes[first.inputs[0]]
    return first.op == "matmul" and first.packed is not None and first.shape == node.shape


def renames(node: Node) -> bool:
    """Whether a node is its input in another order, so that no ciphertext has to change."""
    if node.like is not None or node.packed is not None or node.bias is not None:
        return False
    return len(node.maps) == 1 and node.maps[0].permutes


def gaps_of(graph: Lowered) -> list[tuple[Grid, Gap] | None]:
    """For each node the grid that it is packed as, and its gap; None for a vector."""
    wanted: dict[int, Grid] = {}
    for node in graph.nodes:
        for i, m in zip(node.inputs, node.maps):
            if m.grids is not None:
                wanted.setdefault(i, m.grids[0])
    out: list[tuple[Grid, Gap] | None] = []
    for i, node in enumerate(graph.nodes):
        inputs = [out[j] for j in (node.inputs if node.like is None else (node.like,))]
        out.append(inputs[0] if node.like is not None else _gap_of(node, inputs, wanted.get(i)))
    return out


def _gap_of(node: Node, inputs: Sequence[tuple[Grid, Gap] | None], wanted: Grid | None) -> tuple[Grid, Gap] | None:
    if node.op in ("add", "sub", "mul", "polynomial", *HALVES):
        return inputs[0]
    if node.op == "affine":
        for m, found in zip(node.maps, inputs):
            if m.grids is not None and found is not None and found[0] == m.grids[0] and min(m.stride) >= 1:
                return m.grids[1], (found[1][0] * m.stride[0], found[1][1] * m.stride[1])
        grid = next((m.grids[1] for m in node.maps if m.grids is not None), wanted)
        return None if grid is None else (grid, (1, 1))
    return None if wanted is None else (wanted, (1, 1))


def plane_of(gaps: Sequence[tuple[Grid, Gap] | None]) -> tuple[int, int]:
    """Height and width of the planes of all grids: powers of two that the widest one fits into."""
    found = [f for f in gaps if f is not None]
    height = max((g.height * gap[0] for g, gap in found), default=1)
    width = max((g.width * gap[1] for g, gap in found), default=1)
    return 1 << (height - 1).bit_length(), 1 << (width - 1).bit_length()


def _places(grid: Grid, gap: Gap, plane: tuple[int, int]) -> np.ndarray:
    """The address of each value of one image."""
    (gh, gw), (height, width) = gap, plane
    c, i, j = np.meshgrid(*map(np.arange, (grid.channels, grid.height, grid.width)), indexing="ij")
    inner = c % (gh * gw)
    row, column = gh * i + inner // gw, gw * j + inner % gw
    return np.asarray((c // (gh * gw) * height + row) * width + column).reshape(-1)


def _layout(places: np.ndarray, node: Node, slots: int, images: int, groups: int) -> Layout:
    each = images // groups
    every = places * each + np.arange(each)[:, None]
    own, shape = min(slots, 1 << int(every.max()).bit_length()), (images, *node.shape)
    # Gaps can leave ciphertexts without values.
    held, at = np.unique(every // own, return_inverse=True)
    count, every = len(held), at.reshape(every.shape) * own + every % own
    every = every + np.arange(groups)[:, None, None] * (count * own)
    return Layout(shape, own, groups * count, every.reshape(shape))


def _shaped(packing: Packing, node: Node, images: int | None = None) -> Packing:
    old = packing.layout
    shape = (old.shape[0] if images is None else images, *node.shape)
    if old.shape == shape:
        return packing
    return replace(packing, layout=Layout(shape, old.slots, old.count, old.places.reshape(shape)), index=None)


def _renamed(packing: Packing, node: Node) -> Packing:
    old = packing.layout
    shape = (old.shape[0], *node.shape)
    places = old.places.reshape(shape[0], -1)[:, node.maps[0].columns].reshape(shape)
    return Packing(Layout(shape, old.slots, old.count, places), groups=packing.groups, both=packing.both)


def _apart(packing: Packing) -> Packing:
    """The packing of a split: the images of the imaginary parts lie in as many groups behind the others."""
    old = packing.layout
    places = np.concatenate([old.places, old.places + old.count * old.slots])
    return replace(packing, layout=Layout(places.shape, old.slots, 2 * old.count, places), groups=2 * packing.groups,
                   both=False)


def _together(packing: Packing) -> Packing:
    """The packing that a node had before `_apart`."""
    old = packing.layout
    places = old.places[: len(old.places) // 2]
    return replace(packing, layout=Layout(places.shape, old.slots, old.count // 2, places), groups=packing.groups // 2,
                   both=True)
