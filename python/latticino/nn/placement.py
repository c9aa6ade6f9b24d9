"""Chooses the level at which each node of a network runs, and where values are bootstrapped. It is a search over the
nodes in their order. A state says at which level each value is that is still needed, and how much time it took to get
there. The next node may run at any level up to that of its operands, and an operand may be bootstrapped first. Dry runs
predict the time of a node and of a bootstrapping at each level."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import NamedTuple

import numpy as np

from .. import _native, errors
from ..ckks.ciphertext import Ciphertext
from ..ckks.context import Context
from ..common.layout import Layout
from ..common.progress_bar import Task
from .halves.values import as_range
from .packing import Packing
from .run import Form, Machine, Step, refreshed

_MAX_STATES = 3000  # states that are kept after each node; a chain has as many as there are levels
_TIED = 1.0 + 1e-9  # options whose times are as close as this are compared by the sums of their placements
_FITS = 1.0 + 1e-6  # the largest values that a bootstrapping takes


class Cost(NamedTuple):
    """What a step at one level costs: predicted seconds, level of the result, and the deviation of the error that it
    adds by itself."""

    seconds: float
    level: int
    error: float


class Rates:
    """What steps cost at each level on one device. It is predicted when it is asked for, by dry runs: they run a step
    in a twin of the context, which holds no data and predicts times.

    ``other``: rates of another graph in the same context. What they know of equal steps is used.
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
        """The predicted seconds of all that the twin has run so far. Weights are encoded once, in the first run."""
        return prepared_seconds(self._twin)

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
        where = (p.slots, p.count, p.layout.full, p.both)
        if m.transforms[i]:
            return (*where, *(t.signature for t in m.transforms[i]), node.bias is not None, self._lowest(i))
        return (node.op, where, node.series, node.bound, len(set(node.inputs)), node.packed, node.bias is not None)

    def _lowest(self, i: int) -> int:
        """The lowest level that holds what an affine node may reach by its weights. Maps of one structure differ in
        it."""
        graph, params = self.machine.graph, self.context.params
        node = graph.nodes[i]
        reach = 0.0 if node.bias is None else float(np.abs(node.bias).max())
        for j, t in zip(node.inputs, self.machine.transforms[i]):
            reach += t.norms[0] * graph.nodes[j].bound
        bits = 1 + math.log2(reach) if reach else -math.inf
        level, top = 0, self.context.level
        while level < top and bits + math.log2(params.scale(level)) >= params.log_q(level):
            level += 1
        return level

    def _dry_node(self, i: int, level: int) -> Cost | None:
        m, node = self.machine, self.machine.graph.nodes[i]
        twin, before = self._twin, self._seconds
        found = {j: stand_in(twin, m.packings[j], level, m.graph.nodes[j].bound) for j in node.inputs}
        try:
            y = m.computed(i, [found[j] for j in node.inputs], level)
        except (errors.LevelError, errors.ScaleError):  # the lowest levels have fewer bits before the binary point
            return None
        return Cost(self._seconds - before, y.level, y._known.estimate.rms)

    def refresh(self, i: int, level: int) -> tuple[Cost, Form] | None:
        """The cost of bootstrapping node i from `level` in the cheapest form; None if it is not possible."""
        node, p = self.machine.graph.nodes[i], self.machine.packings[i]
        if not self.context.params.has_bootstrap or node.bound > _FITS:
            return None
        key = (p.slots, p.count, p.layout.full, p.both, level, node.bound)
        if key not in self._refreshes:
            forms: list[Form] = ["complex"] if p.both else ["real"] if p.count == 1 else ["real", "merged"]
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


def prepared_seconds(twin: Context) -> float:
    """The predicted seconds of all that a twin has run so far, without the time to encode constants."""
    of = twin._native
    return float(of.predicted_seconds(*twin._timed) - of.predicted_preparation(*twin._timed))


def stand_in(twin: Context, packing: Packing, level: int, bound: float, error: float = 0.0,
             filled: bool = False) -> Ciphertext:
    """An array of a twin, without data, in a packing. `error`: that of its values. `filled`: whether slots without
    values also hold something."""
    where: Layout = packing.layout.with_rest("filler", bound) if filled else packing.layout
    scale = twin.params.scale(level)
    parts = [_native.shape_only(twin._native, level, scale, where.slots) for _ in range(where.count)]
    return Ciphertext(twin, parts, where, _native.Known.fresh(as_range(bound, packing.both), error))


@dataclass(frozen=True)
class Placement:
    """The steps of a run, the level that the inputs are encrypted at, and the predicted seconds."""

    steps: tuple[Step, ...]
    level: int
    seconds: float


class _State(NamedTuple):
    seconds: float
    steps: tuple[object, ...]  # (earlier steps, last steps): a linked list, from its end


