"""One worker, two tenants: however a job of one ends, the next one is of the other, and has the bytes of a direct run."""

import threading
import time

import pytest
from test_worker import World

import latticino as lt
from latticino.serve.models import Model
from latticino.serve.store import Store
from latticino.serve.tables import jobs
from running import direct, until

A, B = 0, 1
HOUR = 3600.0
STEP = 0.4  # fraction of a run after which it fails: ciphertexts of the tenant exist then


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    return World(tmp_path_factory.mktemp("world"))


class Troubled:
    """Runs of a worker. The first one of tenant A goes wrong as ``trouble`` does; before that, B sends a job."""

    def __init__(self, world, monkeypatch, trouble):
        self.world, self._trouble, self.seen = world, trouble, []
        self.id = self.next = None
        self.patch = monkeypatch
        run, given, self._files = Model.run, Model.given, []
        monkeypatch.setattr("latticino.serve.leases.LOOK", 0.01)
        monkeypatch.setattr("latticino.serve.worker._PATIENCE", 60.0)  # no other worker takes jobs

        def noted(model, inputs):
            read = given(model, inputs)
            self._files.append((read, bytes(inputs[0])))
            return read

        def watched(model, session, inputs, final, after):
            own = next(i for i, client in enumerate(world.clients) if client.key_id == session.keys.id)
            self.seen.append((own, next(file for read, file in self._files if read is inputs)))

            def each(progress):
                if own == A and self.next is None and progress >= STEP:
                    self.next = world.submit(B, self.body)
                    self._trouble(self, after, progress)
                after(progress)

            return run(model, session, inputs, final, each)

        monkeypatch.setattr(Model, "given", noted)
        monkeypatch.setattr(Model, "run", watched)
        self.body = world.body(B, 1)

    def stops(self, after, progress):
        """Goes on until the thread that holds the lease has seen it."""
        last = time.monotonic() + 60
        while time.monotonic() < last:
            after(progress)
            time.sleep(0.01)
        raise AssertionError("the run was not stopped")

    def row(self, **values):
        with self.world.store.write() as c:
            c.execute(jobs.update().where(jobs.c.id == self.id).values(**values))


def cancelled(run, after, progress):
    run.world.rows.jobs.cancel(run.world.tenants[A], run.id)
    run.stops(after, progress)


def lost(run, after, progress):
    run.row(lease="another worker's")
    run.stops(after, progress)


def late(run, after, progress):
    now = Store.now
    run.patch.setattr(Store, "now", lambda store, c: now(store, c) + 2 * HOUR)
    run.stops(after, progress)


def raising(error):
    def trouble(*_):
        raise error
    return trouble


# How a job of A ends, and the error that its run raises or waits for.
ENDS = {"cancelled": cancelled, "lost": lost, "expired": late, "failed": raising(lt.ValueError("of A")),
        "without memory": raising(lt.OutOfMemoryError("of A"))}


@pytest.mark.parametrize("room", ["for one bundle", "for all"])
@pytest.mark.parametrize("how", ENDS)
def test_a_run_that_ended_leaves_nothing_to_the_next_tenant(world, monkeypatch, how, room):
    """In the middle of the run: its keys are on the device, and its ciphertexts in memory that the next job gets."""
    one, run = world.facts.key_bytes, Troubled(world, monkeypatch, ENDS[how])
    worker = world.worker(memory=world.facts.peak_bytes + one // 2, host_memory=int(3.2 * one)) if room == "for one bundle" \
        else world.worker()
    body = world.body(A, 2)
    run.id = world.submit(A, body, **({"deadline": HOUR} if how == "expired" else {}))
    rows = finish(world, worker, run, how)
    assert rows[run.next].state == "done" and world.blobs.read("results", world.tenants[B], rows[run.next].result) == direct(
        world.folder, world.keys[B], run.body)
    state = rows[run.id].state
    assert state == {"lost": "running", "without memory": "done"}.get(how, how)
    if state == "done":
        assert world.blobs.read("results", world.tenants[A], rows[run.id].result) == direct(world.folder, world.keys[A], body)
    # Keys of a tenant were only used with inputs of that tenant.
    assert {(own, data) for own, data in run.seen} == {(A, body), (B, run.body)}
    assert len(run.seen) == (3 if how == "without memory" else 2)


def finish(world, worker, run, how):
    """Lets the worker run until both jobs have ended, or one of them has for a job that another worker took."""
    thread = threading.Thread(target=worker.run)
    thread.start()
    over = ("done", "failed", "cancelled", "expired", "poisoned")
    try:
        until(lambda: run.next is not None and world.rows.job(run.next).state in over, "the next tenant's job")
        if how != "lost":
            until(lambda: world.rows.job(run.id).state in over, "the job that went wrong")
    finally:
        worker._stop.set()
        thread.join()
    found = {id_: world.rows.job(id_) for id_ in (run.id, run.next)}
    if how == "lost":
        run.row(state="cancelled")  # in fact no other worker has it
    return found
