"""Bodies that are being received count against the quota and the disk, and a refused one leaves no file."""

import asyncio
import hashlib
import threading
import urllib.parse

import pytest
from test_routes import asked
from world import hash_of

from latticino.serve import front as fronts
from latticino.serve.front import Front, Settings
from latticino.serve.manifest import Manifest
from latticino.serve.refusals import Refused
from latticino.serve.requests.arriving import Flight, Inputs

RESULT = 124  # the most bytes of a result of the model in `Rows`, whose inputs have 10


class Sender:
    """The front, and tenants who keep their requests open before the last byte."""

    def __init__(self, rows, **quota):
        self.rows, self.quota = rows, quota
        self.tenant, self.model, self.bundle = rows.ready(**quota)
        self.made = Front(rows.store, rows.blobs, Settings(rate=1e9, burst=1e9), lambda: False)
        self.app, self.token = self.made.app(), rows.tenants.token("a")
        self.last = asyncio.Event()  # held until this is set

    async def post(self, key, body=b"x" * 10, token=None, leaves=False):
        return await self.send("POST", "/v1/jobs", {"model": "m", "bundle": self.bundle}, body, token, leaves, key)

    async def send(self, method, path, query, body, token=None, leaves=False, key="k"):
        """The status of one request. ``leaves``: the client closes its connection in place of the last byte."""
        fields = {"authorization": f"Bearer {token or self.token}", "content-length": str(len(body)), "idempotency-key": key}
        scope = {"type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": method, "scheme": "http", "path": path,
                 "raw_path": path.encode(), "root_path": "", "query_string": urllib.parse.urlencode(query).encode(),
                 "server": ("127.0.0.1", 1), "client": ("127.0.0.1", 2), "headers": [(k.encode(), v.encode()) for k, v in fields.items()]}
        pieces, found = [body[-1:], body[:-1]], []

        async def receive():
            if len(pieces) == 1:
                await self.last.wait()
                if leaves:
                    return {"type": "http.disconnect"}
            return {"type": "http.request", "body": pieces.pop(), "more_body": bool(pieces)} if pieces else {"type": "http.disconnect"}

        async def send(message):
            found.append(message)

        await self.app(scope, receive, send)
        return found[0]["status"]

    async def held(self, *requests):
        """The statuses of requests that are open together, and how many of them had an answer before their last byte."""
        tasks = [asyncio.create_task(each) for each in requests]
        for _ in range(20):  # turns of the loop, until nothing changes
            await asyncio.sleep(0.02)
        early = sum(task.done() for task in tasks)
        on_disk = len(self.files("tmp"))
        self.last.set()
        statuses = await asyncio.gather(*tasks)
        assert not self.made._arriving._of and not self.made._arriving._unwritten and not self.made._inputs._of
        return statuses, early, on_disk

    def files(self, area):
        return [path for path in (self.rows.blobs.folder / area).rglob("*") if path.is_file() and path.name != ".lock"]


def test_bodies_that_are_held_open_fill_no_more_than_the_quota(rows):
    """Thirty requests of a tenant who has room for five inputs, and may have one job. Another tenant is not concerned."""
    sender = Sender(rows, jobs=1, bytes=50 + RESULT)
    other = rows.tenant("b")
    rows.bundle(other, sender.model)
    strange = rows.tenants.token("b")

    async def all_of_them():
        sender.last = asyncio.Event()
        return await sender.held(*(sender.post(f"k{i}", b"%010d" % i) for i in range(30)), sender.post("k", token=strange))

    statuses, early, on_disk = asyncio.run(all_of_them())
    most = (50 + RESULT) // 10
    assert early == 30 - most and on_disk == most + 1
    assert sorted(statuses[:30]) == [202] + [429] * 29 and statuses[30] == 202
    assert len(sender.files("inputs")) == 2 and sender.files("tmp") == []  # the files of the two jobs
    assert {path.name for path in sender.files("inputs")} == {row.input for t in (sender.tenant, other) for row in rows.jobs.latest(t)}


def test_what_has_arrived_is_not_on_its_way(rows):
    """One request after the other is accepted as far as the quota allows, and each refusal states the reason."""
    sender = Sender(rows, bytes=2 * (10 + RESULT))
    front = sender.app, sender.token
    at = {"model": "m", "bundle": sender.bundle}
    found = [asked(front, "POST", "/v1/jobs", at, b"x" * 10, {"idempotency-key": f"k{i}"})[0] for i in range(3)]
    assert found == [202, 202, 413]
    # A repeated request stores nothing new, and is accepted although the quota is full.
    assert asked(front, "POST", "/v1/jobs", at, b"x" * 10, {"idempotency-key": "k1"})[0] == 200


