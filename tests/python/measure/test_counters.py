"""`latticino bench counters`: the output of Nsight Compute becomes rows, even if a GPU or a profiler lacks counters."""

import json
import sys
import time
from pathlib import Path

import pytest

from latticino import cli, errors
from latticino.measure import counters, ncu, programs, records

HEAD = ('"ID","Process ID","Process Name","Host Name","Kernel Name","Context","Stream","Block Size","Grid Size","Device",'
        '"CC","Section Name","Metric Name","Metric Unit","Metric Value"')
OTHERS = '"4242","bench","127.0.0.1"', '"1","7","(256, 1, 1)","(64, 47, 1)","0","9.0","Command line profiler metrics"'
SPACE = "latticino::cuda::<unnamed>"
ROTATION = (f"void {SPACE}::transform_rows<latticino::cuda::RowShape<8>, (latticino::cuda::Rows)0, (bool)0>(TransformArgs)",
            f"void {SPACE}::convert_tile<latticino::cuda::TileShape<12, 8>>(TileArgs)",
            "void latticino::cuda::(anonymous namespace)::key_inner<latticino::cuda::InnerShape<8>, 4>(KeyInnerArgs)",
            f"void {SPACE}::convert_tile<latticino::cuda::TileShape<12, 8>>(TileArgs)",
            f"void {SPACE}::mod_down_finish<latticino::cuda::RowShape<8>>(ModDownFinishArgs)")
FORM = "void latticino::bench::<unnamed>::transform<latticino::bench::forms::Aggregated<2>>(latticino::bench::forms::Args)"
SIZES = {"N": 65536, "limbs": 47}


def csv(kernels, metrics, value=lambda i, metric: "1,000"):
    """The output of `ncu --csv --print-units base`, among lines of the program and of the profiler."""
    lines = ["==PROF== Connected to process 4242 (/build/bench)", "first run 0.1 s", HEAD]
    for i, kernel in enumerate(kernels):
        for metric in metrics:
            lines.append(",".join((f'"{i}"', OTHERS[0], f'"{kernel}"', OTHERS[1], f'"{metric}","unit","{value(i, metric)}"')))
    return "\n".join([*lines, "==PROF== Disconnected from process 4242", ""])


def launches(kernels, metrics, value=lambda i, metric: "1,000"):
    return ncu.parsed(csv(kernels, metrics, value))


def source(**params):
    return {"name": "x", "value": 1, "unit": "us", "device": "NVIDIA H200", "preset": "none", "operands": "cold",
            "bytes_moved": 50, "launches": 1, "params": SIZES | {"batch": 1} | params}


def test_the_profilers_text_becomes_launches():
    found = launches(ROTATION, ("dram__bytes_read.sum", "x__y.avg.pct_of_peak_sustained_elapsed"),
                     lambda i, metric: "1,234,567.50" if "dram" in metric else ("n/a", "12.25")[i % 2])
    assert [ncu.base_name(x.kernel) for x in found] == ["transform_rows", "convert_tile", "key_inner", "convert_tile",
                                                        "mod_down_finish"]
    assert found[0].values == {"dram__bytes_read.sum": 1234567.5}
    assert found[1].values["x__y.avg.pct_of_peak_sustained_elapsed"] == 12.25
    assert ncu.parsed("==ERROR== no device\n") == [] and ncu.base_name("range") == "range"
    # Names as ncu 2025.3 printed them.
    assert ncu.base_name("void unnamed>::mod_down_finish<unnamed>::CombineShape<8>>(unnamed>::ModDownFinishArgs)") == "mod_down_finish"
    assert ncu.base_name("void unnamed>::transform_rows<RowShape<8>, 1, 0>(TransformArgs)") == "transform_rows"
    assert ncu.base_name("void convert_tile<TileShape<8, 8, 1, 256, 1, 1, 3, 0, 1, 1, 8>>(TileArgs)") == "convert_tile"
    assert ncu.base_name("void automorphism<unnamed>::Sum, 2>(AutomorphismArgs)") == "automorphism"
    assert ncu.base_name("copy(CopyArgs)") == "copy" and ncu.base_name("ns::dot") == "dot"


def test_every_kernel_that_a_bootstrapping_launches_has_a_class():
    """Each kernel of src/backend/cuda whose record bench/ablation.cc puts into a class."""
    known = [kernel for kernels in counters.CLASSES.values() for kernel in kernels]
    assert len(known) == len(set(known))
    text = "".join(p.read_text() for folder in ("convert", "key_switch", "ntt", "poly")
                   for p in (records.CHECKOUT / "src" / "backend" / "cuda" / folder).glob("*.cu*"))
    for kernel in known:
        assert f" {kernel}(const __grid_constant__" in text, kernel
    classes = (records.CHECKOUT / "bench" / "ablation.cc").read_text()
    assert all(f'{{"{name}"' in classes for name in counters.CLASSES)


