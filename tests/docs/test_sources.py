"""Every figure with a unit in README, the pages for users and the laboratory notes has a source.

Tables that docs/make_tables.py writes have records or plans. Any other figure stands in a section that links the record which has
it, in a block (paragraph, list, table) for which a comment before it names where it comes from, or in a section whose heading is
followed by one:

    <!-- figures: record 2026-11-23-h200-bootstrap; reference Chameleon; limit 4 GiB, 64 MiB: what the library allows -->

- ``record NAME``: a file of bench/records, or of the weights that ship, has it, rounded as it is printed.
- ``reference SOURCE``: references.json has it of that source.
- ``KIND FIGURES: REASON``: these figures need none. KIND is one of KINDS.

Only figures of time, memory, shares and factors count, and bits with decimals: others are parameters. What was predicted before it
was measured needs no source: text from ``*Predicted*`` to ``*Measured*`` or the end of its block, and columns headed ``predicted``.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
GENERATED = ("api.md", "cpp_api.md", "papers.md")  # made from docstrings, headers and records
PAGES = [ROOT / "README.md", *sorted(p for p in (ROOT / "docs").rglob("*.md") if p.name not in GENERATED)]
RECORDS = {path.stem: path for room in ("bench/records", "python/latticino/workloads/trained_weights")
           for path in (ROOT / room).glob("*.json")}
KINDS = {"computed": "follows from parameters or a model", "limit": "the code or a test sets it",
         "derived": "from figures of the record that the reason names"}
SECONDS = {"s": 1, "seconds": 1, "min": 60, "minutes": 60, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
BYTES = {"kB": 1e3, "MB": 1e6, "GB": 1e9, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TB": 1e12}
UNITS = [*SECONDS, *BYTES, "%", "times", "bits", "bit"]
FIGURE = re.compile(rf"(?<![\w.^,-])(\d+(?:,\d{{3}})*(?:\.\d+)?)\s({'|'.join(UNITS)})(?![\w/])")
MARKER = re.compile(r"<!-- figures: (.*?) -->", re.DOTALL)
LINKED = re.compile(r"\]\([./]*bench/records/([\w.-]+)\.json\)")
UNKEPT = re.compile(r"(?i)\bno\s+records?\b|\bunrecorded\b|without\s+a\s+record|\bread\s+once\s*[,;)]")


@dataclass(frozen=True)
class Figure:
    number: str
    unit: str

    def __str__(self) -> str:
        return f"{self.number} {self.unit}"

    def is_rounded(self, value: float) -> bool:
        return f"{value:,.{len(self.number.partition('.')[2])}f}".replace(",", "") == self.number.replace(",", "")


def measured(block: str) -> str:
    """A block without predictions."""
    block = re.sub(r"\*Predicted\*.*?(?=\*Measured\*|\Z)", " ", block, flags=re.DOTALL)
    lines = block.splitlines()
    if len(lines) < 3 or not all(line.lstrip().startswith("|") for line in lines):
        return block
    rows = [re.split(r"(?<!\\)\|", line) for line in lines]
    left = [i for i, cell in enumerate(rows[0]) if cell.strip() != "predicted"]
    return "\n".join("|".join(row[i] for i in left if i < len(row)) for row in rows)


def figures(block: str) -> list[Figure]:
    prose = re.sub(r"`[^`\n]*`|\]\([^)]*\)", " ", measured(block))
    found = [Figure(*match) for match in FIGURE.findall(prose)]
    return [f for f in found if not f.unit.startswith("bit") or "." in f.number]


def blocks(text: str) -> Iterator[tuple[int, str]]:
    """Line and text of each block, without code and generated tables; headings are blocks."""
    def blank(match: re.Match[str]) -> str:
        return "\n" * match[0].count("\n")

    text = re.sub(r"<!-- table: \w+ -->.*?<!-- end -->", blank, text, flags=re.DOTALL)
    text = re.sub(r"^ *```.*?^ *```", blank, text, flags=re.DOTALL | re.MULTILINE)
    at = 1
    for part in re.split(r"(\n\s*\n)", text):
        if part.strip():
            yield at + len(part[:len(part) - len(part.lstrip())].splitlines()), part.strip("\n")
        at += part.count("\n")


def leaves(value: object, key: str = "") -> Iterator[tuple[str, float]]:
    """Numbers of a row, each with the name of its member."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from leaves(inner, name)
    elif isinstance(value, list):
        for inner in value:
            yield from leaves(inner, key)
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        yield key, float(value)


