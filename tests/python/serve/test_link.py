"""The client's requests, against a server of the standard library: which are repeated, and which are refused before
they are sent."""

import http.server
import json
import os
import signal
import threading
import time
from types import SimpleNamespace

import pytest

import latticino as lt
from latticino.serve import client as client_of
from latticino.serve import http as link
from latticino.serve.client import Service
from latticino.serve.http import Link


class Answers(http.server.BaseHTTPRequestHandler):
    """Sends the answers of the server's list, one per request: (status, headers, body), or None to break the
    connection."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.server.seen.append((self.command, self.path, dict(self.headers)))
        self.server.peers.append(self.client_address)
        answer = self.server.answers.pop(0)
        if answer is None:
            self.close_connection = True
            return
        status, headers, body = answer
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    do_POST = do_PUT = do_DELETE = do_GET

    def log_message(self, *_):
        pass


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setattr(link.time, "sleep", lambda seconds: made.slept.append(seconds))
    made = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answers)
    made.answers, made.seen, made.peers, made.slept = [], [], [], []
    made.url = f"http://127.0.0.1:{made.server_port}"
    thread = threading.Thread(target=made.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield made
    made.shutdown()
    thread.join()
    made.server_close()


OK = (200, {}, b'{"a": 1}')


def test_a_request(server):
    server.answers = [OK, OK]
    made = Link(server.url + "/below/", "tok en")
    assert made.json("POST", "/v1/x", {"b": 2}, {"c": True, "d": None, "e": 1.5}) == {"a": 1}
    assert made.json("GET", "/v1/y") == {"a": 1}
    (method, path, headers), second = server.seen
    assert (method, path) == ("POST", "/below/v1/x?c=true&e=1.5") and headers["Authorization"] == "Bearer tok en"
    assert second[:2] == ("GET", "/below/v1/y")


@pytest.mark.parametrize("headers, end", [({}, b""), ({"Transfer-Encoding": "chunked"}, b"0\r\n\r\n")])
def test_a_response_that_is_too_long(server, headers, end):
    """It is refused whether it states its length or not, and is not requested again."""
    bodies = [b"x" * 100, b"x" * 101]
    if end:
        bodies = [b"%x\r\n%s\r\n%s" % (len(body), body, end) for body in bodies]
    server.answers = [(200, headers, bodies[0]), (200, headers, bodies[1]), OK]
    made = Link(server.url, "t")
    assert made.send("GET", "/a", most=100) == b"x" * 100
    with pytest.raises(lt.ServiceError, match="more than 100 bytes"):
        made.send("GET", "/b", most=100)
    assert made.json("GET", "/c") == {"a": 1} and len(server.seen) == 3


def test_a_length_that_is_too_long(server):
    """The client does not wait for its bytes."""
    server.answers = [(200, {"Content-Length": str(2**40)}, b"x"), (500, {"Content-Length": str(2**40)}, b"x")]
    made = Link(server.url, "t")
    for _ in range(2):
        with pytest.raises(lt.ServiceError, match="more than"):
            made.json("GET", "/a")


def test_a_fork(server):
    """A child has a connection of its own. On its parent's connection it could read the parent's answers."""
    server.answers = [OK, OK, OK]
    made = Link(server.url, "t")
    made.json("GET", "/parent")
    child = os.fork()
    if child == 0:
        try:
            os._exit(0 if made.json("GET", "/child") == {"a": 1} else 1)
        finally:
            os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    made.json("GET", "/parent")
    assert [path for _, path, _ in server.seen] == ["/parent", "/child", "/parent"]
    assert server.peers[0] == server.peers[2] != server.peers[1]


def test_what_is_sent_again(server):
    """A connection that breaks, and answers with Retry-After."""
    server.answers = [None, (429, {"Retry-After": "7"}, b"{}"), None, (503, {"Retry-After": "100"}, b"{}"), OK]
    assert Link(server.url, "t").json("GET", "/x") == {"a": 1}
    broken, full, again, away = server.slept
    assert len(server.seen) == 5 and 7 <= full <= 8.75 and 100 <= away <= 125
    assert 0.2 <= broken <= 0.4 and 0.4 <= again <= 0.8


def test_clients_that_were_refused_together_come_back_apart(server):
    """They come back at random times, and none before the time that the service has stated."""
    server.answers = [(429, {"Retry-After": "40"}, b"{}")] * 20 + [OK]
    assert Link(server.url, "t").json("GET", "/x") == {"a": 1}
    assert min(server.slept) >= 40 and max(server.slept) <= 50 and len(set(server.slept)) == 20


def test_an_answer_that_says_no_time(server):
    """A proxy's 503: the request is repeated at growing intervals, and not for ever."""
    refusal = json.dumps({"message": "jobs: had x"}).encode()
    for status in (429, 503):
        server.slept.clear()
        server.answers = [(status, {}, b"full")] * (link.TRIES - 1) + [OK]
        assert Link(server.url, "t").json("GET", "/x") == {"a": 1}
        assert all(0.1 * 2**i <= slept <= 0.2 * 2**i for i, slept in enumerate(server.slept, 1)) and len(server.slept) == 4
        server.answers = [(status, {}, refusal)] * link.TRIES + [OK]
        with pytest.raises(lt.ServiceError, match="jobs: had x") as why:
            Link(server.url, "t").json("GET", "/x")
        assert why.value.status == status and why.value.retry_after is None and server.answers == [OK]


