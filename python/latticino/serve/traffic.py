"""The handling of every request, whatever its route: limits for its head, a line in the log, a count, and a response
that may not be cached. Also the folder of a web page, if the operator names one."""

from __future__ import annotations

import asyncio
import os
import resource
import time
from pathlib import Path
from typing import Any

from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response
from starlette.staticfiles import StaticFiles
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from .. import errors
from .logs import log, tenant_tag
from .metrics import Metrics

# bytes that the front reads from a connection at once, because hundreds of uploads come at the same time
READ = 1 << 16
MAX_HEAD = 1 << 16  # bytes of a head that are read after its first piece
SECONDS = 60.0  # seconds that a head may take, from its first byte on
UNREAD = 60.0  # seconds in which a client has to read 64 KiB of an answer
MOST_CONNECTIONS = 4096
_FILES = 512  # open files of a front beside those of connections: its database, with three for each of its threads

_QUIET = ("/v2/health/live", "/v2/health/ready", "/metrics")
_TYPES = {".html": "text/html; charset=utf-8", ".css": "text/css; charset=utf-8", ".mjs": "text/javascript",
          ".js": "text/javascript", ".wasm": "application/wasm", ".svg": "image/svg+xml", ".png": "image/png"}
# A page may only run the scripts and the WebAssembly of its folder, may only connect to this service, and may not be
# framed.
_GUARDED = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self'; "
                               "connect-src 'self'; style-src 'self'; img-src 'self'; form-action 'none'; "
                               "base-uri 'none'; frame-ancestors 'none'",
    "Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer", "X-Content-Type-Options": "nosniff"}


class Page:
    """An application of ASGI: the files of a folder, of known types, with headers that keep foreign code out of a page.

    FileError for a folder without index.html.
    """

    def __init__(self, folder: str) -> None:
        if not Path(folder, "index.html").is_file():
            raise errors.FileError.explain("serve", f"the page {folder} without index.html", "the folder of a page",
                                           "name build/wasm/web, or another one")
        self._files: Any = StaticFiles(directory=folder, html=True)  # a folder is answered with its index.html

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        try:
            response: Any = await self._files.get_response(self._files.get_path(scope), scope)
        except HTTPException as why:  # no such file, or another method than GET and HEAD
            response = Response(status_code=why.status_code)
        kind = _TYPES.get(os.path.splitext(str(getattr(response, "path", "")))[1])
        if response.status_code == 200:
            if kind is None:
                response = Response(status_code=404)
            else:
                response.headers["Content-Type"] = kind
        response.headers.update(_GUARDED)
        await response(scope, receive, send)


# No route takes a body of unknown length. Its end would bring more fields of a head, without a limit.
_WITHOUT_LENGTH: Any = JSONResponse(
    {"message": "service: had a body of unknown length; needs Content-Length; send it"}, 411, {"Connection": "close"})


def _is_chunked(scope: Any) -> bool:
    return any(name == b"transfer-encoding" for name, _ in scope["headers"])


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
            await (_WITHOUT_LENGTH if _is_chunked(scope) else self.app)(scope, receive, sending)
        finally:
            self._note(scope, status, time.monotonic() - start)

    def _note(self, scope: Any, status: int, seconds: float) -> None:
        route = getattr(scope.get("route"), "path", "none")
        self._metrics.requests.labels(route, str(status)).inc()
        if b"wait=" not in scope.get("query_string", b""):
            self._metrics.seconds.observe(seconds)
        if route not in _QUIET:
            log("request", method=scope["method"], route=route, status=status, ms=round(1000 * seconds, 1),
                tenant=tenant_tag(scope["state"].get("tenant")))


def connections_for_files() -> int:
    """How many connections a front may have, each with a file of a body or a result. Raises the limit of open files of
    this process as far as this needs and the system allows: most systems begin with 1024. Without room for a file no
    request could be answered, and asyncio would log thousands of lines per second."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _FILES + 2 * MOST_CONNECTIONS
    if 0 <= soft < wanted:  # a negative number stands for no limit
        soft = wanted if hard < 0 else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    return MOST_CONNECTIONS if soft < 0 else max(min(MOST_CONNECTIONS, (soft - _FILES) // 2), 16)


class Protocol(HttpToolsProtocol):  # type: ignore[misc]
    """The parser of HTTP, with limits for the bytes and the time of heads, and for the number of connections. uvicorn
    sets none of them with this parser, so a client could send part of a head and occupy memory for ever."""

    most = MOST_CONNECTIONS  # connections of one process
    _unread: asyncio.TimerHandle | None = None  # the timer runs while the client reads nothing of its answers
    _late: asyncio.TimerHandle | None = None  # the timer runs while the rest of a head is missing
    _in_head, _bytes = True, 0

    def connection_made(self, transport: Any) -> None:
        transport.max_size = READ  # a method of asyncio's protocol; if it has none, this changes nothing
        super().connection_made(transport)
        if len(self.connections) > self.most:
            self._refuse("503 Service Unavailable", "service: had too many connections; needs fewer at a time; send it "
                         "again")
            return
        # A new connection may be idle for as long as one after an answer, which uvicorn limits by itself.
        self.timeout_keep_alive_task = self.loop.call_later(self.timeout_keep_alive, self.timeout_keep_alive_handler)

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_clock()
        self._end_of_pause()
        super().connection_lost(exc)

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._in_head, self._bytes = True, 0
        self._stop_clock()

    def on_headers_complete(self) -> None:
        self._in_head = False
        self._stop_clock()
        super().on_headers_complete()

    def data_received(self, data: bytes) -> None:
        headers = self.headers  # each head gets a list of its own
        super().data_received(data)
        if self._in_head and self.headers is headers:
            self._bytes += len(data)
            if self._bytes > MAX_HEAD:
                self._refuse("431 Request Header Fields Too Large", "service: had a head of a request that is too "
                             f"long; needs {MAX_HEAD} bytes at most; send less")
        # Bytes that belong to no request, such as the rest of a body after its answer, keep no connection open either.
        if self._late is None and (self._in_head or self._all_answered()):
            self._late = self.loop.call_later(SECONDS, self._too_slow)

    def pause_writing(self) -> None:
        """Is called when a client has not read what was sent. uvicorn would wait for ever, with a file open."""
        super().pause_writing()
        self._unread = self.loop.call_later(UNREAD, self.transport.abort)

    def resume_writing(self) -> None:
        self._end_of_pause()
        super().resume_writing()

    def _end_of_pause(self) -> None:
        if self._unread is not None:
            self._unread.cancel()
            self._unread = None

    def _all_answered(self) -> bool:
        return self.cycle is None or self.cycle.response_complete

    def _stop_clock(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None

    def _too_slow(self) -> None:
        if not self._all_answered():  # the client may wait for this answer, and reading may be paused until then
            self._late = self.loop.call_later(SECONDS, self._too_slow)
        elif self._in_head:
            self._refuse("408 Request Timeout", "service: had a head of a request that comes too slowly; needs it in "
                         f"{SECONDS:g} s; send it again")
        else:
            self.transport.close()

    def _refuse(self, status: str, message: str) -> None:
        """Ends the connection. If another answer is being sent, it writes nothing."""
        if self.transport.is_closing():
            return
        if self._all_answered():
            body = b'{"message": "%s"}' % message.encode()
            self.transport.write(f"HTTP/1.1 {status}\r\nContent-Type: application/json\r\nCache-Control: no-store\r\n"
                                 f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n".encode() + body)
        self.transport.close()