def test_sums_and_means_of_launches():
    a, b = launches(ROTATION[:2], ("gpu__time_duration.sum", "x__y.avg.pct", "only__one.sum"),
                    lambda i, metric: {"gpu": ("100", "300"), "x__": ("10", "50"), "onl": ("7", "n/a")}[metric[:3]][i])
    names = {"gpu__time_duration.sum": "ns", "x__y.avg.pct": "percent", "only__one.sum": "once"}
    # Because a sum without one of its launches would be too low.
    assert ncu.summed([a, b], names) == {"ns": 400, "percent": 40}
    assert ncu.summed([a], {"x__y.avg.pct": "percent", "only__one.sum": "once"}) == {"percent": 10, "once": 7}
    assert ncu.summed([], names) == {}


def test_runs_of_one_program_are_joined_by_launch_and_must_be_alike():
    one = ncu.Profile(launches(ROTATION, ("a__a.sum",)), ())
    two = ncu.Profile(launches(ROTATION, ("b__b.sum",)), ())
    assert ncu.merged([one, two])[4].values == {"a__a.sum": 1000, "b__b.sum": 1000} and one.launches[0].values == {"a__a.sum": 1000}
    with pytest.raises(ncu.ProfilerError, match="5 and 4 launches"):
        ncu.merged([one, ncu.Profile(two.launches[:4], ())])


def test_passes_of_rotations():
    kernels = [*ROTATION, *ROTATION[:1], *ROTATION]  # the rows of the second take two launches
    metrics = [*counters.BYTES, *counters.SHARES]
    found = launches(kernels, metrics, lambda i, metric: str(1000 * (i + 1)) if metric.endswith(".sum") else "40")
    rows = counters.pass_rows([source(batch=1), source(batch=4)], found)
    assert [row["params"]["pass"] for row in rows] == [*counters.PASSES, "rotation"] * 2
    first, whole, second = rows[0], rows[5], rows[6]
    assert (first["name"], first["us"], first["dram_read"], first["l2_percent"]) == ("counters.pass", 1, 1000, 40)
    assert (whole["value"], whole["dram_read"], whole["bytes_moved"]) == (15, 15000, 50)
    assert second["params"] | {"launches": 2, "batch": 4, "operands": "cold"} == second["params"]
    assert second["dram_read"] == 13000 and "bytes_moved" not in second and rows[11]["bytes_moved"] == 200
    assert all("to_sm_bytes" not in row for row in rows)  # this group was not counted
    assert all(row.items() >= records.provenance().items() and row["mode"] == "profiled" for row in rows)
    with pytest.raises(ncu.ProfilerError, match="2 rotations were counted, and the program made 1"):
        counters.pass_rows([source()], found)
    with pytest.raises(ncu.ProfilerError, match="was due"):
        counters.pass_rows([source()], found[:4])


def test_forms_take_as_many_launches_as_they_have():
    ours = f"void {SPACE}::transform_block<latticino::cuda::BlockShape<16>>(TransformArgs)"
    ways = [source(form="ours", sync="none") | {"launches": 0}, source(form="TA-NTT-2", sync="grid"),
            source(form="TA-NTT-2", sync="launches") | {"launches": 2}]
    issued = {0: "100", 1: "300", 2: "50", 3: "100", 4: "100"}
    found = launches([ours, ours, FORM, FORM, FORM], [*counters.STALLS, *counters.DIVERGENCE],
                     lambda i, metric: issued[i] if "inst_executed" in metric
                     else "8.5" if "latency" in metric else str(i + 1) if "barrier" in metric else "0.25")
    rows = counters.form_rows(ways, found)
    assert [(row["params"]["form"], row["params"]["launches"], row["value"]) for row in rows] == [
        ("ours", 2, 8.5), ("TA-NTT-2", 1, 8.5), ("TA-NTT-2", 2, 8.5)]
    assert [row["stalled_barrier"] for row in rows] == [1.75, 3, 4.5]  # weighted by instructions
    assert rows[1]["divergent_branches"] == 0.25 and rows[1]["unit"] == "cycles"
    for few in (found[:4], [*found, found[-1]], found[1:2]):
        with pytest.raises(ncu.ProfilerError, match="launches"):
            counters.form_rows(ways, few)
    for launch in found:
        del launch.values["smsp__average_warp_latency_per_inst_issued.ratio"]
    assert counters.form_rows(ways, found)[1]["value"] == 3 + 0.25 * (len(counters.REASONS) - 1)


