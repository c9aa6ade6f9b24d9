"""`latticino demo rnn`: a recurrent network of 200 steps for film reviews, whose words the client looks up."""

from __future__ import annotations

import numpy as np

from ..nn.builder import Builder
from ..nn.graph import Graph
from . import inputs
from .networks import Weights, Workload

STEPS = 200
CUBIC = (0.0, 1.0, 0.0, -4 / 27)  # the activation: monomials, lowest first


def network(w: Weights, steps: int = STEPS) -> Graph:
    """The graph ``h = p(W h + x[t])`` from arrays of examples/networks/rnn.py, without the table of words."""
    state = w["network.state.weight"]
    b = Builder((steps, len(state)))

    def step(t: int) -> int:
        return b.reshape(b.slice(b.input, 0, t, t + 1, layer=f"x{t}"), (len(state),), layer=f"x{t}")

    h = b.polynomial(step(0), CUBIC, layer="step 0")
    for t in range(1, steps):
        h = b.polynomial(b.add(b.linear(h, state, layer=f"step {t}"), step(t), layer=f"step {t}"), CUBIC,
                         layer=f"step {t}")
    return b.graph(b.linear(h, w["network.last.weight"], w["network.last.bias"], layer="last"))


def vectors(w: Weights, ids: np.ndarray) -> np.ndarray:
    """The array that the client encrypts for token ids of shape (reviews, steps): rows of its table, (reviews, steps,
    width).

    Words that the table does not have count as unknown, which is 1. Row 0, for padding, is zeros.
    """
    return inputs.looked_up(w["words.table.weight"], ids)


WORKLOAD = Workload("rnn", "rnn.run", "s", "review", 32, "n16-d40-boot-v1", network,
                    lambda w: inputs.reviews(STEPS, len(w["words.table.weight"])), vectors)
