"""The programs that attack a service (bench/service): a short run of each, and that their comparison finds errors."""

import argparse
import json
import os
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import pytest

import kills
import ledger
import memory
import soak
import steady
from latticino.serve.front import READERS, WRITERS
from latticino.serve.http import Link
from latticino.serve.logs import log
from latticino.serve.store import Store
from latticino.serve.tables import jobs
from ledger import Ledger, Row, Sent, bundle_faults, faults
from prefilled import Prefilled, serving
from samples import Program

ATTACKS = str(Path(__file__).parents[2] / "bench" / "service")


def sent(**changes):
    return Sent(**{"tenant": "t", "key": "k", "want": "good", "ids": {"a"}, "state": "done", "result": "good", **changes})


def row(**changes):
    return Row(**{"id": "a", "tenant": "t", "key": "k", "state": "done", "result": "good", "attempts": 1, **changes})


def test_nothing_is_found_where_nothing_is_wrong():
    assert faults([sent(), sent(key="unanswered", ids=set(), state="queued", result=None)], [row()], {"a": 1}, at_the_end=True) == []
    asked = dict(cancelled=True, state="cancelled", result=None)
    assert faults([sent(**asked)], [row(state="cancelled", result=None)], {}, at_the_end=True) == []
    assert faults([sent(cancelled=True)], [row(result=None)], {"a": 1}, at_the_end=True) == []  # deleted after its end
    waits = sent(state="queued", result=None)
    assert faults([waits], [row(state="running", result=None)], {}) == []
    assert faults([waits], [row(state="poisoned", result=None, attempts=3)], {}, at_the_end=True) == []


@pytest.mark.parametrize("said, rows, done, found", [
    (sent(), [], {}, "acknowledged and lost"),
    (sent(), [row(id="b")], {}, "acknowledged and lost"),
    (sent(), [row(), row(id="b")], {}, "in effect twice, as a, b"),
    (sent(ids={"a", "b"}), [row()], {}, "in effect twice, as a, b"),
    (sent(ids=set(), state="queued", result=None), [row(), row(id="b")], {}, "in effect twice"),
    (sent(), [row()], {"a": 2}, "done 2 times"),
    (sent(), [row(result="bad")], {}, "another result"),
    (sent(state="queued", result=None), [row(result="bad")], {}, "another result"),
    (sent(), [row(state="running", result=None)], {}, "running after its tenant was told that it is done"),
    (sent(), [row(result=None)], {}, "done after its tenant was told that it is done"),
    (sent(state="queued", result=None), [row(state="failed", result=None)], {}, "failed without a reason"),
    (sent(state="queued", result=None), [row(state="cancelled", result=None)], {}, "cancelled without a reason"),
    (sent(state="queued", result=None), [row(state="poisoned", result=None, attempts=2)], {}, "poisoned after 2 attempts"),
    (sent(state="queued", result=None), [row(state="queued", result=None)], {}, "still queued at the end"),
    (sent(), [row(), row(id="c", key="other")], {}, "job c: nobody sent it"),
])
def test_each_fault_is_found(said, rows, done, found):
    assert found in "; ".join(faults([said], rows, done, at_the_end=True))


def test_lost_bundles_are_found():
    mine, other = ("t", "a" * 64), ("t", "b" * 64)
    assert bundle_faults([mine, other], {mine: "ready"}, [mine]) == []  # the other one was removed in the meantime
    assert "now lost" in bundle_faults([mine], {}, [mine])[0]
    assert "now refused" in bundle_faults([mine], {mine: "refused"}, [mine])[0]


def test_a_ledger_notes_what_tenants_were_told():
    kept = Ledger()
    kept.sent("t", "k", "good")
    # Without an acknowledgement nothing is guaranteed.
    assert kept.states() == {} and faults(kept.snapshot()[0], [], {}, at_the_end=True) == []
    kept.told("t", "k", {"id": "a", "state": "queued", "result": None})
    kept.told("t", "k", {"id": "a", "state": "done", "result": "good"})
    assert kept.states() == {"done": 1} and kept.snapshot()[0] == [sent()]
    kept.told("t", "k", {"id": "b", "state": "queued", "result": None})
    assert "twice" in faults(kept.snapshot()[0], [row()], {})[0]


def test_completions_are_read_from_the_log(tmp_path):
    log = tmp_path / "log"
    done = json.dumps({"event": "job.done", "job": "a"})
    log.write_text(f'{done}\n{{"event": "job.do{done}\n{json.dumps({"event": "request"})}\n{done[:20]}')
    completions = ledger.Completions(log)
    assert completions.read() == {"a": 1}
    with log.open("a") as file:
        file.write(done[20:] + "\n")
    assert completions.read() == {"a": 2} and completions.read() == {"a": 2}


def test_a_line_of_the_log_is_written_at_once(monkeypatch):
    """Processes of a service share a file, so a line must be written in one piece."""
    written = []
    monkeypatch.setattr(sys, "stderr", SimpleNamespace(write=written.append, flush=lambda: None))
    log("request", status=200)
    line, = written
    assert line.endswith("\n") and json.loads(line)["status"] == 200


