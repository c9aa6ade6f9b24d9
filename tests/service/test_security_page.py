"""The statements of docs/security.md about a service: each row of its two tables has a check here."""

import errno
import hashlib
import http.client
import json
import os
import re
import socket
import subprocess
import sys
import urllib.parse
import uuid
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
import sqlalchemy as sa
from test_confined import ANYWAY, seen_from_outside, tried
from test_mistakes import checked_by
from test_routes import KEY, asked
from world import hash_of

import latticino as lt
from latticino import cli
from latticino.serve import confined, traffic
from latticino.serve.front import Front, Settings
from latticino.serve.http import Link
from latticino.serve.jobs import ATTEMPTS, LEASE
from latticino.serve.manifest import CHUNK, Manifest
from latticino.serve.models import Facts
from latticino.serve.store import Store
from latticino.serve.tables import jobs, models, tokens
from latticino.serve.tenants import hashed
from running import Running, until

PAGE = (Path(__file__).resolve().parents[2] / "docs/security.md").read_text()
RATE = 0.71875  # a number that is not encrypted, which the requests contain
CHECKS = {}


def rows_below(head):
    """The rows of a table by their first cells: the other cells."""
    lines = PAGE.partition(head + "\n")[2].partition("\n\n")[0].splitlines()[1:]
    return {cells[0]: cells[1:] for cells in ([cell.strip() for cell in line.strip("|").split("|")] for line in lines)}


ROLES, THREATS = rows_below("| role | has | can | cannot |"), rows_below("| threat | answer |")


def check(row):
    """The check of the row that begins with this text."""
    def named(function):
        name, = (name for name in (*ROLES, *THREATS) if name == row or (" " in row and name.startswith(row)))
        CHECKS.setdefault(name, []).append(function)
        return function

    return named


class Tenant:
    def __init__(self, running, name):
        self.name, self.token = name, running.tenant(name)
        self.link = Link(running.url, self.token)
        service = lt.connect(running.url, self.token, "score")
        self.client = lt.keygen(service.context("cpu"))
        keys = service.part.keys(self.client)
        self.bundle, self.remote = lt.to_bytes(keys), service.use(self.client, keys)
        self.body = service.part.encrypt(self.client, [np.ones(8) / 2], {"rate": RATE})
        self.job = self.remote.send(self.body)
        self.result = self.job.data(600)
        self.chunk = hashlib.sha256(self.bundle[:CHUNK]).hexdigest()


