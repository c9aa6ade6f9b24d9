#!/usr/bin/env python3
"""Hardware counters of the five passes of key switching, by Nsight Compute:

    python3 bench/counters.py FOLDER OUTPUT.json [LIMBS ...]

FOLDER holds bench_records. Each run of the profiler collects at most three counters of one launch
of each kernel, with cold caches and the clocks left alone. `latticino bench roofline RECORD OUTPUT.json`
sets them beside the formulas.
"""

import csv
import json
import os
import subprocess
import sys
import time

GROUPS = (
    {"dram__bytes_read.sum": "counted_dram_read", "dram__bytes_write.sum": "counted_dram_write",
     "lts__t_bytes.sum": "counted_l2_bytes"},
    {"smsp__thread_inst_executed.sum": "counted_instructions", "smsp__inst_executed.sum": "counted_warp_instructions",
     "smsp__issue_active.avg.pct_of_peak_sustained_active": "issue_percent"},
    {"sm__inst_executed_pipe_alu.avg.pct_of_peak_sustained_active": "alu_percent",
     "sm__inst_executed_pipe_fmaheavy.avg.pct_of_peak_sustained_active": "multiply_percent",
     "sm__pipe_tensor_op_imma_cycles_active.avg.pct_of_peak_sustained_active": "matrix_percent"},
)
# Cases that run together, each known by its kernel.
CASES = (
    {"transform_rows": "intt_rows", "convert_tile": "mod_up", "key_inner": "key_inner",
     "mod_down_finish": "subtract_scale"},
    {"convert_tile": "mod_switch_tile"},
)
AUX, LAUNCH = 12, 3  # auxiliary primes of bench_records; which launch of a kernel is looked at


def profiled(program, cases, limbs, metrics):
    """{kernel: {metric: value}} of one launch of each kernel of the cases."""
    only = ",".join(f"poly.{case}" for case in cases.values())
    command = ["ncu", "--csv", "--print-units", "base", "--clock-control", "none", "--kernel-id", f":::{LAUNCH}",
               "--metrics", ",".join(metrics), program, f"--limbs={limbs}", f"--only={only}", "--replays=1"]
    done = subprocess.run(command, capture_output=True, text=True)
    lines = [line for line in done.stdout.splitlines() if line.startswith('"')]
    if done.returncode or not lines:
        sys.exit(f"{' '.join(command)} failed:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    found = {}
    for row in csv.DictReader(lines):
        kernel = next((k for k in cases if k in row["Kernel Name"]), None)
        if kernel is None:
            continue
        try:
            value = float(row["Metric Value"].replace(",", ""))
        except ValueError:
            continue  # a counter that this GPU does not have
        found.setdefault(cases[kernel], {})[metrics[row["Metric Name"]]] = value
    return found


def main():
    folder, output, limb_counts = sys.argv[1], sys.argv[2], [int(x) for x in sys.argv[3:]] or [47, 23, 7]
    device = subprocess.run(["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"], capture_output=True,
                            text=True).stdout.splitlines()[0]
    rows = []
    for limbs in limb_counts:
        for cases in CASES:
            counted = {}
            for metrics in GROUPS:
                for case, values in profiled(os.path.join(folder, "bench_records"), cases, limbs, metrics).items():
                    counted.setdefault(case, {}).update(values)
            for case, values in counted.items():
                total = values.get("counted_dram_read", 0) + values.get("counted_dram_write", 0)
                rows.append({"name": f"counters.{case}", "value": total, "unit": "bytes", "device": device,
                             "backend": "cuda", "mode": "profiled", "preset": "none",
                             "params": {"N": 65536, "limbs": limbs, "aux": AUX, "batch": 1},
                             **{k: round(v, 2) for k, v in values.items()},
                             "commit": os.environ.get("LATTICINO_COMMIT", "unknown"),
                             "date": time.strftime("%Y-%m-%d", time.gmtime())})
                print(f"{case:16} {limbs:3} limbs: " + ", ".join(f"{k} {v:.4g}" for k, v in values.items()), flush=True)
    with open(output, "w") as f:
        f.write("[\n" + ",\n".join("  " + json.dumps(row) for row in rows) + "\n]\n")


if __name__ == "__main__":
    main()
