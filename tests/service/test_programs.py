"""Programs that `lt.save_program` wrote, served: two arguments, cancellation between steps, several results, numbers of
each run, and programs that cannot be served."""

import hashlib
import io
import struct

import numpy as np
import pytest
import served
from world import Rows

import latticino as lt
from latticino.serve.blobs import Blobs
from latticino.serve.leases import Stopped
from latticino.serve.models import Facts, file_of, open_model
from latticino.serve.parts import Part
from latticino.serve.registry import Registry
from latticino.serve.store import Store
from latticino.serve.worker import parts_of
from running import Running

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


NUMBERS = {"eta": 0.5, "mu": 0.25 - 0.5j}


def program_of_several(a, eta, mu):
    return a * eta - a.rotate(1), (a * a).sum() * mu


def clear_of_several(a, eta, mu):
    return a * eta - np.roll(a, -1), (a * a).sum() * mu


def alike(have, want):
    return len(have) == len(want) and all(np.abs(h - w).max() < 2**-8 for h, w in zip(have, want))


@pytest.fixture(scope="module")
def several(tmp_path_factory):
    path = tmp_path_factory.mktemp("program") / "several.lt"
    lt.save_program(path, program_of_several, lt.Context(PRESET, "cpu", threads=1), X, eta=lt.Scalar(-1, 1),
                    mu=lt.Scalar(lt.Range(-1, 1, (-1, 1))))
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
    bodies = [part.encrypt(client, (X * k, y), {}) for k, y in ((0.0, Y * 1j), (0.5, [0] * 16), (1.0, Y))]
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


def test_several_results_and_numbers_beside_a_direct_run(several, tmp_path):
    """Files of all results are those of `run` with the same keys and numbers; sizes are those of the facts."""
    model, part = open_model(file_of(several), "cpu", threads=1), Part(lt.load_program(several).client_bytes())
    facts, client = model.facts(), lt.keygen(part.context("cpu"))
    assert [(p.name, p.dtype, p.bytes) for p in facts.inputs[1:]] == [("eta", "number", 16), ("mu", "number", 16)]
    assert [(p.name, p.shape, p.dtype) for p in facts.outputs] == [("y0", (16,), "float64"), ("y1", (), "complex128")]
    assert Facts.read(facts.to_json()) == facts
    session = model.context.bind(model.load_keys(io.BytesIO(lt.to_bytes(part.keys(client)))))
    body = part.encrypt(client, (X,), NUMBERS)
    assert len(body) == facts.request_bytes and body[-32:] == struct.pack("<4d", 0.5, 0.0, 0.25, -0.5)
    for final in (True, False):
        result = model.run(session, parts_of(body, facts), final, lambda _: None)
        want = lt.load_program(several).run(session, lt.from_bytes(body[:-32], session), **NUMBERS)
        files = [lt.to_bytes(y, final=final) for y in want]
        lengths = [len(f) for f in files]
        assert result == struct.pack("<8sIIQQ", b"LTRESULT", 1, 2, *lengths) + b"".join(files)
        assert len(result) <= facts.result_bytes
        assert alike(part.decrypt(client, result), clear_of_several(X, **NUMBERS))
    for numbers in ((2.0, 0.0, 0.0, 0.0), (0.0, 0.5, 0.0, 0.0), (0.0, 0.0, 0.0, -2.0)):  # outside of the declared range
        with pytest.raises(lt.ValueError, match="had (eta|mu)="):
            model.run(session, parts_of(body[:-32] + struct.pack("<4d", *numbers), facts), True, lambda _: None)
    with pytest.raises(lt.FileError, match="mu, which is not finite"):
        model.run(session, parts_of(body[:-8] + struct.pack("<d", np.nan), facts), True, lambda _: None)
    with pytest.raises(lt.FileError, match="bytes"):
        parts_of(body[:-1], facts)


def test_what_cannot_be_served(saved, tmp_path):
    ctx, one = lt.Context(PRESET, "cpu", threads=1), lt.Shape((16,))
    (tmp_path / "clients").write_bytes(lt.load_program(saved).client_bytes())
    with pytest.raises(lt.UnsupportedError, match="the part of a model that clients need"):
        open_model(file_of(tmp_path / "clients"), "cpu")
    lt.save_program(tmp_path / "option", lambda a, key: a * key, ctx, one, key=lt.Scalar(-1, 1))
    with pytest.raises(lt.UnsupportedError, match="a number of the name key; .*rename the argument"):
        open_model(file_of(tmp_path / "option"), "cpu")
    store, blobs = Store(f"sqlite:///{tmp_path}/s.sqlite"), Blobs(tmp_path / "blobs")
    for stated, remedy in (((0, 600), "divide the result in the program"), (None, "state the ranges of the inputs")):
        lt.save_program(tmp_path / "large", lambda a: a * (1 if stated else 600), ctx, lt.Shape((16,), None, stated))
        with pytest.raises(lt.ScaleError, match=f"serve: had result 0 with values that may reach .* values below 512 .* {remedy}"):
            Registry(store, blobs).add(tmp_path / "large", "large")
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


def test_several_results_and_numbers_over_http(several, tmp_path):
    served.beside_a_direct_run(several, tmp_path, (X,), NUMBERS, lambda y: alike(y, clear_of_several(X, **NUMBERS)))


def test_numbers_that_are_refused_over_http(several, tmp_path):
    """The client refuses them before anything is sent. If another client sends them anyway, the worker refuses them."""
    running = Running(tmp_path / "service", [f"several={several}"])
    try:
        service = lt.connect(running.url, running.tenant("a"))
        remote = service.use(lt.keygen(service.context("cpu")))
        for wrong in ({}, {"eta": 0.5}, {"eta": 2, "mu": 0}, {**NUMBERS, "nu": 1}):
            with pytest.raises(lt.ValueError):
                remote.submit(X, **wrong)
        body = service.part.encrypt(remote.client, (X,), NUMBERS)
        with pytest.raises(lt.ServiceError, match=r"failed \(ValueError.*eta"):
            remote.send(body[:-32] + struct.pack("<4d", 3, 0, 0, 0)).data(600)
        assert alike(remote.run(X, eta=-1, mu=0), clear_of_several(X, -1, 0))
    finally:
        assert running.stop() == 0
