"""`latticino bench`: which programs run, and how their rows are used."""

import argparse
import json
import os
import subprocess
import sys

import numpy as np
import pytest

from latticino import cli, tfhe
from latticino.measure import exactness, peer_environments, peers, programs, records, report, targets
from record_rows import timed

# Stands for a C++ program: writes rows that contain its options, and ends with the requested status.
PROGRAM = """#!{python}
import json, os, sys
options = dict(a[2:].split("=", 1) for a in sys.argv[1:])
row = {{"name": os.path.basename(sys.argv[0]), "value": {value}, "unit": "ms", "options": options,
       "commit": os.environ["LATTICINO_COMMIT"], "date": "2026-01-02", "preset": options.get("preset"),
       "device": "NVIDIA H200", "peak_bytes": 1 << 30, "levels_left": 5, "mean_error_bits": 20,
       "max_error_bits": 18}}
if {status} < 2:
    json.dump([row], open(options["output"], "w"))
sys.exit({status})
"""


PROGRAMS = ("bench_host", "bench_precision", "bench_cpu", "bench_bootstrap", "bench_operations", "bench_client", "bench_records",
            "bench_ablation", "bench_pipelining", "bench_growth", "bench_switch", "bench_tune", "bench_gates", "bench_bitpacker",
            "packing_study", "bench_transforms", "bench_transform_forms", "bench_ceilings", "bench_repack")


@pytest.fixture
def fake(tmp_path, monkeypatch):
    """Makes a folder of stand-ins for all programs."""
    monkeypatch.setenv(programs.FOLDER, str(tmp_path))
    monkeypatch.setattr(programs, "PEERS", ())

    def make(status=0, value=1.5):
        for name in PROGRAMS:
            path = tmp_path / name
            path.write_text(PROGRAM.format(python=sys.executable, status=status, value=value))
            path.chmod(0o755)
        return tmp_path / "record.json"

    return make


def test_precision_runs_the_program_and_writes_its_rows(fake):
    record = fake()
    command = ["bench", "precision", "--device", "cpu", "--preset", "n13-d40-leveled-v1", "--runs", "3", "--record", str(record)]
    assert cli.main(command) == 0
    row, = json.loads(record.read_text())
    assert row["name"] == "bench_precision" and row["date"] == "2026-01-02"
    assert row["options"] | {"output": ""} == {"output": "", "preset": "n13-d40-leveled-v1", "device": "cpu", "threads": "0",
                                               "runs": "3", "chain": "3"}
    assert row["commit"] == records.provenance()["commit"]
    assert ("sources" in row) == (row["commit"] != "unknown")


@pytest.mark.slow
@pytest.mark.parametrize("arithmetic", ["exact", "fft64"])
def test_exactness_counts_on_the_default_and_small_sets(tmp_path, monkeypatch, capsys, arithmetic):
    record = tmp_path / "record.json"
    monkeypatch.setattr(exactness, "BATCH", 64)  # every kind of gate occurs
    monkeypatch.setattr(exactness, "GATES", {"exact": "test-tfhe-gates-insecure",
                                             "fft64": "test-tfhe-gates-v2-insecure"})
    monkeypatch.setattr(exactness, "INTEGERS", "test-tfhe-2-2-tiny-insecure")
    monkeypatch.setattr(exactness, "WIDTHS", (16,))
    assert cli.main(["bench", "exactness", "--device", "cpu", "--runs", "1", "--arithmetic", arithmetic,
                     "--record", str(record)]) == 0
    rows = {row["name"].rsplit(".")[-1]: row for row in json.loads(record.read_text())}
    assert set(rows) == {"gates", "tables", "tables_shared", "tables_full", "u8_sample", "u16"}
    assert (rows["tables_shared"]["cases"], rows["tables_shared"]["bootstrappings"]) == (8 * 2 + 4 * 4 + 2 * 16, 2 + 4 + 32)
    assert (rows["tables_full"]["cases"], rows["tables_full"]["bootstrappings"]) == (3 * 16, (1 + 1 + 2 + 1) * 16)
    assert rows["gates"]["cases"] == 16 * 64 and rows["tables"]["cases"] == 48
    assert rows["gates"]["bootstrappings"] == 17 * 64  # because a MUX takes two
    assert all(row["params"]["arithmetic"] == arithmetic for row in rows.values())
    assert all(row["value"] == 0 and row["unit"] == "wrong results" for row in rows.values())
    assert "0 wrong results in" in capsys.readouterr().out


