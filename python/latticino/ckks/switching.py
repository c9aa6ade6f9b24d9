"""Functions by tables: every value of a ciphertext is looked up in TFHE and comes back (docs/switching.md)."""

from __future__ import annotations

import hashlib
import numbers
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .. import _native, arrays, errors
from ..claims.known import range_of, report
from ..common import roles
from ..common.naming import named
from ..functions import evaluate, sign
from ..ops import align, levels

if TYPE_CHECKING:
    from .ciphertext import Ciphertext, Operand
    from .context import Context

MAX_PAIRED = 256  # the most values whose pairs are all compared at once: 32,640 pairs
_OPTIONS, _ROUTES = ("switching", "minimal_keys", "route"), ("automatic", "ring", "matvec")
_NEAR = 2.0**-6  # part of the bound: the comparison of values that differ by less may be wrong
_SMALLEST, _LARGEST = -40, 64  # log2 of the bounds that the constants of every set can express


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


# ---- checks of arguments, before anything is computed or a key is needed ----


def as_bound(bound: Any, operation: str) -> float:
    """The bound of a table; ValueError for one that no table can have."""
    bound = arrays.as_real(bound, operation, "bound", above=0)
    if not 2.0**_SMALLEST <= bound <= 2.0**_LARGEST:
        raise errors.ValueError.explain(
            operation, f"bound={bound:g}", f"a bound from 2^{_SMALLEST} to 2^{_LARGEST}, which tables can have",
            "multiply the values by a number that brings them near 1, and take the bound of the products")
    return float(bound)


def require_options(operation: str, x: Ciphertext, options: dict[str, Any]) -> None:
    """Raises an error if options of tables are wrong."""
    for name in options:
        if name not in _OPTIONS:
            raise errors.UnsupportedError.explain(
                operation, f"the option {arrays.printable(name)} with tables",
                f"{', '.join(_OPTIONS[:-1])} and {_OPTIONS[-1]}", "leave it out")
    x.context.switch_set(options.get("switching"), x._key)
    arrays.as_flag(options.get("minimal_keys", False), operation, "minimal_keys")
    route = arrays.as_text(options.get("route", _ROUTES[0]), operation, "route")
    if route not in _ROUTES:
        raise errors.ValueError.explain(
            operation, f"the route {arrays.shown(route)}", "automatic, ring or matvec", "name one of these")


def require_real(operation: str, *operands: Any) -> None:
    """UnsupportedError for values that are known to be complex, because tables use real parts only."""
    evaluate.require_real_operands(operation, operands, assumed=False)


# ---- tables ----


def table_report(context: Context, f: Callable[[float], float], bound: float, slots: int | None, name: str | None,
                 route: str) -> TableReport:
    """See Context.table_report."""
    name = context.switch_set(name)
    twin, _ = context._dry()
    f, bound = _real_function(f), as_bound(bound, "apply_lut")
    table = _native.SwitchTable.make(twin.switching(name), f, bound)
    switcher = twin.switcher(name, twin.slots if slots is None else slots, bound, route=route)
    report = table.report(switcher)
    return TableReport(switcher.route, **{name: report[name] for name in TableReport._fields[1:]})


def _real_function(f: Callable[[float], float]) -> Callable[[float], float]:
    """f with doubles as results; ValueError if a result is no real number."""
    roles.require_function("apply_lut", f)

    def real(v: float) -> float:
        y = f(v)
        if isinstance(y, float):  # quickly, because a table has thousands of values
            return float(y)
        cause: Exception | None = None
        # float() would also read strings, take a number out of an array, or drop an imaginary part.
        try:
            if not isinstance(y, (str, bytes, bytearray)) and np.ndim(y) == 0 and not np.iscomplexobj(y):
                return float(y)
        except Exception as why:  # raised by any conversion of the object
            cause = why
        raise errors.ValueError.explain(
            "apply_lut", f"f({v:.6g}) = {arrays.shown(y)}", "a real number", "correct f") from cause

    return real


def apply_lut(x: Ciphertext, f: Callable[[float], float], bound: float, where: Any, name: str | None,
              minimal_keys: bool, route: str) -> Ciphertext:
    """See Ciphertext.apply_lut."""
    require_options("apply_lut", x, {"switching": name, "minimal_keys": minimal_keys, "route": route})
    return _looked_up("apply_lut", x, f, bound, None if where is None else _mask(x, where), name, minimal_keys, route)


