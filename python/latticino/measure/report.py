"""`latticino bench report`: the committed records, or one of them, as tables."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from .. import errors

RECORDS = Path(__file__).resolve().parents[3] / "bench" / "records"


def run(path: Path | None) -> int:
    """Prints every record under bench/records of a checkout, or the named one."""
    paths = [path] if path else sorted(RECORDS.glob("*.json"))
    if not paths:
        raise errors.FileError.explain(
            "bench report", f"no records in {RECORDS}", "a checkout of the repository, or --record FILE",
            "run it there")
    for p in paths:
        try:
            content = json.loads(p.read_text())
        except (OSError, json.JSONDecodeError) as why:
            raise errors.FileError.explain("bench report", f"{p} ({why})", "a JSON record", "name another file") from why
        rows = content["rows"] if isinstance(content, dict) else content
        print(f"\n{p.name}")
        if isinstance(content, dict):
            print("  " + ", ".join(f"{k} {v}" for k, v in content.items() if not isinstance(v, (list, dict))))
        for row in rows:
            print("  " + "  ".join(f"{k}={_short(v)}" for k, v in row.items() if not isinstance(v, (list, dict))))
    return 0


def _short(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
