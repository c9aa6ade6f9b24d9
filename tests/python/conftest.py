"""Small contexts that many tests share: keys are made once for all programs of this folder."""

import numpy as np
import pytest

import latticino as lt

PRESET = "test-n10-boot-insecure"


@pytest.fixture(scope="session")
def ctx():
    return lt.Context(PRESET, threads=1)  # on the GPU where there is one


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
