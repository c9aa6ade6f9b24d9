"""The front: the process that tenants reach over HTTP. It has no device, opens no model and parses no file of a tenant.
"""

from __future__ import annotations

import asyncio
import math
import os
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, TypeVar

import sqlalchemy as sa
from fastapi import FastAPI, Request
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from starlette.concurrency import run_in_threadpool
from starlette.responses import FileResponse, JSONResponse, RedirectResponse, Response

from .. import errors
from .blobs import OPERATOR, Away, Blobs
from .bundles import Bundles
from .http import KEY
from .jobs import Jobs, Limits
from .jobs import Request as JobRequest
from .logs import log
from .manifest import MAX_CHUNKS, Manifest, chunks_of
from .metrics import Metrics
from .models import Facts
from .refusals import Refused, not_found
from .registry import Registry
from .requests import bodies, openapi
from .requests.answers import add_errors, of_bundle, of_job, of_model
from .requests.arriving import Flight, Inputs
from .requests.limits import Rate
from .store import Store
from .tables import facts
from .tenants import ACTIVE, Identity, Tenants
from .traffic import Page, Traffic
from .waiting import Polls, Waiting

LONGEST_WAIT = 30.0  # seconds of a long poll
# Requests that read the store, or write to it, at a time. These numbers are reasoned and not measured. With SQLite,
# more threads do not help: it allows one writer, beside which a second one prepares, and its readers mostly need
# Python's lock. Each thread also keeps pages of the database in memory. With PostgreSQL a thread mostly waits for the
# network; both together stay below the 40 threads of the front, and below the 60 connections of its pool.
READERS, WRITERS = {"sqlite": 3, "postgresql": 16}, {"sqlite": 2, "postgresql": 8}
# How many bodies are written, or results compared with their hashes, at a time. These threads wait for the disk. With
# those above they make up the front's 40.
DISK = 16
# Bytes of a result that are read together with its row, so that the answer needs a thread only once. A longer one goes
# out in pieces of 64 KiB: a client that reads slowly makes the front hold no more of it.
_AT_ONCE = 1 << 18
MANIFESTS = 1 << 20  # bytes of manifests of a tenant that are in memory at the same time
_COMPARED = 1000  # number of results and models whose files are known to be intact
Found = TypeVar("Found")
_CHECKED_NEXT = ("uploaded", "checking")  # states of a bundle


@dataclass(frozen=True)
class Settings:
    """``rate``: requests per second of a token, and ``burst`` of them at once. ``polls``: how many requests of a tenant
    may wait at a time. ``page``: the folder of a web page, which lies at /page/; empty for none."""

    limits: Limits = field(default_factory=Limits)
    rate: float = 100.0
    burst: float = 400.0
    polls: int = 100
    page: str = ""


