"""Every route, with names, hashes and ids that do not exist: the answer is 404, whatever the text is."""

import asyncio
import io
import json
import string
import time
import urllib.parse
from pathlib import Path

import documented
import pytest
import uvicorn
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from requests_of_http import Connection
from uvicorn.server import ServerState

import latticino as lt
from latticino.serve import traffic
from latticino.serve.front import Front, Settings
from latticino.serve.manifest import Manifest, chunks_of
from latticino.serve.requests import bodies

KEY = {"idempotency-key": "k" * 8}
# Each route with a name in it: the path, the query, the body.
ROUTES = [
    ("GET", "/v1/models/{}", {}, b""), ("GET", "/v1/models/{}/client", {}, b""),
    ("GET", "/v1/bundles/{}", {"model": "m"}, b""), ("POST", "/v1/bundles/{}/commit", {"model": "m"}, b""),
    ("DELETE", "/v1/bundles/{}", {"model": "m"}, b""), ("PUT", "/v1/chunks/{}", {}, b"chunk"),
    ("GET", "/v1/jobs/{}", {}, b""), ("GET", "/v1/jobs/{}", {"wait": "1"}, b""), ("GET", "/v1/jobs/{}/result", {}, b""),
    ("DELETE", "/v1/jobs/{}", {}, b"")]
QUERIES = [("GET", "/v1/bundles/" + "0" * 64, {"model": None}), ("POST", "/v1/bundles/" + "0" * 64 + "/commit", {"model": None}),
           ("DELETE", "/v1/bundles/" + "0" * 64, {"model": None}), ("POST", "/v1/jobs", {"model": None, "bundle": "0" * 64}),
           ("POST", "/v1/jobs", {"model": "m", "bundle": None})]

ALNUM = string.ascii_letters + string.digits
names = st.one_of(
    st.text(max_size=70), st.text("\0\x01\x7f\n/.%?#\ud7ff\ufffd'\";-", min_size=1, max_size=40),
    st.integers(-(2**200), 2**200).map(str), st.text("0123456789abcdef", min_size=31, max_size=65),
    st.builds(str.__add__, st.sampled_from(ALNUM), st.text(ALNUM + "._-", max_size=63)),
    st.integers(1, 60_000).map(lambda n: "x" * n), st.binary(min_size=1, max_size=20)).filter(lambda name: name not in ("m", b"m"))
