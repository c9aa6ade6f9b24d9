"""What every request gets, whatever its route: a line in the log, a count, and a response that nobody caches."""

from __future__ import annotations

import time
from typing import Any

from .logs import log, of_tenant
from .metrics import Metrics

_QUIET = ("/v2/health/live", "/v2/health/ready", "/metrics")


class Traffic:
    """An application of ASGI around another one."""

    def __init__(self, app: Any, metrics: Metrics) -> None:
        self.app, self._metrics = app, metrics

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        start, status = time.monotonic(), 500
        scope.setdefault("state", {})

        async def sending(message: Any) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message.get("headers", ()), (b"cache-control", b"no-store")]
            await send(message)

        try:
            await self.app(scope, receive, sending)
        finally:
            self._note(scope, status, time.monotonic() - start)

    def _note(self, scope: Any, status: int, seconds: float) -> None:
        route = getattr(scope.get("route"), "path", "none")
        self._metrics.requests.labels(route, str(status)).inc()
        if b"wait=" not in scope.get("query_string", b""):
            self._metrics.seconds.observe(seconds)
        if route not in _QUIET:
            log("request", method=scope["method"], route=route, status=status, ms=round(1000 * seconds, 1),
                tenant=of_tenant(scope["state"].get("tenant")))