class World:
    """A service with two models, a page and two tenants, who have keys, a job and its result there."""

    def __init__(self, folder):
        context = lt.Context("test-n10-leveled-insecure", "cpu", threads=1)
        lt.save_program(folder / "score.lt", lambda x, rate: x * x * rate, context, lt.Shape((8,)), rate=lt.Scalar(0, 1))
        lt.save_program(folder / "other.lt", lambda x: x + 1.0, context, lt.Shape((8,)))
        (folder / "page").mkdir()
        (folder / "page" / "index.html").write_text("<p>page</p>")
        self.running = Running(folder / "service", [f"score={folder}/score.lt", f"other={folder}/other.lt"], "--rate", "1000",
                               "--page", str(folder / "page"))
        self.folder, self.url = folder, self.running.url
        try:
            self.a, self.b = (Tenant(self.running, name) for name in ("hospital-a", "hospital-b"))
            self.api = json.loads(self.raw("GET", "/openapi.json")[2])["paths"]
        except BaseException:
            self.running.stop()
            raise

    def raw(self, method, path, body=b"", headers=None, token=None, length=None):
        """Status, headers and body of an answer to bytes that no honest client sends. Without ``body`` nothing follows
        the head, whatever its length says."""
        connection = http.client.HTTPConnection(urllib.parse.urlsplit(self.url).netloc, timeout=60)
        connection.putrequest(method, path)
        fields = {"Content-Length": len(body) if length is None else length, "Idempotency-Key": uuid.uuid4().hex, **(headers or {})}
        for name, value in {**fields, **({"Authorization": f"Bearer {token}"} if token else {})}.items():
            connection.putheader(name, str(value))
        connection.endheaders(body or None)
        answer = connection.getresponse()
        found = answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read()
        connection.close()
        return found

    def requests(self, owner, **names):
        """(method, path, body) of each route of tenants, with the objects of an owner or other ``names``."""
        names = {"name": "score", "bundle": owner.remote.bundle, "chunk": owner.chunk, "job": owner.job.id, **names}
        for path, methods in self.api.items():
            for method in methods if path.startswith("/v1/") else ():
                at = path.format(**names) + ("?model=score&bundle={bundle}" if path == "/v1/jobs" and method == "post" else
                                             "?model=score" if "{bundle}" in path else "").format(**names)
                body = {"/v1/jobs": owner.body, "/v1/chunks/{chunk}": owner.bundle[:CHUNK],
                        "/v1/bundles": b'{"model": "score", "size": 1, "chunks": ["%s"]}' % hash_of("x").encode()}.get(path, b"")
                yield path, method.upper(), at, body if method in ("post", "put") else b""

    def stored(self):
        """All files that the service has, without the log."""
        return {path: path.read_bytes() for path in self.running.folder.rglob("*") if path.is_file() and path.name not in ("log", "out")}

    def store(self):
        return Store(f"sqlite:///{self.running.folder}/service.sqlite")


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    made = World(tmp_path_factory.mktemp("world"))
    try:
        yield made
    finally:
        assert made.running.stop() == 0


class Here:
    """What a check may use: the service, and rows of a store of its own with a clock."""

    def __init__(self, world, rows, clock, tmp_path, monkeypatch, capsys):
        self.world, self.rows, self.clock, self.tmp_path = world, rows, clock, tmp_path
        self.monkeypatch, self.capsys = monkeypatch, capsys

    def folder(self, name):
        (self.tmp_path / name).mkdir()
        return self.tmp_path / name


@pytest.fixture
def here(world, rows, clock, tmp_path, monkeypatch, capsys):
    return Here(world, rows, clock, tmp_path, monkeypatch, capsys)


# ---- threats ----


@check("a tenant asks for another one's bundle")
def _(here):
    """Each route with a name of an object in it. Status and text are those for a name that nobody made."""
    w, nobody = here.world, {"bundle": hash_of("none"), "chunk": hash_of("none"), "job": "0" * 32}
    tried = 0
    for (path, method, at, body), (_, _, none, _) in zip(w.requests(w.a), w.requests(w.a, **nobody)):
        if "{name}" in path or not ("{" in path or (path, method) == ("/v1/jobs", "POST")):
            continue
        status, _, said = w.raw(method, at, body, token=w.b.token)
        assert (status, said) == w.raw(method, none, body, token=w.b.token)[::2] and status == 404, at
        assert method == "DELETE" or w.raw(method, at, body, token=w.a.token)[0] in (200, 201, 202), at
        tried += 1
    assert tried == 8
    for path in ("/v1/bundles", "/v1/jobs"):
        said = w.raw("GET", path, token=w.b.token)[2].decode()
        assert w.b.remote.bundle in said and w.a.remote.bundle not in said and w.a.job.id not in said


@check("a ciphertext names another tenant's key id")
def _(here):
    w = here.world
    with pytest.raises(lt.ServiceError, match=r"failed \(KeyError.*an object under key"):
        w.b.remote.send(w.a.body).data(600)


@check("a tenant finds out what another one has stored")
def _(here):
    """The same manifest: its owner lacks nothing, another tenant all of it."""
    w = here.world
    fields = {"model": "score", "size": len(w.a.bundle), "chunks": [w.a.chunk]}
    assert len(w.a.bundle) <= CHUNK and w.a.link.json("POST", "/v1/bundles", fields)["missing"] == []
    found = w.b.link.json("POST", "/v1/bundles", fields)
    assert found["missing"] == [w.a.chunk] and found["state"] == "uploading"
    w.b.link.send("DELETE", f"/v1/bundles/{found['hash']}", query={"model": "score"})
    assert len(list((w.running.folder / "blobs" / "chunks").glob("*/*/*"))) == 2


