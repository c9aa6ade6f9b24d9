"""Programs over processes of this machine: workers that are killed at every step, and all kinds of errors."""

import hashlib
import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from test_compiled import mlp

import latticino as lt
from latticino.cluster import executor as executor_module
from latticino.cluster.engines import slots
from latticino.cluster.executor import shares_of
from latticino.cluster.shards import ARRAYS, OWNER, Options, Outcome, Runner, Shard, facts_of
from latticino.saved import messages
from latticino.serve.blobs import Blobs
from latticino.serve.models import Model
from running import alive, saved_network, until

PRESET = "test-n10-boot-insecure"
STEPS = ("load", "compute", "written")
BENCH = Path(__file__).resolve().parents[2] / "bench" / "service"
KILLED = Path(__file__).with_name("killed.py")


class Killed(lt.cluster.Local):
    """Workers that execute marks."""

    def _command(self):
        return [sys.executable, str(KILLED)]


class Idle(lt.cluster.Local):
    """Workers that never answer."""

    def _command(self):
        return [sys.executable, "-c", "import sys; sys.stdin.read()"]


class World:
    """Two programs, of which the second takes the results of the first, a bundle for both, and encrypted inputs."""

    def __init__(self, folder):
        self.folder, self.context = folder, lt.Context(PRESET, "cpu", threads=1)
        self.first, self.second = str(folder / "first.lt"), str(folder / "second.lt")
        lt.save_program(self.first, lambda x: (x * x + 0.25).bootstrap(), self.context, lt.Shape((16,), None, (-1, 1)))
        programs = [lt.load_program(self.first)]
        level = programs[0].outputs[0].level
        lt.save_program(self.second, lambda y, rate: y * y * rate - 0.5, self.context, lt.Shape((16,), level, (-2, 2)),
                        rate=lt.Scalar(0, 1))
        programs.append(lt.load_program(self.second))
        self.programs, self.client = programs, lt.keygen(self.context)
        self.keys = self.client.server_keys(*(p.plan for p in programs))
        self.values = [np.random.default_rng(i).uniform(-1, 1, 16) for i in range(7)]
        self.inputs = [lt.to_bytes(self.client.encrypt(v)) for v in self.values]
        session = self.context.bind(self.keys)
        self.between, self.right = [], []  # the files that a run in one process gives
        for data in self.inputs:
            y = programs[0].run(session, lt.from_bytes(data, session))
            self.between.append(lt.to_bytes(y))
            self.right.append(lt.to_bytes(programs[1].run(session, y, rate=0.5)))


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    return World(tmp_path_factory.mktemp("cluster"))


@pytest.fixture
def marks(tmp_path, monkeypatch):
    """Makes marks: their folder."""
    (tmp_path / "marks").mkdir()
    monkeypatch.setenv("LATTICINO_MARKS", str(tmp_path / "marks"))

    def make(*names):
        for name in names:
            (tmp_path / "marks" / name).touch()
        return tmp_path / "marks"

    return make


def names(files):
    return [hashlib.sha256(data).hexdigest() for data in files]


def stored(folder):
    """The arrays among the blobs, except inputs and numbers."""
    return {p.name for p in (folder / ARRAYS / OWNER).rglob("*") if p.is_file()}


def test_three_workers_are_killed_at_every_step(world, tmp_path, marks):
    """Digests are those of one process. A worker that dies behind its result leaves the same blob as the one after it."""
    left = marks(*STEPS)
    with lt.cluster.Executor(tmp_path / "blobs", Killed(["cpu"] * 3)) as executor:
        before = executor.engine.pids
        results = executor.map(world.first, world.keys, world.inputs)
        assert not list(left.iterdir()) and executor.engine.workers == 3
        assert len(set(before) - set(executor.engine.pids)) >= 1
        assert [r.hashes for r in results] == [(name,) for name in names(world.between)]
        assert stored(tmp_path / "blobs") == set(names(world.between)) | set(names(world.inputs))
        for r, v in zip(results, world.values):
            assert np.abs(r.decrypt(world.client).unmarked() - (v * v + 0.25)).max() < 2**-8
        # The results are also a batch.
        marks(*STEPS)
        again = executor.map(world.second, world.keys, results, numbers={"rate": 0.5})
        assert not list(left.iterdir()) and [r.data() for r in again] == world.right