def test_repeated_requests_count_as_well(rows):
    """Their bodies are on the disk like others, until it is clear that they are not new."""
    sender = Sender(rows, bytes=40 + 10 + RESULT)

    async def all_of_them():
        sender.last = asyncio.Event()
        sender.last.set()
        assert await sender.post("k") == 202
        sender.last.clear()
        return await sender.held(*(sender.post("k") for _ in range(20)))

    statuses, early, on_disk = asyncio.run(all_of_them())
    assert (early, on_disk) == (16, 4) and sorted(statuses) == [200] * 4 + [429] * 16
    assert len(sender.files("inputs")) == 1


def test_a_client_that_leaves_takes_its_bytes_away(rows):
    sender = Sender(rows, bytes=10 + RESULT)

    async def twice():
        sender.last = asyncio.Event()
        tasks = [asyncio.create_task(sender.post(f"k{i}", leaves=True)) for i in range(13)]
        await asyncio.sleep(0.3)
        assert not any(task.done() for task in tasks) and len(sender.files("tmp")) == 13
        sender.last.set()
        await asyncio.gather(*tasks)
        return await sender.post("again")

    assert asyncio.run(twice()) == 202 and sender.files("tmp") == []


@pytest.mark.parametrize("room, passed", [(35, 3), (9, 0)])
def test_the_disk_keeps_its_reserve(rows, monkeypatch, room, passed):
    """The limit is for all tenants together. Each alone would stay below it."""
    sender = Sender(rows)
    monkeypatch.setattr(rows.blobs, "room", lambda: room)
    tokens = [sender.token]
    for i in range(5):
        rows.bundle(rows.tenant(f"t{i}"), sender.model)
        tokens.append(rows.tenants.token(f"t{i}"))

    async def all_of_them():
        sender.last = asyncio.Event()
        return await sender.held(*(sender.post("k", token=token) for token in tokens))

    statuses, early, on_disk = asyncio.run(all_of_them())
    assert sorted(statuses) == [202] * passed + [507] * (6 - passed) and (early, on_disk) == (6 - passed, passed)


def test_bytes_that_are_written_are_the_disks(rows):
    """They have left its room already, and are not counted twice."""
    flight = Flight()
    with flight.one("a", 100, 1000, 100) as wrote:
        wrote(60)
        with pytest.raises(Refused), flight.one("b", 61, 1000, 100):
            pass
        with flight.one("b", 60, 1000, 100):
            pass
    assert flight._unwritten == 0 and not flight._of


def test_a_chunk_is_on_its_way_once(rows, monkeypatch):
    """Its manifest has reserved its bytes already. It is refused if the disk has no room, although it was announced."""
    sender = Sender(rows)
    data = b"chunk" * 10
    name = hashlib.sha256(data).hexdigest()
    rows.bundles.announce(sender.tenant, sender.model, Manifest(len(data), (name,)))

    async def all_of_them():
        sender.last = asyncio.Event()
        monkeypatch.setattr(rows.blobs, "room", lambda: len(data) - 1)
        assert await sender.send("PUT", f"/v1/chunks/{name}", {}, data) == 507
        monkeypatch.undo()
        return await sender.held(*(sender.send("PUT", f"/v1/chunks/{name}", {}, data) for _ in range(5)))

    statuses, early, on_disk = asyncio.run(all_of_them())
    assert sorted(statuses) == [201] + [429] * 4 and (early, on_disk) == (4, 1) and len(sender.files("chunks")) == 1


def test_a_chunk_whose_bundle_went_meanwhile(rows):
    """No quota counts it any more, so it is not stored."""
    sender = Sender(rows)
    manifest = Manifest(5, (hashlib.sha256(b"other").hexdigest(),))
    rows.bundles.announce(sender.tenant, sender.model, manifest)

    async def all_of_them():
        sender.last = asyncio.Event()
        task = asyncio.create_task(sender.send("PUT", f"/v1/chunks/{manifest.chunks[0]}", {}, b"other"))
        await asyncio.sleep(0.3)
        rows.bundles.delete(sender.tenant, sender.model, manifest.hash)
        sender.last.set()
        return await task

    assert asyncio.run(all_of_them()) == 404 and sender.files("chunks") == []


