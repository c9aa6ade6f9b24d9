"""Programs of CKKS that switch to TFHE and back, served: a bundle has the keys of both."""

import io
from dataclasses import replace

import numpy as np
import pytest
import served

import latticino as lt
from latticino.serve.models import file_of, open_model
from latticino.serve.parts import Part
from latticino.serve.worker import parts_of

PRESET, SHAPE = "test-n10-boot-insecure", lt.Shape((16,), None, (-1, 1))
X = np.linspace(-1, 1, 16)
Y = np.roll(X, 8)  # at least 0.9 away from X


def program(a, b):
    return a.apply_lut(lambda v: abs(v) - 0.5), a.compare(b)


def right(results):
    """A table's error has a deviation of 0.003 at this set."""
    first, second = results
    return np.abs(first - (np.abs(X) - 0.5)).max() < 0.05 and np.abs(second - (X > Y)).max() < 2**-8


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    path = tmp_path_factory.mktemp("program") / "tables.lt"
    lt.save_program(path, program, lt.Context(PRESET, "cpu", threads=1), SHAPE, SHAPE)
    return path


def test_the_keys_of_both_schemes(saved):
    """A bundle without the switching keys, or without those of a way back, is refused, even if it has all CKKS keys."""
    model, part = open_model(file_of(saved), "cpu", threads=1), Part(lt.load_program(saved).client_bytes())
    facts, client = model.facts(), lt.keygen(part.context("cpu"))
    data = lt.to_bytes(part.keys(client))
    keys = model.load_keys(io.BytesIO(data))
    assert facts.key_bytes == keys.bytes == model.key_bytes and len(data) < facts.bundle_bytes
    assert facts.switching == tuple(keys.switching) == ("test-switch-n10-insecure",)
    session = model.context.bind(keys)
    body = part.encrypt(client, (X, Y), {})
    assert len(body) == facts.request_bytes
    for final in (True, False):
        result = model.run(session, parts_of(body, facts), final, lambda _: None)
        assert len(result) <= facts.result_bytes and right(part.decrypt(client, result))
    plan = part.program.plan
    for without, match in ((dict(switching={}, products={}), "1 keys, those of the set test-switch-n10-insecure among"),
                           (dict(products={}), "1 keys, those of the set .* for products of 16 slots")):
        fewer = client.server_keys(replace(plan, **without))
        with pytest.raises(lt.KeyError, match=match):
            model.load_keys(io.BytesIO(lt.to_bytes(fewer)))


def test_over_http(saved, tmp_path):
    service = served.beside_a_direct_run(saved, tmp_path, (X, Y), {}, right, unfit=lambda client: client.server_keys(
        replace(lt.load_program(saved).plan, switching={}, products={})))
    assert service.facts["switching"] == ["test-switch-n10-insecure"]
