"""Work on several ciphertexts at once: refreshing, and sums of products with one key switch."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from . import _native, errors, noise
from .known import Known, largest_coefficient, report

if TYPE_CHECKING:
    from .ciphertext import Ciphertext
    from .context import Context


def bootstrap(x: Ciphertext, message: str, *options: bool) -> Ciphertext:
    """See Ciphertext.bootstrap."""
    ctx = x.context
    _require_bootstrap(ctx, "bootstrap")
    if message == "merged":
        raise errors.UnsupportedError.explain(
            "bootstrap", "one ciphertext and message='merged'", "two ciphertexts of real values",
            "a.bootstrap_with(b) refreshes both as one")
    booter = ctx.bootstrapper(x.slots, message, *options)
    parts = [booter.bootstrap(x._evaluator, p) for p in x._parts]
    ctx.count_bootstraps(len(parts))
    return x._like(parts, _refreshed(x, booter, message, options))


def _refreshed(x: Ciphertext, booter: _native.Bootstrapper, message: str, options: tuple[bool, ...]) -> Known:
    """What is known of the result; ScaleError in a plan, a warning elsewhere, for values out of the message box."""
    ctx, ratio = x.context, booter.message_ratio
    slots_first = len(options) > 1 and options[1]
    if slots_first:
        reach, limit = x._known.range.reach, 2.0**-ctx.params.log_message_ratio / ratio
    else:
        reach, limit = largest_coefficient(x._known, x.slots), 1.0
    if reach > 1.001 * limit:
        report("bootstrap", ctx, f"values whose coefficients may reach {reach:.3g} ({x._known.within()})",
               f"at most {limit:.3g}", "scale the values down before, or state a smaller range with declare()")
    return x._known.refreshed(booter.noise(ctx.params), ratio, slots_first, x.slots, ctx.params.has_arcsine)


def bootstrap_pair(x: Ciphertext, y: Ciphertext, *options: bool) -> tuple[Ciphertext, Ciphertext]:
    """See Ciphertext.bootstrap_with."""
    ctx, operation = x.context, "bootstrap_with"
    _require_ciphertexts([x, y], operation)
    _require_bootstrap(ctx, operation)
    if ctx is not y.context:
        raise errors.ContextError.explain(
            operation, "ciphertexts of two contexts", "one context", "encrypt both in the same one")
    if x.shape != y.shape or x.slots != y.slots:
        raise errors.ShapeError.explain(
            operation, f"shapes {x.shape} and {y.shape}", "equal shapes", "refresh them one by one")
    booter = ctx.bootstrapper(x.slots, "merged", *options)
    pairs = [booter.bootstrap_pair(x._evaluator, a, b) for a, b in zip(x._parts, y._parts)]
    ctx.count_bootstraps(len(pairs))
    # Imaginary errors of either become errors of the other.
    first, second = (_refreshed(a, booter, "merged", options).plus_error(b._known.error) for a, b in ((x, y), (y, x)))
    return x._like([a for a, _ in pairs], first), y._like([b for _, b in pairs], second)


def dot(xs: Sequence[Ciphertext], ys: Sequence[Ciphertext]) -> Ciphertext:
    """The sum of ``x * y`` over pairs of ciphertexts of one shape: one level, and one key switch in all.

    Cheaper than ``sum(x * y ...)``, which switches keys and rescales for every product. ShapeError
    for lists that are empty, of different lengths or with other things than ciphertexts.
    """
    xs, ys = list(xs), list(ys)
    _require_ciphertexts(xs + ys, "dot")
    if not xs or len(xs) != len(ys):
        raise errors.ShapeError.explain(
            "dot", f"{len(xs)} and {len(ys)} ciphertexts", "as many on both sides, at least one", "pair them")
    pairs = [x._aligned(y, "dot") for x, y in zip(xs, ys)]
    first = pairs[0][0]
    for x, _ in pairs[1:]:
        if x.context is not first.context:
            raise errors.ContextError.explain(
                "dot", "ciphertexts of two contexts", "one context", "encrypt all in the same one")
        if x.shape != first.shape:
            raise errors.ShapeError.explain(
                "dot", f"products of shapes {first.shape} and {x.shape}", "one shape", "reshape or pad the data")
    pairs = [(x._ready(1), y._ready(1)) for x, y in pairs]
    level = min(c.level for pair in pairs for c in pair)
    if level < 1:
        raise errors.LevelError.explain(
            "dot", "level 0", "level 1 or more", "bootstrap() first, or use auto_bootstrap")
    parts = first._evaluator.dot([x._parts for x, _ in pairs], [y._parts for _, y in pairs])
    added = noise.multiplied(first.context.params, level, first.slots, parts[0].scale)
    x, y = pairs[0]
    known = x._known_at(level).times(y._known_at(level), x is y, added)
    for x, y in pairs[1:]:
        known = known.plus(x._known_at(level).times(y._known_at(level), x is y, 0.0))
    return first._like(parts, known, all(x._clean or y._clean for x, y in pairs))


def _require_bootstrap(ctx: Context, operation: str) -> None:
    if not ctx.params.has_bootstrap:
        raise errors.ParameterError.explain(
            operation, ctx.params.name, "a parameter set with bootstrapping",
            "choose a preset with boot in its name")


def _require_ciphertexts(values: Sequence[object], operation: str) -> None:
    from .ciphertext import Ciphertext as CiphertextClass

    for v in values:
        if not isinstance(v, CiphertextClass):
            raise errors.ShapeError.explain(
                operation, f"a {type(v).__name__}", "ciphertexts", "encrypt it, or use * for plain values")
