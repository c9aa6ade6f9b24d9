"""Checks for the packages that a server needs in addition to numpy."""

from __future__ import annotations

import importlib.util

from .. import errors

NAMES = ("fastapi", "uvicorn", "httptools", "sqlalchemy", "prometheus_client")


def require(operation: str, names: tuple[str, ...] | None = None) -> None:
    """UnsupportedError unless these packages of the extra `serve` are installed. None stands for all that every server
    needs."""
    lacking = [name for name in (NAMES if names is None else names) if importlib.util.find_spec(name) is None]
    if lacking:
        raise errors.UnsupportedError.explain(
            operation, f"a Python without {', '.join(lacking)}", "the packages of a server",
            errors.install("serve"))
