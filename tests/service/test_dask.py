"""Programs over workers of Dask, as on many machines: killed at every step, lost permanently, and refused."""

import json
import os
import signal
import subprocess
import sys

import pytest
from killed import __file__ as KILLED
from test_cluster import STEPS, World, names, stored
from world import free_port

import latticino as lt
from latticino.serve.manifest import is_hash
from running import until

distributed = pytest.importorskip("distributed")


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    return World(tmp_path_factory.mktemp("dask"))


class Cluster:
    """A scheduler and workers in a folder, started by Dask's own commands."""

    def __init__(self, folder):
        self.folder, self.address, self.running = folder, f"tcp://127.0.0.1:{free_port()}", []
        self.marks = folder / "marks"
        self.marks.mkdir()
        self.start("scheduler", "--host", "127.0.0.1", "--port", self.address.rpartition(":")[2], "--no-dashboard")

    def start(self, what, *options):
        environ = dict(os.environ, PYTHONWARNINGS="ignore", OPENBLAS_NUM_THREADS="1", LATTICINO_MARKS=str(self.marks),
                       DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES="1")
        with (self.folder / "log").open("a") as log:
            self.running.append(subprocess.Popen([sys.executable, "-m", "dask", what, *options], stdout=log, stderr=log,
                                                 env=environ, cwd=self.folder, start_new_session=True))

    def workers(self, count, *options):
        for _ in range(count):
            self.start("worker", self.address, "--nthreads", "1", "--no-dashboard", "--preload", KILLED, *options)

    def close(self):
        for process in reversed(self.running):
            process.terminate()
        for process in self.running:
            try:
                process.wait(3)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    made = Cluster(tmp_path_factory.mktemp("workers"))
    made.workers(3)
    yield made
    made.close()


def engine(cluster, count=3, **options):
    made = lt.cluster.Dask(cluster.address, device="cpu", threads=1, **options)
    return made, lambda: until(lambda: made.workers >= count, "workers of Dask")


def test_three_workers_are_killed_at_every_step(world, cluster, tmp_path):
    """Digests are those of one process, in a batch and in a pipeline. Nannies start the workers again."""
    made, ready = engine(cluster)
    with lt.cluster.Executor(tmp_path / "blobs", made) as executor:
        ready()
        for step in STEPS:
            (cluster.marks / step).touch()
        results = executor.map(world.first, world.keys, world.inputs)
        assert not list(cluster.marks.iterdir())
        assert [r.hashes for r in results] == [(name,) for name in names(world.between)]
        assert stored(tmp_path / "blobs") == set(names([*world.inputs, *world.between]))
        for step in STEPS[1:]:
            (cluster.marks / step).touch()
        piped = executor.pipeline([world.first, world.second], world.keys, world.inputs, numbers={"rate": 0.5}, repeated=1)
        assert not list(cluster.marks.iterdir()) and [r.data() for r in piped] == world.right


def test_errors_come_from_workers(world, cluster, tmp_path):
    made, ready = engine(cluster, 1)
    with lt.cluster.Executor(tmp_path / "blobs", made, retries=0) as executor:
        ready()
        with pytest.raises(lt.LevelError, match="as input 0"):
            executor.map(world.first, world.keys, [world.client.encrypt(v, 3) for v in world.values[:2]])
        assert [r.data() for r in executor.map(world.first, world.keys, world.inputs[:2])] == world.between[:2]
        (cluster.marks / "compute.always").touch()
        with pytest.raises(lt.ClusterError, match="lost its worker 1 times.*KilledWorker"):
            executor.map(world.first, world.keys, world.inputs[:1])
        (cluster.marks / "compute.always").unlink()


def test_a_client_of_ones_own(world, cluster, tmp_path):
    """It stays open after an executor is closed. Only hashes are sent: 64 digits each, to workers and back."""
    with distributed.Client(cluster.address, set_as_default=False) as client:
        submit, sent = client.submit, []

        def submitting(function, options, shard, **more):
            future = submit(function, options, shard, **more)
            sent.append((shard, future))
            return future

        client.submit = submitting
        with lt.cluster.Executor(tmp_path / "blobs", lt.cluster.Dask(client, device="cpu", threads=1)) as executor:
            result, = executor.map(world.first, world.keys, world.inputs[:1])
            assert result.data() == world.between[0]
        assert client.status == "running"
        (shard, future), = sent
        fields, back = json.loads(shard), json.loads(future.result())
        told = [fields.pop("program"), fields.pop("keys"), *fields.pop("inputs"), *back.pop("results")]
        assert len(told) == 4 and all(map(is_hash, told))
        assert fields == {"final": False, "share": [0.0, 1.0]}
        assert back.keys() == {"error", "message", "lost", "seconds"} and back["error"] == back["message"] == ""


def test_what_is_refused(world, tmp_path):
    for address in ("tcp://10.1.2.3:8786", "ws://score.example:1", "10.1.2.3:8786"):
        with pytest.raises(lt.UnsupportedError, match="anybody on the network"):
            lt.cluster.Dask(address)
    with pytest.raises(lt.UnsupportedError, match="a int as scheduler"):
        lt.cluster.Executor(tmp_path, lt.cluster.Dask(5))
    with pytest.raises(lt.ClusterError, match="no answer of"):
        lt.cluster.Executor(tmp_path, lt.cluster.Dask(f"tcp://127.0.0.1:{free_port()}", patience=1))


def test_no_workers_and_wrong_ones(world, tmp_path):
    own = Cluster(tmp_path)
    try:
        with distributed.Client(own.address, timeout=60, set_as_default=False) as client:
            made = lt.cluster.Dask(client, device="cpu", patience=1.5)
            with lt.cluster.Executor(tmp_path / "blobs", made) as executor, \
                    pytest.raises(lt.ClusterError, match=r"no worker for 1\.5 s"):
                executor.map(world.first, world.keys, world.inputs[:1])
            assert made._alone_since is None  # the next batch may wait as long again
            own.start("worker", own.address, "--nthreads", "2", "--no-nanny", "--no-dashboard")
            client.wait_for_workers(1)
            with pytest.raises(lt.UnsupportedError, match="a worker with several threads"):
                lt.cluster.Executor(tmp_path / "blobs", lt.cluster.Dask(client))
    finally:
        own.close()


def test_without_the_package(tmp_path):
    code = """
import sys
sys.modules["distributed"] = None
import latticino as lt
try:
    lt.cluster.Executor("blobs", lt.cluster.Dask("tcp://127.0.0.1:1"))
except lt.UnsupportedError as why:
    print(why)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path)
    assert "pip install '.[cluster]'" in done.stdout, done.stderr
