"""Functions by tables: every value of a ciphertext through TFHE and back (docs/switching.md)."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .. import _native, arrays, errors
from ..claims.known import range_of, report
from ..common import roles
from ..functions import evaluate
from ..ops import align

if TYPE_CHECKING:
    from .ciphertext import Ciphertext, Operand
    from .context import Context


class TableReport(NamedTuple):
    """Predicted errors of a table, absolute, for values uniform within the bound: docs/switching.md.

    ``route`` of the way back; ``argument``: deviation of the noise beside a value when it is looked up;
    ``mean``: of the error's size; ``deviation`` of the error; ``largest``: error of any value, with noise up
    to five deviations.
    """

    route: str
    argument: float
    mean: float
    deviation: float
    largest: float


def table_report(context: Context, f: Callable[[float], float], bound: float, slots: int | None, name: str | None,
                 route: str) -> TableReport:
    """See Context.table_report."""
    name = context.switch_set(name)
    twin, _ = context._dry()
    f, bound = _real_function(f), arrays.as_real(bound, "apply_lut", "bound", above=0)
    table = _native.SwitchTable.make(twin.switching(name), f, bound)
    switcher = twin.switcher(name, twin.slots if slots is None else slots, bound, route=route)
    report = table.report(switcher)
    return TableReport(switcher.route, **{name: report[name] for name in TableReport._fields[1:]})


def _real_function(f: Callable[[float], float]) -> Callable[[float], float]:
    """f with doubles as values; ValueError if one is no real number."""
    roles.require_function("apply_lut", f)

    def real(v: float) -> float:
        y = f(v)
        cause: Exception | None = None
        # What float() would read, take out of an array, or leave the imaginary part of.
        try:
            if not isinstance(y, (str, bytes, bytearray)) and np.ndim(y) == 0 and not np.iscomplexobj(y):
                return float(y)
        except Exception as why:  # whatever an object's own conversion raises
            cause = why
        raise errors.ValueError.explain(
            "apply_lut", f"f({v:.6g}) = {arrays.shown(y)}", "a real number", "correct f") from cause

    return real


def apply_lut(x: Ciphertext, f: Callable[[float], float], bound: float, where: Any, name: str | None,
              minimal_keys: bool, route: str) -> Ciphertext:
    """See Ciphertext.apply_lut."""
    return _looked_up(x, f, bound, where, name, minimal_keys, route)


def _looked_up(x: Ciphertext, f: Callable[[float], float], bound: float, where: Any, name: str | None,
               minimal_keys: bool, route: str, constant: bool = False) -> Ciphertext:
    f, bound = _real_function(f), arrays.as_real(bound, "apply_lut", "bound", above=0)
    x = align.plain(x, "apply_lut")
    _check_within("apply_lut", x, where, bound)
    name = x.context.switch_set(name, x._key)
    native = x.context.switching(name)
    arguments = _native.table_arguments(native, bound)
    values = np.array([f(v) for v in arguments])
    require_real("apply_lut", x)
    table = x.context.table((name, bound, hashlib.sha256(values.tobytes()).digest()),
                            lambda: _native.SwitchTable.make(native, f, bound))

    def look_up(v: np.ndarray) -> np.ndarray:
        if v.size * values.size >= 1 << 24:
            return np.asarray(np.interp(v, arguments, values))
        nearest = np.abs(np.clip(v, -bound, bound)[..., None] - np.asarray(arguments)).argmin(-1)
        return np.asarray(values[nearest])

    return _through(x, table, (look_up, range_of(values), constant), where, name, minimal_keys, route)


def positive(x: Ciphertext, bound: float, ties: float = 0.0, switching: str | None = None, minimal_keys: bool = False,
             route: str = "automatic") -> Ciphertext:
    """1 where x > 0, 0 where x < 0, for |x| <= 2 bound. With `ties`: 1 too where x is larger than minus so many
    deviations of the noise beside it."""
    bound = arrays.as_real(bound, "compare", "bound", above=0)
    x = align.plain(x, "compare")
    require_real("compare", x)
    _check_within("compare", x, None, 2 * bound)
    name = x.context.switch_set(switching, x._key)
    native = x.context.switching(name)
    if ties:
        offset = ties * argument_deviation(x, 2.2 * bound, switching, minimal_keys, route)
        x, bound = x + offset, bound + offset / 2
    table = x.context.table((name, bound, "sign"), lambda: _native.SwitchTable.make_sign(native, bound, 0.5))
    # What is claimed holds for values that differ by more than the resolution.
    step = (lambda v: np.where(v > 0, 0.5, -0.5)), range_of(np.array([-0.5, 0.5])), True
    return _through(x, table, step, None, name, minimal_keys, route) + 0.5


def argument_deviation(x: Ciphertext, bound: float, switching: str | None = None, minimal_keys: bool = False,
                       route: str = "automatic") -> float:
    """Deviation of the noise that is added to a value before a table of that bound looks it up."""
    name = x.context.switch_set(switching, x._key)
    native = x.context.switching(name)
    table = x.context.table((name, bound, "identity"), lambda: _native.SwitchTable.make(native, float, bound))
    switcher = x.context.switcher(name, x.slots, table.bound, minimal_keys, route, x._key)
    return float(table.report(switcher)["argument"])


def stepped(x: Ciphertext, f: Callable[[float], float], bound: float, switching: str | None = None,
            minimal_keys: bool = False, route: str = "automatic") -> Ciphertext:
    """Does what `apply_lut` does, for values that are known to lie away from the jumps of f. Between its jumps f is
    constant."""
    return _looked_up(x, f, bound, None, switching, minimal_keys, route, True)


def _through(x: Ciphertext, table: _native.SwitchTable, facts: tuple[Any, _native.Range, bool], where: Any, name: str,
             minimal_keys: bool, route: str) -> Ciphertext:
    ctx = x.context
    switcher = ctx.switcher(name, x.slots, table.bound, minimal_keys, route, x._key)
    x = x._ready(switcher.input_level)
    f, result, constant = facts
    if ctx._debugger is not None:  # what happens by chance near an edge of the table is no mistake
        constant = False
    mask = None if where is None else _mask(x, where)
    return x._made(_native.looked_up(x._evaluator, switcher, table, x._contents, f, result, constant, mask))


def _check_within(operation: str, x: Ciphertext, where: Any, bound: float) -> None:
    """Checks that a table can take these values. If their range exceeds the bound, it raises ScaleError in a plan and
    warns elsewhere. If the values are known (not encrypted, or debugged) and exceed the bound, it raises ValueError."""
    misfit = _native.beyond(x._known, bound) if where is None else None
    if misfit is not None:
        report(operation, x.context, *misfit)
    slack = 6 * x._known.error
    if x.context._debugger is not None:
        values = x.context._debugger.values(x)
    elif x._known.sample is not None and not x.context.encrypted:
        values = x._known.sample[1]
    else:
        return
    beyond = ~(np.abs(values.real) <= bound + slack).reshape(-1)
    if where is not None:
        beyond &= _mask(x, where).reshape(-1)
    if beyond.any():
        raise errors.ValueError.explain(
            operation, f"a value outside of the bound at index {int(np.argmax(beyond))}", f"values within {bound:.6g}",
            "raise the bound, or scale the values down")


def require_real(operation: str, x: Ciphertext) -> None:
    """UnsupportedError for values that are known to be complex: tables look at real parts."""
    if x.range.claim != "assumed" and not x.range.is_real:
        evaluate.require_real(operation, x)


def _mask(x: Ciphertext, where: Any) -> np.ndarray:
    try:
        mask = np.asarray(where)
    except Exception:  # ragged lists, and what objects raise
        mask = np.empty(0, object)
    if mask.dtype != bool or mask.shape != x.shape:
        raise errors.ShapeError.explain(
            "apply_lut", f"where of shape {mask.shape} and type {mask.dtype}", f"booleans of shape {x.shape}",
            "compare an array of that shape")
    return mask


def compare(x: Ciphertext, y: Operand, bound: float, **options: Any) -> Ciphertext:
    """See Ciphertext.compare."""
    return positive(x - y, bound, **options)


def larger(x: Ciphertext, y: Operand, bound: float, **options: Any) -> Ciphertext:
    """See Ciphertext.max."""
    difference = x - y
    return positive(difference, bound, **options) * difference + y


def largest(x: Ciphertext, bound: float, **options: Any) -> tuple[Ciphertext, Ciphertext]:
    """The largest value and its index, by rounds of comparisons: parts with parts, then halves with halves."""
    bound = arrays.as_real(bound, "max", "bound", above=0)
    x = align.plain(x, "max")
    require_real("max", x)
    _check_within("max", x, None, bound)
    values = np.arange(len(x._parts) * x.slots, dtype=float)
    if x._padded and not x._clean:
        raise errors.ShapeError.explain(
            "max", f"{x.size} values, and other values in the slots after them",
            "zeros in the slots after them", "x.contiguous(), which clears them")

    def within(v: Ciphertext) -> Ciphertext:
        return v._made(_native.chosen_within(v._contents, bound))

    filler = np.where(values < x.size, 0.0, -bound).reshape(-1, x.slots)
    entries: list[tuple[Any, Any]] = []
    for i, (part, fill, index) in enumerate(zip(x._parts, filler, values.reshape(-1, x.slots))):
        one = x._like([part], x._known.part(i, x.slots), True, (x.slots,))
        entries.append((within(one + fill) if fill.any() else one, index))

    def better(a: tuple[Any, Any], b: tuple[Any, Any]) -> tuple[Any, Any]:
        difference = a[0] - b[0]
        chosen = positive(difference, bound, **options)
        return within(chosen * difference + b[0]), chosen * (a[1] - b[1]) + b[1]

    while len(entries) > 1:
        pairs = [better(a, b) for a, b in zip(entries[::2], entries[1::2])]
        entries = pairs + (entries[-1:] if len(entries) % 2 else [])
    # Values in one ciphertext lie in its first slots.
    count = x.slots if len(x._parts) > 1 else x.size
    best, shift = entries[0], (1 << (count - 1).bit_length()) // 2
    while shift:
        index = best[1].rotate(shift) if not isinstance(best[1], np.ndarray) else np.roll(best[1], -shift)
        best = better(best, (best[0].rotate(shift), index))
        shift //= 2
    value, index = best
    if isinstance(index, np.ndarray):  # a single value
        index = value * 0 + float(index[0])
    return _single(value), _single(index)


def _single(x: Ciphertext) -> Ciphertext:
    """The value of the first slot. Other slots may hold another value, because among equal values each slot has chosen
    for itself."""
    if x.slots == 1:
        return x._like(x._parts, x._known, True, ())
    first = np.zeros(x.slots)
    first[0] = 1
    return (x * first).sum()
