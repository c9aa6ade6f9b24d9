"""The queue: leases, idempotency, deadlines, fair shares, quotas, on SQLite and PostgreSQL."""

import subprocess
import sys
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest
from world import hash_of

import latticino as lt
from latticino.serve.jobs import ATTEMPTS, LEASE, Jobs
from latticino.serve.refusals import Refused
from latticino.serve.store import STORE_ERRORS, Store
from latticino.serve.tables import facts, models


def refused(status, call, *arguments, **options):
    with pytest.raises(Refused) as why:
        call(*arguments, **options)
    assert why.value.status == status
    return why.value


@pytest.mark.stores
def test_a_job_from_queue_to_result(rows, clock):
    tenant, model, bundle = rows.ready()
    id_ = rows.submit(tenant, model, bundle)
    assert rows.job(id_).state == "queued"
    claim = rows.jobs.claim([model])
    assert claim.id == id_ and claim.attempt == 1 and rows.job(id_).state == "running"
    assert rows.jobs.claim([model]) is None
    assert rows.jobs.renew(claim, 0.5) == "go on" and rows.job(id_).progress == 0.5
    assert rows.jobs.finish(claim, hash_of("r"), 7, 2.0)
    row = rows.job(id_)
    assert (row.state, row.result, row.result_size, row.lease) == ("done", hash_of("r"), 7, None)
    assert not rows.jobs.finish(claim, hash_of("other"), 7, 2.0) and rows.job(id_).result == hash_of("r")


def test_predictions_learn_from_measurements(rows):
    tenant, model, bundle = rows.ready()
    rows.submit(tenant, model, bundle)
    rows.jobs.finish(rows.jobs.claim([model]), hash_of("r"), 7, 6.0)
    id_ = rows.submit(tenant, model, bundle)
    assert rows.job(id_).seconds == pytest.approx(0.8 * 1 + 0.2 * 6)


def test_workers_take_jobs_of_their_models_alone(rows):
    tenant, model, bundle = rows.ready()
    rows.submit(tenant, model, bundle)
    assert rows.jobs.claim([rows.model("other")]) is None and rows.jobs.claim([]) is None
    assert rows.jobs.claim([], likely=True) is None
    assert rows.jobs.claim([model], likely=True) is not None and rows.jobs.claim([model], likely=True) is None


@pytest.mark.stores
def test_one_key_makes_one_job(rows):
    tenant, other, model, bundle = rows.two()
    request = rows.request(model, bundle)
    first, new = rows.jobs.submit(tenant, request)
    again, newer = rows.jobs.submit(tenant, request)
    assert (first.id, new, newer) == (again.id, True, False)
    rows.jobs.finish(rows.jobs.claim([model]), hash_of("r"), 7, 1.0)
    assert rows.jobs.submit(tenant, request)[0].result == hash_of("r")  # a repeated request gets the same answer
    assert rows.jobs.claim([model]) is None
    for change in (dict(input=hash_of("x")), dict(final=False)):
        refused(409, rows.jobs.submit, tenant, rows.request(model, bundle, **{
            "idempotency": request.idempotency, "input": request.input, **change}))
    # Another tenant's key is another key.
    assert rows.jobs.submit(other, request)[1]


