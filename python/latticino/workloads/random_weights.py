"""Random weights with normalisations as after a training, for networks whose weights are not part of the package."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ..nn import reference
from ..nn.builder import Builder

# Called with the node that a normalisation reads, and the name of the normalisation.
Before = Callable[[Any, int, str], None]


class Measuring(Builder):
    """A builder that also computes each node for a batch of inputs of shape (batch, ...)."""

    def __init__(self, x: np.ndarray) -> None:
        super().__init__(x.shape[1:])
        self._held = [x]

    def add_node(self, op: str, inputs: tuple[int, ...], layer: str = "",
                 arrays: Mapping[str, np.ndarray] | None = None, options: Mapping[str, Any] | None = None) -> int:
        at = super().add_node(op, inputs, layer, arrays, options)
        self._held.append(reference.result_of(self.nodes[at], [self._held[j] for j in inputs]))
        return at

    def values(self, x: int) -> np.ndarray:
        """The values of node x, with the batch first."""
        return self._held[x]


def kernels(r: np.random.Generator, *shape: int) -> np.ndarray:
    """Normal numbers. Sums of their products, over all axes but the first, keep the variance of the input."""
    return np.asarray(r.normal(size=shape) / np.sqrt(np.prod(shape[1:])))


def statistics(name: str, x: np.ndarray, affine: bool = False) -> dict[str, np.ndarray]:
    """Arrays of a batch norm that has seen x, of shape (batch, channels, height, width). ``affine``: with a weight of
    1 and a bias of 0 for each channel."""
    channels = x.shape[1]
    out = {f"{name}.running_mean": x.mean(axis=(0, 2, 3)), f"{name}.running_var": x.var(axis=(0, 2, 3))}
    return {**out, f"{name}.weight": np.ones(channels), f"{name}.bias": np.zeros(channels)} if affine else out