@check("hostile, huge or cut files")
def _(here):
    """Refusals come before a byte of the body was sent. A body of the right length is read where the row says."""
    w, size = here.world, len(here.world.a.body)
    at = f"/v1/jobs?model=score&bundle={w.a.remote.bundle}"
    for length, status in ((size - 1, 400), (size + 1, 413), (10**14, 413)):
        assert w.raw("POST", at, token=w.a.token, length=length)[0] == status
    chunk = f"/v1/chunks/{w.a.chunk}"
    assert w.raw("PUT", chunk, token=w.a.token, length=len(w.a.bundle) + 1)[0] == 413
    huge = {"model": "score", "size": w.a.remote.service.facts["bundle_bytes"] + 1, "chunks": [hash_of("x")]}
    with pytest.raises(lt.ServiceError) as why:
        w.a.link.json("POST", "/v1/bundles", huge)
    assert why.value.status in (400, 413)
    with pytest.raises(lt.ServiceError, match=r"failed \(FileError"):
        w.a.remote.send(w.a.body[:50] + bytes(size - 50)).data(600)
    (here.tmp_path / "cut").write_bytes(w.a.bundle[:-1])
    with pytest.raises(lt.ServiceError, match="load"):
        w.a.remote.service.push(here.tmp_path / "cut")
    assert '"verdict": "refused"' in w.running.log.read_text()
    assert w.b.remote.send(w.b.body).data(600) == w.b.result


@check("a worker that a file kills")
def _(here):
    rows = here.rows
    tenant, model, bundle = rows.ready()
    bad, good = rows.submit(tenant, model, bundle), rows.submit(tenant, model, bundle)
    for _ in range(3):
        assert rows.jobs.claim([model]).id == bad
        here.clock.now += LEASE + 1
        rows.jobs.sweep()
    assert ATTEMPTS == 3 and rows.job(bad).state == "poisoned" and "died 3 times" in rows.job(bad).error
    assert rows.jobs.claim([model]).id == good


@check("a request that is recorded and sent again")
def _(here):
    w, key = here.world, {"Idempotency-Key": "recorded"}
    at = f"/v1/jobs?model=score&bundle={w.a.remote.bundle}"
    first = json.loads(w.raw("POST", at, w.a.body, key, w.a.token)[2])["id"]
    until(lambda: w.a.link.json("GET", f"/v1/jobs/{first}")["state"] == "done", "the job's end")
    count = len(w.a.link.json("GET", "/v1/jobs")["jobs"])
    inputs = w.running.folder / "blobs" / "inputs"
    for path in inputs.glob("*/*/*"):  # as the cleanup does
        path.unlink()
    status, _, said = w.raw("POST", at, w.a.body, key, w.a.token)
    assert (status, json.loads(said)["id"]) == (200, first) and len(w.a.link.json("GET", "/v1/jobs")["jobs"]) == count
    for last in range(1, 6):  # other bytes under the recorded key
        assert w.raw("POST", at, w.a.body[:-1] + bytes([last]), key, w.a.token)[0] == 409
    assert list(inputs.glob("*/*/*")) == [] == list((inputs.parent / "tmp").iterdir())
    token, store = w.running.command("tenants", "token", "hospital-a"), w.store()
    assert w.raw("GET", "/v1/jobs", token=token)[0] == 200
    with store.write() as c:
        c.execute(tokens.update().where(tokens.c.hash == hashed(token)).values(expires=store.now(c) - 1))
    store.close()
    assert w.raw("POST", at, w.a.body, key, token)[0] == 401
    rows = here.rows
    tenant, model, bundle = rows.ready()
    front = Front(rows.store, rows.blobs, Settings(), lambda: False).app(), rows.tenants.token("a")
    for status in (202, 410):  # before and after the state of its job is deleted
        assert asked(front, "POST", "/v1/jobs", {"model": "m", "bundle": bundle}, b"x" * 10, KEY)[0] == status
        rows.jobs.cancel(tenant, rows.jobs.latest(tenant)[0].id) if status == 202 else None
        here.clock.now += rows.jobs.limits.keep_rows + 1
        rows.jobs.sweep()
    assert rows.jobs.claim([model]) is None


