"""Files of compiled networks: one for the owner of the data, one for the server. Arrays and numbers, no code.

A file is a head of JSON and arrays behind it, and at the end the SHA-256 of all that comes before:

    magic (8 bytes)  version (4)  length of the head (8)  head  arrays, deflated  digest (32)

Numbers are little-endian. Integers of arrays are stored as differences, which are small. The digest finds damage. A
hostile file can have a correct digest, so every field is checked, and nothing is larger than the head says.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import struct
import tempfile
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from .. import errors
from ..files.notes import Note
from ..linear.arranged import FORMS, SIDES, Arrangement, Side
from .lowered import Affine, Grid, Lowered, Node, Series
from .ranges import Normal
from .run import Form, Step

MAGIC = b"LTNNFILE"
VERSION = 1
_HEAD = struct.Struct("<8sIQ")
_DIGEST = 32
_MOST_HEAD = 1 << 26
_MOST_NODES = 1 << 20
_MOST_NUMBERS = 1 << 30  # of an array
_KINDS: dict[str, np.dtype] = {"<i8": np.dtype("<i8"), "<f8": np.dtype("<f8")}


# ---- containers ----


def write(path: str, head: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
    """Writes a file that appears only once all of it is on disk."""
    data = to_bytes(head, arrays)
    target = Path(path)
    try:
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            os.chmod(name, 0o644)
            os.replace(name, target)
        except BaseException:
            os.unlink(name)
            raise
    except OSError as why:
        raise errors.FileError.explain("save", f"{path}: {why}", "a folder that can be written to",
                                       "save to another path") from why


def to_bytes(head: dict[str, Any], arrays: dict[str, np.ndarray]) -> bytes:
    blobs, rows = [], []
    for name, array in arrays.items():
        kind = "<f8" if array.dtype.kind == "f" else "<i8"
        own = np.ascontiguousarray(array, kind).reshape(-1)
        blob = zlib.compress((own if kind == "<f8" else np.diff(own, prepend=0)).tobytes(), 1)
        rows.append({"name": name, "kind": kind, "length": int(own.size), "bytes": len(blob)})
        blobs.append(blob)
    text = json.dumps({**head, "arrays": rows}, allow_nan=False).encode()
    body = b"".join([_HEAD.pack(MAGIC, VERSION, len(text)), text, *blobs])
    return body + hashlib.sha256(body).digest()


def read(path: str) -> tuple[Note, dict[str, np.ndarray]]:
    """The head and the arrays; FileError for anything but a file of `write`."""
    try:
        data = Path(path).read_bytes()
    except OSError as why:
        raise errors.FileError.explain("load", f"{path}: {why}", "a file of a network", "check the path") from why
    return from_bytes(data)


def from_bytes(data: bytes) -> tuple[Note, dict[str, np.ndarray]]:
    if len(data) < _HEAD.size + _DIGEST:
        refuse("too few bytes")
    magic, version, length = _HEAD.unpack_from(data)
    if magic != MAGIC:
        refuse("another kind of file")
    if version != VERSION:
        raise errors.FileError.explain("load", f"format version {version} of a network",
                                       f"version {VERSION} or earlier", "use a later version of this package")
    if hashlib.sha256(data[:-_DIGEST]).digest() != data[-_DIGEST:]:
        refuse("bytes that are not those that were written")
    start, end = _HEAD.size + length, len(data) - _DIGEST
    if length > _MOST_HEAD or start > end:
        refuse("a head that is too long")
    try:
        head = Note.read(data[_HEAD.size : start].decode())
    except (UnicodeDecodeError, errors.FileError) as why:
        raise _refusal("a head that is no JSON object") from why
    arrays: dict[str, np.ndarray] = {}
    for row in parts(head, "arrays"):
        name, kind, count, size = row.text("name"), row.text("kind"), integer(row, "length"), integer(row, "bytes")
        if kind not in _KINDS or count > _MOST_NUMBERS or size > end - start or name in arrays:
            refuse("an array that does not fit")
        arrays[name] = _array(data[start : start + size], _KINDS[kind], count)
        start += size
    if start != end:
        refuse("bytes behind the arrays")
    return head, arrays


def _array(blob: bytes, kind: np.dtype, count: int) -> np.ndarray:
    engine = zlib.decompressobj()
    try:
        raw = engine.decompress(blob, count * kind.itemsize + 1)
    except zlib.error as why:
        raise _refusal("an array that cannot be inflated") from why
    if len(raw) != count * kind.itemsize or engine.unconsumed_tail or engine.unused_data or (blob and not engine.eof):
        refuse("an array of another length")
    out = np.frombuffer(raw, kind).astype(kind.newbyteorder("="))
    return np.cumsum(out) if kind.kind == "i" else out


# ---- fields from strangers ----


def refuse(had: str) -> NoReturn:
    raise _refusal(had)


def _refusal(had: str) -> errors.Error:
    return errors.FileError.explain("load", f"a file of a network with {had}", "a file that enc.save wrote",
                                    "save it again, or obtain it again")


def parts(note: Note, name: str) -> list[Note]:
    """The objects of a list."""
    value = note._fields.get(name)
    if not isinstance(value, list) or len(value) > _MOST_NODES or not all(isinstance(v, dict) for v in value):
        refuse(f"no list {name}")
    return [Note(v) for v in value]


def integer(note: Note, name: str, least: int = 0, most: int = 1 << 53) -> int:
    value = note._fields.get(name)
    if type(value) is not int or not least <= value <= most:
        refuse(f"{name} that is no count")
    return value


def integers(note: Note, name: str, least: int = 0, most: int = 1 << 53) -> tuple[int, ...]:
    value = note._fields.get(name)
    if not isinstance(value, list) or len(value) > _MOST_NODES or not all(
            type(v) is int and least <= v <= most for v in value):
        refuse(f"{name} that are no counts")
    return tuple(value)


def numbers(note: Note, name: str) -> tuple[float, ...]:
    value = note._fields.get(name)
    if not isinstance(value, list) or len(value) > _MOST_NODES or not all(
            type(v) in (int, float) and abs(v) < 2.0**1000 and math.isfinite(v) for v in value):
        refuse(f"{name} that are no numbers")
    return tuple(float(v) for v in value)


def texts(note: Note, name: str) -> tuple[str, ...]:
    value = note._fields.get(name)
    if not isinstance(value, list) or len(value) > _MOST_NODES or not all(type(v) is str for v in value):
        refuse(f"{name} that are no texts")
    return tuple(value)


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
    """How a product of matrices or one of its factors lies."""
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

_FORMS: tuple[Form | None, ...] = (None, "real", "merged")


def of_steps(steps: Sequence[Step]) -> list[int]:
    return [n for s in steps for n in (s.node, s.level, _FORMS.index(s.form))]


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