@pytest.mark.stores
def test_one_key_makes_one_job_in_many_threads(rows):
    tenant, model, bundle = rows.ready()
    request, found = rows.request(model, bundle), []

    def submit():
        found.append(rows.jobs.submit(tenant, request))

    threads = [threading.Thread(target=submit) for _ in range(12)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len({row.id for row, _ in found}) == 1 and sum(new for _, new in found) == 1


@pytest.mark.stores
def test_a_lapsed_lease_gives_the_job_to_another_worker(rows, clock):
    tenant, model, bundle = rows.ready()
    id_ = rows.submit(tenant, model, bundle)
    first = rows.jobs.claim([model])
    clock.now += LEASE - 1
    assert rows.jobs.claim([model]) is None
    rows.jobs.renew(first, 0.1)
    clock.now += LEASE - 1
    assert rows.jobs.claim([model]) is None
    clock.now += 2
    second = rows.jobs.claim([model])
    assert second.id == id_ and second.attempt == 2 and second.lease != first.lease
    # The first worker cannot change anything any more.
    assert rows.jobs.renew(first, 0.9) == "lost" == rows.jobs.verdict(first)
    assert not rows.jobs.finish(first, hash_of("r"), 7, 1.0) and not rows.jobs.end(first, "failed", "x")
    rows.jobs.release(first)
    assert rows.job(id_).state == "running" and rows.job(id_).lease == second.lease
    assert rows.jobs.finish(second, hash_of("r"), 7, 1.0)


@pytest.mark.stores
def test_a_clock_that_is_set_back_holds_no_job(rows, clock):
    """A dead worker's job need not wait until the clock is where it was. The lease of a living worker is renewed."""
    tenant, model, bundle = rows.ready()
    id_ = rows.submit(tenant, model, bundle)
    rows.alive(1, clock.now)
    first = rows.jobs.claim([model])
    clock.now -= 5  # as when a clock is corrected: no lease expires
    assert rows.jobs.claim([model]) is None
    with rows.store.read() as c:
        assert rows.jobs.workers_alive(c) == 1
    clock.now -= 86_400
    with rows.store.read() as c:
        assert rows.jobs.workers_alive(c) == 0  # until it reports again
    rows.jobs.renew(first, 0.5)
    assert rows.jobs.claim([model]) is None
    clock.now -= 86_400
    assert rows.jobs.claim([model]).id == id_ and rows.jobs.verdict(first) == "lost"
    checked = rows.bundle(tenant, model, "c", "uploaded")
    assert rows.bundles.claim().hash == checked and rows.bundles.claim() is None
    clock.now -= 86_400
    assert rows.bundles.claim().hash == checked


def test_three_deaths_poison_a_job(rows, clock):
    tenant, model, bundle = rows.ready()
    id_ = rows.submit(tenant, model, bundle)
    for attempt in range(ATTEMPTS):
        assert rows.jobs.claim([model]).attempt == attempt + 1
        clock.now += LEASE + 1
        rows.jobs.sweep()
    assert rows.job(id_).state == "poisoned" and "died 3 times" in rows.job(id_).error
    assert rows.jobs.claim([model]) is None


def test_a_job_that_is_given_back(rows):
    tenant, model, bundle = rows.ready()
    id_ = rows.submit(tenant, model, bundle)
    for _ in range(5):  # workers that stop in an orderly way do not count
        claim = rows.jobs.claim([model])
        rows.jobs.release(claim, blame=False)
    assert claim.attempt == 1
    for _ in range(ATTEMPTS):
        assert rows.job(id_).state == "queued"
        rows.jobs.release(rows.jobs.claim([model]), error="OutOfMemoryError: x")
    assert rows.job(id_).state == "poisoned" and rows.job(id_).error == "OutOfMemoryError: x"


@pytest.mark.stores
def test_deadlines(rows, clock):
    tenant, model, bundle = rows.ready()
    late, early, running = (rows.submit(tenant, model, bundle, deadline=d) for d in (5.0, 100.0, 50.0))
    clock.now += 10
    assert rows.jobs.claim([model]).id == early  # the late job is left out
    rows.jobs.sweep()
    assert rows.job(late).state == "expired"
    claim = rows.jobs.claim([model])
    assert claim.id == running and rows.jobs.verdict(claim) == "go on"
    clock.now += 45
    assert rows.jobs.verdict(claim) == "late"
    clock.now += LEASE + 1
    rows.jobs.sweep()  # its worker has died, and another try would be too late
    assert rows.job(running).state == "expired"


@pytest.mark.stores
def test_cancelling(rows, clock):
    tenant, model, bundle = rows.ready()
    waiting, running, done = (rows.submit(tenant, model, bundle) for _ in range(3))
    assert rows.jobs.cancel(tenant, waiting).state == "cancelled"
    claim = rows.jobs.claim([model])
    assert claim.id == running and rows.jobs.cancel(tenant, running).state == "running"
    assert rows.jobs.verdict(claim) == "cancel" == rows.jobs.renew(claim, 0.5)
    assert rows.jobs.end(claim, "cancelled") and rows.job(running).state == "cancelled"
    last = rows.jobs.claim([model])
    rows.jobs.finish(last, hash_of("r"), 7, 1.0)
    assert rows.jobs.cancel(tenant, done).result is None and rows.job(done).state == "done"


def test_a_cancelled_job_of_a_dead_worker_is_not_tried_again(rows, clock):
    tenant, model, bundle = rows.ready()
    id_ = rows.submit(tenant, model, bundle)
    rows.jobs.claim([model])
    rows.jobs.cancel(tenant, id_)
    clock.now += LEASE + 1
    assert rows.jobs.claim([model]) is None
    rows.jobs.sweep()
    assert rows.job(id_).state == "cancelled"


def order(rows, model, count, seconds=1.0):
    """The tenants of the next jobs, as one worker takes them."""
    out = []
    for _ in range(count):
        claim = rows.jobs.claim([model])
        out.append(claim.tenant)
        rows.jobs.finish(claim, hash_of("r"), 1, seconds)
    return out


@pytest.mark.stores
def test_tenants_share_by_predicted_seconds(rows):
    """A long queue of one tenant delays another tenant by one job, and not by the whole queue."""
    a, b, model, bundle = rows.two()
    for _ in range(20):
        rows.submit(a, model, bundle)
    assert order(rows, model, 3) == [a] * 3
    for _ in range(4):
        rows.submit(b, model, bundle)
    taken = order(rows, model, 8)
    assert Counter(taken) == {a: 4, b: 4}
    assert order(rows, model, 3) == [a] * 3


def test_an_idle_tenant_saves_nothing_up(rows):
    a, b, model, bundle = rows.two()
    for _ in range(10):
        rows.submit(a, model, bundle)
    order(rows, model, 10)
    for _ in range(6):
        rows.submit(b, model, bundle)
        rows.submit(a, model, bundle)
    assert Counter(order(rows, model, 7)) == {a: 3, b: 4}  # b's first job comes next to the last one of a


def test_a_weight_is_a_share(rows):
    a, b, model, bundle = rows.two(weight=3.0)
    for _ in range(12):
        rows.submit(a, model, bundle)
        rows.submit(b, model, bundle)
    assert Counter(order(rows, model, 12)) == {a: 9, b: 3}


def test_long_jobs_count_for_more(rows):
    a, b, short, bundle = rows.two(bundles=1)
    long_ = rows.model("long", seconds=4.0)
    rows.bundle(b, long_)
    for _ in range(8):
        rows.submit(a, short, bundle)
        rows.submit(b, long_, bundle)
    taken = []
    for _ in range(10):
        claim = rows.jobs.claim([short, long_])
        taken.append(claim.tenant)
        rows.jobs.finish(claim, hash_of("r"), 1, 1.0 if claim.model == short else 4.0)
    assert Counter(taken) == {a: 8, b: 2}


def test_a_cancelled_job_costs_no_share(rows):
    a, b, model, bundle = rows.two()
    for _ in range(50):
        rows.jobs.cancel(a, rows.submit(a, model, bundle))
    for _ in range(4):
        rows.submit(a, model, bundle)
        rows.submit(b, model, bundle)
    assert Counter(order(rows, model, 4)) == {a: 2, b: 2}


def test_jobs_of_resident_keys_go_first_but_not_far(rows):
    a, b, model, bundle = rows.two()
    first = rows.submit(a, model, bundle)
    for _ in range(6):
        rows.submit(b, model, bundle)
    taken = []
    for _ in range(7):
        claim = rows.jobs.claim([model], {(b, model, bundle)})
        taken.append(claim.id == first)
        rows.jobs.finish(claim, hash_of("r"), 1, 1.0)
    assert taken.index(True) == 3  # b's tags are 0, 1 and 2: within two seconds of the first


@pytest.mark.stores
def test_quotas(rows, clock):
    tenant, model, bundle = rows.ready("a", jobs=3, seconds=2.5, bytes=350)
    rows.alive(2, clock.now)
    ids = [rows.submit(tenant, model, bundle) for _ in range(2)]
    why = refused(429, rows.submit, tenant, model, bundle)
    assert "2 predicted seconds of this tenant" in str(why) and why.retry_after == 1.0
    for id_ in ids:
        rows.jobs.cancel(tenant, id_)
    refused(413, rows.submit, tenant, model, bundle, input_size=251)  # and the result takes 100 more
    other, _, _ = rows.ready("b", model=model, jobs=3)
    for _ in range(3):
        rows.submit(other, model, bundle)
    assert "3 jobs of this tenant" in str(refused(429, rows.submit, other, model, bundle))


@pytest.mark.stores
def test_results_to_come_count_as_their_own_models_state(rows):
    """Until a job has ended, its result counts with the size that its own model states; afterwards with its real size.
    Inputs have 10 bytes, and a result has 24 bytes more than its arrays."""
    tenant, large, bundle = rows.ready("a", model=rows.model("large", result_bytes=976), bytes=1010 + 10 * 110)
    small = rows.model("small", result_bytes=76)
    rows.bundle(tenant, small)
    first = rows.submit(tenant, large, bundle)
    for _ in range(10):
        rows.submit(tenant, small, bundle)
    assert "beside 11 jobs" in str(refused(413, rows.submit, tenant, small, bundle))
    rows.jobs.finish(rows.jobs.claim([large]), hash_of("r"), 460, 1.0)
    assert rows.job(first).result_size == 460
    for _ in range(5):
        rows.submit(tenant, small, bundle)
    refused(413, rows.submit, tenant, small, bundle)
    for job in rows.jobs.latest(tenant):
        rows.jobs.cancel(tenant, job.id)
    rows.submit(tenant, large, bundle)
    for _ in range(10):
        rows.submit(tenant, small, bundle)
    refused(413, rows.submit, tenant, small, bundle)


def test_a_full_queue_says_when_to_come_again(rows, clock):
    rows.limit(seconds=13.0)
    a, model, bundle = rows.ready("a", model=rows.model(seconds=8.0))
    rows.alive(2, clock.now)
    for _ in range(2):  # 8 seconds for each of two workers
        rows.submit(a, model, bundle)
    why = refused(429, rows.submit, a, model, bundle)
    assert why.retry_after == pytest.approx(8 + 8 - 13)
    clock.now += 100  # the workers have not reported yet: as if there was one
    assert refused(429, rows.submit, a, model, bundle).retry_after == pytest.approx(16 + 8 - 13)
    # A job that is longer than the limit runs where nothing waits.
    rows.limit(seconds=1.0)
    for _ in range(2):
        rows.jobs.finish(rows.jobs.claim([model]), hash_of("r"), 1, 8.0)
    assert rows.submit(a, model, bundle)


def test_what_a_preview_refuses(rows):
    tenant, model, bundle = rows.ready("a", jobs=1)
    request = rows.request(model, bundle)
    rows.jobs.preview(tenant, request.idempotency, model, bundle, 10)
    rows.jobs.submit(tenant, request)
    rows.jobs.preview(tenant, request.idempotency, model, bundle, 10)  # a repeated request is accepted
    refused(429, rows.jobs.preview, tenant, "new", model, bundle, 10)
    refused(404, rows.jobs.preview, tenant, "new", model, hash_of("none"), 10)


def test_bundles_and_models_that_cannot_be_used(rows):
    tenant, model, bundle = rows.ready("a")
    refused(404, rows.submit, tenant, hash_of("none"), bundle)
    refused(404, rows.submit, tenant, model, hash_of("none"))
    for state in ("uploading", "uploaded", "checking", "refused"):
        refused(409, rows.submit, tenant, model, rows.bundle(tenant, model, state, state))
    retired = rows.model("old", active=False)
    refused(410, rows.submit, tenant, retired, rows.bundle(tenant, retired))


def test_jobs_of_a_retired_model_end(rows):
    tenant, model, bundle = rows.ready("a")
    id_ = rows.submit(tenant, model, bundle)
    with rows.store.write() as c:
        c.execute(models.update().values(active=False))
    rows.jobs.sweep()
    assert rows.job(id_).state == "failed" and "not served any more" in rows.job(id_).error


def test_one_tenant_never_sees_another_ones_jobs(rows):
    a, b, model, bundle = rows.two(bundles=1)
    id_ = rows.submit(a, model, bundle)
    for call in (rows.jobs.get, rows.jobs.cancel):
        refused(404, call, b, id_)
    refused(404, rows.submit, b, model, bundle)  # the bundle is another tenant's
    assert rows.jobs.latest(b) == [] and len(rows.jobs.latest(a)) == 1 and rows.job(id_).state == "queued"


@pytest.mark.stores
def test_old_results_and_rows_go(rows, clock):
    rows.limit(keep_results=100.0, keep_rows=1000.0)
    tenant, model, bundle = rows.ready()
    done, waiting = rows.submit(tenant, model, bundle), rows.submit(tenant, model, bundle)
    rows.jobs.finish(rows.jobs.claim([model]), hash_of("r"), 7, 1.0)
    assert rows.jobs.blobs("results") == {(tenant, hash_of("r"))} and len(rows.jobs.blobs("inputs")) == 1
    clock.now += 101
    rows.jobs.sweep()
    assert rows.job(done).result is None and rows.jobs.blobs("results") == set()
    clock.now += 1000
    rows.jobs.sweep()
    assert [row.id for row in rows.jobs.latest(tenant)] == [waiting]


@pytest.mark.stores
def test_many_workers_take_each_job_once(url, rows, clock):
    """Claims from several connections at once, as of several processes."""
    tenant, model, bundle = rows.ready("a")
    ids = {rows.submit(tenant, model, bundle) for _ in range(40)}
    taken, failures = [], []

    def work():
        store = Store(url, clock)
        queue = Jobs(store)
        try:
            while claim := queue.claim([model]):
                taken.append(claim.id)
                assert queue.finish(claim, hash_of("r"), 1, 1.0)
        except BaseException as why:
            failures.append(why)
        finally:
            store.close()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert failures == [] and len(taken) == len(ids) == 40 and set(taken) == ids


@pytest.mark.stores
def test_what_is_committed_is_there_for_the_next_process(url, rows, clock):
    tenant, model, bundle = rows.ready("a")
    id_ = rows.submit(tenant, model, bundle)
    again = Store(url, clock)
    assert Jobs(again).get(tenant, id_).state == "queued"
    again.close()


@pytest.mark.stores
def test_tables_of_another_version_are_refused(url, rows):
    with rows.store.write() as c:
        c.execute(facts.update().where(facts.c.name == "version").values(value=9.0))
    with pytest.raises(lt.FileError, match="tables of version 9"):
        Store(url)


def test_sqlite_waits_for_the_disk(tmp_path):
    """A commit of SQLite is on disk when it returns: WAL with synchronous=FULL (2)."""
    store = Store(f"sqlite:///{tmp_path}/s.sqlite")
    with store.read() as c:
        assert c.exec_driver_sql("PRAGMA synchronous").scalar() == 2
        assert c.exec_driver_sql("PRAGMA journal_mode").scalar() == "wal"
    store.close()


@pytest.mark.stores
def test_blocks_within_a_block_see_the_same_state(rows):
    """Also if another thread writes in between. Afterwards the change is visible."""
    tenant, model, bundle = rows.ready()
    with rows.store.read() as c:
        assert rows.jobs.latest(tenant) == []
        with ThreadPoolExecutor(1) as pool:
            pool.submit(rows.submit, tenant, model, bundle).result()
            assert len(pool.submit(rows.jobs.latest, tenant).result()) == 1  # a block of another thread is its own
        with rows.store.read() as inner:
            assert inner is c
        if rows.store.sqlite:
            assert rows.jobs.latest(tenant) == []
    assert len(rows.jobs.latest(tenant)) == 1


def test_writers_of_other_processes_take_turns(tmp_path):
    """A process that was killed during its turn does not block others."""
    url = f"sqlite:///{tmp_path}/s.sqlite"
    store = Store(url)
    program = ("import sys, time; from latticino.serve.store import Store; s = Store(sys.argv[1])\n"
               "with s.write() as c: print(1, flush=True); time.sleep(float(sys.argv[2])); print(time.monotonic(), flush=True)")

    def other(seconds):
        process = subprocess.Popen([sys.executable, "-c", program, url, seconds], stdout=subprocess.PIPE)
        process.stdout.readline()  # it is its turn
        return process

    with other("0.5") as process, store.write():
        assert time.monotonic() > float(process.stdout.readline())
    with other("600") as process:
        process.kill()
        start = time.monotonic()
        with store.write():
            assert time.monotonic() - start < 10
    store.close()


def test_a_writer_that_never_ends(tmp_path, monkeypatch):
    """Others get an error after as long as SQLite would wait."""
    monkeypatch.setattr("latticino.serve.store.BUSY_MS", 300)
    first, second = (Store(f"sqlite:///{tmp_path}/s.sqlite") for _ in range(2))
    with first.write(), pytest.raises(STORE_ERRORS), second.write():
        pass
    with second.write():
        pass
    first.close(), second.close()