@check("somebody who fills the queue or the disk")
def _(here):
    rows = here.rows
    model = rows.model(seconds=10.0)
    with rows.store.read() as c:
        result = Facts.read(c.execute(sa.select(models.c.facts)).scalar()).result_bytes
    own = [(rows.tenant(name, **quota), name) for name, quota in (
        ("jobs", {"jobs": 1}), ("seconds", {"seconds": 15.0}), ("bytes", {"bytes": 2 * (10 + result) - 1}), ("free", {}))]
    front = Front(rows.store, rows.blobs, Settings(rate=1e9, burst=1e9), lambda: False).app()

    def sends(name, token, key):
        return asked((front, token), "POST", "/v1/jobs", {"model": "m", "bundle": hash_of(name)}, b"x" * 10,
                     {"idempotency-key": key})

    for tenant, name in own:
        rows.bundle(tenant, model, name)
        token = rows.tenants.token(name)
        found = [sends(name, token, f"key{i}") for i in range(3)]
        if name == "free":
            assert [status for status, _ in found] == [202] * 3
            rows.blobs.reserve = 1 << 60
            status, said = sends(name, token, "more")
            assert status == 507 and "room on the disk" in said["message"]
        else:
            assert [status for status, _ in found] == [202, *[413 if name == "bytes" else 429] * 2], found
    order = [rows.jobs.claim([model]).tenant for _ in range(6)]
    assert order[-2:] == [own[-1][0]] * 2 and set(order[:4]) == {tenant for tenant, _ in own}


@check("tenants' code")
def _(here):
    """No route takes a model. A model that is sent in place of keys is refused."""
    w = here.world
    takes = {(path, method) for path, methods in w.api.items() for method, found in methods.items() if "requestBody" in found}
    assert takes == {("/v1/bundles", "post"), ("/v1/chunks/{chunk}", "put"), ("/v1/jobs", "post")}
    with pytest.raises(lt.ServiceError, match="load"):
        w.a.remote.service.push(w.folder / "score.lt")
    assert {row["name"] for row in w.a.link.json("GET", "/v1/models")["models"]} == {"score", "other"}


@check("foreign code in the page")
def _(here):
    w = here.world
    headers = w.raw("GET", "/page/")[1]
    policy = dict(rule.split(" ", 1) for rule in headers["content-security-policy"].split("; "))
    assert policy["default-src"] == "'none'" and policy["script-src"] == "'self' 'wasm-unsafe-eval'"
    foreign = {"Origin": "https://elsewhere.example", "Access-Control-Request-Method": "GET",
               "Access-Control-Request-Headers": "authorization"}
    for path in ("/v1/jobs", "/v1/models", "/metrics", "/page/"):
        assert w.raw("OPTIONS", path, headers=foreign)[0] == 405
        for method in ("OPTIONS", "GET"):
            assert not [name for name in w.raw(method, path, headers=foreign, token=w.a.token)[1] if "access-control" in name]


# ---- roles ----


