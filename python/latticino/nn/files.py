"""Files of compiled networks: one for the owner of the data, one for the server. Arrays and numbers, no code.

files/containers.py says what their bytes are. Files may come from an untrusted source, so every field is checked.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from .. import errors
from ..files.containers import Container
from ..files.notes import Note
from ..linear.arranged import FORMS, SIDES, Arrangement, Side
from .labels.decisions import Decision
from .lowered import Affine, Grid, Lowered, Node, Series
from .ranges import Normal
from .run import Form, Machine, Step
from .shadow import Added, Errors

CONTAINER = Container(b"LTNNFILE", 1, "a network", "enc.save")
MAGIC, VERSION = CONTAINER.magic, CONTAINER.version
_MAX_NODES = 1 << 20

write, to_bytes, read, from_bytes = CONTAINER.write, CONTAINER.to_bytes, CONTAINER.read, CONTAINER.from_bytes
refuse, _refusal, parts, texts = CONTAINER.refuse, CONTAINER.refusal, CONTAINER.parts, CONTAINER.texts


# ---- fields of untrusted files ----


def integer(note: Note, name: str, least: int = 0, most: int = 1 << 53) -> int:
    return CONTAINER.integer(note, name, least, most)


def integers(note: Note, name: str, least: int = 0, most: int = 1 << 53) -> tuple[int, ...]:
    return CONTAINER.integers(note, name, least, most)


def numbers(note: Note, name: str) -> tuple[float, ...]:
    value = note._fields.get(name)
    if not isinstance(value, list) or len(value) > _MAX_NODES or not all(
            type(v) in (int, float) and abs(v) < 2.0**1000 and math.isfinite(v) for v in value):
        refuse(f"{name} that are no numbers")
    return tuple(float(v) for v in value)


# ---- units of features ----


def of_normal(normal: Normal | None) -> dict[str, Any]:
    """The units as fields of a head: empty lists if there are none."""
    if normal is None:
        return {"clips": False, "centre": [], "width": []}
    centre, width = ([float(v) for v in a.reshape(-1)] for a in (normal.centre, normal.width))
    return {"clips": normal.clips, "centre": centre, "width": width}


def normal_of(head: Note, shape: tuple[int, ...]) -> Normal | None:
    """The units that a head states; None for empty lists. FileError for anything else."""
    centre, width, clips = np.array(numbers(head, "centre")), np.array(numbers(head, "width")), head.flag("clips")
    if not (centre.size or width.size or clips):
        return None
    if not centre.size == width.size == math.prod(shape) or (width <= 0).any():
        refuse("units of features that do not fit")
    return Normal(centre.reshape(shape), width.reshape(shape), clips)


# ---- what results mean ----


def of_decision(decision: Decision | None) -> dict[str, Any]:
    """What the result means as fields of a head; none for results that are as they are."""
    return {} if decision is None else {"decision": {**asdict(decision), "shape": list(decision.shape)}}


def decision_of(head: Note, held: Sequence[int]) -> Decision | None:
    """What a head says that results of this shape mean. FileError for anything that they cannot mean."""
    stated = head.part("decision")
    if stated is None:
        return None
    try:
        decision = Decision(stated.text("kind"), stated.text("type"), stated.shape("shape"),
                            integer(stated, "axis", 0, 64))
    except errors.ValueError as why:
        raise _refusal(f"a decision that is none ({why})") from why
    if not decision.fits(held):
        refuse("a decision of another shape")
    return decision


# ---- graphs ----


def of_graph(graph: Lowered) -> tuple[list[dict[str, Any]], dict[str, np.ndarray]]:
    """A lowered graph as rows of a head, and its arrays."""
    rows: list[dict[str, Any]] = []
    arrays: dict[str, np.ndarray] = {}
    for i, node in enumerate(graph.nodes):
        row: dict[str, Any] = {"name": node.name, "op": node.op, "inputs": list(node.inputs), "shape": list(node.shape),
                               "bound": node.bound, "layer": node.layer, "like": -1 if node.like is None else node.like,
                               "maps": [], "bias": node.bias is not None}
        if node.packed is not None:
            how, side = node.packed
            row["packed"] = [SIDES.index(side), FORMS.index(how.form), how.batch, how.r, how.n, how.m, how.count,
                             how.rows, how.width, how.heads]
        if node.series is not None:
            row["series"] = {"coefficients": list(node.series.coefficients), "domain": list(node.series.domain)}
        if node.bias is not None:
            arrays[f"{i}.bias"] = node.bias
        for k, m in enumerate(node.maps):
            unique, codes = np.unique(m.values, return_inverse=True)
            arrays[f"{i}.{k}.rows"], arrays[f"{i}.{k}.columns"] = m.rows, m.columns - m.rows
            arrays[f"{i}.{k}.values"], arrays[f"{i}.{k}.codes"] = unique, codes.reshape(-1)
            grids = [] if m.grids is None else [n for g in m.grids for n in (g.channels, g.height, g.width)]
            row["maps"].append({"sizes": [m.size_in, m.size_out], "grids": grids, "stride": list(m.stride)})
        rows.append(row)
    return rows, arrays


def graph_of(head: Note, arrays: dict[str, np.ndarray]) -> Lowered:
    """The graph that `of_graph` wrote. FileError for anything else."""
    nodes = [_node(i, row, arrays) for i, row in enumerate(parts(head, "nodes"))]
    try:
        return Lowered(tuple(nodes), integer(head, "output"))
    except errors.ShapeError as why:
        raise _refusal(f"a graph that is none ({why})") from why


def _node(i: int, row: Note, arrays: dict[str, np.ndarray]) -> Node:
    series, like = row.part("series"), integer(row, "like", -1)
    try:
        maps = tuple(_map(f"{i}.{k}", m, arrays) for k, m in enumerate(parts(row, "maps")))
        found = None
        if series is not None:
            low, high = series.numbers("domain", 2)
            found = Series(numbers(series, "coefficients"), (low, high))
    except errors.ShapeError as why:
        raise _refusal(f"a map or a polynomial that is none ({why})") from why
    bias = _named(arrays, f"{i}.bias", "f") if row.flag("bias") else None
    return Node(row.text("name"), row.text("op"), integers(row, "inputs"),  # type: ignore[arg-type]
                row.shape("shape"), maps, bias, found, row.number("bound"), row.text("layer"),
                None if like < 0 else like, _packed_of(row))


def _packed_of(row: Note) -> tuple[Arrangement, Side] | None:
    """Writes how a product of matrices, or one of its factors, is packed."""
    if "packed" not in row._fields:
        return None
    numbers = integers(row, "packed", 0, 1 << 24)
    if len(numbers) != 10 or numbers[0] >= len(SIDES) or numbers[1] >= len(FORMS):
        refuse("an arrangement that is none")
    try:
        return Arrangement(FORMS[numbers[1]], *numbers[2:]), SIDES[numbers[0]]
    except errors.ShapeError as why:
        raise _refusal(f"an arrangement that is none ({why})") from why


def _map(name: str, row: Note, arrays: dict[str, np.ndarray]) -> Affine:
    size_in, size_out = _exactly(integers(row, "sizes"), 2)
    grids, stride = integers(row, "grids", 1, 1 << 30), _exactly(integers(row, "stride"), 2)
    if len(grids) not in (0, 6):
        refuse("grids that are none")
    rows = _named(arrays, f"{name}.rows", "i")
    columns, values = _named(arrays, f"{name}.columns", "i"), _named(arrays, f"{name}.values", "f")
    codes = _named(arrays, f"{name}.codes", "i")
    fit = rows.size == columns.size == codes.size
    if not fit or (codes.size and not 0 <= codes.min() <= codes.max() < values.size):
        refuse("a map whose arrays do not fit")
    found = (Grid(*grids[:3]), Grid(*grids[3:])) if grids else None
    return Affine(rows, columns + rows, values[codes], size_in, size_out, grids=found, stride=(stride[0], stride[1]))


def _exactly(values: Sequence[int], count: int) -> Sequence[int]:
    if len(values) != count:
        refuse("a list of another length")
    return values


def _named(arrays: dict[str, np.ndarray], name: str, kind: str) -> np.ndarray:
    array = arrays.get(name)
    if array is None or array.dtype.kind != kind:
        refuse(f"no array {name}")
    return array


# ---- steps ----

_FORMS: tuple[Form | None, ...] = (None, "real", "merged", "complex")


def of_steps(steps: Sequence[Step]) -> list[int]:
    return [n for s in steps for n in (s.node, s.level, _FORMS.index(s.form))]


def of_errors(found: Errors) -> dict[str, list[float]]:
    """The errors as fields of a head. Those of all operands follow one another."""
    return {"errors": [found.fresh, *(added.result for added in found.steps)],
            "operand_errors": [e for added in found.steps for e in added.operands],
            "rotation_errors": [e for added in found.steps for e in added.rotated]}


def errors_of(head: Note, machine: Machine, steps: Sequence[Step]) -> Errors:
    """The errors that a head states. FileError if they do not match the steps."""
    own = numbers(head, "errors")
    nodes = [None if step.form else step.node for step in steps]
    operands = _by_step(head, "operand_errors", [0 if i is None else len(machine.graph.nodes[i].inputs) for i in nodes])
    rotated = _by_step(head, "rotation_errors", [0 if i is None else len(machine.transforms[i]) for i in nodes])
    if len(own) != len(steps) + 1 or min(own) < 0:
        refuse("errors that do not fit")
    return Errors(own[0], tuple(map(Added, own[1:], operands, rotated)))


def _by_step(head: Note, name: str, counts: Sequence[int]) -> list[tuple[float, ...]]:
    if name not in head._fields:  # older versions included them in the errors of results
        return [(0.0,) * count for count in counts]
    found = numbers(head, name)
    if len(found) != sum(counts) or min(found, default=0.0) < 0:
        refuse("errors that do not fit")
    ends = np.cumsum(counts)
    return [found[end - count : end] for end, count in zip(ends, counts)]


def light_of(head: Note, machine: Machine) -> tuple[int, ...]:
    """The maps whose weights every run expands. FileError for nodes that are no maps, or not in order."""
    # the file has an older version, without such maps
    nodes = integers(head, "light") if "light" in head._fields else ()
    if list(nodes) != sorted(set(nodes)) or not all(
            n < len(machine.transforms) and machine.transforms[n] for n in nodes):
        refuse("weights of maps that do not exist")
    return tuple(nodes)


def steps_of(head: Note, graph: Lowered, top: int) -> tuple[Step, ...]:
    """Steps that compute every node once, after its inputs, at levels up to the top one. FileError otherwise."""
    flat = integers(head, "steps")
    if len(flat) % 3:
        refuse("steps that are none")
    known, steps = set(graph.inputs), []
    for node, level, form in zip(flat[::3], flat[1::3], flat[2::3]):
        if node >= len(graph.nodes) or level > top or form >= len(_FORMS):
            refuse("a step that does not exist")
        fits = node in known if form else node not in known and known.issuperset(graph.nodes[node].inputs)
        if not fits:
            refuse("steps in another order")
        known.add(node)
        steps.append(Step(node, level, _FORMS[form]))
    if graph.output not in known:
        refuse("steps without a result")
    return tuple(steps)
