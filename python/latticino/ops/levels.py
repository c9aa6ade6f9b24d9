"""The levels that an operation needs, and advice if they are missing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .. import errors

if TYPE_CHECKING:
    from ..ckks.ciphertext import Ciphertext
    from ..ckks.context import Context


def more_levels(ctx: Context) -> str:
    """The advice in an error if levels are missing."""
    return ctx._bootstrapping.native.more_levels(ctx.auto_bootstrap)


def require_one(x: Ciphertext, operation: str) -> None:
    """Raises LevelError if there is no level for moving values to other slots."""
    if x.level < 1:
        raise errors.LevelError.explain(
            operation, "level 0, and values that must move to other slots", "level 1 or more", more_levels(x.context))
