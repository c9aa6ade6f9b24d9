"""A worker and a checker in this process: keys under eviction, a crash between a result and its row, lack of memory."""

import dataclasses
import io
import os
import signal
import subprocess
import sys
import threading
import time
import weakref
from pathlib import Path

import numpy as np
import pytest
from test_compiled import mlp
from world import Rows, carry_out

import latticino as lt
from latticino.serve.blobs import Blobs
from latticino.serve.checker import Checker
from latticino.serve.leases import Holder, Stopped
from latticino.serve.manifest import Manifest
from latticino.serve.models import Facts, Model, Port, file_of, open_model
from latticino.serve.registry import Registry
from latticino.serve.resources import Resources, key_budgets
from latticino.serve.store import Store
from latticino.serve.tables import bundles, jobs, models
from latticino.serve.worker import Worker, parts_of
from running import direct, saved_network, until

PRESET = "test-n10-boot-insecure"


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    return World(tmp_path_factory.mktemp("world"))


class World:
    """A model in a store, and tenants with keys that a checker has accepted."""

    def __init__(self, folder):
        self.folder = folder / "network"
        _, self.x = saved_network(self.folder, mlp, PRESET)
        self.store, self.blobs = Store(f"sqlite:///{folder}/s.sqlite"), Blobs(folder / "blobs")
        self.rows = Rows(self.store, self.blobs)
        self.facts = Registry(self.store, self.blobs).add(self.folder / "server.network", "mlp")
        self.half = lt.nn.load(self.folder / "client.network")
        ctx = lt.Context(PRESET, "cpu", threads=1)
        self.clients = [lt.keygen(ctx) for _ in range(3)]
        self.keys = [lt.to_bytes(self.half.server_keys(client)) for client in self.clients]
        self.tenants = [self.rows.tenant(f"t{i}") for i in range(3)]
        self.bundles = [self.upload(tenant, data) for tenant, data in zip(self.tenants, self.keys)]

    def upload(self, tenant, data):
        manifest = Manifest.of(io.BytesIO(data))
        row, _ = self.rows.bundles.announce(tenant, self.facts.digest, manifest)
        for chunk in [data[at : at + (8 << 20)] for at in range(0, len(data), 8 << 20)]:
            self.rows.bundles.stored(tenant, self.blobs.put("chunks", tenant, chunk))
        self.rows.bundles.commit(tenant, self.facts.digest, row.hash)
        assert Checker(self.store, self.blobs, threading.Event()).step()
        return row.hash

    def bundle(self, i):
        return self.rows.bundles.get(self.tenants[i], self.facts.digest, self.bundles[i])

    def submit(self, i, body, **options):
        hash_ = self.blobs.put("inputs", self.tenants[i], body)
        return self.rows.jobs.submit(self.tenants[i], self.rows.request(
            self.facts.digest, self.bundles[i], input=hash_, input_size=len(body), **options))[0].id

    def claimed(self, i):
        """A new job, claimed for a worker."""
        id_ = self.submit(i, self.body(i))
        claim = self.rows.jobs.claim([self.facts.digest])
        assert claim.id == id_
        return claim

    def body(self, i, value=0):
        return lt.to_bytes(self.half.encrypt(self.clients[i], self.x[value]))

    def worker(self, **resources):
        return Worker(self.store, self.blobs, Resources(threads=1, **resources), threading.Event())

    def run(self, worker, ids):
        """Lets a worker run until these jobs have ended."""
        thread = threading.Thread(target=worker.run)
        thread.start()
        try:
            until(lambda: all(self.rows.job(id_).state not in ("queued", "running") for id_ in ids), "the end of jobs")
        finally:
            worker._stop.set()
            thread.join()
        return [self.rows.job(id_) for id_ in ids]


def test_a_checked_bundle(world):
    row = world.bundle(0)
    assert row.state == "ready" and row.key_id == world.clients[0].key_id
    assert row.device_bytes == lt.from_bytes(world.keys[0], world.clients[0].context, kind=lt.ServerKeys).bytes


def test_facts_are_exact(world):
    """The size of a request is that of every request; a bundle and a result stay below what the facts say."""
    assert {len(world.body(i, v)) for i in range(3) for v in range(4)} == {world.facts.request_bytes}
    assert all(len(data) < world.facts.bundle_bytes for data in world.keys)
    model = open_model(file_of(world.folder / "server.network"), "cpu")
    session = model.context.bind(model.load_keys(io.BytesIO(world.keys[0])))
    whole = model.run(session, [world.body(0)], False, lambda _: None)
    assert len(whole) <= world.facts.result_bytes
    assert world.facts.key_bytes == model.key_bytes == session.keys.bytes
    assert Facts.read(world.facts.to_json()) == world.facts
    assert model.client_file() == (world.folder / "client.network").read_bytes()


