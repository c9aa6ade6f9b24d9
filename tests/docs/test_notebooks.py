"""The notebooks of examples/ run from top to bottom, and hold the outputs of such a run."""

import base64
import importlib.util
import json
import re
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = sorted((ROOT / "examples").glob("*.ipynb"))
spec = importlib.util.spec_from_file_location("notebooks", ROOT / "docs" / "notebooks.py")
notebooks = importlib.util.module_from_spec(spec)
spec.loader.exec_module(notebooks)


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_cells_run_and_print_as_much_as_is_kept(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for cell, outputs in notebooks.run(path):
        assert [o["output_type"] for o in outputs] == [o["output_type"] for o in cell["outputs"]], (
            "write them again: ./latticino python docs/notebooks.py")


def test_an_encrypted_prediction_takes_twenty_lines():
    """The lines from a torch.nn.Sequential on: data, training, compiling, keys, prediction. Lines that only display
    results do not count."""
    cells = {cell["id"]: cell for cell in notebooks.codes(ROOT / "examples" / "encrypted_network.ipynb")}
    path = "\n".join(notebooks.source(cells[name]) for name in ("data", "train", "compile", "run"))
    assert "nn.Sequential(" in path and "enc.decrypt(client, enc(enc.encrypt(client, " in path
    assert len([line for line in path.splitlines() if line.strip()]) <= 20


def test_cells_for_torch_are_left_out_without_it(tmp_path, monkeypatch):
    """Figures also become pictures."""
    monkeypatch.setattr(notebooks.importlib.util, "find_spec", lambda name: None)
    cells = [("torch", "import torch_that_is_not_there"), ("", "import matplotlib.pyplot as plt\nlines = plt.plot([1, 2])"),
             ("", "import numpy as np\nnp.load('kept.npz')['a']")]
    path = tmp_path / "some.ipynb"
    np.savez(tmp_path / "kept.npz", a=np.arange(2))
    path.write_text(json.dumps({"cells": [
        {"cell_type": "code", "metadata": {"tags": [tag]}, "outputs": ["kept"], "source": [text]} for tag, text in cells]}))
    left, drawn, loaded = [outputs for _, outputs in notebooks.run(path)]
    assert left == ["kept"] and drawn[0]["output_type"] == "display_data"
    assert base64.b64decode(drawn[0]["data"]["image/png"]).startswith(b"\x89PNG")
    assert loaded[0]["data"]["text/plain"] == ["array([0, 1])"]


def test_figures_from_before_are_not_a_notebooks(tmp_path, monkeypatch):
    monkeypatch.setenv("MPLBACKEND", "agg")
    plt = pytest.importorskip("matplotlib.pyplot")
    plt.figure()
    path = tmp_path / "some.ipynb"
    path.write_text(json.dumps({"cells": [{"cell_type": "code", "metadata": {}, "outputs": [], "source": ["1 + 1"]}]}))
    [(_, outputs)] = notebooks.run(path)
    assert [o["output_type"] for o in outputs] == ["execute_result"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_are_valid_and_small(path):
    notebook = json.loads(path.read_text())
    assert (notebook["nbformat"], notebook["nbformat_minor"]) == (4, 5)
    assert notebook["metadata"]["kernelspec"]["name"] == "python3" and path.stat().st_size < 1 << 16
    ids = [cell["id"] for cell in notebook["cells"]]
    assert len(set(ids)) == len(ids) and all(re.fullmatch(r"[\w-]{1,64}", name) for name in ids)
    codes = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in codes] == list(range(1, len(codes) + 1))
