"""Functions of arrays that broadcast, in pieces that a device takes at once."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import errors
from ..common import progress_bar
from . import engine

if TYPE_CHECKING:
    from .array import EncryptedArray


def each(operation: str, function: Callable[..., Any], bits: int, operands: list[EncryptedArray],
         *first: Any) -> EncryptedArray:
    """The function (with `first` in front) of operands that broadcast, in pieces that fit the device."""
    return each_of(operation, lambda *batches: [function(*first, *batches)], [bits], operands)[0]


def each_of(operation: str, function: Callable[..., list[Any]], bits: list[int],
            operands: list[EncryptedArray]) -> list[EncryptedArray]:
    """The same as `each`, for a function with several results of these types."""
    x = operands[0]
    try:
        shape = np.broadcast_shapes(*(o.shape for o in operands))
    except (RuntimeError, ValueError) as why:  # numpy broadcasts up to 32 dimensions
        raise errors.ShapeError.explain(
            operation, " and ".join(str(o.shape) for o in operands), "shapes that broadcast", "reshape one") from why
    batches = [o._spread(shape) for o in operands]
    size, together = math.prod(shape), x.context._max_batch(max(o.bits for o in operands))
    if size <= together:
        return [x._new(parts, shape, b) for parts, b in zip(function(*batches), bits)]
    pieces = []
    for at in progress_bar.track(range(0, size, together), operation):
        places = np.arange(at, min(at + together, size))
        pieces.append(function(*(b if engine.count(b) == 1 else engine.take(b, places) for b in batches)))
    return [x._new(engine.concatenate(list(parts)), shape, b) for parts, b in zip(zip(*pieces), bits)]
