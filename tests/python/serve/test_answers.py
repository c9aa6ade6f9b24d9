"""How clients handle answers that no real service gives: each is a ServiceError, or a FileError for its content."""

import json
import tempfile

import numpy as np
import pytest

import latticino as lt
from latticino.serve.http import Link
from latticino.serve.manifest import Manifest

MODEL = {"name": "m", "digest": "d", "parameters": "p", "kind": "program"}
BUNDLE = {"model": "d", "hash": "a" * 64, "state": "ready", "key_id": "k"}
JOB = {"id": "1", "state": "done", "created": 0, "progress": 1.0, "error": None}
READY = b'{"state": "ready", "reason": null}'
STRANGE = [None, True, 0, 1.5, "x", [], [0], {}, {"state": 7}, {"missing": {}}, [{"id": None}], {"bundles": [3]},
           {"models": 5}, {"models": [[]]}, {"jobs": {"a": 1}}, {"models": [{"name": "m"}]}]
TEXTS = [json.dumps(x).encode() for x in STRANGE] + [b"", b"{", b"\xff", b"[" * 100_000, b"<html>"]


@pytest.fixture(scope="module")
def part(tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "program"
    lt.save_program(path, lambda a: a * 2, lt.Context("test-n10-leveled-insecure", "cpu"), lt.Shape((4,)))
    return lt.load_program(path).client_bytes()


@pytest.fixture
def service(part, monkeypatch):
    """A service with answers that the test chooses by the end of the path; all other answers are right."""
    answers = {}

    def send(self, method, path, *rest, **more):
        right = {"models": json.dumps({"models": [MODEL]}).encode(), "client": part, "bundles": json.dumps(
            {"missing": []} if method == "POST" else {"bundles": [BUNDLE]}).encode(), "result": b"x"}
        name = path.rpartition("/")[2]
        return answers.get(name, right.get(name, json.dumps(JOB | {"reason": None}).encode()))

    monkeypatch.setattr(Link, "send", send)
    return answers


@pytest.mark.slow
@pytest.mark.parametrize("name", ["models", "client", "bundles", "jobs"])
def test_strange_answers_are_errors_of_the_service(service, name):
    for text in TEXTS:
        service[name] = text
        with pytest.raises((lt.ServiceError, lt.FileError)):
            connection = lt.connect("https://service", "token")
            connection.bundles()
            connection.jobs()


def test_strange_rows_of_bundles_and_jobs_are_errors_of_the_service(service):
    connection = lt.connect("https://service", "token")
    client = lt.keygen(connection.context())
    keys = connection.part.keys(client)
    with tempfile.TemporaryFile() as file:
        lt.save_server_keys(file, keys._context, keys)
        file.seek(0)
        bundle = Manifest.of(file).hash
    service[bundle] = READY
    remote = connection.use(client, keys)
    for text in TEXTS:
        service["jobs"] = text
        with pytest.raises(lt.ServiceError):
            remote.submit(np.ones(4))
        with pytest.raises(lt.ServiceError):
            connection.cancel("jobs")
        service.pop("jobs")
        service["bundles"] = text
        with pytest.raises(lt.ServiceError):
            connection.push(keys)
        service.pop("bundles")
        service[bundle] = text
        with pytest.raises(lt.ServiceError):
            connection.push(keys)
        service[bundle] = READY
    job = remote.submit(np.ones(4))
    assert job.state == "done" and job.progress == 1
    with pytest.raises(lt.FileError):
        job.result()
    service["1"] = b"[]"
    with pytest.raises(lt.ServiceError):
        job.look()
