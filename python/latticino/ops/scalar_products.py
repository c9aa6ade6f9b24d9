"""Sums and products of encrypted arrays with numbers that a recorded program gets anew in every run."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from .. import _native
from .scalar import Scalar, divided

if TYPE_CHECKING:
    from ..ckks.ciphertext import Ciphertext


def plus(x: Ciphertext, s: Scalar) -> Ciphertext:
    """x + s. It takes no level."""
    program = s._in("add", x.context)
    rest = x.layout.bound if x.layout.number is not None else max(x.layout.bound, x._known.reach)
    if program.inputs is None:
        return x + program.value(s)
    parts = x._evaluator.add_input(x._parts, program.inputs, program.index(s))
    known = _without_sample(x).plus_scalar(s.range, _rounding(s) / x.scale)
    return x._like(parts, known, layout=x.layout.changed(False, rest + s.range.bound))


def times(x: Ciphertext, s: Scalar) -> Ciphertext:
    """x * s. It takes one level."""
    program = s._in("multiply", x.context)
    x = x._ready(1)
    if program.inputs is None:  # as in a replay, the product takes a level even if the number is i or -i
        return x._made(x._contents.times_number(x._evaluator, program.value(s), always_rescaled=True))
    parts = x._evaluator.multiply_input(x._parts, program.inputs, program.index(s))
    factor = x.context.params.rescale_factor(x.level) * (parts[0].scale / x.scale)
    known = _without_sample(x).times_scalar(s.range, _rounding(s) / factor, x._rescaled(parts))
    return x._like(parts, known, layout=x.layout.with_rest(x.layout.rest, s.range.bound * x.layout.bound))


def over(x: Ciphertext, s: Scalar) -> Ciphertext:
    """x / s. It takes one level."""
    return times(x, divided(s))


def _without_sample(x: Ciphertext) -> _native.Known:
    """What is known of x from its range and error alone, with at least the error that its sample shows. A sample could
    be multiplied by one number only, so it would say nothing about others."""
    known = x._known.detached(x.size, x._full)
    if x._known.sample is None:
        return known
    more = x._known.error**2 - known.estimate.rms**2
    return known.plus_error(math.sqrt(more)) if more > 0 else known


def _rounding(s: Scalar) -> float:
    """The largest rounding error of a number of the range, at the scale 1."""
    return 0.5 if s.range.is_real else math.sqrt(0.5)
