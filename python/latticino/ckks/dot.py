"""Sums of products with one key switch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import _native, errors
from ..common import captured, roles
from ..common.naming import public
from ..ops import align, levels
from .ciphertext import Ciphertext


@captured.step("lt.dot")
@public
def dot(xs: Sequence[Ciphertext], ys: Sequence[Ciphertext]) -> Ciphertext:
    """The sum of ``x * y`` over pairs of ciphertexts of one shape: one level, and one key switch in all. Arrays whose
    values lie in other slots than those of the rest move first, which takes one level more.

    Cheaper than ``sum(x * y ...)``, which switches keys and rescales for every product. ShapeError
    for lists that are empty, of different lengths or with other things than ciphertexts.
    """
    if not all(isinstance(several, Sequence) for several in (xs, ys)):
        raise errors.ShapeError.explain("dot", "no list", "two lists of ciphertexts", "put them into lists")
    xs, ys = list(xs), list(ys)
    for v in xs + ys:
        if isinstance(v, roles.Callee):
            v.refuse("dot")
        if not isinstance(v, Ciphertext):
            raise errors.ShapeError.explain(
                "dot", f"a {type(v).__name__}", "ciphertexts", "encrypt it, or use * for plain values")
    if not xs or len(xs) != len(ys):
        raise errors.ShapeError.explain(
            "dot", f"{len(xs)} and {len(ys)} ciphertexts", "as many on both sides, at least one", "pair them")
    pairs = [x._aligned(y, "dot") for x, y in zip(xs, ys)]
    first = pairs[0][0]
    for x, _ in pairs[1:]:
        roles.require_one_context("dot", first, x)
        if x.shape != first.shape:
            raise errors.ShapeError.explain(
                "dot", f"products of shapes {first.shape} and {x.shape}", "one shape", "reshape or pad the data")
    if not all(x.layout.same(first.layout) for x, _ in pairs):
        plain = {id(v): align.plain(v, "dot") for pair in pairs for v in pair}
        first = max(plain.values(), key=lambda v: v.slots)
        placed = {name: align.as_in(v, first, "dot") for name, v in plain.items()}  # a square stays one
        pairs = [(placed[id(x)], placed[id(y)]) for x, y in pairs]
    pairs = [_factors(x, y) for x, y in pairs]
    level = min(c.level for pair in pairs for c in pair)
    if level < 1:
        raise errors.LevelError.explain(
            "dot", "level 0", "level 1 or more", levels.more_levels(first.context))
    left = [x._contents for x, _ in pairs]
    right = [one if x is y else y._contents for one, (x, y) in zip(left, pairs)]
    made = _native.Contents.dot(first._evaluator, left, right)
    rest: Any = made.rest[:2]
    return first._like(made.parts, made.known, layout=first.layout.with_rest(*rest))


def _factors(x: Ciphertext, y: Ciphertext) -> tuple[Ciphertext, Ciphertext]:
    """Both factors in the form in which they are multiplied. For a square it returns the same object twice, because the
    errors of its two factors are the same."""
    first = align.moderate(x._ready(1))
    return first, first if x is y else align.moderate(y._ready(1))
