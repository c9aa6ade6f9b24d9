"""Runs the notebooks of examples/ and keeps their outputs in them: ``./latticino python docs/notebooks.py [FILE ...]``.

A notebook's cells run from top to bottom in one namespace, as in Jupyter. What a cell prints and the value of its last
expression are its output. Nothing but the standard library is needed.
"""

from __future__ import annotations

import ast
import contextlib
import io
import json
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parents[1] / "examples"


def read(path: Path) -> dict[str, Any]:
    return json.loads(path.read_text())


def source(cell: dict[str, Any]) -> str:
    return "".join(cell["source"])


def run(path: Path) -> Iterator[tuple[dict[str, Any], list[dict[str, Any]]]]:
    """Each code cell and its outputs. What a cell raises reaches the caller; the traceback has the cell's number."""
    names: dict[str, Any] = {"__name__": "__main__"}
    codes = [cell for cell in read(path)["cells"] if cell["cell_type"] == "code"]
    for number, cell in enumerate(codes, 1):
        tree, where = ast.parse(source(cell)), f"{path.name}, cell {number}"
        last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            exec(compile(tree, where, "exec"), names)
            value = eval(compile(ast.Expression(last.value), where, "eval"), names) if last else None
        outputs = []
        if printed.getvalue():
            outputs.append({"name": "stdout", "output_type": "stream", "text": lines(printed.getvalue())})
        if value is not None:
            outputs.append({"data": shown(value), "execution_count": number, "metadata": {},
                            "output_type": "execute_result"})
        yield cell, outputs


def shown(value: Any) -> dict[str, list[str]]:
    """What Jupyter keeps of a value: its text, and its HTML where it has some."""
    html = getattr(value, "_repr_html_", lambda: None)()
    return {**({"text/html": lines(html)} if html else {}), "text/plain": lines(repr(value))}


def lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


def write(path: Path) -> None:
    """Runs a notebook and keeps its outputs in it."""
    notebook = read(path)
    codes = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    for number, (cell, (_, outputs)) in enumerate(zip(codes, run(path), strict=True), 1):
        cell["execution_count"], cell["outputs"] = number, outputs
    path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n")


def markdown(path: Path) -> str:
    """The notebook as a page: its text, its code, and its kept outputs."""
    parts = []
    for cell in read(path)["cells"]:
        if cell["cell_type"] == "markdown":
            parts.append(source(cell))
            continue
        parts.append(f"```python\n{source(cell)}\n```")
        for output in cell["outputs"]:
            data = output.get("data", {})
            if "text/html" in data:
                parts.append("".join(data["text/html"]))
            else:
                text = "".join(output["text"] if "text" in output else data["text/plain"]).rstrip("\n")
                parts.append(f"```text\n{text}\n```")
    return "\n\n".join(parts) + "\n"


def main(names: list[str]) -> None:
    warnings.filterwarnings("ignore", message=".*insecure.*")
    for path in map(Path, names) if names else sorted(FOLDER.glob("*.ipynb")):
        write(path)
        print(f"{path.name}: {path.stat().st_size} bytes")


if __name__ == "__main__":
    main(sys.argv[1:])
