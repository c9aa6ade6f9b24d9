"""`latticino bench`: which programs run, what becomes of their rows, and the report."""

import json
import sys

import pytest

from latticino import cli
from latticino.measure import peer_environments, peers, programs, records, report
from latticino.workloads import demo

# Stands for a C++ program: writes rows that tell its options, and ends as it is told.
PROGRAM = """#!{python}
import json, os, sys
options = dict(a[2:].split("=", 1) for a in sys.argv[1:])
row = {{"name": os.path.basename(sys.argv[0]), "value": {value}, "unit": "ms", "options": options,
       "commit": os.environ["LATTICINO_COMMIT"], "date": "2026-01-02", "preset": options.get("preset"),
       "device": "NVIDIA H200", "peak_bytes": 1 << 30}}
if {status} < 2:
    json.dump([row], open(options["output"], "w"))
sys.exit({status})
"""


@pytest.fixture
def fake(tmp_path, monkeypatch):
    """Makes a folder of stand-ins for all programs."""
    monkeypatch.setenv(programs.FOLDER, str(tmp_path))
    monkeypatch.setattr(programs, "PEERS", ())

    def make(status=0, value=1.5):
        for name in ("bench_precision", "bench_cpu", "bench_bootstrap", "bench_records"):
            path = tmp_path / name
            path.write_text(PROGRAM.format(python=sys.executable, status=status, value=value))
            path.chmod(0o755)
        return tmp_path / "record.json"

    return make


def test_precision_runs_the_program_and_writes_its_rows(fake):
    record = fake()
    command = ["bench", "precision", "--device", "cpu", "--preset", "a", "--runs", "3", "--record", str(record)]
    assert cli.main(command) == 0
    row, = json.loads(record.read_text())
    assert row["name"] == "bench_precision" and row["date"] == "2026-01-02"
    assert row["options"] | {"output": ""} == {"output": "", "preset": "a", "device": "cpu", "threads": "0",
                                               "runs": "3", "chain": "3"}
    assert row["commit"] == records.provenance()["commit"]
    assert ("sources" in row) == (row["commit"] != "unknown")


def test_cpu_asks_for_one_thread_and_all(fake):
    record = fake()
    assert cli.main(["bench", "cpu", "--threads", "3", "--record", str(record)]) == 0
    row, = json.loads(record.read_text())
    assert row["options"]["threads"] == "1,3" and row["options"]["preset"] == ""


def test_gpu_replays_bootstrapping_and_times_the_records(fake, monkeypatch):
    monkeypatch.setattr(programs.devices, "choose", lambda name: ("cuda", 0))
    record = fake()
    assert cli.main(["bench", "gpu", "--record", str(record)]) == 0
    boot, ops = json.loads(record.read_text())
    assert boot["name"] == "bench_bootstrap" and boot["options"]["runs"] == "20" and boot["options"]["replay"] == "1"
    assert ops["name"] == "bench_records" and ops["options"]["device"] == "cuda"
    fake(value=programs.MOST_MS + 1)
    assert cli.main(["bench", "gpu"]) == 1


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
    folder = tmp_path / f"tenseal-{own}"  # stands for the library: version and operations are made up
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


def made(value, date, **params):
    return {"name": "ckks.rotate", "value": value, "unit": "us", "backend": "cuda", "preset": "none", "date": date,
            "commit": "unknown", "device": "d", "params": {"N": 65536, "limbs": 47, "batch": 1, **params}}


def test_the_report_shows_the_newest_row_beside_references(tmp_path, capsys):
    path = tmp_path / "rows.json"
    rows = [made(202, "2026-11-02"), made(303, "2026-11-01"), made(50, "2026-10-01", limbs=5)]
    records.write(path, rows)
    assert cli.main(["bench", "report", "--record", str(path)]) == 0
    out = capsys.readouterr().out
    assert "202 us" in out and "303 us" not in out and "50 us" in out
    assert "2.0 x: 404 us, Cheddar 1.0" in out and out.count("Cheddar") == 1


def test_the_report_refuses_what_is_no_record(tmp_path, capsys):
    for content in ("{", '{"name": 1}', '[{"name": "x"}]'):
        (tmp_path / "r.json").write_text(content)
        assert cli.main(["bench", "report", "--record", str(tmp_path / "r.json")]) == 1
        assert "FileError" in capsys.readouterr().err


def test_every_reference_is_cited_and_can_match():
    for r in report._all_references():
        assert r["source"] and r["device"] and r["value"] > 0 and r["unit"] in report.UNITS, r
        assert r["params"].keys() <= report.SHAPE.keys(), r
        twin = {**r, "params": r["params"]}
        assert r in report.references(twin) and report.ratio(r, twin) == 1


def test_the_demo_makes_a_row():
    shown = demo.Row(1, 2.0, 4, True, demo.precision([0.25], [0.5]), 0.9, 0.8)
    result = demo.Result("digits", "p", "cuda:0", {"N": 8, "rows": 2, "features": 3}, "H200", [shown, shown], 4.0,
                         1, 0.9, 0.8, 10, 2, 20)
    row = demo.row(result)
    assert (row["name"], row["value"], row["unit"], row["backend"]) == ("helr.iteration", 2000.0, "ms", "cuda")
    assert row["params"] == {"N": 8, "rows": 2, "features": 3, "iterations": 2, "dataset": "digits"}
    assert (row["key_bytes"], row["peak_bytes"], row["bootstraps"]) == (10, 20, 1)
    assert (row["accuracy"], row["clear_accuracy"]) == (0.9, 0.8)
