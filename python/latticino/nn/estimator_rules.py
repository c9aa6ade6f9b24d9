"""How single estimators of scikit-learn are written as layers: see `estimators`, which reads whole pipelines."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .. import errors
from .builder import Builder

_MOST_TERMS = 1 << 16  # of polynomial features


def fitted(name: str, step: Any, *attributes: str) -> list[Any]:
    """The attributes that fit() sets; ValueError if they are missing."""
    for a in attributes:
        if not hasattr(step, a):
            raise errors.ValueError.explain(f"layer {name or type(step).__name__}",
                                            f"a {type(step).__name__} without {a}",
                                            "a fitted estimator", "call fit() first")
    return [getattr(step, a) for a in attributes]


def linear(build: Builder, x: int, step: Any, name: str) -> int:
    coefficients, intercept = fitted(name, step, "coef_", "intercept_")
    weight = np.atleast_2d(np.asarray(coefficients.toarray() if hasattr(coefficients, "toarray") else coefficients,
                                      np.float64))
    bias = np.broadcast_to(np.asarray(intercept, np.float64).reshape(-1), len(weight))
    return build.linear(x, weight, bias, name or "linear")


def kernel_machine(build: Builder, x: int, step: Any, name: str) -> int:
    """A support vector machine, whose linear kernel makes it a linear layer."""
    kernel, classes = step.kernel, len(getattr(step, "classes_", ()))
    if kernel != "linear":
        raise errors.UnsupportedError.explain(f"layer {name or type(step).__name__}",
                                              f"a {type(step).__name__} with the kernel {kernel!r}", "kernel='linear'",
                                              "train with kernel='linear', or an MLP or trees instead")
    if classes > 2:
        raise errors.UnsupportedError.explain(
            f"layer {name or type(step).__name__}",
            f"a {type(step).__name__} of {classes} classes, which votes over pairs", "two classes",
            "train LinearSVC, or OneVsRestClassifier(SVC(kernel='linear'))")
    return linear(build, x, step, name)


def log_linear(build: Builder, x: int, step: Any, name: str) -> int:
    """Poisson, gamma and Tweedie regression: exp of a linear layer, unless the link is the identity."""
    link = getattr(step, "link", "log")
    x = linear(build, x, step, name)
    if link == "identity" or (link == "auto" and step.power <= 0):
        return x
    return build.activation(x, "exp", f"{name}.exp" if name else "exp")


def partial_least_squares(build: Builder, x: int, step: Any, name: str) -> int:
    weight, bias, mean = fitted(name, step, "coef_", "intercept_", "_x_mean")
    return build.linear(x, weight, np.asarray(bias) - np.asarray(weight) @ np.asarray(mean), name or "linear")


def discriminant_axes(build: Builder, x: int, step: Any, name: str) -> int:
    """What transform() of linear discriminant analysis gives."""
    (scalings,) = fitted(name, step, "scalings_")
    weight = np.asarray(scalings, np.float64).T[: step._max_components]
    bias = -weight @ np.asarray(step.xbar_) if step.solver == "svd" else None
    return build.linear(x, weight, bias, name or "lda")


def _of_squares(build: Builder, x: int, weight: np.ndarray, bias: np.ndarray, sums: np.ndarray, offset: np.ndarray,
                name: str) -> int:
    """Sums of squares of a linear layer: ``sums @ (weight @ x + bias)^2 + offset``."""
    y = build.polynomial(build.linear(x, weight, bias, name), [0.0, 0.0, 1.0], name)
    return build.linear(y, sums, offset, name)


def gaussian_bayes(build: Builder, x: int, step: Any, name: str) -> int:
    """The joint log-likelihood of each class."""
    mean, variance, prior = (np.asarray(a) for a in fitted(name, step, "theta_", "var_", "class_prior_"))
    classes, features = mean.shape
    factor = 1 / np.sqrt(2 * variance)
    weight = (factor[:, :, None] * np.eye(features)).reshape(-1, features)
    sums = -np.kron(np.eye(classes), np.ones((1, features)))
    offset = np.log(prior) - 0.5 * np.log(2 * math.pi * variance).sum(axis=1)
    return _of_squares(build, x, weight, -(mean * factor).reshape(-1), sums, offset, name or "bayes")


def quadratic_discriminant(build: Builder, x: int, step: Any, name: str) -> int:
    """What decision_function() gives: a score for each class, or the difference of two."""
    means, rotations, scalings, priors = fitted(name, step, "means_", "rotations_", "scalings_", "priors_")
    parts = [(np.asarray(r) / np.sqrt(s)).T for r, s in zip(rotations, scalings)]
    sums = np.zeros((len(parts), sum(len(p) for p in parts)))
    at = 0
    for k, p in enumerate(parts):
        sums[k, at : at + len(p)] = -0.5
        at += len(p)
    offset = np.array([math.log(p) - 0.5 * float(np.log(s).sum()) for p, s in zip(priors, scalings)])
    if len(parts) == 2:
        sums, offset = sums[1:] - sums[:1], offset[1:] - offset[:1]
    bias = np.concatenate([-p @ np.asarray(m) for p, m in zip(parts, means)])
    return _of_squares(build, x, np.concatenate(parts), bias, sums, offset, name or "discriminant")


def count_bayes(build: Builder, x: int, step: Any, name: str) -> int:
    """The joint log-likelihood of each class, for counts."""
    weight, prior = fitted(name, step, "feature_log_prob_", "class_log_prior_")
    bias = None if type(step).__name__ == "ComplementNB" and len(weight) > 1 else prior
    return build.linear(x, weight, bias, name or "bayes")


def chosen(build: Builder, x: int, columns: Any, name: str) -> int:
    """Some features, in this order."""
    columns = np.asarray(columns, int).reshape(-1)
    return build.sparse(x, np.arange(len(columns)), columns, np.ones(len(columns)), len(columns), None, name)


def selector(build: Builder, x: int, step: Any, name: str) -> int:
    return chosen(build, x, step.get_support(indices=True), name or "select")


def polynomial_features(build: Builder, x: int, step: Any, name: str) -> int:
    """Products of features, one factor after the other; 1 stands for factors that a product lacks."""
    name = name or "products"
    (powers,) = (np.asarray(p) for p in fitted(name, step, "powers_"))
    if powers.size > _MOST_TERMS:
        raise errors.UnsupportedError.explain(
            f"layer {name}", f"{len(powers):,} products of {powers.shape[1]} features",
            f"at most {_MOST_TERMS // powers.shape[1]:,}", "compute them on the client before encrypting")
    factors = [np.repeat(np.arange(powers.shape[1]), row) for row in powers]
    out: int | None = None
    for k in range(max(1, *map(len, factors))):
        rows = [i for i, f in enumerate(factors) if k < len(f)]
        columns = [int(factors[i][k]) for i in rows]
        missing = np.ones(len(factors))
        missing[rows] = 0
        factor = build.sparse(x, rows, columns, np.ones(len(rows)), len(factors), None, name)
        factor = build.shift(factor, missing, name) if missing.any() else factor
        out = factor if out is None else build.mul(out, factor, name)
    assert out is not None
    return out
