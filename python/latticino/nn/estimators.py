"""Model graphs of scikit-learn's estimators, read from their fitted attributes: scikit-learn itself is not needed.

    graph = read(make_pipeline(StandardScaler(), MLPClassifier()).fit(x, y))

A regressor's graph gives what predict() gives. A classifier's gives the scores of decision_function(), a network's
those before its last activation, a tree's and a forest's predict_proba(), that of naive Bayes the joint log-likelihood,
that of one estimator per class a score for each: their argmax, or their sign where there is one, is the class.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import errors
from . import estimator_rules as rules
from . import reference
from .builder import Builder
from .forests import graphs, trees
from .graph import Graph
from .ranges import Normal

_LINEAR = ("LinearRegression", "Ridge", "RidgeCV", "Lasso", "LassoCV", "ElasticNet", "ElasticNetCV", "SGDRegressor",
           "LinearSVR",
           "HuberRegressor", "BayesianRidge", "ARDRegression", "TheilSenRegressor", "Lars", "LassoLars",
           "QuantileRegressor", "OrthogonalMatchingPursuit", "OrthogonalMatchingPursuitCV",
           "PassiveAggressiveRegressor",
           "MultiTaskLassoCV", "MultiTaskElasticNetCV",
           "LogisticRegression", "LogisticRegressionCV", "LinearSVC", "SGDClassifier", "RidgeClassifier",
           "RidgeClassifierCV",
           "Perceptron", "PassiveAggressiveClassifier", "LinearDiscriminantAnalysis")
# estimators that hold the one that they chose, and its name
_AROUND = {"BaseSearchCV": "best_estimator_", "RANSACRegressor": "estimator_"}
_ACTIVATIONS = {"relu": "relu", "tanh": "tanh", "logistic": "sigmoid", "identity": None}


def is_estimator(model: Any) -> bool:
    """Whether an object is one of scikit-learn."""
    return any(kind.__module__.split(".")[0] == "sklearn" for kind in type(model).__mro__)


def features(model: Any) -> int:
    """The number of features that an estimator was fitted with."""
    count = next((s.n_features_in_ for _, s in _steps(model) if hasattr(s, "n_features_in_")), None)
    if count is None:
        raise errors.ValueError.explain("compile", f"a {type(model).__name__} that is not fitted", "a fitted estimator",
                                        "call fit() first")
    return int(count)


def has_trees(model: Any) -> bool:
    """Whether an estimator, or the last step of a pipeline, is made of decision trees that have an encrypted form."""
    steps = _steps(model) if is_estimator(model) else []
    return bool(steps) and _named(steps[-1][1], trees.NAMES)


def read(model: Any, data: np.ndarray | None = None, normal: Normal | None = None, form: str = "copies") -> Graph:
    """The graph of a fitted estimator, or of a pipeline of them; UnsupportedError for one without an encrypted form.

    ``data``: calibration data, shape (inputs, features), which trees need; ``form`` of theirs, see `forests.graphs`.
    ``normal``: the graph's input is in these units, else as it is."""
    build = Builder((features(model),))
    x = build.input
    if normal is not None:
        x = build.shift(build.scale(x, normal.width, "input"), normal.centre, "input")
    steps = _steps(model)
    for k, (name, step) in enumerate(steps):
        if _named(step, trees.NAMES):
            if data is None:
                raise errors.UnsupportedError.explain(f"layer {name or type(step).__name__}",
                                                      "decision trees without calibration data",
                                                      "inputs as the model will see them", "pass calibration=x")
            given, ends = data, data
            if normal is not None:
                given = normal(data)
                ends = np.array([[-1.0], [1.0]]) * np.ones(data.shape[1]) if normal.clips else given
            before = build.graph(x)
            x = graphs.write(build, x, ensemble(name, step), reference.run(before, given), reference.run(before, ends),
                              form, name or "trees")
        else:
            x = _reader(name, step, k == len(steps) - 1)(build, x, step, name)
    return build.graph(x)


# these only rescale features by themselves, in the same order
_EACH = ("StandardScaler", "MinMaxScaler", "MaxAbsScaler", "RobustScaler")


