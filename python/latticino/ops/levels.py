"""Levels that an operation needs, and what to do where they are lacking."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .. import errors

if TYPE_CHECKING:
    from ..ckks.ciphertext import Ciphertext
    from ..ckks.context import Context


def more_levels(ctx: Context) -> str:
    """What to do where levels are lacking."""
    if not ctx.params.has_bootstrap:
        return "multiply fewer times in sequence, or take parameters with more levels"
    if ctx.auto_bootstrap:
        return "take parameters with more levels after bootstrapping"
    return "bootstrap() first, or use auto_bootstrap"


def require_one(x: Ciphertext, operation: str) -> None:
    """LevelError where values cannot move to other slots."""
    if x.level < 1:
        raise errors.LevelError.explain(
            operation, "level 0, and values that must move to other slots", "level 1 or more", more_levels(x.context))
