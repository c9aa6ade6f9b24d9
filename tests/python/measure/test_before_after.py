"""bench/before_after.py with programs that write rows instead of measuring."""

import json
import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[3] / "bench" / "before_after.py"
PROGRAM = """#!{python}
import json, sys
value, fails = {value}, {fails}
if fails:
    sys.exit("no device")
output = next(word for word in sys.argv if word.startswith("--output="))[len("--output="):]
name = sys.argv[0].rsplit("/", 1)[1] + " " + " ".join(sys.argv[1:-1])
json.dump([{{"name": name, "preset": "p", "mode": "replayed", "params": {{"limbs": 3}}, "value": value, "unit": "us"}}],
          open(output, "w"))
"""


def build(folder, value, fails=False):
    folder.mkdir()
    for name in ("bench_bootstrap", "bench_operations", "bench_gates", "bench_switch"):
        path = folder / name
        path.write_text(PROGRAM.format(python=sys.executable, value=value, fails=fails))
        path.chmod(0o755)
    return folder


def run(before, after, record):
    return subprocess.run([sys.executable, str(SCRIPT), "--before", str(before), "aaaaaaa", "--after", str(after), "bbbbbbb",
                           "--rounds", "2", "--record", str(record)], capture_output=True, text=True)


def test_both_builds_are_recorded_and_what_differs_is_named(tmp_path):
    done = run(build(tmp_path / "old", 100.0), build(tmp_path / "new", 104.0), tmp_path / "r.json")
    assert done.returncode == 0, done.stderr
    rows = json.loads((tmp_path / "r.json").read_text())
    assert len(rows) == 12 and {row["commit"] for row in rows} == {"aaaaaaa", "bbbbbbb"}
    assert all(row["median_of"] == 2 and row["value"] == (100.0 if row["commit"] == "aaaaaaa" else 104.0) for row in rows)
    assert done.stdout.count("+4.0 %") == 6 and "6 differ by more than 2 %" in done.stdout


def test_a_program_that_fails_ends_the_run(tmp_path):
    done = run(build(tmp_path / "old", 1.0), build(tmp_path / "new", 1.0, fails=True), tmp_path / "r.json")
    assert done.returncode != 0 and "no device" in done.stderr and not (tmp_path / "r.json").exists()


def test_a_program_that_is_missing_is_named_before_anything_runs(tmp_path):
    before, after = build(tmp_path / "old", 1.0), build(tmp_path / "new", 1.0)
    (after / "bench_switch").unlink()
    done = run(before, after, tmp_path / "r.json")
    assert done.returncode == 2 and "new/bench_switch missing: build with" in done.stderr and "round" not in done.stdout