def test_classes_of_a_bootstrapping():
    kernels = [*ROTATION, f"void {SPACE}::dot<8, 4, 2>(DotArgs)", f"{SPACE}::expand(ExpandArgs)"]
    found = launches(kernels, counters.BYTES, lambda i, metric: str(10 ** i))
    made = source(slots=32768, over_mod_raise=1) | {"preset": "n16-d40-boot-v1"}
    rows = counters.class_rows([made], found)
    by_class = {row["params"].get("class"): row for row in rows if row["name"] == "counters.bootstrap"}
    assert {k: row["l2_bytes"] for k, row in by_class.items()} == {
        "all": 1111111, "transforms": 1, "conversions": 1010, "products with keys": 100, "last steps": 10000,
        "element-wise": 100000, "other": 1000000}
    assert by_class["conversions"]["params"] == {"N": 65536, "limbs": 47, "slots": 32768, "batch": 1, "slot_to_coeff_first": 0,
                                                 "over_mod_raise": 1, "class": "conversions", "launches": 2}
    assert by_class["all"]["bytes_moved"] == 50 and by_class["all"]["preset"] == "n16-d40-boot-v1"
    by_kernel = {row["params"]["kernel"]: row["dram_read"] for row in rows if row["name"] == "counters.bootstrap_kernel"}
    assert by_kernel["convert_tile"] == 1010 and len(by_kernel) == 6


# Stands for ncu: writes launches of every kernel of a file, with all counters except those that it does not know.
PROFILER = """#!{python} -IS
import json, subprocess, sys
argv = sys.argv[1:]
if argv == ["--query-metrics"]:
    print("Metric Name  Type\\ngpu__time_duration  Counter\\ndram__bytes_read  Counter\\n----")
    sys.exit()
assert argv[:5] == ["--csv", "--print-units", "base", "--clock-control", "none"]
at = argv.index("--metrics")
metrics, program = argv[at + 1].split(","), argv[at + 2:]
said = json.load(open({folder!r} + "/says.json"))
name = program[0].rsplit("/", 1)[1]
open({folder!r} + "/calls", "a").write(name + " " + " ".join(argv[5:at]) + "\\n")
unknown = [m for m in metrics if m.split(".")[0] in said["unknown"]]
if unknown:
    print("==ERROR== " + said["message"].replace("NAME", unknown[0]))
    sys.exit(1)
status = subprocess.call(program)
if name in said["dead"]:
    print("==ERROR== The user does not have permission to access NVIDIA GPU Performance Counters")
    sys.exit(1)
print({head!r})
for i, kernel in enumerate(said["kernels"][name]):
    for metric in metrics:
        print(f'"{{i}}",{others[0]},"{{kernel}}",{others[1]},"{{metric}}","unit","1,000"')
sys.exit(status)
"""
# Stands for a program of bench/: writes its rows.
PROGRAM = """#!{python} -IS
import json, sys
rows = json.load(open({folder!r} + "/rows.json"))[sys.argv[0].rsplit("/", 1)[1]]
output = next(x for x in sys.argv if x.startswith("--output=")).partition("=")[2]
assert "--profile=1" in sys.argv
json.dump(rows, open(output, "w"))
"""


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """A GPU with a profiler, and the programs. Returns the content of says.json, which controls the profiler; tests
    change and write it."""
    folder = str(tmp_path)
    names = {"bench_transform_forms": [source(form="TA-NTT-2", sync="grid")],
             "bench_growth": [source(), source(operands="warm")],
             "bench_bootstrap": [source(slots=32768)]}
    (tmp_path / "rows.json").write_text(json.dumps(names))
    scripts = {"ncu": PROFILER.format(python=sys.executable, folder=folder, head=HEAD, others=OTHERS)}
    scripts |= dict.fromkeys(names, PROGRAM.format(python=sys.executable, folder=folder))
    for name, text in scripts.items():
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setenv(programs.FOLDER, folder)
    monkeypatch.setattr(programs, "device_of", lambda name: name)
    says = {"unknown": [], "message": "Failed to find metric NAME", "dead": [],
            "kernels": {"bench_transform_forms": [FORM], "bench_growth": [*ROTATION, *ROTATION], "bench_bootstrap": ["range"]}}

    def tell(**changes):
        (tmp_path / "says.json").write_text(json.dumps(says | changes))

    tell()
    return tell, tmp_path


