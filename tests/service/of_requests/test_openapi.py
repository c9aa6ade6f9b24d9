"""/openapi.json against the answers of the routes. `test_routes.sent` compares each answer of its tests with it too."""

import asyncio
import hashlib
import json
import re
from pathlib import Path

import documented
import pytest
from test_routes import asked, sent
from world import hash_of

from latticino.serve.blobs import OPERATOR
from latticino.serve.front import Front, Settings
from latticino.serve.http import KEY
from latticino.serve.metrics import _WORKER_COUNTERS
from latticino.serve.requests import openapi
from latticino.serve.store import STORE_ERRORS
from latticino.serve.tables import workers

RESULT = bytes(range(100))


class World:
    """A service with a job of each kind, and a request for each route."""

    def __init__(self, rows):
        self.rows = rows
        self.tenant, self.model, self.bundle = rows.ready()
        rows.blobs.put("models", OPERATOR, b"client")
        self.made = Front(rows.store, rows.blobs, Settings(rate=1e9, burst=1e9), lambda: False)
        self.app, self.token = self.made.app(), rows.tenants.token("a")
        self.document = self.app.app.openapi()
        self.done, self.waits = rows.submit(self.tenant, self.model, self.bundle), rows.submit(self.tenant, self.model, self.bundle)
        assert rows.jobs.finish(rows.jobs.claim([self.model]), rows.blobs.put("results", self.tenant, RESULT), 100, 1.0)
        self.key = 0

    def request(self, method, route, **names):
        """The answer to a request, which must be as the document states."""
        names = {"name": "m", "bundle": self.bundle, "chunk": hashlib.sha256(b"chunk").hexdigest(), "job": self.done, **names}
        operation = self.document["paths"][route][method]
        query = {p["name"]: {"model": "m", **names}[p["name"]] for p in operation.get("parameters", ())
                 if p["in"] == "query" and p["required"]}
        body = {"/v1/bundles": json.dumps({"model": "m", "size": 5, "chunks": [names["chunk"]]}).encode(),
                "/v1/chunks/{chunk}": b"chunk", "/v1/jobs": b"x" * 10}.get(route, b"") if "requestBody" in operation else b""
        self.key += 1
        needed = {p["name"].lower(): f"key{self.key}" for p in operation.get("parameters", ()) if p["in"] == "header" and p["required"]}
        return route.format(**names), query, body, needed

    def statuses(self, method, route, headers=None, without=(), **names):
        path, query, body, needed = self.request(method, route, **names)
        fields = {name: value for name, value in {**needed, **(headers or {})}.items() if name not in without}
        return asyncio.run(sent(self.app, "" if "authorization" in without else self.token, method.upper(), path, query, body, fields))[0]


@pytest.fixture
def world(rows):
    return World(rows)


def operations(world):
    return [(method, route, operation) for route, methods in world.document["paths"].items() for method, operation in methods.items()]


def successes(world):
    return {(method, route, int(status)) for method, route, operation in operations(world)
            for status in operation["responses"] if status[0] == "2"}


def test_each_success_that_the_document_names_is_an_answer(world, rows):
    """No other answers occur, because `sent` compares each answer."""
    announced = [("post", "/v1/bundles", {}), ("put", "/v1/chunks/{chunk}", {}), ("put", "/v1/chunks/{chunk}", {}),
                 ("post", "/v1/bundles/{bundle}/commit", {})]
    seen, rest = set(), [(method, route, {}) for method, route, _ in operations(world) if method != "delete" and (method, route, {}) not in announced]
    repeated = [("post", "/v1/jobs", {"headers": {"idempotency-key": "same"}})] * 2
    ends = [("delete", "/v1/jobs/{job}", {}), ("delete", "/v1/bundles/{bundle}", {"bundle": rows.bundle(world.tenant, world.model, "c")})]
    counters = {**dict.fromkeys(_WORKER_COUNTERS, 0), "resident_bytes": 0, "jobs": {"done": 1}}
    with rows.store.write() as c:
        c.execute(workers.insert().values(id="w", seen=rows.store.now(c), device="cpu", counters=json.dumps(counters)))
    for method, route, more in (*announced, *rest, *repeated, ("get", "/v1/jobs/{job}/result", {"headers": {"range": "bytes=1-2"}}), *ends):
        seen.add((method, route, world.statuses(method, route, **more)))
    assert seen == successes(world) and len(seen) == 20


def test_what_the_document_requires_is_needed(world):
    """A token, headers and parameters of the query, each left out in turn."""
    needed = 0
    for method, route, operation in operations(world):
        if operation["security"]:
            assert operation["security"] == [{"token": []}] and world.statuses(method, route, without=("authorization",)) == 401
        else:
            assert world.statuses(method, route, without=("authorization",)) in (200, 503)
        for p in operation.get("parameters", ()):
            path, query, body, headers = world.request(method, route)
            if p["required"] and p["in"] == "query":
                query.pop(p["name"])
            elif p["required"] and p["in"] == "header":
                headers.pop(p["name"].lower())
            else:
                continue
            assert asked((world.app, world.token), method.upper(), path, query, body, headers)[0] == 400, (method, route, p["name"])
            needed += 1
        if "requestBody" in operation:
            path, query, _, headers = world.request(method, route)
            assert operation["requestBody"]["required"] and asked((world.app, world.token), method.upper(), path, query, b"", headers)[0] in (400, 404)
    assert needed == 6  # a model four times, a bundle, an idempotency key


