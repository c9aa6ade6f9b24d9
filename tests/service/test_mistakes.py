"""A service under wrong conditions: files, folders, ports, disks and signals. Each error says what to do."""

import io
import os
import signal
import socket
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from world import Rows, carry_out, hash_of

import latticino as lt
from latticino import cli
from latticino.serve.blobs import OPERATOR, Blobs
from latticino.serve.bundles import ATTEMPTS, Bundles
from latticino.serve.checker import Checker
from latticino.serve.models import Facts
from latticino.serve.registry import Registry
from latticino.serve.resources import Resources
from latticino.serve.store import Store
from latticino.serve.worker import Worker
from running import SECONDS, Running, until

PRESET = "test-n10-boot-insecure"


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """A file of a small program."""
    path = tmp_path_factory.mktemp("model") / "score.lt"
    lt.save_program(path, lambda a: a * a, lt.Context(PRESET, "cpu", threads=1), np.zeros(8))
    return path


@pytest.fixture(scope="module")
def running(model, tmp_path_factory):
    made = Running(tmp_path_factory.mktemp("service"), [f"score={model}"])
    try:
        yield made
    finally:
        assert made.stop() == 0


def said(capsys, *words):
    status = cli.main([str(word) for word in words])
    return status, capsys.readouterr().err


def test_files_that_are_no_models(model, tmp_path, capsys):
    data = model.read_bytes()
    (tmp_path / "client").write_bytes(lt.load_program(model).client_bytes())
    (tmp_path / "later").write_bytes(data[:8] + b"\x09\0\0\0" + data[12:])
    (tmp_path / "cut").write_bytes(data[:-1])
    (tmp_path / "empty").write_bytes(b"")
    (tmp_path / "page.html").write_text("<html>")
    os.symlink(tmp_path / "nothing", tmp_path / "dangling")
    client = lt.keygen(lt.Context(PRESET, "cpu", threads=1))
    lt.save_secret_key(tmp_path / "secret", client, passphrase="a long passphrase")
    for name, text in (("client", "name the file that lt.save_program wrote"), ("later", "use a later version"),
                       ("cut", "obtain it again"), ("empty", "no file of a network or a program"), ("page.html", "no file of"),
                       ("dangling", "check the path"), ("secret", "no file of a network"), ("none", "check the path"),
                       (".", "server.network of a network")):
        status, text_found = said(capsys, "serve", f"m={tmp_path / name}", "--folder", tmp_path / "service", "--port", 0)
        assert status == 1 and text in text_found, (name, text_found)


def test_names_that_paths_give(model, tmp_path, capsys):
    """A path may contain an equals sign. The name of a folder may be no valid name of a model."""
    folder = tmp_path / "lr=0.1"
    folder.mkdir()
    (folder / "score.lt").write_bytes(model.read_bytes())
    at = ("--folder", tmp_path / "service", "--port", 0)
    for given, text in ((folder / "score.lt", "pass NAME=FILE"), (f"{folder}=x", "pass NAME=FILE"), ("a b=x", "pass NAME=FILE")):
        status, found = said(capsys, "serve", given, *at)
        assert status == 1 and text in found
    status, found = said(capsys, "serve", f"a={model}", f"a={model}", *at)
    assert status == 1 and "the name a twice" in found
    status, found = said(capsys, "serve", f"a={model}", f"b={model}", *at)
    assert status == 1 and "one model under two names" in found


def test_a_start_that_fails_changes_no_models(model, tmp_path, capsys):
    """Also if a later file is no model, one model has two names, or the device is too small for all of them."""
    folder = tmp_path / "service"
    folder.mkdir()
    store, blobs = Store(f"sqlite:///{folder}/service.sqlite"), Blobs(folder / "blobs")
    registry = Registry(store, blobs)
    context = lt.Context(PRESET, "cpu", threads=1)
    lt.save_program(tmp_path / "other.lt", lambda x: x + 0.5, context, lt.Shape((8,)))
    registry.add(model, "before")
    before = registry.active()
    (tmp_path / "none").write_bytes(b"none")
    for words, text in (([f"after={model}", f"other={tmp_path}/other.lt", f"none={tmp_path}/none"], "no file of"),
                        ([f"after={model}", f"b={model}"], "one model under two names"),
                        ([f"after={model}", f"other={tmp_path}/other.lt", "--memory", "1"], "bytes of memory for 2 models")):
        status, found = said(capsys, "serve", *words, "--folder", folder, "--port", 0)
        assert status == 1 and text in found and registry.active() == before, found
    store.close()


