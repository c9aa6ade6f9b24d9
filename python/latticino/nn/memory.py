"""Which weights of a network stay encoded when there is not enough memory for all of them.

The others are kept as integers, which take about a seventh of the memory of weights at 14 primes, and every run expands
them. So each run takes the same time, and it can be recorded. A cache of the weights used last would miss at every
layer, because a run uses them one after the other.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from .. import errors
from ..ckks.ciphertext import Ciphertext
from ..ckks.context import Context
from ..ckks.plan import Plan
from ..common import display
from ..common.progress_bar import Task
from .placement import Placement, prepared_seconds, stand_in
from .plan import NetworkPlan
from .run import Machine, Step, by_layer

_TRIES = 8  # number of dry runs, each with fewer encoded weights
_NOTE = "not enough memory for all weights encoded"


class StepCost(NamedTuple):
    """What a step takes by itself: seconds once weights are encoded, and bytes of weights that no earlier step uses."""

    seconds: float
    bytes: int


@dataclass
class Shared:
    """The maps that use the same weights. ``seconds`` that expanding takes in a run, ``freed``: bytes that it saves."""

    nodes: list[int]
    seconds: float = 0.0
    freed: int = 0

    @property
    def price(self) -> float:
        """Seconds per run for each byte of memory that is saved."""
        return self.seconds / self.freed


def fitted(machine: Machine, placement: Placement, context: Context, plan: NetworkPlan,
           memory: int) -> tuple[Machine, NetworkPlan]:
    """The machine and the plan that take at most ``memory``. Weights are kept as integers where expanding them costs
    the least time per byte. OutOfMemoryError if all weights as integers do not fit either."""
    if plan.light:  # plans from a file may have been made for another amount of memory
        machine = machine.with_light(())
        plan = _with(plan, machine, placement, context, planned(machine, placement, context))
    if plan.peak_bytes <= memory:
        return machine, plan
    every = [s.node for s in placement.steps if s.form is None and machine.transforms[s.node]]
    whole, light = (_step_costs(machine.with_light(nodes), placement, context) for nodes in ((), every))
    groups = [g for g in _shared(machine, placement, whole, light) if g.freed > 0]
    groups.sort(key=lambda g: g.price)
    most = sum(g.freed for g in groups)
    needed = plan.peak_bytes - memory
    with Task("fitting weights into the memory", _TRIES) as task:
        for k in range(_TRIES):
            chosen = _first(groups, needed) if k < _TRIES - 1 else groups
            made = machine.with_light(n for g in chosen for n in g.nodes)
            program = planned(made, placement, context)
            over = program.recorded_peak_bytes - memory
            task.advance()
            if over <= 0:
                return made, _with(plan, made, placement, context, program)
            freed = sum(g.freed for g in chosen)
            if freed == most:
                break
            needed = min(most, max(needed + over, freed + 1))
    refused = errors.OutOfMemoryError.explain(
        "compile", f"memory={display.size(memory)}",
        f"{display.size(memory + over)} with the weights of {len(made.light)} maps kept as integers",
        "allow more memory, or run fewer images at once")
    assert isinstance(refused, errors.OutOfMemoryError)
    refused.needed = memory + over
    raise refused


def _first(groups: Sequence[Shared], needed: int) -> list[Shared]:
    """As many groups, from the first one on, as it takes to free `needed` bytes; all of them if they do not suffice."""
    out, freed = [], 0
    for group in groups:
        if freed >= needed:
            break
        out.append(group)
        freed += group.freed
    return out


def _shared(machine: Machine, placement: Placement, whole: Sequence[StepCost],
            light: Sequence[StepCost]) -> Iterator[Shared]:
    found: dict[tuple[object, ...], Shared] = {}
    for step, a, b in zip(placement.steps, whole, light):
        maps = machine.transforms[step.node] if step.form is None else ()
        if not maps:
            continue
        group = found.setdefault((step.level, *(t.name for t in maps)), Shared([]))
        group.nodes.append(step.node)
        group.seconds += max(b.seconds - a.seconds, 0.0)
        group.freed += a.bytes - b.bytes
    yield from found.values()


def _step_costs(machine: Machine, placement: Placement, context: Context) -> list[StepCost]:
    """The cost of each step, found by a dry run."""
    twin, _ = Context._dry(context)
    out: list[StepCost] = []
    before = StepCost(0.0, 0)

    def watch(step: Step, y: Ciphertext) -> Ciphertext:
        nonlocal before
        now = StepCost(prepared_seconds(twin), twin._products.bytes)
        out.append(StepCost(now.seconds - before.seconds, now.bytes - before.bytes))
        before = now
        return y

    first = machine.graph.inputs[0]
    bound = machine.graph.nodes[first].bound
    machine.run(placement.steps, [stand_in(twin, machine.packings[first], placement.level, bound)], watch)
    return out


def planned(machine: Machine, placement: Placement, context: Context, error: float = 0.0) -> Plan:
    """Keys, memory and time of the run. ``error``: that of the input."""
    first = machine.graph.inputs[0]
    packing, bound = machine.packings[first], machine.graph.nodes[first].bound
    return context.plan(lambda x: machine.run(placement.steps, [x]),
                        stand_in(context, packing, placement.level, bound, error))


def _with(plan: NetworkPlan, machine: Machine, placement: Placement, context: Context, program: Plan) -> NetworkPlan:
    """The plan of a machine that expands some weights, or none, from that of another machine."""
    taken = _step_costs(machine, placement, context)
    groups = by_layer(machine.graph, placement.steps)
    layers = tuple(replace(layer, seconds=sum(taken[k].seconds for k in numbers),
                           bytes=sum(taken[k].bytes for k in numbers)) for layer, numbers in zip(plan.layers, groups))
    notes = [note for note in plan.notes if not note.startswith(_NOTE)]
    program.bits = plan.program.bits
    if machine.light:
        count = sum(1 for s in placement.steps if s.form is None and machine.transforms[s.node])
        notes.append(f"{_NOTE}: those of {len(machine.light)} of {count} maps are kept as integers and expanded in "
                     f"every run, which takes {display.seconds(program.prepared_seconds - plan.seconds)} of it")
    program.notes = notes
    return replace(plan, layers=layers, program=program, light=tuple(sorted(machine.light)), notes=tuple(notes))
