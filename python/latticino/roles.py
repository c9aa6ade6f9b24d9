"""What the roles of both schemes have in common."""

from __future__ import annotations

from typing import Any

from . import errors


def require_kind(operation: str, value: Any, kind: type, remedy: str) -> None:
    """UnsupportedError unless the value is of that class."""
    if not isinstance(value, kind):
        raise errors.UnsupportedError.explain(
            operation, f"a {type(value).__name__}", f"a {kind.__module__}.{kind.__qualname__}", remedy)


def require_keys_of(context: Any, keys: Any) -> None:
    """ContextError unless the server keys are of the context's parameters, and in its memory."""
    if keys.params_hash != context.params.hash:
        raise errors.ContextError.explain(
            "use", "keys for other parameters", f"keys for {context.params.name}",
            "generate them with a client of this context")
    if keys._context is not context:
        raise errors.ContextError.explain(
            "use", "keys in the memory of another context", "keys of this one",
            "bring them over with save_server_keys and load_server_keys")
