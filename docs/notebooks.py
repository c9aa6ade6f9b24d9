"""Runs the notebooks of examples/ and keeps their outputs in them: ``./latticino python docs/notebooks.py [FILE ...]``.

A notebook's cells run from top to bottom in one namespace, as in Jupyter, in a folder of their own with the arrays that
lie beside the notebook. What a cell prints, the value of its last expression, and the figures that it draws with
matplotlib are its output. A cell with the tag ``torch`` is left out where PyTorch is not installed, and keeps its
output.
"""

from __future__ import annotations

import ast
import base64
import contextlib
import importlib.util
import io
import json
import os
import shutil
import sys
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parents[1] / "examples"


def read(path: Path) -> dict[str, Any]:
    return json.loads(path.read_text())


def source(cell: dict[str, Any]) -> str:
    return "".join(cell["source"])


def codes(path: Path) -> list[dict[str, Any]]:
    return [cell for cell in read(path)["cells"] if cell["cell_type"] == "code"]


def tagged(cell: dict[str, Any], tag: str) -> bool:
    return tag in cell["metadata"].get("tags", [])


def run(path: Path) -> Iterator[tuple[dict[str, Any], list[dict[str, Any]]]]:
    """Each code cell and its outputs. Exceptions of a cell reach the caller; the traceback has the cell's number."""
    names: dict[str, Any] = {"__name__": "__main__"}
    without = importlib.util.find_spec("torch") is None
    os.environ.setdefault("MPLBACKEND", "agg")
    if plt := sys.modules.get("matplotlib.pyplot"):
        plt.close("all")  # a notebook starts without figures
    with folder_for(path) as folder:
        for number, cell in enumerate(codes(path), 1):
            if without and tagged(cell, "torch"):
                yield cell, cell["outputs"]
                continue
            with inside(folder):
                outputs = run_cell(source(cell), names, f"{path.name}, cell {number}", number)
            yield cell, outputs


def run_cell(text: str, names: dict[str, Any], where: str, number: int) -> list[dict[str, Any]]:
    tree = ast.parse(text)
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
    return outputs + figures()


@contextlib.contextmanager
def folder_for(path: Path) -> Iterator[Path]:
    """A temporary folder with the arrays that are stored next to a notebook."""
    with tempfile.TemporaryDirectory() as name:
        for data in path.parent.glob("*.npz"):
            shutil.copy(data, name)
        yield Path(name)


@contextlib.contextmanager
def inside(folder: Path) -> Iterator[None]:
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


def figures() -> list[dict[str, Any]]:
    """The output that Jupyter shows below a cell: the open figures of matplotlib, as pictures. They are then closed."""
    plt = sys.modules.get("matplotlib.pyplot")
    outputs = []
    for number in plt.get_fignums() if plt else ():
        figure, picture = plt.figure(number), io.BytesIO()
        figure.savefig(picture, format="png", dpi=80, metadata={"Software": None})
        data = {"image/png": base64.b64encode(picture.getvalue()).decode(), "text/plain": [repr(figure)]}
        outputs.append({"data": data, "metadata": {}, "output_type": "display_data"})
        plt.close(figure)
    return outputs


def shown(value: Any) -> dict[str, list[str]]:
    """The output that Jupyter stores for a value: its text, and its HTML if it has one."""
    html = getattr(value, "_repr_html_", lambda: None)()
    return {**({"text/html": lines(html)} if html else {}), "text/plain": lines(repr(value))}


def lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


def write(path: Path) -> None:
    """Runs a notebook and keeps its outputs in it."""
    notebook = read(path)
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    for number, (cell, (_, outputs)) in enumerate(zip(cells, run(path), strict=True), 1):
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
            if "image/png" in data:
                parts.append(f'<img alt="What the cell above draws" src="data:image/png;base64,{data["image/png"]}">')
            elif "text/html" in data:
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
