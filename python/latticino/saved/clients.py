"""What clients need of a saved function: its arguments, its results, and the keys of its plan. No steps."""

from __future__ import annotations

import math
from typing import Any

from .. import _native, errors, tfhe
from ..ckks.context import Context
from ..ckks.plan import Plan
from ..files.notes import Note
from . import reading
from .arguments import PROGRAM
from .program import AnyContext, Output, SavedClient
from .writing import COUNTS, COUNTS_OF_TFHE

_MAX_KEYS = 1 << 16


def client_of(head: Note, digest: str, kind: str | None) -> SavedClient:
    """The part for clients that a head states. FileError if it is not valid."""
    try:
        return _client_of(head, digest, kind)
    except errors.FileError:
        raise
    except Exception as why:
        raise PROGRAM.refusal(f"a part for clients that is none ({type(why).__name__}: {str(why)[:400]})") from why


def _client_of(head: Note, digest: str, kind: str | None) -> SavedClient:
    context = reading.context_of(head, kind)
    examples = reading.examples_of(head, context)
    stated, rows = head.part("plan"), PROGRAM.parts(head, "outputs")
    if stated is None or not 1 <= len(rows) <= reading.MAX_RESULTS:
        PROGRAM.refuse("no plan, or no results")
    plan = _tfhe_plan(stated, context) if isinstance(context, tfhe.Context) else _plan(stated, context)
    outputs = [_output(row, context) for row in rows]
    return SavedClient(examples, [reading.input_of(x, context) for x in examples], reading.scalars_of(head), plan,
                       outputs, context, digest, head.text("program")[:64])


def _output(row: Note, context: AnyContext) -> Output:
    of_tfhe = isinstance(context, tfhe.Context)
    level = None if of_tfhe else PROGRAM.integer(row, "level", 0, context.params.top_level)
    bits = math.inf if row._fields.get("bits") is None else row.number("bits")
    return Output(row.shape("shape"), row.text("dtype"), level, bits, PROGRAM.integer(row, "most_bytes", 0, 1 << 53))


def _plan(stated: Note, context: Context) -> Plan:
    params = context.params
    names = PROGRAM.texts(stated, "key_names")
    levels = PROGRAM.integers(stated, "key_levels", 0, params.top_level)
    if len(names) != len(levels) or len(set(names)) != len(names) or len(names) > _MAX_KEYS:
        PROGRAM.refuse("keys that do not fit")
    keys = {_label(name, params): level for name, level in zip(names, levels)}
    sizes = {label: int(_native.key_bytes(context._native, label, level)) for label, level in keys.items()}
    sets = context._switchers.sets
    switching = dict(_rows(stated, "switching", 1))
    products = {(name, slots, of): size for name, slots, of, size in _rows(stated, "products", 3)}
    if not {*switching, *(name for name, _, _ in products)} <= set(sets):
        PROGRAM.refuse("a set of switching that does not exist")
    counts: dict[str, Any] = {name: PROGRAM.integer(stated, name, 0, 1 << 53) for name in COUNTS}
    told = "prepared_seconds" in stated._fields  # files of older versions do not state this
    return Plan(params.hash, keys, levels=PROGRAM.integers(stated, "levels", 0, params.top_level),
                recorded_peak_bytes=counts["peak_bytes"],  # a saved program is not recorded
                seconds=stated.number("seconds"),
                prepared_seconds=stated.number("prepared_seconds" if told else "seconds"), bytes_by_key=sizes,
                switching=switching, products=products, **counts)


def _label(name: str, params: _native.Params) -> _native.KeyLabel:
    kind, _, band = name.partition("[")
    element = _number(kind.partition("(")[2].removesuffix(")")) if "(" in kind else 1
    valid = 0 < element < 2 * params.n and element % 2
    label = _native.key_label(name, element, _number(band.removesuffix("]"))) if valid else None
    if label is None:
        PROGRAM.refuse("keys that do not exist")
    return label


def _number(digits: str) -> int:
    return int(digits) if digits.isascii() and digits.isdecimal() and len(digits) < 8 else 0


def _rows(stated: Note, name: str, width: int) -> list[tuple[Any, ...]]:
    """Rows of a name and numbers."""
    rows = stated._fields.get(name)
    if not isinstance(rows, list) or len(rows) > _MAX_KEYS or not all(
            isinstance(row, list) and len(row) == width + 1 and type(row[0]) is str and all(
                type(n) is int and 0 <= n <= 1 << 53 for n in row[1:]) for row in rows):
        PROGRAM.refuse(f"{name} that are none")
    return [tuple(row) for row in rows]


def _tfhe_plan(stated: Note, context: tfhe.Context) -> tfhe.Plan:
    counts: dict[str, Any] = {name: PROGRAM.integer(stated, name, 0, 1 << 53) for name in COUNTS_OF_TFHE}
    return tfhe.Plan(context.params.name, context.arithmetic, seconds=stated.number("seconds"),
                     log_failure=stated.number("log_failure"), **counts)
