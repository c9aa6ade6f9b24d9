"""The definitions of activations in numpy. Polynomials are fitted to them, and the reference computes them."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any

import numpy as np

from .. import errors

Array = np.ndarray
_STEPS = 64  # points of the table of erf per unit
_END = 6.0  # beyond this, erf is 1 in doubles


@lru_cache(maxsize=1)
def _erf_table() -> Array:
    return np.array([math.erf(k / _STEPS) for k in range(-int(_END * _STEPS) - 1, int(_END * _STEPS) + 2)])


def erf(x: Array) -> Array:
    """The error function to 1e-15: Taylor's series about the nearest point of a table."""
    x = np.clip(np.asarray(x, np.float64), -_END, _END)
    k = np.rint(x * _STEPS).astype(np.int64)
    c = k / _STEPS
    d = x - c
    # The derivatives of exp(-c^2) are Hermite polynomials: term n is H_n(-c) d^(n+1) / (n+1)!.
    before, now = np.zeros_like(d), np.ones_like(d)
    power, total = d, d.copy()
    for n in range(1, 8):
        before, now = now, -2 * c * now - 2 * (n - 1) * before
        power = power * d / (n + 1)
        total += now * power
    return np.asarray(_erf_table()[k + int(_END * _STEPS) + 1] + 2 / math.sqrt(math.pi) * np.exp(-c * c) * total)


def sigmoid(x: Array) -> Array:
    return np.asarray(0.5 + 0.5 * np.tanh(0.5 * x))


def softplus(x: Array, beta: float = 1.0, threshold: float = math.inf) -> Array:
    """``log(1 + exp(beta x)) / beta``, and x itself where ``beta x`` is above the threshold."""
    return np.where(beta * x > threshold, x, np.logaddexp(0, beta * x) / beta)


def elu(x: Array, alpha: float = 1.0, scale: float = 1.0, input_scale: float = 1.0) -> Array:
    """``scale * x`` above 0, ``scale * alpha * (exp(input_scale * x) - 1)`` below."""
    return scale * np.where(x > 0, x, alpha * np.expm1(input_scale * np.minimum(x, 0)))


def gelu(x: Array, approximate: str = "none") -> Array:
    if approximate == "tanh":
        return np.asarray(0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))))
    return np.asarray(0.5 * x * (1 + erf(x / math.sqrt(2))))


def clip(x: Array, low: float = -1.0, high: float = 1.0) -> Array:
    return np.clip(x, low, high)


def leaky_relu(x: Array, slope: float = 0.01) -> Array:
    return np.where(x > 0, x, slope * x)


def prelu(x: Array, value: Array) -> Array:
    """``value``: the slopes below 0, broadcast to x."""
    return np.where(x > 0, x, value * x)


def step(x: Array, gap: float = 0.0, bits: float = 0.0) -> Array:
    """1 for x of at least 0, else 0. ``gap``: for x nearer to 0 than this, a polynomial need not be close. ``bits``:
    how close it is elsewhere; 0 for as close as other activations."""
    return np.where(x >= 0, 1.0, 0.0)


def first(x: Array, count: int = 0) -> Array:
    """1 for the rank 0, else 0. ``count`` of the values that have ranks."""
    return np.where(x < 0.5, 1.0, 0.0)


FUNCTIONS: dict[str, Callable[..., Array]] = {
    "relu": lambda x: np.maximum(x, 0), "leaky_relu": leaky_relu, "prelu": prelu, "clip": clip, "abs": np.abs,
    "elu": elu, "silu": lambda x: x * sigmoid(x), "gelu": gelu, "sigmoid": sigmoid, "tanh": np.tanh,
    "softplus": softplus, "mish": lambda x: x * np.tanh(np.logaddexp(0, x)),
    "hardswish": lambda x: x * np.clip(x / 6 + 0.5, 0, 1), "hardsigmoid": lambda x: np.clip(x / 6 + 0.5, 0, 1),
    "logsigmoid": lambda x: -np.logaddexp(0, -x), "step": step, "first": first,
    "softsign": lambda x: x / (1 + np.abs(x)),
    "exp": np.exp, "log": np.log, "sqrt": np.sqrt, "reciprocal": lambda x: 1 / x, "rsqrt": lambda x: 1 / np.sqrt(x),
    "sin": np.sin, "cos": np.cos, "erf": erf,
}


def formula(layer: str, function: str, parameters: dict[str, Any]) -> Callable[[Array], Array]:
    """The function with its parameters; UnsupportedError, naming the layer, for one that is not known."""
    f = FUNCTIONS.get(function)
    if f is None:
        raise errors.UnsupportedError.explain(
            f"layer {layer or 'without a name'}", f"the function {function!r}", ", ".join(FUNCTIONS),
            "take one of them, or a polynomial")
    return partial(f, **parameters) if parameters else f
