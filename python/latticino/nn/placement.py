"""At which level each node of a network runs, and where values are bootstrapped.

It is a search over the nodes in their order. A state says at which level each value is that is still needed, and how
much time it took to get there. The next node may run at any level up to that of its operands, and an operand may be
bootstrapped first. Dry runs predict what a node and a bootstrapping take at a level.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import NamedTuple

import numpy as np

from .. import _native, errors
from ..ckks.ciphertext import Ciphertext
from ..ckks.context import Context
from ..claims.known import Range
from ..common.layout import Layout
from ..common.progress_bar import Task
from .lowered import Node
from .packing import Packing
from .run import Form, Machine, Step, refreshed

_MOST_STATES = 3000  # kept after each node; a chain has as many as there are levels
_FITS = 1.0 + 1e-6  # values that a bootstrapping takes


class Cost(NamedTuple):
    """What a step at one level costs: predicted seconds, level of the result, and the deviation of the error that it
    adds by itself."""

    seconds: float
    level: int
    error: float


class Rates:
    """What steps take at each level, by dry runs for one device; computed when asked for.

    ``other``: rates of another graph in the same context, whose steps are known then.
    """

    def __init__(self, machine: Machine, context: Context, other: Rates | None = None) -> None:
        self.machine, self.context = machine, context
        self._twin: Context = Context._dry(context)[0] if other is None else other._twin
        self._nodes: dict[tuple[object, ...], Cost | None] = {} if other is None else other._nodes
        self._known: dict[tuple[int, int], Cost | None] = {}  # the same, by node and level
        self._ways: dict[tuple[int, int], list[tuple[Step, Cost] | None]] = {}
        self._refreshes: dict[tuple[object, ...], tuple[Cost, Form] | None] = {} if other is None else other._refreshes

    @property
    def _seconds(self) -> float:
        """The predicted seconds of all that the twin has run so far."""
        return float(self._twin._native.predicted_seconds(*self._twin._timed))

    def node(self, i: int, level: int) -> Cost | None:
        """The cost of node i with its operands at `level`; None if the levels do not suffice."""
        if (i, level) not in self._known:
            key = (*self._signature(i), level)
            if key not in self._nodes:
                self._nodes[key] = self._dry_node(i, level)
            self._known[i, level] = self._nodes[key]
        return self._known[i, level]

    def _signature(self, i: int) -> tuple[object, ...]:
        node, m = self.machine.graph.nodes[i], self.machine
        p = m.packings[i]
        where = (p.slots, p.count, p.layout.full)
        if m.transforms[i]:
            return (*where, *(t.signature for t in m.transforms[i]), node.bias is not None)
        return (node.op, where, node.series, node.bound, len(set(node.inputs)), node.packed, node.bias is not None)

    def _dry_node(self, i: int, level: int) -> Cost | None:
        m, node = self.machine, self.machine.graph.nodes[i]
        twin, before = self._twin, self._seconds
        found = {j: stand_in(twin, m.packings[j], level, m.graph.nodes[j].bound) for j in node.inputs}
        try:
            y = m.computed(i, [found[j] for j in node.inputs], level)
        except (errors.LevelError, errors.ScaleError):  # the lowest levels hold fewer bits before the point
            return None
        return Cost(self._seconds - before, y.level, y._known.estimate.rms)

    def refresh(self, i: int, level: int) -> tuple[Cost, Form] | None:
        """The cost of bootstrapping node i from `level` in the cheapest form; None if it is not possible."""
        node, p = self.machine.graph.nodes[i], self.machine.packings[i]
        if not self.context.params.has_bootstrap or node.bound > _FITS:
            return None
        key = (p.slots, p.count, p.layout.full, level, node.bound)
        if key not in self._refreshes:
            forms: list[Form] = ["real"] if p.count == 1 else ["real", "merged"]
            tried = [(self._dry_refresh(i, level, form), form) for form in forms]
            found = [(cost, form) for cost, form in tried if cost is not None]
            self._refreshes[key] = min(found, key=lambda f: (-f[0].level, f[0].seconds)) if found else None
        return self._refreshes[key]

    def _dry_refresh(self, i: int, level: int, form: Form) -> Cost | None:
        m = self.machine
        twin, before = self._twin, self._seconds
        x = stand_in(twin, m.packings[i], level, m.graph.nodes[i].bound, filled=True)
        try:
            y = refreshed(x, level, form)
        except (errors.LevelError, errors.ScaleError):
            return None
        return Cost(self._seconds - before, y.level, y._known.estimate.rms)


def stand_in(twin: Context, packing: Packing, level: int, bound: float, error: float = 0.0,
             filled: bool = False) -> Ciphertext:
    """An array without data in a packing, exact up to an error. `filled`: something lies beside its values."""
    where: Layout = packing.layout.with_rest("filler", bound) if filled else packing.layout
    scale = twin.params.scale(level)
    parts = [_native.shape_only(twin._native, level, scale, where.slots) for _ in range(where.count)]
    return Ciphertext(twin, parts, where, _native.Known.fresh(Range(-bound, bound), error))


@dataclass(frozen=True)
class Placement:
    """The steps of a run, the level that the inputs are encrypted at, and the predicted seconds."""

    steps: tuple[Step, ...]
    level: int
    seconds: float


class _State(NamedTuple):
    seconds: float
    steps: tuple[object, ...]  # (earlier steps, step): a list from its end


def placed(rates: Rates) -> Placement:
    """The cheapest placement; LevelError if there is none."""
    machine, graph = rates.machine, rates.machine.graph
    top = rates.context.level
    states: dict[tuple[int, ...], _State] = {(): _State(0.0, ())}
    live: list[int] = []
    with Task("placing levels", len(graph.nodes)) as task:
        for i, node in enumerate(graph.nodes):
            after = [j for j in [*live, i] if machine._last[j] > i]
            found: dict[tuple[int, ...], _State] = {}
            for levels, state in states.items():
                held = dict(zip(live, levels))
                if node.op == "input":
                    options: Iterator[tuple[dict[int, int], _State]] = iter([({**held, i: top}, state)])
                else:
                    options = _options(rates, i, node, held, state)
                for now, reached in options:
                    key = tuple(now[j] for j in after)
                    if key not in found or reached.seconds < found[key].seconds:
                        found[key] = reached
            if not found:
                raise _too_deep(rates, i)
            states, live = _pruned(found), after
            task.advance()
    best = min(states.values(), key=lambda s: s.seconds)
    steps = _listed(best.steps)
    used = [s.level for s in steps if s.form is None and set(graph.nodes[s.node].inputs) & set(graph.inputs)]
    refreshes = any(s.form is not None and s.node in graph.inputs for s in steps)
    return Placement(tuple(steps), top if refreshes else max(used, default=top), best.seconds)


def _options(rates: Rates, i: int, node: Node, held: dict[int, int], state: _State) -> Iterator[
        tuple[dict[int, int], _State]]:
    """All ways to continue with node i."""
    operands = list(dict.fromkeys(node.inputs))
    for refresh in product(*(_refreshes(rates, j, held[j]) for j in operands)):
        now, seconds, steps = dict(held), state.seconds, state.steps
        for j, way in zip(operands, refresh):
            if way is not None:
                step, cost = way
                now[j], seconds, steps = cost.level, seconds + cost.seconds, (steps, step)
        most = min(now[j] for j in operands)
        levels = range(most, -1, -1)
        if not rates.machine.transforms[i] and node.op == "affine":  # a renaming: no work
            yield {**now, i: most}, _State(seconds, (steps, Step(i, most)))
            continue
        reached = math.inf
        for level in levels:
            made = rates.node(i, level)
            if made is None:
                break
            if made.level < reached:  # of levels with one result the highest is tried first; lower ones cost less
                reached = made.level
            yield {**now, i: made.level}, _State(seconds + made.seconds, (steps, Step(i, level)))


def _refreshes(rates: Rates, j: int, level: int) -> list[tuple[Step, Cost] | None]:
    """The options for node j: not to bootstrap it, or to bootstrap it from one of the levels that it can be brought
    down to."""
    if (j, level) not in rates._ways:
        rates._ways[j, level] = _all_refreshes(rates, j, level)
    return rates._ways[j, level]


def _all_refreshes(rates: Rates, j: int, level: int) -> list[tuple[Step, Cost] | None]:
    best: dict[int, tuple[Step, Cost]] = {}
    for start in range(level, -1, -1):
        found = rates.refresh(j, start)
        if found is None:
            continue
        cost, form = found
        if cost.level <= level:
            continue
        if cost.level not in best or cost.seconds < best[cost.level][1].seconds:
            best[cost.level] = Step(j, start, form), cost
    return [None, *best.values()]


def _pruned(states: dict[tuple[int, ...], _State]) -> dict[tuple[int, ...], _State]:
    """The states without those that another one beats. A state beats another if it took less time and all its values
    are at the same level or higher."""
    kept: dict[tuple[int, ...], _State] = {}
    others = np.zeros((_MOST_STATES, len(next(iter(states)))), np.int16)
    for levels, state in sorted(states.items(), key=lambda s: (s[1].seconds, -sum(s[0]))):
        if not (others[: len(kept)] >= np.array(levels, np.int16)).all(axis=1).any():
            others[len(kept)] = levels
            kept[levels] = state
            if len(kept) >= _MOST_STATES:
                break
    return kept


def _listed(steps: Sequence[object]) -> list[Step]:
    out: list[Step] = []
    while steps:
        steps, step = steps  # type: ignore[assignment]
        out.append(step)  # type: ignore[arg-type]
    return out[::-1]


def _too_deep(rates: Rates, i: int) -> errors.Error:
    node, params = rates.machine.graph.nodes[i], rates.context.params
    what = f"{node.op} of degree {node.series.degree}" if node.series is not None else node.op
    remedy = "take a preset with bootstrapping or more levels" if not params.has_bootstrap else (
        "values above the bound of bootstrapping cannot be refreshed: rescale the model" if node.bound > _FITS
        else "use a polynomial of a smaller degree, or a preset with more levels")
    return errors.LevelError.explain(
        f"compile, layer {node.title}", f"{rates.context.level} levels of {params.name}, too few before {what}",
        "more levels", remedy)