def test_the_scheme_of_tokens_and_the_keys_of_idempotency(world):
    scheme = world.document["components"]["securitySchemes"]["token"]
    assert (scheme["type"], scheme["scheme"]) == ("http", "bearer")
    key, = (p for p in world.document["paths"]["/v1/jobs"]["post"]["parameters"] if p["name"] == "Idempotency-Key")
    assert key["required"] and key["schema"]["pattern"].strip("^$") == KEY.pattern.replace(r"\x21-\x7e", "!-~")


@pytest.mark.parametrize("page", [False, True])
def test_the_document_that_is_served(rows, tmp_path, page):
    """Also if a page adds routes."""
    (tmp_path / "index.html").write_text("page")
    app = Front(rows.store, rows.blobs, Settings(page=str(tmp_path) if page else ""), lambda: False).app()
    status, _, served = asyncio.run(sent(app, "", "GET", "/openapi.json", {}))
    assert status == 200 and served == app.app.openapi() and served["paths"]["/v1/jobs"]["post"]["requestBody"]["required"]
    assert set(served["paths"]["/v1/jobs"]["post"]["responses"]) >= {"202", "400", "401"} and "/page" not in served["paths"]


def test_schemas_that_the_document_refers_to(world):
    names = set(re.findall(r'"#/components/schemas/(\w+)"', json.dumps(world.document)))
    assert names == set(world.document["components"]["schemas"]) and "Job" in names


def test_no_status_that_the_service_never_gives(world):
    """Otherwise FastAPI would document 422."""
    assert not any("422" in operation["responses"] for _, _, operation in operations(world))
    post = world.document["paths"]["/v1/jobs"]["post"]["responses"]
    assert {"200", "202", "400", "401", "404", "409", "410", "413", "429", "507"} <= set(post)


@pytest.mark.parametrize("header, status", [("bytes=1000-2000", 416), ("bytes=x-y", 400), ("words=1-2", 400)])
def test_ranges_that_a_result_does_not_have(world, header, status):
    assert world.statuses("get", "/v1/jobs/{job}/result", {"range": header}) == status


def test_other_refusals(world, rows, monkeypatch):
    """Answers about states, quotas and failures. `sent` compares each with the document."""
    found = [world.statuses("get", "/v1/jobs/{job}/result", job=world.waits), world.statuses("get", "/v1/jobs/{job}", job="0" * 32),
             world.statuses("post", "/v1/bundles/{bundle}/commit", bundle=hash_of("none"))]
    Path(rows.blobs.path("results", world.tenant, hashlib.sha256(RESULT).hexdigest())).write_bytes(b"x")
    found.append(world.statuses("get", "/v1/jobs/{job}/result"))
    monkeypatch.setattr(rows.blobs, "reserve", 1 << 62)
    found.append(world.statuses("post", "/v1/jobs"))
    assert found == [409, 404, 404, 500, 507]
    world.made._draining = lambda: True
    assert world.statuses("post", "/v1/jobs") == 503 == world.statuses("get", "/v2/health/ready")
    world.made._draining = lambda: False
    world.made._rate._burst = 0.0
    assert {world.statuses(method, route) for method, route, operation in operations(world) if operation["security"]} == {429}

    def away(*_):
        raise STORE_ERRORS[1]

    monkeypatch.setattr(world.made._tenants, "identify", away)
    assert {world.statuses(method, route) for method, route, operation in operations(world) if operation["security"]} == {503}


def test_bodies_of_unknown_length(world):
    for method, route, _ in operations(world):
        assert world.statuses(method, route, {"transfer-encoding": "chunked"}) == 411


def test_what_is_not_as_the_document_says_is_found(world):
    """An answer with another status, without a header, or of another type or schema is noticed."""
    whole = json.dumps({"live": True}).encode()
    good = ("GET", "/v2/health/live", 200, {"content-type": "application/json"}, whole)
    documented.require(world.app, *good)
    for at, other in ((2, 201), (3, {"content-type": "text/plain"}), (4, b"{}"), (4, b'{"live": 1}'), (4, b'{"live": true, "more": 1}'),
                      (4, b'[true]')):
        with pytest.raises(AssertionError):
            documented.require(world.app, *(other if i == at else each for i, each in enumerate(good)))
    with pytest.raises(AssertionError):  # without WWW-Authenticate
        documented.require(world.app, "GET", "/v1/jobs", 401, {"content-type": "application/json"}, b'{"message": ""}')


def test_a_route_that_is_not_described_is_an_error(rows):
    app = Front(rows.store, rows.blobs, Settings(), lambda: False).app().app
    app.add_api_route("/v1/more", lambda: None, methods=["GET"])
    app.openapi_schema = None
    with pytest.raises(KeyError):
        openapi.describe(app)