def test_all_parts_make_one_record(machine, capsys):
    _, folder = machine
    file = folder / "record.json"
    assert cli.main(["bench", "counters", "--record", str(file)]) == 0
    rows = records.read(file)
    count = {name: sum(row["name"] == f"counters.{name}" for row in rows)
             for name in ("form", "pass", "bootstrap", "bootstrap_kernel", "bootstrap_graph")}
    assert count == {"form": 1, "pass": 12, "bootstrap": 4, "bootstrap_kernel": 2, "bootstrap_graph": 2}
    assert "of no class: range" in capsys.readouterr().out
    calls = (folder / "calls").read_text()
    assert calls.count("bench_growth --replay-mode application --cache-control none --profile-from-start off") == 4
    assert "bench_bootstrap --replay-mode app-range --cache-control none\n" in calls
    assert cli.main(["bench", "report", "--record", str(file)]) == 0


@pytest.mark.parametrize("message", ["Failed to find metric NAME", "An error was encountered"])
def test_a_counter_that_the_profiler_does_not_know_is_left_out_and_said(machine, capsys, message):
    tell, folder = machine
    tell(unknown=["lts__t_bytes", "dram__bytes_write"], message=message)
    assert cli.main(["bench", "counters", "--part", "rotations", "--record", str(folder / "r.json")]) == 0
    row = records.read(folder / "r.json")[0]
    assert row["dram_read"] == 1000 and "dram_write" not in row and "l2_bytes" not in row
    said = capsys.readouterr().out
    assert "ncu refuses" in said and "without dram__bytes_write.sum, lts__t_bytes.sum" in said


def test_a_part_that_fails_leaves_the_rows_of_others(machine, capsys):
    tell, folder = machine
    tell(dead=["bench_growth"])
    assert cli.main(["bench", "counters", "--record", str(folder / "r.json")]) == 1
    assert {row["name"] for row in records.read(folder / "r.json")} == {
        "counters.form", "counters.bootstrap", "counters.bootstrap_kernel", "counters.bootstrap_graph"}
    said = capsys.readouterr().err
    assert "latticino: Error: bench counters: had no counters of rotations (" in said and "permission to access" in said
    tell(kernels={"bench_transform_forms": [], "bench_growth": [], "bench_bootstrap": []})
    assert cli.main(["bench", "counters", "--part", "forms"]) == 1
    assert "0 launches" in capsys.readouterr().err
    tell(kernels={"bench_transform_forms": [FORM, FORM]})  # one launch too many
    assert cli.main(["bench", "counters", "--part", "forms", "--record", str(folder / "f.json")]) == 1
    assert not (folder / "f.json").exists()
    # Output of both groups, which can be read without the profiler.
    kept = ncu.parsed((folder / "f-forms.txt").read_text())
    assert len(kept) == 2 and kept[0].values.keys() == counters.STALLS.keys() | counters.DIVERGENCE.keys()


def test_without_a_profiler_or_a_gpu(machine, monkeypatch, capsys):
    monkeypatch.setenv("PATH", "/nonexistent")
    assert cli.main(["bench", "counters", "--part", "forms"]) == 1
    assert "ncu cannot be run (No such file or directory)" in capsys.readouterr().err
    monkeypatch.undo()
    assert cli.main(["bench", "counters"]) == 1
    assert "DeviceError" in capsys.readouterr().err
    with pytest.raises(errors.UnsupportedError, match="read it"):
        counters_with_runs()


def counters_with_runs():
    from latticino import measure
    arguments = cli._parser().parse_args(["bench", "counters", "--runs", "3"])
    measure.run(arguments, {})


@pytest.mark.slow
def test_a_run_that_takes_too_long_is_ended_with_its_program(tmp_path):
    script = tmp_path / "ncu"
    script.write_text(f"#!/bin/sh\necho begun\nsleep 60 & echo $! > {tmp_path}/child\nwait\n")
    script.chmod(0o755)
    with pytest.raises(ncu.ProfilerError, match="took more than 1 s"):
        ncu._run([str(script)], 1)
    child = (tmp_path / "child").read_text().strip()
    status = Path(f"/proc/{child}/status")
    last = time.monotonic() + 10  # a process that was killed takes a moment to end
    while status.exists() and "Z (zombie)" not in status.read_text():
        assert time.monotonic() < last
        time.sleep(0.01)


def test_a_copy_without_git_takes_its_commit_from_the_environment(monkeypatch):
    monkeypatch.setattr(records, "commit", lambda sources: {"commit": "unknown"})
    records.provenance.cache_clear()
    try:
        monkeypatch.setenv("LATTICINO_COMMIT", "abc1234")
        assert records.provenance() == {"commit": "abc1234"}
        records.provenance.cache_clear()
        monkeypatch.delenv("LATTICINO_COMMIT")
        assert records.provenance() == {"commit": "unknown"}
    finally:
        records.provenance.cache_clear()
