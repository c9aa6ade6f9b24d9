"""A worker's other threads: the next job is taken while one is computed, and the result before is stored at the same
time."""

import dataclasses
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest
import sqlalchemy as sa
from test_worker import world  # noqa: F401 - the fixture
from world import carry_out

import latticino as lt
from latticino.serve.models import Model
from latticino.serve.tables import jobs
from latticino.serve.worker import Worker
from running import until


@contextmanager
def at_work(world, monkeypatch, worker, patience=60.0):
    """The worker in a thread. Its runs wait for the gate that this gives, and each next job is taken at once."""
    worker._open_models()
    monkeypatch.setattr(worker, "_open_models", lambda: None)
    monkeypatch.setattr("latticino.serve.worker._PATIENCE", patience)
    model, facts = worker._models[world.facts.digest]
    real, gate = model.run, threading.Event()

    def run(*arguments):
        assert gate.wait(60)
        return real(*arguments)

    monkeypatch.setattr(model, "run", run)
    worker._seconds[facts.digest] = 0.0
    thread = threading.Thread(target=worker.run, name="computes")
    thread.start()
    try:
        yield gate
    finally:
        worker._stop.set()
        gate.set()
        thread.join()


def test_the_next_job_is_taken_while_one_is_computed(world, monkeypatch):
    """The result of the job before is stored at the same time. Otherwise the three would wait for each other in turn.
    """
    worker, body = world.worker(), world.body(0)
    events, lock = [], threading.Lock()

    def noting(what, call):
        def noted(*arguments, **options):
            out = call(*arguments, **options)
            with lock:
                events.append((what, threading.current_thread().name))
            return out

        return noted

    monkeypatch.setattr(worker, "_take", noting("taken", worker._take))
    monkeypatch.setattr(worker._jobs, "finish", noting("finished", worker._jobs.finish))
    ids = [world.submit(0, body) for _ in range(4)]
    with at_work(world, monkeypatch, worker) as gate:
        until(lambda: len(events) == 2, "a job that is taken ahead")
        assert [world.rows.job(id_).state for id_ in ids].count("running") == 2
        assert events == [("taken", "computes"), ("taken", "ahead_0")]
        gate.set()
        until(lambda: all(world.rows.job(id_).state == "done" for id_ in ids), "the end of jobs")
    assert {name for what, name in events if what == "finished"} == {"behind_0"}
    assert [world.rows.job(id_).attempts for id_ in ids] == [1] * 4 and worker.counters()["jobs"] == {"done": 4}


def test_a_job_that_was_taken_ahead_goes_back_at_the_end(world, monkeypatch):
    """It was not run, so its attempts stay the same, and another worker takes it at once."""
    worker, body = world.worker(), world.body(0)
    first, second = (world.submit(0, body) for _ in range(2))
    with at_work(world, monkeypatch, worker):
        until(lambda: world.rows.job(second).state == "running", "a job that is taken ahead")
    row = world.rows.job(second)
    assert (row.state, row.attempts, row.lease) == ("queued", 0, None) and world.rows.job(first).state == "done"
    done, = world.run(world.worker(), [second])
    assert done.state == "done" and done.attempts == 1


def test_an_idle_worker_takes_what_waits_for_a_long_run(world, monkeypatch):
    """A run that takes longer than the last one keeps the job that was taken ahead of its end for `_PATIENCE` seconds
    only. Another worker has done it while the run still goes on, and it counts as one try."""
    busy, body = world.worker(), world.body(0)
    first, second = (world.submit(0, body) for _ in range(2))
    with at_work(world, monkeypatch, busy, patience=0.2) as gate:
        until(lambda: busy.counters()["jobs"] == {"returned": 1}, "a job that was taken ahead and given back")
        assert (world.rows.job(second).state, world.rows.job(second).attempts) == ("queued", 0)
        idle = world.worker()
        row, = world.run(idle, [second])
        assert (row.state, row.attempts) == ("done", 1) and world.rows.job(first).state == "running"
        assert idle.counters()["jobs"] == {"done": 1}
        gate.set()
        until(lambda: world.rows.job(first).state == "done", "the end of the long run")
    assert busy.counters()["jobs"] == {"returned": 1, "done": 1}


