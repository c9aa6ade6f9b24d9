"""Tables for notebooks: plain HTML that is readable on dark and light pages and loads no other files.

Every text is escaped. Colours are the page's own, lines a half-transparent grey.
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from typing import Any

Facts = Sequence[tuple[str, Any]]

_LINE = "border:0;border-bottom:1px solid rgba(128,128,128,.35);padding:.2em .8em .2em 0;background:none;color:inherit"
_TABLE = "border-collapse:collapse;margin:.4em 0;background:none;color:inherit"
_CAPTION = "caption-side:top;text-align:left;font-weight:600;padding:0 0 .3em 0;color:inherit"
_NOTE = "opacity:.75;margin:.2em 0;max-width:60em"


def facts(title: str, rows: Facts, notes: Iterable[str] = ()) -> str:
    """A table of names and values."""
    head, cell = f"{_LINE};text-align:left;font-weight:normal;opacity:.75", f"{_LINE};text-align:left"
    body = "".join(f'<tr><th scope="row" style="{head}">{_text(name)}</th>'
                   f'<td style="{cell}">{_text(value)}</td></tr>' for name, value in rows)
    return _table(title, body) + _notes(notes)


def table(title: str, columns: Sequence[str], rows: Iterable[Sequence[Any]], notes: Iterable[str] = (),
          words: int = 0) -> str:
    """A table with a head. Numbers, and texts that begin with a digit, stand to the right, but in the first columns
    of `words`. The name of a column stands where its last value does."""
    sides = ["left"] * len(columns)
    body = ""
    for row in rows:
        body += "<tr>"
        for i, v in enumerate(row):
            if v != "":
                sides[i] = "right" if i >= words and _is_number(v) else "left"
            body += f'<td style="{_LINE};text-align:{sides[i]};font-variant-numeric:tabular-nums">{_text(v)}</td>'
        body += "</tr>"
    head = "".join(f'<th scope="col" style="{_LINE};text-align:{side}">{_text(c)}</th>'
                   for c, side in zip(columns, sides))
    return _table(title, f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody>") + _notes(notes)


def size(count: float) -> str:
    """A number of bytes as text."""
    for unit in ("bytes", "KiB", "MiB"):
        if abs(count) < 1024:
            return f"{count:,.0f} {unit}" if unit == "bytes" else f"{count:,.1f} {unit}"
        count /= 1024
    return f"{count:,.2f} GiB"


def seconds(time: float) -> str:
    """A time as text."""
    for factor, unit in ((1, "s"), (1e3, "ms")):
        if time * factor >= 1:
            return f"{time * factor:,.3g} {unit}"
    return f"{time * 1e6:,.3g} us"


def _table(title: str, body: str) -> str:
    return f'<table style="{_TABLE}"><caption style="{_CAPTION}">{_text(title)}</caption>{body}</table>'


def _notes(notes: Iterable[str]) -> str:
    return "".join(f'<div style="{_NOTE}">{_text(note)}</div>' for note in notes)


def _text(value: Any) -> str:
    text = f"{value:,}" if type(value) is int else f"{value:,.4g}" if type(value) is float else str(value)
    return html.escape(text)


def _is_number(value: Any) -> bool:
    return type(value) in (int, float) or (isinstance(value, str) and value[:1].isdigit())
