"""Networks from files. Files may come from an untrusted source, so every field is checked."""

from __future__ import annotations

import math
import os
from dataclasses import replace
from typing import Any

import numpy as np

from .. import arrays, errors
from ..ckks.context import Context, presets
from ..ckks.plan import Plan
from ..common import devices
from ..common.layout import Layout, from_runs
from ..common.progress_bar import Task
from ..files.containers import MAYBE_LATER
from ..files.notes import Note
from . import files
from . import keys as keys_of
from .compiled import Compiled, Network
from .compiling import as_bytes
from .halves.filling import are_consistent
from .halves.values import across
from .memory import fitted
from .placement import Placement
from .plan import LayerPlan, NetworkPlan
from .run import Machine
from .units import Scaled


def load(path: str | os.PathLike[str], device: str | None = None, *, memory: int | str | None = None) -> Network:
    """A network from a file that ``enc.save`` wrote: a `Network` from the client's, a `Compiled` from the server's.

    ``device`` and ``memory`` of the server's, as of `compile`; without ``memory``, a run takes what the file's plan
    says. FileError for damaged and foreign files, DeviceError for a name that is not that of a device.
    """
    if device is not None and not (isinstance(device, str) and device == devices.NOT_ENCRYPTED):
        devices.named(device)
    data = files.CONTAINER.bytes_of(arrays.as_path(path, "load"))
    return from_bytes(data, device, None if memory is None else as_bytes(memory))


def from_bytes(data: bytes, device: str | None = None, memory: int | None = None) -> Network:
    """The same from the bytes of a file."""
    with Task("reading a network"):
        head, found = files.from_bytes(data)
        return _loaded(head, found, device, memory)


def _loaded(head: Note, found: dict[str, np.ndarray], device: str | None, memory: int | None) -> Network:
    kind, preset = head.text("kind"), head.text("preset")
    if kind not in ("client", "server") or (kind == "client" and found):
        files.refuse("a kind that does not exist")
    if preset not in presets():
        raise errors.FileError.explain("load", "a network for a preset that does not exist in this release",
                                       "a preset of this release", MAYBE_LATER)
    on_gpu = isinstance(device, str) and device.partition(":")[0] == "cuda"
    context = Context._for_plans(preset, "cuda" if on_gpu else "cpu", False)
    params = context.params
    if head.text("params") != params.hash:
        raise errors.FileError.explain("load", f"other parameters of the name {preset}", "those of this version",
                                       "compile the network again")
    program = keys_of.plan_of(head, context)
    images, level = files.integer(head, "images", 1, context.slots), files.integer(head, "level", 0, params.top_level)
    shape, result_shape = head.shape("shape"), head.shape("result_shape")
    unit, bound = head.number("unit"), head.number("bound")
    slots, count = files.integer(head, "slots", 1, context.slots), files.integer(head, "ciphertexts", 1, 1 << 20)
    normal, result_unit = files.normal_of(head, shape), head.number("result_unit")
    decision = files.decision_of(head, result_shape)
    filled = "halves" in head._fields and head.flag("halves")  # older versions had no such field
    each = across(images, filled)
    size = each * math.prod(shape)
    if min(unit, bound, result_unit) <= 0 or not count <= size <= slots * count:
        files.refuse("a packing that is not valid")
    files.CONTAINER.require_room(8 * size + slots * count)
    try:
        packing = from_runs(head.runs("runs"), (each, *shape), slots, count, "zero", 0.0)
    except ValueError as why:
        raise errors.FileError.explain("load", "a packing that is not valid", "a file that enc.save wrote",
                                       "obtain it again") from why
    if kind == "client":
        half = Network(preset, images, level, shape, result_shape, packing, unit, bound, program, result_unit, filled)
        half._refreshes, half._normal, half._decision = keys_of.refreshes_of(head, params), normal, decision
        return half
    enc = _loaded_server(head, found, context, program, packing, images, filled, device, memory)
    if enc.shape != shape or enc._held_shape != result_shape or enc.result_unit != result_unit:
        files.refuse("a shape or a unit of results that its graph has not")
    enc._normal, enc._decision = normal, decision
    return enc


def _loaded_server(head: Note, found: dict[str, np.ndarray], context: Context, program: Plan, packing: Layout,
                   images: int, filled: bool, device: str | None, memory: int | None) -> Compiled:
    graph = files.graph_of(head, found)
    units = files.numbers(head, "units")
    steps = files.steps_of(head, graph, context.params.top_level)
    groups = files.integer(head, "groups", 1, packing.shape[0])
    before = files.numbers(head, "before")
    if not len(before) == len(units) == len(graph.nodes):
        files.refuse("units that do not fit")
    if packing.shape[0] % groups or len(graph.inputs) != 1 or min(*units, *before) <= 0:
        files.refuse("units or inputs that do not fit")
    if not are_consistent(graph, filled):
        files.refuse("a graph for other halves of slots")
    try:
        machine = Machine(graph, context.slots, images, groups, filled=filled)
    except errors.Error as why:
        raise errors.FileError.explain("load", f"a graph that cannot be packed ({why})", "a file that enc.save wrote",
                                       "obtain it again") from why
    own = files.errors_of(head, machine, steps)
    first = machine.packings[graph.inputs[0]]
    if not first.layout.same(packing) or not machine.consistent:
        files.refuse("a packing that is not the graph's")
    stated = head.part("plan")
    if stated is None:
        files.refuse("no plan")
    layers = tuple(_layer_of(row) for row in files.parts(head, "layers"))
    level = files.integer(head, "level")
    plan = NetworkPlan(layers, program, context.params.name, stated.text("device"), images, level,
                       stated.number("bits"), tuple(program.notes), files.light_of(head, machine), filled,
                       stated.number("gap") if "gap" in stated._fields else 0.0)
    if not layers:
        files.refuse("a plan without layers")
    placement = Placement(steps, level, program.seconds)
    machine = machine.with_light(plan.light)
    if memory is not None:
        machine, plan = fitted(machine, placement, context, plan, memory)
    facts = {"units": {node.name: number for node, number in zip(graph.nodes, before)}}
    return Compiled(Scaled(replace(graph, facts=facts), units), placement, machine, context, plan, own, device)


def _layer_of(row: Note) -> LayerPlan:
    words = [row.text(name) for name in ("layer", "operations", "packing")]
    counts = [files.integer(row, name) for name in ("level", "limbs", "bootstraps", "diagonals", "keys", "bytes")]
    rest: list[Any] = [*words, *counts, row.number("seconds"), row.number("bits")]
    return LayerPlan(*rest)