def test_a_worker_alone_takes_again_what_it_gave_back(world, monkeypatch):
    """A job that was given back is not lost if no other worker is idle: the same worker runs it next."""
    worker = world.worker()
    ids = [world.submit(0, world.body(0)) for _ in range(2)]
    with at_work(world, monkeypatch, worker, patience=0.05) as gate:
        until(lambda: worker.counters()["jobs"] == {"returned": 1}, "a job that was given back")
        gate.set()
        until(lambda: all(world.rows.job(id_).state == "done" for id_ in ids), "the end of jobs")
    assert [world.rows.job(id_).attempts for id_ in ids] == [1, 1]


def test_no_job_waits_for_keys_that_are_loaded(world, monkeypatch):
    """The time to load keys is no part of a usual run. A job that was taken ahead of it would be given back each time."""
    worker, real, loading, gate = world.worker(), Worker._keys, threading.Event(), threading.Event()

    def keys(*arguments):
        loading.set()
        assert gate.wait(60)
        return real(worker, *arguments)

    monkeypatch.setattr(worker, "_keys", keys)
    first, second = (world.submit(0, world.body(0)) for _ in range(2))
    with at_work(world, monkeypatch, worker, patience=0.05) as runs:
        assert loading.wait(60)
        time.sleep(0.5)  # ten times the patience
        assert world.rows.job(second).state == "queued" and worker.counters()["jobs"] == {}
        gate.set()
        runs.set()
        until(lambda: all(world.rows.job(id_).state == "done" for id_ in (first, second)), "the end of jobs")
    assert worker._seconds[world.facts.digest] > 0


def test_a_store_that_is_away_while_a_job_is_stored(world, monkeypatch):
    """The worker continues with others. The lease of that job is not renewed any more, so the job is run again."""
    worker = world.worker()
    real, tries = worker._jobs.finish, []

    def finish(claim, *arguments):
        tries.append(claim.id)
        if len(tries) == 1:
            raise sa.exc.OperationalError("UPDATE", {}, Exception("away"))
        return real(claim, *arguments)

    monkeypatch.setattr(worker._jobs, "finish", finish)
    lost, other = world.submit(0, world.body(0)), world.submit(0, world.body(0))
    world.run(worker, [other])
    assert world.rows.job(lost).state == "running" and tries[:2] == [lost, other]
    with world.store.write() as c:
        assert c.execute(jobs.update().where(jobs.c.id == lost).values(lease_until=0.0)).rowcount == 1
    row, = world.run(world.worker(), [lost])
    assert row.state == "done" and row.attempts == 2


def held_ahead(world, monkeypatch, worker, act, **options):
    """Runs two jobs. ``act(id)`` is called while the second one is taken ahead and the first one computes."""
    monkeypatch.setattr("latticino.serve.leases.LOOK", 0.02)
    real, runs = Model.run, []
    monkeypatch.setattr(Model, "run", lambda *arguments: (runs.append(1), real(*arguments))[1])
    first, second = world.submit(0, world.body(0)), world.submit(0, world.body(0), **options)
    with at_work(world, monkeypatch, worker) as gate:
        until(lambda: world.rows.job(second).state == "running", "a job that is taken ahead")
        act(second)
        gate.set()
        until(lambda: all(world.rows.job(i).state not in ("queued", "running") for i in (first, second)), "the end of jobs")
    assert world.rows.job(first).state == "done"
    return world.rows.job(second), len(runs)