def test_exactness_sees_wrong_results(monkeypatch, capsys):
    monkeypatch.setattr(exactness, "INTEGERS", "test-tfhe-2-2-tiny-insecure")
    monkeypatch.setattr(tfhe.EncryptedArray, "apply", lambda x, f: x)
    assert cli.main(["bench", "exactness", "--device", "cpu", "--runs", "1", "--part", "tables"]) == 1
    assert "a stated target was missed" in capsys.readouterr().err


@pytest.mark.parametrize("arithmetic", ["exact", "fft64"])
def test_exactness_measures_noise(tmp_path, monkeypatch, capsys, arithmetic):
    record = tmp_path / "record.json"
    monkeypatch.setattr(exactness, "NOISE", ("test-tfhe-gates-insecure", "test-tfhe-2-2-insecure"))
    command = ["bench", "exactness", "--part", "noise", "--device", "cpu", "--runs", "50", "--arithmetic", arithmetic,
               "--record", str(record)]
    status = cli.main(command)
    # The command allows four deviations, which 8 statistics exceed in one of 2,000 runs; here six are allowed, of 0.11 of
    # a variance: sqrt(2 / 204) for the samples, and the key's.
    assert status == ("DIFFERS" in capsys.readouterr().out)
    rows = json.loads(record.read_text())
    assert [row["preset"] for row in rows] == list(exactness.NOISE)
    for row in rows:
        assert (row["name"], row["unit"], row["wrong"]) == ("tfhe.exactness.noise", "log2 failure", 0)
        assert row["samples"] == row["cases"] == row["bootstrappings"] == 204 and row["backend"] == "cpu"
        for part in ("result", "switch"):
            assert row[f"{part}_log2_measured"] == pytest.approx(row[f"{part}_log2_predicted"], abs=0.5)
        assert 0.5 < row["value"] / row["log2_failure_predicted"] < 2
    # A deviation of twice the predicted one is noticed.
    part = exactness._Part("test-tfhe-gates-insecure", argparse.Namespace(
        device="cpu", threads=1, arithmetic="exact"))
    sigmas = [2 * v**0.5 for v in part.ctx.params.variances(False)]
    rng = np.random.default_rng(1)
    row, good = exactness._deviations(part, *(rng.normal(0, s, 400) for s in sigmas))
    assert not good and "DIFFERS" in capsys.readouterr().out and row["value"] > row["log2_failure_predicted"]


def test_cpu_asks_for_one_thread_and_all(fake):
    record = fake()
    assert cli.main(["bench", "cpu", "--threads", "3", "--record", str(record)]) == 0
    row, = json.loads(record.read_text())
    assert row["options"]["threads"] == "1,3" and row["options"]["preset"] == ""


def test_gpu_replays_bootstrapping_and_times_the_records(fake, monkeypatch):
    monkeypatch.setattr(programs.devices, "choose", lambda name: ("cuda", 0))
    record = fake()
    assert cli.main(["bench", "gpu", "--record", str(record)]) == 0
    boots, ops, client, parts = (rows := json.loads(record.read_text()))[:3], *rows[3:]
    assert [b["options"]["preset"] for b in boots] == ["n16-d40-boot-v1", "n16-d35-boot-v1", "n16-d40-boot-v1"]
    assert [b["options"].get("minimal-keys") for b in boots] == [None, None, "1"]
    assert boots[0]["options"] | {"output": ""} == {"output": "", "device": "cuda", "preset": "n16-d40-boot-v1",
                                                    "runs": "20", "replay": "1"}
    assert [ops["name"], client["name"], parts["name"]] == ["bench_operations", "bench_client", "bench_records"]
    assert cli.main(["bench", "gpu", "--tuning", "t.txt", "--preset", "n16-d40-boot-v1", "--record", str(record)]) == 0
    assert [row["options"]["tuning"] for row in json.loads(record.read_text())] == ["t.txt"] * 5


