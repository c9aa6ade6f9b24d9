"""Tests of the service, which `./latticino test --more service` runs: they need the packages of requirements/serve.txt, and
PostgreSQL's programs."""

import os
import signal
import sys
from pathlib import Path

import pytest

if not os.environ.get("LATTICINO_SERVICE_TESTS"):
    collect_ignore_glob = ["*"]
else:
    sys.path += [str(Path(__file__).parent / "apart"),  # code that a process runs after it was taken over
                 str(Path(__file__).parents[1] / "python" / "nn"),  # networks that its tests build
                 str(Path(__file__).parents[1] / "fuzz"),  # a connection without a socket
                 str(Path(__file__).parents[2] / "bench" / "service")]  # starts a service
    import psycopg
    from world import BlobsOnALargeDisk, Clock, Rows

    import postgresql as database
    from latticino.serve.store import Store

def pytest_configure(config):
    config.addinivalue_line("markers", "stores: runs on PostgreSQL as well as on SQLite")


@pytest.fixture(scope="session")
def server():
    """A server of PostgreSQL on a socket in a folder of its own: the folder."""
    with database.server() as folder:
        yield folder


@pytest.fixture
def postgresql(server):
    """The address of an empty database."""
    with psycopg.connect(database.words(server), autocommit=True) as c:
        c.execute("DROP SCHEMA public CASCADE")
        c.execute("CREATE SCHEMA public")
    return database.address(server)


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
    return BlobsOnALargeDisk(tmp_path / "blobs")


@pytest.fixture
def rows(store, blobs):
    return Rows(store, blobs)


@pytest.fixture
def hang_ups():
    """Processes that this test starts end at SIGHUP, even if the tests run under nohup."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)
