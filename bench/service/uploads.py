"""Uploads of large bundles at the same time: the memory of the front, and the rate."""

from __future__ import annotations

import hashlib
import http.client
import json
import os
import time
import urllib.parse
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import latticino as lt
from latticino._provenance import cpu_name
from latticino.measure.records import Row
from latticino.serve.manifest import CHUNK, Manifest
from latticino.serve.tables import models
from memory import resident
from prefilled import Prefilled, Seat, serving
from running import Running, until
from samples import Program

TARGET_BYTES = 300e6


def measure(folder: Path, count: int, size: int, connections: int) -> tuple[list[Row], bool]:
    """Uploads ``count`` bundles of ``size`` bytes at the same time, each over so many connections.
    Returns the row, and whether the target was met."""
    made = Prefilled(folder / "uploads", Program(folder, "square"), count)
    facts = replace(made.program.facts, bundle_bytes=max(size, made.program.facts.bundle_bytes))
    with serving(made, 1) as running:
        with made.store.write() as c:  # because the largest bundle of the program is smaller
            c.execute(models.update().where(models.c.digest == facts.digest).values(facts=facts.to_json()))
        front = until(lambda: running.pids("front"), "a front")[0]
        lt.connect(running.url, made.seats[0].token)  # the service answers
        uploads = [Upload(running, seat, made.program.name, i, size) for i, seat in enumerate(made.seats)]
        before, start = resident(front), time.monotonic()
        with ThreadPoolExecutor(count * connections) as pool:
            list(pool.map(Upload.announce, uploads))
            pieces = [(upload, i) for i in range(len(uploads[0].manifest.chunks)) for upload in uploads]
            list(pool.map(lambda piece: piece[0].send(piece[1]), pieces))
        seconds = time.monotonic() - start
        peak, same = resident(front, peak=True), running.children().get(front) == "front"
        missing = [upload.announce() for upload in uploads]
    print(f"{count} uploads of {size / 1e6:.0f} MB at once, over {count * connections} connections: {seconds:.0f} s, "
          f"{count * size / seconds / 1e6:.0f} MB per second; the front had {before / 1e6:.0f} MB, "
          f"and {peak / 1e6:.0f} MB at most")
    row = {"name": "serve.uploads", "value": peak, "unit": "bytes", "params": {
        "uploads": count, "bytes_each": size, "connections": count * connections}, "device": cpu_name(),
        "backend": "cpu", "bytes_before": before, "run_seconds": round(seconds, 2),
        "bytes_per_second": round(count * size / seconds), "target_bytes": TARGET_BYTES}
    return [row], peak < TARGET_BYTES and same and not any(missing)


class Upload:
    """A bundle whose bytes no other bundle has. They are made while they are sent."""

    _base = memoryview(os.urandom(CHUNK))

    def __init__(self, running: Running, seat: Seat, model: str, index: int, size: int) -> None:
        self._address = urllib.parse.urlsplit(running.url).netloc
        self._seat, self._model, self._index, self._size = seat, model, index, size
        hashes = tuple(self._hash(i) for i in range(-(-size // CHUNK)))
        self.manifest = Manifest(size, hashes)

    def announce(self) -> list[str]:
        """The chunks that the service lacks."""
        fields = {"model": self._model, "size": self._size, "chunks": list(self.manifest.chunks)}
        missing: list[str] = self._ask("POST", "/v1/bundles", json.dumps(fields).encode())["missing"]
        return missing

    def send(self, i: int) -> None:
        self._ask("PUT", f"/v1/chunks/{self.manifest.chunks[i]}", self._parts(i), self._length(i))

    def _ask(self, method: str, path: str, body: Any, length: int | None = None) -> Any:
        connection = http.client.HTTPConnection(self._address, timeout=600)
        try:
            connection.request(method, path, body, {
                "Authorization": f"Bearer {self._seat.token}",
                "Content-Length": str(len(body) if length is None else length)})
            response = connection.getresponse()
            text = response.read()
        finally:
            connection.close()
        assert response.status < 300, f"{method} {path[:20]}: {response.status} {text!r}"
        return json.loads(text)

    def _length(self, i: int) -> int:
        return min(CHUNK, self._size - i * CHUNK)

    def _parts(self, i: int) -> Iterator[bytes | memoryview]:
        head = self._index.to_bytes(8, "little") + i.to_bytes(8, "little")
        yield head
        for at in range(len(head), self._length(i), 1 << 18):
            yield self._base[at : min(at + (1 << 18), self._length(i))]

    def _hash(self, i: int) -> str:
        found = hashlib.sha256()
        for part in self._parts(i):
            found.update(part)
        return found.hexdigest()
