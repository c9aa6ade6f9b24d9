"""Requests to the front of a service as bytes of a connection: uvicorn's protocol, routing, every handler, SQLite.

Neither sockets nor threads take part, nothing waits, and the log goes nowhere. `TOKEN` in the bytes stands for a token of a
tenant, `LENGTH` for the length of what follows the head, so that bytes which know neither reach what lies behind them.
"""

from __future__ import annotations

import asyncio
import atexit
import io
import logging
import os
import shutil
import tempfile
from pathlib import Path

import sqlalchemy as sa
import uvicorn
from starlette.responses import FileResponse
from uvicorn.server import ServerState

_TIDY = 200  # number of requests after which stored data are deleted
_QUEUED, _DONE = "1" * 32, "2" * 32  # ids of jobs
_TURNS = 200  # turns of the event loop, enough for every answer that does not wait


class Requests:
    """``read`` takes the bytes of a connection. AssertionError for an answer of status 500, or of none at all."""

    def __init__(self):
        self._count = 0

    def seeds(self):
        self._open()
        model, bundle, job = f"model=m&bundle={self._bundle}", f"/v1/bundles/{self._bundle}", f"/v1/jobs/{_QUEUED}"
        manifest = b'{"model": "m", "size": 5, "chunks": ["%s"]}' % self._chunk.encode()
        return [_request(method, path, body, *more) for method, path, body, *more in (
            ("GET", "/v2/health/live", b""), ("GET", "/v2/health/ready", b""), ("GET", "/metrics", b""), ("GET", "/openapi.json", b""),
            ("GET", "/v1/models", b""), ("GET", "/v1/models/m", b""), ("GET", "/v1/models/m/client", b""),
            ("GET", "/v1/bundles", b""), ("POST", "/v1/bundles", manifest), ("GET", bundle + "?model=m&wait=0.5", b""),
            ("POST", bundle + "/commit?model=m", b""), ("DELETE", bundle + "?model=m", b""), ("PUT", f"/v1/chunks/{self._chunk}", b"chunk"),
            ("GET", "/v1/jobs", b""), ("POST", f"/v1/jobs?{model}&final=true&deadline=9", b"x" * 10, "Idempotency-Key: k1"),
            ("GET", job + "?wait=0.5", b""), ("DELETE", job, b""), ("GET", f"/v1/jobs/{_DONE}/result", b"", "Range: bytes=1-2"))]

    def read(self, data):
        self._open()
        self._count += 1
        if self._count % _TIDY == 0:
            self._tidy()
        head, end, body = data.partition(b"\r\n\r\n")
        head = head.replace(b"TOKEN", self._token).replace(b"LENGTH", b"%d" % len(body))
        self._loop.run_until_complete(self._exchange(head + end + body))

    async def _exchange(self, data):
        from latticino.serve.traffic import Protocol

        connection = Connection()
        protocol = Protocol(self._config, ServerState(), {}, self._loop)
        protocol.connection_made(connection)
        protocol.data_received(data)
        state = protocol.server_state
        for _ in range(_TURNS):
            if not state.tasks or protocol.cycle is None or protocol.cycle.more_body:
                break
            await asyncio.sleep(0)
        protocol.connection_lost(None)
        for _ in range(_TURNS):
            if not state.tasks:
                break
            await asyncio.sleep(0)
        said = bytes(connection.written)
        assert not state.tasks, f"no answer to {data[:2000]!r}"
        assert b"HTTP/1.1 500 " not in said, f"{data[:2000]!r}: {said[:2000]!r}"

    def _open(self):
        if hasattr(self, "_loop"):
            return
        folder = tempfile.mkdtemp(prefix="latticino-requests-", dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None)
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        self._world(Path(folder))
        logging.disable(logging.CRITICAL)
        self._loop = asyncio.new_event_loop()
        self._config = uvicorn.Config(self._front.app(), log_config=None, access_log=False, lifespan="off", ws="none")
        self._config.load()

    def _world(self, folder):
        """A model and two tenants with rows of each kind; a front whose threads are this one."""
        from latticino.serve import front, traffic, waiting
        from latticino.serve.blobs import OPERATOR, Blobs
        from latticino.serve.bundles import Bundles
        from latticino.serve.jobs import Jobs, Request
        from latticino.serve.manifest import Manifest
        from latticino.serve.models import Facts, Port
        from latticino.serve.requests import bodies
        from latticino.serve.store import Store
        from latticino.serve.tables import bundles, jobs, models, uses
        from latticino.serve.tenants import Quota, Tenants

        async def at_once(call, *arguments):
            return call(*arguments)

        async def whole(response, scope, receive, send):
            await _body_of(response, send)

        for module in (front, bodies, waiting):
            module.run_in_threadpool = at_once
        front.LONGEST_WAIT, front.log, traffic.log = 0.0, _nothing, _nothing
        bodies.IDLE = 1e9
        os.fsync = _nothing
        FileResponse.__call__ = whole
        self._store, self._blobs = Store(f"sqlite:///{folder}/s.sqlite"), Blobs(folder / "blobs")
        sa.event.listen(self._store._engine, "connect", lambda c, _: c.execute("PRAGMA synchronous=OFF"))
        self._store.close()
        client, digest = self._blobs.put("models", OPERATOR, b"client"), "0" * 64
        facts = Facts("program", digest, client, "set", "0", (Port("x", (4,), 1, 10),), (Port("y", (4,), 0, 100),), {}, 1000,
                      1 << 30, 1.0, 5000)
        tenants, held, queue = Tenants(self._store), Bundles(self._store, self._blobs), Jobs(self._store)
        manifest = Manifest.of(io.BytesIO(b"chunk"))
        self._chunk, self._bundle = manifest.chunks[0], manifest.hash
        with self._store.write() as c:
            c.execute(models.insert().values(digest=digest, name="m", active=True, facts=facts.to_json(), seconds=1.0, created=0.0))
        ids = [tenants.add(name, Quota(jobs=20, bytes=1 << 40)) for name in ("a", "b")]
        self._token = tenants.token("a").encode()
        for id_ in ids:
            held.announce(id_, digest, manifest)
            self._blobs.put("chunks", id_, b"chunk")
            held.stored(id_, self._chunk)
            held.commit(id_, digest, manifest.hash)
            check = held.claim()
            held.accept(check, "1", 1)
        result = self._blobs.put("results", ids[0], b"result")
        rows = [queue.submit(ids[0], Request(key, digest, manifest.hash, "0" * 64, 10))[0] for key in ("queued", "done")]
        with self._store.write() as c:
            for row, id_ in zip(rows, (_QUEUED, _DONE)):  # as in the kept inputs
                c.execute(jobs.update().where(jobs.c.id == row.id).values(id=id_))
            c.execute(jobs.update().where(jobs.c.id == _DONE).values(state="done", result=result, result_size=6))
        with self._store.read() as c:
            self._rows = {table: [row._asdict() for row in c.execute(sa.select(table))] for table in (bundles, jobs, uses)}
        self._front = front.Front(self._store, self._blobs, front.Settings(rate=1e9, burst=1e9), lambda: False)

    def _tidy(self):
        """Restores bundles and jobs as they were at first, and deletes the files that came since."""
        from latticino.serve.tables import chunks

        with self._store.write() as c:
            for table, rows in self._rows.items():
                c.execute(table.delete())
                c.execute(table.insert(), rows)
            c.execute(chunks.delete().where(chunks.c.hash != self._chunk))
        for path in (self._blobs.folder / "inputs").glob("*/??/*"):
            path.unlink()


class Connection:
    """Stands for a socket, as the protocol sees it. The tests of its limits use it too."""

    def __init__(self):
        self.written, self.closed = bytearray(), False

    def write(self, data):
        self.written += data

    def close(self):
        self.closed = True

    def is_closing(self):
        return self.closed

    def get_extra_info(self, name, default=None):
        return {"peername": ("127.0.0.1", 1), "sockname": ("127.0.0.1", 2)}.get(name, default)

    def pause_reading(self):
        pass

    resume_reading = set_write_buffer_limits = lambda *_, **__: None


async def _body_of(response, send):
    data = Path(response.path).read_bytes()
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"%d" % len(data))]})
    await send({"type": "http.response.body", "body": data})


def _request(method, path, body, *more):
    lines = [f"{method} {path} HTTP/1.1", "Host: h", "Authorization: Bearer TOKEN", "Content-Length: LENGTH", *more]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def _nothing(*_, **__):
    pass
