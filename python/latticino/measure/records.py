"""Records: lists of rows in the format of docs/lab/index.md, with their origin."""

from __future__ import annotations

import hashlib
import json
import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any, NoReturn, TextIO

from .. import arrays, errors
from .._provenance import CHECKOUT, commit
from ..files import regular

Row = dict[str, Any]

FOLDER = CHECKOUT / "bench" / "records"
SOURCES = ("src", "bench", "python")  # the files that a measurement depends on
SUFFIXES = {".cc", ".h", ".cu", ".cuh", ".py", ".txt"}


@lru_cache
def provenance() -> Row:
    """The commit, with "dirty" and a hash of the sources if they were changed, if this is a checkout. For a copy
    without git, LATTICINO_COMMIT states the commit."""
    row = commit(SOURCES)
    if "dirty" not in row:
        return {"commit": os.environ.get("LATTICINO_COMMIT", row["commit"])}
    digest = hashlib.sha256()
    for path in sorted(p for folder in SOURCES for p in (CHECKOUT / folder).rglob("*") if p.suffix in SUFFIXES):
        digest.update(str(path.relative_to(CHECKOUT)).encode() + b"\0" + path.read_bytes())
    return {**row, "sources": digest.hexdigest()[:16]}


def stamped(row: Row) -> Row:
    """The row with its origin and date."""
    return {**row, **provenance(), "date": row.get("date", time.strftime("%Y-%m-%d", time.gmtime()))}


def write(path: Path, rows: list[Row]) -> None:
    """A JSON list, one row per line. FileError for a name of anything but a regular file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    text = "[\n" + ",\n".join("  " + json.dumps(row) for row in rows) + "\n]\n"
    # in one step, because another command may write the same record, and an interrupt may come
    with _beside(path) as new:
        new.write(text)
        new.flush()
        regular.require_replaceable(path, "record")
        if path.exists():
            os.chmod(new.name, stat.S_IMODE(path.stat().st_mode))
        os.replace(new.name, path)
    print(f"record written to {arrays.printable(str(path))}")


@contextmanager
def _beside(path: Path) -> Iterator[TextIO]:
    """A new file in the folder of another one, which is gone afterwards unless it was renamed."""
    name = path.with_name(f".latticino-{os.urandom(8).hex()}.tmp")
    try:
        with name.open("x") as file:
            yield file
    finally:
        name.unlink(missing_ok=True)


def read(path: Path) -> list[Row]:
    """The rows of a record; FileError if the file is no record."""
    data = regular.read(path, "bench", "a JSON record")
    try:
        rows = json.loads(data, parse_constant=_refuse)
    except (ValueError, RecursionError) as why:  # no JSON, no UTF-8, or lists that are nested too deeply
        raise errors.FileError.explain("bench", f"{path} ({why})", "a JSON record", "name another file") from why
    if not isinstance(rows, list) or not all(map(_is_row, rows)):
        raise errors.FileError.explain("bench", f"{path}", "a list of rows with name, value and unit",
                                       "name another file")
    return rows


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"the number {constant}")


def _is_row(row: Any) -> bool:
    return (isinstance(row, dict) and isinstance(row.get("name"), str) and isinstance(row.get("unit"), str)
            and isinstance(row.get("value"), (int, float)))


def require_writable(path: Path) -> None:
    """Raises FileError, before anything is measured, if a record could not be written. This includes the name of a
    link, a device or a pipe, which a record must not replace."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        regular.require_replaceable(path, "record")
        if path.exists():
            with path.open("a"):
                pass
        else:  # the file itself is not opened, because another command may be writing it
            with _beside(path):
                pass
    except errors.FileError:
        raise
    except OSError as why:
        raise errors.FileError.explain(
            "record", f"{path} ({why.strerror})", "a file that can be written", "name another file") from why
