"""Disks that are not mounted, a log that cannot be written, and a system without room for a process: jobs and bundles
wait, and the service goes on."""

import hashlib
import json
import logging
import os
import socket
import subprocess
import sys
import threading

import pytest
from test_mistakes import said
from test_routes import asked
from world import Rows, carry_out

import latticino as lt
from latticino.cluster.shards import Outcome
from latticino.serve import checker as checkers
from latticino.serve import traffic
from latticino.serve.blobs import AREAS, Away, Blobs
from latticino.serve.checker import Checker
from latticino.serve.front import Front, Settings
from latticino.serve.logs import AsLines
from latticino.serve.manifest import Manifest
from latticino.serve.registry import Registry
from latticino.serve.resources import Resources
from latticino.serve.service import Child
from latticino.serve.store import Store
from latticino.serve.tables import jobs
from latticino.serve.worker import Worker
from running import Running, alive, until


@pytest.fixture
def world(tmp_path, model):
    """Rows with a tenant, its bundle and a job, and the folder of blobs on the machine's own disk."""
    store = Store(f"sqlite:///{tmp_path}/s.sqlite")
    made = Rows(store, Blobs(tmp_path / "blobs"))
    made.digest = Registry(store, made.blobs).add(model, "m").digest
    made.owner = made.tenant("a")
    made.bundled = made.bundle(made.owner, made.digest)
    input_ = made.blobs.put("inputs", made.owner, b"x")
    made.id = made.submit(made.owner, made.digest, made.bundled, input=input_, input_size=1)
    yield made
    store.close()


def unmount(blobs, how):
    """Takes the disk of the blobs away: the folder is gone, or empty as the place where a disk is mounted. Returns a function
    that brings it back."""
    gone = blobs.folder.with_name("gone")
    os.rename(blobs.folder, gone)
    if how == "empty":
        blobs.folder.mkdir()

    def mount():
        if how == "empty":
            blobs.folder.rmdir()  # nothing was made in it
        os.rename(gone, blobs.folder)

    return mount


HOW = pytest.mark.parametrize("how", ["gone", "empty"])


@HOW
def test_jobs_wait_for_a_disk_that_is_not_mounted(world, monkeypatch, how):
    """A worker that tried three times in a moment gave up every job that waited."""
    monkeypatch.setattr("latticino.serve.worker._FULL", 0.0)
    worker = Worker(world.store, world.blobs, Resources(threads=1), threading.Event())
    worker._open_models()
    mount = unmount(world.blobs, how)
    for _ in range(4):
        carry_out(worker, worker._jobs.claim([world.digest]))
        assert (world.job(world.id).state, world.job(world.id).attempts) == ("queued", 0)
    mount()
    for count in range(1, 3):  # now the chunk of its keys is really lost, which counts
        monkeypatch.setattr("latticino.serve.worker.parts_of", lambda *_: [])
        carry_out(worker, worker._jobs.claim([world.digest]))
        assert (world.job(world.id).state, world.job(world.id).attempts) == ("queued", count)
    assert worker.counters()["jobs"] == {"returned": 4, "retried": 2}


def test_keys_on_a_disk_that_is_not_mounted(world, monkeypatch):
    """The inputs were read before."""
    monkeypatch.setattr("latticino.serve.worker._FULL", 0.0)
    monkeypatch.setattr("latticino.serve.worker.parts_of", lambda *_: [])
    worker = Worker(world.store, world.blobs, Resources(threads=1), threading.Event())
    worker._open_models()
    taken = worker._held(worker._jobs.claim([world.digest]))
    unmount(world.blobs, "empty")
    worker._conclude(taken, worker._computed(taken))
    assert (world.job(world.id).state, world.job(world.id).attempts) == ("queued", 0)
    assert world.bundles.get(world.owner, world.digest, world.bundled).state == "ready"


@HOW
def test_checks_wait_for_a_disk_that_is_not_mounted(world, monkeypatch, how):
    """A bundle is not refused for it."""
    monkeypatch.setattr(checkers, "_AWAY", 0.0)
    data = b"no bundle"
    manifest = Manifest(len(data), (hashlib.sha256(data).hexdigest(),))
    world.bundles.announce(world.owner, world.digest, manifest)
    world.bundles.stored(world.owner, world.blobs.put("chunks", world.owner, data))
    world.bundles.commit(world.owner, world.digest, manifest.hash)
    checker = Checker(world.store, world.blobs, threading.Event())
    mount = unmount(world.blobs, how)
    for _ in range(4):
        assert checker.step()
        row = world.bundles.get(world.owner, world.digest, manifest.hash)
        assert (row.state, row.attempts) == ("uploaded", 0)
    mount()
    assert checker.step() and world.bundles.get(world.owner, world.digest, manifest.hash).state == "refused"


