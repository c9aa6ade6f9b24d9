"""`save_program` and `load_program`."""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import numpy as np

from .. import _native, arrays, errors, nn, tfhe
from ..ckks import plan as plans
from ..ckks.ciphertext import Ciphertext
from ..ckks.context import Context
from ..common import roles
from ..common.progress_bar import Task
from ..files.containers import CLIENT
from ..files.notes import Note
from ..nn import files as network_files
from ..nn import loading
from ..ops.scalar import Scalar
from ..programs.program import Program
from ..tfhe import types
from . import clients, reading, writing
from .arguments import PROGRAM
from .capture import Log
from .networks import SavedNetwork, SavedNetworkClient
from .program import AnyContext, SavedProgram

Path_: TypeAlias = "str | bytes | os.PathLike[Any]"


def save_program(path: Path_, program: Callable[..., Any], /, context: AnyContext = None, *examples: Any,
                 **scalars: Scalar) -> None:
    """Writes a function of encrypted arrays, or a compiled network, as data: `load_program` reads it back.

    ``program``: a function, what `lt.record` gives, or a network of `lt.nn.compile`, which needs nothing else.
    ``context``: what it is planned for; its parameters, ``auto_bootstrap`` and kind of device are part of the file.
    ``examples``: an ``lt.Shape`` (``lt.tfhe.Shape``) for each argument, an encrypted array of the context, or an array,
    of which the shape and the type count. State ranges of values outside of -1 to 1: ``lt.Shape(shape, None, (low,
    high))``. ``scalars``: numbers that each run brings, ``eta=lt.Scalar(-1, 1)``; a program of `lt.record` knows its
    own.

    The function runs once, without data. The file holds the operations on its arguments with all shapes and constants,
    and neither Python code nor keys. Functions among the constants are replaced by polynomials and tables of their
    values. Nothing else that the function does is in the file. Every run takes the branches that this call took.

    UnsupportedError, ContextError or ShapeError, naming the operation, for what no file can hold: values that are
    decrypted, arrays from outside of the function, fresh randomness, ``Scalar.mapped``. Other errors as of
    `Context.plan`. FileError if the file cannot be written.
    """
    name = arrays.as_path(path, "save_program")
    if isinstance(program, nn.Compiled):
        if context is not None or examples or scalars:
            raise errors.UnsupportedError.explain(
                "save_program", "a context or examples beside a network", "the network alone", "leave them out")
        with Task("writing a network"):
            return network_files.CONTAINER.put(name, program._server_file())
    with Task("saving a program"):
        PROGRAM.put(name, captured(program, context, examples, scalars))


def captured(program: Callable[..., Any], context: AnyContext, examples: tuple[Any, ...],
             scalars: Mapping[str, Scalar]) -> bytes:
    """The bytes of the file of a function."""
    roles.require_function("save_program", program)
    roles.require_kind("save_program", context, (Context, tfhe.Context), "pass the context that the program is for")
    function = program
    if isinstance(program, Program):
        if scalars:
            raise errors.UnsupportedError.explain(
                "save_program", "numbers declared beside a recorded program", "its own", "declare them in lt.record")
        function, scalars = program._function, program._scalars
    of_tfhe = isinstance(context, tfhe.Context)
    if of_tfhe and scalars:
        raise errors.UnsupportedError.explain(
            "save_program", "declared numbers beside arrays of TFHE", "arrays of CKKS", "close over the number")
    for key, s in scalars.items():
        roles.require_kind("save_program", s, Scalar, f"declare its range: {key}=lt.Scalar(low, high)")
    if not examples:
        raise errors.ShapeError.explain("save_program", "no example", "one for each argument", "pass lt.Shape(shape)")
    plain = reading.planning(context)
    described = [writing.input_fields(_example(x, i, context, plain)) for i, x in enumerate(examples)]
    given = [reading.example_of(Note(row), plain) for row in described]
    log = Log("tfhe" if of_tfhe else "ckks")
    first = plain.plan(log.capturing(function), *given, **scalars)
    steps, outputs = log.used()
    head = {"kind": writing.FUNCTION, **writing.context_fields(plain), "inputs": described,
            "scalars": writing.scalar_fields(scalars), "steps": steps, "outputs": outputs, "single": log.single}
    head = json.loads(json.dumps(head, allow_nan=False))
    again = reading.function_of(Note(head), log.encoder.arrays, "", context=plain)
    _require_same(first, again.plan)
    return PROGRAM.to_bytes({**head, "plan": writing.plan_fields(again.plan)}, log.encoder.arrays)