@pytest.mark.parametrize("placed", [True, False])
def test_a_pipeline_with_workers_that_are_killed(world, tmp_path, marks, placed):
    left = marks(*STEPS)
    with lt.cluster.Executor(tmp_path / "blobs", Killed(["cpu"] * 3)) as executor:
        results = executor.pipeline([world.first, world.second], world.keys, world.inputs, numbers={"rate": 0.5},
                                    repeated=2, placed=placed)
    assert not list(left.iterdir())
    assert [r.hashes for r in results] == [(name,) for name in names(world.right)]
    number = messages.numbers_to_bytes(world.programs[1].scalars, {"rate": 0.5})
    assert stored(tmp_path / "blobs") == set(names([*world.inputs, *world.between, *world.right, number]))


def test_results_that_are_short(world, tmp_path):
    with lt.cluster.Executor(tmp_path / "blobs", lt.cluster.Local(["cpu"])) as executor:
        encrypted = world.client.encrypt(world.values[0])
        path = tmp_path / "keys"
        lt.save_server_keys(path, world.context, world.keys, one_file=True)
        short, = executor.pipeline([world.first, world.second], path, [(encrypted,)], numbers={"rate": 0.5}, final=True)
        bundle = executor.put_keys(world.keys)
        assert executor.put_keys(path) == bundle == executor.put_keys(bundle)
        assert len(short.data()) < len(world.right[0]) / 2 and short.data(-1) == short.data(0)
        for index in (1, -2, 9, 0.5, "0"):
            with pytest.raises(lt.ValueError, match=r"Result\.data: had index=.*; needs an integer from -1 to 0"):
                short.data(index)
        v = world.values[0]
        assert np.abs(short.decrypt(world.client).unmarked() - ((v * v + 0.25) ** 2 / 2 - 0.5)).max() < 2**-6


def test_a_worker_that_is_lost_too_often(world, tmp_path, marks):
    marks("compute.always")
    with lt.cluster.Executor(tmp_path / "blobs", Killed(["cpu"] * 2), retries=1) as executor:
        with pytest.raises(lt.ClusterError, match=r"item \d of the batch, which lost its worker 2 times.*SIGKILL"):
            executor.map(world.first, world.keys, world.inputs)
        (tmp_path / "marks" / "compute.always").unlink()
        results = executor.map(world.first, world.keys, world.inputs[:2])  # the executor continues to work
        assert [r.data() for r in results] == world.between[:2]


def test_a_worker_that_gives_other_bytes(world, tmp_path, marks):
    marks("other")
    with lt.cluster.Executor(tmp_path / "blobs", Killed(["cpu"] * 2)) as executor, \
            pytest.raises(lt.ClusterError, match="other bytes from a second run of program 0 for item 0"):
        executor.map(world.first, world.keys, world.inputs[:1], repeated=1)


def test_blobs_with_other_bytes(world, tmp_path):
    with lt.cluster.Executor(tmp_path / "blobs", lt.cluster.Local(["cpu"])) as executor:
        result, = executor.map(world.first, world.keys, world.inputs[:1])
        blobs = executor._blobs
        path = Path(blobs.path(ARRAYS, OWNER, result.hashes[0]))
        path.write_bytes(world.between[0][:-1] + b"x")
        with pytest.raises(lt.FileError, match="other bytes"):
            result.data()
        with pytest.raises(lt.FileError, match="other bytes"):  # found by a worker
            executor.map(world.second, world.keys, [result], numbers={"rate": 0.5})
        with pytest.raises(lt.FileError, match="no blob"):
            executor.map(world.first, world.keys, ["0" * 64])
        with pytest.raises(lt.FileError, match="no keys"):
            executor.map(world.first, "0" * 64, world.inputs[:1])


