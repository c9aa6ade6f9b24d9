"""Refusals of the server: one exception, with the HTTP status that is returned."""

from __future__ import annotations

from ..errors import Error


class Refused(Error):
    """A request that is not carried out. ``status`` of HTTP; ``retry_after`` in seconds, where a later try may pass;
    ``missing``: hashes of the chunks that are not there yet."""

    def __init__(self, message: str, operation: str, status: int, retry_after: float | None = None,
                 missing: tuple[str, ...] = ()) -> None:
        super().__init__(message, operation)
        self.status, self.retry_after, self.missing = status, retry_after, missing

    @classmethod
    def of(cls, status: int, operation: str, had: str, needs: str, remedy: str, retry_after: float | None = None,
           missing: tuple[str, ...] = ()) -> Refused:
        return cls(f"{operation}: had {had}; needs {needs}; {remedy}", operation, status, retry_after, missing)


def not_found(operation: str, what: str) -> Refused:
    """404, with the same text for objects that do not exist and for those of another tenant."""
    return Refused.of(404, operation, f"no {what} of this tenant", "one that it made", "check the name")
