"""Writes docs/papers.md: for each paper, every table and figure, our command, its record, their figures and ours.

The rows stand in docs/papers/. ``./latticino python docs/make_papers.py`` writes the page again. With ``--check`` it
writes nothing, prints what is wrong, and ends with status 1: where page and records differ, where a table or figure has
no row, and where a record or a command is not there. ``./latticino docs`` and tests/docs/test_papers.py do the same.
"""

from __future__ import annotations

import re
import sys
import textwrap
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from papers import PAPERS
from papers.commands import fault
from papers.rows import ROOT, Line, Paper, Row

PAGE = ROOT / "docs" / "papers.md"
WIDTH = 128
HEAD = """# The papers, table by table

This library follows five texts of four projects. This page has every table and every figure of theirs: what it shows,
the command here that measures the same, the record that our figures come from, the paper's figures and ours. Where
there is nothing to compare it says why.

For example, Cheddar's paper has 31.2 ms for a bootstrapping on an H100. Its code takes {launched} on our H200,
{graph} as a CUDA graph, and ours takes {ours}.

How to read it:

- Ours are from one NVIDIA H200, as CUDA graphs, unless the cell names another device. The papers' GPUs are named in
  their cells. An H200 has more memory bandwidth than an A100 (1.6 to 1.9 TB/s) or an RTX 4090 (1.0 TB/s), as their
  makers state it. An RTX 5090 has about four times the integer rate of an H100 (Cheddar, Table 4). So figures of
  different GPUs do not say whose code is faster. *Its code* is the paper's own code, measured on our H200.
- *In the picture*: the paper gives the figure in a picture alone, and we did not read it off. A dash among ours: not
  measured yet.
- *Measured*: a record has every quantity. *Partly measured*: some are missing, and the last column says which. *Not
  measured yet*: nothing was measured that compares. *Computed*: it follows from parameters, and the command prints
  it. *Does not apply*: it is of other people's hardware or programs. *Nothing to measure*: notation, a drawing or a
  formula.

{overview}

The page is written by `./latticino python docs/make_papers.py` from the rows in [docs/papers](../docs/papers) and
from the records in [bench/records](../bench/records).
"""


def cell(text: str) -> str:
    return text.replace("|", "\\|")


def theirs(line: Line) -> str:
    parts = [line.paper] if line.paper else []
    parts += [f"{how} {cited.text()}" for how, cited in line.code]
    return f"{line.what}: {'; '.join(parts)}" if parts else ""


def ours(line: Line) -> str:
    return f"{line.what}: {line.ours.text() if line.ours else '-'}"


def sources(row: Row) -> str:
    commands = [f"`{command}`" for command in row.commands]
    records = [f"[{name}](../bench/records/{name}.json)" for name in row.records()]
    return "<br>".join([*commands, *records])


def line_of(row: Row) -> str:
    cells = [f"<a id=\"{{anchor}}\"></a>{row.number}", row.shows, "<br>".join(filter(None, map(theirs, row.lines))),
             "<br>".join(map(ours, row.lines)), sources(row), f"**{row.status.capitalize()}.** {row.remark}"]
    return "| " + " | ".join(map(cell, cells)) + " |"


def anchor(paper: Paper, row: Row) -> str:
    return f"{paper.key}-{re.sub(r'[^a-z0-9]+', '-', row.number.lower())}"


def chapter(paper: Paper) -> str:
    lines = [line_of(row).replace("{anchor}", anchor(paper, row)) for row in paper.rows]
    head = ("| | what it shows | the paper's figures | ours | command and record | state, and what differs |\n"
            "| --- | --- | --- | --- | --- | --- |\n")
    said = (paper.citation, f"*Its setting.* {paper.setting}", f"*Here.* {paper.beside}")
    filled = (textwrap.fill(text, WIDTH, break_long_words=False, break_on_hyphens=False) for text in said)
    paragraphs = [f"## {paper.title}", *filled]
    return "\n\n".join(paragraphs) + "\n\n" + head + "\n".join(lines) + "\n"


def overview() -> str:
    states = list(dict.fromkeys(row.status for paper in PAPERS for row in paper.rows))
    order = ["measured", "partly", "computed", "not", "does", "nothing"]
    states.sort(key=lambda state: order.index(state.split()[0]))
    rows = [[paper.title, *(str(sum(row.status == state for row in paper.rows)) for state in states)]
            for paper in PAPERS]
    rows.append(["all", *(str(sum(int(row[i]) for row in rows)) for i in range(1, len(states) + 1))])
    head = ["tables and figures", *states]
    return "\n".join("| " + " | ".join(line) + " |" for line in [head, ["---"] * len(head), *rows])


def page() -> str:
    boot = next(line for row in PAPERS[0].rows if row.number == "Table 5" for line in row.lines)
    assert boot.ours
    launched, graph = (cited.text().split(" (")[0] for _, cited in boot.code)
    head = HEAD.format(overview=overview(), launched=launched, graph=graph, ours=boot.ours.text())
    return head + "\n" + "\n".join(map(chapter, PAPERS))


def faults() -> list[str]:
    """Everything that is wrong with rows, records, commands and the page."""
    found = [fault_ for paper in PAPERS for fault_ in paper.faults()]
    for paper in PAPERS:
        for row in paper.rows:
            found += [f"{paper.key}, {row.number}: {wrong}" for wrong in map(fault, row.commands) if wrong]
    if found:
        return found
    try:
        text = page()
    except LookupError as e:
        return [str(e)]
    if not PAGE.exists() or PAGE.read_text() != text:
        found.append("docs/papers.md is not what the records say: ./latticino python docs/make_papers.py")
    return found


def main() -> int:
    if sys.argv[1:] == ["--check"]:
        found = faults()
        print(*found, sep="\n", end="\n" if found else "")
        return int(bool(found))
    PAGE.write_text(page())
    return 0


if __name__ == "__main__":
    sys.exit(main())