def test_keys_that_do_not_match(world, tmp_path):
    """Bundles are compared with programs here; workers compare the files of bundles."""
    few = world.client.server_keys(lambda x: x * x, np.zeros(4))
    other_context = lt.Context("test-n10-leveled-insecure", "cpu", threads=1)
    other = lt.keygen(other_context).server_keys(lambda x: x * x, np.zeros(4))
    stranger = lt.keygen(world.context).server_keys(*(p.plan for p in world.programs))
    lt.save_server_keys(tmp_path / "few", world.context, few, one_file=True)
    lt.save_server_keys(tmp_path / "other", other_context, other, one_file=True)
    (tmp_path / "none").write_bytes(b"no keys")
    batch = world.inputs[:1]
    with lt.cluster.Executor(tmp_path / "blobs", lt.cluster.Local(["cpu"])) as executor:
        for keys in (few, tmp_path / "few"):
            with pytest.raises(lt.KeyError, match="a bundle without"):
                executor.map(world.first, keys, batch)
        with pytest.raises(lt.ContextError, match="keys of other parameters"):
            executor.map(world.first, other, batch)
        for name, error in (("other", lt.ContextError), ("none", lt.FileError)):
            with pytest.raises(error, match="load"):
                executor.map(world.first, tmp_path / name, batch)
        with pytest.raises(lt.KeyError, match="an object under key"):
            executor.map(world.first, stranger, batch)
        with pytest.raises(lt.FileError, match="put_keys"):
            executor.put_keys(tmp_path / "missing")


def test_wrong_batches_and_pipelines(world, tmp_path):
    deep, leveled = tmp_path / "deep.lt", tmp_path / "leveled.lt"
    lt.save_program(deep, lambda y: y * y, world.context, lt.Shape((16,), 0 + world.programs[0].outputs[0].level - 1, (-1, 1)))
    lt.save_program(leveled, lambda y: y + 1, lt.Context("test-n10-leveled-insecure", "cpu", threads=1), np.zeros(16))
    with lt.cluster.Executor(tmp_path / "blobs", lt.cluster.Local(["cpu"])) as executor:
        for programs, error in (([world.first, deep], lt.LevelError), ([world.first, leveled], lt.ContextError),
                                ([], lt.ShapeError), (iter([]), lt.ShapeError),
                                (world.first, lt.ShapeError)):
            with pytest.raises(error, match="pipeline: had"):
                executor.pipeline(programs, world.keys, world.inputs[:1])
        for batch, error in (([(world.inputs[0], world.inputs[1])], lt.ShapeError), ([1.5], lt.ShapeError)):
            with pytest.raises(error, match="item 0"):
                executor.map(world.first, world.keys, batch)
        with pytest.raises(lt.ValueError, match="'none'"):
            executor.map(world.second, world.keys, [], numbers={"none": 1.0, "rate": 0.5})
        with pytest.raises(lt.ValueError, match="rate"):
            executor.map(world.second, world.keys, [], numbers={"rate": 5.0})
        with pytest.raises(lt.ValueError, match="numbers by their names"):
            executor.map(world.second, world.keys, [], numbers=5)
        with pytest.raises(lt.LevelError, match="as input 0"):
            executor.map(deep, world.keys, world.inputs[:1])
        with pytest.raises(lt.FileError, match="cluster: had the folder"):
            executor.map(tmp_path, world.keys, [])
        for batch in (None, 3, world.inputs[0], "ab" * 32):
            with pytest.raises(lt.ShapeError, match="as batch"):
                executor.map(world.first, world.keys, batch)
        assert executor.map(world.first, world.keys, []) == []


def test_a_generator_that_uses_the_executor(world, tmp_path):
    with lt.cluster.Executor(tmp_path / "blobs", lt.cluster.Local(["cpu"])) as executor:
        between = (executor.map(world.first, world.keys, [x])[0] for x in world.inputs[:2])
        found = executor.map(world.second, world.keys, between, numbers={"rate": 0.5})
    assert [r.data() for r in found] == world.right[:2]