def _looked_up(operation: str, x: Ciphertext, f: Callable[[float], float], bound: float, mask: np.ndarray | None,
               name: str | None, minimal_keys: bool, route: str, constant: bool = False) -> Ciphertext:
    f, bound = _real_function(f), as_bound(bound, operation)
    require_real(operation, x)
    fits = _fits(operation, x, mask, bound)
    name = x.context.switch_set(name, x._key)
    native = x.context.switching(name)
    arguments = _native.table_arguments(native, bound)
    values = np.array([f(v) for v in arguments])
    beyond = np.isfinite(values) & (np.abs(values) > 2.0**_LARGEST)
    if beyond.any():
        at = int(np.argmax(beyond))
        raise errors.ValueError.explain(
            operation, f"f({arguments[at]:.6g}) = {values[at]:g}", f"values of at most 2^{_LARGEST} in size",
            "divide f by a number")
    # A function may give other values when it is called again, so its values name the table, and the table is made
    # from these.
    table = x.context.table((name, bound, hashlib.sha256(values.tobytes()).digest()),
                            lambda: _native.SwitchTable.make(native, values.tolist(), f, bound))
    x, facts = align.plain(x, operation), (range_of(values), constant)
    return _claimed(_through(operation, x, table, facts, mask, name, minimal_keys, route), fits)


def positive(operation: str, x: Ciphertext, bound: float, ties: float = 0.0, switching: str | None = None,
             minimal_keys: bool = False, route: str = "automatic") -> Ciphertext:
    """1 where x > 0, 0 where x < 0, for |x| <= 2 bound. `ties`: also 1 if x is larger than minus so many deviations of
    its noise."""
    bound = as_bound(bound, operation)
    require_real(operation, x)
    fits = _fits(operation, x, None, 2 * bound)
    x = align.plain(x, operation)
    name = x.context.switch_set(switching, x._key)
    native = x.context.switching(name)
    if ties:
        offset = ties * argument_deviation(x, 2.2 * bound, switching, minimal_keys, route)
        x, bound = x + offset, bound + offset / 2
    table = x.context.table((name, bound, "sign"), lambda: _native.SwitchTable.make_sign(native, bound, 0.5))
    # The claim holds for values that differ by more than the resolution.
    step = range_of(np.array([-0.5, 0.5])), True
    return _claimed(_through(operation, x, table, step, None, name, minimal_keys, route) + 0.5, fits)


def argument_deviation(x: Ciphertext, bound: float, switching: str | None = None, minimal_keys: bool = False,
                       route: str = "automatic") -> float:
    """Deviation of the noise that is added to a value before it is looked up in a table of that bound."""
    name = x.context.switch_set(switching, x._key)
    native = x.context.switching(name)
    table = x.context.table((name, bound, "identity"), lambda: _native.SwitchTable.make(native, float, bound))
    switcher = x.context.switcher(name, x.slots, table.bound, minimal_keys, route, x._key)
    return float(table.report(switcher)["argument"])


def stepped(operation: str, x: Ciphertext, f: Callable[[float], float], bound: float, switching: str | None = None,
            minimal_keys: bool = False, route: str = "automatic") -> Ciphertext:
    """Like `apply_lut`, for values that are known to be away from the jumps of f. Between its jumps f is constant."""
    return _looked_up(operation, x, f, bound, None, switching, minimal_keys, route, True)


def _through(operation: str, x: Ciphertext, table: _native.SwitchTable, facts: tuple[_native.Range, bool],
             mask: np.ndarray | None, name: str, minimal_keys: bool, route: str) -> Ciphertext:
    ctx = x.context
    switcher = ctx.switcher(name, x.slots, table.bound, minimal_keys, route, x._key)
    x = x._ready(switcher.input_level)
    result, constant = facts
    # near an edge of the table, noise may change the result, which is no error of the program
    if ctx._debugger is not None:
        constant = False
    with named(operation, "apply_lut"):
        return x._made(_native.looked_up(x._evaluator, switcher, table, x._contents, result, constant, mask))


