"""Every reader of bytes from strangers has a target of `./latticino test --fuzz`, and a corpus that is kept."""

import json
import os
import re
import signal
import sys
import threading
import time
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
    assert sorted(set(fuzz_files.READERS) - set(fuzz_files.PYTHON_READERS)) == sorted(built) == sorted(written)
    # Every function that reads a source has a target.
    loaders = {name for path in (ROOT / "src" / "io").glob("*files.h") for name in
               re.findall(r"\b(load_\w+)\(Source&", path.read_text())}
    assert len(loaders) >= 9 and [name for name in loaders if f"io::{name}(" not in text] == []
    archives = list(fuzz_files.CORPUS.glob("*.zip"))
    assert sorted(path.stem for path in archives) == sorted(fuzz_files.READERS)
    assert sum(path.stat().st_size for path in archives) < 1 << 20
    for path in archives:
        with zipfile.ZipFile(path) as archive:
            assert archive.testzip() is None and 1 <= len(archive.namelist()) <= 500


def test_what_python_reads_has_a_target(fuzz_files):
    text = (ROOT / "tests" / "fuzz" / "python_readers.py").read_text()
    assert set(re.findall(r'"(\w+)": (?:Containers|Texts)\(', text)) == set(fuzz_files.PYTHON_READERS)
    # Each kind of file that only Python writes.
    sources = [path.read_text() for path in (ROOT / "python" / "latticino").rglob("*.py")]
    kinds = sum(len(re.findall(r"\bContainer\(b\"", source)) for source in sources)
    assert kinds == len(re.findall(r": Containers\(", text)) == 2


def test_readers_that_cannot_run_are_no_success(fuzz_files, capsys, tmp_path):
    """Without Atheris, a run of all readers leaves out those of Python, and a run of them alone fails."""
    programs = fuzz_files.Programs(tmp_path, tmp_path / "python")
    programs.python.write_text("#!/bin/sh\nexit 1\n")
    programs.python.chmod(0o755)
    everything = fuzz_files.readers_of(programs, fuzz_files.arguments_of([]))
    assert set(everything) == set(fuzz_files.READERS) - set(fuzz_files.PYTHON_READERS)
    assert "left out" in capsys.readouterr().out
    with pytest.raises(SystemExit) as why:
        fuzz_files.main(tmp_path, programs.python, ["--only", "programs", "--only", "results"])
    assert "programs, results" in why.value.code and "Atheris" in why.value.code


def test_readers_run_beside_each_other_and_each_is_counted(fuzz_files, capsys, tmp_path, monkeypatch):
    """Two programs that wait for each other: one reads 7 inputs, the other crashes after 3."""
    monkeypatch.setenv("LATTICINO_JOBS", "2")
    for name, other, inputs, status in (("header", "note", 7, 0), ("note", "header", 3, 77)):
        program = tmp_path / f"fuzz_{name}"
        program.write_text(f"""#!/bin/sh
            touch {tmp_path}/{name}
            for i in $(seq 600); do [ -e {tmp_path}/{other} ] && break; sleep 0.1; done
            [ -e {tmp_path}/{other} ] || exit 99
            echo "stat::number_of_executed_units: {inputs}"
            exit {status}""")
        program.chmod(0o755)
    record = tmp_path / "record.json"
    failed = fuzz_files.main(tmp_path, sys.executable, ["--only", "header", "--only", "note", "--inputs", "7", "--record", str(record)])
    said = capsys.readouterr().out
    assert failed == 1 and "header: 7 inputs" in said and "note: 3 inputs" in said and "failed: note;" in said
    rows = {row["name"]: row for row in json.loads(record.read_text())}
    assert {name: (row["value"], row["failed"]) for name, row in rows.items()} == {
        "fuzz.files.header": (7, False), "fuzz.files.note": (3, True)}


COUNTS = """#!/bin/sh
for word in "$@"; do case $word in -runs=*) runs=${{word#-runs=}};; esac; done
echo "$runs" >> {folder}/asked
if [ -e {folder}/waits ]; then touch {folder}/begun; exec sleep 600; fi
echo "stat::number_of_executed_units: $runs"
"""


@pytest.fixture
def counting(fuzz_files, tmp_path, monkeypatch):
    """Makes a program that behaves like a reader: it takes the given number of inputs, or waits. Gives a command that runs it."""
    monkeypatch.setattr(fuzz_files, "PIECE", 10)
    program = tmp_path / "fuzz_header"
    program.write_text(COUNTS.format(folder=tmp_path))
    program.chmod(0o755)

    def run(total):
        return fuzz_files.main(tmp_path, sys.executable, [
            "--only", "header", "--total", str(total), "--record", str(tmp_path / "record.json")])

    return run