def test_missed_targets_end_the_gpu_benchmark_with_status_1(fake, monkeypatch):
    monkeypatch.setattr(programs.devices, "choose", lambda name: ("cuda", 0))
    rows = [timed("ckks.rotate", 179.0, "us", limbs=47), timed("ckks.rotate", 31.0, "us", limbs=13, batch=16)]
    monkeypatch.setattr(programs, "run_program", lambda name, options: (rows, True))
    assert cli.main(["bench", "gpu"]) == 0
    rows.append(timed("ckks.bootstrap", 10.6, "ms", slots=32768))
    assert cli.main(["bench", "gpu"]) == 1
    rows[-1] = timed("ckks.bootstrap", 10.4, "ms", slots=32768) | {"key_bytes": 7 * 2**30, "matrix_bytes": 1}
    assert cli.main(["bench", "gpu"]) == 1


def test_keys_sums_and_tables_fit_with_all_keys_and_with_minimal_ones(capsys):
    def row(value, gib, minimal):
        held = {"key_bytes": (gib - 1) << 30, "sum_bytes": 2**29, "matrix_bytes": 2**29}
        return timed("ckks.bootstrap", value, "ms", slots=32768, minimal_keys=minimal) | held

    assert targets.check_memory([row(8, 7, 0), row(14, 2, 1)]) and capsys.readouterr().out.count(": met") == 2
    for full, minimal in ((row(8, 7, 0) | {"sum_bytes": 2**29 + 1}, row(14, 2, 1)), (row(8, 7, 0), row(14, 3, 1))):
        assert not targets.check_memory([full, minimal]) and capsys.readouterr().out.count("MISSED") == 1
    assert targets.check_memory([row(8, 9, 0) | {"preset": "other"}])
    assert targets.check_minimal_keys([row(8, 7, 0), row(14.4, 2, 1)])
    assert not targets.check_minimal_keys([row(8, 7, 0), row(14.5, 2, 1)])
    assert targets.check_minimal_keys([row(14.5, 2, 1)])


@pytest.mark.skipif(not os.path.exists(f"{os.environ.get('LATTICINO_BUILD')}/bench_bootstrap"),
                    reason="LATTICINO_BUILD names no folder with benchmark programs")
@pytest.mark.parametrize("replay", [0, 1])
def test_bootstrapping_writes_what_further_runs_gave(tmp_path, replay):
    file = tmp_path / "row.json"
    subprocess.run([os.environ["LATTICINO_BUILD"] + "/bench_bootstrap", "--device=cpu", "--preset=test-n10-boot-insecure",
                    "--runs=3", "--replays=4", "--poison=1", f"--replay={replay}", f"--output={file}"], check=True)
    row, = json.loads(file.read_text())
    assert (row["replays"], row["poisoned_runs"], row["different"]) == (4, 4 if replay else 1, 0)
    assert row["median_of"] == 3 and 0 < row["low"] <= row["value"] <= row["high"]
    assert row["sum_bytes"] < row["key_bytes"] and row["mode"] == ("replayed" if replay else "immediate")


def test_switching_measures_everything_on_a_gpu_and_a_sample_on_a_cpu(fake, monkeypatch):
    record = fake()
    assert cli.main(["bench", "switching", "--device", "cpu", "--record", str(record)]) == 0
    row, = json.loads(record.read_text())
    assert row["options"] | {"output": ""} == {
        "output": "", "device": "cpu", "threads": "0", "sets": "switch-n16-d40-v1", "slots": "64", "values": "64",
        "runs": "1"}
    monkeypatch.setattr(programs.devices, "choose", lambda name: ("cuda", 0))
    assert cli.main(["bench", "switching", "--record", str(record)]) == 0
    fast, precise = (row["options"] for row in json.loads(record.read_text()))
    assert fast["slots"] == "64,256,1024,32768" and fast["values"] == precise["values"] == "10000"
    assert targets.SWITCH_SET in fast["sets"].split(",") and fast["replay"] == "1"
    assert precise["sets"] == "switch-n16-d40-precise-v1"
    assert cli.main(["bench", "switching", "--preset", "a", "--record", str(record)]) == 0
    assert [row["options"]["sets"] for row in json.loads(record.read_text())] == ["a"]


