"""The parts of a row of docs/papers.md, and how its figures are read from records."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
RECORDS = ROOT / "bench" / "records"
REFERENCES = ROOT / "python" / "latticino" / "measure" / "references.json"
USUAL_DEVICE = "NVIDIA H200"
TWICE = 0.005  # the share by which two measurements of the same thing in one run may differ

MEASURED = "measured"  # every quantity of the table or figure
PARTLY = "partly measured"  # some quantities; the remark says which are missing
LATER = "not measured yet"
COMPUTED = "computed"  # follows from parameters alone; the command prints it
HARDWARE = "does not apply: hardware"
OTHERS = "does not apply: a measurement of others"
DRAWING = "nothing to measure"  # notation, drawings, formulas
WITH_FIGURES, WITHOUT_FIGURES = (MEASURED, PARTLY), (LATER, COMPUTED, HARDWARE, OTHERS, DRAWING)


@cache
def rows_of(record: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads((RECORDS / f"{record}.json").read_text())
    return rows


@cache
def references() -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads(REFERENCES.read_text())
    return rows


def matches(row: Mapping[str, Any], name: str, where: Mapping[str, Any]) -> bool:
    """Whether a row has that name, and these members or parameters; 0 stands for a parameter that is not there."""
    return row["name"] == name and all(row.get(k, row.get("params", {}).get(k, 0)) == v for k, v in where.items())


def printed(value: float) -> str:
    """Three significant digits, without an exponent."""
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}"


@dataclass(frozen=True)
class Recorded:
    """A figure of ours: a member of the row of a record that has this name, these members and parameters. Rows that
    differ are an error, as the name would not say which of them is meant."""

    record: str
    name: str
    where: Mapping[str, Any] = field(default_factory=dict)
    member: str = "value"
    unit: str = ""  # "": the unit of the row
    factor: float = 1.0

    def row(self) -> dict[str, Any]:
        found = [row for row in rows_of(self.record) if matches(row, self.name, self.where)]
        if not found:
            raise LookupError(f"{self.record} has no row {self.name} with {dict(self.where)}")
        # A measurement that was made twice in one run gives about the same; another one does not.
        if any(abs(float(row["value"]) - float(found[0]["value"])) > TWICE * abs(float(found[0]["value"])) for row in found[1:]):
            raise LookupError(f"{self.record} has {len(found)} rows {self.name} with {dict(self.where)}, which differ")
        return found[0]

    def value(self) -> float:
        return float(self.row()[self.member]) * self.factor

    def text(self) -> str:
        row = self.row()
        unit = self.unit or row["unit"]
        forms = {"1/s": ",.0f", "levels": ".0f", "%": ".2f", "key switches": ".0f", "products": ".0f", "rotation keys": ".0f"}
        number = f"{self.value():{forms[unit]}}" if unit in forms else printed(self.value())
        # The row of a plan also has measured figures, and their device. Counts have no device.
        device = row["measured_on"] if self.member.startswith("measured") else row.get("device", USUAL_DEVICE)
        shown = "" if device == USUAL_DEVICE else f" ({device.removeprefix('NVIDIA ')})"
        return f"{number} {unit.replace('1/s', 'per second')}" + shown

    def records(self) -> tuple[str, ...]:
        return (self.record,)


@dataclass(frozen=True)
class Ratio:
    """The ratio of two of our figures."""

    above: Recorded
    below: Recorded
    unit: str = "times"

    def text(self) -> str:
        return f"{self.above.value() / self.below.value():.2f} {self.unit}"

    def records(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((self.above.record, self.below.record)))


@dataclass(frozen=True)
class Sum:
    """The sum of several of our figures."""

    parts: tuple[Recorded, ...]

    def text(self) -> str:
        first = self.parts[0]
        return f"{printed(sum(part.value() for part in self.parts))} {first.unit or first.row()['unit']}"

    def records(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(part.record for part in self.parts))


@dataclass(frozen=True)
class Mean:
    """The mean of a fraction over several launches, weighted by their times."""

    parts: tuple[Recorded, ...]
    weight: str = "us"

    def value(self) -> float:
        weights = [float(part.row()[self.weight]) for part in self.parts]
        return sum(part.value() * w for part, w in zip(self.parts, weights)) / sum(weights)

    def text(self) -> str:
        return f"{printed(self.value())} {self.parts[0].unit}"

    def records(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(part.record for part in self.parts))


@dataclass(frozen=True)
class Several:
    """Figures of one kind next to each other, such as those of several batches."""

    parts: tuple[Recorded | Mean, ...]

    def text(self) -> str:
        *first, last = (part.text() for part in self.parts)
        unit = last.partition(" ")[2]
        return " / ".join([*(text.removesuffix(f" {unit}") for text in first), last])

    def records(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for part in self.parts for name in part.records()))


@dataclass(frozen=True)
class Cited:
    """A figure measured for other people's code, from references.json."""

    source: str
    name: str
    where: Mapping[str, Any]

    def text(self) -> str:
        found = [row for row in references() if row["source"] == self.source and matches(row, self.name, self.where)]
        if not found:
            raise LookupError(f"references.json has no {self.name} of {self.source} with {dict(self.where)}")
        row = found[0]
        return f"{printed(row['value'])} {row['unit']} ({row['device'].removeprefix('NVIDIA ')})"


