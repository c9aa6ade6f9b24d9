"""What a client sends again: requests that a proxy could not hand on, and chunks that the service has lost."""

import http.server
import json
import os
import signal
import threading

import numpy as np
import pytest

import latticino as lt
from latticino.serve import http as links
from latticino.serve.http import Link
from running import Running, until

PRESET = "test-n10-boot-insecure"


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    folder = tmp_path_factory.mktemp("service")
    lt.save_program(folder / "score.lt", lambda a: a * a, lt.Context(PRESET, "cpu", threads=1), np.zeros(8))
    made = Running(folder, [f"score={folder}/score.lt"], "--rate", "1000")
    try:
        yield made
    finally:
        assert made.stop() == 0


@pytest.fixture
def proxy():
    """A proxy that answers with these statuses in turn, and then with the last one. Its address, the statuses, and how many
    requests came."""
    statuses, came = [], []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            came.append(self.path)
            status = statuses[min(len(came), len(statuses)) - 1]
            body = json.dumps({"models": []}).encode() if status == 200 else b"<html>Bad Gateway</html>"
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}", statuses, came
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.mark.parametrize("status", [502, 503, 504])
def test_a_proxy_whose_service_starts_again(proxy, monkeypatch, status):
    """nginx answers 502 while nothing listens behind it, and to all who wait at the moment when the front ends."""
    monkeypatch.setattr(links, "_back_off", lambda _: 0.01)
    url, statuses, came = proxy
    statuses += [status, status, 200]
    assert Link(url, "lt_x").json("GET", "/v1/models") == {"models": []} and len(came) == 3
    statuses[:] = [status]
    came.clear()
    with pytest.raises(lt.ServiceError) as why:
        Link(url, "lt_x").json("GET", "/v1/models")
    assert why.value.status == status and len(came) == links.TRIES


@pytest.mark.parametrize("status", [400, 404, 500, 501, 507])
def test_other_refusals_are_not_asked_again(proxy, status):
    url, statuses, came = proxy
    statuses.append(status)
    with pytest.raises(lt.ServiceError):
        Link(url, "lt_x").json("GET", "/v1/models")
    assert len(came) == 1


def test_a_chunk_that_the_disk_damages_before_its_check(running):
    """The bundle is then being uploaded once more. A client that only waited for its check asked for ever, hundreds of times
    per second."""
    service = lt.connect(running.url, running.tenant("a"))
    client = lt.keygen(service.context("cpu"))
    checker = until(lambda: running.pids("checker"), "a checker")[0]
    used = []
    os.kill(checker, signal.SIGSTOP)
    try:
        thread = threading.Thread(target=lambda: used.append(service.use(client)), daemon=True)
        thread.start()
        until(lambda: [row for row in service.bundles() if row["state"] == "uploaded"], "an upload")
        for path in (running.folder / "blobs" / "chunks").rglob("*"):
            if path.is_file() and path.name != ".lock":
                path.write_bytes(bytes(path.stat().st_size))
    finally:
        os.kill(checker, signal.SIGCONT)
    thread.join(60)
    assert used and [row["state"] for row in service.bundles()] == ["ready"]
    assert abs(used[0].run(np.full(8, 0.5)) - 0.25).max() < 2**-8
    assert running.log.read_text().count('"event": "bundle.damaged"') == 1


def test_a_service_that_loses_every_upload(running, monkeypatch):
    service = lt.connect(running.url, running.tenant("b"))
    monkeypatch.setattr(service, "_checked", lambda _: False)
    with pytest.raises(lt.ServiceError, match="lost chunks 3 times.*its disk may be damaged"):
        service.use(lt.keygen(service.context("cpu")))