def test_switching_has_targets_of_time(monkeypatch, capsys):
    row = timed("switch.round_trip", 199, "ms", slots=1024) | {"preset": targets.SWITCH_SET}
    assert targets.target(row) == (200_000, None)
    assert targets.target(row | {"params": {"slots": 512}}) is None
    assert targets.target(row | {"preset": "switch-n16-d40-precise-v1"}) is None
    assert targets.check([row]) and "1024 slots" in capsys.readouterr().out
    monkeypatch.setattr(programs.devices, "choose", lambda name: ("cuda", 0))
    monkeypatch.setattr(programs, "run_program", lambda name, options, part: ([row | {"value": 201}], True))
    assert cli.main(["bench", "switching"]) == 1


def test_switching_that_is_stopped_leaves_its_rows(fake, tmp_path, monkeypatch, capsys):
    record = fake()
    monkeypatch.setattr(programs.devices, "choose", lambda name: ("cuda", 0))
    good = (tmp_path / "bench_switch").read_text()
    stop = "if 'precise' in options['sets']: os.kill(os.getpid(), 9)\nsys.exit"
    (tmp_path / "bench_switch").write_text(good.replace("sys.exit", stop))
    assert cli.main(["bench", "switching", "--record", str(record)]) != 0
    assert not record.exists() and "bench_switch" in capsys.readouterr().err
    for i in range(2):  # the first program's complete rows, and the second one's rows so far
        row, = json.loads((tmp_path / f"record.json.part{i}").read_text())
        assert row["name"] == "bench_switch"
    (tmp_path / "bench_switch").write_text(good)
    assert cli.main(["bench", "switching", "--record", str(record)]) == 0
    assert len(json.loads(record.read_text())) == 2 and not list(tmp_path.glob("*.part*"))


def test_gates_run_in_every_arithmetic_that_a_set_has(fake, monkeypatch):
    record = fake()
    assert cli.main(["bench", "gates", "--device", "cpu", "--runs", "3", "--record", str(record)]) == 0
    exact, fft64 = json.loads(record.read_text())
    assert exact["options"] | {"output": ""} == {
        "output": "", "device": "cpu", "threads": "1", "mode": "replayed", "batches": "1,8", "runs": "3",
        "arithmetic": "exact", "sets": programs.GATE_SETS}
    assert fft64["options"]["arithmetic"] == "fft64" and fft64["options"]["sets"] == (
        "chameleon-630-legacy,chameleon-630-group3-legacy,tfhe-gates-v1,tfhe-gates-v2,tfhe-2-2-v1,tfhe-2-2-v2,"
        "tfhe-2-2-group3-fft64-v1,chameleon-500-legacy,chameleon-592-legacy")
    monkeypatch.setattr(programs.devices, "choose", lambda name: ("cuda", 0))
    assert cli.main(["bench", "gates", "--preset", "tfhe-2-2-group3-v1", "--record", str(record)]) == 0
    row, = json.loads(record.read_text())
    assert row["options"]["batches"].endswith("4096") and row["options"]["device"] == "cuda"


def test_gates_have_targets_that_one_arithmetic_has_to_reach(monkeypatch, capsys):
    def row(value, arithmetic, name="tfhe.gate_latency", unit="ms", batch=1):
        return timed(name, value, unit, batch=batch, arithmetic=arithmetic) | {"preset": "chameleon-630-legacy"}

    assert targets.check_gates([row(1.1, "exact"), row(0.8, "fft64")])
    assert "0.80 ms (fft64)" in capsys.readouterr().out
    assert not targets.check_gates([row(1.1, "exact"), row(0.8, "fft64", batch=2)])
    capsys.readouterr()
    three = row(0.5, "fft64") | {"preset": "chameleon-630-group3-legacy"}  # it does not apply to single bits
    assert targets.check_gates([three]) and not targets.check_gates([row(1.1, "fft64"), three])
    assert [line.split()[-1] for line in capsys.readouterr().out.splitlines()] == ["met", "MISSED", "met"]
    many = [row(60_000, "fft64", "tfhe.gate_throughput", "1/s", 4096),
            row(42_000, "exact", "tfhe.gate_throughput", "1/s", 4096)]
    assert not targets.check_gates(many) and "60000.00 1/s (fft64)" in capsys.readouterr().out
    assert targets.check_gates([row(1.1, "exact") | {"device": "other"}])
    monkeypatch.setattr(programs, "run_program", lambda name, options: ([row(1.1, "exact")], True))
    assert cli.main(["bench", "gates", "--device", "cpu"]) == 1


