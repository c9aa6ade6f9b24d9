"""Programs of TFHE, served: encrypted integers and booleans, under client keys of TFHE sets. Results are exact."""

import io

import numpy as np
import pytest
import served

import latticino as lt
from latticino.serve.models import Facts, file_of, open_model
from latticino.serve.parts import Part
from latticino.serve.worker import parts_of

INTEGERS, GATES = "test-tfhe-2-2-tiny-insecure", "test-tfhe-gates-v2-insecure"
A, B = np.array([3, 200, 77], np.uint8), np.array([100, 100, 77], np.uint8)
U, V = np.array([True, False, True, False]), np.array([True, True, False, False])


def of_integers(a, b):
    return a + b, a < b, (a - b)[1:].max()


def clear_of_integers(a, b):
    return a + b, a < b, (a - b)[1:].max()


def of_booleans(u, v):
    return (u ^ v) & ~(u & v)


PROGRAMS = {"integers": (of_integers, INTEGERS, (lt.tfhe.Shape((3,), "u8"),) * 2, (A, B), clear_of_integers),
            "booleans": (of_booleans, GATES, (lt.tfhe.Shape((4,), "bool"),) * 2, (U, V), of_booleans)}


def right(name):
    *_, values, clear = PROGRAMS[name]
    want = clear(*values)

    def same(results):
        both = list(zip(results, want)) if isinstance(want, tuple) else [(results, want)]
        return (isinstance(results, tuple) == isinstance(want, tuple)) and all(np.array_equal(y, z) for y, z in both)

    return same


@pytest.fixture(scope="module", params=PROGRAMS)
def saved(request, tmp_path_factory):
    function, preset, shapes, *_ = PROGRAMS[request.param]
    path = tmp_path_factory.mktemp("program") / f"{request.param}.lt"
    lt.save_program(path, function, lt.tfhe.Context(preset, "cpu", threads=1), *shapes)
    return path


def test_sizes_and_results_are_those_of_the_facts(saved):
    values = PROGRAMS[saved.stem][3]
    model, part = open_model(file_of(saved), "cpu", threads=1), Part(lt.load_program(saved).client_bytes())
    facts, client = model.facts(), lt.keygen(part.context("cpu"))
    assert facts.scheme == "tfhe" and Facts.read(facts.to_json()) == facts
    assert [p.dtype for p in facts.inputs] == [str(v.dtype).replace("uint", "u") for v in values]
    data = lt.to_bytes(part.keys(client))
    keys = model.load_keys(io.BytesIO(data))
    assert facts.key_bytes == keys.bytes and len(data) < facts.bundle_bytes
    session = model.context.bind(keys)
    body, seen = part.encrypt(client, values, {}), []
    assert len(body) == facts.request_bytes == len(part.encrypt(client, [np.zeros_like(v) for v in values], {}))
    results = [model.run(session, parts_of(body, facts), final, seen.append) for final in (True, False)]
    assert results[0] == results[1] and len(results[0]) <= facts.result_bytes and 1.0 in seen
    assert right(saved.stem)(part.decrypt(client, results[0]))
    wrong = lt.keygen(lt.tfhe.Context("test-tfhe-2-2-insecure", "cpu", threads=1))
    with pytest.raises(lt.ContextError, match="server_keys: had a context of"):
        part.keys(wrong)
    with pytest.raises(lt.ContextError, match="encrypt: had a context of"):
        part.encrypt(wrong, values, {})
    with pytest.raises(lt.Error):
        model.load_keys(io.BytesIO(lt.to_bytes(wrong.server_keys())))
    other = lt.keygen(lt.Context("test-n10-leveled-insecure", "cpu", threads=1))
    with pytest.raises(lt.Error):
        model.load_keys(io.BytesIO(lt.to_bytes(other.server_keys(lambda x: x * x, np.zeros(4)))))


def test_over_http(saved, tmp_path):
    name = saved.stem
    service = served.beside_a_direct_run(saved, tmp_path, PROGRAMS[name][3], {}, right(name))
    assert service.facts["scheme"] == "tfhe" and isinstance(service.context("cpu"), lt.tfhe.Context)


def test_programs_that_re_randomise_are_refused(tmp_path):
    """A second run would give other bytes, and so the job would have two results."""
    context = lt.tfhe.Context(INTEGERS, "cpu", threads=1, rerandomize=True)
    lt.save_program(tmp_path / "p", lambda a: a + a, context, lt.tfhe.Shape((2,), "u2"))
    with pytest.raises(lt.UnsupportedError, match="a program that re-randomises.*without rerandomize=True"):
        open_model(file_of(tmp_path / "p"), "cpu")