def _claimed(y: Ciphertext, fits: bool) -> Ciphertext:
    """The result of a table. Nothing is claimed for values that may have been beyond its bound, because the function
    may be larger there than any value of the table."""
    return y if fits else y._like(y._parts, y._known.lost().plus_error(1.0))


def _fits(operation: str, x: Ciphertext, mask: np.ndarray | None, bound: float) -> bool:
    """Whether a table can take these values. If their range exceeds the bound, it raises ScaleError in a plan and
    warns elsewhere. If the values are known (not encrypted, or debugged) and exceed the bound, it raises ValueError."""
    misfit = _native.beyond(x._known, bound) if mask is None else None
    if misfit is not None:
        report(x.context, *misfit)
    elif mask is None and max(-x.range.low, x.range.high) > bound + 6 * x._known.error + 1e-9 * bound:
        evaluate.note_of_promise(x, f"{-bound:.4g} to {bound:.4g}")
    slack = 6 * x._known.error
    if x.context._debugger is not None:
        values = x.context._debugger.values(x)
    elif x._known.sample is not None and not x.context.encrypted:
        values = x._known.sample[1]
    else:
        return misfit is None
    beyond = ~(np.abs(values.real) <= bound + slack).reshape(-1)
    if mask is not None:
        beyond &= mask.reshape(-1)
    if beyond.any():
        raise errors.ValueError.explain(
            operation, f"a value outside of the bound at index {int(np.argmax(beyond))}", f"values within {bound:.6g}",
            "raise the bound, or scale the values down")
    return misfit is None


def _mask(x: Ciphertext, where: Any) -> np.ndarray:
    arrays.refuse_masked(where, "apply_lut")
    try:
        mask = np.asarray(where)
    except Exception:  # raised by ragged lists, and by conversions of objects
        mask = np.empty(0, object)
    if mask.dtype != bool or mask.shape != x.shape:
        raise errors.ShapeError.explain(
            "apply_lut", f"where of shape {mask.shape} and type {mask.dtype}", f"booleans of shape {x.shape}",
            "compare an array of that shape")
    return mask


def compare(x: Ciphertext, y: Operand, bound: float, **options: Any) -> Ciphertext:
    """See Ciphertext.compare."""
    difference = _difference("compare", x, y, bound, options)
    sign.note_of_ties(x, f"about {bound * _NEAR:.2g}", "0 or 1")
    fits = _clear_fits(x, y, bound)
    return _claimed(positive("compare", difference, bound, **options), fits)


def larger(x: Ciphertext, y: Operand, bound: float, **options: Any) -> Ciphertext:
    """See Ciphertext.max."""
    difference = _difference("max", x, y, bound, options)
    fits = _clear_fits(x, y, bound)
    return _claimed(positive("max", difference, bound, **options), fits) * difference + y


def _difference(operation: str, x: Ciphertext, y: Operand, bound: float, options: dict[str, Any]) -> Ciphertext:
    """x - y, if both may be compared."""
    as_bound(bound, operation)
    require_options(operation, x, options)
    return sign.difference(operation, x, y, False)


def _clear_fits(x: Ciphertext, y: Operand, bound: float) -> bool:
    """Whether clear values to compare with are within the bound. Values of which nothing is stated are taken to be. If
    they are not, it raises ScaleError in a plan and warns elsewhere."""
    if x.range.claim != "assumed" or not isinstance(y, (numbers.Number, np.ndarray, list, tuple)):
        return True
    size = float(np.abs(np.asarray(y)).max(initial=0))
    if size <= bound * (1 + 1e-9):
        return True
    report(x.context, f"the number {size:g} to compare with", f"numbers within the bound {bound:g}",
           "raise the bound, or declare the range of the values")
    return False