def test_targets_belong_to_full_bootstrapping_on_their_device():
    row = timed("ckks.bootstrap", 1, "ms", slots=32768)
    assert targets.target(row) == (10_500, 7_000)
    assert targets.target(row | {"device": "other"}) is None
    assert targets.target(timed("ckks.bootstrap", 1, "ms", slots=32768, minimal_keys=1)) is None
    assert targets.target(timed("ckks.bootstrap", 1, "ms", slots=1024)) is None
    assert targets.target(timed("ckks.rotate", 1, "us", limbs=13, batch=2)) is None


def test_ablation_and_tuning_run_their_programs(fake, monkeypatch, tmp_path):
    monkeypatch.setattr(programs.devices, "choose", lambda name: (name or "cuda", 0))
    record = fake()
    assert cli.main(["bench", "ablation", "--runs", "3", "--record", str(record)]) == 0
    rows = json.loads(record.read_text())
    assert [row["name"] for row in rows] == ["bench_ablation", "bench_pipelining"]
    assert all(row["options"]["runs"] == "3" and row["options"]["device"] == "cuda" for row in rows)
    assert "forms" not in rows[1]["options"]
    assert cli.main(["bench", "ablation", "--device", "cpu", "--record", str(record)]) == 0
    assert json.loads(record.read_text())[-1]["options"]["forms"] == "whole,split"
    told = tmp_path / "told"
    (tmp_path / "bench_tune").write_text(f"#!/bin/sh\necho \"$@\" > {told}\n")
    assert cli.main(["tune", "--presets", "p,q", "--table", "t.txt"]) == 0
    assert told.read_text() == "--presets=p,q --table=t.txt\n"
    assert cli.main(["tune", "--presets", "", "--tfhe-sets", "s", "--batches", "1,7"]) == 0
    assert told.read_text() == "--presets= --table=tuned.txt --tfhe-sets=s --batches=1,7\n"


def test_systems_are_all_sets_that_bootstrap(fake, monkeypatch, capsys):
    monkeypatch.setattr(programs.devices, "choose", lambda name: (name or "cuda", 0))
    record = fake(value=10)
    assert cli.main(["bench", "systems", "--record", str(record)]) == 0
    sets = {row["options"]["preset"] for row in json.loads(record.read_text())}
    assert {f"n16-d{d}-boot-v1" for d in (30, 35, 40, 45, 50)} | {"n16-d48-dr-boot-v1"} <= sets
    assert not {"n16-d40-structured-v1", "chameleon-d51-legacy"} & sets
    assert "2.000 ms per level" in capsys.readouterr().out


def test_transforms_are_those_of_papers_and_of_operations(fake, monkeypatch):
    record = fake()
    monkeypatch.setattr(programs.devices, "choose", lambda name: (name, 0))
    assert cli.main(["bench", "transforms", "--runs", "3", "--record", str(record)]) == 0
    rows = json.loads(record.read_text())
    assert [row["name"] for row in rows] == ["bench_transforms", "bench_transforms", "bench_transform_forms"]
    first, second, third = (row["options"] | {"output": ""} for row in rows)
    assert first == {"log-n": "12,13,14,15,16", "limbs": "1", "polynomials": "1", "runs": "3", "output": ""}
    assert second == third == {"runs": "3", "output": ""}


@pytest.mark.parametrize("status, message", [(1, "target was missed"), (2, "status 2 from bench_precision")])
def test_failures_of_a_program_are_seen(fake, capfd, status, message):
    fake(status)
    assert cli.main(["bench", "precision", "--device", "cpu"]) == 1
    assert message in capfd.readouterr().err


def test_rows_of_other_libraries_name_them(tmp_path):
    row = {**peers.measure("Other 1.0", "ckks.rotate", 10, 3, lambda: None), "device": "d"}
    assert row["library"] == "Other 1.0" and row["median_of"] == 5 and row["params"]["slots"] == 512
    records.write(tmp_path / "r.json", [records.stamped(row)])
    back, = records.read(tmp_path / "r.json")
    assert report.references(back) == [] and len(report.newest([back, {**back, "library": "Ours 2"}])) == 2


