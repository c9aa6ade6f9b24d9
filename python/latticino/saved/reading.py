"""Reads and writes the files of saved functions, which may come from an untrusted source."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .. import _native, errors, tfhe
from ..ckks.ciphertext import Ciphertext
from ..ckks.context import Context
from ..files import saving
from ..files.containers import MAYBE_LATER
from ..files.notes import Note
from ..ops.scalar import Scalar
from ..tfhe import types
from ..tfhe.context import ARITHMETICS
from . import operations, sizes
from .arguments import PROGRAM, Decoder, Ref
from .capture import MAX_STEPS
from .operations import MAX_VALUES
from .program import AnyContext, Input, Misfit, Output, SavedFunction, Step, Steps, misfits_of

_MAX_INPUTS = 1 << 10
_MAX_CIPHERTEXTS = 1 << 16  # ciphertexts of all inputs, because the plan has an object for each
MAX_RESULTS = 1 << 12  # results of a step
_MAX_ALIVE = 1 << 26  # values of arrays that exist at the same time: the host stores the address of each one
_KINDS = ("cpu", "cuda")


# ---- contexts that plan ----


def planning(context: AnyContext) -> AnyContext:
    """A context without data that plans as another one does."""
    kind = context.device.partition(":")[0]
    kind = kind if kind in _KINDS else "cpu"
    if isinstance(context, tfhe.Context):
        out: Any = tfhe.Context._for_plans(context.params, kind, context._rule, context.rerandomizes)
    else:
        out = Context._for_plans(context.params, kind, context.auto_bootstrap)
        out._switchers.sets = context._sets_of_switching()
    out.threads, out.simd = context.threads, context.simd
    return out


def context_of(head: Note, kind: str | None) -> AnyContext:
    """A context without data, for the device that a head states, or for another ``kind``."""
    scheme, stated = head.text("scheme"), head.text("device")
    if scheme not in ("ckks", "tfhe") or stated not in _KINDS:
        PROGRAM.refuse("a scheme or a device that does not exist")
    try:
        data = bytes.fromhex(head.text("params"))
    except ValueError as why:
        raise PROGRAM.refusal("parameters that are none") from why
    if scheme == "ckks":
        return Context._for_plans(_native.params_from_bytes(data), kind or stated, head.flag("auto_bootstrap"))
    arithmetic = head.text("arithmetic")
    if arithmetic not in ARITHMETICS:
        PROGRAM.refuse("an arithmetic that does not exist")
    params = _native.tfhe_params_from_bytes(data)
    rule = _native.TfheArithmetic.choose(params, arithmetic, kind or stated, 0, 0, True)
    return tfhe.Context._for_plans(params, kind or stated, rule, head.flag("rerandomize"))


# ---- inputs and outputs ----


def examples_of(head: Note, context: AnyContext) -> list[Any]:
    """The arguments of a plan that a head describes."""
    rows = PROGRAM.parts(head, "inputs")
    if not 1 <= len(rows) <= _MAX_INPUTS:
        PROGRAM.refuse("no inputs, or too many")
    if not isinstance(context, tfhe.Context) and sum(
            PROGRAM.integer(row, "ciphertexts", 1, _MAX_CIPHERTEXTS) for row in rows) > _MAX_CIPHERTEXTS:
        PROGRAM.refuse("inputs of too many ciphertexts")
    return [example_of(row, context) for row in rows]


def example_of(row: Note, context: AnyContext) -> Any:
    """The argument of a plan that a head describes."""
    if isinstance(context, tfhe.Context):
        shape = _shape(row, "shape")
        return tfhe.Shape(shape, types.name_of(types.bits_of(row.text("dtype"), context.params, "load")))
    params = context.params
    level, scale = PROGRAM.integer(row, "level", 0, params.top_level), row.number("scale")
    slots = PROGRAM.integer(row, "slots", 1, params.max_slots)
    count = PROGRAM.integer(row, "ciphertexts", 1, MAX_VALUES // slots)
    if slots & (slots - 1) or not 1 <= scale < 2.0 ** min(params.log_q(level), 1000):
        PROGRAM.refuse("an input that no ciphertext has")
    inner = Note.read(row.text("note"))
    if count > math.prod(_shape(inner.part("array") or inner, "shape")):
        PROGRAM.refuse("ciphertexts without values")
    parts = [_native.shape_only(context._native, level, scale, slots) for _ in range(count)]
    return saving.described(context, parts, row.text("note"), False)


def _shape(row: Note, name: str) -> tuple[int, ...]:
    shape = row.shape(name)
    if math.prod(shape) > MAX_VALUES:
        PROGRAM.refuse("an array that is too large")
    return shape


def input_of(example: Any, context: AnyContext) -> Input:
    """The facts of an argument."""
    params = context.params
    if isinstance(example, Ciphertext):
        return Input(example.shape, str(example.dtype), example.level, example.scale, example.range,
                     sizes.fresh_bytes(example), sizes.most_bytes(params, example.level, len(example._parts)))
    bits = types.bits_of(example.dtype, params, "load")
    return Input(tuple(example.shape), types.name_of(bits), None, None, None,
                 sizes.fresh_tfhe_bytes(params, example.shape, bits),
                 sizes.most_tfhe_bytes(params, example.shape, bits))


def output_of(y: Any) -> Output:
    """The facts of a result without data."""
    params = y.context.params
    if isinstance(y, Ciphertext):
        return Output(y.shape, str(y.dtype), y.level, y.expected_bits,
                      sizes.most_bytes(params, max(p.level for p in y._parts), len(y._parts)))
    return Output(y.shape, y.dtype, None, math.inf, sizes.most_tfhe_bytes(params, y.shape, y.bits))


# ---- steps ----


def steps_of(head: Note, found: dict[str, np.ndarray], scheme: str, inputs: Sequence[Any]) -> Steps:
    """The steps of a head: each calls a known operation on results that come before it. FileError otherwise."""
    scalars = tuple(row.text("name") for row in PROGRAM.parts(head, "scalars"))
    if len(set(scalars)) != len(scalars) or not all(map(str.isidentifier, scalars)):
        PROGRAM.refuse("numbers without names of their own")
    decoder, known = Decoder(found), len(inputs) + len(scalars)
    steps: list[Step] = []
    rows = PROGRAM.parts(head, "steps")
    if len(rows) > MAX_STEPS:
        PROGRAM.refuse("too many steps")
    for row in rows:
        step = _step(row, decoder, scheme, known)
        steps.append(step)
        known += len(step.shapes)
    outputs = PROGRAM.integers(head, "outputs", 0, known - 1)
    single = head.flag("single")
    if not outputs or len(outputs) > MAX_RESULTS or (single and len(outputs) > 1):
        PROGRAM.refuse("results that are none")
    numbers = set(range(len(inputs), len(inputs) + len(scalars)))
    return Steps(len(inputs), scalars, _with_last(steps, inputs, numbers, outputs), outputs, single)


def _step(row: Note, decoder: Decoder, scheme: str, known: int) -> Step:
    operation = operations.operation(scheme, row.text("op"))
    if operation is None:
        raise errors.FileError.explain("load", "a program with an operation that does not exist in this release",
                                       "operations of this release", MAYBE_LATER)
    given = row._fields.get("arguments")
    if not isinstance(given, dict):
        PROGRAM.refuse("a step without arguments")
    arguments = {name: decoder.argument(value, known) for name, value in given.items()}
    if not arguments.keys() <= operation.signature.parameters.keys():
        PROGRAM.refuse("an argument that an operation has not")
    shapes = []
    results = PROGRAM.parts(row, "results")
    if not 1 <= len(results) <= MAX_RESULTS:
        PROGRAM.refuse("a step without results")
    for result in results:
        shapes.append(_shape(result, "shape") if "shape" in result._fields else None)
    try:
        return Step(operation, operation.bound_by_name(arguments), tuple(shapes))
    except TypeError as why:
        raise PROGRAM.refusal("arguments that an operation has not") from why


def _with_last(steps: Sequence[Step], inputs: Sequence[Any], numbers: set[int],
               outputs: Sequence[int]) -> tuple[Step, ...]:
    """The steps, each with the results that no later step needs. FileError if too many values exist at the same time.
    """
    last: dict[int, int] = {}
    starts, first = [], len(inputs) + len(numbers)
    for k, step in enumerate(steps):
        starts.append(first)
        last.update(dict.fromkeys(_references(step.arguments), k))
        last.update(dict.fromkeys(range(first, first + len(step.shapes)), k))
        for i in _references(step.arguments):
            last[i] = k
        first += len(step.shapes)
    ends: list[list[int]] = [[] for _ in steps]
    for i, k in last.items():
        if i not in outputs and i not in numbers:
            ends[k].append(i)
    sizes_of = {i: math.prod(x.shape) for i, x in enumerate(inputs)}
    alive, out = sum(sizes_of.values()), []
    for step, start, end in zip(steps, starts, ends):
        for j, shape in enumerate(step.shapes):
            sizes_of[start + j] = 0 if shape is None else math.prod(shape)
            alive += sizes_of[start + j]
        if alive > _MAX_ALIVE:
            PROGRAM.refuse("more values at once than a program may have")
        alive -= sum(sizes_of[i] for i in end)
        out.append(Step(step.operation, step.arguments, step.shapes, tuple(sorted(end))))
    return tuple(out)


def _references(value: Any) -> set[int]:
    if isinstance(value, Ref):
        return {value.at}
    several = value.values() if isinstance(value, Mapping) else value if isinstance(value, (list, tuple)) else ()
    return {i for v in several for i in _references(v)}


# ---- numbers ----


def scalars_of(head: Note) -> dict[str, Scalar]:
    decoder = Decoder({})
    return {row.text("name"): Scalar(decoder.argument({"range": row._fields.get("range")}, 0))
            for row in PROGRAM.parts(head, "scalars")}


# ---- whole programs ----


def planned(context: AnyContext, steps: Steps, examples: Sequence[Any],
            scalars: Mapping[str, Scalar]) -> tuple[Any, list[Output], tuple[Misfit, ...]]:
    """The plan of the steps, each of which is checked, the facts of the results, and which of them may not fit an
    answer."""
    facts: list[Output] = []
    misfits: tuple[Misfit, ...] = ()

    def run(*arrays: Any, **numbers: Scalar) -> Any:
        nonlocal misfits
        result = steps.run(arrays, numbers, checks=True)
        several = [result] if steps.single else result
        facts[:], misfits = [output_of(y) for y in several], misfits_of(several)
        return result

    return context.plan(run, *examples, **scalars), facts, misfits


def function_of(head: Note, found: dict[str, np.ndarray], digest: str, kind: str | None = None,
                context: AnyContext | None = None) -> SavedFunction:
    """The program of a file, planned anew. FileError if it is no program, or cannot run."""
    try:
        return _function_of(head, found, digest, kind, context)
    except (errors.FileError, errors.OutOfMemoryError):
        raise
    except MemoryError as why:
        raise errors.OutOfMemoryError.explain("load", "too little memory", "memory for a plan of the program",
                                              "load it on a larger machine") from why
    except Exception as why:  # raised by operations because of arguments from untrusted files
        text = f"{type(why).__name__}: {why}"
        raise PROGRAM.refusal(f"steps that cannot run ({text[:400]})") from why


def _function_of(head: Note, found: dict[str, np.ndarray], digest: str, kind: str | None,
                 context: AnyContext | None) -> SavedFunction:
    context = context_of(head, kind) if context is None else context
    examples = examples_of(head, context)
    scalars = scalars_of(head)
    of_tfhe = isinstance(context, tfhe.Context)
    if of_tfhe and scalars:
        PROGRAM.refuse("numbers beside arrays of TFHE")
    steps = steps_of(head, found, "tfhe" if of_tfhe else "ckks", examples)
    plan, outputs, misfits = planned(context, steps, examples, scalars)
    out = SavedFunction(steps, examples, [input_of(x, context) for x in examples], scalars, plan, outputs, context,
                        digest)
    out._misfits = misfits
    return out
