"""`latticino bench report`: the newest row of each benchmark, compared with published figures of others."""

from __future__ import annotations

import json
from functools import lru_cache
from importlib import resources
from pathlib import Path
from typing import Any

from .. import errors
from .._provenance import git
from . import records
from .records import Row

# The fields by which benchmarks of one name differ, in addition to preset, backend, library and mode; with the value
# that a row without the field stands for.
SHAPE = {"N": None, "limbs": None, "slots": None, "batch": 1, "threads": 0, "message": "complex", "chain": 0,
         "arithmetic": "exact", "minimal_keys": 0, "slot_to_coeff_first": 0, "over_mod_raise": 0, "arcsine": 0,
         "log_message_ratio": 0,
         "rows": None, "features": None, "dataset": None, "function": None, "route": "ring",
         "class": None, "least": None, "polynomials": None, "form": None, "twiddles": "made", "sync": None,
         "chunks": None, "values": None,
         "tile": None, "shared_limit": 0, "level": None, "word": None, "log_scale": None, "way": None}
UNITS = {"us": 1e-6, "ms": 1e-3, "s": 1.0}
RATE = "1/s"


def run(path: Path | None) -> int:
    """Prints the newest rows under bench/records of a checkout, or those of the named record."""
    paths = [path] if path else sorted(records.FOLDER.glob("*.json"))
    if not paths:
        raise errors.FileError.explain(
            "bench report", f"no records in {records.FOLDER}", "a checkout of the repository, or --record FILE",
            "run it there")
    name = None
    for row in newest([row for p in paths for row in records.read(p)]):
        if row["name"] != name:
            name = row["name"]
            print(f"\n{name}")
        _print(row)
    return 0


def newest(rows: list[Row], extra: tuple[str, ...] = ()) -> list[Row]:
    """The last row of each benchmark (and value of `extra`) by date, then by its commit's time, sorted."""
    found: dict[str, Row] = {}
    for row in sorted(rows, key=lambda r: (r.get("date", ""), _commit_time(r.get("commit", "unknown")))):
        found[json.dumps([identity(row), [row.get(k) for k in extra]])] = row
    return sorted(found.values(), key=lambda r: [(x is not None, str(x).zfill(8)) for x in identity(r)])


def references(row: Row) -> list[Row]:
    """Others' figures for the benchmark of this row."""
    if "library" in row:
        return []
    params = {**SHAPE, **row.get("params", {})}
    return [r for r in _all_references()
            if r["name"] == row["name"] and r["backend"] == row.get("backend")
            and r.get("preset") in (None, row.get("preset"))
            and all(params.get(k) == v for k, v in r["params"].items())]


def ratio(reference: Row, row: Row) -> float:
    """How many times as long the reference takes."""
    return seconds(reference) / seconds(row)


def timed(row: Row) -> bool:
    """Whether a row is a time or a rate."""
    return row.get("unit") in (*UNITS, RATE)


def seconds(row: Row) -> float:
    """The seconds that a row states, or the seconds of one operation at its rate."""
    return 1 / row["value"] if row["unit"] == RATE else row["value"] * UNITS[row["unit"]]


@lru_cache
def _all_references() -> list[Row]:
    return json.loads(resources.files(__package__).joinpath("references.json").read_text())


@lru_cache
def _commit_time(commit: str) -> int:
    return int(git("show", "-s", "--format=%ct", commit) or 0) if commit.isalnum() else 0


def identity(row: Row) -> list[Any]:
    """The fields that identify a benchmark."""
    params = row.get("params", {})
    return [row["name"], row.get("backend"), row.get("preset"), row.get("library"), row.get("mode"),
            row.get("axis"), row.get("operands", "cold"), row.get("step"),
            *(params.get(k, unsaid) for k, unsaid in SHAPE.items())]


def described(row: Row) -> str:
    """The conditions of a measurement, except its name, as text."""
    params = {k: v for k, v in row.get("params", {}).items() if k in SHAPE and v != SHAPE[k]}
    what = [row.get("library", ""), "" if row.get("preset") == "none" else row.get("preset", ""), row.get("step", ""),
            row.get("operands", ""), *(f"{k} {v}" for k, v in params.items())]
    return " ".join(filter(None, what))


def _print(row: Row) -> None:
    more = [f"{label} {row[key]:.4g}{unit}" for key, label, unit in
            (("mean_error_bits", "mean", " bits"), ("max_error_bits", "worst", " bits"),
             ("ceiling_fraction", "of copying", ""), ("accuracy", "accuracy", "")) if key in row]
    where = f"{row.get('device', '?')}, {row.get('date', '?')}, {row.get('commit', '?')}"
    print(f"  {row['value']:10.4g} {row['unit']:4} {described(row)}"
          + (f"; {', '.join(more)}" if more else "") + f"  [{where}]")
    print_references(row)


def print_references(row: Row) -> None:
    """Others' figures for the benchmark of this row, and how many times as long they are."""
    for r in references(row):
        note = f"; {r['note']}" if "note" in r else ""
        print(f"             {ratio(r, row):4.1f} x: {r['value']:g} {r['unit']}, {r['source']}, {r['device']}{note}")