def test_other_libraries_run_in_an_environment_of_their_own(tmp_path, monkeypatch, capsys):
    own = f"3.{sys.version_info.minor}"
    monkeypatch.setattr(peer_environments, "FOLDER", tmp_path)
    monkeypatch.setattr(peer_environments, "NEEDS", {"tenseal": {own: ["tenseal==0"]}, "openfhe": {"3.999": ["x"]}})
    folder = tmp_path / f"tenseal-{own}"  # stands for the library; its version and operations are invented
    folder.mkdir()
    (folder / "complete").write_text("")
    (folder / "tenseal.py").write_text(
        "class SCHEME_TYPE: CKKS = 1\n"
        "def context(*a, **b): return type('Context', (), {})()\n"
        "def ckks_vector(context, values): return len(values)\n")
    (folder / "tenseal-0.0.dist-info").mkdir()
    (folder / "tenseal-0.0.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: tenseal\nVersion: 0.0\n")
    rows = peer_environments.measured(("tenseal", "openfhe"))
    assert [r["params"]["N"] for r in rows] == [2**14, 2**15] and rows[0]["library"] == "TenSEAL 0.0"
    assert all(r["device"] and r["commit"] for r in rows)
    assert "openfhe: left out, it needs one of the Pythons 3.999" in capsys.readouterr().out
    (folder / "tenseal.py").write_text("raise SystemExit('broken')")
    assert peer_environments.measured(("tenseal",)) == [] and "broken" in capsys.readouterr().out


def test_a_package_without_the_programs_says_so(monkeypatch, capsys):
    monkeypatch.delenv(programs.FOLDER, raising=False)
    assert cli.main(["bench", "cpu"]) == 1
    assert "UnsupportedError" in (err := capsys.readouterr().err) and "checkout" in err


def test_ceilings_are_of_one_thread_and_of_all(fake, monkeypatch):
    record = fake()
    monkeypatch.setattr(programs.devices, "choose", lambda name: (name or "cpu", 0))
    assert cli.main(["bench", "ceilings", "--threads", "2", "--runs", "3", "--record", str(record)]) == 0
    one, both = (row["options"] for row in json.loads(record.read_text()))
    assert (one["threads"], both["threads"], one["device"], one["runs"]) == ("1", "2", "cpu", "3")
    assert cli.main(["bench", "ceilings", "--device", "cuda", "--record", str(record)]) == 0
    gpu, = (row["options"] for row in json.loads(record.read_text()))
    assert gpu["device"] == "cuda" and gpu["runs"] == "9"


@pytest.mark.slow
def test_host_times_are_of_a_device_that_computes_nothing(fake, capsys):
    record = fake()
    assert cli.main(["bench", "host", "--runs", "1", "--record", str(record)]) == 0
    rows = json.loads(record.read_text())
    names = [row["name"] for row in rows if row["name"].startswith("host.")]
    assert names == ["host.helr.step"] * 3 + ["host.helr.bootstrap", "host.sort.stage"]
    assert rows[-1]["options"]["device"] == "none"
    for row in rows[:5]:
        assert row["backend"] == "none" and row["clock"] == "cpu" and row["value"] > 0
        assert row["records"] > 100 and row["allocations"] > row["records"] and row["waits"] == 0
    # Constants are encoded once. A sort has more masks than are kept.
    assert [row["copies_in"] for row in rows[:5]] == [0, 0, 0, 0, 1]
    assert cli.main(["bench", "host", "--device", "cpu"]) == 1
    assert "UnsupportedError" in capsys.readouterr().err


def test_repacking_is_counted_on_a_cpu(fake, monkeypatch, capsys):
    record = fake()
    monkeypatch.setattr(programs.devices, "choose", lambda name: (name or "cuda", 0))
    assert cli.main(["bench", "repacking", "--preset", "test-switch-n12-insecure", "--record", str(record)]) == 0
    options, = (row["options"] | {"output": ""} for row in json.loads(record.read_text()))
    assert options == {"threads": "1", "runs": "3", "sets": "test-switch-n12-insecure", "output": ""}
    assert cli.main(["bench", "repacking", "--device", "cuda", "--record", str(record)]) == 1
    assert "UnsupportedError" in capsys.readouterr().err