@HOW
def test_results_on_a_disk_that_is_not_mounted_are_not_gone(world, how):
    """410 would tell a tenant that its result was deleted."""
    result = world.blobs.put("results", world.owner, b"result")
    with world.store.write() as c:
        c.execute(jobs.update().values(state="done", result=result, result_size=6))
    front = (Front(world.store, world.blobs, Settings(), lambda: False).app(), world.tenants.token("a"))
    path = f"/v1/jobs/{world.id}/result"
    assert asked(front, "GET", path, {})[0] == 200
    mount = unmount(world.blobs, how)
    assert asked(front, "GET", path, {})[0] == 503
    mount()
    assert asked(front, "GET", path, {})[0] == 200
    os.unlink(world.blobs.path("results", world.owner, result))
    assert asked(front, "GET", path, {})[0] == 410


def test_no_process_of_a_service_makes_the_folder_of_blobs(tmp_path):
    """A worker that was started again made the folders where the disk should be, and all blobs then seemed lost."""
    for make in (lambda: None, (tmp_path / "blobs").mkdir):
        make()
        with pytest.raises(lt.FileError, match="mount its disk"):
            Blobs(tmp_path / "blobs", make=False)
    assert list((tmp_path / "blobs").iterdir()) == []
    Blobs(tmp_path / "blobs")
    assert Blobs(tmp_path / "blobs", make=False).answers()


def test_a_service_beside_no_blobs_does_not_start(world, model, tmp_path, capsys):
    """It does not start at the second try either. With a store without keys it starts, and the folder may be empty."""
    blobs = tmp_path / "none"
    with world.store.write() as c:
        c.exec_driver_sql("INSERT INTO chunks VALUES (?, ?, 5, 1)", (world.owner, "0" * 64))
    words = ("serve", f"m={model}", "--store", f"sqlite:///{tmp_path}/s.sqlite", "--folder", tmp_path / "f", "--blobs", blobs, "--port", 0)
    for _ in range(2):
        status, text = said(capsys, *words)
        assert status == 1 and "a store that names 1 chunks of keys" in text and "mount its disk" in text
        assert not blobs.exists()


def test_blobs_that_are_lost_or_cannot_be_read(tmp_path, monkeypatch):
    blobs = Blobs(tmp_path / "blobs")
    name = blobs.put("inputs", "a", b"x")
    assert blobs.has("inputs", "a", name) and not blobs.has("inputs", "a", "0" * 64)
    for number, kind in ((5, lt.FileError), (13, Away), (24, Away), (116, Away)):
        def refused(*_, number=number):
            raise OSError(number, os.strerror(number))

        monkeypatch.setattr("builtins.open", refused)
        with pytest.raises(kind) as why:
            blobs.read("inputs", "a", name)
        assert type(why.value) is kind
        if kind is Away:
            with pytest.raises(Away):
                blobs.intact("inputs", "a", name)
        else:
            assert not blobs.intact("inputs", "a", name)
        monkeypatch.undo()
    assert type(Outcome.of(Away.explain("a", "b", "c", "d")).raised()) is lt.FileError  # as a worker of lt.cluster says it
    assert {"models", "chunks", "inputs", "results"} == set(AREAS)


# ---- logs and processes ----


@pytest.mark.parametrize("kind", ["a full disk", "a pipe that nobody reads"])
def test_a_service_whose_log_cannot_be_written(model, tmp_path, kind):
    """It continues: a full disk for logs, or the end of the program that collected them, is no reason to stop."""
    class Unlogged(Running):
        def start(self):
            self.out = self.folder / "out"
            if kind == "a full disk":
                log = os.open("/dev/full", os.O_WRONLY)
            else:
                reader, log = os.pipe()
                os.close(reader)
            with self.out.open("w") as out:
                self.process = subprocess.Popen([
                    sys.executable, "-m", "latticino", "serve", *self._models, "--port", "0", "--device", "cpu", "--threads", "1",
                    *self._options], stdout=out, stderr=log, env=dict(os.environ, PYTHONWARNINGS="ignore"))
            os.close(log)
            self.log.touch()
            self.url = until(self._address, "an address")

    made = Unlogged(tmp_path / "service", [f"score={model}"])
    try:
        service = lt.connect(made.url, made.tenant("a"))
        values = service.use(lt.keygen(service.context("cpu"))).run([0.5] * 8)
        assert abs(values - 0.75).max() < 2**-8
        children = made.children()
        assert sorted(children.values()) == ["checker", "front", "worker"]
    finally:
        assert made.stop() == 0
    assert not any(map(alive, children))