@dataclass(frozen=True)
class Refused:
    """What a set refused, and what it had, by the row of a record."""

    record: str
    name: str
    where: Mapping[str, Any] = field(default_factory=dict)

    def text(self) -> str:
        why = Recorded(self.record, self.name, self.where).row()["why"]
        return f"refused: {why[why.index('had '):].partition(';')[0]}"

    def records(self) -> tuple[str, ...]:
        return (self.record,)


Ours = Recorded | Ratio | Sum | Mean | Several | Refused


@dataclass(frozen=True)
class Line:
    """One quantity: what the paper says of it, and ours where it is recorded."""

    what: str
    paper: str = ""
    ours: Ours | None = None
    code: tuple[tuple[str, Cited], ...] = ()  # the paper's code, measured beside ours: how it ran, and its figure


@dataclass(frozen=True)
class Row:
    """A table or figure of a paper."""

    number: str  # as the paper has it: "Table 5", "Fig. 7"
    shows: str
    status: str
    remark: str  # what differs, what is missing, or why there is nothing to measure
    commands: tuple[str, ...] = ()
    lines: tuple[Line, ...] = ()

    def records(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for line in self.lines if line.ours for name in line.ours.records()))


@dataclass(frozen=True)
class Paper:
    """A paper: its citation, on what and with which parameters it measured, and its tables and figures."""

    key: str
    title: str
    citation: str
    setting: str  # hardware, words, parameters
    beside: str  # what differs from ours everywhere
    tables: tuple[str, ...]  # all numbers that its text has
    figures: tuple[str, ...]
    rows: tuple[Row, ...]

    def numbers(self) -> list[str]:
        return [*(f"Table {n}" for n in self.tables), *(f"Fig. {n}" for n in self.figures)]

    def faults(self) -> list[str]:
        """What is missing or stands twice, and rows whose status and contents differ."""
        have = [row.number for row in self.rows]
        found = [f"{self.key}: {n} has {have.count(n)} rows" for n in self.numbers() if have.count(n) != 1]
        found += [f"{self.key}: {n} is no number of the paper" for n in have if n not in self.numbers()]
        for row in self.rows:
            where = f"{self.key}, {row.number}"
            if not (row.shows and row.remark):
                found.append(f"{where}: says nothing")
            if row.status not in WITH_FIGURES + WITHOUT_FIGURES:
                found.append(f"{where}: its status is {row.status}")
            if (row.status in WITH_FIGURES) != bool(row.records()):
                found.append(f"{where}: {row.status}, with records {row.records()}")
            if row.status in (*WITH_FIGURES, COMPUTED) and not row.commands:
                found.append(f"{where}: {row.status}, without a command")
            if row.status == MEASURED and any(line.ours is None for line in row.lines):
                found.append(f"{where}: measured, but for a line")
            found += [f"{where}: no record {name}" for name in row.records() if not (RECORDS / f"{name}.json").exists()]
        return found


def whole(first: int, last: int) -> tuple[str, ...]:
    return tuple(str(n) for n in range(first, last + 1))
