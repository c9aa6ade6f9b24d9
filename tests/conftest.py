"""Small contexts that many tests share: keys are made once for all their programs.

Every test that asks for `device`, `ctx` or `client` runs on each device that is there.
"""

import os
from pathlib import Path

import numpy as np
import pytest

import latticino as lt
from latticino import _native

PRESET = "test-n10-boot-insecure"
DEVICES = ["cpu"] + (["cuda"] if _native.cuda_built() and _native.cuda_device_count() > 0 else [])


def pytest_configure(config):
    # Tests take small sets, each of which would warn.
    config.addinivalue_line("filterwarnings", "ignore::latticino.errors.SecurityWarning")


def pytest_report_header():
    return f"latticino devices: {', '.join(DEVICES)}"


@pytest.fixture(scope="session", params=DEVICES)
def device(request):
    return request.param


@pytest.fixture(scope="session")
def ctx(device):
    return lt.Context(PRESET, device, threads=1)


@pytest.fixture(scope="session")
def client(ctx):
    return lt.keygen(ctx)


@pytest.fixture
def rng():
    return np.random.default_rng(7)


@pytest.fixture
def encrypted(ctx, client):
    """Runs a program on encrypted arguments under exactly its keys, and decrypts the result."""

    def run(program, *arguments, **options):
        ctx.use(client.server_keys(program, *arguments))
        return client.decrypt(program(*[client.encrypt(x, **options) for x in arguments]))

    return run


@pytest.fixture(scope="session")
def child_environment():
    """Of a Python process that is to find this very package, wherever it starts."""
    package = str(Path(lt.__file__).resolve().parent.parent)
    return dict(os.environ, PYTHONPATH=os.pathsep.join([package, *filter(None, [os.environ.get("PYTHONPATH")])]))
