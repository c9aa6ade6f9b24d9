"""Sums of products with one key switch."""

from __future__ import annotations

from collections.abc import Sequence

from .. import errors
from ..claims import noise
from ..common.layout import Rest
from ..ops import align, levels
from .ciphertext import Ciphertext


def dot(xs: Sequence[Ciphertext], ys: Sequence[Ciphertext]) -> Ciphertext:
    """The sum of ``x * y`` over pairs of ciphertexts of one shape: one level, and one key switch in all.

    Cheaper than ``sum(x * y ...)``, which switches keys and rescales for every product. ShapeError
    for lists that are empty, of different lengths or with other things than ciphertexts.
    """
    if not all(isinstance(several, Sequence) for several in (xs, ys)):
        raise errors.ShapeError.explain("dot", "what is no list", "two lists of ciphertexts", "put them into lists")
    xs, ys = list(xs), list(ys)
    for v in xs + ys:
        if not isinstance(v, Ciphertext):
            raise errors.ShapeError.explain(
                "dot", f"a {type(v).__name__}", "ciphertexts", "encrypt it, or use * for plain values")
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
    if not all(x.layout.same(first.layout) for x, _ in pairs):
        pairs = [(align.plain(x, "dot"), align.plain(y, "dot")) for x, y in pairs]
        first = pairs[0][0]
    pairs = [_factors(x, y) for x, y in pairs]
    level = min(c.level for pair in pairs for c in pair)
    if level < 1:
        raise errors.LevelError.explain(
            "dot", "level 0", "level 1 or more", levels.more_levels(first.context))
    parts = first._evaluator.dot([x._parts for x, _ in pairs], [y._parts for _, y in pairs])
    added = noise.multiplied(first.context.params, level, first.slots, parts[0].scale)
    x, y = pairs[0]
    known = x._known_at(level).times(y._known_at(level), x is y, added)
    for x, y in pairs[1:]:
        known = known.plus(x._known_at(level).times(y._known_at(level), x is y, 0.0))
    clean = all(x._clean or y._clean for x, y in pairs)
    unknown = any("unknown" in (x.layout.rest, y.layout.rest) and not (x._clean or y._clean) for x, y in pairs)
    bound = sum(max(x.layout.bound, x._known.reach) * max(y.layout.bound, y._known.reach) for x, y in pairs)
    rest: Rest = "zero" if clean else "unknown" if unknown else "filler"
    return first._like(parts, known, layout=first.layout.with_rest(rest, bound))


def _factors(x: Ciphertext, y: Ciphertext) -> tuple[Ciphertext, Ciphertext]:
    """Both as they are multiplied: of a square one twice, as the errors of its factors are the same."""
    first = align.moderate(x._ready(1))
    return first, first if x is y else align.moderate(y._ready(1))
