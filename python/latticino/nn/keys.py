"""The keys of a plan in a file, by name and level. They are found again by dry runs of the operations that use them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from .. import _native, errors
from ..ckks.context import Context
from ..ckks.plan import Plan
from ..common.layout import Layout
from ..files.notes import Note
from .files import integer, integers, refuse, texts
from .packing import Packing
from .placement import stand_in
from .run import Form, refreshed

_FORMS: tuple[Form, ...] = ("real", "merged", "complex")
_NUMBERS = ("constant_bytes", "peak_bytes", "bootstraps", "bytes_moved", "operations")  # numbers of a plan


class Refresh(NamedTuple):
    """A bootstrapping: of ciphertexts of so many slots, from a level, in a form."""

    slots: int
    level: int
    form: Form


def of_plan(plan: Plan, refreshes: Sequence[Refresh]) -> dict[str, Any]:
    """What a head states of a plan: its keys with their levels, the bootstrappings that some of them belong to, and
    its numbers."""
    return {"key_names": [repr(label) for label in plan.keys], "key_levels": list(plan.keys.values()),
            "refreshes": [n for row in refreshes for n in (row.slots, row.level, _FORMS.index(row.form))],
            "seconds": plan.seconds,
            "prepared_seconds": plan.prepared_seconds, "recorded_peak_bytes": int(plan.recorded_peak_bytes),
            "levels": list(plan.levels), "notes": list(plan.notes),
            **{name: int(getattr(plan, name)) for name in _NUMBERS}}


def plan_of(head: Note, context: Context) -> Plan:
    """The plan that a head states, for a context that need not have a device. FileError for keys that do not exist."""
    params = context.params
    names, levels = texts(head, "key_names"), integers(head, "key_levels", 0, params.top_level)
    if len(names) != len(levels) or len(set(names)) != len(names):
        refuse("keys that do not fit")
    twin, recorder = Context._dry(context)
    _use_all(twin, names, levels, refreshes_of(head, params))
    found = {repr(label): label for label, _ in recorder.request}
    if not found.keys() >= set(names):
        refuse("keys that do not exist")
    keys = {found[name]: level for name, level in zip(names, levels)}
    try:
        sizes = {label: int(_native.key_bytes(twin._native, label, level)) for label, level in keys.items()}
    except errors.Error as why:
        raise errors.FileError.explain("load", f"keys for levels that its parameters do not have ({why})",
                                       "a file that enc.save wrote", "obtain it again") from why
    counts: dict[str, Any] = {name: integer(head, name) for name in _NUMBERS}
    told = "recorded_peak_bytes" in head._fields  # files of older versions say nothing about recordings
    return Plan(params.hash, keys, sum(sizes.values()), levels=integers(head, "levels", 0, params.top_level),
                recorded_peak_bytes=integer(head, "recorded_peak_bytes" if told else "peak_bytes"),
                seconds=head.number("seconds"), prepared_seconds=head.number("prepared_seconds" if told else "seconds"),
                bytes_by_key=sizes, notes=list(texts(head, "notes")), **counts)


def refreshes_of(head: Note, params: _native.Params) -> tuple[Refresh, ...]:
    """The bootstrappings that a head states."""
    flat = integers(head, "refreshes")
    if len(flat) % 3 or (flat and not params.has_bootstrap):
        refuse("bootstrappings for parameters without")
    out = []
    for slots, level, form in zip(flat[::3], flat[1::3], flat[2::3]):
        possible = 1 <= slots <= params.max_slots and slots & (slots - 1) == 0 and level <= params.top_level
        if not possible or form >= len(_FORMS):
            refuse("bootstrappings that do not exist")
        out.append(Refresh(slots, level, _FORMS[form]))
    return tuple(out)


def _use_all(twin: Context, names: Sequence[str], levels: Sequence[int], refreshes: Sequence[Refresh]) -> None:
    """Runs operations that use keys of these names, and perhaps others."""
    _use(twin, 1, names)
    of_bands = [(name, level) for name, level in zip(names, levels) if "[" in name and level]
    for level in {level for _, level in of_bands}:
        _use(twin, level, [name for name, at in of_bands if at == level])
    for slots, level, form in refreshes:
        packing = Packing(Layout.plain(((1 + (form == "merged")) * slots,), slots), both=form == "complex")
        try:
            refreshed(stand_in(twin, packing, level, 1.0, filled=True), level, form)
        except errors.Error as why:
            raise errors.FileError.explain("load", f"a bootstrapping that is not possible ({why})",
                                           "a file that enc.save wrote", "obtain it again") from why


def _use(twin: Context, level: int, names: Sequence[str]) -> None:
    """Runs operations at a level that use the keys of these names, in any band."""
    params = twin.params
    part = _native.shape_only(twin._native, level, params.scale(level), twin.slots)
    e = twin._evaluator
    e.multiply([part], [part])
    e.conjugate([part])
    elements = {name.partition(")")[0][7:] for name in names if name.startswith("galois(")}
    power, whole = 1, 2 * params.n
    for turn in range(params.n // 2):  # rotation by k has the element 5^k
        if str(power) in elements and turn:
            e.rotate(part, turn)
        power = power * 5 % whole
