"""`latticino bench workloads`: rows of both tables, for small sets and a small network."""

import functools
import json

import numpy as np
import pytest

import latticino as lt
from latticino import cli
from latticino.nn.builder import Builder
from latticino.workloads import data as datasets
from latticino.workloads import demo, helr, inputs, networks, predictions
from latticino.workloads import sort as sorting
from latticino.workloads import tables as workloads

SMALL = "test-n10-boot-insecure"


def network(w):
    b = Builder((8,))
    x = b.linear(b.input, w["first"], None, layer="first")
    return b.graph(b.linear(b.mul(x, x, layer="square"), w["second"], None, layer="second"))


@pytest.fixture(autouse=True)
def small(monkeypatch):
    rng = np.random.default_rng(1)
    w = {"first": rng.normal(size=(16, 8)) / 4, "second": rng.normal(size=(4, 16)) / 4}
    x = rng.uniform(-1, 1, (60, 8))
    work = networks.Workload("tiny", "tiny.input", "ms", "input", 1, SMALL, network,
                             lambda w: inputs.Inputs("numbers", x[:40], x[40:], None), lambda w, x: x,
                             lambda: ("random weights", w))
    monkeypatch.setattr(workloads, "_workload", lambda name: work)
    monkeypatch.setattr(workloads, "packed", lambda scale, word: SMALL)
    monkeypatch.setattr(workloads, "LOG_SCALES", {"tiny": 45, "helr": 35})
    monkeypatch.setattr(workloads, "SORTED", 8)
    monkeypatch.setattr(demo, "PRESET_BY_SCALE", dict.fromkeys(workloads.SCALES, SMALL))

    def training(preset):
        context = lt.Context._for_plans(preset, "cuda", False)
        settings = helr.Settings(iterations=2, rows=8)
        return context, helr.Trainer(context, settings), datasets.batches(datasets.digits(), 8)

    monkeypatch.setattr(workloads, "_training", training)


def test_each_workload_has_a_row_for_each_word_that_is_its_plan(capsys):
    rows = workloads.word_rows(False, None, 0, ("tiny", "helr"), say=lambda *a, **k: None)
    assert [(r["params"]["workload"], r["params"]["word"], r["params"]["log_scale"]) for r in rows] == [
        ("tiny", 28, 45), ("tiny", 30, 45), ("helr", 28, 35), ("helr", 30, 35)]
    made = networks.compiled(workloads._workload("tiny"), SMALL, "cuda", say=lambda *a: None)
    plan, params = made.enc.plan, lt.preset(SMALL)
    row = rows[0]
    assert row["value"] == 1e3 * plan.seconds and row["predicted_bits"] == pytest.approx(plan.bits, abs=1)
    assert (row["key_bytes"], row["peak_bytes"], row["bootstraps"]) == (plan.key_bytes, plan.peak_bytes, 0)
    assert row["limbs"] == params.limbs(plan.level) and row["limbs_top"] == params.limbs(params.top_level)
    assert row["device"] == workloads.PREDICTED and "measured" not in row
    assert rows[2]["bootstraps"] == 1 and "predicted_bits" not in rows[2] and rows[2]["value"] > 0


def test_sets_that_are_not_packed_have_the_same_rows_on_their_scales(monkeypatch, capsys):
    """The rows are of the same workloads, so that their bits can be compared with those of packed chains."""
    asked = []
    monkeypatch.setattr(workloads, "unpacked", lambda scale: asked.append(scale) or SMALL)
    rows = workloads.unpacked_rows(False, None, 0, say=lambda *a, **k: None)
    assert asked == [45, 35]
    assert [(r["params"]["workload"], r["params"]["chain"], r["params"]["log_scale"]) for r in rows] == [
        ("tiny", "25-30", 45), ("helr", "25-30", 35)]
    packed = workloads.word_rows(False, None, 0, say=lambda *a, **k: None)
    for row, beside in zip(rows, (packed[0], packed[2])):
        assert row.keys() == beside.keys() and "word" not in row["params"]
        assert all(row[k] == beside[k] for k in ("value", "limbs", "bootstraps", "key_bytes", "preset"))


def test_the_sets_of_both_tables_are_there_at_the_papers_scales():
    for scale in {45, 35}:
        for name in (*(f"n16-d{scale}-w{word}-boot-v1" for word in workloads.WORDS), f"n16-d{scale}-boot-v1"):
            assert lt.preset(name).log_scale == pytest.approx(scale, abs=0.5)


@pytest.mark.slow
def test_scales_have_the_accuracy_of_the_shadow_with_noise_and_the_claim_of_a_sort(monkeypatch):
    network_row, = workloads.scale_rows(False, None, 0, (40,), 20, say=lambda *a, **k: None)
    assert network_row["name"] == "resnet20.accuracy" and network_row["params"]["log_scale"] == 40
    assert network_row["value"] == network_row["shadow_accuracy"] == 100 and network_row["outside"] == 0
    assert abs(network_row["shadow_bits"] - network_row["predicted_bits"]) < 1
    monkeypatch.setattr(sorting, "BITS_AT", {30: 8.0, 40: 10.0, 48: 18.0})
    few, more, refused = workloads.sort_rows(False, None, 0, (30, 40, 48), say=lambda *a, **k: None)
    assert few["name"] == more["name"] == "sort.plan" and more["bootstraps"] > 0 and more["params"]["bits"] == 10
    assert 8 < few["value"] < more["value"] < 14 and few["value"] > few["worst_bits"] and few["params"]["log_scale"] == 30
    assert refused["name"] == "sort.refused" and "needs" in refused["why"] and refused["params"]["log_scale"] == 48


