"""Tables in the documents are those that docs/make_tables.py makes from the records, and figures in their text agree
with them."""

import importlib.util
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
spec = importlib.util.spec_from_file_location("make_tables", ROOT / "docs" / "make_tables.py")
make_tables = importlib.util.module_from_spec(spec)
spec.loader.exec_module(make_tables)


PLANNED = ("docs/functions.md", "docs/network_layers.md")  # tables of plans and fits, which are computed


@pytest.mark.parametrize("name", [pytest.param(name, marks=pytest.mark.slow) if name in PLANNED else name
                                  for name in make_tables.PAGES])
def test_tables_are_up_to_date(name):
    page = ROOT / name
    assert make_tables.MARKED.search(page.read_text())
    assert page.read_text() == make_tables.rewritten(page), "write them again: ./latticino python docs/make_tables.py"


def test_figures_in_the_prose():
    boot, training = make_tables.bootstrap(), make_tables.record("training")[0]
    threads = [make_tables.found(make_tables.record("cpu"), "ckks.bootstrap", threads=n) for n in (1, 2)]
    minimal = make_tables.bootstrap(minimal_keys=1)
    said = {"performance.md": (
        f"takes {boot['value']:.1f} ms on an NVIDIA H200", f"leaves {boot['levels_left']} levels",
        f"takes {threads[0]['value'] / 1e3:.1f} s on one thread and {threads[1]['value'] / 1e3:.1f} s on two",
        f"{threads[0]['peak_bytes'] / 1e9:.1f} GB of resident memory", f"iteration takes {training['value']:.1f} ms",
        f"({100 * training['accuracy']:.2f} %)"),
        "choose.md": (f"keys it takes {minimal['peak_bytes'] / 1e9:.1f} GB instead of {boot['peak_bytes'] / 1e9:.1f} and "
                      f"{minimal['value'] / boot['value']:.1f} times as long",),
        "bootstrapping.md": (f"in {boot['value']:.1f} ms on an H200",),
        "tfhe.md": (f"one gate of `tfhe-gates-v2` takes {make_tables.gate('gate_latency', 'tfhe-gates-v2', 1):.2f} ms on an H200 and "
                    f"{make_tables.gate('gate_latency', 'tfhe-gates-v2', 1, subject='gates_cpu'):.2f} ms on one thread",)}
    for name, figures in said.items():
        page = " ".join((ROOT / "docs" / name).read_text().split())
        assert [figure for figure in figures if figure not in page] == []