def test_a_port_in_use_changes_nothing(running, model, tmp_path, capsys):
    """Nor does a second service on the folder of a running one."""
    port = int(running.url.rpartition(":")[2])
    at = ("--folder", tmp_path / "service", "--port", port)
    status, text = said(capsys, "serve", f"other={model}", *at)
    assert status == 1 and "Address already in use" in text and "--port" in text
    store = Store(f"sqlite:///{tmp_path}/service/service.sqlite")
    assert Registry(store, Blobs(tmp_path / "service" / "blobs")).active() == []
    status, text = said(capsys, "serve", f"other={model}", "--folder", running.folder, "--port", 0)
    assert status == 1 and "another service uses" in text and "--folder" in text
    assert lt.connect(running.url, running.tenant("a")).name == "score"
    with pytest.raises(lt.FileError, match="another service uses"):
        Blobs(running.folder / "blobs").hold()


def test_folders_that_take_no_files(tmp_path, model, capsys):
    (tmp_path / "file").write_text("")
    for folder in ("/proc/service", tmp_path / "file"):
        status, text = said(capsys, "serve", f"m={model}", "--folder", folder, "--port", 0)
        assert status == 1 and str(folder) in text
    blobs = tmp_path / "blobs"
    Blobs(blobs)
    (blobs / "tmp").rmdir()
    os.symlink("/proc/self", blobs / "tmp")
    with pytest.raises(lt.FileError, match="make room or change its permissions"):
        Blobs(blobs)


def test_folders_on_two_disks(tmp_path):
    """A link to the whole folder works. A link to one of its folders on another disk would make every upload fail."""
    os.symlink(tmp_path, tmp_path / "link")
    Blobs(tmp_path / "link" / "blobs").put("inputs", "a", b"x")
    other = f"/dev/shm/latticino-{os.getpid()}"
    try:
        os.mkdir(other)
        if os.stat(other).st_dev == os.stat(tmp_path).st_dev:
            pytest.skip("no second disk here")
        (tmp_path / "blobs" / "chunks").rmdir()
        os.symlink(other, tmp_path / "blobs" / "chunks")
        with pytest.raises(lt.FileError, match="lie on 2 disks.*move the whole folder"):
            Blobs(tmp_path / "blobs")
    finally:
        os.rmdir(other)


def test_workers_with_another_folder(running, tmp_path, capsys):
    store = f"sqlite:///{running.folder}/service.sqlite"
    status, text = said(capsys, "worker", "--folder", tmp_path, "--store", store)
    assert status == 1 and "lacks the model score of the store" in text and "--blobs" in text


def checked_by(script, tmp_path, monkeypatch):
    """What checks a bundle by a shell script in place of the confined process, and returns its row."""
    (tmp_path / "python").write_text(f"#!/bin/sh\ncat > /dev/null\nulimit -c 0\n{script}\n")
    (tmp_path / "python").chmod(0o755)
    monkeypatch.setattr("latticino.serve.checker.sys.executable", str(tmp_path / "python"))
    store, blobs = Store(f"sqlite:///{tmp_path}/s.sqlite"), Blobs(tmp_path / "blobs")
    rows = Rows(store, blobs)
    tenant, digest = rows.tenant("a"), rows.model()
    blobs.put("chunks", tenant, b"chunk")
    part = Path(blobs.path("models", OPERATOR, hash_of("client")))
    part.parent.mkdir(parents=True, exist_ok=True)
    part.write_bytes(b"part of clients")
    hash_ = rows.bundle(tenant, digest, state="uploaded")
    monkeypatch.setattr(Bundles, "file", lambda *_: io.BytesIO(b"chunk"))
    monkeypatch.setattr(Bundles, "withdraw_damaged", lambda *_: 0)

    def check():
        Checker(store, blobs, threading.Event()).step()
        return rows.bundles.get(tenant, digest, hash_)

    return check


@pytest.mark.parametrize("output, status", [(b"", 1), (b"x", 0), (b"[]", 0), (b'{"id": "a"}', 0), (b'{"id": 1, "bytes": "x"}', 0),
                                            (b'{"id": "a", "bytes": 1}', 3)])
def test_a_verdict_that_is_none_refuses_the_bundle(tmp_path, monkeypatch, output, status):
    """As if a hostile bundle had taken over the process."""
    row = checked_by(f"printf %s '{output.decode()}'\nexit {status}", tmp_path, monkeypatch)()
    assert row.state == "refused" and "make it again" in row.reason


@pytest.mark.parametrize("name", ["HUP", "INT", "TERM", "KILL"])
def test_a_check_that_is_stopped_is_made_again(tmp_path, monkeypatch, name, hang_ups):
    """If a signal to all processes stops it, that is not the fault of the bundle."""
    mark = tmp_path / "tried"
    check = checked_by(f"[ -e {mark} ] || {{ touch {mark}; kill -s {name} $$; }}\n"
                       "printf %s '{\"id\": \"a\", \"bytes\": 1}'", tmp_path, monkeypatch)
    row = check()
    assert (row.state, row.reason, row.attempts) == ("uploaded", None, 1) and mark.exists()
    assert check().state == "ready"


