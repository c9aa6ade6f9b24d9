"""Bodies of requests. Their length is known and checked before they are read, in pieces."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable
from typing import Any, TypeVar

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request

from .blobs import Writer
from .refusals import Refused

Ended = TypeVar("Ended")
MAX_JSON = 1 << 20  # bytes
IDLE = 60.0  # seconds between two pieces of a body
SLOWEST = 1 << 13  # bytes of a body per second, after the first `IDLE` seconds
_PIECE = 1 << 16  # bytes that are written at once: hundreds of bodies may come at the same time


def announced(request: Request) -> int:
    """The length of the body that its header states, in bytes. Refused (411) without one."""
    text = request.headers.get("content-length", "")
    if not (text.isascii() and text.isdecimal() and len(text) < 16):
        raise Refused.of(411, "service", "a body of unknown length", "Content-Length", "send it")
    return int(text)


def require_length(request: Request, bytes_: int) -> None:
    """Refused unless the body has exactly so many bytes: 413 for more, 400 for fewer."""
    found = announced(request)
    if found != bytes_:
        raise Refused.of(413 if found > bytes_ else 400, "service", f"a body of {found} bytes", f"exactly {bytes_}",
                         "send what the model and the manifest say")


async def read_json(request: Request) -> Any:
    """The body as JSON. Refused: 413 for more than `MAX_JSON` bytes, 400 for other text."""
    if announced(request) > MAX_JSON:
        raise Refused.of(413, "service", "a long body", f"{MAX_JSON} bytes at most", "send less")
    data = b"".join([piece async for piece in _pieces(request)])
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as why:
        raise Refused.of(400, "service", "a body that is no JSON", "JSON", "send it as docs/serving.md says") from why


async def store(request: Request, writer: Writer, disk: asyncio.Semaphore, end: Callable[[], Ended]) -> Ended:
    """Writes the body into a blob, then calls ``end`` and returns its result. The last piece and ``end`` share one turn
    of a thread. ``disk`` limits how many bodies are written at a time."""
    held = bytearray()
    async for piece in _pieces(request):
        held += piece
        if len(held) >= _PIECE:
            async with disk:
                await run_in_threadpool(writer.write, held)
            held = bytearray()  # and not cleared: that would keep its memory

    def last() -> Ended:
        writer.write(held)
        return end()

    async with disk:
        ended: Ended = await run_in_threadpool(last)
        return ended


async def _pieces(request: Request) -> AsyncIterator[bytes]:
    stream = request.stream()
    last = time.monotonic() + IDLE + announced(request) / SLOWEST
    while True:
        try:
            piece = await asyncio.wait_for(stream.__anext__(), min(IDLE, max(last - time.monotonic(), 0.0)))
        except StopAsyncIteration:
            return
        except (asyncio.TimeoutError, TimeoutError) as why:
            raise Refused.of(408, "service", "a body that comes too slowly",
                             f"a piece every {IDLE:g} s, and {SLOWEST} bytes per second", "send it again") from why
        yield piece
