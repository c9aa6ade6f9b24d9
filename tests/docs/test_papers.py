"""docs/papers.md: a row for every table and figure of the papers, with figures as the records and references have them."""

import dataclasses
import importlib.util
import re
from pathlib import Path

import pytest

from latticino import _native

ROOT = Path(__file__).resolve().parents[2]
spec = importlib.util.spec_from_file_location("make_papers", ROOT / "docs" / "make_papers.py")
make_papers = importlib.util.module_from_spec(spec)
spec.loader.exec_module(make_papers)
from papers import ours  # noqa: E402 - make_papers says where it lies
from papers.commands import fault  # noqa: E402
from papers.rows import COMPUTED, MEASURED, Cited, Line, Ratio, Recorded, Refused, Row  # noqa: E402

FIRST = make_papers.PAPERS[0]
WHAT = "write it again: ./latticino python docs/make_papers.py"


def test_the_page_says_what_rows_and_records_say():
    assert make_papers.faults() == [], WHAT


def test_every_table_and_figure_has_one_row():
    counts = {paper.key: (len(paper.tables), len(paper.figures)) for paper in make_papers.PAPERS}
    assert counts == {"cheddar": (8, 8), "cheddar-v1": (5, 5), "theodosian": (4, 8), "chameleon": (7, 14),
                      "bitpacker": (1, 19)}
    page = (ROOT / "docs" / "papers.md").read_text()
    rows = re.findall(r'^\| <a id="([^"]+)"></a>', page, re.MULTILINE)
    assert len(rows) == len(set(rows)) == sum(map(sum, counts.values()))


def test_the_newest_records_are_those_of_other_pages():
    path = ROOT / "docs" / "make_tables.py"
    other = importlib.util.spec_from_file_location("make_tables", path)
    make_tables = importlib.util.module_from_spec(other)
    other.loader.exec_module(make_tables)
    named = {"operations": ours.OPERATIONS, "bootstrap": ours.BOOT, "gates": ours.GATES, "switch": ours.SWITCH,
             "training": ours.HELR}
    assert named == {subject: make_tables.RECORDS[subject] for subject in named}


def test_no_record_of_a_row_has_a_newer_one_of_its_name():
    newest = {}
    for path in sorted((ROOT / "bench" / "records").glob("*.json")):
        newest[path.stem[len("2026-11-28-"):]] = path.stem
    named = {name for paper in make_papers.PAPERS for row in paper.rows for name in row.records()}
    stale = {name: newest[name[len("2026-11-28-"):]] for name in named if newest[name[len("2026-11-28-"):]] != name}
    assert len(named) > 20 and not stale


def changed(number, **members):
    rows = [dataclasses.replace(row, **members) if row.number == number else row for row in FIRST.rows]
    return dataclasses.replace(FIRST, rows=tuple(rows))


def test_what_is_missing_or_contradicts_itself_is_a_fault():
    assert FIRST.faults() == []
    without = dataclasses.replace(FIRST, rows=FIRST.rows[1:])
    assert without.faults() == ["cheddar: Table 1 has 0 rows"]
    assert dataclasses.replace(FIRST, rows=(*FIRST.rows, FIRST.rows[0])).faults() == ["cheddar: Table 1 has 2 rows"]
    more = dataclasses.replace(FIRST, rows=(*FIRST.rows, Row("Table 9", "x", MEASURED, "y")))
    assert "cheddar: Table 9 is no number of the paper" in more.faults()
    assert changed("Table 1", remark="").faults() == ["cheddar, Table 1: says nothing"]
    assert changed("Table 1", status="fast").faults()[0].endswith("its status is fast")
    assert "without a command" in changed("Table 7", commands=()).faults()[0]
    assert "with records ()" in changed("Table 7", lines=()).faults()[0]
    assert "measured, but for a line" in changed("Table 7", lines=(*FIRST.rows[6].lines, Line("x", "1 s"))).faults()[0]
    gone = Line("x", "1 s", Recorded("2026-01-01-no-such", "x"))
    assert changed("Table 7", lines=(gone,)).faults() == ["cheddar, Table 7: no record 2026-01-01-no-such"]


