"""What requests leave behind: files that no quota counts, rows of jobs that have ended, uploads that hinder others."""

import asyncio
import hashlib
import sqlite3

import pytest
import uvicorn
from prometheus_client import generate_latest
from test_arriving import Sender
from test_routes import asked
from uvicorn.server import ServerState
from world import hash_of

from latticino.serve import traffic
from latticino.serve.front import Front, Settings
from latticino.serve.manifest import CHUNK, Manifest
from latticino.serve.metrics import Metrics
from latticino.serve.store import Store
from latticino.serve.tables import jobs, models, workers

# ---- files ----


def test_a_cancelled_job_leaves_no_input(rows):
    """A tenant who sends jobs and cancels them would fill the disk: nothing counts these files, and the cleanup comes minutes
    later. An input that another job has stays."""
    sender = Sender(rows)
    front = sender.app, sender.token
    query, key = {"model": "m", "bundle": sender.bundle}, {}

    def submit(name, body):
        key["idempotency-key"] = name
        return asked(front, "POST", "/v1/jobs", query, body, key)[1]["id"]

    one, other, same = submit("a", b"x" * 10), submit("b", b"y" * 10), submit("c", b"x" * 10)
    assert len(sender.files("inputs")) == 2
    for id_, left in ((one, 2), (one, 2), (other, 1), (same, 0)):
        assert asked(front, "DELETE", f"/v1/jobs/{id_}", {})[1]["state"] == "cancelled"
        assert len(sender.files("inputs")) == left
    assert not sender.made._inputs._of and not sender.made._inputs._going


def test_a_deleted_bundle_leaves_no_chunks(rows):
    """The same for chunks, of which a tenant has 8 MiB with each request. A chunk of another bundle stays."""
    sender = Sender(rows)
    tenant, model = sender.tenant, sender.model
    made = []
    for names in (("one", "same"), ("same",)):
        hashes = [hashlib.sha256(name.encode()).hexdigest() for name in names]
        manifest = Manifest(CHUNK * (len(names) - 1) + 4, tuple(hashes))
        rows.bundles.announce(tenant, model, manifest)
        for name in names:
            rows.bundles.stored(tenant, rows.blobs.put("chunks", tenant, name.encode()))
        made.append(manifest.hash)
    assert len(sender.files("chunks")) == 2
    for bundle, left in zip(made, (1, 0)):
        assert asked((sender.app, sender.token), "DELETE", f"/v1/bundles/{bundle}", {"model": "m"})[0] == 204
        assert len(sender.files("chunks")) == left


def test_bundles_of_models_that_are_served_no_longer_can_be_deleted(rows):
    """They count in the quota. Earlier the tenant could not delete them: their model's name stood for the new version, or
    for nothing."""
    tenant, token = rows.tenant("a"), rows.tenants.token("a")
    only = rows.tenants.token("a", ["gone"])
    old, gone, new = rows.model("old", active=False), rows.model("gone", active=False), rows.model("m")
    with rows.store.write() as c:
        c.execute(models.update().where(models.c.digest == old).values(name="m"))  # an earlier version
    app = Front(rows.store, rows.blobs, Settings(), lambda: False).app()

    def deleted(bundle, model, token=token):
        return asked((app, token), "DELETE", f"/v1/bundles/{bundle}", {"model": model})[0]

    bundle, *_ = [rows.bundle(tenant, model, "b") for model in (old, gone, new)]
    for wrong in ("x", "m\0", "0" * 64, ""):
        assert deleted(bundle, wrong) == 404
    assert deleted(bundle, "m", only) == deleted(bundle, new, only) == 404
    assert deleted("0" * 64, "m") == deleted("b", "m") == 404
    assert [row.model for row in rows.bundles.of(tenant)].count(old) == 1
    assert deleted(bundle, "m") == 204  # both versions
    assert [row.model for row in rows.bundles.of(tenant)] == [gone]
    assert deleted(bundle, "gone", only) == 204 and rows.bundles.of(tenant) == []
    rows.bundle(tenant, old, "b")
    assert deleted(bundle, old) == 204 and deleted(bundle, old) == 404


# ---- rows ----


def ended(rows, tenant, model, bundle, count, now):
    """Adds rows of jobs that were cancelled."""
    common = {"tenant": tenant, "model": model, "bundle": bundle, "input_size": 10, "final": True, "state": "cancelled",
              "result_size": 124, "seconds": 1.0, "start_tag": 0.0, "finished": now, "attempts": 0, "progress": 0.0,
              "cancel": False}
    with rows.store.write() as c:
        c.execute(jobs.insert(), [{**common, "id": f"{i:032x}", "idempotency": f"old{i}", "input": hash_of(i),
                                   "created": now - count + i} for i in range(count)])