def normal(model: Any, data: np.ndarray) -> Normal:
    """The range of each feature that a model with trees reads, thresholds included. Where nothing but scalers comes
    before the trees, a value beyond it is on the same side of all thresholds as the end of the range."""
    *before, (name, step) = _steps(model)
    if not all(_named(s, _EACH) and not getattr(s, "clip", False) for _, s in before):
        return Normal.of(data)
    build = Builder((features(model),))
    x = build.input
    for own, s in before:
        x = _reader(own, s, False)(build, x, s, own)
    shift, moved = reference.run(build.graph(x), np.array([np.zeros(data.shape[1]), np.ones(data.shape[1])]))
    low, high = data.min(axis=0), data.max(axis=0)
    for tree in ensemble(name, step).trees:
        at = trees.comparisons(tree)
        f = tree.feature[at]
        raw = (tree.threshold[at] - shift[f]) / (moved - shift)[f]
        np.minimum.at(low, f, raw)
        np.maximum.at(high, f, raw)
    return Normal.of(np.array([low, high]), True)


def ensemble(name: str, step: Any) -> trees.Ensemble:
    """The trees of a fitted estimator."""
    return trees.read(name, step, [k.__name__ for k in type(step).__mro__])


def last(model: Any) -> tuple[str, Any]:
    """The name and the estimator that ends a pipeline, or that the model is."""
    return _steps(model)[-1]


def _steps(model: Any) -> list[tuple[str, Any]]:
    """The estimators of a pipeline, in order, with their names."""
    if _named(model, ("Pipeline",)):
        return [(f"{name}.{inner}" if inner else name, step) for name, part in model.steps
                if part is not None and part != "passthrough" for inner, step in _steps(part)]
    for kind, attribute in _AROUND.items():
        if _named(model, (kind,)):
            if not hasattr(model, attribute):
                raise errors.ValueError.explain("compile", f"a {type(model).__name__} without {attribute}",
                                                "the estimator that it found", "call fit() first, with refit=True")
            return _steps(getattr(model, attribute))
    return [("", model)]


def _named(model: Any, names: tuple[str, ...]) -> bool:
    return any(k.__name__ in names and k.__module__.split(".")[0] == "sklearn" for k in type(model).__mro__)


def _reader(name: str, step: Any, is_last: bool = True) -> Callable[..., int]:
    """The rule for a step. ``is_last``: it predicts; those before the last one transform."""
    if not is_last and _named(step, ("LinearDiscriminantAnalysis",)):
        return rules.discriminant_axes
    for names, reader in _READERS if is_last else _TRANSFORMERS:
        if _named(step, names):
            return reader
    remedy = "train a tree, a forest or gradient boosting, which are supported" if _named(step, trees.FAMILIES) else \
        "train one of them instead" if is_last and not hasattr(step, "transform") else \
        "take one of them, or apply the step on the client before encrypting"
    raise errors.UnsupportedError.explain(
        f"layer {name or type(step).__name__}", f"a {type(step).__name__}",
        "a linear model, an MLP, decision trees, naive Bayes, scalers, PCA, or another one that "
        "docs/network_layers.md lists", remedy)


def _each(build: Builder, x: int, step: Any, name: str) -> int:
    """The scores of several estimators of the same features, side by side."""
    (found,) = rules.fitted(name, step, "estimators_")
    parts = [_pipeline(build, x, inner, f"{name}.{k}" if name else str(k), True) for k, inner in enumerate(found)]
    if _named(step, ("OneVsRestClassifier",)):  # naive Bayes gives a score for the rest, too
        parts = [build.linear(part, np.array([[-1.0, 1.0]]), None, name or "scores")
                 if build.nodes[part].size == 2 else part for part in parts]
    return _joined(build, parts, name)


def _columns(build: Builder, x: int, step: Any, name: str) -> int:
    """A ColumnTransformer: transformers of some features each, side by side."""
    (found,) = rules.fitted(name, step, "transformers_")
    names = list(getattr(step, "feature_names_in_", range(step.n_features_in_)))
    parts = []
    for own, part, columns in found:
        if isinstance(columns, str) or (np.ndim(columns) == 1 and len(columns) and isinstance(columns[0], str)):
            columns = [names.index(c) for c in np.atleast_1d(columns)]
        dropped = isinstance(part, str) and part == "drop"
        empty = not isinstance(columns, slice) and np.size(columns) == 0
        if dropped or empty:
            continue
        places = np.atleast_1d(np.arange(len(names))[columns if isinstance(columns, slice) else np.asarray(columns)])
        if len(places):
            label = f"{name}.{own}" if name else own
            given = rules.chosen(build, x, places, label)
            parts.append(given if isinstance(part, str) else _pipeline(build, given, part, label, False))
    return _joined(build, parts, name)


def _joined(build: Builder, parts: list[int], name: str) -> int:
    return parts[0] if len(parts) == 1 else build.concat(parts, 0, name)


def _pipeline(build: Builder, x: int, model: Any, name: str, predicts: bool) -> int:
    steps = _steps(model)
    for k, (own, step) in enumerate(steps):
        label = f"{name}.{own}" if own else name
        x = _reader(label, step, predicts and k == len(steps) - 1)(build, x, step, label)
    return x


