"""Programs that `lt.save_program` wrote, served: two arguments, cancellation between steps, what cannot be served."""

import hashlib
import io

import numpy as np
import pytest
from running import Running
from world import Rows

import latticino as lt
from latticino.serve.blobs import Blobs
from latticino.serve.leases import Stopped
from latticino.serve.models import file_of, open_model
from latticino.serve.parts import Part
from latticino.serve.registry import Registry
from latticino.serve.store import Store

PRESET = "test-n10-boot-insecure"
X, Y = np.linspace(-1, 1, 16), np.linspace(0.5, -0.5, 16)


def program(a, b):
    return (a * b + 0.25).bootstrap() - a.rotate(3)


def clear(a, b):
    return a * b + 0.25 - np.roll(a, -3)


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    path = tmp_path_factory.mktemp("program") / "score.lt"
    lt.save_program(path, program, lt.Context(PRESET, "cpu", threads=1), X, lt.Shape((16,)))  # real, and complex
    return path


@pytest.fixture(scope="module")
def part(saved):
    return Part(lt.load_program(saved).client_bytes())


def test_a_program_beside_a_direct_run(saved, part):
    """Bytes of a result are those of `run` with the same keys; sizes are those of the facts."""
    model = open_model(file_of(saved), "cpu", threads=1)
    facts, client = model.facts(), lt.keygen(part.context("cpu"))
    keys = model.load_keys(io.BytesIO(lt.to_bytes(part.keys(client))))
    session = model.context.bind(keys)
    bodies = [part.encrypt(client, (X * k, y)) for k, y in ((0.0, Y * 1j), (0.5, [0] * 16), (1.0, Y))]
    assert {len(body) for body in bodies} == {facts.request_bytes} and len(facts.inputs) == 2
    first = facts.inputs[0].bytes
    inputs, seen = [bodies[2][:first], bodies[2][first:]], []
    result = model.run(session, inputs, True, seen.append)
    assert seen[-1] == 1.0 and sorted(seen) == seen and len(seen) > 3
    given = [lt.from_bytes(data, session) for data in inputs]
    assert result == lt.to_bytes(lt.load_program(saved).run(session, *given), final=True)
    assert len(model.run(session, inputs, False, seen.append)) <= facts.result_bytes
    assert np.abs(part.decrypt(client, result).unmarked() - clear(X, Y)).max() < 2**-8
    assert model.client_file() == part.program.client_bytes() and facts.key_bytes == keys.bytes
    assert facts.client == hashlib.sha256(model.client_file()).hexdigest() != facts.digest == part.program.program

    def stop(done):
        raise Stopped("cancel")

    with pytest.raises(Stopped):
        model.run(session, inputs, True, stop)
    fewer = lt.to_bytes(client.server_keys(lambda a: a * a, X))
    with pytest.raises(lt.KeyError, match=r"make it with service.use\(client\)"):
        model.load_keys(io.BytesIO(fewer))


def test_what_cannot_be_served(saved, tmp_path):
    ctx, one = lt.Context(PRESET, "cpu", threads=1), lt.Shape((16,))
    store, blobs = Store(f"sqlite:///{tmp_path}/s.sqlite"), Blobs(tmp_path / "blobs")
    for name, function, scalars in (("two", lambda a: (a, a * a), {}), ("number", lambda a, eta: a * eta, {"eta": lt.Scalar(-1, 1)})):
        lt.save_program(tmp_path / name, function, ctx, one, **scalars)
        with pytest.raises(lt.UnsupportedError, match="2 results" if name == "two" else "the numbers eta"):
            open_model(file_of(tmp_path / name), "cpu")
    (tmp_path / "client").write_bytes(lt.load_program(saved).client_bytes())
    with pytest.raises(lt.UnsupportedError, match="the part of a model that clients need"):
        open_model(file_of(tmp_path / "client"), "cpu")
    for stated, remedy in (((0, 600), "divide the result in the program"), (None, "state the ranges of the inputs")):
        lt.save_program(tmp_path / "large", lambda a: a * (1 if stated else 600), ctx, lt.Shape((16,), None, stated))
        with pytest.raises(lt.ScaleError, match=f"serve: had result 0 with values that may reach .* values below 512 .* {remedy}"):
            Registry(store, blobs).add(tmp_path / "large", "large")
    exact = lt.tfhe.Context("test-tfhe-2-2-tiny-insecure", "cpu", threads=1)
    lt.save_program(tmp_path / "tfhe", lambda a: a + a, exact, lt.tfhe.Shape((4,), "u8"))
    with pytest.raises(lt.UnsupportedError, match="a program of TFHE"):
        open_model(file_of(tmp_path / "tfhe"), "cpu")
    assert Registry(store, blobs).add(saved, "score").kind == "program"
    assert Rows(store, blobs).jobs.claim([row.digest for row in Registry(store, blobs).active()]) is None


def test_a_program_over_http(saved, tmp_path):
    running = Running(tmp_path / "service", [f"score={saved}"])
    try:
        service = lt.connect(running.url, running.tenant("a"))
        client = lt.keygen(service.context("cpu"))
        remote = service.use(client)
        assert service.network is None and service.program.program == service.facts["digest"]
        job = remote.submit(X, Y, final=False)
        assert np.abs(job.result(600) - clear(X, Y)).max() < 2**-8 and job.progress == 1.0
        assert np.abs(remote.run(Y, X) - clear(Y, X)).max() < 2**-8
        with pytest.raises(lt.ShapeError):
            remote.submit(X)
    finally:
        assert running.stop() == 0