def in_unit(rows: list[dict], unit: str) -> Iterator[float]:
    """The figures of rows that are of the kind that a unit measures, in that unit."""
    for row in rows:
        for member, value in leaves({k: v for k, v in row.items() if k != "params"}):
            own = row.get("unit", "") if member == "value" else ""
            if unit in SECONDS:
                factor = SECONDS.get(own) or {"_ms": 1e-3, "econds": 1.0}.get(next(
                    (end for end in ("_ms", "econds") if member.endswith(end)), ""))
                if factor:
                    yield value * factor / SECONDS[unit]
            elif unit in BYTES and ("bytes" in member or own == "bytes"):
                yield value / BYTES[unit]
            elif unit == "%" and (member.endswith(("accuracy", "percent", "fraction")) or member.startswith("accuracy")):
                yield value if member.endswith("percent") else 100 * value
            elif unit.startswith("bit") and ("bits" in member or own == "bits"):
                yield value


class Sources:
    """The sources that a comment names: records, references, and figures that need neither."""

    def __init__(self, text: str) -> None:
        self.rows: list[dict] = []
        self.exempt: dict[str, str] = {}
        self.faults: list[str] = []
        self.used: set[str] = set()
        for entry in filter(None, (e.strip() for e in " ".join(text.split()).split(";"))):
            kind, _, rest = entry.partition(" ")
            if kind == "record":
                if rest in RECORDS:
                    kept = json.loads(RECORDS[rest].read_text())
                    self.rows += kept if isinstance(kept, list) else [kept]
                else:
                    self.faults.append(f"no record {rest}")
            elif kind == "reference":
                cited = json.loads((ROOT / "python" / "latticino" / "measure" / "references.json").read_text())
                found = [row for row in cited if rest and rest in row["source"]]
                self.rows += found
                self.faults += [] if found else [f"references.json has nothing of {rest!r}"]
            elif kind in KINDS and ": " in rest:
                named, reason = rest.split(": ", 1)
                self.exempt |= dict.fromkeys(named.split(", "), kind)
                self.faults += [f"no such file: {path}" for path in re.findall(r"(?:tests|src|bench|python)/[\w./-]*\w", reason)
                                if not (ROOT / path).exists()]
                self.faults += [f"no record {name}" for name in re.findall(r"20\d\d-\d\d-\d\d-[\w-]+", reason)
                                if not (ROOT / "bench" / "records" / f"{name}.json").exists()]
                if len(reason.split()) < 3:
                    self.faults.append(f"no reason for {named}")
            else:
                self.faults.append(f"{entry!r} is no source")

    def has(self, figure: Figure) -> bool:
        if str(figure) in self.exempt:
            self.used.add(str(figure))
            return True
        return any(figure.is_rounded(value) for value in in_unit(self.rows, figure.unit))

    def unused(self) -> list[str]:
        return [f"{figure} is exempt, and not there" for figure in self.exempt if figure not in self.used]


def linked(text: str) -> list[Sources]:
    """For each section that begins with a heading, the records that it links. The first is the text before any heading.
    """
    parts = re.split(r"^#.*$", re.sub(r"^ *```.*?^ *```", "", text, flags=re.DOTALL | re.MULTILINE), flags=re.MULTILINE)
    return [Sources("; ".join(f"record {name}" for name in dict.fromkeys(LINKED.findall(part)))) for part in parts]


def faults(text: str) -> list[str]:
    """The figures without a source, by line."""
    found: list[str] = []
    links = iter(linked(text))
    here = next(links)
    everything: list[tuple[int, Sources]] = []
    section: list[Sources] = []
    pending: list[Sources] = []
    after_heading = False
    for line, block in blocks(text):
        marker = MARKER.fullmatch(block.strip())
        if marker:
            sources = Sources(marker[1])
            everything.append((line, sources))
            (section if after_heading else pending).append(sources)
            continue
        after_heading = block.startswith("#") and "\n" not in block
        if block.startswith("#"):
            section, here = [], next(links)
        known = [*pending, *section, here]
        for figure in figures(block):
            # For all figures, to find out which exemptions are used.
            having = [sources.has(figure) for sources in known]
            found += [] if any(having) else [f"line {line}: {figure} has no source"]
        pending = []
    for line, sources in everything:
        found += [f"line {line}: {fault}" for fault in (*sources.faults, *sources.unused())]
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_every_figure_has_a_source(page):
    assert faults(page.read_text()) == []


