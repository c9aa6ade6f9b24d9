"""`latticino bench compare A B`: which benchmarks changed from record A to record B by more than noise."""

from __future__ import annotations

import json
from pathlib import Path

from . import records, report
from .records import Row

MIN_CHANGE = 0.02  # part of the value: a smaller difference is never reported as a change
SPREADS = 2.0  # multiple of the runs' spread: neither is a smaller one than this
UNKNOWN = 0.015  # spread of rows that do not state theirs


def spread(row: Row) -> float:
    """Half the distance between the quartiles, as a part of the value."""
    if "low" not in row or "high" not in row or row["value"] <= 0:
        return UNKNOWN
    return max(row["high"] - row["low"], 0) / (2 * row["value"])


def noise(a: Row, b: Row) -> float:
    """How far the ratio of two measurements may be from 1 without a real change."""
    return max(MIN_CHANGE, SPREADS * (spread(a) ** 2 + spread(b) ** 2) ** 0.5)


def keyed(rows: list[Row]) -> dict[str, Row]:
    """Timings and rates by measurement and device."""
    return {json.dumps([report.identity(r), r.get("device")]): r
            for r in report.newest(rows, ("device",)) if report.timed(r)}


def run(before: Path, after: Path) -> int:
    """Prints every change that exceeds the noise. Returns status 1 if something is slower or missing."""
    a, b = keyed(records.read(before)), keyed(records.read(after))
    slower = faster = equal = 0
    for key in a.keys() & b.keys():
        old, new = a[key], b[key]
        ratio = report.ratio(new, old)
        limit = noise(old, new)
        if abs(ratio - 1) <= limit:
            equal += 1
            continue
        slower, faster = slower + (ratio > 1), faster + (ratio < 1)
        print(f"{'SLOWER' if ratio > 1 else 'faster'} {100 * (ratio - 1):+6.1f} % (noise {100 * limit:.1f} %): "
              f"{old['value']:.4g} -> {new['value']:.4g} {new['unit']}  {new['name']} {report.described(new)}")
    missing = [a[key] for key in a.keys() - b.keys()]
    for row in missing:
        print(f"MISSING {row['name']} {report.described(row)}")
    print(f"{slower} slower, {faster} faster, {equal} within noise, {len(missing)} missing, "
          f"{len(b.keys() - a.keys())} new")
    return 1 if slower or missing else 0
