#!/usr/bin/env python3
"""Two builds of the C++ benchmarks in turn on one GPU: what a change costs.

    bench/before_after.py --before build-old abc1234 --after build-new def5678 --record before_after.json

Each folder is a build with -DLATTICINO_CUDA=ON -DLATTICINO_BENCH=ON; the word after it is its commit. Every round runs
the programs of both builds, so that a drift of the card meets both alike. The record has a row for each build and
measurement: the median of the rounds, the least and the largest of them. The output names what differs by more than
--limit percent.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

BOOTSTRAP = ["bench_bootstrap", "--device=cuda", "--preset=n16-d40-boot-v1", "--runs=20", "--replay=1"]
GATES = ["bench_gates", "--device=cuda", "--mode=replayed", "--sets=tfhe-gates-v1,tfhe-2-2-v1", "--batches=1,1056",
         "--runs=5"]
PROGRAMS = [BOOTSTRAP, [*BOOTSTRAP, "--stc-first=1", "--over-raise=1"], ["bench_operations"],
            [*GATES, "--arithmetic=exact"], [*GATES, "--arithmetic=fft64"],
            ["bench_switch", "--device=cuda", "--replay=1", "--sets=switch-n16-d40-fp64-v1", "--slots=64,1024"]]


def measured(build, program):
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder, "rows.json")
        command = [str(Path(build, program[0])), *program[1:], f"--output={output}"]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode or not output.exists():
            sys.exit(f"{' '.join(command)} failed:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
        return json.loads(output.read_text())


def key_of(row):
    return json.dumps([row["name"], row.get("preset"), row.get("mode"), row.get("params")], sort_keys=True)


def middle(rows, commit):
    values = [row["value"] for row in rows]
    return {**rows[0], "value": statistics.median(values), "median_of": len(values), "low": min(values),
            "high": max(values), "commit": commit, "dirty": False}


def record_of(found, commits):
    """Rows of what both builds measured, by measurement: the build of before, then the one of after."""
    both = sorted(found["before"].keys() & found["after"].keys())
    return [middle(found[name][key], commits[name]) for key in both for name in ("before", "after")]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("before", "after"):
        parser.add_argument(f"--{name}", nargs=2, required=True, metavar=("BUILD", "COMMIT"))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--limit", type=float, default=2.0, help="percent")
    parser.add_argument("--record", type=Path, required=True)
    asked = parser.parse_args()
    if asked.rounds < 1:
        parser.error("--rounds takes 1 or more")
    missing = [str(path) for build, _ in (asked.before, asked.after) for path in
               sorted({Path(build, program[0]) for program in PROGRAMS}) if not path.is_file()]
    if missing:
        parser.error(f"{', '.join(missing)} missing: build with -DLATTICINO_CUDA=ON -DLATTICINO_BENCH=ON first")
    found = {"before": {}, "after": {}}
    for at in range(asked.rounds):
        for name, rows in found.items():
            for program in PROGRAMS:
                for row in measured(getattr(asked, name)[0], program):
                    rows.setdefault(key_of(row), []).append(row)
            print(f"round {at + 1} of {asked.rounds}: {name}", flush=True)
        # The rows are written after each round, so that they are kept if the program is stopped.
        record = record_of(found, {name: getattr(asked, name)[1] for name in found})
        asked.record.write_text("[\n" + ",\n".join("  " + json.dumps(row) for row in record) + "\n]\n")
    beyond = 0
    for old, new in zip(record[::2], record[1::2]):
        change = 100 * (new["value"] / old["value"] - 1)
        if abs(change) > asked.limit:
            beyond += 1
            print(f"{change:+6.1f} %  {old['value']:.4g} -> {new['value']:.4g} {old['unit']}  {key_of(old)}")
    print(f"{len(record) // 2} measurements of both builds, {beyond} differ by more than {asked.limit:g} %; "
          f"record written to {asked.record}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
