"""Networks as saved programs: the whole runs in a session, the part for clients encrypts, decrypts and makes the keys."""

import math

import numpy as np
import pytest
from test_compiled import BOOT, lenet, mlp

import latticino as lt
from latticino.nn.compiling import compiled


@pytest.mark.slow
@pytest.mark.parametrize("make, images", [(mlp, 1), (lenet, 4)])
def test_a_network_is_a_saved_program(make, images, tmp_path):
    graph, x = make()
    enc = compiled(graph, x, BOOT, "cpu", images=images)
    enc.save(tmp_path)
    whole, half = lt.load_program(tmp_path / "server.network"), lt.load_program(tmp_path / "client.network")
    assert half.client_bytes() == whole.client_bytes() == (tmp_path / "client.network").read_bytes()
    assert half.inputs[0].bytes == whole.inputs[0].bytes and half.keys == whole.keys and half.peak_bytes == whole.peak_bytes
    assert half.parameters.hash == whole.parameters.hash and half.outputs[0].shape == whole.outputs[0].shape
    assert half.outputs[0].level == whole.outputs[0].level and math.isnan(half.outputs[0].bits)
    assert half.outputs[0].most_bytes >= whole.outputs[0].most_bytes
    ctx = whole.context("cpu", threads=1)
    client = lt.keygen(half.context("cpu", threads=1))
    session = ctx.bind(lt.from_bytes(lt.to_bytes(client.server_keys(half.plan)), ctx, kind=lt.ServerKeys))
    for k in range(3):
        sample = x[k] if images == 1 else x[k : k + images]
        files = [lt.to_bytes(v) for v in half.encrypt(client, sample)]
        assert [len(data) for data in files] == [half.inputs[0].bytes]
    seen = []
    y = whole.compute(session, [lt.from_bytes(data, session) for data in files], after=seen.append)
    assert seen[-1] == 1.0 and len(lt.to_bytes(y)) <= whole.outputs[0].most_bytes
    got = half.decrypt(client, lt.from_bytes(lt.to_bytes(y, final=True), client.context))
    want = enc.shadow(sample)
    assert got.shape == whole.outputs[0].shape and np.abs(got - want.reshape(got.shape)).max() < 2**-8
    with pytest.raises(lt.UnsupportedError, match="run: had the part of a network that clients need"):
        half.run(session, y)
    for part in (whole, half):
        with pytest.raises(lt.ShapeError, match="encrypt: had 2 arguments"):
            part.encrypt(client, sample, sample)
