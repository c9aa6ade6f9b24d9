"""Tests of the service, which `./latticino test --more service` runs: they need the packages of requirements/serve.txt, and
PostgreSQL's programs."""

import glob
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

if not os.environ.get("LATTICINO_SERVICE_TESTS"):
    collect_ignore_glob = ["*"]
else:
    sys.path.append(str(Path(__file__).parents[1] / "python" / "nn"))  # networks that its tests build
    import psycopg
    from world import Clock, Rows

    from latticino.serve.blobs import Blobs
    from latticino.serve.store import Store

def pytest_configure(config):
    config.addinivalue_line("markers", "stores: runs on PostgreSQL as well as on SQLite")


NOBODY = 65534  # PostgreSQL refuses to run as root


def program(name):
    """A program of PostgreSQL: of the distribution, or unpacked where the launcher puts what it fetches."""
    root = Path(__file__).resolve().parents[2]
    below = [glob.glob(f"{top}/lib/postgresql/*/bin/{name}") for top in ("/usr", root / ".deps/usr")]
    found = [path for paths in below for path in sorted(paths)] or [shutil.which(name)]
    assert found[0], f"{name} of PostgreSQL is missing; ./latticino test --more service installs it"
    return found[0]


@pytest.fixture(scope="session")
def server():
    """A server of PostgreSQL on a socket in a folder of its own: the folder."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        who = {}
        if os.geteuid() == 0:
            os.chown(folder, NOBODY, NOBODY)
            who = dict(user=NOBODY, group=NOBODY, extra_groups=[])
        data = f"{folder}/data"
        subprocess.run([program("initdb"), "-D", data, "-U", "service", "-A", "trust", "--no-sync"], check=True,
                       capture_output=True, cwd=folder, **who)
        process = subprocess.Popen([program("postgres"), "-D", data, "-k", folder, "-c", "listen_addresses=",
                                    "-c", "max_connections=300", "-c", "fsync=off"], cwd=folder,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **who)
        try:
            ready = [program("pg_isready"), "-h", folder, "-U", "service", "-d", "postgres"]
            while subprocess.run(ready, capture_output=True).returncode:
                assert process.poll() is None, "PostgreSQL did not start"
            yield folder
        finally:
            process.send_signal(signal.SIGQUIT)  # waits for nothing
            process.wait()


@pytest.fixture
def postgresql(server):
    """The address of an empty database."""
    with psycopg.connect(f"host={server} user=service dbname=postgres", autocommit=True) as c:
        c.execute("DROP SCHEMA public CASCADE")
        c.execute("CREATE SCHEMA public")
    return f"postgresql+psycopg://service@/postgres?host={server}"


def pytest_generate_tests(metafunc):
    """Tests with the mark `stores` run on PostgreSQL too."""
    if "url" in metafunc.fixturenames:
        both = metafunc.definition.get_closest_marker("stores") is not None
        metafunc.parametrize("url", ["sqlite", "postgresql"] if both else ["sqlite"], indirect=True)


@pytest.fixture
def url(request, tmp_path):
    return f"sqlite:///{tmp_path}/service.sqlite" if request.param == "sqlite" else request.getfixturevalue("postgresql")


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def store(url, clock):
    made = Store(url, clock)
    yield made
    made.close()


@pytest.fixture
def blobs(tmp_path):
    return Blobs(tmp_path / "blobs")


@pytest.fixture
def rows(store, blobs):
    return Rows(store, blobs)
