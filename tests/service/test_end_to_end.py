"""A service in processes of its own: three tenants, one model, workers that are killed. Results are those of direct runs."""

import hashlib
import http.client
import json
import os
import signal
import subprocess
import sys
import time
import urllib.parse
import uuid

import numpy as np
import pytest
from test_compiled import mlp

import latticino as lt
from latticino.serve.http import Link
from latticino.serve.manifest import CHUNK
from latticino.serve.tenants import PREFIX
from running import SECONDS, Running, alive, direct, saved_network, until

PRESET = "test-n10-boot-insecure"


class Tenant:
    """One tenant's side: a key of its own, and what it sent."""

    def __init__(self, running, name):
        self.token = running.tenant(name)
        self.service = lt.connect(running.url, self.token)
        self.link = self.service._link
        self.client = lt.keygen(self.service.context("cpu"))
        keys = self.service.network.server_keys(self.client)
        self.bundle = lt.to_bytes(keys)
        self.remote = self.service.use(self.client, keys)

    def encrypted(self, x):
        return lt.to_bytes(self.service.network.encrypt(self.client, x))

    def status(self, method, path, body=None, **query):
        """The status of HTTP of one request."""
        try:
            self.link.send(method, path, body, query, {"Idempotency-Key": uuid.uuid4().hex})
        except lt.ServiceError as why:
            return why.status
        return 200


@pytest.fixture(scope="module")
def network(tmp_path_factory):
    folder = tmp_path_factory.mktemp("network")
    _, x = saved_network(folder, mlp, PRESET)
    return folder, x


@pytest.fixture(scope="module")
def running(network, tmp_path_factory):
    made = Running(tmp_path_factory.mktemp("service"), [f"mlp={network[0]}/server.network"], "--workers", "2", "--rate", "1000")
    try:
        yield made
    finally:
        assert made.stop() == 0
        assert not [pid for role in ("front", "checker", "worker") for pid in made.pids(role)]


@pytest.fixture(scope="module")
def tenants(running):
    return [Tenant(running, f"tenant-{i}") for i in range(3)]


def test_results_are_those_of_direct_runs_though_a_worker_is_killed(running, tenants, network):
    """Each tenant's jobs, a SIGKILL in the middle of one: no job is lost, and every byte is that of a direct run."""
    folder, x = network
    sent = [(tenant, body := tenant.encrypted(x[2 * i + j]), tenant.remote.send(body))
            for i, tenant in enumerate(tenants) for j in range(2)]
    killed = running.kill_in_the_middle(lambda: sum(job.look().state == "running" for _, _, job in sent))
    for tenant, body, job in sent:
        assert job.data(600) == direct(folder, tenant.bundle, body)
    assert len(running.pids("worker")) == 2 and killed not in running.pids("worker")
    assert sorted(job.look().row["attempts"] for _, _, job in sent) == [1] * 5 + [2]  # one was taken again
    values = np.array([job.result() for _, _, job in sent])
    assert np.abs(values - lt.nn.load(folder / "server.network", "cpu").shadow(x[:6])).max() < 2**-8


def test_objects_of_one_tenant_are_not_there_for_another(running, tenants):
    """All pairs of tenants: every object of one, requested by another, gives 404."""
    jobs = [tenant.remote.submit(np.zeros(16)) for tenant in tenants]
    for job in jobs:
        job.wait(600)
    for i, owner in enumerate(tenants):
        chunk = hashlib.sha256(owner.bundle[:CHUNK]).hexdigest()
        asked = [("GET", f"/v1/bundles/{owner.remote.bundle}", None, {"model": "mlp"}),
                 ("POST", f"/v1/bundles/{owner.remote.bundle}/commit", None, {"model": "mlp"}),
                 ("DELETE", f"/v1/bundles/{owner.remote.bundle}", None, {"model": "mlp"}),
                 ("PUT", f"/v1/chunks/{chunk}", owner.bundle[:CHUNK], {}),
                 ("POST", "/v1/jobs", owner.encrypted(np.zeros(16)), {"model": "mlp", "bundle": owner.remote.bundle}),
                 ("GET", f"/v1/jobs/{jobs[i].id}", None, {}), ("GET", f"/v1/jobs/{jobs[i].id}/result", None, {}),
                 ("DELETE", f"/v1/jobs/{jobs[i].id}", None, {})]
        for other in tenants:
            own = other is owner
            some = [request for request in asked if request[0] != "DELETE" or not own]
            statuses = [other.status(method, path, body, **query) for method, path, body, query in some]
            assert statuses == [200 if own else 404] * len(some)
        assert all(row["key_id"] != owner.client.key_id for t in tenants if t is not owner for row in t.service.bundles())