def _function(build: Builder, x: int, step: Any, name: str) -> int:
    if step.func is not None:
        raise errors.UnsupportedError.explain(f"layer {name or 'function'}", "a FunctionTransformer with a function",
                                              "one without", "apply the function on the client before encrypting")
    return x


def _mlp(build: Builder, x: int, step: Any, name: str) -> int:
    weights, biases, activation = rules.fitted(name, step, "coefs_", "intercepts_", "activation")
    if activation not in _ACTIVATIONS:
        raise errors.UnsupportedError.explain(f"layer {name or 'mlp'}", f"the activation {activation!r}",
                                              ", ".join(_ACTIVATIONS),
                                              "train with one of these")
    lead = f"{name}." if name else ""
    for i, (w, b) in enumerate(zip(weights, biases)):
        x = build.linear(x, np.asarray(w).T, b, f"{lead}layer{i}")
        if i < len(weights) - 1 and _ACTIVATIONS[activation]:
            x = build.activation(x, str(_ACTIVATIONS[activation]), f"{lead}{activation}{i}")
    return x


def _affine(build: Builder, x: int, scale: Any, shift: Any, name: str) -> int:
    """Adds ``x * scale + shift``."""
    if scale is not None:
        x = build.scale(x, scale, name)
    return x if shift is None else build.shift(x, shift, name)


def _standard(build: Builder, x: int, step: Any, name: str) -> int:
    mean, scale = rules.fitted(name, step, "mean_", "scale_")
    factor = None if scale is None else 1 / np.asarray(scale)
    shift = None if not step.with_mean else -np.asarray(mean) * (1 if factor is None else factor)
    return _affine(build, x, factor, shift, name or "scaler")


def _min_max(build: Builder, x: int, step: Any, name: str) -> int:
    scale, least = rules.fitted(name, step, "scale_", "min_")
    x = _affine(build, x, scale, least, name or "scaler")
    if getattr(step, "clip", False):
        low, high = step.feature_range
        x = build.activation(x, "clip", name or "scaler", low=float(low), high=float(high))
    return x


def _max_abs(build: Builder, x: int, step: Any, name: str) -> int:
    (scale,) = rules.fitted(name, step, "scale_")
    return _affine(build, x, 1 / np.asarray(scale), None, name or "scaler")


def _robust(build: Builder, x: int, step: Any, name: str) -> int:
    centre, scale = rules.fitted(name, step, "center_", "scale_")
    factor = None if scale is None else 1 / np.asarray(scale)
    shift = None if centre is None else -np.asarray(centre) * (1 if factor is None else factor)
    return _affine(build, x, factor, shift, name or "scaler")


def _pca(build: Builder, x: int, step: Any, name: str) -> int:
    mean, components = rules.fitted(name, step, "mean_", "components_")
    weight = np.asarray(components, np.float64)
    if step.whiten:
        weight = weight / np.sqrt(np.asarray(step.explained_variance_))[:, None]
    return build.linear(x, weight, -weight @ np.asarray(mean), name or "pca")


def _svd(build: Builder, x: int, step: Any, name: str) -> int:
    (components,) = rules.fitted(name, step, "components_")
    return build.linear(x, components, None, name or "svd")


_TRANSFORMERS: list[tuple[tuple[str, ...], Callable[..., int]]] = [
    (("StandardScaler",), _standard), (("MinMaxScaler",), _min_max), (("MaxAbsScaler",), _max_abs),
    (("RobustScaler",), _robust), (("PCA", "IncrementalPCA"), _pca), (("TruncatedSVD",), _svd),
    (("SelectorMixin",), rules.selector), (("ColumnTransformer",), _columns), (("FunctionTransformer",), _function),
    (("PolynomialFeatures",), rules.polynomial_features)]
_READERS: list[tuple[tuple[str, ...], Callable[..., int]]] = [
    (("MLPClassifier", "MLPRegressor"), _mlp), (_LINEAR, rules.linear),
    (("SVC", "NuSVC", "SVR", "NuSVR", "OneClassSVM"), rules.kernel_machine),
    (("PoissonRegressor", "GammaRegressor", "TweedieRegressor"), rules.log_linear),
    (("PLSRegression",), rules.partial_least_squares), (("GaussianNB",), rules.gaussian_bayes),
    (("QuadraticDiscriminantAnalysis",), rules.quadratic_discriminant),
    (("MultinomialNB", "ComplementNB"), rules.count_bayes),
    (("OneVsRestClassifier", "MultiOutputRegressor"), _each), *_TRANSFORMERS]