def test_what_is_not_sent_again(server):
    refusal = json.dumps({"message": "jobs: had x", "missing": ["ab"]}).encode()
    for answer, status, pause in (((404, {}, refusal), 404, None), ((500, {"Retry-After": "1"}, refusal), 500, 1.0),
                                  ((429, {"Retry-After": "601"}, refusal), 429, 601.0)):
        server.answers = [answer]
        with pytest.raises(lt.ServiceError, match="jobs: had x") as why:
            Link(server.url, "t").json("GET", "/x")
        assert (why.value.status, why.value.retry_after, why.value.missing) == (status, pause, ("ab",))
    assert server.slept == []
    for body in (b"<html>", b"[]", b'{"message": 3, "missing": 4}', b"\xff"):
        server.answers = [(500, {}, body)]
        with pytest.raises(lt.ServiceError) as why:
            Link(server.url, "t").send("GET", "/x")
        assert why.value.status == 500
    server.answers = [(200, {}, b"<html>")]
    with pytest.raises(lt.ServiceError, match="no JSON"):
        Link(server.url, "t").json("GET", "/x")


def test_a_service_that_is_not_there(server):
    server.answers = [None] * link.TRIES
    with pytest.raises(lt.ServiceError, match="no answer of http://127.0.0.1"):
        Link(server.url, "t").send("GET", "/x")
    assert len(server.seen) == link.TRIES
    with pytest.raises(lt.ServiceError, match="ConnectionRefusedError"):
        Link("http://127.0.0.1:1", "t").send("GET", "/x")


@pytest.mark.parametrize("url, error", [
    ("http://example.org", lt.UnsupportedError), ("http://10.0.0.1:8000", lt.UnsupportedError), ("ftp://127.0.0.1", lt.ValueError),
    ("127.0.0.1:8000", lt.ValueError), ("https://", lt.ValueError), ("https://u:p@example.org", lt.ValueError),
    ("https://example.org/?a=b", lt.ValueError), ("http://127.0.0.1:x", lt.ValueError), ("http://[::1", lt.ValueError), (3, lt.ValueError)])
def test_addresses_that_are_refused(url, error):
    """A token is never sent in the clear to another machine."""
    with pytest.raises(error):
        Link(url, "t")


@pytest.mark.parametrize("url", ["http://127.0.0.1:1", "http://localhost", "http://[::1]:8000", "https://example.org", "https://10.0.0.1/x"])
def test_addresses_that_are_taken(url):
    assert Link(url, "t").url == url


@pytest.mark.parametrize("token", ["a\nb", "ä", 3])
def test_tokens_that_are_refused(token):
    with pytest.raises(lt.ValueError):
        lt.connect("https://example.org", token)


def test_the_model_is_named(server):
    names = [(200, {}, json.dumps({"models": [{"name": n, "digest": "0"} for n in found]}).encode()) for found in ([], ["a", "b"], ["a", "b"])]
    for answer, model, match in zip(names, (None, None, "c"), ("none that this token is for", "one of a, b", "the model 'c'")):
        server.answers = [answer]
        with pytest.raises(lt.ServiceError, match=match):
            lt.connect(server.url, "t", model)


