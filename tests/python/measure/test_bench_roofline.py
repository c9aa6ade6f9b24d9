"""`latticino bench roofline`, its counters and the growth of times: formulas, records and plots."""

import itertools
import json
import subprocess
import sys

import pytest

from latticino import cli
from latticino.measure import records, roofline
from record_rows import timed


def records_row(name, value, limbs, nbytes):
    return timed(name, value, "us", limbs=limbs, aux=12, batch=1) | {"preset": "none", "bytes_moved": nbytes}


def test_the_roofline_names_what_binds(tmp_path, capsys):
    a, out = tmp_path / "a.json", tmp_path / "b.json"
    rows = [records_row("poly.mod_up", 50.0, 47, 60_000_000), records_row("poly.copy", 20.0, 47, 49_283_072),
            records_row("ckks.rotate", 200.0, 47, 400_000_000), records_row("poly.unknown", 1.0, 47, 1)]
    rows.append(timed("counters.mod_up", 6e7, "bytes", limbs=47, aux=12) | {
        "preset": "none", "counted_l2_bytes": 66_000_000, "counted_dram_read": 15_400_960, "issue_percent": 51.0})
    records.write(a, rows)
    assert cli.main(["bench", "roofline", str(a), "--record", str(out)]) == 0
    tile, copy, rotate = json.loads(out.read_text())
    assert (tile["name"], tile["binding"]) == ("roofline.mod_up", "issue")
    assert copy["binding"] == "memory" and copy["ceiling_fraction"] == pytest.approx(49_283_072 / 4.2e12 / 20e-6, abs=1e-3)
    passes = [roofline.work(name, roofline.Shape(65536, 47, 12)) for name in roofline.PASSES]
    assert rotate["instructions"] == round(sum(p.issue for p in passes))
    assert "DRAM reads 1.25, L2 bytes 1.10" in capsys.readouterr().out  # reads of 47 limbs, as part of all bytes
    assert tile["issue_percent"] == 51.0 and "issue_percent" not in copy
    records.write(a, [timed("ckks.rotate", 1.0, "us", limbs=47) | {"device": "other"}])
    assert cli.main(["bench", "roofline", str(a)]) == 1


def test_inputs_are_what_a_pass_does_not_write():
    rows = {r["name"]: r for r in records.read(records.FOLDER / "2026-11-22-h200-passes.json")
            if r["params"]["limbs"] == 47}
    written = {"poly.intt_rows": 47, "poly.mod_up": 4 * 59 - 47, "poly.key_inner": 2 * 59,
               "poly.mod_switch_tile": 2 * 47, "poly.subtract_scale": 2 * 47}
    for name in roofline.PASSES:
        read = roofline.input_bytes(name, roofline.Shape(2**16, 47, 12))
        assert read + 4 * 2**16 * written[name] == rows[name]["bytes_moved"]
    assert roofline.input_bytes("poly.ntt", roofline.Shape(2**16, 47, 12)) is None


def test_least_work_by_hand():
    shape = roofline.Shape(2**16, 24, 12)
    assert shape.digits == [12, 12] and (shape.log_rows, shape.log_columns) == (8, 8)
    tile = roofline.work("poly.mod_switch_tile", shape)
    words = 2 * 2**16
    assert tile.matrix == words * 24 * 12 * 16
    assert tile.multiply == words * ((12 + 24) * 4 * 4 + 12 * 4 + 24 * 3)


def test_least_work_of_one_digit_and_of_rescaling_by_hand():
    n, shape = 2**16, roofline.Shape(2**16, 7, 12)
    assert shape.one_aux == 7
    inner = roofline.work("poly.key_inner_one_digit", shape)
    assert inner.issue == n * ((7 + 14) * 4 * 10 + 14 * 1 + 14 * 5)  # rows forward and back, products, one reduction
    assert inner.multiply == n * ((7 + 14) * 4 * 5 + 14 * 2 + 14 * 3)
    assert roofline.work("poly.mod_up_one_digit", shape).matrix == n * 7 * 7 * 16
    last = roofline.work("poly.subtract_scale_one_digit", shape)
    assert last.issue == n * 14 * (4 * 10 + 9 + 6) and last.shared == n * 7 * 4
    tile = roofline.work("poly.rescale_tile", shape)  # two sources, so no matrix units
    assert tile.matrix == 0 and tile.multiply == 2 * n * ((2 + 5) * 4 * 4 + 2 * 4 + 5 * (2 * 2 + 3))
    whole = roofline.work("ckks.rotate_one_digit", shape)
    assert whole.shared == last.shared and whole.matrix == n * 7 * 7 * 16 * 3
    embed, expand = (roofline.work(f"poly.{name}", shape) for name in ("embed", "expand"))
    assert embed.double == 15 * n / 4 * 10 + 3 * n and expand.issue == 7 * n * (976 / 4 + 15)


