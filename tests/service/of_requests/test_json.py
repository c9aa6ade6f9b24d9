"""Bodies of JSON: limits of their length, and that none of them delays the requests of others."""

import asyncio
import json
import threading
import time

import pytest
from test_jobs import refused
from test_routes import asked, sent
from world import hash_of

from latticino.serve.front import Front, Settings
from latticino.serve.manifest import CHUNK, MAX_CHUNKS
from latticino.serve.requests import bodies

LONGEST = bodies.JSON + bodies.PER_HASH * MAX_CHUNKS


def made(rows, *models):
    """The front, and a token of a tenant for the first of these models alone."""
    for name, chunks in models:
        rows.model(name, bundle_bytes=chunks * CHUNK)
    rows.tenant("a")
    return Front(rows.store, rows.blobs, Settings(rate=1e9, burst=1e9), lambda: False).app(), rows.tenants.token("a", [models[0][0]])


def manifest(chunks, model="m", **options):
    fields = {"model": model, "size": chunks * CHUNK, "chunks": [hash_of(i) for i in range(chunks)]}
    return json.dumps(fields, **options).encode()


def padded(body, size):
    return body + b" " * (size - len(body))


@pytest.mark.parametrize("chunks", [1, 300])
def test_a_manifest_has_the_length_that_its_models_need(rows, chunks):
    """A longer one is refused before it is read, even if a model that the token is not for has larger bundles."""
    front = made(rows, ("m", chunks), ("n", 2000))
    most = bodies.JSON + bodies.PER_HASH * chunks
    for body in (manifest(chunks), manifest(chunks, indent=4), padded(manifest(chunks), most)):
        assert asked(front, "POST", "/v1/bundles", {}, body)[0] == 201
    status, said = asked(front, "POST", "/v1/bundles", {}, b"", {"content-length": str(most + 1)})
    assert status == 413 and f"{most} bytes at most" in said["message"]


def test_the_longest_manifest_that_there_is(rows):
    front = made(rows, ("m", MAX_CHUNKS))
    status, said = asked(front, "POST", "/v1/bundles", {}, manifest(MAX_CHUNKS))
    assert status == 201 and len(said["missing"]) == MAX_CHUNKS


def filled(piece, end=b"", begin=b"["):
    """JSON of the greatest length that is read."""
    return begin + piece * ((LONGEST - len(begin) - len(end)) // len(piece)) + end


HOSTILE = {"lists": filled(b"[],", b"0]"), "objects": filled(b"{},", b"0]"), "integers": filled(b"0,", b"0]"), "floats": filled(b"1.5,", b"0]"),
           "names": b"{" + b",".join(b'"%x":0' % i for i in range(LONGEST // 12)) + b"}", "depth": filled(b"["),
           "long integers": filled(b"1" * 4200 + b",", b"0]"), "digits": filled(b"1", begin=b""), "escapes": filled(b"\\n", b'"', b'"'),
           "hashes": filled(b'"' + b"\\n" * 35 + b'",', b"0]"), "spaces": filled(b" ", b"0", b"")}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_json_costs_milliseconds(name):
    """Half a megabyte of short values, or of long integers, took 17 to 45 ms, in which no other request went on."""
    body = HOSTILE[name]
    assert 0.5 * LONGEST < len(body) <= LONGEST

    class Request:
        def __init__(self):
            self.headers = {"content-length": str(len(body))}

        async def stream(self):
            yield body

    def seconds():
        """CPU time of all threads."""
        start = time.process_time()
        try:
            asyncio.run(bodies.read_json(Request(), MAX_CHUNKS))
        except bodies.Refused as why:
            assert why.status == 400
        return time.process_time() - start

    assert min(seconds() for _ in range(7)) < 0.012


def test_long_json_is_parsed_beside_the_loop(rows, monkeypatch):
    """Short JSON is not moved to a thread, because switching to one takes longer."""
    app, token = made(rows, ("m", 100))
    threads, real = [], json.loads

    def loads(text, **options):
        if isinstance(text, bytes):  # and no row of the store
            threads.append(threading.get_ident())
        return real(text, **options)

    monkeypatch.setattr(bodies.json, "loads", loads)
    for chunks, beside in ((1, False), (100, True)):
        threads.clear()
        assert asyncio.run(sent(app, token, "POST", "/v1/bundles", {}, manifest(chunks)))[0] == 201
        assert (threads[0] != threading.get_ident()) == beside


def test_integers_of_a_manifest(rows):
    front = made(rows, ("m", 100))
    for size in (10**19, 10**90, 10**110, -(10**30)):
        body = json.dumps({"model": "m", "size": size, "chunks": []}).encode()
        assert asked(front, "POST", "/v1/bundles", {}, body)[0] == asked(front, "POST", "/v1/bundles", {}, padded(body, 5000))[0] == 400
    assert refused(400, bodies._parsed, b"1" * 101) and bodies._parsed(b"-1234567890123456789") == -1234567890123456789