def test_keys_stay_their_tenants_under_eviction(world, monkeypatch):
    """Room for one bundle on the device and for two in memory: keys come and go, and every result is that of its own."""
    monkeypatch.setattr("latticino.serve.worker._PATIENCE", 60.0)  # no other worker is there to take jobs
    one = world.facts.key_bytes
    working = world.facts.peak_bytes - one
    worker = world.worker(memory=working + one + one // 2, host_memory=int(3.2 * one))
    order = [0, 1, 2, 0, 1, 0, 2, 1]
    bodies = [world.body(i, k) for k, i in enumerate(order)]
    ids = [world.submit(i, body) for i, body in zip(order, bodies)]
    rows = world.run(worker, ids)
    assert [row.state for row in rows] == ["done"] * len(order)
    for i, body, row in zip(order, bodies, rows):
        found = world.blobs.read("results", world.tenants[i], row.result)
        assert found == direct(world.folder, world.keys[i], body)
    counters = worker.counters()
    assert counters["bundles_dropped"] > 0 and counters["evictions"] > 0 and counters["jobs"] == {"done": len(order)}
    assert counters["bundles"] <= 2 and counters["resident_bytes"] <= one + one // 2
    assert counters["key_hits"] + counters["key_misses"] == len(order)


def test_memory_is_cleared_between_tenants(world, monkeypatch):
    """Before the first run for another tenant, and not between two runs for the same one."""
    monkeypatch.setattr("latticino.serve.worker._PATIENCE", 60.0)  # no other worker is there to take jobs
    seen = []
    clear, run = lt.Context._clear_unused, Model.run

    def cleared(context):
        seen.append("clear")
        clear(context)

    def ran(model, session, *rest):
        seen.append(session.key_id)
        return run(model, session, *rest)

    monkeypatch.setattr(lt.Context, "_clear_unused", cleared)
    monkeypatch.setattr(Model, "run", ran)
    worker = world.worker()
    worker._open_models()
    for i in (0, 0, 1, 2, 2, 0):
        carry_out(worker, world.claimed(i))
    first, second, third = (client.key_id for client in world.clients)
    assert seen == [first, first, "clear", second, "clear", third, third, "clear", first]


def test_no_inputs_of_another_tenant_are_left_when_memory_is_cleared(world, monkeypatch):
    """Results are stored behind the runs. Inputs that stayed until then would be freed after the clearing."""
    monkeypatch.setattr("latticino.serve.worker._PATIENCE", 60.0)  # no other worker is there to take jobs
    read, alive, put = [], [], world.blobs.put

    def given(model, inputs):
        out = given_before(model, inputs)
        read.append(weakref.ref(out))
        return out

    def cleared(context):
        alive.append(sum(ref() is not None for ref in read))
        clear(context)

    def slowly(kind, *rest):
        if kind == "results":
            time.sleep(0.1)
        return put(kind, *rest)

    given_before, clear = Model.given, lt.Context._clear_unused
    monkeypatch.setattr(Model, "given", given)
    monkeypatch.setattr(lt.Context, "_clear_unused", cleared)
    worker = world.worker()
    monkeypatch.setattr(worker._blobs, "put", slowly)
    bodies = [world.body(i) for i in range(3)]
    first = [world.submit(i, bodies[i]) for i in range(3)]
    turns = []

    def when_keys_are_loaded():
        try:
            until(lambda: all(world.rows.job(id_).state == "done" for id_ in first), "the first job of each tenant")
            turns.extend(world.submit(i, bodies[i]) for i in (0, 1, 2, 0, 1, 2))
            until(lambda: all(world.rows.job(id_).state == "done" for id_ in turns), "jobs of tenants in turn")
        finally:
            worker._stop.set()

    others = threading.Thread(target=when_keys_are_loaded)
    others.start()
    try:
        worker.run()
    finally:
        others.join()
    assert len(turns) == 6 and len(alive) > 2
    assert set(alive) == {1}, "only the inputs of the job that begins"


def test_a_crash_between_a_result_and_its_row(world, monkeypatch):
    """The next worker stores the same bytes under the same name, and writes the row."""
    body = world.body(0)
    id_, first = world.submit(0, body), world.worker()

    class Crash(BaseException):
        pass

    def crash(*_):
        raise Crash

    first._open_models()
    claim = first._jobs.claim([world.facts.digest])
    monkeypatch.setattr(first._jobs, "finish", crash)
    with pytest.raises(Crash):
        carry_out(first, claim)
    stored = {p for p in (world.blobs.folder / "results").rglob("*") if len(p.name) == 64}
    assert world.rows.job(id_).state == "running" and world.rows.job(id_).result is None
    with world.store.write() as c:  # the lease lapses
        c.execute(jobs.update().where(jobs.c.id == id_).values(lease_until=0.0))
    monkeypatch.undo()
    row, = world.run(world.worker(), [id_])
    assert row.state == "done" and row.attempts == 2
    assert {p for p in (world.blobs.folder / "results").rglob("*") if len(p.name) == 64} == stored
    assert world.blobs.read("results", world.tenants[0], row.result) == direct(world.folder, world.keys[0], body)


def test_lack_of_memory_is_no_fault_of_the_job(world, monkeypatch):
    worker = world.worker()
    tries = []

    def full(*_):
        tries.append(1)
        raise lt.OutOfMemoryError("no memory")

    worker._open_models()
    model, facts = worker._models[world.facts.digest]
    monkeypatch.setattr(model, "run", full)
    id_ = world.submit(0, world.body(0))
    for _ in range(3):
        carry_out(worker, worker._jobs.claim([facts.digest]))
    assert world.rows.job(id_).state == "poisoned" and "no memory" in world.rows.job(id_).error
    assert len(tries) == 3 and not worker._sessions.names and not worker._stop.is_set()
    monkeypatch.setattr(model, "run", lambda *_: (_ for _ in ()).throw(lt.DeviceError("gone")))
    id_ = world.submit(0, world.body(0))
    carry_out(worker, worker._jobs.claim([facts.digest]))
    assert world.rows.job(id_).state == "queued" and worker._stop.is_set()  # another process begins anew
    world.rows.jobs.cancel(world.tenants[0], id_)


def test_a_lost_input_is_no_fault_of_the_tenant(world):
    id_ = world.submit(0, world.body(0, 5))
    Path(world.blobs.path("inputs", world.tenants[0], world.rows.job(id_).input)).unlink()
    row, = world.run(world.worker(), [id_])
    assert row.state == "poisoned" and "no blob" in row.error and row.attempts == 3


def test_a_damaged_bundle_is_mended_by_its_upload(world):
    """A worker that finds other bytes asks for them again; a checker does so before it is ready."""
    chunk = Path(world.blobs.path("chunks", world.tenants[2], Manifest.of(io.BytesIO(world.keys[2])).chunks[0]))
    whole = chunk.read_bytes()
    chunk.write_bytes(whole[:-1] + b"?")
    id_ = world.submit(2, world.body(2))
    row, = world.run(world.worker(), [id_])
    assert row.state == "poisoned" and "other bytes" in row.error and world.bundle(2).state == "uploading"
    hash_, missing = world.bundle(2).hash, world.rows.bundles.announce(world.tenants[2], world.facts.digest,
                                                                        Manifest.of(io.BytesIO(world.keys[2])))[1]
    assert missing == (chunk.name,) and world.upload(world.tenants[2], world.keys[2]) == hash_
    assert chunk.read_bytes() == whole and world.bundle(2).state == "ready"
    id_ = world.submit(2, world.body(2))
    row, = world.run(world.worker(), [id_])
    assert row.state == "done"
    # before the check
    with world.store.write() as c:
        c.execute(bundles.update().where(bundles.c.hash == hash_).values(state="uploaded"))
    chunk.write_bytes(whole[:-1] + b"?")
    assert Checker(world.store, world.blobs, threading.Event()).step() and world.bundle(2).state == "uploading"
    assert world.upload(world.tenants[2], world.keys[2]) == hash_ and world.bundle(2).state == "ready"


def test_a_run_ends_when_its_holder_says_so(world, monkeypatch):
    monkeypatch.setattr("latticino.serve.leases.LOOK", 0.01)
    for how, why in (("cancel", "cancel"), ("lapse", "lost"), ("stop", "stop")):
        id_ = world.submit(0, world.body(0))
        claim, stop = world.rows.jobs.claim([world.facts.digest]), threading.Event()
        holder = Holder(world.rows.jobs, claim, stop, grace=0.05)
        holder.begin()
        try:
            holder.after(0.25)
            if how == "cancel":
                world.rows.jobs.cancel(world.tenants[0], id_)
            elif how == "lapse":
                world.rows.jobs.end(claim, "cancelled")
            else:
                stop.set()
            with pytest.raises(Stopped) as found:
                until(lambda: holder.after(0.5), "an end")
            assert found.value.why == why
        finally:
            holder.end()
        world.rows.jobs.end(claim, "cancelled")


def test_memory_is_shared_out():
    facts = [Facts("network", "d", "c", "p", "h", (), (), {}, keys, keys, 1.0, peak) for keys, peak in ((100, 130), (60, 100))]
    assert key_budgets(facts, 1070) == [500, 500]
    inputs = (Port("x", (4,), 1, 8), Port("y", (4,), 1, 2))
    reading = [dataclasses.replace(facts[0], inputs=inputs), facts[1]]
    assert key_budgets(reading, 1090) == [500, 500]  # 20 bytes for the inputs of the next job
    with pytest.raises(lt.OutOfMemoryError, match="200 bytes of memory for 2 models.*needs 270"):
        key_budgets(facts, 200)
    assert key_budgets([], 10) == []


def test_inputs_are_cut_as_the_model_says(world):
    body = world.body(0)
    assert parts_of(body, world.facts) == [body]
    with pytest.raises(lt.FileError):
        parts_of(body + b"x", world.facts)


def test_a_worker_follows_the_models_of_its_store(world, tmp_path, monkeypatch, capsys):
    """Without models it reports this and waits. If the models change, it ends, and the process that replaces it opens the
    new ones."""
    monkeypatch.setattr("latticino.serve.worker.BEAT", 0.05)
    stop = threading.Event()
    empty = Worker(Store(f"sqlite:///{tmp_path}/s.sqlite"), world.blobs, Resources(threads=1), stop)
    waiting = threading.Thread(target=empty.run, daemon=True)
    waiting.start()
    until(lambda: "start latticino serve" in capsys.readouterr().err, "a worker that waits")
    stop.set()
    waiting.join(60)
    assert not waiting.is_alive()
    worker = world.worker()
    thread = threading.Thread(target=worker.run)
    thread.start()
    with world.store.write() as c:
        digest = c.execute(models.insert().values(digest="0" * 64, name="other", active=True, facts=world.facts.to_json(),
                                                  seconds=1.0, created=0.0)).inserted_primary_key[0]
    try:
        until(worker._stop.is_set, "an end")
    finally:
        worker._stop.set()
        thread.join()
        with world.store.write() as c:
            c.execute(models.delete().where(models.c.digest == digest))


def test_what_is_no_model(world, tmp_path):
    for data, error, match in ((b"", lt.FileError, "no file of a network"), (b"LTNNFILE", lt.FileError, "too few bytes"),
                               ((world.folder / "client.network").read_bytes(), lt.UnsupportedError, "that clients need")):
        (tmp_path / "m").write_bytes(data)
        with pytest.raises(error, match=match):
            open_model(file_of(tmp_path / "m"), "cpu")
        with pytest.raises(error, match=match):
            Registry(world.store, world.blobs).add(tmp_path / "m", "m")
    with pytest.raises(lt.FileError, match="check the path"):
        file_of(tmp_path / "none")


def test_only_regular_files_are_models(tmp_path):
    """A pipe would keep its reader waiting, and a device has no end."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for path, what in ((pipe, "a pipe"), ("/dev/zero", "a device")):
        with pytest.raises(lt.FileError, match=what):
            file_of(path)
    (tmp_path / "other").write_bytes(bytes(1000))
    with pytest.raises(lt.FileError, match="no file of a network or a program"):
        file_of(tmp_path / "other")


def test_a_confined_process_has_no_rights(tmp_path):
    """What a bundle's reader could do if it were taken over: it opens no file, writes none, starts nothing."""
    (tmp_path / "secret").write_text("x")
    os.chmod(tmp_path / "secret", 0o600)
    code = f"""
import os, sys
from latticino.serve.confined import confine
confine(1 << 20)
def tried(f):
    try: f()
    except BaseException as why: return type(why).__name__
    return "done"
print(tried(lambda: open({str(tmp_path / 'secret')!r})), tried(os.fork),
      tried(lambda: os.write(os.open('/tmp', os.O_TMPFILE | os.O_WRONLY), b'x')), tried(lambda: bytearray(1 << 30)),
      tried(lambda: os.setuid(0)))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=dict(os.environ, PYTHONWARNINGS="ignore"))
    read, fork, write, memory, root = done.stdout.split()
    assert memory == "MemoryError" and {read, fork, write, root} == {"PermissionError"}, done.stderr


def test_an_interrupt_ends_a_confined_process_as_a_signal():
    """In whatever code it is: as an exception, it could come out as an error of the bundle."""
    code = """
import os, signal, sys
from latticino.serve import confined
def interrupted(*_, **options):
    try: os.kill(os.getpid(), signal.SIGINT)
    except KeyboardInterrupt: raise RuntimeError
confined.open_reader, confined.file_of = interrupted, print
sys.argv.append("model")
confined.main()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == -signal.SIGINT, done.stderr


def test_shape_of_results(world):
    """What a service gives is what the clients' part decrypts."""
    id_ = world.submit(1, world.body(1, 3))
    row, = world.run(world.worker(), [id_])
    y = world.half.decrypt(world.clients[1], lt.from_bytes(world.blobs.read("results", world.tenants[1], row.result),
                                                           world.clients[1].context))
    assert np.abs(y - lt.nn.load(world.folder / "server.network", "cpu").shadow(world.x[3])[0]).max() < 2**-8