def test_growth_of_memory():
    steady = [(float(t), 1000 if t >= 20 else 500) for t in range(120)]
    assert memory.growth(steady, 20).percent == 0 and memory.growth(steady, 0).percent == 100
    grows = memory.growth([(float(t), 10_000 + 10 * t) for t in range(100)], 0)
    assert grows.percent == pytest.approx(9, abs=0.2) and grows.bytes_per_minute == pytest.approx(600)
    with pytest.raises(ValueError, match="9 samples"):
        memory.growth(steady[:9], 0)
    assert memory.resident(2**22 + 1) == 0


def test_a_curve_of_memory():
    """A step lies between two points."""
    step = [(60.0 * t, 500 if t < 20 else 1000) for t in range(120)]
    assert memory.curve(step, 6) == [(0.0, 500), *((20.0 * i, 1000) for i in range(1, 6))]
    assert memory.curve(step[:7]) == [(float(t), 500) for t in range(7)] and memory.curve([]) == []


def test_a_process_with_too_few_samples_is_wrong():
    """Also if there are no samples after the warm-up: missing figures are no success, and those of other processes are
    kept."""
    steady, wrong = [(float(t), 1000) for t in range(100)], []
    found = soak.judged({("front", 1): steady, ("worker", 2): steady[-5:]}, 20, 2, wrong)
    assert list(found) == [("front", 1)] and wrong == ["worker: 5 samples after the warm-up; ten are needed: run for longer"]
    assert soak.judged({("front", 1): steady}, 100, 1, wrong) == {} and len(wrong) == 2


def test_connections_keep_little_of_the_database(tmp_path):
    """SQLite's own default, 2 MB for each of sixty connections, let the memory of a front grow for an hour."""
    store = Store(f"sqlite:///{tmp_path}/s.sqlite")
    with store.read() as c:
        kib = -c.exec_driver_sql("PRAGMA cache_size").scalar()
    assert 0 < kib * (store._engine.pool.size() + store._engine.pool._max_overflow) <= 32 << 10
    store.close()
    # A front opens them one after the other, when more requests than ever come at the same moment: all of the connections
    # that requests and long polls have are less than 1 % of the 90 MB of a front.
    assert kib * (READERS["sqlite"] + WRITERS["sqlite"] + 1) < 900


def test_requests_that_wait_for_the_store_leave_threads_to_others(tmp_path):
    """Sixty requests that write wait for the store's lock; one that reads is answered meanwhile."""
    made = Prefilled(tmp_path / "s", Program(tmp_path, "square"), 1)
    seat = made.seats[0]
    with serving(made, 0) as running:
        link = Link(running.url, seat.token)
        assert link.json("GET", "/v1/jobs") == {"jobs": []}
        with ThreadPoolExecutor(60) as pool:
            with made.store.write():
                sent = [pool.submit(link.send, "POST", "/v1/jobs", made.body, {"model": "square", "bundle": seat.bundle},
                                    {"Idempotency-Key": f"key{i}"}) for i in range(60)]
                time.sleep(3)
                start = time.monotonic()
                assert link.json("GET", "/v1/jobs") == {"jobs": []} and time.monotonic() - start < 10
                assert not any(future.done() for future in sent)
            assert len({json.loads(future.result())["id"] for future in sent}) == 60


@pytest.fixture
def attack(tmp_path, monkeypatch):
    """Runs a program as `./latticino bench` does: its status and the rows of its record."""
    monkeypatch.setenv("PYTHONWARNINGS", "ignore")

    def run(*words):
        record = tmp_path / "record.json"
        done = subprocess.run([sys.executable, ATTACKS, *words, "--record", str(record)], capture_output=True, text=True)
        assert record.exists(), done.stdout[-3000:] + done.stderr[-3000:]
        return done.returncode, json.loads(record.read_text()), done.stdout

    return run


@pytest.mark.parametrize("store", ["sqlite", "postgresql"])
def test_a_few_kills(attack, store):
    status, (found,), out = attack("service-kills", "--kills", "6", "--seed", "3", "--store", store, "--tenants", "2", "--clients", "3")
    assert status == 0 and found["wrong"] == 0 and found["value"] == 6 == sum(found["killed"].values()), out
    assert found["jobs"]["done"] > 6 and found["results_fetched"] > 6 and found["comparisons"] == 7
    assert "seed 3" in out