def test_a_request_under_another_ones_key_fails(running, tenants):
    """A ciphertext that states another tenant's key is run with the keys of its sender, which the run refuses."""
    body = tenants[1].encrypted(np.zeros(16))
    job = tenants[0].remote.send(body)
    with pytest.raises(lt.ServiceError, match=r"failed \(KeyError.*an object under key"):
        job.data(600)


def test_a_replay_gives_the_same_answer(running, tenants):
    tenant, body = tenants[0], tenants[0].encrypted(np.ones(16))
    first = tenant.remote.send(body, key="monday")
    assert tenant.remote.send(body, key="monday").id == first.id
    data = first.data(600)
    again = tenant.remote.send(body, key="monday")
    assert again.state == "done" and again.data() == data
    assert tenants[1].remote.send(tenants[1].encrypted(np.ones(16)), key="monday").id != first.id
    with pytest.raises(lt.ServiceError, match="idempotency key of another request"):
        tenant.remote.send(tenant.encrypted(np.ones(16)), key="monday")
    whole = tenant.remote.send(body, final=False)
    y = lt.from_bytes(whole.data(600), tenant.client.context)
    assert y.level >= 0 and len(whole.data()) > len(data)
    whole.cancel()
    with pytest.raises(lt.ServiceError, match="taken away"):
        whole.data()


def raw(running, tenant, method, path, body=b"", headers=None, length=None):
    """A response to bytes that no honest client sends: (status, headers)."""
    connection = http.client.HTTPConnection(urllib.parse.urlsplit(running.url).netloc, timeout=60)
    connection.putrequest(method, path)
    fields = {"Authorization": f"Bearer {tenant.token}", "Content-Length": len(body) if length is None else length, **(headers or {})}
    for name, value in fields.items():
        if value is not None:
            connection.putheader(name, str(value))
    connection.endheaders()
    if body:
        connection.send(body)
    response = connection.getresponse()
    response.read()
    connection.close()
    return response.status, response.headers


def test_what_is_refused(running, tenants):
    tenant, key = tenants[0], {"Idempotency-Key": "k" * 8}
    at, size = f"/v1/jobs?model=mlp&bundle={tenant.remote.bundle}", tenant.service.facts["request_bytes"]
    for expected, arguments in (
            (413, (at, b"", key, size + 1)), (413, (at, b"", key, 10**14)), (400, (at, b"x", key)), (411, (at, b"", key, None)),
            (411, (at, b"", {**key, "Content-Length": None, "Transfer-Encoding": "chunked"})),
            (400, (at, bytes(size), {})), (400, (at, bytes(size), {"Idempotency-Key": "x" * 129})),
            (400, (at + "&deadline=-1", bytes(size), key)), (400, (at + "&deadline=x", bytes(size), key)),
            (400, ("/v1/jobs?model=mlp", bytes(size), key)), (404, (at.replace("mlp", "none"), bytes(size), key)),
            (404, (at[:-1] + "z", bytes(size), key)), (401, (at, bytes(size), {**key, "Authorization": "Bearer " + PREFIX})),
            (401, (at, bytes(size), {**key, "Authorization": "Basic x"})), (400, ("/v1/bundles", b"{")),
            (404, ("/v1/bundles", b"{}")), (400, ("/v1/bundles", b'{"model": "mlp"}')), (413, ("/v1/bundles", b"", {}, 1 << 21)),
            (400, ("/v1/bundles", b"[" * 4000)), (413, ("/v1/bundles", b"[" * 100_000)),
            (404, ("/v1/none", b""))):
        found, headers = raw(running, tenant, "POST", *arguments) if arguments[3:] != (None,) else raw(
            running, tenant, "POST", arguments[0], b"", {**key, "Content-Length": None})
        assert found == expected, (arguments[0], arguments[2:], found)
        assert found != 401 or headers["WWW-Authenticate"] == "Bearer"
    job = tenant.remote.send(bytes(size))
    with pytest.raises(lt.ServiceError, match=r"failed \(FileError"):
        job.data(600)