def test_threads_have_connections_of_their_own(server):
    server.answers = [OK] * 40
    made, found = Link(server.url, "t"), []
    threads = [threading.Thread(target=lambda: found.extend(made.json("GET", "/x")["a"] for _ in range(10))) for _ in range(4)]
    start = time.monotonic()
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert found == [1] * 40 and time.monotonic() - start < 60


@pytest.mark.parametrize("url", ["https://b\xfccher..example", "https://" + "x" * 70 + ".example", "https://service.example/\xfc",
                                 "https://service.example/a b", "https://service.example/" + chr(0x2028)])
def test_addresses_that_no_request_can_name(url):
    """They are refused before anything is sent, and not by the HTTP module."""
    with pytest.raises(lt.ValueError, match="connect: had the .*address"):
        Link(url, "t")


def test_a_name_of_a_host_in_other_letters():
    assert Link("https://b\xfccher.example/a%20b", "t")._host == "xn--bcher-kva.example"


@pytest.mark.parametrize("key", ["", "a b", "a\nb", "\u043a\u043b\u044e\u0447", "x" * 129])
def test_keys_of_idempotency_that_no_header_holds(key):
    """An empty key does not mean that a random one is wanted."""
    with pytest.raises(lt.ValueError, match="submit: had key=.*1 to 128 visible characters"):
        lt.Remote(SimpleNamespace(_link=None), None, "b").send(b"", key=key)


def test_an_interrupt_leaves_no_half_of_an_answer(server, monkeypatch):
    """The next request has a connection of its own at once, and is sent once."""
    server.answers = [OK, OK]
    made, whole = Link(server.url, "t"), link._body

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(link, "_body", interrupted)
    with pytest.raises(KeyboardInterrupt):
        made.json("GET", "/a")
    monkeypatch.setattr(link, "_body", whole)
    assert made.json("GET", "/b") == {"a": 1} and server.slept == []
    assert [path for _, path, _ in server.seen] == ["/a", "/b"] and server.peers[0] != server.peers[1]


class Chunks:
    """A link on which every chunk waits for ``go``, and a bundle of many chunks."""

    def __init__(self, count, wrong=None):
        self.go, self.begun, self.sent, self.wrong = threading.Event(), 0, [], wrong
        self.manifest = SimpleNamespace(chunks=tuple(map(str, range(count))), sizes=lambda: {str(i): 3 for i in range(count)})

    def send(self, method, path, data, headers):
        self.begun += 1
        self.go.wait(60)
        if path.endswith(f"/{self.wrong}"):
            raise lt.ServiceError("service: had a chunk that is wrong", "service")
        self.sent.append((path.rpartition("/")[2], data))

    def upload(self, file):
        service = Service.__new__(Service)
        service._link = self
        service._upload(file, self.manifest, set(self.manifest.chunks))


@pytest.fixture
def many(tmp_path, monkeypatch):
    monkeypatch.setattr(client_of, "CHUNK", 3)
    path = tmp_path / "bundle"
    path.write_bytes(b"".join(b"%03d" % i for i in range(100)))
    with path.open("rb") as file:
        yield file


def test_an_interrupt_ends_an_upload(many):
    """It does not wait for what is queued, nor for what is being sent."""
    chunks = Chunks(100)
    threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        chunks.upload(many)
    assert time.monotonic() - start < 20 and not chunks.sent
    chunks.go.set()
    while len(chunks.sent) < min(chunks.begun, 4):
        time.sleep(0.01)
    time.sleep(0.2)
    assert chunks.begun <= 4, "no further chunk is begun"


def test_an_upload_sends_every_chunk_once_or_raises(many):
    chunks = Chunks(100)
    chunks.go.set()
    chunks.upload(many)
    assert sorted(chunks.sent) == sorted((str(i), b"%03d" % i) for i in range(100))
    faulty = Chunks(100, wrong=37)
    faulty.go.set()
    with pytest.raises(lt.ServiceError, match="chunk that is wrong"):
        faulty.upload(many)
    Chunks(0).upload(many)