def placed(rates: Rates) -> Placement:
    """The placement with the least time; LevelError if there is none."""
    machine, graph = rates.machine, rates.machine.graph
    top = rates.context.level
    states: dict[tuple[int, ...], _State] = {(): _State(0.0, ())}
    live: list[int] = []
    with Task("placing levels", len(graph.nodes)) as task:
        for i in range(len(graph.nodes)):
            after = [j for j in [*live, i] if machine._last[j] > i]
            found = _continued(rates, i, states, live, after)
            if not found:
                raise _too_deep(rates, i)
            states, live = _pruned(found), after
            task.advance()
    best = min(states.values(), key=lambda s: s.seconds)
    steps = _listed(best.steps)
    used = [s.level for s in steps if s.form is None and set(graph.nodes[s.node].inputs) & set(graph.inputs)]
    refreshes = any(s.form is not None and s.node in graph.inputs for s in steps)
    return Placement(tuple(steps), top if refreshes else max(used, default=top), best.seconds)


def _continued(rates: Rates, i: int, states: Mapping[tuple[int, ...], _State], live: Sequence[int],
               after: Sequence[int]) -> dict[tuple[int, ...], _State]:
    """The fastest states after node i, from those before it. ``live``, ``after``: the nodes whose levels a state holds,
    before node i and after it."""
    operands = list(dict.fromkeys(rates.machine.graph.nodes[i].inputs))
    at_operands = [live.index(j) for j in operands]
    # For each level after the node: its index in the levels before the node, followed by those of an option.
    behind = [*operands, i]
    picks = [len(live) + behind.index(j) if j in behind else live.index(j) for j in after]
    ways = _Ways(rates, i, operands, [k for k, j in enumerate(behind) if j in after])
    options: dict[tuple[int, ...], list[_Option]] = {}
    found: dict[tuple[int, ...], _State] = {}
    for levels, state in states.items():
        held = tuple([levels[k] for k in at_operands])
        if held not in options:
            options[held] = ways.from_levels(held)
        for own, each, steps in options[held]:
            every, seconds = levels + own, state.seconds
            for more in each:
                seconds += more
            key = tuple([every[k] for k in picks])
            known = found.get(key)
            if known is None or seconds < known.seconds:
                found[key] = _State(seconds, (state.steps, steps))
    return found


# A way to compute a node: the levels of its operands and of its result afterwards, the costs of its steps, and the
# steps.
_Option = tuple[tuple[int, ...], tuple[float, ...], tuple[Step, ...]]


class _Ways:
    """The ways to continue with node i. ``needed``: which levels are still needed after it, of its operands and of
    itself."""

    def __init__(self, rates: Rates, i: int, operands: Sequence[int], needed: Sequence[int]) -> None:
        self._rates, self._i, self._operands, self._needed = rates, i, operands, needed
        self._alone: dict[int, list[tuple[int, float | None, Step]]] = {}

    def from_levels(self, held: tuple[int, ...]) -> list[_Option]:
        """All ways from operands at these levels, except those that are clearly worse than another one."""
        if not self._operands:  # it is an input
            return [((self._rates.context.level,), (), ())]
        out: list[_Option] = []
        for refresh in product(*(_refreshes(self._rates, j, level) for j, level in zip(self._operands, held))):
            now = tuple([level if way is None else way[1].level for level, way in zip(held, refresh)])
            seconds = tuple([way[1].seconds for way in refresh if way is not None])
            steps = tuple([way[0] for way in refresh if way is not None])
            out += [((*now, own), seconds if cost is None else (*seconds, cost), (*steps, step))
                    for own, cost, step in self._computed(min(now))]
        if len(self._needed) > len(self._operands):  # they all lead to different levels
            return out
        keys, sums = [tuple([o[0][k] for k in self._needed]) for o in out], [sum(o[1]) for o in out]
        best: dict[tuple[int, ...], float] = {}
        for key, total in zip(keys, sums):
            if total < best.get(key, math.inf):
                best[key] = total
        return [o for o, key, total in zip(out, keys, sums) if total <= best[key] * _TIED]

    def _computed(self, most: int) -> list[tuple[int, float | None, Step]]:
        """The node itself, from each level up to `most`: its own level, its cost, and the step."""
        if most not in self._alone:
            node, i = self._rates.machine.graph.nodes[self._i], self._i
            found: list[tuple[int, float | None, Step]] = []
            if not self._rates.machine.transforms[i] and node.op == "affine":  # only renames a value: no work
                found.append((most, None, Step(i, most)))
            else:
                for level in range(most, -1, -1):
                    made = self._rates.node(i, level)
                    if made is None:
                        break
                    found.append((made.level, made.seconds, Step(i, level)))
            self._alone[most] = found
        return self._alone[most]


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
    """The states, except those that are worse than another one: that took less time, and has all of its values at the
    same level or higher."""
    kept: dict[tuple[int, ...], _State] = {}
    others = np.zeros((_MAX_STATES, len(next(iter(states)))), np.int16)
    for levels, state in sorted(states.items(), key=lambda s: (s[1].seconds, -sum(s[0]))):
        if not (others[: len(kept)] >= np.array(levels, np.int16)).all(axis=1).any():
            others[len(kept)] = levels
            kept[levels] = state
            if len(kept) >= _MAX_STATES:
                break
    return kept


def _listed(steps: Sequence[object]) -> list[Step]:
    out: list[Step] = []
    while steps:
        steps, last = steps  # type: ignore[assignment]
        out += reversed(last)  # type: ignore[call-overload]
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