def test_no_page_says_that_a_figure_was_not_kept():
    kept = [f"{page.relative_to(ROOT)}: {found[0]}" for page in PAGES for found in UNKEPT.finditer(page.read_text())]
    assert kept == []
    for words in ("(read once, no record)", "(read\nonce)", "No record of these runs was kept", "in turn, no\nrecord", "unrecorded 3 s"):
        assert UNKEPT.search(words), words
    assert not UNKEPT.search("Each limb is read once and written once.")


def of(marker, block="It takes 8.58 ms."):
    return faults(f"# Title\n\nText.\n\n<!-- figures: {marker} -->\n\n{block}\n")


BOOT = "record 2026-11-23-h200-bootstrap"


def test_records_and_references_are_read():
    assert faults("# Title\n\nIt takes 8.58 ms.\n") == ["line 3: 8.58 ms has no source"]
    assert of(BOOT) == [] and of(BOOT, "It takes 8.6 ms, 8,582 us and 25.8 GB, and keeps 22.2 bits.") == []
    assert of(BOOT, "It takes 7.77 ms.") == ["line 7: 7.77 ms has no source"]
    assert of(BOOT, "It keeps 8.58 bits and 8.58 GB.") == ["line 7: 8.58 bits has no source", "line 7: 8.58 GB has no source"]
    assert of("reference Chameleon", "Theirs takes 7314 ms, or 7.314 s.") == []
    assert of("reference Chameleon", "Theirs takes 7315 ms.") == ["line 7: 7315 ms has no source"]
    assert of("record 2026-11-23-h200-helr", "It is 96.47 % accurate.") == []


def test_exemptions_name_their_figures_and_a_reason():
    assert of("limit 8.58 ms: tests/conftest.py sets it") == []
    assert of("limit 8.5 ms: the code sets it") == ["line 7: 8.58 ms has no source", "line 5: 8.5 ms is exempt, and not there"]
    assert of("limit 8.58 ms: so") == ["line 5: no reason for 8.58 ms"]
    assert of("derived 8.58 ms: rows of 2026-01-01-none") == ["line 5: no record 2026-01-01-none"]
    assert of("limit 8.58 ms: tests/no_such.py sets it") == ["line 5: no such file: tests/no_such.py"]
    assert len(of("unrecorded 8.58 ms: printed by a program")) == 2
    for bad in ("record none", "reference Nobody", "believed 8.58 ms: as we said so", "8.58 ms"):
        assert len(of(bad)) == 2, bad


def test_what_counts_and_where_a_comment_reaches():
    assert faults("# T\n\n`8.58 ms`, N = 2^16, 32 bits, 8.58 msgs, version 0.1.0, [x](y-8 ms)\n") == []
    assert faults("# T\n\n```\n8.58 ms\n```\n\n<!-- table: x -->\n\n| 8.58 ms |\n\n<!-- end -->\n") == []
    marked = f"# T\n\n<!-- figures: {BOOT} -->\n\n8.58 ms.\n\nAnd 8.58 ms.\n\n## U\n\n8.58 ms.\n"
    assert faults(marked) == ["line 11: 8.58 ms has no source"]  # a section's comment ends with the section
    assert faults(marked.replace("# T\n", "# T\n\nText.\n")) == ["line 9: 8.58 ms has no source", "line 13: 8.58 ms has no source"]


def test_links_to_records_count_for_their_section():
    link = "[record](../bench/records/2026-11-23-h200-bootstrap.json)"
    assert faults(f"# T\n\n8.58 ms.\n\nSee {link}.\n") == []
    assert faults(f"# T\n\nSee {link}.\n\n## U\n\n8.58 ms.\n") == ["line 7: 8.58 ms has no source"]
    assert faults(f"# T\n\n7.77 ms, {link}.\n") == ["line 3: 7.77 ms has no source"]


def test_predictions_need_no_source():
    assert faults("# T\n\n*Predicted*: 3 ms. It may be 4 ms.\n") == []
    assert faults("# T\n\n*Predicted*: 3 ms. *Measured*: 4 ms.\n") == ["line 3: 4 ms has no source"]
    assert faults("# T\n\n*Predicted*: 3 ms.\n\nThen 4 ms.\n") == ["line 5: 4 ms has no source"]
    table = "# T\n\n| x | predicted | measured |\n|---|---|---|\n| y | 3 ms | 4 ms |\n"
    assert faults(table) == ["line 3: 4 ms has no source"]