def test_a_job_that_is_cancelled_while_it_is_held_ahead(world, monkeypatch):
    """It ends without a run."""
    worker = world.worker()

    def cancel(id_):
        looks, real = [], worker._jobs.verdict
        monkeypatch.setattr(worker._jobs, "verdict", lambda claim: (real(claim), looks.append(claim.id))[0])
        world.rows.jobs.cancel(world.tenants[0], id_)
        until(lambda: looks.count(id_) > 2, "a look at the job")

    row, runs = held_ahead(world, monkeypatch, worker, cancel)
    assert row.state == "cancelled" and runs == 1 and worker.counters()["jobs"] == {"done": 1, "cancelled": 1}


def test_a_deadline_that_passes_while_a_job_is_held_ahead(world, monkeypatch):
    """It ends without a run."""
    worker = world.worker()

    def wait(id_):
        real, late = worker._jobs.verdict, threading.Event()

        def verdict(claim):
            if late.is_set():
                claim = dataclasses.replace(claim, deadline=0.0) if claim.id == id_ else claim
            found = real(claim)
            looks.append((claim.id, found))
            return found

        looks = []
        monkeypatch.setattr(worker._jobs, "verdict", verdict)
        late.set()
        until(lambda: (id_, "late") in looks, "a look at the job")
        until(lambda: looks.count((id_, "late")) > 2, "another look")

    row, runs = held_ahead(world, monkeypatch, worker, wait, deadline=3600.0)
    assert row.state == "expired" and runs == 1


def test_a_store_that_is_away_while_a_job_is_held_ahead(world, monkeypatch):
    """It is run once, when the store is available again."""
    worker = world.worker()

    def away(id_):
        looks = []

        def verdict(claim):
            looks.append(claim.id)
            raise sa.exc.OperationalError("SELECT", {}, Exception("away"))

        with monkeypatch.context() as m:
            m.setattr(worker._jobs, "verdict", verdict)
            until(lambda: looks.count(id_) > 2, "a look at the job")

    row, runs = held_ahead(world, monkeypatch, worker, away)
    assert row.state == "done" and row.attempts == 1 and runs == 2


@pytest.mark.parametrize("fails", ["run", "put"])
def test_an_error_that_nobody_foresaw_ends_the_worker(world, monkeypatch, fails):
    """A job that was taken ahead goes back without a try. The lease of the other is not renewed any more, so it is run
    again."""
    worker, gate, ended = world.worker(), threading.Event(), []
    worker._open_models()
    model, facts = worker._models[world.facts.digest]
    first, second = world.submit(0, world.body(0)), world.submit(0, world.body(0))

    def fail(*_):
        raise RuntimeError("nobody foresaw this")

    def run(*_):
        assert gate.wait(60)
        return fail() if fails == "run" else b"result"

    def whole():
        try:
            worker.run()
        except RuntimeError as why:
            ended.append(str(why))

    with monkeypatch.context() as m:
        m.setattr(worker, "_open_models", lambda: None)
        m.setattr(model, "run", run)
        m.setattr("latticino.serve.worker._PATIENCE", 60.0)
        if fails == "put":
            m.setattr(worker._blobs, "put", fail)
        else:
            worker._seconds[facts.digest] = 0.0  # the next job is taken at once
        thread = threading.Thread(target=whole, daemon=True)
        thread.start()
        if fails == "run":
            until(lambda: world.rows.job(second).state == "running", "a job that is taken ahead")
        gate.set()
        thread.join(60)
        assert not thread.is_alive() and ended == ["nobody foresaw this"]
    assert not [t for t in threading.enumerate() if t.name == "lease"]
    if fails == "run":
        row = world.rows.job(second)
        assert (row.state, row.attempts, row.lease) == ("queued", 0, None)
    assert world.rows.job(first).state == "running"  # until its lease expires
    with world.store.write() as c:
        c.execute(jobs.update().where(jobs.c.id.in_((first, second)), jobs.c.state == "running").values(lease_until=0.0))
    assert [row.state for row in world.run(world.worker(), [first, second])] == ["done", "done"]


