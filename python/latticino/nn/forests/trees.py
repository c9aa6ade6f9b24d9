"""Fitted decision trees and ensembles of scikit-learn as plain arrays: scikit-learn itself is not needed.

A tree asks at each inner node whether a feature is at most a threshold, goes left if so, right otherwise, and ends at a
leaf with values. An ensemble's result is a base plus the sum of its trees' values.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from ... import errors

_SINGLE = ("DecisionTreeRegressor", "DecisionTreeClassifier")
_MEANS = ("RandomForestRegressor", "RandomForestClassifier", "ExtraTreesRegressor", "ExtraTreesClassifier")
_BOOSTED = ("GradientBoostingRegressor", "GradientBoostingClassifier")
_BINNED = ("HistGradientBoostingRegressor", "HistGradientBoostingClassifier")
NAMES = (*_SINGLE, *_MEANS, *_BOOSTED, *_BINNED)
FAMILIES = ("BaseDecisionTree", "BaseForest", "BaseGradientBoosting", "BaseHistGradientBoosting", "BaseBagging",
            "BaseWeightBoosting")
_FARTHEST = 1e30  # with larger thresholds, all numbers are on one side


@dataclass(frozen=True)
class Tree:
    """Node 0 is the root. ``feature`` is -1 at leaves; ``left`` and ``right`` are nodes, ``values`` of shape (nodes,
    results). ``at_most``: x goes left where ``x[feature] <= threshold``."""

    feature: np.ndarray
    threshold: np.ndarray
    left: np.ndarray
    right: np.ndarray
    values: np.ndarray

    def paths(self) -> list[tuple[int, list[tuple[int, bool]]]]:
        """Each leaf, from left to right, with the inner nodes on the way to it and whether it lies left of them.

        Nodes that send every number to one side are left out, with what lies on their other side."""
        out: list[tuple[int, list[tuple[int, bool]]]] = []
        waiting: list[tuple[int, list[tuple[int, bool]]]] = [(0, [])]
        while waiting:
            node, path = waiting.pop()
            if self.feature[node] < 0:
                out.append((node, path))
            elif abs(self.threshold[node]) >= _FARTHEST:
                waiting.append((int(self.left[node] if self.threshold[node] > 0 else self.right[node]), path))
            else:
                waiting.append((int(self.right[node]), [*path, (node, False)]))
                waiting.append((int(self.left[node]), [*path, (node, True)]))
        return out


@dataclass(frozen=True)
class Ensemble:
    """``base`` plus the sum of the trees' values, for each of the results. ``single``: whether features are rounded to
    float32 before they are compared."""

    trees: tuple[Tree, ...]
    base: np.ndarray
    features: int
    single: bool

    def predict(self, x: np.ndarray) -> np.ndarray:
        """The predictions for inputs as rows, as scikit-learn computes them."""
        given = np.asarray(x, np.float32 if self.single else np.float64)
        out = np.tile(self.base, (len(given), 1))
        for tree in self.trees:
            out += tree.values[leaves(tree, given)]
        return out


def leaves(tree: Tree, x: np.ndarray, watch: Callable[[np.ndarray, np.ndarray], None] | None = None) -> np.ndarray:
    """The leaf of each input. `watch` sees rows of inputs, and the inner nodes where they are, level by level."""
    at, rows = np.zeros(len(x), np.int64), np.arange(len(x))
    while True:
        rows = rows[tree.feature[at[rows]] >= 0]
        if not len(rows):
            return at
        nodes = at[rows]
        if watch is not None:
            watch(rows, nodes)
        at[rows] = np.where(x[rows, tree.feature[nodes]] <= tree.threshold[nodes], tree.left[nodes], tree.right[nodes])


def read(name: str, step: Any, kinds: Sequence[str]) -> Ensemble:
    """Trees of a fitted estimator whose class, or one of its base classes, is in `kinds`. UnsupportedError if it has no
    encrypted form."""
    layer = name or type(step).__name__
    if any(kind in _SINGLE for kind in kinds):
        _require_fitted(layer, step, "tree_")
        return _mean(layer, step, [step])
    if any(kind in _MEANS for kind in kinds):
        _require_fitted(layer, step, "estimators_")
        return _mean(layer, step, list(step.estimators_))
    if any(kind in _BOOSTED for kind in kinds):
        _require_fitted(layer, step, "estimators_")
        return _boosted(layer, step)
    _require_fitted(layer, step, "_predictors")
    return _binned(layer, step)


def _require_fitted(layer: str, step: Any, attribute: str) -> None:
    if not hasattr(step, attribute):
        raise errors.ValueError.explain(f"layer {layer}", f"a {type(step).__name__} without {attribute}",
                                        "a fitted estimator", "call fit() first")


def _refuse(layer: str, had: str, needs: str, remedy: str) -> errors.Error:
    return errors.UnsupportedError.explain(f"layer {layer}", had, needs, remedy)


def _mean(layer: str, step: Any, trees: list[Any]) -> Ensemble:
    """Means of values, or of class probabilities: the results of predict() or predict_proba()."""
    classifies = hasattr(step, "classes_")
    if classifies and int(step.n_outputs_) > 1:
        raise _refuse(layer, f"a classifier of {step.n_outputs_} results at once", "one result",
                      "train a classifier for each result")
    found = []
    for tree in trees:
        values = np.asarray(tree.tree_.value, np.float64)  # (nodes, results, classes)
        if classifies:
            values = values[:, 0, :]
            values = values / values.sum(axis=1, keepdims=True)
        else:
            values = values[:, :, 0]
        found.append(_tree(layer, tree.tree_, values / len(trees)))
    return Ensemble(tuple(found), np.zeros(found[0].values.shape[1]), int(step.n_features_in_), True)


def _tree(layer: str, tree: Any, values: np.ndarray) -> Tree:
    left, right = np.asarray(tree.children_left, np.int64), np.asarray(tree.children_right, np.int64)
    feature = np.where(left < 0, -1, np.asarray(tree.feature, np.int64))
    return _checked(layer, Tree(feature, np.asarray(tree.threshold, np.float64), left, right, values))


def _boosted(layer: str, step: Any) -> Ensemble:
    """Raw scores: decision_function() of a classifier, predict() of a regressor."""
    first = step.init_
    if not (isinstance(first, str) and first == "zero") and type(first).__name__ not in ("DummyRegressor",
                                                                                       "DummyClassifier"):
        raise _refuse(layer, f"init={type(first).__name__}", 'the default init, or "zero"', "train without init")
    grid = np.asarray(step.estimators_, object)  # (stages, results)
    base = np.asarray(step._raw_predict_init(np.zeros((1, step.n_features_in_), np.float32)), np.float64).reshape(-1)
    found = []
    for row in grid:
        for k, tree in enumerate(row):
            values = np.zeros((tree.tree_.node_count, grid.shape[1]))
            values[:, k] = float(step.learning_rate) * np.asarray(tree.tree_.value, np.float64)[:, 0, 0]
            found.append(_tree(layer, tree.tree_, values))
    return Ensemble(tuple(found), base, int(step.n_features_in_), True)


def _binned(layer: str, step: Any) -> Ensemble:
    """The trees of estimators over histograms; their values are raw scores too."""
    base = np.asarray(step._baseline_prediction, np.float64).reshape(-1)
    loss = type(getattr(step, "_loss", None)).__name__
    if not hasattr(step, "classes_") and loss in ("HalfPoissonLoss", "HalfGammaLoss"):
        raise _refuse(layer, f"loss={step.loss!r}, whose predictions are exp of the trees' sum", "squared_error, "
                      "absolute_error or quantile", "train on the logarithm of the target, or with such a loss")
    found = []
    for row in step._predictors:
        for k, predictor in enumerate(row):
            nodes = predictor.nodes
            if bool((nodes["is_categorical"].astype(bool) & ~nodes["is_leaf"].astype(bool)).any()):
                raise _refuse(layer, "splits by categories", "splits by thresholds",
                              "encode the categories as numbers or one by one before training, on the client")
            leaf = nodes["is_leaf"].astype(bool)
            values = np.zeros((len(nodes), len(base)))
            values[:, k] = np.where(leaf, nodes["value"], 0.0)
            left, right = (np.where(leaf, -1, nodes[side].astype(np.int64)) for side in ("left", "right"))
            feature = np.where(leaf, -1, nodes["feature_idx"].astype(np.int64))
            threshold = np.asarray(nodes["num_threshold"], np.float64)
            found.append(_checked(layer, Tree(feature, threshold, left, right, values)))
    return Ensemble(tuple(found), base, int(step.n_features_in_), False)


def _checked(layer: str, tree: Tree) -> Tree:
    inner = tree.feature >= 0
    if np.isnan(tree.threshold[inner]).any() or not np.isfinite(tree.values).all():
        raise errors.ValueError.explain(f"layer {layer}", "NaN in a tree", "finite thresholds and values",
                                        "train the model again")
    return tree


def summary(ensemble: Ensemble) -> str:
    """The numbers of trees and leaves and the depth, as text."""
    depths = [max(len(path) for _, path in tree.paths()) for tree in ensemble.trees]
    count = sum(len(tree.paths()) for tree in ensemble.trees)
    several = "trees" if len(depths) != 1 else "tree"
    return f"{len(depths):,} {several} of depth up to {max(depths, default=0)}, {count:,} leaves"


def comparisons(tree: Tree) -> np.ndarray:
    """The inner nodes that decide something, from left to right."""
    order: dict[int, int] = {}
    paths = tree.paths()
    for (_, a), (_, b) in pairwise(paths):  # two neighbouring leaves are separated by one node, which lies between them
        same = next(k for k, (p, q) in enumerate(zip(a, b)) if p != q)
        order[a[same][0]] = len(order)
    assert len(order) == len(paths) - 1
    return np.array(list(order), np.int64)