given_names = settings(max_examples=60, deadline=None, derandomize=True,
                       suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture(scope="module", autouse=True)
def constants():
    """In its first draws hypothesis reads the constants of all modules that are loaded. On a busy machine this takes
    seconds, which would count as those of making names."""
    @settings(max_examples=100, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
    @given(st.text())
    def draws(_):
        pass

    draws()


@pytest.fixture
def front(rows):
    """The front over a store with a model and a tenant, and its token."""
    rows.ready()
    return Front(rows.store, rows.blobs, Settings(rate=1e9, burst=1e9), lambda: False).app(), rows.tenants.token("a")


def asked(front, method, path, query, body=b"", headers=None):
    """The status and the message of one request, as the server of HTTP hands it on. Bytes are percent-encoded as they
    are."""
    status, _, said = asyncio.run(sent(*front, method, path, query, body, headers))
    return status, said


async def sent(app, token, method, path, query, body=b"", headers=None):
    """Status, headers and message."""
    raw = path if isinstance(path, bytes) else path.encode()
    fields = {"authorization": f"Bearer {token}", "content-length": str(len(body)), **(headers or {})}
    scope = {"type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": method, "scheme": "http",
             "path": urllib.parse.unquote(raw.decode("ascii")), "raw_path": raw, "root_path": "",
             "query_string": urllib.parse.urlencode(query).encode(), "server": ("127.0.0.1", 1), "client": ("127.0.0.1", 2),
             "headers": [(k.encode(), v.encode()) for k, v in fields.items()]}
    bodies, found = [body], []

    async def receive():
        return {"type": "http.request", "body": bodies.pop()} if bodies else {"type": "http.disconnect"}

    async def send(message):
        found.append(message)

    await app(scope, receive, send)
    text = b"".join(m.get("body", b"") for m in found[1:])
    answer = {k.decode(): v.decode() for k, v in found[0]["headers"]}
    documented.require(app, method, scope["path"], found[0]["status"], answer, text)
    return found[0]["status"], answer, json.loads(text if text.startswith(b"{") else b"{}")


@pytest.mark.stores
@given_names
@given(name=names, route=st.sampled_from(ROUTES))
@example("\0", ROUTES[0])
@example("a\0", ROUTES[6])
@example("\ud7ff" * 64, ROUTES[5])
@example(b"\xff\xfe", ROUTES[2])
@example(str(2**63), ROUTES[6])
@example("9" * 5000, ROUTES[6])
def test_paths_with_names_that_nobody_made(front, name, route):
    method, path, query, body = route
    status, said = asked(front, method, path.format(urllib.parse.quote(name, safe="")), query, body, KEY)
    other = name == "" or (b"/" if isinstance(name, bytes) else "/") in name  # a path of another route, or of none
    assert status == 404 or (other and status == 405)
    assert other or "of this tenant" in said["message"]


@pytest.mark.stores
@given_names
@given(name=names, route=st.sampled_from(QUERIES))
@example("\0", QUERIES[3])
@example("\0" * 64, QUERIES[4])
@example(b"\xff", QUERIES[0])
def test_queries_with_names_that_nobody_made(front, name, route):
    method, path, query = route
    status, said = asked(front, method, path, {k: name if v is None else v for k, v in query.items()}, b"x" * 10, KEY)
    assert status == 404 and "of this tenant" in said["message"]


@pytest.mark.stores
@given_names
@given(name=st.one_of(names.filter(lambda n: isinstance(n, str)), st.text(st.characters(), max_size=10),
                      st.integers(-(2**200), 2**200), st.none(), st.lists(st.integers(), max_size=2), st.floats(),
                      st.dictionaries(st.text(max_size=2), st.none(), max_size=1)))
@example("\ud800")
@example("m\0")
@example(2**64)
def test_bodies_with_names_that_nobody_made(front, name):
    body = json.dumps({"model": name, "size": 1, "chunks": ["0" * 64]}).encode()
    status, said = asked(front, "POST", "/v1/bundles", {}, body)
    long = len(body) > bodies.JSON + bodies.PER_HASH * chunks_of(1 << 30)  # for a bundle of the model
    assert (status, ("bytes at most" if long else "no model of this tenant") in said["message"]) == (413 if long else 404, True)


@pytest.mark.stores
@given_names
@given(fields=st.fixed_dictionaries({}, optional={
    "size": st.one_of(st.integers(-(2**70), 2**70), st.floats(), st.text(max_size=3)),
    "chunks": st.one_of(st.lists(st.one_of(st.text(max_size=70), st.integers()), max_size=3), st.integers(), st.none())}))
@example({"size": 2**64, "chunks": ["0" * 64]})
@example({"size": 1, "chunks": ["\0" * 64]})
def test_manifests_that_are_none(front, fields):
    status, said = asked(front, "POST", "/v1/bundles", {}, json.dumps({"model": "m", **fields}).encode())
    assert status == 400 and "manifest: had" in said["message"]


def test_bodies_that_come_too_slowly(front, monkeypatch):
    """A client that sends a byte now and then holds no connection for hours."""
    monkeypatch.setattr("latticino.serve.requests.bodies.IDLE", 2.0)  # twenty pauses of the client
    app, token = front

    async def trickle():
        found, start = [], time.monotonic()

        async def receive():
            await asyncio.sleep(0.1)
            return {"type": "http.request", "body": b" ", "more_body": True}

        async def send(message):
            found.append(message)

        await app({"type": "http", "method": "POST", "path": "/v1/bundles", "raw_path": b"/v1/bundles", "query_string": b"",
                   "headers": [(b"authorization", f"Bearer {token}".encode()), (b"content-length", b"4096")], "scheme": "http",
                   "root_path": "", "http_version": "1.1", "asgi": {"version": "3.0"}, "server": None, "client": None},
                  receive, send)
        return found[0]["status"], time.monotonic() - start

    status, seconds = asyncio.run(trickle())
    assert status == 408 and 2.4 < seconds < 60


@pytest.mark.stores
def test_numbers_that_are_none(front):
    for number in ("nan", "inf", "-1", "1e999", "0", str(2**200)):
        at = {"model": "m", "bundle": "0" * 64, "deadline": number}
        assert asked(front, "POST", "/v1/jobs", at, b"x" * 10, KEY)[0] == 400
        assert asked(front, "GET", "/v1/jobs/" + "0" * 32, {"wait": number})[0] == 404
        assert asked(front, "GET", "/v1/bundles/" + "0" * 64, {"model": "m", "wait": number})[0] == 404
    for length in ("", "-1", "1e3", "9" * 40, "٣"):
        assert asked(front, "POST", "/v1/jobs", {"model": "m", "bundle": "0" * 64}, b"", {**KEY, "content-length": length})[0] == 411


def test_paths_that_no_route_has(front):
    for method, path, status in (("GET", "/v1/none", 404), ("GET", "/v1/models/", 404), ("PATCH", "/v1/jobs", 405), ("GET", "//", 404)):
        found, said = asked(front, method, path, {})
        assert found == status and "that no route has" in said["message"]


def test_a_tenant_holds_so_many_polls(rows):
    """One more is refused, another tenant's is not, and so is none that has nothing to wait for."""
    tenant, model, bundle = rows.ready()
    other = rows.tenant("b")
    rows.bundle(other, model)
    made = Front(rows.store, rows.blobs, Settings(rate=1e9, burst=1e9, polls=3), lambda: False)
    app = made.app()
    own, strange = ((app, rows.tenants.token(name)) for name in ("a", "b"))
    job, foreign = rows.submit(tenant, model, bundle), rows.submit(other, model, bundle)
    unchecked = rows.bundle(tenant, model, "unchecked", state="uploaded")

    async def all_of_them():
        waiting = [asyncio.create_task(sent(*own, "GET", f"/v1/jobs/{job}", {"wait": "20"})) for _ in range(3)]
        while made._polls._open[tenant] < 3:
            await asyncio.sleep(0.01)
        found = [await sent(*who, "GET", path, query) for who, path, query in (
            (own, f"/v1/jobs/{job}", {"wait": "20"}), (own, f"/v1/bundles/{unchecked}", {"model": "m", "wait": "20"}),
            (own, f"/v1/jobs/{job}", {}), (own, f"/v1/bundles/{bundle}", {"model": "m", "wait": "20"}),
            (strange, f"/v1/jobs/{foreign}", {"wait": "0.1"}))]
        rows.jobs.cancel(tenant, job)
        return found, await asyncio.gather(*waiting), await sent(*own, "GET", f"/v1/bundles/{unchecked}", {"model": "m", "wait": "0.3"})

    refused, waited, again = asyncio.run(all_of_them())
    assert [status for status, *_ in refused] == [429, 429, 200, 200, 200]
    assert all(headers["retry-after"] == "1" for _, headers, _ in refused[:2]) and "3 requests of this tenant that wait" in refused[0][2]["message"]
    assert [(status, said["state"]) for status, _, said in waited] == [(200, "cancelled")] * 3
    assert again[0] == 200 and again[2]["state"] == "uploaded"  # none stays open


def test_a_damaged_chunk_is_taken_again(rows):
    tenant, _, _ = rows.ready()
    data = b"chunk" * 100
    front = Front(rows.store, rows.blobs, Settings(), lambda: False).app(), rows.tenants.token("a")
    manifest = Manifest.of(io.BytesIO(data))
    assert asked(front, "POST", "/v1/bundles", {}, json.dumps({"model": "m", **json.loads(manifest.to_json())}).encode())[0] == 201
    name, statuses = manifest.chunks[0], []
    for damage in (b"", None, b"chunk" * 99 + b"chink", b""):
        if damage is None:
            Path(rows.blobs.path("chunks", tenant, name)).unlink()
        elif damage:
            Path(rows.blobs.path("chunks", tenant, name)).write_bytes(damage)
        statuses.append(asked(front, "PUT", f"/v1/chunks/{name}", {}, data)[0])
        assert rows.blobs.read("chunks", tenant, name) == data
    assert statuses == [201, 201, 201, 200]


def test_a_page_without_its_slash(rows, tmp_path):
    (tmp_path / "index.html").write_text("page")
    app = Front(rows.store, rows.blobs, Settings(page=str(tmp_path)), lambda: False).app()
    status, headers, _ = asyncio.run(sent(app, "", "GET", "/page", {}))
    assert (status, headers["location"]) == (308, "page/")
    assert asyncio.run(sent(app, "", "POST", "/page/", {}))[0] == 405
    status, headers, _ = asyncio.run(sent(app, "", "GET", "/page/none.html", {}))
    assert status == 404 and headers["x-content-type-options"] == "nosniff"


def test_commands_with_names_that_nobody_made(rows):
    """Commands of the operator refuse them. An argument of a command may hold bytes that are no text."""
    for name in ("\udc80", "none", "x" * 10_000, "9" * 400, "\0", ""):
        for call in (rows.tenants.token, rows.tenants.revoke, rows.tenants.add):
            if (call, name) not in ((rows.tenants.add, "none"),):
                with pytest.raises(lt.ValueError):
                    call(name)


@pytest.mark.parametrize("size", [1000, 300_000])
def test_a_damaged_result_is_not_sent(rows, size, monkeypatch, capsys):
    """Neither a short one, which is read with its row, nor a long one, which goes out in pieces. One bit is changed, and the
    length and the name stay."""
    tenant, model, bundle = rows.ready()
    made = Front(rows.store, rows.blobs, Settings(rate=1e9, burst=1e9), lambda: False)
    front, data = (made.app(), rows.tenants.token("a")), bytes(range(250)) * (size // 250)
    id_, name = rows.submit(tenant, model, bundle), rows.blobs.put("results", tenant, data)
    assert rows.jobs.finish(rows.jobs.claim([model]), name, len(data), 1.0)
    whole, part = {}, {"range": "bytes=10-19"}

    def asked_for(headers):
        return asked(front, "GET", f"/v1/jobs/{id_}/result", {}, b"", headers)

    looks, real = [], rows.blobs.intact
    monkeypatch.setattr(rows.blobs, "intact", lambda *names: (looks.append(names), real(*names))[1])
    assert asked_for(whole)[0] == 200 and [asked_for(part)[0] for _ in range(5)] == [206] * 5
    assert len(looks) == 1  # the file is not read again for each range of it
    path = Path(rows.blobs.path("results", tenant, name))
    path.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    for headers in (whole, part):
        status, said = asked_for(headers)
        assert status == 500 and "bytes were changed on the disk" in said["message"]
        assert "another Idempotency-Key" in said["message"]
    assert made.metrics.damaged._value.get() == 2
    assert sum("result.damaged" in line and id_ in line for line in capsys.readouterr().err.splitlines()) == 2
    # Because an operator may still restore the file.
    assert rows.job(id_).state == "done" and rows.job(id_).result == name
    path.write_bytes(data)
    assert asked_for(whole)[0] == 200 and asked_for(part)[0] == 206


class Strict(Connection):
    def write(self, data):
        assert not self.closed
        super().write(data)


@pytest.fixture
def protocol(monkeypatch):
    """A parser of HTTP, whose application answers at once, and at /slow after half a second: (loop, parser, connection)."""
    async def answers(scope, receive, send):
        await asyncio.sleep(0.5 if scope["path"] == "/slow" else 0)
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
        await send({"type": "http.response.body", "body": b"ok"})

    loop = asyncio.new_event_loop()
    config = uvicorn.Config(answers, log_config=None, access_log=False, lifespan="off", ws="none", timeout_keep_alive=1)
    config.load()
    made, connection = traffic.Protocol(config, ServerState(), {}, loop), Strict()
    monkeypatch.setattr(traffic, "SECONDS", 0.2)
    made.connection_made(connection)
    yield loop, made, connection
    made.connection_lost(None)
    loop.close()


def passes(loop, seconds):
    loop.run_until_complete(asyncio.sleep(seconds))


@pytest.mark.parametrize("begin, more", [(b"GET / HTTP/1.1\r\nX: ", b"a" * 1000), (b"GET / HTTP/1.1\r\n", b"X: 1\r\n" * 100),
                                         (b"GET /", b"a" * 1000), (b"", b"\r\n" * 500)])
def test_a_head_without_an_end(protocol, begin, more):
    """Whether it is a field, many, a path, or lines before it. A head of nearly as much is read."""
    _, made, connection = protocol
    made.data_received(begin)
    count = 0
    while not connection.closed and count < 2 * traffic.MAX_HEAD:
        made.data_received(more)
        count += len(more)
    assert connection.closed and connection.written.startswith(b"HTTP/1.1 431 ")
    assert traffic.MAX_HEAD - len(more) <= count <= traffic.MAX_HEAD + 2 * len(more)
    assert json.loads(connection.written.partition(b"\r\n\r\n")[2])["message"].startswith("service: had a head")


def test_long_heads_and_long_bodies_pass(protocol):
    loop, made, connection = protocol
    for i in range(3):
        made.data_received(b"POST / HTTP/1.1\r\nContent-Length: 300000\r\nX: " + b"a" * (traffic.MAX_HEAD - 100))
        made.data_received(b"\r\n\r\n")
        for _ in range(300):
            made.data_received(bytes(1000))
        loop.run_until_complete(asyncio.sleep(0))
        assert connection.written.count(b" 200 OK") == i + 1 and not connection.closed


def test_heads_that_share_a_read_pass(protocol):
    """What was read with the beginning of a head may be of the requests before it."""
    loop, made, connection = protocol
    request = b"GET / HTTP/1.1\r\n\r\n"
    count = traffic.READ // len(request) - 1
    for data in (request[:6], request[6:] + count * request + request[:6], b"HTTP/1.1\r\nX: ", b"y\r\n\r\n"):
        made.data_received(data)
    for _ in range(600):
        if connection.written.count(b" 200 OK") == count + 2:
            break
        passes(loop, 0.1)
    assert connection.written.count(b"HTTP/1.1 200 OK") == count + 2 and not connection.closed


@pytest.mark.parametrize("first", [b"", b"GET / HTTP/1.1\r\n\r\n"])
@pytest.mark.parametrize("begin", [b"GET / HT", b"GET / HTTP/1.1\r\nX: ", b"\r\n"])
def test_a_head_that_comes_too_slowly(protocol, first, begin):
    """Also after a request that was answered. Empty lines after it do not begin a head."""
    loop, made, connection = protocol
    made.data_received(first)
    passes(loop, 0.01)
    made.data_received(begin)
    passes(loop, 0.1)
    assert not connection.closed
    passes(loop, 0.4)
    said = connection.written.count(b" 200 OK"), connection.written.count(b" 408 ")
    assert connection.closed and said == (bool(first), not (first and begin == b"\r\n"))


@pytest.mark.parametrize("first", [b"", b"GET / HTTP/1.1\r\n\r\n"])
def test_a_connection_without_a_request_is_closed_in_silence(protocol, first):
    """After the time that a connection may be idle, whether it is new or not. It may be longer than that of a head."""
    loop, made, connection = protocol
    if first:
        made.data_received(first)
    passes(loop, 0.6)
    assert not connection.closed
    passes(loop, 0.8)
    assert connection.closed and connection.written.count(b"HTTP/1.1 ") == bool(first)


def test_the_rest_of_a_body_after_its_answer_keeps_no_connection_open(protocol):
    loop, made, connection = protocol
    made.data_received(b"POST / HTTP/1.1\r\nContent-Length: 1000\r\n\r\n")
    for _ in range(10):
        passes(loop, 0.05)
        if not connection.closed:
            made.data_received(b"x")
    assert connection.closed and connection.written.count(b"HTTP/1.1 ") == 1


@pytest.mark.parametrize("rest", [b"", b"TP/1.1\r\n\r\n"])
def test_a_head_behind_a_request_has_time_until_after_its_answer(protocol, rest):
    """A client may wait for the first answer before it sends more. That answer is not cut off."""
    loop, made, connection = protocol
    made.data_received(b"GET /slow HTTP/1.1\r\n\r\nGET / HT")
    passes(loop, 0.45)
    assert not connection.closed and not connection.written
    passes(loop, 0.1)
    made.data_received(rest)
    passes(loop, 0.4)
    assert connection.written.count(b" 200 OK") == 1 + bool(rest)
    assert connection.closed == (b" 408 " in connection.written) == (not rest)


def test_bodies_of_unknown_length_have_no_route(front):
    """After such a body more fields of a head may follow, and nothing limits these."""
    for method, path in (("GET", "/v1/models"), ("POST", "/v1/jobs"), ("GET", "/v2/health/live"), ("GET", "/none")):
        status, headers, said = asyncio.run(sent(*front, method, path, {}, b"", {"transfer-encoding": "chunked"}))
        assert status == 411 and headers["connection"] == "close" and "Content-Length" in said["message"]