def test_a_program_that_follows_itself(world, tmp_path):
    """Results of its first run are no answers yet. Its second run gets workers, even if its predicted time is zero."""
    level = world.programs[0].outputs[0].level
    x = world.client.encrypt(np.full(16, 0.9), level=level)
    with lt.cluster.Executor(tmp_path / "blobs", lt.cluster.Local(["cpu"] * 2)) as executor:
        for function, right in ((lambda x: (x * x).bootstrap(), 0.9**4), (lambda x: x, 0.9)):
            path = tmp_path / f"{right:.2f}.lt"
            lt.save_program(path, function, world.context, lt.Shape((16,), level, (-1, 1)))
            keys = world.client.server_keys(lt.load_program(path).plan)
            found = executor.pipeline([path, path], keys, [x], final=True)[0].decrypt(world.client)
            assert np.abs(found - right).max() < 1e-3


def test_two_executors(world, tmp_path):
    """They may share a folder, but not an engine."""
    engine = lt.cluster.Local(["cpu"])
    with lt.cluster.Executor(tmp_path / "blobs", engine) as one:
        with lt.cluster.Executor(tmp_path / "blobs", lt.cluster.Local(["cpu"])) as two:
            between = one.map(world.first, world.keys, world.inputs[:2])
            assert [r.data() for r in two.map(world.second, world.keys, between, numbers={"rate": 0.5})] == world.right[:2]
        pids = engine.pids
        with pytest.raises(lt.UnsupportedError, match="engine that another executor has"):
            lt.cluster.Executor(tmp_path / "other", engine)
        assert engine.pids == pids and all(map(alive, pids))
    with lt.cluster.Executor(tmp_path / "blobs", engine) as three:
        assert [r.data() for r in three.map(world.first, world.keys, world.inputs[:1])] == world.between[:1]


def test_executors_that_cannot_compute(world, tmp_path):
    """An executor that is closed, before or while it computes, or that belongs to another process: an error, and
    nothing hangs."""
    executor = lt.cluster.Executor(tmp_path / "blobs", Idle(["cpu"]))
    keys = executor.put_keys(world.keys)
    child = os.fork()
    if child == 0:
        try:
            executor.map(world.first, keys, world.inputs[:1])
        except lt.UnsupportedError:
            os._exit(0)
        finally:
            os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    timer = threading.Timer(1.0, executor.close)
    timer.start()
    with pytest.raises(lt.UnsupportedError, match="executor that is closed"):
        executor.map(world.first, keys, world.inputs[:1])
    timer.join()
    with pytest.raises(lt.UnsupportedError, match="executor that is closed"):
        executor.map(world.first, keys, world.inputs[:1])
    executor.close()


def test_workers_that_do_not_start(world, tmp_path):
    class Broken(lt.cluster.Local):
        def _command(self):
            return [sys.executable, "-c", "raise SystemExit(7)"]

    with lt.cluster.Executor(tmp_path / "blobs", Broken(["cpu"])) as executor, \
            pytest.raises(lt.ClusterError, match="ended 3 times before it took a shard.*status 7"):
        executor.map(world.first, world.keys, world.inputs[:1])

    class Failing(lt.cluster.Local):  # it gives the reason
        def _command(self):
            line = Outcome.of(lt.DeviceError.explain("Context", "no GPU", "one", "check it")).to_json()
            return [sys.executable, "-c", f"print({line!r})"]

    with lt.cluster.Executor(tmp_path / "blobs", Failing(["cpu"])) as executor, pytest.raises(lt.DeviceError, match="had no GPU"):
        executor.map(world.first, world.keys, world.inputs[:1])
    for devices in ([], "cpu", ["cuda:999"], ["tpu"]):
        with pytest.raises(lt.DeviceError):
            lt.cluster.Local(devices)
    with pytest.raises(lt.UnsupportedError, match="as engine"):
        lt.cluster.Executor(tmp_path, "local")


