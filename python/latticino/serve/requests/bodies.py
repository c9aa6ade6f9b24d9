"""Bodies of requests. Their length is known and checked before they are read, in pieces."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable
from typing import Any, TypeVar

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request

from ..blobs import Writer
from ..refusals import Refused
from .arriving import Wrote

Ended = TypeVar("Ended")
JSON, PER_HASH = 1 << 12, 80  # bytes of JSON that are allowed in addition to a list of hashes, and for each hash
_AT_ONCE = 1 << 12  # bytes of JSON that the event loop parses itself, in a fraction of a millisecond
_BESIDE = 32  # objects, lists and members of JSON that are allowed in addition to a list of hashes
_DIGITS = 100  # digits of an integer: Python takes 0.1 ms for one of 4,000
IDLE = 60.0  # seconds between two pieces of a body
SLOWEST = 1 << 13  # bytes of a body per second that must arrive after the first `IDLE` seconds
_PIECE = 1 << 16  # bytes that are written at once, because hundreds of bodies may arrive at the same time


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


async def read_json(request: Request, hashes: int) -> Any:
    """The body as JSON, in which a list of so many hashes has room. Refused: 413 for more bytes, 400 for other text."""
    most = JSON + PER_HASH * hashes
    if announced(request) > most:
        raise Refused.of(413, "service", f"a body of {announced(request)} bytes", f"{most} bytes at most", "send less")
    data = b"".join([piece async for piece in _pieces(request)])
    if len(data) <= _AT_ONCE:
        return _parsed(data)
    # Python's parser keeps its lock until the end, so that a thread alone would not let other requests go on. It takes
    # milliseconds for half a megabyte of hashes, and ten times as long for as many bytes of short values.
    found = data.count(b",") + data.count(b"[") + data.count(b"{")
    if found > hashes + _BESIDE:
        raise Refused.of(400, "service", f"{found} commas and brackets in JSON", f"{hashes + _BESIDE} at most",
                         "send it as docs/serving.md says")
    return await run_in_threadpool(_parsed, data)


def _parsed(data: bytes) -> Any:
    try:
        return json.loads(data, parse_int=_integer)
    except (ValueError, RecursionError) as why:
        raise Refused.of(400, "service", "a body that is no JSON", "JSON", "send it as docs/serving.md says") from why


def _integer(digits: str) -> int:
    if len(digits) > _DIGITS:
        raise ValueError
    return int(digits)


async def store(request: Request, writer: Writer, disk: asyncio.Semaphore, wrote: Wrote,
                end: Callable[[], Ended]) -> Ended:
    """Writes the body into a blob, then calls ``end`` and returns its result. The last piece and ``end`` share one turn
    of a thread. ``disk`` limits how many bodies are written at a time. ``wrote`` is told how many bytes were."""
    held = bytearray()
    async for piece in _pieces(request):
        held += piece
        if len(held) >= _PIECE:
            async with disk:
                await run_in_threadpool(writer.write, held)
            wrote(len(held))
            held = bytearray()  # and not cleared, because that would keep its memory

    def last() -> Ended:
        writer.write(held)
        return end()

    async with disk:
        ended: Ended = await run_in_threadpool(last)
    wrote(len(held))
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
