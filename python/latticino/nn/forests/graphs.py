"""Decision trees as a model graph: all comparisons at once, products along each path, one map to the results.

Each leaf is 1 where every comparison on its path goes its way, else 0: the product of (1 + sign) / 2 over the path,
with the sign of ``(threshold - x) / w`` or of its opposite. Two ways to pack them:

- "copies": for each leaf a copy of each comparison on its path, in as many rows as the path is long, rounded up to a
  power of two. Rows are multiplied with themselves rotated by half of them, then by a quarter, and so on. Rotating
  whole rows takes no level.
- "shared": every comparison once; maps gather those at each place of the paths, which takes one level. Fewer slots.

Both give the same result. If a feature is nearer to a threshold than the gap of the sign, the comparison gives a number
between 0 and 1, and the tree's result lies between those of the leaves on both sides. Comparisons that are not on the
path to the right leaf are multiplied by 0, so for them it does not matter how near a feature is.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ..builder import Builder
from . import trees
from .trees import Ensemble, Tree

FORMS = ("copies", "shared")
_UNDECIDED = 1e-3  # for one tree: part of the comparisons on paths of the calibration data that may be within the gap
_MAX_UNDECIDED = 2e-2  # the same for many trees, whose errors average out
_FINEST, _WIDEST = 2.0**-14, 0.25  # the gaps that are tried, as parts of the range
_FINE_GRID = 2.0**-9  # if values are on a grid with a smaller gap than this, the grid is ignored
_INSIDE = 0.98  # part of the distance to the nearest grid value that the gap may fill; the rest is for noise
_MAX_COPIES = 1 << 17  # the most slots
_STEPS = 1 << 14  # the most values of a grid
_ROUNDING = 1e-3  # tolerance, as part of a grid's step
_INPUTS = 2000  # number of calibration inputs that are followed through the trees


@dataclass
class Comparisons:
    """The distinct comparisons of an ensemble, each ``x[feature] <= threshold``.

    ``threshold``: in the middle between two values of the grid where the feature has one. ``width``: the largest
    distance from it. ``gap``: as a share of the width."""

    feature: np.ndarray
    threshold: np.ndarray
    width: np.ndarray
    index: list[dict[int, int]] = field(default_factory=list)  # for each tree: the comparison of each node
    gap: float = _WIDEST
    exact: bool = False  # whether values on the grids are never within the gap


def write(build: Builder, x: int, ensemble: Ensemble, data: np.ndarray, ends: np.ndarray, form: str,
          layer: str) -> int:
    """Writes the graph behind node x, whose values in the calibration data are `data`, shape (inputs, features).
    `ends`: inputs with the least and the largest values that come in."""
    paths = [(k, leaf, path) for k, tree in enumerate(ensemble.trees) for leaf, path in tree.paths() if path]
    base = ensemble.base.copy()
    for tree in ensemble.trees:
        found = tree.paths()
        if len(found) == 1:
            base = base + tree.values[found[0][0]]
    if not paths:
        return build.linear(x, np.zeros((len(base), build.shape(x)[0])), base, f"{layer}.results")
    found_at = compared(ensemble, data, ends)
    values = np.array([ensemble.trees[k].values[leaf] for k, leaf, _ in paths])
    ways = [[(found_at.index[k][node], left) for node, left in path] for k, _, path in paths]
    product = _copied(build, x, found_at, ways, layer) if form == "copies" else _shared(build, x, found_at, ways, layer)
    leaf, result = np.nonzero(values)
    return build.sparse(product, result, leaf, values[leaf, result], len(base), base, f"{layer}.results")


def _copied(build: Builder, x: int, found: Comparisons, ways: list[list[tuple[int, bool]]], layer: str) -> int:
    rows, columns = _power(max(len(way) for way in ways)), _power(len(ways))
    # Places without a comparison hold 1, whose sign is 1.
    which, side = np.full((rows, columns), -1), np.zeros((rows, columns))
    for j, way in enumerate(ways):
        for k, (at, left) in enumerate(way):
            which[k, j], side[k, j] = at, 1.0 if left else -1.0
    there = np.flatnonzero(which.reshape(-1) >= 0)
    node, turned = np.asarray(which.reshape(-1)[there]), side.reshape(-1)[there]
    bias = np.ones(rows * columns)
    bias[there] = turned * found.threshold[node] / found.width[node]
    y = build.sparse(x, there, found.feature[node], -turned / found.width[node], rows * columns, bias,
                     f"{layer}.compare")
    y = build.activation(build.reshape(y, (rows, columns), f"{layer}.compare"), "step", f"{layer}.compare",
                         gap=found.gap)
    for half in (rows >> k for k in range(1, rows.bit_length())):
        turn = np.roll(np.eye(rows), half, axis=1)
        y = build.mul(y, build.along(y, {0: turn}, "roll", f"{layer}.paths"), f"{layer}.paths")
    return build.flatten(y, f"{layer}.results")


def _shared(build: Builder, x: int, found: Comparisons, ways: list[list[tuple[int, bool]]], layer: str) -> int:
    count = len(found.feature)
    y = build.sparse(x, np.arange(count), found.feature, -1 / found.width, count, found.threshold / found.width,
                     f"{layer}.compare")
    y = build.activation(y, "step", f"{layer}.compare", gap=found.gap)
    factors = []
    for k in range(max(map(len, ways))):
        there = np.array([j for j, way in enumerate(ways) if len(way) > k])
        node = np.array([ways[j][k][0] for j in there])
        left = np.array([ways[j][k][1] for j in there])
        bias = np.ones(len(ways))
        bias[there] = np.where(left, 0.0, 1.0)
        factors.append(build.sparse(y, there, node, np.where(left, 1.0, -1.0), len(ways), bias, f"{layer}.paths"))
    while len(factors) > 1:
        factors = [build.mul(factors[k], factors[k + 1], f"{layer}.paths") if k + 1 < len(factors) else factors[k]
                   for k in range(0, len(factors), 2)]
    return factors[0]


def _power(n: int) -> int:
    return 1 << (n - 1).bit_length()


def forms(ensemble: Ensemble, images: int) -> tuple[str, ...]:
    """The forms that are worth a plan. The form with copies is left out if they would fill too many ciphertexts. A tree
    without comparisons has one form."""
    ways = [len(path) for tree in ensemble.trees for _, path in tree.paths() if path]
    if not ways or max(ways) == 1:
        return ("shared",)
    return FORMS if _power(max(ways)) * _power(len(ways)) * images <= _MAX_COPIES else ("shared",)


# ---- thresholds and gaps ----


def compared(ensemble: Ensemble, data: np.ndarray, ends: np.ndarray) -> Comparisons:
    """The comparisons of an ensemble, with thresholds, widths and a gap for such data."""
    given = np.asarray(data, np.float32).astype(np.float64) if ensemble.single else np.asarray(data, np.float64)
    used = [trees.comparisons(tree) for tree in ensemble.trees]
    feature = np.concatenate([tree.feature[n] for tree, n in zip(ensemble.trees, used)])
    threshold = np.concatenate([tree.threshold[n] for tree, n in zip(ensemble.trees, used)])
    starts = np.cumsum([0, *map(len, used)])
    index = [{int(n): int(start + k) for k, n in enumerate(nodes)} for start, nodes in zip(starts, used)]
    out = Comparisons(feature, threshold.copy(), np.ones(len(feature)), index)
    gaps = [_placed(out, feature == f, given[:, f], ends[:, f]) for f in np.unique(feature)]
    coarse = min(gap for gap in gaps if gap > 0) if max(gaps) > 0 else _WIDEST
    if min(gaps) > 0:
        out.gap, out.exact = coarse, True
    else:
        share = min(_UNDECIDED * len(ensemble.trees), _MAX_UNDECIDED)
        near = np.concatenate([distances(tree, given[:_INPUTS], out, at) for tree, at in zip(ensemble.trees, index)])
        out.gap = min(coarse, max(float(np.quantile(near, share)), _FINEST))
    return out


def _placed(found: Comparisons, here: np.ndarray, values: np.ndarray, ends: np.ndarray) -> float:
    """Widths, and thresholds between grid values, of the comparisons of one feature. Gives the gap that values on the
    grid leave; 0 where there is no grid, or one too fine to be worth it."""
    low, high, distinct = float(ends.min()), float(ends.max()), np.unique(values)
    at, gap = found.threshold[here], 0.0
    steps = grid(distinct)
    if steps is not None:
        moved = _between(at, distinct, *steps)
        gap = min(_INSIDE * steps[1] / 2 / float(np.maximum(high - moved, moved - low).max()), _WIDEST)
        gap = gap if gap >= _FINE_GRID else 0.0
        at = moved if gap else at
    width = np.maximum(high - at, at - low)
    found.threshold[here], found.width[here] = at, np.where(width > 0, width, np.maximum(np.abs(at), 1.0))
    return gap


def _between(threshold: np.ndarray, distinct: np.ndarray, first: float, step: float) -> np.ndarray:
    """The middle between the two values of a grid that a threshold separates; the lower one may be equal to it."""
    at = (threshold - first) / step
    near = np.round(at)
    value = first + near * step
    met = distinct[np.abs(distinct - value[:, None]).argmin(axis=1)]  # rounded as the data are
    value = np.where(np.abs(met - value) < _ROUNDING * step, met, value)
    at = np.where(np.abs(at - near) < _ROUNDING, np.where(value <= threshold, near, near - 1), np.floor(at))
    return np.asarray(first + (at + 0.5) * step)


def grid(distinct: np.ndarray) -> tuple[float, float] | None:
    """(first, step) if all these values, in order, are first plus a whole number of steps. None otherwise, and for a
    single value."""
    if not 2 <= len(distinct) <= _STEPS:
        return None
    least = float(np.diff(distinct).min())
    for part in range(1, 9):
        step = least / part
        at = (distinct - distinct[0]) / step
        if at[-1] > _STEPS:
            return None
        if np.abs(at - np.round(at)).max() < _ROUNDING:
            return float(distinct[0]), float(distinct[-1] - distinct[0]) / float(np.round(at[-1]))
    return None


def distances(tree: Tree, data: np.ndarray, found: Comparisons, index: dict[int, int]) -> np.ndarray:
    """The distances of inputs from the thresholds that they meet in a tree, as shares of the widths."""
    out: list[np.ndarray] = [np.zeros(0)]
    at = np.full(len(tree.feature), -1)
    at[list(index)] = list(index.values())

    def watch(rows: np.ndarray, nodes: np.ndarray) -> None:
        n = at[nodes]
        rows, n = rows[n >= 0], n[n >= 0]
        out.append(np.abs(data[rows, found.feature[n]] - found.threshold[n]) / found.width[n])

    trees.leaves(tree, data, watch)
    return np.concatenate(out)
