"""A context of TFHE with keys and its client, on every device and on values that are not encrypted."""

import functools

import numpy as np
import pytest

import latticino as lt
from conftest import DEVICES

GATES, INTEGERS = "test-tfhe-gates-insecure", "test-tfhe-2-2-tiny-insecure"


class World:
    def __init__(self, name, device, arithmetic="exact"):
        self.ctx = lt.tfhe.Context(name, device, threads=1, arithmetic=arithmetic)
        self.client = lt.keygen(self.ctx)
        self.ctx.use(self.client.server_keys())

    def encrypt(self, *values, dtype=None):
        return [self.client.encrypt(v, dtype) for v in values]

    def equal(self, program, *arguments, dtype=None):
        """The program on encrypted arguments, and on numpy's own."""
        got = self.client.decrypt(program(*self.encrypt(*arguments, dtype=dtype)))
        want = np.asarray(program(*arguments))
        assert got.shape == want.shape and (got == want).all(), f"{got} instead of {want}"
        return got


@pytest.fixture(scope="session", params=[*DEVICES, "not-encrypted"])
def any_device(request):
    return request.param


@pytest.fixture(scope="session")
def worlds(any_device):
    return functools.cache(lambda name: World(name, any_device))


@pytest.fixture
def gates(worlds):
    return worlds(GATES)


@pytest.fixture
def integers(worlds):
    return worlds(INTEGERS)