@check("tenant")
def _(here):
    """A tenant may state any key id, but it computes with its own keys, and its jobs wait for their turn."""
    w, rows = here.world, here.rows
    assert w.a.client.key_id in {row["key_id"] for row in w.a.link.json("GET", "/v1/bundles")["bundles"]}
    assert checked_by("""printf %s '{"id": "any", "bytes": 1}'""", here.folder("x"), here.monkeypatch)().key_id == "any"
    here.monkeypatch.undo()
    assert w.raw("POST", f"/v1/jobs?model=score&bundle={w.b.remote.bundle}", w.a.body, token=w.a.token)[0] == 404
    a, b, model, bundle = rows.two()
    for _ in range(50):
        rows.submit(a, model, bundle)
    rows.submit(b, model, bundle)
    assert b in [rows.jobs.claim([model]).tenant for _ in range(2)]


@check("somebody with a tenant's token")
def _(here):
    w = here.world
    victim, thief = Tenant(w.running, "victim"), lt.keygen(w.a.client.context)
    token = w.running.command("tenants", "token", "victim", "--models", "score")
    link = Link(w.url, token)
    job, = link.json("GET", "/v1/jobs")["jobs"]
    result = link.send("GET", f"/v1/jobs/{job['id']}/result")
    assert result == victim.result
    with pytest.raises(lt.KeyError):
        w.a.remote.service.part.decrypt(thief, result)
    assert w.raw("GET", "/v1/models/other", token=token)[0] == 404 and w.raw("GET", "/v1/models/score", token=token)[0] == 200
    unfit = w.running.command("tenants", "token", "victim", "--models", "other")
    assert Link(w.url, unfit).json("GET", "/v1/jobs") == {"jobs": []} and Link(w.url, unfit).json("GET", "/v1/bundles") == {"bundles": []}
    for method, path in (("GET", ""), ("GET", "/result"), ("DELETE", "")):
        assert w.raw(method, f"/v1/jobs/{job['id']}{path}", token=unfit)[0] == 404
    for model in ("score", "other"):
        assert w.raw("DELETE", f"/v1/bundles/{victim.remote.bundle}?model={model}", token=unfit)[0] == 404
    for path in (f"/v1/jobs/{job['id']}", f"/v1/bundles/{victim.remote.bundle}?model=score"):
        assert w.raw("DELETE", path, token=token)[0] in (200, 204)
    assert w.raw("GET", f"/v1/jobs/{job['id']}/result", token=victim.token)[0] == 410
    w.running.command("tenants", "revoke", "victim")
    assert {w.raw("GET", "/v1/jobs", token=each)[0] for each in (token, victim.token)} == {401}


@check("stranger, who")
def _(here):
    """Every route of tenants, without a token, with a token that nobody made, and with words that are none."""
    w = here.world
    opened = {path for path in w.api if not path.startswith("/v1/")}
    assert opened == {"/v2/health/live", "/v2/health/ready", "/metrics"}
    for path in (*opened, "/openapi.json", "/page/"):
        assert w.raw("GET", path)[0] == 200
    for _, method, at, body in w.requests(w.a):
        for headers in ({}, {"Authorization": "Bearer lt_" + "x" * 43}, {"Authorization": f"Basic {w.a.token}"},
                        {"Authorization": "Bearer \xff" + "y" * 5000}):
            status, found, _ = w.raw(method, at, body, headers)
            assert status == 401 and found["www-authenticate"] == "Bearer", (method, at)
    assert w.a.job.look().state == "done" and w.a.job.data() == w.a.result