@pytest.mark.parametrize("name", ["XCPU", "XFSZ", "SEGV", "ABRT", "BUS", "SYS", "ILL", "FPE", "PIPE"])
def test_a_check_that_its_limits_end_refuses_the_bundle(tmp_path, monkeypatch, name):
    row = checked_by(f"kill -s {name} $$", tmp_path, monkeypatch)()
    assert row.state == "refused" and f"status {-getattr(signal, 'SIG' + name)}" in row.reason


def test_a_check_that_is_always_stopped_is_refused(tmp_path, monkeypatch):
    """So that a bundle which makes the process stop itself is not checked for ever."""
    check = checked_by("kill -s TERM $$", tmp_path, monkeypatch)
    assert [check().state for _ in range(ATTEMPTS)] == ["uploaded"] * ATTEMPTS
    row = check()
    assert row.state == "refused" and f"did not end in {ATTEMPTS} tries" in row.reason


def test_facts_of_another_release(running):
    store = Store(f"sqlite:///{running.folder}/service.sqlite")
    row, = Registry(store, Blobs(running.folder / "blobs")).active()
    for text in (row.facts[:-1] + ', "more": 1}', "{}", "[]", row.facts.replace('"level"', '"height"')):
        with pytest.raises(lt.FileError, match="another release wrote.*start latticino serve again"):
            Facts.read(text)


def test_a_full_disk_holds_jobs_up(running, model, tmp_path, monkeypatch):
    """If the disk has no room for a result, that is not the fault of the job: it runs when there is room."""
    monkeypatch.setattr("latticino.serve.worker._FULL", 0.05)
    store, blobs = Store(f"sqlite:///{tmp_path}/s.sqlite"), Blobs(tmp_path / "blobs")
    rows = Rows(store, blobs)
    digest = Registry(store, blobs).add(model, "score").digest
    tenant = rows.tenant("a")
    bundle = rows.bundle(tenant, digest)
    id_ = rows.submit(tenant, digest, bundle)
    worker = Worker(store, blobs, Resources(threads=1), threading.Event())
    worker._open_models()
    monkeypatch.setattr(blobs, "read", lambda *_: b"")
    monkeypatch.setattr("latticino.serve.worker.parts_of", lambda *_: [])
    monkeypatch.setattr(worker._sessions, "get", lambda *_: None)
    monkeypatch.setattr(worker._models[digest][0], "run", lambda *_: b"result")
    put, room, full = blobs.put, iter([False, True, True]), iter([True, False])

    def putting(*arguments):
        if next(full):
            raise OSError(28, "No space left on device")
        return put(*arguments)

    monkeypatch.setattr(blobs, "holds", lambda _: next(room))
    monkeypatch.setattr(blobs, "put", putting)
    for _ in range(2):  # there is no room before the run, and then after it
        carry_out(worker, worker._jobs.claim([digest]))
        assert (rows.job(id_).state, rows.job(id_).attempts) == ("queued", 0)
    carry_out(worker, worker._jobs.claim([digest]))
    assert rows.job(id_).state == "done" and Path(blobs.path("results", tenant, rows.job(id_).result)).read_bytes() == b"result"
    assert worker.counters()["jobs"] == {"returned": 2, "done": 1}


def test_a_writer_on_a_full_disk_leaves_nothing(tmp_path):
    blobs = Blobs(tmp_path / "blobs")
    writer = blobs.writer("inputs", "a")
    file = writer._file

    class Full:
        def close(self):
            file.close()
            raise OSError(28, "No space left on device")

    writer._file = Full()
    with pytest.raises(OSError, match="No space"), writer:
        pass
    assert list((blobs.folder / "tmp").iterdir()) == []


def test_a_signal_to_all_processes_and_a_second_one(model, tmp_path):
    """A supervisor may send SIGTERM to all processes at once: the front stays until the others have ended. A second one
    to the service ends all at once."""
    made = Running(tmp_path / "service", [f"score={model}"], "--grace", "600")
    pids = {role: until(lambda role=role: made.pids(role), role)[0] for role in ("front", "checker", "worker")}
    until(lambda: "front.ready" in made.log.read_text() and "worker.ready" in made.log.read_text(), "readiness")
    assert len({os.getsid(pid) for pid in [made.process.pid, *pids.values()]}) == 4
    os.kill(pids["worker"], signal.SIGSTOP)  # a job that does not end
    for pid in (made.process.pid, pids["front"], pids["checker"]):
        os.kill(pid, signal.SIGTERM)
    until(lambda: not made.pids("checker"), "the end of the checker")
    assert made.pids("front") == [pids["front"]] and made.process.poll() is None
    with pytest.raises(lt.ServiceError, match="no valid token"):
        lt.connect(made.url, "lt_none")
    made.process.send_signal(signal.SIGTERM)
    assert made.process.wait(SECONDS) == 0 and not made.pids("front") and not made.pids("worker")
    assert '"event": "process.killed", "role": "worker"' in made.log.read_text()


