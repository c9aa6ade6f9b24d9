"""`latticino worker` on PostgreSQL, as on several machines: three processes, one killed at each step of a job."""

import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import latticino as lt
from latticino.saved import messages
from running import SECONDS, Running, until

STEPS = ("load", "compute", "written")


def test_workers_are_killed_at_every_step(tmp_path, postgresql):
    """No job is lost or done twice, and every result has the bytes of a run in this process. The lease of a killed
    worker expires, and another one takes its job."""
    context = lt.Context("test-n10-boot-insecure", "cpu", threads=1)
    path = tmp_path / "score.lt"
    lt.save_program(path, lambda x: (x * x).bootstrap() * 0.5 + x * 0.25, context, lt.Shape((16,), None, (-1, 1)))
    hooks, marks = tmp_path / "hooks", tmp_path / "marks"
    hooks.mkdir()
    marks.mkdir()
    (hooks / "sitecustomize.py").write_text(Path(__file__).with_name("killed.py").read_text())
    running = Running(tmp_path / "service", [f"score={path}"], "--workers", "0", store=postgresql)
    workers = None
    try:
        token = running.tenant("a")
        service = lt.connect(running.url, token)
        client = lt.keygen(service.context("cpu"))
        keys = service.part.keys(client)
        remote = service.use(client, keys)
        for step in STEPS:
            (marks / step).touch()
        values = [np.random.default_rng(i).uniform(-1, 1, 16) for i in range(7)]
        bodies = [service.part.encrypt(client, [v], {}) for v in values]
        jobs = [remote.send(body) for body in bodies]
        environ = dict(os.environ, PYTHONWARNINGS="ignore", LATTICINO_STORE=postgresql, LATTICINO_MARKS=str(marks),
                       PYTHONPATH=os.pathsep.join([str(hooks), *filter(None, [os.environ.get("PYTHONPATH")])]))
        log = tmp_path / "log"
        with log.open("w") as file:
            workers = subprocess.Popen([sys.executable, "-m", "latticino", "worker", "--workers", "3", "--device", "cpu",
                                        "--threads", "1", "--blobs", str(tmp_path / "service" / "blobs"), "--folder",
                                        str(tmp_path / "other")], stderr=file, env=environ)
        start, session = time.monotonic(), client.context.bind(keys)
        program = lt.load_program(path)
        for job, body in zip(jobs, bodies):
            want = messages.result_to_bytes(program.run(session, lt.from_bytes(body, session)), True)
            assert job.data(SECONDS) == want
        assert time.monotonic() - start > 25  # a lease had to expire
        assert not list(marks.iterdir())
        attempts = sorted(job.look().row["attempts"] for job in jobs)
        lost = [int((tmp_path / f"held.{step}").read_text()) for step in STEPS]
        assert all(1 <= held <= 2 for held in lost)
        assert sum(attempts) == len(jobs) + sum(lost) and max(attempts) <= 3
        assert log.read_text().count('"event": "job.done"') == len(jobs)
        assert log.read_text().count('"event": "worker.ready"') == 3 + len(STEPS)
        workers.terminate()
        assert workers.wait(SECONDS) == 0
    finally:
        if workers is not None:
            workers.kill()
        assert running.stop() == 0


def test_a_worker_of_an_empty_folder_ends_at_once(tmp_path):
    done = subprocess.run([sys.executable, "-m", "latticino", "worker", "--folder", str(tmp_path / "none"), "--device", "cpu"],
                          capture_output=True, text=True, timeout=SECONDS)
    assert done.returncode == 1 and "start latticino serve first" in done.stderr
    assert "process.started" not in done.stderr + done.stdout


@pytest.mark.parametrize("wrong", ["store", "blobs"])
def test_a_worker_elsewhere_says_what_it_lacks(tmp_path, wrong, postgresql):
    path = tmp_path / "score.lt"
    lt.save_program(path, lambda x: x + 0.5, lt.Context("test-n10-leveled-insecure", "cpu", threads=1), np.zeros(4))
    running = Running(tmp_path / "service", [f"score={path}"], "--workers", "0", store=postgresql)
    try:
        store = postgresql.replace("host=", "host=/none") if wrong == "store" else postgresql
        done = subprocess.run([sys.executable, "-m", "latticino", "worker", "--store", store, "--blobs",
                               str(tmp_path / ("service/blobs" if wrong == "store" else "empty")), "--device", "cpu"],
                              capture_output=True, text=True, timeout=SECONDS)
        assert done.returncode == 1 and ("pass --blobs" if wrong == "blobs" else "FileError: store: had") in done.stderr
    finally:
        assert running.stop() == 0
    until(lambda: not running.pids("worker"), "no worker")