def test_manifests_in_memory(rows, monkeypatch):
    sender = Sender(rows)
    body = b'{"model": "m", "size": 5, "chunks": ["%s"]}' % hash_of("c").encode()
    monkeypatch.setattr(fronts, "MANIFESTS", 3 * len(body))

    async def all_of_them():
        sender.last = asyncio.Event()
        return await sender.held(*(sender.send("POST", "/v1/bundles", {}, body) for _ in range(8)))

    statuses, early, _ = asyncio.run(all_of_them())
    assert sorted(statuses) == [201] * 3 + [429] * 5 and early == 5 and not sender.made._manifests._of


@pytest.mark.stores
def test_equal_inputs_of_a_job_and_of_a_request_that_is_refused(rows):
    """The file of the job stays, in whatever order they end."""
    sender = Sender(rows, jobs=1)

    async def two():
        sender.last = asyncio.Event()
        return await sender.held(*(sender.post(key) for key in ("one", "two")))

    assert sorted(asyncio.run(two())[0]) == [202, 429]
    row, = rows.jobs.latest(sender.tenant)
    assert rows.blobs.read("inputs", sender.tenant, row.input) == b"x" * 10
    rows.jobs.cancel(sender.tenant, row.id)
    assert not rows.jobs.needs_input(sender.tenant, row.input)


class Committed:
    """A writer of `Inputs`."""

    def __init__(self, blobs, tenant, data):
        self.blobs, self.tenant, self.data, self.hash = blobs, tenant, data, hashlib.sha256(data).hexdigest()

    def commit(self):
        self.blobs.put("inputs", self.tenant, self.data)


def test_a_refused_request_leaves_the_file_of_one_whose_row_is_about_to_come(rows):
    tenant = rows.tenant("a")
    inputs, writer = Inputs(rows.blobs, lambda *_: False), Committed(rows.blobs, tenant, b"x")
    for _ in range(2):
        inputs.commit(tenant, writer)
    inputs.end(tenant, writer.hash, useless=True)
    assert rows.blobs.has("inputs", tenant, writer.hash)
    inputs.end(tenant, writer.hash, useless=False)
    assert rows.blobs.has("inputs", tenant, writer.hash)
    inputs.commit(tenant, writer)
    inputs.end(tenant, writer.hash, useless=True)
    assert not rows.blobs.has("inputs", tenant, writer.hash)


def test_an_equal_file_that_comes_while_another_goes(rows):
    """It waits until the other one is gone, and exists afterwards."""
    tenant, looks, go_on = rows.tenant("a"), threading.Event(), threading.Event()

    def needed(*_):
        looks.set()
        assert go_on.wait(20)
        return False

    inputs, writer = Inputs(rows.blobs, needed), Committed(rows.blobs, tenant, b"x")
    inputs.commit(tenant, writer)
    ends = threading.Thread(target=inputs.end, args=(tenant, writer.hash, True))
    comes = threading.Thread(target=inputs.commit, args=(tenant, writer))
    ends.start()
    assert looks.wait(20)
    comes.start()
    comes.join(0.2)
    assert comes.is_alive()
    others = [Committed(rows.blobs, other, b"x") for other in ("b", "c")]  # tenants whose requests must not wait
    for other in others:
        passes = threading.Thread(target=inputs.commit, args=(other.tenant, other), daemon=True)
        passes.start()
        passes.join(20)
        assert not passes.is_alive() and rows.blobs.has("inputs", other.tenant, other.hash)
    inputs.end("b", others[0].hash, useless=False)
    go_on.set()
    ends.join(20), comes.join(20)
    assert rows.blobs.has("inputs", tenant, writer.hash)


def test_a_store_that_is_away_while_a_file_goes_keeps_nobody_waiting(rows):
    tenant = rows.tenant("a")

    def away(*_):
        raise OSError("away")

    inputs, writer = Inputs(rows.blobs, away), Committed(rows.blobs, tenant, b"x")
    inputs.commit(tenant, writer)
    with pytest.raises(OSError, match="away"):
        inputs.end(tenant, writer.hash, useless=True)
    again = threading.Thread(target=inputs.commit, args=(tenant, writer), daemon=True)
    again.start()
    again.join(20)
    assert not again.is_alive() and rows.blobs.has("inputs", tenant, writer.hash)
