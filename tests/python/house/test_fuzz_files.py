"""What `./latticino test --fuzz` runs, without running it: that it names every reader, and what it records."""

import json
import re
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def fuzz_files(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "tests"))
    import fuzz_files
    yield fuzz_files
    sys.modules.pop("fuzz_files", None)


def test_every_reader_has_a_program_and_a_kept_corpus(fuzz_files):
    built = re.search(r"set\(LATTICINO_PARSERS ([^)]*)\)", (ROOT / "cmake" / "fuzz.cmake").read_text())[1].split()
    text = (ROOT / "tests" / "fuzz" / "parsers" / "parsers.cc").read_text()
    written = re.findall(r'^      \{"(\w+)", (?:true|false),', text, re.MULTILINE)
    assert sorted(fuzz_files.READERS) == sorted(built) == sorted(written)
    # Whatever reads a source has a target.
    loaders = {name for path in (ROOT / "src" / "io").glob("*files.h") for name in
               re.findall(r"\b(load_\w+)\(Source&", path.read_text())}
    assert len(loaders) >= 9 and [name for name in loaders if f"io::{name}(" not in text] == []
    archives = list(fuzz_files.CORPUS.glob("*.zip"))
    assert sorted(path.stem for path in archives) == sorted(fuzz_files.READERS)
    assert sum(path.stat().st_size for path in archives) < 1 << 20
    for path in archives:
        with zipfile.ZipFile(path) as archive:
            assert archive.testzip() is None and 1 <= len(archive.namelist()) <= 500


def test_the_record_has_every_reader(fuzz_files):
    record, = (ROOT / "bench" / "records").glob("*-cpu-fuzz-files.json")
    rows = {row["name"].removeprefix("fuzz.files."): row for row in json.loads(record.read_text())}
    assert sorted(rows) == sorted(fuzz_files.READERS)
    assert min(row["value"] for row in rows.values()) >= 3 * 10**5 and sum(row["value"] for row in rows.values()) >= 10**7
    assert not any(row["failed"] or row["dirty"] for row in rows.values())
    assert all(row["rate"] > 0 and row["core_hours"] > 0 for row in rows.values())


def test_a_corpus_packs_to_the_same_archive(fuzz_files, tmp_path, monkeypatch):
    monkeypatch.setattr(fuzz_files, "CORPUS", tmp_path / "corpus")
    folder = tmp_path / "inputs"
    folder.mkdir()
    for name, data in (("b", b"2"), ("a", b"1")):
        (folder / name).write_bytes(data)
    fuzz_files.pack("header", folder)
    first = (tmp_path / "corpus" / "header.zip").read_bytes()
    out = fuzz_files.unpack("header", tmp_path / "out")
    assert {p.name: p.read_bytes() for p in out.iterdir()} == {"a": b"1", "b": b"2"}
    fuzz_files.pack("header", out)
    assert (tmp_path / "corpus" / "header.zip").read_bytes() == first


def test_runs_of_one_commit_add_up(fuzz_files, tmp_path):
    path = tmp_path / "record.json"
    row = {"name": "fuzz.files.header", "value": 100, "core_hours": 0.5, "seconds": 10.0, "failed": False, "rate": 1,
           "coverage": 7, "slowest_seconds": 0, "commit": "a"}
    for change in ({}, {"failed": True, "coverage": 5}, {"name": "fuzz.files.tuning_table"}):
        fuzz_files.written(path, {**row, **change})
    rows = {r["name"]: r for r in json.loads(path.read_text())}
    assert rows["fuzz.files.header"] | {"rate": 0} == row | {"value": 200, "core_hours": 1.0, "seconds": 20.0,
                                                            "failed": True, "rate": 0}
    fuzz_files.written(path, {**row, "commit": "b"})
    assert json.loads(path.read_text())[-1] == {**row, "commit": "b"} and len(json.loads(path.read_text())) == 2


@pytest.mark.parametrize("words", [["--minutes", "0"], ["--minutes", "-1"], ["--inputs", "0"], ["--only", "nothing"],
                                   ["--minutes", "x"], ["more"]])
def test_wrong_options_are_refused_before_anything_is_built(fuzz_files, words, capsys):
    with pytest.raises(SystemExit) as end:
        fuzz_files.arguments_of(words)
    assert end.value.code == 2 and "usage" in capsys.readouterr().err


def test_crashes_fail_the_run(fuzz_files, tmp_path, capsys):
    programs = tmp_path / "programs"
    programs.mkdir()
    for name, status in (("header", 0), ("tuning_table", 77)):
        program = programs / f"fuzz_{name}"
        program.write_text("#!/bin/sh\necho '#9 DONE cov: 12 ft: 3'; echo 'stat::number_of_executed_units: 34'\n"
                           f"exit {status}\n")
        program.chmod(0o755)
    record = tmp_path / "record.json"
    words = ["--minutes", "0.1", "--record", str(record)]
    assert fuzz_files.main(programs, [*words, "--only", "header"]) == 0
    assert fuzz_files.main(programs, [*words, "--only", "header", "--only", "tuning_table"]) == 1
    assert "failed: tuning_table" in capsys.readouterr().out
    rows = {r["name"]: r for r in json.loads(record.read_text())}
    assert rows["fuzz.files.header"]["value"] == 68 and rows["fuzz.files.header"]["coverage"] == 12
    assert rows["fuzz.files.tuning_table"]["failed"] and not rows["fuzz.files.header"]["failed"]