def test_a_chunk_that_is_not_what_it_says(running, tenants):
    tenant, data = tenants[0], os.urandom(100)
    hash_ = hashlib.sha256(data).hexdigest()
    fields = {"model": "mlp", "size": 100, "chunks": [hash_]}
    found = tenant.link.json("POST", "/v1/bundles", fields)
    assert found["missing"] == [hash_] and tenant.status("PUT", f"/v1/chunks/{hash_}", bytes(100)) == 400
    assert tenant.status("PUT", f"/v1/chunks/{hash_}", bytes(101)) == 413
    with pytest.raises(lt.ServiceError, match="1 chunks fewer") as why:
        tenant.service._commit(found["hash"])
    assert why.value.missing == (hash_,) and why.value.status == 409
    tenant.link.send("PUT", f"/v1/chunks/{hash_}", data)
    tenant.service._commit(found["hash"])
    with pytest.raises(lt.ServiceError, match="load"):  # random bytes are no bundle
        tenant.service._checked(found["hash"])
    tenant.service.delete(found["hash"])


def test_bundles_that_a_checker_refuses(running, tenants):
    """Bundles that are damaged, cut, followed by other bytes, or of keys that the model does not need: each is refused
    with its reason."""
    tenant, whole = tenants[0], tenants[0].bundle
    other = lt.to_bytes(tenant.client.server_keys(lambda x: x * x, np.zeros(4)))
    folder = running.folder
    for name, data, reason in (("damaged", whole[:5000] + bytes([whole[5000] ^ 1]) + whole[5001:], "load"),
                               ("cut", whole[:-1], "load"), ("behind", whole + b"x", "bytes behind the bundle"),
                               ("other", other, "a bundle without"), ("network", b"LTNNFILE" + bytes(1000), "load")):
        (folder / name).write_bytes(data)
        with pytest.raises(lt.ServiceError, match=reason):
            tenant.service.push(folder / name)
    assert [row["state"] for row in tenant.service.bundles()].count("refused") == 5


def test_an_upload_is_resumed_and_shared(running, tenants):
    """Chunks that were uploaded are not sent again."""
    tenant = tenants[2]
    sent, put = [], tenant.link.send

    def counting(method, path, *rest, **more):
        sent.append((method, path.partition("?")[0]))
        return put(method, path, *rest, **more)

    tenant.link.send = counting
    try:
        (running.folder / "again").write_bytes(tenant.bundle)
        assert tenant.service.push(running.folder / "again") == tenant.remote.bundle
        assert not [path for method, path in sent if method == "PUT"]
        assert tenant.service.use(tenant.client).bundle == tenant.remote.bundle  # it is found by the key that made it
    finally:
        tenant.link.send = put


def test_cancelling_and_deadlines(running, tenants):
    """Jobs that wait behind a long queue are cancelled at once, and not run after their deadline. One that runs is
    cancelled between two steps, where it has not ended before."""
    tenant = tenants[0]
    body = tenant.encrypted(np.zeros(16))
    for count in (20, 40, 80, 160):  # on a busy machine workers may run jobs as fast as this process sends them
        jobs = [tenant.remote.send(body) for _ in range(count)]
        late = tenant.remote.send(body, deadline=0.05)
        if jobs[-1].cancel().state == "cancelled":
            break
    time.sleep(0.05)  # the jobs before it still wait, so that nobody runs the late one earlier
    for job in jobs:
        job.cancel()
    states = [job.wait(600).state for job in jobs]
    assert set(states) <= {"cancelled", "done"} and states[-1] == "cancelled"
    assert late.wait(600).state == "expired"
    with pytest.raises(lt.ServiceError, match="a job that is expired"):
        late.data()


def test_health_metrics_and_openapi(running, tenants):
    def get(path):
        status, _ = raw(running, tenants[0], "GET", path, headers={"Content-Length": None})
        return status

    link = Link(running.url, tenants[0].token)
    assert json.loads(link.send("GET", "/v2/health/live")) == {"live": True}
    assert json.loads(link.send("GET", "/v2/health/ready"))["ready"] and get("/metrics") == 200
    metrics = link.send("GET", "/metrics").decode()
    for name in ("latticino_jobs{state=\"done\"}", "latticino_queue_age_seconds", "latticino_queue_seconds", "latticino_workers 2.0",
                 "latticino_worker_key_hits_total", "latticino_worker_real_seconds_total", "latticino_requests_total"):
        assert name in metrics, name
    spec = json.loads(link.send("GET", "/openapi.json"))
    assert {"/v1/jobs", "/v1/bundles", "/v1/chunks/{chunk}"} <= set(spec["paths"])
    # Neither metrics nor logs name a tenant, a token or a key.
    told = metrics + running.log.read_text()
    for tenant in tenants:
        assert tenant.token not in told and tenant.client.key_id not in told
    assert "tenant-0" not in told


