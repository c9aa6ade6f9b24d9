"""`latticino bench compare` and `bench report`: their output for given records."""

from latticino import cli
from latticino.measure import compare, records, report
from record_rows import timed


def test_compare_flags_changes_over_noise(tmp_path, capsys):
    a, b = tmp_path / "a.json", tmp_path / "b.json"

    def compare(*values, spread=0.5):
        for path, value in zip((a, b), values):
            rows = [] if value is None else [
                timed("ckks.rotate", value, "us", limbs=47) | {"low": value - spread, "high": value + spread}]
            records.write(path, rows + [timed("ckks.add", 10.0, "us", limbs=47) | {"low": 10, "high": 10}])
        capsys.readouterr()
        status = cli.main(["bench", "compare", str(a), str(b)])
        return status, capsys.readouterr().out

    assert compare(100, 101.9) == (0, "0 slower, 0 faster, 2 within noise, 0 missing, 0 new\n")
    status, out = compare(100, 103)
    assert status == 1 and "SLOWER" in out and "ckks.rotate" in out and "+3.0 %" in out
    assert compare(100, 103, spread=3)[0] == 0  # the runs themselves differed by more
    status, out = compare(100, 90)
    assert status == 0 and "faster" in out and "1 faster, 1 within noise" in out
    status, out = compare(100, None)
    assert status == 1 and "MISSING ckks.rotate" in out
    assert compare(None, 100)[0] == 0  # this benchmark is new
    assert cli.main(["bench", "compare", str(a)]) == 1
    assert "two" in capsys.readouterr().err


def test_compare_takes_more_a_second_for_faster(tmp_path, capsys):
    paths = [tmp_path / "a.json", tmp_path / "b.json"]
    for path, rate in zip(paths, (1000.0, 800.0)):
        records.write(path, [timed("tfhe.gate_throughput", rate, "1/s", batch=4096)])
    assert cli.main(["bench", "compare", *map(str, paths)]) == 1
    assert "SLOWER  +25.0 %" in capsys.readouterr().out
    assert cli.main(["bench", "compare", *map(str, reversed(paths))]) == 0
    assert "faster  -20.0 %" in capsys.readouterr().out


def test_compare_keeps_shapes_steps_and_devices_apart(tmp_path):
    rows = [timed("ablation.rotate", 100.0, "us", limbs=47) | {"step": s} for s in ("unfused", "+ tiles")]
    rows += [timed("growth.rotate", 100.0, "us", limbs=47) | {"axis": axis} for axis in ("limbs", "batch")]
    rows += [rows[0] | {"device": "other"}]
    assert len(compare.keyed(rows)) == 5
    rows += [timed("growth.rotate", 90.0, "us", limbs=47) | {"axis": "batch", "operands": "warm"}]
    rows += [timed("ablation.limbs", 1.0, "ms", least=least) for least in (1, 11)]
    rows += [timed("poly.ntt", 20.0, "us", form=0, polynomials=1, twiddles=how) for how in ("made", "loaded")]
    rows += [timed("ntt.form", 6.0, "us", form="TA-NTT-2", sync="local", chunks=chunks) for chunks in (16, 64)]
    rows += [timed("poly.mod_up", 60.0, "us", **more) for more in ({}, {"shared_limit": 101376}, {"tile": 2})]
    rows += [timed("host.helr.step", 5.0, "ms", level=level) for level in (12, 8)]
    assert len(compare.keyed(rows)) == len(rows)
    # Rows from before a parameter existed stand for its usual value.
    old = {"axis": "batch"}, {"axis": "batch", "operands": "cold"}
    assert len(compare.keyed([timed("growth.rotate", 100.0, "us", limbs=47) | of for of in old])) == 1
    ms = compare.keyed([rows[0] | {"value": 0.1, "unit": "ms"}])
    assert ms.keys() <= compare.keyed(rows).keys()


def made(value, date, **params):
    return {"name": "ckks.rotate", "value": value, "unit": "us", "backend": "cuda", "preset": "none", "date": date,
            "commit": "unknown", "device": "d", "params": {"N": 65536, "limbs": 47, "batch": 1, **params}}


def test_the_report_shows_the_newest_row_beside_references(tmp_path, capsys):
    path = tmp_path / "rows.json"
    rows = [made(202, "2026-11-02"), made(303, "2026-11-01"), made(50, "2026-10-01", limbs=5)]
    records.write(path, rows)
    assert cli.main(["bench", "report", "--record", str(path)]) == 0
    out = capsys.readouterr().out
    assert "202 us" in out and "303 us" not in out and "50 us" in out
    assert "2.0 x: 404 us, Cheddar 1.0" in out and out.count("Cheddar") == 3  # with and without its graphs, in one run


def test_the_report_compares_rates_and_tells_arithmetics_apart(tmp_path, capsys):
    path = tmp_path / "rows.json"
    many = [made(rate, "2026-11-02", batch=4096, arithmetic=arithmetic)
            | {"name": "tfhe.pbs_throughput", "unit": "1/s", "preset": "tfhe-2-2-v1"}
            for arithmetic, rate in (("exact", 11_550), ("fft64", 92_400))]
    records.write(path, many)
    assert cli.main(["bench", "report", "--record", str(path)]) == 0
    out = capsys.readouterr().out
    assert "arithmetic fft64" in out and out.count("46200 1/s, tfhe-rs CUDA") == 2
    assert " 0.2 x: 46200 1/s" in out and " 2.0 x: 46200 1/s" in out  # times as long as here


def test_the_report_shows_all_records_that_the_project_keeps(capsys):
    assert cli.main(["bench", "report"]) == 0
    assert "wasm_client.encryption" in capsys.readouterr().out


def test_the_report_refuses_what_is_no_record(tmp_path, capsys):
    for content in ("{", '{"name": 1}', '[{"name": "x"}]'):
        (tmp_path / "r.json").write_text(content)
        assert cli.main(["bench", "report", "--record", str(tmp_path / "r.json")]) == 1
        assert "FileError" in capsys.readouterr().err


def test_every_reference_is_cited_and_can_match():
    for r in report._all_references():
        assert r["source"] and r["device"] and r["value"] > 0 and report.timed(r), r
        assert r["params"].keys() <= report.SHAPE.keys(), r
        twin = {**r, "params": r["params"]}
        assert r in report.references(twin) and report.ratio(r, twin) == 1