@check("stranger, who")
def _(here):
    """An endless head is refused, whether it is one field, many fields or a path. So is a body of unknown length."""
    w = here.world
    where = urllib.parse.urlsplit(w.url)
    for begin, more in ((b"GET / HTTP/1.1\r\nX: ", b"a" * 1000), (b"GET / HTTP/1.1\r\n", b"X: 1\r\n" * 1000), (b"GET /", b"a" * 1000)):
        sent, said = 0, b""
        with socket.create_connection((where.hostname, where.port)) as c:
            c.settimeout(60)
            with suppress(OSError):
                c.sendall(begin)
                while sent < 100 * traffic.MAX_HEAD:
                    c.sendall(more)
                    sent += len(more)
            with suppress(OSError):  # the kernel may drop the answer, because more was sent after it
                said = c.recv(1 << 16)
        assert sent < 100 * traffic.MAX_HEAD and (said == b"" or said.startswith(b"HTTP/1.1 431 ")), (begin, sent)
    assert f"more than {(traffic.READ + traffic.MAX_HEAD) >> 10} KiB" in PAGE and f"more than {traffic.SECONDS:g} s" in PAGE
    with socket.create_connection((where.hostname, where.port)) as c:
        c.settimeout(60)
        c.sendall(b"GET /v2/health/live HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX: y\r\n")
        assert c.recv(1 << 16).startswith(b"HTTP/1.1 411 ")
    assert all(json.loads(line) for line in w.running.log.read_text().splitlines())
    with socket.create_connection((where.hostname, where.port)) as c:
        c.sendall(b"\x16\x03\x01no HTTP\r\n\r\n")
        assert b" 400 " in c.recv(1 << 16)
    until(lambda: "package.warning" in w.running.log.read_text(), "a line of the log")
    assert all(json.loads(line) for line in w.running.log.read_text().splitlines())


@check("network")
def _(here):
    w = here.world
    assert w.url.startswith("http://127.0.0.1:")
    assert cli.main(["serve", f"score={w.folder}/score.lt", "--host", "0.0.0.0", "--folder", str(here.tmp_path / "s")]) == 1
    assert "--plain-http" in here.capsys.readouterr().err
    for url in ("http://192.0.2.1:8000", "http://service.example"):
        with pytest.raises(lt.UnsupportedError, match="anybody can read the token"):
            lt.connect(url, w.a.token)


@check("front")
def _(here):
    """Garbage of the right length is accepted by the front, and others find it. The front serves clients even if the
    models' files are missing."""
    w = here.world
    body, data = bytes(len(w.a.body)), b"no keys at all"
    job = json.loads(w.raw("POST", f"/v1/jobs?model=score&bundle={w.a.remote.bundle}", body, token=w.a.token)[2])
    assert job["state"] == "queued" and job["error"] is None
    manifest = Manifest(len(data), (hashlib.sha256(data).hexdigest(),))
    assert w.a.link.json("POST", "/v1/bundles", {"model": "other", **json.loads(manifest.to_json())})["state"] == "uploading"
    assert w.raw("PUT", f"/v1/chunks/{manifest.chunks[0]}", data, token=w.a.token)[0] == 201
    assert w.raw("POST", f"/v1/bundles/{manifest.hash}/commit?model=other", token=w.a.token)[0] == 202
    until(lambda: w.a.link.json("GET", f"/v1/jobs/{job['id']}")["state"] == "failed", "the worker's verdict")
    until(lambda: w.a.link.json("GET", f"/v1/bundles/{manifest.hash}", query={"model": "other"})["state"] == "refused",
          "the checker's verdict")


@check("checker")
def _(here):
    check = checked_by(f"""env > {here.tmp_path}/known; printf %s '{{"id": "own words", "bytes": 1}}'""", here.folder("x"),
                       here.monkeypatch)
    here.monkeypatch.setenv("LATTICINO_STORE", "postgresql+psycopg://service:password@db/service")
    here.monkeypatch.setenv("LATTICINO_TOKEN", "lt_secret")
    row = check()
    assert (row.state, row.key_id) == ("ready", "own words")
    known = (here.tmp_path / "known").read_text()
    assert "PATH=" in known and "password" not in known and "lt_secret" not in known
    here.monkeypatch.undo()
    found, free = tried("confined"), tried("free")
    assert set(found.values()) == {errno.EPERM} and errno.EPERM not in {free[name] for name in free if name not in ANYWAY}
    user = confined.NOBODY if os.geteuid() == 0 else os.getuid()
    assert seen_from_outside()["Uid"].split() == [str(user)] * 4 and f"user {confined.NOBODY}" in PAGE


