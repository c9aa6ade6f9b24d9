"""`latticino plan`: seconds, traffic, and the formula of docs/scaling.md for limbs over several devices."""

import re

import numpy as np
import pytest

import latticino as lt
from latticino import cli
from latticino.cluster import planning
from latticino.cluster.planning import (
    COLLECTIVE,
    NVLINK,
    Switch,
    key_file_bytes,
    key_switches,
    kind_of,
    predicted,
    rate,
)
from latticino.serve.models import Model

PRESET = "test-n10-boot-insecure"


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Two programs that follow each other, a TFHE program, and one with another set."""
    folder = tmp_path_factory.mktemp("plan")
    ctx = lt.Context(PRESET, "cpu", threads=1)
    lt.save_program(folder / "first.lt", lambda x: (x * x).bootstrap(), ctx, lt.Shape((16,), None, (-1, 1)))
    level = lt.load_program(folder / "first.lt").outputs[0].level
    lt.save_program(folder / "second.lt", lambda y: y * y, ctx, lt.Shape((16,), level, (-1, 1)))
    exact = lt.tfhe.Context("test-tfhe-2-2-tiny-insecure", "cpu")
    lt.save_program(folder / "exact.lt", lambda a: a + 1, exact, lt.tfhe.Shape((4,), "u4"))
    lt.save_program(folder / "other.lt", lambda x: x * x, lt.Context("test-n10-leveled-insecure", "cpu", threads=1), np.zeros(16))
    return {name: str(folder / f"{name}.lt") for name in ("first", "second", "exact", "other")}


def test_a_batch(files):
    program = lt.load_program(files["first"])
    facts, s = Model(program, answers=False).facts(), program.prepared_seconds
    encoding = program.predicted_seconds - s
    assert encoding > 0  # of the matrices of the bootstrapping
    made = predicted([program], [1000], 4, 10, 1e6)
    assert made.one == s and made.computing == pytest.approx(3 * s)  # a worker has 3 of the 10 items
    assert made.traffic.keys == 4 * (facts.key_bytes // 2) and made.traffic.programs == 4000
    assert made.traffic.inputs == 10 * facts.request_bytes and made.traffic.results == 10 * facts.result_bytes
    assert made.traffic.between == 0 and made.first == pytest.approx(made.traffic.at_first / 1e6)
    assert made.seconds == pytest.approx(made.first + made.moving + encoding + 3 * s)
    assert predicted([program], [1000], 10, 10, 1e6).computing == pytest.approx(s)


def test_a_pipeline(files):
    programs = [lt.load_program(files[name]) for name in ("first", "second")]
    one, two = (p.prepared_seconds for p in programs)
    assert one > 10 * two  # the bootstrapping
    made = predicted(programs, [10, 20], 1, 8, 1e6)
    assert made.computing == pytest.approx(8 * (one + two) + two)
    wide = predicted(programs, [10, 20], 4, 8, 1e6)  # each worker except the last has only the first program
    assert made.computing / 4 < wide.computing < made.computing / 2
    first = Model(programs[0], answers=False).facts()
    assert wide.traffic.between == 2 * 8 * first.result_bytes


def test_bundles_have_the_predicted_bytes(files):
    for name in ("first", "exact"):
        program = lt.load_program(files[name])
        facts = Model(program, answers=False).facts()
        client = lt.keygen(program.context("cpu"))
        keys = client.server_keys(program.plan) if name == "first" else client.server_keys()
        found, said = len(lt.to_bytes(keys)), key_file_bytes(facts)
        assert found <= said + 2**16 and (name == "exact" or found == pytest.approx(said, rel=0.02))


def test_the_formula_of_the_page():
    """The example of docs/scaling.md, and its condition: G devices are worth it if T(1) is above the right side."""
    params = lt.preset("n16-d40-boot-v1")
    s = planning._switch(params, "cuda", params.top_level)
    assert (s.level, s.limbs, planning.auxiliary(params), params.n) == (28, 47, 12, 65536)
    assert s.bytes == (47 + 24) * 65536 * 4 and round(s.seconds * 1e6) == 180
    right = s.bytes / NVLINK + 2 * COLLECTIVE * 8 / 7
    assert round(right * 1e6) == 76 and s.divided(8, NVLINK) < s.seconds / 2
    assert round(s.bytes / 3.125e9 * 1e3, 1) == 6.0 and s.divided(8, 3.125e9) > 20 * s.seconds
    for g in (2, 4, 8):
        for seconds in (right * 0.5, right * 2):
            one = Switch(1, 47, s.bytes, seconds)
            pays = seconds > s.bytes / NVLINK + 2 * COLLECTIVE * g / (g - 1)
            assert (one.divided(g, NVLINK) < seconds) == pays
    assert s.divided(1, NVLINK, 0.0) == s.seconds


@pytest.mark.slow
def test_the_primes_of_p_are_as_many_as_the_page_says():
    for name in ("n16-d40-boot-v1", "n15-d30-leveled-v1", PRESET):
        params = lt.preset(name)
        text = params.explain()
        assert f"alpha = {params.alpha}" in text
        each = params.log_p / planning.auxiliary(params)
        assert 20 < each <= 31.01  # log2 of one prime


def test_levels_of_key_switches(files):
    program = lt.load_program(files["first"])
    highest = max(program.keys.values())
    assert [s.level for s in key_switches(program, "cuda")] == [highest, highest // 2]
    assert key_switches(lt.load_program(files["exact"]), "cpu") == [] and kind_of(program) == "cpu"


@pytest.mark.parametrize("words", [["first"], ["first", "second"], ["exact"]])
def test_the_command(files, capsys, words):
    assert cli.main(["plan", *(files[w] for w in words), "--workers", "3", "--inputs", "12", "--link", "1Gb/s"]) == 0
    out = capsys.readouterr().out
    assert re.search(r"^on 3 workers +\d", out, re.MULTILINE) and ("between programs" in out) == (len(words) == 2)
    assert ("no key switches of CKKS" in out) == (words == ["exact"]) and ("by --link" in out) == (words != ["exact"])
    if words == ["first"]:
        assert cli.main(["plan", files["first"], "--device", "cuda", "--link", "100kb/s"]) == 0
        out = capsys.readouterr().out
        assert "by NVLink" in out and "does not pay" in out and "the network is the limit" in out


def test_wrong_words(files, capsys, tmp_path):
    (tmp_path / "none.lt").write_text("none")
    for words, error in (([files["first"], files["other"]], "ContextError: pipeline"), ([files["second"], files["first"]], "pipeline"),
                         ([str(tmp_path / "missing.lt")], "FileError"), ([str(tmp_path / "none.lt")], "FileError")):
        assert cli.main(["plan", *words]) == 1
        assert error in capsys.readouterr().err
    for option in (["--link", "fast"], ["--link", "0Gb/s"], ["--link", "25G"], ["--workers", "0"], ["--inputs", "-1"],
                   ["--link", "9" * 40 + "Gb/s"], ["--device", "tpu"]):
        with pytest.raises(SystemExit):
            cli.main(["plan", files["first"], *option])
    assert rate("25Gb/s") == 3.125e9 and rate("3GB/s") == 3e9 and rate("1.5 MB/s") == 1.5e6 and rate("8000b/s") == 1e3
