"""All steps from a trained model to its lowered graph, in one call."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from .. import errors
from . import activations, capture, estimators
from .activations import Fit, fit_activations
from .graph import Graph
from .lowered import Lowered
from .lowering import lowered_and_wishes
from .ranges import MARGIN, Ranges, batches, measure
from .rewrites import simplified

_ROUNDS = 3
_KEPT = 32
_CHECKED = 256  # calibration inputs that are run through the polynomials


@dataclass(frozen=True)
class Reading:
    """A model, step by step.

    ``model``: as it was written; ``graph``: with fewer kinds of layers (`rewrites`); ``ranges`` of its nodes; ``fits``
    of its activations, by node; ``lowered``: what packing and the run see.
    """

    model: Graph
    graph: Graph
    ranges: Ranges
    fits: Mapping[int, Fit]
    lowered: Lowered
    samples: np.ndarray

    @property
    def notes(self) -> list[str]:
        """What a person should know: of the ranges, and of layers whose values may leave theirs."""
        out = list(self.ranges.notes)
        narrow = dict.fromkeys(self.graph.nodes[i].layer or "without a name" for i in self.fits
                               if self.ranges.narrow(self.graph.nodes[i].inputs[0]))
        if narrow:
            out.append("among ten times as many inputs some lead to values outside of the bounds, which polynomials do "
                       f"not bear, before {', '.join(narrow)}; compile with a larger margin or more calibration data")
        return out


def read(model: Any, sample: Any = None, *, calibration: Any = None, margin: float = MARGIN,
         bits: float = activations.BITS,
         fits: Mapping[str, Any] | None = None) -> Reading:
    """A PyTorch module or exported program, a scikit-learn estimator or a `Graph`, as a lowered graph.

    ``sample``: inputs along a first axis, which PyTorch's models need. ``calibration``: inputs as the model will see
    them, an array or an iterable of arrays; the sample where there is none. ``margin``, ``bits``, ``fits``: see
    `ranges.measure` and `activations.fit_activations`.
    """
    if isinstance(model, Graph):
        graph = model
    elif capture.is_torch(model):
        if sample is None:
            raise errors.UnsupportedError.explain("compile", "a PyTorch model without a sample",
                                                  "inputs to follow it on",
                                                  "pass sample=x[:1]")
        graph = capture.capture(model, sample)
    elif estimators.is_estimator(model):
        graph = estimators.read(model)
    else:
        raise errors.UnsupportedError.explain(
            "compile", f"a {type(model).__name__}",
            "a torch.nn.Module, an ExportedProgram, a scikit-learn estimator or a Graph",
            "pass one of these, or build the graph with latticino.nn.builder.Builder")
    data = sample if calibration is None else calibration
    if data is None:
        raise errors.UnsupportedError.explain("compile", "no calibration data", "inputs as the model will see them",
                                              "pass calibration=x, a thousand inputs or more")
    small = simplified(graph)
    # It is read more than once.
    data = np.concatenate([np.zeros((0, *small.shape_in)), *batches(data, small.shape_in)])
    ranges = measure(small, data, margin)
    chosen = fit_activations(small, ranges, bits, fits)
    for _ in range(_ROUNDS):
        seen = _with_polynomials(small, ranges, chosen, data)
        if seen is None:
            break
        chosen = fit_activations(small, seen, bits, fits, (ranges, chosen))
        ranges = seen
    lowered, wishes = lowered_and_wishes(small, ranges, chosen)
    for _ in range(_ROUNDS):
        if not wishes:
            break
        wider = ranges.wider({i: (-bound / margin, bound / margin) for i, bound in wishes.items()})
        chosen = fit_activations(small, wider, bits, fits, (ranges, chosen))
        ranges = wider
        lowered, wishes = lowered_and_wishes(small, ranges, chosen)
    return Reading(graph, small, ranges, chosen, lowered, data[:_KEPT])


def _with_polynomials(graph: Graph, ranges: Ranges, fits: Mapping[int, Fit], data: np.ndarray) -> Ranges | None:
    """The ranges, wider where polynomials instead of functions lead to values outside; None where they do nowhere."""
    inside = {i: partial(_inside, fit) for i, fit in fits.items()}
    seen = measure(graph, data[:_CHECKED], ranges.margin, inside)
    beyond = {}
    for i, r in enumerate(seen.nodes):
        # Half of the margin is left for inputs that calibration did not see.
        most = ranges.nodes[i].most * (1 + (ranges.margin - 1) / 2)
        if r.most > most or (r.low < ranges.nodes[i].low and any(j in fits and fits[j].domain[0] > 0
                                                                 for j in graph.users[i])):
            beyond[i] = (r.low, r.high)
    return ranges.wider(beyond) if beyond else None


def _inside(fit: Fit, x: np.ndarray) -> np.ndarray:
    """The polynomials, of the nearest value in the domain: one that leaves it shall not hide the others."""
    return fit(np.clip(x, *fit.domain))