def _require_same(first: Any, again: Any) -> None:
    """Checks that the noted steps compute the same as the function."""
    if not isinstance(first, plans.Plan):
        return
    pairs = zip((b for bits in first.bits for b in bits[:2]), (b for bits in again.bits for b in bits[:2]))
    if first.levels != again.levels or not all(math.isclose(a, b, rel_tol=1e-6) for a, b in pairs):
        raise errors.UnsupportedError.explain(
            "save_program", f"a function whose steps give other results (levels {again.levels} for {first.levels})",
            "one that computes on its arguments alone", "pass everything that it reads as arguments or constants")


def _example(x: Any, i: int, context: AnyContext, plain: AnyContext) -> Any:
    """An example as an array without data; for TFHE, as a shape."""
    of_tfhe = isinstance(context, tfhe.Context)
    if isinstance(x, tfhe.EncryptedArray if of_tfhe else Ciphertext):
        if x.context._root is not context._root:
            raise errors.ContextError.explain(
                "save_program", f"another context's array as example {i}", "one of this context", "encrypt it here")
        return tfhe.Shape(x.shape, x.dtype) if of_tfhe else x
    if not isinstance(x, tfhe.Shape if of_tfhe else plans.Shape):
        values = arrays.as_numpy(x, "save_program")
        x = _shape_of_tfhe(values, context) if of_tfhe else _shape_of(values, i)
    if not of_tfhe:
        return plans.stand_in(plain, plain, x)
    bits = types.bits_of(x.dtype, context.params, "save_program")
    return tfhe.Shape(arrays.as_shape(x.shape, "save_program", 1 << 24), types.name_of(bits))


def _shape_of(values: np.ndarray, i: int) -> plans.Shape:
    """The facts that an example of plain values states: its shape, and whether it is real."""
    if np.abs(arrays.as_slots(values, "save_program")).max(initial=0) > 1:
        raise errors.ValueError.explain(
            "save_program", f"values outside of -1 to 1 in example {i}", "the range of the values of every run",
            "state it: lt.Shape(shape, None, (low, high))")
    return plans.Shape(values.shape, None, _native.Range.assumed(values.dtype.kind != "c"))


def _shape_of_tfhe(values: np.ndarray, context: tfhe.Context) -> tfhe.Shape:
    return tfhe.Shape(values.shape, types.name_of(types.bits_of_values(values, context.params, "save_program")))


def load_program(path: Path_, device: str | None = None) -> SavedProgram:
    """A program from a file that `save_program` or the ``save`` of a network wrote, or the part of it for clients.

    The library plans it again, without data. This checks every step. ``device``: ``"cpu"`` or ``"cuda"``, whose times,
    tables and keys are planned; left out, the kind of device that it was saved for. Clients and servers that plan for
    one kind have the same keys. FileError for damaged, hostile and foreign files, and for programs that this
    release cannot run; OutOfMemoryError if the plan itself takes too much memory.
    """
    data = PROGRAM.bytes_of(arrays.as_path(path, "load_program"))
    return from_bytes(data, device)


def from_bytes(data: bytes, device: str | None = None) -> SavedProgram:
    """The same from the bytes of a file."""
    kind = None if device is None else arrays.as_text(device, "load_program", "device").partition(":")[0]
    if kind not in (None, "cpu", "cuda"):
        raise errors.DeviceError.explain("load_program", f"device={arrays.shown(device)}", '"cpu" or "cuda"',
                                         "name one of them")
    digest = hashlib.sha256(data).hexdigest()
    if data[:8] == network_files.MAGIC:
        network = loading.from_bytes(data, device)
        if isinstance(network, nn.Compiled):
            return SavedNetwork(network, digest)
        return SavedNetworkClient(network, digest)
    with Task("reading a program"):
        head, found = PROGRAM.from_bytes(data)
        if head.text("kind") == CLIENT and not found:
            return clients.client_of(head, digest, kind)
        if head.text("kind") != writing.FUNCTION:
            PROGRAM.refuse("a kind that does not exist")
        return reading.function_of(head, found, digest, kind)
