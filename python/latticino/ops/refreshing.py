"""Bootstrapping of one ciphertext, and of two at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .. import _native, errors
from ..claims.known import report
from . import align

if TYPE_CHECKING:
    from ..ckks.ciphertext import Ciphertext
    from ..ckks.context import Context


_OPTIONS = (False, None, None, None, None, False)  # of bootstrapping, where nobody asked for any


def bootstrap(x: Ciphertext, message: str, *options: Any) -> Ciphertext:
    """See Ciphertext.bootstrap."""
    ctx = x.context
    _require_bootstrap(ctx, "bootstrap")
    if isinstance(message, str) and message == "merged":
        raise errors.UnsupportedError.explain(
            "bootstrap", "one ciphertext and message='merged'", "two ciphertexts of real values",
            "a.bootstrap_with(b) refreshes both as one")
    x = _prepared(x)
    if ctx._bootstrapping.native.lowers_first(x._contents):
        x = x._canonical()
    booter = _chosen([x], message, *options)
    made, misfits = _native.bootstrapped(x._evaluator, booter, x._contents)
    ctx.count_bootstraps(len(made.parts))
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


def _prepared(x: Ciphertext) -> Ciphertext:
    """x without unknown values in slots, if there is a level for that. There is none at level 0, nor at the lowest
    level from which SlotToCoeff can come first. Unknown values that are left count as values do."""
    params, x = x.context.params, align.moderate(x)
    if x.layout.rest != "unknown" or x.level in (0, params.default_level - params.level_after_bootstrap):
        return x
    return align.cleared(x, "bootstrap")


def _chosen(xs: Sequence[Ciphertext], message: str, *options: Any) -> _native.Bootstrapper:
    """The operation that refreshes these together."""
    ctx = xs[0].context
    booter, note = ctx._bootstrapping.form_of([x._contents for x in xs], message, *options)
    ctx.note(note)
    return booter


def _report(ctx: Context, misfits: Sequence[tuple[str, str, str]]) -> None:
    """For values outside of the message box it raises ScaleError in a plan, and warns elsewhere."""
    for misfit in misfits:
        report("bootstrap", ctx, *misfit)


def bootstrap_pair(x: Ciphertext, y: Ciphertext, *options: Any) -> tuple[Ciphertext, Ciphertext]:
    """See Ciphertext.bootstrap_with."""
    ctx, operation = x.context, "bootstrap_with"
    _require_bootstrap(ctx, operation)
    if ctx is not y.context:
        raise errors.ContextError.explain(
            operation, "ciphertexts of two contexts", "one context", "encrypt both in the same one")
    if x.shape != y.shape:
        raise errors.ShapeError.explain(
            operation, f"shapes {x.shape} and {y.shape}", "equal shapes", "refresh them one by one")
    if not x.layout.same(y.layout):
        x, y = align.plain(x, operation), align.plain(y, operation)
    x, y = _prepared(x), _prepared(y)
    booter = _chosen([x, y], "merged", *options)
    first, second, misfits = _native.bootstrapped_pair(x._evaluator, booter, x._contents, y._contents)
    ctx.count_bootstraps(len(first.parts))
    _report(ctx, misfits)
    return x._made(first), y._made(second)


def bootstrap_pairs(x: Ciphertext) -> Ciphertext:
    """The ciphertexts of an array of real values refreshed in pairs, as `bootstrap_pair` does it; one that is left over
    by itself."""
    ctx, operation = x.context, "bootstrap"
    _require_bootstrap(ctx, operation)
    if len(x._parts) < 2:
        return bootstrap(x, "real", *_OPTIONS)
    x = _prepared(x)
    held = x._parts
    booter = _chosen([x], "merged", *_OPTIONS)
    pairs = [booter.bootstrap_pair(x._evaluator, a, b) for a, b in zip(held[::2], held[1::2])]
    parts = [part for pair in pairs for part in pair]
    ctx.count_bootstraps(len(pairs))
    known, misfits = _native.known_bootstrapped(booter, x._contents)
    _report(ctx, misfits)
    known = known.plus_error(x._known.error, x._known.error_seen)
    if len(held) % 2:
        alone = _chosen([x], "real", *_OPTIONS)
        parts.append(alone.bootstrap(x._evaluator, held[-1]))
        ctx.count_bootstraps(1)
        level = min(p.level for p in parts)
        parts = [p if p.level == level else x._evaluator.to_level([p], level)[0] for p in parts]
    return x._like(parts, known)


def _require_bootstrap(ctx: Context, operation: str) -> None:
    ctx._bootstrapping.native.require(operation)