def test_the_recorded_roofline_is_what_the_formulas_make_of_the_measured_rows():
    measured, counted, recorded = (records.read(records.CHECKOUT / "bench" / "records" / f"2026-11-22-h200-{name}.json")
                                   for name in ("passes", "counters", "roofline"))
    rows = [roofline.rooflined(row) for row in measured]
    assert None not in rows  # every record has a formula
    assert roofline.checked(rows, counted) == recorded
    page = (records.CHECKOUT / "docs" / "lab" / "roofline.md").read_text()
    assert all(f"`{row['name']}`" in page for row in measured)
    inputs_once = next(row for row in rows if row["name"] == "roofline.subtract_scale_one_digit")
    assert inputs_once["least_us"] == pytest.approx((117 - 13) * 2**18 / 4.2e12 * 1e6, abs=1e-3)


def test_ceilings_that_were_measured_replace_the_constants():
    measured = records.read(records.CHECKOUT / "bench" / "records" / "2026-11-22-h200-passes.json")
    half = [{"name": f"ceiling.{kind}", "device": "NVIDIA H200", "value": roofline.CEILINGS["NVIDIA H200"][kind] / 2}
            for kind in ("memory", "issue", "multiply", "double")]
    others = [{"name": "ceiling.memory", "device": "another", "value": 1.0}, {"name": "ceiling.l2", "device": "NVIDIA H200", "value": 1.0}]
    ceilings = roofline.ceilings_of([*measured, *half, *others])
    assert ceilings["NVIDIA H200"] == roofline.CEILINGS["NVIDIA H200"] | {row["name"][8:]: row["value"] for row in half}
    assert set(ceilings) == set(roofline.CEILINGS) and roofline.CEILINGS["NVIDIA H200"]["memory"] == 4.2e12
    copy = next(row for row in measured if row["name"] == "poly.copy")
    before, after = roofline.rooflined(copy), roofline.rooflined(copy, ceilings)
    assert after["ceiling_fraction"] == pytest.approx(2 * before["ceiling_fraction"], abs=2e-3)


def test_the_roofline_is_drawn(tmp_path, monkeypatch):
    from matplotlib.figure import Figure

    drawn, save = [], Figure.savefig
    monkeypatch.setattr(Figure, "savefig", lambda figure, path, **more: (drawn.append(figure), save(figure, path, **more)))
    record = records.CHECKOUT / "bench" / "records" / "2026-11-22-h200-passes.json"
    assert cli.main(["bench", "roofline", str(record), "--plot", str(tmp_path / "p.png")]) == 0
    assert (tmp_path / "p.png").stat().st_size > 10_000
    axes, = drawn[0].axes
    ceiling, *kernels = axes.lines
    assert len(kernels) == len(roofline.DRAWN) == len(axes.get_legend().get_texts())
    for line in kernels:  # a kernel that is limited by memory or by instructions lies below the roof
        assert len(line.get_xdata()) == 4
        assert all(y < min(4.2 * x, 31) for x, y in line.get_xydata())
    assert max(ceiling.get_ydata()) == 31