class Front:
    """The routes of one service, with its store and blobs. ``draining``: whether the service is about to stop."""

    def __init__(self, store: Store, blobs: Blobs, settings: Settings, draining: Callable[[], bool]) -> None:
        self._store, self._blobs, self._draining = store, blobs, draining
        self._tenants, self._registry = Tenants(store), Registry(store, blobs)
        self._bundles, self._jobs = Bundles(store, blobs), Jobs(store, settings.limits)
        self._waiting, self._rate = Waiting(self._jobs.states), Rate(settings.rate, settings.burst)
        self._polls, self._manifests, self._arriving = Polls(settings.polls), Flight(), Flight()
        self._inputs = Inputs(blobs, self._jobs.needs_input)
        self.metrics = Metrics(store)
        # All requests share some threads. Requests that wait for the store, or for the disk, must not use all of them.
        kind = "sqlite" if store.sqlite else "postgresql"
        self._readers, self._writers = asyncio.Semaphore(READERS[kind]), asyncio.Semaphore(WRITERS[kind])
        self._disk, self._measuring = asyncio.Semaphore(DISK), asyncio.Semaphore(1)
        self._lock, self._compared = threading.Lock(), OrderedDict[str, tuple[int, int, int]]()
        self._page = Page(settings.page) if settings.page else None

    def app(self) -> Any:
        """The application for uvicorn, with /openapi.json."""
        app = FastAPI(title="Latticino", version="1", docs_url=None, redoc_url=None, redirect_slashes=False,
                      description="Encrypted computing for tenants: docs/serving.md")
        for method, path, handler in (
                ("GET", "/v2/health/live", self.live), ("GET", "/v2/health/ready", self.ready),
                ("GET", "/metrics", self.measures),
                ("GET", "/v1/models", self.models), ("GET", "/v1/models/{name}", self.model),
                ("GET", "/v1/models/{name}/client", self.client),
                ("GET", "/v1/bundles", self.bundles), ("POST", "/v1/bundles", self.announce),
                ("GET", "/v1/bundles/{bundle}", self.bundle), ("POST", "/v1/bundles/{bundle}/commit", self.commit),
                ("DELETE", "/v1/bundles/{bundle}", self.delete_bundle), ("PUT", "/v1/chunks/{chunk}", self.chunk),
                ("GET", "/v1/jobs", self.jobs), ("POST", "/v1/jobs", self.submit),
                ("GET", "/v1/jobs/{job}", self.job), ("DELETE", "/v1/jobs/{job}", self.cancel),
                ("GET", "/v1/jobs/{job}/result", self.result)):
            app.add_api_route(path, handler, methods=[method], response_model=None)
        if self._page is not None:
            app.add_api_route("/page", _to_the_page, methods=["GET"], include_in_schema=False)
            app.mount("/page", self._page)
        add_errors(app)
        openapi.describe(app)
        return Traffic(app, self.metrics)

    # ---- the service ----

    async def live(self) -> Response:
        return JSONResponse({"live": True})

    async def ready(self) -> Response:
        def alive() -> int:
            with self._store.read() as c:
                c.execute(sa.select(facts.c.value))
                return self._jobs.workers_alive(c)

        count = await self._read(alive)
        ready = count > 0 and not self._draining()
        return JSONResponse({"ready": ready, "workers": count}, 200 if ready else 503)

    async def measures(self) -> Response:
        async with self._measuring:  # strangers may ask for them, and must not keep readers from tenants
            text = await self._read(generate_latest, self.metrics.registry)
        return Response(text, media_type=CONTENT_TYPE_LATEST)

    # ---- models ----

    async def models(self, request: Request) -> Response:
        who, rows = await self._for(request, lambda _: self._registry.active())
        return JSONResponse({"models": [of_model(row) for row in rows if who.may_use(row.name)]})

    async def model(self, request: Request, name: str) -> Response:
        _, row = await self._for(request, lambda who: self._model(who, name))
        return JSONResponse(of_model(row))

    async def client(self, request: Request, name: str) -> Response:
        _, row = await self._for(request, lambda who: self._model(who, name))
        part = Facts.read(row.facts).client
        async with self._disk:
            if not await run_in_threadpool(self._sound, "models", OPERATOR, part):
                log("model.damaged", model=row.digest[:16])
                raise Refused.of(500, "models", "a model whose file was lost or changed on the disk of the service",
                                 "the one that was stored", "tell its operator, who starts latticino serve again")
        return FileResponse(self._blobs.path("models", OPERATOR, part), media_type="application/octet-stream")

    # ---- bundles ----

    async def bundles(self, request: Request) -> Response:
        _, rows = await self._for(request, lambda who: self._bundles.of(who.tenant, who.models))
        return JSONResponse({"bundles": [of_bundle(row) for row in rows]})

    async def announce(self, request: Request) -> Response:
        who, chunks = await self._for(request, self._most_chunks)
        self._require_open()
        with self._manifests.one(who.tenant, bodies.announced(request), MANIFESTS):
            fields = await bodies.read_json(request, chunks)

        def read() -> tuple[Any, Manifest]:
            return self._model(who, fields.get("model") if isinstance(fields, dict) else None), Manifest.read(fields)

        model, manifest = await self._read(read)
        row, missing = await self._written(self._bundles.announce, who.tenant, model.digest, manifest)
        return JSONResponse({**of_bundle(row), "missing": missing}, 201)

    async def bundle(self, request: Request, bundle: str, model: str, wait: float = 0.0) -> Response:
        """``wait``: so many seconds the answer may wait for the end of the check."""
        def read(who: Identity) -> Any:
            return self._bundles.get(who.tenant, self._model(who, model).digest, bundle)

        who, row = await self._for(request, read)
        if row.state in _CHECKED_NEXT and _waited(wait):
            with self._polls.one(who.tenant):
                last = time.monotonic() + _waited(wait)
                while row.state in _CHECKED_NEXT and time.monotonic() < last:
                    await asyncio.sleep(0.2)
                    row = await self._read(read, who)
        return JSONResponse(of_bundle(row))

    async def commit(self, request: Request, bundle: str, model: str) -> Response:
        who, row = await self._for(request, lambda who: self._model(who, model))
        row = await self._written(self._bundles.commit, who.tenant, row.digest, bundle)
        return JSONResponse(of_bundle(row), 202)

    async def delete_bundle(self, request: Request, bundle: str, model: str) -> Response:
        """``model``: its name, or a digest as the lists state it. A bundle may be of a model that is served no longer.
        """
        who, digests = await self._for(request, lambda who: self._bundles.versions(
            who.tenant, model, bundle, who.models))
        for digest in digests:
            await self._written(self._bundles.delete, who.tenant, digest, bundle)
        return Response(status_code=204)

    async def chunk(self, request: Request, chunk: str) -> Response:
        who, (size, stored, free) = await self._for(request, lambda who: (
            *self._bundles.expected(who.tenant, chunk, who.models), self._blobs.room()))
        bodies.require_length(request, size)
        if stored:  # a chunk that was damaged on the disk since then is accepted again
            async with self._disk:
                stored = await run_in_threadpool(self._blobs.intact, "chunks", who.tenant, chunk)
        if not stored:
            # The manifest has reserved its bytes once, so it may be uploaded once at a time.
            with self._arriving.one((who.tenant, chunk), size, size, free) as wrote:
                with self._blobs.writer("chunks", who.tenant) as writer:
                    def end() -> None:
                        if writer.hash != chunk:
                            raise Refused.of(400, "keys", f"a chunk of hash {writer.hash}", f"one of {chunk}",
                                             "send it again")
                        writer.commit()

                    await bodies.store(request, writer, self._disk, wrote, end)
                await self._written(self._bundles.stored, who.tenant, chunk)
        return JSONResponse({"stored": chunk}, 200 if stored else 201)

    # ---- jobs ----

    async def submit(self, request: Request, model: str, bundle: str, final: bool = True,
                     deadline: float | None = None) -> Response:
        """The body: the files of all inputs. ``deadline``: seconds from now, after which the job is not run."""
        key = request.headers.get("idempotency-key", "")

        def admitted(who: Identity) -> tuple[str, int, bool, int, int]:
            self._require_open()
            if not KEY.fullmatch(key):
                raise Refused.of(400, "jobs", "no Idempotency-Key", "1 to 128 visible characters",
                                 "send one for each job")
            row = self._model(who, model)
            size = Facts.read(row.facts).request_bytes
            bodies.require_length(request, size)
            if deadline is not None and not (math.isfinite(deadline) and 0 < deadline <= 30 * 86_400):
                raise Refused.of(400, "jobs", "that deadline", "seconds from now, of 30 days at most", "correct it")
            return row.digest, size, *self._jobs.preview(who.tenant, key, row.digest, bundle, size), self._blobs.room()

        who, (digest, size, known, room, free) = await self._for(request, admitted)
        with self._arriving.one(who.tenant, size, room, free) as wrote:
            with self._blobs.writer("inputs", who.tenant) as writer:
                def end() -> tuple[JobRequest, Any]:
                    """The request; or the job that its key has made before, if that has ended. Then the body is not
                    stored, because no quota would count it."""
                    asked = JobRequest(key, digest, bundle, writer.hash, size, final, deadline)
                    before = self._jobs.known(who.tenant, asked) if known else None
                    if before is not None and before.state not in ACTIVE:
                        return asked, before
                    self._inputs.commit(who.tenant, writer)
                    return asked, None

                asked, ended = await bodies.store(request, writer, self._disk, wrote, end)
            if ended is not None:
                return JSONResponse(of_job(ended), 200)
            job, new = await self._written(self._queued, who.tenant, asked)  # from here on its row counts it
        return JSONResponse(of_job(job), 202 if new else 200)

    async def jobs(self, request: Request) -> Response:
        _, rows = await self._for(request, lambda who: self._jobs.latest(who.tenant, who.models))
        return JSONResponse({"jobs": [of_job(row) for row in rows]})

    async def job(self, request: Request, job: str, wait: float = 0.0) -> Response:
        """``wait``: so many seconds the answer may wait for the end of the job."""
        def read(who: Identity) -> tuple[Any, float | None]:
            row = self._jobs.get(who.tenant, job, who.models)
            return row, self._jobs.seconds_before(row) if row.state == "queued" else None

        who, (row, before) = await self._for(request, read)
        if row.state in ACTIVE and _waited(wait):
            with self._polls.one(who.tenant):
                await self._waiting.for_end(job, _waited(wait))
            row, before = await self._read(read, who)
        return JSONResponse({**of_job(row), "starts_in": before})

    async def cancel(self, request: Request, job: str) -> Response:
        who, _ = await self._for(request, lambda _: None)
        return JSONResponse(of_job(await self._written(self._cancelled, who, job)))

    async def result(self, request: Request, job: str) -> Response:
        """The result's file, or the bytes that a header Range asks for."""
        def read(who: Identity) -> tuple[Any, bytes | None]:
            row = self._jobs.get(who.tenant, job, who.models)
            if row.state != "done":
                raise Refused.of(409, "jobs", f"a job that is {row.state}", "one that is done", "wait for it")
            if row.result is None or not self._blobs.has("results", who.tenant, row.result):
                raise Refused.of(410, "jobs", "a result that was taken away", "one that is kept", "send the job again")
            if row.result_size > _AT_ONCE or "range" in request.headers:
                return row, None
            try:
                return row, self._blobs.read("results", who.tenant, row.result)
            except Away:
                raise
            except errors.FileError as why:
                raise self._damaged(row.id) from why

        who, (row, data) = await self._for(request, read)
        if data is None:
            async with self._disk:
                if not await run_in_threadpool(self._sound, "results", who.tenant, row.result):
                    raise self._damaged(row.id)
        headers = {"ETag": f'"{row.result}"', "Accept-Ranges": "bytes"}
        if data is not None:
            return Response(data, media_type="application/octet-stream", headers=headers)
        return FileResponse(self._blobs.path("results", who.tenant, row.result),
                            media_type="application/octet-stream", headers=headers)

    # ---- helpers ----

    def _sound(self, area: str, owner: str, name: str) -> bool:
        """Whether a file has the bytes that its name states. It is read once, and again after each change: a client may
        ask for a result in many ranges."""
        path = self._blobs.path(area, owner, name)
        try:
            found = os.stat(path)
        except FileNotFoundError:
            return self._blobs.intact(area, owner, name)  # False; or Away if the whole folder is gone
        state = (found.st_ino, found.st_size, found.st_mtime_ns)
        with self._lock:
            if self._compared.get(path) == state:
                return True
        if not self._blobs.intact(area, owner, name):
            return False
        with self._lock:
            self._compared[path] = state
            while len(self._compared) > _COMPARED:
                self._compared.popitem(last=False)
        return True

    def _damaged(self, job: str) -> Refused:
        """The error for a tenant if a result differs from what its worker has stored."""
        self.metrics.damaged.inc()
        log("result.damaged", job=job)
        return Refused.of(500, "jobs", "a result whose bytes were changed on the disk of the service",
                          "those that were stored",
                          "tell its operator, or send the job again with another Idempotency-Key")

    async def _for(self, request: Request, read: Callable[[Identity], Found]) -> tuple[Identity, Found]:
        """Finds the sender of a request, and the result of ``read`` for them. All of it is read in one thread, from one
        state of the store."""
        kind, _, token = request.headers.get("authorization", "").partition(" ")

        def found() -> tuple[Identity, Found]:
            with self._store.read():
                who = self._tenants.identify(token) if kind.lower() == "bearer" else None
                if who is None:
                    raise Refused.of(401, "service", "no valid token", "Authorization: Bearer TOKEN",
                                     "ask the operator for a token")
                request.state.tenant = who.tenant
                self._rate.spend(who.token)
                return who, read(who)

        return await self._read(found)

    async def _read(self, call: Callable[..., Found], *arguments: Any) -> Found:
        """Calls a function that reads the store, in a thread."""
        async with self._readers:
            found: Found = await run_in_threadpool(call, *arguments)
        return found

    async def _written(self, call: Callable[..., Any], *arguments: Any) -> Any:
        """Calls a function that writes to the store, in a thread."""
        async with self._writers:
            return await run_in_threadpool(call, *arguments)

    def _queued(self, tenant: str, asked: JobRequest) -> tuple[Any, bool]:
        """`Jobs.submit`. The input's file is deleted where it is refused."""
        useless = False
        try:
            job, new = self._jobs.submit(tenant, asked)
            useless = job.state not in ACTIVE
            return job, new
        except Refused:
            useless = True
            raise
        finally:
            self._inputs.end(tenant, asked.input, useless)

    def _cancelled(self, who: Identity, id_: str) -> Any:
        """`Jobs.cancel`. The input's file is deleted, which would otherwise take room beside the quota until the next
        cleanup."""
        row = self._jobs.cancel(who.tenant, id_, who.models)
        if row.state == "cancelled":
            with suppress(OSError):  # the cleanup tries again
                self._inputs.drop(who.tenant, row.input)
        return row

    def _model(self, who: Identity, name: Any) -> Any:
        if not isinstance(name, str) or not who.may_use(name):
            raise not_found("models", "model")
        return self._registry.named(name)

    def _most_chunks(self, who: Identity) -> int:
        """The most chunks that a bundle may have, for any model that a token is for."""
        sizes = [Facts.read(row.facts).bundle_bytes for row in self._registry.active() if who.may_use(row.name)]
        return min(chunks_of(max(sizes, default=0)), MAX_CHUNKS)

    def _require_open(self) -> None:
        if self._draining():
            raise Refused.of(503, "service", "a service that is about to stop", "one that runs", "send it again",
                             retry_after=10.0)


async def _to_the_page() -> Response:
    """Sends a browser from /page, which somebody may type, to /page/."""
    return RedirectResponse("page/", 308)


def _waited(wait: float) -> float:
    """How many seconds a long poll waits: what was asked for, within 0 to `LONGEST_WAIT`."""
    return min(max(wait, 0.0), LONGEST_WAIT) if math.isfinite(wait) else 0.0