def test_a_disk_that_is_full_while_a_result_is_stored_behind(world, monkeypatch):
    """The job goes back without a try, and is done when there is room. The one that was computed in the meantime is
    stored."""
    monkeypatch.setattr("latticino.serve.worker._FULL", 0.1)
    monkeypatch.setattr("latticino.serve.worker._PATIENCE", 60.0)
    worker = world.worker()
    real, tries = worker._blobs.put, []

    def put(area, *arguments):
        tries.append(threading.current_thread().name)
        if len(tries) == 1:
            raise OSError(28, "No space left on device")
        return real(area, *arguments)

    bodies = [world.body(0) for _ in range(2)]
    ids = [world.submit(0, body) for body in bodies]
    monkeypatch.setattr(worker._blobs, "put", put)
    rows = world.run(worker, ids)
    assert [(row.state, row.attempts) for row in rows] == [("done", 1)] * 2
    assert tries == ["behind_0"] * 3 and worker.counters()["jobs"] == {"returned": 1, "done": 2}


def test_inputs_of_the_next_job_are_read_while_one_is_computed(world, monkeypatch):
    """On the device, and with no look at a key: the run compares that. Another tenant's input fails its own job alone."""
    worker, foreign = world.worker(), world.body(1)
    read, lock = [], threading.Lock()

    def given(inputs):
        with lock:
            read.append(threading.current_thread().name)
        return real(inputs)

    first, second, third = world.submit(0, world.body(0)), world.submit(0, foreign), world.submit(0, world.body(0, 1))
    with at_work(world, monkeypatch, worker) as gate:
        model, _ = worker._models[world.facts.digest]
        real = model.given
        monkeypatch.setattr(model, "given", given)
        until(lambda: "ahead_0" in read, "inputs that are read ahead")
        assert world.rows.job(first).state == "running" and worker.counters()["jobs"] == {}
        gate.set()
        until(lambda: all(world.rows.job(id_).state != "running" and world.rows.job(id_).finished for id_ in (
            first, second, third)), "the end of jobs")
    assert [world.rows.job(id_).state for id_ in (first, second, third)] == ["done", "failed", "done"]
    assert world.rows.job(second).error.startswith("KeyError") and set(read[-2:]) == {"ahead_0"}


def test_the_next_job_is_taken_earlier_if_inputs_take_long_to_read(world, monkeypatch):
    """It is taken earlier by the time that the last inputs took, but not so early that a job waits too long for the end
    of a run."""
    worker, begun = world.worker(), []
    worker._open_models()
    worker._seconds[world.facts.digest] = 10.0
    for reading in (0.0, 0.1, 100.0):
        taken = worker._held(world.claimed(0))
        worker._reading = reading
        worker._conclude(taken, worker._computed(taken, begun.append))
        worker._seconds[world.facts.digest] = 10.0
    assert begun == pytest.approx([9.95, 9.85, 9.7])


def test_inputs_that_found_no_memory_beside_a_run_are_read_again_after_it(world, monkeypatch):
    worker, tries = world.worker(), []
    worker._open_models()
    model, _ = worker._models[world.facts.digest]
    real = model.given

    def given(inputs):
        tries.append(1)
        if len(tries) == 1:
            raise lt.OutOfMemoryError("no memory")
        return real(inputs)

    monkeypatch.setattr(model, "given", given)
    claim = world.claimed(0)
    carry_out(worker, claim)
    assert (world.rows.job(claim.id).state, world.rows.job(claim.id).attempts, len(tries)) == ("done", 1, 2)


def test_threads_that_open_a_model_get_one_context(world, monkeypatch):
    """At its start a worker loads keys while another thread reads inputs. Each needs the context of the model, and may
    be the first."""
    worker = world.worker()
    worker._open_models()
    model, _ = worker._models[world.facts.digest]
    real, both = model.program.context, threading.Barrier(2)

    def slow(**options):
        time.sleep(0.1)
        return real(**options)

    def ask(_):
        both.wait()
        return model.context

    monkeypatch.setattr(model.program, "context", slow)
    with ThreadPoolExecutor(2) as threads:
        first, second = threads.map(ask, range(2))
    assert first is second
