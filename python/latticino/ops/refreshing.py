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
    if not x._is_canonical and x.level == ctx.params.default_level - ctx.params.level_after_bootstrap:
        x = x._canonical()  # SlotToCoeff first, at its own level, has none to spare
    booter, slots_first, arcsine = _chosen([x], message, *options)
    parts = [booter.bootstrap(x._evaluator, p) for p in x._parts]
    ctx.count_bootstraps(len(parts))
    return x._like(parts, _refreshed(x, booter, slots_first, arcsine))


def _prepared(x: Ciphertext) -> Ciphertext:
    """Without unknown values in slots, where a level is there for it: not at level 0, nor at the lowest one from which
    SlotToCoeff can come first. What is left counts as values do (`_refreshed`)."""
    params, x = x.context.params, align.moderate(x)
    if x.layout.rest != "unknown" or x.level in (0, params.default_level - params.level_after_bootstrap):
        return x
    return align.cleared(x, "bootstrap")


def _chosen(xs: Sequence[Ciphertext], message: str, minimal_keys: bool, slot_to_coeff_first: bool | None,
            over_mod_raise: bool | None, arcsine: int | None, log_message_ratio: int | None,
            random_like: bool) -> tuple[_native.Bootstrapper, bool, int]:
    """What refreshes these, whether SlotToCoeff comes first, and the arcsine's degree (0: the set's).

    Only what is declared counts as known: sample data of a plan do not, as the run may have none."""
    ctx, slots, level = xs[0].context, xs[0].slots, min(x.level for x in xs)
    declared = all(x._known.range.claim == "declared" and x._known.range.random for x in xs)
    form = ctx.bootstrap_form(level, slots, message, minimal_keys, slot_to_coeff_first, over_mod_raise, arcsine,
                              log_message_ratio, random_like or declared)
    ctx.note(f"bootstrapping of {slots} slots at level {level}: {form.reason}")
    booter = ctx.bootstrapper(slots, message, minimal_keys, form.slot_to_coeff_first, form.over_mod_raise,
                              form.arcsine, form.log_message_ratio)
    return booter, form.slot_to_coeff_first, form.arcsine


def _refreshed(x: Ciphertext, booter: _native.Bootstrapper, slots_first: bool, arcsine: int) -> _native.Known:
    """What is known of the result; ScaleError in a plan, a warning elsewhere, for values out of the message box."""
    rest = x.layout.bound if x.layout.rest == "unknown" or x.layout.bound > x._known.reach else 0.0
    known, misfits = x._known.bootstrapped(
        booter.noise, booter.sine_ratio, booter.message_ratio, x.context.params.log_message_ratio, arcsine, slots_first,
        x.slots, rest)
    for misfit in misfits:
        report("bootstrap", x.context, *misfit)
    return known


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
    booter, slots_first, arcsine = _chosen([x, y], "merged", *options)
    pairs = [booter.bootstrap_pair(x._evaluator, a, b) for a, b in zip(x._parts, y._parts)]
    ctx.count_bootstraps(len(pairs))
    # Imaginary errors of either become errors of the other.
    first, second = (_refreshed(a, booter, slots_first, arcsine).plus_error(b._known.error, b._known.error_seen)
                     for a, b in ((x, y), (y, x)))
    return x._like([a for a, _ in pairs], first), y._like([b for _, b in pairs], second)


def bootstrap_pairs(x: Ciphertext) -> Ciphertext:
    """The ciphertexts of an array of real values refreshed in pairs, as `bootstrap_pair` does it; one that is left over
    by itself."""
    ctx, operation = x.context, "bootstrap"
    _require_bootstrap(ctx, operation)
    if len(x._parts) < 2:
        return bootstrap(x, "real", *_OPTIONS)
    x = _prepared(x)
    held = x._parts
    booter, slots_first, arcsine = _chosen([x], "merged", *_OPTIONS)
    pairs = [booter.bootstrap_pair(x._evaluator, a, b) for a, b in zip(held[::2], held[1::2])]
    parts = [part for pair in pairs for part in pair]
    ctx.count_bootstraps(len(pairs))
    known = _refreshed(x, booter, slots_first, arcsine).plus_error(x._known.error, x._known.error_seen)
    if len(held) % 2:
        alone, _, _ = _chosen([x], "real", *_OPTIONS)
        parts.append(alone.bootstrap(x._evaluator, held[-1]))
        ctx.count_bootstraps(1)
        level = min(p.level for p in parts)
        parts = [p if p.level == level else x._evaluator.to_level([p], level)[0] for p in parts]
    return x._like(parts, known)


def _require_bootstrap(ctx: Context, operation: str) -> None:
    if not ctx.params.has_bootstrap:
        raise errors.ParameterError.explain(
            operation, ctx.params.name, "a parameter set with bootstrapping",
            "choose a preset with boot in its name")