def test_no_request_reads_all_jobs_that_have_ended(rows, clock):
    """Their rows stay for a week. With half a million of them, each new job of their tenant held the lock of all writers for
    0.3 s, and a cleanup, of which there is one every 2 s, for 0.5 s. The steps of SQLite's machine are counted."""
    tenant, model, bundle = rows.ready()
    count = [0]

    def stepped():
        count[0] += 1

    def steps(call):
        for connections in rows.store._idle.values():
            for c in connections:
                c.raw.set_progress_handler(stepped, 100)
        count[0] = 0
        call()
        return count[0]

    calls = [lambda: rows.jobs.preview(tenant, "new", model, bundle, 10), lambda: rows.submit(tenant, model, bundle),
             rows.jobs.sweep, lambda: rows.jobs.latest(tenant), rows.tenants.all, lambda: rows.jobs.blobs("results")]
    for call in calls:
        call()  # opens the connections
    ended(rows, tenant, model, bundle, 300, clock.now)
    before = [steps(call) for call in calls]
    clock.now += 10
    ended_more = 20_000
    with rows.store.write() as c:
        c.execute(jobs.delete().where(jobs.c.state == "cancelled"))
    ended(rows, tenant, model, bundle, ended_more, clock.now)
    after = [steps(call) for call in calls]
    assert all(more <= 2 * few + 10 for few, more in zip(before, after)), (before, after)
    assert max(after) < ended_more / 100  # less than a step for each row


def test_a_store_of_an_earlier_release_gets_the_indexes(tmp_path):
    url = f"sqlite:///{tmp_path}/s.sqlite"
    Store(url).close()
    with sqlite3.connect(tmp_path / "s.sqlite") as c:
        names = {name for name, in c.execute("SELECT name FROM sqlite_master WHERE type = 'index' AND name LIKE 'jobs_%'")}
        assert len(names) == 6
        for name in names:
            c.execute(f"DROP INDEX {name}")
    Store(url).close()
    with sqlite3.connect(tmp_path / "s.sqlite") as c:
        assert {name for name, in c.execute("SELECT name FROM sqlite_master WHERE type = 'index' AND name LIKE 'jobs_%'")} == names


# ---- uploads ----


@pytest.mark.stores
def test_tenants_take_turns_at_checks(rows):
    """A tenant who uploads many bundles, each of a few bytes, held up the keys of all others: a check takes about a second."""
    model = rows.model()
    hostile, hospital, other = (rows.tenant(name) for name in ("hostile", "hospital", "other"))
    for i in range(20):
        rows.bundle(hostile, model, f"h{i}", state="uploaded")
    rows.bundle(hospital, model, "own", state="uploaded")
    rows.bundle(other, model, "a", state="uploaded")
    rows.bundle(other, model, "b", state="uploaded")
    order = [rows.bundles.claim().tenant for _ in range(23)]
    assert set(order[:3]) == {hostile, hospital, other} and other in order[3:5]
    assert order.count(hostile) == 20 and rows.bundles.claim() is None
    rows.bundle(hostile, model, "h20", state="uploaded")
    rows.bundle(hospital, model, "next", state="uploaded")
    assert rows.bundles.claim().tenant == hospital  # whose last check is longer ago


# ---- connections ----


def test_a_client_that_does_not_read_its_answer(monkeypatch):
    """Otherwise it would keep its connection, and the file of its result, open for ever. A client that reads slowly gets
    the whole result."""
    monkeypatch.setattr(traffic, "UNREAD", 0.5)
    size = 30 << 20

    async def answers(scope, receive, send):
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", str(size).encode())]})
        for _ in range(size >> 16):
            await send({"type": "http.response.body", "body": bytes(1 << 16), "more_body": True})
        await send({"type": "http.response.body", "body": b""})

    async def both():
        loop, state = asyncio.get_running_loop(), ServerState()
        config = uvicorn.Config(answers, log_config=None, access_log=False, lifespan="off", ws="none", timeout_keep_alive=75)
        config.load()
        server = await loop.create_server(lambda: traffic.Protocol(config, state, {}, loop), "127.0.0.1", 0)
        at = server.sockets[0].getsockname()
        unread, slow = await asyncio.open_connection(*at, limit=1), await asyncio.open_connection(*at)
        for _, writer in (unread, slow):
            writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        read, begin = 0, loop.time()
        while read < size:
            read += len(await asyncio.wait_for(slow[0].read(1 << 20), 10))
            await asyncio.sleep(0.05)
        seconds = loop.time() - begin
        for _ in range(100):
            if len(state.connections) == 1:  # the client that reads
                break
            await asyncio.sleep(0.05)
        left = len(state.connections)
        for _, writer in (unread, slow):
            writer.close()
        server.close()
        return left, seconds

    left, seconds = asyncio.run(both())
    assert left == 1 and seconds > traffic.UNREAD


# ---- metrics ----


def test_workers_of_a_time_that_has_not_come(rows, clock):
    """After a clock was set back, workers that have ended counted as alive until it had caught up."""
    rows.alive(2, clock.now)
    metrics = Metrics(rows.store)
    clock.now -= 1000
    assert b"latticino_workers 0.0" in generate_latest(metrics.registry)
    rows.jobs.sweep()
    with rows.store.read() as c:
        assert len(c.execute(workers.select()).all()) == 2  # they may report again
    clock.now -= 3600
    rows.jobs.sweep()
    with rows.store.read() as c:
        assert not c.execute(workers.select()).all()