def test_parts_of_a_result(running, tenants):
    tenant = tenants[0]
    job = tenant.remote.submit(np.zeros(16))
    data = job.data(600)
    part = tenant.link.send("GET", f"/v1/jobs/{job.id}/result", headers={"Range": "bytes=10-19"})
    assert part == data[10:20]


def test_tokens_are_for_models(running, tenants):
    running.command("tenants", "token", "tenant-0", "--models", "other")
    token = running.command("tenants", "token", "tenant-0", "--models", "other")
    with pytest.raises(lt.ServiceError, match="none that this token is for"):
        lt.connect(running.url, token)
    with pytest.raises(lt.ServiceError, match="the model 'none'"):
        lt.connect(running.url, tenants[0].token, "none")
    assert raw(running, type("T", (), {"token": token}), "GET", "/v1/models/mlp", headers={"Content-Length": None})[0] == 404


@pytest.mark.parametrize("role", ["front", "checker"])
def test_killed_processes_begin_anew(running, tenants, role):
    """The front's port stays open, so that clients only wait; a bundle that was being checked is checked again."""
    tenant = tenants[1]
    before = running.kill(role)
    until(lambda: [pid for pid in running.pids(role) if pid != before], f"a new {role}")
    assert tenant.remote.run(np.zeros(16)).shape == (3,)


def test_postgresql_and_workers_that_join(network, tmp_path, postgresql):
    """A service without workers takes jobs; workers that are started beside it, as on another machine, run them."""
    running = Running(tmp_path / "service", [f"mlp={network[0]}/server.network"], "--workers", "0", store=postgresql)
    joined = None
    try:
        tenant = Tenant(running, "a")
        body = tenant.encrypted(np.zeros(16))
        job = tenant.remote.send(body)
        assert job.look().state == "queued" and tenant.status("GET", "/v2/health/ready") == 503
        with (tmp_path / "log").open("w") as log:
            joined = subprocess.Popen([sys.executable, "-m", "latticino", "worker", "--device", "cpu", "--threads", "1", "--blobs",
                                       str(tmp_path / "service" / "blobs"), "--folder", str(tmp_path / "other")], stderr=log,
                                      env=dict(os.environ, PYTHONWARNINGS="ignore", LATTICINO_STORE=postgresql))
        assert job.data(600) == direct(network[0], tenant.bundle, body)
        joined.terminate()
        assert joined.wait(SECONDS) == 0
    finally:
        if joined is not None:
            joined.kill()
        assert running.stop() == 0


def test_a_graceful_stop(network, tmp_path):
    """After SIGTERM there are no new jobs, and waiting jobs stay for the next start. Nothing is lost."""
    running = Running(tmp_path / "service", [f"mlp={network[0]}/server.network"])
    tenant = Tenant(running, "a")
    body = tenant.encrypted(np.zeros(16))
    jobs = [tenant.remote.send(body) for _ in range(3)]
    until(lambda: jobs[0].look().state != "queued", "a job that runs")
    assert running.stop() == 0
    pids = [pid for role in ("front", "checker", "worker") for pid in running.pids(role)]
    assert not pids
    running.start()
    try:
        tenant.service = lt.connect(running.url, tenant.token)
        rows = tenant.service.jobs()
        assert {row["id"] for row in rows} == {job.id for job in jobs}
        want = direct(network[0], tenant.bundle, body)
        for job in jobs:
            job._remote.service._link = tenant.service._link
            assert job.data(600) == want and job.look().row["attempts"] == 1
    finally:
        assert running.stop() == 0


def test_processes_end_with_their_service(network, tmp_path):
    """If the service itself is killed, all of its processes end."""
    running = Running(tmp_path / "service", [f"mlp={network[0]}/server.network"])
    pids = [until(lambda role=role: running.pids(role), role)[0] for role in ("front", "checker", "worker")]
    os.kill(running.process.pid, signal.SIGKILL)
    running.process.wait()
    until(lambda: not any(map(alive, pids)), "the end of all processes")