def test_a_process_that_cannot_be_started_now_is_started_later(monkeypatch, capsys):
    """For lack of memory or of processes, as after a worker that took too much of them."""
    from latticino.serve.process import Config

    tried = []

    def refused(*words, **_):
        tried.append(words)
        raise BlockingIOError(11, "Resource temporarily unavailable")

    child = Child("worker", Config("sqlite:////nowhere", "/nowhere"))
    monkeypatch.setattr("latticino.serve.service.subprocess.Popen", refused)
    monkeypatch.setattr("latticino.serve.service._RESTART", 0.0)
    for count in range(1, 3):
        child.start()
        assert len(tried) == count and not child.alive
    child.say("drain")
    child.end()
    assert capsys.readouterr().err.count('"event": "process.failed"') == 2


# ---- connections ----


@pytest.mark.parametrize("soft, hard, left, raised", [
    (1024, 1024, 256, None), (1024, 4096, 1792, 4096), (1024, 1 << 20, 4096, 8704), (1024, -1, 4096, 8704), (-1, -1, 4096, None),
    (1 << 20, 1 << 20, 4096, None), (64, 64, 16, None)])
def test_connections_leave_room_for_files(monkeypatch, soft, hard, left, raised):
    """For a front with a limit of open files. The limit is raised if the system allows it."""
    given = []
    monkeypatch.setattr(traffic.resource, "getrlimit", lambda _: (soft, hard))
    monkeypatch.setattr(traffic.resource, "setrlimit", lambda _, limits: given.append(limits))
    assert traffic.connections_for_files() == left
    assert [limit for limit in given if limit[0] != soft] == ([] if raised is None else [(raised, hard)])


def test_a_stranger_who_opens_many_connections(model, tmp_path):
    """With the usual limit of 1024 files, 1200 idle connections stopped the front for a minute, and asyncio wrote two
    megabytes of log per second. Now they are too few; if the system allows no more files, they are refused, and requests go
    on when they have closed."""
    made = Few(tmp_path / "service", [f"score={model}"])
    try:
        token = made.tenant("a")
        host, port = made.url.removeprefix("http://").split(":")
        most = (600 - 512) // 2
        opened = [socket.create_connection((host, int(port))) for _ in range(700)]
        refused = set()

        def all_but_most():
            refused.update(c for c in opened if c not in refused and b"503" in _said(c))
            return len(refused) >= len(opened) - most

        until(all_but_most, "refusals", 20)
        assert len(refused) < len(opened)
        for c in opened:
            c.close()
        assert until(lambda: lt.connect(made.url, token), "an answer", 10).name == "score"
        assert len(made.log.read_text()) < 10_000
    finally:
        assert made.stop() == 0


class Few(Running):
    """A service whose processes may open 600 files."""

    def start(self):
        self.out = self.folder / "out"
        words = ["serve", *self._models, "--port", "0", "--device", "cpu", "--threads", "1", *self._options]
        with self.out.open("w") as out, self.log.open("a") as log:
            self.process = subprocess.Popen(
                ["/bin/sh", "-c", 'ulimit -n 600; exec "$@"', "sh", sys.executable, "-m", "latticino", *words], stdout=out, stderr=log,
                env=dict(os.environ, PYTHONWARNINGS="ignore"))
        self.url = until(self._address, "an address")


def _said(connection):
    connection.setblocking(False)
    try:
        return connection.recv(100)
    except BlockingIOError:
        return b""


def test_lines_of_other_packages_are_written_once_a_second(capsys, monkeypatch):
    now = [0.0]
    monkeypatch.setattr("latticino.serve.logs.time.monotonic", lambda: now[0])
    handler, logger = AsLines(), logging.Logger("package")
    logger.addHandler(handler)
    for text, at in (("a", 0.0), ("a", 0.5), ("b", 0.6), ("b", 1.5), ("b", 1.7), ("a", 1.8)):
        now[0] = at
        logger.error(text)
    assert [json.loads(line)["message"] for line in capsys.readouterr().err.splitlines()] == ["a", "b", "b", "a"]


# ---- batches ----


def test_a_batch_whose_folder_takes_no_file(model, tmp_path, monkeypatch):
    """Errors of the disk are FileErrors, for the program that starts a batch and for its workers."""
    program = lt.load_program(model)
    context = lt.Context("test-n10-boot-insecure", "cpu", threads=1)
    client = lt.keygen(context)
    keys, item = client.server_keys(program.plan), client.encrypt([0.5] * 8)
    with lt.cluster.Executor(tmp_path / "blobs", lt.cluster.Local(["cpu"])) as executor:
        bundle = executor.put_keys(keys)
        chunk, = json.loads(executor._blobs.read("chunks", "cluster", bundle))["chunks"]
        with pytest.raises(lt.FileError, match="no list of chunks of keys.*the hash that put_keys gave"):
            executor.map(model, chunk, [item])
        assert len(executor.map(model, bundle, [item])) == 1

        def full(*_):
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(Blobs, "writer", full)
        for call in (lambda: executor.map(model, bundle, [item]), lambda: executor.put_keys(client.server_keys(program.plan))):
            with pytest.raises(lt.FileError, match="takes no file .No space left on device.*make room"):
                call()