def test_workers_end_with_their_program(world, tmp_path):
    """If the program that distributes a batch is killed, its workers end."""
    code = f"""
import sys, time, latticino as lt
executor = lt.cluster.Executor({str(tmp_path / "blobs")!r}, lt.cluster.Local(["cpu"] * 2))
print(*executor.engine.pids, flush=True)
time.sleep(600)
"""
    program = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    pids = [int(word) for word in program.stdout.readline().split()]
    assert len(pids) == 2 and all(map(alive, pids))
    os.kill(program.pid, signal.SIGKILL)
    program.wait()
    until(lambda: not any(map(alive, pids)), "the end of the workers")


def test_devices_and_disks_that_fail(world, tmp_path, monkeypatch):
    """A lack of memory and a failure of a device are lost shards, for which all keys and programs are dropped. A full disk ends
    the batch. Retries end with the worker's own error."""
    with lt.cluster.Executor(tmp_path / "blobs", lt.cluster.Local(["cpu"]), retries=2) as executor:
        result, = executor.map(world.first, world.keys, world.inputs[:1])
        shard = Shard(world.programs[0].digest, executor.put_keys(world.keys), tuple(names(world.inputs[:1])))
        runner = Runner(Options(str(tmp_path / "blobs"), "cpu", 1))
        assert runner.run(shard).results == result.hashes and len(runner._models) == len(runner._sessions.names) == 1
        for error in (lt.OutOfMemoryError, lt.DeviceError):
            def failing(*_, error=error):
                raise error.explain("run", "none", "some", "free it")

            with monkeypatch.context() as patch:
                patch.setattr(Model, "run", failing)
                outcome = runner.run(shard)
            assert outcome.lost and isinstance(outcome.raised(), error) and not runner._models and not runner._sessions.names
            assert runner.run(shard).results == result.hashes
            tried = executor_module._Try(0, 0, shard)
            for _ in range(2):
                tried = executor._once_more(tried, outcome)
            with pytest.raises(error, match="run: had none"):
                executor._once_more(tried, outcome)

        def full(*_):
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(Blobs, "put", full)
        outcome = runner.run(shard)
        assert not outcome.lost and isinstance(outcome.raised(), lt.FileError) and "No space left" in outcome.message


def test_shares():
    shares = shares_of([1.0, 2.0, 1.0])
    assert shares == [(0.0, 0.25), (0.25, 0.75), (0.75, 1.0)]
    assert [list(slots(share, 4)) for share in shares] == [[0], [1, 2], [3]]
    assert [list(slots(share, 2)) for share in shares] == [[0], [0, 1], [1]]  # round(0.5) = 0, round(1.5) = 2
    assert [list(slots(share, 1)) for share in shares] == [[0]] * 3
    assert shares_of([0.0, 0.0]) == [(0.0, 0.5), (0.5, 1.0)]
    for workers in range(1, 9):  # no worker is left without work
        assert {slot for share in shares for slot in slots(share, workers)} == set(range(workers))


def test_outcomes_and_facts(world):
    made = Outcome(("a", "b"), seconds=1.5)
    assert Outcome.read(made.to_json()) == made
    why = Outcome.of(lt.KeyError.explain("keys", "none", "some", "make them"), lost=True)
    assert isinstance(why.raised(), lt.KeyError) and why.raised().operation == "keys" and Outcome.read(why.to_json()) == why
    assert facts_of(Path(world.first).read_bytes()).program.digest == hashlib.sha256(Path(world.first).read_bytes()).hexdigest()