def asked_for(tmp_path):
    path = tmp_path / "asked"
    words = path.read_text().split() if path.exists() else []
    path.unlink(missing_ok=True)
    return words


def test_a_run_goes_on_where_the_last_one_ended(fuzz_files, counting, capsys, tmp_path, monkeypatch):
    """A run goes in pieces, and each piece is recorded when it ends. Inputs of another commit do not count."""
    assert counting(25) == 0 and asked_for(tmp_path) == ["10", "10", "5"]
    assert "25 inputs of 25 are recorded" in capsys.readouterr().out
    assert counting(25) == 0 and asked_for(tmp_path) == []
    assert counting(32) == 0 and asked_for(tmp_path) == ["7"]
    row, = json.loads((tmp_path / "record.json").read_text())
    assert row["value"] == 32 and not row["failed"]
    monkeypatch.setattr(fuzz_files._provenance, "commit", lambda _: {"commit": "another", "dirty": False})
    assert counting(5) == 0 and asked_for(tmp_path) == ["5"]


def test_inputs_of_sources_that_were_changed_do_not_count_for_the_commit(fuzz_files, counting, tmp_path, monkeypatch):
    """They were read by programs of changed sources. If they counted, a record without "dirty" would include inputs of
    sources that are in no commit."""
    for dirty in (True, False):
        monkeypatch.setattr(fuzz_files._provenance, "commit", lambda _, dirty=dirty: {"commit": "one", "dirty": dirty})
        assert counting(5) == 0 and asked_for(tmp_path) == ["5"]
    row, = json.loads((tmp_path / "record.json").read_text())
    assert (row["value"], row["dirty"]) == (5, False)


@pytest.fixture
def usual_signals():
    """The handlers that a process has at first. With nohup, tests run with SIGHUP ignored."""
    before = {way: signal.signal(way, signal.default_int_handler if way == signal.SIGINT else signal.SIG_DFL)
              for way in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    yield
    for way, handler in before.items():
        signal.signal(way, handler)


@pytest.mark.parametrize("way", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.usefixtures("usual_signals")
def test_a_run_that_is_stopped_ends_its_programs_and_keeps_its_counts(counting, capsys, tmp_path, way):
    assert counting(20) == 0
    (tmp_path / "waits").touch()

    def stop():
        for _ in range(600):
            if (tmp_path / "begun").exists():
                break
            time.sleep(0.1)
        os.kill(os.getpid(), way)

    stops = threading.Thread(target=stop)
    stops.start()
    start = time.monotonic()
    with pytest.raises((KeyboardInterrupt, SystemExit)):
        counting(40)
    stops.join()
    assert time.monotonic() - start < 120  # and not ten minutes
    row, = json.loads((tmp_path / "record.json").read_text())
    assert row["value"] == 20 and not row["failed"]
    (tmp_path / "waits").unlink()
    asked_for(tmp_path)
    assert counting(40) == 0 and asked_for(tmp_path) == ["10", "10"]


def test_a_reader_that_reads_nothing_is_no_endless_run(fuzz_files, counting, capsys, tmp_path):
    (tmp_path / "fuzz_header").write_text("#!/bin/sh\nexit 0\n")
    assert counting(20) == 1
    for words in (["--total", "5"], ["--total", "0", "--record", "x"], ["--total", "5", "--inputs", "5", "--record", "x"]):
        with pytest.raises(SystemExit):
            fuzz_files.arguments_of(words)
        assert "--total takes a positive number" in capsys.readouterr().err


@pytest.fixture
def recorded():
    record, = (ROOT / "bench" / "records").glob("*-cpu-fuzz-files.json")
    return {row["name"].removeprefix("fuzz.files."): row for row in json.loads(record.read_text())}


def test_the_record_is_of_ten_million_inputs(fuzz_files, recorded):
    assert set(recorded) <= set(fuzz_files.READERS)
    counts = {name: row["value"] for name, row in recorded.items()}
    assert all(count >= 3 * 10**5 for count in counts.values())
    assert sum(counts.values()) >= 10**7
    # The readers of a service, apart from files of the library: ten million inputs of its own.
    assert sum(counts[name] for name in fuzz_files.PYTHON_READERS) >= 10**7
    assert not any(row["failed"] or row["dirty"] for row in recorded.values())
    assert all(row["rate"] > 0 and row["core_hours"] > 0 for row in recorded.values())


def test_the_record_has_every_reader(fuzz_files, recorded):
    assert sorted(recorded) == sorted(fuzz_files.READERS)