@pytest.mark.slow
def test_what_runs_is_measured_beside_its_plan(monkeypatch, capsys):
    """Runs on a CPU what --device cuda runs on a GPU."""
    monkeypatch.setattr(demo, "run", functools.partial(demo.run, iterations=2, rows=32))
    planned = workloads.word_rows(False, "cpu", 1, ("tiny",))[0]
    measured = workloads.word_rows(True, "cpu", 1, ("tiny",))[0]
    for name in ("name", "preset", "level", "limbs", "bootstraps", "key_count", "key_bytes", "predicted_bits"):
        assert measured[name] == planned[name], name
    assert measured["measured"] > 0 and measured["inputs"] == 20 and measured["measured_worst_bits"] > 5
    monkeypatch.setattr(sorting, "BITS_AT", {40: 8.0})
    rows = workloads.scale_rows(True, "cpu", 1, (40,), 20) + workloads.sort_rows(True, "cpu", 1, (40,))
    assert [r["name"] for r in rows] == ["resnet20.accuracy", "helr.iteration", "sort.run"]
    assert rows[0]["inputs"] == 20 and rows[0]["measured"] > 0 and all(r["params"]["log_scale"] == 40 for r in rows)
    assert rows[2]["median_of"] == workloads.SORTS and rows[2]["params"]["bits"] == 8


def test_what_a_set_refuses_is_a_row_that_says_why(monkeypatch):
    def refused(*_):
        raise lt.LevelError.explain("compile", "3 levels", "more levels", "another preset")

    monkeypatch.setattr(networks, "compiled", refused)
    row = workloads._resnet20(SMALL, None, 1, 20)
    assert row["name"] == "resnet20.refused" and "needs more levels" in row["why"]


def test_the_command_writes_both_tables_or_one(tmp_path, capsys):
    record = tmp_path / "record.json"
    assert cli.main(["bench", "workloads", "--device", "cpu", "--part", "words", "--record", str(record)]) == 0
    assert {r["name"] for r in json.loads(record.read_text())} == {"workload.plan"}
    assert "words of 28 bits" in capsys.readouterr().out
    assert cli.main(["bench", "workloads", "--part", "counts"]) == 1
    assert "words, unpacked, scales" in capsys.readouterr().err
    assert cli.main(["bench", "workloads", "--preset", SMALL]) == 1


def test_predictions_of_each_card_beside_the_newest_run_of_the_same_plan(tmp_path, monkeypatch, capsys):
    work = workloads._workload("tiny")

    def plans():
        return predictions._network_row(networks.compiled(work, None, "cuda", say=lambda *_: None).enc.plan, 1e3)

    case = predictions.Case("tiny", "tiny.input", "ms", 1, {}, plans)
    monkeypatch.setattr(predictions, "cases", lambda: [case])
    h100, h200 = predictions.run((), [], say=lambda *_, **__: None)
    assert h100["device"] == "NVIDIA H100 80GB HBM3" and h200["device"] == "NVIDIA H200"
    assert h100["value"] > h200["value"] and h100["key_bytes"] == h200["key_bytes"] > 0
    ran = {"name": "tiny.input", "value": 2 * h200["value"], "unit": "ms", "device": "NVIDIA H200", "mode": "replayed",
           "preset": SMALL, "params": {"batch": 1, "level": h200["level"]}, "key_bytes": h200["key_bytes"],
           "peak_bytes": h200["peak_bytes"], "date": "2026-01-02"}
    older = ran | {"date": "2026-01-01"}
    others = [ran | {"date": "2026-01-03"} | change for change in (
        {"key_bytes": 1}, {"mode": "immediate"}, {"preset": "other"}, {"name": "other"},
        {"params": {"batch": 2, "level": h200["level"]}}, {"params": {"batch": 1, "level": 99}},
        {"params": {"batch": 1, "level": h200["level"], "light_maps": 3}})]
    rows = sorted([*others, ran, older], key=lambda row: row["date"])
    assert predictions.beside(h200, rows) is ran and predictions.beside(h100, rows) is None
    record = tmp_path / "runs.json"
    record.write_text(json.dumps(rows))
    out = tmp_path / "plans.json"
    assert cli.main(["bench", "workloads", str(record), "--part", "predictions", "--record", str(out)]) == 0
    assert "(-50 %)" in capsys.readouterr().out and [r["name"] for r in json.loads(out.read_text())] == [predictions.NAME] * 2
    for wrong in ([str(record), "--part", "words"], ["--part", "predictions", "--device", "cpu"]):
        assert cli.main(["bench", "workloads", *wrong]) == 1
        assert "--part predictions" in capsys.readouterr().err
