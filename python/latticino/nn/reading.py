"""All steps from a trained model to its lowered graph, in one call."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from .. import errors
from . import activations, estimators
from .activations import Fit, fit_activations
from .forests import comparing
from .graph import Graph
from .labels.gaps import Margins
from .lowered import Lowered
from .lowering import Known, lowered_with_fit_requests
from .pytorch import capture
from .ranges import MARGIN, Normal, Ranges, batches, extremes, measure
from .repeats import common
from .rewrites import simplified

_ROUNDS = 3
_KEPT = 32
_CHECKED = 256  # number of calibration inputs that are run through the polynomials


@dataclass(frozen=True)
class Reading:
    """A model, step by step.

    ``model``: as it was written; ``graph``: with fewer kinds of layers (`rewrites`); ``ranges`` of its nodes; ``fits``
    of its activations, by node; ``lowered``: what packing and the run see; ``samples``: a few of the calibration data;
    ``largest``: of each number of an input, its largest size that comes in. ``normal``: units of the input, where the
    graphs, `samples` and `largest` have it in units of its range. ``facts``: for the plan. ``gap``: how close values
    may be that the last step compares, 0 without such a step.
    """

    model: Graph
    graph: Graph
    ranges: Ranges
    fits: Mapping[int, Fit]
    lowered: Lowered
    samples: np.ndarray
    largest: np.ndarray
    normal: Normal | None = None
    facts: tuple[str, ...] = ()
    gap: float = 0.0

    @property
    def notes(self) -> list[str]:
        """Notes for users on the ranges, and on layers whose values may leave theirs."""
        if self.normal is not None and self.normal.clips:  # with these, no input leaves the ranges
            return list(self.facts)
        out = list(self.ranges.notes)
        narrow = dict.fromkeys(self.graph.nodes[i].layer or "without a name" for i in self.fits
                               if self.ranges.narrow(self.graph.nodes[i].inputs[0]))
        if narrow:
            out.append("among ten times as many inputs some lead to values outside of the bounds, which polynomials do "
                       f"not bear, before {', '.join(narrow)}; compile with a larger margin or more calibration data")
        return [*self.facts, *out]


def read(model: Any, sample: Any = None, *, calibration: Any = None, margin: float = MARGIN,
         bits: float = activations.BITS,
         fits: Mapping[str, Any] | None = None, form: str = "copies") -> Reading:
    """A PyTorch module or exported program, a scikit-learn estimator or a `Graph`, as a lowered graph.

    ``sample``: inputs along a first axis, which PyTorch's models need. ``calibration``: inputs as the model will see
    them, an array or an iterable of arrays; the sample where there is none. ``margin``, ``bits``, ``fits``: see
    `ranges.measure` and `activations.fit_activations`. ``form``: of decision trees, see `forests.graphs`; of
    products of matrices, see `rewrites.FORMS`.
    """
    data = sample if calibration is None else calibration
    normal: Normal | None = None
    if isinstance(model, Graph):
        graph = model
    elif capture.is_torch(model):
        graph = captured(model, sample)
    elif estimators.has_trees(model):
        data = collected(data, (estimators.features(model),))
        normal = estimators.normal(model, data)
        graph = estimators.read(model, data, normal, form)
    elif estimators.is_estimator(model):
        graph = estimators.read(model)
    else:
        raise errors.UnsupportedError.explain(
            "compile", f"a {type(model).__name__}",
            "a torch.nn.Module, an ExportedProgram, a scikit-learn estimator or a Graph",
            "pass one of these, or build the graph with latticino.nn.builder.Builder")
    small = simplified(graph, "matmul" if form == "matmul" else "elementwise")
    given = collected(data, small.shape_in)
    data = given if normal is None else normal(given)
    # Values outside of their ranges are replaced by the ends, so the ends are added to the calibration data.
    clips = normal is not None and normal.clips
    ends = np.ones((2, *small.shape_in)) * np.array([[-1.0], [1.0]]) if clips else data[:0]
    wide = np.concatenate([data, ends])
    margins = Margins(small)
    ranges = replace(measure(small, wide, margin, watch=margins.watch), inputs=len(data))
    ranges = common(small, ranges)
    small = margins.chosen(ranges)
    chosen = fit_activations(small, ranges, bits, fits)
    for _ in range(_ROUNDS):
        seen = _with_polynomials(small, ranges, chosen, data)
        if seen is None:
            break
        seen = common(small, seen)
        chosen = fit_activations(small, seen, bits, fits, (ranges, chosen))
        ranges = seen
    known = Known()
    lowered, requests = lowered_with_fit_requests(small, ranges, chosen, known=known)
    for _ in range(_ROUNDS):
        if not requests:
            break
        requested = {i: (-bound / margin, bound / margin) for i, bound in requests.items()}
        wider = common(small, ranges.wider(requested))
        chosen = fit_activations(small, wider, bits, fits, (ranges, chosen))
        ranges = wider
        lowered, requests = lowered_with_fit_requests(small, ranges, chosen, known=known)
    facts = () if normal is None else comparing.facts(small, ranges, chosen, data, *estimators.last(model))
    gap = 0.0
    if small.decision is not None:
        gap = chosen[margins.step].gap
        facts = (*facts, margins.fact(gap))
    return Reading(graph, small, ranges, chosen, lowered, data[:_KEPT], np.abs(wide).max(axis=0), normal, facts, gap)


def captured(model: Any, sample: Any) -> Any:
    """The graph of a model of PyTorch; other models as they are."""
    if not capture.is_torch(model):
        return model
    if sample is None:
        raise errors.UnsupportedError.explain("compile", "a PyTorch model without a sample", "inputs to follow it on",
                                              "pass sample=x[:1]")
    return capture.capture(model, sample)


def collected(data: Any, shape: tuple[int, ...]) -> np.ndarray:
    """Calibration data as one array, because they are read more than once."""
    if data is None:
        raise errors.UnsupportedError.explain("compile", "no calibration data", "inputs as the model will see them",
                                              "pass calibration=x, a thousand inputs or more")
    out: np.ndarray = np.concatenate([np.zeros((0, *shape)), *batches(data, shape)])
    if not len(out):
        raise errors.ShapeError.explain("calibrate", "no inputs", "one or more, better a thousand",
                                        "pass calibration=data")
    if not np.isfinite(out).all():
        raise errors.ValueError.explain("calibrate", "NaN or infinity in the calibration data", "finite values",
                                        "fill in missing values on the client, before training and here")
    return out


def _with_polynomials(graph: Graph, ranges: Ranges, fits: Mapping[int, Fit], data: np.ndarray) -> Ranges | None:
    """The ranges, widened where polynomials instead of functions lead to values outside. None if they never do."""
    inside = {i: partial(_inside, fit) for i, fit in fits.items()}
    beyond, users = {}, graph.users
    for i, (low, high) in enumerate(extremes(graph, data[:_CHECKED], inside)):
        # Half of the margin is left for inputs that calibration did not see.
        most = ranges.nodes[i].most * (1 + (ranges.margin - 1) / 2)
        if max(abs(low), abs(high)) > most or (low < ranges.nodes[i].low and any(j in fits and fits[j].domain[0] > 0
                                                                                 for j in users[i])):
            beyond[i] = (low, high)
    return ranges.wider(beyond) if beyond else None


def _inside(fit: Fit, x: np.ndarray) -> np.ndarray:
    """Evaluates the polynomials at the nearest value in the domain, so that one value outside of its domain does not
    hide others."""
    return fit(np.clip(x, *fit.domain))