def test_a_row_that_a_record_does_not_have_is_an_error(monkeypatch):
    with pytest.raises(LookupError, match="no row ckks.rotate"):
        Recorded(ours.OPERATIONS, "ckks.rotate", {"limbs": 5}).text()
    with pytest.raises(LookupError, match="no ckks.rotate of Cheddar 2"):
        Cited("Cheddar 2", "ckks.rotate", {}).text()
    monkeypatch.setattr(make_papers, "PAPERS", (changed("Table 7", lines=(Line("x", "1 s", ours.operation("none", 5)),)),))
    assert make_papers.faults() == [f"{ours.OPERATIONS} has no row ckks.none with {{'limbs': 5, 'batch': 1}}"]


def test_rows_that_differ_are_an_error():
    where = {"limbs": 8, "N": 8192}
    assert Recorded("2026-11-28-h200-leveled", "ckks.rotate", where).text() == "20.0 us"  # measured twice in one run
    with pytest.raises(LookupError, match="rows ckks.rotate with {}, which differ"):
        Recorded("2026-11-28-h200-leveled", "ckks.rotate").row()


@pytest.mark.slow
def test_a_page_that_differs_from_its_records_is_a_fault(monkeypatch, tmp_path):
    page = tmp_path / "papers.md"
    monkeypatch.setattr(make_papers, "PAGE", page)
    assert len(make_papers.faults()) == 1  # there is none
    page.write_text(make_papers.page())
    assert make_papers.faults() == []
    page.write_text(make_papers.page().replace("8.58 ms", "8.59 ms", 1))
    assert "is not what the records say" in make_papers.faults()[0]


def test_figures_are_printed_as_records_have_them():
    boot = ours.bootstrapping()
    assert boot.text() == f"{boot.row()['value']:.2f} ms" and boot.row()["device"] == "NVIDIA H200"
    assert Ratio(boot, boot).text() == "1.00 times"
    on_cpu = Recorded("2026-11-21-xeon-cpu", "ckks.bootstrap", {"threads": 1}, factor=1e-3, unit="s")
    assert on_cpu.text() == "5.29 s (Intel(R) Xeon(R) Processor, avx512 kernels, 1 threads)"
    refused = Refused(ours.AT_SCALES, "sort.refused", {"log_scale": 30})
    assert refused.text() == "refused: had an evaluation error of 2^-10.0 at scale 2^30"
    counted = Recorded(ours.STAGES, "growth.stage", {"limbs": 48, "stage": 1}, unit="MB", factor=1e-6)
    assert "device" not in counted.row() and counted.text() == "62.9 MB"
    launched, graph = ours.of_cheddar("ckks.rotate", limbs=47)
    assert (launched[1].text(), graph[1].text()) == ("408 us (H200)", "368 us (H200)")


@pytest.mark.parametrize("command, wrong", [
    ("./latticino bench gpu --record FILE", ""), ("./latticino test --quick", ""), ("bench_growth --runs 3 --output FILE", ""),
    ("python3 bench/counters.py FOLDER", ""), ("packing_study --sets", ""),
    ("./latticino bench bitpacker --record FILE", ""), ("./latticino bench packer --record FILE", "packer"), ("./latticino measure", "no command"),
    ("./latticino bench gpu --recrod FILE", "recrod"), ("./latticino explain no-such-set", "no-such-set"),
    ("bench_growth --stages 48,24 --limbs= --output FILE", ""), ("bench_growth --limit= --runs 3", "no option --limit"),
    ("bench_growth --run 3", "no option --run"), ("bench_nothing", "no program"), ("python3 bench/count.py", "no such file"),
    ("./latticino bench roofline bench/records/none.json", "no file")])
def test_commands_are_those_that_exist(command, wrong):
    said = fault(command)
    assert wrong in said and bool(said) == bool(wrong), said


@pytest.mark.slow
def test_the_set_has_the_primes_of_the_papers_chain():
    """The set agrees with the row of Cheddar's Table 2: terminals, mains and bits of the modulus at the levels 0 to
    4."""
    row = next(row for row in FIRST.rows if row.number == "Table 2")
    assert row.status == COMPUTED and all(f"{bits}" in row.remark for bits in (50, 90, 130, 170, 210))
    said = _native.preset(ours.D40).explain()
    levels = dict(re.findall(r"^ +([0-4]) +(\d+\+\d+ +\d+)\.\d\d ", said, re.MULTILINE))
    assert {int(n): tuple(map(int, re.findall(r"\d+", text))) for n, text in levels.items()} == {
        0: (0, 2, 50), 1: (3, 0, 90), 2: (1, 4, 130), 3: (4, 2, 170), 4: (7, 0, 210)}