def test_a_lost_job_ends_the_run_with_status_1(monkeypatch, tmp_path, capsys):
    """A service that forgets one job that it has acknowledged: the tenants go on, and the comparison finds it."""
    real = kills.Attack.examine

    def forgets(self, at_the_end=False):
        if at_the_end:
            with self._s.tables._store.write() as c:
                id_ = c.execute(jobs.select().with_only_columns(jobs.c.id).where(jobs.c.state == "done").limit(1)).scalar()
                c.execute(jobs.delete().where(jobs.c.id == id_))
        real(self, at_the_end)

    monkeypatch.setattr(kills.Attack, "examine", forgets)
    parser = argparse.ArgumentParser()
    kills.add_options(parser)
    (found,), good = kills.run(parser.parse_args(["--kills", "1", "--store", "sqlite", "--tenants", "1", "--clients", "2"]))
    assert not good and found["wrong"] == 1 and "acknowledged and lost" in capsys.readouterr().out


@pytest.mark.parametrize("words", [
    ("service-load", "--rate", "0"), ("service-load", "--rate=-1"), ("service-load", "--rate", "nan"), ("service-load", "--rate", "inf"),
    ("service-load", "--seconds", "0"), ("service-load", "--connections", "0"), ("service-load", "--jobs", "many"),
    ("service-soak", "--minutes", "0"), ("service-soak", "--warm-up=-1"), ("service-soak", "--workers", "0"),
    ("service-kills", "--kills", "0"), ("service-kills", "--minutes", "0")])
def test_numbers_that_measure_nothing(words):
    """They are refused at once, before a service is started."""
    done = subprocess.run([sys.executable, ATTACKS, *words], capture_output=True, text=True)
    assert done.returncode == 2 and "is no " in done.stderr and words[1].partition("=")[0] in done.stderr


def test_a_short_load(attack):
    """A queue, connections and uploads of a size that any machine can handle. Times are not checked."""
    options = ("--connections", "40", "--tenants", "10", "--queued", "60", "--rate", "20", "--seconds", "3", "--workers", "1")
    _, rows, out = attack("service-load", "--part", "front", *options)
    assert rows[-1]["params"]["route"] == "all" and rows[-1]["requests"] == 60 == sum(rows[-1]["statuses"].values()), out
    assert set(rows[-1]["statuses"]) <= {"200", "202"} and all(r["median_ms"] <= r["value"] for r in rows)
    status, (row,), out = attack("service-load", "--part", "uploads", "--uploads", "20", "--upload-bytes", "24e6")
    assert status == 0, out
    assert (row["value"] - row["bytes_before"]) / 80 < 0.5e6, out  # of each of its connections


def test_threads_that_end_or_begin_while_their_priority_is_lowered(monkeypatch):
    """Threads begin and end all the time, so ids of ended threads may be listed. In the end all living threads are
    nice."""
    program = ("import threading, time\nstays = threading.Thread(target=time.sleep, args=(60,), daemon=True)\nstays.start()\n"
               "print(stays.native_id, flush=True)\n"
               "while True:\n    t = threading.Thread(target=time.sleep, args=(0.001,))\n    t.start()\n    t.join()\n")
    process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    ended = threading.Thread(target=int)
    ended.start()
    ended.join()
    tasks = steady.tasks_of
    monkeypatch.setattr(steady, "tasks_of", lambda pid: [*tasks(pid), ended.native_id])
    try:
        stays = int(process.stdout.readline())
        steady.be_nice(process.pid)
        assert all(os.getpriority(os.PRIO_PROCESS, task) == 10 for task in (process.pid, stays))
        steady.be_nice(process.pid, least=5)  # its niceness is never reduced
        assert os.getpriority(os.PRIO_PROCESS, stays) == 10
    finally:
        process.kill()
        process.communicate()
    assert tasks(process.pid) == []
    steady.be_nice(process.pid)  # a process that has ended


def test_a_load_without_a_request_of_some_routes(attack):
    """Twelve requests to eight routes."""
    options = ("--connections", "4", "--tenants", "2", "--queued", "30", "--rate", "12", "--seconds", "1", "--workers", "1")
    _, rows, out = attack("service-load", "--part", "front", *options)
    assert rows[-1]["requests"] == 12 == sum(r["requests"] for r in rows[:-1]) and all(r["requests"] for r in rows), out


def test_the_rate_of_a_queue(attack):
    _, rows, out = attack("service-load", "--part", "rate", "--jobs", "6")
    assert [r["params"]["program"] for r in rows] == ["square", "fresh", "long"], out
    assert all(r["job_ms"] > 0 and r["raw_ms"] > 0 and r["value"] == pytest.approx(1000 / r["job_ms"], rel=1e-2) for r in rows)
    assert all(r["run_ms"] > 0 for r in rows)


def test_a_short_soak(attack):
    status, (results, *processes), out = attack("service-soak", "--minutes", "0.6", "--tenants", "1", "--clients", "2", "--workers", "1",
                                                "--spare", "1")
    assert results["wrong"] == 0 and results["value"] > 5 and 0 < results["keys_full_minutes"] < 0.6, out
    assert sorted(r["params"]["process"] for r in processes) == ["checker", "front", "service", "worker"]
    assert status == int(any(not r["flat"] for r in processes)) and all(r["value"] > 1 << 24 for r in processes)
    assert all(len(r["curve_minutes_bytes"]) == 20 for r in processes)