# Stands for the profiler: writes three counters for every kernel that it is asked for, as CSV.
PROFILER = """#!{python}
import sys
metrics = sys.argv[sys.argv.index("--metrics") + 1].split(",")
assert len(metrics) == 3 and "none" == sys.argv[sys.argv.index("--clock-control") + 1]
print("==PROF== Connected")
print('"ID","Kernel Name","Metric Name","Metric Value"')
for kernel in ("void a::transform_rows<X<8>>(A)", "convert_tile<Y>(B)", "key_inner<Z>", "mod_down_finish", "expand"):
    for i, metric in enumerate(metrics):
        print(f'"1","{{kernel}}","{{metric}}","{{"1,000" if i else "n/a"}}"')
"""


def test_counters_of_all_five_passes_become_rows(tmp_path, monkeypatch):
    for name, text in (("ncu", PROFILER.format(python=sys.executable)), ("nvidia-smi", "#!/bin/sh\necho NVIDIA H200\n")):
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    script = records.CHECKOUT / "bench" / "counters.py"
    environ = {"PATH": f"{tmp_path}:/usr/bin:/bin", "LATTICINO_COMMIT": "abc"}
    subprocess.run([sys.executable, script, tmp_path, tmp_path / "c.json", "47"], env=environ, check=True)
    rows = records.read(tmp_path / "c.json")
    assert {row["name"] for row in rows} == {"counters." + name.split(".")[1] for name in roofline.PASSES}
    assert all(row["counted_dram_write"] == 1000 and "counted_dram_read" not in row and row["commit"] == "abc"
               for row in rows)


def test_the_documented_batches_are_those_of_the_record():
    rows = records.read(records.CHECKOUT / "bench" / "records" / "2026-11-28-h200-growth.json")
    by_batch = {}
    for row in rows:
        if row["axis"] == "batch":
            by_batch.setdefault((row["params"]["batch"], row["operands"]), []).append(row)
    batches = sorted({batch for batch, _ in by_batch})
    page = (records.CHECKOUT / "docs" / "lab" / "growth.md").read_text()
    for cells in by_batch.values():
        cells.sort(key=lambda row: row["params"]["limbs"])
    for batch in batches:
        both = zip(by_batch[batch, "cold"], by_batch[batch, "warm"], strict=True)
        shown = " | ".join(f"{c['value']:.1f}, {w['value']:.1f} ({c['footprint_bytes'] / 1e6:.0f})" for c, w in both)
        assert f"| {batch} | {shown} |" in page
    # Beyond a cache of 60 MB each larger batch is still no slower, within half a percent from 32 on.
    for operands in ("cold", "warm"):
        for cells in zip(*(by_batch[batch, operands] for batch in batches), strict=True):
            values = [row["value"] for row in cells]
            assert all(after <= before * 1.005 for before, after in itertools.pairwise(values)), values
            assert values[:5] == sorted(values[:5], reverse=True) and cells[1]["footprint_bytes"] > 60e6


def test_growth_is_drawn(tmp_path, monkeypatch):
    from matplotlib.figure import Figure

    drawn, save = [], Figure.savefig
    monkeypatch.setattr(Figure, "savefig", lambda figure, path: (drawn.append(figure), save(figure, path)))
    record, picture = tmp_path / "r.json", tmp_path / "p.png"
    rows = [timed("growth.rotate", 10.0 * limbs / batch + n / 2**16, "us", limbs=limbs, batch=batch) |
            {"axis": axis, "footprint_bytes": 4_000_000 * limbs * batch, "params": {"N": n, "limbs": limbs, "batch": batch}}
            for axis, limbs, batch, n in (("limbs", 7, 1, 2**16), ("limbs", 47, 1, 2**16), ("N", 13, 1, 2**13),
                                          ("N", 13, 1, 2**16), ("batch", 7, 1, 2**16), ("batch", 7, 16, 2**16))]
    rows += [row | {"operands": "warm", "value": 1.0} for row in rows if row["axis"] == "batch"]
    records.write(record, rows)
    assert cli.main(["bench", "growth", str(record), "--plot", str(picture)]) == 0
    assert picture.read_bytes().startswith(b"\x89PNG")
    time, _, _, memory, *_ = drawn[0].axes
    assert list(time.lines[0].get_ydata()) == [71.0, 471.0] and list(memory.lines[0].get_ydata()) == [28.0, 188.0]
    cold = drawn[0].axes[2].lines[0].get_ydata()
    assert len(cold) == 2 and 1.0 not in cold
