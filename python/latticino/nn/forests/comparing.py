"""Notes of a plan on the comparisons of decision trees: their gap, and its effect on results."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from ... import errors
from ...ckks.context import Context
from ...ckks.plan import Shape
from ...common import display
from .. import estimators, reference
from ..activations import Fit
from ..graph import Graph
from ..plan import NetworkPlan
from ..ranges import Ranges
from . import trees

_TABLES = "n16-d40-boot-v1"  # the set whose tables a plan predicts
_CHECKED = 1000  # number of calibration inputs
_WORDS = {"copies": "copies of the comparisons for each leaf", "shared": "every comparison once"}


def facts(graph: Graph, ranges: Ranges, fits: Mapping[int, Fit], data: np.ndarray, name: str,
          step: Any) -> tuple[str, ...]:
    """Sentences on the calibration data (in the graph's units): how many comparisons are undefined, and which results
    that changes."""
    out = [f"{name or type(step).__name__}: {trees.summary(estimators.ensemble(name, step))}"]
    given = data[:_CHECKED]
    exact = reference.run(graph, given)
    replaced = {i: partial(_inside, fit) for i, fit in fits.items()}
    near, all_of = 0, 0
    got = exact
    for i, y in reference.walk(graph, given, replaced):
        for j, fit in fits.items():
            if graph.nodes[j].inputs[0] == i and fit.gap:
                near, all_of = near + int((np.abs(y) < fit.gap).sum()), all_of + y.size
        if i == graph.output:
            got = y
    for fit in fits.values():
        if fit.gap:
            out.append(f"comparisons by sign polynomials, {fit.cost[0]} levels: undefined, between no and yes, for "
                       f"features nearer to a threshold than {fit.gap:.2g} of the largest distance from it")
    most = float(np.abs(exact).max()) or 1.0
    off = np.abs(got - exact).reshape(len(given), -1).max(axis=1, initial=0.0) / most
    classes = ""
    if hasattr(step, "classes_"):
        changed = int((classes_of(got) != classes_of(exact)).sum())
        classes = f", and {changed:,} have another class"
    out.append(f"of {len(given):,} calibration inputs {near / max(all_of, 1):.1%} of all comparisons are undefined; "
               f"results differ from the model's by up to {float(off.max(initial=0.0)):.2g} of the largest, in the "
               f"median {float(np.median(off)):.1g}{classes}")
    return tuple(out)


def classes_of(scores: np.ndarray) -> np.ndarray:
    """The index of the largest of several scores, or whether the only one is above 0."""
    return np.asarray(scores.argmax(axis=1) if scores.shape[1] > 1 else scores[:, 0] > 0)


def _inside(fit: Fit, x: np.ndarray) -> np.ndarray:
    return fit(np.clip(x, *fit.domain))


def tables(plan: NetworkPlan, count: int) -> list[str]:
    """A sentence that compares the signs with tables of TFHE: what the same comparisons would take, as a plan
    predicts."""
    own = sum(layer.seconds for layer in plan.layers if layer.layer.endswith(".compare"))
    if not count:
        return []
    context = Context._for_plans(_TABLES, plan.device, False)
    try:
        found = context.plan(lambda x: x.apply_lut(lambda v: float(v >= 0)), Shape((count,), None, (-1, 1)))
    except errors.Error as why:
        return [f"tables of TFHE for {count:,} comparisons are not possible: {why}"]
    rest = "" if found.seconds > own else ", which is less, but trees take no tables yet"
    return [f"{count:,} comparisons by signs take {display.seconds(own)}; tables of TFHE would take "
            f"{display.seconds(found.seconds)} at {_TABLES}, and tell values apart from 2^-6 of the range on{rest}"]


def ways(seconds: Mapping[str, float], chosen: str) -> list[str]:
    """A sentence that names the packing of the comparisons that was taken, and what the other one would take."""
    others = [f"; {_WORDS[name]} would take {display.seconds(s)}" for name, s in seconds.items() if name != chosen]
    return [f"{_WORDS[chosen]}: {display.seconds(seconds[chosen])}{''.join(others)}"]
