"""Bootstrapping of one array, and of two together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .. import _native, errors
from ..claims.known import report
from ..common import roles
from . import align

if TYPE_CHECKING:
    from ..ckks.ciphertext import Ciphertext
    from ..ckks.context import Context


def bootstrap(x: Ciphertext, message: str | None, *options: Any) -> Ciphertext:
    """See Ciphertext.bootstrap."""
    ctx = x.context
    _require_bootstrap(ctx, "bootstrap")
    x = _prepared(x)
    if ctx._bootstrapping.native.lowers_first(x._contents):
        x = x._canonical()
    made, note, count, misfits = ctx._bootstrapping.refreshed(x._evaluator, x._contents, message, *options)
    ctx.note(note)
    ctx.count_bootstraps(count)
    _report(ctx, misfits)
    return x._made(made)


def refreshed_for(x: Ciphertext, levels: int) -> Ciphertext:
    """x bootstrapped for an operation that takes so many levels. An arcsine takes some. If levels are missing, a
    shorter arcsine or none is taken. If they still are, a second bootstrapping follows, if it reaches a higher
    level."""
    refresher = x.context._bootstrapping.native
    arcsine = refresher.arcsine_for(x._contents, levels)
    if arcsine is not None:
        x.context.note(refresher.note_of_arcsine(arcsine, levels))
    y = x.bootstrap(arcsine=arcsine)
    return refreshed_for(y, levels) if refresher.leads_higher(y._contents, levels) else y


def order_by_levels(x: Ciphertext, message: str) -> bool | None:
    """``slot_to_coeff_first=`` for programs that plan their levels, as networks and sorts do: True where SlotToCoeff
    first loses less than a bit for each level that it leaves more. None where the library's own choice stays."""
    ctx, random = x.context, x.range.random and x.range.claim != "assumed"
    if x.level < ctx.params.default_level - ctx.params.level_after_bootstrap:
        return None
    chosen = ctx.bootstrap_form(x.level, x.slots, message, random_like=random)
    if chosen.slot_to_coeff_first:
        return None
    first = ctx.bootstrap_form(x.level, x.slots, message, slot_to_coeff_first=True, random_like=random)
    more_levels = (first.output_level - first.input_level) - (chosen.output_level - chosen.input_level)
    return True if more_levels > chosen.predicted_bits[0] - first.predicted_bits[0] else None


def _prepared(x: Ciphertext) -> Ciphertext:
    """x without unknown values in slots, if there is a level for that. There is none at level 0, nor at the lowest
    level from which SlotToCoeff can come first. Unknown values that are left count as values do."""
    params, x = x.context.params, align.moderate(x)
    if x.layout.rest != "unknown" or x.level in (0, params.default_level - params.level_after_bootstrap):
        return x
    return align.cleared(x, "bootstrap")


def _report(ctx: Context, misfits: Sequence[tuple[str, str, str]]) -> None:
    """For values outside of the message box: ScaleError in a plan, a warning otherwise."""
    for misfit in misfits:
        report(ctx, *misfit)


def bootstrap_pair(x: Ciphertext, y: Ciphertext, *options: Any) -> tuple[Ciphertext, Ciphertext]:
    """See Ciphertext.bootstrap_with."""
    ctx, operation = x.context, "bootstrap_with"
    _require_bootstrap(ctx, operation)
    roles.require_one_context(operation, x, y)
    if x.shape != y.shape:
        raise errors.ShapeError.explain(
            operation, f"shapes {x.shape} and {y.shape}", "equal shapes", "refresh them one by one")
    if not x.layout.same(y.layout):
        x, y = align.plain(x, operation), align.plain(y, operation)
    x, y = _prepared(x), _prepared(y)
    booter, note = ctx._bootstrapping.form_of_pair([x._contents, y._contents], *options)
    ctx.note(note)
    first, second, misfits = _native.bootstrapped_pair(x._evaluator, booter, x._contents, y._contents)
    ctx.count_bootstraps(len(first.parts))
    _report(ctx, misfits)
    return x._made(first), y._made(second)


def _require_bootstrap(ctx: Context, operation: str) -> None:
    ctx._bootstrapping.native.require(operation)
