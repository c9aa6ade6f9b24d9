"""A store and blobs with a program, tenants and a full queue, made before a service starts on them.

Rows and files are those that a front and a checker would have made. The bundles of all tenants have the same bytes, of
one key, and share their blobs on the disk.
"""

from __future__ import annotations

import io
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import sqlalchemy as sa

import latticino as lt
from latticino.serve.blobs import Blobs
from latticino.serve.bundles import Bundles
from latticino.serve.jobs import Jobs, Request
from latticino.serve.manifest import CHUNK, Manifest
from latticino.serve.registry import Registry
from latticino.serve.store import Store
from latticino.serve.tenants import Quota, Tenants
from running import Running
from samples import Program, digest


@dataclass(frozen=True)
class Seat:
    """A tenant: its id and token, and the hash of its bundle."""

    tenant: str
    token: str
    bundle: str


class Prefilled:
    """The folder of a service that has never run, filled with tenants that share one key, and with jobs.

    ``folder``: the one for `latticino serve --folder`. ``program``: the program that is served. ``body``: a request
    under that key."""

    def __init__(self, folder: Path, program: Program, tenants: int) -> None:
        folder.mkdir()
        self.folder, self.program = folder, program
        self._first: dict[tuple[str, str], str] = {}  # the tenant that first had a blob
        self.store = Store(f"sqlite:///{folder.resolve()}/service.sqlite")
        sa.event.listen(self.store._engine, "connect", _hasty)
        self.store.close()  # its first connection, which was made before
        self._blobs = Blobs(folder / "blobs")
        Registry(self.store, self._blobs).add(program.path, program.name)
        client = program.client()
        self.bundle = lt.to_bytes(program.part.keys(client))
        self.body = program.encrypted(client, 0)
        self._manifest = Manifest.of(io.BytesIO(self.bundle))
        self.seats = [self._seat(Tenants(self.store), i, client.key_id) for i in range(tenants)]

    def submit(self, seat: Seat) -> str:
        """Adds a job to the queue. Returns its id."""
        hash_ = self._put("inputs", seat.tenant, self.body)
        row, _ = Jobs(self.store).submit(seat.tenant, Request(
            secrets.token_hex(16), self.program.facts.digest, seat.bundle, hash_, len(self.body)))
        return str(row.id)

    def _seat(self, tenants: Tenants, i: int, key_id: str) -> Seat:
        bundles, model, manifest = Bundles(self.store, self._blobs), self.program.facts.digest, self._manifest
        tenant = tenants.add(f"tenant-{i}", Quota())
        bundles.announce(tenant, model, manifest)
        for at in range(0, len(self.bundle), CHUNK):
            bundles.stored(tenant, self._put("chunks", tenant, self.bundle[at : at + CHUNK]))
        bundles.commit(tenant, model, manifest.hash)
        check = bundles.claim()
        assert check is not None and check.tenant == tenant
        bundles.accept(check, key_id, self.program.facts.key_bytes)
        return Seat(tenant, tenants.token(f"tenant-{i}", None, 1.0), manifest.hash)

    def _put(self, area: str, tenant: str, data: bytes) -> str:
        """Stores bytes once, and links them for each further tenant: to fill a queue takes no time of the disk, which
        the jobs that are measured use meanwhile."""
        hash_ = digest(data)
        first = self._first.setdefault((area, hash_), tenant)
        target = Path(self._blobs.path(area, tenant, hash_))
        if first == tenant and not target.exists():
            return self._blobs.put(area, tenant, data)
        if not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            os.link(self._blobs.path(area, first, hash_), target)
        return hash_


def _hasty(connection: Any, _: Any) -> None:
    """No client is told about what these connections write, so it may be lost if the power fails.
    """
    connection.execute("PRAGMA synchronous=OFF")


@contextmanager
def serving(made: Prefilled, workers: int, *options: str) -> Iterator[Running]:
    """The running service with this data."""
    running = Running(made.folder, [made.program.argument], "--workers", str(workers), *options)
    try:
        yield running
    finally:
        running.stop()
