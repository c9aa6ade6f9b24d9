"""The shadow of an encrypted run: it computes the same steps in floating point, for whole batches, with or without
noise.

The noise of a step has the deviations that a dry run predicts for it. The step passes on what it adds to its operands,
and later steps pass on what it adds to its result, as the network does: a weight of 1,000 multiplies the errors before
it for one result, and leaves those of other results alone. The difference between the noisy shadow and the exact one
gives the precision that a plan predicts.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from ..common.progress_bar import Task
from .halves.filling import in_both
from .lowered import OUTSIDE, Lowered, Node, require_within, result_of
from .run import Step

CHUNK = 256  # samples that are computed together
_NOISE_OUTSIDE = 2.0**-7  # relative: with noise, values at an end of a domain may be outside of it
_REAL = math.sqrt(0.5)  # the real part has half of the variance of a complex error
_MEAN = math.sqrt(2 / math.pi)  # mean size of a normal number, in units of its deviation


class Added(NamedTuple):
    """The deviations of the errors that a step adds.

    - ``result``: to its result
    - ``operands``: to each operand, while it is brought to the level of the step
    - ``rotated``: to each value that a map reads from an operand, while it is rotated and before a weight multiplies it
    """

    result: float
    operands: tuple[float, ...] = ()
    rotated: tuple[float, ...] = ()


class Errors(NamedTuple):
    """The deviations of the errors of a run: of the input, and what each step adds."""

    fresh: float
    steps: tuple[Added, ...]

    @classmethod
    def none(cls, steps: Sequence[Step]) -> Errors:
        return cls(0.0, (Added(0.0),) * len(steps))


class Shadow:
    """Steps in float on a graph in units of its own. ``shown``: units for messages."""

    def __init__(self, graph: Lowered, units: Sequence[float], steps: Sequence[Step], errors: Errors,
                 shown: Sequence[float]) -> None:
        self.graph, self.units, self.steps, self.errors, self.shown = graph, units, steps, errors, shown

    def results(self, x: np.ndarray, noise: np.random.Generator | None = None) -> np.ndarray:
        """The result for each sample, in its shape; samples are rows, shape (batch, size), in the user's units.

        ValueError if a value leaves the domain of a polynomial, naming the layer.
        """
        out = [np.zeros((0, self.graph.nodes[self.graph.output].size))]
        with Task("shadow of a network", len(x)) as task:
            for at in range(0, len(x), CHUNK):
                out.append(self._run(x[at : at + CHUNK], noise)[self.graph.output])
                task.advance(len(out[-1]))
        node = self.graph.nodes[self.graph.output]
        return np.asarray(np.concatenate(out).reshape(len(x), *node.shape) * self.units[self.graph.output])

    def layers(self, x: np.ndarray, noise: np.random.Generator | None = None) -> list[np.ndarray]:
        """The values of all nodes, in the units of the graph, shape (batch, size)."""
        return self._run(x, noise)

    def _run(self, x: np.ndarray, noise: np.random.Generator | None) -> list[np.ndarray]:
        both = in_both(self.graph)
        out: list[np.ndarray] = [np.zeros(0)] * len(self.graph.nodes)
        for i in self.graph.inputs:
            out[i] = _noisy(x / self.units[i], self.errors.fresh, noise)
        held = dict(enumerate(out))  # the values that later steps read: after a bootstrapping, the refreshed ones
        for step, added in zip(self.steps, self.errors.steps):
            i = step.node
            if step.form is not None:
                y = _after_join(held[i], noise) if step.form == "merged" else held[i].real
                held[i] = _noisy(y, added.result, noise, both[i])
                continue
            node = self.graph.nodes[i]
            if node.series is not None:
                outside = OUTSIDE if noise is None else _NOISE_OUTSIDE
                require_within(node, held[node.inputs[0]].real, self.shown[node.inputs[0]], outside)
            if node.op == "affine":
                y = _mapped(node, held, added.operands, noise, both)
            else:
                found = {j: _noisy(held[j], e, noise, both[j]) for j, e in zip(node.inputs, added.operands)}
                y = _result(node, [found.get(j, held[j]) for j in node.inputs])
            held[i] = _noisy(_after_join(y, noise) if both[i] else y, _new_deviation(node, added), noise, both[i])
            out[i] = held[i].real
        return out


def bits_of(error: np.ndarray, bound: float) -> float:
    """The bits of precision of values within a bound. They are those of the mean size of normal errors that have the
    deviation of these errors."""
    size = _MEAN * float(np.sqrt((error**2).mean())) / bound
    return -math.log2(size) if size > 0 else math.inf


def _result(node: Node, xs: list[np.ndarray]) -> np.ndarray:
    """The result of a node for its inputs and for the errors in their imaginary parts."""
    real = [x.real for x in xs]
    y = result_of(node, real, check=False)
    if not any(np.iscomplexobj(x) for x in xs):
        return y
    return np.asarray(y + 1j * (result_of(node, [x.real + x.imag for x in xs], check=False) - y))


def _mapped(node: Node, held: Mapping[int, np.ndarray], errors: Sequence[float], noise: np.random.Generator | None,
            both: Sequence[bool]) -> np.ndarray:
    """The result of an affine node for its inputs, which get these errors when they are read."""
    real = np.zeros((len(held[node.inputs[0]]), node.size))
    imaginary = None
    for k, (m, j) in enumerate(zip(node.maps, node.inputs)):
        x, error = held[j], errors[k] if k < len(errors) else 0.0
        changed = None if noise is None or not error else partial(_noisy, error=error, noise=noise)
        real += m.apply(x.real, changed)
        if np.iscomplexobj(x) or (changed is not None and not both[j]):
            y = m.apply(x.imag, changed)
            imaginary = y if imaginary is None else imaginary + y
    if node.bias is not None:
        real += node.bias
    return real if imaginary is None else real + 1j * imaginary


def _new_deviation(node: Node, added: Added) -> float | np.ndarray:
    """The deviation of the errors of each result that are new in a step."""
    if not any(added.rotated):
        return added.result
    return np.sqrt(sum(((e * m.gains) ** 2 for m, e in zip(node.maps, added.rotated)), added.result**2))


def _after_join(x: np.ndarray, noise: np.random.Generator | None) -> np.ndarray:
    """Real values after a join: the error in the imaginary part of one image is added to the real part of another."""
    if noise is None or not np.iscomplexobj(x):
        return x.real
    return np.asarray(x.real + noise.choice((-1.0, 1.0), x.shape) * np.roll(x.imag, 1, axis=0))


def _noisy(x: np.ndarray, error: float | np.ndarray, noise: np.random.Generator | None,
           both: bool = True) -> np.ndarray:
    """Values with an error: of their real parts, and of imaginary parts that hold no values (not `both`)."""
    if noise is None or not np.any(error):
        return x
    x = x + noise.standard_normal(x.shape) * (error * _REAL)
    return x if both else x + 1j * noise.standard_normal(x.shape) * (error * _REAL)
