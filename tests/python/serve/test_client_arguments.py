"""Wrong arguments of the client of a service: an error says what to change, and nothing is sent."""

import json
from types import SimpleNamespace

import numpy as np
import pytest

import latticino as lt
from latticino.serve.client import Job, Remote, Service

ROW = {"id": "1", "state": "queued", "created": 0.0, "progress": 0.0, "error": None}


class Link:
    """Notes what is sent, and answers with a job that waits."""

    def __init__(self):
        self.sent = []

    def send(self, *words, **more):
        self.sent.append(words)
        return json.dumps(ROW).encode()

    def json(self, *words, **more):
        return json.loads(self.send(*words))

    def parsed(self, text):
        return json.loads(text)

    def row(self, found, kinds):
        return found


@pytest.fixture
def link():
    return Link()


@pytest.fixture
def remote(link):
    return Remote(SimpleNamespace(_link=link, name="m", part=SimpleNamespace(decrypt=None)), SimpleNamespace(key_id="k"), "0" * 64)


@pytest.mark.parametrize("timeout", ["5", [1], float("nan"), float("inf"), 1j])
def test_times_that_are_none(remote, link, timeout):
    """A wait for nan seconds asked the service again and again without a pause."""
    job = Job(remote, dict(ROW))
    for call in (job.wait, job.data, job.result):
        with pytest.raises(lt.ValueError, match="wait: had timeout=.*a real number"):
            call(timeout)
    with pytest.raises(lt.ValueError, match="look: had wait="):
        job.look(timeout)
    with pytest.raises(lt.ValueError, match="submit: had deadline="):
        remote.send(b"", deadline=timeout)
    assert link.sent == []
    assert job.look(np.float32(0.5)).state == "queued" and len(link.sent) == 1


def test_deadlines_that_have_passed(remote, link):
    for deadline in (0, -1.0):
        with pytest.raises(lt.ValueError, match="more than 0"):
            remote.send(b"", deadline=deadline)
    assert link.sent == []


@pytest.mark.parametrize("data", ["files", None, 5, [b"x"], np.zeros(3)])
def test_bodies_that_are_no_bytes(remote, link, data):
    with pytest.raises(lt.UnsupportedError, match=r"send: had \w+ as the files of the inputs; needs bytes"):
        remote.send(data)
    assert link.sent == []
    assert remote.send(memoryview(b"x")).id == "1"


@pytest.mark.parametrize("final", ["no", None, 2, 0.0])
def test_flags_that_are_none(remote, link, final):
    with pytest.raises(lt.ValueError, match="submit: had final="):
        remote.send(b"", final=final)
    assert link.sent == []


@pytest.mark.parametrize("scheme", ["ckks", "tfhe"])
def test_keys_of_another_client(tmp_path, scheme):
    """They are refused before anything is uploaded. Those in a file are refused when the service has read whose they are."""
    if scheme == "ckks":
        context = lt.Context("test-n10-leveled-insecure", "cpu", threads=1)
        own, other = lt.keygen(context), lt.keygen(context)
        keys = other.server_keys()
    else:
        context = lt.tfhe.Context("test-tfhe-gates-insecure", "cpu", threads=1)
        own, other = lt.keygen(context), lt.keygen(context)
        keys = other.server_keys()
    pushed, service = [], Service.__new__(Service)
    service.push = lambda found: pushed.append(found) or "hash"
    service.bundles = lambda: [{"hash": "older", "key_id": own.key_id}, {"hash": "hash", "key_id": other.key_id}]
    with pytest.raises(lt.KeyError, match=f"keys of the client {other.key_id}; needs those of this client, {own.key_id}"):
        service.use(own, keys)
    assert pushed == []
    with pytest.raises(lt.KeyError, match="use: had keys of the client"):
        service.use(own, tmp_path / "file")
    assert service.use(other, keys).bundle == service.use(other, "file").bundle == "hash"
