"""From hardware counters to pages: an example record becomes tables and lines of figures."""

import importlib.util
import json
from pathlib import Path

import pytest

from latticino.measure import counters
from latticino.measure.ncu import Launch

ROOT = Path(__file__).resolve().parents[2]
spec = importlib.util.spec_from_file_location("make_papers", ROOT / "docs" / "make_papers.py")
make_papers = importlib.util.module_from_spec(spec)
spec.loader.exec_module(make_papers)
import counter_tables  # noqa: E402 - make_papers says where it lies
from papers import counted, ours, rows  # noqa: E402
from papers.rows import Mean, Recorded, Several  # noqa: E402

ROTATION = ("transform_rows", "convert_tile", "key_inner", "convert_tile", "mod_down_finish")


def launches(kernels, names, value):
    return [Launch(str(i), f"void {kernel}<8>(Args)", {metric: float(value(i, ours_)) for metric, ours_ in names.items()})
            for i, kernel in enumerate(kernels)]


def source(**params):
    return {"device": "NVIDIA H200", "preset": "none", "bytes_moved": 10**9, "launches": 1, "operands": params.pop("operands", "cold"),
            "params": {"N": 65536, "limbs": 47, "batch": 1} | params}


@pytest.fixture(scope="module")
def example():
    """A record of each part, from launches whose counters are known."""
    forms = [key for key in counter_tables.FORMS if key != "ours"]
    ways = [way for n in (2**13, 2**16) for way in (
        *(source(N=n, form=form, sync=sync, chunks=64 if "OSSP" in form else 0) for form in forms for sync in ("local", "grid")
          if sync == "local" or "OSSP" not in form), source(N=n, form="ours", sync="none", chunks=0))]
    made = launches(["transform_block" if way["params"]["form"] == "ours" else "transform" for way in ways], counters.STALLS | counters.DIVERGENCE,
                    lambda i, name: {"ns": 7000, "latency": 20 + i, "stalled_barrier": i, "stalled_wait": 2.5}.get(name, 0.01))
    cases = [source(limbs=limbs, batch=batch, operands=operands)
             for limbs in (23, 47) for batch in (1, 4, 16) for operands in ("cold", "warm")]
    names = counters.BYTES | counters.SHARES | counters.NETWORK | counters.PIPES
    passes = launches(ROTATION * len(cases), names,
                      lambda i, name: {"ns": 1000 * (1 + i % 5)}.get(name, 10 * (1 + i % 5) if "percent" in name else 10**6 * (1 + i)))
    kinds = {"transforms": "transform_rows", "conversions": "convert_tile", "products with keys": "key_inner",
             "last steps": "mod_down_finish", "automorphisms": "automorphism", "element-wise": "dot"}
    names = counters.BYTES | counters.NETWORK | counters.INSTRUCTIONS
    boot = [row for newer in (0, 1) for row in counters.class_rows(
        [source(slots=32768, slot_to_coeff_first=newer, over_mod_raise=newer)],
        launches(kinds.values(), names, lambda i, name: 10**6 if name == "ns" else 10**8 * (1 + i) * (2 - newer)))]
    return {ours.COUNTED_FORMS: counters.form_rows(ways, made), ours.COUNTED_PASSES: counters.pass_rows(cases, passes),
            ours.COUNTED_BOOT: boot}


@pytest.fixture
def recorded(example, tmp_path, monkeypatch):
    for name, made in example.items():
        (tmp_path / f"{name}.json").write_text(json.dumps(made))
    monkeypatch.setattr(rows, "RECORDS", tmp_path)
    rows.rows_of.cache_clear()
    yield example
    rows.rows_of.cache_clear()


def test_lines_of_the_papers(recorded):
    for lines in (counted.busy_parts(), counted.by_batches(), counted.stages(), counted.roofline(), counted.waits()):
        assert lines and all(line.ours.text() and line.ours.records() for line in lines)
    said = {line.what: line.ours.text() for line in (*counted.roofline(), *counted.stages(), *counted.waits())}
    assert said["transforms: DRAM"] == "0.40 GB" and said["transforms: multiplications"] == "6.40 G"
    assert said["stage 1, conversion up: L2"] == f"{(10 * 1 + 20 * 2) / 3:.1f} %"  # weighted by time: 1 and 2 us
    assert said["BASE-NTT: all"] == "20.0 / 35.0 cycles" and said["TA-NTT-2: at barriers"] == "6.00 / 21.0 cycles"
    assert said["BD-NTT-3, N = 2^16: divergent branches"] == "0.01 branches"
    by_batch = {line.what: line.ours.text() for line in counted.by_batches()}
    assert by_batch["conversion up, 23 limbs: FMA"] == "20.0 / 20.0 / 20.0 %"
    # Launches 2, 12 and 22 of cold batches, read and written, for each rotation.
    assert by_batch["conversion up, 23 limbs: DRAM, for each rotation"] == "4.00 / 6.00 / 2.75 MB"


def test_means_and_figures_beside_each_other(recorded):
    one = counted.one("mod_up", 47, 1, "l2_percent")
    assert isinstance(one, Recorded) and Mean((one,)).value() == one.value() == 20
    assert Several((one, Mean((one, counted.one("key_inner", 47, 1, "l2_percent"))))).text() == "20.00 / 26.0 %"


def test_tables_of_the_pages(example):
    head, cells = counter_tables.stalls(example[ours.COUNTED_FORMS])
    assert head == ("form", "us", "cycles", "barrier", "wait", "others", "divergent branches")
    assert [cell[0] for cell in cells] == [*counter_tables.FORMS.values()] and len(cells[0]) == len(head)
    assert cells[0] == ("radix 2", "7.0", "35.0", "15.0", "2.5", "17.5", "0.0")
    head, cells = counter_tables.stalls_by_barrier(example[ours.COUNTED_FORMS])
    assert cells[0] == ("radix 2", "-", "-", "-", "36.0", "35.0")
    head, cells = counter_tables.rotation_shares(example[ours.COUNTED_PASSES])
    assert cells[0][:3] == ("rows of the input", "1.0 / 0.2 / 0.1", "10 / 10 / 10") and len(cells) == 6 and len(cells[5]) == len(head)
    formula = dict.fromkeys(counter_tables.CLASSES[:6], 10**9)
    head, cells = counter_tables.bootstrap_roofline(example[ours.COUNTED_BOOT], formula, 1e12, 2e12, 64e12, 32e12)
    assert cells[0] == ("transforms", "1", "1.00", "1.0", "0.2 + 0.2", "0.2", "0.2 + 0.2", "20", "40", "10", "20")
    assert cells[-1][:4] == ("all", "6", "6.00", "6.0") and len(cells) == 7 and len(head) == len(cells[0])
    newer = counter_tables.bootstrap_roofline(example[ours.COUNTED_BOOT], formula, 1e12, 2e12, 64e12, 32e12, 1)[1]
    assert newer[0][4] == "0.1 + 0.1"