@check("worker")
def _(here):
    """It gets no token, and the numbers of a run are not encrypted in the request."""
    w = here.world
    for pid in w.running.pids("worker"):
        known = [Path(f"/proc/{pid}/cmdline")]
        if os.geteuid() == 0:
            known.append(Path(f"/proc/{pid}/environ"))
        else:  # not readable for the user of the worker
            with pytest.raises(PermissionError):
                Path(f"/proc/{pid}/environ").read_bytes()
        assert not [path for path in known for tenant in (w.a, w.b) if tenant.token.encode() in path.read_bytes()]
    assert np.frombuffer(w.a.body[-16:], "<f8").tolist() == [RATE, 0.0]


@check("operator")
def _(here):
    """The tables say whose jobs there are, of which size and time. No command and no table shows a token again."""
    w, store = here.world, here.world.store()
    with store.read() as c:
        row = c.execute(sa.select(jobs).where(jobs.c.id == w.a.job.id)).one()
    store.close()
    assert row.input_size == len(w.a.body) and row.created > 1e9 and row.model and row.tenant
    said = w.running.command("tenants", "list")
    assert "hospital-a" in said and w.a.token not in said
    again = w.running.command("tenants", "token", "hospital-a")
    assert again != w.a.token and w.raw("GET", f"/v1/jobs/{w.a.job.id}", token=again)[0] == 200
    told = w.running.log.read_text() + w.raw("GET", "/metrics")[2].decode()
    for word in (w.a.token, w.b.token, "hospital-a", "hospital-b", w.a.client.key_id, w.a.remote.bundle):
        assert word not in told


@check("thief of the store and the blobs")
def _(here):
    w = here.world
    lt.save_secret_key(here.tmp_path / "secret", w.a.client)
    secret, files = (here.tmp_path / "secret").read_bytes(), w.stored()
    everything = b"".join(files.values())
    assert hashed(w.a.token).encode() in everything and w.a.bundle in everything and w.a.result in everything
    for word in (w.a.token.encode(), w.b.token.encode(), secret[:8], secret[-200:-100]):
        assert word not in everything
    assert len(set(secret[-200:-100])) > 1  # no row of zeros


# ---- the tables themselves, and other sentences of the page ----


@pytest.mark.parametrize("name", sorted(CHECKS))
def test_each_row(name, here):
    for each in CHECKS[name]:
        each(here)


def test_no_row_is_left_out():
    assert len(ROLES) >= 9 and len(THREATS) >= 9 and set(CHECKS) == {*ROLES, *THREATS}
    assert all(len(cells) == 3 and all(cells) for cells in ROLES.values()) and all(len(c) == 1 for c in THREATS.values())


def test_the_service_uses_no_dask():
    """Its workers take data from tenants, but no code."""
    assert "service does not use Dask" in re.sub(r"\s+", " ", PAGE)
    code = ("import pkgutil, importlib, sys, latticino.serve as s\n"
            "for m in pkgutil.iter_modules(s.__path__): importlib.import_module('latticino.serve.' + m.name)\n"
            "print([n for n in ('dask', 'distributed', 'cloudpickle') if n in sys.modules])")
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "[]"
    with pytest.raises(lt.UnsupportedError):
        lt.cluster.Dask("tcp://192.0.2.1:8786")


def test_lost_and_damaged_models_are_told(rows):
    """A model's part for clients is compared with its name before it is sent."""
    rows.ready()
    made = Front(rows.store, rows.blobs, Settings(rate=1e9, burst=1e9), lambda: False)
    front = made.app(), rows.tenants.token("a")
    path = Path(rows.blobs.path("models", "operator", hash_of("client")))
    assert asked(front, "GET", "/v1/models/m/client", {}, b"", KEY)[0] == 500
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"client?")
    status, said = asked(front, "GET", "/v1/models/m/client", {}, b"", KEY)
    assert status == 500 and "lost or changed on the disk" in said["message"]
    path.write_bytes(b"client")
    assert asked(front, "GET", "/v1/models/m/client", {}, b"", KEY)[0] == 200