def largest(operation: str, x: Ciphertext, bound: float, **options: Any) -> Ciphertext:
    """The largest value (`max`) or its index (`argmax`), by rounds of comparisons. The first rounds compare ciphertexts
    with each other. The later ones compare the halves of the last ciphertext."""
    bound = as_bound(bound, operation)
    require_options(operation, x, options)
    require_real(operation, x)
    fits = _fits(operation, x, None, bound)
    x = align.plain(x, operation)
    if x._padded and not x._clean:
        raise errors.ShapeError.explain(
            operation, f"{x.size} values, and other values in the slots after them",
            "zeros in the slots after them", "x.contiguous(), which clears them")
    _require_rounds(operation, x, bound, **options)
    values = np.arange(len(x._parts) * x.slots, dtype=float)
    indexed = operation == "argmax"

    def within(v: Ciphertext) -> Ciphertext:
        return v._made(_native.chosen_within(v._contents, bound))

    filler = np.where(values < x.size, 0.0, -bound).reshape(-1, x.slots)
    entries: list[tuple[Ciphertext, Any]] = []
    for i, (part, fill, index) in enumerate(zip(x._parts, filler, values.reshape(-1, x.slots))):
        one = x._like([part], x._known.part(i, x.slots), True, (x.slots,))
        entries.append((within(one + fill) if fill.any() else one, index))

    def better(a: tuple[Ciphertext, Any], b: tuple[Ciphertext, Any]) -> tuple[Ciphertext, Any]:
        difference = a[0] - b[0]
        chosen = positive(operation, difference, bound, **options)
        value = within(chosen * difference + b[0])
        if not indexed:
            return value, None
        index = chosen * (a[1] - b[1]) + b[1]
        # The result is one of the two indices. The rules for sums and products would give a wider range.
        return value, index._like(index._parts, index._known.within_domain(0.0, x.size - 1.0))

    while len(entries) > 1:
        pairs = [better(a, b) for a, b in zip(entries[::2], entries[1::2])]
        entries = pairs + (entries[-1:] if len(entries) % 2 else [])
    best, shift = entries[0], (1 << (_in_slots(x) - 1).bit_length()) // 2
    while shift:
        index = best[1]
        if indexed:
            index = np.roll(index, -shift) if isinstance(index, np.ndarray) else index.rotate(shift)
        best = better(best, (best[0].rotate(shift), index))
        shift //= 2
    value, index = best
    if not indexed:
        return _claimed(_single(value), fits)
    # A plain array has a single value here.
    return _claimed(_single(value * 0 + float(index[0]) if isinstance(index, np.ndarray) else index), fits)


def _in_slots(x: Ciphertext) -> int:
    """How many slots are compared with one another. The values of one ciphertext are in its first slots."""
    return x.slots if len(x._parts) > 1 else x.size


def _require_rounds(operation: str, x: Ciphertext, bound: float, switching: str | None = None,
                    minimal_keys: bool = False, route: str = "automatic") -> None:
    """LevelError before the first round, if there are not enough levels for all rounds."""
    rounds = (len(x._parts) - 1).bit_length() + (_in_slots(x) - 1).bit_length()
    refreshes = x.context.params.has_bootstrap
    if not rounds or (x.context.auto_bootstrap and refreshes):
        return
    name = x.context.switch_set(switching, x._key)
    table = x.context.table((name, bound, "sign"),
                            lambda: _native.SwitchTable.make_sign(x.context.switching(name), bound, 0.5))
    switcher = x.context.switcher(name, x.slots, table.bound, minimal_keys, route, x._key)
    # A round takes one level, and the result of a table is at most at the table's own level.
    needs, after = switcher.input_level, switcher.output_level
    if min(x.level, after if rounds > 1 else x.level) - (rounds - 1) >= needs:
        return
    ways = [levels.more_levels(x.context)] if needs + rounds - 1 <= after else (
        ["take a context with auto_bootstrap=True, which refreshes between rounds"] if refreshes else [])
    if x.size <= MAX_PAIRED:
        ways.append('take method="ranks" or "polynomial", which compare all pairs at once')
    raise errors.LevelError.explain(
        operation, f"level {x.level} for {rounds} round{'s' * (rounds > 1)} of comparisons",
        f"level {needs} at the last round; each round takes one", ", or ".join(ways) or "take fewer values")


def _single(x: Ciphertext) -> Ciphertext:
    """The value of the first slot. Other slots may hold another value, because among equal values each slot has chosen
    for itself."""
    if x.slots == 1:
        return x._like(x._parts, x._known, True, ())
    first = np.zeros(x.slots)
    first[0] = 1
    return (x * first).sum()