def test_tuples_of_arrays(tmp_path):
    """Programs of several inputs and results, one after the other."""
    ctx = lt.Context("test-n10-leveled-insecure", "cpu", threads=1)
    shape = lt.Shape((4,), None, (-1, 1))
    lt.save_program(tmp_path / "two.lt", lambda x, y, rate: (x * y, x * rate), ctx, shape, shape, rate=lt.Scalar(0, 1))
    two = lt.load_program(tmp_path / "two.lt")
    lt.save_program(tmp_path / "one.lt", lambda p, q: p + q, ctx, *(lt.Shape((4,), y.level, (-1, 1)) for y in two.outputs))
    client, rng = lt.keygen(ctx), np.random.default_rng(1)
    keys = client.server_keys(two.plan, lt.load_program(tmp_path / "one.lt").plan)
    values = [rng.uniform(-1, 1, (2, 4)) for _ in range(3)]
    batch = [tuple(client.encrypt(v) for v in pair) for pair in values]
    with lt.cluster.Executor(tmp_path / "blobs", lt.cluster.Local(["cpu"] * 2)) as executor:
        pairs = executor.map(tmp_path / "two.lt", keys, batch, numbers={"rate": 0.5})
        sums = executor.pipeline([tmp_path / "two.lt", tmp_path / "one.lt"], keys, batch, numbers={"rate": 0.5})
        again = executor.map(tmp_path / "one.lt", keys, pairs)
    for (x, y), pair, total in zip(values, pairs, sums):
        p, q = pair.decrypt(client)
        assert np.abs(p.unmarked() - x * y).max() < 2**-8 and np.abs(q.unmarked() - x / 2).max() < 2**-8
        assert np.abs(total.decrypt(client).unmarked() - (x * y + x / 2)).max() < 2**-7
    assert [r.hashes for r in again] == [r.hashes for r in sums] and len(pairs[0].hashes) == 2


def test_programs_of_tfhe(tmp_path):
    exact = lt.tfhe.Context("test-tfhe-2-2-tiny-insecure", "cpu", threads=1)
    lt.save_program(tmp_path / "more.lt", lambda a, b: (a + b, (a > b).any()), exact, *[lt.tfhe.Shape((3,), "u4")] * 2)
    client = lt.keygen(exact)
    values = [(np.array([i, 3, 7], np.uint8), np.array([1, i, 2], np.uint8)) for i in range(3)]
    batch = [tuple(client.encrypt(v, "u4") for v in pair) for pair in values]
    with lt.cluster.Executor(tmp_path / "blobs", lt.cluster.Local(["cpu"] * 2)) as executor:
        results = executor.map(tmp_path / "more.lt", client.server_keys(), batch, repeated=3)
    for (a, b), result in zip(values, results):
        total, larger = result.decrypt(client)
        assert (np.asarray(total) == (a + b) % 16).all() and bool(np.asarray(larger)) == (a > b).any()


def test_networks(tmp_path):
    """A network that was compiled: its results decrypt to what the network's own run gives."""
    enc, x = saved_network(tmp_path / "mlp", mlp, PRESET)
    half = lt.nn.load(tmp_path / "mlp" / "client.network")
    client = lt.keygen(lt.Context(PRESET, "cpu", threads=1))
    with lt.cluster.Executor(tmp_path / "blobs", lt.cluster.Local(["cpu"] * 2)) as executor:
        results = executor.map(tmp_path / "mlp" / "server.network", half.server_keys(client),
                               [half.encrypt(client, v) for v in x[:3]], final=True)
    for v, result in zip(x, results):
        assert np.abs(result.decrypt(client) - enc.shadow(v)[0]).max() < 2**-8
    with lt.cluster.Executor(tmp_path / "other", lt.cluster.Local(["cpu"])) as executor, \
            pytest.raises(lt.UnsupportedError, match="cluster: had the part of a model that clients need"):
        executor.map(tmp_path / "mlp" / "client.network", "0" * 64, [])


@pytest.mark.parametrize("engine", ["local", "dask"])
def test_a_short_measurement(tmp_path, engine):
    """What `./latticino bench service-scaling` does, in short: its rows, with equal digests though a worker is killed."""
    record = tmp_path / "record.json"
    done = subprocess.run([sys.executable, str(BENCH), "service-scaling", "--engine", engine, "--program", "fresh", "--inputs", "6",
                           "--workers", "1", "--runs", "1", "--record", str(record)], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    rows = json.loads(record.read_text())
    assert [(r["params"]["workers"], r["params"]["killed"]) for r in rows] == [(1, 0), (3, 1)]
    assert all(r["equal_digests"] and r["params"]["engine"] == engine and r["value"] > 0 for r in rows)
