"""The page of guarantees names tests that exist, and figures of its records."""

import json
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "lab" / "guarantees.md").read_text()
ROWS = [line for line in PAGE.splitlines() if line.startswith("| ") and not line.startswith("| promise |")]


def exists(name):
    """Whether `PATH::test_name` of Python, `PATH::Suite.Name` of C++, or a PATH alone names something that exists."""
    path, _, test = name.partition("::")
    if not (ROOT / path).is_file():
        return False
    text = (ROOT / path).read_text()
    if path.endswith(".py"):
        return re.search(rf"^def {re.escape(test)}\(", text, re.MULTILINE) is not None
    suite, _, case = test.partition(".")
    return not test or re.search(rf"^TEST(_F|_P)?\({suite},\s*{case}\)", text, re.MULTILINE) is not None


def test_every_test_that_the_page_names_exists():
    named = re.findall(r"`(tests/[^`]+)`", PAGE)
    assert len(named) > 100 and [name for name in named if not exists(name)] == []
    for name in ("tests/docs/test_guarantees.py::test_no", "tests/kat/no.cc::A.B", "tests/kat/ntt_test.cc::NttKnownAnswers.No"):
        assert not exists(name)


def test_every_promise_has_what_would_fail_without_it():
    assert len(ROWS) > 70
    for row in ROWS:
        promise, tests, *more = (cell.strip() for cell in row.strip("|").split(" | "))
        assert promise.endswith(".") and ("`tests/" in tests or tests == "the same" or "](" in tests), row
        assert len(more) <= 1, row


def record(name):
    rows = json.loads((ROOT / "bench" / "records" / f"{name}.json").read_text())
    assert f"bench/records/{name}.json" in PAGE
    return rows


def test_figures_are_those_of_the_records():
    for name, wrong in (("2026-11-28-cpu-fuzz", 0), ("2026-11-28-h200-fuzz", 0), ("2026-11-26-h100-fuzz", 0),
                        ("2026-11-28-cpu-fuzz-claims", 0)):
        rows = record(name)
        assert all(row["value"] == 0 for row in rows) and sum(len(row["missed_claims"]) for row in rows) == wrong
        assert f"{sum(row['programs'] for row in rows):,} " in PAGE
        altered = [row["programs"] for row in rows if row["name"] == "fuzz.program-files"]
        assert all(f"{count:,} " in PAGE for count in altered)
    for device in ("cpu", "h200", "h100"):  # the newest record of each
        newest = max(p.name for p in (ROOT / "bench" / "records").glob(f"*-{device}-fuzz.json"))
        assert newest in PAGE, newest
    claims, = record("2026-11-28-cpu-fuzz-claims")
    many, declared = claims["calibrated"], claims["declared"]
    assert many["percent"][-1] == declared["percent"][-1] == 100
    for said in (f"{many['results']:,} calibrated results", f"{100 * many['within_1_mean']:.2f} % within 1 bit",
                 f"{100 * many['within_2_worst']:.2f} % within 2", f"{max(many['mean_bits'] + many['worst_bits'])} bits too high",
                 f"{max(declared['mean_bits'] + declared['worst_bits'])} bits too high",
                 f"ratio is {claims['calibrated_few_slots']['rms_ratio']} (calibrated)",
                 f"{claims['declared_few_slots']['rms_ratio']} (declared)"):
        assert said in PAGE, said
    files = [row["value"] for row in record("2026-11-28-cpu-fuzz-files")]
    assert f"{len(files)} readers of files took {sum(files):,} inputs" in PAGE and f"at least {min(files):,} each" in PAGE