def test_addresses_that_are_no_service(model):
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()

        def answer(text):
            with server.accept()[0] as c:
                c.recv(1 << 16)
                c.sendall(f"HTTP/1.1 200 OK\r\nContent-Length: {len(text)}\r\nConnection: close\r\n\r\n{text}".encode())

        for text, match in (("<html>", "is no JSON"), ("[]", "without models"), ('{"models": [1]}', "without name"), ("null", "without models")):
            thread = threading.Thread(target=answer, args=(text,))
            thread.start()
            with pytest.raises(lt.ServiceError, match=match):
                lt.connect(f"http://127.0.0.1:{server.getsockname()[1]}", "lt_x")
            thread.join()
    with pytest.raises(lt.FileError, match="certificates of authorities"):
        lt.connect("https://127.0.0.1:1", "lt_x", cafile=str(model))


def test_a_model_that_takes_more_memory_than_there_is(model, tmp_path, monkeypatch):
    """The system ends the process that reads it."""
    store, blobs = Store(f"sqlite:///{tmp_path}/s.sqlite"), Blobs(tmp_path / "blobs")
    monkeypatch.setattr("latticino.serve.registry._DESCRIBE", "import os; os.kill(os.getpid(), 9)")
    with pytest.raises(lt.OutOfMemoryError, match="ended by signal 9.*a larger machine"):
        Registry(store, blobs).add(model, "m")


def test_a_terminal_that_closes_ends_a_service_in_order(model, tmp_path, hang_ups):
    """SIGHUP is like SIGTERM, also before any process was started, unless the operator has it ignored, as nohup does."""
    made = Running(tmp_path / "service", [f"score={model}"])
    made.process.send_signal(signal.SIGHUP)
    assert made.process.wait(SECONDS) == 0 and '"event": "service.stopped"' in made.log.read_text()
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        made.start()
    finally:
        signal.signal(signal.SIGHUP, before)
    made.process.send_signal(signal.SIGHUP)
    until(lambda: made.pids("worker"), "a worker")
    assert made.stop() == 0


def test_a_worker_that_is_started_before_its_service(model, tmp_path, monkeypatch, capsys):
    """It waits for models in a store that others share, and makes no store of its own in an empty folder."""
    monkeypatch.setattr("latticino.serve.worker._AWAIT", 0.01)
    status, text = said(capsys, "worker", "--folder", tmp_path / "none")
    assert status == 1 and "no service in" in text and "start latticino serve first" in text and not (tmp_path / "none").exists()
    store, blobs, stop = Store(f"sqlite:///{tmp_path}/s.sqlite"), Blobs(tmp_path / "blobs"), threading.Event()
    worker = Worker(store, blobs, Resources(threads=1), stop)
    opening = threading.Thread(target=worker._open_models)
    opening.start()
    until(lambda: "worker.waiting" in capsys.readouterr().err, "a worker that waits")
    assert opening.is_alive() and not worker._models
    digest = Registry(store, blobs).add(model, "score").digest
    opening.join(SECONDS)
    assert set(worker._models) == {digest}
    early = Worker(Store(f"sqlite:///{tmp_path}/empty.sqlite"), blobs, Resources(threads=1), stop)
    stop.set()
    early._open_models()
    assert early._models == {}


def test_names_of_blobs_are_not_interned(tmp_path, monkeypatch):
    """Python 3.12 never frees interned text, and `pathlib.Path` interns each part of a path. A front that made a `Path` of
    each result grew by 200 bytes per job."""
    interned = []
    real = sys.intern
    monkeypatch.setattr(sys, "intern", lambda text: interned.append(text) or real(text))
    blobs = Blobs(tmp_path / "blobs")
    names = []
    for i in range(3):
        names.append(blobs.put("results", "a", b"%d" % i))
        assert blobs.has("results", "a", names[-1]) and blobs.intact("results", "a", names[-1])
        assert blobs.read("results", "a", names[-1]) == b"%d" % i
    blobs.discard("results", "a", names[0])
    assert blobs.sweep("results", set, -60) == 2
    blobs.sweep_unfinished(-60)
    assert not any(blobs.has("results", "a", name) for name in names)
    assert not [text for text in interned if len(text) >= 32]
    assert Path(tmp_path, names[0]).name in names  # what this test looks for
    assert names[0] in interned
