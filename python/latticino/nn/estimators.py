"""Model graphs of scikit-learn's estimators, read from their fitted attributes: scikit-learn itself is not needed.

    graph = read(make_pipeline(StandardScaler(), MLPClassifier()).fit(x, y))

A regressor's graph gives what predict() gives. A classifier's gives the scores of decision_function(), and a network's
those before its last activation: their argmax, or their sign where there is one, is the class.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import errors
from .builder import Builder
from .graph import Graph

_LINEAR = ("LinearRegression", "Ridge", "RidgeCV", "Lasso", "LassoCV", "ElasticNet", "ElasticNetCV", "SGDRegressor",
           "LinearSVR",
           "HuberRegressor", "BayesianRidge", "ARDRegression", "TheilSenRegressor", "Lars", "LassoLars",
           "QuantileRegressor",
           "LogisticRegression", "LogisticRegressionCV", "LinearSVC", "SGDClassifier", "RidgeClassifier",
           "RidgeClassifierCV",
           "Perceptron", "PassiveAggressiveClassifier", "LinearDiscriminantAnalysis")
_TREES = ("BaseDecisionTree", "BaseForest", "BaseGradientBoosting", "BaseHistGradientBoosting", "BaseBagging")
_ACTIVATIONS = {"relu": "relu", "tanh": "tanh", "logistic": "sigmoid", "identity": None}


def is_estimator(model: Any) -> bool:
    """Whether an object is of scikit-learn."""
    return any(kind.__module__.split(".")[0] == "sklearn" for kind in type(model).__mro__)


def read(model: Any) -> Graph:
    """The graph of a fitted estimator, or of a pipeline of them; UnsupportedError for one without an encrypted form."""
    steps = _steps(model)
    count = next((s.n_features_in_ for _, s in steps if hasattr(s, "n_features_in_")), None)
    if count is None:
        raise errors.ValueError.explain("compile", f"a {type(model).__name__} that is not fitted", "a fitted estimator",
                                        "call fit() first")
    build = Builder((int(count),))
    x = build.input
    for name, step in steps:
        x = _reader(name, step)(build, x, step, name)
    return build.graph(x)


def _steps(model: Any) -> list[tuple[str, Any]]:
    """The estimators of a pipeline, in order, with their names."""
    if _named(model, ("Pipeline",)):
        return [(f"{name}.{inner}" if inner else name, step) for name, part in model.steps
                if part is not None and part != "passthrough" for inner, step in _steps(part)]
    return [("", model)]


def _named(model: Any, names: tuple[str, ...]) -> bool:
    return any(k.__name__ in names and k.__module__.split(".")[0] == "sklearn" for k in type(model).__mro__)


def _reader(name: str, step: Any) -> Callable[..., int]:
    for names, reader in _READERS:
        if _named(step, names):
            return reader
    remedy = "compare with a linear model or an MLP, which are supported" if _named(step, _TREES) else \
        "take one of them, or apply the step on the client before encrypting"
    raise errors.UnsupportedError.explain(
        f"layer {name or type(step).__name__}", f"a {type(step).__name__}",
        "a linear model, an MLP, StandardScaler, MinMaxScaler, MaxAbsScaler, RobustScaler, PCA or TruncatedSVD", remedy)


def _fitted(name: str, step: Any, *attributes: str) -> list[Any]:
    for a in attributes:
        if not hasattr(step, a):
            raise errors.ValueError.explain(f"layer {name or type(step).__name__}",
                                            f"a {type(step).__name__} without {a}",
                                            "a fitted estimator", "call fit() first")
    return [getattr(step, a) for a in attributes]


def _linear(build: Builder, x: int, step: Any, name: str) -> int:
    coefficients, intercept = _fitted(name, step, "coef_", "intercept_")
    weight = np.atleast_2d(np.asarray(coefficients.toarray() if hasattr(coefficients, "toarray") else coefficients,
                                      np.float64))
    bias = np.broadcast_to(np.asarray(intercept, np.float64).reshape(-1), len(weight))
    return build.linear(x, weight, bias, name or "linear")


def _mlp(build: Builder, x: int, step: Any, name: str) -> int:
    weights, biases, activation = _fitted(name, step, "coefs_", "intercepts_", "activation")
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
    """``x * scale + shift``"""
    if scale is not None:
        x = build.scale(x, scale, name)
    return x if shift is None else build.shift(x, shift, name)


def _standard(build: Builder, x: int, step: Any, name: str) -> int:
    mean, scale = _fitted(name, step, "mean_", "scale_")
    factor = None if scale is None else 1 / np.asarray(scale)
    shift = None if not step.with_mean else -np.asarray(mean) * (1 if factor is None else factor)
    return _affine(build, x, factor, shift, name or "scaler")


def _min_max(build: Builder, x: int, step: Any, name: str) -> int:
    scale, least = _fitted(name, step, "scale_", "min_")
    x = _affine(build, x, scale, least, name or "scaler")
    if getattr(step, "clip", False):
        low, high = step.feature_range
        x = build.activation(x, "clip", name or "scaler", low=float(low), high=float(high))
    return x


def _max_abs(build: Builder, x: int, step: Any, name: str) -> int:
    (scale,) = _fitted(name, step, "scale_")
    return _affine(build, x, 1 / np.asarray(scale), None, name or "scaler")


def _robust(build: Builder, x: int, step: Any, name: str) -> int:
    centre, scale = _fitted(name, step, "center_", "scale_")
    factor = None if scale is None else 1 / np.asarray(scale)
    shift = None if centre is None else -np.asarray(centre) * (1 if factor is None else factor)
    return _affine(build, x, factor, shift, name or "scaler")


def _pca(build: Builder, x: int, step: Any, name: str) -> int:
    mean, components = _fitted(name, step, "mean_", "components_")
    weight = np.asarray(components, np.float64)
    if step.whiten:
        weight = weight / np.sqrt(np.asarray(step.explained_variance_))[:, None]
    return build.linear(x, weight, -weight @ np.asarray(mean), name or "pca")


def _svd(build: Builder, x: int, step: Any, name: str) -> int:
    (components,) = _fitted(name, step, "components_")
    return build.linear(x, components, None, name or "svd")


_READERS: list[tuple[tuple[str, ...], Callable[..., int]]] = [
    (("MLPClassifier", "MLPRegressor"), _mlp), (("StandardScaler",), _standard), (("MinMaxScaler",), _min_max),
    (("MaxAbsScaler",), _max_abs), (("RobustScaler",), _robust), (("PCA",), _pca), (("TruncatedSVD",), _svd),
    (_LINEAR, _linear),
]
