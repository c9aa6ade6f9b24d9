"""Heads of requests: how long they may be and how long they may take, before anybody knows who sends them."""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

READ = 1 << 16  # bytes that the front reads of a connection at once: hundreds of uploads come at the same time
MAX_HEAD = 1 << 16  # bytes of a head, beside those that were read at once with its beginning
SECONDS = 60.0  # that a head may take, also a new connection until its first one


class Protocol(HttpToolsProtocol):  # type: ignore[misc]
    """The parser of HTTP, with limits for heads: without them it keeps all that a stranger sends of one, for ever."""

    _late: asyncio.TimerHandle | None = None
    _in_head, _bytes = True, 0

    def connection_made(self, transport: Any) -> None:
        transport.max_size = READ  # of asyncio's; where it has none, this changes nothing
        super().connection_made(transport)
        self._begin()

    def connection_lost(self, exc: Exception | None) -> None:
        self._end()
        super().connection_lost(exc)

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._begin()

    def on_headers_complete(self) -> None:
        self._end()
        super().on_headers_complete()

    def data_received(self, data: bytes) -> None:
        before = self._in_head
        super().data_received(data)
        if before and self._in_head:
            self._bytes += len(data)
            if self._bytes > MAX_HEAD:
                self._refuse("431 Request Header Fields Too Large", "service: had a head of a request that is too "
                             f"long; needs {MAX_HEAD} bytes at most; send less")

    def _begin(self) -> None:
        self._end()
        self._in_head, self._bytes = True, 0
        self._late = self.loop.call_later(SECONDS, self._refuse, "408 Request Timeout",
                                          f"service: had a head of a request that comes too slowly; needs it in "
                                          f"{SECONDS:g} s; send it again")

    def _end(self) -> None:
        self._in_head = False
        if self._late is not None:
            self._late.cancel()
            self._late = None

    def _refuse(self, status: str, message: str) -> None:
        """Ends the connection. Nothing is said in the middle of another answer."""
        self._end()
        if self.transport.is_closing():
            return
        if self.cycle is None or self.cycle.response_complete:
            body = b'{"message": "%s"}' % message.encode()
            self.transport.write(f"HTTP/1.1 {status}\r\nContent-Type: application/json\r\nCache-Control: no-store\r\n"
                                 f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n".encode() + body)
        self.transport.close()
