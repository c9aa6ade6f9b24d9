"""A token for some models has no access to its tenant's other models, by any route."""

import json

import pytest
from test_routes import asked
from world import hash_of

from latticino.serve.front import Front, Settings
from latticino.serve.manifest import Manifest

pytestmark = pytest.mark.stores


class World:
    """Models m and n, a tenant with a bundle, a chunk to come and a job of each, and tokens: for both, for m alone."""

    def __init__(self, rows):
        self.rows = rows
        self.tenant, m, bundle = rows.ready()
        n = rows.model("n")
        self.bundles = {"m": bundle, "n": rows.bundle(self.tenant, n, "of n")}
        self.chunks = {name: hash_of(f"chunk of {name}") for name in "mn"}
        for name, model in (("m", m), ("n", n)):
            rows.bundles.announce(self.tenant, model, Manifest(5, (self.chunks[name],)))
        self.jobs = {name: rows.submit(self.tenant, model, self.bundles[name]) for name, model in (("m", m), ("n", n))}
        self.app = Front(rows.store, rows.blobs, Settings(rate=1e9, burst=1e9), lambda: False).app()
        self.both, self.one = rows.tenants.token("a", ["m", "n"]), rows.tenants.token("a", ["m"])
        self.every = rows.tenants.token("a")

    def asked(self, token, method, path, query=None, body=b""):
        return asked((self.app, token), method, path, query or {}, body, {"idempotency-key": "new"})

    def listed(self, token):
        """The models of the bundles and of the jobs that a token sees."""
        return [{row["model"] for row in self.asked(token, "GET", f"/v1/{what}")[1][what]} for what in ("bundles", "jobs")]


@pytest.fixture
def world(rows):
    return World(rows)


def test_lists(world):
    assert world.listed(world.both) == world.listed(world.every) == [{hash_of("m"), hash_of("n")}] * 2
    assert world.listed(world.one) == [{hash_of("m")}] * 2
    # The ready one, and the one that is being uploaded.
    assert len(world.asked(world.one, "GET", "/v1/bundles")[1]["bundles"]) == 2


def test_a_list_of_jobs_is_full_though_others_are_newer(world, clock):
    clock.now += 1
    for _ in range(100):
        world.rows.submit(world.tenant, hash_of("n"), world.bundles["n"])
    found = world.asked(world.one, "GET", "/v1/jobs")[1]["jobs"]
    assert [job["id"] for job in found] == [world.jobs["m"]]


def test_routes_of_other_models(world):
    """The answers are those for objects that do not exist, and nothing changes."""
    bundle, job = world.bundles["n"], world.jobs["n"]
    for method, path, none, query, body in (
            ("GET", f"/v1/jobs/{job}", "/v1/jobs/" + "0" * 32, {}, b""), ("DELETE", f"/v1/jobs/{job}", "/v1/jobs/" + "0" * 32, {}, b""),
            ("GET", f"/v1/jobs/{job}", "/v1/jobs/" + "0" * 32, {"wait": "1"}, b""),
            ("GET", f"/v1/jobs/{job}/result", "/v1/jobs/" + "0" * 32 + "/result", {}, b""),
            *((method, f"/v1/bundles/{bundle}{more}", f"/v1/bundles/{'0' * 64}{more}", {"model": name}, b"")
              for method, more in (("GET", ""), ("DELETE", ""), ("POST", "/commit")) for name in "mn"),
            ("POST", "/v1/jobs", "/v1/jobs", {"model": "n", "bundle": bundle}, b"x" * 10),
            ("PUT", f"/v1/chunks/{world.chunks['n']}", "/v1/chunks/" + "0" * 64, {}, b"chunk")):
        status, said = world.asked(world.one, method, path, query, body)
        assert (status, said) == world.asked(world.one, method, none, query, body) and status == 404, (method, path, said)
    assert world.rows.job(job).state == "queued"
    assert world.asked(world.both, "GET", f"/v1/bundles/{bundle}", {"model": "n"})[1]["state"] == "ready"


@pytest.mark.parametrize("name", ["both", "every"])
def test_routes_of_models_that_the_token_is_for(world, name):
    token = getattr(world, name)
    for model in "mn":
        assert world.asked(token, "GET", f"/v1/jobs/{world.jobs[model]}")[1]["state"] == "queued"
        assert world.asked(token, "PUT", f"/v1/chunks/{world.chunks[model]}", {}, b"chunk")[0] == 400  # of another hash
        assert world.asked(token, "DELETE", f"/v1/jobs/{world.jobs[model]}")[1]["state"] == "cancelled"
        assert world.asked(token, "DELETE", f"/v1/bundles/{world.bundles[model]}", {"model": model})[0] == 204


def test_a_token_of_one_model_reaches_its_own(world):
    job = world.jobs["m"]
    assert world.asked(world.one, "PUT", f"/v1/chunks/{world.chunks['m']}", {}, b"chunk")[0] == 400
    assert world.asked(world.one, "GET", f"/v1/jobs/{job}")[1]["id"] == job
    claim = world.rows.jobs.claim([hash_of("m")])
    assert world.rows.jobs.finish(claim, world.rows.blobs.put("results", world.tenant, b"result"), 6, 1.0)
    assert world.asked(world.one, "GET", f"/v1/jobs/{job}/result")[0] == 200
    assert world.asked(world.one, "DELETE", f"/v1/jobs/{job}")[1]["result"] is None


def test_a_chunk_that_two_models_share(world):
    """It is uploaded with a token for either model."""
    fields = {"model": "m", "size": 5, "chunks": [world.chunks["n"]]}
    assert world.asked(world.one, "POST", "/v1/bundles", {}, json.dumps(fields).encode())[0] == 201
    assert world.asked(world.one, "PUT", f"/v1/chunks/{world.chunks['n']}", {}, b"chunk")[0] == 400  # of another hash


def test_lists_read_no_manifest(world):
    """A manifest may have half a megabyte, and a tenant a thousand of them."""
    assert not hasattr(world.rows.bundles.of(world.tenant)[0], "manifest")
