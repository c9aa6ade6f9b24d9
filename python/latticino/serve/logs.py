"""Logs as lines of JSON on standard error. Tenants appear as hashes; names, tokens and data never do."""

from __future__ import annotations

import hashlib
import json
import logging
import sys
import threading
import time
from contextlib import suppress
from typing import Any

_lock = threading.Lock()


def log(event: str, **fields: Any) -> None:
    """Writes one line; fields that are None are left out. A line that cannot be written is lost: neither a full disk
    nor a reader of the log that has ended stops the service."""
    row = {"time": round(time.time(), 3), "event": event, **{k: v for k, v in fields.items() if v is not None}}
    with _lock, suppress(OSError):
        sys.stderr.write(json.dumps(row) + "\n")  # written at once, because other processes write to the same file
        sys.stderr.flush()


def tenant_tag(tenant: str | None) -> str | None:
    """How a tenant appears in logs."""
    return None if tenant is None else hashlib.sha256(b"latticino tenant " + tenant.encode()).hexdigest()[:12]


class AsLines(logging.Handler):
    """Converts log messages of other packages, for example that a connection sent no HTTP, to lines of the same form.

    The same message is written once a second: anybody who reaches the port can cause some of them.
    """

    _last = ("", float("-inf"))

    def emit(self, record: logging.LogRecord) -> None:
        text, when = self._last
        if record.getMessage() == text and time.monotonic() < when + 1:
            return
        self._last = record.getMessage(), time.monotonic()
        trace = self.formatter or logging.Formatter()
        log("package." + record.levelname.lower(), package=record.name, message=record.getMessage(),
            trace=trace.formatException(record.exc_info) if record.exc_info else None)
