"""`latticino demo transformer`: an encoder for film reviews of 128 tokens, whose words the client looks up."""

from __future__ import annotations

import numpy as np

from ..nn.builder import Builder
from ..nn.graph import Graph
from . import inputs
from .networks import Weights, Workload


def network(w: Weights) -> Graph:
    """The network (tokens, width) to (1,), with the arrays of the recipe examples/networks/transformer.py without its
    tables."""
    b = Builder(w["words.places"].shape)
    x, k = b.input, 0
    while f"network.layers.{k}.first.weight" in w:
        x, k = _layer(b, x, w, f"network.layers.{k}"), k + 1
    x = b.mean(_norm(b, x, w, "network.norm"), (0,), layer="mean")
    return b.graph(b.linear(x, w["network.last.weight"], w["network.last.bias"], layer="last"))


def _layer(b: Builder, x: int, w: Weights, name: str) -> int:
    """Attention and two linear layers, each added to its input."""
    y = _attention(b, _norm(b, x, w, f"{name}.norm1"), w, f"{name}.attention")
    x = b.add(x, y, layer=f"{name}.attention.add")
    y = _linear(b, _norm(b, x, w, f"{name}.norm2"), w, f"{name}.first")
    y = _square(b, _norm(b, y, w, f"{name}.norm3"), w, f"{name}.act")
    return b.add(x, _linear(b, y, w, f"{name}.second"), layer=f"{name}.add")


def _attention(b: Builder, x: int, w: Weights, name: str) -> int:
    """Weights ``(scores + shift)^2 / tokens`` for each head, in place of those of a softmax."""
    shift = w[f"{name}.shift"]
    (tokens, width), heads = b.shape(x), len(shift)

    def part(of: str) -> int:
        y = b.reshape(_linear(b, x, w, f"{name}.{of}"), (tokens, heads, width // heads), f"{name}.{of}")
        return b.permute(y, (1, 0, 2), f"{name}.{of}")

    q, k, v = part("query"), part("key"), part("value")
    scores = b.scale(b.matmul(q, b.permute(k, (0, 2, 1)), f"{name}.scores"), (width // heads) ** -0.5, f"{name}.scores")
    scores = b.shift(scores, shift, f"{name}.shift")
    weights = b.scale(b.mul(scores, scores, f"{name}.square"), 1 / tokens, f"{name}.square")
    mixed = b.permute(b.matmul(weights, v, f"{name}.mix"), (1, 0, 2), f"{name}.mix")
    return _linear(b, b.reshape(mixed, (tokens, width), f"{name}.mix"), w, f"{name}.out")


def _square(b: Builder, x: int, w: Weights, name: str) -> int:
    """``a x^2 + c x``, with coefficients for each entry along the width."""
    a, c = w[f"{name}.weight"]
    return b.add(b.scale(b.mul(x, x, name), a, name), b.scale(x, c, name), name)


def _linear(b: Builder, x: int, w: Weights, name: str) -> int:
    return b.linear(x, w[f"{name}.weight"], w[f"{name}.bias"], layer=name)


def _norm(b: Builder, x: int, w: Weights, name: str) -> int:
    """Batch norm of each entry along the width."""
    parts = ("running_mean", "running_var", "weight", "bias")
    mean, variance, weight, bias = (w[f"{name}.norm.{part}"] for part in parts)
    return b.batch_norm(x, mean, variance, weight, bias, axis=-1, layer=name)


def vectors(w: Weights, ids: np.ndarray) -> np.ndarray:
    """The array that the client encrypts for token ids of shape (reviews, tokens): rows of its table plus those of
    positions, of shape (reviews, tokens, width). Words that the table does not have count as unknown, which is 1."""
    return inputs.looked_up(w["words.words.table.weight"], ids) + w["words.places"]


WORKLOAD = Workload("transformer", "transformer.run", "s", "review", 1, "n16-d40-boot-v1", network,
                    lambda w: inputs.reviews(len(w["words.places"]), len(w["words.words.table.weight"])), vectors)
